// @ts-check
// What other platforms write for a name: Slack's and Discord's tokens, as `<@U06STGBF4Q0>` and `<#C024BE91L|general>`.

const TOKEN = /<([@#!])[!&]?([\w.-]+)(?:\^[\w-]+)?(?:\|([^<>\n]{0,200}))?>/y;
const CALLS = /^(here|channel|everyone|subteam)$/;

/**
 * The names that a text may hold: in lower case, and tokens as `keyOf` makes them. kind: a CSS class.
 * @typedef {Map<string, { kind: string, name: string }>} Mentions
 */

/**
 * Where a name is found by its id on another platform.
 * @param {"@" | "#"} sign
 * @param {string} id `<source>:<external id>`
 */
export const keyOf = (sign, id) => `<${sign}${id.slice(id.indexOf(":") + 1).toLowerCase()}>`;

/**
 * The token that stands at a place, and what people call whom it means; null: none, or nobody knows them.
 * @param {string} text
 * @param {number} at
 * @param {Mentions} mentions
 */
export function tokenAt(text, at, mentions) {
  TOKEN.lastIndex = at;
  const [token, sign, id, label] = TOKEN.exec(text) ?? [];
  if (!token) return null;
  const known = sign === "!" ? null : mentions.get(`<${sign}${id.toLowerCase()}>`);
  const name = known?.name ?? (label || (sign === "!" && CALLS.test(id) ? id : ""));
  if (!name) return null;
  const shown = `${sign === "#" ? "#" : "@"}${name.replace(/^[@#]/, "")}`;
  return { end: at + token.length, kind: known?.kind ?? "", shown };
}

/**
 * A text with names where tokens stood.
 * @param {string} text
 * @param {Mentions} mentions
 */
export const withNames = (text, mentions) =>
  text.replace(/<[@#!][^<>\n]+>/g, (token) => tokenAt(token, 0, mentions)?.shown ?? token);
