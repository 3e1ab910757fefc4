// @ts-check
// Draws one diagram, in a frame that may do nothing else: the code comes as a message, the height goes back as one.

const SANS = '-apple-system, "Segoe UI Variable Text", "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const shown = /** @type {HTMLElement} */ (document.getElementById("diagram"));
/** @param {Record<string, unknown>} told */
const tell = (told) => parent.postMessage(told, "*"); // the page checks that it is this frame
const READABLE = 0.75; // of its own size
let number = 0;

/**
 * @param {string} code
 * @param {boolean} dark
 */
async function draw(code, dark) {
  number += 1;
  document.documentElement.className = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: dark ? "dark" : "default",
    fontFamily: SANS,
    suppressErrorRendering: true,
  });
  const drawn = await mermaid.render(`drawn-${number}`, code);
  const { body } = new DOMParser().parseFromString(drawn.svg, "text/html");
  shown.replaceChildren(...body.childNodes); // Mermaid cleaned it, and nothing of value is in this frame
  const svg = shown.querySelector("svg");
  // no narrower than can be read: it scrolls
  if (svg) svg.style.minWidth = `${READABLE * svg.viewBox.baseVal.width}px`;
  tell({ height: shown.scrollHeight });
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent) return;
  draw(String(data.code), Boolean(data.dark)).catch(() => tell({ failed: true }));
});
new ResizeObserver(() => shown.firstChild && tell({ height: shown.scrollHeight })).observe(document.body);
tell({ ready: true });
