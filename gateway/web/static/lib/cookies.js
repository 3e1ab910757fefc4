// @ts-check
// What somebody chose in this browser and the server must know: how the document comes, and in which words.

const YEAR_S = 31_536_000;

/**
 * @param {string} name
 * @returns {string | null} null: there is none
 */
export function cookie(name) {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found === undefined ? null : decodeURIComponent(found.slice(name.length + 1));
}

/**
 * @param {string} name
 * @param {string | null} value null: there is none any more
 */
export function setCookie(name, value) {
  const age = value === null ? 0 : YEAR_S;
  document.cookie = `${name}=${encodeURIComponent(value ?? "")}; path=/; max-age=${age}; samesite=lax`;
}
