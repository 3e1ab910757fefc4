// @ts-check
// Where a turn's time went: a bar for each step, on one scale.

import { h, s } from "../lib/dom.js";
import { duration, word } from "../lib/words.js";

/**
 * Steps of a turn in order: those that were measured, else what its states tell.
 * @param {Api.TurnRecordView} record
 * @returns {Page.Step[]}
 */
export function steps(record) {
  const timings = record.timings.map(({ name, ms, after_ms }) => ({ name, ms, after: after_ms }));
  const states = record.states.map((state) => ({ name: state.state, at: Date.parse(state.at) }));
  const queued = states.find((state) => state.name === "queued");
  const running = states.find((state) => state.name === "running");
  const made = [];
  if (queued && running) made.push({ name: "waiting", ms: running.at - queued.at, after: 0 });
  if (timings.length) return [...made, ...timings];
  for (let index = 0; index + 1 < states.length; index += 1) {
    if (states[index].name === "queued") continue;
    const after = states[index].at - states[0].at;
    made.push({ name: states[index].name, ms: states[index + 1].at - states[index].at, after });
  }
  return made;
}

/**
 * The chart; a step whose start is not known begins where the one before it ended.
 * @param {Page.Step[]} rows
 */
export function chart(rows) {
  let end = 0;
  const placed = rows.map((row) => {
    const from = row.after ?? end;
    end = from + row.ms;
    return { ...row, from };
  });
  const total = Math.max(...placed.map((row) => row.from + row.ms), 1);
  /** @param {number} ms */
  const scale = (ms) => (ms / total) * 100;
  return h(
    "dl",
    { class: "chart" },
    ...placed.map((row) =>
      h(
        "div",
        { class: "chart-row" },
        h("dt", {}, word(row.name)),
        h(
          "dd",
          {},
          s(
            "svg",
            { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
            s("rect", { class: "bar-back", x: 0, y: 0, width: 100, height: 8 }),
            s("rect", {
              class: "bar-front",
              x: Math.min(scale(row.from), 99),
              y: 0,
              width: Math.max(scale(row.ms), 0.8),
              height: 8,
            }),
          ),
          h("span", { class: "bar-value" }, duration(row.ms)),
        ),
      ),
    ),
  );
}

/**
 * A score between 0 and 1 as a small bar.
 * @param {number} score
 */
export function scoreBar(score) {
  const width = Math.max(0, Math.min(score, 1)) * 100;
  return s(
    "svg",
    { class: "score", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "bar-back", x: 0, y: 0, width: 100, height: 8 }),
    s("rect", { class: "bar-front", x: 0, y: 0, width, height: 8 }),
  );
}
