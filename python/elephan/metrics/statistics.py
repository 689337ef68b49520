"""Confidence intervals over replicates.

The interval of a mean is by Student's t, and the interval of a paired difference is by the paired t test. The interval
of a median or another statistic is by the percentile bootstrap, which is too narrow for a mean of few replicates. The
interval of a quantity with a range (a share, a delay) stays within the range: that of a long-run mean is computed on a
scale without bounds and transformed back, and that over the seeds of one scenario, which a criterion is judged by, is
cut at the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from elephan.metrics.ranges import REAL, Range
from elephan.metrics.registry import get

if TYPE_CHECKING:
    from elephan.runs.result import Run

CONFIDENCE = 0.95
LOOKS = (8, 16, 32)
"""Numbers of seeds at which a sequential procedure tests its hypothesis; each test is a look."""
LOOK_CONFIDENCE = 1 - (1 - CONFIDENCE) / len(LOOKS)
"""Confidence of each look (Bonferroni), so that all looks together keep 95 %."""
# Resampling uses a fixed seed, so the same values always give the same interval.
_RESAMPLING_SEED = 20061
DRAWS = 999
Pick = Sequence[float]
"""One bootstrap draw: for each replicate to draw, a number in [0, 1) that selects it."""


class Interval(NamedTuple):
    """A statistic of replicates and its confidence interval.

    Attributes:
        value: value of the statistic.
        low: lower end; NaN without an interval.
        high: upper end.
        reason: reason for a missing interval, in one clause; empty if there is one.
    """

    value: float
    low: float
    high: float
    reason: str = ""

    @property
    def known(self) -> bool:
        """True if there is an interval."""
        return not self.reason

    def cut(self, within: Range) -> Interval:
        """The interval without values outside a range; it keeps its own value, which may exceed a bound by rounding."""
        if not self.known:
            return self
        return self._replace(
            low=min(self.value, max(self.low, within[0])), high=max(self.value, min(self.high, within[1]))
        )

    @property
    def ends(self) -> dict[str, float | None]:
        """``low`` and ``high`` for JSON; both are ``None`` without an interval."""
        return {"low": self.low if self.known else None, "high": self.high if self.known else None}


def finite(value: float | None) -> float | None:
    """A number for JSON, which lacks NaN (a value that is missing) and infinity (a time that was not reached)."""
    return value if value is not None and math.isfinite(value) else None


INFINITE = "a value is infinite"
"""Reason for a missing interval if an event did not occur with some seeds."""
_ALL_EQUAL = "{} replicates, all equal"
ROUNDING = 1e-12
"""Largest rounding error between equal numbers computed in different order, as a fraction of the inputs."""


def _all_equal(sample: Sequence[float], scale: float) -> bool:
    """True if values computed from numbers as large as ``scale`` differ by rounding alone."""
    lowest, highest = min(sample), max(sample)
    return lowest == highest or (math.isfinite(scale) and highest - lowest <= ROUNDING * scale)


def _without(value: float, reason: str) -> Interval:
    return Interval(value, math.nan, math.nan, reason)


def mean_relative_error(values: Sequence[float], expected: Sequence[float]) -> float:
    """Mean over pairs of |value - expected| / expected: the error of a model's numbers.

    Raises:
        ValueError: the numbers of values differ, there are no values, or an expected value is 0.
    """
    found, wanted = np.asarray(values, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if found.shape != wanted.shape or found.size == 0 or np.any(wanted == 0):
        raise ValueError("a relative error needs as many expected values as values, at least one, and none of them 0")
    return float(np.mean(np.abs(found - wanted) / np.abs(wanted)))


def resampled(values: Sequence[float], pick: Pick) -> list[float]:
    """The replicates that one bootstrap draw selects."""
    count = len(values)
    return [values[int(share * count)] for share in pick[:count]]


def bootstrap(
    statistic: Callable[[Pick], float], replicates: int, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of a statistic of replicates; ``None`` with fewer than two replicates, or if the
    statistic is undefined in all draws.

    Replicates are drawn with replacement (Efron 1979), with the same draw for all inputs of the statistic. The draws
    are fixed, so the same replicates always give the same interval. Draws with an undefined statistic (NaN) are left
    out. The ends of the interval are values of draws, so an end may be infinite (a time that was not reached).
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
    within: Range = REAL,
) -> Interval:
    """Mean of replicates with its interval by Student's t, or median with its bootstrap interval; 95 % by default.

    ``within`` is the range of the quantity, and the interval of a mean stays within it (:func:`ranged`). The result has
    a reason instead of an interval for one replicate, whose spread is unknown, and for equal replicates, whose interval
    would have zero width. Infinite values (a time that was not reached) are kept: the median and its interval may be
    infinite, and a mean has no interval.

    Raises:
        ValueError: there are no values, or a value is not a number.
    """
    sample = [float(value) for value in values]
    if not sample:
        raise ValueError("no values to make an interval of")
    if any(math.isnan(value) for value in sample):
        raise ValueError("a value is not a number, so that there is no interval")
    value = float(np.mean(sample)) if statistic == "mean" else median(sample)
    if len(sample) == 1:
        return _without(value, "one replicate")
    if _all_equal(sample, max(map(abs, sample))):
        return _without(value, _ALL_EQUAL.format(len(sample)))
    if statistic == "median":
        ends = bootstrap(lambda pick: median(resampled(sample, pick)), len(sample), confidence)
    elif not math.isfinite(value):
        return _without(value, INFINITE)
    else:
        error = float(np.std(sample, ddof=1)) / math.sqrt(len(sample))
        ends = ranged(value, error, len(sample) - 1, confidence, within)
    if ends is None or not ends[0] < ends[1]:
        return _without(value, f"zero width: most of {len(sample)} replicates are equal")
    return Interval(value, float(ends[0]), float(ends[1]))


def ranged(
    mean: float, error: float, freedom: float, confidence: float = CONFIDENCE, within: Range = REAL
) -> tuple[float, float]:
    """Interval of a mean by Student's t that stays within the range of the quantity.

    The interval is g(mean) ± t error g'(mean), transformed back, where g maps the range to all real numbers: the
    logarithm of the distance from a bound, or the logit between two bounds. Near the middle of a range, or if the error
    is small, this is the usual interval. A mean that lies on a bound has the usual interval, cut at the bounds.

    Args:
        mean: mean of the replicates.
        error: standard error of the mean.
        freedom: degrees of freedom of the error.
        confidence: probability that the interval contains the expected value.
        within: lowest and highest possible value.
    """
    return _bounded(mean, _quantile(confidence, freedom) * error, within)


def _quantile(confidence: float, freedom: float) -> float:
    """Quantile of Student's t for a two-sided interval."""
    from scipy import stats

    return float(stats.t.ppf((1 + confidence) / 2, freedom))


