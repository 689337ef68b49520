// The page of the notebooks: text, cells that run in the page, and their outputs.

import { interfaceOf, runCell, type Output, type Row, type Simulate } from "./cells";
import type { Template } from "./layout";
import type { FromWorker, ToWorker } from "./messages";
import { draw } from "./figures";
import type { Settings } from "./settings";
import { unpacked } from "./unpacked";

interface Part { kind: "text" | "code"; text: string }
interface Notebook { id: string; title: string; parts: Part[] }
interface Data { notebooks: Notebook[]; template: Template; algorithms: { name: string }[]; queues: { name: string }[] }

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const data = JSON.parse($("data").textContent!) as Data;
const say = (text: string) => ($("status").textContent = text);
const state = { ready: false, ran: 0 };
Object.assign(window, { elephanNotebook: state });

const worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent!], { type: "text/javascript" })));
const send = (message: ToWorker) => worker.postMessage(message);
let waiting: { resolve: (answer: any) => void; reject: (error: Error) => void } | null = null;
let id = 0;
worker.onerror = (event) => say(`The engine could not be started: ${event.message}`);
worker.onmessage = ({ data: message }: MessageEvent<FromWorker>) => {
  if (message.kind === "ready") {
    state.ready = true;
    say("Ready.");
  } else if (message.kind === "unable") say(`The engine could not be started: ${message.message}`);
  else if (message.id === id && message.kind === "whole") waiting?.resolve(message);
  else if (message.id === id && message.kind === "refused") waiting?.reject(new Error(message.message));
};

const simulate: Simulate = (settings: Settings) =>
  new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    id += 1;
    send({ kind: "run", id, settings });
  });

let place: HTMLElement = document.body;
const shown = (value: unknown) => (typeof value === "number" ? Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 }) : String(value ?? "–"));

const output: Output = {
  table(rows: Row[]) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of names) head.append(Object.assign(document.createElement("th"), { textContent: name, scope: "col" }));
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      for (const name of names) {
        const cell = line.insertCell();
        cell.textContent = shown(row[name]);
        if (typeof row[name] === "number") cell.className = "num";
      }
    }
    const box = Object.assign(document.createElement("div"), { className: "wide", tabIndex: 0 });
    box.append(table);
    place.append(box);
  },
  figure(spec) {
    const node = document.createElement("div");
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", spec.data.map((trace) => trace.name).join(", "));
    place.append(node);
    draw(node, spec);
  },
  line(text, kind) {
    place.append(Object.assign(document.createElement("p"), { className: `said ${kind}`, textContent: kind ? `${kind === "right" ? "✓" : "✗"} ${text}` : text }));
  },
};

const own = interfaceOf(simulate, { template: data.template, algorithms: names(data.algorithms), queues: new Set(data.queues.map((one) => one.name)) }, () => output);
let known: Record<string, unknown> = {};
let busy = false;

function names(algorithms: { name: string; presets?: { name: string }[] }[]): Set<string> {
  return new Set(algorithms.flatMap((one) => [one.name, ...(one.presets ?? []).map((preset) => `${one.name}:${preset.name}`)]));
}

async function run(cell: HTMLElement): Promise<boolean> {
  if (busy || !state.ready) return false;
  busy = true;
  place = cell.querySelector<HTMLElement>(".output")!;
  place.replaceChildren();
  const began = performance.now();
  say("A cell runs.");
  let right = true;
  try {
    await runCell(cell.querySelector("textarea")!.value, known, own);
    say(`Ready. The last cell took ${((performance.now() - began) / 1000).toFixed(2)} s.`);
  } catch (error) {
    right = false;
    output.line(error instanceof Error ? error.message : String(error), "wrong");
    say("A cell has an error.");
  }
  busy = false;
  state.ran += 1;
  return right;
}

function code(text: string): HTMLElement {
  const cell = Object.assign(document.createElement("section"), { className: "cell" });
  const area = document.createElement("textarea");
  Object.assign(area, { value: text, spellcheck: false, rows: text.split("\n").length });
  area.setAttribute("aria-label", "code of a cell; Shift and Enter run it");
  area.oninput = () => (area.rows = area.value.split("\n").length);
  area.onkeydown = (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    void run(cell);
  };
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Run" });
  button.onclick = () => void run(cell);
  cell.append(area, button, Object.assign(document.createElement("div"), { className: "output" }));
  return cell;
}

function paragraph(text: string): HTMLElement {
  const made = document.createElement("p");
  // Code is between backquotes.
  text.split("`").forEach((part, i) => made.append(i % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part));
  return made;
}

function open(notebook: Notebook): void {
  known = {};
  $("title").textContent = notebook.title;
  $("cells").replaceChildren(...notebook.parts.map((part) => (part.kind === "code" ? code(part.text) : paragraph(part.text))));
  history.replaceState(null, "", `#${notebook.id}`);
}

const choose = $<HTMLSelectElement>("notebook");
choose.replaceChildren(...data.notebooks.map((one) => new Option(one.title, one.id)));
choose.onchange = () => open(data.notebooks.find((one) => one.id === choose.value)!);
$("all").onclick = async () => {
  for (const cell of document.querySelectorAll<HTMLElement>(".cell")) if (!(await run(cell))) break;
};
const first = data.notebooks.find((one) => `#${one.id}` === location.hash) ?? data.notebooks[0]!;
choose.value = first.id;
open(first);
void unpacked($("engine").textContent!).then((wasm) => send({ kind: "load", wasm, template: data.template }));
