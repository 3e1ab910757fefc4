// @ts-check
// Where a link of Markdown leads: an address in parentheses, or one that a label stands for.

export const PUNCTUATION = /[!-/:-@[-`{-~]/;
const LONGEST_URL = 2_100;
export const LONGEST_LABEL = 1_000;
export const LABEL = /\[((?:[^[\]\\]|\\[^]){0,999})\]/y;
const GAP = /[ \t]*\n?[ \t]*/y; // at most one line's end
const REST = /[ \t]*/y;
const BLANKS = /[ \t\n]*/y;
const ANGLED = /<(?:[^<>\n\\]|\\[^\n]){0,2000}>/y;
const TITLE = /"(?:[^"\\]|\\[^]){0,300}"|'(?:[^'\\]|\\[^]){0,300}'|\((?:[^()\\]|\\[^]){0,300}\)/y;
const ESCAPED = /\\([!-/:-@[-`{-~])/g;

/**
 * A link that may be followed, or null.
 * @param {string} text
 */
export function safeUrl(text) {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * `[label]: address "title"` at the beginning of a text: its label, its address and where it ends; null: none is there.
 * @param {string} text
 */
export function definition(text) {
  LABEL.lastIndex = 0;
  const label = LABEL.exec(text)?.[1];
  if (!label?.trim() || text[LABEL.lastIndex] !== ":") return null;
  const start = after(GAP, text, LABEL.lastIndex + 1);
  const { url: raw, end: stop } = addressAt(text, start);
  const url = safeUrl(raw);
  const next = after(GAP, text, stop);
  const titled = next > stop ? after(TITLE, text, next) : stop;
  const end = [titled, stop].map((at) => after(REST, text, at)).find((at) => at >= text.length || text[at] === "\n");
  return url && end ? { label: known(label), url, end } : null;
}

/**
 * A label as it is looked up: case and blanks do not count.
 * @param {string} label
 */
export const known = (label) => label.trim().replace(/\s+/g, " ").toLowerCase().toUpperCase();

/**
 * `(address "title")` from a position: its address and where it ends, or null.
 * @param {string} text
 * @param {number} from
 */
export function destination(text, from) {
  if (text[from] !== "(") return null;
  const { url, end: stop } = addressAt(text, after(BLANKS, text, from + 1));
  const next = after(BLANKS, text, stop);
  const end = next > stop ? after(BLANKS, text, after(TITLE, text, next)) : next;
  return text[end] === ")" ? { url, end: end + 1 } : null;
}

/**
 * An address, between angle brackets or not, and where it ends.
 * @param {string} text
 * @param {number} from
 */
function addressAt(text, from) {
  const angled = text[from] === "<";
  const end = angled ? after(ANGLED, text, from) : balanced(text, from);
  const raw = angled ? text.slice(from + 1, end - 1) : text.slice(from, end);
  return { url: raw.replace(ESCAPED, "$1"), end };
}

/**
 * Where a sticky pattern ends that may begin here: here, if it does not.
 * @param {RegExp} pattern
 * @param {string} text
 * @param {number} at
 */
function after(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/**
 * Where an address without angle brackets ends: before a blank, or a bracket that none in it has opened.
 * @param {string} text
 * @param {number} from
 */
function balanced(text, from) {
  let depth = 0;
  let at = from;
  for (const limit = Math.min(text.length, from + LONGEST_URL); at < limit; at += 1) {
    const character = text[at];
    if (character === "\\" && PUNCTUATION.test(text[at + 1] ?? "")) at += 1;
    else if (character === "(") depth += 1;
    else if (/[ \t\n]/.test(character) || (character === ")" && depth-- === 0)) break;
  }
  return at;
}
