// @ts-check
// Desktop notifications, for whoever turned them on: mentions, answers to oneself, permission questions; only while
// the page is hidden.

import { t } from "../lib/i18n.js";
import { plainText } from "../lib/markdown.js";
import { mentions, roomLabel, roomOf, state } from "../lib/store.js";

const KEY = "moot.notify";
const TEXT_CHARS = 180;
let shown = Promise.resolve(); // one after the other: a browser may drop what comes at once

/** @typedef {"all" | "mentions" | "none"} Level */

/** @returns {{ on: boolean, rooms: Record<string, Level> }} */
function chosen() {
  try {
    return { on: false, rooms: {}, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { on: false, rooms: {} };
  }
}

/** @param {Partial<ReturnType<typeof chosen>>} change */
const choose = (change) => localStorage.setItem(KEY, JSON.stringify({ ...chosen(), ...change }));

/** @returns {NotificationPermission | "none"} none: there are none here, as without TLS */
export const permission = () => ("Notification" in window && window.isSecureContext ? Notification.permission : "none");
export const isOn = () => permission() === "granted" && chosen().on;

/** Ask the person, who pressed a button for it. */
export async function askPermission() {
  if ((await Notification.requestPermission()) === "granted") choose({ on: true });
}
export const turnOff = () => choose({ on: false });

/** @param {string} roomId */
export const levelOf = (roomId) => chosen().rooms[roomId] ?? "mentions";
/**
 * @param {string} roomId
 * @param {Level} level
 */
export const chooseLevel = (roomId, level) => choose({ rooms: { ...chosen().rooms, [roomId]: level } });

/**
 * Whether a text mentions whoever is signed in.
 * @param {string} text
 */
function mentionsMe(text) {
  const name = state.me?.name.toLowerCase();
  return (
    Boolean(name) &&
    text
      .toLowerCase()
      .split(`@${name}`)
      .slice(1)
      .some((rest) => !/^[\p{L}\p{N}_]/u.test(rest))
  );
}

/** Messages that whoever is signed in wrote, and the message that each turn answers. */
const mine = new Set();
const asked = new Map();
const MOST = 500; // what is older has its answer

/** @param {Set<string> | Map<string, any>} known */
function bound(known) {
  if (known.size > MOST) known.delete(/** @type {string} */ (known.keys().next().value));
}

/**
 * Tell somebody who looks elsewhere of what is theirs.
 * @param {string} type
 * @param {any} data
 * @param {import("./conversation.js").Conversation} [conversation] of the room, if it was opened
 */
export function notifyOf(type, data, conversation) {
  if (type === "turn" && data.turn.message_id) {
    asked.set(data.turn.id, data.turn.message_id);
    bound(asked);
  } else if (type === "question") tellOfQuestion(data.question);
  else if (type === "message" && data.message.by.id === state.me?.id) {
    mine.add(data.message.id);
    bound(mine);
  } else if (type === "message" || (type === "edited" && conversation?.messages.get(data.message.id)?.draft)) {
    const about = asked.get(data.message.turn_id);
    const isMine = mine.has(about) || conversation?.messages.get(about)?.by.id === state.me?.id;
    tellOfMessage(data.message, Boolean(about) && isMine);
  }
}

/**
 * @param {Api.MessageView} message
 * @param {boolean} isAnswer to whoever is signed in
 */
function tellOfMessage(message, isAnswer) {
  const level = levelOf(message.room_id);
  const room = roomOf(message.room_id);
  const forMe = room?.kind === "dm" || isAnswer || mentionsMe(message.text);
  if (!room || message.draft || level === "none" || (level === "mentions" && !forMe)) return;
  const where = room.kind === "dm" ? message.by.name : `${message.by.name} · ${roomLabel(room)}`;
  show(message.room_id, message.id, where, plainText(message.text, mentions()));
}

/**
 * @param {Api.QuestionView} question
 */
function tellOfQuestion({ id, room_id: roomId, persona, title, may_answer: may }) {
  const mayI = may ? may.some((person) => person.id === state.me?.id) : state.me?.owner;
  if (mayI && levelOf(roomId) !== "none") show(roomId, id, t("{name} asks for permission", { name: persona }), title);
}

/**
 * @param {string} roomId
 * @param {string} tag two tabs that show the same show it once
 * @param {string} title
 * @param {string} text
 */
function show(roomId, tag, title, text) {
  if (!document.hidden || !isOn()) return;
  const notification = { body: text.slice(0, TEXT_CHARS), tag, data: { roomId } };
  shown = shown.then(async () => {
    const worker = await navigator.serviceWorker?.getRegistration(); // a phone lets nobody else show any
    await worker?.showNotification(title, notification).catch(() => {}); // allowed no longer
  });
}
