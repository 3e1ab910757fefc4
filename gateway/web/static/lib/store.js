// @ts-check
// What the page knows, and who wants to hear of a change.

import * as api from "./api.js";
import { setCookie } from "./cookies.js";
import { keyOf } from "./tokens.js";

/** @type {Map<string, Array<(value?: any) => unknown>>} */
const listeners = new Map();

/**
 * Call `listener` whenever `topic` is told.
 * @param {string} topic
 * @param {(value?: any) => unknown} listener
 */
export function on(topic, listener) {
  listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

/**
 * @param {string} topic
 * @param {any} [value]
 */
export function tell(topic, value) {
  for (const listener of listeners.get(topic) ?? []) listener(value);
}

/**
 * `me`: who is signed in.
 * `rooms`: by id. `commands`: what can be typed, aliases among it. `people`: humans who have spoken. `unread`: by
 * the room's id, where something is new. `standsBy`: the Moot that answers shows what there is, and changes nothing.
 * @type {{
 *   me: Api.Me | null,
 *   rooms: Map<string, Page.Room>,
 *   personas: Api.PersonaView[],
 *   commands: Array<Pick<Api.Command, "name" | "says">>,
 *   people: Api.SpeakerView[],
 *   sessions: Api.SessionView[],
 *   roomId: string | null,
 *   unread: Map<string, Api.UnreadView>,
 *   standsBy: boolean,
 * }}
 */
export const state = {
  me: null,
  rooms: new Map(),
  personas: [],
  commands: [],
  people: [],
  sessions: [],
  roomId: null,
  unread: new Map(),
  standsBy: false,
};

// ── What is new ───────────────────────────────────────────────────────────────────────────

const MOST = 99;
/** @type {Map<string, string>} */
const read = new Map(); // room id -> the time up to which this page has told that it was read

/**
 * A room was read up to a time: here at once, and for its reader in every browser.
 * @param {string} roomId
 * @param {string | null} at
 */
export function markRead(roomId, at) {
  const known = read.get(roomId) ?? "";
  if (!at || (known && Date.parse(known) >= Date.parse(at)) || !state.me?.person || state.standsBy) return;
  read.set(roomId, at);
  if (state.unread.delete(roomId)) tell("rooms");
  api.put(`/api/rooms/${encodeURIComponent(roomId)}/read`, { until: at }).catch(() => read.delete(roomId));
}

/**
 * Its reader has read a room in another browser.
 * @param {string} roomId
 * @param {string} until
 */
export function readElsewhere(roomId, until) {
  if (Date.parse(read.get(roomId) ?? "") >= Date.parse(until)) return;
  read.set(roomId, until);
  fetchUnread().catch(() => {});
}

/**
 * Count a message that has just come.
 * @param {Api.MessageView} message
 */
export function countNew({ room_id, by, text, at }) {
  if (by.id === state.me?.id) return;
  const known = state.unread.get(room_id) ?? { room_id, count: 0, mentions: 0, until: read.get(room_id) ?? before(at) };
  const mentions = known.mentions + Number(namesMe(text));
  state.unread.set(room_id, { ...known, count: known.count + 1, mentions });
}

/** @param {string} at */
const before = (at) => new Date(Date.parse(at) - 1).toISOString();

/**
 * Whether a text mentions me, as a word of its own.
 * @param {string} text
 */
export function namesMe(text) {
  const name = state.me?.name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return Boolean(name) && new RegExp(`(?<![\\p{L}\\p{N}_@])@${name}(?![\\p{L}\\p{N}_])`, "iu").test(text);
}

/** @param {Pick<Page.Room, "id">} room */
export const unread = (room) => state.unread.get(room.id) ?? null;

/** @param {number} count */
export const upTo99 = (count) => (count > MOST ? `${MOST}+` : String(count));

/**
 * The time up to which a room was read, where something is new in it; null: nothing is.
 * @param {string} roomId
 */
export const newAfter = (roomId) => state.unread.get(roomId)?.until ?? null;

/** What is new in the page's other rooms, as it stands in the title: `(12) `, with an @ where somebody means me. */
export function unreadTitle() {
  const others = [...state.unread.values()].filter(({ room_id }) => {
    const room = state.rooms.get(room_id);
    return room_id !== state.roomId && room_id.startsWith("web:") && room && mine(room);
  });
  const count = others.reduce((sum, one) => sum + one.count, 0);
  return count ? `(${others.some((one) => one.mentions) ? "@ " : ""}${upTo99(count)}) ` : "";
}

// ── Rooms ─────────────────────────────────────────────────────────────────────────────────

const HOME = { id: "web:general", name: "general", kind: "room", project: null, last_at: null };

/**
 * The room id of my DM with a persona; a person's slug holds no hyphen.
 * @param {string} persona
 */
export const directId = (persona) => `web:dm-${(state.me?.id ?? "web:").slice(4)}-${persona}`;

/**
 * Whether I may see this room: a DM on the page belongs to one person.
 * @param {Page.Room} room
 */
export function mine(room) {
  if (!room.id.startsWith("web:dm-")) return true;
  return state.personas.some((persona) => directId(persona.name) === room.id);
}

/**
 * The room with this id, also when nobody has spoken in it yet.
 * @param {string} id
 * @returns {Page.Room | null}
 */
export function roomOf(id) {
  const known = state.rooms.get(id);
  if (known) return known;
  const persona = state.personas.find((card) => directId(card.name) === id);
  if (persona) return { id, name: persona.name, kind: "dm", project: null, last_at: null };
  return id === HOME.id ? HOME : null;
}

/**
 * The persona of one of my DMs, or null.
 * @param {Page.Room} room
 */
export const personaOf = (room) => state.personas.find((card) => directId(card.name) === room.id) ?? null;

/**
 * What stands above a room: `#general`, or the persona's name in a DM.
 * @param {Page.Room} room
 */
export function roomLabel(room) {
  if (room.kind === "room") return `#${room.name.replace(/^#/, "")}`;
  return personaOf(room)?.name ?? room.name;
}

/** Rooms of the page, and those of other platforms by platform. */
export function roomLists() {
  const rooms = [...state.rooms.values()].filter((room) => room.kind !== "dm" && mine(room));
  if (!state.rooms.has(HOME.id)) rooms.push(HOME);
  /**
   * @param {Page.Room} a
   * @param {Page.Room} b
   */
  const byName = (a, b) => a.name.localeCompare(b.name);
  const here = rooms.filter((room) => room.id.startsWith("web:")).sort(byName);
  const elsewhere = rooms.filter((room) => !room.id.startsWith("web:")).sort(byName);
  return { here, elsewhere };
}

/**
 * Let the next document come with this room's messages.
 * @param {string} roomId "": with none
 */
export const rememberRoom = (roomId) => setCookie("moot-room", roomId);

/** @param {Page.Room} room */
export function setRoom(room) {
  state.rooms.set(room.id, room);
  tell("rooms");
}

// ── Names ─────────────────────────────────────────────────────────────────────────────────

/** Everybody and every room that a text can mean, by name and by their ids on other platforms. */
export function mentions() {
  /** @type {import("./tokens.js").Mentions} */
  const found = new Map();
  /** @param {string} kind @param {string} name @param {string[]} ids */
  const add = (kind, name, ids) => {
    for (const key of [name.toLowerCase(), ...ids.map((id) => keyOf("@", id))]) found.set(key, { kind, name });
  };
  for (const { id, name } of state.rooms.values()) found.set(keyOf("#", id), { kind: "room", name });
  for (const person of state.people) add("person", person.name, [person.id]);
  for (const persona of state.personas) add("persona", persona.name, persona.accounts);
  if (state.me) add("me", state.me.name, [state.me.id]);
  return found;
}

/** @param {Api.SpeakerView} speaker */
export function meet(speaker) {
  if (speaker.kind !== "human" || state.people.some((known) => known.id === speaker.id)) return;
  state.people.push(speaker);
}

// ── Fetching ──────────────────────────────────────────────────────────────────────────────

/** What stands in the document, the first time: it came with it, a round trip ahead of any answer. */
function inDocument() {
  const block = document.getElementById("start");
  block?.remove();
  return /** @type {Api.Start | null} */ (JSON.parse(block?.textContent || "null"));
}

export async function fetchAll() {
  const begun = inDocument() ?? (await api.get("/api/start"));
  state.me = begun.me;
  state.commands = begun.commands
    .filter(({ name }) => /^[a-z]/.test(name))
    .flatMap(({ name, says, aliases }) => [name, ...aliases].map((called) => ({ name: called, says })));
  state.rooms = new Map(begun.rooms.map((room) => [room.id, room]));
  state.personas = begun.personas;
  state.people = begun.people;
  state.unread = byRoom(begun.unread);
  tell("me");
  tell("rooms");
  return begun;
}

/** @param {Api.UnreadView[]} rooms */
const byRoom = (rooms) => new Map(rooms.map((one) => [one.room_id, one]));

async function fetchUnread() {
  state.unread = byRoom((await api.get("/api/unread")).rooms);
  tell("rooms");
}

export async function fetchPersonas() {
  state.personas = (await api.get("/api/personas")).personas;
  tell("rooms");
}

export async function fetchSessions() {
  state.sessions = (await api.get("/api/sessions")).sessions;
  tell("sessions");
}
