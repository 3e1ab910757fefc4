// @ts-check
// The page: puts the parts together and carries what happens between them.

import { adminLinkEvent, setUpAdminLink } from "./chat/admin_link.js";
import * as api from "./lib/api.js";
import { Composer } from "./chat/composer.js";
import { Conversation } from "./chat/conversation.js";
import { switcher } from "./chat/jump.js";
import { $, announce, fill, h, icon, withCode } from "./lib/dom.js";
import { Outbox } from "./chat/outbox.js";
import { closePanel, panelKind, setUpPanel } from "./lib/panel.js";
import { notifyOf } from "./chat/notify.js";
import { serveOffline } from "./chat/offline.js";
import { setUpSidebar } from "./chat/sidebar.js";
import * as store from "./lib/store.js";
import { on, state, tell } from "./lib/store.js";
import { colourFrame } from "./lib/theme.js";
import { follow } from "./lib/stream.js";
import { TimelineView } from "./chat/timeline.js";
import { drawNoRoom, drawWelcome } from "./chat/welcome.js";
import { placeHash, platformName } from "./lib/words.js";
import { t, translateDocument } from "./lib/i18n.js";

translateDocument();

const HOME = "web:general"; // where one is who names no room
const SLOW_MS = 400; // whoever waits longer is told so
const MOST_STRETCHES = 4; // that are fetched to find where unread begins
const ELSEWHERE = /^#(?:admin|turn|personas)\b/; // addresses beyond the rooms
/** @type {Map<string, Conversation>} */
const conversations = new Map(); // by the room's id
const composer = new Composer(send);
const timeline = new TimelineView({
  onOlder: () => further("older"),
  onNewer: () => further("newer"),
  onLatest: () => load(() => timeline.showEnd()),
  onSeen: seen,
});
/** @type {Page.Room | null} */
let room = null;
const outbox = new Outbox(conversation, changed);

/** @param {string} [roomId] */
function conversation(roomId = state.roomId ?? HOME) {
  const known = conversations.get(roomId) ?? new Conversation(roomId);
  conversations.set(roomId, known);
  return known;
}

/** @type {typeof import("./views.js") | null} */
let views = null; // all beyond the rooms, once somebody has asked for a part of it

/** @param {(views: typeof import("./views.js")) => unknown} use */
async function withViews(use) {
  const slow = views ? 0 : setTimeout(() => say(t("Loading…")), SLOW_MS);
  try {
    views ??= await import("./views.js");
  } catch {
    say(t("Moot does not answer. Is it running?"));
    return;
  } finally {
    clearTimeout(slow);
  }
  if ($("connection").textContent === t("Loading…")) onState("open");
  use(views);
}

// ── Rooms ─────────────────────────────────────────────────────────────────────────────────

/** @param {Page.Room} of */
function readOnly(of) {
  const platform = of.id.split(":")[0];
  return platform === "web"
    ? ""
    : t("This room lives in {platform}. Write there; Moot shows it here.", { platform: platformName(platform) });
}

/**
 * Show a room: from its end, or at a message.
 * @param {string | { roomId: string, message: string }} place
 */
function open(place) {
  const { roomId, message } = typeof place === "string" ? { roomId: place, message: "" } : place;
  const target = store.roomOf(roomId);
  if (!target || !store.mine(target)) return openNowhere(roomId);
  const hash = placeHash(roomId, message);
  if (location.hash !== hash) history.pushState(null, "", hash);
  if (views?.showPersonas()) return; // somebody has not saved yet
  views?.openAdmin(hash); // which is none of its own: it leaves
  if (panelKind()) closePanel();
  room = target;
  state.roomId = roomId;
  store.rememberRoom(roomId);
  tell("room");
  drawHead(room);
  composer.open(roomId, store.roomLabel(room), readOnly(room));
  timeline.open(conversation(), { readOnly: readOnly(room), newAfter: store.newAfter(roomId) });
  if (!matchMedia("(pointer: coarse)").matches) composer.focus();
  return load(() => (message ? showMessage(message) : toNew()));
}

/**
 * Say that a room is not there, or not for this reader, and offer those that are.
 * @param {string} roomId
 */
function openNowhere(roomId) {
  if (views?.showPersonas()) return; // somebody has not saved yet
  views?.openAdmin(location.hash); // which is none of its own: it leaves
  if (panelKind()) closePanel();
  room = state.roomId = null;
  tell("room");
  const why = t("This room is not here");
  $("room-name").textContent = why;
  $("room-about").hidden = true;
  document.title = `${store.unreadTitle()}${why} · Moot`;
  composer.open(roomId, why, why);
  timeline.open(new Conversation(roomId), { readOnly: why, newAfter: null });
  drawNoRoom(why);
}

/** @type {Api.Start | null} */
let begun = null; // with the newest stretch of a room, as the page begins

