// What every view beside the rooms has: a head, and a question before something is lost.

import { modal } from "./dialogs.js";
import { $, h, icon } from "./dom.js";

/** Ask before something is done that loses something. */
export function sure({ title, text, yes, no = "Cancel", onYes }) {
  const keep = h("button", { type: "button", class: "button" }, no);
  const go = h("button", { type: "button", class: "button primary" }, yes);
  const dialog = modal(title, h("div", { class: "dialog-body" }, h("h2", {}, title), h("p", {}, text), h("div", { class: "dialog-buttons" }, keep, go)));
  keep.addEventListener("click", () => dialog.close());
  go.addEventListener("click", () => { dialog.close(); onYes(); });
  keep.focus();
}

/** The line above a view. back: { href, label }. */
export function header(title, about, back, ...tools) {
  const menu = h("button", { type: "button", class: "icon-button only-narrow", "aria-label": "Rooms", on: { click: () => $("open-rooms").click() } }, icon("menu"));
  const link = h("a", { class: "mini studio-back", href: back.href }, "← ", h("span", {}, back.label));
  return h("header", { class: "room-head studio-head" }, menu, h("div", { class: "room-title" }, h("h1", { tabindex: "-1" }, title), about), link, ...tools);
}
