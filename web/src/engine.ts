// Interface to the engine's module, with the functions that it exports (crates/wasm).

import type { QueueForm } from "./layout";

export const DONE = 0;
export const MORE = 1;

interface Exports {
  memory: WebAssembly.Memory;
  elephan_input(bytes: number): number;
  elephan_output(): number;
  elephan_output_length(): number;
  elephan_queue_form(rateBps: number, packetBytes: number): number;
  elephan_begin(): number;
  elephan_advance(slices: number): number;
  elephan_fraction(): number;
  elephan_so_far(): number;
  elephan_finish(): number;
}

/** A column of repeated names: for each row, the index of its name in `words`, or -1. */
export interface Names {
  keys: Int32Array;
  words: string[];
}

export type Column = Float64Array | Uint16Array | Uint8Array | Names | string[];
export type Table = Record<string, Column>;
export type Tables = Record<string, Table>;

export interface Answer {
  tables: Tables;
  summary: Record<string, unknown>;
}

interface Head {
  tables: { name: string; columns: { name: string; form: string; length: number; offset: number; words: string[] | null }[] }[];
  summary: Record<string, unknown>;
}

export class Refusal extends Error {}

export class Engine {
  private constructor(private readonly exports: Exports) {}

  static async load(module: WebAssembly.Module): Promise<Engine> {
    const instance = await WebAssembly.instantiate(module, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  /** Prepares a run, which replaces the previous run. */
  begin(canonical: object): void {
    this.put(JSON.stringify(canonical));
    this.checked(this.exports.elephan_begin());
  }

  /** Runs for a number of slices. Returns true if the run is not at its end. */
  advance(slices: number): boolean {
    return this.checked(this.exports.elephan_advance(slices)) === MORE;
  }

  fraction(): number {
    return this.exports.elephan_fraction();
  }

  soFar(): Answer {
    this.checked(this.exports.elephan_so_far());
    return parse(this.output());
  }

  finish(): Answer {
    this.checked(this.exports.elephan_finish());
    return parse(this.output());
  }

  queueForm: QueueForm = (kind, rateBps, packetBytes) => {
    this.put(kind);
    this.checked(this.exports.elephan_queue_form(rateBps, packetBytes));
    return JSON.parse(this.text()) as Record<string, unknown>;
  };

  /** The engine's last message. */
  text(): string {
    return new TextDecoder().decode(this.output());
  }

  private put(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const at = this.exports.elephan_input(bytes.length); // may replace the memory's buffer
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  private output(): Uint8Array {
    const at = this.exports.elephan_output();
    return new Uint8Array(this.exports.memory.buffer, at, this.exports.elephan_output_length()).slice();
  }

  private checked(state: number): number {
    if (state !== DONE && state !== MORE) throw new Refusal(this.text());
    return state;
  }
}

/** An answer of the engine, in the form of crates/wasm/src/answer.rs. */
export function parse(bytes: Uint8Array): Answer {
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headBytes))) as Head;
  const begin = bytes.byteOffset + 4 + headBytes;
  const tables: Tables = {};
  for (const table of head.tables) {
    const columns: Table = {};
    for (const { name, form, length, offset, words } of table.columns) {
      const at = begin + offset;
      if (form === "Text") columns[name] = words ?? [];
      else if (form === "Int32") columns[name] = { keys: new Int32Array(bytes.buffer, at, length).slice(), words: words ?? [] };
      else if (form === "BigUint64") columns[name] = Float64Array.from(new BigUint64Array(bytes.buffer, at, length), Number);
      else if (form === "Float64") columns[name] = new Float64Array(bytes.buffer, at, length).slice();
      else if (form === "Uint16") columns[name] = new Uint16Array(bytes.buffer, at, length).slice();
      else columns[name] = new Uint8Array(bytes.buffer, at, length).slice();
    }
    tables[table.name] = columns;
  }
  return { tables, summary: head.summary };
}
