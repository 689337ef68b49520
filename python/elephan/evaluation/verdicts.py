"""Verdicts from intervals over replicates, and the numbers of seeds at which criteria are judged.

A criterion holds if all values of the interval are allowed, and fails if no value of the interval is allowed. An
interval that contains the limit gives no verdict. Adding replicates until there is a verdict would eventually find a
difference even if there is no difference. A criterion is therefore judged at 8, 16 and 32 seeds only (its *looks*),
each at a confidence of 1 - 0.05/3. The probability that any of the three looks errs is at most 5 % (Bonferroni).

This module does arithmetic on values, one for each seed. The module does not depend on the runs from which the values
come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from elephan.evaluation.criteria import Criterion
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.relations import RELATIONS, SIGN_FLOOR, Measured, Terms
from elephan.evaluation.wording import PLAIN, Quantity, number
from elephan.metrics.statistics import INFINITE, LOOK_CONFIDENCE, LOOKS, Interval, interval, paired_difference

Force = Literal["must", "should", "consider"]
Verdict = Literal["pass", "concern", "fail", "not_settled", "not_judged"]
Change = Literal["better", "worse", "same", "not_settled"]
FORCED: dict[Force, str] = {"must": "must", "should": "should", "consider": "would best"}
"""The verb of a requirement, by its force."""
VERDICTS: tuple[Verdict, ...] = ("pass", "concern", "fail", "not_settled", "not_judged")
SAME = 0.02
"""Fraction of the baseline's value within which a difference counts as no difference, unless the criterion has a
margin."""


class Allowed(NamedTuple):
    """The values that a criterion allows.

    Attributes:
        low: smallest allowed value; minus infinity without a lower bound.
        high: largest allowed value; infinity without an upper bound.
        strict: true if the ends themselves are not allowed.
    """

    low: float
    high: float
    strict: bool = False

    def holds(self, value: float) -> bool:
        """True if a value is allowed."""
        return self.low < value < self.high if self.strict else self.low <= value <= self.high

    def said(self, quantity: Quantity) -> str:
        """The allowed values in words, as in "at most 20 %"."""
        if math.isinf(self.low):
            return f"{'less than' if self.strict else 'at most'} {quantity.amount(self.high)}"
        if math.isinf(self.high):
            return f"{'more than' if self.strict else 'at least'} {quantity.amount(self.low)}"
        return f"from {quantity.ends(self.low, self.high)}"

    def distance(self, value: float) -> float:
        """Distance of a value from the nearest allowed value; 0 for an allowed value."""
        return max(self.low - value, value - self.high, 0.0)


def allowed(relation: str, terms: Terms, reference: float = math.nan) -> Allowed:
    """The values that a relation allows for the measured value or, if the relation compares with another subject, for
    the difference of the measured value from ``reference``.

    Raises:
        NotJudgedError: the relation is not about a single value.
    """
    slack = terms.slack(terms.limit)
    if relation in ("approx", "identity"):
        return Allowed(terms.limit - slack, terms.limit + slack)
    if relation in (">=", ">"):
        return Allowed(terms.limit - slack, math.inf, strict=relation == ">")
    if relation in ("<=", "<"):
        return Allowed(-math.inf, terms.limit + slack, strict=relation == "<")
    if relation in ("in_range", "count"):
        low, high = terms.numbers()
        return Allowed(low - slack, high + slack)
    if relation == "sign":
        positive = terms.values[0] == "+"
        return Allowed(SIGN_FLOOR, math.inf, strict=True) if positive else Allowed(-math.inf, -SIGN_FLOOR, strict=True)
    beside = terms.slack(reference)
    if relation == "greater_than_other":
        return Allowed(terms.limit - beside, math.inf, strict=True)
    if relation == "less_than_other":
        return Allowed(-math.inf, beside - terms.limit, strict=True)
    if relation == "approx_equal_other":
        return Allowed(-beside, beside)
    raise NotJudgedError(f"the relation '{relation}' is not about one value, so that it has no interval")


HOLDS = Allowed(0.0, math.inf)
"""The allowed margins (:func:`margins`): a margin of 0 or more means that the criterion holds."""


def margins(relation: str, terms: Terms, measured: Iterable[Measured]) -> list[float]:
    """The margin of each seed, for relations between several values; the other relations have a range of allowed
    values.

    Raises:
        NotJudgedError: a value is not defined.
    """
    return [RELATIONS[relation].judge(terms, one).margin for one in measured]


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


def judge(
    values: Sequence[float],
    limits: Allowed,
    *,
    force: Force = "must",
    margin: float = 0.0,
    statistic: Literal["mean", "median"] = "mean",
    confidence: float = LOOK_CONFIDENCE,
    quantity: Quantity = PLAIN,
) -> Judged:
    """Judge the values of one criterion, one for each seed; the reason names the quantity.

    A *should* or *consider* that is not met is a concern, and so is a *must* that is missed by at most ``margin``, in
    the unit of the values. Times that some seeds may not reach are judged by their median, since a mean with an
    infinite value has no interval. Equal values, whose interval would have zero width, are judged by that value.

    Raises:
        ValueError: there are no values, or a value is not a number.
    """
    found = interval(values, statistic=statistic, confidence=confidence)
    if found.known:
        ends, said = (found.low, found.high), quantity.ends(found.low, found.high)
    elif len(values) > 1 and found.reason != INFINITE:
        ends, said = (found.value, found.value), f"{quantity.amount(found.value)} ({found.reason})"
    else:
        return Judged("not_settled", found, len(values), found.reason)
    verdict, but = _verdict(ends, limits, force, margin, quantity)
    asked = f"{FORCED[force]} be {limits.said(quantity.bare)}"
    return Judged(verdict, found, len(values), f"{quantity.name} {said}, {asked}{f'; {but}' if but else ''}")


def judge_criterion(criterion: Criterion, values: Sequence[float], other: Sequence[float] | None = None) -> Judged:
    """Judge a criterion by its subject's values and, if it compares two subjects, by the other subject's values for
    each seed.

    Raises:
        NotJudgedError: the relation is not about one value, or is about two values and ``other`` is missing.
        ValueError: there are no values, a value is not a number, or the other subject lacks a value for a seed.
    """
    reference, differences = math.nan, list(values)
    if RELATIONS[criterion.relation].needs == "other":
        if other is None:
            raise NotJudgedError(f"the relation '{criterion.relation}' compares with another subject")
        reference = fmean(other)
        differences = [value - beside for value, beside in zip(values, other, strict=True)]
    limits = allowed(criterion.relation, criterion.terms, reference)
    judged = judge(differences, limits, force=criterion.force, margin=criterion.margin or 0.0)
    about = criterion.limit if math.isnan(reference) else reference
    return weakened(judged, weakness(criterion.terms, about))


def _verdict(
    ends: tuple[float, float], limits: Allowed, force: Force, margin: float, quantity: Quantity
) -> tuple[Verdict, str]:
    """The verdict, and what the interval and the limit do not say of its reason."""
    low, high = ends
    if limits.holds(low) and limits.holds(high):
        return "pass", ""
    below, above = (high <= limits.low, low >= limits.high) if limits.strict else (high < limits.low, low > limits.high)
    if not (below or above):
        return "not_settled", "the interval contains the limit"
    if force != "must":
        return "concern", ""
    nearest, farthest = sorted(map(limits.distance, ends))
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
        f"{quantity.name} {quantity.amount(mean)} against {quantity.amount(beside)} with {than} "
        f"(difference {unit.ends(low, high)}{share})"
    )
    if -band <= low and high <= band:
        return Compared("same", difference, band, seeds, f"{said}, within ± {unit.amount(band)}")
    if low <= 0 <= high:
        open_why = f"{said}; the difference contains 0 and is not within ± {unit.amount(band)}"
        return Compared("not_settled", difference, band, seeds, open_why)
    change: Change = "better" if (low > 0) == (better == "higher") else "worse"
    return Compared(change, difference, band, seeds, said)


class _Look(Protocol):
    @property
    def settled(self) -> bool: ...


_Found = TypeVar("_Found", bound=_Look)


@dataclass(frozen=True)
class Stopped(Generic[_Found]):
    """Result of judging at increasing numbers of seeds (looks).

    Attributes:
        found: result of the last look.
        looks: number of looks.
    """

    found: _Found
    looks: int


def settle(look: Callable[[int], _Found], looks: Sequence[int] = LOOKS) -> Stopped[_Found]:
    """Judge at 8, 16 and 32 seeds, and stop at the first settled look.

    Args:
        look: function that judges or compares with a number of seeds, after making the missing runs.
        looks: numbers of seeds, ascending. Each look must have the confidence that the number of looks requires.
    """
    taken = 0
    for seeds in looks:
        found = look(seeds)
        taken += 1
        if found.settled:
            break
    return Stopped(found, taken)


def weakness(terms: Terms, reference: float, *, baseline: Judged | None = None) -> str:
    """Reason why a pass of the criterion would be weak evidence; empty if the pass would not be weak.

    A tolerance around 0 is itself a limit, so a pass is not weak although the tolerance is wider than 0.

    Args:
        terms: terms of the criterion.
        reference: value to which the tolerance applies: the limit, or the baseline's value.
        baseline: the baseline's own verdict.
    """
    slack = terms.slack(reference)
    if slack > abs(reference) > 0:
        return f"its tolerance of {number(slack)} is wider than the value that it judges, {number(reference)}"
    if baseline is not None and baseline.verdict in ("concern", "fail"):
        return "the baseline does not meet its limit either"
    return ""


def weakened(judged: Judged, why: str) -> Judged:
    """The same verdict, marked as weak if there is a reason for a weak pass."""
    return replace(judged, weak=why)


def totals(judged: Iterable[Judged]) -> dict[str, int]:
    """Criteria by verdict; a weak pass counts as ``weak`` and not as ``pass``."""
    counts: dict[str, int] = {**dict.fromkeys(VERDICTS, 0), "weak": 0}
    for one in judged:
        counts["weak" if one.weak and one.verdict == "pass" else one.verdict] += 1
    return counts
