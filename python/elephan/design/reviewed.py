"""Review of a candidate's text: an algorithm is arithmetic, so it has no use for files, clocks or the simulator.

The review rejects what would let a candidate read a clock or change the numbers by which it is judged, with the line.
It is no proof, since Python has many ways to reach an object, and it is the sandbox that protects the host.
"""

from __future__ import annotations

import ast
from importlib import import_module
from types import ModuleType

from elephan.algorithm import Algorithm

MODULES = (
    "__future__", "abc", "bisect", "cmath", "collections", "collections.abc", "dataclasses", "elephan",
    "elephan.algorithm", "enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "numpy",
    "numpy.linalg", "numpy.random", "operator", "random", "statistics", "typing", "typing_extensions",
)  # fmt: skip
"""Modules that a candidate may import."""
CONTRACT = ("Ack", "Algorithm", "Delivery", "Lost", "Restart", "Sample", "Sent", "Signal", "Start")
_BUILTINS = (
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "exit", "globals", "help", "input", "locals",
    "getattr", "hasattr", "open", "quit", "setattr", "vars",
)  # fmt: skip
_OWN = ("self", "ack", "signal", "start", "sent", "lost", "restart")
_UNSEEDED = ("SystemRandom", "default_rng", "seed")


class ReviewError(Exception):
    """A candidate's text that is rejected; the message has the line and what to do instead."""


def class_of(text: str) -> str:
    """Name of the only algorithm of a file, or the last of several that no other class of the file extends.

    Raises:
        ReviewError: the file is no Python, or has no class of an algorithm.
    """
    classes = [node for node in ast.walk(_parsed(text)) if isinstance(node, ast.ClassDef)]
    bases = {node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases] for node in classes}

    def is_algorithm(name: str, seen: tuple[str, ...] = ()) -> bool:
        below = [base for base in bases.get(name, []) if base not in seen]
        return Algorithm.__name__ in below or any(is_algorithm(base, (*seen, name)) for base in below)

    found = [name for name in bases if is_algorithm(name)]
    extended = {base for name in found for base in bases[name]}
    last = [name for name in found if name not in extended]
    if not last:
        raise ReviewError("it has no algorithm; write class Mine(elephan.Algorithm)")
    return last[-1]


def review(text: str) -> tuple[str, ...]:
    """Reject what an algorithm has no use for, and return the modules that the text imports.

    Raises:
        ReviewError: the text has something of this kind.
    """
    tree = _parsed(text)
    modules: dict[str, str] = {}
    imported: list[str] = []
    members: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                _check_module(name.name, node.lineno)
                imported.append(name.name)
                modules[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else (name.name.partition(".")[0])
                )
        elif isinstance(node, ast.ImportFrom):
            home = node.module or "."
            _check_module("." if node.level else home, node.lineno)
            imported.append(home)
            for name in node.names:
                _check_member(home, name.name, node.lineno)
                members.add(name.asname or name.name)
                if f"{home}.{name.name}" in MODULES:
                    modules[name.asname or name.name] = f"{home}.{name.name}"
    plain = {id(call.func) for call in ast.walk(tree) if isinstance(call, ast.Call) and _reads_attribute(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in plain:
            _check_name(node)
        elif isinstance(node, ast.Attribute):
            _check_attribute(node, modules, members)
    return tuple(sorted({home for home in imported if home in MODULES and home != "__future__"}))


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ReviewError(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ReviewError(f"it cannot be read as Python: {error}") from None


def _check_module(name: str, line: int) -> None:
    if name not in MODULES:
        known = ", ".join(module for module in MODULES if not module.startswith("_"))
        raise ReviewError(f"line {line}: imports {name}; a candidate is arithmetic and may import {known}")


def _check_member(module: str, name: str, line: int) -> None:
    """Reject the names of a module that lead out of arithmetic: other modules, and names of its own use."""
    full = f"{module}.{name}"
    if module in ("random", "numpy.random") and name in _UNSEEDED:
        raise ReviewError(
            f"line {line}: uses {full}, which is not seeded; draw from random.Random(start.seed), made in on_start"
        )
    if module == "elephan":
        if name not in CONTRACT:
            raise ReviewError(f"line {line}: uses {full}; of elephan, a candidate may use {', '.join(CONTRACT)}")
        return
    leads_out = full not in MODULES and module != "__future__"
    if leads_out and (name.startswith("_") or isinstance(getattr(import_module(module), name, None), ModuleType)):
        raise ReviewError(f"line {line}: uses {full}, which is not arithmetic")


def _reads_attribute(call: ast.Call) -> bool:
    """True for ``getattr`` and ``hasattr`` with an attribute of the candidate's own, written as text."""
    name = call.args[1] if len(call.args) > 1 else None
    text = name.value if isinstance(name, ast.Constant) else None
    by_name = isinstance(call.func, ast.Name) and call.func.id in ("getattr", "hasattr")
    own = ast.unparse(call.args[0]).partition(".")[0] in _OWN if call.args else False
    return by_name and own and isinstance(text, str) and not text.startswith("__")


def _check_name(node: ast.Name) -> None:
    if node.id in _BUILTINS or (node.id.startswith("__") and node.id not in ("__name__", "__doc__")):
        raise ReviewError(
            f"line {node.lineno}: uses {node.id}; a candidate computes with numbers and its own attributes"
        )


def _check_attribute(node: ast.Attribute, modules: dict[str, str], members: set[str]) -> None:
    special = node.attr.startswith("__") and node.attr.endswith("__")
    if special and node.attr not in ("__init__", "__post_init__", "__name__"):
        raise ReviewError(
            f"line {node.lineno}: uses {node.attr}; a candidate computes with numbers and its own attributes"
        )
    root = ast.unparse(node).partition(".")[0]
    if isinstance(node.ctx, ast.Store | ast.Del) and (root in modules or root in members):
        raise ReviewError(f"line {node.lineno}: changes {ast.unparse(node)}; keep state in self")
    home = _module_of(node.value, modules)
    if home is not None:
        _check_member(home, node.attr, node.lineno)
        if home == "random" and node.attr not in ("Random",) and node.attr[:1].islower():
            raise ReviewError(
                f"line {node.lineno}: uses random.{node.attr}, whose generator is not seeded; "
                "draw from random.Random(start.seed), made in on_start"
            )


def _module_of(node: ast.expr, modules: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return modules.get(node.id)
    if isinstance(node, ast.Attribute):
        home = _module_of(node.value, modules)
        full = f"{home}.{node.attr}"
        return full if home is not None and full in MODULES else None
    return None
