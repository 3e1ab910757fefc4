// @ts-check
// What draws formulas, by KaTeX with its fonts. Loaded when the first formula needs it.

import katex from "katex";
import sheet from "katex/dist/katex.css?sheet";
import { styled } from "./sheets.js";

await styled(sheet);

/** A formula that would lead somewhere, or load something, stands as its source. @returns {boolean} */
function refuse() {
  throw new Error("a formula only draws");
}

/**
 * A formula drawn, for eyes and, as MathML, for screen readers. Raises what KaTeX can't read.
 * @param {string} formula
 * @param {boolean} block
 */
export function drawing(formula, block) {
  const made = document.createElement("span");
  katex.render(formula, made, {
    displayMode: block,
    trust: refuse,
    strict: "ignore",
    maxSize: 20, // em
    maxExpand: 300, // macros
  });
  return made;
}
