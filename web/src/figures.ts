// Figures of a report: panels with a common cursor, zoom by dragging, a text for the point under the pointer, and a legend
// that hides series. The specification is the one from which the figures for print are drawn.

import uPlot from "uplot";
import { barEnds, colorOf, mark, readable, shape, traces, type Canvas } from "./marks";
import { formatted, panels, positions, tick, told, type Panel, type Spec, type Trace } from "./spec";
import { style } from "./theme";

type Range = [number, number];

const DENSE = 40; // points of a line of which no single one is meant
const REACH = 24; // farthest pixels from the pointer to a point that it means
const FONT = "12px system-ui, sans-serif";
const MOST_LABEL = 150;

const isLine = (trace: Trace) => trace.type === "scatter" && trace.mode === "lines" && trace.fill === undefined;
const known = (values: (number | null)[]) => values.filter((value): value is number => value !== null && value !== undefined && Number.isFinite(value));
const make = <K extends keyof HTMLElementTagNameMap>(tag: K, kind: string, text = "") =>
  Object.assign(document.createElement(tag), { className: kind, textContent: text });

let measuring: CanvasRenderingContext2D | null = null;
function width(text: string): number {
  measuring ??= document.createElement("canvas").getContext("2d")!;
  measuring.font = FONT;
  return measuring.measureText(text).width;
}

/** One pair of axes on the page. */
class Plot {
  readonly plot: uPlot;
  readonly dense: boolean;
  private readonly log: { x: boolean; y: boolean };

  constructor(readonly panel: Panel, private readonly figure: Figure, place: HTMLElement, height: number, key: string) {
    this.log = { x: panel.x.type === "log", y: panel.y.type === "log" };
    for (const way of ["x", "y"] as const) if (this.log[way]) for (const trace of panel.traces) this.positive(trace, way);
    this.dense = panel.traces.some((trace) => isLine(trace) && trace.y.length > DENSE);
    const [x, y] = [this.whole("x"), this.whole("y")];
    this.plot = new uPlot(
      {
        width: Math.max(160, place.clientWidth), height, legend: { show: false },
        padding: [8, 12, 0, 0],
        cursor: { sync: { key }, points: { show: false }, drag: { x: true, y: !this.dense, uni: 24, setScale: false } },
        scales: {
          x: { time: false, distr: this.log.x ? 3 : 1, dir: panel.x.autorange === "reversed" ? -1 : 1, range: () => figure.range(this, "x") },
          y: { distr: this.log.y ? 3 : 1, dir: panel.y.autorange === "reversed" ? -1 : 1, range: () => figure.range(this, "y") },
        },
        series: [{}, { show: true, paths: () => null, points: { show: false } }],
        axes: [this.axis("x", place.clientWidth), this.axis("y", place.clientWidth)],
        hooks: { draw: [(plot) => this.draw(plot)], setSelect: [(plot) => this.selected(plot)] },
      },
      [x, y], place,
    );
    const { over } = this.plot;
    over.addEventListener("dblclick", () => figure.zoom(null));
    over.addEventListener("mousemove", (event) => figure.tell(this, event.offsetX, event.offsetY));
    over.addEventListener("mouseleave", () => figure.quiet());
  }

  /** Removes what a logarithmic axis cannot show. */
  private positive(trace: Trace, way: "x" | "y"): void {
    trace[way] = positions(trace, way, this.panel).map((value) => (value !== null && value > 0 ? value : null));
  }

