// What the administrator's sections are made of: rows, states, figures, and asking the server.

import * as api from "../lib/api.js";
import { whoDialog } from "../lib/dialogs.js";
import { announce, h, icon, s } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { clock, dated, dayKey, duration, full } from "../lib/words.js";

export const PLATFORMS = {
  slack: "Slack",
  discord: "Discord",
  matrix: "Matrix",
  rocketchat: "Rocket.Chat",
  bluebubbles: "iMessage",
  web: "This page",
};
export const platformName = (name) => PLATFORMS[name] ?? name;

/** What is there, or null where this Moot has no such part. */
export async function optional(path) {
  try {
    return await api.get(path);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Who decides, for the record; null when nobody has said who sits here. */
export function me() {
  if (!state.me) whoDialog();
  return state.me ? { id: state.me.id, name: state.me.name } : null;
}

/** Where a section lies: `#admin/turns?state=failed`. */
export function address(section, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `#admin${section ? `/${section}` : ""}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export const roomTitle = (name, kind) => (kind === "room" ? `#${name.replace(/^#/, "")}` : name);

/** How long ago, in the largest unit that says something. */
const agoFormat = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

export function ago(at, now = Date.now()) {
  const seconds = (Date.parse(at) - now) / 1000;
  for (const [unit, size] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (Math.abs(seconds) >= size) return agoFormat.format(Math.round(seconds / size), unit);
  }
  return seconds > 10 ? "in a moment" : "just now";
}

export const when = (at) => h("time", { datetime: at, title: full(at) }, ago(at));
export const exactly = (at) =>
  h("time", { datetime: at, title: full(at) }, dayKey(at) === dayKey(Date.now()) ? clock(at) : dated(at));

export const money = (usd) => `$${usd < 0.1 ? usd.toFixed(3) : usd.toFixed(2)}`;
const shortFormat = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
export const short = (number) => shortFormat.format(number);

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
const WORDS = { posted: "answered", answered: "posting" };

/** A state as a shape, a colour and a word. */
export function stateMark(name, words = WORDS[name] ?? name) {
  const [css, sign] = STATES[name] ?? ["plain", "dots"];
  return h("span", { class: `state ${css}` }, icon(sign), words);
}

export const section = (title, ...content) => {
  const id = `admin-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return h("section", { class: "admin-part", "aria-labelledby": id }, h("h2", { id }, title), ...content);
};

export const note = (...words) => h("p", { class: "note" }, ...words);
export const empty = (...words) => h("p", { class: "admin-empty" }, ...words);

export const facts = (rows) =>
  h(
    "dl",
    { class: "facts" },
    ...rows.filter(Boolean).map(([name, ...value]) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value))),
  );

export const figure = (name, value, more = "") =>
  h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, value, more ? h("span", { class: "tile-more" }, more) : null),
  );

/** A button that sends something, and says what came of it beside itself. `key` finds it again after a redraw. */
export function action(key, label, run, { css = "", name = null, sure = null } = {}) {
  const button = h("button", { type: "button", class: `button ${css}`, "data-key": key, "aria-label": name }, label);
  button.addEventListener("click", async () => {
    if (sure && !(await sure())) return;
    const box = button.closest("[data-acts]") ?? button.parentElement;
    button.setAttribute("aria-busy", "true");
    box.querySelector(".failure")?.remove();
    try {
      await run();
    } catch (error) {
      box.append(h("p", { class: "failure", role: "alert" }, error.message));
      announce(error.message);
    }
    button.removeAttribute("aria-busy");
  });
  return button;
}

/** A form that is folded up where there is little room, unless something is chosen in it. */
export function folded(form, chosen) {
  const fold = h("details", { class: "filter-fold", "data-key": "filter" }, h("summary", {}, "Filter"), form);
  fold.open = chosen || !matchMedia("(max-width: 860px)").matches;
  return fold;
}

// ── Where a turn's time went ──────────────────────────────────────────────────────────────

export const STEPS = [
  ["queued_ms", "queued"],
  ["ready_ms", "agent ready"],
  ["brief_ms", "brief"],
  ["compose_ms", "compose"],
  ["agent_ms", "agent"],
  ["post_ms", "post"],
];

/** One bar, its steps side by side; `most`: the milliseconds of a full one. */
export function timeBar(turn, most) {
  const steps = STEPS.filter(([name]) => turn[name]).map(([name, words], index) => ({
    name,
    words,
    ms: turn[name],
    index,
  }));
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
    { class: "legend", "aria-label": "Steps of a turn" },
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
