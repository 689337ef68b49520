"""Reader of the imports among the files of a Python package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

from tests.layers.graph import Imports


def read_imports(package: Path) -> Imports:
    """Reads each file of a package, also the stubs of its extension modules; nothing is imported.

    Imports inside functions and under ``if TYPE_CHECKING`` count. A string that names a module of the package
    (``"package.module:function"``) counts too, because tables of such strings are imported on demand. Importing a
    submodule does not count as importing the ``__init__`` of its parents.
    """
    sources = {_module(package, path): path for path in sorted([*package.rglob("*.pyi"), *package.rglob("*.py")])}
    files = {module: path.relative_to(package).as_posix() for module, path in sources.items()}
    imports: Imports = {file: {} for file in files.values()}
    for module, path in sources.items():
        inside = module if path.stem == "__init__" else module.rpartition(".")[0]
        for name, line in _imported(ast.parse(path.read_text(encoding="utf-8")), inside, files):
            if name != module:
                imports[files[module]].setdefault(files[name], line)
    return imports


def _module(package: Path, path: Path) -> str:
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, inside: str, files: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The modules of the package that a file imports, with the lines, in the order of the lines."""
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    for node in sorted(nodes, key=lambda node: int(node.lineno)):
        for name in _names(node, inside, files):
            yield name, node.lineno


def _names(node: ast.AST, inside: str, files: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in files)
    elif isinstance(node, ast.ImportFrom):
        origin = resolve_name("." * node.level + (node.module or ""), inside)
        for alias in node.names:
            submodule = f"{origin}.{alias.name}"
            yield from (name for name in [submodule if submodule in files else origin] if name in files)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        named = re.fullmatch(r"(\w+(?:\.\w+)+)(?::\w+)?", node.value)
        if named is not None and named[1] in files:
            yield named[1]
    elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        # f"package.folder.{name}" may be any module of the folder.
        prefix = str(node.values[0].value)
        yield from (name for name in files if "." in name and name.rpartition(".")[0] + "." == prefix)
