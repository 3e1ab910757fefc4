// @ts-check
// Inline Markdown to DOM nodes: code, emphasis, links, mentions. Never HTML.

import { h } from "./dom.js";
import { formulaAt } from "./maths.js";
import { ownFile, picture } from "./picture.js";
import { tokenAt } from "./tokens.js";
import { LABEL, LONGEST_LABEL, PUNCTUATION, destination, known, safeUrl } from "./links.js";

const SPACE = /[\s\u00a0]/;
const PUNCT = /[\p{P}\p{S}]/u;
const WORD = /[\p{L}\p{N}_]/u;
const ADDRESS = /https?:\/\/[^\s<>"`]{1,2000}/iy;
const MENTION = /@[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,80}[\p{L}\p{N}_])?/uy;
const MOST_DELIMITERS = 2_000; // more than this is not prose; matching them is quadratic

/**
 * A run of `*`, `_` or `~`: `count` of its `length` marks are left.
 * @typedef {{ mark: string, count: number, length: number, opens: boolean, closes: boolean }} Delimiter
 * @typedef {Node | Delimiter} Part
 * @typedef {import("./tokens.js").Mentions} Mentions
 * @typedef {{ mentions: Mentions, links: Links, notes: import("./footnotes.js").Notes }} Names what a text may name
 * @typedef {Map<string, string>} Links addresses by the labels that a text defines for them
 */

/**
 * @param {string} url
 * @param {...Page.Child} children
 */
export function link(url, ...children) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/**
 * Nodes for a stretch of text.
 * @param {string} text
 * @param {Names} names
 */
export function inline(text, names) {
  return new Inline(text, names).nodes();
}

class Inline {
  /**
   * @param {string} text
   * @param {Names} names
   */
  constructor(text, { mentions, links, notes }) {
    this.text = text;
    this.mentions = mentions;
    this.links = links;
    this.notes = notes;
    this.at = 0;
    this.plain = ""; // text that is not among the parts yet
    /** @type {Part[]} */
    this.parts = [];
    // Those that are open. index: among the parts; from: of their words; inside: a link stands in them already.
    /** @type {Array<{ index: number, from: number, image: boolean, inside: boolean }>} */
    this.brackets = [];
    /** @type {Set<number>} */
    this.unclosed = new Set(); // lengths of backtick runs that no later run closes
  }

  nodes() {
    while (this.at < this.text.length) {
      if (this.special(this.text[this.at])) continue;
      this.plain += this.text[this.at];
      this.at += 1;
    }
    this.flush();
    emphasise(this.parts);
    return this.parts.map(toNode);
  }

  /**
   * Take what stands at `at`; false for an ordinary character.
   * @param {string} character
   */
  special(character) {
    switch (character) {
      case "\\":
        return this.formula() || this.escape();
      case "$":
        return this.formula();
      case "`":
        return this.code();
      case "*":
      case "_":
      case "~":
        return this.delimiter(character);
      case "[":
        return this.note() || this.open(false);
      case "!":
        return this.text[this.at + 1] === "[" && this.open(true);
      case "]":
        return this.close();
      case "<":
        return this.token() || this.angle();
      case "h":
      case "H":
        return this.address();
      case "@":
        return this.mention();
      case "\n":
        return this.newline(1);
      default:
        return false;
    }
  }

  flush() {
    if (this.plain) this.parts.push(document.createTextNode(this.plain));
    this.plain = "";
  }

  /** @param {Part} part */
  push(part) {
    this.flush();
    this.parts.push(part);
    return true;
  }

  formula() {
    const found = formulaAt(this.text, this.at);
    if (!found) return false;
    this.at = found.end;
    return this.push(found.node);
  }

  note() {
    const found = this.notes.at(this.text, this.at);
    if (!found) return false;
    this.at = found.end;
    return this.push(found.node);
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") return this.newline(2);
    if (next === undefined || !PUNCTUATION.test(next)) return false;
    this.at += 2;
    return this.push(document.createTextNode(next));
  }

  /** @param {number} length of what makes the break */
  newline(length) {
    this.at += length;
    this.plain = this.plain.trimEnd();
    return this.push(h("br"));
  }

