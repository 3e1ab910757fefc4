// @ts-check
// Fields of the settings: lists that grow and shrink, and faults beside what they are about.

import { announce, h, icon } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

let lists = 0; // gives each list ids of its own

/**
 * A list of words, each with a button that takes it away. Its value is JSON in a hidden field of that name.
 * @param {object} given
 * @param {string} given.name
 * @param {string} given.label
 * @param {string[]} given.values
 * @param {Array<[string, string]>} given.known ids that may be chosen, with their names
 * @param {string} [given.placeholder]
 */
export function idList({ name, label, values, known, placeholder = "" }) {
  const id = `list-${(lists += 1)}`;
  const names = new Map(known);
  const kept = h("input", { name, hidden: true, value: JSON.stringify(values), "data-list": true });
  const chips = h("ul", { class: "chips" });
  const input = h("input", {
    id,
    class: "field",
    list: `${id}-known`,
    autocomplete: "off",
    placeholder,
    maxlength: 300,
  });
  /** @returns {string[]} */
  const now = () => JSON.parse(kept.value);
  /** @param {string[]} wanted */
  const set = (wanted) => {
    kept.value = JSON.stringify(wanted);
    draw();
    kept.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @param {string} value */
  const chip = (value) => {
    const title = names.get(value);
    const drop = () => {
      set(now().filter((one) => one !== value));
      announce(t("{name} is taken away", { name: title ?? value }));
      input.focus();
    };
    return h(
      "li",
      { class: "chip" },
      h("span", {}, title ?? value, title && title !== value ? h("span", { class: "soft" }, ` ${value}`) : null),
      h(
        "button",
        {
          type: "button",
          class: "chip-drop",
          "aria-label": t("Take away {name}", { name: title ?? value }),
          on: { click: drop },
        },
        icon("close"),
      ),
    );
  };
  const draw = () => chips.replaceChildren(...now().map(chip));
  const add = () => {
    const value = input.value.trim();
    if (!value) return;
    input.value = "";
    set([...new Set([...now(), value])]);
    input.focus();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    add();
  });
  input.addEventListener("input", (event) => {
    const chosen = !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
    if (chosen && names.has(input.value)) add(); // from the list; what is typed waits for Enter
  });
  draw();
  return h(
    "div",
    { class: "id-list", "data-field": name },
    h("label", { for: id }, label),
    chips,
    kept,
    h(
      "div",
      { class: "id-add" },
      input,
      h("datalist", { id: `${id}-known` }, ...known.map(([value, title]) => h("option", { value }, title))),
      h(
        "button",
        { type: "button", class: "button", "aria-label": t("Add to: {list}", { list: label }), on: { click: add } },
        t("Add"),
      ),
    ),
  );
}

/**
 * One of some values. options: [value, words].
 * @param {string} name
 * @param {string} label
 * @param {string} value
 * @param {Array<[string, string]>} options
 */
export const choice = (name, label, value, options) =>
  h(
    "label",
    { class: "filter", "data-field": name },
    h("span", {}, label),
    h(
      "select",
      { name, class: "field" },
      ...options.map(([one, words]) => h("option", { value: one, selected: one === value }, words)),
    ),
  );

/**
 * @param {string} name
 * @param {string} label
 * @param {boolean} checked
 * @param {string} [value]
 */
export const tick = (name, label, checked, value = "on") =>
  h(
    "label",
    { class: "tick", "data-field": name },
    h("input", { type: "checkbox", name, value, checked }),
    h("span", {}, label),
  );

/**
 * A form that is kept while somebody fills it in: a hidden field tells that they have begun.
 * @param {object} attributes
 * @param {...Page.Child} children
 */
export function keptForm(attributes, ...children) {
  const touched = h("input", { name: "touched", hidden: true, value: "" });
  const form = h(
    "form",
    { class: "settings-form", "data-keep": true, novalidate: true, ...attributes },
    touched,
    ...children,
  );
  form.addEventListener("input", () => {
    touched.value = "1";
  });
  return form;
}

/** @param {string} key */
export const previewButton = (key) => h("button", { class: "button primary", "data-key": key }, t("Preview"));

/**
 * What a form's hidden lists hold.
 * @param {Element} within
 * @param {string} name
 * @returns {string[]}
 */
export function listIn(within, name) {
  const input = /** @type {HTMLInputElement | null} */ (within.querySelector(`input[data-list][name="${name}"]`));
  const waiting = /** @type {HTMLInputElement | null} */ (input?.parentElement?.querySelector(".id-add input") ?? null);
  const typed = waiting?.value.trim();
  const listed = JSON.parse(input?.value ?? "[]");
  return typed && !listed.includes(typed) ? [...listed, typed] : listed; // typed, and not added yet
}

/**
 * Say what is wrong beside the fields that it is about; what has none is told at the end of the form.
 * @param {Element} form
 * @param {Record<string, string>} faults
 */
export function showFaults(form, faults) {
  clearFaults(form);
  /** @type {HTMLElement | null} */
  let first = null;
  for (const [key, reason] of Object.entries(faults)) {
    const place = placeOf(form, key);
    const id = `fault-${key.replace(/\W+/g, "-")}`;
    const said = h("p", { class: "failure field-fault", id, role: "alert" }, reason);
    (place ?? form).append(said);
    const input = /** @type {HTMLElement | null} */ (
      place?.querySelector("input:not([hidden]), select, textarea") ?? null
    );
    input?.setAttribute("aria-invalid", "true");
    input?.setAttribute("aria-describedby", id);
    first ??= input;
  }
  first?.focus();
}

/** @param {Element} form */
export function clearFaults(form) {
  for (const said of form.querySelectorAll(".field-fault")) said.remove();
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}

/**
 * The field of a key, or else of the innermost key around it: access.owners for access.owners.0.
 * @param {Element} form
 * @param {string} key
 */
function placeOf(form, key) {
  const parts = key.split(".");
  while (parts.length) {
    const found = form.querySelector(`[data-field="${CSS.escape(parts.join("."))}"]`);
    if (found) return found;
    parts.pop();
  }
  return null;
}
