// @ts-check
// What an agent knew when it answered, in words: facts, decisions, earlier work, who was there, what had been said.

import { h } from "../lib/dom.js";
import { count, t } from "../lib/i18n.js";

const SHOWN = 4; // of a kind; all of them stand word for word below

/**
 * A kind of thing that it knew: how many there are, and what they say.
 * @type {Record<string, (n: number) => string>}
 */
const KINDS = {
  RECALL: (n) => count(n, "{n} fact from its memory", "{n} facts from its memory"),
  PINS: (n) => count(n, "{n} thing from earlier conversations", "{n} things from earlier conversations"),
  RECOMMENDATIONS: (n) => count(n, "{n} recommendation", "{n} recommendations"),
  LANDMARKS: (n) => count(n, "{n} pinned decision", "{n} pinned decisions"),
  "EPISODIC SUMMARY": () => t("A summary of the last session"),
  OBSERVATIONS: (n) => count(n, "{n} note on its own earlier work", "{n} notes on its own earlier work"),
  "THREAD CONTEXT": (n) => count(n, "{n} message of the thread", "{n} messages of the thread"),
  "RAW TRANSCRIPT": (n) =>
    count(n, "{n} message of the room, word for word", "{n} messages of the room, word for word"),
};

/** @param {string} text */
const entries = (text) => text.split("\n").filter((line) => line.startsWith("- "));
/** @param {string} text */
const spoken = (text) => text.split("\n").filter((line) => /^\[\d\d?:\d\d\b/.test(line));

/** @param {Api.SectionView} section */
function item({ name, text }) {
  const words = KINDS[name];
  if (!words) return null;
  const isTranscript = name === "RAW TRANSCRIPT";
  const found = isTranscript ? spoken(text) : entries(text);
  if (!found.length && name !== "EPISODIC SUMMARY") return null;
  const shown = isTranscript || name === "THREAD CONTEXT" ? [] : found.slice(0, SHOWN);
  const more = shown.length ? found.length - shown.length : 0;
  return h(
    "li",
    {},
    h("b", {}, words(found.length)),
    shown.length
      ? h(
          "ul",
          {},
          ...shown.map((line) => h("li", {}, line.slice(2))),
          more ? h("li", { class: "note" }, count(more, "and {n} more", "and {n} more")) : null,
        )
      : null,
  );
}

/** @param {Api.SectionView[]} sections */
function people(sections) {
  const session = sections.find((section) => section.name === "SESSION CONTEXT")?.text ?? "";
  const names = /^Participants: (.+)$/m.exec(session)?.[1];
  return names ? h("li", {}, h("b", {}, t("Who was there")), h("ul", {}, h("li", {}, names))) : null;
}

/**
 * The parts of it, as a list; what was remembered comes first.
 * @param {Api.TurnRecordView} record
 */
export function knew({ sections }) {
  const items = [...sections.map(item), people(sections)].filter(Boolean);
  const remembered = sections.some(
    ({ name }) => name in KINDS && name !== "RAW TRANSCRIPT" && name !== "THREAD CONTEXT",
  );
  return [
    items.length
      ? h("ul", { class: "knew" }, ...items)
      : h("p", { class: "note" }, t("It was given the question alone.")),
    items.length && !remembered ? h("p", { class: "note" }, t("Its memory held nothing that fits.")) : null,
  ];
}
