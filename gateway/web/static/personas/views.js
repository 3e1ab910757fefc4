// @ts-check
// Personas for those who run Moot: all of them at #personas, one of them at #personas/claude.

import { adminNav } from "../admin/sections.js";
import * as api from "../lib/api.js";
import { modal, nameForm } from "../lib/dialogs.js";
import { $, first, h, icon } from "../lib/dom.js";
import { closePanel, panelKind } from "../lib/panel.js";
import { card, whereNote } from "./cards.js";
import { Editor, FILES } from "./editor.js";
import { header, sure } from "./studio.js";
import { t } from "../lib/i18n.js";

const PLACE = /^#personas(?:\/([a-z][a-z0-9_-]{0,31}))?$/;

/** @type {HTMLElement | null} */
let studio = null; // the element, while it is shown
/** @type {Editor | null} */
let editing = null; // the Editor, while one persona is open
let hash = "";

/** Show what an address names; false when it names something else. The way out asks about unsaved changes. */
export function showPersonas() {
  if (studio && location.hash === "#text") {
    // the link that skips the lists
    history.replaceState(null, "", hash);
    /** @type {HTMLElement | null} */ (studio.querySelector("textarea, h1"))?.focus();
    return true;
  }
  const place = PLACE.exec(location.hash);
  if (editing?.dirty && location.hash !== hash) {
    const wanted = location.hash;
    history.pushState(null, "", hash);
    const leaving = editing;
    leaveDialog(leaving.name, () => {
      leaving.left = true;
      location.hash = wanted;
    });
    return true;
  }
  if (!place) {
    close();
    return false;
  }
  if (location.hash === hash && studio) return true;
  hash = location.hash;
  editing = null;
  const here = open();
  if (place[1]) edit(here, place[1]);
  else list(here);
  return true;
}

/** Somebody changed a persona, here or elsewhere. */
export function personasChanged() {
  if (editing) editing.changedElsewhere();
  else if (studio) list(studio);
}

function open() {
  if (panelKind()) closePanel();
  $("room").hidden = true;
  document.title = t("Personas · Moot");
  $("admin-link").setAttribute("aria-current", "page");
  studio ??= h("main", { class: "studio", id: "studio" });
  if (!studio.isConnected) $("room").after(studio);
  return studio;
}

function close() {
  if (!studio) return;
  studio.remove();
  studio = null;
  editing = null;
  hash = "";
  $("room").hidden = false;
  $("admin-link").removeAttribute("aria-current");
}

window.addEventListener("beforeunload", (event) => {
  if (editing?.dirty) event.preventDefault();
});

/**
 * @param {string} name
 * @param {() => void} onLeave
 */
function leaveDialog(name, onLeave) {
  if (document.querySelector("dialog[open]")) return; // a link's click arrives twice
  sure({
    title: t("Leave without saving?"),
    text: t("Your changes to @{name} would be lost.", { name }),
    yes: t("Discard changes"),
    no: t("Keep editing"),
    onYes: onLeave,
  });
}

// ── All of them ───────────────────────────────────────────────────────────────────────────

/** @param {HTMLElement} here */
async function list(here) {
  const add = h(
    "button",
    { type: "button", class: "button primary", on: { click: newDialog } },
    icon("plus"),
    t("New persona"),
  );
  const body = h("div", { class: "studio-body column" }, h("p", { class: "note" }, t("Loading…")));
  if (!here.querySelector(".persona-cards")) {
    const nav = adminNav();
    here.replaceChildren(header(t("Personas"), null, null, add), nav, body);
    nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }
  if (document.activeElement === document.body) first(here, "h1").focus();
  try {
    const { folder, personas } = await api.get(FILES);
    if (studio !== here || editing) return;
    here
      .querySelector(".studio-body")
      ?.replaceChildren(whereNote(folder), h("ul", { class: "persona-cards" }, ...personas.map(card)));
  } catch (error) {
    body.replaceChildren(h("p", { class: "failure", role: "alert" }, error.message));
  }
}

function newDialog() {
  const form = nameForm({
    label: t("Name"),
    button: t("Write it"),
    maxlength: 32,
    hint: t("Lower case: people type it behind an @."),
    /** @param {string} name */
    onSubmit: async (name) => {
      if (!PLACE.test(`#personas/${name}`)) throw new Error(t("A lower case letter, then letters, digits, - or _."));
      location.hash = `#personas/${name}`;
    },
  });
  const dialog = modal(t("New persona"), h("div", { class: "dialog-body" }, h("h2", {}, t("New persona")), form));
  first(dialog, "input").focus();
}

// ── One of them ───────────────────────────────────────────────────────────────────────────

/**
 * @param {HTMLElement} here
 * @param {string} name
 */
async function edit(here, name) {
  const mine = (editing = new Editor(name));
  here.replaceChildren(...mine.elements);
  await mine.load();
  if (editing === mine) mine.sheet.area.focus({ preventScroll: true });
}
