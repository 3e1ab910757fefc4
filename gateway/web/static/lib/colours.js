// @ts-check
// What colours code, by highlight.js. Loaded when the first block of code needs it.

import hljs from "highlight.js/lib/common";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import nginx from "highlight.js/lib/languages/nginx";
import powershell from "highlight.js/lib/languages/powershell";

hljs.registerLanguage("dockerfile", dockerfile);
hljs.registerLanguage("nginx", nginx);
hljs.registerLanguage("powershell", powershell);

/** @typedef {string | { scope?: string, children: Token[] }} Token */

/**
 * Nodes for code; null: nobody knows the language here.
 * @param {string} code
 * @param {string} language
 */
export function tokens(code, language) {
  if (!hljs.getLanguage(language)) return null;
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
  return nodes(
    /** @type {{ rootNode: { children: Token[] } }} */ (/** @type {unknown} */ (_emitter)).rootNode.children,
  );
}

/**
 * @param {Token[]} of
 * @returns {Array<Node | string>}
 */
const nodes = (of) =>
  of.flatMap((token) => {
    if (typeof token === "string") return [token];
    const inside = nodes(token.children);
    if (!token.scope) return inside;
    const span = document.createElement("span");
    span.className = `hl-${token.scope.split(".")[0]}`;
    span.append(...inside);
    return [span];
  });
