// @ts-check
// A new bot, by the platform's own form. Its secrets are sent once, and never come back.

import * as api from "../lib/api.js";
import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { choice, clearFaults, idList, keptForm, listIn, previewButton, showFaults, tick } from "./fields.js";
import { action, note } from "./parts.js";

const AT = "new_bot";

/**
 * @param {Api.PlatformView[]} platforms
 * @param {import("./settings.js").Propose} propose
 */
export function newBotForm(platforms, propose) {
  const personas = state.personas.map((one) => /** @type {[string, string]} */ ([one.name, `@${one.name}`]));
  const fields = h("div", { class: "settings-form" });
  const said = h("ul", { class: "try-said", role: "status" });
  const platform = choice(
    `${AT}.platform`,
    t("Platform"),
    "",
    platforms.map((one) => [one.name, one.title]),
  );
  const chosen = () => {
    const name = /** @type {HTMLSelectElement} */ (platform.querySelector("select")).value;
    return platforms.find((one) => one.name === name) ?? platforms[0];
  };
  const draw = () => {
    said.replaceChildren();
    fields.replaceChildren(...platformFields(chosen()));
  };
  platform.addEventListener("change", draw);
  draw();
  const form = keptForm(
    { "aria-label": t("Add a bot"), "data-acts": true, autocomplete: "off" },
    platform,
    text(`${AT}.name`, t("Its name here (needed where a platform has several)"), "", "text"),
    fields,
    idList({
      name: `${AT}.personas`,
      label: t("Who answers there; the first one if nobody is named"),
      values: [],
      known: personas,
    }),
    tick(`${AT}.require_mention`, t("Answers only where it is mentioned"), true),
    said,
    h(
      "div",
      { class: "card-buttons" },
      action("try-bot", t("Try it"), () => tryIt(form, chosen(), said)),
      previewButton("settings-new-bot"),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    propose({ [AT]: botIn(form, chosen()) }, form);
  });
  return form;
}

/**
 * @param {string} name
 * @param {string} label
 * @param {string} placeholder
 * @param {string} type
 */
const text = (name, label, placeholder, type) =>
  h(
    "label",
    { class: "filter", "data-field": name },
    h("span", {}, label),
    h("input", {
      name,
      type,
      class: "field",
      placeholder,
      autocomplete: type === "password" ? "new-password" : "off",
      maxlength: 2000,
    }),
  );

/** @param {Api.PlatformView} platform */
function platformFields({ title, docs, needs_url: needsUrl, logins, person }) {
  const secrets = h("div", { class: "settings-form" });
  const login = choice(
    `${AT}.login`,
    t("How it logs in"),
    "0",
    logins.map((one, index) => [String(index), one.title]),
  );
  const draw = () => {
    const index = Number(/** @type {HTMLSelectElement} */ (login.querySelector("select")).value);
    secrets.replaceChildren(
      ...logins[index].fields.map((one) =>
        text(`${AT}.secrets.${one.key}`, `${one.title} (${one.key})`, "", one.hidden ? "password" : "text"),
      ),
    );
  };
  login.addEventListener("change", draw);
  draw();
  return [
    note(t("How to make the account of the bot: {docs}. An id of a person there: {person}", { docs, person })),
    needsUrl
      ? text(`${AT}.url`, t("Address of the {platform} server", { platform: title }), "https://chat.example.org", "url")
      : null,
    logins.length > 1 ? login : h("div", { hidden: true }, login),
    secrets,
  ].filter((one) => one !== null);
}

/**
 * What is filled in.
 * @param {HTMLFormElement} form
 * @param {Api.PlatformView} platform
 */
function botIn(form, platform) {
  const data = new FormData(form);
  /** @param {string} key */
  const value = (key) => String(data.get(`${AT}.${key}`) ?? "").trim();
  const login = Number(value("login") || 0);
  return {
    platform: platform.name,
    name: value("name"),
    url: value("url"),
    login,
    secrets: Object.fromEntries(platform.logins[login].fields.map(({ key }) => [key, value(`secrets.${key}`)])),
    personas: listIn(form, `${AT}.personas`),
    require_mention: data.has(`${AT}.require_mention`),
  };
}

/**
 * Ask the platform for real.
 * @param {HTMLFormElement} form
 * @param {Api.PlatformView} platform
 * @param {HTMLElement} said
 */
async function tryIt(form, platform, said) {
  clearFaults(form);
  said.replaceChildren(h("li", {}, t("Asking {platform} …", { platform: platform.title })));
  try {
    /** @type {{ said: Api.ToldView[] }} */
    const answer = await api.post("/api/settings/bot", { bot: botIn(form, platform) });
    said.replaceChildren(...answer.said.map(({ mark, text: line }) => h("li", {}, `${mark} ${line}`)));
  } catch (error) {
    said.replaceChildren();
    if (!error.body?.faults) throw error;
    showFaults(form, error.body.faults);
  }
}
