// Server-sent events that come back by themselves.

const SILENCE_MS = 40_000; // the server's heart beats every 15 s
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const TYPES = [
  "hello", "reload", "message", "edited", "deleted", "turn", "draft", "question",
  "question_closed", "typing", "memory", "personas", "bots", "room",
];

/**
 * Follow /api/events. `onEvent(type, data)` gets each event, `onState` "open" or "lost".
 * After a gap that the server cannot fill it says so with `hello` (resumed: false) or `reload`.
 */
export function follow({ onEvent, onState }) {
  let source = null;
  let lastId = "";
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
    source = new EventSource(`/api/events${lastId ? `?after=${encodeURIComponent(lastId)}` : ""}`);
    alive();
    source.addEventListener("error", lose);
    source.addEventListener("beat", alive);
    source.addEventListener("hello", () => {
      waitMs = FIRST_WAIT_MS;
      onState("open");
    });
    for (const type of TYPES) {
      source.addEventListener(type, (event) => {
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
  document.addEventListener("visibilitychange", hurry);
  connect();
}
