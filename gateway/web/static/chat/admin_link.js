// @ts-check
// The way to the administrator's side, for owners, and how much waits there.

import * as api from "../lib/api.js";
import { $, h, icon } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { on, state } from "../lib/store.js";

const SETTLE_MS = 400; // several changes make one fetch

/** Events after which something else may wait, or be worth a look. */
export const LIVE = new Set([
  "turn",
  "question",
  "question_closed",
  "bots",
  "personas",
  "room",
  "access",
  "hello",
  "reload",
]);

let timer = 0;

/** How many things wait for somebody. */
async function waits() {
  const [{ questions }, access] = await Promise.all([api.get("/api/admin/overview"), api.optional("/api/access")]);
  return questions.length + (access?.pairings.length ?? 0) + (access?.claim ? 1 : 0);
}

async function draw() {
  if (!state.me?.owner) return;
  let waiting = 0;
  try {
    waiting = await waits();
  } catch {
    // the connection's own line says that Moot does not answer
  }
  $("admin-link").replaceChildren(
    icon("gauge"),
    h("span", { class: "row-name" }, t("Administration")),
    waiting
      ? h("span", { class: "badge" }, String(waiting), h("span", { class: "sr-only" }, ` ${t("waiting for you")}`))
      : "",
  );
}

/**
 * Something happened somewhere.
 * @param {string} type
 */
export function adminLinkEvent(type) {
  if (!LIVE.has(type)) return;
  clearTimeout(timer);
  timer = setTimeout(draw, SETTLE_MS);
}

/** Be ready for owners. */
export function setUpAdminLink() {
  $("admin-link").append(icon("gauge"), h("span", { class: "row-name" }, t("Administration")));
  on("me", draw);
}
