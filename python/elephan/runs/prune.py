"""Removal of unused saved runs: old runs, and runs that no report refers to.

A run that another process is computing is protected by that process's lock (its *claim*), and is kept. A removed run
can be repeated by the command that made it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from elephan.runs.index import Entry
from elephan.runs.store import Store

REPORT_FILES = frozenset((".csv", ".html", ".json", ".md", ".svg", ".toml", ".txt"))
"""Suffixes of files that may refer to a run."""

_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")


@dataclass(frozen=True)
class Pruned:
    """Result of a removal.

    Attributes:
        removed: the removed runs.
        busy: runs that another process computes; they are kept.
    """

    removed: list[Entry]
    busy: list[Entry]


def referenced(folders: Iterable[Path]) -> set[str]:
    """Hashes of scenarios that occur in the files of some folders, alone or as part of a run's id."""
    found: set[bytes] = set()
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                if Path(name).suffix.lower() in REPORT_FILES:
                    found.update(_HASH.findall((Path(place) / name).read_bytes()))
    return {word.decode() for word in found}


def prunable(entries: Iterable[Entry], *, before: datetime | None = None, used: set[str] | None = None) -> list[Entry]:
    """The runs that were saved before a time and whose scenario is not used; the oldest first."""
    found = [
        entry
        for entry in entries
        if (before is None or entry.created < before) and (used is None or entry.id.partition("-")[0] not in used)
    ]
    return sorted(found, key=lambda entry: (entry.created, entry.id))


def prune(store: Store, entries: Iterable[Entry]) -> Pruned:
    """Remove runs from a store; the claim of each run is held during the removal.

    Raises:
        OSError: the store cannot be written.
    """
    removed, busy = [], []
    for entry in entries:
        claim = store.claim(entry.id)
        if claim is None:
            busy.append(entry)
            continue
        try:
            if store.remove(entry.id):
                removed.append(entry)
        finally:
            claim.release()
    return Pruned(removed, busy)
