"""Files of measured values that a scenario names, with Mahimahi's packet-delivery traces or samples of delay.

A scenario stores the values instead of the file's name, so later changes of the file do not affect it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elephan.scenario import reading, units
from elephan.scenario.errors import ScenarioError

MOST_VALUES = 10_000_000
MOST_BYTES = 256_000_000
_MOST_DIGITS = 10
MOST_MS = 2**32 - 1


def parse_rate_trace(value: Any) -> tuple[int, ...]:
    """Times at which a packet may leave, in ms: a list, or a file with one time per line, in Mahimahi's format.

    Raises:
        ScenarioError: the file is missing or has no times, or a time is no integer or is before its
            predecessor, or the period is empty.
    """
    last = 0
    times: list[int] = []
    for where, given in _values(value, "a trace", "times in ms"):
        text = str(given).strip()
        if isinstance(given, bool) or not text.isascii() or not text.isdigit():
            raise ScenarioError(f"{where}{given!r} is not a time; it is a whole number of milliseconds")
        if len(text) > _MOST_DIGITS:
            raise ScenarioError(f"{where}{text} is too large; a trace lasts at most {MOST_MS} ms")
        time_ms = int(text)
        if time_ms < last:
            raise ScenarioError(f"{where}{time_ms} follows {last}; times do not go back")
        if time_ms > MOST_MS:
            raise ScenarioError(f"{where}{time_ms} is too large; a trace lasts at most {MOST_MS} ms")
        times.append(time_ms)
        last = time_ms
    if last == 0:
        raise ScenarioError("the trace must last longer than 0 ms")
    return tuple(times)


def parse_samples(value: Any) -> tuple[int, ...]:
    """Delays in ps: a list of times with units, or a file with one time per line.

    Raises:
        ScenarioError: the file is missing or has no values, or a value is not a time.
    """
    samples = []
    for where, given in _values(value, "a list of delays", 'times such as "1.5 ms"'):
        try:
            samples.append(units.parse_time(given))
        except ScenarioError as error:
            raise ScenarioError(where + error.message) from None
    return tuple(samples)


def anchored(value: Any, folder: Path) -> Any:
    """A file's name made relative to a folder; any other value is unchanged."""
    return str(folder / value) if isinstance(value, str) else value


def _values(value: Any, noun: str, content: str) -> Iterator[tuple[str, Any]]:
    """Each value of a list, or each line of a file, with its position for messages."""
    if isinstance(value, str):
        try:
            lines = reading.read_text(Path(value), MOST_BYTES).splitlines()
        except FileNotFoundError:
            raise ScenarioError(f"'{value}': no such file") from None
        except ValueError:
            raise ScenarioError(f"{value!r} is not a file's name") from None
        except ScenarioError as error:
            raise ScenarioError(f"'{value}': {error.message}; {noun} has {content}, one on each line") from None
        found: list[tuple[str, Any]] = [(f"{value}, line {i}: ", line) for i, line in enumerate(lines, 1)]
    elif isinstance(value, list | tuple):
        found = [("", item) for item in value]
    else:
        raise ScenarioError(f"{value!r} is not {noun}; write a file's name or a list of {content}")
    if not found:
        raise ScenarioError(f"there is nothing in it; {noun} has {content}")
    if len(found) > MOST_VALUES:
        raise ScenarioError(f"{len(found)} values are too many; the limit is {MOST_VALUES}")
    yield from found
