// @ts-check
// Entries of the audit log as sentences.

import { h } from "../lib/dom.js";
import { phrase, t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { roleName } from "../lib/words.js";

/** The acts that people look for, by name. */
export const ACTS = /** @type {Array<[string, string]>} */ ([
  ["invoke", t("an agent was asked")],
  ["ask", t("permission was asked for")],
  ["answer", t("permission was given or refused")],
  ["lapse", t("a question ran out")],
  ["grant", t("a role was given")],
  ["revoke", t("a role was taken back")],
  ["pair", t("somebody was let in")],
  ["refuse", t("somebody was refused")],
  ["limit", t("a limit was reached")],
  ["persona", t("a persona was changed")],
  ["settings", t("moot.toml was changed")],
  ["sign_in", t("somebody signed in")],
  ["start", t("Moot started")],
]);

/**
 * What an entry says, as a sentence's parts.
 * @param {Api.EntryView} entry
 * @returns {Page.Child[]}
 */
export function sentence({ act, by, persona, detail }) {
  /** @param {string} name */
  const told = (name) => String(detail?.[name] ?? "");
  const line = told("first_line");
  const values = {
    who: h("b", {}, by ? by.name || by.id : t("somebody who was erased")),
    agent: h("b", {}, persona ? `@${persona}` : t("an agent")),
    what: line ? h("code", {}, line) : told("title"),
    person: h("b", {}, nameOf(told("person"))),
    role: roleName(told("role")),
  };
  switch (act) {
    case "invoke":
      return phrase("{who} asked {agent}", values);
    case "ask":
      return phrase("{agent} asked for permission: {what}", values);
    case "answer":
      return detail?.allowed
        ? phrase("{who} allowed {agent}: {what}", values)
        : phrase("{who} refused {agent}: {what}", values);
    case "lapse":
      return phrase("{agent} was refused, as nobody answered: {what}", values);
    case "agree":
      return phrase("{who} agreed, and a second person has to: {what}", values);
    case "deny":
      return phrase("{who} tried to answer {agent}, and it did not count: {what}", values);
    case "grant":
      return phrase("{who} gave {person} the role {role}", values);
    case "revoke":
      return phrase("{who} took the role {role} back from {person}", values);
    case "pair":
      return phrase("{who} let {person} in", values);
    case "refuse":
      return phrase("{who} was refused", values);
    case "limit":
      return phrase("{who} reached a limit", values);
    case "persona":
      return phrase("{who} changed {agent}", values);
    case "settings":
      return phrase("{who} changed moot.toml: {what}", { ...values, what: told("keys") });
    case "sign_in":
      return phrase("{who} signed in", values);
    case "start":
      return phrase("Moot {version} started", { version: told("version") });
    default:
      return [h("b", {}, act.replaceAll("_", " ")), " ", ...phrase("by {name}", { name: values.who })];
  }
}

/** @param {string} id */
const nameOf = (id) => state.people.find((one) => one.id === id)?.name ?? id;
