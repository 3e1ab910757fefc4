// @ts-check
// [limits]: how much each may ask, for everybody, and for single people, rooms and personas.

import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { roomTitle } from "./parts.js";
import { keptForm, previewButton } from "./fields.js";

/** @type {Array<[string, string]>} */
const AMOUNTS = [
  ["questions_a_minute", t("questions a minute")],
  ["questions_an_hour", t("questions an hour")],
  ["questions_a_day", t("questions a day")],
  ["tokens_a_day", t("tokens a day")],
  ["tokens_a_month", t("tokens a month")],
  ["usd_a_day", t("USD a day")],
  ["usd_a_month", t("USD a month")],
  ["seconds_a_day", t("seconds a day")],
  ["seconds_a_month", t("seconds a month")],
];
/** @type {Array<[string, string]>} */
const EVERY = [
  ["person", t("Each person")],
  ["guest", t("Each guest")],
  ["room", t("Each room")],
  ["persona", t("Each persona")],
];
/** @type {Array<[string, string]>} */
const SINGLE = [
  ["people", t("One person")],
  ["rooms", t("One room")],
  ["personas", t("One persona")],
];

/** @typedef {Record<string, any>} Limits */

/**
 * @param {Limits} limits
 * @param {Api.SpeakerView[]} people
 * @param {import("./settings.js").Propose} propose
 */
export function limitsForm(limits, people, propose) {
  const own = SINGLE.flatMap(([kind]) =>
    Object.entries(limits[kind] ?? {}).map(([id, table]) =>
      subject([kind, id], titleOf(kind, id, people), table, true),
    ),
  );
  const form = keptForm(
    { "aria-label": t("Limits") },
    ...EVERY.map(([kind, title]) => subject([kind], title, limits[kind] ?? {}, Boolean(size(limits[kind])))),
    ...own,
    adder(people),
    previewButton("settings-limits"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    propose({ limits: changed(limits, form) }, form);
  });
  return form;
}

/** @param {Limits | undefined} table */
const size = (table) => Object.keys(table ?? {}).length;

/**
 * @param {string} kind
 * @param {string} id
 * @param {Api.SpeakerView[]} people
 */
function titleOf(kind, id, people) {
  if (kind === "personas") return `@${id}`;
  if (kind === "people") return people.find((one) => one.id === id)?.name ?? id;
  const room = state.rooms.get(id);
  return room ? roomTitle(room.name, room.kind) : id;
}

/**
 * The limits of one subject.
 * @param {string[]} path
 * @param {string} title
 * @param {Limits} table
 * @param {boolean} open
 */
function subject(path, title, table, open) {
  const set = size(table);
  return h(
    "details",
    { class: "limit", open, "data-limit": JSON.stringify(path), "data-key": `limit-${path.join("-")}` },
    h("summary", {}, title, " ", h("span", { class: "soft" }, set ? "" : t("no limit"))),
    h(
      "div",
      { class: "admin-filters" },
      ...AMOUNTS.map(([key, words]) =>
        h(
          "label",
          { class: "filter", "data-field": ["limits", ...path, key].join(".") },
          h("span", {}, words),
          h("input", {
            class: "field",
            type: "number",
            min: 0,
            step: key.startsWith("usd") ? "0.01" : "1",
            inputmode: "decimal",
            "data-amount": key,
            value: table[key] ?? "",
            placeholder: t("no limit"),
          }),
        ),
      ),
    ),
  );
}

/**
 * A row that adds a person, a room or a persona with limits of its own.
 * @param {Api.SpeakerView[]} people
 */
function adder(people) {
  const kind = h(
    "select",
    { class: "field", "aria-label": t("Whose limits") },
    ...SINGLE.map(([value, words]) => h("option", { value }, words)),
  );
  const which = h("select", { class: "field", "aria-label": t("Which one") });
  const fill = () => {
    /** @type {Record<string, string[]>} */
    const ids = {
      people: people.map((one) => one.id),
      rooms: [...state.rooms.keys()],
      personas: state.personas.map((one) => one.name),
    };
    which.replaceChildren(...ids[kind.value].map((id) => h("option", { value: id }, titleOf(kind.value, id, people))));
  };
  kind.addEventListener("change", fill);
  fill();
  const add = h(
    "button",
    {
      type: "button",
      class: "button",
      on: {
        click: () => {
          if (!which.value) return;
          const path = [kind.value, which.value];
          const made = subject(path, titleOf(kind.value, which.value, people), {}, true);
          row.before(made);
          made.querySelector("input")?.focus();
        },
      },
    },
    t("Give limits of its own"),
  );
  const row = h("div", { class: "limit-add admin-filters" }, kind, which, add);
  return row;
}

/**
 * The amounts that differ; null: no limit any more.
 * @param {Limits} limits
 * @param {HTMLFormElement} form
 */
function changed(limits, form) {
  /** @type {Limits} */
  const found = {};
  for (const box of form.querySelectorAll("[data-limit]")) {
    const [kind, id] = JSON.parse(/** @type {HTMLElement} */ (box).dataset.limit ?? "[]");
    const now = (id === undefined ? limits[kind] : limits[kind]?.[id]) ?? {};
    /** @type {Limits} */
    const differs = {};
    for (const input of box.querySelectorAll("input")) {
      const key = input.dataset.amount ?? "";
      const value = input.value === "" ? null : Number(input.value);
      if (value !== (now[key] ?? null)) differs[key] = value;
    }
    if (!size(differs)) continue;
    if (id === undefined) found[kind] = differs;
    else found[kind] = { ...found[kind], [id]: differs };
  }
  return found;
}
