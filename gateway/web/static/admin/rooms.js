// @ts-check
// Rooms, and one room with its sessions, schedules, memory and settings.

import * as api from "../lib/api.js";
import { address, empty, facts, roomTitle, section, when } from "./parts.js";
import { scheduleRow } from "./schedules.js";
import { sessionCard } from "./sessions.js";
import { scaleOf, turnRow } from "./turns.js";
import { h, icon } from "../lib/dom.js";
import { toggleMemory } from "../memory/panel.js";
import { mine } from "../lib/store.js";
import { platformName, tenths } from "../lib/words.js";
import { count, t } from "../lib/i18n.js";

/**
 * @typedef {object} OneRoom
 * @property {Api.RoomLineView} room
 * @property {Api.SessionLineView[]} sessions
 * @property {Api.TurnLineView[]} items
 * @property {Api.Schedule[] | null} schedules
 */

/** @type {Record<string, string>} */
const MENTIONS = {
  null: t("are needed as moot.toml says for each bot"),
  true: t("are needed"),
  false: t("are not needed: every message is answered"),
};
/** @type {Record<string, string>} */
const THREADS = {
  asker: t("who asked there goes on without a mention"),
  everybody: t("everybody goes on without a mention where there is an answer"),
  never: t("each message needs a mention"),
};

/** @type {Page.Section} */
export const rooms = {
  name: "rooms",
  title: t("Rooms"),
  ages: true,
  async load({ path }) {
    const { rooms: all } = await api.get("/api/admin/rooms");
    if (!path) return { all };
    const room = all.find((one) => one.id === path);
    if (!room) throw new Error(t("There is no such room."));
    const [{ sessions }, { items }, schedules] = await Promise.all([
      api.get("/api/admin/sessions"),
      api.get(`/api/admin/turns?${new URLSearchParams({ room: path, limit: "10" })}`),
      api.optional("/api/schedules"),
    ]);
    return {
      room,
      sessions: sessions.filter((one) => one.room_id === path),
      items,
      schedules: schedules?.schedules.filter((one) => one.room_id === path) ?? null,
    };
  },
  /** `data`: the one room that the address names, or `all`. */
  draw: (data, context) => (data.room ? one(data, context) : list(data.all)),
};

/** @param {Api.RoomLineView[]} all */
function list(all) {
  if (!all.length) return [empty(t("No rooms yet."))];
  return [
    h(
      "ul",
      { class: "admin-rows" },
      ...all.map((room) =>
        h(
          "li",
          { class: "admin-row" },
          h(
            "div",
            { class: "row-head" },
            h(
              "a",
              {
                class: "row-link",
                href: address(`rooms/${encodeURIComponent(room.id)}`),
                "data-key": `room-${room.id}`,
              },
              icon(room.kind === "room" ? "hash" : "lock"),
              room.name.replace(/^#/, ""),
            ),
            h("span", { class: "soft" }, platformName(room.platform)),
            room.project ? h("span", { class: "tag" }, room.project) : null,
            h(
              "span",
              { class: "row-end" },
              room.last_at ? when(room.last_at) : h("span", { class: "soft" }, t("nobody spoke yet")),
            ),
          ),
          h("p", { class: "row-about" }, lately(room)),
        ),
      ),
    ),
  ];
}

/**
 * The most talkative, and how many more.
 * @param {Api.RoomLineView} room
 * @param {number} most
 */
function named({ people, more_people }, most) {
  const names = people
    .slice(0, most)
    .map((by) => by.name)
    .join(", ");
  const n = people.length + more_people - Math.min(people.length, most);
  return n ? t("{names} and {n} more", { names, n }) : names;
}

/** @param {Api.RoomLineView} room */
function lately(room) {
  const { messages, days, people, personas } = room;
  const daily = messages / days;
  const parts = [
    messages
      ? t("{n} messages a day", { n: daily >= 10 ? Math.round(daily) : tenths.format(daily) })
      : t("quiet for {n} days", { n: days }),
    people.length ? named(room, 3) : null,
    personas.length ? personas.map((name) => `@${name}`).join(", ") : null,
  ];
  return parts.filter(Boolean).join(" · ");
}

/**
 * @param {OneRoom} found
 * @param {Page.Context} context
 */
function one({ room, sessions, items, schedules }, { refresh }) {
  const models = Object.entries(room.models);
  return [
    h("p", {}, h("a", { href: address("rooms") }, `← ${t("All rooms")}`)),
    h("h2", { class: "admin-name" }, roomTitle(room.name, room.kind)),
    h(
      "div",
      { class: "card-buttons" },
      h(
        "button",
        {
          type: "button",
          class: "button",
          "data-key": "memory",
          on: { click: () => toggleMemory(room, t("An administrator looks."), { beside: false }) },
        },
        icon("book"),
        t("Memory"),
      ),
      mine(room) ? h("a", { class: "button", href: `#${encodeURIComponent(room.id)}` }, t("Open")) : null,
      h("a", { class: "button", href: address("turns", { room: room.id }) }, t("Turns")),
    ),
    section(
      t("About"),
      facts([
        [t("Platform"), platformName(room.platform)],
        [t("Id"), h("code", {}, room.id)],
        room.project ? [t("Project"), room.project] : null,
        [t("Last heard"), room.last_at ? when(room.last_at) : t("never")],
        [
          t("Lately"),
          count(room.messages, "{n} message in {days} days", "{n} messages in {days} days", { days: room.days }),
        ],
        [t("People"), named(room, room.people.length) || t("nobody spoke lately")],
        [t("Personas"), room.personas.map((name) => `@${name}`).join(", ") || t("none was asked lately")],
        [t("Memory"), room.in_memory ? t("is kept") : t("is off: nothing said here is remembered")],
        [t("Mentions"), MENTIONS[String(room.require_mention)]],
        [t("Threads"), THREADS[room.follow]],
        models.length ? [t("Models"), models.map(([persona, model]) => `@${persona}: ${model}`).join(", ")] : null,
      ]),
    ),
    section(
      t("Sessions"),
      sessions.length
        ? h("ul", { class: "cards-list" }, ...sessions.map((session) => sessionCard(session, refresh)))
        : empty(t("No agent lives here now.")),
    ),
    schedules === null
      ? null
      : section(
          t("Schedules"),
          schedules.length
            ? h("ul", { class: "cards-list" }, ...schedules.map((schedule) => scheduleRow(schedule, refresh)))
            : empty(t("Nothing is scheduled here.")),
        ),
    section(
      t("Latest turns"),
      items.length
        ? h("ul", { class: "admin-rows" }, ...items.map((turn) => turnRow(turn, scaleOf(items))))
        : empty(t("Nobody has asked an agent here yet.")),
    ),
  ];
}
