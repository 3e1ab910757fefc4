// @ts-check
// Who it is, at a glance: people are round, personas are square.

import { h } from "./dom.js";
import { hue, initials } from "./words.js";

/**
 * An avatar. Decoration: the name stands beside it.
 * @param {Page.Figure} speaker
 * @param {string} [size]
 */
export function avatar(speaker, size = "") {
  const shape = speaker.kind === "bot" ? "square" : "round";
  return h(
    "span",
    { class: `avatar ${shape} hue-${hue(speaker.id)} ${size}`, "aria-hidden": "true" },
    initials(speaker.name),
  );
}

/** @param {string} persona */
export const personaSpeaker = (persona) => ({ id: `bot:${persona}`, name: persona, kind: "bot" });
