// @ts-check
// Markdown to DOM nodes: CommonMark's blocks as agents write them, with tables. Never HTML.

import { codeBlock } from "./code.js";
import { h } from "./dom.js";
import { Notes, note } from "./footnotes.js";
import { inline } from "./inline.js";
import {
  BULLET,
  HEADING,
  LAZY,
  QUOTE,
  Tail,
  blank,
  closes,
  fence,
  indent,
  lazily,
  rule,
  spread,
  starts,
  unindent,
  words,
} from "./lines.js";
import { definition } from "./links.js";
import { formulaLines } from "./maths.js";
import { t } from "./i18n.js";
import { withNames } from "./tokens.js";

/**
 * @typedef {import("./inline.js").Mentions} Mentions
 * @typedef {import("./inline.js").Names & { collecting: boolean }} Names
 */

const LONGEST = 200_000; // beyond it a text is shown as it is
const DEEPEST = 10;
const UNDERLINE = /^ {0,3}(=+|--+) *$/;

/**
 * A fragment for a text.
 * @param {string} text
 * @param {Mentions} [mentions]
 */
export function markdown(text, mentions = new Map()) {
  const fragment = document.createDocumentFragment();
  if (text.length > LONGEST) {
    fragment.append(h("pre", { class: "plain", tabindex: "0" }, text));
    return fragment;
  }
  const lines = text.replaceAll("\0", "\ufffd").replace(/\r\n?/g, "\n").split("\n");
  const names = namesOf(lines, mentions);
  fragment.append(...new Blocks(lines, names, 0).nodes(), ...names.notes.list());
  return fragment;
}

/**
 * The links and footnotes that lines define and use. One may stand before its definition: the lines are read twice.
 * @param {string[]} lines
 * @param {Mentions} mentions
 */
function namesOf(lines, mentions) {
  const names = { mentions, links: new UsedMap(), notes: new Notes(), collecting: true };
  if (!lines.some((line) => line.includes("]:"))) return { ...names, collecting: false };
  new Blocks(lines, names, 0).nodes();
  names.links.used.clear();
  new Blocks(lines, names, 0).nodes();
  for (const label of names.links.keys()) if (!names.links.used.has(label)) names.links.delete(label);
  names.notes.settle();
  return { ...names, collecting: false };
}

/** A map that knows which of its keys were asked for. */
class UsedMap extends Map {
  used = new Set();

  /** @param {string} key */
  get(key) {
    this.used.add(key);
    return super.get(key);
  }
}

/**
 * The text without its marks, on one line: for previews.
 * @param {string} text
 * @param {Mentions} mentions
 */