  code() {
    const from = this.at;
    let to = from;
    while (this.text[to] === "`") to += 1;
    const length = to - from;
    const end = this.unclosed.has(length) ? -1 : this.run(to, length);
    this.at = to;
    if (end < 0) {
      this.unclosed.add(length);
      this.plain += "`".repeat(length);
      return true;
    }
    let inner = this.text.slice(to, end).replace(/\n/g, " ");
    if (inner.startsWith(" ") && inner.endsWith(" ") && inner.trim()) inner = inner.slice(1, -1);
    this.at = end + length;
    return this.push(h("code", {}, inner));
  }

  /**
   * Where the next run of exactly `length` backticks begins, or -1.
   * @param {number} from
   * @param {number} length
   */
  run(from, length) {
    let at = this.text.indexOf("`", from);
    while (at >= 0) {
      let end = at;
      while (this.text[end] === "`") end += 1;
      if (end - at === length) return at;
      at = this.text.indexOf("`", end);
    }
    return -1;
  }

  /** @param {string} mark */
  delimiter(mark) {
    let to = this.at;
    while (this.text[to] === mark) to += 1;
    const count = to - this.at;
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[to] ?? " ";
    this.at = to;
    if (mark === "~" && count !== 2) {
      this.plain += mark.repeat(count);
      return true;
    }
    const left = !SPACE.test(after) && (!PUNCT.test(after) || SPACE.test(before) || PUNCT.test(before));
    const right = !SPACE.test(before) && (!PUNCT.test(before) || SPACE.test(after) || PUNCT.test(after));
    const word = mark === "_";
    const opens = left && (!word || !right || PUNCT.test(before));
    const closes = right && (!word || !left || PUNCT.test(after));
    return this.push({ mark, count, length: count, opens, closes });
  }

  /** @param {boolean} image */
  open(image) {
    this.flush();
    this.at += image ? 2 : 1;
    this.brackets.push({ index: this.parts.length, from: this.at, image, inside: false });
    return this.push(document.createTextNode(image ? "![" : "["));
  }

  /** `]`: a link when a bracket is open and `(address)` follows, or a label that the text defines. */
  close() {
    const bracket = this.brackets.pop();
    if (!bracket || bracket.inside) return false;
    const target = destination(this.text, this.at + 1) ?? this.reference(bracket.from);
    const own = target && bracket.image ? ownFile(target.url) : null;
    const url = own ?? (target && safeUrl(target.url));
    if (!target || !url) return false;
    this.flush();
    const inner = this.parts.splice(bracket.index).slice(1);
    emphasise(inner);
    const words = inner.map(toNode).map(unlinked);
    if (own) this.parts.push(picture(own, words.map((word) => word.textContent).join("")));
    else this.parts.push(link(url, ...(words.length ? words : [url])));
    if (!bracket.image) this.closeOuter();
    this.at = target.end;
    return true;
  }

  /** No link in a link: the open brackets make none. Before one that is closed already, all are closed. */
  closeOuter() {
    for (let index = this.brackets.length - 1; index >= 0 && !this.brackets[index].inside; index -= 1)
      this.brackets[index].inside = !this.brackets[index].image;
  }

  /**
   * `[words][label]`, `[label][]` and `[label]`: where the label leads, and where it ends.
   * @param {number} from where the words begin
   */
  reference(from) {
    if (!this.links.size) return null;
    LABEL.lastIndex = this.at + 1;
    const label = LABEL.exec(this.text);
    const words = this.at - from < LONGEST_LABEL ? this.text.slice(from, this.at) : "";
    const url = this.links.get(known(label?.[1].trim() ? label[1] : words));
    return url === undefined ? null : { url, end: this.at + 1 + (label?.[0].length ?? 0) };
  }

  token() {
    const found = tokenAt(this.text, this.at, this.mentions);
    if (!found) return false;
    this.at = found.end;
    return this.push(h("span", { class: `mention ${found.kind}` }, found.shown));
  }

