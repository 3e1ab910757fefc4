// @ts-check
// What somebody typed and nobody has taken yet, kept in this browser: it outlives a reload, a crash and a closed tab.
// Each draft and each message has a key of its own, so that two tabs don't overwrite each other's.

import { state } from "./store.js";

const PREFIX = "moot.kept/";
const MOST = { draft: 50, unsent: 200 };
const MOST_CHARS = 100_000; // of one; a browser gives a site five million

/**
 * What could not be written: private windows may refuse, and a long text is only kept in its tab.
 * @type {Map<string, any>}
 */
const unwritten = new Map();

/** @typedef {"draft" | "unsent"} Kind */

/**
 * @param {Kind} kind
 * @param {string} [id]
 */
const keyOf = (kind, id = "") =>
  `${PREFIX}${[state.me?.id ?? "", kind, id].map((part) => encodeURIComponent(part)).join("/")}`;

/** @param {string} start */
function keys(start) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(start));
  } catch {
    return [];
  }
}

/** @param {string} key */
function read(key) {
  try {
    return unwritten.get(key) ?? JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key */
function drop(key) {
  unwritten.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // nothing is kept there
  }
}

/**
 * All of a kind, the oldest first.
 * @param {Kind} kind
 * @returns {any[]}
 */
export function all(kind) {
  const start = keyOf(kind);
  const known = new Set([...keys(start), ...[...unwritten.keys()].filter((key) => key.startsWith(start))]);
  return [...known]
    .map((key) => ({ key, value: read(key) }))
    .filter(({ value }) => value !== null)
    .sort((a, b) => a.value.kept - b.value.kept)
    .map(({ value }) => value);
}

/**
 * @param {Kind} kind
 * @param {string} id
 */
export const kept = (kind, id) => read(keyOf(kind, id));

/**
 * Keep a value, which may have a place among others of its kind: when it came. null: no longer.
 * @param {Kind} kind
 * @param {string} id
 * @param {Record<string, any> | null} value
 */
export function keep(kind, id, value) {
  const key = keyOf(kind, id);
  if (value === null) return drop(key);
  const whole = { id, kept: kept(kind, id)?.kept ?? Date.now(), ...value };
  const text = JSON.stringify(whole);
  drop(key);
  try {
    if (text.length > MOST_CHARS || keys(keyOf(kind)).length >= MOST[kind]) throw new RangeError("too much");
    localStorage.setItem(key, text);
  } catch {
    unwritten.set(key, whole);
  }
}

/** Forget what others typed here before; on a shared machine it is not for who comes next. */
export function forgetOthers() {
  const mine = [keyOf("draft"), keyOf("unsent")];
  for (const key of keys(PREFIX)) if (!mine.some((start) => key.startsWith(start))) drop(key);
}

/** Forget everything, at signing out. */
export function forgetAll() {
  unwritten.clear();
  for (const key of keys(PREFIX)) drop(key);
}
