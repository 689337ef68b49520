"""Reader of recorded paths in the formats in which they are published: rates and delays over time.

- Mahimahi, LeoReplayer and the heavy opportunities of CellReplay: one time in ms per line, at which a packet may leave.
  A table of rates counts them in bins of 10 ms, the interval of LeoReplayer's delays.
- LeoReplayer's delays: line i has the one-way delay in ms from 10 (i - 1) ms to 10 i ms (SpaceNetLab/LeoCC, traces).
- CellReplay's light opportunities: a time in ms, the one-way delay of a first packet, and the arrivals of a short train
  after it (Sentosa et al., NSDI 2025).
- netem-trace: models as JSON (:mod:`elephan.scenario.netem_trace`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.scenario import netem_trace, reading
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Times = npt.NDArray[np.int64]

PS_PER_MS = 10**9
STEP_MS = 10
"""Length of a bin of opportunities, and of the intervals of LeoReplayer's delays, ms."""
MOST_BYTES = 256_000_000
MOST_LINES = 20_000_000
MOST_MS = 7 * 86_400_000
"""Longest recording, a week."""
MOST_DELAY_MS = 100_000
LIGHT_BYTES = 1400
"""Size of the packets that CellReplay records and replays."""
MOST_ROWS = 1_000_000
Rows = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Course:
    """A rate or a delay over time.

    Attributes:
        rows: times in ps, rising from 0, and the values from these times on, in bit/s or ps.
        length: length of the recording, ps.
        again: true if the recording begins again after its length, as most formats say; otherwise the last value
            holds.
    """

    rows: Rows
    length: int
    again: bool = True


@dataclass(frozen=True)
class Train:
    """A short train of CellReplay: its start, the one-way delay of its first packet, and the arrivals after it, ms."""

    at: int
    delay: int
    arrivals: tuple[int, ...]


def course(quantity: str, name: str) -> Course:
    """The rate or the delay over time in a recorded file.

    Raises:
        ScenarioError: the file is missing, damaged, or has another quantity; the message names the file.
    """
    if Path(name).suffix.casefold() == ".json":
        return Course(*netem_trace.course(quantity, name, _text(name)))
    if is_trains(name):
        found = trains(name)
        return light_rates(found) if quantity == "rate" else delays_of(found)
    return opportunity_rates(name) if quantity == "rate" else intervals(name)


def is_trains(name: str) -> bool:
    """True if the first line of a text has the three numbers or more of a train."""
    return len(_first_line(name).split()) > 2


def opportunity_rates(name: str, packet_bytes: int = OPPORTUNITY_BYTES) -> Course:
    """The rate of a file of opportunities, in bins of 10 ms; the last bin ends with the last opportunity."""
    return binned(opportunities(name), packet_bytes)


def opportunities(name: str) -> Times:
    """The times of a file, ms: whole numbers that do not fall, the last above 0."""
    import numpy as np

    times = _numbers(name, "a time in whole milliseconds", MOST_MS)
    falls = np.flatnonzero(np.diff(times) < 0)
    if falls.size:
        line = int(falls[0]) + 2
        raise ScenarioError(f"'{name}', line {line}: {times[line - 1]} follows {times[line - 2]}; times do not go back")
    if times[-1] == 0:
        raise ScenarioError(f"'{name}': the trace must last longer than 0 ms")
    return times


