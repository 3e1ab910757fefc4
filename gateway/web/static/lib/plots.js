// @ts-check
// Plots of some days: bars on bars, or lines; read by pointer, by arrow keys, and as a table.

import { h, s } from "./dom.js";
import { locale, t } from "./i18n.js";

/**
 * @typedef {"bars" | "lines"} PlotKind
 * @typedef {Required<Page.Series>} DrawnSeries
 */

const HEIGHT = 168;
const LEFT = 44; // at least: for the figures of the axis
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 24;
const COLOURS = 6; // then they repeat

const dayFormat = new Intl.DateTimeFormat(locale, {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});
const tickFormat = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
/** @param {string} day */
const dayName = (day) => dayFormat.format(new Date(`${day}T00:00:00Z`));

/**
 * A round number at or above the largest value.
 * @param {number} value
 */
export function ceiling(value) {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * unit).find((step) => step >= value) ?? value;
}

/**
 * A plot of `days` (ISO dates). Each of `series` has a name, a value a day (null: none), and may
 * have a class of its own. kind: "bars", one on the other, or "lines". `format` writes a value.
 * @param {object} given
 * @param {string} given.title
 * @param {string} [given.about]
 * @param {string[]} given.days
 * @param {Page.Series[]} given.series
 * @param {PlotKind} given.kind
 * @param {(value: number) => string} [given.format]
 */
export function plot({ title, about = "", days, series, kind, format = String }) {
  const named = series.map((one, index) => ({ ...one, css: one.css ?? `series-${index % COLOURS}` }));
  const known = named.some((one) => one.values.some((value) => value));
  const body = known
    ? new Plot(title, days, named, kind, format).elements()
    : [h("p", { class: "note plot-empty" }, t("Nothing to draw in these days."))];
  return h(
    "figure",
    { class: "plot" },
    h("figcaption", {}, h("h2", {}, title), about ? h("p", { class: "note" }, about) : null),
    ...body,
  );
}

