// @ts-check
// What is remembered of the room that is open, in the panel beside it.

import * as api from "../lib/api.js";
import { $, announce, byKey, fill, filledIn, h } from "../lib/dom.js";
import { EMPTY, filterForm, searchField } from "./forms.js";
import { List } from "./list.js";
import { observationView } from "./observation.js";
import { closePanel, openPanel, panelKind } from "../lib/panel.js";
import { factRow, insightRows, landmarkRow, sessionRow, summaryRows, titleRow, whose } from "./rows.js";
import { roomLabel, tell } from "../lib/store.js";
import { t } from "../lib/i18n.js";

const SETTLE_MS = 300; // several changes make one fetch
const NOTHING = {
  scopes: [],
  landmarks: [],
  episodes: [],
  facts: { items: [], next_before: null },
  observations: { items: [], next_before: null },
  insights: [],
  sessions: [],
};

/** @type {MemoryPanel | null} */
let shown = null; // the MemoryPanel that is open

/**
 * Open or close the panel for a room. `readOnly`: nothing can be said there from here. `beside`: its conversation is
 * open beside it.
 * @param {Page.Room} room
 * @param {string} readOnly
 * @param {{ beside?: boolean }} [given]
 */
export function toggleMemory(room, readOnly, { beside = true } = {}) {
  if (panelKind() === "memory") {
    closePanel();
    return;
  }
  const panel = new MemoryPanel(room, readOnly, beside);
  openPanel({
    kind: "memory",
    title: t("Memory of {room}", { room: roomLabel(room) }),
    content: panel.element,
    onClose: () => {
      panel.close();
      shown = null;
    },
  });
  shown = panel;
  panel.refresh();
}

/**
 * Something in a room's memory, or null: in any, may have changed.
 * @param {string | null} roomId
 */
export function memoryChanged(roomId) {
  if (shown && (roomId === null || shown.room.id === roomId)) shown.refreshSoon();
}

class MemoryPanel {
  /**
   * @param {Page.Room} room
   * @param {string} readOnly
   * @param {boolean} beside
   */
  constructor(room, readOnly, beside) {
    this.room = room;
    this.timer = 0;
    this.asked = 0; // of the newest fetch: what comes of earlier ones is dropped
    this.looked = 0; // likewise, of searches and records
    this.drawn = "";
    this.pages = { facts: 1, observations: 1 };
    this.replaced = false;
    this.place = 0; // how far the sections were scrolled when something took their place
    /** @type {Record<string, string>} */
    this.sought = {};
    /** @type {Page.RowActions} */
    this.row = {
      command: readOnly ? null : (text) => this.command(text),
      open: (id) => this.showObservation(id),
      show: beside ? (id) => this.showMessage(id) : null,
    };
    this.about = h("p", { class: "note memory-about" });
    this.wrong = h("p", { class: "failure", role: "alert", hidden: true });
    this.status = h("p", { class: "note", role: "status" }, t("Loading…"));
    this.query = searchField();
    this.clear = h("button", { type: "button", class: "mini", hidden: true }, t("Clear"));
    this.filter = filterForm(this.clear);
    this.lists = {
      landmarks: new List(t("Landmarks"), EMPTY.landmarks),
      summary: new List(t("Summary"), EMPTY.summary),
      facts: new List(t("Facts"), EMPTY.facts, {
        tool: this.replacedSwitch(),
        onMore: () => this.more("facts"),
        more: t("Older facts"),
      }),
      observations: new List(t("What the agents did"), EMPTY.observations, {
        before: this.filter,
        onMore: () => this.more("observations"),
        more: t("Older ones"),
      }),
      insights: new List(t("Insights"), EMPTY.insights),
      sessions: new List(t("Sessions"), EMPTY.sessions),
    };
    this.listen();
    this.home = h("div", { hidden: true }, ...Object.values(this.lists).map((list) => list.element));
    this.other = h("div", { hidden: true }); // what a search found, or one observation
    this.element = h(
      "div",
      { class: "side-body memory-body" },
      this.searchForm(),
      this.about,
      this.wrong,
      this.status,
      this.home,
      this.other,
    );
  }

