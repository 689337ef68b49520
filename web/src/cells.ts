// Interface of the notebooks: runs, tables and plots for cells of JavaScript. It needs no page, so tests use it under Node.

import type { Answer } from "./engine";
import type { Template } from "./layout";
import { toml } from "./layout";
import { numbers, series, type FlowNumbers, type Series } from "./measures";
import { problem, type Flow, type Settings } from "./settings";
import type { Spec, Trace } from "./spec";

export type Cell = string | number | boolean | null | undefined;
export type Row = Record<string, Cell>;

/** Place of a cell's output. */
export interface Output {
  table(rows: Row[]): void;
  figure(spec: Spec): void;
  line(text: string, kind: "" | "right" | "wrong"): void;
}

/** Simulates settings, and gives the engine's answer with the canonical form. */
export type Simulate = (settings: Settings) => Promise<Answer & { form: Record<string, unknown> }>;

export interface Known {
  template: Template;
  algorithms: ReadonlySet<string>;
  queues: ReadonlySet<string>;
}

interface FlowOptions { algorithm: string; start?: number; rtt?: number; reverse?: boolean; parameters?: Record<string, number | boolean | string> }

interface Options {
  rate?: number; rtt?: number; buffer?: number | string; duration?: number; loss?: number; queue?: string; ecn?: boolean;
  flows?: (string | FlowOptions)[];
}

const OPTIONS = ["rate", "rtt", "buffer", "duration", "loss", "queue", "ecn", "flows"];
const OF_FLOW = ["algorithm", "start", "rtt", "reverse", "parameters"];
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a800"];

function known(given: object, names: string[], of: string): void {
  for (const name of Object.keys(given)) if (!names.includes(name)) throw new Error(`'${name}' is no field of ${of}; allowed: ${names.join(", ")}`);
}

