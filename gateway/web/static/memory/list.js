// A titled list of the memory's panel, which can be filled again under somebody's hands.

import { h } from "../lib/dom.js";

let numbers = 0;

/** The element with this data-key below another one. */
export const byKey = (within, key) => within.querySelector(`[data-key="${CSS.escape(key)}"]`);

export class List {
  /** `tool` stands beside the title, `before` above the rows; `onMore` is asked for older ones. */
  constructor(title, empty, { tool = null, before = null, onMore = null, more = "Older" } = {}) {
    const id = `list-${++numbers}`;
    this.empty = empty;
    this.heading = h("h3", { id, tabindex: "-1" }, title);
    this.count = h("span", { class: "row-more" });
    this.rows = h("div", { class: "held" });
    this.older = h("button", { type: "button", class: "button quiet older-button", hidden: true }, more);
    this.older.addEventListener("click", () => onMore());
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
   */
  fill(rows, { more = false, empty = null, count = rows.length } = {}) {
    const open = new Set(
      [...this.rows.querySelectorAll("details[open][data-key]")].map((details) => details.dataset.key),
    );
    const focused = this.rows.contains(document.activeElement) ? (document.activeElement.dataset.key ?? "") : null;
    const leaving = document.activeElement === this.older && !more;
    this.rows.replaceChildren(
      ...(rows.length ? [h("ul", { class: "held-rows" }, ...rows)] : [h("p", { class: "note" }, empty ?? this.empty)]),
    );
    for (const details of this.rows.querySelectorAll("details[data-key]")) details.open = open.has(details.dataset.key);
    this.older.hidden = !more;
    this.count.textContent = count ? `${count}${more ? "+" : ""}` : "";
    if (focused !== null) (byKey(this.rows, focused) ?? this.heading).focus({ preventScroll: true });
    else if (leaving) this.heading.focus({ preventScroll: true });
  }
}
