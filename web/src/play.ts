// The playground: controls, pictures, lessons.

import { Charts, color } from "./charts";
import { Labs, type LabsData } from "./labs";
import { toml, type Template } from "./layout";
import { numbers, series, type Numbers, type Series } from "./measures";
import type { FromWorker, ToWorker } from "./messages";
import { unpacked } from "./unpacked";
import { BOUNDS, MOST_FLOWS, fromHash, problem, toHash, type Flow, type Settings, type Value } from "./settings";

interface Parameter {
  name: string;
  type: string;
  default: Value | null;
  min: number | null;
  max: number | null;
  choices: string[];
  unit: string;
  doc: string;
}

interface Data {
  template: Template;
  algorithms: { name: string; title: string; parameters: Parameter[]; presets: { name: string; title: string; overrides: Record<string, Value> }[] }[];
  queues: { name: string; title: string }[];
  lessons: { id: string; title: string; text: string; question: string; settings: Settings }[];
  most_segments: number;
  /** The page of a course has labs instead of lessons. */
  course?: LabsData;
}

interface Result {
  settings: Settings;
  series: Series;
  numbers: Numbers;
  wall_ms: number;
}

// A page of the documentation embeds this page and has its own title and theme.
if (window.parent !== window) document.documentElement.dataset.embedded = "yes";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const data = JSON.parse($("data").textContent!) as Data;
const spellings = new Set(data.algorithms.flatMap((a) => [a.name, ...a.presets.map((p) => `${a.name}:${p.name}`)]));
const queues = new Set(data.queues.map((q) => q.name));
const algorithm = (name: string) => data.algorithms.find((a) => a.name === name.split(":")[0])!;

let settings: Settings = structuredClone(data.course ? Object.values(data.course.labs[0]!.runs)[0]! : data.lessons[0]!.settings);
let result: Result | null = null;
let before: Result | null = null;
let worker: Worker | null = null;
let labs: Labs | null = null;
let id = 0;
let ready = false;
let asked: { at: number; settings: Settings } | null = null;
let lastInput = -Infinity;
const charts = new Charts($("pictures"), () => settings.duration_s);

// Times of the last run, which tests and benchmarks read.
const timings = { partial_ms: NaN, whole_ms: NaN, wall_ms: NaN, runs: 0, segments: 0 };
Object.assign(window, { elephan: { timings, settings: () => settings, numbers: () => result?.numbers, toml: () => toml(settings), form: () => lastForm } });
let lastForm: Record<string, unknown> | null = null;

function element<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// ---- the engine ---------------------------------------------------------------------------------------------------------------

async function start(): Promise<void> {
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") {
    say("This browser has no WebAssembly or no DecompressionStream, so nothing can be simulated here.", true);
    return;
  }
  worker = newWorker();
  worker.onmessage = ({ data: message }: MessageEvent<FromWorker>) => hear(message);
  worker.onerror = (event) => say(`The engine could not be started: ${event.message}`, true);
  const wasm = await unpacked($("engine").textContent!);
  send({ kind: "load", wasm, template: data.template });
}

const newWorker = () => new Worker(URL.createObjectURL(new Blob([$("worker").textContent!], { type: "text/javascript" })));
const send = (message: ToWorker) => worker?.postMessage(message);

function hear(message: FromWorker): void {
  if (message.kind === "ready") {
    ready = true;
    document.documentElement.dataset.ready = "yes";
    run();
  } else if (message.kind === "unable") {
    say(`The engine could not be started: ${message.message}`, true);
  } else if (message.id !== id || asked === null) {
    return; // the message belongs to an older setting
  } else if (message.kind === "refused") {
    say(message.message, true);
  } else {
    const drawn = series(message.tables, asked.settings.rtt_ms / 1e3);
    const overlaid = $<HTMLInputElement>("overlay").checked ? before : null;
    charts.draw(drawn, overlaid?.series ?? null);
    const passed = performance.now() - asked.at;
    if (!(timings.partial_ms >= 0)) timings.partial_ms = passed;
    if (message.kind === "partial") {
      $<HTMLProgressElement>("progress").value = message.fraction;
      return;
    }
    lastForm = message.form;
    result = { settings: asked.settings, series: drawn, numbers: numbers(message.tables, message.summary, message.form), wall_ms: message.wall_ms };
    Object.assign(timings, { whole_ms: passed, wall_ms: message.wall_ms, runs: timings.runs + 1, segments: result.numbers.segments });
    $<HTMLProgressElement>("progress").value = 1;
    tell(result);
  }
}

