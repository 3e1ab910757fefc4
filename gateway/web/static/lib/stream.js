// @ts-check
// Server-sent events that come back by themselves.

import { $ } from "./dom.js";

const SILENCE_MS = 40_000; // the server's heart beats every 15 s
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 6_000;
const TYPES = [
  "hello",
  "reload",
  "message",
  "edited",
  "deleted",
  "turn",
  "draft",
  "work",
  "question",
  "question_closed",
  "typing",
  "memory",
  "personas",
  "bots",
  "room",
  "read",
  "access",
  "stopping",
];

/** @typedef {Pick<EventSource, "addEventListener" | "close">} Source */

/**
 * The stream that all tabs share, as an EventSource is; where workers can't be shared, one of its own.
 * @param {string} after
 * @returns {Source}
 */
function openSource(after) {
  if (!("SharedWorker" in window))
    return new EventSource(`/api/events${after ? `?after=${encodeURIComponent(after)}` : ""}`);
  const { port } = new SharedWorker($("stream-worker").content); // its name changes with its bytes
  const target = new EventTarget();
  const close = () => {
    port.postMessage({ leave: true });
    port.close();
  };
  port.onmessage = ({ data: { type, data, lastEventId } }) =>
    target.dispatchEvent(new MessageEvent(type, { data, lastEventId }));
  port.postMessage({ after, types: [...TYPES, "beat"] });
  return /** @type {any} */ (Object.assign(target, { close }));
}

/**
 * Follow /api/events. `onEvent(type, data)` gets each event, `onState` "open" or "lost".
 * After a gap that the server cannot fill it says so with `hello` (resumed: false) or `reload`.
 * `after`: the position from which it goes on.
 * @param {object} given
 * @param {(type: string, data: any) => void} given.onEvent
 * @param {(connection: "open" | "lost") => void} given.onState
 * @param {string} given.after
 */
export function follow({ onEvent, onState, after }) {
  /** @type {Source | null} */
  let source = null;
  let lastId = after;
  let waitMs = FIRST_WAIT_MS;
  let timer = 0;
  let watchdog = 0;

  function alive() {
    clearTimeout(watchdog);
    watchdog = setTimeout(lose, SILENCE_MS);
  }

  function lose() {
    source?.close();
    source = null;
    clearTimeout(watchdog);
    clearTimeout(timer);
    onState("lost");
    timer = setTimeout(connect, waitMs * (0.75 + Math.random() / 2));
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }

  function connect() {
    clearTimeout(timer);
    source?.close();
    const opened = (source = openSource(lastId));
    alive();
    opened.addEventListener("error", lose);
    opened.addEventListener("beat", alive);
    opened.addEventListener("hello", () => {
      waitMs = FIRST_WAIT_MS;
      onState("open");
    });
    for (const type of TYPES) {
      opened.addEventListener(type, (event) => {
        alive();
        if (event.lastEventId) lastId = event.lastEventId;
        onEvent(type, JSON.parse(event.data));
      });
    }
  }

  function hurry() {
    if (source === null && document.visibilityState === "visible") {
      waitMs = FIRST_WAIT_MS;
      connect();
    }
  }

  window.addEventListener("online", hurry);
  window.addEventListener("offline", lose);
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) lose();
  });
  document.addEventListener("visibilitychange", hurry);
  connect();
}
