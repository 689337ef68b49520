// The specification of a figure, as python/elephan/report writes it: traces and their layout, in the terms of Plotly.

export interface Axis {
  title?: { text: string };
  domain?: [number, number];
  type?: string;
  range?: [number, number];
  rangemode?: string;
  autorange?: string;
  matches?: string;
  tickvals?: number[];
  ticktext?: string[];
}

export interface Whiskers { array: number[]; arrayminus: number[]; visible?: boolean }

export interface Trace {
  type: string;
  mode?: string;
  name?: string;
  xaxis?: string;
  yaxis?: string;
  legendgroup?: string;
  showlegend?: boolean;
  x?: (number | string | null)[];
  x0?: number;
  dx?: number;
  y: (number | string | null)[];
  z?: (number | null)[][];
  zmin?: number;
  zmax?: number;
  colorscale?: [number, string][];
  colorbar?: { title: { text: string } };
  texttemplate?: string;
  text?: string[];
  textposition?: string;
  customdata?: string[];
  hovertemplate?: string;
  hoverinfo?: string;
  fill?: string;
  fillcolor?: string;
  opacity?: number;
  line?: { width?: number; color?: string; dash?: string; shape?: string };
  marker?: { symbol?: string; size?: number; color?: string; line?: { color?: string; width?: number } };
  error_x?: Whiskers;
  error_y?: Whiskers;
}

export interface Shape {
  type: string; xref: string; yref: string; x0: number; x1: number; y0: number; y1: number;
  fillcolor?: string; line: { width: number; color?: string; dash?: string };
}

export interface Note { text: string; x: number; y: number; xref?: string; yref?: string }

export interface Spec {
  data: Trace[];
  layout: { height: number; shapes?: Shape[]; annotations?: Note[]; barmode?: string; [axis: string]: unknown };
}

/** A pair of axes with what is drawn in it. */
export interface Panel {
  suffix: string;
  x: Axis;
  y: Axis;
  title: string;
  shapes: Shape[];
  traces: Trace[];
  /** Texts of the axes of words; empty for an axis of numbers. */
  words: { x: string[]; y: string[] };
}

export const plain = (text: string) => text.replace(/<\/?b>/g, "").replace(/&lt;/g, "<").replace(/&amp;/g, "&");

/** Panels of a figure in the order in which they are read, and the number of their columns. */
export function panels(spec: Spec): { panels: Panel[]; columns: number } {
  const { layout } = spec;
  const suffixes = Object.keys(layout).filter((key) => /^yaxis\d*$/.test(key)).map((key) => key.slice(5));
  const found = suffixes.map((suffix): Panel => {
    const [x, y] = [layout[`xaxis${suffix}`] as Axis, layout[`yaxis${suffix}`] as Axis];
    const [left, top] = [x.domain?.[0] ?? 0, y.domain?.[1] ?? 1];
    const notes = layout.annotations ?? [];
    const traces = spec.data.filter((trace) => (trace.yaxis ?? "y") === `y${suffix}`);
    const words = (way: "x" | "y") => {
      const of = traces.flatMap((trace) => (trace[way] ?? []).filter((one) => typeof one === "string"));
      return [...new Set(of)] as string[];
    };
    return {
      suffix, x, y, traces,
      title: plain(notes.find((note) => note.xref === "paper" && note.x === left && note.y === top)?.text ?? ""),
      shapes: (layout.shapes ?? []).filter((shape) => shape.yref.split(" ")[0] === `y${suffix}`),
      words: { x: words("x"), y: words("y") },
    };
  });
  const place = (panel: Panel) => [-(panel.y.domain?.[1] ?? 1), panel.x.domain?.[0] ?? 0] as const;
  found.sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]);
  return { panels: found, columns: new Set(found.map((panel) => place(panel)[1])).size };
}

/** Positions of a trace's points: numbers, and the places of words in an axis of words. */
export function positions(trace: Trace, way: "x" | "y", panel: Panel): (number | null)[] {
  const values = way === "x" && trace.x === undefined
    ? trace.y.map((_, i) => trace.x0! + trace.dx! * i)
    : trace[way]!;
  const words = panel.words[way];
  return values.map((value) => (typeof value === "string" ? words.indexOf(value) : value));
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number of an axis. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) {
    const power = Math.floor(Math.log10(size) + 1e-9);
    const raised = (power < 0 ? "⁻" : "") + [...String(Math.abs(power))].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
    const factor = Number((value / 10 ** power).toPrecision(3));
    return factor === 1 ? `10${raised}` : `${factor}·10${raised}`;
  }
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** A number in a format of d3, of which the figures use ",", ".3f", ".4g" and "~". */
export function formatted(value: unknown, format: string): string {
  if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
  const [, comma, digits, kind] = /^(,?)(?:\.(\d+))?~?([fg]?)$/.exec(format) ?? [];
  if (kind === "f") {
    const places = Number(digits ?? 6);
    return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: comma !== "" });
  }
  const rounded = Number(value.toPrecision(Number(digits ?? 4)));
  return Math.abs(rounded) >= 1e9 || (rounded !== 0 && Math.abs(rounded) < 1e-4)
    ? rounded.toExponential()
    : rounded.toLocaleString("en", { maximumFractionDigits: 9, useGrouping: comma !== "" });
}

/** Text for a point. */
export function told(trace: Trace, i: number, at: { x: unknown; y: unknown; z?: unknown }): string {
  const template = trace.hovertemplate ?? "%{x:,.4g}, %{y:,.4g}";
  const values: Record<string, unknown> = { ...at, text: trace.text?.[i], customdata: trace.customdata?.[i] };
  const text = template.replace(/%\{(\w+)(?::([^}]*))?\}/g, (_, name, format) => formatted(values[name], format ?? ""));
  const own = text.includes("<extra></extra>");
  const said = text.replace("<extra></extra>", "").replace(/<br>/g, " · ");
  return own || !trace.name ? said : `${trace.name} · ${said}`;
}
