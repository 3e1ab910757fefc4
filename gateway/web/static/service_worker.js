// @ts-check
// The least that an installed page needs: a plain document while Moot can't be reached, and clicks on notifications.
// Nothing of the page or of the API is ever kept here; the page itself put the plain document into this cache.

/// <reference lib="webworker" />

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") return;
  event.respondWith(fetch(event.request).catch(async () => (await caches.match("/offline")) ?? Response.error()));
});
worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data.roomId));
});

/** @param {string} roomId */
async function show(roomId) {
  const [page] = await worker.clients.matchAll({ type: "window" });
  if (!page) return worker.clients.openWindow(`/#${encodeURIComponent(roomId)}`);
  page.postMessage({ open: roomId });
  return page.focus();
}
