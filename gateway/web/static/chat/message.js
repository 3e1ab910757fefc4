// @ts-check
// One message of the conversation.

import { avatar } from "../lib/avatar.js";
import { announce, copyButton, copyText, h, icon } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { markdown, plainText } from "../lib/markdown.js";
import { picture } from "../lib/picture.js";
import { mentions, state, tell } from "../lib/store.js";
import { clock, full, placeHash, sentence, size } from "../lib/words.js";
import { edit, editor, remove } from "./edit.js";
import { workElement } from "./work.js";

const GROUP_MS = 5 * 60_000;
const MOOT = "bot:moot"; // who answers commands

/**
 * Whether a message continues the one before it: same author, soon after, no reply.
 * @param {Page.Message} message
 * @param {Page.Message | null} before
 */
export function continues(message, before) {
  return (
    before !== null &&
    before.by.id === message.by.id &&
    before.by.name === message.by.name &&
    !message.reply_to &&
    before.turn_id === message.turn_id &&
    message.time - before.time < GROUP_MS
  );
}

/**
 * When this string changes the message is drawn again.
 * @param {Page.Message} message
 * @param {boolean} compact
 * @param {Page.Message | undefined} quoted
 */
export const signature = (message, compact, quoted) => `${message.version} ${compact} ${quoted?.version}`;

/**
 * The element. `compact`: without the author. `quoted`: the message it answers, if known.
 * @param {Page.Message} message
 * @param {{ compact: boolean, quoted: Page.Message | undefined, readOnly: string }} given
 */
export function messageElement(message, { compact, quoted, readOnly }) {
  const bot = message.by.kind === "bot";
  const classes = [
    "message",
    bot && "bot",
    compact && "compact",
    message.sending && "sending",
    message.failed && "failed",
    message.fault && (message.fault === "stopped" ? "was-stopped" : "no-answer"),
  ];
  return h(
    "article",
    {
      class: classes.filter(Boolean).join(" "),
      "data-id": message.id,
      "aria-label": `${message.by.name}, ${clock(message.at)}`,
    },
    compact ? h("span", { class: "gutter", "aria-hidden": "true" }, clock(message.at)) : avatar(message.by),
    h(
      "div",
      { class: "message-body" },
      compact ? null : head(message, bot),
      quote(message, quoted),
      message.fault ? h("p", { class: "fault-mark" }, faultMark(message.fault)) : null,
      editor(message) ?? body(message),
      files(message.attachments),
      message.work ? workElement(message.work) : null,
      message.failed ? failure(message) : null,
      bot && message.turn_id && !message.draft ? answerFoot(message) : null,
    ),
    message.sending || message.failed ? null : actions(message, readOnly),
  );
}

/**
 * @param {{ by: Page.Figure & { role?: string | null }, at?: string }} message
 * @param {boolean} bot
 */
export function head(message, bot) {
  const agent = bot ? state.personas.find((persona) => persona.name === message.by.name)?.agent : null;
  return h(
    "header",
    { class: "message-head" },
    h("span", { class: "author" }, message.by.name),
    bot ? h("span", { class: "tag" }, agent ?? t("bot")) : null,
    message.by.role ? h("span", { class: "role" }, message.by.role) : null,
    message.at ? h("time", { datetime: message.at, title: full(message.at) }, clock(message.at)) : null,
  );
}

/**
 * @param {Page.Message} message
 * @param {Page.Message | undefined} quoted
 */
function quote(message, quoted) {
  const id = message.reply_to ?? message.thread_id;
  if (!id || id === message.id) return null;
  const words = quoted ? plainText(quoted.text, mentions()).slice(0, 140) : t("an earlier message");
  const label = message.reply_to ? t("Reply to") : t("In the thread of");
  const button = h(
    "button",
    { type: "button", class: "quote" },
    icon("reply"),
    h("span", { class: "sr-only" }, label),
    h("b", {}, quoted?.by.name ?? ""),
    h("span", {}, words),
  );
  button.addEventListener("click", () => tell("show-message", id));
  return button;
}

/** @param {Page.Message} message */
function body(message) {
  const element = h("div", { class: `text ${message.draft ? "drafting" : ""}` }, markdown(message.text, mentions()));
  if (message.edited_at && !message.turn_id)
    element.append(h("span", { class: "edited", title: full(message.edited_at) }, t("edited")));
  return element;
}