/** Runs the setting of the controls; a later input cancels this run. */
function run(): void {
  const wrong = problem(settings, spellings, queues);
  const held = labs?.held() ?? null;
  document.documentElement.dataset.held = held === null ? "no" : "yes";
  if (labs === null) {
    try {
      history.replaceState(null, "", `#${toHash(settings)}`);
    } catch {
      // A page in a frame may have no address of its own, so it has no link.
    }
  }
  if (wrong !== null) {
    say(wrong, true);
    return;
  }
  if (held !== null) {
    id += 1; // what runs now is no longer shown
    say(held);
    return;
  }
  if (!ready) return;
  id += 1;
  asked = { at: performance.now(), settings: structuredClone(settings) };
  timings.partial_ms = NaN;
  $<HTMLProgressElement>("progress").value = 0;
  send({ kind: "run", id, settings: asked.settings });
}

/** Handles a change of the controls. After a pause between inputs, the result before the change is kept for comparison. */
function changed(): void {
  const now = performance.now();
  if (now - lastInput > 700 && result !== null) before = result;
  lastInput = now;
  run();
}

// ---- words and numbers ----------------------------------------------------------------------------------------------------------

function say(text: string, wrong = false): void {
  const place = $("status");
  place.textContent = text;
  place.classList.toggle("wrong", wrong);
}

const digits = (value: number, n = 3) => (Number.isFinite(value) ? Number(value.toPrecision(n)).toLocaleString("en") : "–");
const percent = (value: number) => (!Number.isFinite(value) ? "–" : value > 0 && value < 0.01 ? `${digits(value * 100, 2)} %` : `${(value * 100).toFixed(1)} %`);

