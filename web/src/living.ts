// "Run it here" in a report: repeats a run of the report with another buffer, algorithm or RTT.

import { Charts } from "./charts";
import type { Template } from "./layout";
import { numbers, series, type Numbers, type Series } from "./measures";
import type { FromWorker, ToWorker } from "./messages";
import { unpacked } from "./unpacked";
import type { Changes } from "./worker";

interface Run { label: string; hash: string; form: Record<string, any> }

interface Data {
  runs: Run[];
  algorithms: string[];
  template: Template;
}

const root = document.getElementById("living");
if (root) offer();

/** The run that the address asks for: `#run=` and an id, the hash of a scenario with a seed. */
function asked(runs: Run[]): Run | undefined {
  const found = /^#run=([0-9a-f]+)-sim-s(\d+)$/.exec(location.hash);
  const run = runs.find(({ hash }) => hash === found?.[1]);
  if (!run || !found || run.form.seed === Number(found[2])) return run;
  return { ...run, label: `${run.label}, with seed ${found[2]}`, form: { ...run.form, seed: Number(found[2]) } };
}

function offer(): void {
  const $ = (id: string) => document.getElementById(`living-${id}`)!;
  const say = (text: string) => ($("status").textContent = text);
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") {
    say("This browser has no WebAssembly, so nothing can be run here; the figures above are those of the report.");
    return;
  }
  const begin = document.createElement("button");
  begin.type = "button";
  begin.textContent = "Run it here";
  begin.onclick = () => void start($, say);
  $("controls").append(begin);
  // A link to a run starts the engine; later ones are the started page's.
  const follow = () => {
    if (location.hash.startsWith("#run=") && begin.isConnected) void start($, say);
  };
  addEventListener("hashchange", follow);
  follow();
}

async function start($: (id: string) => HTMLElement, say: (text: string) => void): Promise<void> {
  say("The engine starts.");
  $("controls").replaceChildren();
  const data = JSON.parse(new TextDecoder().decode(await unpacked($("data").textContent!))) as Data;
  const worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent!], { type: "text/javascript" })));
  const send = (message: ToWorker) => worker.postMessage(message);
  let run = asked(data.runs) ?? data.runs[0]!;
  let changes: Changes = {};
  let published: { series: Series; numbers: Numbers } | null = null;
  let id = 0;
  const charts = new Charts($("pictures"), () => run.form.duration_ps * 1e-12, "published");
  const state = { runs: 0 };
  Object.assign(window, { elephanLiving: state });

  const rttS = () => (run.form.links.reduce((sum: number, link: any) => Math.max(sum, link.delay_ps), 0) * 2) / 1e12;
  const ask = () => {
    id += 1;
    send({ kind: "run", id, form: run.form, changes: published === null ? {} : changes });
  };

  worker.onerror = (event) => say(`The engine could not be started: ${event.message}`);
  worker.onmessage = ({ data: message }: MessageEvent<FromWorker>) => {
    if (message.kind === "ready") return ask();
    if (message.kind === "unable") return void say(`The engine could not be started: ${message.message}`);
    if (message.id !== id) return;
    if (message.kind === "refused") return void say(message.message);
    const drawn = series(message.tables, rttS());
    charts.draw(drawn, published?.series ?? null);
    if (message.kind === "partial") return;
    const found = numbers(message.tables, message.summary, message.form);
    const first = published === null;
    published ??= { series: drawn, numbers: found };
    tell($("numbers"), found, published.numbers);
    say(first ? "This is the published run, bit for bit. Change something." : `${found.segments.toLocaleString("en")} segments in ${Math.round(message.wall_ms)} ms.`);
    state.runs += 1;
  };

  const take = (chosen: Run) => {
    run = chosen;
    changes = {};
    published = null;
    charts.zoom(null);
    build();
    ask();
  };
  const build = () => {
    const controls = $("controls");
    controls.replaceChildren();
    const field = (label: string, input: HTMLElement, ...more: Node[]) => {
      const made = document.createElement("label");
      made.append(label, input, ...more);
      controls.append(made);
    };
    if (data.runs.length > 1 || !data.runs.includes(run)) {
      const offered = data.runs.includes(run) ? data.runs : [run, ...data.runs];
      const choose = select(offered.map((r, i) => [String(i), r.label]), String(offered.indexOf(run)));
      choose.onchange = () => take(offered[Number(choose.value)]!);
      field("Run", choose);
    }
    for (const [name, label] of [["buffer", "Buffer"], ["rtt", "RTT"]] as const) {
      const slider = document.createElement("input");
      Object.assign(slider, { type: "range", min: "-100", max: "100", value: "0", id: `living-${name}` });
      const words = document.createElement("small");
      const shown = () => (words.textContent = `${(changes[name] ?? 1).toPrecision(3)} times the published value`);
      slider.oninput = () => {
        changes[name] = 10 ** (Number(slider.value) / 100);
        slider.setAttribute("aria-valuetext", shown());
        ask();
      };
      shown();
      field(label, slider, words);
    }
    run.form.flows.forEach((flow: any, i: number) => {
      if (!data.algorithms.includes(flow.algorithm.split(":")[0])) return; // datagrams, or packets of another kind
      const known = [...new Set([flow.algorithm as string, ...data.algorithms])];
      const choose = select(known.map((name) => [name, name]), flow.algorithm);
      choose.id = `living-algorithm-${i}`;
      choose.onchange = () => {
        changes.algorithms = { ...changes.algorithms, [i]: choose.value };
        if (choose.value === flow.algorithm) delete changes.algorithms[i];
        ask();
      };
      field(flow.name, choose);
    });
  };
  build();
  const follow = () => {
    const found = asked(data.runs);
    if (!found) return;
    root!.scrollIntoView();
    take(found);
  };
  addEventListener("hashchange", follow);
  if (asked(data.runs)) root!.scrollIntoView();
  send({ kind: "load", wasm: await unpacked($("engine").textContent!), template: data.template });
}

function select(options: [string, string][], value: string): HTMLSelectElement {
  const made = document.createElement("select");
  for (const [key, text] of options) made.append(Object.assign(document.createElement("option"), { value: key, textContent: text }));
  made.value = value;
  return made;
}

/** Shows the numbers of the new run side by side with the numbers of the report. */
function tell(place: HTMLElement, now: Numbers, published: Numbers): void {
  const three = (value: number) => (Number.isFinite(value) ? Number(value.toPrecision(3)).toLocaleString("en") : "–");
  const rows: [string, string, string][] = [
    ["utilization", three(now.utilization), three(published.utilization)],
    ["Jain's index", three(now.jain), three(published.jain)],
    ["loss rate", three(now.loss_rate), three(published.loss_rate)],
    ["mean queue (packets)", three(now.queue_mean_packets), three(published.queue_mean_packets)],
    ...now.flows.map((flow, i): [string, string, string] => [`${flow.name}: goodput (Mbit/s)`, three(flow.goodput_mbps), three(published.flows[i]!.goodput_mbps)]),
  ];
  const table = document.createElement("table");
  table.className = "plain";
  for (const [i, row] of [["", "here", "published"], ...rows].entries()) {
    const line = table.insertRow();
    row.forEach((text, k) => {
      const cell = document.createElement(i === 0 || k === 0 ? "th" : "td");
      cell.textContent = text!;
      if (k > 0) cell.className = "num";
      if (cell instanceof HTMLTableCellElement && cell.tagName === "TH") cell.scope = i === 0 ? "col" : "row";
      line.append(cell);
    });
  }
  place.replaceChildren(table);
}
