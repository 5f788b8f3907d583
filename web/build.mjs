// Builds the bundles of the report and of the explorer into the Python package; `--check` compares instead of writing.
import { build } from "esbuild";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const packageFolder = join(here, "..", "src", "eigenlens");
const target = join(packageFolder, "reporting", "page");

const bundle = (outdir, entryPoints) => build({
  entryPoints,
  outdir,
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
});

const results = await Promise.all([
  bundle(target, [join(here, "src", "main.ts"), join(here, "src", "style.css")]),
  bundle(join(packageFolder, "explorer", "page"), [
    { in: join(here, "src", "explorer", "main.ts"), out: "explorer" }, { in: join(here, "src", "explorer", "explorer.css"), out: "explorer" },
  ]),
]);

// The licences of every library that went in, found by the files that esbuild read.
function libraries() {
  const found = new Map();
  for (const path of results.flatMap(({ metafile }) => Object.keys(metafile.inputs))) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path.split(sep).join("/"));
    if (match) found.set(match[1], join(here, "node_modules", match[1]));
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

function licence([name, folder]) {
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((f) => join(folder, f)).find(existsSync);
  if (!file) throw new Error(`${name} ${version} goes into the bundle but has no licence text in ${folder}`);
  return `${name} ${version} (${license})\n\n${readFileSync(file, "utf8").trim()}`;
}

const files = new Map(results.flatMap(({ outputFiles }) => outputFiles.map((file) => [file.path, file.text])));
files.set(join(target, "LICENSES.txt"), libraries().map(licence).join(`\n\n${"-".repeat(80)}\n\n`) + "\n");

// The lock file names no host: it serves whatever registry npm is set to (see .npmrc).
function hosts() {
  return [...readFileSync(join(here, "package-lock.json"), "utf8").matchAll(/"(?:resolved|url)": "(https?:[^"]*)"/g)].map((match) => match[1]);
}

let stale = 0;
if (hosts().length) {
  console.error(`package-lock.json names ${hosts()[0]}: make it again with 'npm install' in web/, where .npmrc leaves hosts out.`);
  stale = 1;
}
for (const [path, text] of files) {
  if (process.argv.includes("--check")) {
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
      console.error(`${path} is not what the sources build: run 'npm run build' in web/ and commit it.`);
      stale = 1;
    }
  } else {
    writeFileSync(path, text);
    console.log(`${path}  ${(text.length / 1024).toFixed(0)} kB`);
  }
}
process.exit(stale);
