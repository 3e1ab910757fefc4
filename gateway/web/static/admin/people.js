// @ts-check
// People and what they may do: roles that were given here can be taken back here.

import * as api from "../lib/api.js";
import { accountParts, loadAccounts } from "./accounts.js";
import { action, empty, enterPresses, field, me, note, roomTitle, section, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, filledIn, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { roleName } from "../lib/words.js";
import { t } from "../lib/i18n.js";

const ROLES = [
  ["guest", t("guest: is heard")],
  ["member", t("member: may ask")],
  ["owner", t("owner: may do all")],
];
/** @type {Record<string, string>} */
const WHERE = { rooms: t("in rooms"), dms: t("in direct messages") };
/** @type {Record<string, string>} */
const RULES = {
  closed: t("closed: only those named below"),
  open: t("open to everybody"),
  pairing: t("unknown users get a code that you approve"),
};

/** @type {Page.Section} */
export const people = {
  name: "people",
  title: t("People"),
  probe: "/api/access",
  load: async () => ({
    access: await api.get("/api/access"),
    known: (await api.get("/api/people")).people,
    accounts: await loadAccounts(),
  }),
  /**
   * @param {{ access: Api.Access, known: Api.SpeakerView[], accounts: import("./accounts.js").Accounts }} given
   * @param {Page.Context} context
   */
  draw({ access, known, accounts }, { refresh }) {
    const held = new Set(access.grants.map((grant) => grant.person_id));
    return [
      ...accountParts(accounts, refresh),
      note(
        t("Rooms: {rooms}. Direct messages: {dms}. See [access] in moot.toml.", {
          rooms: RULES[access.rooms] ?? access.rooms,
          dms: RULES[access.dms] ?? access.dms,
        }),
      ),
      section(
        t("Roles given here"),
        access.grants.length
          ? h("ul", { class: "admin-rows" }, ...access.grants.map((grant) => grantRow(grant, refresh)))
          : empty(t("None yet.")),
      ),
      section(t("Give a role"), grantForm(known, refresh)),
      access.configured.length
        ? section(t("Roles of moot.toml"), h("ul", { class: "admin-rows" }, ...access.configured.map(configuredRow)))
        : null,
      section(
        t("Who has spoken"),
        known.length
          ? h(
              "ul",
              { class: "admin-rows" },
              ...known.map((person) =>
                h(
                  "li",
                  { class: "admin-row" },
                  h(
                    "div",
                    { class: "row-head" },
                    h("b", {}, person.name),
                    h("span", { class: "soft" }, person.id),
                    held.has(person.id) ? h("span", { class: "tag" }, t("has a role")) : null,
                  ),
                ),
              ),
            )
          : empty(t("Nobody yet.")),
      ),
    ];
  },
};

/** @param {Api.GrantView} given */
function scopeWords({ room_name: name, room_id: id, persona, where }) {
  const room = id ? t("in {room}", { room: name ? roomTitle(name, "room") : id }) : (WHERE[where] ?? t("everywhere"));
  return persona
    ? t("{where}, with @{persona}", { where: room, persona })
    : t("{where}, with every persona", { where: room });
}

/**
 * @param {Api.GrantView} grant
 * @param {() => void} refresh
 */
function grantRow(grant, refresh) {
  const take = async () => {
    const by = me();
    if (!by) return;
    await api.remove(`/api/access/grants/${grant.seq}`, { by });
    announce(t("Taken back from {name}", { name: grant.person_name }));
    refresh();
  };
  const sure = () =>
    confirmDialog({
      title: t("Take it back?"),
      text: t("{name} is no longer {role} {where}.", {
        name: grant.person_name,
        role: roleName(grant.role),
        where: scopeWords(grant),
      }),
      yes: t("Take back"),
    });
  return h(
    "li",
    { class: "admin-row", "data-acts": true },
    h(
      "div",
      { class: "row-head" },
      h("b", {}, grant.person_name),
      h("span", { class: "tag" }, roleName(grant.role)),
      h(
        "span",
        { class: "row-end" },
        action(`revoke-${grant.seq}`, t("Take back"), take, {
          name: t("Take back: {name}, {role}", { name: grant.person_name, role: roleName(grant.role) }),
          sure,
        }),
      ),
    ),
    h(
      "p",
      { class: "row-about" },
      `${grant.person_id} · ${scopeWords(grant)} · ${t("by {name}", { name: grant.by_name })} · `,
      when(grant.at),
    ),
  );
}

/** @param {Api.ConfiguredView} given */
function configuredRow({ role, people: who, rooms, personas, where }) {
  const names = who
    .map((id) => (id === "*" ? t("everybody") : (state.people.find((person) => person.id === id)?.name ?? id)))
    .join(", ");
  const places = [
    rooms.length ? rooms.join(", ") : (WHERE[where] ?? t("everywhere")),
    personas.length ? personas.map((name) => `@${name}`).join(", ") : t("every persona"),
  ];
  return h(
    "li",
    { class: "admin-row" },
    h("div", { class: "row-head" }, h("b", {}, names), h("span", { class: "tag" }, roleName(role))),
    h("p", { class: "row-about" }, places.join(" · ")),
  );
}

/**
 * @param {Api.SpeakerView[]} known
 * @param {() => void} refresh
 */
function grantForm(known, refresh) {
  /**
   * @param {string} name
   * @param {string[][]} options
   */
  const select = (name, options) =>
    h(
      "select",
      { name, class: "field", "data-key": `grant-${name}` },
      ...options.map(([value, words]) =>
        h("option", { value, selected: name === "role" && value === "member" }, words),
      ),
    );
  const rooms = [...state.rooms.values()]
    .filter((room) => !room.id.startsWith("web:"))
    .map((room) => [room.id, roomTitle(room.name, room.kind)]);
  const form = h(
    "form",
    { class: "admin-filters", "data-acts": true, "data-keep": true },
    field(
      t("Person's id"),
      h("input", {
        name: "person_id",
        class: "field",
        required: true,
        list: "known-people",
        autocomplete: "off",
        placeholder: "slack:U06STGBF4Q0",
        maxlength: 300,
        "data-key": "grant-person",
      }),
    ),
    h(
      "datalist",
      { id: "known-people" },
      ...known
        .filter((person) => !person.id.startsWith("web:"))
        .map((person) => h("option", { value: person.id }, person.name)),
    ),
    field(t("Role"), select("role", ROLES)),
    field(t("Room"), select("room_id", [["", t("everywhere")], ...rooms])),
    field(
      t("Persona"),
      select("persona", [
        ["", t("every persona")],
        ...state.personas.map((persona) => [persona.name, `@${persona.name}`]),
      ]),
    ),
    action(
      "grant",
      t("Give"),
      async () => {
        const by = me();
        if (!by || !form.reportValidity()) return;
        const given = Object.fromEntries(Object.entries(filledIn(form)).filter(([, value]) => value));
        const name = known.find((person) => person.id === given.person_id)?.name;
        await api.post("/api/access/grants", { ...given, ...(name ? { person_name: name } : {}), by });
        announce(t("Given"));
        form.reset();
        refresh();
      },
      { css: "primary" },
    ),
  );
  enterPresses(form, "grant");
  return form;
}
