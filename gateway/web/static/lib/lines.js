// @ts-check
// What a line of Markdown is, before anybody knows which block it belongs to.

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;
export const BULLET = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
export const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
export const QUOTE = /^ {0,3}> ?/;
const TABS = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*/; // where a tab is an indent
export const LAZY = "\0"; // before a line that goes on with a paragraph without the marks of its quote or list
const DEEPEST = 10; // marks before one line

/** @param {string} line */
export const blank = (line) => line.trim() === "";
/** @param {string} line */
export const rule = (line) => /^ {0,3}([-*_])(?: *\1){2,} *$/.test(line);
/** @param {string} line */
export const indent = (line) => line.length - line.trimStart().length;

/**
 * A line whose indent, also behind the marks of quotes and lists, is blanks: a tab reaches the next multiple of four.
 * Tabs behind it are somebody's text or code.
 * @param {string} line
 */
export function spread(line) {
  if (!line.includes("\t")) return line;
  const lead = TABS.exec(line)?.[0] ?? "";
  let made = "";
  for (const character of lead) made += character === "\t" ? " ".repeat(4 - (made.length % 4)) : character;
  return made + line.slice(lead.length);
}

/**
 * A line without so many columns of its indent.
 * @param {string} line
 * @param {number} columns
 */
export function unindent(line, columns) {
  const shown = spread(line);
  return shown.slice(Math.min(columns, indent(shown)));
}

/**
 * The parts of a line that opens a code block, or null.
 * @param {string} line
 */
export function fence(line) {
  const match = FENCE.exec(line);
  return match && !(match[2][0] === "`" && match[3].includes("`")) ? match : null;
}

/**
 * Whether a line closes the code block that these marks opened.
 * @param {string} line
 * @param {string} marks
 */
export function closes(line, marks) {
  const trimmed = line.trim();
  return indent(line) < 4 && trimmed.length >= marks.length && trimmed === marks[0].repeat(trimmed.length);
}

/**
 * Whether a line ends the paragraph before it.
 * @param {string} line
 */
export function starts(line) {
  const bullet = BULLET.exec(line);
  const list = bullet && !blank(line.slice(bullet[0].length)) && (!/\d/.test(bullet[2]) || /^1[.)]$/.test(bullet[2]));
  return Boolean(fence(line)) || HEADING.test(line) || rule(line) || QUOTE.test(line) || Boolean(list);
}

/** What a container's lines end in: only behind a paragraph may a line go on without the container's marks. */
export class Tail {
  constructor() {
    this.marks = ""; // of the code block that is open
    this.paragraph = false;
  }

  /** @param {string} line without the container's marks */
  take(line) {
    if (line.startsWith(LAZY)) return;
    if (this.marks) {
      if (closes(spread(line), this.marks)) this.marks = "";
      return;
    }
    let rest = spread(line);
    for (let depth = 0; depth < DEEPEST; depth += 1) {
      const mark = QUOTE.exec(rest) ?? (rule(rest) ? null : BULLET.exec(rest));
      if (!mark) break;
      rest = rest.slice(mark[0].length);
      this.paragraph = false;
    }
    this.marks = fence(rest)?.[2] ?? "";
    const code = indent(rest) >= 4 && !this.paragraph;
    this.paragraph = !(blank(rest) || this.marks || code || HEADING.test(rest) || rule(rest));
  }
}

/**
 * A line that goes on with the paragraph before it, marked.
 * @param {string} line
 */
export const lazily = (line) => LAZY + words(line);
/**
 * A paragraph's line without its indent.
 * @param {string} line
 */
export const words = (line) => line.replace(LAZY, "").trimStart();
