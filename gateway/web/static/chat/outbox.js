// @ts-check
// Messages out: one after the other, in the order they were written, each until Moot has taken it. The id is ours, and
// the same one twice is one message: whatever was heard of the first try, trying again doubles nothing.

import * as api from "../lib/api.js";
import { announce } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { all, forgetOthers, keep, kept } from "../lib/kept.js";
import { setRoom, state } from "../lib/store.js";

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Whether the same may be taken later: nobody answers, or Moot can't just now.
 * @param {number} status
 */
const isPassing = (status) => [401, 408, 429].includes(status) || status < 400 || status >= 500;

export class Outbox {
  /**
   * @param {(roomId: string) => import("./conversation.js").Conversation} conversationOf
   * @param {(of: import("./conversation.js").Conversation) => void} changed
   */
  constructor(conversationOf, changed) {
    this.conversationOf = conversationOf;
    this.changed = changed;
    /** @type {Page.Outgoing[]} */
    this.waiting = [];
    this.isSending = false;
    this.waitMs = FIRST_WAIT_MS;
    this.timer = 0;
    this.whose = "";
  }

  /**
   * @param {Page.Room} room
   * @param {Page.Draft} given
   */
  write(room, { text, replyTo = null, attachments = [], extra = {} }) {
    if (!state.me) return;
    this.add({
      id: api.newId(),
      room_id: room.id,
      by: { id: state.me.id, name: state.me.name, kind: "human", role: null },
      text,
      at: new Date().toISOString(),
      edited_at: null,
      thread_id: replyTo?.thread_id ?? null,
      reply_to: replyTo?.id ?? null,
      attachments,
      turn_id: null,
      draft: false,
      work: null,
      fault: null,
      sending: true,
      to: room,
      extra,
    });
  }

  /**
   * Put a message behind those that wait, and try.
   * @param {Page.Outgoing} message
   */
  add(message) {
    if (!this.waiting.some((other) => other.id === message.id)) this.waiting.push(message);
    this.show(message, { failed: null });
    this.run();
  }

  /**
   * Try one again now, also one that was refused.
   * @param {string} id
   */
  again(id) {
    const message = kept("unsent", id);
    if (message) this.add(message);
  }

  /** What was not taken before the page was loaded again is shown, and sent. */
  restore() {
    if (!state.me || this.whose === state.me.id) return this.run();
    this.whose = state.me.id;
    forgetOthers();
    for (const message of all("unsent")) {
      if (!message.refused) this.waiting.push(message);
      this.show(message, { failed: message.failed ?? null, refused: message.refused });
    }
    return this.run();
  }

  /** @param {Page.Outgoing} message */
  discard(message) {
    this.waiting = this.waiting.filter((other) => other.id !== message.id);
    keep("unsent", message.id, null);
    this.conversationOf(message.room_id).messages.delete(message.id);
    this.changed(this.conversationOf(message.room_id));
  }

  /** Send what waits. What can't be taken now holds up what was written after it. */
  async run() {
    clearTimeout(this.timer);
    if (this.isSending) return;
    this.isSending = true;
    let isStuck = false;
    while (this.waiting.length && !isStuck) isStuck = !(await this.transmit(this.waiting[0]));
    this.isSending = false;
    if (!isStuck) {
      this.waitMs = FIRST_WAIT_MS;
      return;
    }
    this.timer = setTimeout(() => this.run(), this.waitMs);
    this.waitMs = Math.min(this.waitMs * 2, LONGEST_WAIT_MS);
  }

  /**
   * Try once; false when it has to be tried again.
   * @param {Page.Outgoing} message
   */
  async transmit(message) {
    try {
      const receipt = await api.post("/api/submit", submission(message));
      this.taken(message, receipt.message_id);
    } catch (error) {
      const refused = !isPassing(error.status);
      const late = refused ? [message] : this.waiting;
      for (const one of late) this.show(one, { failed: error.message, refused });
      if (refused || this.waitMs === FIRST_WAIT_MS) announce(t("Not sent: {reason}", { reason: error.message }));
      if (!refused) return false;
    }
    this.waiting = this.waiting.filter((other) => other.id !== message.id);
    return true;
  }

  /**
   * @param {Page.Outgoing} message
   * @param {string} id
   */
  taken(message, id) {
    const into = this.conversationOf(message.room_id);
    keep("unsent", message.id, null);
    if (id !== message.id) into.messages.delete(message.id);
    else if (into.messages.get(id)?.sending) into.keep({ ...message, sending: false, failed: null });
    if (!state.rooms.has(message.room_id)) setRoom({ ...message.to, last_at: message.at });
    this.changed(into);
  }

  /**
   * Show how far it is, unless it has come back as everybody sees it.
   * @param {Page.Outgoing} message
   * @param {{ failed: string | null, refused?: boolean }} how
   */
  show(message, how) {
    const into = this.conversationOf(message.room_id);
    const now = { ...message, refused: false, ...how };
    keep("unsent", message.id, now);
    const known = into.messages.get(message.id);
    if (!known || known.sending) into.keep(now);
    this.changed(into);
  }
}

/**
 * The ingest contract: content is what was typed; everything else stands beside it.
 * @param {Page.Outgoing} given
 */
function submission({ id, to, by, text, thread_id, reply_to, attachments, extra }) {
  return {
    content: text,
    metadata: {
      source: "web",
      sender_id: by.id,
      sender_display_name: by.name,
      sender_type: "human",
      channel_external_id: to.id.slice("web:".length),
      ...extra,
    },
    room: { id: to.id, name: to.name, kind: to.kind, project: to.project },
    message_id: id,
    thread_id,
    reply_to,
    attachments: attachments.map((file) => ({ id: file.id })),
  };
}
