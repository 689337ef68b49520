// Charts of quantities over time, one below another, with a common cursor and zoom.

import uPlot from "uplot";
import type { Series } from "./measures";
import { isDark } from "./theme";

// Okabe and Ito's colors, which are distinguishable with color blindness; the second set is for a dark page.
const LIGHT = ["#0072b2", "#d55e00", "#00835d", "#b3589a", "#8a6d00", "#3a93c4", "#5b5b5b", "#a3333d"];
const DARK = ["#56b4e9", "#ff9248", "#35c796", "#e89ccd", "#f0e442", "#9fd3f5", "#c2c8cf", "#ff8f8f"];
const DASHES = [[], [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4], [12, 4], [3, 2, 3, 6]];

export const color = (i: number) => (isDark() ? DARK : LIGHT)[i % 8]!;
export const dash = (i: number) => DASHES[i % 8]!;

interface Panel {
  id: string;
  title: string;
  unit: string;
  /** True if each line of the panel is a flow; flows are distinguished by dashes and colors. */
  ofFlows: boolean;
  /** Lines of the panel: name, values, and index of the color. */
  lines(series: Series): { name: string; values: Float64Array; place: number }[];
}

const PANELS: Panel[] = [
  { id: "cwnd", ofFlows: true, title: "Congestion window", unit: "segments", lines: (s) => s.flows.map((f, i) => ({ name: f.name, values: f.cwnd, place: i })) },
  { id: "rate", ofFlows: true, title: "Rate on the wire", unit: "Mbit/s", lines: (s) => s.flows.map((f, i) => ({ name: f.name, values: f.rate, place: i })) },
  { id: "rtt", ofFlows: true, title: "Round-trip time", unit: "ms", lines: (s) => s.flows.map((f, i) => ({ name: f.name, values: f.rtt, place: i })) },
  { id: "queue", ofFlows: false, title: "Queue", unit: "packets", lines: (s) => s.links.map((l, i) => ({ name: l.name, values: l.queue, place: 6 + i })) },
  { id: "drops", ofFlows: false, title: "Losses", unit: "packets/s", lines: (s) => s.links.map((l, i) => ({ name: l.name, values: l.drops, place: 7 - i })) },
];

const shown = (values: Float64Array) => Array.from(values, (value) => (Number.isFinite(value) ? value : null));
const brief = (value: number) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString());

export class Charts {
  private plots: uPlot[] = [];
  private key = "";
  private span: [number, number] | null = null;
  private readonly sync = uPlot.sync("time");

