// Bundles the page's script and style, and collects the licences of what is bundled.
import { build } from "esbuild";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const common = {
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  metafile: true,
};
const script = await build({
  ...common,
  entryPoints: ["src/main.ts"],
  format: "iife",
  outfile: "../assets/report.js",
});
await build({ ...common, entryPoints: ["src/report.css"], outfile: "../assets/report.css" });

// Only what really lies in the bundle, so that the list is neither short nor padded.
const packages = new Set();
for (const output of Object.values(script.metafile.outputs)) {
  for (const [path, input] of Object.entries(output.inputs)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    if (name && input.bytesInOutput > 0) packages.add(name);
  }
}
const texts = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file || !existsSync(`${folder}/${file}`)) throw new Error(`${name} has no licence file`);
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
writeFileSync("../assets/licences.txt", texts.join("\n----\n\n"));
