// @ts-check
// A list that the address filters, newest first, which grows at its end.

import { pages } from "../lib/api.js";
import { h } from "../lib/dom.js";

export class FilteredList {
  /**
   * `names`: what the address may filter by. `size`: entries of a page; null: as many as the server likes.
   * @param {string} path
   * @param {string[]} names
   * @param {number | null} [size]
   */
  constructor(path, names, size = null) {
    this.path = path;
    this.names = names;
    this.size = size;
    this.of = ""; // the filter that `count` pages were asked of
    this.count = 1;
  }

  /**
   * Every page that was asked for; other filters begin with one again.
   * @param {Record<string, string>} query
   */
  async load(query) {
    const wanted = Object.fromEntries(this.names.filter((name) => query[name]).map((name) => [name, query[name]]));
    const of = JSON.stringify(wanted);
    if (this.of !== of) Object.assign(this, { of, count: 1 });
    const { items, next_before } = await pages(
      this.path,
      this.size === null ? wanted : { ...wanted, limit: String(this.size) },
      this.count,
    );
    return { items, more: next_before !== null };
  }

  /** @param {Record<string, string>} query */
  filters(query) {
    return this.names.some((name) => query[name]);
  }

  /**
   * @param {string} label
   * @param {() => void} refresh
   */
  olderButton(label, refresh) {
    const click = () => {
      this.count += 1;
      refresh();
    };
    return h(
      "button",
      { type: "button", class: "button quiet older-button", "data-key": "older", on: { click } },
      label,
    );
  }
}
