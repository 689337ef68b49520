"""Data of a report's column for real Linux: the plan of the runs, their outcomes, and the claims judged by these
runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elephan.evaluation.kernel_runs import KernelRuns, Outcome, StandIns
from elephan.papers.judging import Judgment, totals
from elephan.papers.paper import Paper

_SHOWN = ("verdict", "measured", "measured_text")


@dataclass(frozen=True)
class KernelPlan(KernelRuns):
    """Kernel runs of a paper, or of a selection of its experiments.

    Attributes:
        paper: the paper.
        selection: the selection in words; empty for the whole paper.
    """

    paper: Paper
    selection: str


@dataclass
class KernelColumn:
    """The column of a paper's report.

    Attributes:
        plan: the plan of the kernel's runs.
        outcomes: one for each planned run.
        judgments: judgments of all claims of the selection, by id.
        twins: judgments by the same twins in the simulator, for the claims with a kernel verdict. If both verdicts
            agree, the changes of the twin explain the verdict, without an effect of the host.
        failed: number of failed runs.
    """

    plan: KernelPlan
    outcomes: list[Outcome]
    judgments: dict[str, Judgment] = field(default_factory=dict)
    twins: dict[str, Judgment] = field(default_factory=dict)
    failed: int = 0

    @property
    def runs(self) -> StandIns:
        """The valid runs."""
        valid = {one.piece.scenario.hash: one.run for one in self.outcomes if one.run is not None and one.valid}
        absent = {one.piece.scenario.hash: one.why for one in self.outcomes if not one.valid}
        return StandIns(valid, {**self.plan.refused, **absent}, self.plan.carrier.words)

    @property
    def host(self) -> str:
        """The kernel versions of the runs, with their numbers of cores or of timer interrupts per second."""
        totals = [one.run.manifest["engine_summary"] for one in self.outcomes if one.run]
        if not self.plan.carrier.alone:
            return "; ".join(dict.fromkeys(f"Linux {t['linux']['release']}, HZ={t['linux']['hz']}" for t in totals))
        facts = [each["kernel"]["host_before"] for each in totals]
        return "; ".join(dict.fromkeys(f"Linux {each['kernel']}, {each['cores']} cores" for each in facts))

    @property
    def totals(self) -> dict[str, int]:
        """Claims by the kernel's verdict."""
        return totals(self.judgments.values())

    def other_verdicts(self, simulated: Sequence[Judgment]) -> list[str]:
        """Ids of the claims with different verdicts in the kernel and in the simulator."""
        both = [(judgment, self.judgments[judgment.claim.id]) for judgment in simulated]
        return [
            ours.claim.id
            for ours, theirs in both
            if "not_judged" not in (ours.verdict, theirs.verdict) and ours.verdict != theirs.verdict
        ]

    def by_twin(self, simulated: Sequence[Judgment]) -> list[str]:
        """Ids of the claims among :meth:`other_verdicts` for which the simulated twin has the kernel's verdict."""
        other = self.other_verdicts(simulated)
        return [name for name in other if self.twins[name].verdict == self.judgments[name].verdict]

    def of(self, claim_id: str) -> dict[str, Any]:
        """The fields about the kernel in a claim's entry in the ``paper`` document."""
        found = {key: self.judgments[claim_id].to_json()[key] for key in (*_SHOWN, "why", "runs")}
        beside = self.twins.get(claim_id)
        return found | {"twin_simulated": {key: beside.to_json()[key] for key in _SHOWN} if beside else None}

    def to_json(self, simulated: Sequence[Judgment]) -> dict[str, Any]:
        """JSON form, as in the ``paper`` document."""
        return {
            "totals": self.totals,
            "other_verdict_than_simulated": self.other_verdicts(simulated),
            "of_those_also_with_the_twin_simulated": self.by_twin(simulated),
            "runs": [outcome.to_json() for outcome in self.outcomes],
            "failed": self.failed,
            "left_out": [row.to_json() for row in self.plan.left_out],
        }
