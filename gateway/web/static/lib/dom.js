// @ts-check
// Elements out of values. Text is always a text node: nothing here parses HTML.

import { t } from "./i18n.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` holds listeners; true and false set and omit an attribute; null is skipped.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Page.Attributes} [attributes]
 * @param {...Page.Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(/** @type {Record<string, EventListener>} */ (value)))
        element.addEventListener(type, listener);
    } else if (name === "class") {
      element.className = String(value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * An SVG element; its attributes are all plain.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Page.Child} children
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Page.Child[]} children
 */
function append(element, children) {
  for (const child of /** @type {Page.Child[]} */ (children.flat())) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * An element of the page by its id. It must be there: those that come and go are looked for with querySelector.
 * @template {string} Id
 * @param {Id} id
 * @returns {Id extends keyof Page.Elements ? Page.Elements[Id] : HTMLElement}
 */
export const $ = (id) => /** @type {any} */ (document.getElementById(id));

/**
 * The first element of a kind below another one. It must be there.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Element} within
 * @param {Tag} tag
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export const first = (within, tag) => /** @type {any} */ (within.querySelector(tag));

/**
 * The element with this data-key below another one.
 * @param {Element} within
 * @param {string} key
 * @returns {HTMLElement | null}
 */
export const byKey = (within, key) => within.querySelector(`[data-key="${CSS.escape(key)}"]`);

/**
 * Where an event happened.
 * @param {Event} event
 */
export const targetOf = (event) => /** @type {HTMLElement} */ (event.target);

/** What has the focus; the body when nothing has. */
export const focused = () => /** @type {HTMLElement | null} */ (document.activeElement);

/**
 * The folds below an element that keep their state when it is drawn again.
 * @param {Element} within
 * @returns {HTMLDetailsElement[]}
 */
const folds = (within) => [
  .../** @type {NodeListOf<HTMLDetailsElement>} */ (within.querySelectorAll("details[data-key]")),
];

/**
 * The keys of the folds that are open below an element.
 * @param {Element} within
 */
export const openFolds = (within) =>
  new Set(
    folds(within)
      .filter((fold) => fold.open)
      .map((fold) => fold.dataset.key),
  );

/**
 * Open the folds with these keys; the others stay as they are made.
 * @param {Element} within
 * @param {Set<string | undefined>} keys
 */
export function reopen(within, keys) {
  for (const fold of folds(within)) if (keys.has(fold.dataset.key)) fold.open = true;
}

/**
 * What somebody filled in, by the names of the fields, without blanks around it. Files are no part of our forms.
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>}
 */
export const filledIn = (form) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));

/**
 * Put other children into an element; what is not there is left out, where replaceChildren would write "null".
 * @param {Element} element
 * @param {...Page.Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const ICONS = {
  menu: "M3.5 5.5h13M3.5 10h13M3.5 14.5h13",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  terminal: "M4.5 6l4 4-4 4M10.5 14.5h5",
  book:
    "M10 6.2C8.4 4.9 6.4 4.6 3.5 4.6v10c2.9 0 4.9.3 6.5 1.6" +
    " 1.6-1.3 3.6-1.6 6.5-1.6v-10c-2.9 0-4.9.3-6.5 1.6zM10 6.2v10",
  send: "M10 16V4.5M5 9.5l5-5 5 5",
  clip: "M14.8 9.3l-5.2 5.2a3.1 3.1 0 0 1-4.4-4.4l6-6a2.1 2.1 0 0 1 3 3l-5.9 5.9a1 1 0 0 1-1.5-1.5l5.2-5.2",
  down: "M10 4v12M5 11l5 5 5-5",
  reply: "M8 5L3.5 9.5 8 14M4 9.5h7a5 5 0 0 1 5 5",
  pin: "M7 3.5h6M8 3.5v5l-2.5 3h9L12 8.5v-5M10 11.5v5",
  copy: "M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
  stop: "M6 6h8v8H6z",
  wide: "M11.5 4H16v4.5M8.5 16H4v-4.5M16 4l-5 5M4 16l5-5",
  hash: "M7.5 4l-1 12M13.5 4l-1 12M4 7.8h12.5M3.5 12.2H16",
  lock: "M5.5 9.5h9v6.5h-9zM7.5 9.5V7a2.5 2.5 0 0 1 5 0v2.5",
  gauge: "M4 15.5a7.5 7.5 0 1 1 12 0M10 12l3.2-4.2M10 12.6a.6.6 0 1 0 0-1.2.6.6 0 0 0 0 1.2",
  dots: "M5 10h.01M10 10h.01M15 10h.01",
  quote: "M4 10.5h4V15H4v-4.5c0-2.5 1-4.5 3.5-5.5M12 10.5h4V15h-4v-4.5c0-2.5 1-4.5 3.5-5.5",
  link:
    "M8.5 11.5a3 3 0 0 0 4.3 0l2.4-2.4a3 3 0 0 0-4.3-4.3l-1 1" +
    "M11.5 8.5a3 3 0 0 0-4.3 0l-2.4 2.4a3 3 0 0 0 4.3 4.3l1-1",
  again: "M15.5 8.5A6 6 0 1 0 16 12M15.8 4.5v4h-4",
  bin: "M4.5 6h11M8 6V4h4v2M6 6l.7 10h6.6L14 6M8.6 8.5v5M11.4 8.5v5",
  pen: "M4 16l.8-3.2L13 4.6l2.4 2.4-8.2 8.2zM11.5 6.1l2.4 2.4",
  file: "M5.5 3.5h6l3 3v10h-9zM11.5 3.5v3h3",
};

/**
 * A line icon that takes the colour of the text. Decoration only.
 * @param {keyof typeof ICONS} name
 */
export function icon(name) {
  const path = s("path", { d: ICONS[name] });
  return s("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" }, path);
}

/**
 * A sentence whose `words to type` look like it.
 * @param {string} text
 * @returns {Page.Child[]}
 */
export const withCode = (text) =>
  text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 ? h("code", {}, part) : part));

/**
 * Put text on the clipboard; also where the page is not a secure context.
 * @param {string} text
 */
export async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = h("textarea", { class: "sr-only", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/**
 * A button that copies and says so for a moment.
 * @param {string | (() => string)} text
 * @param {string} [label]
 */
export function copyButton(text, label = t("Copy")) {
  const words = h("span", {}, label);
  const button = h("button", { type: "button", class: "mini" }, icon("copy"), words);
  button.addEventListener("click", async () => {
    await copyText(typeof text === "function" ? text() : text);
    words.textContent = t("Copied");
    announce(t("Copied"));
    setTimeout(() => {
      words.textContent = label;
    }, 1600);
  });
  return button;
}

/**
 * Say something to people who listen to the page.
 * @param {string} text
 */
export function announce(text) {
  $("announce").textContent = text;
}
