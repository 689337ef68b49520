// Numbers of a run that an expression of a lab can name. Tests check that they equal those of Python (elephan/course/readings.py).

import type { Names, Table, Tables } from "./engine";
import { numbers, type FlowNumbers, type Numbers } from "./measures";
import type { Settings } from "./settings";

const SETTINGS = ["rate_mbps", "rtt_ms", "buffer_packets", "loss_percent", "duration_s"];
const FALL = 0.9; // a sample of the window below this fraction of the sample before is a reduction

export const isSetting = (name: string, flow: number | null) => (flow === null ? name === "flows" || SETTINGS.includes(name) : name === "rtt_ms");

export function ofSetting(settings: Settings, name: string, flow: number | null): number {
  if (name === "flows") return settings.flows.length;
  if (flow !== null) return flow <= settings.flows.length ? (settings.flows[flow - 1]!.rtt_ms ?? settings.rtt_ms) : NaN;
  return Number(settings[name as keyof Settings]);
}

export class Readings {
  readonly numbers: Numbers;
  private readonly fromS: number;

  constructor(private readonly tables: Tables, summary: Record<string, unknown>, form: Record<string, any>) {
    this.numbers = numbers(tables, summary, form);
    this.fromS = form.measure.from_ps * 1e-12;
  }

  of(name: string, flow: number | null): number {
    if (flow !== null) return this.ofFlow(name, flow - 1);
    if (name === "queue_max_packets") return extreme(this.measured(this.tables.links, "link", "queue_mean", 0), Math.max);
    return Number(this.numbers[name as keyof Numbers] ?? NaN);
  }

  private ofFlow(name: string, i: number): number {
    const known = this.numbers.flows[i];
    if (known === undefined) return NaN;
    if (name in known) return Number(known[name as keyof FlowNumbers]);
    const place = ((this.tables.samples?.flow as Names | undefined)?.words ?? []).indexOf(known.name);
    const samples = (column: string) => this.measured(this.tables.samples, "flow", column, place);
    if (name === "period_s") return period(samples("cwnd"), samples("time_s"));
    const [what, how] = name.split("_") as [string, string];
    const values = what === "rtt" ? samples("rtt_s").map((s) => s * 1e3) : samples("cwnd");
    return how === "max" ? extreme(values, Math.max) : how === "min" ? extreme(values, Math.min) : mean(values);
  }

  /** Samples of one name in a table, within the measured time. */
  private measured(table: Table | undefined, by: string, column: string, place: number): Float64Array {
    const names = (table?.[by] as Names | undefined)?.words ?? [];
    const [times, values] = [table?.time_s as Float64Array, table?.[column] as Float64Array];
    const rows = times.length / names.length;
    const from = place * rows;
    return values.slice(from, from + rows).filter((_, k) => times[from + k]! >= this.fromS - 1e-9);
  }
}

const extreme = (values: Float64Array, of: (...values: number[]) => number) => {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length > 0 ? of(...known) : NaN;
};
const mean = (values: Float64Array) => {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
};

/** Mean time between reductions of the window. */
function period(values: Float64Array, times: Float64Array): number {
  const begun: number[] = [];
  for (let k = 0; k + 1 < values.length; k += 1) {
    const falls = (at: number) => at >= 0 && values[at + 1]! < FALL * values[at]!;
    if (falls(k) && !falls(k - 1)) begun.push(times[k]!);
  }
  return begun.length > 1 ? (begun.at(-1)! - begun[0]!) / (begun.length - 1) : NaN;
}