/** @param {() => unknown} arrive where to go in what was loaded */
async function load(arrive = () => {}) {
  const opened = conversation();
  try {
    await opened.load(opened.roomId === begun?.room_id ? begun.timeline : null);
  } catch (error) {
    say(error.message);
    return;
  }
  if (!room || opened.roomId !== state.roomId) return;
  timeline.draw();
  drawWelcome(room, opened);
  drawHead(room);
  await arrive();
  seen();
}

/** Begin where unread does; what is further back than this is looked for by hand. */
async function toNew() {
  const opened = conversation();
  for (let stretch = 0; stretch < MOST_STRETCHES && timeline.isNewFromStart(opened); stretch += 1)
    if (!(await opened.older().catch(() => false)) || opened.roomId !== state.roomId) break;
  if (opened.roomId !== state.roomId) return;
  timeline.draw();
  timeline.toNew();
}

/** @param {"older" | "newer"} way */
async function further(way) {
  const opened = conversation();
  if (!opened.loaded) return;
  try {
    await opened[way]();
  } catch (error) {
    say(error.message);
    return;
  }
  if (opened.roomId !== state.roomId) return;
  timeline.draw();
  timeline.lookUp();
}

/** Whoever is at the end has seen it all. */
function seen() {
  if (document.hidden || !timeline.atEnd || !state.roomId || !conversation().loaded) return;
  store.markRead(state.roomId, conversation().newest);
}

/** @param {Page.Room} of */
function drawHead(of) {
  const persona = store.personaOf(of);
  $("room-name").textContent = store.roomLabel(of);
  const about = persona ? persona.agent : of.project ? t("Project {project}", { project: of.project }) : "";
  $("room-about").textContent = about;
  $("room-about").hidden = !about;
  document.title = `${store.unreadTitle()}${store.roomLabel(of)} · Moot`;
}

function fromAddress() {
  const [roomId, query = ""] = location.hash.slice(1).split("?");
  const wanted = decodeURIComponent(roomId);
  if (!wanted) return begun && store.roomOf(begun.room_id) ? begun.room_id : HOME;
  const message = new URLSearchParams(query).get("message");
  return message ? { roomId: wanted, message } : wanted;
}

// ── Messages out ──────────────────────────────────────────────────────────────────────────

/** @param {Page.Draft} given */
function send(given) {
  if (!room) return;
  timeline.atEnd = true;
  outbox.write(room, given);
}

// ── What happens ──────────────────────────────────────────────────────────────────────────

/**
 * @param {string} type
 * @param {any} data
 */
function onEvent(type, data) {
  if (!data?.resumed) adminLinkEvent(type);
  views?.adminEvent(type);
  switch (type) {
    case "hello":
      if (!data.resumed) catchUp();
      return;
    case "reload":
      catchUp();
      return;
    case "personas":
      store.fetchPersonas().then(drawAll);
      views?.personasChanged();
      return;
    case "room":
      store.setRoom(data.room);
      return;
    case "stopping":
      say(t("Moot is stopping. What you write now is answered after its next start."));
      return;
    case "memory":
      views?.memoryChanged(data.room_id);
      return;
    case "access":
      if (conversation().questions.size) load(); // others may answer them now
      return;
    case "read":
      store.readElsewhere(data.room_id, data.until);
      return;
  }
  notifyOf(type, data, conversations.get(data.room_id));
  if (type === "turn" && data.turn.state === "posted") views?.memoryChanged(data.room_id); // perhaps a command's
  const known = conversations.get(data.room_id);
  if (type === "message") arrived(data.message);
  if (type === "message" && data.room_id === state.roomId && document.hidden) timeline.newFrom(data.message);
  if (!known) return;
  known.apply(type, data);
  if (type === "message" && data.message.by.id !== state.me?.id && known.roomId === state.roomId) timeline.news();
  if (type === "question" && known.roomId === state.roomId)
    announce(t("{name} asks: {what}", { name: data.question.persona, what: data.question.title }));
  changed(known);
}

/** @param {Api.MessageView} message */
function arrived(message) {
  store.meet(message.by);
  store.countNew(message);
  const known = state.rooms.get(message.room_id);
  if (known) store.setRoom({ ...known, last_at: message.at });
}

/** @param {Conversation} of */
function changed(of) {
  if (!room || of.roomId !== state.roomId) return;
  timeline.refresh();
  drawWelcome(room, of);
  seen();
}

/** Fetch what the events did not tell, after a gap. */
async function catchUp() {
  try {
    await store.fetchAll();
  } catch (error) {
    say(error.message);
    return;
  }
  outbox.restore();
  views?.memoryChanged(null);
  for (const [roomId, other] of conversations) if (roomId !== state.roomId) other.forget();
  if (state.roomId) await load();
  else go();
}

