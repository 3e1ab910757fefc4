// @ts-check
// Is everything well, and what waits for me?

import * as api from "../lib/api.js";
import { action, address, ago, empty, figure, me, note, roomTitle, section, short, stateMark, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, h, icon, withCode } from "../lib/dom.js";
import { embedder, embedderCard } from "./embedder.js";
import { dangerLine } from "../chat/live.js";
import { state } from "../lib/store.js";
import { duration, platformName, size } from "../lib/words.js";
import { turnRow } from "./turns.js";
import { count, phrase, t } from "../lib/i18n.js";

// A choice that opens a door for good.
const LASTING = /\b(always|don.t ask|all edits|everything|every time|never ask|bypass|for this session)\b/i;

/** @type {Page.Section} */
export const overview = {
  name: "",
  title: t("Overview"),
  ages: true,
  async load() {
    const [summary, access, model] = await Promise.all([
      api.get("/api/admin/overview"),
      api.optional("/api/access"),
      embedder(),
    ]);
    return { summary, pairings: access?.pairings ?? [], claim: access?.claim ?? null, model };
  },
  /**
   * @param {{ summary: Api.SummaryView, pairings: Api.PairingView[], claim: Api.ClaimView | null,
   *   model: Api.EmbedderView | null }} given
   * @param {Page.Context} given
   */
  draw({ summary, pairings, claim, model }, { refresh }) {
    const waiting = [
      ...(claim ? [claimCard(claim, refresh)] : []),
      ...summary.questions.map((asked) => questionCard(asked, refresh)),
      ...pairings.map((one) => pairingCard(one, refresh)),
    ];
    return [
      verdict(summary, waiting.length),
      waiting.length ? section(t("Waiting for you"), h("ul", { class: "cards-list" }, ...waiting)) : null,
      summary.problems.length
        ? section(
            summary.problems.some((problem) => problem.grave) ? t("Not well") : t("Worth a look"),
            h("ul", { class: "cards-list" }, ...summary.problems.map(problemRow)),
          )
        : null,
      alerts(summary),
      tiles(summary),
      section(t("Bots"), h("ul", { class: "admin-rows" }, ...summary.bots.map(botRow))),
      embedderCard(model, refresh),
      failures(summary),
    ];
  },
};

/**
 * @param {Api.SummaryView} given
 * @param {number} waiting
 */
function verdict({ problems }, waiting) {
  const grave = problems.filter((problem) => problem.grave).length;
  const parts = [
    grave ? count(grave, "{n} thing is not well", "{n} things are not well") : null,
    waiting ? count(waiting, "{n} thing waits for you", "{n} things wait for you") : null,
  ].filter(Boolean);
  const css = grave ? "bad" : waiting ? "wait" : "good";
  const quiet = problems.length
    ? count(
        problems.length,
        "Nothing is broken. {n} thing is worth a look.",
        "Nothing is broken. {n} things are worth a look.",
      )
    : t("Everything is well. Nothing waits for you.");
  return h(
    "p",
    { class: `verdict ${css}`, role: "status" },
    icon(grave ? "close" : waiting ? "dots" : "check"),
    parts.length ? parts.join(", ") : quiet,
  );
}

/** @param {Api.SummaryView} given */
function tiles({ today, sessions, asleep, most_sessions: most, disk }) {
  return section(
    t("The last 24 hours"),
    h(
      "dl",
      { class: "tiles" },
      figure(t("Turns"), short(today.turns), today.waiting ? t("{n} at work or waiting", { n: today.waiting }) : ""),
      figure(t("Failed"), short(today.failed)),
      figure(t("Typical answer"), today.p50_ms === null ? "–" : duration(today.p50_ms)),
      figure(t("Sessions"), t("{n} of {most}", { n: sessions, most }), asleep ? t("{n} asleep", { n: asleep }) : ""),
      figure(
        t("Free disk"),
        size(disk.free_bytes),
        disk.database_bytes === null ? "" : t("database {size}", { size: size(disk.database_bytes) }),
      ),
    ),
  );
}