class Plot {
  /**
   * @param {string} title
   * @param {string[]} days
   * @param {DrawnSeries[]} series
   * @param {PlotKind} kind
   * @param {(value: number) => string} format
   */
  constructor(title, days, series, kind, format) {
    this.title = title;
    this.days = days;
    this.series = series;
    this.kind = kind;
    this.format = format;
    this.width = 0;
    this.left = LEFT;
    this.at = days.length - 1;
    this.top = ceiling(
      Math.max(
        ...(kind === "bars" ? days.map((_, day) => this.sum(day)) : series.flatMap((one) => one.values.map(Number))),
      ),
    );
    this.canvas = s("svg", { class: "plot-canvas", "aria-hidden": "true", height: HEIGHT });
    this.area = h(
      "div",
      {
        class: "plot-area",
        role: "slider",
        tabindex: 0,
        "aria-label": t("{title}, by day", { title }),
        "aria-orientation": "horizontal",
        "aria-valuemin": 0,
        "aria-valuemax": days.length - 1,
      },
      this.canvas,
    );
    this.reading = h("p", { class: "plot-reading" });
    this.area.addEventListener("keydown", (event) => this.key(event));
    for (const type of /** @type {const} */ (["pointerdown", "pointermove"]))
      this.area.addEventListener(type, (event) => this.point(event));
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.area);
    this.read();
  }

  /** @param {number} day */
  sum(day) {
    return this.series.reduce((sum, one) => sum + (one.values[day] ?? 0), 0);
  }

  elements() {
    return [
      this.area,
      this.reading,
      h(
        "ul",
        { class: "legend", "aria-label": t("Colours") },
        ...this.series.map((one) => h("li", {}, swatch(one.css, this.kind), one.name)),
      ),
      this.table(),
    ];
  }

  table() {
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, t("Day")),
      ...this.series.map((one) => h("th", { scope: "col" }, one.name)),
    );
    const rows = this.days.map((day, index) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, dayName(day)),
        ...this.series.map((one) => h("td", {}, this.write(one.values[index]))),
      ),
    );
    return h(
      "details",
      { class: "fold", "data-key": `table-${this.title}` },
      h("summary", {}, t("As a table")),
      h(
        "div",
        {
          class: "table-wrap",
          tabindex: 0,
          role: "region",
          "aria-label": t("{title}, as a table", { title: this.title }),
        },
        h(
          "table",
          {},
          h("caption", { class: "sr-only" }, this.title),
          h("thead", {}, head),
          h("tbody", {}, ...rows.reverse()),
        ),
      ),
    );
  }

  /** @param {number | null | undefined} value */
  write(value) {
    return value === null || value === undefined ? "–" : this.format(value);
  }

  // ── Reading ───────────────────────────────────────────────────────────────────────────

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.days.length - 1;
    const to = {
      ArrowLeft: this.at - 1,
      ArrowDown: this.at - 1,
      ArrowRight: this.at + 1,
      ArrowUp: this.at + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.at = Math.max(0, Math.min(last, to));
    this.read();
  }

  /** @param {PointerEvent} event */
  point(event) {
    const box = this.area.getBoundingClientRect();
    const share = (event.clientX - box.left - this.left) / (box.width - this.left - RIGHT);
    this.at = Math.max(0, Math.min(this.days.length - 1, Math.floor(share * this.days.length)));
    this.read();
  }

  read() {
    const told = this.series
      .filter((one) => one.values[this.at] !== null && (one.values[this.at] || this.kind === "lines"))
      .map((one) => `${one.name} ${this.write(one.values[this.at])}`);
    const text = `${dayName(this.days[this.at])}: ${told.join(", ") || t("nothing")}`;
    this.reading.textContent = text;
    this.area.setAttribute("aria-valuenow", String(this.at));
    this.area.setAttribute("aria-valuetext", text);
    this.canvas.querySelector(".plot-cursor")?.setAttribute("x", String(this.x(this.at)));
  }

  // ── Drawing ───────────────────────────────────────────────────────────────────────────

  get step() {
    return Math.max(1, (this.width - this.left - RIGHT) / this.days.length);
  }

  /** @param {number} day */
  x(day) {
    return this.left + day * this.step;
  }

  /** @param {number} value */
  y(value) {
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / this.top);
  }

  draw() {
    this.width = this.area.clientWidth;
    if (!this.width) return;
    this.left = this.room();
    this.canvas.setAttribute("width", String(this.width));
    this.canvas.replaceChildren(
      s("rect", { class: "plot-cursor", x: this.x(this.at), y: TOP, width: this.step, height: HEIGHT - TOP - BOTTOM }),
      ...this.axes(),
      ...(this.kind === "bars" ? this.bars() : this.series.flatMap((one) => this.line(one))),
    );
  }

  /** What the widest figure of the axis takes, in pixels. */
  room() {
    const figures = this.figures.map((value) => s("text", { class: "plot-text" }, this.format(value)));
    this.canvas.replaceChildren(...figures);
    const widths = figures.map((figure) => /** @type {SVGTextElement} */ (figure).getComputedTextLength());
    return Math.max(LEFT, Math.ceil(Math.max(...widths)) + 8);
  }

  get figures() {
    return [0, this.top / 2, this.top];
  }

  axes() {
    const lines = this.figures.flatMap((value) => [
      s("line", { class: "plot-grid", x1: this.left, x2: this.width - RIGHT, y1: this.y(value), y2: this.y(value) }),
      s(
        "text",
        { class: "plot-text", x: this.left - 6, y: this.y(value) + 4, "text-anchor": "end" },
        this.format(value),
      ),
    ]);
    const every = Math.max(1, Math.ceil(64 / this.step));
    const ticks = this.days
      .map((day, index) => ({ day, index }))
      .filter(({ index }) => (this.days.length - 1 - index) % every === 0);
    return [
      ...lines,
      ...ticks.map(({ day, index }) =>
        s(
          "text",
          {
            class: "plot-text",
            x: Math.min(this.x(index) + this.step / 2, this.width - 20),
            y: HEIGHT - 6,
            "text-anchor": "middle",
          },
          tickFormat.format(new Date(`${day}T00:00:00Z`)),
        ),
      ),
    ];
  }

  bars() {
    const gap = Math.min(4, this.step * 0.2);
    return this.days.flatMap((_, day) => {
      let below = 0;
      return this.series
        .filter((one) => one.values[day])
        .map((one) => {
          const from = below;
          below += one.values[day] ?? 0;
          return s("rect", {
            class: `plot-bar ${one.css}`,
            x: this.x(day) + gap / 2,
            y: this.y(below),
            width: Math.max(1, this.step - gap),
            height: Math.max(0.5, this.y(from) - this.y(below)),
          });
        });
    });
  }

  /** @param {DrawnSeries} given */
  line({ values, css }) {
    const points = values.map((value, day) => (value === null ? null : [this.x(day) + this.step / 2, this.y(value)]));
    const path = points
      .map((point, day) => (point ? `${points[day - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : ""))
      .join("");
    return [
      s("path", { class: `plot-line ${css}`, d: path }),
      ...points
        .filter((point) => point !== null)
        .map(([x, y]) => s("circle", { class: `plot-dot ${css}`, cx: x, cy: y, r: 2.5 })),
    ];
  }
}

/**
 * @param {string} css
 * @param {PlotKind} kind
 */
function swatch(css, kind) {
  const svg = { class: "swatch", viewBox: "0 0 16 10", "aria-hidden": "true" };
  return kind === "bars"
    ? s("svg", svg, s("rect", { class: `plot-bar ${css}`, width: 16, height: 10, rx: 2 }))
    : s("svg", svg, s("path", { class: `plot-line ${css}`, d: "M0 5H16" }));
}
