// @ts-check
// Accounts of the page: who has one, who is invited, where they are signed in, and programs' tokens.

import * as api from "../lib/api.js";
import { browserName } from "../chat/account.js";
import { action, empty, enterPresses, field, section, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, copyButton, filledIn, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { roleName } from "../lib/words.js";
import { count, locale, phrase, t } from "../lib/i18n.js";

const ROLES = ["guest", "member", "owner"];
/** @type {{ name: string, url: string } | null} */
let invited = null; // the newest invitation; its link is told once

/**
 * @typedef {object} Accounts
 * @property {Api.PageUser[]} users
 * @property {Api.Invitation[]} invitations
 * @property {Api.PageSession[]} sessions
 * @property {Api.PageToken[]} tokens
 */

/** @returns {Promise<Accounts>} */
export async function loadAccounts() {
  const [{ users, invitations }, { sessions }, { tokens }] = await Promise.all([
    api.get("/api/page/users"),
    api.get("/api/page/sessions"),
    api.get("/api/page/tokens"),
  ]);
  return { users, invitations, sessions, tokens };
}

/**
 * @param {Accounts} given
 * @param {() => void} refresh
 */
export function accountParts({ users, invitations, sessions, tokens }, refresh) {
  return [
    section(
      t("Accounts of this page"),
      users.length
        ? h("ul", { class: "admin-rows" }, ...users.map((user) => userRow(user, refresh)))
        : empty(t("Nobody has one yet.")),
      invitations.length
        ? h("ul", { class: "admin-rows" }, ...invitations.map((link) => invitationRow(link, refresh)))
        : null,
    ),
    section(t("Invite somebody"), inviteForm(refresh)),
    section(
      t("Signed in"),
      sessions.length
        ? h("ul", { class: "admin-rows" }, ...sessions.map((session) => sessionRow(session, refresh)))
        : empty(t("Nobody is.")),
    ),
    tokens.length
      ? section(t("Programs' tokens"), h("ul", { class: "admin-rows" }, ...tokens.map((one) => tokenRow(one, refresh))))
      : null,
  ];
}

/**
 * @param {object} given
 * @param {string} given.name
 * @param {string | null} given.tag
 * @param {Page.Child[]} given.about
 * @param {Node | null} given.act
 */
const row = ({ name, tag, about, act }) =>
  h(
    "li",
    { class: "admin-row", "data-acts": true },
    h(
      "div",
      { class: "row-head" },
      h("b", {}, name),
      tag ? h("span", { class: "tag" }, tag) : null,
      act ? h("span", { class: "row-end" }, act) : null,
    ),
    h("p", { class: "row-about" }, ...about),
  );

/**
 * @param {Api.PageUser} user
 * @param {() => void} refresh
 */
function userRow(user, refresh) {
  const close = async () => {
    await api.remove(`/api/page/users/${encodeURIComponent(user.id)}`, {});
    announce(t("{name}'s account is closed", { name: user.name }));
    refresh();
  };
  return row({
    name: user.name,
    tag: user.role ? roleName(user.role) : t("no role"),
    about: [
      `${user.id} · ${count(user.sessions, "{n} session", "{n} sessions")} · `,
      ...phrase("since {time}", { time: when(user.created_at) }),
    ],
    act:
      user.id === state.me?.id
        ? null
        : action(`close-${user.id}`, t("Close"), close, {
            name: t("Close the account of {name}", { name: user.name }),
            sure: () =>
              confirmDialog({
                title: t("Close the account?"),
                text: t("{name} is signed out everywhere and has no role any more. What they said stays.", {
                  name: user.name,
                }),
                yes: t("Close it"),
              }),
          }),
  });
}

/**
 * @param {Api.Invitation} link
 * @param {() => void} refresh
 */
function invitationRow(link, refresh) {
  const withdraw = async () => {
    await api.remove(`/api/page/invitations/${link.id}`, {});
    announce(t("Withdrawn"));
    refresh();
  };
  return row({
    name: link.person_name,
    tag: t("invited"),
    about: [
      [
        link.person_id,
        link.role ? roleName(link.role) : t("as before"),
        link.by_name && t("by {name}", { name: link.by_name }),
        t("until {time}", { time: new Date(link.expires_at).toLocaleString(locale) }),
      ]
        .filter(Boolean)
        .join(" · "),
    ],
    act: action(`withdraw-${link.id}`, t("Withdraw"), withdraw, {
      name: t("Withdraw the invitation of {name}", { name: link.person_name }),
    }),
  });
}

/**
 * @param {Api.PageSession} session
 * @param {() => void} refresh
 */
function sessionRow(session, refresh) {
  const end = async () => {
    await api.remove(`/api/page/sessions/${session.id}`, {});
    announce(t("Signed out"));
    refresh();
  };
  return row({
    name: session.person_name,
    tag: session.here ? t("here") : null,
    about: [
      `${browserName(session.user_agent)} · ${session.address} · `,
      ...phrase("seen {time}", { time: when(session.seen_at) }),
    ],
    act: session.here
      ? null
      : action(`end-${session.id}`, t("Sign out"), end, {
          name: t("Sign {name} out there", { name: session.person_name }),
        }),
  });
}

/**
 * @param {Api.PageToken} token
 * @param {() => void} refresh
 */
function tokenRow(token, refresh) {
  const revoke = async () => {
    await api.remove(`/api/page/tokens/${token.name}`, {});
    announce(t("Revoked"));
    refresh();
  };
  return row({
    name: token.name,
    tag: token.reads === "all" ? t("reads everything") : t("reads {what}", { what: token.reads }),
    about: [
      ...(token.used_at ? phrase("used {time}", { time: when(token.used_at) }) : [t("never used")]),
      " · ",
      ...phrase("made {time}", { time: when(token.created_at) }),
    ],
    act: action(`revoke-${token.name}`, t("Revoke"), revoke, {
      name: t("Revoke the token {name}", { name: token.name }),
    }),
  });
}

/** @param {() => void} refresh */
function inviteForm(refresh) {
  const made = invited
    ? h(
        "div",
        { class: "invitation", role: "status" },
        h(
          "p",
          { class: "note" },
          t("Send this link to {name}. It works once, within three days:", { name: invited.name }),
        ),
        h("code", { class: "invitation-link" }, invited.url),
        copyButton(invited.url, t("Copy the link")),
      )
    : null;
  const form = h(
    "form",
    { class: "admin-filters", "data-acts": true, "data-keep": true },
    field(
      t("Name"),
      h("input", {
        name: "name",
        class: "field",
        required: true,
        maxlength: 80,
        autocomplete: "off",
        "data-key": "invite-name",
      }),
    ),
    field(
      t("Invited as"),
      h(
        "select",
        { name: "role", class: "field", "data-key": "invite-role" },
        ...ROLES.map((role) => h("option", { value: role, selected: role === "member" }, roleName(role))),
      ),
    ),
    action(
      "invite",
      t("Invite"),
      async () => {
        if (!form.reportValidity()) return;
        const link = await api.post("/api/page/invitations", filledIn(form));
        invited = { name: link.person_name, url: link.url };
        announce(t("The link is ready"));
        form.reset();
        refresh();
      },
      { css: "primary" },
    ),
  );
  enterPresses(form, "invite");
  return h("div", { class: "admin-part" }, form, made);
}
