// @ts-check
// Footnotes: `[^1]` in a text, and `[^1]: words` on a line of its own.

import { h } from "./dom.js";
import { t } from "./i18n.js";

const NOTE = /^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]*/;
const REFERENCE = /\[\^([^\]\s]{1,60})\]/y;

/** The label with which a line begins a footnote, and where its words begin. @param {string} line */
export function note(line) {
  const found = NOTE.exec(line);
  return found ? { label: found[1], from: found[0].length } : null;
}

/** The footnotes of one text. Those that nothing refers to are text: no word of a message vanishes. */
export class Notes {
  constructor() {
    /** @type {Set<string>} */
    this.defined = new Set();
    /** @type {Map<string, number>} */
    this.numbers = new Map(); // by label, in the order of the references
    /** @type {Map<string, Node[]>} */
    this.bodies = new Map();
  }

  /** Keep the definitions that something refers to, and count again. */
  settle() {
    for (const label of this.defined) if (!this.numbers.has(label)) this.defined.delete(label);
    this.numbers.clear();
    this.bodies.clear();
  }

  /**
   * A reference at a place of a text, and where it ends; null: none that is defined.
   * @param {string} text
   * @param {number} at
   */
  at(text, at) {
    REFERENCE.lastIndex = at;
    const label = REFERENCE.exec(text)?.[1];
    if (label === undefined || !this.defined.has(label)) return null;
    const number = this.numbers.get(label) ?? this.numbers.size + 1;
    this.numbers.set(label, number);
    const name = t("Footnote {number}", { number });
    const button = h("button", { type: "button", class: "note-ref", "aria-label": name }, String(number));
    button.addEventListener("click", () => go(button, `.footnotes [value="${number}"]`));
    return { node: h("sup", { "data-note": number }, button), end: REFERENCE.lastIndex };
  }

  /** The list below the text. @returns {Node[]} */
  list() {
    const items = [...this.numbers].map(([label, number]) => {
      const back = h("button", { type: "button", class: "note-ref", "aria-label": t("Back to the text") }, "↩");
      back.addEventListener("click", () => go(back, `[data-note="${number}"] button`));
      return h("li", { value: number, tabindex: "-1" }, ...(this.bodies.get(label) ?? []), back);
    });
    return items.length ? [h("ol", { class: "footnotes", "aria-label": t("Footnotes") }, ...items)] : [];
  }
}

/**
 * @param {HTMLElement} from
 * @param {string} selector of where to go in the same text
 */
function go(from, selector) {
  const target = /** @type {HTMLElement | null} */ (from.closest(".text")?.querySelector(selector));
  target?.focus();
}
