"""Columns of a CSV or Parquet file that hold quantities, with their units in the header or in each value."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from elephan.scenario import reading, units
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

_MOST_BYTES = 256_000_000
_SUFFIXES = (".csv", ".parquet")
_TIMES = units.TIME_UNITS | units.TIME_ALIASES
_UNITS = {
    "time": _TIMES,
    "delay": _TIMES,
    "rate": units.RATE_UNITS | units.RATE_ALIASES,
    "size": units.SIZE_UNITS | units.SIZE_ALIASES,
}
PARSERS: dict[str, Callable[[object], int]] = {
    "time": units.parse_time,
    "delay": units.parse_time,
    "rate": units.parse_step_rate,
    "size": units.parse_size,
}
"""Parsers of the quantities that a column may hold; each gives integers in the base unit."""
_EXAMPLES = {"time": "s", "delay": "ms", "rate": "mbps", "size": "bytes"}
_HEADER = re.compile(r"\s*(?P<name>[A-Za-z]+)\s*(?:_(?P<tail>[A-Za-z/]+)|[(\[]\s*(?P<inside>[^)\]]+?)\s*[)\]])?\s*")


def is_table(name: Any) -> bool:
    """True for the name of a file that :func:`read` reads."""
    return isinstance(name, str) and Path(name).suffix.casefold() in _SUFFIXES


def read(name: str, most_rows: int) -> Any:
    """The data frame of a file.

    Raises:
        ScenarioError: the file is missing, is no table, has no rows or too many.
    """
    if not is_table(name):
        raise ScenarioError(f"'{name}' is not the name of a .csv or .parquet file")
    table = reading.read_table(Path(name), _MOST_BYTES, most_rows)
    if table.height == 0:
        raise ScenarioError(f"'{name}' has no rows")
    return table


def has(table: Any, column: str) -> bool:
    """True if a table has a column of this name, with or without a unit."""
    matches = (_HEADER.fullmatch(header) for header in table.columns)
    return any(match is not None and match["name"].casefold() == column for match in matches)


def values(table: Any, column: str, quantity: str, name: str) -> list[int]:
    """The values of a column in the base unit of its quantity, rounded.

    Raises:
        ScenarioError: there is no such column, or a value is not a quantity; the message has the row.
    """
    header, unit = _find(table.columns, column, quantity, name)
    parse, known = PARSERS[quantity], _UNITS[quantity]
    base = next(iter(known))
    found = []
    for row, value in enumerate(table[header].to_list(), start=1):
        try:
            found.append(parse(value if unit is None else f"{_rounded(value, known[unit])} {base}"))
        except ScenarioError as error:
            raise ScenarioError(f"'{name}', row {row}: {error.message}") from None
    return found


def _find(headers: list[str], wanted: str, quantity: str, name: str) -> tuple[str, str | None]:
    """The header of a column, and the unit that it states: ``time_s``, ``rate (Mbit/s)``, ``delay [ms]``."""
    known = _UNITS[quantity]
    # MBps is not Mbps: only lower-case letters may stand for another spelling.
    spelled = {unit.casefold(): unit for unit in known} | {unit: unit for unit in known}
    for header in headers:
        match = _HEADER.fullmatch(header)
        if match is None or match["name"].casefold() != wanted:
            continue
        unit = match["tail"] or match["inside"]
        if unit is None:
            return header, None
        if unit not in spelled:
            raise ScenarioError(f"'{name}': '{unit}' in the column {header} is not a unit; {hint(unit, known)}")
        return header, spelled[unit]
    raise ScenarioError(
        f"'{name}' has no column {wanted}; its columns are {', '.join(headers)}; write the unit into the header, for "
        f"example {wanted}_{_EXAMPLES[quantity]}"
    )


def _rounded(value: Any, factor: int) -> int:
    """A number of a unit in the base unit: measured values have more digits than the base unit."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ScenarioError(f"{units.shown(value)} is not a number")
    return round(Decimal(str(value)) * factor)
