"""The decision of a comparison: the algorithm with the best objective, and the evidence against the other
algorithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from elephan.comparison.horizon import SAME, Change, changes, same_best
from elephan.comparison.numbers import LEAST_FOR_INTERVAL
from elephan.comparison.observations import Observations
from elephan.comparison.preferences import Preference
from elephan.metrics.statistics import Interval, holm, paired_difference, paired_p_value

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
        ranked: True if each part of the runs has the same best algorithm.
        changes: numbers that still depend on the duration of the runs.
        enough: True if there are as many seeds as a settled answer needs.
    """

    best: str
    order: tuple[str, ...]
    seeds: int
    values: dict[str, Interval]
    versus: tuple[Versus, ...]
    ranked: bool
    changes: tuple[Change, ...]
    enough: bool

    @property
    def steady(self) -> bool:
        """True if neither the ranking nor a number depends on the duration of the runs."""
        return self.ranked and not self.changes

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
    evidence: Observations,
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
        same_best(evidence, best, others, preference),
        changes(evidence, order, preference),
        len(seeds) >= max(wanted_seeds, LEAST_FOR_INTERVAL),
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
