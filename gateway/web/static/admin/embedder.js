// @ts-check
// The card that offers MiniLM, the model that finds what is said in other words.

import * as api from "../lib/api.js";
import { action, section } from "./parts.js";
import { announce, h } from "../lib/dom.js";
import { count, t } from "../lib/i18n.js";

const LOOK_MS = 1_500; // while it is fetched, or facts are given their meaning
const PATH = "/api/admin/embedder";

/** What is known of it; null: this Moot has no index. */
export const embedder = () => api.optional(PATH);

/**
 * Nothing where another embedder is configured, and nothing to do any more.
 * @param {Api.EmbedderView | null} found
 * @param {() => void} refresh
 */
export function embedderCard(found, refresh) {
  if (!found || found.refused) return null;
  const works = found.state === "fetching" || (found.state === "installed" && found.embedded < found.facts);
  if (works) setTimeout(refresh, LOOK_MS);
  return section(t("Recall"), h("ul", { class: "cards-list" }, card(found, refresh)));
}

/**
 * @param {Api.EmbedderView} found
 * @param {() => void} refresh
 */
function card(found, refresh) {
  if (found.state === "absent") return h("li", { class: "card", "data-acts": true }, ...offer(found, refresh));
  return h("li", { class: "card" }, ...(found.state === "fetching" ? fetching(found) : installed(found)));
}

/**
 * @param {Api.EmbedderView} found
 * @param {() => void} refresh
 */
function offer({ download_mb: download, kept_mb: kept, fault }, refresh) {
  return [
    h("p", { class: "card-title" }, t("Find other words, too")),
    h(
      "p",
      { class: "row-about" },
      t(
        "Recall goes by words. MiniLM, a small English model, also finds what was said in other words. " +
          "It is a download of {download} MB and takes {kept} MB of disk; what is said stays on this machine.",
        { download, kept },
      ),
    ),
    fault ? h("p", { class: "failure", role: "alert" }, fault) : null,
    h(
      "div",
      { class: "card-buttons" },
      action("embedder", fault ? t("Try again") : t("Install MiniLM"), () => install(refresh), { css: "primary" }),
    ),
  ];
}

/** @param {() => void} refresh */
async function install(refresh) {
  await api.post(PATH, {});
  announce(t("MiniLM is being fetched"));
  refresh();
}

/** @param {Api.EmbedderView} found */
function fetching({ download_mb: download }) {
  return [
    h("p", { class: "card-title" }, t("MiniLM is being fetched")),
    h(
      "p",
      { class: "row-about", role: "status" },
      t("{download} MB; recall goes on by words meanwhile.", { download }),
    ),
    h("progress", { "aria-label": t("MiniLM is being fetched") }),
  ];
}

/** @param {Api.EmbedderView} found */
function installed({ facts, embedded, kept_mb: kept }) {
  const done = embedded >= facts;
  return [
    h("p", { class: "card-title" }, t("Recall finds other words, too")),
    h(
      "p",
      { class: "row-about", role: "status" },
      done
        ? count(
            facts,
            "MiniLM is installed ({kept} MB) and used for {n} fact.",
            "MiniLM is installed ({kept} MB) and used for {n} facts.",
            { kept },
          )
        : count(
            facts,
            "MiniLM is installed. {embedded} of {n} fact has its meaning; others go by words.",
            "MiniLM is installed. {embedded} of {n} facts have their meaning; others go by words.",
            { embedded },
          ),
    ),
    done ? null : h("progress", { value: embedded, max: facts, "aria-label": t("Facts with their meaning") }),
  ];
}
