// @ts-check
// Markdown to DOM nodes: CommonMark's blocks as agents write them, with tables. Never HTML.

import { copyButton, h } from "./dom.js";
import { inline } from "./inline.js";

const LONGEST = 200_000; // beyond it a text is shown as it is
const DEEPEST = 10;
const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const BULLET = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const HEADING = /^ {0,3}(#{1,6})(?: |$)/;
const QUOTE = /^ {0,3}> ?/;

/** A fragment for a text. `mentions`: lower-case names to a class. */
export function markdown(text, mentions) {
  const fragment = document.createDocumentFragment();
  if (text.length > LONGEST) {
    fragment.append(h("pre", { class: "plain", tabindex: "0" }, text));
    return fragment;
  }
  const lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  fragment.append(...new Blocks(lines, mentions, 0).nodes());
  return fragment;
}

/** The text without its marks, on one line: for previews. */
export function plainText(text) {
  return text
    .slice(0, 2_000)
    .replace(/```\w*/g, " ")
    .replace(/[*_`~#>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

const indent = (line) => line.length - line.trimStart().length;
const blank = (line) => line.trim() === "";
const rule = (line) => /^ {0,3}([-*_])(?: *\1){2,} *$/.test(line);

class Blocks {
  constructor(lines, mentions, depth) {
    this.lines = lines;
    this.mentions = mentions;
    this.depth = depth;
    this.at = 0;
  }

  nodes() {
    const made = [];
    while (this.at < this.lines.length) {
      if (blank(this.lines[this.at])) this.at += 1;
      else made.push(this.block());
    }
    return made;
  }

  block() {
    const line = this.lines[this.at];
    const deep = this.depth >= DEEPEST;
    if (fence(line)) return this.fenced();
    if (HEADING.test(line)) return this.heading();
    if (rule(line)) {
      this.at += 1;
      return h("hr");
    }
    if (!deep && QUOTE.test(line)) return this.quote();
    if (!deep && BULLET.test(line)) return this.list();
    if (columns(line, this.lines[this.at + 1])) return this.table();
    if (indent(line) >= 4) return this.indented();
    return this.paragraph();
  }

  inner(lines) {
    return new Blocks(lines, this.mentions, this.depth + 1).nodes();
  }

  text(text) {
    return inline(text, this.mentions);
  }

  fenced() {
    const [, spaces, marks, info] = fence(this.lines[this.at]);
    const body = [];
    this.at += 1;
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      const trimmed = line.trim();
      if (indent(line) < 4 && trimmed.length >= marks.length && trimmed === marks[0].repeat(trimmed.length)) {
        this.at += 1;
        break;
      }
      body.push(line.slice(Math.min(indent(line), spaces.length)));
    }
    return codeBlock(body.join("\n"), info.trim().split(/\s/)[0]);
  }

  indented() {
    const body = [];
    while (this.at < this.lines.length && (blank(this.lines[this.at]) || indent(this.lines[this.at]) >= 4)) {
      body.push(this.lines[this.at].slice(4));
      this.at += 1;
    }
    return codeBlock(body.join("\n").trimEnd(), "");
  }

  heading() {
    const line = this.lines[this.at].trim();
    const level = /^#+/.exec(line)[0].length;
    let words = line.slice(level).trim();
    const closing = words.length - words.replace(/#+$/, "").length;
    if (closing && (words.length === closing || words[words.length - closing - 1] === " ")) {
      words = words.slice(0, -closing).trim();
    }
    this.at += 1;
    return h(`h${Math.min(level + 2, 6)}`, {}, ...this.text(words)); // the page has h1 and h2
  }

  quote() {
    const body = [];
    while (this.at < this.lines.length && !blank(this.lines[this.at])) {
      const line = this.lines[this.at];
      if (!QUOTE.test(line) && starts(line)) break;
      body.push(line.replace(QUOTE, ""));
      this.at += 1;
    }
    return h("blockquote", {}, ...this.inner(body));
  }

  list() {
    const first = BULLET.exec(this.lines[this.at])[2];
    const ordered = /\d/.test(first);
    const kind = first[first.length - 1];
    const items = [];
    let loose = false;
    while (this.at < this.lines.length) {
      const match = BULLET.exec(this.lines[this.at]);
      if (!match || match[2][match[2].length - 1] !== kind || rule(this.lines[this.at])) break;
      const item = this.item(match);
      loose ||= item.loose;
      items.push(item.lines);
    }
    const start = ordered ? Number.parseInt(first, 10) : 1;
    const nodes = items.map((lines) => this.listItem(lines, loose));
    return h(ordered ? "ol" : "ul", start === 1 ? {} : { start }, ...nodes);
  }

  /** The lines of one item, without its marker and indent. */
  item(match) {
    const gap = match[3].length > 4 ? 1 : Math.max(match[3].length, 1);
    const width = match[1].length + match[2].length + gap;
    const lines = [this.lines[this.at].slice(width)];
    let loose = false;
    let empty = 0;
    this.at += 1;
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      if (blank(line)) {
        empty += 1;
        continue;
      }
      const inside = indent(line) >= width;
      const lazy = empty === 0 && !starts(line) && !BULLET.test(line) && !blank(lines[lines.length - 1]);
      if (!inside && !lazy) break;
      if (empty) loose = true;
      lines.push(...Array(empty).fill(""), inside ? line.slice(width) : line.trimStart());
      empty = 0;
    }
    const next = this.lines[this.at];
    if (empty && next !== undefined && BULLET.test(next)) loose = true;
    return { lines, loose };
  }

  listItem(lines, loose) {
    const task = /^\[([ xX])\] /.exec(lines[0]);
    if (task) lines = [lines[0].slice(4), ...lines.slice(1)];
    let nodes = this.inner(lines);
    if (!loose) nodes = nodes.flatMap((node) => (node.nodeName === "P" ? [...node.childNodes] : [node]));
    const box =
      task &&
      h("input", {
        type: "checkbox",
        disabled: true,
        checked: task[1] !== " ",
        "aria-label": task[1] === " " ? "open" : "done",
      });
    return h("li", task ? { class: "task" } : {}, box, ...nodes);
  }

  table() {
    const alignments = columns(this.lines[this.at], this.lines[this.at + 1]);
    const cells = (tag, line) => {
      const row = split(line);
      return alignments.map((align, index) =>
        h(tag, { class: align, scope: tag === "th" ? "col" : null }, ...this.text(row[index] ?? "")),
      );
    };
    const head = h("tr", {}, ...cells("th", this.lines[this.at]));
    const rows = [];
    this.at += 2;
    while (this.at < this.lines.length && !blank(this.lines[this.at]) && !starts(this.lines[this.at])) {
      rows.push(h("tr", {}, ...cells("td", this.lines[this.at])));
      this.at += 1;
    }
    const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
    return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, table);
  }

  paragraph() {
    const body = [this.lines[this.at].trim()];
    this.at += 1;
    while (this.at < this.lines.length && !blank(this.lines[this.at])) {
      const line = this.lines[this.at];
      const under = /^ {0,3}(=+|-+) *$/.exec(line);
      if (under && (under[1][0] === "=" || under[1].length > 1)) {
        this.at += 1;
        return h(under[1][0] === "=" ? "h3" : "h4", {}, ...this.text(body.join("\n")));
      }
      if (starts(line) || columns(line, this.lines[this.at + 1])) break;
      body.push(line.trim());
      this.at += 1;
    }
    return h("p", {}, ...this.text(body.join("\n")));
  }
}

/** The parts of a line that opens a code block, or null. */
function fence(line) {
  const match = FENCE.exec(line);
  return match && !(match[2][0] === "`" && match[3].includes("`")) ? match : null;
}

/** Whether a line ends the paragraph before it. */
function starts(line) {
  const bullet = BULLET.exec(line);
  const list = bullet && bullet[3] !== "" && (!/\d/.test(bullet[2]) || /^1[.)]$/.test(bullet[2]));
  return Boolean(fence(line)) || HEADING.test(line) || rule(line) || QUOTE.test(line) || Boolean(list);
}

/** The cells of a table's line: not split at `\|` or inside code. */
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

/** The alignment of each column when two lines begin a table, else null. */
function columns(line, next) {
  if (next === undefined || !line.includes("|") || !/^[ |:-]+$/.test(next) || !next.includes("-")) return null;
  const marks = split(next);
  if (!marks.every((mark) => /^:?-+:?$/.test(mark)) || marks.length !== split(line).length) return null;
  return marks.map((mark) => {
    if (mark.endsWith(":")) return mark.startsWith(":") ? "center" : "right";
    return "left";
  });
}

function codeBlock(code, language) {
  const head = h("div", { class: "code-head" }, h("span", {}, language || "text"), copyButton(code));
  const body = h(
    "pre",
    { tabindex: "0", role: "group", "aria-label": `Code${language ? `, ${language}` : ""}` },
    h("code", {}, code),
  );
  return h("div", { class: "code" }, head, body);
}