  get path() {
    return /** @type {const} */ (`/api/rooms/${encodeURIComponent(this.room.id)}/memory`);
  }

  close() {
    clearTimeout(this.timer);
    this.asked += 1;
  }

  // ── Forms ─────────────────────────────────────────────────────────────────────────────

  searchForm() {
    const form = h(
      "form",
      { class: "memory-search", role: "search" },
      this.query,
      h("button", { class: "button" }, t("Search")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.query.value.trim()) this.search(this.query.value.trim());
      else this.goHome();
    });
    this.query.addEventListener("input", () => {
      if (!this.query.value && !this.other.hidden) this.goHome();
    });
    return form;
  }

  replacedSwitch() {
    const box = h("input", { type: "checkbox", role: "switch" });
    box.addEventListener("change", () => {
      this.replaced = box.checked;
      this.pages.facts = 1;
      this.refresh();
    });
    return h("label", { class: "switch" }, box, t("Show replaced ones"));
  }

  listen() {
    this.filter.addEventListener("submit", (event) => {
      event.preventDefault();
      this.seek();
    });
    this.clear.addEventListener("click", () => {
      this.filter.reset();
      this.seek();
      this.field("text").focus();
    });
  }

  /**
   * A field of the filter by its name.
   * @param {string} name
   */
  field(name) {
    return /** @type {HTMLInputElement} */ (this.filter.elements.namedItem(name));
  }

  seek() {
    this.sought = Object.fromEntries(Object.entries(filledIn(this.filter)).filter(([, value]) => value));
    this.clear.hidden = !Object.keys(this.sought).length;
    this.pages.observations = 1;
    this.refresh();
  }

  // ── Fetching ──────────────────────────────────────────────────────────────────────────

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), SETTLE_MS);
  }

  async refresh() {
    const asked = ++this.asked;
    try {
      const memory = await this.fetchAll();
      if (asked !== this.asked) return;
      this.fail(null);
      this.draw(memory);
    } catch (error) {
      if (asked === this.asked) this.fail(error);
    }
  }

  async fetchAll() {
    const memory = await this.fetchOverview();
    if (memory === NOTHING) return memory;
    const { facts, observations } = this.pages;
    if (this.replaced || facts > 1)
      memory.facts = await api.pages(
        `${this.path}/facts`,
        /** @type {Record<string, string>} */ (this.replaced ? { replaced: "true" } : {}),
        facts,
      );
    if (observations > 1 || Object.keys(this.sought).length)
      memory.observations = await api.pages(`${this.path}/observations`, this.sought, observations);
    return memory;
  }

  /** A room in which nobody has spoken yet is not there. */
  async fetchOverview() {
    try {
      return await api.get(this.path);
    } catch (error) {
      if (error.status !== 404) throw error;
      return NOTHING;
    }
  }

  /** @param {"facts" | "observations"} section */
  more(section) {
    this.pages[section] += 1;
    this.refresh();
  }

  // ── Drawing ───────────────────────────────────────────────────────────────────────────

  /** @param {Api.MemoryView} memory */
  draw(memory) {
    this.status.hidden = true;
    if (this.other.hidden) this.home.hidden = false;
    const version = JSON.stringify(memory);
    if (version === this.drawn) return;
    this.drawn = version;
    const { lists, row } = this;
    this.about.textContent = whose(this.room, memory.scopes);
    lists.landmarks.fill(memory.landmarks.map((landmark) => landmarkRow(landmark, row)));
    lists.summary.fill(summaryRows(memory.episodes), { count: memory.episodes.length });
    lists.facts.fill(
      memory.facts.items.map((fact) => factRow(fact, row)),
      { more: memory.facts.next_before !== null },
    );
    const sought = Object.keys(this.sought).length > 0;
    const titles = memory.observations.items.map((title) => titleRow(title, row));
    lists.observations.fill(titles, {
      more: memory.observations.next_before !== null,
      empty: sought ? t("Nothing here fits the filter.") : null,
    });
    this.filter.hidden = !sought && !titles.length;
    lists.insights.fill(memory.insights.map(insightRows));
    lists.sessions.fill(memory.sessions.map(sessionRow));
  }

  /** @param {Error | null} error */
  fail(error) {
    this.status.hidden = true;
    this.wrong.hidden = !error;
    this.wrong.textContent = error?.message ?? "";
  }

  // ── Other views ───────────────────────────────────────────────────────────────────────

  /**
   * Take the place of the sections until somebody goes back.
   * @param {Page.Child[]} content
   * @param {HTMLElement | null} [focus]
   */
  showOther(content, focus = null) {
    if (this.other.hidden) this.place = this.element.scrollTop;
    this.home.hidden = true;
    this.about.hidden = true;
    this.other.hidden = false;
    fill(this.other, ...content);
    this.element.scrollTop = 0;
    focus?.focus({ preventScroll: true });
  }

  goHome(key = "") {
    this.looked += 1;
    this.other.hidden = true;
    this.other.replaceChildren();
    this.home.hidden = false;
    this.about.hidden = false;
    this.element.scrollTop = this.place;
    if (key) (byKey(this.home, key) ?? this.query).focus({ preventScroll: true });
  }

  /**
   * @param {string} label
   * @param {() => void} run
   */
  back(label, run) {
    return h("button", { type: "button", class: "mini back", on: { click: run } }, `← ${label}`);
  }

  /**
   * @param {string} query
   * @param {string | null} [focusKey]
   */
  async search(query, focusKey = null) {
    /** @type {Api.FoundView | null} */
    const found = await this.attempt(`search?${new URLSearchParams({ q: query })}`, {
      facts: [],
      observations: [],
      by: "recall",
    });
    if (!found) return;
    const facts = new List(t("Facts"), t("No fact fits."));
    const observations = new List(t("What the agents did"), t("No observation fits."));
    /** @param {string} id */
    const open = (id) => this.showObservation(id, () => this.search(query, `observation-${id}`), t("What was found"));
    facts.fill(found.facts.map((fact) => factRow(fact, this.row)));
    observations.fill(found.observations.map((title) => titleRow(title, { ...this.row, open })));
    const clear = this.back(t("All of this memory"), () => {
      this.query.value = "";
      this.goHome();
      this.query.focus();
    });
    const note =
      found.by === "words"
        ? h("p", { class: "note" }, t("Facts were searched word for word: no index of their meaning answers."))
        : null;
    this.showOther([clear, note, facts.element, observations.element]);
    if (focusKey) byKey(this.other, focusKey)?.focus();
    announce(t("{n} found", { n: found.facts.length + found.observations.length }));
  }

  /**
   * @param {string} id
   * @param {() => void} [goBack]
   * @param {string} [label]
   */
  async showObservation(id, goBack = () => this.goHome(`observation-${id}`), label = t("All of this memory")) {
    /** @type {Api.ObservationView | null} */
    const found = await this.attempt(`observations/${encodeURIComponent(id)}`);
    if (!found) return;
    const { elements, heading } = observationView(found, {
      open: (other) => this.showObservation(other, goBack, label),
      filter: (name, value) => {
        this.filter.reset();
        this.field(name).value = value;
        this.goHome();
        this.seek();
        this.filter.scrollIntoView({ block: "nearest" });
        this.field(name).focus({ preventScroll: true });
      },
    });
    this.showOther([this.back(label, goBack), ...elements], heading);
  }

  /**
   * What is there; null when it failed, or somebody has looked at something else meanwhile.
   * @param {string} path
   * @param {any} [whenMissing]
   * @returns {Promise<any>}
   */
  async attempt(path, whenMissing = null) {
    const looked = ++this.looked;
    try {
      const got = await api.get(`${this.path}/${path}`);
      if (looked !== this.looked) return null;
      this.fail(null);
      return got;
    } catch (error) {
      if (looked !== this.looked) return null;
      if (error.status === 404 && whenMissing) return whenMissing;
      this.fail(error);
      return null;
    }
  }

  /** @param {string} id */
  showMessage(id) {
    if ($("room").inert) closePanel(); // the panel covers the room
    tell("show-message", id);
  }

  /** @param {string} text */
  command(text) {
    this.drawn = ""; // whatever comes of it, the buttons are made again
    announce(t("Sent {text}", { text }));
    tell("command", text);
  }
}
