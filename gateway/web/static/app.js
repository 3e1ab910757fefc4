// @ts-check
// The page: puts the parts together and carries what happens between them.

import { adminEvent, openAdmin, setUpAdmin } from "./admin/sections.js";
import * as api from "./lib/api.js";
import { Composer } from "./chat/composer.js";
import { Conversation } from "./chat/conversation.js";
import { switcher } from "./chat/jump.js";
import { $, announce, fill, h, icon, withCode } from "./lib/dom.js";
import { Outbox } from "./chat/outbox.js";
import { personasChanged, showPersonas } from "./personas/views.js";
import { memoryChanged, toggleMemory } from "./memory/panel.js";
import { closePanel, panelKind, setUpPanel } from "./lib/panel.js";
import { notifyOf } from "./chat/notify.js";
import { serveOffline } from "./chat/offline.js";
import { setUpSidebar } from "./chat/sidebar.js";
import * as store from "./lib/store.js";
import { on, state, tell } from "./lib/store.js";
import { colourFrame } from "./lib/theme.js";
import { follow } from "./lib/stream.js";
import { showTerminal } from "./chat/terminal.js";
import { TimelineView } from "./chat/timeline.js";
import { drawWelcome } from "./chat/welcome.js";
import { showWhy } from "./chat/why.js";
import { placeHash, platformName } from "./lib/words.js";
import { t, translateDocument } from "./lib/i18n.js";

translateDocument();

const HOME = "web:general"; // where one is who names no room
/** @type {Map<string, Conversation>} */
const conversations = new Map(); // by the room's id
const composer = new Composer(send);
const timeline = new TimelineView({
  onOlder: () => further("older"),
  onNewer: () => further("newer"),
  onLatest: () => load().then(() => timeline.showEnd()),
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
  if (!target || !store.mine(target)) return open(HOME);
  const hash = placeHash(roomId, message);
  if (location.hash !== hash) history.pushState(null, "", hash);
  if (showPersonas()) return; // somebody has not saved yet
  openAdmin(hash); // which is none of its own: it leaves
  if (panelKind()) closePanel();
  room = target;
  state.roomId = roomId;
  tell("room");
  drawHead(room);
  composer.open(roomId, store.roomLabel(room), readOnly(room));
  timeline.open(conversation(), { readOnly: readOnly(room), newAfter: store.newAfter(roomId) });
  if (!matchMedia("(pointer: coarse)").matches) composer.focus();
  return message ? load().then(() => showMessage(message)) : load();
}

/** @type {Api.TimelineView | null} */
let lobby = null; // the newest stretch of HOME, as the page begins

async function load() {
  const opened = conversation();
  try {
    await opened.load(opened.roomId === HOME ? lobby : null);
  } catch (error) {
    say(error.message);
    return;
  }
  if (!room || opened.roomId !== state.roomId) return;
  timeline.refresh();
  drawWelcome(room, opened);
  drawHead(room);
  seen();
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

function seen() {
  if (!document.hidden && state.roomId && conversation().loaded) store.markRead(state.roomId, conversation().newest);
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
  if (!wanted || !store.roomOf(wanted)) return HOME;
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
  adminEvent(type);
  switch (type) {
    case "hello":
      if (!data.resumed) catchUp();
      return;
    case "reload":
      catchUp();
      return;
    case "personas":
      store.fetchPersonas().then(drawAll);
      personasChanged();
      return;
    case "room":
      store.setRoom(data.room);
      return;
    case "stopping":
      say(t("Moot is stopping. What you write now is answered after its next start."));
      return;
    case "memory":
      memoryChanged(data.room_id);
      return;
    case "read":
      store.readElsewhere(data.room_id, data.until);
      return;
  }
  notifyOf(type, data, conversations.get(data.room_id));
  if (type === "turn" && data.turn.state === "posted") memoryChanged(data.room_id); // perhaps a command's
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
  if (timeline.atEnd) seen();
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
  memoryChanged(null);
  for (const [roomId, other] of conversations) if (roomId !== state.roomId) other.forget();
  if (state.roomId) await load();
  else go();
}

/** Show what one request tells; the events go on from there. */
async function begin() {
  let after = "";
  try {
    const begun = await store.fetchAll();
    after = begun.position;
    lobby = begun.timeline;
    outbox.restore();
    go();
  } catch (error) {
    say(error.message);
  }
  lobby = null; // it is old from now on
  follow({ onEvent, onState, after });
}

/** Show what the address says. */
function go() {
  if (/^#personas\b/.test(location.hash)) openAdmin(); // which is none of its own: it leaves
  if (!showPersonas() && !openAdmin()) {
    open(fromAddress());
  } else if (state.roomId) {
    state.roomId = null; // no room is current beside what is shown
    tell("room");
  }
}

function drawAll() {
  if (!room || !state.roomId) return;
  drawHead(room);
  drawWelcome(room, conversation());
}

/** @param {"open" | "lost"} connection */
function onState(connection) {
  const lost = connection === "lost";
  $("connection").hidden = !lost;
  $("connection").textContent = lost ? t("Connection lost. Reconnecting…") : "";
  document.body.classList.toggle("offline", lost);
  if (!lost) outbox.run();
  if (lost) api.get("/api/me").catch(() => {}); // who was signed out elsewhere comes to the form
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
on("why", showWhy);
on("watch", showTerminal);
on("show-message", showMessage);
on("rooms", drawAll);
on("me", () => {
  if (room && state.roomId) open(store.mine(room) && store.roomOf(room.id) ? room.id : HOME);
});

$("show-memory").append(icon("book"), h("span", {}, t("Memory")));
$("show-memory").addEventListener("click", () => room && toggleMemory(room, readOnly(room)));
$("show-terminal").append(icon("terminal"), h("span", {}, t("Terminal")));
$("show-terminal").addEventListener("click", () => (panelKind() === "terminal" ? closePanel() : showTerminal()));
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
setUpAdmin();
colourFrame();
serveOffline(open);
begin();
