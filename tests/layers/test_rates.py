"""Counted bytes become Mbit/s in one module of each language, so that throughput and goodput have one definition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEFINITION = ROOT / "python" / "elephan" / "rates.py"
PYTHON = sorted(path for folder in ("python", "benches", "docs") for path in (ROOT / folder).rglob("*.py"))
RUST = sorted(
    path for crate in ("sim", "metrics", "python", "wire") for path in (ROOT / "crates" / crate / "src").rglob("*.rs")
)
RUST_DEFINITION = ROOT / "crates" / "sim" / "src" / "rates.rs"
_RUST_RATE = re.compile(r"8e-6|\b8(\.0)?\s*\*[^;]*(/ 1e6|\* 1e-6)|\* 8(\.0)?\b[^;]*(/ 1e6|\* 1e-6)")


def factors(node: ast.expr, *, above: bool = True) -> Iterator[tuple[float, bool]]:
    """The numbers of a product, each with whether it multiplies."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from factors(node.left, above=above)
        yield from factors(node.right, above=above == isinstance(node.op, ast.Mult))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield float(node.value), above


def conversions(text: str) -> list[int]:
    """Lines of the products that turn bytes into megabits; a rate in Mbit/s among the factors is a use of one."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.BinOp):
            numbers = set(factors(node))
            scaled = {(8.0, True), (1e6, False)} <= numbers or {(8.0, True), (1e-6, True)} <= numbers
            if (scaled or (8e-6, True) in numbers) and "mbps" not in ast.unparse(node).lower():
                found.add(node.lineno)
    return sorted(found)


@pytest.mark.parametrize(
    "line",
    ["8 * octets / (end - start) / 1e6", "segments * payload * 8e-6", "1e-6 * (octets * 8.0 / s)", "n * 8 / (s * 1e6)"],
)
def test_a_second_definition_is_found(line: str) -> None:
    assert conversions(f"x = [{line}]") == [1]


@pytest.mark.parametrize(
    "line", ["rate_bps / 1e6", "8 * n", "goodput_mbps * 1e6 / 8 / n", "8 * n / (rate_mbps * 1e6)", "8 + n / 1e6"]
)
def test_other_arithmetic_is_none(line: str) -> None:
    assert conversions(f"x = {line}") == []


def test_python_has_one_definition() -> None:
    assert conversions(DEFINITION.read_text(encoding="utf-8"))
    others = [path for path in PYTHON if path != DEFINITION]
    found = [f"{path.relative_to(ROOT)}:{line}" for path in others for line in conversions(path.read_text("utf-8"))]
    assert not found, f"use elephan.rates in {', '.join(found)}"


def test_rust_has_one_definition() -> None:
    assert _RUST_RATE.search(RUST_DEFINITION.read_text(encoding="utf-8"))
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in RUST
        if path != RUST_DEFINITION and "tests" not in path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _RUST_RATE.search(line.partition("//")[0])
    ]
    assert not found, f"use elephan_sim::rates in {', '.join(found)}"
