"""Replicates: a value with its interval. Each kind of interval is defined here, once.

That of a mean is by Student's t, of a paired difference by the paired t, of a median or any other statistic by the
percentile bootstrap (which for a mean of few replicates would be too narrow).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from elephan.metrics.registry import get

if TYPE_CHECKING:
    from elephan.runs.result import Run

CONFIDENCE = 0.95
# Resampling is a computation, not an experiment: the same values give the same interval, whoever asks.
_RESAMPLING_SEED = 20061
DRAWS = 999
LOOKS = (8, 16, 32)
"""Numbers of seeds at which a question is looked at."""
LOOK_CONFIDENCE = 1 - 0.05 / len(LOOKS)
"""Confidence of each look, so that stopping at any of them keeps 95 % (Bonferroni)."""
Pick = Sequence[float]
"""One bootstrap draw: numbers in [0, 1), one a replicate, that choose which replicates count."""


class Interval(NamedTuple):
    """A statistic of replicates and its confidence interval."""

    value: float
    low: float
    high: float


def mean_relative_error(values: Sequence[float], expected: Sequence[float]) -> float:
    """Mean over pairs of |value - expected| / expected: how far a model's numbers are from what was measured.

    Raises:
        ValueError: the numbers of values differ, there are none, or something expected is 0.
    """
    found, wanted = np.asarray(values, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if found.shape != wanted.shape or found.size == 0 or np.any(wanted == 0):
        raise ValueError("a relative error needs as many expected values as values, at least one, and none of them 0")
    return float(np.mean(np.abs(found - wanted) / np.abs(wanted)))


def resampled(values: Sequence[float], pick: Pick) -> list[float]:
    """The replicates of one bootstrap draw."""
    count = len(values)
    return [values[int(share * count)] for share in pick[:count]]


def bootstrap(
    statistic: Callable[[Pick], float], replicates: int, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of a statistic of replicates; ``None`` below two of them, or where none is known.

    Replicates are drawn with replacement (Efron 1979), the same ones for everything that the statistic is made of. The
    draws are fixed, so the same replicates always give the same interval. Draws of which the statistic is not a number
    are left out. Ends are values of draws: one may be infinite (a time that never came).
    """
    if replicates < 2:
        return None
    generator = np.random.Generator(np.random.PCG64(_RESAMPLING_SEED))
    values = [statistic(row) for row in generator.random((draws, replicates)).tolist()]
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return None
    tail = (1 - confidence) / 2
    last = len(known) - 1
    return known[round(tail * last)], known[round((1 - tail) * last)]


def interval(
    values: Sequence[float],
    *,
    statistic: Literal["mean", "median"] = "mean",
    confidence: float = CONFIDENCE,
) -> Interval:
    """Mean of replicates with its interval by Student's t, or median with its bootstrap interval; 95 % unless told
    otherwise.

    With one value both ends are NaN: one replicate says nothing of the spread. Infinite values (a time that never
    came) are kept: the median and its interval are then of an ordered list, some of it infinite, and the ends of a mean
    are NaN.

    Raises:
        ValueError: there are no values, or one is not a number.
    """
    sample = [float(value) for value in values]
    if not sample:
        raise ValueError("no values to make an interval of")
    if any(math.isnan(value) for value in sample):
        raise ValueError("a value is not a number, so that there is no interval")
    value = float(np.mean(sample)) if statistic == "mean" else median(sample)
    if len(sample) == 1:
        return Interval(value, math.nan, math.nan)
    if len(set(sample)) == 1:
        return Interval(value, value, value)
    if statistic == "median":
        found = bootstrap(lambda pick: median(resampled(sample, pick)), len(sample), confidence)
        return Interval(value, *(found or (math.nan, math.nan)))
    if not math.isfinite(value):
        return Interval(value, math.nan, math.nan)
    from scipy import stats

    low, high = stats.t.interval(confidence, len(sample) - 1, loc=value, scale=stats.sem(sample))
    return Interval(value, float(low), float(high))


def paired_difference(values: Sequence[float], reference: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Mean of value - reference over pairs of runs of the same seed, with its interval by the paired t.

    Raises:
        ValueError: there is not one reference for each value, there are none, or a difference is not a number.
    """
    pairs = zip(values, reference, strict=True)
    return interval([value - other for value, other in pairs], confidence=confidence)


def over_seeds(
    name: str,
    runs: Sequence[Run],
    *,
    statistic: Literal["mean", "median"] = "mean",
    confidence: float = CONFIDENCE,
    reference: Sequence[Run] | None = None,
    **options: Any,
) -> Interval | dict[str, Interval]:
    """A metric over replicates with its interval; of a ``flow`` metric, one for each flow.

    ``options`` are those of the metric: ``window``, ``flows``, ``link`` and its own. A metric that compares takes one
    ``reference`` for each run, best of the same seed.

    Raises:
        MetricError: no such metric, or it is not defined for one of the runs.
        ValueError: there are no runs, not as many references as runs, or a value is not a number.
    """
    if reference is None:
        values = [get(name)(run, **options) for run in runs]
    else:
        pairs = zip(runs, reference, strict=True)
        values = [get(name)(run, reference=other, **options) for run, other in pairs]
    if values and isinstance(values[0], dict):
        return {
            flow: interval([value[flow] for value in values], statistic=statistic, confidence=confidence)
            for flow in values[0]
        }
    return interval(values, statistic=statistic, confidence=confidence)


def paired_p_value(values: Sequence[float], reference: Sequence[float]) -> float:
    """Probability of a mean difference as large as this one if the true one is zero: two-sided paired t test.

    1 with one pair, or where all differences are zero; 0 where all are equal and not zero.

    Raises:
        ValueError: there is not one reference for each value.
    """
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    if len(differences) < 2 or not any(differences):
        return 1.0
    if len(set(differences)) == 1:
        return 0.0
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several tests, adjusted so that all conclusions together keep the error of one (Holm 1979)."""
    adjusted, largest, count = [0.0] * len(p_values), 0.0, len(p_values)
    for rank, i in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        largest = max(largest, (count - rank) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted
