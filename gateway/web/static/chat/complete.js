// @ts-check
// Suggestions while you type: personas and people after @, commands after ! or / at a line's start.

import { avatar, personaSpeaker } from "../lib/avatar.js";
import { $, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { roleName } from "../lib/words.js";
import { t } from "../lib/i18n.js";

const MOST = 8;

/** Attach suggestions to the text box; `handle(event)` is true when they took the key. */
export class Completion {
  /** @param {HTMLTextAreaElement} text */
  constructor(text) {
    this.text = text;
    this.box = $("complete");
    /** @type {Page.Suggestion[]} */
    this.entries = [];
    this.chosen = 0;
    this.typed = 0; // characters that a suggestion takes the place of
    this.sign = 0; // 1 where a / becomes the ! that is sent
    text.setAttribute("aria-controls", "complete");
    text.addEventListener("input", () => this.look());
    text.addEventListener("click", () => this.look());
    text.addEventListener("blur", () =>
      setTimeout(() => {
        if (document.activeElement !== text) this.close();
      }, 150),
    );
  }

  get open() {
    return this.entries.length > 0;
  }

  look() {
    const before = this.text.value.slice(0, this.text.selectionStart);
    const mention = /(?:^|[\s(])@([\p{L}\p{N}_.-]*)$/u.exec(before);
    const command = /(?:^|\n)([!/])([a-z]*)$/.exec(before);
    const found = mention ? people(mention[1]) : command ? commands(command[2]) : [];
    this.typed = (mention?.[1] ?? command?.[2])?.length ?? 0;
    this.sign = command?.[1] === "/" ? 1 : 0;
    this.chosen = 0;
    this.show(found.slice(0, MOST));
  }

  /** @param {Page.Suggestion[]} entries */
  show(entries) {
    this.entries = entries;
    this.box.hidden = !entries.length;
    this.box.replaceChildren(
      ...entries.map((entry, index) => {
        const option = h(
          "div",
          {
            class: "option",
            role: "option",
            id: `suggestion-${index}`,
            "aria-selected": String(index === this.chosen),
          },
          entry.mark,
          h("span", { class: "option-name" }, entry.shown),
          h("span", { class: "row-more" }, entry.more),
        );
        option.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.accept(index);
        });
        return option;
      }),
    );
    if (entries.length) this.text.setAttribute("aria-activedescendant", `suggestion-${this.chosen}`);
    else this.text.removeAttribute("aria-activedescendant");
    this.box.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.show([]);
  }

  accept(index = this.chosen) {
    const entry = this.entries[index];
    const at = this.text.selectionStart;
    if (this.sign) this.text.setRangeText("!", at - this.typed - 1, at - this.typed);
    this.text.setRangeText(`${entry.name} `, at - this.typed, at, "end");
    this.close();
    this.text.dispatchEvent(new Event("input", { bubbles: true }));
    this.text.focus();
  }

  /** @param {KeyboardEvent} event */
  handle(event) {
    if (!this.open || event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.chosen = (this.chosen + step + this.entries.length) % this.entries.length;
      this.show(this.entries);
    } else if (event.key === "Escape") {
      this.close();
    } else if (
      (event.key === "Tab" && !event.shiftKey) ||
      (event.key === "Enter" && !event.shiftKey && !this.complete())
    ) {
      this.accept();
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Whether the chosen name is written out: Enter then sends. */
  complete() {
    return !this.sign && this.entries[this.chosen].name.length === this.typed;
  }
}

/**
 * @param {string} typed
 * @returns {Page.Suggestion[]}
 */
function people(typed) {
  const wanted = typed.toLowerCase();
  const personas = state.personas
    .map((persona) => ({
      name: persona.name,
      shown: persona.name,
      mark: avatar(personaSpeaker(persona.name), "small"),
      more: persona.available ? persona.agent : t("not installed"),
      away: !persona.available,
    }))
    .sort((a, b) => Number(a.away) - Number(b.away));
  /** @type {Map<string, Api.Person & { role?: string | null }>} */
  const known = new Map(state.people.map((person) => [person.id, person]));
  known.delete(state.me?.id ?? "");
  const humans = [...known.values()].map((person) => ({
    name: person.name,
    shown: person.name,
    mark: avatar({ ...person, kind: "human" }, "small"),
    more: person.role ? roleName(person.role) : "",
  }));
  const all = [...personas, ...humans].filter((entry) => entry.name.toLowerCase().includes(wanted));
  return all.sort(
    (a, b) => Number(b.name.toLowerCase().startsWith(wanted)) - Number(a.name.toLowerCase().startsWith(wanted)),
  );
}

/**
 * @param {string} typed
 * @returns {Page.Suggestion[]}
 */
function commands(typed) {
  return state.commands
    .filter(({ name }) => name.startsWith(typed))
    .map(({ name, says }) => ({
      name,
      shown: `!${name}`,
      more: says.replaceAll("`", ""),
      mark: h("span", { class: "command-mark", "aria-hidden": "true" }, "!"),
    }));
}
