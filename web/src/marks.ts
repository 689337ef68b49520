// Drawing of a figure's traces on a canvas, in the pixels of which "at" gives the places.

import { isDark } from "./theme";
import { positions, type Panel, type Shape, type Trace, type Whiskers } from "./spec";

export interface Canvas {
  context: CanvasRenderingContext2D;
  /** Pixel of a value of the x axis, and of one of the y axis. */
  x(value: number): number;
  y(value: number): number;
  /** Area of the plot: left, top, width, height. */
  area: [number, number, number, number];
  ratio: number;
  ink: string;
}

const DASHES: Record<string, number[]> = { dash: [7, 4], dot: [2, 3], dashdot: [8, 3, 2, 3] };

const channels = (color: string) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
const luminance = (rgb: number[]) => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
};

/** A color that has a contrast of three to the page at least, as lines need. */
export function readable(color: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(color)) return color;
  const [paper, towards] = isDark() ? [luminance([20, 24, 29]), 255] : [1, 0];
  let rgb = channels(color);
  for (let step = 0; step < 20; step++) {
    const own = luminance(rgb);
    if ((Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05) >= 3) break;
    rgb = rgb.map((c) => Math.round(c + (towards - c) * 0.08));
  }
  return `#${rgb.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
}

export const colorOf = (trace: Trace) => readable(trace.line?.color ?? trace.marker?.color ?? "#888888");

export function shape(to: Canvas, one: Shape): void {
  const { context, area: [left, top, width, height], ratio } = to;
  const whole = one.yref.endsWith("domain");
  const [x0, x1] = one.xref.endsWith("domain") ? [left, left + width] : [to.x(one.x0), to.x(one.x1)];
  const [y0, y1] = whole ? [top, top + height] : [to.y(one.y0), to.y(one.y1)];
  context.save();
  if (one.type === "rect") {
    context.fillStyle = one.fillcolor ?? "transparent";
    context.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
  } else {
    context.strokeStyle = one.line.color ?? to.ink;
    context.lineWidth = one.line.width * ratio;
    context.setLineDash((DASHES[one.line.dash ?? ""] ?? []).map((length) => length * ratio));
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  }
  context.restore();
}

/** Draws the traces of a panel, the later ones above. */
export function traces(to: Canvas, panel: Panel, hidden: ReadonlySet<string>): void {
  const bars = panel.traces.filter((trace) => trace.type === "bar");
  panel.traces.forEach((trace, i) => {
    if (hidden.has(trace.name ?? "")) return;
    if (trace.type === "heatmap") return heat(to, trace);
    if (trace.type === "bar") return barsOf(to, trace, panel, bars.indexOf(trace), bars.length);
    if (trace.fill === "tonexty") return band(to, panel.traces[i - 1]!, trace, panel);
    if (trace.fill !== "none") scatter(to, trace, panel);
  });
}

function scatter(to: Canvas, trace: Trace, panel: Panel): void {
  const { context, ratio } = to;
  const [xs, ys] = [positions(trace, "x", panel), positions(trace, "y", panel)];
  const color = colorOf(trace);
  context.save();
  context.strokeStyle = color;
  context.fillStyle = color;
  if (trace.mode!.includes("lines")) {
    context.lineWidth = (trace.line?.width ?? 1.4) * ratio * 1.15;
    context.lineJoin = "round";
    context.setLineDash((DASHES[trace.line?.dash ?? ""] ?? []).map((length) => length * ratio));
    context.beginPath();
    path(to, xs, ys, trace.line?.shape === "vh");
    if (trace.fill === "toself") {
      context.globalAlpha = 0.25;
      context.fill();
      context.globalAlpha = 0.8;
    }
    context.stroke();
    context.setLineDash([]);
  }
  whiskers(to, xs, ys, trace.error_x, "x");
  whiskers(to, xs, ys, trace.error_y, "y");
  if (trace.mode!.includes("markers")) {
    const marker = trace.marker ?? {};
    const edge = marker.line?.color && marker.line.color !== marker.color ? to.ink : null;
    xs.forEach((x, i) => {
      const y = ys[i];
      if (x !== null && y !== null && y !== undefined) mark(context, marker.symbol ?? "circle", to.x(x), to.y(y), (marker.size ?? 6) * ratio, edge);
    });
  }
  if (trace.mode!.includes("text")) texts(to, trace, xs, ys);
  context.restore();
}

function path(to: Canvas, xs: (number | null)[], ys: (number | null)[], steps: boolean): void {
  let before: number | null = null;
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [xs[i]!, ys[i]!];
    if (x === null || y === null || y === undefined) {
      before = null;
      continue;
    }
    const [px, py] = [to.x(x), to.y(y)];
    if (before === null) to.context.moveTo(px, py);
    else {
      if (steps) to.context.lineTo(before, py);
      to.context.lineTo(px, py);
    }
    before = px;
  }
}

function band(to: Canvas, low: Trace, high: Trace, panel: Panel): void {
  const { context } = to;
  const xs = positions(high, "x", panel);
  const edges = [low, high].map((trace) => positions(trace, "y", panel));
  context.save();
  context.fillStyle = high.fillcolor ?? "transparent";
  for (let first = 0; first < xs.length; ) {
    if (edges.some((edge) => edge[first] === null)) {
      first++;
      continue;
    }
    let end = first;
    while (end < xs.length && edges.every((edge) => edge[end] !== null)) end++;
    const part = Array.from({ length: end - first }, (_, k) => first + k);
    context.beginPath();
    part.forEach((i, k) => (k ? context.lineTo(to.x(xs[i]!), to.y(edges[0]![i]!)) : context.moveTo(to.x(xs[i]!), to.y(edges[0]![i]!))));
    part.reverse().forEach((i) => context.lineTo(to.x(xs[i]!), to.y(edges[1]![i]!)));
    context.fill();
    first = end;
  }
  context.restore();
}

function whiskers(to: Canvas, xs: (number | null)[], ys: (number | null)[], ends: Whiskers | undefined, way: "x" | "y"): void {
  if (!ends || ends.visible === false) return;
  const { context, ratio } = to;
  context.lineWidth = ratio;
  context.beginPath();
  xs.forEach((x, i) => {
    const y = ys[i];
    const [up, down] = [ends.array[i] ?? 0, ends.arrayminus[i] ?? 0];
    if (x === null || y === null || y === undefined || (up === 0 && down === 0)) return;
    const cap = 3 * ratio;
    if (way === "y") {
      const [px, top, bottom] = [to.x(x), to.y(y + up), to.y(y - down)];
      context.moveTo(px, top);
      context.lineTo(px, bottom);
      for (const end of [top, bottom]) {
        context.moveTo(px - cap, end);
        context.lineTo(px + cap, end);
      }
    } else {
      const [py, left, right] = [to.y(y), to.x(x - down), to.x(x + up)];
      context.moveTo(left, py);
      context.lineTo(right, py);
      for (const end of [left, right]) {
        context.moveTo(end, py - cap);
        context.lineTo(end, py + cap);
      }
    }
  });
  context.stroke();
}

/** Draws a marker; those of lines only, and the others with an edge if there is one. */
export function mark(context: CanvasRenderingContext2D, symbol: string, x: number, y: number, size: number, edge: string | null): void {
  const r = size / 2;
  const polygon = (points: number, turn: number, inner = 1) => {
    for (let i = 0; i < points; i++) {
      const [angle, far] = [turn + (2 * Math.PI * i) / points, i % 2 ? r * inner : r];
      context.lineTo(x + far * Math.sin(angle), y - far * Math.cos(angle));
    }
    context.closePath();
  };
  context.beginPath();
  if (symbol.startsWith("x") || symbol.startsWith("cross")) {
    const [dx, dy] = symbol.startsWith("x") ? [r * 0.8, r * 0.8] : [r, 0];
    context.moveTo(x - dx, y - dy);
    context.lineTo(x + dx, y + dy);
    context.moveTo(x + (dy || 0), y - (dx || r));
    context.lineTo(x - (dy || 0), y + (dx || r));
    context.lineWidth = Math.max(1.5, size / 5);
    context.stroke();
    return;
  }
  if (symbol === "square") context.rect(x - r * 0.85, y - r * 0.85, 1.7 * r, 1.7 * r);
  else if (symbol === "triangle-up") polygon(3, 0);
  else if (symbol === "triangle-down") polygon(3, Math.PI);
  else if (symbol === "diamond") polygon(4, 0);
  else if (symbol === "hexagon") polygon(6, 0);
  else if (symbol === "star") polygon(10, 0, 0.45);
  else context.arc(x, y, r * 0.9, 0, 2 * Math.PI);
  context.fill();
  if (edge !== null) {
    context.save();
    context.strokeStyle = edge;
    context.lineWidth = size / 12;
    context.stroke();
    context.restore();
  }
}

function texts(to: Canvas, trace: Trace, xs: (number | null)[], ys: (number | null)[]): void {
  const { context, ratio } = to;
  const [upright, side] = (trace.textposition ?? "top center").split(" ");
  context.fillStyle = to.ink;
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = side === "left" ? "right" : side === "right" ? "left" : "center";
  context.textBaseline = upright === "top" ? "bottom" : "top";
  xs.forEach((x, i) => {
    const y = ys[i];
    if (x === null || y === null || y === undefined) return;
    const shift = (side === "left" ? -6 : side === "right" ? 6 : 0) * ratio;
    context.fillText(trace.text?.[i] ?? "", to.x(x) + shift, to.y(y) - 5 * ratio);
  });
}

/** Left and right end of each bar of a trace. */
export function barEnds(trace: Trace, panel: Panel, position: number, count: number): [number, number][] {
  const width = 0.8 / count;
  return positions(trace, "x", panel).map((x) => {
    const middle = x! - 0.4 + width * (position + 0.5);
    return [middle - width / 2, middle + width / 2];
  });
}

function barsOf(to: Canvas, trace: Trace, panel: Panel, position: number, count: number): void {
  const { context } = to;
  const ends = barEnds(trace, panel, position, count);
  context.save();
  context.fillStyle = colorOf(trace);
  const zero = to.y(0);
  ends.forEach(([left, right], i) => {
    const y = trace.y[i];
    if (typeof y !== "number") return;
    context.fillRect(to.x(left), to.y(y), Math.max(1, to.x(right) - to.x(left) - to.ratio), zero - to.y(y));
  });
  context.strokeStyle = to.ink;
  whiskers(to, ends.map(([left, right]) => (left + right) / 2), trace.y as (number | null)[], trace.error_y, "y");
  context.restore();
}

const mixed = (scale: [number, string][], part: number) => {
  const after = Math.max(1, scale.findIndex(([place]) => place >= part));
  const [[from, a], [until, b]] = [scale[after - 1]!, scale[after]!];
  const share = (part - from) / (until - from || 1);
  return channels(a).map((c, i) => Math.round(c + (channels(b)[i]! - c) * share));
};

function heat(to: Canvas, trace: Trace): void {
  const { context, ratio } = to;
  const span = trace.zmax! - trace.zmin! || 1;
  context.save();
  context.font = `${11 * ratio}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  trace.z!.forEach((row, i) => row.forEach((value, k) => {
    const [x0, x1] = [to.x(k - 0.5), to.x(k + 0.5)];
    const [y0, y1] = [to.y(i - 0.5), to.y(i + 0.5)];
    const box = [Math.min(x0, x1) + 0.5, Math.min(y0, y1) + 0.5, Math.abs(x1 - x0) - 1, Math.abs(y1 - y0) - 1] as const;
    if (value !== null) {
      const rgb = mixed(trace.colorscale!, Math.min(1, Math.max(0, (value - trace.zmin!) / span)));
      context.fillStyle = `rgb(${rgb.join(",")})`;
      context.fillRect(...box);
      context.fillStyle = luminance(rgb) > 0.3 ? "#000" : "#fff";
    } else context.fillStyle = to.ink;
    if (trace.texttemplate) context.fillText(value === null ? "–" : String(Number(value.toPrecision(3))), (x0 + x1) / 2, (y0 + y1) / 2);
  }));
  context.restore();
}