  private axis(way: "x" | "y", room: number): uPlot.Axis {
    const { panel } = this;
    const axis = panel[way];
    const [quiet, line] = [style("--quiet"), style("--line")];
    const words = panel.words[way];
    const texts = words.length ? words : (axis.ticktext ?? []);
    const fixed = words.length ? words.map((_, i) => i) : axis.tickvals;
    const widest = Math.min(MOST_LABEL, Math.max(0, ...texts.map(width)));
    const slot = room / Math.max(1, texts.length);
    const angle = way === "x" && widest > slot - 6 ? (slot < 18 ? -90 : -45) : 0;
    const label = way === "x" ? axis.title?.text : undefined;
    const size = way === "y" ? (_: uPlot, shown: string[] | null) => 16 + Math.max(44, ...(shown ?? []).map(width)) : angle ? widest * (angle === -90 ? 1 : 0.72) + 16 : 30;
    return {
      stroke: quiet, font: FONT, size, grid: { stroke: words.length ? "transparent" : line, width: 1 }, ticks: { stroke: line, width: 1 },
      ...(label ? { label, labelFont: FONT, labelSize: 20, labelGap: 0 } : {}),
      ...(angle ? { rotate: angle } : {}),
      ...(fixed ? { splits: () => fixed, filter: (_: uPlot, splits: number[]) => splits } : {}),
      values: (_, splits) => splits.map((value) => {
        if (value === null) return "";
        const at = fixed?.indexOf(value) ?? -1;
        return texts[at] !== undefined ? shortened(texts[at]) : tick(value);
      }),
    };
  }

  /** Range of all data on an axis, within a part of the other axis if it is given. */
  whole(way: "x" | "y", inside: Range | null = null): Range {
    const { panel } = this;
    const axis = panel[way];
    if (axis.range) return [...axis.range];
    if (panel.words[way].length) return [-0.5, panel.words[way].length - 0.5];
    const values = panel.traces.flatMap((trace) => this.reach(trace, way, inside));
    let [low, high] = values.length ? [smallest(values), largest(values)] : [0, 1];
    if (this.log[way]) return [low / 1.25, high * 1.25];
    if (axis.rangemode === "tozero") low = Math.min(0, low);
    const texts = panel.traces.some((trace) => trace.mode?.includes("text"));
    const pad = (high - low || Math.abs(high) || 1) * (texts && way === "y" ? 0.14 : 0.05);
    if (way === "x" && (this.dense || panel.traces.every((trace) => trace.mode === "lines"))) return low < high ? [low, high] : [low - pad, high + pad];
    return [axis.rangemode === "tozero" && low === 0 ? 0 : low - pad, high + pad];
  }

  /** Values of a trace that an axis must show. */
  private reach(trace: Trace, way: "x" | "y", inside: Range | null): number[] {
    if (trace.type === "heatmap") return [];
    const values = positions(trace, way, this.panel);
    const ends = trace[`error_${way}`];
    const shown = inside ? positions(trace, "x", this.panel).map((x) => x !== null && x >= inside[0] && x <= inside[1]) : null;
    const kept = shown && shown.some(Boolean) ? values.map((value, i) => (shown[i] ? value : null)) : values;
    if (trace.type === "bar" && way === "x") return barEnds(trace, this.panel, 0, 1).flat();
    const all = trace.type === "bar" ? [0, ...known(kept)] : known(kept);
    if (!ends || ends.visible === false) return all;
    return [...all, ...known(kept.map((value, i) => value && value + (ends.array[i] ?? 0))), ...known(kept.map((value, i) => value && value - (ends.arrayminus[i] ?? 0)))];
  }

  private draw(plot: uPlot): void {
    const { left, top, width: wide, height } = plot.bbox;
    const ratio = devicePixelRatio;
    const to: Canvas = {
      context: plot.ctx, area: [left, top, wide, height], ratio, ink: style("--ink"),
      x: (value) => plot.valToPos(value, "x", true), y: (value) => plot.valToPos(value, "y", true),
    };
    plot.ctx.save();
    plot.ctx.beginPath();
    plot.ctx.rect(left, top, wide, height);
    plot.ctx.clip();
    for (const one of this.panel.shapes) shape(to, one);
    traces(to, this.panel, this.figure.hidden);
    plot.ctx.restore();
  }