function tell({ numbers: n, wall_ms, settings: s }: Result): void {
  const facts: [string, string][] = [
    ["utilization", percent(n.utilization)],
    ["Jain's index", n.flows.length > 1 && Number.isFinite(n.jain) ? n.jain.toFixed(3) : "– (one flow)"],
    ["mean queue", `${digits(n.queue_mean_packets)} packets`],
    ["loss rate", percent(n.loss_rate)],
  ];
  $("facts").replaceChildren(...facts.map(([name, value]) => element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
  const was = before !== null && $<HTMLInputElement>("overlay").checked ? before.numbers : null;
  $("flow-rows").replaceChildren(
    ...n.flows.map((flow, i) => {
      const key = element("span", { className: "key" });
      key.style.background = color(i);
      const bar = element("span", { className: "bar" });
      bar.style.width = `${(flow.share * 100).toFixed(1)}%`;
      bar.style.background = color(i);
      const old = was?.flows[i];
      const cell = (text: string, was?: string) => element("td", { className: "num" }, text, ...(was ? [element("small", { textContent: ` was ${was}` })] : []));
      return element(
        "tr", {},
        element("th", { scope: "row" }, key, flow.name),
        cell(digits(flow.goodput_mbps), old && digits(old.goodput_mbps)),
        element("td", { className: "share" }, element("span", { className: "track" }, bar), percent(flow.share)),
        cell(digits(flow.rtt_mean_ms), old && digits(old.rtt_mean_ms)),
        cell(digits(flow.retransmits, 9)),
        cell(digits(flow.loss_events, 9)),
        cell(digits(flow.timeouts, 9)),
      );
    }),
  );
  const first = n.flows[0]!;
  const alone = n.flows.length === 1;
  labs?.measured(`utilization ${percent(n.utilization)}, ${alone ? "" : `Jain's index ${Number.isFinite(n.jain) ? n.jain.toFixed(3) : "–"}, share of ${first.name} ${percent(first.share)}, `}mean RTT of ${first.name} ${digits(first.rtt_mean_ms)} ms`);
  const rate = n.segments / (wall_ms / 1e3) / 1e6;
  say(
    `Utilization ${percent(n.utilization)}${n.flows.length > 1 && Number.isFinite(n.jain) ? `, Jain's index ${n.jain.toFixed(2)}` : ""}. ` +
      `${n.segments.toLocaleString("en")} segments in ${Math.round(wall_ms)} ms, ${rate.toFixed(1)} million a second. The numbers are measured over the second half, from ${s.duration_s / 2} s to ${s.duration_s} s.`,
  );
}

// ---- controls -------------------------------------------------------------------------------------------------------------------

type Name = "rate_mbps" | "rtt_ms" | "buffer_packets" | "loss_percent" | "duration_s";
const CONTROLS: { name: Name; label: string; unit: string; step: number; log: boolean }[] = [
  { name: "rate_mbps", label: "Rate", unit: "Mbit/s", step: 1, log: true },
  { name: "rtt_ms", label: "RTT", unit: "ms", step: 1, log: true },
  { name: "buffer_packets", label: "Buffer", unit: "packets", step: 1, log: true },
  { name: "loss_percent", label: "Random loss", unit: "%", step: 0.001, log: false },
  { name: "duration_s", label: "Duration", unit: "s", step: 1, log: true },
];

const STEPS = 1000;
const toSlider = (value: number, [low, high]: readonly [number, number], log: boolean) =>
  Math.round(STEPS * (log ? Math.log(value / low) / Math.log(high / low) : Math.cbrt((value - low) / (high - low))));
const fromSlider = (place: number, [low, high]: readonly [number, number], log: boolean, step: number) => {
  const part = place / STEPS;
  const value = log ? low * Math.pow(high / low, part) : low + (high - low) * part ** 3;
  const rounded = value >= 100 * step ? Number(value.toPrecision(3)) : value;
  return Number((Math.round(rounded / step) * step).toFixed(3));
};

function buildControls(): void {
  for (const { name, label, unit, step, log } of CONTROLS) {
    const slider = element("input", { type: "range", min: "0", max: String(STEPS), id: `${name}-slider` });
    const number = element("input", { type: "number", min: String(BOUNDS[name][0]), max: String(BOUNDS[name][1]), step: String(step), id: name });
    slider.setAttribute("aria-label", `${label} in ${unit}`);
    slider.oninput = () => {
      settings[name] = fromSlider(Number(slider.value), BOUNDS[name], log, step);
      number.value = String(settings[name]);
      slider.setAttribute("aria-valuetext", `${settings[name]} ${unit}`);
      shortened();
      changed();
    };
    number.oninput = () => {
      settings[name] = number.valueAsNumber;
      slider.value = String(toSlider(settings[name], BOUNDS[name], log));
      shortened();
      changed();
    };
    const hint = element("small", { id: `${name}-hint` });
    $("path").append(element("div", { className: "control" }, element("label", { htmlFor: name }, label), element("span", { className: "value" }, number, element("span", { textContent: unit })), slider, hint));
  }
  const choose = element("select", { id: "queue" }, ...data.queues.map((q) => element("option", { value: q.name, textContent: q.name, title: q.title })));
  choose.onchange = () => {
    settings.queue = choose.value;
    changed();
  };
  const ecn = element("input", { type: "checkbox", id: "ecn" });
  ecn.onchange = () => {
    settings.ecn = ecn.checked;
    changed();
  };
  $("path").append(
    element("div", { className: "control" }, element("label", { htmlFor: "queue" }, "Queue discipline"), choose),
    element("div", { className: "control check" }, ecn, element("label", { htmlFor: "ecn" }, "ECN: hosts negotiate it, queues mark")),
  );
}

/** Shortens a run with more segments than a page simulates at once, and shows this at the control. */
function shortened(): void {
  const most = Math.max(BOUNDS.duration_s[0], Math.floor((data.most_segments * 12000) / (settings.rate_mbps * 1e6)));
  const hint = $("duration_s-hint");
  hint.textContent = "";
  if (settings.duration_s > most) {
    settings.duration_s = most;
    hint.textContent = `at most ${most} s at this rate`;
  }
  settings.flows.forEach((flow) => {
    if (flow.rtt_ms !== null && flow.rtt_ms < settings.rtt_ms) flow.rtt_ms = null;
  });
  show();
}

/** Writes the settings to the controls. */
function show(): void {
  for (const { name, log } of CONTROLS) {
    const number = $<HTMLInputElement>(name);
    if (document.activeElement !== number) number.value = String(settings[name]);
    const slider = $<HTMLInputElement>(`${name}-slider`);
    if (document.activeElement !== slider) slider.value = String(toSlider(settings[name], BOUNDS[name], log));
  }
  $<HTMLSelectElement>("queue").value = settings.queue;
  $<HTMLInputElement>("ecn").checked = settings.ecn;
  const bdp = (settings.rate_mbps * 1e6 * settings.rtt_ms * 1e-3) / (data.template.packet_bytes * 8);
  $("buffer_packets-hint").textContent = `${digits((settings.buffer_packets / bdp) * 100)} % of the bandwidth-delay product, ${digits(bdp)} packets`;
  $("rtt_ms-hint").textContent = "propagation, there and back";
}

function showFlows(): void {
  $("flows").replaceChildren(...settings.flows.map(flowRow));
  $<HTMLButtonElement>("add").disabled = settings.flows.length >= MOST_FLOWS;
}

function flowRow(flow: Flow, i: number): HTMLElement {
  const legend = element("legend", {}, element("span", { className: "key" }), `Flow ${i + 1}`);
  (legend.firstChild as HTMLElement).style.background = color(i);
  const choose = element("select", { id: `algorithm-${i}` });
  for (const entry of data.algorithms) {
    const group = element("optgroup", { label: entry.title });
    group.append(element("option", { value: entry.name, textContent: entry.name }));
    for (const preset of entry.presets) group.append(element("option", { value: `${entry.name}:${preset.name}`, textContent: `${entry.name}:${preset.name}`, title: preset.title }));
    choose.append(group);
  }
  choose.value = flow.algorithm;
  choose.onchange = () => {
    flow.algorithm = choose.value;
    flow.parameters = {};
    showFlows();
    $(choose.id).focus(); // the list is a new one, and the arrow keys go on in it
    changed();
  };
  const start = element("input", { type: "number", id: `start-${i}`, min: "0", step: "0.1", value: String(flow.start_s) });
  start.oninput = () => {
    flow.start_s = start.valueAsNumber;
    changed();
  };
  const rtt = element("input", { type: "number", id: `rtt-${i}`, min: "1", step: "1", value: flow.rtt_ms === null ? "" : String(flow.rtt_ms), placeholder: "path's" });
  rtt.oninput = () => {
    flow.rtt_ms = rtt.value === "" ? null : rtt.valueAsNumber;
    changed();
  };
  const left = element("input", { type: "checkbox", id: `left-${i}`, checked: flow.left });
  left.onchange = () => {
    flow.left = left.checked;
    changed();
  };
  const remove = element("button", { type: "button", className: "quiet-button", textContent: "Remove", disabled: settings.flows.length === 1 });
  remove.setAttribute("aria-label", `Remove flow ${i + 1}`);
  remove.onclick = () => {
    settings.flows.splice(i, 1);
    showFlows();
    changed();
    $("add").focus();
  };
  const field = (label: string, input: HTMLElement, unit = "") => element("div", { className: "field" }, element("label", { htmlFor: input.id, textContent: label }), element("span", {}, input, unit));
  return element(
    "fieldset", {}, legend,
    field("Algorithm", choose),
    field("Start", start, " s"),
    field("RTT", rtt, " ms"),
    element("div", { className: "field check" }, left, element("label", { htmlFor: left.id, textContent: "sends on the reverse path" })),
    parameterList(flow, i),
    remove,
  );
}

function parameterList(flow: Flow, i: number): HTMLElement {
  const entry = algorithm(flow.algorithm);
  const preset = entry.presets.find((p) => `${entry.name}:${p.name}` === flow.algorithm);
  const list = element("details", { className: "parameters" }, element("summary", { textContent: "Parameters" }));
  for (const parameter of entry.parameters) {
    const id = `parameter-${i}-${parameter.name}`;
    const usual = preset?.overrides[parameter.name] ?? parameter.default;
    let input: HTMLInputElement | HTMLSelectElement;
    if (parameter.type === "number") {
      input = element("input", { type: "number", id, step: "any", placeholder: usual === null ? "" : String(usual) });
      if (parameter.min !== null) input.min = String(parameter.min);
      if (parameter.max !== null) input.max = String(parameter.max);
    } else if (parameter.type === "text") {
      input = element("input", { type: "text", id, placeholder: String(usual), maxLength: parameter.max ?? 2000, spellcheck: false, autocomplete: "off" });
    } else {
      const words = parameter.type === "switch" ? ["true", "false"] : parameter.choices;
      input = element("select", { id }, element("option", { value: "", textContent: `${String(usual)} (default)` }), ...words.map((word) => element("option", { value: word, textContent: word })));
    }
    const given = flow.parameters[parameter.name];
    if (given !== undefined) input.value = String(given);
    input.oninput = () => {
      if (input.value === "") delete flow.parameters[parameter.name];
      else flow.parameters[parameter.name] = parameter.type === "number" ? Number(input.value) : parameter.type === "switch" ? input.value === "true" : input.value;
      changed();
    };
    list.append(element("div", { className: "field" }, element("label", { htmlFor: id, textContent: parameter.name }), element("span", {}, input, parameter.unit ? ` ${parameter.unit}` : ""), element("small", { textContent: parameter.doc })));
  }
  // Without its formulas the algorithm of formulas says nothing.
  list.open = Object.keys(flow.parameters).length > 0 || entry.parameters.some((parameter) => parameter.type === "text");
  return list;
}

// ---- lessons, files, theme ---------------------------------------------------------------------------------------------------------

function buildLessons(): void {
  const choose = $<HTMLSelectElement>("lesson");
  choose.append(element("option", { value: "", textContent: "choose one of " + data.lessons.length }), ...data.lessons.map((lesson, i) => element("option", { value: lesson.id, textContent: `${i + 1}. ${lesson.title}` })));
  choose.onchange = () => openLesson(choose.value);
}

function openLesson(name: string): void {
  const lesson = data.lessons.find((l) => l.id === name);
  $("lesson-text").replaceChildren();
  if (!lesson) return;
  $("lesson-text").append(element("h3", { textContent: lesson.title }), element("p", { textContent: lesson.text }), element("p", { className: "question", textContent: lesson.question }));
  showSettings(lesson.settings);
}

/** Shows a setting without the curves of the last one. */
function showSettings(wanted: Settings): void {
  settings = structuredClone(wanted);
  before = null;
  charts.zoom(null);
  show();
  showFlows();
  run();
}

function download(name: string, content: Blob): void {
  const link = element("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function csv({ series: s }: Result): string {
  const columns: [string, ArrayLike<number>][] = [["time_s", s.times]];
  for (const flow of s.flows) columns.push([`${flow.name} cwnd_segments`, flow.cwnd], [`${flow.name} rate_mbps`, flow.rate], [`${flow.name} rtt_ms`, flow.rtt]);
  for (const link of s.links) columns.push([`${link.name} queue_packets`, link.queue], [`${link.name} losses_per_s`, link.drops]);
  const cell = (value: number | undefined) => (value === undefined || !Number.isFinite(value) ? "" : String(value));
  const rows = Array.from(s.times, (_, k) => columns.map(([, values]) => cell(values[k])).join(","));
  return [columns.map(([name]) => name).join(","), ...rows].join("\n") + "\n";
}

function buildButtons(): void {
  $("add").onclick = () => {
    const last = settings.flows.at(-1)!;
    settings.flows.push({ ...structuredClone(last), parameters: { ...last.parameters } });
    showFlows();
    changed();
    $(`algorithm-${settings.flows.length - 1}`).focus();
  };
  $("overlay").onchange = () => result && (charts.draw(result.series, $<HTMLInputElement>("overlay").checked ? (before?.series ?? null) : null), tell(result));
  $("save-toml").onclick = () => download("playground.toml", new Blob([toml(settings)], { type: "application/toml" }));
  $("save-csv").onclick = () => result && download("playground.csv", new Blob([csv(result)], { type: "text/csv" }));
  $("save-png").onclick = () => charts.picture().toBlob((blob) => blob && download("playground.png", blob));
  $("link").onclick = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is in the clipboard.");
    } catch {
      say("The link is in the address line.");
    }
  };
  const zoom = (factor: number) => {
    const [low, high] = charts.zoomed() ?? [0, settings.duration_s];
    const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor];
    charts.zoom(half * 2 >= settings.duration_s ? null : [Math.max(0, middle - half), Math.min(settings.duration_s, middle + half)]);
  };
  $("zoom-in").onclick = () => zoom(0.5);
  $("zoom-out").onclick = () => zoom(2);
  $("zoom-all").onclick = () => charts.zoom(null);
  $("theme").onclick = () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    redraw();
  };
}

