// @ts-check
// The list of rooms and of direct messages with each persona; who you are.

import { avatar, personaSpeaker } from "../lib/avatar.js";
import { accountDialog } from "./account.js";
import { newRoomDialog } from "../lib/dialogs.js";
import { $, fill, focused, h, icon, targetOf } from "../lib/dom.js";
import { directId, on, roomLists, roomOf, state, unread, upTo99 } from "../lib/store.js";
import { platformName } from "../lib/words.js";
import { count, t } from "../lib/i18n.js";

/**
 * Show the lists and keep them so. `open(roomId)` goes to a room.
 * @param {(roomId: string) => void} open
 */
export function setUpSidebar(open) {
  const narrow = matchMedia("(max-width: 860px)");
  /** @param {boolean} shown */
  const show = (shown) => drawer(shown && narrow.matches);
  $("open-rooms").append(icon("menu"));
  $("close-rooms").append(icon("close"));
  $("open-rooms").addEventListener("click", () => show(true));
  $("close-rooms").addEventListener("click", () => close());
  $("shade").addEventListener("click", () => close());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
  });
  window.addEventListener("popstate", () => show(false));
  narrow.addEventListener("change", () => show(false));
  $("me").addEventListener("click", () => accountDialog());
  $("lists").addEventListener("click", (event) => {
    if (targetOf(event).closest('a[href="#personas"]')) show(false);
    const roomId = /** @type {HTMLElement | null} */ (targetOf(event).closest("a[data-room]"))?.dataset.room;
    if (!roomId) return;
    show(false);
    open(roomId);
  });
  $("admin-link").addEventListener("click", () => show(false));
  on("rooms", draw);
  on("me", draw);
  on("room", draw);
  draw();

  function close() {
    if ($("shade").hidden) return;
    show(false);
    $("open-rooms").focus();
  }

  /** @param {boolean} shown */
  function drawer(shown) {
    $("sidebar").classList.toggle("open", shown);
    $("sidebar").inert = narrow.matches && !shown;
    for (const main of document.querySelectorAll("main")) main.inert = shown;
    $("shade").hidden = !shown;
    $("open-rooms").setAttribute("aria-expanded", String(shown));
    if (shown) $("close-rooms").focus();
  }
  show(false);
}

function draw() {
  const stood = focused()?.dataset.room;
  const { here, elsewhere } = roomLists();
  fill(
    $("lists"),
    section(t("Rooms"), here.map(roomRow), newRoomButton()),
    section(t("Agents"), state.personas.map(personaRow), editPersonas()),
    ...[...groupBy(elsewhere, platform)].map(([name, rooms]) => section(platformName(name), rooms.map(roomRow))),
  );
  if (stood)
    /** @type {HTMLElement | null} */ ($("lists").querySelector(`[data-room="${CSS.escape(stood)}"]`))?.focus();
  drawMe();
}

/** @param {Page.Room} room */
const platform = (room) => room.id.split(":")[0];

/**
 * As Map.groupBy, which browsers of 2023 do not have.
 * @param {Page.Room[]} rooms
 * @param {(room: Page.Room) => string} key
 */
function groupBy(rooms, key) {
  /** @type {Map<string, Page.Room[]>} */
  const groups = new Map();
  for (const room of rooms) groups.set(key(room), [...(groups.get(key(room)) ?? []), room]);
  return groups;
}

/**
 * @param {string} title
 * @param {Node[]} rows
 * @param {Page.Child} [button]
 */
function section(title, rows, button = null) {
  if (!rows.length && !button) return null;
  const id = `list-${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-")}`;
  return h(
    "section",
    { "aria-labelledby": id },
    h("div", { class: "list-head" }, h("h2", { id }, title), button),
    h("ul", {}, ...rows.map((row) => h("li", {}, row))),
  );
}

const editPersonas = () =>
  state.me?.owner === true &&
  h("a", { class: "icon-button small", href: "#personas", "aria-label": t("Edit personas") }, icon("pen"));

function newRoomButton() {
  const button = h("button", { type: "button", class: "icon-button small", "aria-label": t("New room") }, icon("plus"));
  button.addEventListener("click", () => newRoomDialog());
  return button;
}

/**
 * @param {Pick<Page.Room, "id" | "last_at">} room
 * @param {Page.Child} mark
 * @param {string} name
 * @param {Page.Child} more
 * @param {string} [classes]
 */
function row(room, mark, name, more, classes = "") {
  const current = room.id === state.roomId;
  const fresh = current ? null : unread(room);
  return h(
    "a",
    {
      class: `row ${classes} ${fresh ? "unread" : ""}`,
      href: `#${encodeURIComponent(room.id)}`,
      "data-room": room.id,
      "aria-current": current ? "page" : null,
    },
    mark,
    h("span", { class: "row-name" }, name),
    more,
    fresh && badge(fresh),
  );
}

/** @param {Api.UnreadView} fresh */
function badge({ count: unread, mentions }) {
  const said = count(unread, "{n} new message", "{n} new messages");
  return h(
    "span",
    { class: `badge ${mentions ? "mentioned" : ""}` },
    h("span", { "aria-hidden": "true" }, `${mentions ? "@ " : ""}${upTo99(unread)}`),
    h("span", { class: "sr-only" }, said, mentions ? `, ${t("you are mentioned")}` : ""),
  );
}

/** @param {Page.Room} room */
function roomRow(room) {
  const more = room.project ? h("span", { class: "row-more" }, room.project) : null;
  return row(room, icon(room.kind === "room" ? "hash" : "lock"), room.name.replace(/^#/, ""), more);
}

/** @param {Api.PersonaView} persona */
function personaRow(persona) {
  const room = roomOf(directId(persona.name)) ?? { id: directId(persona.name), last_at: null };
  const more = h("span", { class: "row-more" }, persona.available ? persona.agent : t("not installed"));
  return row(room, avatar(personaSpeaker(persona.name), "small"), persona.name, more, persona.available ? "" : "away");
}

function drawMe() {
  const me = state.me;
  $("me").replaceChildren(
    me ? avatar({ ...me, kind: "human" }) : icon("plus"),
    h("span", { class: "me-name" }, me ? me.name : "…"),
    h("span", { class: "row-more" }, me ? t("Account") : ""),
  );
  $("admin-link").hidden = !me?.owner;
  document.body.classList.toggle("no-owner", me !== null && !me.owner);
}
