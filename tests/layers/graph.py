"""Import graphs of source files, and their circles."""

from __future__ import annotations

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
