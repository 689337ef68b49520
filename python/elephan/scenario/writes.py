"""Writes of an application: sizes at times, in a list or a file."""

from __future__ import annotations

from typing import Any

from elephan.scenario import columns, units
from elephan.scenario.errors import ScenarioError

MOST_WRITES = 1_000_000
Write = tuple[int, int]
"""Time of a write in ps, and its size in bytes."""
_EXAMPLE = '[{ at = "1 s", size = "100 kB" }, { at = "2 s", size = "20 kB" }]'


def parse_writes(value: Any) -> tuple[Write, ...]:
    """Writes in the order of their times: a list of tables with ``at`` and ``size``, or a CSV or Parquet file with the
    columns ``time`` and ``size``.

    Raises:
        ScenarioError: a file cannot be read, or a write is wrong or before the one before it.
    """
    if isinstance(value, tuple) and all(isinstance(row, tuple) for row in value):
        return value
    if isinstance(value, str):
        table = columns.read(value, MOST_WRITES)
        times, sizes = (columns.values(table, wanted, wanted, value) for wanted in ("time", "size"))
        rows = list(zip(times, sizes, strict=True))
    elif isinstance(value, list | tuple) and value:
        rows = [_write(row, place) for place, row in enumerate(value, start=1)]
    else:
        raise ScenarioError(f"{units.shown(value)} is not a list of writes; write a file's name, or {_EXAMPLE}")
    if len(rows) > MOST_WRITES:
        raise ScenarioError(f"{len(rows)} writes are too many; the limit is {MOST_WRITES}")
    for place, (at, size) in enumerate(rows, start=1):
        if size == 0:
            raise ScenarioError(f"write {place}: size: '0 B' is too small; a write has at least 1 byte")
        if place > 1 and at < rows[place - 2][0]:
            raise ScenarioError(
                f"write {place}: '{units.format_time(at)}' is before the write before, "
                f"{units.format_time(rows[place - 2][0])}"
            )
    return tuple(rows)


def dump_writes(writes: tuple[Write, ...]) -> list[dict[str, str]]:
    """Writes in the form of a scenario file."""
    return [{"at": units.format_time(at), "size": units.format_size(size)} for at, size in writes]


def _write(row: Any, place: int) -> Write:
    if not isinstance(row, dict) or set(row) != {"at", "size"}:
        raise ScenarioError(f"write {place}: {units.shown(row)} is not a write; it has at and size, as in {_EXAMPLE}")
    try:
        return units.parse_time(row["at"]), units.parse_size(row["size"])
    except ScenarioError as error:
        raise ScenarioError(f"write {place}: {error.message}") from None
