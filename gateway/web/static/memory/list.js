// @ts-check
// A titled list of the memory's panel, which can be filled again under somebody's hands.

import { byKey, fill, focused, h, openFolds, reopen } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

let numbers = 0;

export class List {
  /**
   * `tool` stands beside the title, `before` above the rows; `onMore` is asked for older ones.
   * @param {string} title
   * @param {Page.Child} empty
   * @param {{ tool?: Page.Child, before?: Page.Child, onMore?: (() => void) | null, more?: string }} [given]
   */
  constructor(title, empty, { tool = null, before = null, onMore = null, more = t("Older") } = {}) {
    const id = `list-${++numbers}`;
    this.empty = empty;
    this.heading = h("h3", { id, tabindex: "-1" }, title);
    this.count = h("span", { class: "row-more" });
    this.rows = h("div", { class: "held" });
    this.older = h("button", { type: "button", class: "button quiet older-button", hidden: true }, more);
    this.older.addEventListener("click", () => onMore?.());
    this.element = h(
      "section",
      { class: "part", "aria-labelledby": id },
      h("div", { class: "part-head" }, this.heading, this.count, tool),
      before,
      this.rows,
      this.older,
    );
  }

  /**
   * Take other rows, which stand for `count` entries. What is open stays open, and who stood on a button stands on
   * it again.
   * @param {Node[]} rows
   * @param {{ more?: boolean, empty?: string | null, count?: number }} [given]
   */
  fill(rows, { more = false, empty = null, count = rows.length } = {}) {
    const open = openFolds(this.rows);
    const stood = focused();
    const key = this.rows.contains(stood) ? (stood?.dataset.key ?? "") : null;
    const leaving = stood === this.older && !more;
    fill(
      this.rows,
      rows.length ? h("ul", { class: "held-rows" }, ...rows) : h("p", { class: "note" }, empty ?? this.empty),
    );
    reopen(this.rows, open);
    this.older.hidden = !more;
    this.count.textContent = count ? `${count}${more ? "+" : ""}` : "";
    if (key !== null) (byKey(this.rows, key) ?? this.heading).focus({ preventScroll: true });
    else if (leaving) this.heading.focus({ preventScroll: true });
  }
}