def binned(times: Times, packet_bytes: int) -> Course:
    """Opportunities as a rate over time."""
    import numpy as np

    last = int(times[-1])
    bins = -(-last // STEP_MS)
    # An opportunity at the end of the last bin is at the time 0 of the next round.
    counts = np.bincount(np.minimum(times // STEP_MS, bins - 1), minlength=bins)
    lengths_ms = np.full(bins, STEP_MS)
    lengths_ms[-1] = last - STEP_MS * (bins - 1)
    rates = counts * (packet_bytes * 8 * 1000) // lengths_ms
    return Course(_changes(np.arange(bins) * (STEP_MS * PS_PER_MS), rates), last * PS_PER_MS)


def intervals(name: str) -> Course:
    """LeoReplayer's delays, one for each interval of 10 ms."""
    import numpy as np

    delays = _numbers(name, "a delay in whole milliseconds", MOST_DELAY_MS)
    step_ps = STEP_MS * PS_PER_MS
    return Course(_changes(np.arange(delays.size) * step_ps, delays * PS_PER_MS), delays.size * step_ps)


def trains(name: str) -> list[Train]:
    """The trains of a file of CellReplay's base delays and light opportunities."""
    found: list[Train] = []
    for line, text in enumerate(_text(name).splitlines(), 1):
        words = text.split()
        if len(words) < 3 or not all(word.isascii() and word.isdigit() and len(word) < 12 for word in words):
            raise ScenarioError(
                f"'{name}', line {line}: {text[:40]!r} is not a train: a time, a delay and arrivals, in whole ms"
            )
        at, delay, *arrivals = map(int, words)
        if at > MOST_MS or delay > MOST_DELAY_MS or arrivals[-1] > MOST_DELAY_MS:
            raise ScenarioError(f"'{name}', line {line}: {text[:40]!r} has a time that is too large")
        if found and at <= found[-1].at:
            raise ScenarioError(f"'{name}', line {line}: {at} follows {found[-1].at}; times rise")
        if any(later < earlier for earlier, later in pairwise(arrivals)):
            raise ScenarioError(f"'{name}', line {line}: the arrivals of a train do not go back")
        if len(found) == MOST_ROWS:
            raise ScenarioError(f"'{name}' has more than {MOST_ROWS:,} trains")
        found.append(Train(at, delay, tuple(arrivals)))
    if len(found) < 2:
        raise ScenarioError(f"'{name}' has fewer than two trains, so its length is unknown")
    return found


def delays_of(found: list[Train]) -> Course:
    """The base delay over time; a delay holds until the next train."""
    return _held(found, [train.delay * PS_PER_MS for train in found])


def light_rates(found: list[Train], packet_bytes: int = LIGHT_BYTES) -> Course:
    """The rate that a short train finds: all packets after the first, over the arrival of the last.

    A train that arrives within 1 ms counts as 1 ms, the resolution of the format; a train of one packet says nothing,
    so the rate before it holds.
    """
    rates: list[int] = []
    for train in found:
        after = len(train.arrivals) - 1
        held = rates[-1] if rates else 0
        rates.append(after * packet_bytes * 8 * 1000 // max(1, train.arrivals[-1]) if after else held)
    known = next((rate for rate in rates if rate), 0)
    if not known:
        raise ScenarioError("no train has a second packet, so there is no rate")
    return _held(found, [rate or known for rate in rates])


def _held(found: list[Train], values: list[int]) -> Course:
    first = found[0].at
    times = [(train.at - first) * PS_PER_MS for train in found]
    return Course(without_repeats(zip(times, values, strict=True)), times[-1] + (times[-1] - times[-2]))


def without_repeats(rows: Iterator[tuple[int, int]] | zip[tuple[int, int]]) -> Rows:
    """The rows without those that repeat the value before."""
    kept: list[tuple[int, int]] = []
    for at, value in rows:
        if not kept or kept[-1][1] != value:
            kept.append((at, value))
    return tuple(kept)


def _changes(times_ps: Times, values: Times) -> Rows:
    import numpy as np

    changed = np.flatnonzero(np.diff(values, prepend=-1))
    if changed.size > MOST_ROWS:
        raise ScenarioError(f"the recording changes more than {MOST_ROWS:,} times")
    return tuple(zip(times_ps[changed].tolist(), values[changed].tolist(), strict=True))


def _numbers(name: str, noun: str, most: int) -> Times:
    """The whole numbers of a file, one in each line."""
    import polars as pl

    content = _read(name, lambda path: reading.read_bytes(path, MOST_BYTES))
    if b"\0" in content:
        raise ScenarioError(f"'{name}' is not a text: it has null characters")
    try:
        lines = _column(content, pl.Int64)
    except pl.exceptions.ComputeError:
        lines = _lines(name, content)
    except pl.exceptions.NoDataError:
        raise ScenarioError(f"'{name}' is empty") from None
    if lines.len() > MOST_LINES:
        raise ScenarioError(f"'{name}' has more than {MOST_LINES:,} lines")
    is_text = lines.dtype == pl.String
    numbers = lines.str.strip_chars().cast(pl.Int64, strict=False) if is_text else lines
    wrong = (numbers.is_null() | (numbers < 0) | (numbers > most)).fill_null(value=True)
    if wrong.any():
        row = wrong.arg_max() or 0
        shown = "" if lines[row] is None else str(lines[row])[:40]
        raise ScenarioError(f"'{name}', line {row + 1}: {shown!r} is not {noun}, from 0 to {most}")
    found: Times = numbers.to_numpy()
    return found


def _lines(name: str, content: bytes) -> Any:
    """The lines of a file in which not every line is a plain number: there may be spaces, and there is a wrong line."""
    import polars as pl

    try:
        return _column(content, pl.String)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise ScenarioError(f"'{name}' is not a text in UTF-8 with a number in each line") from None


def _column(content: bytes, kind: Any) -> Any:
    import polars as pl

    return pl.read_csv(
        content, has_header=False, separator="\x01", quote_char=None, new_columns=["line"],
        schema_overrides={"line": kind}, truncate_ragged_lines=True, n_rows=MOST_LINES + 1,
    )["line"]  # fmt: skip


def _first_line(name: str) -> str:
    def begin(path: Path) -> bytes:
        reading.check_regular(path, MOST_BYTES)
        with path.open("rb") as file:
            return file.readline(100_000)

    return str(_read(name, begin), "utf-8", "replace")


def _text(name: str) -> str:
    return str(_read(name, lambda path: reading.read_text(path, MOST_BYTES)))


def _read(name: str, read: Any) -> Any:
    try:
        return read(Path(name))
    except FileNotFoundError:
        raise ScenarioError(f"'{name}': no such file") from None
    except ValueError:
        raise ScenarioError(f"{name!r} is not a file's name") from None
    except OSError as error:
        raise ScenarioError(f"'{name}': {(error.strerror or 'cannot be read').lower()}") from None
    except ScenarioError as error:
        raise ScenarioError(f"'{name}': {error.message}") from None