  private selected(plot: uPlot): void {
    const { left, top, width: wide, height } = plot.select;
    if (wide < 4 && height < 4) return;
    const span = (way: "x" | "y", from: number, length: number): Range => {
      const ends = [plot.posToVal(from, way), plot.posToVal(from + length, way)];
      return [Math.min(...ends), Math.max(...ends)];
    };
    const full = height >= plot.over.clientHeight - 1;
    const [x, y] = [wide < 4 ? null : span("x", left, wide), this.dense || full ? null : span("y", top, height)];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.figure.zoom({ plot: this, x, y });
  }

  /** Texts at a place of the plot: a heading, and lines with the color of their series. */
  at(left: number, top: number): { head: string; lines: [string, string][] } | null {
    const { panel, plot, figure } = this;
    const [x, y] = [plot.posToVal(left, "x"), plot.posToVal(top, "y")];
    const shown = panel.traces.filter((trace) => !figure.hidden.has(trace.name ?? "") && trace.hoverinfo !== "skip" && (trace.fill ?? "") === "");
    const lines: [string, string][] = [];
    let head = "";
    let nearest: { far: number; text: string; color: string } | null = null;
    const bars = panel.traces.filter((trace) => trace.type === "bar");
    for (const trace of shown) {
      if (trace.type === "heatmap") {
        const [i, k] = [Math.round(y), Math.round(x)];
        const z = trace.z![i]?.[k];
        if (z !== undefined) lines.push(["", told(trace, 0, { x: panel.words.x[k], y: panel.words.y[i], z })]);
        continue;
      }
      if (trace.type === "bar") {
        const i = barEnds(trace, panel, bars.indexOf(trace), bars.length).findIndex(([from, to]) => x >= from && x <= to);
        if (i >= 0 && trace.y[i] !== null) lines.push([colorOf(trace), told(trace, i, { x: trace.x?.[i], y: trace.y[i] })]);
        continue;
      }
      const [xs, ys] = [positions(trace, "x", panel), positions(trace, "y", panel)];
      if (this.dense && isLine(trace)) {
        const i = closest(xs, x);
        if (i >= 0) {
          head ||= `${formatted(xs[i], ".5g")} ${/\((.*)\)/.exec(this.figure.xLabel)?.[1] ?? ""}`.trim();
          lines.push([colorOf(trace), `${trace.name}: ${formatted(ys[i], ",.4g")}`]);
        }
        continue;
      }
      xs.forEach((value, i) => {
        const other = ys[i];
        if (value === null || other === null || other === undefined) return;
        const far = Math.hypot(plot.valToPos(value, "x") - left, plot.valToPos(other, "y") - top);
        if (far < REACH && far < (nearest?.far ?? Infinity)) nearest = { far, text: told(trace, i, { x: value, y: other }), color: colorOf(trace) };
      });
    }
    if (nearest) lines.push([(nearest as { color: string }).color, (nearest as { text: string }).text]);
    return lines.length ? { head, lines } : null;
  }

  /** Places of all single points, in the order of the traces. */
  points(): [number, number][] {
    return this.panel.traces.flatMap((trace) => {
      if (trace.type === "heatmap") return trace.z!.flatMap((row, i) => row.map((_, k): [number, number] => [this.plot.valToPos(k, "x"), this.plot.valToPos(i, "y")]));
      const [xs, ys] = [positions(trace, "x", this.panel), positions(trace, "y", this.panel)];
      return xs.flatMap((x, i): [number, number][] => (x === null || typeof ys[i] !== "number" ? [] : [[this.plot.valToPos(x, "x"), this.plot.valToPos(ys[i]!, "y")]]));
    });
  }
}

const smallest = (values: number[]) => values.reduce((a, b) => Math.min(a, b));
const largest = (values: number[]) => values.reduce((a, b) => Math.max(a, b));

