"""Verdicts on the requirements of a document, by their force, and the numbers of seeds at which they are judged.

A requirement that the judge (:mod:`elephan.evaluation.judging`) finds open gets no verdict yet. Adding replicates
until there is one would eventually find a difference even if there is none. A criterion is therefore judged at 8, 16
and 32 seeds only (its *looks*), each at a confidence of 1 - 0.05/3, so that the probability that any of the three looks
errs is at most 5 % (Bonferroni). Nothing here depends on the runs from which the values come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from elephan.evaluation.judging import Question, Stand, assess
from elephan.evaluation.measurement import Measurement
from elephan.evaluation.relations import Allowed
from elephan.evaluation.wording import PLAIN, Quantity, number
from elephan.metrics.ranges import REAL, Range
from elephan.metrics.statistics import INFINITE, LOOK_CONFIDENCE, Interval, paired_difference

Force = Literal["must", "should", "consider"]
Verdict = Literal["pass", "concern", "fail", "not_settled", "not_judged"]
Change = Literal["better", "worse", "same", "not_settled"]
FORCED: dict[Force, str] = {"must": "must", "should": "should", "consider": "should ideally"}
"""The verb of a requirement, by its force."""
SAME = 0.02
"""Fraction of the baseline's value within which a difference counts as no difference, unless the criterion has a
margin."""


@dataclass(frozen=True)
class Judged:
    """The verdict of a criterion.

    Attributes:
        verdict: the verdict.
        found: the value with its interval.
        seeds: number of replicates at the look at which the procedure stopped.
        why: the reason, one clause.
        weak: reason why a pass is weak evidence, one clause; empty if the pass is not weak.
    """

    verdict: Verdict
    found: Interval
    seeds: int
    why: str
    weak: str = ""

    @property
    def settled(self) -> bool:
        """True if no more replicates are needed."""
        return self.verdict != "not_settled"

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the interval; the value itself without one."""
        return (self.found.low, self.found.high) if self.found.known else (self.found.value, self.found.value)


def judge(
    values: Sequence[float],
    limits: Allowed,
    *,
    force: Force = "must",
    margin: float = 0.0,
    statistic: Literal["mean", "median"] = "mean",
    within: Range = REAL,
    confidence: float = LOOK_CONFIDENCE,
    quantity: Quantity = PLAIN,
    where: str = "",
    weak: str = "",
) -> Judged:
    """Judge the values of one criterion, one for each seed; the reason names the quantity.

    A *should* or *consider* that is not met is a concern, and so is a *must* that is missed by at most ``margin``, in
    the unit of the values. Times that some seeds may not reach are judged by their median, since a mean with an
    infinite value has no interval. Equal values, whose interval would have zero width, are judged by that value.
    ``within`` is the range of the values, at whose ends their interval is cut; ``where`` is the place of the
    measurement in words, as in " at 40 ms"; ``weak`` is the reason why a pass would be weak evidence.

    Raises:
        ValueError: there are no values, or a value is not a number.
    """
    sample = Measurement(tuple(values), statistic=statistic, within=within)
    question = Question(lambda pick: limits.outcome(sample.value(pick)), [sample], limits)
    assessed = assess(question, confidence=confidence)
    found = assessed.found
    if found.known:
        ends, said = (found.low, found.high), quantity.ends(found.low, found.high)
    elif len(values) > 1 and found.reason != INFINITE:
        ends, said = (found.value, found.value), f"{quantity.amount(found.value)} ({found.reason})"
    else:
        return Judged("not_settled", found, len(values), found.reason, weak)
    verdict, but = _verdict(assessed.stand, ends, limits, force, margin, quantity)
    asked = f"{FORCED[force]} be {limits.said(quantity.bare)}"
    return Judged(
        verdict, found, len(values), f"{quantity.name} {said}{where}, {asked}{f'; {but}' if but else ''}", weak
    )


def _verdict(
    stand: Stand, ends: tuple[float, float], limits: Allowed, force: Force, margin: float, quantity: Quantity
) -> tuple[Verdict, str]:
    """The verdict, and what the interval and the limit do not say of its reason."""
    if stand == "holds":
        return "pass", ""
    if stand == "open":
        return "not_settled", "the interval contains the limit"
    if force != "must":
        return "concern", ""
    nearest, farthest = sorted(max(0.0, -limits.margin(end)) for end in ends)
    if farthest <= margin and margin > 0:
        return "concern", f"missed by no more than {quantity.amount(margin)}"
    if nearest > margin or margin == 0:
        return "fail", ""
    return "not_settled", f"missed, and the interval contains the margin of {quantity.amount(margin)}"


@dataclass(frozen=True)
class Compared:
    """Comparison of a value with the value of a baseline, over the same seeds.

    Attributes:
        change: the verdict.
        difference: mean of value - baseline with its interval by the paired t test.
        band: distance from 0 within which a difference counts as zero.
        seeds: number of pairs at the look at which the procedure stopped.
        why: the reason, one clause.
    """

    change: Change
    difference: Interval
    band: float
    seeds: int
    why: str

    @property
    def settled(self) -> bool:
        """True if no more replicates are needed."""
        return self.change != "not_settled"


def compare(
    values: Sequence[float],
    baseline: Sequence[float],
    *,
    better: Literal["higher", "lower"],
    margin: float | None = None,
    confidence: float = LOOK_CONFIDENCE,
    quantity: Quantity = PLAIN,
    than: str = "the baseline",
    where: str = "",
) -> Compared:
    """Compare the values of one criterion with the values of a baseline; both have one value for each seed, in the
    order of the seeds.

    *Same*: the whole interval of the difference lies within ``margin`` of 0. ``margin`` has the unit of the values; its
    default is 2 % of the baseline's mean. *Better* and *worse*: not *same*, and the interval does not contain 0. The
    reason has both means, the difference and its size.

    Raises:
        ValueError: the numbers of values and baselines differ or are 0, or a difference is not a number.
    """
    difference = paired_difference(values, baseline, confidence=confidence)
    band = SAME * abs(fmean(baseline)) if margin is None else margin
    seeds = len(values)
    if difference.known:
        low, high = difference.low, difference.high
    elif seeds > 1 and math.isfinite(difference.value):
        low = high = difference.value
    else:
        return Compared("not_settled", difference, band, seeds, difference.reason)
    mean, beside = fmean(values), fmean(baseline)
    share = f", {number(100 * (mean - beside) / abs(beside))} %" if beside and quantity.unit != "%" else ""
    unit = Quantity(quantity.name, "percentage points" if quantity.unit == "%" else quantity.unit, quantity.scale)
    said = (
        f"{quantity.name} {quantity.amount(mean)}{where}, against {quantity.amount(beside)} with {than} "
        f"(difference {unit.ends(low, high)}{share})"
    )
    if -band <= low and high <= band:
        return Compared("same", difference, band, seeds, f"{said}, within ± {unit.amount(band)}")
    if low <= 0 <= high:
        open_why = f"{said}; the difference contains 0 and is not within ± {unit.amount(band)}"
        return Compared("not_settled", difference, band, seeds, open_why)
    change: Change = "better" if (low > 0) == (better == "higher") else "worse"
    return Compared(change, difference, band, seeds, said)
