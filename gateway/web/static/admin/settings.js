// @ts-check
// moot.toml on the page: who may do what, limits, bots. Each change is previewed before it is written.

import * as api from "../lib/api.js";
import { modal } from "../lib/dialogs.js";
import { announce, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { platformName, roleName } from "../lib/words.js";
import { told } from "./effects.js";
import { choice, clearFaults, idList, keptForm, listIn, previewButton, showFaults, tick } from "./fields.js";
import { limitsForm } from "./limits.js";
import { newBotForm } from "./new_bot.js";
import { empty, me, note, roomTitle, section } from "./parts.js";

/** @typedef {(change: object, form: HTMLFormElement) => Promise<void>} Propose */

/** @type {Page.Section} */
export const settings = {
  name: "settings",
  title: t("Settings"),
  probe: "/api/settings",
  hears: new Set(["access", "hello", "reload"]),
  async load() {
    const [file, { people }] = await Promise.all([api.get("/api/settings"), api.get("/api/people")]);
    return { file, people };
  },
  /**
   * @param {{ file: Api.SettingsView, people: Api.SpeakerView[] }} given
   * @param {Page.Context} context
   */
  draw({ file, people }, { refresh }) {
    /** @type {Propose} */
    const propose = (change, form) => preview(file.base, change, form, refresh);
    if (file.fault) return [fault(file.fault)];
    return [
      file.restart.length
        ? h(
            "p",
            { class: "verdict wait", role: "status" },
            t("Start Moot again for this to take effect: {parts}.", { parts: file.restart.join(", ") }),
          )
        : null,
      note(
        file.writable
          ? t("Changes are written into {file}. What else it says, and its comments, stay as they are.", {
              file: file.file,
            })
          : t("Moot may not write {file}: nothing can be changed here.", { file: file.file }),
      ),
      section(t("Who may do what"), accessForm(file.access, people, propose)),
      section(t("Limits"), limitsForm(file.limits, people, propose)),
      section(
        t("Bots"),
        file.bots.length
          ? h("ul", { class: "cards-list" }, ...file.bots.map((bot) => botForm(bot, propose)))
          : empty(t("None yet: people talk to Moot on this page alone.")),
      ),
      section(t("Add a bot"), newBotForm(file.platforms, propose)),
    ];
  },
};

/** @param {string} text */
const fault = (text) => h("p", { class: "failure", role: "alert" }, text);

/**
 * Show what a change would do, and write it if that is wanted.
 * @param {string} base
 * @param {object} change
 * @param {HTMLFormElement} form
 * @param {() => void} refresh
 */
async function preview(base, change, form, refresh) {
  clearFaults(form);
  try {
    const proposal = await api.post("/api/settings/preview", { change, base });
    if (!proposal.diff) {
      announce(t("Nothing changes"));
      showFaults(form, { "": t("Nothing changes: moot.toml says this already.") });
      return;
    }
    ask(proposal, async () => {
      await api.put("/api/settings", { change, base, by: me() });
      delete form.dataset.keep; // what is drawn next takes its place
      announce(t("Saved"));
      refresh();
    });
  } catch (error) {
    showFaults(form, error.body?.faults ?? { "": error.message });
  }
}

/**
 * @param {Api.ProposalView} proposal
 * @param {() => Promise<void>} save
 */
function ask(proposal, save) {
  const said = h("p", { class: "failure", role: "alert" });
  const yes = h("button", { type: "button", class: "button primary" }, t("Save"));
  const no = h("button", { type: "button", class: "button", autofocus: true }, t("Cancel"));
  const title = t("What this changes");
  const dialog = modal(
    title,
    h(
      "div",
      { class: "dialog-body" },
      h("h2", {}, title),
      told(proposal),
      said,
      h("div", { class: "dialog-buttons" }, no, yes),
    ),
    { classes: "settings-dialog" },
  );
  no.addEventListener("click", () => dialog.close());
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    try {
      await save();
      dialog.close();
    } catch (error) {
      said.textContent = error.message;
      yes.disabled = false;
    }
  });
}

// ── Who may do what ───────────────────────────────────────────────────────────────────────

/** @type {Array<[string, string]>} */
const ROLES = ["guest", "member", "owner"].map((role) => [role, roleName(role)]);

/**
 * @param {Record<string, any>} access
 * @param {Api.SpeakerView[]} people
 * @param {Propose} propose
 */
