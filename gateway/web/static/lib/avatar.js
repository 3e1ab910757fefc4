// @ts-check
// Who it is, at a glance: people are round letters, agents are drawings of ours on a tile, each its own.

import { $, h, s } from "./dom.js";
import { state } from "./store.js";
import { hue, initials } from "./words.js";

const MOOT = "bot:moot"; // who answers commands

/** In a square of 20; filled, holes by the even-odd rule. No vendor's sign looks like one of them. */
const DRAWINGS = {
  hills: "M2 16L7.5 6l3.3 5.4L12.6 8.4 18 16z",
  moon: "M12.6 2.8a7.4 7.4 0 1 0 4.6 9.6 6 6 0 0 1-4.6-9.6z",
  leaf: "M4.2 17.5L5 14C3.4 7.6 8 3.2 17 3c.6 8-3 12.6-9.3 12.2L10 11l-4.2 6.5z",
  kite: "M10 1.8L16 8l-6 10.2L4 8zM10 6L7.4 8.3 10 12.8l2.6-4.5z",
  boat: "M2.5 12.5h15L15 17H5zM9.3 2.5v8.6H3.6zM10.9 4.8v6.3h5z",
  fish:
    "M1.8 10c3.2-5.4 9.2-5.6 12.2-1.4L18 5.4v9.2l-4-3.2C11 15.6 5 15.4 1.8 10z" +
    "M6.2 8a1.2 1.2 0 1 0 0 2.4A1.2 1.2 0 0 0 6.2 8z",
  tree: "M10 1.8l5.2 7h-2.7l3.8 5.4h-5V18H8.7v-3.8h-5l3.8-5.4H4.8z",
  bell: "M10 2a5.2 5.2 0 0 1 5.2 5.2v4.4L17 14.4H3l1.8-2.8V7.2A5.2 5.2 0 0 1 10 2zM7.8 15.8h4.4a2.2 2.2 0 0 1-4.4 0z",
  drop:
    "M10 1.8c3.8 4.6 5.4 7.2 5.4 10a5.4 5.4 0 0 1-10.8 0c0-2.8 1.6-5.4 5.4-10z" +
    "M7 12a3 3 0 0 0 3 3v-1.5A1.5 1.5 0 0 1 8.5 12z",
  steps: "M2.5 17v-4.2h4.6V9h4.6V5.2h5.8V17z",
  gate: "M3.4 17.2V8.6a6.6 6.6 0 0 1 13.2 0v8.6h-3.8V9a2.8 2.8 0 0 0-5.6 0v8.2z",
  flag: "M4.2 2h2v1.6h10.4L14 7.2l2.6 3.6H6.2V18h-2z",
  cup: "M3 5h11v1.6h.8a3 3 0 0 1 0 6h-1.4A5.4 5.4 0 0 1 3 11.4zM14 8.6v2h.8a1 1 0 0 0 0-2zM4 16.4h9V18H4z",
  hourglass: "M4.6 2h10.8v2.6L11.4 10l4 5.4V18H4.6v-2.6l4-5.4-4-5.4zM8 15.8h4l-2-2.7z",
  nut: "M10 1.8l7.1 4.1v8.2L10 18.2l-7.1-4.1V5.9zM10 6.8a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4z",
  key:
    "M6.6 3a4.6 4.6 0 1 1-.1 9.2A4.6 4.6 0 0 1 6.6 3zM6.6 6a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2z" +
    "M10.4 9.2l7.2 5-.9 2.6-2-.4-.6-1.6-1.6-.2-.5-1.6-2.4-1.6z",
};
const NAMES = /** @type {Array<keyof typeof DRAWINGS>} */ (Object.keys(DRAWINGS));
const COLOURS = 8;

/**
 * The personas that come with Moot keep theirs; others get what is free, in the order of their names.
 * @type {Record<string, number>}
 */
const SHIPPED = { claude: 0, codex: 6, demo: 3 };

/**
 * The place of a persona's drawing among ours: no two are the same while there are some left.
 * @param {string} name
 */
function placeOf(name) {
  if (name in SHIPPED) return SHIPPED[name];
  const taken = new Set(Object.values(SHIPPED));
  const others = [...new Set([...state.personas.map((persona) => persona.name), name])].sort();
  for (const other of others.filter((one) => !(one in SHIPPED))) {
    let place = (hue(other) * 2) % NAMES.length;
    for (let tried = 0; taken.has(place) && tried < NAMES.length; tried += 1) place = (place + 1) % NAMES.length;
    taken.add(place);
    if (other === name) return place;
  }
  return 0;
}

/** @param {string} name */
function drawing(name) {
  const place = placeOf(name);
  const path = s("path", { d: DRAWINGS[NAMES[place]], "fill-rule": "evenodd" });
  return { colour: place % COLOURS, element: s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, path) };
}

/**
 * An avatar. Decoration: the name stands beside it.
 * @param {Page.Figure} speaker
 * @param {string} [size]
 */
export function avatar(speaker, size = "") {
  if (speaker.id === MOOT) return h("img", { class: `avatar square ${size}`, src: $("mark").src, alt: "" });
  if (speaker.kind !== "bot")
    return h(
      "span",
      { class: `avatar round hue-${hue(speaker.id)} ${size}`, "aria-hidden": "true" },
      initials(speaker.name),
    );
  const { colour, element } = drawing(speaker.name);
  return h("span", { class: `avatar square mark mark-${colour} ${size}`, "aria-hidden": "true" }, element);
}

/** @param {string} persona */
export const personaSpeaker = (persona) => ({ id: `bot:${persona}`, name: persona, kind: "bot" });
