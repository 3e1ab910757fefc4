// Why an answer is what it is: what the agent was given, word for word, and where it came from.

import * as api from "../lib/api.js";
import { chart, scoreBar, steps } from "./chart.js";
import { copyButton, h } from "../lib/dom.js";
import { openPanel } from "../lib/panel.js";
import { clock, full, plural, seconds } from "../lib/words.js";

/** Open the panel for a turn. */
export async function showWhy(turnId) {
  const content = h("div", { class: "side-body" }, h("p", { class: "note" }, "Loading…"));
  openPanel({ kind: "why", title: "Why this answer", content });
  try {
    const record = await api.get(`/api/turns/${encodeURIComponent(turnId)}`);
    content.replaceChildren(...parts(record));
  } catch (error) {
    content.replaceChildren(h("p", { class: "failure", role: "alert" }, error.message));
  }
}

function parts(record) {
  return [
    summary(record),
    part("Time", chart(steps(record)), states(record.states)),
    part("What it was given", ...record.sections.map(section), leftOut(record.left_out)),
    record.trims.length ? part("Left out to stay within its budget", trims(record.trims)) : null,
    part("The exact text", exact(record.header)),
    record.posts.length ? part("Posts", posts(record.posts)) : null,
    part("The message as it came", code(JSON.stringify(record.raw, null, 2), "The message as it came")),
  ].filter(Boolean);
}

function part(title, ...content) {
  return h("section", { class: "part" }, h("h3", {}, title), ...content);
}

function summary(record) {
  const answer = record.answer;
  const rows = [
    ["Agent", `@${record.persona}, ${record.agent}`],
    record.persona_version && [
      "Persona",
      h("a", { href: `#personas/${record.persona}` }, `version ${record.persona_version}`),
    ],
    ["State", record.error ? `${record.state}: ${record.error}` : record.state],
    ["Asked by", record.hop > 0 ? `a bot, hop ${record.hop}` : "a person"],
    answer && ["Read from", answer.source === "record" ? "the program's own record" : "its screen"],
    answer?.ended_by && ["Ended by", answer.ended_by],
    answer?.tools.length && ["Tools", answer.tools.join(", ")],
    record.session_id && ["Session", record.session_id],
    ["Turn", record.id],
  ].filter(Boolean);
  return h(
    "dl",
    { class: "facts" },
    ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function states(list) {
  return h(
    "ol",
    { class: "states" },
    ...list.map((state) =>
      h(
        "li",
        { title: full(state.at) },
        h("b", {}, state.state),
        " ",
        h("time", { datetime: state.at }, seconds(state.at)),
        state.detail ? ` ${state.detail}` : "",
      ),
    ),
  );
}

function section({ name, text, source, items }) {
  const scores = items.length
    ? h(
        "ul",
        { class: "scores" },
        ...items.map((item) =>
          h("li", {}, scoreBar(item.score), h("b", {}, item.score.toFixed(2)), h("span", {}, item.text)),
        ),
      )
    : null;
  return h(
    "details",
    { class: "section" },
    h(
      "summary",
      {},
      h("span", { class: "section-name" }, title(name)),
      h("span", { class: "row-more" }, `${source}, ${plural([...text].length, "character")}`),
    ),
    scores,
    code(text, name),
  );
}

/** A heading's words, without shouting. */
const title = (name) => name.charAt(0) + name.slice(1).toLowerCase();

function leftOut(list) {
  if (!list.length) return null;
  return h(
    "p",
    { class: "note left-out" },
    `left out: ${list.map(({ layer, reason }) => `${layer} (${reason})`).join(", ")}`,
  );
}

function trims(list) {
  return h(
    "ul",
    { class: "trims" },
    ...list.map((trim) =>
      h(
        "li",
        {},
        h("b", {}, title(trim.section)),
        ` ${trim.what}`,
        h("span", { class: "row-more" }, plural(trim.chars, "character")),
      ),
    ),
  );
}

function posts(list) {
  return h(
    "ul",
    { class: "trims" },
    ...list.map((post) =>
      h(
        "li",
        {},
        h("b", {}, post.state),
        ` ${post.message_id ?? "outcome not known yet"}`,
        h("span", { class: "row-more" }, post.at ? clock(post.at) : ""),
      ),
    ),
  );
}

function exact(header) {
  if (!header) return h("p", { class: "note" }, "It has not been composed yet.");
  return h(
    "div",
    { class: "exact" },
    h("div", { class: "code-head" }, h("span", {}, plural([...header].length, "character")), copyButton(header)),
    code(header, "The exact text"),
  );
}

const code = (text, label) => h("pre", { tabindex: "0", role: "group", "aria-label": label }, text);
