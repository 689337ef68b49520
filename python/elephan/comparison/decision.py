"""The decision of a comparison: the algorithm with the best objective, and the evidence against the other
algorithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from elephan.comparison.evidence import Evidence
from elephan.comparison.measures import EARLIER, LATER, WHOLE
from elephan.comparison.preferences import Preference
from elephan.metrics.statistics import Interval, holm, paired_difference, paired_p_value

SAME = 0.05
"""Margin within which two algorithms count as equal: an objective is a logarithm, so this is 5 %."""
LEAST_SEEDS = 8
"""Smallest number of seeds behind a settled answer, unless the user states the number."""


@dataclass(frozen=True)
class Versus:
    """Comparison of the best algorithm with one other algorithm.

    Attributes:
        algorithm: the other algorithm.
        difference: difference of the objectives (the best algorithm's minus the other's), paired by seed.
        distinct: True if the difference is not zero by the paired t test, corrected by Holm.
        same: True if the interval lies within the margin of equality.
    """

    algorithm: str
    difference: Interval
    distinct: bool
    same: bool

    @property
    def open(self) -> bool:
        """True if more seeds could decide between the two algorithms."""
        return not self.distinct and not self.same

    @property
    def verdict(self) -> str:
        """``same`` within the margin, ``distinct``, or ``open`` if the seeds do not distinguish the difference from
        zero."""
        return "same" if self.same else "distinct" if self.distinct else "open"


@dataclass(frozen=True)
class Decision:
    """The ranking of the algorithms by one objective.

    Attributes:
        best: label of the best algorithm.
        order: all labels, the best first.
        seeds: number of replicates behind the ranking.
        values: the objective of each algorithm: the mean with its interval.
        versus: comparison of the best algorithm with every other algorithm.
        steady: True if each half of the measurement window has the same best algorithm.
        enough: True if there are as many seeds as a settled answer needs.
    """

    best: str
    order: tuple[str, ...]
    seeds: int
    values: dict[str, Interval]
    versus: tuple[Versus, ...]
    steady: bool
    enough: bool

    @property
    def settled(self) -> bool:
        """True if more seeds or longer runs would not change the answer, by the evidence of the runs so far."""
        return self.enough and self.steady and not any(other.open for other in self.versus)

    def against(self, name: str) -> Versus | None:
        """Comparison of the best algorithm with another algorithm; ``None`` for the best algorithm itself."""
        return next((other for other in self.versus if other.algorithm == name), None)

    @property
    def equals(self) -> tuple[str, ...]:
        """Algorithms that are as good as the best, within the margin."""
        return tuple(other.algorithm for other in self.versus if other.same and not _beyond(other.difference))

    @property
    def undecided(self) -> tuple[str, ...]:
        """Algorithms that the seeds do not distinguish from the best."""
        return tuple(other.algorithm for other in self.versus if other.open)


def _beyond(difference: Interval) -> bool:
    return difference.value > SAME


def decide(
    evidence: Evidence,
    algorithms: Sequence[str],
    preference: Preference,
    confidence: float,
    wanted_seeds: int = LEAST_SEEDS,
) -> Decision | None:
    """Rank algorithms by the seeds that all of them have; ``None`` while there is no such seed.

    Args:
        evidence: the observations.
        algorithms: the judged algorithms.
        preference: the objective.
        confidence: confidence of each interval; 1 - confidence is the family-wise error rate of the tests.
        wanted_seeds: replicates that a settled answer needs.
    """
    values = {name: evidence.objective(name, preference) for name in algorithms}
    seeds = sorted(set.intersection(*(set(found) for found in values.values())))
    if not seeds:
        return None
    samples = {name: [values[name][seed] for seed in seeds] for name in algorithms}
    order = sorted(algorithms, key=lambda name: -fmean(samples[name]))
    best = order[0]
    others = order[1:]
    intervals = {name: paired_difference(sample, [0.0] * len(seeds), confidence) for name, sample in samples.items()}
    return Decision(
        best,
        tuple(order),
        len(seeds),
        intervals,
        _versus(best, others, samples, confidence),
        _steady(evidence, best, others, preference),
        len(seeds) >= wanted_seeds,
    )


def _versus(best: str, others: Sequence[str], samples: dict[str, list[float]], confidence: float) -> tuple[Versus, ...]:
    """Comparison of the best algorithm with every other algorithm; with one seed no difference can be shown."""
    if not others:
        return ()
    differences = {name: paired_difference(samples[best], samples[name], confidence) for name in others}
    chances = holm([paired_p_value(samples[best], samples[name]) for name in others])
    found = []
    for name, chance in zip(others, chances, strict=True):
        difference = differences[name]
        low, high = difference.low, difference.high
        if math.isnan(low):  # all seeds have the same difference, or there is one seed
            low = high = difference.value if len(samples[name]) > 1 else math.nan
        same = not math.isnan(low) and low >= -SAME and high <= SAME
        found.append(Versus(name, difference, chance < 1 - confidence, same))
    return tuple(found)


def _steady(evidence: Evidence, best: str, others: Sequence[str], preference: Preference) -> bool:
    """True if no other algorithm has a better objective by more than the margin in either half of the measurement
    window."""
    for part in (EARLIER, LATER):
        means = {}
        for name in (best, *others):
            found = evidence.objective(name, preference, part)
            if not found:
                return False
            means[name] = fmean(found.values())
        if any(means[name] > means[best] + SAME for name in others):
            return False
    return True


def changing(evidence: Evidence, algorithm: str, tolerated: float = 0.1) -> float | None:
    """Relative change of an algorithm's goodput without other flows, from the first to the second half of the
    measurement window; ``None`` if it is unknown or not larger than ``tolerated``."""
    from elephan.comparison.situations import ALONE

    found = evidence.of(algorithm, ALONE).values()
    whole = [o.rates[WHOLE][0] for o in found]
    if not whole or fmean(whole) == 0:
        return None
    change = (fmean(o.rates[LATER][0] for o in found) - fmean(o.rates[EARLIER][0] for o in found)) / fmean(whole)
    return change if abs(change) > tolerated else None
