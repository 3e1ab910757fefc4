// @ts-check
// One persona's file: checked as it is written, tried, saved, deleted, rolled back.

import * as api from "../lib/api.js";

import { announce, h } from "../lib/dom.js";
import { state } from "../lib/store.js";
import { PersonaForm } from "./form.js";
import { TextSheet } from "./sheet.js";
import { header, sure, tabbed } from "./studio.js";
import { TryOut } from "./tryout.js";
import { diffView, Versions } from "./versions.js";
import { count, t } from "../lib/i18n.js";

const CHECK_MS = 250;
/** @type {"/api/personas/files"} */
export const FILES = "/api/personas/files";
const CHECK = "/api/personas/check";

/** @param {string} name */
const fresh = (name) =>
  `---\nagent: claude-code\ndescription: \n---\nYou are ${name.charAt(0).toUpperCase()}${name.slice(1)}.\n\n` +
  "## What you do\n\n## What you don't do\n\n## How you speak\n\n## With whom\n";

export class Editor {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    this.path = `${FILES}/${name}`;
    this.saved = "";
    this.base = "";
    this.checks = 0;
    this.timer = 0;
    this.left = false; // somebody goes away without saving
    /** @type {Api.VersionView | null} */
    this.version = null;
    this.broken = false;
    this.sheet = new TextSheet({
      label: t("The file of @{name}", { name }),
      describedBy: "findings-count",
      onInput: () => this.typed(),
    });
    this.form = new PersonaForm((key, value) => this.rewrite({ key, value }));
    this.tryOut = new TryOut(() => ({ name, text: this.sheet.value }));
    this.versions = new Versions(
      () => this.path,
      (number) => this.askBack(number),
    );
    this.state = h("p", { id: "studio-state", role: "status" });
    this.save = h("button", { type: "button", class: "button primary", on: { click: () => this.store() } }, t("Save"));
    this.drop = h(
      "button",
      { type: "button", class: "button quiet", on: { click: () => this.askDelete() } },
      t("Delete"),
    );
    this.notice = h("div", { class: "studio-notice", role: "alert" });
    this.count = h("p", { class: "findings-count", id: "findings-count", role: "status", "aria-live": "polite" });
    this.list = h("ul", { class: "findings" });
    const paper = h(
      "section",
      { class: "paper", "aria-label": t("The file") },
      this.notice,
      this.form.element,
      h("div", { class: "sheet-box" }, this.sheet.element),
      h("div", { class: "findings-box" }, this.count, this.list),
    );
    this.elements = [
      header(`@${name}`, this.state, { href: "#personas", label: t("Personas") }, this.drop, this.save),
      h(
        "div",
        { class: "bench" },
        paper,
        tabbed([
          [t("Try it"), this.tryOut.element],
          [t("History"), this.versions.element],
        ]),
      ),
    ];
    paper.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
        event.preventDefault();
        this.store();
      }
    });
  }

  /** Is there something to save? */
  get dirty() {
    return !this.left && this.sheet.value !== this.saved;
  }

  async load() {
    try {
      const { personas, agents } = await api.get(FILES);
      this.form.offer(agents);
      if (personas.some(({ name }) => name === this.name)) {
        this.take(await api.get(this.path));
        this.versions.refresh();
      } else {
        this.begin();
      }
    } catch (error) {
      this.say(error.message);
      return;
    }
    this.tryIt();
  }

  begin() {
    this.versions.none();
    this.sheet.value = fresh(this.name);
    this.drop.hidden = true;
    this.typed();
  }

  tryIt() {
    if (this.broken || !this.sheet.value.trim()) this.tryOut.wait();
    else this.tryOut.preview();
  }

  /** @param {Api.PersonaSheet} given */
  take({ text, base, findings, values, state: how, version }) {
    this.saved = how === "deleted" ? "" : text;
    this.base = base;
    this.version = version;
    this.drop.hidden = how === "deleted";
    this.sheet.value = text;
    this.notice.replaceChildren();
    if (how === "deleted") this.say(t("This persona was deleted. Save it, or roll it back, to have it again."));
    this.show(findings);
    this.form.show(values, findings);
    this.drawState();
  }

  drawState() {
    const number = this.version ? t("version {n}", { n: this.version.number }) : t("new");
    this.state.textContent = this.dirty ? `${number} · ${t("not saved")}` : number;
    this.save.disabled = !this.dirty;
  }

  /** @param {...Page.Child} content */
  say(...content) {
    this.notice.replaceChildren(h("div", { class: "notice" }, ...content));
  }

  // ── As it is written ────────────────────────────────────────────────────────────────────

  typed() {
    this.drawState();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), CHECK_MS);
  }

  async check() {
    const mine = ++this.checks;
    try {
      const told = await api.post(CHECK, { name: this.name, text: this.sheet.value });
      if (mine === this.checks) this.checked(told);
    } catch (error) {
      if (mine === this.checks) this.count.textContent = error.message;
    }
  }

  /** @param {Api.PersonaChecked} told */
  checked({ findings, values, usable }) {
    this.show(findings);
    this.form.show(values, findings);
    this.broken = !usable;
    if (usable) this.tryOut.soon();
    else this.tryOut.wait();
  }

  /**
   * A field was changed: so is its key in the text, and nothing else.
   * @param {{ key: string, value: string }} change
   * @returns {Promise<void>}
   */
  async rewrite(change) {
    const text = this.sheet.value;
    /** @type {Api.PersonaChecked} */
    const told = await api.post(CHECK, { name: this.name, text, change });
    if (this.sheet.value !== text) return this.rewrite(change); // written in the meantime
    clearTimeout(this.timer);
    this.checks += 1;
    if (told.text !== undefined && told.text !== text) this.sheet.value = told.text;
    this.drawState();
    this.checked(told);
  }

  /** @param {Api.FindingView[]} findings */
  show(findings) {
    const errors = findings.filter(({ severity }) => severity === "error").length;
    this.broken = errors > 0;
    const counted = [
      errors && count(errors, "{n} error", "{n} errors"),
      findings.length - errors && count(findings.length - errors, "{n} warning", "{n} warnings"),
    ].filter(Boolean);
    const told = counted.join(", ") || t("Nothing to fix");
    if (this.count.textContent !== told) this.count.textContent = told;
    this.sheet.mark(findings);
    this.list.replaceChildren(
      ...findings.map((finding) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: `finding ${finding.severity}`, on: { click: () => this.sheet.select(finding) } },
            h("span", { class: "finding-line" }, t("Line {n}", { n: finding.line })),
            h(
              "span",
              {},
              h("span", { class: "sr-only" }, `${finding.severity === "error" ? t("Error") : t("Warning")}: `),
              finding.message,
              finding.suggestion ? h("span", { class: "finding-help" }, ` ${finding.suggestion}`) : null,
            ),
          ),
        ),
      ),
    );
  }

  // ── Saved, deleted, rolled back ─────────────────────────────────────────────────────────

  async store() {
    await this.form.last;
    if (!this.dirty) return;
    const text = this.sheet.value;
    await this.change(
      () => api.put(this.path, { text, base: this.base, by: this.by() }),
      t("Saved. The next turn uses it."),
    );
  }

  by() {
    return { id: state.me?.id ?? "", name: state.me?.name ?? "" };
  }

  askDelete() {
    sure({
      title: t("Delete @{name}?", { name: this.name }),
      text: t("Nobody can ask it any more. Its history stays: you can roll it back."),
      yes: t("Delete"),
      onYes: () => this.change(() => api.remove(this.path, { base: this.base, by: this.by() }), t("Deleted.")),
    });
  }

  /** @param {number} number */
  askBack(number) {
    const lost = this.dirty ? ` ${t("Your unsaved changes would be lost.")}` : "";
    sure({
      title: t("Roll back to version {n}?", { n: number }),
      text: t("The file gets that text again, as a new version.") + lost,
      yes: t("Roll back"),
      onYes: () =>
        this.change(
          () => api.post(`${this.path}/rollback`, { number, by: this.by() }),
          t("Rolled back to version {n}.", { n: number }),
        ),
    });
  }

  /**
   * @param {() => Promise<Api.PersonaSheet>} work
   * @param {string} told
   */
  async change(work, told) {
    this.save.disabled = true;
    const typed = this.sheet.value;
    try {
      const sheet = await work();
      const more = this.sheet.value !== typed ? this.sheet.value : null; // written while it was saved
      this.take(sheet);
      if (more !== null) {
        this.sheet.value = more;
        this.typed();
      }
      announce(told);
      this.tryIt();
      await this.versions.refresh();
      if (document.activeElement === document.body) this.sheet.area.focus({ preventScroll: true });
    } catch (error) {
      if (error.body?.findings) this.show(error.body.findings);
      if (error.status === 409 && error.body?.base !== undefined) this.conflict(error.body);
      else this.say(error.message);
      this.drawState();
    }
  }

  /** @param {Api.Conflict} given */
  conflict({ text, base, diff }) {
    const theirs = h(
      "button",
      { type: "button", class: "button" },
      text === null ? t("Leave it deleted") : t("Take the file's text"),
    );
    const mine = h("button", { type: "button", class: "button" }, t("Keep mine"));
    theirs.addEventListener("click", () => {
      this.left = false;
      this.load();
    });
    mine.addEventListener("click", () => {
      this.base = base;
      this.notice.replaceChildren();
      this.store();
    });
    this.say(
      h(
        "p",
        {},
        h(
          "b",
          {},
          text === null ? t("The file was deleted since you began.") : t("The file was changed since you began."),
        ),
        ` ${t("Nothing was saved. What your text would change in it:")}`,
      ),
      diffView(diff),
      h("div", { class: "notice-buttons" }, theirs, mine),
    );
  }

  get shown() {
    return this.sheet.element.isConnected;
  }

  /** Another change than ours is shown, unless somebody writes: then saving tells of it. */
  async changedElsewhere() {
    if (this.dirty || this.left) return;
    try {
      const sheet = await api.get(this.path);
      if (!this.shown || this.dirty || sheet.base === this.base) return;
      this.take(sheet);
      this.versions.refresh();
    } catch (error) {
      if (this.shown) this.say(error.message);
    }
  }
}
