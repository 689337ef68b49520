// The page's settings as a canonical form and as a scenario file. The form consists of templates from Python
// (elephan/web/template.py) with numbers inserted. Tests check that Python reads the file as this form.

import type { Flow, Settings, Value } from "./settings";

type Form = Record<string, unknown>;

export interface Template {
  scenario: Form;
  bottleneck: Form;
  access: Form;
  /** Ratio of an access link's rate to the bottleneck's. */
  access_rates: number;
  flow: Form;
  stacks: { plain: Form; ecn: Form };
  /** Timer interrupts per second of a host. */
  hz: number;
  /** Names of the algorithms that count timer interrupts. */
  counts_hz: string[];
  packet_bytes: number;
}

/** Default parameters of a queue, from the engine. */
export type QueueForm = (kind: string, rateBps: number, packetBytes: number) => Form;

const PS_PER_MS = 1e9;
const PS_PER_S = 1e12;
const SAMPLES = 500;

/** Converts a number with at most six decimals to an integer of a smaller unit, without rounding errors. */
function whole(value: number, unit: number): number {
  return Math.round(value * 1e6) * (unit / 1e6);
}

/** Time between samples, ms: about 500 in a run. */
export function samplePeriodMs(settings: Settings): number {
  return Math.max(5, Math.round((settings.duration_s * 1000) / SAMPLES / 5) * 5);
}

export function canonical(settings: Settings, template: Template, queueForm: QueueForm): Form {
  const rateBps = whole(settings.rate_mbps, 1e6);
  const rttPs = whole(settings.rtt_ms, PS_PER_MS);
  const durationPs = whole(settings.duration_s, PS_PER_S);
  const queue = (kind: string, rate: number, packets: number | null) => ({
    kind, limit_packets: packets, limit_bytes: null, ...queueForm(kind, rate, template.packet_bytes),
  });
  const lossy = settings.loss_percent > 0;
  const back = settings.flows.some((flow) => flow.left);
  const forth = settings.flows.some((flow) => !flow.left);
  const bottleneck = (name: string, reverse: boolean) => ({
    ...template.bottleneck,
    name,
    rate_bps: rateBps,
    delay_ps: rttPs / 2,
    queue: queue(settings.queue, rateBps, settings.buffer_packets),
    // A division by 100 is exact only if the exponent is changed in the text of the number.
    loss: lossy && !reverse ? { kind: "bernoulli", p: Number(`${settings.loss_percent}e-2`) } : { kind: "none" },
    record: reverse ? back : forth,
  });
  const links: Form[] = [bottleneck("bottleneck", false), bottleneck("bottleneck/reverse", true)];
  const accessBps = rateBps * template.access_rates;
  const accessQueue = queue("droptail", accessBps, null);
  settings.flows.forEach((flow, i) => {
    const ownPs = flow.rtt_ms === null ? rttPs : whole(flow.rtt_ms, PS_PER_MS);
    for (const name of [`source${i + 1}`, `source${i + 1}/reverse`, `sink${i + 1}`, `sink${i + 1}/reverse`])
      links.push({ ...template.access, name, rate_bps: accessBps, delay_ps: (ownPs - rttPs) / 4, queue: accessQueue });
  });
  return {
    ...template.scenario,
    duration_ps: durationPs,
    sample_period_ps: samplePeriodMs(settings) * PS_PER_MS,
    measure: { from_ps: durationPs / 2, to_ps: durationPs },
    links,
    flows: settings.flows.map((flow, i) => flowForm(flow, i, settings, template)),
  };
}

function flowForm(flow: Flow, i: number, settings: Settings, template: Template): Form {
  const first = 2 + 4 * i;
  const [there, here] = flow.left ? [1, 0] : [0, 1];
  const parameters = Object.entries(flow.parameters).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...template.flow,
    name: `${flow.algorithm}-${i + 1}`,
    algorithm: flow.algorithm,
    parameters: Object.fromEntries(parameters),
    start_ps: whole(flow.start_s, PS_PER_S),
    path: [first, there, first + 2],
    reverse_path: [first + 3, here, first + 1],
    stack: settings.ecn ? template.stacks.ecn : template.stacks.plain,
  };
}

/** The scenario file with the same setting. */
export function toml(settings: Settings): string {
  const value = (v: Value) => (typeof v === "string" ? JSON.stringify(v) : String(v));
  const lines = [
    "# Made by the playground of Elephan. Run it with: elephan run FILE",
    `title = "from the playground"`,
    `duration = "${settings.duration_s} s"`,
    `sample_period = "${samplePeriodMs(settings)} ms"`,
    ...(settings.ecn ? ["", "[stack]", "ecn = true"] : []),
    "",
    "[dumbbell]",
    `rate = "${settings.rate_mbps} Mbit/s"`,
    `rtt = "${settings.rtt_ms} ms"`,
    `buffer = "${settings.buffer_packets} packets"`,
    `queue = "${settings.queue}"`,
    ...(settings.loss_percent > 0 ? [`loss = "${settings.loss_percent}%"`] : []),
  ];
  for (const flow of settings.flows) {
    const parameters = Object.entries(flow.parameters).map(([name, v]) => `${name} = ${value(v)}`);
    lines.push("", "[[flow]]", `algorithm = "${flow.algorithm}"`);
    if (flow.start_s > 0) lines.push(`start = "${flow.start_s} s"`);
    if (flow.rtt_ms !== null) lines.push(`rtt = "${flow.rtt_ms} ms"`);
    if (flow.left) lines.push(`direction = "left"`);
    if (parameters.length > 0) lines.push(`parameters = { ${parameters.join(", ")} }`);
  }
  return lines.join("\n") + "\n";
}
