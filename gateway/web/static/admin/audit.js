// @ts-check
// The audit log: who let which agent do what, newest first, and whether its chain holds.

import * as api from "../lib/api.js";
import { ACTS, sentence } from "./acts.js";
import { address, empty, exactly, folded, roomTitle } from "./parts.js";
import { FilteredList } from "./filtered.js";
import { filledIn, h, icon } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { showWhy } from "../chat/why.js";
import { count, t } from "../lib/i18n.js";

const FILTERS = ["act", "person", "persona", "room", "turn"];
const list = new FilteredList("/api/audit", FILTERS);

/** @type {Page.Section} */
export const audit = {
  name: "audit",
  title: t("Audit log"),
  probe: "/api/audit?limit=1",
  async load({ query }) {
    const [found, checked] = await Promise.all([list.load(query), api.get("/api/audit/verify")]);
    return { ...found, checked };
  },
  /**
   * @param {{ items: Api.EntryView[], more: boolean, checked: Api.VerdictView }} found
   * @param {Page.Context} context
   */
  draw({ items, more, checked }, { query, refresh }) {
    const filtered = list.filters(query);
    return [
      badge(checked),
      folded(filters(query), filtered),
      items.length
        ? h("ul", { class: "admin-rows", "aria-label": t("Audit log, newest first") }, ...items.map(entry))
        : empty(filtered ? t("Nothing fits the filter.") : t("Nothing is on record yet.")),
      more ? list.olderButton(t("Older ones"), refresh) : null,
    ];
  },
};

/** @param {Api.VerdictView} given */
function badge({ ok, rows, broken, broken_seq: at }) {
  if (ok)
    return h(
      "p",
      { class: "verdict good" },
      icon("check"),
      count(rows, "Verified: {n} entry, not changed.", "Verified: {n} entries, none changed."),
    );
  return h(
    "p",
    { class: "verdict bad", role: "alert" },
    icon("close"),
    at === null
      ? t("The chain is broken at its end: {how}", { how: broken ?? "" })
      : t("The chain is broken at {at}: {how}", { at, how: broken ?? "" }),
  );
}

/**
 * A hash by its beginning, as people compare them; everything else as it is.
 * @param {string | number | boolean | null} value
 */
const brief = (value) => (/^[0-9a-f]{32,}$/.test(String(value)) ? `${String(value).slice(0, 12)}…` : value);

/** @param {Api.EntryView} given */
function entry(given) {
  const { seq, at, act, persona, room_id: roomId, turn_id: turn, detail } = given;
  const room = state.rooms.get(roomId ?? "");
  const more = Object.entries({ act, persona, ...detail })
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${brief(value)}`);
  return h(
    "li",
    { class: "admin-row" },
    h(
      "div",
      { class: "row-head" },
      h("span", { class: "audit-said" }, ...sentence(given)),
      roomId
        ? h("span", { class: "soft" }, t("in {room}", { room: room ? roomTitle(room.name, room.kind) : roomId }))
        : null,
      h(
        "span",
        { class: "row-end" },
        exactly(at),
        turn
          ? h(
              "button",
              {
                type: "button",
                class: "mini",
                "data-key": `audit-${seq}`,
                "aria-label": t("Why: turn of entry {seq}", { seq }),
                on: { click: () => showWhy(turn) },
              },
              t("Why"),
            )
          : null,
      ),
    ),
    h(
      "details",
      { class: "row-about audit-more", "data-key": `audit-more-${seq}` },
      h("summary", { "aria-label": t("Details of entry {seq}", { seq }) }, `#${seq}`),
      h("p", {}, more.join(", ")),
    ),
  );
}

/** @param {Record<string, string>} query */
function filters(query) {
  /**
   * @param {string} name
   * @param {string} label
   * @param {Array<[string, string]>} known
   */
  const field = (name, label, known) =>
    h(
      "label",
      { class: "filter" },
      h("span", {}, label),
      h("input", {
        name,
        class: "field",
        value: query[name] ?? "",
        list: `audit-${name}s`,
        autocomplete: "off",
        maxlength: 300,
        "data-key": `audit-${name}`,
      }),
      h("datalist", { id: `audit-${name}s` }, ...known.map(([value, words]) => h("option", { value }, words))),
    );
  const rooms = [...state.rooms.values()].map(
    (room) => /** @type {[string, string]} */ ([room.id, roomTitle(room.name, room.kind)]),
  );
  const form = h(
    "form",
    { class: "admin-filters", "aria-label": t("Which entries") },
    field("act", t("What happened"), ACTS),
    field(
      "person",
      t("Who"),
      state.people.map((one) => [one.id, one.name]),
    ),
    field(
      "persona",
      t("Persona"),
      state.personas.map((one) => [one.name, `@${one.name}`]),
    ),
    field("room", t("Room"), rooms),
    h("button", { class: "button", "data-key": "audit-filter" }, t("Filter")),
    list.filters(query) ? h("a", { class: "button", href: address("audit") }, t("Clear")) : null,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const to = address("audit", filledIn(form));
    location.hash = to;
  });
  return form;
}
