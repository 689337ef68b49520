// Runs canonical scenarios under Node, in the engine for the browser. Each line of stdin is a scenario. For each scenario, stdout
// gets the answer, preceded by its length in bytes as a 32-bit integer (little endian), which is negative for a refusal.
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, ...engine } = instance.exports;
const DONE = 0, MORE = 1, REFUSED = 2;

function run(text) {
  const input = new TextEncoder().encode(text);
  const at = engine.elephan_input(input.length); // may replace the memory's buffer
  new Uint8Array(memory.buffer, at, input.length).set(input);
  let state = engine.elephan_begin();
  while (state === MORE) {
    state = engine.elephan_advance(256);
    if (state === DONE) state = engine.elephan_finish();
    if (state === DONE) break;
  }
  const bytes = new Uint8Array(memory.buffer, engine.elephan_output(), engine.elephan_output_length()).slice();
  return { bytes, refused: state === REFUSED };
}

function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { bytes, refused } = run(line);
  const head = Buffer.alloc(4);
  head.writeInt32LE(refused ? -bytes.length : bytes.length);
  write(head);
  write(bytes);
}
