// @ts-check
// The message box: what you type, what you answer, what you attach.

import { Attachments } from "./attach.js";
import { Completion } from "./complete.js";
import { $, h, icon } from "../lib/dom.js";
import { keep, kept } from "../lib/kept.js";
import { plainText } from "../lib/markdown.js";
import { phrase, t } from "../lib/i18n.js";
import { mentions } from "../lib/store.js";

const HINT = t("Enter sends, Shift+Enter makes a new line, @ mentions");

export class Composer {
  /**
   * `onSend({ text, replyTo, attachments })` is told of each message.
   * @param {(draft: Page.Draft) => void} onSend
   */
  constructor(onSend) {
    this.onSend = onSend;
    this.text = $("text");
    /** @type {Page.Answered | null} */
    this.replyTo = null;
    this.sent = ""; // the last message, for the up arrow
    /** @type {string | null} */
    this.roomId = null;
    this.attachments = new Attachments(() => {
      this.changed();
      this.keep();
    });
    this.completion = new Completion(this.text);
    $("send").append(icon("send"));
    $("hint").textContent = HINT;
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.text.addEventListener("input", () => {
      this.changed();
      this.keep();
    });
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("paste", (event) => this.attachments.paste(event));
  }

  /**
   * Belong to another room; what was not sent stays with its room.
   * @param {string} roomId
   * @param {string} label
   * @param {string} readOnly
   */
  open(roomId, label, readOnly) {
    const draft = kept("draft", roomId);
    const stays = this.roomId === roomId;
    const early = this.roomId ? "" : this.text.value; // typed before this script had come
    this.roomId = null; // what is put back need not be kept again
    this.text.value = draft?.text ?? early;
    this.text.placeholder = t("Message {room}", { room: label });
    this.text.setAttribute("aria-label", t("Message {room}", { room: label }));
    this.completion.close();
    this.answer(draft?.replyTo ?? null);
    if (!stays) this.attachments.put(draft?.files ?? []);
    this.roomId = roomId;
    $("composer").hidden = Boolean(readOnly);
    $("read-only").hidden = !readOnly;
    $("read-only").textContent = readOnly;
    this.changed();
    if (early) this.keep();
  }

  /** Keep what is not sent yet with its room, over a reload and a crash, too. */
  keep() {
    if (!this.roomId) return;
    const [text, files, to] = [this.text.value, this.attachments.references, this.replyTo];
    const replyTo = to && { id: to.id, thread_id: to.thread_id, by: to.by, text: to.text.slice(0, 1_000) };
    keep("draft", this.roomId, text.trim() || replyTo || files.length ? { text, replyTo, files } : null);
  }

  focus() {
    this.text.focus();
  }

  /** @param {string} text */
  put(text) {
    this.text.value = text;
    this.changed();
    this.keep();
    this.text.focus();
    this.text.setSelectionRange(text.length, text.length);
  }

  /** @param {Page.Message | null} message */
  reply(message) {
    this.answer(message);
    if (message) this.focus();
  }

  /** @param {Page.Answered | null} message */
  answer(message) {
    this.replyTo = message;
    this.keep();
    $("replying").hidden = !message;
    if (!message) return;
    const cancel = h(
      "button",
      { type: "button", class: "icon-button small", "aria-label": t("Do not reply") },
      icon("close"),
    );
    cancel.addEventListener("click", () => {
      this.reply(null);
      this.focus();
    });
    $("replying").replaceChildren(
      icon("reply"),
      h("span", {}, ...phrase("Replying to {name}", { name: h("b", {}, message.by.name) })),
      h("span", { class: "replying-text" }, plainText(message.text, mentions()).slice(0, 120)),
      cancel,
    );
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.completion.handle(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    } else if (event.key === "ArrowUp" && !this.text.value && this.sent) {
      event.preventDefault();
      this.put(this.sent);
    } else if (event.key === "Escape" && this.replyTo) {
      event.stopPropagation();
      this.reply(null);
    }
  }

  changed() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, window.innerHeight * 0.4)}px`;
    $("send").classList.toggle("ready", this.ready);
  }

  get ready() {
    const { busy, references } = this.attachments;
    return !busy && Boolean(this.text.value.trim() || references.length);
  }

  send() {
    if (!this.ready) return;
    const message = { text: this.text.value, replyTo: this.replyTo, attachments: this.attachments.references };
    this.sent = this.text.value;
    this.text.value = "";
    this.attachments.clear();
    this.reply(null);
    this.completion.close();
    this.changed();
    this.keep();
    this.onSend(message);
  }
}
