// The check of an answer. Python marks with the same rules (elephan/course/judging.py).

import { evaluate, type Lookup, type Tree } from "./expressions";

export interface Step {
  id: string;
  kind: "predict" | "number" | "choice" | "goal" | "essay";
  title: string;
  minutes: number;
  run: string;
  text: string;
  question: string;
  unit: string | null;
  tolerance: number | null;
  hint: string | null;
  right: string | null;
  answer: Tree | null;
  wrong: { value: Tree; hint: string }[];
  options: { text: string; when: Tree; hint: string | null }[];
  holds: { when: Tree; hint: string }[];
}

/** Ratio of a usual wrong answer to the right one, and what helps. */
export interface Slip {
  ratio: number;
  hint: string;
}

export interface Verdict {
  right: boolean;
  text: string;
}

const near = (value: number, wanted: number, tolerance: number) => Math.abs(value - wanted) <= tolerance * Math.abs(wanted) + 1e-12;

export function judge(step: Step, value: number, lookup: Lookup, slips: Slip[]): Verdict {
  if (step.kind === "goal") {
    const missed = step.holds.find((row) => evaluate(row.when, lookup) !== 1);
    return missed ? { right: false, text: missed.hint } : { right: true, text: step.right ?? "" };
  }
  if (step.kind === "number") return judgeNumber(step, value, lookup, slips);
  const option = step.options[value];
  const right = option !== undefined && evaluate(option.when, lookup) === 1;
  return { right, text: right || step.kind === "predict" ? (step.right ?? "") : (option?.hint ?? "") };
}

function judgeNumber(step: Step, value: number, lookup: Lookup, slips: Slip[]): Verdict {
  const wanted = evaluate(step.answer!, lookup);
  const tolerance = step.tolerance!;
  if (near(value, wanted, tolerance)) return { right: true, text: step.right ?? "" };
  const wrong = step.wrong.find((row) => near(value, evaluate(row.value, lookup), tolerance));
  if (wrong) return { right: false, text: wrong.hint };
  const slip = slips.find((row) => near(value, wanted * row.ratio, tolerance));
  if (slip) return { right: false, text: slip.hint };
  return { right: false, text: `${value > wanted ? "Too large" : "Too small"}. ${step.hint ?? ""}` };
}

/** A number as people write it, with the unit of the question or without; null if the text is none. */
export function read(text: string, unit: string | null): number | null {
  let rest = text.trim().replace(/[\s\u00a0\u202f]+/g, "");
  const ending = (unit ?? "").replace(/\s+/g, "");
  if (ending && rest.toLowerCase().endsWith(ending.toLowerCase())) rest = rest.slice(0, -ending.length);
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(rest)) rest = rest.replaceAll(",", "");
  else if (/^[+-]?\d+,\d+$/.test(rest)) rest = rest.replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(rest) ? Number(rest) : null;
}
