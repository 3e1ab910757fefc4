// @ts-check
// What the page knows, and who wants to hear of a change.

import * as api from "./api.js";

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
 * @param {string} key
 * @param {any} fallback
 */
function remembered(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? fallback;
  } catch {
    return fallback;
  }
}

/**
 * @param {string} key
 * @param {unknown} value
 */
function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // private windows may refuse; the page then forgets on reload
  }
}

/**
 * `me`: who is signed in.
 * `rooms`: by id. `commands`: what can be typed, aliases among it. `people`: humans who have spoken. `read`: the time
 * of the newest message seen, by the room's id.
 * @type {{
 *   me: Api.Me | null,
 *   rooms: Map<string, Page.Room>,
 *   personas: Api.PersonaView[],
 *   commands: Array<Pick<Api.Command, "name" | "says">>,
 *   people: Api.SpeakerView[],
 *   sessions: Api.SessionView[],
 *   roomId: string | null,
 *   read: Record<string, string>,
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
  read: remembered("moot.read", {}),
};

/** @param {string} roomId */
const seenUntil = (roomId) => Date.parse(state.read[roomId] ?? "") || 0;

/**
 * @param {string} roomId
 * @param {string | null} at
 */
export function markRead(roomId, at) {
  if (!at || seenUntil(roomId) >= Date.parse(at)) return;
  state.read[roomId] = at;
  remember("moot.read", state.read);
  tell("rooms");
}

/** @param {Pick<Page.Room, "id" | "last_at">} room */
export const unread = (room) => Boolean(room.last_at) && Date.parse(room.last_at ?? "") > seenUntil(room.id);

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

/** @param {Page.Room} room */
export function setRoom(room) {
  state.rooms.set(room.id, room);
  tell("rooms");
}

// ── Names ─────────────────────────────────────────────────────────────────────────────────

/** Everybody who can be mentioned: lower-case name to a CSS class. */
export function mentions() {
  const names = new Map();
  for (const person of state.people) names.set(person.name.toLowerCase(), "person");
  for (const persona of state.personas) names.set(persona.name.toLowerCase(), "persona");
  if (state.me) names.set(state.me.name.toLowerCase(), "me");
  return names;
}

/** @param {Api.SpeakerView} speaker */
export function meet(speaker) {
  if (speaker.kind !== "human" || state.people.some((known) => known.id === speaker.id)) return;
  state.people.push(speaker);
}

// ── Fetching ──────────────────────────────────────────────────────────────────────────────

export async function fetchAll() {
  const [me, rooms, personas, people, { commands }] = await Promise.all([
    api.get("/api/me"),
    api.get("/api/rooms"),
    api.get("/api/personas"),
    api.get("/api/people"),
    api.get("/api/commands"),
  ]);
  state.me = me;
  state.commands = commands
    .filter(({ name }) => /^[a-z]/.test(name))
    .flatMap(({ name, says, aliases }) => [name, ...aliases].map((called) => ({ name: called, says })));
  state.rooms = new Map(rooms.rooms.map((room) => [room.id, room]));
  state.personas = personas.personas;
  state.people = people.people;
  tell("me");
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