export function plainText(text, mentions) {
  return withNames(text.slice(0, 2_000), mentions)
    .replace(/```\w*/g, " ")
    .replace(/[*_`~#>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

class Blocks {
  /**
   * @param {string[]} lines
   * @param {Names} names
   * @param {number} depth
   */
  constructor(lines, names, depth) {
    this.lines = lines;
    this.names = names;
    this.depth = depth;
    this.at = 0;
    this.gap = false; // a blank line stands between two of its blocks
  }

  nodes() {
    /** @type {HTMLElement[]} */
    const made = [];
    while (this.at < this.lines.length) {
      if (blank(this.lines[this.at])) {
        this.at += 1;
        continue;
      }
      if (made.length && blank(this.lines[this.at - 1])) this.gap = true;
      made.push(...[this.block()].flatMap((node) => node ?? []));
    }
    return made;
  }

  get more() {
    return this.at < this.lines.length;
  }

  /** The line that is to be read, its indent as blanks. */
  get line() {
    return spread(this.lines[this.at]);
  }

  block() {
    const line = this.line;
    const deep = this.depth >= DEEPEST;
    const opened = fence(line);
    if (opened) return this.fenced(opened);
    if (this.notes(line)) return this.note();
    if (HEADING.test(line)) return this.heading();
    if (rule(line)) {
      this.at += 1;
      return h("hr");
    }
    const bullet = deep ? null : BULLET.exec(line);
    if (!deep && QUOTE.test(line)) return this.quote();
    if (bullet) return this.list(bullet);
    const aligned = columns(line, this.lines[this.at + 1]);
    if (aligned) return this.table(aligned);
    const formula = formulaLines(this.lines, this.at);
    if (formula) {
      this.at = formula.end;
      return formula.node;
    }
    if (indent(line) >= 4) return this.indented();
    return this.paragraph();
  }

  /** @param {string} text */
  text(text) {
    return inline(text, this.names);
  }

  /**
   * Whether a line begins a footnote: one that is known, or gets known now.
   * @param {string} line
   */
  notes(line) {
    const found = note(line);
    return found !== null && (this.names.collecting || this.names.notes.defined.has(found.label));
  }

  /** A footnote, which stands below the text: its line, and those that are indented. */
  note() {
    const { label, from } = /** @type {{ label: string, from: number }} */ (note(this.line));
    const body = [this.line.slice(from)];
    for (this.at += 1; this.more; this.at += 1) {
      let next = this.at;
      while (next + 1 < this.lines.length && blank(this.lines[next])) next += 1;
      if (indent(spread(this.lines[next])) < 2) break;
      body.push(unindent(this.lines[this.at], 4));
    }
    const { notes } = this.names;
    notes.defined.add(label);
    const nodes = new Blocks(body, this.names, this.depth + 1).nodes();
    if (!notes.bodies.has(label)) notes.bodies.set(label, nodes);
    return null;
  }

  /** @param {RegExpExecArray} opened */
  fenced([, spaces, marks, info]) {
    const body = [];
    this.at += 1;
    for (; this.more; this.at += 1) {
      if (closes(this.line, marks)) {
        this.at += 1;
        break;
      }
      const line = this.lines[this.at];
      body.push(spaces ? unindent(line, spaces.length) : line);
    }
    return codeBlock(body.join("\n"), info.trim().split(/\s/)[0]);
  }

  indented() {
    const body = [];
    for (; this.more && (blank(this.lines[this.at]) || indent(this.line) >= 4); this.at += 1)
      body.push(unindent(this.lines[this.at], 4));
    return codeBlock(body.join("\n").replace(/(?:\n *)+$/, ""), "");
  }

  heading() {
    const line = this.line.trim();
    const level = line.length - line.replace(/^#+/, "").length;
    let words = line.slice(level).trim();
    const closing = words.length - words.replace(/#+$/, "").length;
    if (closing && (words.length === closing || words[words.length - closing - 1] === " "))
      words = words.slice(0, -closing).trim();
    this.at += 1;
    return title(level, this.text(words));
  }

  quote() {
    const body = [];
    const tail = new Tail();
    for (; this.more && !blank(this.lines[this.at]); this.at += 1) {
      const raw = this.lines[this.at];
      const line = this.line;
      if (QUOTE.test(line)) body.push(/^ {0,3}> ?\t/.test(raw) ? line.replace(QUOTE, "") : raw.replace(QUOTE, ""));
      else if (tail.paragraph && !starts(line)) body.push(lazily(raw));
      else break;
      tail.take(body[body.length - 1]);
    }
    return h("blockquote", {}, ...new Blocks(body, this.names, this.depth + 1).nodes());
  }

  /** @param {RegExpExecArray} first */
  list([, , mark]) {
    const kind = mark[mark.length - 1];
    /** @type {string[][]} */
    const items = [];
    let loose = false;
    for (let match = this.bullet(kind); match; match = this.bullet(kind)) {
      if (items.length && blank(this.lines[this.at - 1])) loose = true;
      items.push(this.item(match));
    }
    const made = items.map((lines) => this.content(lines));
    loose ||= made.some((item) => item.gap);
    const start = Number.parseInt(mark, 10);
    return h(
      Number.isNaN(start) ? "ul" : "ol",
      Number.isNaN(start) || start === 1 ? {} : { start },
      ...made.map((item) => listItem(item, loose)),
    );
  }

  /**
   * The mark of a list's next item, or null where the list ends.
   * @param {string} kind
   */
  bullet(kind) {
    const match = this.more ? BULLET.exec(this.line) : null;
    return match && match[2].endsWith(kind) && !rule(this.line) ? match : null;
  }

  /**
   * The lines of one item, without its mark and indent.
   * @param {RegExpExecArray} match
   */
  item([whole, spaces, mark, gap]) {
    const empty = blank(this.line.slice(whole.length));
    const width = spaces.length + mark.length + (empty || gap.length > 4 ? 1 : gap.length);
    const lines = [this.line.slice(width)];
    const tail = new Tail();
    tail.take(lines[0]);
    let blanks = 0;
    this.at += 1;
    for (; this.more; this.at += 1) {
      const line = this.line;
      if (blank(line)) {
        blanks += 1;
        tail.take("");
      } else if (indent(line) >= width && !(empty && blanks && lines.length === 1)) {
        lines.push(...Array(blanks).fill(""), unindent(this.lines[this.at], width));
        blanks = 0;
        tail.take(lines[lines.length - 1]);
      } else if (tail.paragraph && !starts(line) && !BULLET.test(line)) {
        lines.push(lazily(this.lines[this.at]));
      } else {
        break;
      }
    }
    return lines;
  }

  /**
   * What an item's lines hold; done: the state of a task.
   * @param {string[]} lines
   */
  content(lines) {
    const task = /^\[([ xX])\] /.exec(lines[0]);
    const rest = task ? [lines[0].slice(4), ...lines.slice(1)] : lines;
    const blocks = new Blocks(rest, this.names, this.depth + 1);
    return { nodes: blocks.nodes(), gap: blocks.gap, done: task && task[1] !== " " };
  }

  /** @param {Array<"left" | "center" | "right">} aligned */
  table(aligned) {
    /**
     * @param {"th" | "td"} tag
     * @param {string} line
     */
    const cells = (tag, line) => {
      const row = split(line);
      return aligned.map((align, index) => {
        const text = row[index] ?? "";
        if (tag === "th" && text.trim()) return h("th", { class: align, scope: "col" }, ...this.text(text));
        return h("td", { class: align }, ...this.text(text)); // a head without words names nothing
      });
    };
    const head = h("tr", {}, ...cells("th", this.lines[this.at]));
    const rows = [];
    this.at += 2;
    for (; this.more && !blank(this.lines[this.at]) && !starts(this.line); this.at += 1) {
      if (this.lines[this.at].startsWith(LAZY)) break;
      rows.push(h("tr", {}, ...cells("td", this.lines[this.at])));
    }
    const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
    return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("Table") }, table);
  }

  paragraph() {
    const body = [words(this.lines[this.at])];
    this.at += 1;
    for (; this.more && !blank(this.lines[this.at]); this.at += 1) {
      const line = this.line;
      const under = UNDERLINE.exec(line);
      const above = under && this.withoutDefinitions(body.join("\n").trim());
      if (under && above) {
        this.at += 1;
        return title(under[1][0] === "=" ? 1 : 2, this.text(above));
      }
      if (starts(line) || columns(line, this.lines[this.at + 1]) || formulaLines(this.lines, this.at)) break;
      if (this.notes(line)) break;
      body.push(words(line));
    }
    const text = this.withoutDefinitions(body.join("\n").trim());
    return text ? h("p", {}, ...this.text(text)) : null;
  }

  /**
   * A paragraph's text without the definitions of links with which it begins. One that nothing uses is text: no word
   * of a message vanishes.
   * @param {string} text
   */
  withoutDefinitions(text) {
    const { links, collecting } = this.names;
    let kept = "";
    for (let found = definition(text); found; found = definition(text)) {
      if (collecting && !links.has(found.label)) links.set(found.label, found.url);
      if (!links.has(found.label)) kept += `${text.slice(0, found.end)}\n`;
      text = text.slice(found.end).trimStart();
    }
    return (kept + text).trimEnd();
  }
}

/**
 * A heading. The page has an h1 and an h2 of its own.
 * @param {number} level
 * @param {Node[]} content
 */
const title = (level, content) =>
  h(/** @type {"h3" | "h4" | "h5" | "h6"} */ (`h${Math.min(level + 2, 6)}`), {}, ...content);

/**
 * @param {{ nodes: HTMLElement[], done: boolean | null }} item
 * @param {boolean} loose its paragraphs stand apart
 */
function listItem({ nodes, done }, loose) {
  const inside = loose ? nodes : nodes.flatMap((node) => (node.nodeName === "P" ? [...node.childNodes] : [node]));
  if (done === null) return h("li", {}, ...inside);
  const box = { type: "checkbox", disabled: true, checked: done, "aria-label": done ? "done" : "open" };
  return h("li", { class: "task" }, h("input", box), ...inside);
}

/**
 * The cells of a table's line: not split at `\|` or inside code.
 * @param {string} line
 */
function split(line) {
  const trimmed = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(^|[^\\])\|$/, "$1");
  const cells = [""];
  let code = false;
  for (let at = 0; at < trimmed.length; at += 1) {
    const character = trimmed[at];
    if (character === "\\" && trimmed[at + 1] === "|") {
      cells[cells.length - 1] += "|";
      at += 1;
      continue;
    }
    if (character === "`") code = !code;
    if (character === "|" && !code) cells.push("");
    else cells[cells.length - 1] += character;
  }
  return cells.map((cell) => cell.trim());
}

/**
 * The alignment of each column when two lines begin a table, else null.
 * @param {string} line
 * @param {string | undefined} next
 */
function columns(line, next) {
  if (next === undefined || !line.includes("|") || !/^[ \t|:-]+$/.test(next) || !next.includes("-")) return null;
  const marks = split(next);
  if (!marks.every((mark) => /^:?-+:?$/.test(mark)) || marks.length !== split(line).length) return null;
  return marks.map((mark) => (!mark.endsWith(":") ? "left" : mark.startsWith(":") ? "center" : "right"));
}
