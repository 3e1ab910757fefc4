// @ts-check
// One observation: where it stands among the others, and all that was written.

import { h } from "../lib/dom.js";
import { about, when } from "./rows.js";
import { tell } from "../lib/store.js";
import { word } from "../lib/words.js";
import { t } from "../lib/i18n.js";

/**
 * Its elements, and the heading to stand on. `open(id)` shows another, `filter(name, value)` the like.
 * @param {Api.ObservationView} given
 * @param {{ open: (id: string) => void, filter: (name: string, value: string) => void }} given
 */
export function observationView({ record, timeline }, { open, filter }) {
  const heading = h("h3", { class: "record-title", tabindex: "-1" }, record.title);
  return {
    heading,
    elements: [
      h(
        "section",
        { class: "part", "aria-label": t("Timeline") },
        h("div", { class: "part-head" }, h("h3", {}, t("Timeline"))),
        h("ol", { class: "around" }, ...timeline.map((entry) => place(entry, open))),
      ),
      h(
        "section",
        { class: "part record", "aria-label": t("Record") },
        heading,
        h("p", { class: "lead" }, record.subtitle),
        about(word(record.kind), `@${record.persona}`, when(record.at)),
        record.facts.length ? h("ul", { class: "points" }, ...record.facts.map((fact) => h("li", {}, fact))) : null,
        h("p", { class: "prose" }, record.narrative),
        chips(t("Concepts"), "concept", record.concepts, filter),
        chips(t("Files"), "file", record.files, filter),
        record.turn_id
          ? h(
              "button",
              { type: "button", class: "mini why", on: { click: () => tell("why", record.turn_id) } },
              t("Why the answer of this turn"),
            )
          : null,
      ),
    ],
  };
}

/**
 * @param {Api.PlacedView} given
 * @param {(id: string) => void} open
 */
function place({ id, kind, title, at, here }, open) {
  const inside = [h("span", { class: "held-text" }, title), about(word(kind), when(at))];
  if (here) return h("li", { class: "here", "aria-current": "true" }, h("div", { class: "title-row" }, ...inside));
  return h("li", {}, h("button", { type: "button", class: "title-row", on: { click: () => open(id) } }, ...inside));
}

/**
 * @param {string} title
 * @param {string} name
 * @param {string[]} values
 * @param {(name: string, value: string) => void} filter
 */
function chips(title, name, values, filter) {
  if (!values.length) return null;
  return h(
    "div",
    { class: "chips-of" },
    h("h4", {}, title),
    h(
      "ul",
      { class: "chips" },
      ...values.map((value) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: `chip ${name}`,
              title: name === "file" ? t("Others with this file") : t("Others with this concept"),
              on: { click: () => filter(name, value) },
            },
            value,
          ),
        ),
      ),
    ),
  );
}
