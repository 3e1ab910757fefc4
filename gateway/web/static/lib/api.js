// @ts-check
// The HTTP API.

import { t } from "./i18n.js";

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {string | null} [field]
   * @param {any} [body]
   */
  constructor(status, message, field = null, body = null) {
    super(message);
    this.body = body;
    this.status = status;
    this.field = field;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, t("Moot does not answer. Is it running?"));
  }
  if (response.status === 401) location.reload(); // the form for the token
  let body = null;
  try {
    body = await response.json();
  } catch {
    throw new ApiError(response.status, t("Moot gave an answer that is no JSON."));
  }
  if (!response.ok) {
    throw new ApiError(response.status, body?.error?.message ?? response.statusText, body?.error?.field, body);
  }
  return body;
}

/**
 * @template {string} Path
 * @param {Path} path
 * @returns {Promise<Api.Answer<Path>>}
 */
export const get = (path) => call(path, { headers: { Accept: "application/json" } });

/**
 * What is there, or null where this Moot has no such part.
 * @template {string} Path
 * @param {Path} path
 * @returns {Promise<Api.Answer<Path> | null>}
 */
export async function optional(path) {
  try {
    return await get(path);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/**
 * The first `count` pages of a list that is newest first; next_before: null when there are no more.
 * @param {string} path
 * @param {Record<string, string>} query
 * @param {number} count
 */
export async function pages(path, query, count) {
  /** @type {any[]} */
  const items = [];
  let before = null;
  for (let page = 0; page < count && (page === 0 || before !== null); page += 1) {
    const asked = new URLSearchParams({ ...query, ...(before === null ? {} : { before: String(before) }) });
    const got = await get(/** @type {string} */ (`${path}?${asked}`));
    items.push(...got.items);
    before = got.next_before;
  }
  return { items, next_before: before };
}

/** @param {string} method */
const sender =
  (method) =>
  /**
   * @param {string} path
   * @param {unknown} body
   * @returns {Promise<any>}
   */
  (path, body) =>
    call(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const post = sender("POST");
export const put = sender("PUT");
export const remove = sender("DELETE");

/**
 * Upload one file; its reference for a message's attachments.
 * @param {File} file
 * @returns {Promise<Api.FileView>}
 */
export async function upload(file) {
  const form = new FormData();
  form.append("file", file, file.name || "file");
  const { files } = await call("/api/files", { method: "POST", body: form });
  return files[0];
}

/** A random id; getRandomValues also works where the page is not a secure context. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
