"""Tables of a rate or a delay over time: a list of rows, a CSV or Parquet file, or a recording in a format of
:mod:`elephan.scenario.recorded`, as measurements are published.

A scenario stores the rows instead of the file's name, so later changes of the file do not affect it. The canonical form
has the rows as steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from elephan.scenario import columns, recorded, units
from elephan.scenario.errors import ScenarioError
from elephan.scenario.toml import write_value
from elephan.scenario.words import hint

T = TypeVar("T")

MOST_ROWS = 1_000_000
MOST_STEPS = 2_000_000
_EXAMPLES = {"rate": '[["0 s", "5 Mbit/s"], ["1 s", "8 Mbit/s"]]', "delay": '[["0 s", "20 ms"], ["1 s", "35 ms"]]'}


@dataclass(frozen=True)
class TimedTable:
    """Values from given times on.

    Attributes:
        rows: times in ps, rising, and the values from these times on, in bit/s or ps.
        repeat: period in ps after which the table begins again; ``None`` if the last value holds.
        overtake: delays only: true if packets on a shorter delay overtake earlier packets.
    """

    rows: tuple[tuple[int, int], ...]
    repeat: int | None = None
    overtake: bool = False
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def peak(self) -> int:
        """The largest value."""
        return max(value for _, value in self.rows)

    def made(self, key: object, make: Callable[[], T]) -> T:
        """Result of ``make``, made once: scenarios of a sweep share their tables, and a recording has 100,000
        rows."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def steps(self, duration_ps: int) -> list[tuple[int, int]]:
        """The changes of the value in a run, without rows that repeat the value before; the last value is above zero if
        any value is.

        Raises:
            ScenarioError: there are more than ``MOST_STEPS``.
        """
        found: list[tuple[int, int]] = []
        for at, value in self._endless():
            if at >= duration_ps and (not found or found[-1][1] > 0 or self.peak == 0):
                break
            if not found or found[-1][1] != value:
                found.append((at, value))
            if len(found) > MOST_STEPS:
                raise ScenarioError(
                    f"the table changes more than {MOST_STEPS:,} times in the run; write fewer rows or a shorter run"
                )
        return found

    def _endless(self) -> Iterator[tuple[int, int]]:
        began = 0
        while True:
            for at, value in self.rows:
                yield began + at, value
            if self.repeat is None:
                return
            began += self.repeat


def parse_table(quantity: str, value: Any) -> TimedTable:
    """A table of ``rate`` or ``delay``: a file's name, a list of rows, or a table with ``file`` or ``rows`` and
    ``repeat``.

    Raises:
        ScenarioError: a file cannot be read, or rows are wrong or not in the order of time.
    """
    if isinstance(value, TimedTable):
        return value
    known = ("file", "rows", "repeat", *(("overtake",) if quantity == "delay" else ()))
    given = dict(value) if isinstance(value, dict) else {"file" if isinstance(value, str) else "rows": value}
    for key in given:
        if key not in known:
            raise ScenarioError(f"not a field of a table over time; {hint(str(key), known)}", path=str(key))
    if ("file" in given) == ("rows" in given):
        raise ScenarioError(f"write either a file, or rows such as {_EXAMPLES[quantity]}")
    length, repeat = None, given.get("repeat", False)
    if "file" not in given:
        rows = _from_list(quantity, given["rows"])
    elif isinstance(given["file"], str) and not columns.is_table(given["file"]):
        course = recorded.course(quantity, given["file"])
        rows, length, repeat = course.rows, course.length, given.get("repeat", course.again)
    else:
        rows = _from_file(quantity, given["file"])
    for (before, _), (at, _) in itertools.pairwise(rows):
        if at <= before:
            raise ScenarioError(f"'{units.format_time(at)}' is not after the row before, {units.format_time(before)}")
    overtake = given.get("overtake", False)
    if not isinstance(overtake, bool):
        raise ScenarioError(f"{overtake!r} is neither true nor false", path="overtake")
    return TimedTable(rows, _period(rows, repeat, length), overtake)


parse_rate_table = partial(parse_table, "rate")
parse_delay_table = partial(parse_table, "delay")


def toml(quantity: str, table: TimedTable) -> str:
    """A table in the form of a scenario file, as TOML."""
    dump = {"rate": units.format_rate, "delay": units.format_time}[quantity]
    return table.made(quantity, lambda: write_value(dump_table(dump, table)))


def dump_table(format_value: Callable[[int], str], table: TimedTable | None) -> dict[str, Any] | None:
    """A table in the form of a scenario file."""
    if table is None:
        return None
    shown: dict[str, Any] = {"rows": [[units.format_time(at), format_value(value)] for at, value in table.rows]}
    shown |= {} if table.repeat is None else {"repeat": units.format_time(table.repeat)}
    return shown | ({"overtake": True} if table.overtake else {})


def _period(rows: tuple[tuple[int, int], ...], repeat: Any, length: int | None) -> int | None:
    """The period of a table; with ``true`` it is that of the recording, or the last row lasts as long as the row before
    it."""
    if repeat is False:
        return None
    last = rows[-1][0]
    if repeat is True and length is not None:
        return length
    if repeat is True:
        if len(rows) < 2:
            raise ScenarioError('one row does not state a period; write for example repeat = "60 s"', path="repeat")
        return last + (last - rows[-2][0])
    try:
        period = units.parse_positive_time(repeat)
    except ScenarioError as error:
        raise error.located(path="repeat") from None
    if period <= last:
        raise ScenarioError(
            f"'{units.format_time(period)}' is not after the last row, {units.format_time(last)}", path="repeat"
        )
    return period


def _from_list(quantity: str, value: Any) -> tuple[tuple[int, int], ...]:
    pairs = value if isinstance(value, list | tuple) else []
    if not pairs or not all(isinstance(row, list | tuple) and len(row) == 2 for row in pairs):
        raise ScenarioError(
            f"{units.shown(value)} is not a table of {quantity} over time; write a file's name or {_EXAMPLES[quantity]}"
        )
    if len(pairs) > MOST_ROWS:
        raise ScenarioError(f"{len(pairs)} rows are too many; the limit is {MOST_ROWS}")
    rows = []
    for i, row in enumerate(pairs):
        try:
            rows.append((units.parse_time(row[0]), columns.PARSERS[quantity](row[1])))
        except ScenarioError as error:
            raise ScenarioError(f"row {i + 1}: {error.message}") from None
    return tuple(rows)


def _from_file(quantity: str, name: Any) -> tuple[tuple[int, int], ...]:
    """The rows of a CSV or Parquet file with the columns ``time`` and ``quantity``."""
    if not isinstance(name, str):
        raise ScenarioError(f"{units.shown(name)} is not the name of a file")
    table = columns.read(name, MOST_ROWS)
    both = [columns.values(table, wanted, wanted, name) for wanted in ("time", quantity)]
    return tuple(zip(*both, strict=True))