function shortened(text: string): string {
  if (width(text) <= MOST_LABEL) return text;
  let end = text.length;
  while (end > 1 && width(`${text.slice(0, end)}…`) > MOST_LABEL) end--;
  return `${text.slice(0, end)}…`;
}

/** Index of the position that is closest to a value, among ascending ones. */
function closest(xs: (number | null)[], x: number): number {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? -Infinity) <= x) low = middle;
    else high = middle;
  }
  if (xs.length === 0) return -1;
  return Math.abs((xs[low] ?? Infinity) - x) <= Math.abs((xs[high] ?? Infinity) - x) ? low : high;
}

interface Zoom { plot: Plot; x: Range | null; y: Range | null }

let count = 0;

class Figure {
  readonly hidden = new Set<string>();
  readonly xLabel: string;
  private readonly plots: Plot[] = [];
  private readonly tip = make("div", "fig-tip");
  private readonly back = make("button", "fig-back", "whole range");
  private zoomed: Zoom | null = null;
  private point = -1;
  private selecting = false;

  constructor(private readonly node: HTMLElement, spec: Spec) {
    const made = panels(structuredClone(spec));
    this.xLabel = made.panels.map((panel) => panel.x.title?.text ?? "").filter(Boolean).at(-1) ?? "";
    node.replaceChildren();
    node.classList.add("fig");
    node.tabIndex = 0;
    const title = (spec.layout.title as { text: string } | undefined)?.text;
    if (title) node.append(make("div", "fig-name", title));
    node.append(this.tools(made.panels));
    const grid = make("div", "fig-grid");
    grid.style.setProperty("--columns", String(made.columns));
    node.append(grid, this.tip);
    this.tip.hidden = true;
    const key = `figure-${count++}`;
    const places = made.panels.map((panel) => {
      const box = make("div", "fig-panel");
      const head = make("div", "fig-title", panel.title);
      head.append(make("small", "", panel.y.title?.text ?? ""));
      const place = make("div", "fig-place");
      box.append(head, place);
      grid.append(box);
      return place;
    });
    made.panels.forEach((panel, i) => {
      const share = (panel.y.domain?.[1] ?? 1) - (panel.y.domain?.[0] ?? 0);
      const heat = panel.traces.some((trace) => trace.type === "heatmap");
      const height = heat ? spec.layout.height - 60 : Math.min(420, Math.max(150, share * spec.layout.height * 0.72));
      this.plots.push(new Plot(panel, this, places[i]!, Math.round(height), `${key}-${this.root(panel, "x")}`));
    });
    for (const trace of spec.data) if (trace.colorbar) node.append(this.scale(trace));
    node.dataset.drawn = String(spec.data.length);
    node.onkeydown = (event) => this.step(event);
    node.onblur = () => this.quiet();
    this.scaled();
  }

  /** The legend, and what one can do with the figure. */
  private tools(all: Panel[]): HTMLElement {
    const tools = make("div", "fig-tools");
    const named = new Map<string, Trace>();
    for (const trace of all.flatMap((panel) => panel.traces)) if (trace.name && trace.showlegend !== false && !named.has(trace.name)) named.set(trace.name, trace);
    if (named.size > 1) for (const [name, trace] of named) tools.append(this.entry(name, trace));
    this.back.type = "button";
    this.back.hidden = true;
    this.back.onclick = () => this.zoom(null);
    const save = make("button", "fig-save", "save as PNG");
    save.type = "button";
    save.onclick = () => this.save();
    if (named.size <= 1 && !all[0]?.title) tools.classList.add("fig-lone");
    const right = make("span", "fig-right");
    right.append(this.back, save);
    tools.append(right);
    return tools;
  }

