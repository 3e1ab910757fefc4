// @ts-check
// The words of the interface. The English text is its own key: what has no translation stays English.

/** @type {Record<string, string>} */
const words = {};

/**
 * A text of the interface in the person's language, with `{name}` filled in.
 * @param {string} english
 * @param {Record<string, string | number>} [values]
 */
export const t = (english, values = {}) =>
  (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));

/**
 * The same for a number of things: `count(3, "{n} message", "{n} messages")`.
 * @param {number} n
 * @param {string} one
 * @param {string} many
 * @param {Record<string, string | number>} [values]
 */
export const count = (n, one, many, values = {}) => t(n === 1 ? one : many, { n: n.toLocaleString(), ...values });

/**
 * The same with elements in it, as children for `h`: `phrase("Replying to {name}", { name: h("b", {}, name) })`.
 * @param {string} english
 * @param {Record<string, Page.Child>} values
 * @returns {Page.Child[]}
 */
export const phrase = (english, values) =>
  (words[english] ?? english)
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 ? (values[part] ?? `{${part}}`) : part));
