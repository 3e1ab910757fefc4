// @ts-check
// Libraries that come when they are needed, and work that leaves the page time to breathe.

const BUSY_MS = 40; // what is done at once; the rest waits for the next task
let spent = 0;
/** @type {Array<() => void>} */
const waiting = [];
let timer = 0;

/** @param {() => void} work */
function carryOut(work) {
  const begin = performance.now();
  work();
  spent += performance.now() - begin;
}

function goOn() {
  spent = 0;
  timer = 0;
  while (waiting.length && spent < BUSY_MS) carryOut(/** @type {() => void} */ (waiting.shift()));
  if (waiting.length) timer = setTimeout(goOn);
}

/** @param {() => void} work */
function paced(work) {
  if (spent < BUSY_MS && !waiting.length) carryOut(work);
  else waiting.push(work);
  if (!timer) timer = setTimeout(goOn);
}

/**
 * A library: what is given to it is done with it, at once where it is here already. One that can't be loaded is asked
 * for again the next time.
 * @template Library
 * @param {() => Promise<Library>} load
 * @returns {(use: (library: Library) => void) => void}
 */
export function library(load) {
  /** @type {Library | null} */
  let here = null;
  /** @type {Promise<Library> | null} */
  let loading = null;
  return (use) => {
    if (here) {
      const known = here;
      paced(() => use(known));
      return;
    }
    loading ??= load();
    loading.then(
      (loaded) => {
        here = loaded;
        paced(() => use(loaded));
      },
      () => (loading = null),
    );
  };
}
