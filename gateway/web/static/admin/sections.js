// @ts-check
// The administrator's side: sections at #admin, #admin/turns, ..., kept as they are now.

import { closePanel } from "../lib/panel.js";
import { $, byKey, focused, h, icon, openFolds, reopen, targetOf } from "../lib/dom.js";
import { optional } from "../lib/api.js";
import { LIVE } from "../chat/admin_link.js";
import { audit } from "./audit.js";
import { connect } from "./connect.js";
import { overview } from "./overview.js";
import { people } from "./people.js";
import { plots } from "./plots.js";
import { rooms } from "./rooms.js";
import { schedules } from "./schedules.js";
import { sessions } from "./sessions.js";
import { settings } from "./settings.js";
import { turns } from "./turns.js";
import { showWhy } from "../chat/why.js";
import { t } from "../lib/i18n.js";

const SETTLE_MS = 400; // several changes make one fetch
const EVERY_MS = 15_000; // what no event tells: memory, times, disks
const SECTIONS = [overview, connect, rooms, sessions, turns, plots, people, audit, schedules, settings];

/** @type {{ section: Page.Section, path: string, query: Record<string, string>, why?: string } | null} */
let shown = null; // what is open; why: the turn whose record is asked for
let drawn = ""; // its data as JSON, to draw only what changed
let asked = 0; // of the newest fetch: what comes of earlier ones is dropped
let timer = 0;
/** @type {Set<Page.Section>} */
let missing = new Set(); // sections that this Moot has not
let editorKnown = false; // it has the editor of personas

/**
 * `#admin/turns?state=failed` as its section, what follows, and the query; null: another address.
 * @param {string} hash
 */
