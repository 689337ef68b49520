"""Data of a reproduced paper: its judged claims, their runs, and the document of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.kernel_runs import KernelRuns, Outcome, StandIns
from elephan.evaluation.planning import Phase
from elephan.papers import boards
from elephan.papers.judging import Judgment, totals
from elephan.papers.paper import Beyond, Paper, Variant

_SHOWN = ("verdict", "measured", "measured_text")


@dataclass(frozen=True)
class Sensitivity:
    """Effect of a variant of the paper on the verdicts, with one seed for each run.

    Attributes:
        variant: the variant.
        scenarios: hashes of the variant's scenarios that the paper's own setup does not have.
        judged: number of claims judged under the variant and under the paper's own setup.
        reproduced: number of the judged claims that are reproduced under the variant.
        reproduced_before: number of the judged claims that are reproduced under the paper's own setup with the same
            seed.
        gained: ids of the claims that hold only in this variant.
        lost: ids of the claims that hold only under the paper's own setup.
    """

    variant: Variant
    scenarios: tuple[str, ...]
    judged: int
    reproduced: int
    reproduced_before: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the ``paper`` document."""
        return {
            "variant": self.variant.id,
            "title": self.variant.title,
            "runs": len(self.scenarios),
            "scenarios": list(self.scenarios),
            "judged": self.judged,
            "reproduced": self.reproduced,
            "reproduced_before": self.reproduced_before,
            "gained": list(self.gained),
            "lost": list(self.lost),
        }


@dataclass(frozen=True)
class SeedCheck:
    """Verdicts with fewer seeds.

    Attributes:
        seeds: number of seeds that are used, the first seeds of each scenario.
        claims: number of claims whose runs have more than one seed.
        other_verdict: number of these claims whose verdict differs from the verdict with all seeds.
    """

    seeds: int
    claims: int
    other_verdict: int


@dataclass(frozen=True)
class Answer:
    """A question that the paper left open, with its answer.

    Attributes:
        beyond: the question.
        runs: runs of the answer.
        sentences: the answer.
    """

    beyond: Beyond
    runs: Evidence
    sentences: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the ``paper`` document."""
        return {"question": self.beyond.question, "answer": list(self.sentences), "runs": len(self.runs)}


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

    plan: KernelRuns
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


@dataclass
class PaperResult:
    """A reproduced paper.

    Attributes:
        paper: the reproduced paper.
        claims: every claim of the selection with its verdict.
        runs: runs of the claims.
        sensitivity: effects of the variants.
        seed_checks: verdicts with fewer seeds.
        phases: the phases of the work, with their durations.
        wall_seconds: time spent on runs, without saved runs.
        selection: the selection in words; empty for the whole paper.
        beyond: the answer to the question that the paper left open, if it was requested.
        kernel: the same experiments on a real Linux kernel, if they were run (:mod:`elephan.papers.in_kernel`).
        report_path: the HTML report.
    """

    paper: Paper
    claims: list[Judgment]
    runs: Evidence
    sensitivity: list[Sensitivity] = field(default_factory=list)
    seed_checks: list[SeedCheck] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    wall_seconds: float = 0.0
    selection: str = ""
    beyond: Answer | None = None
    kernel: KernelColumn | None = None
    report_path: Path | None = None

    @property
    def totals(self) -> dict[str, int]:
        """Claims by verdict."""
        return totals(self.claims)

    @property
    def firm(self) -> dict[str, int]:
        """Totals of the claims that the paper states explicitly and that depend little on its open values."""
        return totals(judgment for judgment in self.claims if judgment.claim.firm)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Ids of the claims that differ and have no explanation."""
        return tuple(j.claim.id for j in self.claims if j.verdict == "differs" and not j.explained)

    @property
    def segments_delivered(self) -> int:
        """Segments delivered in all runs of the paper's own setup."""
        return sum(int(run.summary()["segments_delivered"]) for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """The document that ``elephan paper --json`` prints."""
        return {
            "paper": self.paper.id,
            "title": self.paper.title,
            "quick": self.paper.quick,
            "selection": self.selection,
            "claims": [self._entry(judgment) for judgment in self.claims],
            "totals": self.totals,
            "certain_and_robust": self.firm,
            "unexplained": list(self.unexplained),
            "boards": boards.by_kind(self.claims),
            "runs": len(self.runs),
            "segments_delivered": self.segments_delivered,
            "wall_seconds": self.wall_seconds,
            "phases": [asdict(phase) for phase in self.phases],
            "sensitivity": [row.to_json() for row in self.sensitivity],
            "seed_checks": [asdict(check) for check in self.seed_checks],
            "beyond": self.beyond.to_json() if self.beyond else None,
            "kernel": self.kernel.to_json(self.claims) if self.kernel else None,
            "report": str(self.report_path) if self.report_path else None,
        }

    def _entry(self, judgment: Judgment) -> dict[str, Any]:
        beside = {"kernel": self.kernel.of(judgment.claim.id)} if self.kernel else {}
        return judgment.to_json() | beside
