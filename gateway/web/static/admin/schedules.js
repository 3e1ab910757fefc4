// @ts-check
// What is asked again and again: when, where, and by whom it was set.

import * as api from "../lib/api.js";
import { action, empty, roomTitle, when } from "./parts.js";
import { confirmDialog } from "../lib/dialogs.js";
import { announce, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { phrase, t } from "../lib/i18n.js";

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
          ...phrase("Nothing is scheduled. In a room, {command} asks every working day.", {
            command: h("code", {}, "!every weekday 9:00 summarise yesterday"),
          }),
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
      text: t("@{persona} is not asked “{text}” any more.", { persona: one.persona, text: one.text }),
      yes: t("Delete"),
    });
  return h(
    "li",
    { class: "card", "data-acts": true },
    h(
      "div",
      { class: "row-head" },
      h("b", {}, one.when),
      one.paused ? h("span", { class: "tag" }, t("paused")) : null,
      one.configured ? h("span", { class: "tag" }, "moot.toml") : null,
      h(
        "span",
        { class: "row-end soft" },
        one.next_at
          ? h(
              "span",
              {},
              ...(one.once
                ? phrase("once, {time}", { time: when(one.next_at) })
                : phrase("next {time}", { time: when(one.next_at) })),
            )
          : t("no next run"),
      ),
    ),
    h("p", { class: "card-title" }, one.text),
    h(
      "p",
      { class: "row-about" },
      [
        t("{persona} in {room}", { persona: `@${one.persona}`, room: place }),
        t("by {name}", { name: one.by.name }),
        one.timezone,
      ].join(" · "),
      one.ran_at ? h("span", {}, " · ", ...phrase("last ran {time}", { time: when(one.ran_at) })) : "",
    ),
    one.why ? h("p", { class: "row-about" }, one.why) : null,
    h(
      "div",
      { class: "card-buttons" },
      one.paused
        ? action(`rest-${one.id}`, t("Go on"), act("resume", t("It goes on")), {
            name: t("Go on: {what}", { what: one.text }),
          })
        : action(`rest-${one.id}`, t("Pause"), act("pause", t("Paused")), {
            name: t("Pause: {what}", { what: one.text }),
          }),
      one.configured
        ? null
        : action(`delete-${one.id}`, t("Delete"), act("delete", t("Deleted")), {
            name: t("Delete: {what}", { what: one.text }),
            sure,
          }),
    ),
  );
}
