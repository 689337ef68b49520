// Bundles of the playground: the page's script and the worker's, each one file, into the Python package.
import { build } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", format: "iife", legalComments: "none", charset: "utf8" };
const out = "../python/elephan/web/built";
await build({ ...common, entryPoints: { play: "src/play.ts", worker: "src/worker.ts", living: "src/living.ts" }, outdir: out });
await build({ ...common, entryPoints: { play: "src/play.css", living: "src/living.css" }, outdir: out });
// For tests under Node: what the page asks of a setting, without a page.
await build({ ...common, minify: false, format: "esm", platform: "node", entryPoints: { layout: "src/layout.ts" }, outdir: out, outExtension: { ".js": ".mjs" } });
