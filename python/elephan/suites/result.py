"""`Evaluation`: the verdicts on one algorithm by one suite, for each criterion and each section."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from elephan.evaluation.verdicts import FORCED, Change, Compared, Verdict
from elephan.evaluation.wording import Quantity, spoken
from elephan.report.gauges import Gauge
from elephan.suites.cases import quantity
from elephan.suites.drawn import Curve, TradeOff
from elephan.suites.schedule import Found
from elephan.suites.schema import CriterionTable, ObligationTable
from elephan.suites.suite import Subject, Suite, criteria_of

WORST: tuple[Verdict, ...] = ("fail", "concern", "not_settled", "pass", "not_judged")
"""Verdicts from the most to the least decisive."""
WORST_MUST: tuple[Verdict, ...] = ("fail", "not_settled", "concern", "pass", "not_judged")
"""The order for a *must*: an unsettled cell may still fail, so it precedes a cell of concern."""
WORST_CHANGE: tuple[Change, ...] = ("worse", "not_settled", "better", "same")


@dataclass(frozen=True)
class Outcome:
    """One criterion over all of its cells.

    Attributes:
        criterion: the judged criterion.
        cells: the verdicts of its cells, in the order of the suite.
    """

    criterion: CriterionTable
    cells: tuple[Found, ...]

    @cached_property
    def verdict(self) -> Verdict:
        """The worst verdict of the cells; a criterion with missing cells does not pass."""
        if self.worst is None:
            return "not_settled" if any(cell.left_out for cell in self.cells) else "not_judged"
        found: Verdict = self.worst.judged.verdict if self.worst.judged is not None else "not_judged"
        missing = any(cell.judged is None for cell in self.cells)
        passable = ("pass", "concern") if self.criterion.force == "must" else ("pass",)
        return "not_settled" if missing and found in passable else found

    @cached_property
    def worst(self) -> Found | None:
        """The deciding cell: the one with the worst verdict, and among several such cells, the cell farthest from the
        limit."""
        judged = [cell for cell in self.cells if cell.judged is not None]
        return min(judged, key=self._rank, default=None)

    def _rank(self, cell: Found) -> tuple[int, float]:
        assert cell.judged is not None
        inside = self.criterion.allowed.margin(cell.judged.found.value)
        order = WORST_MUST if self.criterion.force == "must" else WORST
        return order.index(cell.judged.verdict), inside if not math.isnan(inside) else -math.inf

    @cached_property
    def weak(self) -> str:
        """The reason why a pass is weak; empty if the pass is not weak."""
        return "" if self.worst is None or self.worst.judged is None else self.worst.judged.weak

    @property
    def comparison(self) -> Change | None:
        """The worst change of the cells from the baseline; ``None`` without a baseline."""
        found = [cell.compared.change for cell in self.cells if cell.compared is not None]
        return min(found, key=WORST_CHANGE.index) if found else None

    @property
    def runs(self) -> list[str]:
        """Ids of the criterion's runs; the runs of the deciding cell come first."""
        first = [] if self.worst is None else list(self.worst.runs)
        return list(dict.fromkeys([*first, *(run for cell in self.cells for run in cell.runs)]))

    @property
    def why(self) -> str:
        """One clause about the deciding cell, and the number of cells."""
        missing = [cell for cell in self.cells if cell.judged is None]
        if self.worst is None or self.worst.judged is None:
            return missing[0].why if missing else "no cell"
        said = self.worst.judged.why
        if len(self.cells) > 1:
            same = sum(cell.judged is not None and cell.judged.verdict == self.verdict for cell in self.cells)
            said += f" ({same} of {len(self.cells)} cells: {spoken(self.verdict)})"
        if missing:
            reasons = dict.fromkeys(cell.why for cell in missing)
            said += f"; {len(missing)} of {len(self.cells)} cells without a verdict: {'; '.join(reasons)}"
        return said

    @property
    def changed(self) -> str:
        """One clause about the deciding change from the baseline, with its size; empty without one."""
        change = self.comparison
        if change not in ("better", "worse"):
            return ""
        return f"{change}: {self.compared}"

    @property
    def compared(self) -> str:
        """One clause about the cell with the largest difference among those that decide, and their number; empty
        without a baseline."""
        change = self.comparison
        cells = [cell.compared for cell in self.cells if cell.compared is not None and cell.compared.change == change]
        if not cells:
            return ""
        assert change is not None
        more = f" ({len(cells)} of {len(self.cells)} cells: {spoken(change)})" if len(self.cells) > 1 else ""
        return f"{max(cells, key=_relative).why}{more}"

    @property
    def said(self) -> str:
        """The deciding cell and the deciding change, as one clause each."""
        return "; ".join(filter(None, (self.why, self.changed)))

    @cached_property
    def quantity(self) -> Quantity:
        """The judged quantity in words, with its unit."""
        return quantity(self.criterion)

    @property
    def limit_text(self) -> str:
        """The requirement in a few words, as in "should be at most 20 %"."""
        return self._required(self.quantity)

    @property
    def required(self) -> str:
        """The requirement beside a value that has the unit."""
        return self._required(self.quantity.bare)

    def _required(self, quantity: Quantity) -> str:
        return f"{FORCED[self.criterion.force]} be {self.criterion.allowed.said(quantity)}"

    @property
    def gauge(self) -> Gauge | None:
        """The value of the deciding cell beside the allowed range, as a picture; ``None`` without a value."""
        found = None if self.worst is None or self.worst.judged is None else self.worst.judged.found
        if found is None or not math.isfinite(found.value):
            return None
        low, high = (found.low, found.high) if found.known else (math.nan, math.nan)
        allowed = self.criterion.allowed
        return Gauge(found.value, low, high, allowed.low, allowed.high, f"{self.quantity.name}: {self.why}")

    def to_json(self) -> dict[str, Any]:
        """The criterion in the form that ``--json`` prints."""
        criterion, worst = self.criterion, self.worst
        found = None if worst is None or worst.judged is None else worst.judged.found
        return {
            "id": criterion.id, "section": criterion.section, "force": criterion.force, "text": criterion.text,
            "experiment": criterion.experiment, "metric": criterion.metric,
            "quantity": self.quantity.name, "unit": self.quantity.unit, "scale": self.quantity.scale,
            "value": None, "low": None, "high": None, **({} if found is None else {"value": found.value, **found.ends}),
            "relation": criterion.relation, "limit": list(criterion.range or ()) or criterion.limit,
            "reason": criterion.reason, "verdict": self.verdict, "why": self.said, "weak": bool(self.weak),
            "comparison": self.comparison, "evidence": self.runs, "cells": [_cell_json(cell) for cell in self.cells],
        }  # fmt: skip


