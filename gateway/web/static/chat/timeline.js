// @ts-check
// The conversation on the screen: keeps the elements in step with what is known, and the scroll.

import { $, focused, h, icon, targetOf } from "../lib/dom.js";
import { questionElement, turnElement } from "./live.js";
import { foldLong } from "./long.js";
import { continues, messageElement, signature } from "./message.js";
import { t } from "../lib/i18n.js";
import { state } from "../lib/store.js";
import { day, dayKey } from "../lib/words.js";

const NEAR_PX = 80; // so close to the end counts as the end

/**
 * @typedef {import("./conversation.js").Conversation} Conversation
 * @typedef {{ at: string, message?: Page.Message, question?: Page.Question }} Entry
 */

/**
 * @param {Entry} a
 * @param {Entry} b
 */
const byTime = (a, b) => Date.parse(a.at) - Date.parse(b.at);

export class TimelineView {
  /** @param {{ onOlder: () => void, onNewer: () => void, onLatest: () => void, onSeen: () => void }} given */
  constructor({ onOlder, onNewer, onLatest, onSeen }) {
    this.box = $("timeline");
    this.log = $("log");
    /** @type {Conversation | null} */
    this.conversation = null;
    this.readOnly = "";
    /** @type {Map<string, Page.Shown>} */
    this.shown = new Map();
    this.scheduled = false;
    this.atEnd = true;
    this.came = false; // something new, which is not drawn yet
    this.onSeen = onSeen;
    this.onNewer = onNewer;
    /** @type {string | null} */
    this.newAfter = null; // where unread begins, as long as the room is shown
    $("latest").append(icon("down"));
    $("latest").addEventListener("click", () => {
      if (this.conversation?.behind) onLatest();
      else this.toEnd();
    });
    this.box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    const resized = new ResizeObserver(() => {
      if (this.atEnd) this.toEnd();
      $("foot").style.paddingRight = `${this.box.offsetWidth - this.box.clientWidth}px`; // the scroll bar's
    });
    resized.observe(this.box);
    resized.observe(this.log);
    this.log.addEventListener("click", (event) => this.tapped(event));
    this.top = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) onOlder();
      },
      { root: this.box, rootMargin: "600px 0px 0px 0px" },
    );
    this.top.observe($("older"));
  }

  /**
   * Where nothing hovers, a tap on a message shows what can be done with it.
   * @param {MouseEvent} event
   */
  tapped(event) {
    if (targetOf(event).closest("a, button, pre")) return;
    const message = targetOf(event).closest(".message");
    for (const other of this.log.querySelectorAll(".tapped")) if (other !== message) other.classList.remove("tapped");
    message?.classList.toggle("tapped");
  }

  /** Look again whether the top is near: it may be still, after a short stretch came. */
  lookUp() {
    this.top.unobserve($("older"));
    this.top.observe($("older"));
  }

  /**
   * Show another conversation, from its end.
   * @param {Conversation} conversation
   * @param {{ readOnly: string, newAfter: string | null }} given
   */
  open(conversation, { readOnly, newAfter }) {
    this.conversation = conversation;
    this.newAfter = newAfter;
    this.readOnly = readOnly;
    this.shown.clear();
    this.log.replaceChildren();
    this.atEnd = true;
    this.log.setAttribute("aria-busy", "true"); // what is there already is not news
    this.draw();
    requestAnimationFrame(() => this.log.setAttribute("aria-busy", "false"));
  }

  /** Draw in the next frame: many events make one drawing. A hidden page has no frames. */
  refresh() {
    if (this.scheduled) return;
    this.scheduled = true;
    const run = () => {
      this.scheduled = false;
      this.draw();
    };
    if (document.hidden) setTimeout(run, 200);
    else requestAnimationFrame(run);
  }

  draw() {
    if (!this.conversation) return;
    if (this.came && !this.atEnd) $("latest").hidden = false; // only now has the last scrolling been told
    this.came = false;
    const anchor = this.atEnd ? null : this.anchor();
    const items = this.items(this.conversation);
    const keys = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.shown) {
      if (!keys.has(key)) {
        element.remove();
        this.shown.delete(key);
      }
    }
    const elements = items.map((item) => this.element(item)); // may take the place of older ones
    let next = this.log.firstChild;
    for (const element of elements) {
      if (element === next) next = element.nextSibling;
      else this.log.insertBefore(element, next);
    }
    const tall = this.fold(items);
    $("older").hidden = !this.conversation.more;
    if (this.atEnd && tall) this.toStart(tall);
    else if (this.atEnd) this.toEnd();
    else if (anchor) this.box.scrollTop += anchor.element.getBoundingClientRect().top - anchor.top;
  }

  /**
   * Draw a message again at once, whatever of it has changed.
   * @param {string} id
   */
  redraw(id) {
    const known = this.shown.get(`message ${id}`);
    if (known) known.signature = "";
    this.draw();
  }

  /**
   * Fold the long answers among what was drawn; the last one that came now, if it is still taller than the view.
   * @param {Page.Item[]} items
   */
  fold(items) {
    let tall = null;
    for (const { key } of items) {
      const shown = this.shown.get(key);
      if (!shown?.answer || shown.folded) continue;
      shown.folded = true;
      const { element } = shown;
      const stay = () => (this.atEnd = false); // what is opened below must not scroll away what is read
      foldLong(element, { viewPx: this.box.clientHeight, onOpen: stay, onClose: () => this.toStart(element) });
      if (element.getBoundingClientRect().height > this.box.clientHeight) tall = element;
    }
    return this.log.getAttribute("aria-busy") === "true" ? null : tall;
  }

  /**
   * Bring the beginning of something into view.
   * @param {Element} element
   */
  toStart(element) {
    this.atEnd = false;
    element.scrollIntoView({ block: "start" });
  }

  /** @param {Page.Item} item */
  element(item) {
    const known = this.shown.get(item.key);
    if (known && known.signature === item.signature) return known.element;
    if (known?.update && item.value) {
      known.update(item.value);
      known.signature = item.signature;
      return known.element;
    }
    const held = known?.element.contains(focused()) ? focused() : null;
    const made = item.make();
    const entry = made instanceof Element ? { element: made } : made;
    if (known) known.element.replaceWith(entry.element);
    if (held) refocus(entry.element, held);
    this.shown.set(item.key, { ...entry, signature: item.signature, answer: item.answer });
    return entry.element;
  }

  /**
   * What is to be seen, from the oldest to what is still open.
   * @param {Conversation} conversation
   */
  items(conversation) {
    const questions = [...conversation.questions.values()];
    const open = questions.filter((question) => !question.closed);
    return [...this.told(conversation, questions), ...turnItems(conversation, open), ...open.map(questionItem)];
  }

  /**
   * Messages and answered questions, with the days between them.
   * @param {Conversation} conversation
   * @param {Page.Question[]} questions
   */
  told(conversation, questions) {
    /** @type {Page.Item[]} */
    const items = [];
    /** @type {Page.Message | null} */
    let before = null;
    let today = "";
    let line = false;
    /** @type {Entry[]} */
    const closed = questions.filter((question) => question.closed).map((value) => ({ at: value.at, question: value }));
    /** @type {Entry[]} */
    const said = conversation.sorted().map((message) => ({ at: message.at, message }));
    for (const { at, message, question } of [...said, ...closed].sort(byTime)) {
      const key = dayKey(at);
      if (key !== today) {
        today = key;
        items.push(dayItem(at));
        before = null;
      }
      if (message && !line && this.isNew(message)) {
        line = true;
        items.push(newItem());
        before = null;
      }
      if (question) items.push(questionItem(question));
      if (message) items.push(this.messageItem(message, before, conversation.messages));
      before = message ?? null;
    }
    return items;
  }

  /** @param {Page.Message} message */
  isNew({ time, by, sending }) {
    return this.newAfter !== null && time > Date.parse(this.newAfter) && by.id !== state.me?.id && !sending;
  }

  /**
   * Unread begins at this message, unless it does at an earlier one: nobody looked when it came.
   * @param {Api.MessageView} message
   */
  newFrom({ at, by }) {
    if (by.id !== state.me?.id) this.newAfter ??= new Date(Date.parse(at) - 1).toISOString();
  }

  /**
   * @param {Page.Message} message
   * @param {Page.Message | null} before
   * @param {Map<string, Page.Message>} known
   * @returns {Page.Item}
   */
  messageItem(message, before, known) {
    const quoted = known.get(message.reply_to ?? message.thread_id ?? "");
    const compact = continues(message, before);
    return {
      key: `message ${message.id}`,
      signature: signature(message, compact, quoted),
      answer: message.by.kind === "bot" && !message.draft,
      make: () => messageElement(message, { compact, quoted, readOnly: this.readOnly }),
    };
  }

  /** The first element in view, and where it stands: it must stay there. */
  anchor() {
    const top = this.box.getBoundingClientRect().top;
    for (const element of this.log.children) {
      const rect = element.getBoundingClientRect();
      if (rect.bottom > top) return { element, top: rect.top };
    }
    return null;
  }

  scrolled() {
    this.atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR_PX;
    if (this.conversation?.behind) {
      if (this.atEnd) this.onNewer();
      this.atEnd = false;
      $("latest").hidden = false;
    } else if (this.atEnd) {
      $("latest").hidden = true;
      this.onSeen();
    }
  }

  /** Something new came: show it, or say so to somebody who reads older messages. */
  news() {
    this.came = true;
    this.refresh();
  }

  /** Show the end, which has just been loaded. */
  showEnd() {
    this.atEnd = true;
    this.draw();
  }

  /**
   * Whether all that is loaded is new, and there is more.
   * @param {Conversation} conversation
   */
  isNewFromStart(conversation) {
    const first = conversation.sorted().find(({ sending }) => !sending);
    return conversation.more && this.newAfter !== null && first && first.time > Date.parse(this.newAfter);
  }

  /** Begin where unread does, if the end leaves that out of view. */
  toNew() {
    const line = this.shown.get("new")?.element;
    if (!line || line.getBoundingClientRect().top >= this.box.getBoundingClientRect().top) return;
    this.toStart(line);
    $("latest").hidden = false;
  }

  toEnd() {
    this.box.scrollTop = $("welcome").hidden ? this.box.scrollHeight : 0; // a welcome is read from its top
    this.atEnd = true;
    $("latest").hidden = true;
  }

  /**
   * Bring a message into view and mark it for a moment; false when it is not loaded.
   * @param {string} id
   */
  reveal(id) {
    const element = this.shown.get(`message ${id}`)?.element;
    if (!element) return false;
    this.atEnd = false;
    element.scrollIntoView({ block: "center" });
    element.classList.add("marked");
    setTimeout(() => element.classList.remove("marked"), 1_800);
    return true;
  }
}

