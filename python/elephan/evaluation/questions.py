"""The measurements that a criterion about subjects asks for, under each of its conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, Generic, TypeVar

from elephan.evaluation.conditions import Value, Where, aggregation, points_of
from elephan.evaluation.criteria import Measurer, SubjectCriterion
from elephan.evaluation.judging import Question
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.relations import RELATIONS, Measured, Outcome
from elephan.evaluation.wording import figure_text, text_of
from elephan.metrics.statistics import Pick

_Stated = TypeVar("_Stated", bound=SubjectCriterion)
_COMBINED = {"mean": fmean, "max": max, "min": min}


def question(criterion: _Stated, measurer: Measurer[_Stated]) -> Question:
    """Measure the subjects of a criterion.

    Raises:
        NotJudgedError: a subject was not measured, or cannot be measured.
    """
    asked = _Asked(criterion, measurer)
    cases, rule = asked.cases(), RELATIONS[criterion.relation].judge

    def outcome(pick: Pick | None) -> Outcome:
        outcomes = [rule(criterion.terms, case.measured(criterion.subject, pick)) for case in cases]
        return min(outcomes, key=lambda one: (one.passed, one.margin))

    return Question(outcome, [one for case in cases for one in case.everything()], detail=_detail(criterion, cases))


@dataclass
class _Case:
    """The measurements under one condition."""

    subject: Measurement | None = None
    series: list[tuple[str, Measurement]] = field(default_factory=list)
    others: list[tuple[str, Measurement]] = field(default_factory=list)

    def measured(self, subject: str, pick: Pick | None) -> Measured:
        """Numbers for the relation."""
        names = [name for name, _ in self.series]
        return Measured(
            subject=self.subject.value(pick) if self.subject else math.nan,
            others=tuple((name, item.value(pick)) for name, item in self.others),
            series=tuple((name, item.value(pick)) for name, item in self.series),
            position=names.index(subject) if subject in names else 0,
        )

    def everything(self) -> list[Measurement]:
        """All measurements of the case."""
        own = [self.subject] if self.subject else []
        return [*own, *(item for _, item in self.others), *(item for _, item in self.series)]


@dataclass(frozen=True)
class _Asked(Generic[_Stated]):
    """Measures what a criterion asks for."""

    criterion: _Stated
    measurer: Measurer[_Stated]

    def cases(self) -> list[_Case]:
        """One case, or one for each condition under which the criterion must hold."""
        where = self.criterion.conditions or {}
        several = aggregation(where, self._points)
        each = several is not None and several.how == "each"
        return [self._case(at) for at in (several.wheres if several is not None and each else (where,))]

    def _points(self, parameter: str) -> Sequence[Value]:
        return self.measurer.points(parameter, self.criterion)

    def _case(self, where: Where) -> _Case:
        criterion = self.criterion
        takes = RELATIONS[criterion.relation].takes
        if takes in ("subjects", "rank"):
            names = [str(value) for value in criterion.values]
            return _Case(series=[(name, self._measure(name, where)) for name in names])
        if takes == "parameter":
            parameter = str(criterion.values[0])
            points = points_of(parameter, self._points, str(where.get(parameter, "")))
            along = [(point, {**where, parameter: point}) for point in points]
            return _Case(series=[(text_of(point), self._measure(criterion.subject, at)) for point, at in along])
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
        return combined(parts, partial(_apply, _COMBINED[several.how]))


def _asks_each(value: Value) -> bool:
    return isinstance(value, str) and value.startswith("each")


def _apply(combine: Any, values: Sequence[float]) -> float:
    return float(combine(values))


def _detail(criterion: SubjectCriterion, cases: Sequence[_Case]) -> str:
    """The compared values by name, with the measurements' details."""
    parts = []
    for case in cases:
        named = list(case.series)
        if case.others and case.subject:
            shown = zip(criterion.others, case.others, strict=True)
            named = [(criterion.subject, case.subject), *((name, item) for name, (_, item) in shown)]
        parts += [f"{name} {figure_text(item.value(), criterion.metric)}" for name, item in named]
        parts += [item.detail for item in case.everything() if item.detail]
    return ", ".join(dict.fromkeys(parts))
