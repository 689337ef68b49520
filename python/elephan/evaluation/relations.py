"""Relations between a measured value and a criterion's value: rule and wording of each stand side by side, once.

The *slack* of a criterion is ``max(tol_abs, tol_rel * |reference|)``, or 0 if the criterion states neither tolerance.
The reference is the limit, or the other value in a comparison.

A relation about one value, or about its difference from another, states the values that it allows (:func:`allows`);
its outcome follows from them, for one number and for the ends of an interval alike. A relation between several values
judges them itself (:func:`judges`). An undefined number (NaN) is neither a pass nor a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.wording import PLAIN, Quantity, number, parameter

Takes = Literal["limit", "range", "values", "other", "rank", "subjects", "parameter"]
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


class Allowed(NamedTuple):
    """The values that a criterion allows.

    Attributes:
        low: smallest allowed value; minus infinity without a lower bound.
        high: largest allowed value; infinity without an upper bound.
        strict: true if the ends themselves are not allowed.
        around: middle of the range and distance of its ends, if the criterion states them.
    """

    low: float
    high: float
    strict: bool = False
    around: tuple[float, float] | None = None

    def margin(self, value: float) -> float:
        """Distance of a value from the nearest end; negative for a value that is not allowed."""
        if self.around is not None:
            # A value exactly at the stated distance holds, whichever way the ends are rounded.
            return self.around[1] - abs(value - self.around[0])
        above = math.inf if self.low == -math.inf else value - self.low
        below = math.inf if self.high == math.inf else self.high - value
        return min(above, below)

    def holds(self, value: float) -> bool:
        """True if a value is allowed."""
        return self.margin(value) > 0 if self.strict else self.margin(value) >= 0

    def excludes(self, low: float, high: float) -> bool:
        """True if no value of an interval is allowed."""
        below, above = self.low - high, low - self.high
        return max(below, above) >= 0 if self.strict else max(below, above) > 0

    def outcome(self, value: float) -> Outcome:
        """The outcome of a criterion about one value.

        Raises:
            NotJudgedError: the value is not a number.
        """
        _defined(value)
        return Outcome(value, self.margin(value), self.holds(value))

    def said(self, quantity: Quantity = PLAIN) -> str:
        """The allowed values in words, as in "at most 20 %"."""
        if math.isinf(self.low):
            return f"{'less than' if self.strict else 'at most'} {quantity.amount(self.high)}"
        if math.isinf(self.high):
            return f"{'more than' if self.strict else 'at least'} {quantity.amount(self.low)}"
        return f"from {quantity.ends(self.low, self.high)}"


Judge = Callable[[Terms, Measured], Outcome]
AllowedBy = Callable[[Terms, float], Allowed]


@dataclass(frozen=True)
class Relation:
    """One kind of comparison.

    Attributes:
        name: name of the relation in criteria.
        words: the allowed values for a reader, with the places of :func:`expectation`.
        takes: fields of a criterion that have its numbers: ``limit``; ``range`` or ``values`` (both in ``values``);
            ``other``; the subjects in ``values`` (``rank`` if the criterion is about one of them); or a parameter.
        judge: function that compares.
        allowed: the values that it allows, given terms and reference; ``None`` for a relation of several values.
        of: the judged number, for a reader, with the places ``{metric}``, ``{subject}`` and ``{others}``.
        should: what the judged number should be, with ``{allowed}`` for ``words``.
        distance: true if the margin of a miss has the unit of the metric.
    """

    name: str
    words: str
    takes: Takes
    judge: Judge
    allowed: AllowedBy | None = None
    of: str = "{metric} of {subject}"
    should: str = "be {allowed}"
    distance: bool = True

    @property
    def plain(self) -> bool:
        """True if the judged number itself has no unit, such as a rank or a trend."""
        return not self.distance or self.takes == "parameter"

    @property
    def against_number(self) -> bool:
        """True if a measured value is compared with a stated number, and not with another measured value."""
        return self.takes in ("limit", "range")

    def expectation(self, terms: Terms, metric: str = "", others: Sequence[str] = (), words: str = "") -> str:
        """The values that a criterion allows, in a few words; ``words`` are other ones than those of the relation."""
        slack = [number(terms.tol_abs)] if terms.tol_abs else []
        slack += [f"{number(100 * terms.tol_rel)} %"] if terms.tol_rel else []
        values = [number(value) if isinstance(value, int | float) else value for value in terms.values]
        values = [parameter(value) for value in values] if self.takes == "parameter" else values
        limit = number(terms.limit)
        return (words or self.words).format(
            limit=limit, by=f" by {limit}" if terms.limit else "", slack=f" (± {' or '.join(slack)})" if slack else "",
            metric=metric, others=", ".join(others), first="".join(values[:1]), range=" to ".join(values),
            count=" to ".join(dict.fromkeys(values)), any=" or ".join(values), all=", ".join(values),
            falling=" > ".join(values),
            sign=f"positive, above {SIGN_FLOOR}" if values[:1] == ["+"] else f"negative, below −{SIGN_FLOOR}",
        )  # fmt: skip

    def asked(self, terms: Terms, metric: str = "", others: Sequence[str] = ()) -> str:
        """Requirement on the judged number, as the end of a sentence about it."""
        words = self.should.replace("{allowed}", self.words)
        return f"should {self.expectation(terms, metric, others, words)}"


RELATIONS: dict[str, Relation] = {}


def judges(
    name: str, words: str, takes: Takes, of: str = "{metric} of {subject}", should: str = "be {allowed}", *,
    distance: bool = True,
) -> Callable[[Judge], Judge]:  # fmt: skip
    """Register the decorated function, which compares several values, as the relation ``name``."""

    def register(judge: Judge) -> Judge:
        RELATIONS[name] = Relation(name, words, takes, judge, None, of, should, distance)
        return judge

    return register


def allows(
    name: str, words: str, takes: Takes = "limit", sign: float = 1.0, of: str = "{metric} of {subject}",
    should: str = "be {allowed}", *, distance: bool = True,
) -> Callable[[AllowedBy], AllowedBy]:  # fmt: skip
    """Register the decorated function, which states the allowed values, as the relation ``name``.

    In a relation to others, they are the allowed differences from each of the others, times ``sign``.
    """

    def register(allowed: AllowedBy) -> AllowedBy:
        def judge(terms: Terms, measured: Measured) -> Outcome:
            if takes != "other":
                return allowed(terms, terms.limit).outcome(measured.subject)
            return _worst([allowed(terms, o).outcome(sign * (measured.subject - o)) for _, o in measured.others])

        RELATIONS[name] = Relation(name, words, takes, judge, allowed, of, should, distance)
        return allowed

    return register


def _defined(*values: float) -> None:
    if any(math.isnan(value) for value in values):
        raise NotJudgedError("the measured value is not defined")


def _bound(measured: float, margin: float) -> Outcome:
    return Outcome(measured, margin, margin >= 0)


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    return min(outcomes, key=lambda outcome: (outcome.passed, outcome.margin))


@allows("approx", "{limit}{slack}")
@allows("identity", "{limit}{slack}")
def _approx(terms: Terms, reference: float) -> Allowed:
    """Requires |m - limit| <= slack; of an identity, m is the value of a formula."""
    slack = terms.slack(reference)
    return Allowed(terms.limit - slack, terms.limit + slack, around=(terms.limit, slack))


@allows(">=", "≥ {limit}{slack}")
def _at_least(terms: Terms, reference: float) -> Allowed:
    """Requires m >= limit - slack."""
    return Allowed(terms.limit - terms.slack(reference), math.inf)


@allows("<=", "≤ {limit}{slack}")
def _at_most(terms: Terms, reference: float) -> Allowed:
    """Requires m <= limit + slack."""
    return Allowed(-math.inf, terms.limit + terms.slack(reference))


@allows(">", "> {limit}{slack}")
def _more(terms: Terms, reference: float) -> Allowed:
    """Requires m > limit - slack."""
    return Allowed(terms.limit - terms.slack(reference), math.inf, strict=True)


@allows("<", "< {limit}{slack}")
def _less(terms: Terms, reference: float) -> Allowed:
    """Requires m < limit + slack."""
    return Allowed(-math.inf, terms.limit + terms.slack(reference), strict=True)


@allows("in_range", "{range}{slack}", "range")
@allows("count", "{count}", "range", distance=False)
def _in_range(terms: Terms, reference: float) -> Allowed:
    """Requires values[0] - slack <= m <= values[1] + slack."""
    low, high = terms.numbers()
    slack = terms.slack(reference)
    return Allowed(low - slack, high + slack)


@allows("sign", "{sign}", "values")
def _sign(terms: Terms, _reference: float) -> Allowed:
    """Requires the sign of values[0], and |m| > 0.02."""
    positive = {"+": True, "-": False}[str(terms.values[0])]
    return Allowed(SIGN_FLOOR, math.inf, strict=True) if positive else Allowed(-math.inf, -SIGN_FLOOR, strict=True)


@judges("member_of", "{metric} {any}", "values", distance=False)
def _member_of(terms: Terms, measured: Measured) -> Outcome:
    """Requires m to be one of values."""
    _defined(measured.subject)
    distance = min(abs(measured.subject - value) for value in terms.numbers())
    return _bound(measured.subject, -distance)


_BESIDE = "{metric} of {subject} minus that of {others}"
_ABOVE = "be above {limit}{slack}"


@allows("greater_than_other", "more than {others}{by}{slack}", "other", 1, _BESIDE, _ABOVE)
@allows("less_than_other", "less than {others}{by}{slack}", "other", -1,
        "{metric} of {others} minus that of {subject}", _ABOVE)  # fmt: skip
def _apart(terms: Terms, reference: float) -> Allowed:
    """Requires m - m(o) > limit - slack for every o; of less_than_other, m(o) - m."""
    return Allowed(terms.limit - terms.slack(reference), math.inf, strict=True)


@allows("approx_equal_other", "the same as {others}{by}{slack}", "other", 1, _BESIDE, "be 0{slack}")
def _alike(terms: Terms, reference: float) -> Allowed:
    """Requires |m - m(o)| <= slack for every o."""
    slack = terms.slack(reference)
    return Allowed(-slack, slack)


_RANK = "rank of {subject} by {metric}"


@judges("argmax", "the largest of {all}", "rank", _RANK, distance=False)
def _argmax(terms: Terms, measured: Measured) -> Outcome:
    """Requires the largest m of values for the subject; a tie within the slack counts."""
    return _extreme(terms, measured, 1.0)


@judges("argmin", "the smallest of {all}", "rank", _RANK, distance=False)
def _argmin(terms: Terms, measured: Measured) -> Outcome:
    """Requires the smallest m of values for the subject; a tie within the slack counts."""
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


@judges("ordering_desc", "{falling}", "subjects",
        "agreement (Kendall's tau) of {metric} with the order", distance=False)  # fmt: skip
def _ordering_desc(terms: Terms, measured: Measured) -> Outcome:
    """Requires Kendall's tau of m against the listed order >= limit - tol_abs."""
    levels = measured.levels()
    _defined(*levels)
    pairs = list(combinations(levels, 2))
    agreeing = sum((a > b) - (a < b) for a, b in pairs)
    tau = agreeing / len(pairs)
    return _bound(tau, tau - (terms.limit - (terms.tol_abs or 0.0)))


_TREND = "trend of {metric} of {subject} (1 if all steps rise, −1 if all fall)"


@judges("increasing_in", "rises along {first}{slack}", "parameter", _TREND, "rise along {first}{slack}")
def _increasing_in(terms: Terms, measured: Measured) -> Outcome:
    """Requires m not to fall along the parameter, up to the slack."""
    return _monotone(terms, measured, 1.0)


@judges("decreasing_in", "falls along {first}{slack}", "parameter", _TREND, "fall along {first}{slack}")
def _decreasing_in(terms: Terms, measured: Measured) -> Outcome:
    """Requires m not to rise along the parameter, up to the slack."""
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


@judges("constant_in", "constant along {first} within {limit}", "parameter", "relative spread of {metric} of {subject}",
        distance=False)  # fmt: skip
def _constant_in(terms: Terms, measured: Measured) -> Outcome:
    """Requires (max - min)/max of m along the parameter <= limit."""
    levels = measured.levels()
    if len(levels) < 2:
        raise NotJudgedError("fewer than two points along the parameter were measured")
    _defined(*levels)
    top = max(levels)
    if top == 0:
        raise NotJudgedError("the largest value along the parameter is 0")
    spread = (top - min(levels)) / top
    return _bound(spread, terms.limit - spread)
