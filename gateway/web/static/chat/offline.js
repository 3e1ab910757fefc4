// @ts-check
// The service worker: what it shows while Moot can't be reached, and what it tells of a notification's click.

import { language, t } from "../lib/i18n.js";

/** A plain document; it has no style sheet, since that may not be there either. */
function plainDocument() {
  const page = document.implementation.createHTMLDocument("Moot");
  page.documentElement.lang = language;
  for (const [name, content] of [
    ["viewport", "width=device-width, initial-scale=1"],
    ["color-scheme", "light dark"],
  ])
    page.head.append(Object.assign(page.createElement("meta"), { name, content }));
  const link = Object.assign(page.createElement("a"), { href: "/", textContent: t("Try again") });
  const paragraphs = [t("Moot can't be reached."), t("What you wrote is kept, and is sent when Moot is back.")];
  page.body.append(
    Object.assign(page.createElement("h1"), { textContent: t("Not connected") }),
    ...paragraphs.map((textContent) => Object.assign(page.createElement("p"), { textContent })),
    link,
  );
  return `<!doctype html>${page.documentElement.outerHTML}`;
}

/**
 * Set it up, where the browser has one for this address. `open` goes to a room.
 * @param {(roomId: string) => unknown} open
 */
export async function serveOffline(open) {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (data.open) open(data.open);
  });
  const address = document.querySelector('meta[name="service-worker"]')?.getAttribute("content") ?? "";
  try {
    await navigator.serviceWorker.register(address, { scope: "/" });
    const kept = await caches.open("moot");
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    await kept.put("/offline", new Response(plainDocument(), { headers }));
  } catch {
    // the page works without it
  }
}
