// @ts-check
// The agent's terminal as it is now, beside the conversation.

import { $, announce, h, icon } from "../lib/dom.js";
import { closePanel, openPanel } from "../lib/panel.js";
import { fetchSessions, state } from "../lib/store.js";
import { word } from "../lib/words.js";
import { t } from "../lib/i18n.js";

const PAPER = "#12110f";
const INK = "#d8d5cc";
const PALETTE = [
  "#3a3833",
  "#e5786d",
  "#8fc46d",
  "#e0b65c",
  "#7aa7ea",
  "#c594e0",
  "#66c2c2",
  "#cfccc2",
  "#8c877b",
  "#ff9a8f",
  "#aee08a",
  "#f5d07a",
  "#9cc0f7",
  "#dcb0f2",
  "#86dada",
  "#f4f2ec",
];
const CHARACTER = 0.602; // width of a monospaced character, in its font's size
const SMALLEST_PX = 11; // below it nobody reads: what is wider is scrolled to
const FITTED_PX = 15; // a narrow terminal is not blown up
const LARGEST_PX = 28;
const KEY = "moot.terminal"; // the size that somebody chose

/** The chosen size in pixels; null: as large as the width allows. */
function chosenSize() {
  const size = Number(localStorage.getItem(KEY));
  return size >= SMALLEST_PX && size <= LARGEST_PX ? size : null;
}

/** Open the panel with one session's terminal, or the room's first. */
export async function showTerminal(sessionId = "") {
  const screen = new Screen();
  const pick = h("select", { class: "pick", "aria-label": t("Session") });
  const wide = h(
    "button",
    { type: "button", class: "icon-button widen", "aria-label": t("Use the whole width"), "aria-pressed": "false" },
    icon("wide"),
  );
  wide.addEventListener("click", () => {
    const on = $("app").classList.toggle("wide-side");
    wide.setAttribute("aria-pressed", String(on));
  });
  pick.addEventListener("change", () => screen.follow(pick.value));
  openPanel({
    kind: "terminal",
    title: t("Terminal"),
    content: screen.element,
    tools: [pick, ...screen.zoom(), wide],
    onClose: () => screen.close(),
  });
  try {
    await fetchSessions();
  } catch (error) {
    screen.say(error.message);
    return;
  }
  const sessions = state.sessions.filter(
    (session) => session.terminal && (session.room_id === state.roomId || session.id === sessionId),
  );
  pick.hidden = sessions.length < 2;
  pick.replaceChildren(
    ...sessions.map((session) => h("option", { value: session.id }, `${session.persona}, ${word(session.state)}`)),
  );
  const chosen = sessions.find((session) => session.id === sessionId) ?? sessions[0];
  if (!chosen) {
    screen.say(t("No agent runs in this room now. Mention one, and its terminal shows here."));
    return;
  }
  pick.value = chosen.id;
  screen.follow(chosen.id);
}

export const hideTerminal = closePanel;

/**
 * A run in its colours: `fg-2` from the palette, `fg-xrrggbb` as it says; `rev` swaps them.
 * @param {string} text
 * @param {string} classes
 */
function run(text, classes) {
  const span = h("span", { class: classes }, text);
  const names = classes.split(" ");
  /** @param {string} kind */
  const colour = (kind) => {
    const value = names.find((name) => name.startsWith(`${kind}-`))?.slice(3);
    if (value === undefined) return null;
    return /^x[0-9a-f]{6}$/i.test(value) ? `#${value.slice(1)}` : (PALETTE[Number(value)] ?? null);
  };
  let [front, back] = [colour("fg"), colour("bg")];
  if (names.includes("rev")) [front, back] = [back ?? PAPER, front ?? INK];
  if (front) span.style.color = front;
  if (back) span.style.backgroundColor = back;
  return span;
}

class Screen {
  constructor() {
    this.rows = h("pre", { class: "screen", tabindex: "0", role: "region", "aria-label": t("The agent's terminal") });
    this.note = h("p", { class: "note screen-note", role: "status" }, t("Connecting…"));
    this.element = h("div", { class: "side-body screen-body" }, this.note, this.rows);
    /** @type {string[]} */
    this.shown = []; // a row's JSON, to draw only what changed
    this.columns = 80;
    this.size = FITTED_PX;
    /** @type {EventSource | null} */
    this.source = null;
    this.session = "";
    this.resize = new ResizeObserver(() => this.fit());
    this.resize.observe(this.element);
    this.whenVisible = () => (document.hidden ? this.source?.close() : this.session && this.follow(this.session));
    document.addEventListener("visibilitychange", this.whenVisible);
  }

  /** @param {string} text */
  say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  /** @param {string} session */
  follow(session) {
    this.source?.close();
    this.session = session;
    this.shown = [];
    this.rows.replaceChildren();
    const source = (this.source = new EventSource(`/api/sessions/${encodeURIComponent(session)}/terminal`));
    source.addEventListener("picture", (event) => this.draw(JSON.parse(event.data).rows));
    source.addEventListener("closed", () => this.end());
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) this.end();
    });
  }

  end() {
    this.source?.close();
    this.say(t("This session has ended."));
  }

  /** @param {Array<Array<[string, string]>>} rows */
  draw(rows) {
    this.say("");
    const columns = Math.max(20, ...rows.map((row) => row.reduce((sum, [text]) => sum + text.length, 0)));
    rows.forEach((row, index) => this.drawRow(row, index));
    while (this.rows.children.length > rows.length) this.rows.lastChild?.remove();
    this.shown.length = rows.length;
    if (columns !== this.columns) {
      this.columns = columns;
      this.fit();
    }
  }

  /**
   * @param {Array<[string, string]>} row
   * @param {number} index
   */
  drawRow(row, index) {
    const key = JSON.stringify(row);
    if (this.shown[index] === key) return;
    this.shown[index] = key;
    const line = h(
      "div",
      { class: "screen-row" },
      ...row.map(([text, classes]) => (classes ? run(text, classes) : text)),
      "\n",
    );
    const known = this.rows.children[index];
    if (known) known.replaceWith(line);
    else this.rows.append(line);
  }

  /** As large as somebody wants it, else as the panel lets every column show, within what can be read. */
  fit() {
    const width = this.element.clientWidth - 48; // what is around it
    const fitted = Math.max(SMALLEST_PX, Math.min(FITTED_PX, width / (this.columns * CHARACTER)));
    this.size = chosenSize() ?? fitted;
    this.rows.style.fontSize = `${this.size.toFixed(2)}px`;
  }

  /** Buttons that make the type smaller and larger, and fit it to the width again. */
  zoom() {
    /**
     * @param {string} label
     * @param {string} text
     * @param {() => number | null} size
     */
    const button = (label, text, size) => {
      const glyph = h("span", { "aria-hidden": "true" }, text);
      const name = h("span", { class: "sr-only" }, label);
      const made = h("button", { type: "button", class: "icon-button zoom", title: label }, glyph, name);
      made.addEventListener("click", () => {
        const wanted = size();
        if (wanted === null) localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, String(Math.max(SMALLEST_PX, Math.min(LARGEST_PX, Math.round(wanted)))));
        this.fit();
        announce(t("{n} pixels", { n: Math.round(this.size) }));
      });
      return made;
    };
    return [
      button(t("Smaller type"), "A−", () => this.size - 1),
      button(t("Larger type"), "A+", () => this.size + 1),
      button(t("Fit to the width"), "↔", () => null),
    ];
  }

  close() {
    this.source?.close();
    this.resize.disconnect();
    document.removeEventListener("visibilitychange", this.whenVisible);
  }
}
