// @ts-check
// What a change of the settings does, in words.

import { h } from "../lib/dom.js";
import { count, locale, t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { diffView } from "../personas/versions.js";
import { note, roomTitle } from "./parts.js";

const MOST_NAMES = 4;
const listed = new Intl.ListFormat(locale);

/**
 * A person's name, where they have spoken; else their id.
 * @param {string} id
 */
export const nameOf = (id) => state.people.find((one) => one.id === id)?.name ?? id;

/** @param {string[]} ids */
function who(ids) {
  const names = ids.map((id) => (id === "*" ? t("everybody who is not named") : nameOf(id)));
  const shown = names.slice(0, names.length > MOST_NAMES ? MOST_NAMES - 1 : MOST_NAMES);
  const left = names.length - shown.length;
  return listed.format(left ? [...shown, count(left, "{n} more person", "{n} more people")] : shown);
}

/** @param {string[]} rooms */
function where(rooms) {
  if (!rooms.length) return t("everywhere");
  const names = rooms.map((id) => {
    if (id === "rooms") return t("in every other room");
    if (id === "dms") return t("in direct messages");
    const room = state.rooms.get(id);
    return t("in {room}", { room: room ? roomTitle(room.name, room.kind) : id });
  });
  const only = rooms.length === 1 && rooms[0] === "rooms";
  return only ? t("in rooms") : listed.format(names);
}

/** @param {string[]} names */
const agents = (names) => (names.length ? listed.format(names.map((name) => `@${name}`)) : t("every persona"));

/**
 * One effect as a sentence.
 * @param {Api.EffectView} given
 */
export function sentence({ act, gains, people, rooms, personas }) {
  const told = { who: who(people), agents: agents(personas), where: where(rooms) };
  if (act === "own")
    return gains
      ? t("May then administer all of Moot: {who}.", told)
      : t("May no longer administer Moot: {who}.", told);
  if (act === "approve")
    return gains
      ? t("May then answer the permission questions of {agents} {where}: {who}.", told)
      : t("May no longer answer the permission questions of {agents} {where}: {who}.", told);
  return gains
    ? t("May then ask {agents} {where}: {who}.", told)
    : t("May no longer ask {agents} {where}: {who}.", told);
}

/** @param {Api.ProposalView} proposal */
export function told(proposal) {
  const { effects, others, at_once: now, restart, secrets, diff } = proposal;
  const everybody = effects.some(({ people }) => people.includes("*"));
  const changes = effects.map((effect) =>
    h("li", { class: `effect ${effect.gains ? "gains" : "loses"}` }, sentence(effect)),
  );
  return h(
    "div",
    { class: "proposal" },
    changes.length ? h("ul", { class: "effects" }, ...changes) : null,
    now.includes("access") && !changes.length ? note(t("Nobody may do more or less than before.")) : null,
    everybody && others
      ? note(
          count(
            others,
            "{n} person who is not named has spoken so far.",
            "{n} people who are not named have spoken so far.",
          ),
        )
      : null,
    now.includes("access") ? note(t("Who may do what takes effect at once.")) : null,
    now.includes("limits") ? note(t("The limits take effect at once.")) : null,
    restart.length
      ? note(t("This takes effect when Moot is started again: {parts}.", { parts: restart.join(", ") }))
      : null,
    secrets.length
      ? note(
          t("{names}: written into moot.env, which only its owner can read, and never shown again.", {
            names: secrets.join(", "),
          }),
        )
      : null,
    diff
      ? h("details", { open: true, "data-key": "diff" }, h("summary", {}, t("The lines of moot.toml")), diffView(diff))
      : null,
  );
}
