"""Criteria, as data.

A criterion names a metric, a subject, conditions, and the relation that must hold under them
(:mod:`elephan.evaluation.relations`). A :class:`Measurer`, which the paper or suite provides, measures the subjects;
:mod:`elephan.evaluation.judging` judges all criteria alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.measurement import Measurement
from elephan.evaluation.relations import RELATIONS, Terms


class CriterionError(ValueError):
    """A criterion is stated in a form that cannot be judged; the message names the field."""


@checked(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Criterion:
    """One testable statement about runs.

    Attributes:
        id: unique.
        document: source of the criterion.
        section: section in the document.
        text: the statement, paraphrased in a few words.
        experiment: id of the criterion's experiment.
        metric: name of the measured metric, in the metric registry or of the measurer.
        subject: the subject that is measured.
        relation: a name in :data:`~elephan.evaluation.relations.RELATIONS`.
        limit: expected value, bound or smallest margin, in the metric's unit.
        tol_abs: absolute slack; tol_rel: slack as a fraction of the reference.
        values: range, allowed values, subjects or parameter; the relation determines the meaning.
        other: subjects to compare with, under ``other_conditions`` or else under ``conditions``.
        conditions: the conditions of the measurement.
    """

    id: str
    document: str
    section: str
    text: str
    experiment: str
    metric: str
    subject: str
    relation: str
    limit: float
    tol_abs: float | None = None
    tol_rel: float | None = None
    values: tuple[float | str, ...] = ()
    other: tuple[str, ...] = ()
    conditions: Where | None = None
    other_conditions: Where | None = None

    @property
    def terms(self) -> Terms:
        """The numbers of the criterion, for its relation."""
        return Terms(self.limit, self.tol_abs, self.tol_rel, self.values)

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
        return RELATIONS[self.relation].expectation(self.terms, self.metric, self.other)


def check(criterion: Criterion) -> None:
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


_Stated = TypeVar("_Stated", bound=Criterion, contravariant=True)


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
