"""The numbers of a comparison: each one's definition, its range, and its mean with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elephan.comparison.measures import BATCHES, BEFORE, HALVES, WHOLE, Observation
from elephan.comparison.observations import Key, Observations
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import ALONE, LATE
from elephan.metrics.ranges import LOST, POSITIVE, REAL, SHARE, Range
from elephan.metrics.statistics import Interval, interval, over_time

LEAST_FOR_INTERVAL = 4
"""Fewest seeds with an interval: with three, Student's t is already 4.3, and the spread is itself unknown by half."""

Sample = Callable[[Observations, Key, int], list[float]]


class Definition(NamedTuple):
    """How a number of a comparison is computed.

    Attributes:
        text: the number in words, with its unit.
        sample: its values by seed in one situation and one section of the runs.
        within: its range.
        batched: True if it is measured in each section of a run, so that its interval knows how it changes over time.
        median: True for a time that may be infinite: its median with a bootstrap interval.
    """

    text: str
    sample: Sample
    within: Range
    batched: bool = False
    median: bool = False


def _of(value: Callable[[Observation, int], float | None]) -> Sample:
    return lambda evidence, key, part: evidence.sample(key, lambda o: value(o, part))


def _stated(name: str) -> Sample:
    return _of(lambda o, part: o.values.get(name))


def _share(o: Observation, part: int, *, late: bool = False) -> float | None:
    mine, theirs = o.rates[part]
    if theirs is None or mine + theirs <= 0:
        return None
    return (theirs if late else mine) / (mine + theirs)


def _time(name: str) -> Sample:
    """Values of a time, which may be infinite."""

    def sample(evidence: Observations, key: Key, part: int) -> list[float]:
        found = (o.values.get(name) for o in evidence.of(*key).values())
        return [value for value in found if value is not None]

    return sample


DEFINITIONS: dict[str, Definition] = {
    "goodput_mbps": Definition(
        "goodput of the algorithm's flows together, Mbit/s", _of(lambda o, part: o.rates[part][0]), POSITIVE, True
    ),
    "other_goodput_mbps": Definition(
        "goodput of the others together, Mbit/s", _of(lambda o, part: o.rates[part][1]), POSITIVE, True
    ),
    "share": Definition("share of the algorithm's flows in the total goodput", _of(_share), SHARE, True),
    "jain": Definition("Jain's index of all flows' goodputs", _stated("jain"), SHARE),
    "queueing_delay_ms": Definition(
        "mean queueing delay at the bottleneck, ms", _of(lambda o, part: o.queue_ms[part]), POSITIVE, True
    ),
    "rtt_p99_ms": Definition(
        "largest 99th percentile of the round-trip times of the algorithm's flows, ms", _stated("rtt_p99_ms"), POSITIVE
    ),
    "loss_rate": Definition(
        "packets dropped at the bottleneck over packets that left it or were dropped", _stated("loss_rate"), SHARE
    ),
    "utilization": Definition(
        "bits that left the bottleneck over bits that its rate allowed", _stated("utilization"), POSITIVE
    ),
    "late_share": Definition(
        "share of late-starting flows in the goodput of these flows and as many earlier flows",
        _of(lambda o, part: _share(o, part, late=True) if o.situation.against == LATE else None), SHARE, True,
    ),
    "background_mbps": Definition(
        "background transfers that arrived, on the wire, Mbit/s", _stated("background_mbps"), POSITIVE
    ),
    "background_mean_slowdown": Definition(
        "mean slowdown of the background transfers", _stated("background_mean_slowdown"), POSITIVE
    ),
    "background_flow_duration_p50_ms": Definition(
        "median duration of a background transfer, ms", _stated("background_flow_duration_p50_ms"), POSITIVE
    ),
    "background_flow_duration_p99_ms": Definition(
        "99th percentile of the durations of the background transfers, ms",
        _stated("background_flow_duration_p99_ms"), POSITIVE,
    ),
    "harm": Definition(
        "fraction of goodput that the others lose, relative to their goodput alone (Ware et al. 2019)",
        lambda evidence, key, part: evidence.harm(*key, part) if key[1] in evidence.rivals else [], LOST, True,
    ),
    "excess_harm": Definition(
        "fraction of goodput that the others lose, relative to that beside as many flows of their kind",
        lambda evidence, key, part: evidence.excess_harm(*key, part) if key[1] in evidence.rivals else [], LOST, True,
    ),
    "startup_s": Definition(
        "time from the start of the algorithm's flows until their goodput over a second is 90 % of the measured one, "
        "s; of late-starting flows from their start (median over seeds; infinite if never)",
        _time("startup_s"), POSITIVE, median=True,
    ),
    "convergence_s": Definition(
        "time until a late-starting flow has 80 % of the first flow's rate, s (median; infinite if never)",
        _time("convergence_s"), POSITIVE, median=True,
    ),
}  # fmt: skip
OBJECTIVE = "objective"
METRICS: dict[str, str] = {name: one.text for name, one in DEFINITIONS.items()} | {
    OBJECTIVE: "objective of the comparison (a natural logarithm: 0.01 is 1 %)"
}
"""Definition of each metric of a comparison, by its name in ``rows``."""


