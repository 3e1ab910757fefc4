// @ts-check
// Pictures that are kept here. Those of other sites stay links: looking at them would tell those sites who reads.

import { modal } from "./dialogs.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

const FILE = /^\/api\/files\/[0-9a-f]{32}$/;

/**
 * The path of a file that is kept here, or null.
 * @param {string} url
 */
export function ownFile(url) {
  const path = url.startsWith(`${location.origin}/`) ? url.slice(location.origin.length) : url;
  return FILE.test(path) ? path : null;
}

/**
 * A picture that a click enlarges.
 * @param {string} url
 * @param {string} alt
 * @param {string} [about]
 */
export function picture(url, alt, about = alt) {
  const name = alt || t("Picture");
  const image = h("img", { src: url, alt: name, loading: "lazy", title: about || null });
  const link = h("a", { href: url, target: "_blank", rel: "noopener", class: "image" }, image);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    enlarge(url, name);
  });
  image.addEventListener("error", () => link.replaceChildren(name));
  return link;
}

/**
 * @param {string} url
 * @param {string} name
 */
function enlarge(url, name) {
  const close = h("button", { type: "button", class: "button" }, t("Close"));
  const dialog = modal(name, h("div", { class: "enlarged" }, h("img", { src: url, alt: name }), close), {
    classes: "picture",
  });
  close.addEventListener("click", () => dialog.close());
}
