// @ts-check
// What an empty room says: what this is, and what to try.

import { $, fill, h, withCode } from "../lib/dom.js";
import { personaOf, roomLabel, roomLists, state, tell } from "../lib/store.js";
import { sentence } from "../lib/words.js";
import { t } from "../lib/i18n.js";

const TRY = {
  demo: [
    ["what do you know about this room?", t("See what an agent is told about the room")],
    ["slow", t("Watch an answer being written")],
    ["permission", t("Answer a permission question")],
    ["table", t("See tables and code")],
  ],
  other: [
    ["what do you know about this room?", t("See what an agent is told about the room")],
    [t("which files are in your workspace?"), t("Let it use its tools")],
  ],
};

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * @param {Page.Room} room
 * @param {import("./conversation.js").Conversation} conversation
 */
export function drawWelcome(room, conversation) {
  const empty = conversation.loaded && !conversation.messages.size && !conversation.turns.size;
  $("welcome").hidden = !empty;
  if (!empty) return;
  const direct = personaOf(room);
  fill(
    $("welcome"),
    h("h2", {}, direct ? t("You and {name}", { name: direct.name }) : t("This is {room}", { room: roomLabel(room) })),
    ...(direct
      ? [
          direct.description ? h("p", {}, capital(sentence(direct.description))) : null,
          h("p", {}, t("What you say here stays between you and {name}.", { name: direct.name })),
        ]
      : [
          h(
            "p",
            {},
            t(
              "People and agents talk here together. " +
                "Mention an agent with @ and it answers in the room; everybody sees it work.",
            ),
          ),
        ]),
    ...(direct && !direct.available ? [install(direct)] : []),
    direct ? null : connectCard(),
    chips(direct),
    direct ? null : personas(),
  );
}

const OFFERED = 12;

/**
 * In place of a room that is not there: the page's others.
 * @param {string} why
 */
export function drawNoRoom(why) {
  const buttons = roomLists()
    .here.slice(0, OFFERED)
    .map((room) => {
      const button = h("button", { type: "button", class: "try" }, h("span", { class: "try-text" }, roomLabel(room)));
      button.addEventListener("click", () => tell("open", room.id));
      return h("li", {}, button);
    });
  $("welcome").hidden = false;
  fill(
    $("welcome"),
    h("h2", {}, why),
    h("p", {}, t("There is no room at this address, or it is not for you. These are here:")),
    h("ul", { class: "tries", "aria-label": t("Rooms") }, ...buttons),
  );
}

/** @param {Api.PersonaView} persona */
function install(persona) {
  const missing = t("{agent} is not installed here.", { agent: persona.agent });
  const connect = state.me?.owner
    ? h("a", { href: `#admin/connect/${persona.name}` }, t("Connect {agent}", { agent: persona.agent }))
    : null;
  return h("p", { class: "install" }, `${missing} `, ...withCode(persona.hint), " ", connect);
}

/** An agent of one's own is a minute away: for owners. */
function connectCard() {
  if (!state.me?.owner) return null;
  const agent = state.personas.find((persona) => !persona.available)?.agent;
  return h(
    "section",
    { class: "connect-card", "aria-labelledby": "connect-title" },
    h("h3", { id: "connect-title" }, agent ? t("Connect {agent}", { agent }) : t("Connect an agent")),
    h("p", {}, t("Give an agent its login and a folder of yours, and try it here.")),
    h("a", { class: "button primary", href: "#admin/connect" }, t("Connect")),
  );
}

/** @param {Api.PersonaView | null} direct */
function chips(direct) {
  const persona =
    direct ?? state.personas.find((card) => card.name === "demo") ?? state.personas.find((card) => card.available);
  if (!persona?.available) return null;
  const list = TRY[persona.name === "demo" ? "demo" : "other"];
  return h(
    "ul",
    { class: "tries", "aria-label": t("Things to try") },
    ...list.map(([text, why]) => {
      const words = direct ? text : `@${persona.name} ${text}`;
      const button = h(
        "button",
        { type: "button", class: "try" },
        h("span", { class: "try-text" }, words),
        h("span", { class: "try-why" }, why),
      );
      button.addEventListener("click", () => tell("try", words));
      return h("li", {}, button);
    }),
  );
}

function personas() {
  if (!state.personas.length) return h("p", { class: "note" }, t("No persona is set up yet."));
  return h(
    "div",
    { class: "cards" },
    h("h3", {}, t("Agents")),
    h(
      "ul",
      {},
      ...state.personas.map((persona) =>
        h(
          "li",
          { class: persona.available ? "" : "away" },
          h("b", {}, `@${persona.name}`),
          h("span", {}, persona.description),
          h(
            "span",
            { class: "row-more" },
            persona.available ? persona.agent : t("{agent} is not installed", { agent: persona.agent }),
          ),
          persona.available || !persona.hint ? null : h("p", { class: "card-hint" }, ...withCode(persona.hint)),
        ),
      ),
    ),
  );
}
