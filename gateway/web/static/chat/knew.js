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

/**
 * @param {Api.GivenView} given
 * @param {string[]} whose
 */
function item({ kind, n, items }, whose) {
  const words = KINDS[kind];
  if (!words) return null;
  const what = words(n);
  const shown = items.slice(0, SHOWN);
  const more = shown.length ? n - shown.length : 0;
  return h(
    "li",
    {},
    h(
      "b",
      {},
      kind === "RECALL" && whose.length ? t("{what}, about {names}", { what, names: whose.join(", ") }) : what,
    ),
    shown.length
      ? h(
          "ul",
          {},
          ...shown.map((text) => h("li", {}, text)),
          more ? h("li", { class: "note" }, count(more, "and {n} more", "and {n} more")) : null,
        )
      : null,
  );
}

/**
 * @param {string} title
 * @param {string} text
 */
const line = (title, text) => (text ? h("li", {}, h("b", {}, title), h("ul", {}, h("li", {}, text))) : null);

/**
 * The parts of it, as a list; what was remembered comes first.
 * @param {Api.TurnRecordView} record
 */
export function knew({ knew: { given, people, whose, files } }) {
  const items = [
    ...given.map((one) => item(one, whose)),
    line(t("Files"), files.join(", ")),
    line(t("Who was there"), people),
  ].filter(Boolean);
  const remembered = given.some(({ kind }) => kind in KINDS && kind !== "RAW TRANSCRIPT" && kind !== "THREAD CONTEXT");
  return [
    items.length
      ? h("ul", { class: "knew" }, ...items)
      : h("p", { class: "note" }, t("It was given the question alone.")),
    items.length && !remembered ? h("p", { class: "note" }, t("Its memory held nothing that fits.")) : null,
  ];
}
