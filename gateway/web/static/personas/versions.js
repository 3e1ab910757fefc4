// @ts-check
// The forms that a persona's file had: what changed, and the way back.

import * as api from "../lib/api.js";
import { h } from "../lib/dom.js";
import { dated, full } from "../lib/words.js";
import { phrase, t } from "../lib/i18n.js";

/** @type {Record<string, string>} */
const HOW = { file: t("Edited"), page: t("Edited"), rollback: t("Rolled back"), delete: t("Deleted") };

export class Versions {
  /**
   * `path` gives the file's address; `onBack(number)` goes back to a version.
   * @param {() => string} path
   * @param {(number: number) => void} onBack
   */
  constructor(path, onBack) {
    this.path = path;
    this.onBack = onBack;
    this.element = h("div", { class: "versions" });
  }

  async refresh() {
    try {
      /** @type {{ versions: Api.VersionView[] }} */
      const { versions } = await api.get(`${this.path()}/history`);
      if (versions.length)
        this.element.replaceChildren(
          h("ol", { class: "held-rows" }, ...versions.map((version, index) => this.row(version, index === 0))),
        );
      else this.none();
    } catch (error) {
      if (error.status === 404) this.none();
      else this.element.replaceChildren(h("p", { class: "note" }, error.message));
    }
  }

  none() {
    this.element.replaceChildren(h("p", { class: "note" }, t("Nothing was saved yet.")));
  }

  /**
   * @param {Api.VersionView} given
   * @param {boolean} newest
   */
  row({ number, why, by, at }, newest) {
    const time = h("time", { datetime: at, title: full(at) }, dated(at));
    const shown = h("div", { class: "diff-place" });
    const compare = h(
      "button",
      { type: "button", class: "mini", "aria-expanded": "false" },
      newest ? t("What changed") : t("Compare with now"),
    );
    compare.addEventListener("click", () => this.compare(number, newest, compare, shown));
    const back =
      newest || why === "delete"
        ? null
        : h(
            "button",
            { type: "button", class: "mini", on: { click: () => this.onBack(number) } },
            t("Roll back to it"),
          );
    return h(
      "li",
      {},
      h(
        "p",
        { class: "held-text" },
        h("b", {}, t("Version {n}", { n: number })),
        newest ? h("span", { class: "tag" }, why === "delete" ? t("deleted") : t("newest")) : null,
      ),
      h(
        "div",
        { class: "held-foot" },
        h(
          "span",
          { class: "held-about" },
          ...(by
            ? phrase("{how} by {name}, {time}", { how: HOW[why], name: by.name, time })
            : number === 1
              ? phrase("As Moot found it, {time}", { time })
              : phrase("{how} outside of Moot, {time}", { how: HOW[why], time })),
        ),
        h("span", { class: "held-buttons" }, number === 1 && newest ? null : compare, back),
      ),
      shown,
    );
  }

  /**
   * @param {number} number
   * @param {boolean} newest
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} shown
   */
  async compare(number, newest, button, shown) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      shown.replaceChildren();
      return;
    }
    const query = newest ? `from=${number - 1}&to=${number}` : `from=${number}`;
    try {
      const { diff } = await api.get(`${this.path()}/diff?${query}`);
      shown.replaceChildren(diffView(diff));
    } catch (error) {
      shown.replaceChildren(h("p", { class: "failure" }, error.message));
    }
  }
}

/**
 * A unified diff; each line says by its sign what it is, and by its colour.
 * @param {string} diff
 */
export function diffView(diff) {
  if (!diff) return h("p", { class: "note" }, t("The same text."));
  /** @param {string} line */
  const kind = (line) => (/^(---|\+\+\+)/.test(line) ? "of" : ({ "+": "in", "-": "out", "@": "at" }[line[0]] ?? ""));
  return h(
    "pre",
    { class: "exact-text diff", tabindex: "0", role: "group", "aria-label": t("What changed") },
    ...diff.split("\n").map((line) => h("span", { class: `diff-line ${kind(line)}` }, `${line}\n`)),
  );
}
