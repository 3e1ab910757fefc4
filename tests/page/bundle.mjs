// Bundles gateway/web/static into gateway/web/dist, which is committed and served. Each document's
// scripts become one file, whose name changes with its bytes, and its style sheets stand in itself:
// on a slow network a file of their own would keep it blank for a round trip more. What a script
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
const packages = new Set(); // those that something was bundled of

/** `import sheet from "x.css?sheet"`: the address of a style sheet that is kept apart, with its fonts. */
const sheets = {
  name: "sheets",
  setup(building) {
    building.onResolve({ filter: /\?sheet$/ }, async ({ path, resolveDir }) => {
      const found = await building.resolve(path.replace("?sheet", ""), { kind: "import-statement", resolveDir });
      return { path: relative(web, found.path), namespace: "sheet" }; // a file's name holds its parts' paths
    });
    building.onLoad({ filter: /./, namespace: "sheet" }, async ({ path }) => {
      const files = await bundle({ entryPoints: [resolve(web, path)], plugins: [woff2] });
      const [name] = [...files].find(([, output]) => output.entryPoint);
      return { contents: `export default "/static/${name}";` };
    });
  },
};

/** The words of a language as a plain module: the same file for every document. */
const words = {
  name: "words",
  setup(building) {
    building.onLoad({ filter: /\.json$/ }, ({ path }) => ({
      contents: `export default ${readFileSync(path, "utf8")}`,
      loader: "js",
    }));
  },
};

/** Every browser of these years reads the newest form of a font. */
const woff2 = {
  name: "woff2",
  setup(building) {
    building.onLoad({ filter: /katex\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/,\s*url\([^)]+\.(?:woff|ttf)\) format\([^)]+\)/g, ""),
      loader: "css",
      resolveDir: dirname(path),
    }));
  },
};

/** Run esbuild; where each entry point went, and what each of its files imports. */
async function bundle(options) {
  const { outputFiles, metafile } = await build({ ...COMMON, ...options });
  for (const input of Object.keys(metafile.inputs)) notePackage(resolve(web, input));
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [path.split("/").pop(), output]));
  for (const file of outputFiles) made.set(relative(to, file.path), withoutIdle(outputs, file));
  return outputs;
}

/** A script without the imports of nothing: of a chunk that has but esbuild's own helpers, which no source is in. */
function withoutIdle(outputs, { path, contents, text }) {
  if (!path.endsWith(".js")) return contents;
  const kept = text.replace(/^(?:import(?:\{[^}]*\}from)?"[^"]+";)+/, (line) =>
    line.replace(/import"\/static\/([\w.-]+)";/g, (one, name) =>
      Object.keys(outputs.get(name)?.inputs ?? { unknown: 0 }).length ? one : "",
    ),
  );
  if (kept === text) return contents;
  const output = outputs.get(path.split("/").pop());
  output.imports = output.imports.filter(({ path: of }) => kept.includes(of.split("/").pop()));
  return Buffer.from(kept);
}

function notePackage(path) {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (name) packages.add(name);
}

/** A document with its style and its scripts in itself, for a frame that may ask for nothing. */
async function frame(document) {
  let html = readFileSync(join(from, document), "utf8");
  const digests = [];
  for (const [tag, place, path] of html.matchAll(/<script src="\/(static|modules)\/([\w./@-]+)"><\/script>/g)) {
    const code = place === "modules" ? asIs(path) : await text({ entryPoints: [join(from, path)], format: "iife" });
    digests.push(`'sha256-${createHash("sha256").update(code).digest("base64")}'`);
    html = html.replace(tag, () => `<script>${code}</script>`);
  }
  for (const [tag, path] of html.matchAll(/<link rel="stylesheet" href="\/static\/([\w./-]+)">/g)) {
    const css = await text({ entryPoints: [join(from, path)] });
    html = html.replace(tag, () => `<style>${css}</style>`);
  }
  const policy = `default-src 'none'; script-src ${digests.join(" ")}; style-src 'unsafe-inline'`;
  html = html.replace("<title>", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>`);
  return hashed(document, Buffer.from(html));
}

/** A package's own script, for a document. */
function asIs(path) {
  notePackage(join(modules, path));
  const code = readFileSync(join(modules, path), "utf8");
  if (/<\/?script/i.test(code)) throw new Error(`${path} can't stand in a document`);
  return code;
}

/** What esbuild makes of one entry point, which is no file of the bundle. */
async function text(options) {
  const { outputFiles, metafile } = await build({ ...COMMON, ...options });
  for (const input of Object.keys(metafile.inputs)) notePackage(resolve(web, input));
  return outputFiles[0].text;
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
  return hashed(path, path.endsWith(".webmanifest") ? Buffer.from(linked(bytes.toString())) : bytes);
}

/** The name of a file after its bytes. */
function hashed(path, bytes) {
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
  const name = `${path.split("/").pop().slice(0, -extname(path).length)}-${digest}${extname(path)}`;
  made.set(name, bytes);
  return name;
}

/** A manifest that names the files by their new names. */
function linked(manifest) {
  return manifest.replace(ADDRESS, (address, path) => `/static/${copied(path)}`);
}

/** The style sheets of a document as one. */
const styles = (sheets) =>
  text({
    stdin: {
      contents: sheets.map((sheet) => `@import "./${sheet}";`).join("\n"),
      resolveDir: from,
      sourcefile: "all.css",
      loader: "css",
    },
  });

const FRAME = "diagram.html";
const framed = await frame(FRAME);
const documents = readdirSync(from).filter((name) => name.endsWith(".html") && name !== FRAME);
const sources = new Map(documents.map((name) => [name, readFileSync(join(from, name), "utf8")]));
const parts = {}; // all that a document may ask for, by its name
for (const [document, source] of sources) {
  const scripts = [...source.matchAll(ADDRESS)].map(([, path]) => path).filter((path) => path.endsWith(".js"));
  const workers = scripts.filter((path) => path.endsWith("_worker.js"));
  const outputs = await bundle({
    entryPoints: scripts.filter((path) => !workers.includes(path)).map((path) => `static/${path}`),
    format: "esm",
    splitting: true,
    plugins: [sheets, words],
  });
  const workerOutputs = await bundle({ entryPoints: workers.map((path) => `static/${path}`), format: "iife" });
  const asked = new Set();
  const ahead = new Set();
  const html = source.replace(STYLE, "").replace(ADDRESS, (address, path) => {
    const worker = workers.includes(path);
    const into = worker ? workerOutputs : outputs;
    const name = path === FRAME ? framed : scripts.includes(path) ? entryOf(into, `static/${path}`) : copied(path);
    asked.add(name);
    if (!worker && scripts.includes(path)) {
      for (const file of imported(outputs, name, false)) ahead.add(file);
      for (const file of imported(outputs, name, true)) asked.add(file);
    }
    return `/static/${name}`;
  });
  const preloads = [...ahead].map((name) => `<link rel="modulepreload" href="/static/${name}">\n`).join("");
  const style = await styles([...source.matchAll(STYLE)].map(([, path]) => path));
  const whole = html.replace('<script type="module"', (tag) => preloads + tag).replace("</head>", () => `<style>${style.trimEnd()}</style>\n</head>`);
  made.set(document, Buffer.from(whole));
  parts[document] = [...asked].sort();
}
made.set("parts.json", Buffer.from(`${JSON.stringify(parts, null, 1)}\n`));
made.set("LICENSES.txt", Buffer.from(notices()));

/** The licence of every package that something was bundled of. */
function notices() {
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join(modules, name);
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
