// @ts-check
// What is still open in a room: turns that wait or run, and questions of an agent.

import * as api from "../lib/api.js";
import { avatar, personaSpeaker } from "../lib/avatar.js";
import { fill, h, icon, withCode } from "../lib/dom.js";
import { markdown } from "../lib/markdown.js";
import { head } from "./message.js";
import { mentions, state, tell } from "../lib/store.js";
import { clock, elapsed } from "../lib/words.js";
import { workElement } from "./work.js";
import { locale, t } from "../lib/i18n.js";

/** @type {Record<string, string>} */
const UNANSWERED = {
  timeout: t("Nobody answered in time: refused."),
  stopped: t("Stopped before it was answered."),
  gone: t("Nobody answered, and the agent's program asks no more. It may have gone on by itself."),
};
const ENDED = new Set(["failed", "stopped"]);

/**
 * An element for a turn, and the function that brings it up to date.
 * @param {Page.Turn} first
 */
export function turnElement(first) {
  const speaker = personaSpeaker(first.persona);
  const work = h("div", { class: "work-place", "aria-live": "off" });
  const text = h("div", { class: "text drafting", "aria-live": "off" });
  const spinner = h("span", { class: "spinner", "aria-hidden": "true" });
  const words = h("span", { class: "turn-words" });
  const time = h("span", { class: "turn-time", "aria-hidden": "true" });
  const stop = h("button", { type: "button", class: "mini stop" }, icon("stop"), t("Stop"));
  const watch = h("button", { type: "button", class: "mini watch" }, icon("terminal"), t("Watch"));
  const why = h("button", { type: "button", class: "mini" }, t("Why"));
  const element = h(
    "article",
    { class: "message bot turn", "data-turn": first.id, "aria-label": called(first) },
    avatar(speaker),
    h(
      "div",
      { class: "message-body" },
      head({ by: speaker }, true),
      work,
      text,
      h("div", { class: "turn-foot" }, spinner, words, time, stop, watch, why),
    ),
  );
  let turn = first;
  let shown = "";
  let worked = "";
  const tick = () => {
    time.textContent = turn.state === "running" ? elapsed(Date.now() - Date.parse(turn.since ?? turn.at)) : "";
  };
  const timer = setInterval(() => (element.isConnected ? tick() : clearInterval(timer)), 1_000);
  stop.addEventListener("click", () => tell("stop", turn));
  watch.addEventListener("click", () => tell("watch", turn.session_id));
  why.addEventListener("click", () => tell("why", turn.id));

  /** @param {Page.Turn} now */
  function update(now) {
    turn = now;
    const ended = ENDED.has(turn.state);
    element.classList.toggle("ended", ended);
    element.setAttribute("aria-label", called(turn));
    if (shown !== turn.draft) {
      shown = turn.draft;
      text.replaceChildren(markdown(turn.draft, mentions()));
    }
    text.hidden = !turn.draft;
    const done = JSON.stringify(turn.work);
    if (turn.work && worked !== done) {
      const before = work.querySelector("details");
      worked = done;
      work.replaceChildren(workElement(turn.work, { open: before?.open ?? true }));
    }
    fill(words, ...withCode(wording(turn)));
    spinner.hidden = ended || turn.state === "queued";
    stop.hidden = ended;
    watch.hidden = ended || !turn.session_id || turn.state === "queued";
    why.hidden = !ended;
    element.classList.toggle("queued", turn.state === "queued");
    tick();
  }
  update(first);
  return { element, update };
}

/** @param {Page.Turn} turn */
function called({ state: how, persona: name }) {
  if (how === "failed") return t("{name} could not answer", { name });
  if (how === "stopped") return t("{name} was stopped", { name });
  return how === "queued" ? t("{name} is waiting", { name }) : t("{name} is working", { name });
}

/** @param {Page.Turn} turn */
function wording(turn) {
  if (turn.state === "queued" && turn.status) return turn.status;
  if (turn.state === "queued")
    return turn.ahead > 0 ? t("Waiting its turn, {n} before it", { n: turn.ahead }) : t("Waiting its turn");
  if (turn.state === "failed") return turn.error || t("Could not answer.");
  if (turn.state === "stopped") return turn.error || t("Stopped.");
  if (turn.state === "answered") return t("Posting");
  return turn.asks ? t("Waiting for a decision") : turn.status || t("Working");
}

/**
 * An element for a question with its real choices as buttons.
 * @param {Page.Question} question
 */
export function questionElement(question) {
  const id = `question-${question.id.replace(/\W/g, "-")}`;
  const wrong = h("p", { class: "failure", role: "alert", hidden: true });
  const allowed = question.may_answer?.some((person) => person.id === state.me?.id) ?? true;
  const buttons = question.options.map((option, index) => {
    const button = h(
      "button",
      {
        type: "button",
        class: `button ${option.refuses ? "quiet" : index === 0 ? "primary" : ""}`,
        disabled: !allowed,
      },
      h("kbd", {}, `!${index + 1}`),
      h("span", {}, option.label),
    );
    button.addEventListener("click", () => choose(index));
    return button;
  });

  /** @param {number} option */
  async function choose(option) {
    for (const button of buttons) button.disabled = true;
    wrong.hidden = true;
    try {
      await api.post(`/api/questions/${encodeURIComponent(question.id)}`, {
        option,
        digest: question.digest, // of what is shown here
        by: { id: state.me?.id, name: state.me?.name },
      });
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
      for (const button of buttons) button.disabled = !allowed;
    }
  }

  const closed = question.closed;
  return h(
    "section",
    { role: "group", class: `question ${closed ? "closed" : ""}`, "aria-labelledby": id, "data-question": question.id },
    h("p", { class: "question-from" }, icon("lock"), t("{name} asks for permission", { name: question.persona })),
    h("h2", { id }, question.title),
    question.detail
      ? h(
          "pre",
          { class: "detail", tabindex: "0", role: "group", "aria-label": t("What it wants to do") },
          question.detail,
        )
      : null,
    closed ? null : dangerLine(question),
    closed ? h("p", { class: "question-end" }, ending(question)) : h("div", { class: "choices" }, ...buttons),
    closed ? null : h("p", { class: "note" }, who(question, allowed)),
    wrong,
  );
}

/**
 * Why it is a dangerous one, for whoever is about to say yes; null: nothing says so.
 * @param {{ danger: string | null }} given
 */
export const dangerLine = ({ danger }) =>
  danger ? h("p", { class: "danger-line" }, h("b", {}, t("Dangerous")), `: ${danger}`) : null;

/**
 * @param {Page.Question} question
 * @param {boolean} allowed
 */
function who(question, allowed) {
  const names = question.may_answer?.map((person) => person.name) ?? [];
  const may = names.length
    ? t("{names} may answer", { names: new Intl.ListFormat(locale).format(names) })
    : t("Owners and approvers may answer");
  const until = question.expires_at
    ? t("; refused at {time} when nobody does", { time: clock(question.expires_at) })
    : "";
  return `${may}${question.may_answer && !allowed ? t(", not you") : ""}${until}.`;
}

/** @param {Page.Question} question */
function ending(question) {
  const { option, by, reason = "" } = question.closed ?? {};
  if (option === null || option === undefined) return UNANSWERED[reason] ?? t("Closed: {reason}.", { reason });
  const label = question.options[option]?.label ?? t("option {n}", { n: option + 1 });
  return t("{name} chose “{label}”.", { name: by ? by.name : t("Somebody"), label });
}
