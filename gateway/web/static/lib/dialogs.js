// @ts-check
// Modal dialogs: a new room, jump to a room.

import * as api from "./api.js";
import { avatar, personaSpeaker } from "./avatar.js";
import { first, focused, h, icon } from "./dom.js";
import { directId, roomLists, setRoom, state, tell } from "./store.js";
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

/**
 * Where one can jump to: a room that is there, or with `create` one that is made.
 * @typedef {{ name: string, more: string, mark: Element, roomId?: string, create?: string }} Jump
 */

/** Jump to a room or a persona by a few letters. */
export function switcher() {
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": t("Jump to a room or a persona"),
    placeholder: t("Jump to a room or a persona"),
    "aria-expanded": "true",
    "aria-controls": "jump-list",
    "aria-autocomplete": "list",
    autocomplete: "off",
  });
  const list = h("div", { class: "jump-list", id: "jump-list", role: "listbox", "aria-label": t("Rooms") });
  const dialog = modal(t("Jump to"), h("div", { class: "dialog-body" }, input, list), { classes: "top" });
  let chosen = 0;

  function draw() {
    const found = matches(input.value);
    chosen = Math.max(0, Math.min(chosen, found.length - 1));
    list.replaceChildren(
      ...found.map((entry, index) => {
        const option = h(
          "div",
          { role: "option", id: `jump-${index}`, class: "option", "aria-selected": String(index === chosen) },
          entry.mark,
          h("span", { class: "option-name" }, entry.name),
          h("span", { class: "row-more" }, entry.more),
        );
        option.addEventListener("click", () => go(entry));
        return option;
      }),
    );
    if (found.length) input.setAttribute("aria-activedescendant", `jump-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {Jump} entry */
  function go(entry) {
    dialog.close();
    if (entry.create) newRoomDialog(entry.create);
    else tell("open", entry.roomId);
  }

  input.addEventListener("input", () => {
    chosen = 0;
    draw();
  });
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      chosen = (chosen + step + list.children.length) % list.children.length || 0;
      draw();
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      const entry = matches(input.value)[chosen];
      if (entry) go(entry);
    }
  });
  draw();
  input.focus();
}

/**
 * @param {string} typed
 * @returns {Jump[]}
 */
function matches(typed) {
  const wanted = typed.trim().toLowerCase().replace(/^[#@]/, "");
  const { here, elsewhere } = roomLists();
  /** @type {Jump[]} */
  const entries = [
    ...here.map((room) => ({ roomId: room.id, name: room.name, more: room.project ?? "", mark: icon("hash") })),
    ...state.personas.map((persona) => ({
      roomId: directId(persona.name),
      name: persona.name,
      more: t("direct message"),
      mark: avatar(personaSpeaker(persona.name), "small"),
    })),
    ...elsewhere.map((room) => ({ roomId: room.id, name: room.name, more: room.id.split(":")[0], mark: icon("hash") })),
  ];
  const found = entries.filter((entry) => entry.name.toLowerCase().includes(wanted));
  /** @param {Jump} entry */
  const begins = (entry) => Number(entry.name.toLowerCase().startsWith(wanted));
  found.sort((a, b) => begins(b) - begins(a));
  if (wanted && !here.some((room) => room.name.toLowerCase() === wanted)) {
    found.push({
      create: typed.trim(),
      name: t("Create “{name}”", { name: typed.trim() }),
      more: t("new room"),
      mark: icon("plus"),
    });
  }
  return found.slice(0, 30);
}
