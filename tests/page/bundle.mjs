// Bundles gateway/web/static into gateway/web/dist, which is committed and served. Each document's
// scripts and style sheets become one file each, whose name changes with its bytes; what a script
// imports only when it is needed becomes a file of its own.
//
//     node bundle.mjs           writes it
//     node bundle.mjs --check   says what is not current, and writes nothing

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const web = resolve(here, "../../gateway/web");
const from = join(web, "static");
const to = join(web, "dist");
const modules = join(here, "node_modules");

const ADDRESS = /\/static\/([\w./-]+)/g;
const STYLE = /^<link rel="stylesheet" href="\/static\/([\w./-]+)">\n/gm;
const COMMON = {
  absWorkingDir: web,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  nodePaths: [modules],
  outdir: to,
  publicPath: "/static",
  loader: { ".woff2": "file", ".svg": "file" },
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  metafile: true,
  write: false,
  logLevel: "warning",
};

/** @type {Map<string, Uint8Array>} */
const made = new Map(); // by file name
const packages = new Map(); // those that something was bundled of: name -> folder

/** Run esbuild; where each entry point went, and what each of its files imports. */
async function bundle(options) {
  const { outputFiles, metafile } = await build({ ...COMMON, ...options });
  for (const file of outputFiles) made.set(relative(to, file.path), file.contents);
  for (const input of Object.keys(metafile.inputs)) notePackage(resolve(web, input));
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => [path.split("/").pop(), output]);
  return new Map(outputs);
}

function notePackage(path) {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (name) packages.set(name, path.slice(0, path.lastIndexOf(`node_modules/${name}/`)) + `node_modules/${name}`);
}

/** Where an entry point went. */
const entryOf = (outputs, entry) => [...outputs].find(([, output]) => output.entryPoint === entry)[0];

/** What a file imports, and what that imports. lazily: also what comes later. */
function imported(outputs, name, lazily, found = new Set()) {
  for (const { path, kind } of outputs.get(name).imports) {
    const file = path.split("/").pop();
    if (found.has(file) || !outputs.has(file) || (kind === "dynamic-import" && !lazily)) continue;
    found.add(file);
    imported(outputs, file, lazily, found);
  }
  return found;
}

/** A file that is served as it is. */
function copied(path) {
  const bytes = readFileSync(join(from, path));
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
  const name = `${path.split("/").pop().slice(0, -extname(path).length)}-${digest}${extname(path)}`;
  made.set(name, bytes);
  return name;
}

/** The style sheets of a document as one. */
async function styles(name, sheets) {
  const contents = sheets.map((sheet) => `@import "./${sheet}";`).join("\n");
  const outputs = await bundle({ stdin: { contents, resolveDir: from, sourcefile: "all.css", loader: "css" } });
  const [file] = [...outputs].find(([, output]) => output.entryPoint);
  const named = file.replace("stdin", name);
  made.set(named, made.get(file));
  made.delete(file);
  return named;
}

const documents = readdirSync(from).filter((name) => name.endsWith(".html"));
const sources = new Map(documents.map((name) => [name, readFileSync(join(from, name), "utf8")]));
const named = [...sources.values()].flatMap((source) => [...source.matchAll(ADDRESS)].map(([, path]) => path));
const scripts = [...new Set(named.filter((path) => path.endsWith(".js")))];
const workers = scripts.filter((path) => path.endsWith("_worker.js"));
const outputs = await bundle({
  entryPoints: scripts.filter((path) => !workers.includes(path)).map((path) => `static/${path}`),
  format: "esm",
  splitting: true,
});
const workerOutputs = await bundle({ entryPoints: workers.map((path) => `static/${path}`), format: "iife" });

const parts = {}; // all that a document may ask for, by its name
for (const [document, source] of sources) {
  const asked = new Set();
  const ahead = new Set();
  const style = await styles(
    document.replace(".html", ""),
    [...source.matchAll(STYLE)].map(([, path]) => path),
  );
  asked.add(style);
  const first = source.indexOf('<link rel="stylesheet"');
  const linked = source.slice(0, first) + `<link rel="stylesheet" href="/static/${style}">\n` + source.slice(first);
  const html = linked
    .replace(STYLE, (line, path) => (path === style ? line : ""))
    .replace(ADDRESS, (address, path) => {
      if (path === style) return address;
      const worker = workers.includes(path);
      const into = worker ? workerOutputs : outputs;
      const name = scripts.includes(path) ? entryOf(into, `static/${path}`) : copied(path);
      asked.add(name);
      if (!worker && scripts.includes(path)) {
        for (const file of imported(outputs, name, false)) ahead.add(file);
        for (const file of imported(outputs, name, true)) asked.add(file);
      }
      return `/static/${name}`;
    });
  const preloads = [...ahead].map((name) => `<link rel="modulepreload" href="/static/${name}">\n`).join("");
  made.set(document, Buffer.from(html.replace("</head>", `${preloads}</head>`)));
  parts[document] = [...asked].sort();
}
made.set("parts.json", Buffer.from(`${JSON.stringify(parts, null, 1)}\n`));
made.set("LICENSES.txt", Buffer.from(notices()));

/** The licence of every package that something was bundled of. */
function notices() {
  return [...packages]
    .sort()
    .map(([name, folder]) => {
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path));
      const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${"─".repeat(80)}\n\n`);
}

const there = existsSync(to) ? readdirSync(to) : [];
const stale = there.filter((name) => !made.has(name));
const changed = [...made].filter(([name, bytes]) => !there.includes(name) || !readFileSync(join(to, name)).equals(bytes));
if (process.argv.includes("--check")) {
  const wrong = [...stale, ...changed.map(([name]) => name)];
  if (wrong.length) console.error(`gateway/web/dist is not current: make page\n${wrong.sort().join("\n")}`);
  process.exitCode = wrong.length ? 1 : 0;
} else {
  mkdirSync(to, { recursive: true });
  for (const name of stale) rmSync(join(to, name));
  for (const [name, bytes] of changed) writeFileSync(join(to, name), bytes);
}
