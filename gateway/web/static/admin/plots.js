// @ts-check
// Where people would rather look: days of turns, times, tokens, and facts.

import * as api from "../lib/api.js";
import { address, money, short } from "./parts.js";
import { h } from "../lib/dom.js";
import { plot } from "../lib/plots.js";
import { duration } from "../lib/words.js";
import { t } from "../lib/i18n.js";

const DAYS = ["7", "14", "30", "90"];

/** @type {Page.Section} */
export const plots = {
  name: "plots",
  title: t("Plots"),
  hears: new Set(["hello", "reload"]),
  load: ({ query }) => api.get(`/api/admin/statistics?days=${DAYS.includes(query.days) ? query.days : 14}`),
  /**
   * @param {Api.DaysView} given
   * @param {Page.Context} given
   */
  draw({ days }, { query }) {
    const names = days.map((day) => day.day);
    const personas = [...new Set(days.flatMap((day) => day.spent.map((spent) => spent.persona)))].sort();
    /**
     * @param {Api.DayView} day
     * @param {string} persona
     */
    const spent = (day, persona) => day.spent.find((one) => one.persona === persona);
    /** @param {Api.SpentView | undefined} one */
    const tokens = (one) => (one ? one.input_tokens + one.output_tokens : 0);
    /** @param {string} name */
    const state = (name) => days.map((day) => day.turns[name] ?? 0);
    const costs = personas.map((persona) => ({
      name: `@${persona}`,
      values: days.map((day) => spent(day, persona)?.cost_usd ?? 0),
    }));
    return [
      h(
        "nav",
        { class: "choices", "aria-label": t("How many days") },
        ...DAYS.map((days) =>
          h(
            "a",
            {
              class: "choice",
              href: address("plots", { days }),
              "data-key": `days-${days}`,
              "aria-current": days === (query.days ?? "14") ? "true" : null,
            },
            t("{n} days", { n: days }),
          ),
        ),
      ),
      h(
        "div",
        { class: "plots" },
        plot({
          title: t("Turns a day"),
          days: names,
          kind: "bars",
          format: short,
          series: [
            { name: t("answered"), values: state("posted"), css: "turn-posted" },
            { name: t("stopped"), values: state("stopped"), css: "turn-stopped" },
            { name: t("failed"), values: state("failed"), css: "turn-failed" },
          ],
        }),
        plot({
          title: t("Time to an answer"),
          about: t(
            "From the question to the posted answer. Half of them were faster than p50, one in twenty slower than p95.",
          ),
          days: names,
          kind: "lines",
          format: duration,
          series: [
            { name: "p50", values: days.map((day) => day.p50_ms) },
            { name: "p95", values: days.map((day) => day.p95_ms) },
          ],
        }),
        plot({
          title: t("Tokens a day"),
          about: t("Where the agent tells."),
          days: names,
          kind: "bars",
          format: short,
          series: personas.map((persona) => ({
            name: `@${persona}`,
            values: days.map((day) => tokens(spent(day, persona))),
          })),
        }),
        plot({
          title: t("Cost a day"),
          about: t("US dollars, where a price is known."),
          days: names,
          kind: "bars",
          format: (usd) => (usd ? money(usd) : "$0"),
          series: costs,
        }),
        plot({
          title: t("Facts in memory"),
          days: names,
          kind: "lines",
          format: short,
          series: [{ name: t("facts"), values: days.map((day) => day.facts) }],
        }),
      ),
    ];
  },
};