/** @param {Api.BotView} bot */
function botRow(bot) {
  const parts = [
    bot.since
      ? h(
          "span",
          {},
          ...(bot.state === "connecting"
            ? phrase("trying since {time}", { time: when(bot.since) })
            : phrase("since {time}", { time: when(bot.since) })),
        )
      : null,
    bot.event_at ? h("span", {}, ...phrase("last event {time}", { time: when(bot.event_at) })) : null,
    bot.restarts ? h("span", {}, count(bot.restarts, "{n} restart", "{n} restarts")) : null,
  ].filter(Boolean);
  return h(
    "li",
    { class: "admin-row" },
    h(
      "div",
      { class: "row-head" },
      h("b", {}, bot.name),
      bot.name.toLowerCase() === platformName(bot.platform).toLowerCase()
        ? null
        : h("span", { class: "soft" }, platformName(bot.platform)),
      stateMark(bot.state),
    ),
    h("p", { class: "row-about" }, ...dotted(parts)),
    bot.error
      ? h(
          "p",
          { class: "row-about" },
          ...phrase("Last error {time}: {error}", {
            time: when(bot.error_at),
            error: h("span", { class: bot.state === "up" ? "" : "bad-text" }, bot.error),
          }),
        )
      : null,
  );
}

/** @param {Page.Child[]} parts */
const dotted = (parts) => parts.flatMap((part, index) => (index ? [" · ", part] : [part]));

/** @param {Api.ProblemView} given */
function problemRow({ text, remedy, grave }) {
  return h(
    "li",
    { class: `card ${grave ? "bad" : "wait"}` },
    h("p", { class: "card-title" }, ...withCode(text)),
    remedy ? h("p", { class: "row-about" }, ...withCode(remedy)) : null,
  );
}

/** @param {Api.SummaryView} given */
function alerts({ alerts: raised, alerts_told: told }) {
  const rows = raised.map(({ text, since }) =>
    h("li", { class: "admin-row" }, h("p", {}, ...withCode(text)), h("p", { class: "row-about" }, when(since))),
  );
  return section(
    t("Alerts"),
    rows.length ? h("ul", { class: "admin-rows" }, ...rows) : empty(t("None now.")),
    told
      ? null
      : note(...withCode(t("Nobody is told of alerts: name a room or a webhook under `[alerts]` in moot.toml."))),
  );
}

/** @param {Api.SummaryView} given */
function failures({ failed, today }) {
  if (!failed.length) return section(t("Failed turns"), empty(t("None in the last 24 hours.")));
  const most = Math.max(...failed.map((turn) => turn.total_ms ?? 0), 1);
  const more =
    today.failed > failed.length
      ? h("p", {}, h("a", { href: address("turns", { state: "failed" }) }, t("All {n}", { n: today.failed })))
      : null;
  return section(
    t("Failed turns"),
    h("ul", { class: "admin-rows" }, ...failed.map((turn) => turnRow(turn, most))),
    more,
  );
}

// ── Questions and pairings ────────────────────────────────────────────────────────────────

/**
 * @param {Api.QuestionView} asked
 * @param {() => void} refresh
 */
function questionCard(asked, refresh) {
  const { id, title, detail, options, persona, room_id: roomId, at, expires_at: until } = asked;
  const room = state.rooms.get(roomId);
  const name = room ? roomTitle(room.name, room.kind) : roomId;
  const buttons = options.map((option, index) =>
    action(`answer-${id}-${index}`, option.label, () => choose(asked, index, refresh), {
      css: option.refuses || needsSure(asked, option) ? "" : "primary",
      name: `${option.label}: ${title}`,
      sure: needsSure(asked, option)
        ? () =>
            confirmDialog({
              title: t("Are you sure?"),
              text: stakes(asked, option),
              yes: option.label,
            })
        : null,
    }),
  );
  return h(
    "li",
    { class: "card wait", "data-acts": true },
    h("p", { class: "card-title" }, title),
    h(
      "p",
      { class: "row-about" },
      ...phrase("{persona} in {room}", {
        persona: `@${persona}`,
        room: h("a", { href: `#${encodeURIComponent(roomId)}` }, name),
      }),
      " · ",
      when(at),
      until ? ` · ${t("refused {when} unless somebody answers", { when: ago(until) })}` : "",
    ),
    dangerLine(asked),
    detail
      ? h("pre", { class: "card-detail", tabindex: "0", role: "group", "aria-label": t("What it wants to do") }, detail)
      : null,
    h("div", { class: "card-buttons" }, ...buttons),
  );
}

