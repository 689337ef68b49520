// Series and numbers of a run, from the engine's tables. Tests check that the numbers equal those of elephan.metrics.

import type { Names, Table, Tables } from "./engine";

export interface Series {
  times: Float64Array;
  flows: { name: string; cwnd: Float64Array; rate: Float64Array; rtt: Float64Array }[];
  links: { name: string; queue: Float64Array; drops: Float64Array }[];
}

const column = (table: Table | undefined, name: string) => (table?.[name] ?? new Float64Array(0)) as Float64Array;

/** Names in a table, and the number of rows of each name; the rows of a name are consecutive. */
function parts(table: Table | undefined, by: string): { names: string[]; rows: number } {
  const words = (table?.[by] as Names | undefined)?.words ?? [];
  const all = column(table, "time_s").length;
  return { names: words, rows: words.length > 0 ? all / words.length : 0 };
}

/** Change of a count per second, over the `back` samples before each sample. */
function slope(counts: Float64Array, times: Float64Array, back: number, unit: number): Float64Array {
  return counts.map((count, k) => {
    const from = Math.max(0, k - back);
    return k === from ? NaN : ((count - counts[from]!) * unit) / (times[k]! - times[from]!);
  });
}

export function series(tables: Tables, rttS: number): Series {
  const { samples, links } = tables;
  const { names, rows } = parts(samples, "flow");
  const times = column(samples, "time_s").slice(0, rows);
  const period = rows > 1 ? times[1]! - times[0]! : 1;
  const back = Math.max(1, Math.ceil(Math.max(rttS, (times[rows - 1] ?? 0) / 150) / period));
  const ofFlow = (name: string, i: number) => column(samples, name).slice(i * rows, (i + 1) * rows);
  const flows = names.map((name, i) => {
    const wire = ofFlow("wire_bytes", i);
    const begun = wire.findIndex((bytes) => bytes > 0);
    const active = (values: Float64Array) => values.map((value, k) => (begun >= 0 && k >= begun - 1 ? value : NaN));
    return {
      name,
      cwnd: active(ofFlow("cwnd", i)),
      rate: active(slope(wire, times, back, 8e-6)),
      rtt: ofFlow("rtt_s", i).map((s) => s * 1e3),
    };
  });
  const link = parts(links, "link");
  const ofLink = (name: string, i: number) => column(links, name).slice(i * link.rows, i * link.rows + rows);
  return {
    times,
    flows,
    links: link.names.map((name, i) => ({
      name,
      queue: ofLink("queue_mean", i),
      drops: slope(ofLink("dropped_packets", i), times, 1, 1),
    })),
  };
}

export interface FlowNumbers {
  name: string;
  algorithm: string;
  throughput_mbps: number;
  goodput_mbps: number;
  share: number;
  rtt_mean_ms: number;
  retransmits: number;
  loss_events: number;
  timeouts: number;
}

export interface Numbers {
  flows: FlowNumbers[];
  utilization: number;
  jain: number;
  loss_rate: number;
  drops: number;
  queue_mean_packets: number;
  segments: number;
}

/** Numbers over the measurement window. */
export function numbers(tables: Tables, summary: Record<string, unknown>, form: Record<string, any>): Numbers {
  const table = tables.flows;
  const names = (table?.name ?? []) as string[];
  const value = (name: string, i: number) => column(table, name)[i] ?? NaN;
  const rates = names.map((_, i) => value("throughput_mbps", i));
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const squares = rates.reduce((sum, rate) => sum + rate * rate, 0);
  const link = atBottleneck(tables, form);
  return {
    flows: names.map((name, i) => ({
      name,
      algorithm: ((table?.algorithm ?? []) as string[])[i] ?? "",
      throughput_mbps: rates[i]!,
      goodput_mbps: value("goodput_mbps", i),
      share: total > 0 ? rates[i]! / total : 0,
      rtt_mean_ms: value("rtt_mean_ms", i),
      retransmits: value("retransmits", i),
      loss_events: value("loss_events", i),
      timeouts: value("timeouts", i),
    })),
    jain: squares > 0 ? (total * total) / (rates.length * squares) : NaN,
    segments: Number(summary.segments_delivered ?? 0),
    ...link,
  };
}

/** Numbers of the first recorded link, which is the bottleneck of most flows, over the measured part of the run. */
function atBottleneck(tables: Tables, form: Record<string, any>) {
  const { links } = tables;
  const { names, rows } = parts(links, "link");
  const times = column(links, "time_s").slice(0, rows);
  const at = (ps: number) => times.findIndex((time) => time >= ps * 1e-12 - 1e-9);
  const [from, to] = [at(form.measure.from_ps), at(form.measure.to_ps)];
  const seconds = (form.measure.to_ps - form.measure.from_ps) * 1e-12;
  const change = (name: string) => column(links, name)[to]! - column(links, name)[from]!;
  const spec = form.links.find((link: { name: string }) => link.name === names[0]);
  const dropped = change("dropped_packets");
  // Number of packets whose wait ended because they were dropped or transmitted.
  const settled = change("arrived_packets") - change("queue_packets");
  return {
    utilization: (change("delivered_bytes") * 8) / (spec.rate_bps * seconds),
    drops: dropped,
    loss_rate: settled > 0 ? dropped / settled : 0,
    queue_mean_packets: change("queue_integral_packet_s") / seconds,
  };
}
