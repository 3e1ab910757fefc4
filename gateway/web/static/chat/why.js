// @ts-check
// Why an answer is what it is: what the agent was given, word for word, and where it came from.

import * as api from "../lib/api.js";
import { chart, scoreBar, steps } from "./chart.js";
import { copyButton, fill, h, withCode } from "../lib/dom.js";
import { exactText, foldedText, length } from "../lib/exact.js";
import { knew } from "./knew.js";
import { openPanel } from "../lib/panel.js";
import { clock, full, seconds, title, word } from "../lib/words.js";
import { count, t } from "../lib/i18n.js";

/**
 * Open the panel for a turn.
 * @param {string} turnId
 */
export async function showWhy(turnId) {
  const content = h("div", { class: "side-body" }, h("p", { class: "note" }, t("Loading…")));
  openPanel({ kind: "why", title: t("Why this answer"), content });
  try {
    const record = await api.get(`/api/turns/${encodeURIComponent(turnId)}`);
    fill(content, ...parts(record));
  } catch (error) {
    content.replaceChildren(h("p", { class: "failure", role: "alert" }, error.message));
  }
}

/** @param {Api.TurnRecordView} record */
function parts(record) {
  return [
    record.error ? h("p", { class: "why-fault" }, ...withCode(record.error)) : null,
    part(t("It knew"), ...knew(record), leftOut(record.left_out)),
    part(t("What it was given, word for word"), ...record.sections.map(section)),
    record.trims.length ? part(t("Left out to stay within its budget"), trims(record.trims)) : null,
    fold(t("Time"), chart(steps(record).map(named)), states(record.states)),
    fold(t("Details"), summary(record), record.posts.length ? part(t("Posts"), posts(record.posts)) : null),
    fold(t("The exact text"), exact(record.header)),
    fold(t("The message as it came"), exactText(JSON.stringify(record.raw, null, 2), t("The message as it came"))),
  ];
}

/**
 * A part for whoever wants to know it exactly.
 * @param {string} title
 * @param {...Page.Child} content
 */
const fold = (title, ...content) =>
  h("details", { class: "part why-fold" }, h("summary", {}, h("h3", {}, title)), ...content);

/**
 * The steps of a turn and its states as people call them.
 * @type {Record<string, string>}
 */
const STEPS = {
  waiting: t("Waiting its turn"),
  "agent ready": t("Starting the agent"),
  brief: t("Looking into its memory"),
  recall: t("Looking into its memory"),
  compose: t("Writing the prompt"),
  agent: t("The agent"),
  record: t("Keeping the answer"),
  post: t("Posting it"),
};
/** @type {Record<string, string>} */
const STATES = {
  queued: t("Asked"),
  running: t("Begun"),
  answered: t("Answered"),
  posted: t("Posted"),
  failed: t("Failed"),
  stopped: t("Stopped"),
};

/** @param {Page.Step} step */
const named = (step) => ({ ...step, name: STEPS[step.name] ?? STATES[step.name] ?? step.name });

/**
 * @param {string} title
 * @param {...Page.Child} content
 */
function part(title, ...content) {
  return h("section", { class: "part" }, h("h3", {}, title), ...content);
}

/** @param {string} id */
function turnLink(id) {
  return h("a", { href: `#turn/${id}` }, id);
}

/** @param {Api.TurnRecordView} record */
function summary(record) {
  const answer = record.answer;
  /** @type {Array<[string, Page.Child] | null | undefined | "" | false>} */
  const rows = [
    [t("Agent"), `@${record.persona}, ${record.agent}`],
    record.persona_version !== null && [
      t("Persona"),
      h("a", { href: `#personas/${record.persona}` }, t("version {n}", { n: record.persona_version })),
    ],
    [t("State"), record.error ? `${word(record.state)}: ${record.error}` : word(record.state)],
    [t("Asked by"), record.hop > 0 ? t("a bot, hop {n}", { n: record.hop }) : t("a person")],
    answer && [t("Read from"), answer.source === "record" ? t("the program's own record") : t("its screen")],
    answer?.ended_by && [t("Ended by"), answer.ended_by],
    answer?.tools.length ? [t("Tools"), answer.tools.join(", ")] : null,
    record.session_id && [t("Session"), record.session_id],
    record.retry_of && [t("Asked again after"), turnLink(record.retry_of)],
    record.retried_as && [t("Asked again as"), turnLink(record.retried_as)],
    [t("Turn"), record.id],
  ];
  return h(
    "dl",
    { class: "facts" },
    ...rows.map((row) => row && h("div", {}, h("dt", {}, row[0]), h("dd", {}, row[1]))),
  );
}

/** @param {Api.StateView[]} list */
function states(list) {
  return h(
    "ol",
    { class: "states" },
    ...list.map((state) =>
      h(
        "li",
        { title: full(state.at) },
        h("b", {}, STATES[state.state] ?? word(state.state)),
        " ",
        h("time", { datetime: state.at }, seconds(state.at)),
        state.detail ? ` ${state.detail}` : "",
      ),
    ),
  );
}

/** @param {Api.SectionView} given */
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
  return foldedText(name, text, { about: `${source}, `, before: scores });
}

/** @param {Api.LeftOutView[]} list */
function leftOut(list) {
  if (!list.length) return null;
  return h(
    "p",
    { class: "note left-out" },
    t("left out: {what}", { what: list.map(({ layer, reason }) => `${word(layer)} (${word(reason)})`).join(", ") }),
  );
}

/** @param {Api.TrimView[]} list */
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
        h("span", { class: "row-more" }, count(trim.chars, "{n} character", "{n} characters")),
      ),
    ),
  );
}

/** @param {Api.PostView[]} list */
function posts(list) {
  return h(
    "ul",
    { class: "trims" },
    ...list.map((post) =>
      h(
        "li",
        {},
        h("b", {}, word(post.state)),
        ` ${post.message_id ?? t("outcome not known yet")}`,
        h("span", { class: "row-more" }, post.at ? clock(post.at) : ""),
      ),
    ),
  );
}

/** @param {string} header */
function exact(header) {
  if (!header) return h("p", { class: "note" }, t("It has not been composed yet."));
  return h(
    "div",
    { class: "exact" },
    h("div", { class: "code-head" }, h("span", {}, length(header)), copyButton(header)),
    exactText(header, t("The exact text")),
  );
}
