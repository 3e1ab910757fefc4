// @ts-check
// Texts word for word: a preformatted block, and its length.

import { h } from "./dom.js";
import { title } from "./words.js";
import { count } from "./i18n.js";

/**
 * A text as it is, which can be scrolled by keys.
 * @param {string} text
 * @param {string} label
 */
export const exactText = (text, label) =>
  h("pre", { class: "exact-text", tabindex: "0", role: "group", "aria-label": label }, text);

/**
 * How long a text is, in whole characters.
 * @param {string} text
 */
export const length = (text) => count([...text].length, "{n} character", "{n} characters");

/**
 * A section of what an agent is given, folded up. `about`: what else stands beside its name.
 * @param {string} name
 * @param {string} text
 * @param {{ about?: string, before?: Page.Child }} [given]
 */
export const foldedText = (name, text, { about = "", before = null } = {}) =>
  h(
    "details",
    { class: "section" },
    h(
      "summary",
      {},
      h("span", { class: "section-name" }, title(name)),
      h("span", { class: "row-more" }, `${about}${length(text)}`),
    ),
    before,
    exactText(text, name),
  );
