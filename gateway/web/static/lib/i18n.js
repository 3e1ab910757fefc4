// @ts-check
// The words of the interface. The English text is its own key: what has no translation stays English.

import { cookie, setCookie } from "./cookies.js";

const COOKIE = "moot-language"; // so that the server speaks it as well

/** The languages by their own names. */
export const LANGUAGES = { en: "English", de: "Deutsch", es: "Español", ja: "日本語", zh: "简体中文" };

/** @typedef {keyof typeof LANGUAGES} Language */

/**
 * @param {string} tag
 * @returns {Language | null}
 */
function known(tag) {
  const [code] = tag.toLowerCase().split("-");
  return code in LANGUAGES ? /** @type {Language} */ (code) : null;
}

/** The language that somebody chose in this browser; null: the browser's own. */
export const chosenLanguage = () => known(cookie(COOKIE) ?? "");

/**
 * Choose the language of the interface and of what Moot says, from the next load on.
 * @param {Language | null} chosen null: the browser's own
 */
export const chooseLanguage = (chosen) => setCookie(COOKIE, chosen);

/** The language of the interface. */
export const language = chosenLanguage() ?? navigator.languages.map(known).find(Boolean) ?? "en";

/** The same with the person's region, for dates and numbers. */
export const locale = navigator.languages.find((tag) => known(tag) === language) ?? language;

const plurals = new Intl.PluralRules(language);

/** @type {Record<string, string>} */
let words = {};

/** @type {Partial<Record<Language, () => Promise<{ default: Record<string, string> }>>>} */
const CATALOGS = {
  de: () => import("../languages/de.json", { with: { type: "json" } }),
  es: () => import("../languages/es.json", { with: { type: "json" } }),
  ja: () => import("../languages/ja.json", { with: { type: "json" } }),
  zh: () => import("../languages/zh.json", { with: { type: "json" } }),
};

async function load() {
  try {
    words = (await CATALOGS[language]?.())?.default ?? {};
  } catch {
    // English is better than no page
  }
}

document.documentElement.lang = language === "zh" ? "zh-Hans" : language;
if (language !== "en") await load();

/**
 * A text of the interface in the person's language, with `{name}` filled in.
 * @param {string} english
 * @param {Record<string, string | number>} [values]
 */
export const t = (english, values = {}) =>
  (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));

/**
 * The same for a number of things: `count(3, "{n} message", "{n} messages")`.
 * @param {number} n
 * @param {string} one
 * @param {string} many
 * @param {Record<string, string | number>} [values]
 */
export const count = (n, one, many, values = {}) =>
  t(plurals.select(n) === "one" ? one : many, { n: n.toLocaleString(locale), ...values });

/**
 * The same with elements in it, as children for `h`: `phrase("Replying to {name}", { name: h("b", {}, name) })`.
 * @param {string} english
 * @param {Record<string, Page.Child>} values
 * @returns {Page.Child[]}
 */
export const phrase = (english, values) =>
  (words[english] ?? english)
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 ? (values[part] ?? `{${part}}`) : part));

/**
 * Put an element's text into the person's language; elements in it are `{1}`, `{3}`, ..., their places among its nodes.
 * @param {Element} element
 */
function translate(element) {
  const nodes = [...element.childNodes];
  const english = nodes.map((node, place) => (node instanceof Text ? node.data : `{${place}}`)).join("");
  element.replaceChildren(
    .../** @type {(Node | string)[]} */ (
      phrase(english.replace(/\s+/g, " ").trim(), Object.fromEntries(nodes.entries()))
    ),
  );
}

/** Put the document's own texts, those marked `data-t`, into the person's language; those for screen readers, too. */
export function translateDocument() {
  if (language === "en") return;
  document.title = t(document.title);
  for (const element of document.querySelectorAll("[data-t]")) translate(element);
  for (const element of document.querySelectorAll("[aria-label]"))
    element.setAttribute("aria-label", t(element.getAttribute("aria-label") ?? ""));
}
