// @ts-check
// What the administrator's sections are made of: rows, states, figures, and asking the server.

import * as api from "../lib/api.js";
import { announce, byKey, h, icon, s } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { clock, dated, dayKey, duration, full, word } from "../lib/words.js";
import { locale, t } from "../lib/i18n.js";

/** Who decides: whoever is signed in. */
export const me = () => (state.me ? { id: state.me.id, name: state.me.name } : null);

/**
 * Where a section lies: `#admin/turns?state=failed`.
 * @param {string} section
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function address(section, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const asked = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#admin${section ? `/${section}` : ""}${given.length ? `?${asked}` : ""}`;
}

/**
 * @param {string} name
 * @param {string} kind
 */
export const roomTitle = (name, kind) => (kind === "room" ? `#${name.replace(/^#/, "")}` : name);

/** @type {Array<[Intl.RelativeTimeFormatUnit, number]>} */
const UNITS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const agoFormat = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });

/**
 * How long ago, in the largest unit that says something.
 * @param {string} at
 * @param {number} [now]
 */
export function ago(at, now = Date.now()) {
  const seconds = (Date.parse(at) - now) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return agoFormat.format(Math.round(seconds / size), unit);
  }
  return seconds > 10 ? t("in a moment") : t("just now");
}

/**
 * A time by how long ago it was; null: it is not known.
 * @param {string | null} at
 */
export const when = (at) => (at === null ? "–" : h("time", { datetime: at, title: full(at) }, ago(at)));
/** @param {string} at */
export const exactly = (at) =>
  h("time", { datetime: at, title: full(at) }, dayKey(at) === dayKey(Date.now()) ? clock(at) : dated(at));

/** @param {number} usd */
export const money = (usd) => `$${usd < 0.1 ? usd.toFixed(3) : usd.toFixed(2)}`;
const shortFormat = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
/** @param {number} number */
export const short = (number) => shortFormat.format(number);

/** @type {Record<string, [string, Parameters<typeof icon>[0]]>} */
const STATES = {
  up: ["good", "check"],
  connecting: ["wait", "dots"],
  down: ["bad", "close"],
  posted: ["good", "check"],
  answered: ["wait", "dots"],
  running: ["wait", "dots"],
  queued: ["wait", "dots"],
  failed: ["bad", "close"],
  stopped: ["plain", "stop"],
  working: ["wait", "dots"],
  idle: ["good", "check"],
};
/** @type {Record<string, string>} */
const WORDS = { posted: t("answered"), answered: t("posting") };

/**
 * A state as a shape, a colour and a word.
 * @param {string} name
 * @param {string} [words]
 */
export function stateMark(name, words = WORDS[name] ?? word(name)) {
  const [css, sign] = STATES[name] ?? ["plain", "dots"];
  return h("span", { class: `state ${css}` }, icon(sign), words);
}

/**
 * @param {string} title
 * @param {...Page.Child} content
 */
export const section = (title, ...content) => {
  const id = `admin-${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-")}`;
  return h("section", { class: "admin-part", "aria-labelledby": id }, h("h2", { id }, title), ...content);
};

/**
 * A field of a form, with its name above it.
 * @param {string} label
 * @param {Node} input
 */
export const field = (label, input) => h("label", { class: "filter" }, h("span", {}, label), input);

/**
 * Let Enter in a form do what its button does.
 * @param {HTMLFormElement} form
 * @param {string} key of the button
 */
export function enterPresses(form, key) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    byKey(form, key)?.click();
  });
}

/** @param {...Page.Child} words */
export const note = (...words) => h("p", { class: "note" }, ...words);
/** @param {...Page.Child} words */
export const empty = (...words) => h("p", { class: "admin-empty" }, ...words);

/** @param {Array<[string, ...Page.Child[]] | null>} rows */
export const facts = (rows) =>
  h(
    "dl",
    { class: "facts" },
    ...rows.map((row) => row && h("div", {}, h("dt", {}, row[0]), h("dd", {}, ...row.slice(1)))),
  );

