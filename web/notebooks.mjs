// Runs notebooks under Node. Arguments are the engine and the built cells; stdin has the data of the page with its notebooks,
// stdout what the cells of each say, both as JSON.
import { readFileSync } from "node:fs";

const [engine, cells] = process.argv.slice(2);
const { play } = await import(cells);
const data = JSON.parse(readFileSync(0, "utf8"));
const wasm = readFileSync(engine);
const said = {};
for (const { id, parts } of data.notebooks) {
  const code = parts.filter((part) => part.kind === "code").map((part) => part.text);
  said[id] = await play({ wasm, data, code });
}
console.log(JSON.stringify(said));