/** @param {Api.FileView[]} attachments */
function files(attachments) {
  if (!attachments?.length) return null;
  return h("ul", { class: "files" }, ...attachments.map((file) => h("li", {}, fileElement(file))));
}

/** @param {Api.FileView} file */
function fileElement(file) {
  const about = `${file.name}, ${size(file.size_bytes)}`;
  if (file.image && file.url) return picture(file.url, file.name, about);
  const inside = [
    icon("file"),
    h("span", { class: "file-name" }, file.name),
    h("span", { class: "row-more" }, size(file.size_bytes)),
  ];
  if (file.url) return h("a", { href: file.url, class: "file", download: file.name }, ...inside);
  return h("span", { class: "file" }, ...inside);
}

/** @param {Page.Message} message */
function failure(message) {
  const again = h("button", { type: "button", class: "mini" }, t("Try again"));
  again.addEventListener("click", () => tell("retry", message));
  const discard = h("button", { type: "button", class: "mini" }, t("Discard"));
  discard.addEventListener("click", () => tell("discard", message));
  return h(
    "p",
    { class: "failure" },
    t("Not sent: {reason}", { reason: sentence(message.failed ?? "") }),
    message.refused ? " " : ` ${t("It is sent by itself as soon as it can be.")} `,
    again,
    discard,
  );
}

/** @param {string} fault */
const faultMark = (fault) => (fault === "stopped" ? t("Stopped") : t("No answer"));

/** @param {Page.Message} message */
function answerFoot(message) {
  const words = message.fault ? t("What happened") : t("Why this answer");
  const why = h("button", { type: "button", class: "mini why", "aria-haspopup": "true" }, words);
  why.addEventListener("click", () => tell("why", message.turn_id));
  return h(
    "footer",
    { class: "answer-foot" },
    why,
    copyButton(() => message.text),
  );
}

/**
 * @param {Page.Message} message
 * @param {string} readOnly
 */
function actions(message, readOnly) {
  if (readOnly) return null;
  /**
   * @param {Parameters<typeof icon>[0]} name
   * @param {string} label
   * @param {() => void} run
   */
  const action = (name, label, run) => {
    const button = h(
      "button",
      {
        type: "button",
        class: "icon-button small",
        "aria-label": `${label}: ${message.by.name}, ${clock(message.at)}`,
        title: label,
        "data-action": name,
      },
      icon(name),
    );
    button.addEventListener("click", run);
    button.addEventListener("mousedown", (event) => event.preventDefault()); // what is selected stays so
    return button;
  };
  return h(
    "div",
    { class: "actions" },
    action("reply", t("Reply"), () => tell("reply", message)),
    action("quote", t("Quote"), () => tell("quote", asBlock(message))),
    message.by.id === MOOT ? null : action("pin", t("Pin"), () => tell("pin", message)),
    action("link", t("Copy link"), () => copyPlace(message)),
    message.by.id === state.me?.id ? own(message, action) : null,
  );
}

/**
 * What is selected of a message, else all of it, as a block to answer below.
 * @param {Page.Message} message
 */
function asBlock(message) {
  const selection = getSelection();
  const element = document.querySelector(`[data-id="${CSS.escape(message.id)}"] .text`);
  const within = selection && element?.contains(selection.anchorNode) && element.contains(selection.focusNode);
  const text = (within && selection.toString().trim()) || message.text.trim();
  return `${text.replace(/^/gm, "> ")}\n\n`;
}

/** @param {Page.Message} message */
async function copyPlace({ room_id, id }) {
  await copyText(`${location.origin}${location.pathname}${placeHash(room_id, id)}`);
  announce(t("Copied"));
}

/**
 * What can be done with one's own message alone.
 * @param {Page.Message} message
 * @param {(name: Parameters<typeof icon>[0], label: string, run: () => void) => HTMLButtonElement} action
 */
function own(message, action) {
  const asked = asksSomebody(message);
  return [
    action("pen", t("Edit"), () => edit(message, asked)),
    asked && action("again", t("Ask again"), () => tell("ask-again", message)),
    action("bin", t("Delete"), () => remove(message)),
  ];
}

/**
 * Whether a message of mine is for a persona, as far as the page can tell; whether it asked is decided elsewhere.
 * @param {Page.Message} message
 */
function asksSomebody({ room_id, text }) {
  if (text.startsWith("!")) return false;
  const named = state.personas.some(({ name }) => text.toLowerCase().includes(`@${name.toLowerCase()}`));
  return named || room_id.startsWith("web:dm-");
}
