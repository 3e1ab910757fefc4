// @ts-check
// The rows of the memory's panel: a landmark, a summary, a fact, a title, notes on a person, a session.

import { h } from "../lib/dom.js";
import { dated, datedRange, full, word } from "../lib/words.js";
import { phrase, t } from "../lib/i18n.js";

const LONG = 400; // characters of a fact beyond which it is folded
const SURE_MS = 4_000; // how long a button that deletes waits for the second press

/** @param {string} at */
const when = (at) => h("time", { datetime: at, title: full(at) }, dated(at));
/** @param {number} seq */
const number = (seq) => h("b", { class: "number" }, `#${seq}`);

/**
 * What is known about a row, in one quiet line.
 * @param {...Page.Child} parts
 */
function about(...parts) {
  const kept = parts.filter(Boolean);
  return h("span", { class: "held-about" }, ...kept.flatMap((part, index) => (index ? [" · ", part] : [part])));
}

/**
 * @param {Page.Child} told
 * @param {...Page.Child} buttons
 */
function foot(told, ...buttons) {
  const kept = buttons.filter(Boolean);
  return h("div", { class: "held-foot" }, told, kept.length ? h("span", { class: "held-buttons" }, ...kept) : null);
}

/**
 * @param {string} key
 * @param {string} label
 * @param {string} name
 * @param {(button: HTMLButtonElement) => void} run
 */
function action(key, label, name, run) {
  return h(
    "button",
    {
      type: "button",
      class: "mini",
      "data-key": key,
      "aria-label": name,
      on: { click: (event) => run(/** @type {HTMLButtonElement} */ (event.currentTarget)) },
    },
    label,
  );
}

/**
 * @param {HTMLButtonElement} button
 * @param {Page.RowActions} row
 * @param {string} text
 */
function send(button, row, text) {
  row.command?.(text);
  button.disabled = true;
  button.textContent = t("Sent");
}

/**
 * What deletes is pressed twice.
 * @param {HTMLButtonElement} button
 * @param {Page.RowActions} row
 * @param {string} text
 */
function sure(button, row, text) {
  if (button.classList.contains("sure")) {
    send(button, row, text);
    return;
  }
  const { textContent: label } = button;
  const name = button.getAttribute("aria-label") ?? "";
  button.classList.add("sure");
  button.textContent = t("Press again to forget");
  button.setAttribute("aria-label", `${button.textContent}: ${name}`);
  setTimeout(() => {
    if (button.disabled) return;
    button.classList.remove("sure");
    button.textContent = label;
    button.setAttribute("aria-label", name);
  }, SURE_MS);
}

/**
 * @param {Api.LandmarkView} given
 * @param {Page.RowActions} row
 */
export function landmarkRow({ seq, kind, text, by_name, message_id, at }, row) {
  return h(
    "li",
    {},
    h("p", { class: "held-text" }, text),
    foot(
      about(number(seq), word(kind), t("by {name}", { name: by_name }), when(at)),
      message_id && row.show
        ? action(`message-${seq}`, t("Show"), t("Show the message of landmark {n}", { n: seq }), () =>
            row.show?.(message_id),
          )
        : null,
      row.command
        ? action(`unpin-${seq}`, t("Unpin"), t("Unpin landmark {n}", { n: seq }), (button) =>
            send(button, row, `!unpin ${seq}`),
          )
        : null,
    ),
  );
}

/**
 * A text; a long one shows its first line, and the rest when somebody wants it.
 * @param {string} key
 * @param {string} text
 * @param {boolean} replaced
 */
function heldText(key, text, replaced) {
  const words = replaced ? h("s", {}, text) : text;
  if (text.length <= LONG) return h("p", { class: "held-text" }, words);
  const [beginning] = text.trimStart().split("\n", 1);
  return h("details", { class: "held-text", "data-key": key }, h("summary", {}, beginning), words);
}

/**
 * @param {Api.FactView} given
 * @param {Page.RowActions} row
 */
