// @ts-check
// One's own message in other words: the box that takes the place of its text, and the way it is deleted.

import * as api from "../lib/api.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { plainText } from "../lib/markdown.js";
import { mentions, tell } from "../lib/store.js";

/** @type {Map<string, HTMLFormElement>} */
const open = new Map(); // by the message's id: drawn again, a message keeps its box with what is typed in it

/** @param {Api.MessageView} message */
const path = (message) =>
  `/api/rooms/${encodeURIComponent(message.room_id)}/messages/${encodeURIComponent(message.id)}`;

/**
 * @param {string} id
 * @param {string} name
 * @returns {HTMLElement | null}
 */
const actionOf = (id, name) => document.querySelector(`[data-id="${CSS.escape(id)}"] [data-action="${name}"]`);

/**
 * The box in which a message is edited; null while nobody does.
 * @param {Page.Message} message
 */
export const editor = (message) => open.get(message.id) ?? null;

/**
 * Begin to edit a message in place of its text. `asked`: it can be asked again at the same time.
 * @param {Page.Message} message
 * @param {boolean} asked
 */
export function edit(message, asked) {
  const box = h("textarea", { rows: 1, "aria-label": t("Edit your message"), spellcheck: "true" });
  box.value = message.text;
  const fault = h("p", { class: "failure", role: "alert", hidden: true });
  const again = asked && h("button", { class: "button", value: "again" }, t("Save and ask again"));
  const cancel = h("button", { type: "button", class: "button quiet", on: { click: close } }, t("Cancel"));
  const save = h("button", { class: "button primary" }, t("Save"));
  const form = h("form", { class: "edit" }, box, h("div", { class: "edit-buttons" }, save, again, cancel), fault);
  open.set(message.id, form);
  tell("redraw", message.id);

  function close() {
    const within = form.contains(document.activeElement);
    open.delete(message.id);
    tell("redraw", message.id);
    if (within) actionOf(message.id, "pen")?.focus();
  }

  function grow() {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }

  /** @param {boolean} asks */
  async function send(asks) {
    try {
      if (box.value !== message.text) await api.put(path(message), { content: box.value });
    } catch (error) {
      fault.textContent = t("Not saved: {reason}", { reason: error.message });
      fault.hidden = false;
      return;
    }
    close();
    if (asks) tell("ask-again", message);
  }

  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send(false);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(/** @type {HTMLButtonElement | null} */ (event.submitter)?.value === "again");
  });
  grow();
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
}

/**
 * Delete a message, after a question.
 * @param {Page.Message} message
 */
export async function remove(message) {
  const sure = await confirmDialog({
    title: t("Delete this message?"),
    text: t("“{beginning}” goes for everybody, and what was remembered of it goes, too. An answer to it stays.", {
      beginning: plainText(message.text, mentions()).slice(0, 100),
    }),
    yes: t("Delete"),
  });
  if (!sure) return;
  try {
    await api.remove(path(message), {});
    announce(t("Deleted"));
  } catch (error) {
    tell("say", t("Not deleted: {reason}", { reason: error.message }));
  }
}