  angle() {
    const end = this.text.indexOf(">", this.at);
    if (end < 0 || end - this.at > 2_000) return false;
    const shown = this.text.slice(this.at + 1, end);
    const url = safeUrl(shown);
    if (url === null || SPACE.test(shown)) return false;
    this.at = end + 1;
    return this.push(link(url, shown));
  }

  /**
   * What a sticky pattern finds here, unless it stands inside a word.
   * @param {RegExp} pattern
   */
  found(pattern) {
    if (WORD.test(this.text[this.at - 1] ?? " ")) return null;
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0] ?? null;
  }

  mention() {
    const short = this.found(MENTION);
    const text = short && (this.longName() ?? short);
    const known = text && this.mentions.get(text.slice(1).toLowerCase());
    if (!known) return false;
    this.at += text.length;
    return this.push(h("span", { class: `mention ${known.kind}` }, text));
  }

  /** A mention of a name with blanks, as the map of names knows it. */
  longName() {
    for (const name of this.mentions.keys()) {
      if (!name.includes(" ")) continue;
      const text = this.text.slice(this.at, this.at + name.length + 1);
      const ends = !WORD.test(this.text[this.at + name.length + 1] ?? " ");
      if (ends && text.slice(1).toLowerCase() === name) return text;
    }
    return null;
  }

  /** A bare address without the punctuation that ends its sentence. */
  address() {
    let shown = this.found(ADDRESS);
    if (!shown) return false;
    if (this.brackets.length) shown = shown.split("]")[0];
    for (;;) {
      const last = shown[shown.length - 1];
      const loose = last === ")" && shown.split(")").length > shown.split("(").length;
      if (!loose && !/[.,;:!?'*_~\]]/.test(last)) break;
      shown = shown.slice(0, -1);
    }
    const url = safeUrl(shown);
    if (!url) return false;
    this.at += shown.length;
    return this.push(link(url, shown));
  }
}

/**
 * A link's words hold no link.
 * @param {Node} node
 */
function unlinked(node) {
  if (node.nodeName === "A") return document.createTextNode(node.textContent ?? "");
  if (node instanceof Element) for (const inner of node.querySelectorAll("a")) inner.replaceWith(...inner.childNodes);
  return node;
}

/**
 * @param {Part} part
 * @returns {Node}
 */
function toNode(part) {
  return part instanceof Node ? part : document.createTextNode(part.mark.repeat(part.count));
}

/**
 * Turn matching delimiters of `parts` into elements, in place, innermost first.
 * @param {Part[]} parts
 */
function emphasise(parts) {
  if (parts.filter((part) => !(part instanceof Node)).length > MOST_DELIMITERS) return;
  let at = 0;
  while (at < parts.length) {
    const closer = parts[at];
    if (closer instanceof Node || !closer.closes || closer.count === 0) {
      at += 1;
      continue;
    }
    const start = opener(parts, at, closer);
    if (start < 0) {
      at += 1;
      continue;
    }
    const opening = /** @type {Delimiter} */ (parts[start]);
    const strong = closer.mark === "~" || (opening.count >= 2 && closer.count >= 2);
    const used = strong ? 2 : 1;
    const tag = closer.mark === "~" ? "del" : strong ? "strong" : "em";
    const inner = parts.slice(start + 1, at).map(toNode);
    opening.count -= used;
    closer.count -= used;
    parts.splice(start + 1, at - start - 1, h(tag, {}, ...inner));
    at = start + 2;
    if (opening.count === 0) {
      parts.splice(start, 1);
      at -= 1;
    }
    if (closer.count === 0) parts.splice(at, 1);
  }
}

/**
 * Index of the delimiter that opens what `closer` closes (CommonMark's rule of three), or -1.
 * @param {Part[]} parts
 * @param {number} at
 * @param {Delimiter} closer
 */
function opener(parts, at, closer) {
  for (let index = at - 1; index >= 0; index -= 1) {
    const part = parts[index];
    if (part instanceof Node || part.mark !== closer.mark || !part.opens || part.count === 0) continue;
    const both = part.closes || closer.opens;
    const three = (part.length + closer.length) % 3 === 0;
    if (both && three && !(part.length % 3 === 0 && closer.length % 3 === 0)) continue;
    return index;
  }
  return -1;
}
