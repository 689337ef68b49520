// Expressions of a lab, as trees from Python (elephan/course/expressions.py).

export type Tree = number | [string, ...unknown[]];
/** Value of a name: its run (null: the run of the step), the name, and the flow, from 1, or null. */
export type Lookup = (run: string | null, name: string, flow: number | null) => number;

const APPLIED: Record<string, (a: number, b: number) => number> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => (b === 0 ? NaN : a / b),
  "**": (a, b) => a ** b,
  "<": (a, b) => Number(a < b),
  "<=": (a, b) => Number(a <= b),
  ">": (a, b) => Number(a > b),
  ">=": (a, b) => Number(a >= b),
  and: (a, b) => Number(a !== 0 && b !== 0),
  or: (a, b) => Number(a !== 0 || b !== 0),
  sqrt: Math.sqrt,
  abs: Math.abs,
  log2: Math.log2,
  min: Math.min,
  max: Math.max,
};

export function evaluate(tree: Tree, lookup: Lookup): number {
  if (typeof tree === "number") return tree;
  const [operator, ...operands] = tree;
  if (operator === "get") return lookup(...(operands as [string | null, string, number | null]));
  const [a, b] = operands.map((operand) => evaluate(operand as Tree, lookup));
  return APPLIED[operator]!(a!, b ?? NaN);
}

/** The runs whose numbers a tree needs; a setting's numbers need no run. */
export function runsOf(tree: Tree, isSetting: (name: string, flow: number | null) => boolean): Set<string | null> {
  if (typeof tree === "number") return new Set();
  const [operator, ...operands] = tree;
  if (operator === "get") {
    const [run, name, flow] = operands as [string | null, string, number | null];
    return new Set(isSetting(name, flow) ? [] : [run]);
  }
  return new Set(operands.flatMap((operand) => [...runsOf(operand as Tree, isSetting)]));
}
