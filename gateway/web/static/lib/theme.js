// @ts-check
// Light or dark: as the system has it, or as somebody chose. It is a cookie, so that the document comes in its colours.

import { setCookie } from "./cookies.js";

/** @typedef {"system" | "light" | "dark"} Theme */

const COOKIE = "moot-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Tells of a "change" of light and dark. */
export const themes = new EventTarget();
dark.addEventListener("change", () => themes.dispatchEvent(new Event("change")));

/** @returns {Theme} */
export const chosenTheme = () => /** @type {Theme} */ (document.documentElement.getAttribute("data-theme") ?? "system");

/** True while the page is dark. */
export const isDark = () => (chosenTheme() === "system" ? dark.matches : chosenTheme() === "dark");

/** @param {Theme} theme */
export function chooseTheme(theme) {
  const root = document.documentElement;
  if (theme === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  setCookie(COOKIE, theme === "system" ? null : theme);
  colourFrame();
  themes.dispatchEvent(new Event("change"));
}

/** Let what a phone draws around the page have its colour. */
export function colourFrame() {
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
    const forDark = meta.getAttribute("media")?.includes("dark") ?? false;
    meta.setAttribute("content", (chosenTheme() === "system" ? forDark : isDark()) ? "#141311" : "#f6f5f1");
  }
}
