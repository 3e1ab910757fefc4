// @ts-check
// A long answer shows its beginning, and the rest when somebody wants it: by the button, or by finding a word in it.

import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

const LEAST_PX = 360; // of an answer that stay in view
const OF_VIEW = 0.6;
const WORTH = 1.35; // what is only a little longer is shown whole
/** @type {Set<string>} */
const opened = new Set(); // ids of messages whose rest was asked for

/**
 * Fold what of a message goes beyond a good height. It has to be on the page: it is measured.
 * @param {Element} message
 * @param {{ viewPx: number, onOpen: () => void, onClose: () => void }} given
 */
export function foldLong(message, { viewPx, onOpen, onClose }) {
  const text = /** @type {HTMLElement | null} */ (message.querySelector(".message-body > .text"));
  const limit = Math.max(LEAST_PX, viewPx * OF_VIEW);
  if (!text || text.scrollHeight <= limit * WORTH) return;
  const { rest, cut } = divide(text, limit);
  if (!rest && !cut) return;
  const id = `rest-${message.getAttribute("data-id")}`;
  const words = h("span", {});
  const toggle = h("button", { type: "button", class: "mini more", ...(rest ? { "aria-controls": id } : {}) }, words);
  rest?.setAttribute("id", id);

  /** @param {boolean} open */
  const show = (open) => {
    if (open) rest?.removeAttribute("hidden");
    else rest?.setAttribute("hidden", "until-found");
    cut?.classList.toggle("cut", !open);
    message.classList.toggle("folded", !open);
    words.textContent = open ? t("Show less") : t("Show more");
    toggle.setAttribute("aria-expanded", String(open));
    if (open) opened.add(id);
    else opened.delete(id);
  };
  toggle.addEventListener("click", () => {
    const opens = toggle.getAttribute("aria-expanded") === "false";
    if (opens) onOpen();
    show(opens);
    if (!opens) onClose();
  });
  rest?.addEventListener("beforematch", () => {
    onOpen();
    show(true);
  });
  cut?.style.setProperty("--shown", `${Math.max(limit - offset(text, cut), LEAST_PX / 2)}px`);
  show(opened.has(id));
  text.after(toggle);
}

/**
 * How far a block stands below the beginning.
 * @param {HTMLElement} text
 * @param {HTMLElement} block
 */
const offset = (text, block) => block.getBoundingClientRect().top - text.getBoundingClientRect().top;

/**
 * The blocks that go beyond the limit, in an element of their own; no block is cut, so that none looks whole that
 * isn't, but one that nearly everything is made of: that one fades out.
 * @param {HTMLElement} text
 * @param {number} limit
 * @returns {{ rest: HTMLElement | null, cut: HTMLElement | null }}
 */
function divide(text, limit) {
  const blocks = /** @type {HTMLElement[]} */ ([...text.children]);
  const over = blocks.findIndex((block) => offset(text, block) + block.offsetHeight > limit);
  if (over < 0) return { rest: null, cut: null };
  const cut = over === 0 || offset(text, blocks[over]) < limit / 3 ? blocks[over] : null;
  const beyond = blocks.slice(cut ? over + 1 : over);
  const rest = beyond.length ? h("div", { class: "rest" }, ...beyond) : null;
  if (rest) text.append(rest);
  return { rest, cut };
}
