// Settings of the page's controls, and their form in a link.

export type Value = number | boolean | string;

export interface Flow {
  algorithm: string;
  parameters: Record<string, Value>;
  start_s: number;
  /** Propagation round-trip time, ms; the path's if absent. */
  rtt_ms: number | null;
  /** True if the flow sends on the reverse path. */
  left: boolean;
}

export interface Settings {
  rate_mbps: number;
  rtt_ms: number;
  buffer_packets: number;
  loss_percent: number;
  queue: string;
  ecn: boolean;
  duration_s: number;
  flows: Flow[];
}

/** Smallest and largest value of each number on the page. */
export const BOUNDS = {
  rate_mbps: [1, 1000],
  rtt_ms: [1, 600],
  buffer_packets: [1, 20000],
  loss_percent: [0, 5],
  duration_s: [5, 300],
  start_s: [0, 299],
  flow_rtt_ms: [1, 1200],
} as const;

export const MOST_FLOWS = 8;

/** Rough upper bound of the segments that a setting delivers. */
export function segments(settings: Settings): number {
  return (settings.rate_mbps * 1e6 * settings.duration_s) / (1500 * 8);
}

/** One line with the reason why a setting cannot be run; null if it can. */
export function problem(settings: Settings, algorithms: ReadonlySet<string>, queues: ReadonlySet<string>): string | null {
  for (const name of ["rate_mbps", "rtt_ms", "buffer_packets", "loss_percent", "duration_s"] as const) {
    const [low, high] = BOUNDS[name];
    const value = settings[name];
    if (!(typeof value === "number" && value >= low && value <= high)) return `${name}: ${value} is not within ${low} to ${high}`;
  }
  if (!Number.isInteger(settings.buffer_packets)) return `buffer_packets: ${settings.buffer_packets} is not a whole number`;
  if (!queues.has(settings.queue)) return `queue: '${settings.queue}' is not one of ${[...queues].join(", ")}`;
  if (!Array.isArray(settings.flows) || settings.flows.length < 1 || settings.flows.length > MOST_FLOWS)
    return `flows: there must be 1 to ${MOST_FLOWS}`;
  for (const [i, flow] of settings.flows.entries()) {
    const where = `flow ${i + 1}`;
    if (!algorithms.has(flow.algorithm)) return `${where}: '${flow.algorithm}' is not an algorithm of this page`;
    if (!(flow.start_s >= 0 && flow.start_s < settings.duration_s)) return `${where}: it starts at ${flow.start_s} s, and the run ends at ${settings.duration_s} s`;
    if (flow.rtt_ms !== null && !(flow.rtt_ms >= settings.rtt_ms && flow.rtt_ms <= BOUNDS.flow_rtt_ms[1]))
      return `${where}: its RTT of ${flow.rtt_ms} ms is not within the path's ${settings.rtt_ms} ms and ${BOUNDS.flow_rtt_ms[1]} ms`;
  }
  return null;
}

/** Encodes the settings as the part of a link after `#`. */
export function toHash(settings: Settings): string {
  const bytes = new TextEncoder().encode(JSON.stringify(settings));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromHash(hash: string): Settings | null {
  try {
    const text = atob(hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
    const found = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0)))) as Settings;
    for (const flow of found.flows) {
      flow.parameters ??= {};
      flow.left ??= false;
      flow.rtt_ms ??= null;
    }
    return found;
  } catch {
    return null;
  }
}