@dataclass(frozen=True)
class Number:
    """A number of one situation.

    Attributes:
        found: mean (or median) over the seeds, with its 95 % interval.
        seeds: number of seeds.
    """

    found: Interval
    seeds: int

    @property
    def value(self) -> float:
        """Mean, or median, over the seeds."""
        return self.found.value

    @property
    def ends(self) -> tuple[float, float] | None:
        """Ends of the interval; ``None`` without one, or if an end is infinite."""
        low, high = self.found.low, self.found.high
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def number_of(evidence: Observations, key: Key, name: str) -> Number | None:
    """A number of one situation; ``None`` if no seed has it."""
    defined = DEFINITIONS[name]
    sample = defined.sample(evidence, key, WHOLE)
    if not sample:
        return None
    if len(sample) < LEAST_FOR_INTERVAL:
        return Number(_too_few(sample, median=defined.median), len(sample))
    if defined.median:
        return Number(interval(sample, statistic="median"), len(sample))
    if not defined.batched or not all(o.staged for o in evidence.of(*key).values()):
        return Number(interval(sample, within=defined.within), len(sample))

    def by_seed(sections: Sequence[int]) -> list[tuple[float, ...]]:
        columns = [defined.sample(evidence, key, part) for part in sections]
        # A section in which nothing arrived has no queueing delay, and then there is no table.
        return list(zip(*columns, strict=True)) if all(len(c) == len(sample) for c in columns) else []

    found = over_time(by_seed(BATCHES), sample, by_seed((BEFORE, *HALVES)), within=defined.within)
    return Number(found, len(sample))


def objective_of(evidence: Observations, algorithm: str, preference: Preference) -> Number | None:
    """The objective of an algorithm; ``None`` if no seed has all of its terms."""
    sample = list(evidence.objective(algorithm, preference).values())
    if not sample:
        return None
    found = interval(sample, within=REAL) if len(sample) >= LEAST_FOR_INTERVAL else _too_few(sample)
    return Number(found, len(sample))


def _too_few(sample: list[float], *, median: bool = False) -> Interval:
    value = interval(sample, statistic="median" if median else "mean").value
    reason = f"{len(sample)} replicates; an interval needs {LEAST_FOR_INTERVAL}" if len(sample) > 1 else "one replicate"
    return Interval(value, math.nan, math.nan, reason)


def keys(algorithms: tuple[str, ...], evidence: Observations) -> list[Key]:
    """Situations of a comparison in the order of its tables."""
    found = [(name, against) for name in algorithms for against in (ALONE, *evidence.rivals, LATE)]
    for rival in evidence.rivals:
        if rival not in algorithms:
            found += [(rival, ALONE), (rival, rival)]
    return found


# ---- text ----


def together(mean: float, ends: tuple[float, float] | None, least: int = 3) -> tuple[str, str, str]:
    """A mean and the ends of its interval, rounded to the same digit, so that the ends differ; both ends are empty
    without an interval. The mean has at least ``least`` significant digits, and the largest number at most seven."""
    if ends is None or not math.isfinite(mean):
        return plain(mean, least), "", ""
    largest = max(map(abs, (mean, *ends)))
    if largest == 0:
        return "0", "0", "0"
    for digits in range(least, 8):
        decimals = max(0, digits - 1 - math.floor(math.log10(largest)))
        texts = tuple(f"{round(value, decimals) + 0.0:,.{decimals}f}" for value in (mean, *ends))
        if texts[1] != texts[2]:
            break
    return texts[0], texts[1], texts[2]


def spread(mean: float, ends: tuple[float, float] | None, unit: str = "", least: int = 3) -> str:
    """A mean with its unit and its interval, as in "94.9 % (95 %: 94.7 to 95.1)"."""
    value, low, high = together(mean, ends, least)
    text = f"{value} {unit}".rstrip()
    return f"{text} (95 %: {low} to {high})" if low else text


def plain(value: float, significant: int = 3) -> str:
    """A number with at least three significant digits, without an exponent from 0.001 on."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