def _bounded(mean: float, reach: float, within: Range) -> tuple[float, float]:
    """Ends of an interval with the half-width ``reach``, transformed so that they stay within a range."""
    low, high = within
    if within == REAL or not low < mean < high:
        return max(low, mean - reach), min(high, mean + reach)
    if math.isinf(high):
        factor = math.exp(min(_STEEPEST, reach / (mean - low)))
        return low + (mean - low) / factor, low + (mean - low) * factor
    if math.isinf(low):
        factor = math.exp(min(_STEEPEST, reach / (high - mean)))
        return high - (high - mean) * factor, high - (high - mean) / factor
    ratio = (mean - low) / (high - mean)
    factor = math.exp(min(_STEEPEST, reach * (high - low) / ((mean - low) * (high - mean))))

    def back(odds: float) -> float:
        return low + (high - low) * odds / (1 + odds)

    return back(ratio / factor), back(ratio * factor)


_STEEPEST = 300.0
"""Largest exponent of a transformed interval, so that its ends are finite."""


def over_time(
    batches: Sequence[Sequence[float]],
    whole: Sequence[float],
    parts: Sequence[Sequence[float]] = (),
    confidence: float = CONFIDENCE,
    within: Range = REAL,
) -> Interval:
    """Long-run mean of a quantity with its interval, from replicates that are measured in batches of equal time.

    Replicates of one path share what the path does to all of them (a sawtooth in phase, the end of a start-up), so
    their spread alone would make the interval too narrow. The variance of the mean is that of two crossed random
    effects (Searle, Casella and McCulloch 1992, section 4.3): MS_seeds + MS_time - MS_rest, over the number of values;
    its degrees of freedom are Satterthwaite's (1946). Changes that last longer than a batch appear between ``parts``:
    their component of the variance, with one degree of freedom less than there are parts, widens the interval, and the
    squares of both half-widths add up.

    Args:
        batches: for each replicate its values in the batches.
        whole: for each replicate its value over the whole time, whose mean is the estimate.
        parts: for each replicate its values in longer parts of equal time, of which all but the first are the whole.
        confidence: probability that the interval contains the long-run mean.
        within: range of the quantity.

    Raises:
        ValueError: there are no values, a value is not a number, or the replicates have different numbers of batches.
    """
    found = interval(whole, confidence=confidence, within=within)
    if not found.known:
        return found
    seeds = len(whole)
    error, freedom = float(np.std(np.asarray(whole), ddof=1)) / math.sqrt(seeds), float(seeds - 1)
    table = np.asarray(batches, dtype=np.float64)
    # Means over batches differ slightly from the value over the whole time; the latter is what is reported.
    squares = _squares(table + (np.asarray(whole) - table.mean(axis=1))[:, None]) if _is_table(table) else None
    if squares is not None and squares.time > squares.rest:
        times = table.shape[1]
        terms = [(squares.seeds, seeds - 1), (squares.time, times - 1)]
        terms += [(-squares.rest, (seeds - 1) * (times - 1))] if squares.seeds > squares.rest else []
        variance = sum(square for square, _ in terms)
        freedom = variance**2 / sum(square**2 / count for square, count in terms)
        error = math.sqrt(variance / table.size)
    reach = _quantile(confidence, freedom) * error
    longer = np.asarray(parts, dtype=np.float64)
    if _is_table(longer):
        between = _squares(longer)
        times = longer.shape[1]
        component = max(0.0, between.time - between.rest) / seeds
        reach = math.hypot(reach, _quantile(confidence, times - 1) * math.sqrt(component / (times - 1)))
    return Interval(found.value, *_bounded(found.value, reach, within))


