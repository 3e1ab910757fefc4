// @ts-check
// Diagrams that Mermaid draws. It works in a frame of its own that may do nothing but draw: no network, no storage,
// nothing of the page. The block of code stays until the diagram is there, and where it can't be drawn.

import { $, h } from "./dom.js";
import { t } from "./i18n.js";
import { isDark, themes } from "./theme.js";

const PATIENCE_MS = 8_000; // from when the library is there
const TALLEST = 3_000; // pixels

/** @type {Map<MessageEventSource, (told: { ready?: boolean, height?: number, failed?: boolean }) => void>} */
const frames = new Map(); // what each frame's words are for

addEventListener("message", ({ source, origin, data }) => {
  if (source && origin === "null") frames.get(source)?.(Object(data));
});

/**
 * A diagram out of its code.
 * @param {string} code
 * @param {HTMLElement} block its code as it is shown
 */
export function diagram(code, block) {
  const figure = h("figure", { class: "diagram" }, block);
  requestAnimationFrame(() => {
    // an answer that is still written is drawn when it is whole
    if (figure.isConnected && !figure.closest(".drafting")) draw(figure, code, block);
  });
  return figure;
}

/**
 * @param {HTMLElement} figure
 * @param {string} code
 * @param {HTMLElement} block
 */
function draw(figure, code, block) {
  const frame = h("iframe", {
    class: "waiting",
    title: t("Diagram"),
    sandbox: "allow-scripts",
    loading: "lazy",
    src: $("diagram-frame").content,
  });
  let timer = 0;
  const ask = () => frame.contentWindow?.postMessage({ code, dark: isDark() }, "*"); // its origin has no name
  const end = () => {
    clearTimeout(timer);
    if (frame.contentWindow) frames.delete(frame.contentWindow);
    themes.removeEventListener("change", ask);
  };
  const fail = () => {
    end();
    frame.remove();
    if (!figure.querySelector(".note")) figure.append(h("p", { class: "note" }, t("This diagram can't be drawn.")));
  };
  frame.addEventListener("load", () => (timer = setTimeout(fail, PATIENCE_MS)));
  figure.prepend(frame);
  if (!frame.contentWindow) return;
  themes.addEventListener("change", ask);
  frames.set(frame.contentWindow, ({ ready, height, failed }) => {
    if (!frame.isConnected) end();
    else if (ready) ask();
    else if (failed || !Number.isFinite(height)) fail();
    else {
      clearTimeout(timer);
      frame.className = "";
      frame.style.height = `${Math.min(Math.max(Number(height), 20), TALLEST)}px`;
      if (block.parentElement === figure) figure.append(h("details", {}, h("summary", {}, t("Source")), block));
    }
  });
}
