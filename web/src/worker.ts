// The worker of a page. It runs one setting at a time, in slices, and receives a newer setting between two slices.

import { Engine, Refusal } from "./engine";
import { canonical, type Template } from "./layout";
import type { FromWorker, ToWorker } from "./messages";

const PATIENCE_MS = 12; // longest time between two checks for messages
const FIRST_PICTURE_MS = 40;
const NEXT_PICTURE_MS = 120;
const MOST_SLICES = 4096;

let engine: Engine | null = null;
let module: WebAssembly.Module | null = null;
let template: Template | null = null;
let newest = 0;

const say = (message: FromWorker) => (self as unknown as Worker).postMessage(message);

/** Channel on which the worker posts to itself, so that waiting messages are handled. A timer of 0 ms would wait 4 ms after some calls. */
const channel = new MessageChannel();
let resume: (() => void) | null = null;
channel.port1.onmessage = () => resume?.();
const breathe = () =>
  new Promise<void>((resolve) => {
    resume = resolve;
    channel.port2.postMessage(null);
  });

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "load") {
    try {
      module = await WebAssembly.compile(data.wasm);
      engine = await Engine.load(module);
      template = data.template;
      say({ kind: "ready" });
    } catch (error) {
      say({ kind: "unable", message: String(error) });
    }
    return;
  }
  newest = data.id;
  await run(data);
};

async function run({ id, settings, form, changes }: Extract<ToWorker, { kind: "run" }>): Promise<void> {
  await breathe();
  if (newest !== id) return;
  if (engine === null || module === null || template === null) return;
  const began = performance.now();
  try {
    const made = form === undefined ? canonical(settings!, template, engine.queueForm) : changed(form, changes ?? {}, template);
    engine.begin(made);
    let slices = 16;
    let pictureAt = began + FIRST_PICTURE_MS;
    for (;;) {
      const before = performance.now();
      if (!engine.advance(slices)) break;
      const now = performance.now();
      slices = now - before < PATIENCE_MS / 2 ? Math.min(slices * 2, MOST_SLICES) : now - before > PATIENCE_MS ? Math.max(slices >> 1, 1) : slices;
      if (now >= pictureAt) {
        say({ kind: "partial", id, fraction: engine.fraction(), tables: engine.soFar().tables });
        pictureAt = performance.now() + NEXT_PICTURE_MS;
      }
      await breathe();
      if (newest !== id) return;
    }
    const { tables, summary } = engine.finish();
    say({ kind: "whole", id, tables, summary, form: made, wall_ms: performance.now() - began });
  } catch (error) {
    if (error instanceof Refusal) {
      say({ kind: "refused", id, message: error.message });
      return;
    }
    const words = engine.text();
    engine = await Engine.load(module); // a trap leaves the old instance inconsistent
    say({ kind: "refused", id, message: `the engine failed: ${words || String(error)}` });
  }
}

/** Canonical form of a run of the report with another buffer, algorithm or RTT. */
function changed(form: Record<string, any>, { buffer, rtt, algorithms }: Changes, template: Template): Record<string, any> {
  const made = structuredClone(form);
  for (const link of made.links) {
    const { queue } = link;
    if (buffer !== undefined && queue.limit_packets !== null) queue.limit_packets = Math.max(1, Math.round(queue.limit_packets * buffer));
    if (buffer !== undefined && queue.limit_bytes !== null) queue.limit_bytes = Math.max(2 * template.packet_bytes, Math.round(queue.limit_bytes * buffer));
    if (rtt !== undefined) link.delay_ps = Math.round(link.delay_ps * rtt);
  }
  for (const [place, algorithm] of Object.entries(algorithms ?? {})) {
    const flow = made.flows[Number(place)];
    flow.algorithm = algorithm;
    flow.parameters = {};
    if (template.counts_hz.includes(algorithm)) flow.stack.hz ??= template.hz;
  }
  return made;
}

export interface Changes {
  buffer?: number;
  rtt?: number;
  algorithms?: Record<number, string>;
}
