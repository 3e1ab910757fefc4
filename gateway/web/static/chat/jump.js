// @ts-check
// One place to find a room, a persona, or words that somebody wrote.

import * as api from "../lib/api.js";
import { avatar, personaSpeaker } from "../lib/avatar.js";
import { modal, newRoomDialog } from "../lib/dialogs.js";
import { h, icon } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { directId, mentions, roomLabel, roomLists, roomOf, state, tell } from "../lib/store.js";
import { withNames } from "../lib/tokens.js";
import { dated } from "../lib/words.js";

const SETTLE_MS = 200; // what is typed meanwhile makes one search
const LEAST = 2; // letters; one of a script without letters is a word

/**
 * Where one can jump to: a room that is there, with `message` at a message in it; with `create` a room that is made;
 * with `run` what else is done.
 * @typedef {{ name: string, more: string, mark: Element, roomId?: string, message?: string, create?: string,
 *   run?: () => void, text?: Page.Child }} Jump
 */

/** Jump to a room or a persona by a few letters, or to a message by its words. */
export function switcher() {
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": t("Jump to a room, or find messages"),
    placeholder: t("Jump to a room, or find messages"),
    "aria-expanded": "true",
    "aria-controls": "jump-list",
    "aria-autocomplete": "list",
    autocomplete: "off",
    maxlength: 200,
  });
  const list = h("div", {
    class: "jump-list",
    id: "jump-list",
    role: "listbox",
    "aria-label": t("Rooms and messages"),
  });
  const note = h("p", { class: "note", role: "status" });
  const dialog = modal(t("Jump to"), h("div", { class: "dialog-body" }, input, list, note), { classes: "top" });
  let chosen = 0;
  let timer = 0;
  let asked = 0; // of the newest search: what comes of earlier ones is dropped
  /** @type {Jump[]} */
  let messages = [];
  /** @type {Jump[]} */
  let entries = [];

  function draw() {
    entries = [...matches(input.value), ...messages, ...creates(input.value)];
    chosen = Math.max(0, Math.min(chosen, entries.length - 1));
    list.replaceChildren(...entries.map(optionElement));
    if (entries.length) input.setAttribute("aria-activedescendant", `jump-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {Jump} entry
   * @param {number} index
   */
  function optionElement(entry, index) {
    const option = h(
      "div",
      {
        role: "option",
        id: `jump-${index}`,
        class: `option ${entry.text ? "hit" : ""}`,
        "aria-selected": String(index === chosen),
      },
      entry.mark,
      h("span", { class: "option-name" }, entry.name),
      h("span", { class: "row-more" }, entry.more),
      entry.text ? h("span", { class: "hit-text" }, entry.text) : null,
    );
    option.addEventListener("click", () => go(entry));
    return option;
  }

  /** @param {Jump} entry */
  function go(entry) {
    if (entry.run) {
      entry.run();
      return;
    }
    dialog.close();
    if (entry.create) newRoomDialog(entry.create);
    else tell("open", entry.message ? { roomId: entry.roomId, message: entry.message } : entry.roomId);
  }

  /** @param {number | null} before */
  async function find(before = null) {
    const number = (asked += 1);
    const query = new URLSearchParams({
      q: input.value.trim(),
      ...(before === null ? {} : { before: String(before) }),
    });
    note.textContent = t("Searching…");
    try {
      const found = await api.get(/** @type {"/api/search?"} */ (`/api/search?${query}`));
      if (number !== asked) return;
      show(found, before !== null);
    } catch (error) {
      if (number === asked) note.textContent = error.message;
    }
  }

  /**
   * @param {Api.HitsView} found
   * @param {boolean} more
   */
  function show(found, more) {
    const before = found.next_before;
    messages = [
      ...(more ? messages.filter((entry) => !entry.run) : []),
      ...found.items.map((hit) => jump(hit, found.words)),
    ];
    note.textContent = messages.length ? "" : t("No message has these words.");
    if (before !== null)
      messages.push({ name: t("Earlier messages"), more: "", mark: icon("down"), run: () => find(before) });
    draw();
  }

  input.addEventListener("input", () => {
    chosen = 0;
    messages = [];
    asked += 1;
    clearTimeout(timer);
    note.textContent = "";
    const typed = input.value.trim();
    if (typed.length >= LEAST || /[^\p{ASCII}]/u.test(typed)) timer = setTimeout(find, SETTLE_MS);
    draw();
  });
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      chosen = (chosen + step + entries.length) % entries.length || 0;
      draw();
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (entries[chosen]) go(entries[chosen]);
    }
  });
  dialog.addEventListener("close", () => clearTimeout(timer));
  draw();
  input.focus();
}

/**
 * @param {Api.HitView} hit
 * @param {string[]} words
 * @returns {Jump}
 */
function jump(hit, words) {
  const room = roomOf(hit.room_id);
  return {
    roomId: hit.room_id,
    message: hit.message_id,
    name: hit.by.name,
    more: `${room ? roomLabel(room) : hit.room_name} · ${dated(hit.at)}`,
    mark: avatar(hit.by, "small"),
    text: marked(unmarked(withNames(hit.text, mentions())), words),
  };
}

/**
 * A piece of a message without the signs of its form: it is cut anywhere, and is no Markdown any more.
 * @param {string} text
 */
const unmarked = (text) => text.replace(/```\w*\s?|\*\*|~~|`/g, "").replace(/\[([^\]\n]+)\]\([^)\s]+\)/g, "$1");

/**
 * A text with the words in it marked.
 * @param {string} text
 * @param {string[]} words
 */
function marked(text, words) {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${escaped.join("|")})`, "iu"));
  return parts.map((part, index) => (index % 2 ? h("mark", {}, part) : part));
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
  return found.slice(0, 30);
}

/**
 * The room that would be made, where none is called so.
 * @param {string} typed
 * @returns {Jump[]}
 */
function creates(typed) {
  const name = typed.trim();
  const wanted = name.toLowerCase().replace(/^[#@]/, "");
  if (!wanted || roomLists().here.some((room) => room.name.toLowerCase() === wanted)) return [];
  return [{ create: name, name: t("Create “{name}”", { name }), more: t("new room"), mark: icon("plus") }];
}
