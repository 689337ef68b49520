// Writes the bundles of the playground into the Python package: one file each for the scripts of page, worker and reports.
import { build } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", format: "iife", legalComments: "none", charset: "utf8" };
const out = "../python/elephan/web/built";
await build({ ...common, entryPoints: { play: "src/play.ts", worker: "src/worker.ts", report: "src/report.ts", notebook: "src/notebook.ts" }, outdir: out });
await build({ ...common, entryPoints: { play: "src/play.css", report: "src/report.css", notebook: "src/notebook.css" }, outdir: out });
// For tests under Node, without a page: the functions that convert a setting, and the cells of notebooks.
await build({ ...common, minify: false, format: "esm", platform: "node", entryPoints: { layout: "src/layout.ts", notebook: "src/node.ts" }, outdir: out, outExtension: { ".js": ".mjs" } });
