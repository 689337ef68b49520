"""Expressions of a lab: closed forms over a setting, and numbers of a run.

An expression is written as arithmetic, ``rate_mbps * rtt_ms / 12`` or ``small.share[2]``, and becomes a tree of
lists that the page evaluates too. A name alone belongs to the run of the step; ``run.name`` belongs to another run of
the lab, and ``name[2]`` to its second flow.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

from elephan.scenario.errors import ScenarioError

Tree = list[Any] | float
"""A number, or an operator with its operands: ``["*", 2, ["get", run, name, flow]]``."""
Lookup = Callable[[str | None, str, int | None], float]
"""Value of a name: the run (``None`` for the step's own), the name, and the flow (from 1) or ``None``."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_FUNCTIONS = {"sqrt": 1, "abs": 1, "log2": 1, "min": 2, "max": 2}
_DEEPEST = 30


def parse(text: str) -> Tree:
    """Tree of an expression.

    Raises:
        ScenarioError: the text is no expression of this language.
    """
    try:
        return _tree(ast.parse(text.strip(), mode="eval").body, 0)
    except (SyntaxError, ValueError, RecursionError):
        raise ScenarioError(f"'{text}' is not an expression; write for example rate_mbps * rtt_ms / 12") from None


def _tree(node: ast.expr, depth: int) -> Tree:
    if depth > _DEEPEST:
        raise ValueError
    match node:
        case ast.Constant(value=bool()):
            raise ValueError
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ["-", 0.0, _tree(operand, depth + 1)]
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return [_operator(op), _tree(left, depth + 1), _tree(right, depth + 1)]
        case ast.BoolOp(op=op, values=[first, *rest]):
            tree = _tree(first, depth + 1)
            for value in rest:
                tree = [_operator(op), tree, _tree(value, depth + 1)]
            return tree
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if _FUNCTIONS.get(name) == len(args):
            return [name, *(_tree(argument, depth + 1) for argument in args)]
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as flow)) if flow >= 1:
            return [*_name(value), flow]
    return [*_name(node), None]


def _operator(op: ast.AST) -> str:
    if type(op) not in _OPERATORS:
        raise ValueError
    return _OPERATORS[type(op)]


def _name(node: ast.expr) -> list[Any]:
    match node:
        case ast.Name(id=name):
            return ["get", None, name]
        case ast.Attribute(value=ast.Name(id=run), attr=name):
            return ["get", run, name]
    raise ValueError


def names(tree: Tree) -> Iterator[tuple[str | None, str, int | None]]:
    """The names of a tree: run, name, flow."""
    if isinstance(tree, list):
        if tree[0] == "get":
            yield tree[1], tree[2], tree[3]
        else:
            for operand in tree[1:]:
                yield from names(operand)


def evaluate(tree: Tree, lookup: Lookup) -> float:
    """Value of a tree; a condition is 1 or 0, and a division by zero is no number."""
    if not isinstance(tree, list):
        return tree
    operator, *operands = tree
    if operator == "get":
        return lookup(*operands)
    values = [evaluate(operand, lookup) for operand in operands]
    try:
        return _APPLIED[operator](*values)
    except (ZeroDivisionError, ValueError, OverflowError):
        return math.nan


_APPLIED: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: float(a**b) if not isinstance(a**b, complex) else math.nan,
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "and": lambda a, b: float(bool(a) and bool(b)),
    "or": lambda a, b: float(bool(a) or bool(b)),
    "sqrt": math.sqrt,
    "abs": abs,
    "log2": math.log2,
    "min": min,
    "max": max,
}
