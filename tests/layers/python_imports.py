"""Imports among the modules of a Python package: those that grimp reads, and those that strings name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.layers.graph import Imports

NEEDS = "needs import-linter, of the group dev: make check"


def read_imports(package: str) -> Imports:
    """Reads the modules of a package; nothing is imported.

    Imports within functions and for types count. A string that names a module (``"package.module:function"``) counts
    too, because tables of such strings are imported on demand; so does ``f"package.folder.{name}"``. An extension
    module is no source file, so its import is left out.
    """
    grimp = pytest.importorskip("grimp", reason=NEEDS)
    graph = grimp.build_graph(package, cache_dir=None)
    imports: Imports = {module: {} for module in sorted(graph.modules)}
    for module, imported in imports.items():
        for other in sorted(graph.find_modules_directly_imported_by(module)):
            details = graph.get_import_details(importer=module, imported=other)
            lines = [one["line_number"] for one in details if "import _engine" not in one["line_contents"]]
            if lines:
                imported[other] = min(lines)
        for other, line in _in_strings(_source(package, module), imports):
            if other != module:
                imported.setdefault(other, line)
    return imports


def _source(package: str, module: str) -> str:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    place = Path(spec.origin).parent.joinpath(*module.split(".")[1:])
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file.read_text(encoding="utf-8")


def _in_strings(text: str, modules: Imports) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.fullmatch(r"(\w+(?:\.\w+)+)(?::\w+)?", node.value)
            if named is not None and named[1] in modules:
                yield named[1], node.lineno
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            inside = str(node.values[0].value)
            found = (name for name in modules if name.startswith(inside) and "." not in name.removeprefix(inside))
            yield from ((name, node.lineno) for name in found if inside.endswith("."))