function accessForm(access, people, propose) {
  const known = people.map((one) => /** @type {[string, string]} */ ([one.id, one.name]));
  /**
   * @param {string} key
   * @param {string} label
   */
  const ids = (key, label) =>
    idList({ name: `access.${key}`, label, values: access[key], known, placeholder: "slack:U06STGBF4Q0" });
  const grants = h("div", { class: "grants", "data-field": "access.grants" }, ...access.grants.map(grantFields(known)));
  const more = h(
    "button",
    {
      type: "button",
      class: "button",
      on: {
        click: () => {
          const made = grantFields(known)({ role: "member", people: [], rooms: [], personas: [] });
          grants.append(made);
          made.querySelector("select")?.focus();
        },
      },
    },
    t("Add a rule"),
  );
  const form = keptForm(
    { "aria-label": t("Who may do what") },
    h(
      "div",
      { class: "admin-filters" },
      choice("access.rooms", t("In rooms"), access.rooms, [
        ["closed", t("only people who are named")],
        ["open", t("everybody may ask")],
      ]),
      choice("access.dms", t("In direct messages"), access.dms, [
        ["closed", t("only people who are named")],
        ["pairing", t("others get a code that you approve")],
        ["open", t("everybody may ask")],
      ]),
      choice("access.invoke", t("May ask agents: at least"), access.invoke, ROLES),
      choice("access.approve", t("May answer permission questions: at least"), access.approve, ROLES),
    ),
    ids("owners", t("Owners: may do all")),
    ids("approvers", t("Approvers: members who also answer permission questions")),
    ids("people", t("Members: may ask")),
    h("fieldset", { class: "grant-box" }, h("legend", {}, t("Rules for single rooms or personas")), grants, more),
    previewButton("settings-access"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    propose({ access: changedAccess(access, form) }, form);
  });
  return form;
}

/** @param {Array<[string, string]>} known */
const grantFields =
  (known) =>
  /** @param {{ role: string, people: string[], rooms: string[], personas: string[] }} grant */
  (grant) => {
    const rooms = [...state.rooms.values()]
      .filter((room) => !room.id.startsWith("web:"))
      .map((room) => /** @type {[string, string]} */ ([room.id, roomTitle(room.name, room.kind)]));
    const personas = state.personas.map((one) => /** @type {[string, string]} */ ([one.name, `@${one.name}`]));
    /** @type {Array<[string, string]>} */
    const anybody = [["*", t("everybody")], ...known];
    const box = h(
      "fieldset",
      { class: "grant", "data-grant": true },
      h("legend", {}, t("Rule")),
      choice("role", t("Role"), grant.role, ROLES),
      idList({ name: "people", label: t("People"), values: grant.people, known: anybody }),
      idList({ name: "rooms", label: t("Rooms (none: all)"), values: grant.rooms, known: rooms }),
      idList({ name: "personas", label: t("Personas (none: all)"), values: grant.personas, known: personas }),
      h(
        "button",
        {
          type: "button",
          class: "button quiet",
          on: {
            click: () => {
              const form = box.closest("form");
              box.remove();
              form?.dispatchEvent(new Event("input"));
            },
          },
        },
        t("Take the rule away"),
      ),
    );
    return box;
  };

/**
 * The keys that somebody changed.
 * @param {Record<string, any>} access
 * @param {HTMLFormElement} form
 */
function changedAccess(access, form) {
  const data = new FormData(form);
  /** @type {Record<string, unknown>} */
  const wanted = {};
  for (const key of ["rooms", "dms", "invoke", "approve"]) wanted[key] = data.get(`access.${key}`);
  for (const key of ["owners", "approvers", "people"]) wanted[key] = listIn(form, `access.${key}`);
  wanted.grants = [...form.querySelectorAll("[data-grant]")].map((box) => {
    const role = /** @type {HTMLSelectElement} */ (box.querySelector("select")).value;
    const lists = Object.fromEntries(["people", "rooms", "personas"].map((name) => [name, listIn(box, name)]));
    return {
      role,
      ...Object.fromEntries(Object.entries(lists).filter(([name, ids]) => ids.length || name === "people")),
    };
  });
  /** @param {unknown} value */
  const plain = (value) => JSON.stringify(Array.isArray(value) ? value.map(sorted).sort() : value);
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => plain(value) !== plain(access[key])));
}

/**
 * A rule or a word in a form in which two that mean the same are the same.
 * @param {any} one
 */
const sorted = (one) =>
  typeof one === "string"
    ? one
    : JSON.stringify([one.role, ...["people", "rooms", "personas"].map((name) => [...(one[name] ?? [])].sort())]);

// ── Bots ──────────────────────────────────────────────────────────────────────────────────

/**
 * @param {Api.BotSettingsView} bot
 * @param {Propose} propose
 */
function botForm(bot, propose) {
  const personas = state.personas.map((one) => /** @type {[string, string]} */ ([one.name, `@${one.name}`]));
  const at = `bots.${bot.name}`;
  const form = keptForm(
    { "aria-label": t("The bot {name}", { name: bot.name }), "data-field": at },
    h("p", { class: "row-head" }, h("b", {}, bot.name), h("span", { class: "soft" }, platformName(bot.platform))),
    idList({
      name: `${at}.personas`,
      label: t("Who answers there; the first one if nobody is named"),
      values: bot.personas,
      known: personas,
    }),
    tick(`${at}.require_mention`, t("Answers only where it is mentioned"), bot.require_mention),
    previewButton(`settings-${at}`),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = listIn(form, `${at}.personas`);
    const mention = new FormData(form).has(`${at}.require_mention`);
    const keys = {
      ...(wanted.join() === bot.personas.join() ? {} : { personas: wanted }),
      ...(mention === bot.require_mention ? {} : { require_mention: mention }),
    };
    propose({ bots: { [bot.name]: keys } }, form);
  });
  return h("li", { class: "card" }, form);
}
