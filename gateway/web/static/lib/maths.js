// @ts-check
// Formulas in LaTeX. The rule of what is one is that of bots/markdown/parser.py.

import { h } from "./dom.js";
import { library } from "./later.js";

const tex = library(() => import("./tex.js"));

const FORMULA = new RegExp(
  [
    /\\\((?<inline>[^\n]{0,2000}?)\\\)/,
    /\\\[(?<bracketed>[^\n]{0,2000}?)\\\](?![([])/,
    /(?<!\$)\$\$(?<dollars>[^\n$]{1,2000})\$\$(?!\$)/,
  ]
    .map((form) => form.source)
    .join("|"),
  "y",
);
const SIGN = /[\^_=+<>{}|*/\u0370-\u03ff\u2190-\u22ff]|\\[A-Za-z,;]/;
const ESCAPE = /(?<!\\)\\[.*_#+()[~`<>=-]/;
const TERM = /^\s*[A-Za-z0-9.,'()-]+\s*$/;
/** @type {Record<string, string>} */
const CLOSERS = { "\\[": "\\]", $$: "$$" };

/** @param {string} text */
const isFormula = (text) => SIGN.test(text) && !ESCAPE.test(text);

/**
 * The formula that begins at a place of a line, and where it ends; null: none does.
 * @param {string} text
 * @param {number} at
 */
export function formulaAt(text, at) {
  FORMULA.lastIndex = at;
  const found = FORMULA.exec(text);
  if (!found?.groups) return null;
  const { inline, bracketed, dollars } = found.groups;
  const formula = inline ?? bracketed ?? dollars;
  if (!isFormula(formula) && !(inline !== undefined && TERM.test(inline))) return null;
  return { node: drawn(formula, found[0], inline === undefined), end: at + found[0].length };
}

/**
 * The formula on lines of its own that begins with a line, and the line behind it; null: none does.
 * @param {string[]} lines
 * @param {number} from
 */
export function formulaLines(lines, from) {
  const [first] = /^ {0,3}(?:\\\[|\$\$)/.exec(lines[from]) ?? [""];
  const closer = CLOSERS[first.trim()];
  if (!closer) return null;
  for (let to = from; to < lines.length && lines[to].trim(); to += 1) {
    const line = to === from ? lines[to].slice(first.length) : lines[to];
    if (ESCAPE.test(line)) return null; // as another `\[` is, from which the search begins again
    if (!line.includes(closer)) continue;
    const source = lines
      .slice(from, to + 1)
      .join("\n")
      .trim();
    const formula = source.slice(2, -2);
    if (!source.endsWith(closer) || !isFormula(formula)) return null;
    return { node: h("p", {}, drawn(formula, source, true)), end: to + 1 };
  }
  return null;
}

/**
 * A formula: its source until it is drawn, and where it can't be.
 * @param {string} formula
 * @param {string} source
 * @param {boolean} block
 */
function drawn(formula, source, block) {
  const shown = h("span", { class: block ? "formula block" : "formula", "data-tex": formula }, h("code", {}, source));
  tex(({ drawing }) => {
    try {
      shown.replaceChildren(drawing(formula, block));
    } catch {
      // it stands as its source
    }
  });
  return shown;
}
