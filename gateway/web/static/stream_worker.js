// @ts-check
// One stream of events for all tabs: a browser opens at most six connections to one server, and a
// seventh tab would wait for ever.

const SILENCE_MS = 40_000; // the server's heart beats every 15 s
/**
 * Each tab's port, with the id of the last event that the tab had when it came.
 * @type {Map<MessagePort, string>}
 */
const ports = new Map();
/** @type {EventSource | null} */
let source = null;
let after = ""; // where the stream began
let lastId = "";
let watchdog = 0;

function lose() {
  clearTimeout(watchdog);
  source?.close();
  source = null;
  for (const port of [...ports.keys()]) port.postMessage({ type: "error" });
  ports.clear(); // they come again
}

function alive() {
  clearTimeout(watchdog);
  watchdog = setTimeout(lose, SILENCE_MS);
}

/**
 * @param {MessagePort} port
 * @param {boolean} resumed
 */
const hello = (port, resumed) =>
  port.postMessage({ type: "hello", data: JSON.stringify({ resumed }), lastEventId: lastId });

/**
 * Whether a tab that begins at a position misses nothing of this stream.
 * @param {string} position
 */
function goesOn(position) {
  const [epoch, number] = position.split("-");
  const [ours, last] = lastId.split("-");
  return epoch === ours && Number(number) >= Number(last);
}

/**
 * @param {string[]} types
 * @param {string} position where the first tab begins
 */
function open(types, position) {
  lastId ||= position;
  after = lastId;
  const opened = (source = new EventSource(`/api/events${after ? `?after=${encodeURIComponent(after)}` : ""}`));
  alive();
  opened.addEventListener("error", lose);
  for (const type of types) {
    opened.addEventListener(type, ({ data, lastEventId }) => {
      alive();
      if (lastEventId) lastId = lastEventId;
      for (const [port, had] of ports) {
        if (type === "hello") hello(port, JSON.parse(data).resumed && had !== "" && had === after);
        else port.postMessage({ type, data, lastEventId });
      }
    });
  }
}

self.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports;
  port.addEventListener("message", ({ data }) => {
    if (data.leave) {
      ports.delete(port);
      return;
    }
    ports.set(port, data.after);
    if (source === null) open(data.types, data.after);
    else if (source.readyState === EventSource.OPEN) hello(port, goesOn(data.after));
  });
  port.start();
});
