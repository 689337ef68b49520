"""Formulas of the algorithm ``expression`` as trees: read, written, changed at random, and translated.

The grammar is that of ``crates/cc/src/formula.rs``; what Python's own parser reads of it is checked here.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from elephan.scenario.errors import ScenarioError

VARIABLES = ("w", "w_max", "t", "rtt", "rtt_min")
"""Window and window at the last loss, segments; time since then, smoothed and smallest RTT, s."""

FUNCTIONS: dict[str, int] = {"min": 2, "max": 2, "abs": 1, "sqrt": 1, "cbrt": 1, "log": 1, "exp": 1}
"""Functions with the number of their arguments."""

MOST_NODES = 40
"""Largest number of nodes that a changed formula has."""

_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_SIGNS = ("+", "-", "*", "/")


@dataclass(frozen=True)
class Node:
    """A number, a variable, an operator or a function with its arguments.

    Attributes:
        name: the variable, operator or function; empty for a number.
        value: the number.
        of: arguments.
    """

    name: str = ""
    value: float = 0.0
    of: tuple[Node, ...] = ()


def read(text: str) -> Node:
    """The tree of a formula.

    Raises:
        ScenarioError: the text is no formula.
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ScenarioError(f"'{text}' is not a formula; write for example 0.5 * w", source="formula") from None


