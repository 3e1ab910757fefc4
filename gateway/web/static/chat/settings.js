// @ts-check
// What somebody chooses for themselves in this browser: colours, language, what is worth a notification.

import { h } from "../lib/dom.js";
import { chooseLanguage, chosenLanguage, LANGUAGES, t } from "../lib/i18n.js";
import { roomLabel, roomOf, state } from "../lib/store.js";
import { chooseTheme, chosenTheme } from "../lib/theme.js";
import { askPermission, chooseLevel, isOn, levelOf, permission, turnOff } from "./notify.js";

/**
 * @param {string} id
 * @param {string} label
 * @param {Record<string, string>} options their texts, by what is chosen
 * @param {string} chosen
 * @param {(value: any) => unknown} choose
 */
function choice(id, label, options, chosen, choose) {
  const select = h(
    "select",
    { id, class: "pick" },
    ...Object.entries(options).map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  select.addEventListener("change", () => choose(select.value));
  return h("div", { class: "setting" }, h("label", { for: id }, label), select);
}

/** The choices, for the dialog behind one's name. */
export function settings() {
  const notifications = h("div", { class: "settings-part" });
  const draw = () => notifications.replaceChildren(...notificationSettings(draw));
  draw();
  return h(
    "section",
    { class: "settings", "aria-label": t("Settings") },
    h("h3", {}, t("Settings")),
    choice(
      "setting-theme",
      t("Colours"),
      { system: t("As the system"), light: t("Light"), dark: t("Dark") },
      chosenTheme(),
      chooseTheme,
    ),
    choice(
      "setting-language",
      t("Language"),
      { "": t("As the browser"), ...LANGUAGES },
      chosenLanguage() ?? "",
      (language) => {
        chooseLanguage(language || null);
        location.reload();
      },
    ),
    notifications,
  );
}

/** @param {() => void} draw */
function notificationSettings(draw) {
  const room = roomOf(state.roomId ?? "");
  const now = permission();
  if (now === "none") return [h("p", { class: "note" }, t("This browser shows no notifications for this address."))];
  if (now === "denied")
    return [h("p", { class: "note" }, t("Notifications are blocked: allow them for this page in the browser."))];
  const button = h("button", { type: "button", class: "button" }, isOn() ? t("Turn off") : t("Turn on"));
  button.addEventListener("click", async () => {
    if (isOn()) turnOff();
    else await askPermission();
    draw();
  });
  const about = t("Notifications while you look elsewhere");
  return [
    h("div", { class: "setting" }, h("span", { id: "setting-notify" }, about), button),
    isOn() && room
      ? choice(
          "setting-room",
          t("In {room}", { room: roomLabel(room) }),
          { all: t("All messages"), mentions: t("Mentions and answers to me"), none: t("Nothing") },
          levelOf(room.id),
          (level) => chooseLevel(room.id, level),
        )
      : "",
  ];
}