  constructor(private readonly root: HTMLElement, private readonly endS: () => number, private readonly old = "before") {
    new ResizeObserver(() => this.fit()).observe(root);
    root.addEventListener("keydown", (event) => this.step(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
  }

  /** Discards the drawings, so that the next drawings have the colors of the current theme. */
  rebuild(): void {
    this.key = "";
  }

  draw(now: Series, before: Series | null): void {
    const key = JSON.stringify([now.flows.map((f) => f.name), now.links.map((l) => l.name), before && [before.flows.length, before.links.length], isDark()]);
    if (key !== this.key) this.build(now, before);
    this.key = key;
    PANELS.forEach((panel, p) => {
      const plot = this.plots[p]!;
      plot.setData(this.data(panel, now, before), false);
      plot.batch(() => {
        const [low, high] = this.span ?? [0, this.endS()];
        plot.setScale("x", { min: low, max: high });
      });
      this.describe(panel, now, plot);
    });
  }

  /** Shows an interval of time in all charts; null shows the whole run. */
  zoom(span: [number, number] | null): void {
    this.span = span;
    const [min, max] = span ?? [0, this.endS()];
    for (const plot of this.plots) plot.setScale("x", { min, max });
  }

  zoomed(): [number, number] | null {
    return this.span;
  }

  /** All charts one below another, with their titles, as one canvas. */
  picture(): HTMLCanvasElement {
    const canvases = this.plots.map((plot) => plot.ctx.canvas);
    const ratio = devicePixelRatio;
    const head = 30 * ratio;
    const all = document.createElement("canvas");
    all.width = Math.max(...canvases.map((canvas) => canvas.width));
    all.height = canvases.reduce((sum, canvas) => sum + canvas.height + head, 0);
    const context = all.getContext("2d")!;
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--paper");
    context.fillRect(0, 0, all.width, all.height);
    let top = 0;
    canvases.forEach((canvas, p) => {
      context.font = `600 ${14 * ratio}px system-ui, sans-serif`;
      context.textBaseline = "middle";
      context.fillStyle = style.getPropertyValue("--ink");
      const title = `${PANELS[p]!.title} (${PANELS[p]!.unit})`;
      context.fillText(title, 8 * ratio, top + head / 2);
      let left = 8 * ratio + context.measureText(`${title}   `).width;
      for (const line of this.plots[p]!.series.slice(1)) {
        const label = String(line.label);
        if (label.startsWith(`${this.old}:`)) continue;
        context.fillStyle = typeof line.stroke === "function" ? String(line.stroke(this.plots[p]!, 1)) : String(line.stroke);
        context.fillText(label, left, top + head / 2);
        left += context.measureText(`${label}   `).width;
      }
      context.drawImage(canvas, 0, top + head);
      top += head + canvas.height;
    });
    return all;
  }

  /** Moves the cursor with the arrow keys; with the shift key, ten times as far. */
  private step(event: KeyboardEvent): void {
    const plot = this.plots[0];
    const places = plot?.data[0].length ?? 0;
    if (!plot || places === 0 || !event.key.startsWith("Arrow") || event.target !== this.root) return;
    const by = (event.key === "ArrowRight" || event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1);
    const at = Math.min(places - 1, Math.max(0, (plot.cursor.idx ?? Math.floor(places / 2)) + by));
    for (const each of this.plots) each.setCursor({ left: each.valToPos(each.data[0][at]!, "x"), top: each.over.clientHeight / 2 });
    event.preventDefault();
  }

  private data(panel: Panel, now: Series, before: Series | null): uPlot.AlignedData {
    const table = (series: Series): uPlot.AlignedData => [Array.from(series.times), ...panel.lines(series).map((line) => shown(line.values))] as uPlot.AlignedData;
    if (before === null) return table(now);
    const same = before.times.length === now.times.length && before.times.every((time, k) => time === now.times[k]);
    if (same) return [...table(now), ...table(before).slice(1)] as uPlot.AlignedData;
    return uPlot.join([table(now), table(before)], [Array(now.flows.length + 1).fill(1), Array(before.flows.length + 1).fill(1)] as never);
  }

  private build(now: Series, before: Series | null): void {
    for (const plot of this.plots) plot.destroy();
    this.root.textContent = "";
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = [style.getPropertyValue("--quiet").trim(), style.getPropertyValue("--line").trim()];
    this.plots = PANELS.map((panel) => {
      const figure = document.createElement("figure");
      figure.dataset.panel = panel.id;
      const caption = document.createElement("figcaption");
      caption.textContent = `${panel.title} `;
      const unit = document.createElement("small");
      unit.textContent = panel.unit;
      caption.append(unit);
      const place = document.createElement("div");
      figure.append(caption, place);
      this.root.append(figure);
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
      const lines: uPlot.Series[] = panel.lines(now).map((l) => ({
        label: l.name, stroke: color(l.place), dash: panel.ofFlows ? dash(l.place) : [], width: 1.6, spanGaps: false, points: { show: false },
        value: (_, v) => (v === null || v === undefined ? "–" : brief(v)),
      }));
      const old: uPlot.Series[] = before === null ? [] : panel.lines(before).map((l) => ({
        label: `${this.old}: ${l.name}`, stroke: `${color(l.place)}66`, width: 1, points: { show: false }, spanGaps: true,
        value: (_, v) => (v === null || v === undefined ? "–" : brief(v)),
      }));
      const options: uPlot.Options = {
        width: Math.max(200, place.clientWidth || this.root.clientWidth),
        height: panel.id === "drops" ? 130 : 170,
        cursor: { sync: { key: this.sync.key }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
        legend: { live: true },
        scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max((high ?? 1) * 1.05, 1e-3)] } },
        series: [{ label: "time (s)", value: (_, v) => (v === null || v === undefined ? "–" : v.toFixed(2)) }, ...lines, ...old],
        axes: [{ ...axis, size: 30 }, { ...axis, size: 58, values: (_, values) => values.map((v) => (v >= 10000 ? `${v / 1000}k` : String(v))) }],
        hooks: {
          setSelect: [(plot) => {
            if (plot.select.width < 4) return;
            const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            this.zoom([from, to]);
          }],
        },
      };
      const plot = new uPlot(options, this.data(panel, now, before), place);
      plot.over.addEventListener("dblclick", () => this.zoom(null));
      plot.ctx.canvas.setAttribute("role", "img");
      return plot;
    });
  }

  private describe(panel: Panel, now: Series, plot: uPlot): void {
    const words = panel.lines(now).map(({ name, values }) => {
      const known = values.filter(Number.isFinite);
      if (known.length === 0) return `${name}: nothing yet`;
      const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
      return `${name}: ${brief(Math.min(...known))} to ${brief(Math.max(...known))}, mean ${brief(mean)}`;
    });
    plot.ctx.canvas.setAttribute("aria-label", `${panel.title} in ${panel.unit} over time. ${words.join("; ")}.`);
  }

  private fit(): void {
    for (const plot of this.plots) {
      const width = Math.max(200, (plot.root.parentElement as HTMLElement).clientWidth);
      if (Math.abs(width - plot.width) > 1) plot.setSize({ width, height: plot.height });
    }
  }
}
