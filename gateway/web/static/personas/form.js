// @ts-check
// Fields for keys of a persona's front matter. The text beside them stays what is saved.

import { announce, h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";

/** @typedef {keyof Api.PersonaValues} Key */
/** @typedef {HTMLInputElement | HTMLSelectElement} Control */

/** @type {() => Array<[string, string]>} */
const sandboxes = () => [
  ["", t("as its agent has it")],
  ["auto", t("auto: where one can be made")],
  ["on", t("on: never without one")],
  ["off", t("off")],
];

export class PersonaForm {
  /**
   * onChange is called with each value that somebody chooses or types; its promise ends when the text has it.
   * @param {(key: Key, value: string) => Promise<void>} onChange
   */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Api.AgentChoiceView[]} */
    this.agents = [];
    /** @type {Api.PersonaValues | null} */
    this.values = null;
    /** @type {Map<Key, string>} */
    this.waiting = new Map(); // changes that the text has not yet
    this.last = Promise.resolve(); // the end of what waits
    this.models = h("datalist", { id: "persona-models" });
    this.folders = h("datalist", { id: "persona-folders" });
    this.hint = h("p", { class: "note persona-hint" });
    /** @type {Record<Key, Control>} */
    this.controls = {
      agent: h("select", {}),
      model: h("input", { list: "persona-models", maxlength: 128 }),
      workspace: h("input", { list: "persona-folders", maxlength: 4000 }),
      sandbox: h("select", {}),
      description: h("input", { maxlength: 1000 }),
    };
    this.element = h(
      "div",
      { class: "persona-form", role: "group", "aria-label": t("Fields of the file") },
      this.field("agent", t("Agent")),
      this.field("model", t("Model")),
      this.field("workspace", t("Workspace")),
      this.field("sandbox", t("Sandbox")),
      this.field("description", t("Description")),
      this.hint,
      this.models,
      this.folders,
    );
  }

  /**
   * @param {Key} key
   * @param {string} label
   */
  field(key, label) {
    const control = this.controls[key];
    control.id = `persona-${key}`;
    control.className = "field";
    control.autocomplete = "off";
    control.spellcheck = key === "description";
    control.setAttribute("aria-describedby", `persona-${key}-fault`);
    control.addEventListener("input", () => this.changed(key));
    control.addEventListener("blur", () => this.draw());
    return h(
      "div",
      { class: `persona-field ${key}` },
      h("label", { for: control.id }, label),
      control,
      h("p", { class: "failure field-fault", id: `persona-${key}-fault`, hidden: true }),
    );
  }

  /** @param {Key} key */
  changed(key) {
    const value = this.controls[key].value.trim();
    this.waiting.set(key, value);
    this.last = this.last.then(async () => {
      if (this.waiting.get(key) !== value) return; // a newer one follows
      try {
        await this.onChange(key, value);
      } catch (error) {
        this.tell(key, error.message);
        announce(error.message);
      }
      if (this.waiting.get(key) === value) this.waiting.delete(key);
      this.draw();
    });
  }

  /** @param {Api.AgentChoiceView[]} agents */
  offer(agents) {
    this.agents = agents;
    this.draw();
  }

  /**
   * Show what the text says now.
   * @param {Api.PersonaValues} values
   * @param {Api.FindingView[]} findings
   */
  show(values, findings) {
    this.values = values;
    this.draw();
    for (const key of /** @type {Key[]} */ (Object.keys(this.controls))) this.tell(key, faultOf(findings, key));
  }

  /** What somebody is writing, and what the text has not yet, stays. */
  draw() {
    const { values } = this;
    if (!values) return;
    const agent = this.agents.find(({ name }) => name === values.agent);
    this.drawChoices(values, agent);
    for (const key of /** @type {Key[]} */ (Object.keys(this.controls))) {
      const control = this.controls[key];
      control.disabled = values[key] === null && document.activeElement !== control;
      const typing = control instanceof HTMLInputElement && document.activeElement === control;
      if (!typing && !this.waiting.has(key)) control.value = values[key] ?? "";
    }
    const hints = [
      agent && !agent.installed ? t("{agent} is not installed on this machine.", { agent: agent.title }) : "",
      agent && !agent.takes_model ? t("{agent} takes no model's name.", { agent: agent.title }) : "",
      Object.values(values).includes(null) ? t("What a field can't show is changed in the text.") : "",
    ];
    this.hint.textContent = hints.filter(Boolean).join(" ");
    this.hint.hidden = !this.hint.textContent;
  }

  /**
   * @param {Api.PersonaValues} values
   * @param {Api.AgentChoiceView | undefined} agent
   */
  drawChoices(values, agent) {
    options(
      this.controls.agent,
      this.agents.map(({ name, title, installed }) => [
        name,
        installed ? `${title} (${name})` : t("{agent} ({name}), not installed", { agent: title, name }),
      ]),
      values.agent ?? "",
    );
    options(this.controls.sandbox, sandboxes(), values.sandbox ?? "");
    options(this.models, agent?.models.map((model) => [model, ""]) ?? []);
    options(this.folders, agent?.folders.map(({ path, name }) => [path, name]) ?? []);
    this.controls.model.setAttribute("placeholder", t("its agent's own"));
    this.controls.workspace.setAttribute("placeholder", agent?.workspace || t("one of its own for each room"));
  }

  /**
   * Say what is wrong beside the field; "": nothing.
   * @param {Key} key
   * @param {string} fault
   */
  tell(key, fault) {
    const said = /** @type {HTMLElement} */ (this.element.querySelector(`#persona-${key}-fault`));
    said.textContent = fault;
    said.hidden = !fault;
    this.controls[key].setAttribute("aria-invalid", String(Boolean(fault)));
  }
}

/**
 * What is wrong with a key, without its name.
 * @param {Api.FindingView[]} findings
 * @param {Key} key
 */
function faultOf(findings, key) {
  const found = findings.find((one) => one.key === key && one.severity === "error");
  return found ? found.message.replace(`${key}: `, "") : "";
}

/**
 * Offer values, each with its words; one that stands in the text is always among them.
 * @param {Element} list
 * @param {Array<[string, string]>} wanted
 * @param {string | null} [given]
 */
function options(list, wanted, given = null) {
  const all = given === null || wanted.some(([value]) => value === given) ? wanted : [[given, given], ...wanted];
  const drawn = JSON.stringify(all);
  if (list.getAttribute("data-drawn") === drawn) return; // a list that is open stays so
  list.setAttribute("data-drawn", drawn);
  list.replaceChildren(...all.map(([value, words]) => h("option", { value }, words || null)));
}
