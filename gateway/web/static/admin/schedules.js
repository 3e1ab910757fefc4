// @ts-check
// What is asked again and again: when, where, and by whom it was set.

import * as api from "../lib/api.js";
import { action, empty, roomTitle, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { t } from "../lib/i18n.js";

/** @type {Page.Section} */
export const schedules = {
  name: "schedules",
  title: t("Schedules"),
  probe: "/api/schedules",
  ages: true,
  load: () => api.get("/api/schedules"),
  /**
   * @param {{ schedules: Api.Schedule[] }} given
   * @param {Page.Context} given
   */
  draw({ schedules: all }, { refresh }) {
    if (!all.length)
      return [
        empty(
          t("Nothing is scheduled. In a room, "),
          h("code", {}, "!every weekday 9:00 summarise yesterday"),
          " asks every working day.",
        ),
      ];
    return [h("ul", { class: "cards-list" }, ...all.map((one) => scheduleRow(one, refresh)))];
  },
};

/**
 * @param {Api.Schedule} one
 * @param {() => void} refresh
 */
export function scheduleRow(one, refresh) {
  const room = state.rooms.get(one.room_id);
  const place = room ? roomTitle(room.name, room.kind) : one.room_id;
  /**
   * @param {string} what
   * @param {string} said
   */
  const act = (what, said) => async () => {
    if (what === "delete") await api.remove(`/api/schedules/${one.id}`, {});
    else await api.post(`/api/schedules/${one.id}`, { paused: what === "pause" });
    announce(said);
    refresh();
  };
  const sure = () =>
    confirmDialog({
      title: t("Delete it?"),
      text: `@${one.persona} is not asked “${one.text}” any more.`,
      yes: t("Delete"),
    });
  return h(
    "li",
    { class: "card", "data-acts": true },
    h(
      "div",
      { class: "row-head" },
      h("b", {}, one.when),
      one.paused ? h("span", { class: "tag" }, "paused") : null,
      one.configured ? h("span", { class: "tag" }, "moot.toml") : null,
      h(
        "span",
        { class: "row-end soft" },
        one.next_at ? h("span", {}, one.once ? "once, " : "next ", when(one.next_at)) : "no next run",
      ),
    ),
    h("p", { class: "card-title" }, one.text),
    h(
      "p",
      { class: "row-about" },
      `@${one.persona} in ${place} · by ${one.by.name} · ${one.timezone}`,
      one.ran_at ? h("span", {}, " · last ran ", when(one.ran_at)) : "",
    ),
    one.why ? h("p", { class: "row-about" }, one.why) : null,
    h(
      "div",
      { class: "card-buttons" },
      one.paused
        ? action(`rest-${one.id}`, t("Go on"), act("resume", t("It goes on")), { name: `Go on: ${one.text}` })
        : action(`rest-${one.id}`, t("Pause"), act("pause", t("Paused")), { name: `Pause: ${one.text}` }),
      one.configured
        ? null
        : action(`delete-${one.id}`, t("Delete"), act("delete", t("Deleted")), { name: `Delete: ${one.text}`, sure }),
    ),
  );
}
