// @ts-check
// What every view beside the rooms has: a head, and a question before something is lost.

import { modal } from "../lib/dialogs.js";
import { $, h, icon } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

/**
 * Ask before something is done that loses something.
 * @param {{ title: string, text: string, yes: string, no?: string, onYes: () => void }} given
 */
export function sure({ title, text, yes, no = t("Cancel"), onYes }) {
  const keep = h("button", { type: "button", class: "button" }, no);
  const go = h("button", { type: "button", class: "button danger" }, yes);
  const dialog = modal(
    title,
    h(
      "div",
      { class: "dialog-body" },
      h("h2", {}, title),
      h("p", {}, text),
      h("div", { class: "dialog-buttons" }, keep, go),
    ),
  );
  keep.addEventListener("click", () => dialog.close());
  go.addEventListener("click", () => {
    dialog.close();
    onYes();
  });
  keep.focus();
}

/**
 * What stands beside the file, one at a time. pages: [title, element].
 * @param {Array<[string, Element]>} pages
 */
export function tabbed(pages) {
  const panels = pages.map(([, element], i) =>
    h(
      "div",
      {
        class: "tab-panel",
        role: "tabpanel",
        id: `tab-panel-${i}`,
        "aria-labelledby": `tab-${i}`,
        tabindex: "0",
        hidden: i > 0,
      },
      element,
    ),
  );
  const buttons = pages.map(([title], i) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${i}`,
        "aria-controls": `tab-panel-${i}`,
        "aria-selected": String(i === 0),
        tabindex: i ? "-1" : "0",
        class: "tab",
      },
      title,
    ),
  );
  /** @param {number} chosen */
  const choose = (chosen) => {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === chosen));
      button.tabIndex = i === chosen ? 0 : -1;
    });
    panels.forEach((panel, i) => {
      panel.hidden = i !== chosen;
    });
    buttons[chosen].focus();
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => choose(i));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        event.preventDefault();
        choose((i + step + buttons.length) % buttons.length);
      }
    });
  });
  return h(
    "section",
    { class: "tools", "aria-label": t("Try it and its history") },
    h("div", { class: "tab-list", role: "tablist", "aria-label": t("About this persona") }, ...buttons),
    ...panels,
  );
}

/**
 * The line above a view. back: { href, label }, or null where a row of sections leads on.
 * @param {string} title
 * @param {Page.Child} about
 * @param {{ href: string, label: string } | null} back
 * @param {...Page.Child} tools
 */
export function header(title, about, back, ...tools) {
  const menu = h(
    "button",
    {
      type: "button",
      class: "icon-button only-narrow",
      "aria-label": t("Rooms"),
      on: { click: () => $("open-rooms").click() },
    },
    icon("menu"),
  );
  const link = back && h("a", { class: "mini studio-back", href: back.href }, "← ", h("span", {}, back.label));
  return h(
    "header",
    { class: `room-head studio-head ${back ? "" : "admin-head"}` },
    menu,
    h("div", { class: "room-title" }, h("h1", { tabindex: "-1" }, title), about),
    link,
    ...tools,
  );
}