function redraw(): void {
  charts.rebuild();
  showFlows();
  if (result) {
    charts.draw(result.series, $<HTMLInputElement>("overlay").checked ? (before?.series ?? null) : null);
    tell(result);
  }
}

function readLink(): boolean {
  const found = location.hash.length > 1 ? fromHash(location.hash) : null;
  if (found === null || problem(found, spellings, queues) !== null) return false;
  settings = found;
  return true;
}

function openPlayground(): void {
  buildLessons();
  const linked = readLink();
  if (!linked && location.hash.length > 1) say("The link has no valid setting; this is the first lesson.", true);
  addEventListener("hashchange", () => {
    if (location.hash !== `#${toHash(settings)}` && readLink()) {
      show();
      showFlows();
      run();
    }
  });
  if (linked) {
    show();
    showFlows();
  } else {
    $<HTMLSelectElement>("lesson").value = data.lessons[0]!.id;
    openLesson(data.lessons[0]!.id);
  }
}

function openCourse(course: LabsData): void {
  labs = new Labs(course, {
    show: showSettings,
    settings: () => settings,
    template: data.template,
    worker: newWorker,
    engine: () => unpacked($("engine").textContent!),
  });
  labs.begin();
}

buildControls();
buildButtons();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// Paper is white, whatever the screen is.
let theme: string | undefined;
addEventListener("beforeprint", () => {
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  redraw();
});
addEventListener("afterprint", () => {
  if (theme === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  redraw();
});
if (data.course) openCourse(data.course);
else openPlayground();
void start();