function parse(hash) {
  const [path, query = ""] = hash.slice(1).split("?");
  const [head, name = "", ...rest] = path.split("/");
  if (head === "turn" && name) return { section: turns, path: "", query: {}, why: decodeURIComponent(name) };
  if (head !== "admin") return null;
  const section = SECTIONS.find((one) => one.name === name) ?? overview;
  return { section, path: decodeURIComponent(rest.join("/")), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Show what the address says. False: it says nothing of this side. */
export function openAdmin(hash = location.hash) {
  const wanted = parse(hash);
  if (!wanted) {
    leaveAdmin();
    return false;
  }
  const arriving = !shown || shown.section !== wanted.section || shown.path !== wanted.path;
  if (arriving) closePanel();
  shown = wanted;
  drawn = "";
  $("room").hidden = true;
  $("admin").hidden = false;
  $("skip").textContent = t("Skip to the section");
  $("skip").setAttribute("href", "#admin-body");
  $("admin-link").setAttribute("aria-current", "page");
  document.title = `${wanted.section.title} · Moot`;
  if (arriving) frame(wanted);
  refresh();
  if (wanted.why) showWhy(wanted.why);
  return true;
}

document.addEventListener("click", (event) => {
  if (targetOf(event).closest("#skip") && shown) {
    event.preventDefault();
    $("admin-body").focus();
  }
});

/** Make room for what another address shows. */
export function leaveAdmin() {
  if (!shown) return;
  shown = null;
  asked += 1;
  clearTimeout(timer);
  $("admin").hidden = true;
  $("admin").replaceChildren();
  $("room").hidden = false;
  $("skip").textContent = t("Skip to the message box");
  $("skip").setAttribute("href", "#text");
  $("admin-link").removeAttribute("aria-current");
}

/** @param {{ section: Page.Section, path: string }} wanted */
function frame({ section, path }) {
  const menu = h(
    "button",
    {
      type: "button",
      class: "icon-button only-narrow",
      "aria-label": t("Rooms"),
      "aria-controls": "sidebar",
      on: { click: () => $("open-rooms").click() },
    },
    icon("menu"),
  );
  const nav = adminNav(section);
  $("admin").replaceChildren(
    h(
      "header",
      { class: "room-head admin-head" },
      menu,
      h(
        "div",
        { class: "room-title" },
        h("h1", { id: "admin-title", tabindex: "-1" }, section.title),
        h("p", { hidden: !path }),
      ),
    ),
    nav,
    h(
      "div",
      { class: "admin-body", id: "admin-body", tabindex: "0", role: "group", "aria-labelledby": "admin-title" },
      h("div", { class: "admin-column" }, h("p", { class: "note", role: "status" }, t("Loading…"))),
    ),
  );
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  $("admin-title").focus({ preventScroll: true });
}

/**
 * The way from section to section. The editor of personas is one with an address of its own, where there is one.
 * @param {Page.Section | null} [current] null: the editor of personas
 */
export function adminNav(current = null) {
  findOut();
  const links = SECTIONS.filter((one) => !missing.has(one)).map((one) =>
    h(
      "a",
      {
        href: `#admin${one.name ? `/${one.name}` : ""}`,
        "data-section": one.name,
        "aria-current": one === current ? "page" : null,
      },
      one.title,
    ),
  );
  const editor =
    current === null || editorKnown
      ? h("a", { href: "#personas", "aria-current": current === null ? "page" : null }, t("Personas"))
      : null;
  const nav = h("nav", { class: "admin-nav", "aria-label": t("Administration") }, ...links, editor);
  const fade = () => nav.classList.toggle("more", nav.scrollLeft + nav.clientWidth < nav.scrollWidth - 2);
  nav.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(nav);
  return nav;
}

async function refresh() {
  if (!shown) return;
  const mine = ++asked;
  const { section, path, query } = shown;
  clearTimeout(timer);
  timer = setTimeout(refreshIfSeen, EVERY_MS);
  try {
    const data = await section.load({ path, query });
    if (mine !== asked) return;
    const version = JSON.stringify(data);
    if (version !== drawn || section.ages) draw(section.draw(data, { path, query, refresh }));
    drawn = version;
  } catch (error) {
    if (mine !== asked) return;
    drawn = "";
    fail(error);
  }
}

function refreshIfSeen() {
  if (!shown) return;
  if (document.hidden || document.querySelector("dialog[open]")) timer = setTimeout(refreshIfSeen, EVERY_MS);
  else refresh();
}

/**
 * Take new content; what is open stays open, and who stood on something stands on it again.
 * @param {Page.Child[]} content
 */
function draw(content) {
  const body = $("admin-body");
  /** @type {HTMLElement | null | undefined} */
  const stood = body.contains(focused()) ? focused()?.closest("[data-key]") : null;
  const open = openFolds(body);
  const made = h("div", { class: "admin-column" }, ...content);
  reopen(made, open);
  const top = body.scrollTop;
  replace(/** @type {Element} */ (body.firstElementChild), made);
  body.scrollTop = top;
  if (!stood || stood.isConnected) return;
  (byKey(body, stood.dataset.key ?? "") ?? $("admin-title")).focus({ preventScroll: true });
}

const LISTS = ".admin-column, .admin-rows, .cards-list, .admin-part";

/**
 * Put children in the place of others; those that are as they were stay, under somebody's hands, too.
 * @param {Element} old
 * @param {Element} made
 */
function replace(old, made) {
  const before = [...old.children];
  const after = [...made.children];
  after.forEach((child, index) => {
    const there = before[index];
    if (!there) old.append(child);
    else if (there.isEqualNode(child) || edited(there)) return;
    else if (there.matches(LISTS) && there.className === child.className && there.tagName === child.tagName)
      replace(there, child);
    else there.replaceWith(child);
  });
  for (const there of before.slice(after.length)) there.remove();
}

/**
 * Whether somebody has begun to fill in a form: nothing that happens elsewhere takes it from them.
 * @param {Element} form
 */
function edited(form) {
  if (!form.matches("[data-keep]")) return false;
  const inputs = [...form.querySelectorAll("input")];
  const options = [...form.querySelectorAll("option")];
  return (
    inputs.some((input) => input.value !== input.defaultValue) ||
    options.some((option) => option.selected !== option.defaultSelected && (option.defaultSelected || option.index))
  );
}

/** @param {Error} error */
function fail(error) {
  const retry = h("button", { type: "button", class: "button", on: { click: refresh } }, t("Try again"));
  draw([h("div", { class: "admin-fault", role: "alert" }, h("p", { class: "failure" }, error.message), retry)]);
}

/**
 * Something happened somewhere.
 * @param {string} type
 */
export function adminEvent(type) {
  if (!shown || !(shown.section.hears ?? LIVE).has(type)) return;
  clearTimeout(timer);
  timer = setTimeout(refreshIfSeen, SETTLE_MS);
}

let foundOut = false;

/** Find out which sections there are, once they are listed. */
async function findOut() {
  if (foundOut) return;
  foundOut = true;
  const optionals = SECTIONS.filter((one) => one.probe);
  const found = await Promise.all(optionals.map((one) => optional(one.probe ?? "").catch(() => null)));
  missing = new Set(optionals.filter((_, index) => found[index] === null));
  editorKnown = (await optional("/api/personas/schema").catch(() => null)) !== null;
  document.querySelector(".admin-nav")?.replaceWith(adminNav(shown?.section ?? null));
  document.querySelector(".admin-nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}