/**
 * Give the focus back that an element lost because it was drawn again: to what had it, or to what does the same now.
 * @param {Element} element
 * @param {HTMLElement} held
 */
function refocus(element, held) {
  const same = element.querySelector(`[data-action="${held.dataset.action}"]`);
  const to = element.contains(held) ? held : /** @type {HTMLElement | null} */ (same);
  to?.focus({ preventScroll: true });
}

/**
 * @param {string} at
 * @returns {Page.Item}
 */
const dayItem = (at) => ({
  key: `day ${dayKey(at)}`,
  signature: day(at),
  make: () => h("h2", { class: "day" }, h("span", {}, day(at))),
});

/** @returns {Page.Item} */
const newItem = () => ({
  key: "new",
  signature: "",
  make: () => h("p", { class: "new-line" }, h("span", {}, t("New"))),
});

/**
 * @param {Conversation} conversation
 * @param {Page.Question[]} open
 * @returns {Page.Item[]}
 */
const turnItems = (conversation, open) =>
  conversation.openTurns().map((turn) => {
    const value = { ...turn, asks: open.some((question) => question.turn_id === turn.id) };
    return { key: `turn ${turn.id}`, signature: JSON.stringify(value), value, make: () => turnElement(value) };
  });

/** @param {Page.Question} question */
const questionItem = (question) => ({
  key: `question ${question.id}`,
  signature: JSON.stringify([question.closed, question.may_answer]),
  make: () => questionElement(question),
});