export function factRow({ seq, kind, text, person_name, origin, shared, said_at, replaced_by }, row) {
  const replaced = replaced_by !== null;
  const fate = replaced ? (replaced_by ? t("replaced by #{n}", { n: replaced_by }) : t("replaced")) : null;
  return h(
    "li",
    { class: replaced ? "replaced" : null },
    heldText(`fact-${seq}`, text, replaced),
    foot(
      about(
        number(seq),
        word(kind),
        person_name && t("about {name}", { name: person_name }),
        origin,
        shared ? t("shared") : null,
        when(said_at),
        fate,
      ),
      row.command
        ? action(`forget-${seq}`, t("Forget"), t("Forget fact {n}", { n: seq }), (button) =>
            sure(button, row, `!forget ${seq}`),
          )
        : null,
    ),
  );
}

/**
 * @param {Api.TitleView} given
 * @param {Pick<Page.RowActions, "open">} row
 */
export function titleRow({ id, kind, title, persona, at }, row) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "title-row", "data-key": `observation-${id}`, on: { click: () => row.open(id) } },
      h("span", { class: "held-text" }, title),
      about(word(kind), `@${persona}`, when(at)),
    ),
  );
}

/**
 * The newest summary, and the earlier ones behind a fold.
 * @param {Api.EpisodeView[]} given
 */
export function summaryRows([newest, ...earlier]) {
  if (!newest) return [];
  if (!earlier.length) return [summaryRow(newest)];
  return [
    summaryRow(newest),
    h(
      "li",
      {},
      h(
        "details",
        { class: "fold", "data-key": "earlier" },
        h("summary", {}, t("Earlier summaries, {n}", { n: earlier.length })),
        h("ul", { class: "held-rows" }, ...earlier.map(summaryRow)),
      ),
    ),
  ];
}

/** @param {Api.EpisodeView} given */
function summaryRow({ seq, text, record, persona, plain, first_at, last_at, at }) {
  const range =
    first_at && last_at
      ? [t("covers {time}", { time: datedRange(first_at, last_at) })]
      : phrase("written {time}", { time: when(at) });
  const fields = Object.entries(record);
  return h(
    "li",
    {},
    h("p", { class: "held-text prose" }, text),
    foot(about(h("span", {}, ...range), persona && `@${persona}`, plain ? t("made without a model") : null)),
    fields.length
      ? h(
          "details",
          { class: "fold", "data-key": `record-${seq}` },
          h("summary", {}, t("The session's record")),
          h(
            "dl",
            { class: "facts" },
            ...fields.map(([name, value]) => h("div", {}, h("dt", {}, words(name)), h("dd", {}, several(value)))),
          ),
        )
      : null,
  );
}

/** @param {string} name */
const words = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** @param {string | string[]} value */
function several(value) {
  return Array.isArray(value) ? h("ul", {}, ...value.map((item) => h("li", {}, item))) : value;
}

/** @param {Api.PersonView} given */
export function insightRows({ id, name, notes }) {
  return h(
    "li",
    {},
    h("h4", { title: id }, name),
    h(
      "ul",
      { class: "notes" },
      ...notes.map(({ kind, text, used_at }) =>
        h(
          "li",
          {},
          h("span", { class: "held-text" }, text),
          about(word(kind), h("span", {}, ...phrase("last used {time}", { time: when(used_at) }))),
        ),
      ),
    ),
  );
}

/** @param {Api.AgentSessionView} given */
export function sessionRow({ persona, title, subtitle, overview, started_at, ended_at }) {
  return h(
    "li",
    {},
    h("h4", {}, title || t("Without a title yet")),
    subtitle ? h("p", { class: "held-text soft" }, subtitle) : null,
    overview ? h("p", { class: "held-text prose" }, overview) : null,
    foot(about(`@${persona}`, when(started_at), ended_at ? null : t("goes on"))),
  );
}

export { about, when };

/**
 * Whose memory it is, in words.
 * @param {Page.Room} room
 * @param {string[]} scopes
 */
export function whose(room, scopes) {
  const project = scopes.find((scope) => scope.startsWith("project:"))?.slice("project:".length);
  if (room.kind === "dm") return t("Only what was said in this direct message. No room is shown it.");
  return project
    ? t("What was said in this room, and what is known of project {project}.", { project })
    : t("What was said in this room. Other rooms are not shown it.");
}