/**
 * @param {string} name
 * @param {Page.Child} value
 * @param {string} [more]
 */
export const figure = (name, value, more = "") =>
  h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, value, more ? h("span", { class: "tile-more" }, more) : null),
  );

/**
 * The name of a button for those who don't see what it stands beside. It begins with what the button shows:
 * whoever speaks to the browser says that.
 * @param {string} label
 * @param {string} name
 */
const labelled = (label, name) => (name.startsWith(label) ? name : `${label}: ${name}`);

/**
 * A button that sends something, and says what came of it beside itself. `key` finds it again after a redraw.
 * @param {string} key
 * @param {string} label
 * @param {() => unknown} run
 * @param {{ css?: string, name?: string | null, sure?: (() => Promise<boolean>) | null }} [given]
 */
export function action(key, label, run, { css = "", name = null, sure = null } = {}) {
  const button = h(
    "button",
    { type: "button", class: `button ${css}`, "data-key": key, "aria-label": name && labelled(label, name) },
    label,
  );
  button.addEventListener("click", async () => {
    if (sure && !(await sure())) return;
    const box = button.closest("[data-acts]") ?? button.parentElement;
    button.setAttribute("aria-busy", "true");
    box?.querySelector(".failure")?.remove();
    try {
      await run();
    } catch (error) {
      box?.append(h("p", { class: "failure", role: "alert" }, error.message));
      announce(error.message);
    }
    button.removeAttribute("aria-busy");
  });
  return button;
}

/**
 * A form that is folded up where there is little room, unless something is chosen in it.
 * @param {HTMLFormElement} form
 * @param {boolean} chosen
 */
export function folded(form, chosen) {
  const fold = h("details", { class: "filter-fold", "data-key": "filter" }, h("summary", {}, t("Filter")), form);
  fold.open = chosen || !matchMedia("(max-width: 860px)").matches;
  return fold;
}

// ── Where a turn's time went ──────────────────────────────────────────────────────────────

/**
 * @typedef {"queued_ms" | "ready_ms" | "brief_ms" | "compose_ms" | "agent_ms" | "post_ms"} StepName
 * @type {Array<[StepName, string]>}
 */
const STEPS = [
  ["queued_ms", t("queued")],
  ["ready_ms", t("agent ready")],
  ["brief_ms", t("brief")],
  ["compose_ms", t("compose")],
  ["agent_ms", t("agent")],
  ["post_ms", t("post")],
];

/**
 * One bar, its steps side by side; `most`: the milliseconds of a full one.
 * @param {Api.TurnLineView} turn
 * @param {number} most
 */
export function timeBar(turn, most) {
  const steps = STEPS.map(([name, words]) => ({ name, words, ms: turn[name] ?? 0 })).filter((step) => step.ms);
  if (!steps.length) return null;
  const words = steps.map((step) => `${step.words} ${duration(step.ms)}`).join(", ");
  let at = 0;
  return h(
    "span",
    { class: "time-bar", role: "img", "aria-label": words, title: words },
    s(
      "svg",
      { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { class: "bar-back", width: 100, height: 8 }),
      ...steps.map((step) => {
        const width = (step.ms / most) * 100;
        const rect = s("rect", { class: `step step-${step.name}`, x: at, y: 0, width, height: 8 });
        at += width;
        return rect;
      }),
    ),
  );
}

export const stepLegend = () =>
  h(
    "ul",
    { class: "legend", "aria-label": t("Steps of a turn") },
    ...STEPS.map(([name, words]) =>
      h(
        "li",
        {},
        s(
          "svg",
          { class: "swatch", viewBox: "0 0 16 10", "aria-hidden": "true" },
          s("rect", { class: `step step-${name}`, width: 16, height: 10, rx: 2 }),
        ),
        words,
      ),
    ),
  );