def _relative(compared: Compared) -> float:
    """Size of a change in units of the band within which it would count as none."""
    if compared.band == 0:
        return math.inf if compared.difference.value else 0.0
    return abs(compared.difference.value) / compared.band


def _cell_json(cell: Found) -> dict[str, Any]:
    judged, compared = cell.judged, cell.compared
    row: dict[str, Any] = {"cell": cell.case.cell.name, "verdict": "not_judged", "why": cell.why}
    if cell.left_out:
        row["verdict"] = "not_settled"
    if judged is not None:
        row |= {"verdict": judged.verdict, "value": judged.found.value, "seeds": judged.seeds, **judged.found.ends}
    if compared is not None:
        difference = compared.difference
        row["comparison"] = {
            "change": compared.change, "difference": difference.value, "why": compared.why, **difference.ends,
        }  # fmt: skip
    return row


def outcomes(suite: Suite, found: Sequence[Found]) -> tuple[Outcome, ...]:
    """Outcomes of all criteria from the verdicts of cells."""
    by_id = {criterion.id: [one for one in found if one.case.id == criterion.id] for criterion in suite.table.criterion}
    return tuple(Outcome(criterion, tuple(by_id[criterion.id])) for criterion in criteria_of(suite))


@dataclass(frozen=True)
class Section:
    """One section of the document, a line of the result.

    Attributes:
        name: name of the document.
        title: title of the section.
        outcomes: outcomes of the section's criteria.
        obligations: requirements of the section that are not judged.
    """

    name: str
    title: str
    outcomes: tuple[Outcome, ...]
    obligations: tuple[ObligationTable, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the section's criteria."""
        return min((outcome.verdict for outcome in self.outcomes), key=WORST.index, default="not_judged")

    @property
    def comparison(self) -> Change | None:
        """The worst change of the section's criteria."""
        found = [outcome.comparison for outcome in self.outcomes if outcome.comparison is not None]
        return min(found, key=WORST_CHANGE.index) if found else None

    def row(self, *, against: bool) -> list[str]:
        """The line of a table: name, title, verdict, the comparison if there is a baseline, and the reason."""
        compared = [spoken(self.comparison or "–")] if against else []
        return [self.name, self.title, spoken(self.verdict), *compared, self.why]

    @property
    def why(self) -> str:
        """One clause about the deciding criterion, or the reason why nothing was judged."""
        worst = min(self.outcomes, key=lambda outcome: WORST.index(outcome.verdict), default=None)
        if worst is None:
            return "; ".join(obligation.reason for obligation in self.obligations)
        said = f"{worst.criterion.id}: {worst.said}"
        changed = next((one for one in self.outcomes if one.comparison == self.comparison), worst)
        if changed is worst or not changed.changed:
            return said
        return f"{said}; {changed.criterion.id} {changed.changed}"


@dataclass(frozen=True)
class Evaluation:
    """The verdicts of one algorithm by one suite.

    Attributes:
        suite: the suite.
        subject: the algorithm.
        against: the algorithm with which it was compared.
        quick: true for a quick evaluation.
        on: the backend.
        outcomes: the criteria in the order of the sections.
        notes: notes for the reader.
        wall_seconds: wall time of all algorithms together.
        manifests: manifests of all runs.
        trade_offs: trade-offs of goodput and delay of the suite.
       curves: curves of the suite.
    """

    suite: Suite
    subject: Subject
    against: Subject | None
    quick: bool
    on: str
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    wall_seconds: float
    manifests: Sequence[Mapping[str, Any]]
    trade_offs: tuple[TradeOff, ...] = ()
    curves: tuple[Curve, ...] = ()

    @property
    def name(self) -> str:
        """The algorithm, and the backend if it is not the simulator."""
        return self.subject.label if self.on == "sim" else f"{self.subject.label} on {self.on}"

    @cached_property
    def sections(self) -> list[Section]:
        """The sections in the order of the suite."""
        return [
            Section(
                name, title,
                tuple(outcome for outcome in self.outcomes if outcome.criterion.section == name),
                tuple(row for row in self.suite.table.obligation if row.section == name),
            )
            for name, title in self.suite.sections.items()
        ]  # fmt: skip

    @cached_property
    def totals(self) -> dict[str, int]:
        """Criteria by verdict, obligations among them; a weak pass counts as ``weak``."""
        counts = dict.fromkeys(("pass", "concern", "fail", "not_settled", "not_judged", "weak"), 0)
        for outcome in self.outcomes:
            counts["weak" if outcome.weak and outcome.verdict == "pass" else outcome.verdict] += 1
        counts["not_judged"] += len(self.suite.table.obligation)
        return counts

    def outcome(self, criterion: str) -> Outcome:
        """The outcome of a criterion.

        Raises:
            KeyError: no criterion has this id.
        """
        return {outcome.criterion.id: outcome for outcome in self.outcomes}[criterion]

    def reaches(self, level: str) -> bool:
        """True if a verdict is as bad as ``concern`` or ``fail``, or a comparison is ``worse``."""
        if level == "worse":
            return any(outcome.comparison == "worse" for outcome in self.outcomes)
        bad = ("fail", "concern") if level == "concern" else ("fail",)
        return any(outcome.verdict in bad for outcome in self.outcomes)

    @property
    def programs(self) -> list[Subject]:
        """The judged program and the one with which it was compared; empty if algorithms are judged."""
        subjects = [self.subject, *([self.against] if self.against is not None else [])]
        return [subject for subject in subjects if subject.program is not None]

    @property
    def run_seconds(self) -> float:
        """Sum of the recorded wall times of the runs."""
        return math.fsum(float(manifest.get("wall_seconds") or 0.0) for manifest in self.manifests)
