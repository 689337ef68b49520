"""Comparison of criteria with measurements. Every outcome is computed; none is entered by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Generic, TypeVar

from elephan.evaluation.conditions import Value, Where, aggregation, points_of
from elephan.evaluation.criteria import Measurer, SubjectCriterion
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.relations import RELATIONS, Measured, Outcome
from elephan.evaluation.wording import figure_text, number, quantity_of, spread
from elephan.metrics.statistics import CONFIDENCE, Pick, bootstrap

_TAIL = (1 - CONFIDENCE) / 2
_Stated = TypeVar("_Stated", bound=SubjectCriterion)


@dataclass(frozen=True)
class Assessment:
    """A criterion compared with the measurements.

    Attributes:
        passed: true if the criterion holds.
        measured: measured value in the unit of the criterion's limit; infinite for a time that was not reached.
        margin: distance from the bounds of the allowed range; negative outside it.
        low: lower end of the bootstrap interval over seeds; ``None`` without an interval.
        high: upper end.
        no_interval: reason for a missing interval, in one clause; empty if there is one.
        support: fraction of the bootstrap draws in which the criterion holds; ``None`` without replicates.
        detail: the compared values.
        runs: ids of the measured runs.
    """

    passed: bool
    measured: float
    margin: float
    low: float | None = None
    high: float | None = None
    no_interval: str = ""
    support: float | None = None
    detail: str = ""
    runs: tuple[str, ...] = ()


def within_noise(support: float | None) -> bool:
    """True if the outcome could differ with other seeds, given the fraction of bootstrap draws in which the criterion
    holds."""
    return support is not None and _TAIL < support < 1 - _TAIL


def assess(criterion: _Stated, measurer: Measurer[_Stated], *, intervals: bool = True) -> Assessment:
    """Measure the subjects of a criterion, and compare the values.

    Without ``intervals`` only outcomes and values are computed, which is fast.

    Raises:
        NotJudgedError: a subject was not measured, or cannot be measured.
    """
    question = _Question(criterion, measurer)
    outcome = question.outcome()
    found, support = _noise(question) if intervals else (None, None)
    low, high, reason = _interval(found, question.replicates()) if intervals else (None, None, "")
    return Assessment(
        outcome.passed,
        outcome.measured,
        outcome.margin,
        low=low,
        high=high,
        no_interval=reason,
        support=support,
        detail=question.detail(),
        runs=question.runs(),
    )


def sentence(criterion: SubjectCriterion, found: Assessment) -> str:
    """One sentence: what was measured with its unit, what it should be, and the compared values."""
    relation, quantity = RELATIONS[criterion.relation], quantity_of(criterion.metric)
    # A count, a rank or a correlation has not the unit of the metric.
    unit = quantity.unit if relation.distance else ""
    of = relation.of.format(metric=quantity.name, subject=criterion.subject, others=" or ".join(criterion.other))
    measured = f"{figure_text(found.measured, criterion.metric)} {unit}".rstrip()
    between = spread(found.low, found.high)
    over_seeds = f" ({between} over seeds)" if between else ""
    stated = {name: _shown(value) for name, value in (criterion.conditions or {}).items()}
    # The subject's own name has some conditions already, as "a>b" has both flows.
    said = [f"{name.replace('_', ' ')} {value}" for name, value in stated.items() if value not in criterion.subject]
    where = f" at {', '.join(said)}" if said else ""
    missed = not found.passed and relation.distance and math.isfinite(found.margin) and found.margin != 0
    off = f", off by {number(-found.margin)}" if missed else ""
    compared = f"; {found.detail}" if found.detail else ""
    return f"{of} {measured}{over_seeds}{where}, should be {criterion.expectation}{off}{compared}"


def _shown(value: Value) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _interval(found: tuple[float, float] | None, seeds: int) -> tuple[float | None, float | None, str]:
    """Both ends of the interval, or the reason for a missing interval; an interval of zero width counts as missing."""
    if found is None:
        return None, None, "one seed" if seeds < 2 else "not a number in any draw"
    if found[0] == found[1]:
        return None, None, f"zero width: the same in 95 % of the draws from {seeds} seeds"
    return *found, ""


def _noise(question: _Question[Any]) -> tuple[tuple[float, float] | None, float | None]:
    """Interval over seeds of the measured value, and fraction of the bootstrap draws in which the criterion holds."""
    held: list[bool] = []
    known: dict[tuple[int, ...], Outcome] = {}
    sizes = frozenset[int]().union(*(measurement.sizes for measurement in question.everything()))

    def draw(pick: Pick) -> float:
        if len(sizes) != 1:
            outcome = question.outcome(pick)
        else:
            # If all inputs have the same number of seeds, draws of the same seeds in another order have the same
            # medians.
            (size,) = sizes
            seeds = tuple(sorted(int(share * size) for share in pick[:size]))
            if seeds not in known:
                known[seeds] = question.outcome(pick)
            outcome = known[seeds]
        held.append(outcome.passed)
        return outcome.measured

    found = bootstrap(draw, question.replicates())
    return found, fmean(held) if held else None


class _Question(Generic[_Stated]):
    """All measurements for one criterion, which are evaluated for each bootstrap draw."""

    def __init__(self, criterion: _Stated, measurer: Measurer[_Stated]) -> None:
        self.criterion = criterion
        self.measurer = measurer
        where = criterion.conditions or {}
        several = aggregation(where, self._points)
        at_each = several is not None and several.how == "each"
        self.cases = [self._terms_of(case) for case in (several.wheres if several and at_each else (where,))]

    def _points(self, parameter: str) -> Sequence[Value]:
        return self.measurer.points(parameter, self.criterion)

    def _terms_of(self, where: Where) -> _Case:
        criterion = self.criterion
        takes = RELATIONS[criterion.relation].takes
        if takes in ("subjects", "rank"):
            names = [str(value) for value in criterion.values]
            return _Case(series=[(name, self._measure(name, where)) for name in names])
        if takes == "parameter":
            parameter = str(criterion.values[0])
            points = points_of(parameter, self._points, str(where.get(parameter, "")))
            along = [(point, {**where, parameter: point}) for point in points]
            return _Case(series=[(str(point), self._measure(criterion.subject, at)) for point, at in along])
        case = _Case(subject=self._measure(criterion.subject, where))
        if takes == "other":
            # For the other subjects, the values of ``other_conditions`` replace the conditions of the same name.
            beside = where if criterion.other_conditions is None else self._other_where(where)
            case.others = [(name, self._measure(name, beside)) for name in criterion.other]
        return case

    def _other_where(self, where: Where) -> Where:
        stated = dict(self.criterion.other_conditions or {})
        point = {key: value for key, value in where.items() if key in stated and _asks_each(stated[key])}
        return {**stated, **point}

    def _measure(self, subject: str, where: Where) -> Measurement:
        criterion = self.criterion
        several = aggregation(where, self._points)
        if several is None:
            return self.measurer.measure(criterion.metric, subject, where, criterion)
        parts = [self.measurer.measure(criterion.metric, subject, at, criterion) for at in several.wheres]
        if several.how == "each":
            raise NotJudgedError("its comparison asks for each point, and its subject does not")
        combine = {"mean": fmean, "max": max, "min": min}[several.how]
        return combined(parts, partial(_apply, combine))

    def outcome(self, pick: Pick | None = None) -> Outcome:
        """The outcome of the criterion; with several cases, the outcome of the case with the smallest margin."""
        rule = RELATIONS[self.criterion.relation].judge
        outcomes = [rule(self.criterion.terms, case.measured(self.criterion, pick)) for case in self.cases]
        return min(outcomes, key=lambda outcome: (outcome.passed, outcome.margin))

    def everything(self) -> list[Measurement]:
        """All measurements."""
        return [measurement for case in self.cases for measurement in case.everything()]

    def replicates(self) -> int:
        """The largest number of seeds of any measurement."""
        return max(measurement.replicates for measurement in self.everything())

    def runs(self) -> tuple[str, ...]:
        """Ids of the runs of all measurements, without duplicates."""
        found: dict[str, None] = {}
        for measurement in self.everything():
            found.update(dict.fromkeys(measurement.run_ids))
        return tuple(found)

    def detail(self) -> str:
        """The compared values by name, with the measurements' details."""
        parts = []
        for case in self.cases:
            named = list(case.series)
            if case.others and case.subject:
                named = [(self.criterion.subject, case.subject), *case.others]
            parts += [f"{name} {figure_text(item.value(), self.criterion.metric)}" for name, item in named]
            parts += [item.detail for item in case.everything() if item.detail]
        return ", ".join(dict.fromkeys(parts))


def _asks_each(value: Value) -> bool:
    return isinstance(value, str) and value.startswith("each")


def _apply(combine: Any, values: Sequence[float]) -> float:
    return float(combine(values))


class _Case:
    """The measurements under one condition."""

    def __init__(self, subject: Measurement | None = None, series: list[tuple[str, Measurement]] | None = None) -> None:
        self.subject = subject
        self.series = series or []
        self.others: list[tuple[str, Measurement]] = []

    def measured(self, criterion: SubjectCriterion, pick: Pick | None) -> Measured:
        """Numbers for the relation."""
        names = [name for name, _ in self.series]
        return Measured(
            subject=self.subject.value(pick) if self.subject else math.nan,
            others=tuple((name, item.value(pick)) for name, item in self.others),
            series=tuple((name, item.value(pick)) for name, item in self.series),
            position=names.index(criterion.subject) if criterion.subject in names else 0,
        )

    def everything(self) -> list[Measurement]:
        """All measurements of the case."""
        own = [self.subject] if self.subject else []
        return [*own, *(item for _, item in self.others), *(item for _, item in self.series)]
