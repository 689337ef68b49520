"""Criteria, as data.

A criterion names a metric, a subject, the conditions it holds under, and the relation it has to hold
(:mod:`elephan.evaluation.relations`). Measuring a subject is the business of the owner of the criteria (a
:class:`Measurer`); the judgment (:mod:`elephan.evaluation.judging`) is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.measurement import Measurement
from elephan.evaluation.relations import RELATIONS, Terms


class CriterionError(ValueError):
    """A criterion cannot be judged as it is stated; the message names the field."""


_WITH_LIMIT = ("approx", "identity", ">=", "<=", ">", "<")


@checked(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Criterion:
    """One statement that runs can be judged by.

    Attributes:
        id: unique.
        document: what it is taken from.
        section: where in the document.
        text: the statement in a few words of our own.
        experiment: id of the experiment that it is about.
        metric: what is measured; a name of the metric registry, or one that the measurer knows.
        subject: whom it is about.
        relation: a name in :data:`~elephan.evaluation.relations.RELATIONS`.
        limit: expected value, bound or smallest margin, in the metric's unit.
        tol_abs: absolute slack; tol_rel: slack as a fraction of the reference.
        values: range, allowed values, subjects or parameter, as the relation says.
        other: subjects to compare with, under ``other_conditions`` or else under ``conditions``.
        conditions: those that it holds under.
        force: how binding the document is.
        margin: in the metric's unit: a *must* that is missed by no more is a concern, and a difference from a baseline
            within it is none (:mod:`elephan.evaluation.verdicts`).
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
    force: Literal["must", "should", "consider"] = "must"
    margin: float | None = None

    @property
    def terms(self) -> Terms:
        """The numbers of the criterion, for its relation."""
        return Terms(self.limit, self.tol_abs, self.tol_rel, self.values)

    @property
    def weak(self) -> bool:
        """The tolerance is wider than the value that it is about: a pass says little.

        A limit of 0 has no width of its own, so the rule does not apply to it.
        """
        return self.relation in _WITH_LIMIT and self.limit != 0 and self.terms.slack(self.limit) > abs(self.limit)


_NEED_VALUES = ("in_range", "count", "sign", "member_of")


def check(criterion: Criterion) -> None:
    """Refuse a criterion that lacks what its relation needs.

    Raises:
        CriterionError: it does, or there is no such relation.
    """
    name = criterion.relation
    known = RELATIONS.get(name)
    if known is None:
        raise CriterionError(f"relation: '{name}' is not one of {', '.join(RELATIONS)}")
    if known.needs == "other" and not criterion.other:
        raise CriterionError(f"other: missing; '{name}' compares with something")
    if (known.needs in ("subjects", "parameter") or name in _NEED_VALUES) and not criterion.values:
        raise CriterionError(f"values: missing; '{name}' needs them")
    if name in ("argmax", "argmin") and criterion.subject not in criterion.values:
        raise CriterionError(f"subject: '{criterion.subject}' is not among values")
    if name in ("in_range", "count") and len(criterion.values) != 2:
        raise CriterionError("values: a range has two ends")


_Stated = TypeVar("_Stated", bound=Criterion, contravariant=True)


class Measurer(Protocol[_Stated]):
    """How the subjects of some kind of criteria are measured."""

    def measure(self, metric: str, subject: str, where: Where, criterion: _Stated, /) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: it was not, or cannot be, measured.
        """
        ...

    def points(self, parameter: str, criterion: _Stated, /) -> Sequence[Value]:
        """The points along a parameter, where the criterion does not list them.

        Raises:
            NotJudgedError: there are none.
        """
        ...
