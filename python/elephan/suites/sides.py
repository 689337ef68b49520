"""Comparison of one algorithm's evaluations on several backends: the cells in which the backends disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from elephan.evaluation.verdicts import SAME, Judged
from elephan.suites.result import Evaluation


@dataclass(frozen=True)
class Difference:
    """A cell in which backends disagree.

    Attributes:
        criterion: id of the criterion.
        section: section of the document.
        cell: name of the cell.
        judged: its verdict on each backend.
    """

    criterion: str
    section: str
    cell: str
    judged: tuple[Judged, ...]

    @property
    def opposed(self) -> bool:
        """True if settled verdicts differ; otherwise only the values differ."""
        return len({one.verdict for one in self.judged} - {"not_settled"}) > 1


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
            judged = [{one.case.cell.name: one.judged for one in outcome.cells if one.judged} for outcome in outcomes]
            for name in judged[0]:
                if all(name in of_backend for of_backend in judged):
                    of_cell = tuple(of_backend[name] for of_backend in judged)
                    found.append(Difference(criterion.id, criterion.section, name, of_cell))
        return found

    @cached_property
    def differences(self) -> list[Difference]:
        """Shared criteria whose settled verdicts differ, then shared criteria with disjoint intervals."""
        apart = [one for one in self.shared if one.opposed or _apart(one.judged)]
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
                        name: {"verdict": at.verdict, "value": at.found.value, "low": at.ends[0], "high": at.ends[1]}
                        for name, at in zip(self.backends, one.judged, strict=True)
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


def _apart(judged: Sequence[Judged]) -> bool:
    """True if two intervals are disjoint, and the values differ by more than the tolerance."""
    for one, other in combinations(judged, 2):
        gap = max(one.ends[0], other.ends[0]) - min(one.ends[1], other.ends[1])
        values = one.found.value, other.found.value
        if gap > 0 and abs(values[0] - values[1]) > SAME * max(map(abs, values)):
            return True
    return False
