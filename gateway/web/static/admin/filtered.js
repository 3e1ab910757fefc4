// @ts-check
// A list that the address filters, newest first, which grows at its end.

import { pages } from "../lib/api.js";
import { byKey, filledIn, h, targetOf } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { address, roomTitle } from "./parts.js";

/** A choice of a filter: its name in the address, what it is called, and values with their words. */
/** @typedef {[string, string, Array<[string, string]>]} Choice */

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
   * The choices as a form, which changes the address of its section at once.
   * @param {string} section
   * @param {string} label
   * @param {Record<string, string>} query
   * @param {Choice[]} choices
   */
  form(section, label, query, choices) {
    const form = h(
      "form",
      { class: "admin-filters", "aria-label": label },
      ...choices.map((choice) => select(choice, query[choice[0]] ?? "")),
      this.filters(query) ? h("a", { class: "button", href: address(section) }, t("Clear")) : null,
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => {
      const key = targetOf(event).dataset.key;
      location.hash = address(section, filledIn(form));
      requestAnimationFrame(() => byKey(document.body, key ?? "")?.focus());
    });
    return form;
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

/**
 * @param {Choice} choice
 * @param {string} chosen what the address says, which may be something that is not listed
 */
function select([name, label, options], chosen) {
  const known = options.some(([value]) => value === chosen) || !chosen ? options : [...options, [chosen, chosen]];
  const any = known.some(([value]) => !value) ? [] : [["", t("any")]];
  return h(
    "label",
    { class: "filter" },
    h("span", {}, label),
    h(
      "select",
      { name, class: "field", "data-key": `filter-${name}` },
      ...[...any, ...known].map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
    ),
  );
}

/**
 * The choices that many lists have, by the names that they have in an address.
 * @param {string} room
 * @param {string} persona
 * @param {string} person
 * @returns {{ room: Choice, persona: Choice, person: Choice }}
 */
export const commonChoices = (room, persona, person) => ({
  room: [
    "room",
    room,
    [...state.rooms.values()]
      .map((one) => /** @type {[string, string]} */ ([one.id, roomTitle(one.name, one.kind)]))
      .sort((a, b) => a[1].localeCompare(b[1])),
  ],
  persona: ["persona", persona, state.personas.map((one) => [one.name, `@${one.name}`])],
  person: ["person", person, state.people.map((one) => [one.id, one.name])],
});
