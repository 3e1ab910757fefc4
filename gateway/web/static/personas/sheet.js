// @ts-check
// A text with line numbers and marked faults: a textarea over a mirror of itself.

import { h } from "../lib/dom.js";

export class TextSheet {
  /**
   * onInput is called with the text after each change.
   * @param {{ label: string, describedBy: string, onInput: (text: string) => void }} given
   */
  constructor({ label, describedBy, onInput }) {
    this.mirror = h("div", { class: "sheet-mirror", "aria-hidden": "true" });
    this.area = h("textarea", {
      class: "sheet-area",
      "aria-label": label,
      "aria-describedby": describedBy,
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
    });
    this.element = h("div", { class: "sheet" }, this.mirror, this.area);
    /** @type {string[]} */
    this.lines = [];
    this.area.addEventListener("input", () => {
      this.draw();
      onInput(this.value);
    });
  }

  get value() {
    return this.area.value;
  }

  set value(text) {
    this.area.value = text;
    this.draw();
  }

  /** Bring the mirror up to the text: only the lines between the first and the last that differ are made again. */
  draw() {
    const wanted = this.value.split("\n");
    let first = 0;
    while (first < wanted.length && first < this.lines.length && this.lines[first] === wanted[first]) first += 1;
    let same = 0;
    while (
      same < wanted.length - first &&
      same < this.lines.length - first &&
      this.lines.at(-1 - same) === wanted.at(-1 - same)
    )
      same += 1;
    const rows = [...this.mirror.children];
    for (const row of rows.slice(first, rows.length - same)) row.remove();
    const fresh = wanted
      .slice(first, wanted.length - same)
      .map((line) => h("div", { class: "sheet-line" }, line || "\u200b"));
    const before = this.mirror.children[first] ?? null;
    for (const row of fresh) this.mirror.insertBefore(row, before);
    this.lines = wanted;
  }

  /**
   * Show where the faults are.
   * @param {Api.FindingView[]} findings
   */
  mark(findings) {
    for (const row of this.mirror.querySelectorAll(".error, .warning")) row.classList.remove("error", "warning");
    for (const { line, severity } of [...findings].reverse()) {
      const row = this.mirror.children[line - 1];
      if (row && !row.classList.contains("error")) row.classList.add(severity);
    }
    this.area.setAttribute("aria-invalid", String(findings.some(({ severity }) => severity === "error")));
  }

  /**
   * Put the caret where a fault is.
   * @param {Api.FindingView} given
   */
  select({ line, column, end_line, end_column }) {
    const start = this.offset(line, column);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(start, Math.max(start, this.offset(end_line, end_column)));
    this.mirror.children[line - 1]?.scrollIntoView({ block: "center" });
  }

  /**
   * Columns count characters, a string's offsets count UTF-16 units.
   * @param {number} line
   * @param {number} column
   */
  offset(line, column) {
    const before = this.lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const within = [...(this.lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    return Math.min(before + within, this.value.length);
  }
}
