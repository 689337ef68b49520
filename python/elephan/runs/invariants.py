"""Rules for the numbers of every run, of whatever backend: a run that breaks one of them is not saved.

The rules of numbers are those of the engine (``crates/metrics/src/rules.rs``), which a batch asks too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from elephan.backends import EngineDefectError
from elephan.runs import saved
from elephan.runs.tables import for_engine
from elephan.scenario.catalog import engine

if TYPE_CHECKING:
    from elephan.runs.result import Run

REAL_TIME = 0.05
"""Relative tolerance of rates of the kernel backend: its path runs in real time, and a busy host delivers late."""


def check(run: Run) -> None:
    """Check the tables of a run.

    Raises:
        EngineDefectError: a number is impossible; the message has the quantity, its owner, the value and the bound.
    """
    broken = next(problems(run), None)
    if broken is not None:
        raise EngineDefectError(broken, f"{__name__}, on the backend '{run.backend}'")


def problems(run: Run) -> Iterator[str]:
    """One sentence on each number of a run that is impossible."""
    yield from _packets(run.manifest.get("conservation"))
    tables = {name: for_engine(run.arrow(name)) for name in saved.table_names(run.manifest)}
    for name, table in tables.items():
        yield from engine().impossible_values(name, table)
    form = msgspec.json.encode(run.manifest["scenario"]).decode()
    yield from engine().impossible_numbers(form, tables.__getitem__, REAL_TIME if run.backend == "kernel" else 0.0)


def _packets(counts: dict[str, int] | None) -> Iterator[str]:
    if not counts:
        return
    made, ended = counts["sent"] + counts.get("duplicated", 0), counts["received"] + counts["dropped"]
    if made != ended + counts["under_way"]:
        yield f"{made} packets were sent or duplicated, {ended} ended, and {counts['under_way']} are under way"
