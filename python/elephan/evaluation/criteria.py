"""Criteria, as data.

A criterion names a metric, a subject, conditions, and the relation that must hold under them
(:mod:`elephan.evaluation.relations`). A :class:`Measurer`, which the paper or suite provides, measures the subjects;
:mod:`elephan.evaluation.judging` judges all criteria alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.judging import Assessment
from elephan.evaluation.measurement import Measurement
from elephan.evaluation.relations import RELATIONS, Terms
from elephan.evaluation.wording import figure_text, quantity_of, spread, where_text
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import Name, Text, parsed


class CriterionError(ValueError):
    """A criterion is stated in a form that cannot be judged; the message names the field."""


def number(value: Any) -> float:
    """A finite number.

    Raises:
        ScenarioError: the value is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{value!r} is not a number")
    if not math.isfinite(value):
        raise ScenarioError(f"{value} is not a number that a value can be held to")
    return float(value)


def _margin(value: Any) -> float:
    found = number(value)
    if found < 0:
        raise ScenarioError(f"{found:g} is below 0")
    return found


Number = Annotated[float, parsed(number)]
Margin = Annotated[float, parsed(_margin)]


class Criterion(BaseModel):
    """One testable statement about runs: what all criteria state. Suites and papers add fields of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: Name = Field(description="unique", examples=["harm-goodput"])
    section: Text = Field(description="of the document", examples=["5.2.1"])
    text: Text = Field(description="the requirement in one sentence")
    experiment: Name = Field(description="its experiment")
    metric: Name = Field(description="name of a metric", examples=["utilization"])
    relation: str = Field(description="comparison of the value with the limit")
    limit: Number | None = Field(None, description="expected value or bound; the relation determines the meaning")
    tol_abs: Margin | None = Field(None, description="slack of the limit, in the unit of the values")
    tol_rel: Margin | None = Field(None, description="slack of the limit, as a fraction of it")

    @property
    def stated(self) -> tuple[float | str, ...]:
        """The range, values, subjects or parameter of the relation."""
        return ()

    @property
    def terms(self) -> Terms:
        """The numbers of the criterion, for its relation."""
        return Terms(self.limit or 0.0, self.tol_abs, self.tol_rel, self.stated)


class SubjectCriterion(Criterion):
    """A criterion about named subjects under conditions.

    Attributes:
        document: source of the criterion.
        subject: the subject that is measured.
        values: range, allowed values, subjects or parameter; the relation determines the meaning.
        other: subjects to compare with, under ``other_conditions`` or else under ``conditions``.
        conditions: the conditions of the measurement.
        quantity: the measured quantity in words, if the name of the metric does not say it.
    """

    document: str
    subject: str
    limit: Number
    values: tuple[float | str, ...] = ()
    other: tuple[str, ...] = ()
    conditions: Where | None = None
    other_conditions: Where | None = None
    quantity: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """The other subjects in words; one that is measured under other conditions is named with them."""
        if self.other_conditions is None:
            return self.other
        own = self.conditions or {}
        differing = {name: value for name, value in self.other_conditions.items() if own.get(name) != value}
        where = where_text(differing) or "without conditions"
        return tuple(f"{name} ({where})" if name == self.subject else name for name in self.other)

    @property
    def stated(self) -> tuple[float | str, ...]:
        """The values of the criterion."""
        return self.values

    @property
    def weak(self) -> bool:
        """True if the tolerance is wider than the limit, so that a pass is weak evidence.

        The rule does not apply to a limit of 0, since any tolerance is wider than 0.
        """
        limited = RELATIONS[self.relation].takes == "limit"
        return limited and self.limit != 0 and self.terms.slack(self.limit) > abs(self.limit)

    @property
    def expectation(self) -> str:
        """The values that the criterion allows, in a few words."""
        quantity = quantity_of(self.metric, self.quantity)
        return RELATIONS[self.relation].expectation(self.terms, quantity.name, self.others)

    def sentence(self, found: Assessment) -> str:
        """One sentence: what was measured with its unit, what it should be, and the compared values."""
        relation, quantity = RELATIONS[self.relation], quantity_of(self.metric, self.quantity)
        others, outcome = self.others, found.outcome
        of = relation.of.format(metric=quantity.name, subject=self.subject, others=" or ".join(others))
        measured = figure_text(outcome.measured, self.metric)
        if not relation.plain and math.isfinite(outcome.measured):
            measured = quantity.amount(outcome.measured)
        between = f" ({spread(found.found.low, found.found.high)} over seeds)" if found.found.known else ""
        where = where_text(self.conditions or {}, "at ", self.subject)
        missed = not outcome.passed and relation.distance and math.isfinite(outcome.margin) and outcome.margin != 0
        off = f", off by {quantity.amount(-outcome.margin)}" if missed else ""
        asked = relation.asked(self.terms, quantity.name, others)
        compared = f"; {found.detail}" if found.detail else ""
        return f"{of} {measured}{between}{f' {where}' if where else ''}, {asked}{off}{compared}"


def check(criterion: SubjectCriterion) -> None:
    """Reject a criterion that lacks a value for its relation.

    Raises:
        CriterionError: a value is missing, or there is no such relation.
    """
    name = criterion.relation
    known = RELATIONS.get(name)
    if known is None:
        raise CriterionError(f"relation: '{name}' is not one of {', '.join(RELATIONS)}")
    if known.takes == "other" and not criterion.other:
        raise CriterionError(f"other: missing; '{name}' compares with something")
    if known.takes not in ("limit", "other") and not criterion.values:
        raise CriterionError(f"values: missing; '{name}' needs them")
    if known.takes == "rank" and criterion.subject not in criterion.values:
        raise CriterionError(f"subject: '{criterion.subject}' is not among values")
    if known.takes == "range" and len(criterion.values) != 2:
        raise CriterionError("values: a range has two ends")


_Stated = TypeVar("_Stated", bound=SubjectCriterion, contravariant=True)


class Measurer(Protocol[_Stated]):
    """Interface that measures the subjects of criteria."""

    def measure(self, metric: str, subject: str, where: Where, criterion: _Stated, /) -> Measurement:
        """Measurement of a metric for a subject under conditions.

        Raises:
            NotJudgedError: the metric was not measured, or cannot be measured.
        """
        ...

    def points(self, parameter: str, criterion: _Stated, /) -> Sequence[Value]:
        """The points along a parameter, if the criterion does not list them.

        Raises:
            NotJudgedError: there are none.
        """
        ...
