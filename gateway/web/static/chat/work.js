// @ts-check
// What an agent did for an answer: its tools, its to-do list, the lines that it changed.

import { h } from "../lib/dom.js";
import { count, t } from "../lib/i18n.js";

/** @type {Record<string, string>} */
const STATES = { running: t("runs"), done: t("done"), failed: t("failed"), open: t("to do"), doing: t("in work") };

/**
 * The work, folded up below one line. `open`: unfolded.
 * @param {Api.WorkView} work
 * @param {{ open?: boolean }} [given]
 */
export function workElement(work, { open = false } = {}) {
  return h(
    "details",
    { class: "work", open },
    h("summary", {}, work.summary),
    work.left_out ? h("p", { class: "note" }, count(work.left_out, "{n} tool before", "{n} tools before")) : null,
    work.steps.length ? h("ol", { class: "steps", "aria-label": t("Tools") }, ...work.steps.map(step)) : null,
    work.todos.length ? h("ul", { class: "todos", "aria-label": t("To-do list") }, ...work.todos.map(todo)) : null,
  );
}

/** @param {Api.StepView} given */
function step(given) {
  return h(
    "li",
    { class: given.state },
    mark(given),
    h(
      "span",
      {},
      h("code", {}, given.text),
      ...given.changes.map((change) => h("span", { class: "changed" }, ...changed(change, given))),
      given.note ? h("span", { class: "note" }, ` → ${given.note}`) : null,
    ),
  );
}

/** @param {Api.TodoView} given */
const todo = (given) => h("li", { class: given.state }, mark(given), h("span", {}, given.text));

/** @param {{ mark: string, state: string }} given */
const mark = (given) => [
  h("span", { class: "mark", "aria-hidden": "true" }, given.mark),
  h("span", { class: "sr-only" }, `${STATES[given.state]}: `),
];

/**
 * The lines of a file that came and went; its path unless the step says it already.
 * @param {Api.ChangeView} change
 * @param {Api.StepView} given
 * @returns {Page.Child[]}
 */
const changed = (change, given) => [
  given.text.endsWith(` ${change.path}`) ? null : h("code", {}, change.path),
  h("ins", {}, `+${change.added}`),
  h("del", {}, `−${change.removed}`),
];
