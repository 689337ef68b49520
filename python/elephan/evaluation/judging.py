"""The judge: a criterion and what was measured for it, with the interval that decides how sure the outcome is.

Every outcome is computed; none is entered by hand. Each kind of number has one statistic. The mean of the replicates
has Student's interval, and it is sure that the criterion holds if the whole interval is allowed. A median, and whatever
is computed from several numbers, has the interval of the bootstrap, and the draws in which the criterion holds are
counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from elephan.evaluation.measurement import Measurement
from elephan.evaluation.relations import Allowed, Outcome
from elephan.metrics.ranges import Range
from elephan.metrics.statistics import CONFIDENCE, INFINITE, Interval, Pick, bootstrap, interval

Stand = Literal["holds", "fails", "open"]
"""Answer to whether a criterion holds for all, for none or for some of the values that the interval leaves open."""


@dataclass(frozen=True)
class Assessment:
    """A criterion compared with the measurements.

    Attributes:
        outcome: the outcome at the measured value, which is infinite for a time that was not reached.
        found: the measured value, in the unit of the criterion's limit, with its interval over seeds.
        stand: whether other seeds could change the outcome; ``open`` with fewer than two seeds.
        support: fraction of the bootstrap draws in which the criterion holds; ``None`` without draws.
        seeds: number of replicates.
        detail: the compared values.
        runs: ids of the measured runs.
    """

    outcome: Outcome
    found: Interval
    stand: Stand = "open"
    support: float | None = None
    seeds: int = 1
    detail: str = ""
    runs: tuple[str, ...] = ()

    @property
    def within_noise(self) -> bool:
        """True if the draws show that other seeds could change the outcome."""
        return self.support is not None and self.stand == "open"


@dataclass(frozen=True)
class Question:
    """A criterion with all measurements for it.

    Attributes:
        outcome: gives the outcome, or that of one bootstrap draw.
        measurements: the measurements.
        limits: the allowed values, if the criterion is about one value.
        detail: the compared values, in words.
    """

    outcome: Callable[[Pick | None], Outcome]
    measurements: Sequence[Measurement]
    limits: Allowed | None = None
    detail: str = ""

    @property
    def replicates(self) -> int:
        """The largest number of seeds of any measurement."""
        return max(measurement.replicates for measurement in self.measurements)

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the runs of all measurements, without duplicates."""
        return tuple(dict.fromkeys(run for one in self.measurements for run in one.run_ids))


def assess(question: Question, *, confidence: float = CONFIDENCE, intervals: bool = True) -> Assessment:
    """Judge a criterion. Without ``intervals`` only the outcome is computed, which is fast.

    Raises:
        NotJudgedError: a measured value is not defined.
    """
    outcome, seeds = question.outcome(None), question.replicates
    plain = Interval(outcome.measured, math.nan, math.nan, "one replicate" if seeds < 2 else "not computed")
    found: tuple[Interval, Stand, float | None] = (plain, "open", None)
    if intervals and seeds > 1:
        (first, *others), limits = question.measurements, question.limits
        if first.statistic == "mean" and limits is not None and not others:
            found = (*_of_mean(first.sample, first.within, limits, confidence), None)
        else:
            found = _of_draws(question, outcome, confidence)
    return Assessment(outcome, *found, seeds, question.detail, question.runs)


def _of_mean(sample: Sequence[float], within: Range, limits: Allowed, confidence: float) -> tuple[Interval, Stand]:
    """The interval of a mean, and whether its values are allowed; equal values are judged by that value."""
    found = interval(sample, confidence=confidence).cut(within)
    if found.reason == INFINITE:
        return found, "open"
    low, high = (found.low, found.high) if found.known else (found.value, found.value)
    if limits.holds(low) and limits.holds(high):
        return found, "holds"
    return found, "fails" if limits.excludes(low, high) else "open"


def _of_draws(question: Question, outcome: Outcome, confidence: float) -> tuple[Interval, Stand, float | None]:
    """The interval over seeds of the measured value, and the fraction of the bootstrap draws in which the criterion
    holds."""
    held: list[bool] = []
    values = set[float]()
    known: dict[tuple[int, ...], Outcome] = {}
    sizes = frozenset[int]().union(*(measurement.sizes for measurement in question.measurements))

    def draw(pick: Pick) -> float:
        if len(sizes) != 1:
            drawn = question.outcome(pick)
        else:
            # If all inputs have the same number of seeds, draws of the same seeds in another order are alike.
            (size,) = sizes
            seeds = tuple(sorted(int(share * size) for share in pick[:size]))
            if seeds not in known:
                known[seeds] = question.outcome(pick)
            drawn = known[seeds]
        held.append(drawn.passed)
        values.add(drawn.measured)
        return drawn.measured

    ends, seeds = bootstrap(draw, question.replicates, confidence), question.replicates
    support, tail = fmean(held), (1 - confidence) / 2
    stand: Stand = "holds" if support >= 1 - tail else "fails" if support <= tail else "open"
    low, high = ends or (math.nan, math.nan)
    reason = "not a number in any draw" if ends is None else ""
    if low == high:
        several = f"zero width: most of {seeds} replicates are equal"
        reason = several if len(values) > 1 else f"{seeds} replicates, all equal"
    if reason:
        low = high = math.nan
    return Interval(outcome.measured, low, high, reason), stand, support
