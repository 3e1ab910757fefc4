// @ts-check
// Inline Markdown to DOM nodes: code, emphasis, links, mentions. Never HTML.

import { h } from "./dom.js";

const PUNCTUATION = /[!-/:-@[-`{-~]/;
const SPACE = /[\s\u00a0]/;
const PUNCT = /[\p{P}\p{S}]/u;
const WORD = /[\p{L}\p{N}_]/u;
const ADDRESS = /https?:\/\/[^\s<>"`]{1,2000}/iy;
const MENTION = /@[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,80}[\p{L}\p{N}_])?/uy;
const MOST_DELIMITERS = 2_000; // more than this is not prose; matching them is quadratic
const DEEPEST = 8;

/** A link that may be followed, or null. */
export function safeUrl(text) {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

export function link(url, ...children) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/** Nodes for a stretch of text. `mentions` is a Map of lower-case names to a class. */
export function inline(text, mentions = new Map(), depth = 0) {
  return new Inline(text, mentions, depth).nodes();
}

class Inline {
  constructor(text, mentions, depth) {
    this.text = text;
    this.mentions = mentions;
    this.depth = depth;
    this.at = 0;
    this.parts = []; // strings, Nodes, and delimiters { mark, count, opens, closes }
    this.brackets = []; // { index into parts, image }
    this.unclosed = new Set(); // lengths of backtick runs that no later run closes
  }

  nodes() {
    let plain = "";
    const flush = () => {
      if (plain) this.parts.push(document.createTextNode(plain));
      plain = "";
    };
    while (this.at < this.text.length) {
      const before = this.at;
      const character = this.text[this.at];
      const made = this.special(character, flush);
      if (made === undefined) {
        plain += character;
        this.at = before + 1;
      } else if (typeof made === "string") {
        plain += made;
      }
    }
    flush();
    emphasise(this.parts, 0);
    return this.parts.map(toNode);
  }

  /** Take what stands at `at`: undefined for an ordinary character, text, or true when pushed. */
  special(character, flush) {
    switch (character) {
      case "\\":
        return this.escape(flush);
      case "`":
        return this.code(flush);
      case "*":
      case "_":
      case "~":
        return this.delimiter(character, flush);
      case "[":
        return this.open(false, flush);
      case "!":
        return this.text[this.at + 1] === "[" ? this.open(true, flush) : undefined;
      case "]":
        return this.close(flush);
      case "<":
        return this.angle(flush);
      case "h":
      case "H":
        return this.address(flush);
      case "@":
        return this.mention(flush);
      case "\n":
        return this.newline(flush);
      default:
        return undefined;
    }
  }

  push(flush, part) {
    flush();
    this.parts.push(part);
    return true;
  }

  escape(flush) {
    const next = this.text[this.at + 1];
    if (next === "\n") {
      this.at += 2;
      return this.push(flush, h("br"));
    }
    if (next === undefined || !PUNCTUATION.test(next)) return undefined;
    this.at += 2;
    return this.push(flush, document.createTextNode(next));
  }

  newline(flush) {
    this.at += 1;
    return this.push(flush, h("br"));
  }

  code(flush) {
    const from = this.at;
    let to = from;
    while (this.text[to] === "`") to += 1;
    const length = to - from;
    const end = this.unclosed.has(length) ? -1 : this.run(to, length);
    this.at = to;
    if (end < 0) {
      this.unclosed.add(length);
      return "`".repeat(length);
    }
    let inner = this.text.slice(to, end).replace(/\n/g, " ");
    if (inner.startsWith(" ") && inner.endsWith(" ") && inner.trim()) inner = inner.slice(1, -1);
    this.at = end + length;
    return this.push(flush, h("code", {}, inner));
  }

  /** Where the next run of exactly `length` backticks begins, or -1. */
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

  delimiter(mark, flush) {
    let to = this.at;
    while (this.text[to] === mark) to += 1;
    const count = to - this.at;
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[to] ?? " ";
    this.at = to;
    if (mark === "~" && count !== 2) return mark.repeat(count);
    const left = !SPACE.test(after) && (!PUNCT.test(after) || SPACE.test(before) || PUNCT.test(before));
    const right = !SPACE.test(before) && (!PUNCT.test(before) || SPACE.test(after) || PUNCT.test(after));
    const word = mark === "_";
    const opens = left && (!word || !right || PUNCT.test(before));
    const closes = right && (!word || !left || PUNCT.test(after));
    return this.push(flush, { mark, count, length: count, opens, closes });
  }

  open(image, flush) {
    flush();
    this.brackets.push({ index: this.parts.length, image });
    this.parts.push(document.createTextNode(image ? "![" : "["));
    this.at += image ? 2 : 1;
    return true;
  }

  /** `]`: a link when a bracket is open and `(address)` follows. */
  close(flush) {
    const bracket = this.brackets.pop();
    const target = bracket && this.depth < DEEPEST ? destination(this.text, this.at + 1) : null;
    if (!target) return undefined;
    flush();
    const url = safeUrl(target.url);
    if (url === null) return undefined;
    const inner = this.parts.splice(bracket.index).slice(1);
    emphasise(inner, 0);
    const words = inner.map(toNode).map(unlinked);
    this.parts.push(link(url, ...(words.length ? words : [url])));
    if (!bracket.image) this.brackets.length = 0; // no link in a link
    this.at = target.end;
    return true;
  }

  angle(flush) {
    const end = this.text.indexOf(">", this.at);
    if (end < 0 || end - this.at > 2_000) return undefined;
    const url = safeUrl(this.text.slice(this.at + 1, end));
    if (url === null || SPACE.test(this.text.slice(this.at, end))) return undefined;
    const shown = this.text.slice(this.at + 1, end);
    this.at = end + 1;
    return this.push(flush, link(url, shown));
  }

  /** What a sticky pattern finds here, unless it stands inside a word. */
  found(pattern) {
    if (WORD.test(this.text[this.at - 1] ?? " ")) return null;
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0] ?? null;
  }

  mention(flush) {
    const short = this.found(MENTION);
    const text = short && (this.longName() ?? short);
    const kind = text && this.mentions.get(text.slice(1).toLowerCase());
    if (!kind) return undefined;
    this.at += text.length;
    return this.push(flush, h("span", { class: `mention ${kind}` }, text));
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
  address(flush) {
    let shown = this.found(ADDRESS);
    if (!shown) return undefined;
    if (this.brackets.length) shown = shown.split("]")[0];
    for (;;) {
      const last = shown[shown.length - 1];
      const loose = last === ")" && shown.split(")").length > shown.split("(").length;
      if (!loose && !/[.,;:!?'*_~\]]/.test(last)) break;
      shown = shown.slice(0, -1);
    }
    const url = safeUrl(shown);
    if (!url) return undefined;
    this.at += shown.length;
    return this.push(flush, link(url, shown));
  }
}

/** `(address "title")` from a position: its address and where it ends, or null. */
function destination(text, from) {
  if (text[from] !== "(") return null;
  let depth = 0;
  let url = "";
  let at = from + 1;
  const limit = Math.min(text.length, from + 2_100);
  for (; at < limit; at += 1) {
    const character = text[at];
    if (character === "\\" && PUNCTUATION.test(text[at + 1] ?? "")) {
      url += text[(at += 1)];
      continue;
    }
    if (SPACE.test(character)) break;
    if (character === "(") depth += 1;
    if (character === ")" && depth-- === 0) return { url: bare(url), end: at + 1 };
    url += character;
  }
  const rest = /^\s+(?:"[^"\n]{0,300}"|'[^'\n]{0,300}')?\s*\)/.exec(text.slice(at, at + 320));
  return rest ? { url: bare(url), end: at + rest[0].length } : null;
}

const bare = (url) => (url.startsWith("<") && url.endsWith(">") ? url.slice(1, -1) : url);

/** A link's words hold no link. */
function unlinked(node) {
  if (node.nodeName === "A") return document.createTextNode(node.textContent);
  for (const inner of node.querySelectorAll?.("a") ?? []) inner.replaceWith(inner.textContent);
  return node;
}

function toNode(part) {
  return part instanceof Node ? part : document.createTextNode(part.mark.repeat(part.count));
}

/** Turn matching delimiters of `parts` into elements, in place, innermost first. */
function emphasise(parts, from) {
  const isDelimiter = (part) => !(part instanceof Node);
  if (parts.filter(isDelimiter).length > MOST_DELIMITERS) return;
  let at = from;
  while (at < parts.length) {
    const closer = parts[at];
    if (!isDelimiter(closer) || !closer.closes || closer.count === 0) {
      at += 1;
      continue;
    }
    const start = opener(parts, at, from, closer);
    if (start < 0) {
      at += 1;
      continue;
    }
    const opening = parts[start];
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

/** Index of the delimiter that opens what `closer` closes (CommonMark's rule of three), or -1. */
function opener(parts, at, from, closer) {
  for (let index = at - 1; index >= from; index -= 1) {
    const part = parts[index];
    if (part instanceof Node || part.mark !== closer.mark || !part.opens || part.count === 0) continue;
    const both = part.closes || closer.opens;
    const three = (part.length + closer.length) % 3 === 0;
    if (both && three && !(part.length % 3 === 0 && closer.length % 3 === 0)) continue;
    return index;
  }
  return -1;
}
