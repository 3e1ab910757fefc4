// @ts-check
// Turns: newest first, by room, persona, person, state, and how long they took.

import * as api from "../lib/api.js";
import { empty, exactly, folded, money, roomTitle, short, stateMark, stepLegend, timeBar } from "./parts.js";
import { FilteredList, commonChoices } from "./filtered.js";
import { h, withCode } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { duration } from "../lib/words.js";
import { showWhy } from "../chat/why.js";
import { t } from "../lib/i18n.js";

const FILTERS = ["room", "persona", "person", "state", "slow_ms"];
/** @typedef {import("./filtered.js").Choice} Choice */
const STATE = /** @type {Choice} */ ([
  "state",
  t("State"),
  [
    ["open", t("at work")],
    ["posted", t("answered")],
    ["failed", t("failed")],
    ["stopped", t("stopped")],
  ],
]);
const TOOK = /** @type {Choice} */ ([
  "slow_ms",
  t("Took"),
  [
    ["", t("any time")],
    ["10000", t("over {time}", { time: duration(10_000) })],
    ["30000", t("over {time}", { time: duration(30_000) })],
    ["60000", t("over {n} min", { n: 1 })],
    ["300000", t("over {n} min", { n: 5 })],
  ],
]);
const PAGE = 50;

const list = new FilteredList("/api/admin/turns", FILTERS, PAGE);

/** @type {Page.Section} */
export const turns = {
  name: "turns",
  title: t("Turns"),
  load: ({ query }) => list.load(query),
  /**
   * @param {{ items: Api.TurnLineView[], more: boolean }} found
   * @param {Page.Context} context
   */
  draw({ items, more }, { query, refresh }) {
    const filtered = list.filters(query);
    const most = scaleOf(items);
    return [
      folded(filters(query), filtered),
      items.length ? stepLegend() : null,
      items.length
        ? h(
            "ul",
            { class: "admin-rows", "aria-label": t("Turns, newest first") },
            ...items.map((turn) => turnRow(turn, most)),
          )
        : empty(
            filtered
              ? t("No turn fits the filter.")
              : t("No turns yet. One is listed as soon as somebody asks an agent."),
          ),
      more ? list.olderButton(t("Older turns"), refresh) : null,
    ];
  },
};

/**
 * What a full bar stands for: nearly the slowest, so that one that hung doesn't flatten all others.
 * @param {Api.TurnLineView[]} items
 */
export function scaleOf(items) {
  const all = items.map((turn) => turn.total_ms ?? 0).sort((a, b) => a - b);
  return Math.max(all[Math.floor(all.length * 0.95)] ?? 0, 1);
}

/** @param {Record<string, string>} query */
function filters(query) {
  const { room, persona, person } = commonChoices(t("Room"), t("Persona"), t("Person"));
  const choices = [room, persona, person, STATE, TOOK];
  return list.form("turns", t("Which turns"), query, choices);
}

/**
 * A turn in a list; `most`: what a full bar stands for.
 * @param {Api.TurnLineView} turn
 * @param {number} most
 */
export function turnRow(turn, most) {
  const name = roomTitle(turn.room_name, turn.room_kind);
  const why = h(
    "button",
    {
      type: "button",
      class: "mini",
      "data-key": `why-${turn.id}`,
      "aria-label": t("Why: @{persona} for {name}", { persona: turn.persona, name: turn.person_name }),
      on: { click: () => showWhy(turn.id) },
    },
    t("Why"),
  );
  const spent = [
    turn.tokens ? t("{n} tokens", { n: short(turn.tokens) }) : null,
    turn.cost_usd !== null && turn.cost_usd !== undefined ? money(turn.cost_usd) : null,
  ].filter(Boolean);
  return h(
    "li",
    { class: "admin-row turn-row" },
    h(
      "div",
      { class: "row-head" },
      stateMark(turn.state),
      h("b", {}, turn.command ? t("Command") : `@${turn.persona}`),
      h("span", { class: "soft" }, t("for {person} in {room}", { person: turn.person_name, room: name })),
      h("span", { class: "row-end" }, exactly(turn.at), why),
    ),
    turn.total_ms === null || turn.total_ms === undefined
      ? null
      : h(
          "div",
          { class: "row-time" },
          timeBar(turn, most * 1.02) ?? h("span", {}),
          h("span", { class: "soft" }, [duration(turn.total_ms), ...spent].join(" · ")),
        ),
    turn.error ? h("p", { class: "bad-text" }, ...withCode(turn.error)) : null,
  );
}
