// Notebooks under Node, without a page.

import { interfaceOf, runCell, type Output, type Simulate } from "./cells";
import { Engine } from "./engine";
import { canonical } from "./layout";



interface Asked { wasm: Uint8Array; data: any; code: string[] }

/** Runs the cells of a notebook one after the other. */
export async function play({ wasm, data, code }: Asked): Promise<{ kind: string; text: string }[]> {
  const engine = await Engine.load(await WebAssembly.compile(wasm as BufferSource));
  const said: { kind: string; text: string }[] = [];
  const output: Output = {
    table: (rows) => said.push({ kind: "table", text: JSON.stringify(rows) }),
    figure: (spec) => said.push({ kind: "figure", text: String(spec.data.length) }),
    line: (text, kind) => said.push({ kind: kind || "line", text }),
  };
  const simulate: Simulate = async (settings) => {
    const form = canonical(settings, data.template, engine.queueForm);
    engine.begin(form);
    while (engine.advance(4096));
    return { ...engine.finish(), form };
  };
  const algorithms = data.algorithms.flatMap((one: any) => [one.name, ...one.presets.map((preset: any) => `${one.name}:${preset.name}`)]);
  const known = { template: data.template, algorithms: new Set<string>(algorithms), queues: new Set<string>(data.queues.map((one: any) => one.name)) };
  const own = interfaceOf(simulate, known, () => output);
  const names = {};
  for (const text of code) {
    try {
      await runCell(text, names, own);
    } catch (error) {
      said.push({ kind: "error", text: error instanceof Error ? error.message : String(error) });
    }
  }
  return said;
}
