"""Relations between a measured value and a criterion's value, each defined once.

The *slack* of a criterion is ``max(tol_abs, tol_rel * |reference|)``, or 0 if the criterion states neither tolerance.
The reference is the limit, or the other value in a comparison.

Each relation turns measured values into an :class:`Outcome`: the number to compare with the limit, and the margin by
which the criterion holds. An undefined number (NaN) is neither a pass nor a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

from elephan.evaluation.measurement import NotJudgedError

Needs = Literal["subject", "other", "subjects", "parameter"]
SIGN_FLOOR = 0.02
"""Smallest absolute value at which an asymmetry counts as positive or negative."""


@dataclass(frozen=True)
class Terms:
    """The numbers of a criterion, without its subject.

    Attributes:
        limit: expected value, bound, or smallest margin.
        tol_abs: absolute slack, in the metric's unit.
        tol_rel: slack as a fraction of the reference.
        values: range, allowed values, or subjects; the relation determines the meaning.
    """

    limit: float
    tol_abs: float | None = None
    tol_rel: float | None = None
    values: tuple[float | str, ...] = ()

    def slack(self, reference: float) -> float:
        """The slack for ``reference``."""
        scaled = 0.0 if self.tol_rel is None else self.tol_rel * abs(reference)
        return max(self.tol_abs or 0.0, scaled)

    def numbers(self) -> list[float]:
        """``values`` as numbers."""
        return [float(value) for value in self.values]


@dataclass(frozen=True)
class Measured:
    """The measured values for a relation.

    Attributes:
        subject: value of the criterion's subject.
        others: values with which the subject's value is compared, by name.
        series: values along a parameter or of the listed subjects, in order, by name.
        position: position of the subject in ``series``.
    """

    subject: float = math.nan
    others: tuple[tuple[str, float], ...] = ()
    series: tuple[tuple[str, float], ...] = ()
    position: int = 0

    def levels(self) -> list[float]:
        """The values of the series."""
        return [value for _, value in self.series]


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison.

    Attributes:
        measured: number to compare with the limit.
        margin: distance from the bounds of the allowed range; negative outside it.
        passed: true if the criterion holds.
    """

    measured: float
    margin: float
    passed: bool


@dataclass(frozen=True)
class Relation:
    """One kind of comparison.

    Attributes:
        name: name of the relation in criteria.
        rule: condition of a pass, in words.
        needs: measurements that it needs.
        judge: function that compares.
    """

    name: str
    rule: str
    needs: Needs
    judge: Callable[[Terms, Measured], Outcome]


RELATIONS: dict[str, Relation] = {}
Judge = Callable[[Terms, Measured], Outcome]


def relation(name: str, rule: str, needs: Needs = "subject") -> Callable[[Judge], Judge]:
    """Register the decorated function as the relation ``name``."""

    def register(judge: Judge) -> Judge:
        RELATIONS[name] = Relation(name, rule, needs, judge)
        return judge

    return register


def _defined(*values: float) -> None:
    if any(math.isnan(value) for value in values):
        raise NotJudgedError("the measured value is not defined")


def _bound(measured: float, margin: float, *, strict: bool = False) -> Outcome:
    return Outcome(measured, margin, margin > 0 if strict else margin >= 0)


