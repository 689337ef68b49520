"""Runs of the board made again: equal digests, or what differs."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.board.contents import Board, BoardError, Cell
from elephan.runs import Run, Store, sweep

Progress = Callable[..., Any]


@dataclass(frozen=True)
class Again:
    """A run of the board, made again.

    Attributes:
        cell: the run of the board.
        tables_sha256: the digest of the new run's tables.
        why: why it could not be made; empty if it was.
    """

    cell: Cell
    tables_sha256: str
    why: str = ""

    @property
    def equal(self) -> bool:
        """True if all tables are equal."""
        return self.tables_sha256 == self.cell.tables_sha256

    def to_json(self) -> dict[str, Any]:
        """The result in the form that ``--json`` prints."""
        return {
            "id": self.cell.id, "title": self.cell.scenario.title, "seed": self.cell.seed, "equal": self.equal,
            "expected": self.cell.tables_sha256, "made": self.tables_sha256 or None, "made_by": self.cell.version,
            "why": self.why,
        }  # fmt: skip


def named(board: Board, name: str) -> list[str]:
    """Ids of the runs behind a cell: ``SUITE/SUBJECT/CRITERION``, a part of it from the left, or the id of a run.

    Raises:
        BoardError: there is no such cell.
    """
    if name in set(board.runs["id"]):
        return [name]
    found = board.verdicts
    # A subject may have a colon and a dot in its name, and no slash.
    for column, part in zip(("suite", "subject", "criterion"), name.split("/"), strict=False):
        found = found.filter(found[column] == part)
    if name.count("/") > 2 or found.is_empty():
        suites = ", ".join(board.verdicts["suite"].unique().sort())
        raise BoardError(
            f"the board has no cell '{name}'; a cell is SUITE/SUBJECT/CRITERION or the id of a run (suites: {suites})"
        )
    return list(dict.fromkeys(found["runs"].explode(empty_as_null=True).drop_nulls()))


def drawn(board: Board, count: int, seed: int) -> list[str]:
    """Ids of ``count`` runs, drawn without replacement by a seed.

    Raises:
        BoardError: the board has fewer runs.
    """
    ids = board.runs["id"].sort().to_list()
    if count > len(ids):
        raise BoardError(f"the board has {len(ids)} runs, fewer than {count}")
    return random.Random(seed).sample(ids, count)


def reproduce(
    board: Board, ids: Sequence[str], *, jobs: int | None = None, progress: Progress | None = None
) -> list[Again]:
    """Make runs of the board again, in an empty store.

    Args:
        board: the board.
        ids: ids of the runs.
        jobs: number of simultaneous runs.
        progress: called with the progress of the runs.

    Raises:
        BoardError: the board has no run of an id.
        SweepError: a run failed.
        Interrupted: the user pressed Ctrl-C.
    """
    cells = board.cells(ids)
    return [
        one
        for backend in dict.fromkeys(cell.backend for cell in cells)
        for one in _made(cells, backend, jobs, progress)
    ]


def _made(cells: Sequence[Cell], backend: str, jobs: int | None, progress: Progress | None) -> Iterator[Again]:
    asked = [cell for cell in cells if cell.backend == backend]
    # A form that this version reads in another way has another hash, so its run would be another one.
    same = [cell for cell in asked if cell.id.startswith(f"{cell.scenario.hash}-")]
    made: dict[str, str] = {}

    def note(run: Run) -> None:
        made[run.id] = str(run.manifest["tables_sha256"])

    with tempfile.TemporaryDirectory() as folder:
        if same:
            sweep([(cell.scenario, cell.seed) for cell in same], on=backend, jobs=jobs, store=Store(Path(folder)),
                  progress=progress, each=note)  # fmt: skip
    for cell in asked:
        other = "" if cell in same else f"this version reads the scenario as {cell.scenario.hash}"
        yield Again(cell, made.get(cell.id, ""), other)
