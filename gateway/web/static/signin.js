// @ts-check
// Signs in by the code behind the # of a link, by a token, or at a provider of OpenID Connect. The
// code is taken out of the address at once, so that neither the history nor whoever looks at the
// screen keeps it.

import { withCode } from "./lib/dom.js";
import { t, translateDocument } from "./lib/i18n.js";

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

const byLink = location.pathname === "/sign-in";
const back = location.pathname === "/sign-in/oidc"; // a provider sent us, and the reason is on the form
const code = byLink ? decodeURIComponent(location.hash.slice(1)) : "";
if (code || back) history.replaceState(null, "", "/sign-in");
let named = false; // a name is asked for
let agreed = false; // to be somebody else in this browser
let enter = signIn; // what the form does

/** The name that this browser was used under before there were accounts. */
function earlierName() {
  try {
    return String(JSON.parse(localStorage.getItem("moot.me") ?? "null")?.name ?? "");
  } catch {
    return "";
  }
}

function askName() {
  named = true;
  part("title").textContent = t("What is your name?");
  part("about").textContent = t("Others in the rooms see it, and so do the agents.");
  part("name-field").hidden = false;
  part("token-field").hidden = true;
  field("name").required = true;
  field("name").value = earlierName();
  part("enter").textContent = t("Continue");
  field("name").focus();
}

/**
 * A link that is opened makes nobody somebody else: they are asked.
 * @param {{ here: string, person: string }} names
 * @param {() => Promise<void>} then
 */
function askToSwitch({ here, person }, then) {
  agreed = true;
  enter = then;
  part("title").textContent = t("Go on as {name}?", { name: person });
  part("about").textContent = t("You are signed in as {name} in this browser, and will be signed out.", { name: here });
  part("name-field").hidden = true;
  field("name").required = false;
  part("token-field").hidden = true;
  part("oidc").hidden = true;
  part("enter").textContent = t("Go on as {name}", { name: person });
  part("stay").textContent = t("Stay {name}", { name: here });
  part("stay").hidden = false;
  part("stay").focus();
}

/** @param {string} message */
function fail(message) {
  const said = message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?。！？]$/.test(message) ? "" : ".");
  part("fault").replaceChildren(.../** @type {(Node | string)[]} */ (withCode(said)));
}

async function signIn() {
  const token = field("token").value.trim();
  if (!code && !token) {
    fail(t("Type a token, or open a link"));
    return;
  }
  part("fault").textContent = "";
  const name = named ? { name: field("name").value.trim() } : {};
  const proof = code && !token ? { code } : { token };
  part("enter").setAttribute("aria-busy", "true");
  try {
    const response = await fetch("/api/sign-in", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...proof, ...name, switch: agreed }),
    });
    const body = await response.json();
    if (response.ok && (byLink || back)) location.replace("/");
    else if (response.ok) location.reload();
    else if (body.needs === "name") askName();
    else if (body.needs === "switch") askToSwitch(body, signIn);
    else fail(body.error?.message ?? response.statusText);
  } catch {
    fail(t("Moot does not answer. Is it running?"));
  }
  part("enter").removeAttribute("aria-busy");
}

/** The provider's name; "": there is none. */
async function provider() {
  try {
    return String((await (await fetch("/api/sign-in")).json()).oidc?.label ?? "");
  } catch {
    return "";
  }
}

async function goToProvider() {
  part("fault").textContent = "";
  part("oidc").setAttribute("aria-busy", "true");
  try {
    const response = await fetch("/api/sign-in/oidc", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(code ? { code, switch: agreed } : { next: byLink || back ? "" : location.hash }),
    });
    const body = await response.json();
    if (response.ok) location.assign(body.url);
    else if (body.needs === "switch") askToSwitch(body, goToProvider);
    else fail(body.error?.message ?? response.statusText);
  } catch {
    fail(t("Moot does not answer. Is it running?"));
  }
  part("oidc").removeAttribute("aria-busy");
}

/** A link is used at once where there is no other way in to bind to it. @param {string} label */
function begin(label) {
  if (label) {
    part("oidc").textContent = t("Sign in with {name}", { name: label });
    part("oidc").hidden = false;
  }
  if (code && !label) signIn();
  else if (code) {
    part("title").textContent = t("Welcome");
    part("about").textContent = t("Your link is good. With {name} you can come back without one.", { name: label });
    part("token-field").hidden = true;
    part("enter").textContent = t("Continue without");
    part("oidc").focus();
  } else field("token").focus();
}

// Another link that is put into the same tab changes no more than what is behind the #.
window.addEventListener("hashchange", () => location.hash && location.reload());
part("oidc").addEventListener("click", goToProvider);
part("stay").addEventListener("click", () => location.replace("/"));
part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  enter();
});
translateDocument();
provider().then(begin);
