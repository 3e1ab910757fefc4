// @ts-check
// The fields of the memory's panel, and what its lists say while they are empty.

import { h } from "../lib/dom.js";

export const EMPTY = {
  landmarks: ["Nothing is pinned. ", h("code", {}, "!pin"), " pins the message you reply to."],
  summary:
    "No summary yet. One is written when an agent's session ends, " +
    "or when the conversation outgrows what an agent is shown.",
  facts: "No facts yet. They are drawn from the conversation after an agent has answered.",
  observations: "Nothing yet. When an agent uses its tools, what is worth keeping is noted here.",
  insights: "No notes on anybody yet. They are made after an agent has worked for somebody.",
  sessions: "No sessions yet. One is listed once an agent has worked in this room.",
};

export const searchField = () =>
  h("input", {
    type: "search",
    class: "field",
    "aria-label": "Search this memory",
    placeholder: "Search facts and agents' work",
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
    { class: "filters", "aria-label": "Filter what the agents did" },
    field("text", "Text"),
    field("concept", "Concept"),
    field("file", "File"),
    h("div", { class: "filter-buttons" }, h("button", { class: "button" }, "Filter"), clear),
  );
}
