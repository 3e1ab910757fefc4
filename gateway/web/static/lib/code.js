// @ts-check
// Blocks of code: their language, a button that copies them, and their colours.

import { diagram } from "./diagram.js";
import { copyButton, h } from "./dom.js";
import { t } from "./i18n.js";
import { library } from "./later.js";

const LONGEST = 60_000; // characters; what is longer stays plain
const DIFF = /^(?:diff --git |--- \S.*\n\+\+\+ \S)/;
const colours = library(() => import("./colours.js"));

/**
 * @param {string} code
 * @param {string} language as the fence names it, or ""
 */
export function codeBlock(code, language) {
  const shown = h("code", {}, code);
  const diff = /^(?:diff|patch)$/i.test(language) || (!language && DIFF.test(code));
  if (diff) shown.replaceChildren(...diffLines(code));
  else if (language && code.length <= LONGEST) {
    colours(({ tokens }) => {
      const made = tokens(code, language.toLowerCase());
      if (made) shown.replaceChildren(...made);
    });
  }
  const head = h("div", { class: "code-head" }, h("span", {}, language || (diff ? "diff" : "text")), copyButton(code));
  const label = language ? t("Code, {language}", { language }) : t("Code");
  const body = h("pre", { tabindex: "0", role: "group", "aria-label": label }, shown);
  const block = h("div", { class: diff ? "code patch" : "code" }, head, body);
  return language === "mermaid" ? diagram(code, block) : block;
}

/**
 * The lines of a diff, each with what becomes of it.
 * @param {string} code
 */
function diffLines(code) {
  let inside = false;
  const lines = code.split("\n");
  return lines.map((line, index) => {
    if (line.startsWith("diff ")) inside = false;
    if (line.startsWith("@@")) inside = true;
    const head = !inside && /^(?:\+\+\+ |--- |diff |index |(?:new|deleted) file |rename |similarity )/.test(line);
    const kinds = /** @type {Record<string, string>} */ ({ "+": "added", "-": "removed", "@": "hunk" });
    return h(
      "span",
      { class: head ? "hunk" : (kinds[line[0]] ?? null) },
      line + (index < lines.length - 1 ? "\n" : ""),
    );
  });
}