/**
 * @param {Api.QuestionView} asked
 * @param {Api.OptionView} option
 */
const needsSure = (asked, option) => !option.refuses && (asked.danger || LASTING.test(option.label));

/**
 * What is risked by a choice that is asked a second time.
 * @param {Api.QuestionView} given
 * @param {Api.OptionView} given
 */
function stakes({ danger, persona, title }, { label }) {
  const parts = [
    danger ? t("This is dangerous: {danger}.", { danger }) : null,
    LASTING.test(label) ? t("“{label}” lets @{persona} go on without asking.", { label, persona }) : null,
  ];
  return [...parts, title].filter(Boolean).join(" ");
}

/**
 * @param {Api.QuestionView} given
 * @param {number} option
 * @param {() => void} refresh
 */
async function choose({ id }, option, refresh) {
  const by = me();
  if (!by) return;
  try {
    await api.post(`/api/questions/${encodeURIComponent(id)}`, { option, by });
    announce(t("Answered"));
  } finally {
    refresh();
  }
}

/**
 * @param {Api.PairingView} one
 * @param {() => void} refresh
 */
function pairingCard(one, refresh) {
  /** @param {"approve" | "refuse"} decision */
  const decide = (decision) => async () => {
    const by = me();
    if (!by) return;
    await api.post(`/api/access/pairings/${encodeURIComponent(one.code)}`, { decision, by });
    announce(
      decision === "approve"
        ? t("{name} is let in", { name: one.person_name })
        : t("{name} is refused", { name: one.person_name }),
    );
    refresh();
  };
  return h(
    "li",
    { class: "card wait", "data-acts": true },
    h("p", { class: "card-title" }, t("{name} asks to be let in", { name: one.person_name })),
    h(
      "p",
      { class: "row-about" },
      one.person_id,
      " · ",
      t("through {bot}", { bot: one.bot }),
      one.persona ? ` · ${t("for @{persona}", { persona: one.persona })}` : "",
      " · ",
      ...phrase("code {code}", { code: h("code", {}, one.code) }),
      " · ",
      when(one.at),
    ),
    note(t("Compare the code with the one that they were shown.")),
    h(
      "div",
      { class: "card-buttons" },
      action(`pair-${one.code}`, t("Let in"), decide("approve"), {
        css: "primary",
        name: t("Let in {name}", { name: one.person_name }),
      }),
      action(`refuse-${one.code}`, t("Refuse"), decide("refuse"), {
        name: t("Refuse {name}", { name: one.person_name }),
      }),
    ),
  );
}

/**
 * Who mentioned a persona first, where nobody is the owner yet.
 * @param {Api.ClaimView} one
 * @param {() => void} refresh
 */
function claimCard(one, refresh) {
  const { person_id, person_name: name } = one;
  /** @param {boolean} accepts */
  const decide = (accepts) => async () => {
    const by = me();
    if (!by) return;
    await api.post("/api/access/claim", { person_id, accepts, by });
    announce(accepts ? t("{name} is the owner", { name }) : t("{name} is not the owner", { name }));
    refresh();
  };
  return h(
    "li",
    { class: "card wait", "data-acts": true },
    h("p", { class: "card-title" }, t("{name} mentioned @{persona}: is that you?", { name, persona: one.persona })),
    h("p", { class: "row-about" }, person_id, " · ", when(one.at)),
    note(t("An owner may do everything, and lets others in. Nobody on this platform is one yet.")),
    h(
      "div",
      { class: "card-buttons" },
      action("claim-yes", t("Yes, that is me"), decide(true), {
        css: "primary",
        name: t("{name} is me, and the owner", { name }),
      }),
      action("claim-no", t("No"), decide(false), { name: t("{name} is not the owner", { name }) }),
    ),
  );
}
