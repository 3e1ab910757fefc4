// @ts-check
// The agents' living sessions: what they do, what they take, and their ends.

import * as api from "../lib/api.js";
import { action, address, empty, me, money, roomTitle, short, stateMark, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, h, icon } from "../lib/dom.js";
import { showTerminal } from "../chat/terminal.js";
import { duration, size } from "../lib/words.js";
import { phrase, t } from "../lib/i18n.js";

/** @type {Page.Section} */
export const sessions = {
  name: "sessions",
  title: t("Sessions"),
  ages: true,
  load: () => api.get("/api/admin/sessions"),
  /**
   * @param {{ sessions: Api.SessionLineView[] }} given
   * @param {Page.Context} given
   */
  draw({ sessions: all }, { refresh }) {
    if (!all.length)
      return [
        empty(
          t(
            "No agent lives now. A session begins when somebody mentions a persona, " +
              "and sleeps when nobody does for a while.",
          ),
        ),
      ];
    return [h("ul", { class: "cards-list" }, ...all.map((session) => sessionCard(session, refresh)))];
  },
};

const DONE = { stop: t("Stopped"), renew: t("Its next turn begins a new session"), sleep: t("It sleeps") };

/**
 * @param {Api.SessionLineView} session
 * @param {() => void} refresh
 */
export function sessionCard(session, refresh) {
  const { id, persona, room_id: roomId, agent, started_at: started, used_at: used } = session;
  const room = roomTitle(session.room_name, session.room_kind);
  const name = t("{persona} in {room}", { persona: `@${persona}`, room });
  /** @param {keyof typeof DONE} what */
  const act = (what) => async () => {
    const by = me();
    if (!by) return;
    await api.post(`/api/admin/sessions/${encodeURIComponent(id)}`, { act: what, by });
    announce(DONE[what]);
    refresh();
  };
  const sureRenew = () =>
    confirmDialog({
      title: t("Start a new session?"),
      text: t(
        "The next turn of {name} begins a new session. " +
          "What it holds of this conversation is gone; messages and memory stay.",
        { name },
      ),
      yes: t("New session"),
    });
  return h(
    "li",
    { class: "card", "data-acts": true },
    h(
      "div",
      { class: "row-head" },
      ...phrase("{persona} in {room}", {
        persona: h("b", {}, `@${persona}`),
        room: h("a", { href: address(`rooms/${encodeURIComponent(roomId)}`) }, room),
      }),
      stateMark(session.state),
    ),
    h(
      "p",
      { class: "row-about" },
      agent,
      " · ",
      ...phrase("since {time}", { time: when(started) }),
      " · ",
      ...phrase("last used {time}", { time: when(used) }),
      ...(session.worker ? [" · ", ...phrase("on {worker}", { worker: session.worker })] : []),
    ),
    h(
      "dl",
      { class: "inline-facts" },
      ...[
        [t("Memory"), session.memory_bytes === null ? "–" : size(session.memory_bytes)],
        ["CPU", session.cpu_s === null ? "–" : duration(session.cpu_s * 1000)],
        [t("Tokens"), session.tokens === null ? "–" : short(session.tokens)],
        [t("Cost"), session.cost_usd === null ? "–" : money(session.cost_usd)],
      ].map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
    ),
    h(
      "div",
      { class: "card-buttons" },
      session.terminal
        ? h(
            "button",
            {
              type: "button",
              class: "button",
              "data-key": `terminal-${id}`,
              "aria-label": t("Terminal of {name}", { name }),
              on: { click: () => showTerminal(id) },
            },
            icon("terminal"),
            t("Terminal"),
          )
        : null,
      session.state === "working"
        ? action(`rest-${id}`, t("Stop"), act("stop"), { name: t("Stop {what}", { what: name }) })
        : null,
      session.state === "working"
        ? null
        : action(`rest-${id}`, t("Put to sleep"), act("sleep"), { name: t("Put to sleep: {what}", { what: name }) }),
      action(`renew-${id}`, t("New session"), act("renew"), {
        name: t("New session: {what}", { what: name }),
        sure: sureRenew,
      }),
    ),
  );
}
