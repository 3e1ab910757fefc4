// The list of personas: a card for each.

import { avatar, personaSpeaker } from "./avatar.js";
import { h } from "./dom.js";
import { plural } from "./words.js";

/** Where the files are. */
export function whereNote({ path, writable, moves_to }) {
  const text = moves_to ? `These personas come with Moot. The first edit copies them to ${moves_to}.` : `Files in ${path}. Edit them here or with any editor; the next turn uses them.`;
  return h("p", { class: "note" }, text, writable ? "" : " Moot may not write there: changes can't be saved here.");
}

/** One persona as a link to its editor. */
export function card({ name, state: how, agent, description, version, errors, warnings }) {
  const faults = errors ? plural(errors, "error") : warnings ? plural(warnings, "warning") : "";
  const tag = how === "deleted" ? h("span", { class: "tag" }, "deleted") : how === "broken" ? h("span", { class: "tag bad" }, "broken: its last good form is used") : faults ? h("span", { class: errors ? "tag bad" : "tag warn" }, faults) : null;
  return h("li", {}, h("a", { class: `persona-card ${how}`, href: `#personas/${name}` },
    avatar(personaSpeaker(name)),
    h("span", { class: "persona-card-text" }, h("span", { class: "persona-card-name" }, `@${name}`, tag), h("span", { class: "persona-card-about" }, description || "No description")),
    h("span", { class: "row-more" }, [agent, version && `version ${version.number}`].filter(Boolean).join(" · "))));
}
