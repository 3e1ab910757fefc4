// @ts-check
// How times, sizes, names and durations read.

import { locale, t } from "./i18n.js";

const clockFormat = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });
const datedFormat = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const fullFormat = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium" });

const secondFormat = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

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

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/**
 * A duration that still runs: whole seconds, nothing before the first.
 * @param {number} ms
 */
export const elapsed = (ms) => (ms < 1000 ? "" : duration(Math.floor(ms / 1000) * 1000).replace(".0 s", " s"));

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
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
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

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString(locale)} ${n === 1 ? one : many}`;

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
