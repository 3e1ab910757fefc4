// @ts-check
// Modal dialogs: what is asked, a new room.

import * as api from "./api.js";
import { first, focused, h } from "./dom.js";
import { setRoom, tell } from "./store.js";
import { t } from "./i18n.js";

/**
 * Show a dialog; it is taken away when it closes.
 * @param {string} label
 * @param {Node} content
 * @param {{ closable?: boolean, classes?: string }} [given]
 */
export function modal(label, content, { closable = true, classes = "" } = {}) {
  const dialog = h("dialog", { class: `dialog ${classes}`, "aria-label": label }, content);
  dialog.addEventListener("cancel", (event) => {
    if (!closable) event.preventDefault();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    const back = focused();
    back?.blur(); // Chromium gives the focus back without the caret: keys would go nowhere
    back?.focus();
  });
  dialog.addEventListener("mousedown", (event) => {
    if (closable && event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * A form for one name. `onSubmit` may throw what is wrong with it.
 * @param {object} given
 * @param {string} given.label
 * @param {string} given.button
 * @param {string} given.hint
 * @param {number} given.maxlength
 * @param {(name: string) => unknown} given.onSubmit
 */
export function nameForm({ label, button, hint, maxlength, onSubmit }) {
  const input = h("input", {
    id: "dialog-name",
    name: "name",
    required: true,
    maxlength,
    autocomplete: "off",
    "aria-describedby": "dialog-hint",
  });
  const note = h("p", { class: "note", id: "dialog-hint", role: "status" }, hint);
  const form = h(
    "form",
    { method: "dialog" },
    h("label", { for: "dialog-name" }, label),
    input,
    note,
    h("div", { class: "dialog-buttons" }, h("button", { class: "button primary" }, button)),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await onSubmit(input.value.trim());
      form.closest("dialog")?.close();
    } catch (error) {
      note.textContent = error.message;
      note.classList.add("wrong");
      input.focus();
    }
  });
  return form;
}

/**
 * Whether somebody means it: what is dangerous is asked again.
 * @param {{ title: string, text: string, yes: string, no?: string }} given
 * @returns {Promise<boolean>}
 */
export function confirmDialog({ title, text, yes, no = t("Cancel") }) {
  return new Promise((resolve) => {
    const buttons = h(
      "div",
      { class: "dialog-buttons" },
      h("button", { type: "button", class: "button", autofocus: true, on: { click: () => dialog.close() } }, no),
      h("button", { type: "button", class: "button danger", on: { click: () => dialog.close("yes") } }, yes),
    );
    const dialog = modal(title, h("div", { class: "dialog-body" }, h("h2", {}, title), h("p", {}, text), buttons));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

export function newRoomDialog(name = "") {
  const form = nameForm({
    label: t("Name"),
    button: t("Create room"),
    hint: t("Everybody on this page sees a room. An agent keeps a session of its own for each."),
    maxlength: 80,
    /** @param {string} value */
    onSubmit: async (value) => openNew(value),
  });
  const dialog = modal(t("New room"), h("div", { class: "dialog-body" }, h("h2", {}, t("New room")), form));
  const input = first(dialog, "input");
  input.value = name;
  input.focus();
}

/** @param {string} name */
async function openNew(name) {
  const room = await api.post("/api/rooms", { name });
  setRoom(room);
  tell("open", room.id);
}