class _Squares(NamedTuple):
    """Mean squares of a table of replicates (rows) and times (columns)."""

    seeds: float
    time: float
    rest: float


def _is_table(values: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    return values.ndim == 2 and min(values.shape) >= 2 and bool(np.all(np.isfinite(values)))


def _squares(table: np.ndarray[Any, np.dtype[np.float64]]) -> _Squares:
    seeds, times = table.shape
    by_seed, by_time, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    rest = table - by_seed[:, None] - by_time[None, :] + mean
    return _Squares(
        times * float(np.sum((by_seed - mean) ** 2)) / (seeds - 1),
        seeds * float(np.sum((by_time - mean) ** 2)) / (times - 1),
        float(np.sum(rest**2)) / ((seeds - 1) * (times - 1)),
    )


def paired_difference(values: Sequence[float], reference: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Mean of value - reference over pairs of runs of the same seed, with its interval by the paired t test; there is
    no interval if all differences are equal.

    Raises:
        ValueError: the numbers of values and references differ or are 0, or a difference is not a number.
    """
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    found = interval(differences, confidence=confidence)
    if found.known and _all_equal(differences, max(map(abs, [*values, *reference]))):
        return _without(found.value, _ALL_EQUAL.format(len(differences)))
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of several tests at once, in the order of the input (Holm 1979).

    The k-th smallest of n is multiplied by n - k + 1, and no value is smaller than the value before it, or larger than
    1. Differences with an adjusted value of at most 0.05 have a family-wise error of 5 %.

    Raises:
        ValueError: a value is not between 0 and 1.
    """
    values = [float(value) for value in p_values]
    if not all(0 <= value <= 1 for value in values):
        raise ValueError("a p-value is not between 0 and 1")
    adjusted = [0.0] * len(values)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[at]))
        adjusted[at] = largest
    return adjusted


def over_seeds(
    name: str,
    runs: Sequence[Run],
    *,
    statistic: Literal["mean", "median"] = "mean",
    confidence: float = CONFIDENCE,
    reference: Sequence[Run] | None = None,
    **options: Any,
) -> Interval | dict[str, Interval]:
    """A metric over replicates with its interval; for a ``flow`` metric one interval for each flow.

    ``options`` are the metric's options, such as ``window``, ``flows`` and ``link``. A metric that compares runs takes
    one ``reference`` for each run, preferably of the same seed.

    Raises:
        MetricError: there is no such metric, or it is not defined for one of the runs.
        ValueError: there are no runs, not as many references as runs, or a value is not a number.
    """
    if reference is None:
        values = [get(name)(run, **options) for run in runs]
    else:
        pairs = zip(runs, reference, strict=True)
        values = [get(name)(run, reference=other, **options) for run, other in pairs]

    def of(sample: Sequence[float]) -> Interval:
        return interval(sample, statistic=statistic, confidence=confidence).cut(get(name).within)

    if values and isinstance(values[0], dict):
        return {flow: of([value[flow] for value in values]) for flow in values[0]}
    return of(values)


def paired_p_value(values: Sequence[float], reference: Sequence[float]) -> float:
    """Probability of a mean difference at least as large as the measured one if the true difference is zero: two-sided
    paired t test.

    The probability is 1 for one pair or if all differences are zero, and 0 if all differences are equal and not zero.

    Raises:
        ValueError: the numbers of values and references differ.
    """
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    if len(differences) < 2 or not any(differences):
        return 1.0
    if _all_equal(differences, max(map(abs, [*values, *reference]))):
        return 0.0
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)
