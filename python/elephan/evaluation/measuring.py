"""Measurement of the subjects of criteria by a table of rules, in which a suite states the metrics and runs.

A rule measures one metric that criteria name. Functions of this module build most rules:

- :func:`of` measures a registered metric of the subject's run.
- :func:`over` combines the measurements of one rule under several conditions.
- :func:`both` combines two rules of one subject.
- :func:`rank` ranks a subject among several subjects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.criteria import CriterionError, Measurer, SubjectCriterion
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.metrics.registry import find
from elephan.scenario import Scenario

Window = tuple[float, float]
Combine = Callable[[list[float]], float]
_T = TypeVar("_T", bool, int, float, str)


@dataclass(frozen=True)
class At:
    """The conditions under which a subject is measured.

    Attributes:
        where: conditions of the criterion, perhaps changed by a rule.
        criterion: the criterion.
    """

    where: Where
    criterion: Any

    @property
    def experiment(self) -> str:
        """Name of the experiment, without the name of the suite."""
        return str(self.where.get("experiment", self.criterion.experiment)).partition(".")[2]

    def get(self, key: str, default: _T) -> _T:
        """The value of a condition, converted to the type of ``default``; if the condition is not stated, the result is
        ``default``."""
        return type(default)(self.where.get(key, default))

    def but(self, **changed: Value) -> At:
        """A copy with changed conditions."""
        return replace(self, where={**self.where, **changed})


def _no_scenario(setup: Any, subject: str, at: At) -> Scenario:
    raise NotJudgedError("nothing is run for it")


@dataclass(frozen=True)
class Suite:
    """The measurements of a suite in the runs of one setup.

    Attributes:
        runs: finished runs.
        setup: the suite's own setup.
        table: the rule of each metric that criteria name, if it is more than a registered metric of the subject's run.
        scenario: function that gives the scenario of a subject under conditions.
        keys: known conditions; ``None`` for any.
        along: the points along each parameter, for criteria that do not list points.
        factors: for each metric, the factor by which values are multiplied in a scaled-down setup.
    """

    runs: Evidence
    setup: Any
    table: Mapping[str, Rule]
    scenario: Callable[[Any, str, At], Scenario] = _no_scenario
    keys: Collection[str] | None = None
    along: Callable[[Any], Mapping[str, Sequence[Value]]] = lambda criterion: {}
    factors: Mapping[str, float] = field(default_factory=dict)

    def points(self, parameter: str, criterion: SubjectCriterion) -> Sequence[Value]:
        """The points along a parameter.

        Raises:
            NotJudgedError: there are none.
        """
        found = self.along(criterion).get(parameter)
        if found is None:
            raise NotJudgedError(f"the paper has no points along {parameter}")
        return found

    def measure(self, metric: str, subject: str, where: Where, criterion: SubjectCriterion) -> Measurement:
        """Measurement of a metric for a subject under conditions.

        Raises:
            NotJudgedError: the runs of the subject are missing.
            CriterionError: there is no rule for the metric, and it is not one number of a run.
        """
        if self.keys is not None and (unknown := set(where).difference(self.keys)):
            raise CriterionError(f"{criterion.id}: where: {', '.join(sorted(unknown))} is not understood")
        return self._rule(metric, criterion)(self, subject, At(where, criterion))

    def _rule(self, metric: str, criterion: SubjectCriterion) -> Rule:
        """The rule of the table, or the registered metric of the subject's run if it is one number."""
        if metric in self.table:
            return self.table[metric]
        known = find(metric)
        if known is None or known.scope == "flow":
            raise CriterionError(f"{criterion.id}: metric: '{metric}' is not measured here")
        return of(metric)

    def values(
        self, scenario: Scenario, metric: str, flow: str | None = None, window: Window | None = None,
        then: Callable[[float], float] = float, **options: Any,
    ) -> Measurement:  # fmt: skip
        """A registered metric of a scenario's runs (:meth:`Evidence.values`) in the unit of the paper; ``then`` is
        applied to each value.

        Raises:
            NotJudgedError: the scenario was not run, or the metric is not defined for a run.
        """
        found, factor = self.runs.values(scenario, metric, flow, window, **options), self.factors.get(metric, 1.0)
        return replace(found, sample=tuple(float(then(factor * value)) for value in found.sample))

    def each(self, scenario: Scenario, measure: Callable[[int], float]) -> Measurement:
        """One value for each seed, by the position of its run."""
        runs = self.runs.of(scenario)
        return Measurement(tuple(measure(i) for i in range(len(runs))), runs=tuple(run.id for run in runs))