def _read(node: ast.expr) -> Node:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return Node(value=float(value))
        case ast.Name(id=name) if name in VARIABLES:
            return Node(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Node(value=-float(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Node("-", of=(Node(value=0.0), _read(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Node(_OPERATORS[type(op)], of=(_read(left), _read(right)))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if FUNCTIONS.get(name) == len(given):
            return Node(name, of=tuple(_read(each) for each in given))
    known = f"variables: {', '.join(VARIABLES)}; functions: {', '.join(FUNCTIONS)}"
    raise ScenarioError(f"'{ast.unparse(node)}' is not part of a formula; {known}", source="formula")


def write(node: Node) -> str:
    """The text of a formula, as the engine reads it."""
    return _write(node, lambda value: f"{value:.6g}", lambda name, given: f"{name}({', '.join(given)})", str)


def _write(
    node: Node,
    number: Callable[[float], str],
    call: Callable[[str, Sequence[str]], str],
    variable: Callable[[str], str],
    level: int = 0,
) -> str:
    """The text of a node; ``level`` is 1 inside a product, and 2 to the right of ``-`` and within a divisor."""
    if not node.name:
        text = number(node.value)
        return f"({text})" if node.value < 0 and level else text
    if node.name in VARIABLES:
        return variable(node.name)
    inner = {"+": (0, 0), "-": (0, 1), "*": (1, 1), "/": (1, 2)}.get(node.name, (0, 0))
    texts = [_write(each, number, call, variable, at) for each, at in zip(node.of, inner, strict=False)]
    if node.name not in _SIGNS:
        return call(node.name, texts)
    text = f"{texts[0]} {node.name} {texts[1]}"
    needs = level > 0 if node.name in "+-" else level > 1
    return f"({text})" if needs else text


def rust(node: Node) -> str:
    """The formula in Rust, with the variables as fields of ``v``."""

    def call(name: str, given: Sequence[str]) -> str:
        if name in ("min", "max"):
            return f"f64::{name}({', '.join(given)})"
        return f"f64::abs({given[0]})" if name == "abs" else f"libm::{name}({given[0]})"

    return _write(node, lambda value: repr(_shown(value)), call, lambda name: f"v.{name}")


def c(node: Node) -> str:
    """The formula in C, in doubles."""
    names = {"min": "fmin", "max": "fmax", "abs": "fabs"}
    return _write(
        node,
        lambda value: repr(_shown(value)),
        lambda name, given: f"{names.get(name, name)}({', '.join(given)})",
        lambda name: f"v->{name}",
    )


def _shown(value: float) -> float:
    """The number as :func:`write` writes it, so that all translations have the same."""
    return float(f"{value:.6g}")


def value(node: Node, variables: Mapping[str, float]) -> float:
    """The value of a formula, which is NaN or infinite where a function is not defined, as in the engine."""
    if not node.name:
        return _shown(node.value)
    if node.name in VARIABLES:
        return variables[node.name]
    given = [value(each, variables) for each in node.of]
    try:
        return _apply(node.name, given)
    except ZeroDivisionError:
        # IEEE 754: the sign of a zero counts.
        a, b = given
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf if node.name == "log" and given[0] == 0 else math.nan


def _apply(name: str, given: Sequence[float]) -> float:
    match name, given:
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "*", [a, b]:
            return a * b
        case "/", [a, b]:
            return a / b
        case "min", [a, b]:
            return b if math.isnan(a) else a if math.isnan(b) else min(a, b)
        case "max", [a, b]:
            return b if math.isnan(a) else a if math.isnan(b) else max(a, b)
    return _OF_ONE[name](given[0])


_OF_ONE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "log": math.log,
    "exp": math.exp,
}


def size(node: Node) -> int:
    """Number of nodes."""
    return 1 + sum(size(each) for each in node.of)


def _nodes(node: Node, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    yield path, node
    for i, each in enumerate(node.of):
        yield from _nodes(each, (*path, i))


def _put(node: Node, path: tuple[int, ...], new: Node) -> Node:
    if not path:
        return new
    first, *rest = path
    of = tuple(_put(each, tuple(rest), new) if i == first else each for i, each in enumerate(node.of))
    return replace(node, of=of)


def changed(node: Node, draw: random.Random) -> Node:
    """A formula that differs from another by one random change; constants are folded.

    A change scales a number, replaces a part by a new one, puts a part into a new operation, or leaves one out.
    """
    for _ in range(20):
        path, part = draw.choice(list(_nodes(node)))
        kind = draw.random()
        if kind < 0.4:
            numbers = [(at, each) for at, each in _nodes(node) if not each.name]
            if not numbers:
                continue
            path, part = draw.choice(numbers)
            new = Node(value=_shown(part.value * math.exp(draw.gauss(0, 0.4))) if part.value else draw.uniform(-1, 1))
        elif kind < 0.55:
            new = grown(draw, 2)
        elif kind < 0.85:
            beside = grown(draw, 1)
            name = draw.choice((*_SIGNS, *_SIGNS, "min", "max", "sqrt", "cbrt"))
            pair = (part, beside) if draw.random() < 0.5 else (beside, part)
            new = Node(name, of=pair if FUNCTIONS.get(name, 2) == 2 else (part,))
        elif part.of:
            new = draw.choice(part.of)
        else:
            continue
        found = folded(_put(node, path, new))
        if size(found) <= MOST_NODES and found != node:
            return found
    return node


def crossed(node: Node, other: Node, draw: random.Random) -> Node:
    """A formula with a random part of another."""
    path, _ = draw.choice(list(_nodes(node)))
    _, part = draw.choice(list(_nodes(other)))
    found = folded(_put(node, path, part))
    return found if size(found) <= MOST_NODES else node


def grown(draw: random.Random, depth: int) -> Node:
    """A random formula of at most ``depth`` operations one within another."""
    if depth == 0 or draw.random() < 0.3:
        if draw.random() < 0.5:
            return Node(draw.choice(VARIABLES))
        return Node(value=_shown(math.exp(draw.gauss(0, 1.5))))
    name = draw.choice((*_SIGNS, *_SIGNS, *FUNCTIONS))
    return Node(name, of=tuple(grown(draw, depth - 1) for _ in range(FUNCTIONS.get(name, 2))))


def folded(node: Node) -> Node:
    """The formula with each operation of numbers replaced by its value, if that is finite."""
    of = tuple(folded(each) for each in node.of)
    node = replace(node, of=of)
    if of and not any(each.name for each in of):
        number = value(node, {})
        if math.isfinite(number):
            return Node(value=_shown(number))
    return node