  private entry(name: string, trace: Trace): HTMLElement {
    const button = make("button", "fig-entry");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const sample = document.createElement("canvas");
    const ratio = devicePixelRatio;
    Object.assign(sample, { width: 22 * ratio, height: 12 * ratio });
    sample.style.cssText = "width:22px;height:12px";
    this.sample(sample.getContext("2d")!, trace, ratio);
    button.append(sample, name);
    button.onclick = () => {
      if (!this.hidden.delete(name)) this.hidden.add(name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
      for (const one of this.plots) one.plot.redraw();
    };
    return button;
  }

  private sample(context: CanvasRenderingContext2D, trace: Trace, ratio: number): void {
    const color = colorOf(trace);
    context.strokeStyle = context.fillStyle = color;
    if (trace.type === "bar") {
      context.fillRect(4 * ratio, 0, 14 * ratio, 12 * ratio);
      return;
    }
    if (trace.mode?.includes("lines")) {
      const dash = { dash: [7, 4], dot: [2, 3], dashdot: [8, 3, 2, 3] }[trace.line?.dash ?? ""] ?? [];
      context.setLineDash(dash.map((length) => length * ratio));
      context.lineWidth = 2 * ratio;
      context.beginPath();
      context.moveTo(0, 6 * ratio);
      context.lineTo(22 * ratio, 6 * ratio);
      context.stroke();
      context.setLineDash([]);
    }
    if (trace.mode?.includes("markers")) mark(context, trace.marker?.symbol ?? "circle", 11 * ratio, 6 * ratio, 9 * ratio, null);
  }

  /** The colors of a heat map, with the values at their ends. */
  private scale(trace: Trace): HTMLElement {
    const row = make("div", "fig-scale");
    const bar = make("span", "fig-bar");
    bar.style.background = `linear-gradient(to right, ${trace.colorscale!.map(([place, shade]) => `${shade} ${place * 100}%`).join(", ")})`;
    row.append(make("span", "", tick(trace.zmin!)), bar, make("span", "", tick(trace.zmax!)), make("small", "", trace.colorbar!.title.text));
    return row;
  }

  private root(panel: Panel, way: "x" | "y"): string {
    return panel[way].matches ?? `${way}${panel.suffix}`;
  }

  /** Range of an axis now; axes that match have one. */
  range(of: Plot, way: "x" | "y"): Range {
    const same = (this.plots.includes(of) ? this.plots : [of]).filter((one) => this.root(one.panel, way) === this.root(of.panel, way));
    const zoom = this.zoomed;
    if (zoom?.[way] && same.includes(zoom.plot)) return zoom[way];
    const inside = way === "y" && zoom?.x && of.dense && this.root(zoom.plot.panel, "x") === this.root(of.panel, "x") ? zoom.x : null;
    const ranges = same.map((one) => one.whole(way, inside));
    return [smallest(ranges.map((one) => one[0])), largest(ranges.map((one) => one[1]))];
  }

  /** Shows a part, or all. A selection reaches each panel with the cursor, and the first is the one that was drawn. */
  zoom(to: Zoom | null): void {
    if (to !== null && this.selecting) return;
    this.selecting = to !== null;
    queueMicrotask(() => (this.selecting = false));
    this.zoomed = to;
    this.back.hidden = to === null;
    this.scaled();
  }

  private scaled(): void {
    for (const one of this.plots) {
      one.plot.batch(() => {
        for (const way of ["x", "y"] as const) {
          const [min, max] = this.range(one, way);
          one.plot.setScale(way, { min, max });
        }
      });
    }
  }

  tell(of: Plot, left: number, top: number): void {
    const found = of.at(left, top);
    this.tip.hidden = found === null;
    if (found === null) return;
    this.tip.replaceChildren(...(found.head ? [make("b", "", found.head)] : []), ...found.lines.map(([color, text]) => {
      const line = make("div", "", text);
      if (color) line.style.borderLeft = `3px solid ${color}`;
      return line;
    }));
    const [own, over] = [this.node.getBoundingClientRect(), of.plot.over.getBoundingClientRect()];
    const [x, y] = [over.left - own.left + left, over.top - own.top + top];
    const right = x > own.width / 2;
    this.tip.style.left = right ? "auto" : `${x + 14}px`;
    this.tip.style.right = right ? `${own.width - x + 14}px` : "auto";
    this.tip.style.top = `${Math.max(0, y - 10)}px`;
  }

  quiet(): void {
    this.tip.hidden = true;
  }

  /** Moves the cursor with the arrow keys: along a line, with the shift key ten times as far, or from point to point. */
  private step(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.quiet();
    if (event.target !== this.node || !event.key.startsWith("Arrow")) return;
    const by = (event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1) * (event.shiftKey ? 10 : 1);
    const [first] = this.plots;
    if (!first) return;
    event.preventDefault();
    let [of, left, top] = [first, 0, 0];
    if (first.dense) {
      this.point = Math.min(200, Math.max(0, this.point + by));
      [left, top] = [(first.plot.over.clientWidth * this.point) / 200, first.plot.over.clientHeight / 2];
    } else {
      const places = this.plots.flatMap((one) => one.points().map((place) => ({ one, place })));
      if (!places.length) return;
      this.point = Math.min(places.length - 1, Math.max(0, this.point + by));
      const { one, place } = places[this.point]!;
      [of, left, top] = [one, ...place];
    }
    of.plot.setCursor({ left, top });
    this.tell(of, left, top);
  }

  /** All panels with their titles and the legend as one picture. */
  picture(): HTMLCanvasElement {
    const ratio = devicePixelRatio;
    const own = this.node.getBoundingClientRect();
    const all = document.createElement("canvas");
    const names = [...this.node.querySelectorAll<HTMLElement>(".fig-entry")].filter((one) => one.getAttribute("aria-pressed") === "true");
    all.width = own.width * ratio;
    all.height = own.height * ratio;
    const context = all.getContext("2d")!;
    context.fillStyle = style("--paper");
    context.fillRect(0, 0, all.width, all.height);
    context.fillStyle = style("--ink");
    context.textBaseline = "middle";
    const write = (element: HTMLElement, shift = 0) => {
      const box = element.getBoundingClientRect();
      context.font = `${getComputedStyle(element).fontWeight} ${13 * ratio}px system-ui, sans-serif`;
      context.fillText(element.textContent!, (box.left - own.left + shift) * ratio, (box.top - own.top + box.height / 2) * ratio);
    };
    for (const one of this.node.querySelectorAll<HTMLElement>(".fig-name, .fig-title, .fig-scale small")) write(one);
    for (const one of names) {
      write(one, 32);
      const sample = one.querySelector("canvas")!;
      const box = sample.getBoundingClientRect();
      context.drawImage(sample, (box.left - own.left) * ratio, (box.top - own.top) * ratio);
    }
    for (const one of this.plots) {
      const { canvas } = one.plot.ctx;
      const box = canvas.getBoundingClientRect();
      context.drawImage(canvas, (box.left - own.left) * ratio, (box.top - own.top) * ratio);
    }
    return all;
  }

  private save(): void {
    this.picture().toBlob((blob) => {
      if (blob === null) return;
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${this.node.dataset.figure ?? "figure"}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  /** Follows the width of the page. */
  fit(): void {
    for (const { plot } of this.plots) {
      const wide = Math.max(160, (plot.root.parentElement as HTMLElement).clientWidth);
      if (Math.abs(wide - plot.width) > 1) plot.setSize({ width: wide, height: plot.height });
    }
  }

  remove(): void {
    for (const { plot } of this.plots) plot.destroy();
  }
}

const shown = new Map<Element, Figure>();
const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) shown.get(entry.target)?.fit();
});

/** Draws a figure into an element, in place of the one that was there. */
export function draw(node: HTMLElement, spec: Spec): void {
  shown.get(node)?.remove();
  shown.set(node, new Figure(node, spec));
  sizes.observe(node);
}

Object.assign(window, { elephanFigures: { draw, picture: (node: HTMLElement) => shown.get(node)!.picture(), readable } });