Rule = Callable[[Suite, str, At], Measurement]
"""Measures one metric, given the suite, a subject and the conditions."""
Cases = Callable[[Suite, At], Iterable[At]]
"""Returns the conditions under which a rule measures; the rule combines these measurements."""


@dataclass(frozen=True)
class Chosen:
    """Several measurers, one of which is chosen by the criterion and its conditions.

    Attributes:
        choose: the function that chooses.
    """

    choose: Callable[[Where, Any], Measurer[Any]]

    def points(self, parameter: str, criterion: Any) -> Sequence[Value]:
        """The points along a parameter, from the chosen measurer; see :meth:`Suite.points`."""
        return self.choose(criterion.conditions or {}, criterion).points(parameter, criterion)

    def measure(self, metric: str, subject: str, where: Where, criterion: Any) -> Measurement:
        """The measurement by the chosen measurer; see :meth:`Suite.measure`."""
        return self.choose(where, criterion).measure(metric, subject, where, criterion)


def of(
    metric: str, flow: str | None = None, window: Window | Callable[[At], Window] | None = None, **options: Any
) -> Rule:
    """A registered metric of the subject's run; ``{}`` in the names of flows stands for the subject."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        named = None if flow is None else flow.format(subject)
        stated: dict[str, Any] = {
            key: tuple(name.format(subject) for name in value) if key == "flows" else value
            for key, value in options.items()
        }
        when = window(at) if callable(window) else window
        return suite.values(suite.scenario(suite.setup, subject, at), metric, named, when, **stated)

    return rule


def over(rule: Rule, cases: Cases, combine: Combine, detail: str = "") -> Rule:
    """A rule that combines measurements under several conditions; the number of conditions replaces ``{}`` in
    ``detail``. With one condition, the result is the rule itself."""

    def combining(suite: Suite, subject: str, at: At) -> Measurement:
        parts = [rule(suite, subject, case) for case in cases(suite, at)]
        return parts[0] if len(parts) == 1 else combined(parts, combine, detail.format(len(parts)))

    return combining


def along(parameter: str, points: Iterable[Value]) -> Cases:
    """Copies of the conditions, one for each value of a parameter; for :func:`over`."""
    listed = tuple(points)
    return lambda suite, at: [at.but(**{parameter: point}) for point in listed]


def both(one: Rule, other: Rule, combine: Combine) -> Rule:
    """A rule that combines the measurements of two rules of the same subject."""
    return lambda suite, subject, at: combined([one(suite, subject, at), other(suite, subject, at)], combine)


def rank(rule: Rule, subjects: Sequence[str]) -> Rule:
    """A rule that gives the rank of the subject among several subjects, 1 for the largest value."""

    def ranking(suite: Suite, subject: str, at: At) -> Measurement:
        position = subjects.index(subject)
        everyone = [rule(suite, name, at) for name in subjects]
        return combined(everyone, lambda values: 1.0 + sum(value > values[position] for value in values))

    return ranking


def stated(number: float | Callable[[Suite, str, At], float], detail: str = "") -> Rule:
    """A constant, which needs no runs."""
    return lambda suite, subject, at: constant(
        float(number(suite, subject, at) if callable(number) else number), detail
    )


def under(rule: Rule, of_subject: str = "", **changed: Value) -> Rule:
    """The rule with some conditions replaced, and with the subject ``of_subject`` if it is not empty."""
    return lambda suite, subject, at: rule(suite, of_subject or subject, at.but(**changed))


def count(
    parts: Mapping[str, Measurement], holds: Callable[[float], bool], *, most: float = math.inf, none: str = ""
) -> Measurement:
    """Number of measurements that satisfy a condition, with their names if there are at most ``most``."""
    counted = [name for name, part in parts.items() if holds(part.value())]
    detail = (", ".join(counted) or none) if len(counted) <= most else ""
    return combined(parts.values(), lambda values: float(sum(map(holds, values))), detail)


def difference(values: Sequence[float]) -> float:
    """The first value minus the second."""
    return values[0] - values[1]


def ratio(values: Sequence[float]) -> float:
    """The first value divided by the second."""
    return values[0] / values[1]


def reach(values: Sequence[float]) -> float:
    """The largest value minus the smallest."""
    return max(values) - min(values)
