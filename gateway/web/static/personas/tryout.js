// @ts-check
// What an agent would be given for a message, and what it would say: nothing is posted or kept.

import * as api from "../lib/api.js";
import { copyButton, fill, h, withCode } from "../lib/dom.js";
import { exactText, foldedText, length } from "../lib/exact.js";
import { markdown } from "../lib/markdown.js";
import { roomLabel, state } from "../lib/store.js";
import { duration } from "../lib/words.js";
import { phrase, t } from "../lib/i18n.js";

const SETTLE_MS = 500;

export class TryOut {
  /**
   * `read` gives the name and the text that are tried.
   * @param {() => { name: string, text: string }} read
   */
  constructor(read) {
    this.read = read;
    this.asked = 0;
    this.shown = h("div", { class: "try-shown" });
    this.told = h("div", { class: "try-told", role: "status" });
    this.rooms = h("select", { class: "pick", id: "try-room" });
    this.message = h("textarea", { class: "field", id: "try-message", rows: "2", maxlength: "20000" });
    this.message.value = t("What can you do for us?");
    this.run = h("button", { type: "submit", class: "button" }, t("Ask the agent"));
    this.form = h(
      "form",
      { class: "try-form" },
      h("label", { class: "filter", for: "try-message" }, t("A message that somebody might write")),
      this.message,
      h("label", { class: "filter", for: "try-room" }, t("In")),
      this.rooms,
      this.run,
      h(
        "p",
        { class: "note" },
        t(
          "A dry run starts the agent in an empty folder. " +
            "It is not posted, and nobody remembers it; it may cost a few tokens.",
        ),
      ),
    );
    this.element = h("div", { class: "tryout" }, this.form, this.told, this.shown);
    this.message.addEventListener("input", () => this.soon());
    this.rooms.addEventListener("change", () => this.soon());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.dryRun();
    });
    this.drawRooms();
  }

  drawRooms() {
    const chosen = this.rooms.value || state.roomId || "web:general";
    const rooms = [...state.rooms.values()].filter((room) => room.kind === "room");
    this.rooms.replaceChildren(
      h("option", { value: "" }, t("a direct message")),
      ...rooms.map((room) => h("option", { value: room.id }, roomLabel(room))),
    );
    this.rooms.value = rooms.some((room) => room.id === chosen) ? chosen : (rooms[0]?.id ?? "");
  }

  sample() {
    const { name, text } = this.read();
    return {
      name,
      text,
      room_id: this.rooms.value,
      message: this.message.value,
      by: { id: state.me?.id ?? "", name: state.me?.name ?? "" },
    };
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.preview(), SETTLE_MS);
  }

  /** Nothing can be tried of a text with errors. */
  wait() {
    clearTimeout(this.timer);
    this.asked += 1;
    this.shown.replaceChildren(
      h("p", { class: "note" }, t("What the agent gets is shown once there is a text without errors.")),
    );
  }

  async preview() {
    const asked = ++this.asked;
    try {
      const preview = await api.post("/api/personas/preview", this.sample());
      if (asked === this.asked) fill(this.shown, ...given(preview));
    } catch (error) {
      if (asked === this.asked)
        this.shown.replaceChildren(h("p", { class: "note" }, t("No preview: {why}", { why: error.message })));
    }
  }

  async dryRun() {
    this.run.disabled = true;
    this.told.replaceChildren(h("p", { class: "note" }, t("The agent works…")));
    try {
      const done = await api.post("/api/personas/dry-run", this.sample());
      fill(this.told, ...answered(done));
    } catch (error) {
      this.told.replaceChildren(h("p", { class: "failure" }, error.message));
    }
    this.run.disabled = false;
  }
}

/** @param {Api.DryRun} given */
function answered({ answer, asked, tools, seconds, trouble }) {
  const facts = [
    t("in {time}", { time: duration(seconds * 1000) }),
    tools.length ? t("used {tools}", { tools: tools.join(", ") }) : "",
    asked.length ? t("was refused: {what}", { what: asked.join("; ") }) : "",
  ].filter(Boolean);
  return [
    trouble ? h("p", { class: "failure" }, trouble) : null,
    answer ? h("div", { class: "try-answer text" }, markdown(answer)) : null,
    h("p", { class: "note" }, t("Dry run, {how}.", { how: facts.join(", ") })),
  ];
}

/** @param {Api.Preview} given */
function given({ agent, available, hint, system, header, sections, trims, missing }) {
  return [
    available
      ? null
      : h("p", { class: "note" }, ...phrase("{agent} can't answer yet: {hint}", { agent, hint: withCode(hint) })),
    block(t("System prompt"), system || t("(empty)")),
    h("h2", {}, t("What it is told of the room")),
    ...sections.map((section) => foldedText(section.name, section.text)),
    trims.length
      ? h(
          "p",
          { class: "note" },
          t("Left out: {what}", {
            what: trims.map(({ section, what }) => `${section.toLowerCase()}: ${what}`).join("; "),
          }),
        )
      : null,
    missing.length ? h("p", { class: "note" }, t("No answer from: {who}", { who: missing.join(", ") })) : null,
    foldedText(t("The exact text"), header),
  ];
}

/**
 * @param {string} title
 * @param {string} text
 */
function block(title, text) {
  return h(
    "section",
    { class: "exact" },
    h(
      "div",
      { class: "code-head" },
      h("h2", {}, title),
      h("span", { class: "row-more" }, length(text)),
      copyButton(text),
    ),
    exactText(text, title),
  );
}
