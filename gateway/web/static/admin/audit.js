// @ts-check
// The audit log: who let which agent do what, newest first, and whether its chain holds.

import * as api from "../lib/api.js";
import { ACTS, sentence } from "./acts.js";
import { empty, exactly, folded, roomTitle } from "./parts.js";
import { FilteredList, commonChoices } from "./filtered.js";
import { h, icon } from "../lib/dom.js";
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
  const { room, persona, person } = commonChoices(t("Room"), t("Persona"), t("Who"));
  return list.form("audit", t("Which entries"), query, [["act", t("What happened"), ACTS], person, persona, room]);
}
