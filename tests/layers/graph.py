"""Import graphs of source files: their circles, and their imports against the order of the layers."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

Imports = dict[str, dict[str, int]]
"""For each file the files that it imports, with the line of the first import."""


def circles(imports: Imports) -> list[str]:
    """Returns circles as chains of files, each with the line of its import. No two circles share an import."""
    left = {file: set(imported) for file, imported in imports.items()}
    found: list[str] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            chain: list[str] = error.args[1][::-1]  # the sorter gives each file before the one that imports it
        else:
            return found
        links = list(pairwise(chain))
        found.append(" -> ".join([*(f"{one}:{imports[one][other]}" for one, other in links), chain[-1]]))
        for one, other in links:
            left[one].discard(other)


def of_packages(imports: Imports) -> Imports:
    """Returns the graph of the top folders (``papers/``), and of the files that are in none."""
    found: Imports = {}
    for file, imported in imports.items():
        own = found.setdefault(_package(file), {})
        for other, line in imported.items():
            found.setdefault(_package(other), {})
            if _package(other) != _package(file):
                own.setdefault(_package(other), line)
    return found


def _package(file: str) -> str:
    folder, slash, _ = file.partition("/")
    return folder + slash


def upward(imports: Imports, levels: Sequence[Sequence[str]]) -> list[str]:
    """Returns the imports that do not lead to a lower level, and the files that have no level.

    Args:
        imports: the graph.
        levels: lowest first; each has files (``writing.py``) and folders (``scenario/``), and of several entries for a
            file the longest decides. Files of one entry may import each other; entries of one level may not.
    """
    height = {entry: level for level, entries in enumerate(levels) for entry in entries}

    def entry_of(file: str) -> str | None:
        return max((entry for entry in height if file == entry or _within(file, entry)), key=len, default=None)

    found = []
    for file, imported in imports.items():
        own = entry_of(file)
        if own is None:
            found.append(f"{file} has no level")
            continue
        for other, line in imported.items():
            theirs = entry_of(other)
            if theirs is not None and theirs != own and height[theirs] >= height[own]:
                found.append(f"{file}:{line} imports {other}, and '{theirs}' is not below '{own}'")
    return found


def _within(file: str, entry: str) -> bool:
    return entry.endswith("/") and file.startswith(entry)
