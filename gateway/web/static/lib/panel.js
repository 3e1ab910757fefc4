// @ts-check
// The panel beside the conversation. It shows one thing at a time: a "why", or a terminal.

import { $, focused, h, icon } from "./dom.js";
import { t } from "./i18n.js";

/** @type {{ kind: string, onClose: () => void, from: HTMLElement | null } | null} */
let current = null;
const narrow = matchMedia("(max-width: 1080px)");

/**
 * Show something in the panel. `onClose` is called when it goes.
 * @param {{ kind: string, title: string, content: Node, tools?: Node[], onClose?: () => void }} given
 */
export function openPanel({ kind, title, content, tools = [], onClose = () => {} }) {
  const from = current?.from ?? focused();
  current?.onClose();
  current = { kind, onClose, from };
  const close = h(
    "button",
    { type: "button", class: "icon-button", "aria-label": t("Close the panel") },
    icon("close"),
  );
  close.addEventListener("click", closePanel);
  $("side").replaceChildren(
    h("header", { class: "side-head" }, h("h2", { id: "side-title" }, title), ...tools, close),
    content,
  );
  $("side").setAttribute("aria-labelledby", "side-title");
  $("side").removeAttribute("aria-label");
  $("side").className = `side ${kind}`;
  $("side").hidden = false;
  $("app").classList.add("with-side");
  cover(narrow.matches); // what is beside it, there
  close.focus({ preventScroll: true });
}

export function closePanel() {
  if (!current) return;
  const { onClose, from } = current;
  current = null;
  onClose();
  $("side").hidden = true;
  $("side").replaceChildren();
  $("app").classList.remove("with-side", "wide-side");
  cover(false);
  const home = $("admin").hidden ? $("text") : $("admin-title");
  (from?.isConnected ? from : home)?.focus({ preventScroll: true });
}

/** @param {boolean} covered */
function cover(covered) {
  for (const id of ["room", "admin", "skip"]) $(id).inert = covered;
}

export const panelKind = () => current?.kind ?? null;

export function setUpPanel() {
  narrow.addEventListener("change", () => cover(Boolean(current) && narrow.matches));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !current || document.querySelector("dialog[open]")) return;
    if (event.target !== $("text")) closePanel(); // whoever is writing goes on writing
  });
}