@relation("approx", "|m - limit| <= slack")
@relation("identity", "|m - limit| <= slack, where m is a formula's value")
def _approx(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    return _bound(measured.subject, terms.slack(terms.limit) - abs(measured.subject - terms.limit))


@relation(">=", "m >= limit - slack")
def _at_least(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    return _bound(measured.subject, measured.subject - (terms.limit - terms.slack(terms.limit)))


@relation("<=", "m <= limit + slack")
def _at_most(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    return _bound(measured.subject, (terms.limit + terms.slack(terms.limit)) - measured.subject)


@relation(">", "m > limit - slack")
def _more(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    return _bound(measured.subject, measured.subject - (terms.limit - terms.slack(terms.limit)), strict=True)


@relation("<", "m < limit + slack")
def _less(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    return _bound(measured.subject, (terms.limit + terms.slack(terms.limit)) - measured.subject, strict=True)


@relation("in_range", "values[0] - slack <= m <= values[1] + slack")
@relation("count", "m is a count, values[0] <= m <= values[1]")
def _in_range(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    low, high = terms.numbers()
    slack = terms.slack(terms.limit)
    return _bound(measured.subject, min(measured.subject - (low - slack), (high + slack) - measured.subject))


@relation("sign", "m has the sign of values[0], and |m| > 0.02")
def _sign(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    wanted = {"+": 1.0, "-": -1.0}[str(terms.values[0])]
    return _bound(measured.subject, wanted * measured.subject - SIGN_FLOOR, strict=True)


@relation("member_of", "m is one of values")
def _member_of(terms: Terms, measured: Measured) -> Outcome:
    _defined(measured.subject)
    distance = min(abs(measured.subject - value) for value in terms.numbers())
    return _bound(measured.subject, -distance)


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    return min(outcomes, key=lambda outcome: (outcome.passed, outcome.margin))


@relation("greater_than_other", "m - m(o) > limit - slack for every o", "other")
def _greater_than_other(terms: Terms, measured: Measured) -> Outcome:
    found = []
    for _, other in measured.others:
        margin = measured.subject - other
        _defined(margin)
        found.append(_bound(margin, margin - (terms.limit - terms.slack(other)), strict=True))
    return _worst(found)


@relation("less_than_other", "m(o) - m > limit - slack for every o", "other")
def _less_than_other(terms: Terms, measured: Measured) -> Outcome:
    found = []
    for _, other in measured.others:
        margin = other - measured.subject
        _defined(margin)
        found.append(_bound(margin, margin - (terms.limit - terms.slack(other)), strict=True))
    return _worst(found)


@relation("approx_equal_other", "|m - m(o)| <= slack for every o", "other")
def _approx_equal_other(terms: Terms, measured: Measured) -> Outcome:
    found = []
    for _, other in measured.others:
        difference = measured.subject - other
        _defined(difference)
        found.append(_bound(difference, terms.slack(other) - abs(difference)))
    return _worst(found)


@relation("argmax", "the subject has the largest m of values; a tie within the slack counts", "subjects")
def _argmax(terms: Terms, measured: Measured) -> Outcome:
    return _extreme(terms, measured, 1.0)


@relation("argmin", "the subject has the smallest m of values; a tie within the slack counts", "subjects")
def _argmin(terms: Terms, measured: Measured) -> Outcome:
    return _extreme(terms, measured, -1.0)


def _extreme(terms: Terms, measured: Measured, direction: float) -> Outcome:
    """``measured`` is the subject's rank among the values, 1 for the most extreme.

    A subject does not pass if all values are infinite.
    """
    levels = [direction * level for level in measured.levels()]
    _defined(*levels)
    own = levels[measured.position]
    rivals = [level for position, level in enumerate(levels) if position != measured.position]
    rank = 1.0 + sum(level > own + terms.slack(level) for level in rivals)
    if math.isinf(own) and max(rivals) == own:
        return Outcome(float(len(levels)), -math.inf, passed=False)
    best = max(rivals)
    return _bound(rank, own - (best - terms.slack(best)))


@relation("ordering_desc", "Kendall's tau of m against the listed order >= limit - tol_abs", "subjects")
def _ordering_desc(terms: Terms, measured: Measured) -> Outcome:
    levels = measured.levels()
    _defined(*levels)
    pairs = list(combinations(levels, 2))
    agreeing = sum((a > b) - (a < b) for a, b in pairs)
    tau = agreeing / len(pairs)
    return _bound(tau, tau - (terms.limit - (terms.tol_abs or 0.0)))


@relation("increasing_in", "m does not fall along the parameter, up to the slack", "parameter")
def _increasing_in(terms: Terms, measured: Measured) -> Outcome:
    return _monotone(terms, measured, 1.0)


@relation("decreasing_in", "m does not rise along the parameter, up to the slack", "parameter")
def _decreasing_in(terms: Terms, measured: Measured) -> Outcome:
    return _monotone(terms, measured, -1.0)


def _monotone(terms: Terms, measured: Measured, direction: float) -> Outcome:
    """The outcome's ``measured`` is direction × (2 f - 1), where f is the fraction of the steps that go in the
    direction."""
    levels = measured.levels()
    if len(levels) < 2:
        raise NotJudgedError("fewer than two points along the parameter were measured")
    steps = [direction * (after - before) + terms.slack(before) for before, after in pairwise(levels)]
    _defined(*steps)
    agreeing = sum(step >= 0 for step in steps) / len(steps)
    return _bound(direction * (2 * agreeing - 1), min(steps))


@relation("constant_in", "(max - min)/max of m along the parameter <= limit", "parameter")
def _constant_in(terms: Terms, measured: Measured) -> Outcome:
    levels = measured.levels()
    if len(levels) < 2:
        raise NotJudgedError("fewer than two points along the parameter were measured")
    _defined(*levels)
    top = max(levels)
    if top == 0:
        raise NotJudgedError("the largest value along the parameter is 0")
    spread = (top - min(levels)) / top
    return _bound(spread, terms.limit - spread)
