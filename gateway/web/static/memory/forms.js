// @ts-check
// The fields of the memory's panel, and what its lists say while they are empty.

import { h } from "../lib/dom.js";
import { phrase, t } from "../lib/i18n.js";

export const EMPTY = {
  landmarks: phrase("Nothing is pinned. {command} pins the message you reply to.", { command: h("code", {}, "!pin") }),
  summary: t(
    "No summary yet. One is written when an agent's session ends, " +
      "or when the conversation outgrows what an agent is shown.",
  ),
  facts: t("No facts yet. They are drawn from the conversation after an agent has answered."),
  observations: t("Nothing yet. When an agent uses its tools, what is worth keeping is noted here."),
  insights: t("No notes on anybody yet. They are made after an agent has worked for somebody."),
  sessions: t("No sessions yet. One is listed once an agent has worked in this room."),
};

export const searchField = () =>
  h("input", {
    type: "search",
    class: "field",
    "aria-label": t("Search this memory"),
    placeholder: t("Search facts and agents' work"),
    autocomplete: "off",
    maxlength: 1000,
  });

/** @param {HTMLButtonElement} clear */
export function filterForm(clear) {
  /**
   * @param {string} name
   * @param {string} label
   */
  const field = (name, label) =>
    h(
      "label",
      { class: "filter" },
      h("span", {}, label),
      h("input", { name, class: "field", autocomplete: "off", maxlength: 1000 }),
    );
  return h(
    "form",
    { class: "filters", "aria-label": t("Filter what the agents did") },
    field("text", t("Text")),
    field("concept", t("Concept")),
    field("file", t("File")),
    h("div", { class: "filter-buttons" }, h("button", { class: "button" }, t("Filter")), clear),
  );
}