/** Show what one request tells; the events go on from there. */
async function begin() {
  let after = "";
  try {
    begun = await store.fetchAll();
    after = begun.position;
    outbox.restore();
    go();
  } catch (error) {
    say(error.message);
  }
  begun = null; // it is old from now on
  follow({ onEvent, onState, after });
}

/** Show what the address says. */
function go() {
  const elsewhere = ELSEWHERE.test(location.hash);
  if (!elsewhere && !views) return void open(fromAddress());
  withViews(({ showPersonas, openAdmin }) => {
    if (/^#personas\b/.test(location.hash)) openAdmin(); // which is none of its own: it leaves
    if (!showPersonas() && !openAdmin()) {
      open(fromAddress());
    } else if (state.roomId) {
      state.roomId = null; // no room is current beside what is shown
      tell("room");
    }
    if (!state.roomId) store.rememberRoom("");
  });
}

function drawAll() {
  if (!room || !state.roomId) return;
  drawHead(room);
  drawWelcome(room, conversation());
}

let isLost = false;

/** @param {"open" | "lost"} connection */
function onState(connection) {
  isLost = connection === "lost";
  document.body.classList.toggle("offline", isLost);
  if (!isLost) state.standsBy = false;
  drawConnection();
  if (!isLost) outbox.run();
  if (isLost) askWhy();
}

function drawConnection() {
  $("connection").hidden = !isLost;
  const why = state.standsBy
    ? t("This Moot stands by: you can read, and nothing can be changed. What you write is sent once it takes over.")
    : t("Connection lost. Reconnecting…");
  $("connection").textContent = isLost ? why : "";
}

/** A Moot that stands by answers what is read, and has no events: what is new is looked for. */
async function askWhy() {
  api.get("/api/me").catch(() => {}); // who was signed out elsewhere comes to the form
  const health = await api.get("/healthz?standby=ok").catch(() => null);
  if (!isLost) return;
  state.standsBy = health?.standby === true;
  drawConnection();
  if (state.standsBy && state.roomId && timeline.atEnd && !document.hidden) load();
}

/** @param {string} text */
function say(text) {
  $("connection").hidden = false;
  fill($("connection"), ...withCode(text));
}

// ── Together ──────────────────────────────────────────────────────────────────────────────

/**
 * Go to a message of the room, however old it is.
 * @param {string} id
 */
async function showMessage(id) {
  if (timeline.reveal(id)) return;
  try {
    await conversation().around(id);
  } catch (error) {
    say(error.status === 404 ? t("This message is not there any more.") : error.message);
    return;
  }
  timeline.draw();
  timeline.reveal(id);
}

on("open", open);
on("try", (text) => composer.put(text));
on("reply", (message) => composer.reply(message));
on("pin", (message) => send({ text: "!pin", replyTo: message }));
on("retry", (message) => outbox.again(message.id));
on("discard", (message) => outbox.discard(message));
on("ask-again", (message) => send({ text: "!retry", replyTo: message }));
on("redraw", (id) => timeline.redraw(id));
on("say", say);
on("quote", (text) => composer.put(`${text}${composer.text.value}`));
on("stop", (turn) => send({ text: "!stop", extra: { recipient_id: `bot:${turn.persona}` } }));
on("command", (text) => send({ text }));
on("why", (turn) => withViews(({ showWhy }) => showWhy(turn)));
on("watch", (session) => withViews(({ showTerminal }) => showTerminal(session)));
on("show-message", showMessage);
on("rooms", drawAll);
on("me", () => {
  if (room && state.roomId) open(store.mine(room) && store.roomOf(room.id) ? room.id : HOME);
});

$("show-memory").append(icon("book"), h("span", {}, t("Memory")));
$("show-memory").addEventListener("click", () => {
  const shown = room;
  if (shown) withViews(({ toggleMemory }) => toggleMemory(shown, readOnly(shown)));
});
$("show-terminal").append(icon("terminal"), h("span", {}, t("Terminal")));
$("show-terminal").addEventListener("click", () => {
  if (panelKind() === "terminal") closePanel();
  else withViews(({ showTerminal }) => showTerminal());
});
new MutationObserver(() => {
  for (const kind of ["memory", "terminal"])
    $(`show-${kind}`).setAttribute("aria-pressed", String(panelKind() === kind));
}).observe($("side"), { attributes: true, attributeFilter: ["hidden", "class"] });
$("jump").addEventListener("click", switcher);
if (/Mac|iPhone|iPad/.test(navigator.platform)) $("jump-key").textContent = "⌘K";
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) switcher();
  }
});
window.addEventListener("popstate", go);
document.addEventListener("visibilitychange", seen);

setUpPanel();
setUpSidebar(open);
setUpAdminLink();
colourFrame();
serveOffline(open);
begin();
