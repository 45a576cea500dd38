// Bundle what plot.js names, with the licences of all that is inside, and write down what was made.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = "../src/admmbench/report/vendor";
const { metafile } = await build({
  entryPoints: ["plot.js"],
  outfile: `${target}/plot.min.js`,
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plot",
  legalComments: "none",
  target: "es2020",
  metafile: true,
});

// Only what ended up in the bundle has its licence told.
const used = Object.values(metafile.outputs)[0].inputs;
const names = Object.keys(used)
  .filter((path) => used[path].bytesInOutput > 0)
  .map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
  .filter(Boolean);
const packages = [...new Set(names)].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  const text = ["LICENSE", "LICENSE.md", "UNLICENSE"]
    .map((file) => { try { return readFileSync(`node_modules/${name}/${file}`, "utf8"); } catch { return ""; } })
    .find(Boolean);
  if (!text) throw new Error(`${name} has no licence file`);
  return { name, version, license, text: text.trim() };
});
writeFileSync(
  `${target}/LICENSES.txt`,
  packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`).join("\n\n"),
);

const bytes = readFileSync(`${target}/plot.min.js`);
const plot = packages.find(({ name }) => name === "@observablehq/plot");
writeFileSync(`${target}/README.md`, `# Observable Plot, as the report includes it

\`plot.min.js\` is the part of [Observable Plot](https://observablehq.com/plot) that the report draws with, in one file.
\`make vendor\` builds it from \`vendor/\` (needs Node and npm) and writes this page. Licences: \`LICENSES.txt\`.

| what | value |
|---|---|
| version | ${plot.version} |
| bytes | ${bytes.length} |
| SHA-256 | \`${createHash("sha256").update(bytes).digest("hex")}\` |
`);