/** Packets of a buffer: a number of packets, or a text such as "50% BDP", of the longest RTT as in a scenario. */
function packets(buffer: number | string, rate: number, rtts: number[], bytes: number): number {
  if (typeof buffer === "number") return buffer;
  const [, amount, percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*BDP\s*$/i.exec(buffer) ?? [];
  if (amount === undefined) throw new Error(`buffer: '${buffer}' is neither a number of packets nor a text such as "50% BDP"`);
  return Math.max(1, Math.round((rate * Math.max(...rtts) * 1000 * Number(amount)) / (8 * bytes * (percent ? 100 : 1))));
}

/** Settings of the playground for what a cell asks. */
export function settingsOf(options: Options, { template, algorithms, queues }: Known): Settings {
  known(options, OPTIONS, "a run");
  const { rate = 20, rtt = 40, buffer = "1 BDP", duration = 30, loss = 0, queue = "droptail", ecn = false, flows = ["cubic"] } = options;
  const rtts = [rtt, ...flows.map((one) => (typeof one === "string" ? rtt : (one.rtt ?? rtt)))];
  const made: Settings = {
    rate_mbps: rate, rtt_ms: rtt, buffer_packets: packets(buffer, rate, rtts, template.packet_bytes), loss_percent: loss, queue, ecn, duration_s: duration,
    flows: flows.map((one): Flow => {
      const flow = typeof one === "string" ? { algorithm: one } : one;
      known(flow, OF_FLOW, "a flow");
      return { algorithm: flow.algorithm, parameters: flow.parameters ?? {}, start_s: flow.start ?? 0, rtt_ms: flow.rtt ?? null, left: flow.reverse ?? false };
    }),
  };
  const wrong = problem(made, algorithms, queues);
  if (wrong) throw new Error(wrong);
  return made;
}

/** One run: its numbers over the second half, its series, and the file with which "elephan run" repeats it. */
export class Run {
  readonly flows: FlowNumbers[];
  readonly utilization: number;
  readonly jain: number;
  readonly loss_rate: number;
  readonly drops: number;
  readonly queue: number;
  readonly series: Series;
  readonly toml: string;

  constructor(readonly settings: Settings, answer: Answer & { form: Record<string, unknown> }, private readonly packetBits: number) {
    const found = numbers(answer.tables, answer.summary, answer.form as Record<string, any>);
    ({ flows: this.flows, utilization: this.utilization, jain: this.jain, loss_rate: this.loss_rate, drops: this.drops } = found);
    this.queue = found.queue_mean_packets;
    this.series = series(answer.tables, settings.rtt_ms / 1000);
    this.toml = toml(settings);
  }

  /** Mean wait in the queue, ms. */
  get delay(): number {
    return (this.queue * this.packetBits) / (this.settings.rate_mbps * 1000);
  }
}

const QUANTITIES: Record<string, { title: string; unit: string; lines(s: Series): { name: string; values: Float64Array }[] }> = {
  cwnd: { title: "Congestion window", unit: "segments", lines: (s) => s.flows.map((f) => ({ name: f.name, values: f.cwnd })) },
  rate: { title: "Rate on the wire", unit: "Mbit/s", lines: (s) => s.flows.map((f) => ({ name: f.name, values: f.rate })) },
  rtt: { title: "Round-trip time", unit: "ms", lines: (s) => s.flows.map((f) => ({ name: f.name, values: f.rtt })) },
  queue: { title: "Queue", unit: "packets", lines: (s) => s.links.map((l) => ({ name: l.name, values: l.queue })) },
};

interface Chart { x?: string; y?: string; log?: boolean; series: { name: string; x: number[]; y: number[] }[] }

/** The names that a cell has. */
export function interfaceOf(simulate: Simulate, all: Known, output: () => Output) {
  return {
    async simulate(options: Options = {}): Promise<Run> {
      const settings = settingsOf(options, all);
      return new Run(settings, await simulate(settings), 8 * all.template.packet_bytes);
    },
    table(rows: Row[] | Row): void {
      output().table(Array.isArray(rows) ? rows : [rows]);
    },
    plot(run: Run, ...what: string[]): void {
      for (const name of what) if (!(name in QUANTITIES)) throw new Error(`'${name}' is not a quantity; allowed: ${Object.keys(QUANTITIES).join(", ")}`);
      const chosen = what.length ? what : ["cwnd", "queue"];
      output().figure(panelsOf(chosen.map((name) => {
        const { title, unit, lines } = QUANTITIES[name]!;
        const traces = lines(run.series).map((line, i): Trace => ({
          type: "scatter", mode: "lines", name: line.name, x: Array.from(run.series.times),
          y: Array.from(line.values, (value) => (Number.isFinite(value) ? value : null)), line: { width: 1.3, color: COLORS[(name === "queue" ? 6 : i) % 8]! },
        }));
        return { title, unit, traces };
      })));
    },
    chart({ x = "", y = "", log = false, series: given }: Chart): void {
      const traces = given.map((one, i): Trace => ({
        type: "scatter", mode: "lines+markers", name: one.name, x: one.x, y: one.y, line: { width: 1.4, color: COLORS[i % 8]! },
        marker: { symbol: ["circle", "square", "triangle-up", "diamond"][i % 4]!, size: 7, color: COLORS[i % 8]! },
      }));
      const type = log ? { type: "log" } : {};
      output().figure({
        data: traces,
        layout: { height: 380, xaxis: { domain: [0, 1], title: { text: x }, ...type }, yaxis: { domain: [0, 1], title: { text: y }, ...(log ? type : { rangemode: "tozero" }) } },
      });
    },
    print(...words: unknown[]): void {
      output().line(words.map((word) => (typeof word === "number" ? String(Number(word.toPrecision(4))) : String(word))).join(" "), "");
    },
    check(holds: boolean, sentence: string): void {
      output().line(sentence, holds ? "right" : "wrong");
    },
  };
}

function panelsOf(all: { title: string; unit: string; traces: Trace[] }[]): Spec {
  const layout: Spec["layout"] = { height: 120 + 240 * all.length, annotations: [] };
  const data = all.flatMap(({ title, unit, traces }, i) => {
    const [suffix, top] = [i ? String(i + 1) : "", 1 - i / all.length];
    layout[`xaxis${suffix}`] = { domain: [0, 1], ...(i ? { matches: "x" } : {}), title: { text: i === all.length - 1 ? "time (s)" : "" } };
    layout[`yaxis${suffix}`] = { domain: [Math.max(0, top - 0.9 / all.length), top], rangemode: "tozero", title: { text: unit } };
    layout.annotations!.push({ text: title, x: 0, xref: "paper", y: top, yref: "paper" });
    return traces.map((trace) => ({ ...trace, xaxis: `x${suffix}`, yaxis: `y${suffix}` }));
  });
  return { data, layout };
}

type Names = Record<string, unknown>;

/** Names of JavaScript that a cell has; others are the cell's own, and not those of the window. */
const GLOBALS = new Set(["Array", "Boolean", "Error", "Infinity", "JSON", "Map", "Math", "NaN", "Number", "Object", "Promise", "Set", "String", "isFinite", "isNaN", "parseFloat", "parseInt", "undefined"]);

/** Runs the code of a cell. Names that it sets without "const" or "let" are there for later cells. */
export async function runCell(code: string, names: Names, own: Names): Promise<void> {
  const scope = new Proxy(names, {
    has: (_, name) => typeof name === "string" && !GLOBALS.has(name),
    get: (_, name) => {
      if (typeof name !== "string") return undefined;
      if (name in own) return own[name];
      if (name in names) return names[name];
      throw new ReferenceError(`'${name}' is not known; a cell above may have to run first`);
    },
    set: (_, name, value) => {
      if (typeof name === "string" && name in own) throw new Error(`'${name}' is a function of the notebook; choose another name`);
      names[String(name)] = value;
      return true;
    },
  });
  const body = new Function("scope", `with (scope) { return (async () => {\n${code}\n})(); }`) as (scope: object) => Promise<void>;
  await body(scope);
}
