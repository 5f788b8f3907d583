// Builds the page's bundle into the Python package; `--check` compares instead of writing.
import { build } from "esbuild";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "eigenlens", "app", "page");

const result = await build({
  entryPoints: [join(here, "src", "main.ts"), join(here, "src", "style.css")],
  outdir: target,
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

// The licences of every library that went in, found by the files that esbuild read.
function libraries(metafile) {
  const found = new Map();
  for (const path of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path.split(sep).join("/"));
    if (match) found.set(match[1], join(here, "node_modules", match[1]));
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

function licence([name, folder]) {
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((f) => join(folder, f)).find(existsSync);
  return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : ""}`;
}

const files = new Map(result.outputFiles.map((file) => [file.path, file.text]));
files.set(join(target, "LICENSES.txt"), libraries(result.metafile).map(licence).join(`\n\n${"-".repeat(80)}\n\n`) + "\n");

let stale = 0;
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
