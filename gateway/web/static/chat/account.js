// @ts-check
// Your account: who you are here, where you are signed in, and signing out.

import * as api from "../lib/api.js";
import { avatar } from "../lib/avatar.js";
import { modal } from "../lib/dialogs.js";
import { announce, fill, h } from "../lib/dom.js";
import { forgetAll } from "../lib/kept.js";
import { settings } from "./settings.js";
import { state } from "../lib/store.js";
import { dated, roleName } from "../lib/words.js";
import { t } from "../lib/i18n.js";

/** A browser as people call it, from what it says of itself: `Firefox on Linux`.
 * @param {string} agent
 */
export function browserName(agent) {
  /** @type {Array<[RegExp, string]>} */
  const browsers = [
    [/Edg\//, "Edge"],
    [/Firefox\//, "Firefox"],
    [/Chrome\/|Chromium\//, "Chrome"],
    [/Safari\//, "Safari"],
  ];
  /** @type {Array<[RegExp, string]>} */
  const systems = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "macOS"],
    [/Linux/, "Linux"],
  ];
  const browser = browsers.find(([sign]) => sign.test(agent))?.[1];
  const system = systems.find(([sign]) => sign.test(agent))?.[1];
  if (!browser) return agent.split(" ")[0] || t("A program");
  return system ? t("{browser} on {system}", { browser, system }) : browser;
}

export async function signOut() {
  await api.post("/api/sign-out", {});
  forgetAll();
  location.replace("/sign-in");
}

/**
 * @param {Api.PageSession} session
 * @param {() => Promise<void>} end
 */
function sessionRow(session, end) {
  const button = h("button", { type: "button", class: "button" }, t("Sign out"));
  button.addEventListener("click", async () => {
    await end();
    announce(t("Signed out there"));
  });
  return h(
    "li",
    { class: "account-session" },
    h(
      "div",
      {},
      h("b", {}, browserName(session.user_agent)),
      h(
        "p",
        { class: "note" },
        session.here ? t("here, now") : t("last seen {time}", { time: dated(session.seen_at) }),
        ` · ${session.address}`,
      ),
    ),
    session.here ? null : button,
  );
}

/** Show it. */
export async function accountDialog() {
  const me = state.me;
  if (!me) return;
  const list = h("ul", { class: "account-sessions" });
  const fault = h("p", { class: "note", role: "status" });
  async function draw() {
    try {
      const { sessions } = await api.get("/api/me/sessions");
      const rows = sessions.map((session) =>
        sessionRow(session, async () => {
          await api.remove(`/api/me/sessions/${session.id}`, {});
          await draw();
        }),
      );
      fill(list, ...rows);
    } catch (error) {
      fault.textContent = error.message;
    }
  }
  const out = h("button", { type: "button", class: "button primary" }, t("Sign out here"));
  out.addEventListener("click", () => signOut().catch((error) => (fault.textContent = error.message)));
  const close = h("button", { type: "button", class: "button" }, t("Close"));
  const dialog = modal(
    t("Your account"),
    h(
      "div",
      { class: "dialog-body" },
      h(
        "div",
        { class: "account-who" },
        avatar({ id: me.id, name: me.name, kind: "human" }),
        h(
          "div",
          {},
          h("h2", {}, me.name),
          h("p", { class: "note" }, `${me.role ? roleName(me.role) : t("no role")} · ${me.id}`),
        ),
      ),
      settings(),
      h("h3", {}, t("Where you are signed in")),
      list,
      fault,
      h("div", { class: "dialog-buttons" }, close, out),
    ),
  );
  close.addEventListener("click", () => dialog.close());
  await draw();
}
