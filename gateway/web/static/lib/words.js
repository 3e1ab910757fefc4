// @ts-check
// How times, sizes, names and durations read.

import { locale, t } from "./i18n.js";

// 12 or 24 hours as the person's browser has it, whatever the language of the page.
const { hourCycle } = new Intl.DateTimeFormat(navigator.language, { hour: "numeric" }).resolvedOptions();
const hour = hourCycle?.startsWith("h2") ? "2-digit" : "numeric"; // 09:05, but 9:05 AM
const clockFormat = new Intl.DateTimeFormat(locale, { hour, minute: "2-digit", hourCycle });
const dayFormat = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });
const datedFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", hourCycle });
const fullFormat = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium", hourCycle });
const secondFormat = new Intl.DateTimeFormat(locale, {
  hour,
  minute: "2-digit",
  second: "2-digit",
  hourCycle,
});

/**
 * Where the page shows a room, or a message in it.
 * @param {string} roomId
 * @param {string} [message]
 */
export const placeHash = (roomId, message = "") =>
  `#${encodeURIComponent(roomId)}${message ? `?message=${encodeURIComponent(message)}` : ""}`;

/** @param {string} at */
export const seconds = (at) => secondFormat.format(new Date(at));
/** @param {string} at */
export const clock = (at) => clockFormat.format(new Date(at));
/**
 * @param {string} from
 * @param {string} to
 */
export const datedRange = (from, to) => datedFormat.formatRange(new Date(from), new Date(to));
/** @param {string} at */
export const dated = (at) => datedFormat.format(new Date(at));
/** @param {string} at */
export const full = (at) => fullFormat.format(new Date(at));

/**
 * The local day of a time, for grouping.
 * @param {string | number | Date} at
 */
export function dayKey(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

/**
 * @param {string} at
 * @param {Date} [now]
 */
export function day(at, now = new Date()) {
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  if (dayKey(at) === dayKey(now)) return t("Today");
  if (dayKey(at) === dayKey(yesterday)) return t("Yesterday");
  const date = new Date(at);
  const year = date.getFullYear() === now.getFullYear() ? "" : ` ${date.getFullYear()}`;
  return dayFormat.format(date) + year;
}

/** A number with one digit behind the point. */
export const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return t("{n} ms", { n: Math.round(ms) });
  const seconds = ms / 1000;
  if (seconds < 10) return t("{n} s", { n: tenths.format(seconds) });
  if (seconds < 60) return t("{n} s", { n: Math.round(seconds) });
  return t("{minutes} min {seconds} s", { minutes: Math.floor(seconds / 60), seconds: Math.round(seconds % 60) });
}

/**
 * A duration that still runs: whole seconds, nothing before the first.
 * @param {number} ms
 */
export function elapsed(ms) {
  if (ms < 1000) return "";
  return ms < 10_000 ? t("{n} s", { n: Math.floor(ms / 1000) }) : duration(Math.floor(ms / 1000) * 1000);
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? tenths.format(value) : Math.round(value)} ${units[unit]}`;
}

/**
 * At most two letters for an avatar; whole characters, also outside the Latin script.
 * @param {string} name
 */
export function initials(name) {
  const words = name
    .trim()
    .split(/[\s._-]+/u)
    .filter(Boolean);
  /** @param {string} word */
  const first = (word) => [...word][0] ?? "";
  if (words.length === 0) return "?";
  const last = words.length > 1 ? first(words.at(-1) ?? "") : "";
  return (first(words[0]) + last).toUpperCase();
}

/**
 * One of eight hues, always the same for an id.
 * @param {string} id
 */
export function hue(id) {
  let sum = 7;
  for (const character of id) sum = (sum * 31 + Number(character.codePointAt(0))) % 9973;
  return sum % 8;
}

/** @type {Record<string, string>} */
const WORDS = {
  up: t("up"),
  connecting: t("connecting"),
  down: t("down"),
  posted: t("posted"),
  answered: t("answered"),
  running: t("running"),
  queued: t("queued"),
  failed: t("failed"),
  stopped: t("stopped"),
  dropped: t("dropped"),
  sent: t("sent"),
  planned: t("planned"),
  working: t("working"),
  idle: t("idle"),
  starting: t("starting"),
  asleep: t("asleep"),
  waiting: t("waiting"),
  brief: t("brief"),
  compose: t("compose"),
  agent: t("agent"),
  post: t("post"),
  record: t("record"),
  command: t("command"),
  pin: t("pin"),
  landmark: t("landmark"),
  decision: t("decision"),
  spec: t("spec"),
  action: t("action"),
  request: t("request"),
  discussion: t("discussion"),
  attempt: t("attempt"),
  fact: t("fact"),
  preference: t("preference"),
  message: t("message"),
  project: t("project"),
  bugfix: t("bugfix"),
  feature: t("feature"),
  refactor: t("refactor"),
  discovery: t("discovery"),
  recommendation: t("recommendation"),
  recall: t("recall"),
  landmarks: t("landmarks"),
  episodes: t("episodes"),
  insights: t("insights"),
  observations: t("observations"),
  "agent ready": t("agent ready"),
  "took too long": t("took too long"),
};

/**
 * A single word of the server's: a state, a step, what kind of thing is remembered.
 * @param {string} name
 */
export const word = (name) => WORDS[name] ?? name;

/** @type {Record<string, string>} */
const ROLES = { guest: t("guest"), member: t("member"), owner: t("owner") };

/**
 * A role of somebody.
 * @param {string} role
 */
export const roleName = (role) => ROLES[role] ?? role;

/** @param {string} name */
const capitalised = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/**
 * The platforms that people call something else than Moot does.
 * @type {Record<string, string>}
 */
const PLATFORMS = {
  rocketchat: "Rocket.Chat",
  bluebubbles: "iMessage",
  web: t("This page"),
};

/**
 * A platform as people call it.
 * @param {string} name
 */
export const platformName = (name) => PLATFORMS[name] ?? capitalised(name);

/**
 * A reason as a sentence, with its full stop.
 * @param {string} text
 */
export const sentence = (text) => (/[.!?。！？]$/.test(text) ? text : `${text}.`);

/**
 * A heading's words, without shouting.
 * @param {string} name
 */
export const title = (name) => name.charAt(0) + name.slice(1).toLowerCase();
