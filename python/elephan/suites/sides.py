"""Comparison of one algorithm's evaluations on several backends: the cells in which the backends disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from elephan.evaluation.verdicts import SAME, Verdict
from elephan.suites.result import Evaluation
from elephan.suites.schedule import Found


@dataclass(frozen=True)
class Value:
    """A cell on one backend.

    Attributes:
        verdict: verdict of the cell.
        value: value over seeds.
        low, high: ends of the interval; the value itself without an interval.
    """

    verdict: Verdict
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """A cell in which backends disagree.

    Attributes:
        criterion: id of the criterion.
        section: section of the document.
        cell: name of the cell.
        values: a value for each backend.
    """

    criterion: str
    section: str
    cell: str
    values: tuple[Value, ...]

    @property
    def opposed(self) -> bool:
        """True if settled verdicts differ; otherwise only the values differ."""
        return len({value.verdict for value in self.values} - {"not_settled"}) > 1


@dataclass(frozen=True)
class Sides:
    """The evaluations of one algorithm on several backends, side by side.

    Attributes:
        algorithm: the algorithm's label.
        evaluations: one for each backend.
    """

    algorithm: str
    evaluations: tuple[Evaluation, ...]

    @property
    def backends(self) -> list[str]:
        """Names of the backends, in the order of the user."""
        return [one.on for one in self.evaluations]

    @cached_property
    def shared(self) -> list[Difference]:
        """Comparison of each cell that all backends have judged."""
        found = []
        for outcomes in zip(*(one.outcomes for one in self.evaluations), strict=True):
            criterion = outcomes[0].criterion
            for cells in zip(*(outcome.cells for outcome in outcomes), strict=True):
                values = tuple(value for value in map(_value, cells) if value is not None)
                if len(values) == len(cells):
                    found.append(Difference(criterion.id, criterion.section, cells[0].case.cell.name, values))
        return found

    @cached_property
    def differences(self) -> list[Difference]:
        """Shared criteria whose settled verdicts differ, then shared criteria with disjoint intervals."""
        apart = [one for one in self.shared if one.opposed or _apart(one.values)]
        return sorted(apart, key=lambda one: not one.opposed)

    @cached_property
    def missing(self) -> dict[str, list[str]]:
        """For each backend, the criteria that the backend could not judge in any cell."""
        return {
            one.on: [outcome.criterion.id for outcome in one.outcomes if outcome.verdict == "not_judged"]
            for one in self.evaluations
        }

    def to_json(self) -> dict[str, Any]:
        """The comparison for ``--json``."""
        return {
            "algorithm": self.algorithm, "backends": self.backends, "cells": len(self.shared),
            "differences": [
                {
                    "criterion": one.criterion, "section": one.section, "cell": one.cell,
                    "verdicts_differ": one.opposed,
                    "backends": {
                        name: {"verdict": v.verdict, "value": v.value, "low": v.low, "high": v.high}
                        for name, v in zip(self.backends, one.values, strict=True)
                    },
                }
                for one in self.differences
            ],
            "not_judged": self.missing,
        }  # fmt: skip


def sides(found: Sequence[Evaluation]) -> list[Sides]:
    """Evaluations that differ only in the backend, side by side; empty for one backend."""
    by_algorithm: dict[str, list[Evaluation]] = {}
    for one in found:
        by_algorithm.setdefault(one.subject.label, []).append(one)
    return [Sides(label, tuple(row)) for label, row in by_algorithm.items() if len(row) > 1]


def _value(cell: Found) -> Value | None:
    if cell.judged is None:
        return None
    found = cell.judged.found
    low, high = (found.low, found.high) if found.known else (found.value, found.value)
    return Value(cell.judged.verdict, found.value, low, high)


def _apart(values: Sequence[Value]) -> bool:
    """True if two intervals are disjoint, and the values differ by more than the tolerance."""
    for i, one in enumerate(values):
        for other in values[i + 1 :]:
            gap = max(one.low, other.low) - min(one.high, other.high)
            if gap > 0 and abs(one.value - other.value) > SAME * max(abs(one.value), abs(other.value)):
                return True
    return False
