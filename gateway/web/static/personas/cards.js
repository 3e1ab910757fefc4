// @ts-check
// The list of personas: a card for each.

import { avatar, personaSpeaker } from "../lib/avatar.js";
import { h } from "../lib/dom.js";
import { count, t } from "../lib/i18n.js";

/** What a persona may be called. */
const NAME = /^[a-z][a-z0-9_-]{0,31}$/;

/**
 * Where the files are.
 * @param {Api.PersonaFolder} given
 */
export function whereNote({ path, writable, moves_to }) {
  const text = moves_to
    ? t("These personas come with Moot. The first edit copies them to {folder}.", { folder: moves_to })
    : t("Files in {folder}. Edit them here or with any editor; the next turn uses them.", { folder: path });
  return h(
    "p",
    { class: "note" },
    text,
    writable ? "" : ` ${t("Moot may not write there: changes can't be saved here.")}`,
  );
}

/**
 * One persona as a link to its editor; a file whose name is none can't be edited here.
 * @param {Api.PersonaCard} persona
 */
export function card(persona) {
  const { name, state: how, agent, description, version } = persona;
  const more = [agent, version && t("version {n}", { n: version.number })].filter(Boolean).join(" · ");
  const named = NAME.test(name);
  return h(
    "li",
    {},
    h(
      named ? "a" : "div",
      { class: `persona-card ${how}`, href: named ? `#personas/${name}` : null },
      avatar(personaSpeaker(name)),
      h(
        "span",
        { class: "persona-card-text" },
        h("span", { class: "persona-card-name" }, `@${name}`, tag(persona, named)),
        h("span", { class: "persona-card-about" }, description || t("No description")),
      ),
      more ? h("span", { class: "row-more" }, more) : null,
    ),
  );
}

/**
 * @param {Api.PersonaCard} given
 * @param {boolean} named
 */
function tag({ state: how, version, errors, warnings }, named) {
  const [css, words] = !named
    ? ["bad", t("not a name: at most 32 lower case letters, digits, - and _")]
    : how === "deleted"
      ? ["", t("deleted")]
      : how === "broken"
        ? ["bad", version ? t("broken: version {n} is used", { n: version.number }) : t("broken: nobody can ask it")]
        : errors
          ? ["bad", count(errors, "{n} error", "{n} errors")]
          : warnings
            ? ["warn", count(warnings, "{n} warning", "{n} warnings")]
            : ["", ""];
  return words ? h("span", { class: `tag ${css}` }, words) : null;
}
