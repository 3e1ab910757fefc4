// @ts-check
// An agent for a persona: its program, its login, its folder; tried for real, then kept.

import * as api from "../lib/api.js";
import { action, field, me, note, section } from "./parts.js";
import { announce, copyButton, fill, h } from "../lib/dom.js";
import { phrase, t } from "../lib/i18n.js";

const PATH = "/api/admin/connect";
const USUAL = "claude-code";

/** @type {Page.Section} */
export const connect = {
  name: "connect",
  title: t("Connect an agent"),
  probe: PATH,
  hears: new Set(),
  load: () => api.get(PATH),
  /**
   * @param {Api.ConnectView} known
   * @param {Page.Context} given
   */
  draw(known, { path, refresh }) {
    return [h("div", { class: "admin-part" }, connectForm(known, path, refresh))];
  },
};

/**
 * @param {Api.ConnectView} known
 * @param {string} wanted the persona that the address names; "": none
 * @param {() => void} refresh
 */
function connectForm({ agents, personas, folder }, wanted, refresh) {
  const first =
    personas.find((one) => one.name === wanted) ?? personas.find((one) => one.agent === USUAL) ?? personas[0];
  const persona = select("persona", [
    ...personas.map((one) => ({ value: one.name, label: `@${one.name}`, chosen: one === first })),
    { value: "", label: t("a new one"), chosen: !first },
  ]);
  const name = input("name", { placeholder: "claude", pattern: "[a-z][a-z0-9_\\-]{0,31}", maxlength: 32 });
  const newName = field(t("Its name, in lower case"), name);
  const agent = select(
    "agent",
    agents.map((one) => ({ value: one.name, label: agentLabel(one), chosen: one.name === (first?.agent ?? USUAL) })),
  );
  const more = h("div", { class: "connect-more" });
  const result = h("div", { class: "connect-result", role: "status" });

  const chosen = () => agents.find((one) => one.name === agent.value) ?? agents[0];
  const now = () => personas.find((one) => one.name === persona.value);
  const draw = () => {
    newName.hidden = persona.value !== "";
    fill(more, ...parts(chosen(), now(), folder, refresh));
    fill(result);
  };
  persona.addEventListener("change", () => {
    const known = now();
    if (known) agent.value = known.agent;
    draw();
  });
  agent.addEventListener("change", draw);

  const form = h(
    "form",
    { class: "admin-filters connect", "data-acts": true, "data-keep": true },
    field(t("Persona"), persona),
    newName,
    field(t("Agent"), agent),
    more,
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  const wish = () => filled(form, persona.value || name.value.trim());
  form.append(
    h(
      "div",
      { class: "card-buttons" },
      action("connect-try", t("Try it"), () => tryIt(form, wish, result)),
      action("connect-save", t("Save"), () => save(form, wish, result), { css: "primary" }),
    ),
    result,
  );
  draw();
  return form;
}

/** @param {Api.KnownAgentView} one */
const agentLabel = (one) => (one.installed ? one.title : t("{agent} (not installed)", { agent: one.title }));

/**
 * What depends on the agent: how to get it, how it logs in, and where it works.
 * @param {Api.KnownAgentView} agent
 * @param {Api.ConnectedView | undefined} persona
 * @param {string} folder
 * @param {() => void} refresh
 */
function parts(agent, persona, folder, refresh) {
  if (!agent.installed) return [install(agent, refresh)];
  const place = input("workspace", {
    value: persona?.workspace || folder,
    placeholder: "~/src/project",
    spellcheck: "false",
    autocapitalize: "off",
  });
  return [
    logins(agent, persona?.shares_login ?? false),
    agent.works_in_folder
      ? h(
          "div",
          {},
          field(t("Which folder shall it work on?"), place),
          note(t("On the machine where Moot runs. Empty: a folder of its own, with nothing in it.")),
        )
      : null,
  ];
}

/**
 * @param {Api.KnownAgentView} agent
 * @param {() => void} refresh
 */
function install({ title, install: line, needs, remedy }, refresh) {
  const again = h(
    "button",
    { type: "button", class: "button", "data-key": "connect-again", on: { click: refresh } },
    t("Look again"),
  );
  if (!line) return h("div", { class: "connect-install" }, h("p", {}, remedy), again);
  return h(
    "div",
    { class: "connect-install" },
    h("p", {}, t("{agent} is not installed here. Paste this into a terminal of that machine:", { agent: title })),
    h("pre", { tabindex: "0", role: "group", "aria-label": t("The line to paste") }, h("code", {}, line)),
    needs ? note(t("It needs {what}.", { what: needs })) : null,
    h("div", { class: "card-buttons" }, copyButton(line), again),
  );
}

/**
 * @param {Api.KnownAgentView} agent
 * @param {boolean} sharing
 */
function logins(agent, sharing) {
  const tokens = agent.keys.slice(1).filter((key) => key.endsWith("_OAUTH_TOKEN"));
  const keys = [...agent.keys.slice(0, 1), ...tokens];
  const own = agent.has_key ? t("with the key that Moot has") : t("as it is set up now");
  const usual =
    sharing || (agent.shares && !agent.has_key) ? "shared" : agent.has_key || !keys.length ? "own" : keys[0];
  const value = input("value", { type: "password", autocomplete: "off", "aria-label": t("The key") });
  const typed = h("div", {}, value, note(t("It goes into moot.env, which only its owner can read.")));
  /**
   * @param {string} way
   * @param {Page.Child[]} words
   */
  const choice = (way, ...words) => {
    const radio = h("input", { type: "radio", name: "way", value: way, checked: way === usual });
    radio.addEventListener("change", () => {
      typed.hidden = way === "own" || way === "shared";
    });
    return h("label", { class: "connect-choice" }, radio, h("span", {}, ...words));
  };
  typed.hidden = usual === "own" || usual === "shared";
  if (!keys.length && !agent.shares) return note(agent.login);
  return h(
    "fieldset",
    { class: "connect-logins" },
    h("legend", {}, t("How does it log in?")),
    agent.shares || sharing
      ? choice("shared", t("with the login that {agent} has on this machine (a subscription)", { agent: agent.title }))
      : null,
    ...keys.map((key) =>
      choice(
        key,
        ...(tokens.includes(key)
          ? phrase("with a subscription's token: {key}", { key: h("code", {}, key) })
          : phrase("with a key: {key}", { key: h("code", {}, key) })),
      ),
    ),
    choice("own", own),
    typed,
  );
}

/**
 * @param {HTMLFormElement} form
 * @param {string} persona
 */
function filled(form, persona) {
  const data = new FormData(form);
  const chosen = String(data.get("way") ?? "own");
  const way = chosen === "own" || chosen === "shared" ? chosen : "key";
  return {
    persona,
    agent: String(data.get("agent")),
    way,
    key: way === "key" ? chosen : "",
    value: way === "key" ? String(data.get("value") ?? "") : "",
    workspace: String(data.get("workspace") ?? ""),
    by: me() ?? "",
  };
}

/**
 * @param {HTMLFormElement} form
 * @param {() => ReturnType<typeof filled>} wish
 * @param {HTMLElement} result
 */
async function tryIt(form, wish, result) {
  if (!form.reportValidity()) return;
  fill(result, h("p", { class: "note" }, t("Asking it to name one file in that folder…")));
  try {
    /** @type {Api.TriedView} */
    const tried = await api.post(`${PATH}/try`, wish());
    fill(result, ...outcome(tried, wish().persona));
    announce(tried.trouble || t("It answered"));
  } catch (error) {
    fill(result);
    throw error;
  }
}

/**
 * @param {Api.TriedView} tried
 * @param {string} persona
 */
function outcome({ answer, asked, seconds, trouble }, persona) {
  return [
    ...asked.map((title) => note(t("It asked for permission, which was refused: {title}", { title }))),
    answer
      ? section(t("@{persona} answered in {n} s", { persona, n: seconds.toFixed(1) }), h("blockquote", {}, answer))
      : null,
    trouble ? h("p", { class: "failure", role: "alert" }, trouble) : null,
  ];
}

/**
 * @param {HTMLFormElement} form
 * @param {() => ReturnType<typeof filled>} wish
 * @param {HTMLElement} result
 */
async function save(form, wish, result) {
  if (!form.reportValidity()) return;
  const { persona } = await api.post(PATH, wish());
  const said = t("Saved. The next question to @{persona} is answered so.", { persona });
  fill(result, h("p", { class: "connect-saved" }, said));
  announce(said);
  const value = /** @type {HTMLInputElement | null} */ (form.querySelector("[name=value]"));
  if (value) value.value = "";
}

/**
 * @param {string} name
 * @param {Page.Attributes} more
 */
const input = (name, more) => h("input", { name, class: "field", "data-key": `connect-${name}`, ...more });

/**
 * @param {string} name
 * @param {{ value: string, label: string, chosen: boolean }[]} options
 */
const select = (name, options) =>
  h(
    "select",
    { name, class: "field", "data-key": `connect-${name}` },
    ...options.map(({ value, label, chosen }) => h("option", { value, selected: chosen }, label)),
  );
