"""Runs of an evaluation: eight seeds of every cell, then sixteen and thirty-two seeds of the cells that are not yet
settled.

Saved runs are reused, so an interrupted evaluation continues, and a second evaluation uses the runs of the first
evaluation. With a budget, the cells that do not fit by an estimate are omitted before the first run; the last cells of
each list are omitted first. Cells without runs at the end of the budget are omitted too. An omitted cell never passes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from elephan import backends
from elephan.backends import Backend, Cancelled, RunMemoryError
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.verdicts import Compared, Judged, compare, judge
from elephan.metrics.statistics import CONFIDENCE, INFINITE, LOOK_CONFIDENCE, LOOKS, Interval
from elephan.runs import Store, SweepError, sweep
from elephan.runs.provenance import cores
from elephan.runs.work import work
from elephan.scenario import Scenario, ScenarioError, own
from elephan.suites import curves, tradeoffs
from elephan.suites.evidence import Case, Evidence
from elephan.suites.quantities import quantity
from elephan.suites.schema import FORCES
from elephan.suites.suite import Subject, Suite, criteria_of

if TYPE_CHECKING:
    from elephan.runs import Run

SEGMENT_S = 1.5e-7
"""Estimate of the simulator's processor time for a segment, seconds."""
OWN_SEGMENT_S = 6e-6
"""Estimate of the processor time for a segment with an algorithm written in Python, seconds."""
RUN_S = 0.03
"""Estimate of a run's constant processor time, seconds."""
LATER_S = 600.0
"""Wall time for the runs with sixteen and thirty-two seeds if no budget is stated, seconds."""
LEFT_OUT = "left out for the budget"

Progress = Callable[[float, float, int, int], bool | None]


@dataclass(frozen=True)
class Found:
    """The verdict of one case.

    Attributes:
        case: criterion, cell and algorithm.
        judged: the verdict; ``None`` if the case is not judged or omitted.
        why: the reason for a missing verdict.
        compared: comparison with the baseline of ``--against``.
        runs: ids of the case's runs.
    """

    case: Case
    judged: Judged | None
    why: str = ""
    compared: Compared | None = None
    runs: tuple[str, ...] = ()

    @property
    def left_out(self) -> bool:
        """True if the budget did not allow the runs of the case."""
        return self.why == LEFT_OUT

    @property
    def settled(self) -> bool:
        """True if no more replicates are needed."""
        verdict = self.judged is None or self.judged.settled
        return verdict and (self.compared is None or self.compared.settled)


@dataclass
class Schedule:
    """A running evaluation.

    Attributes:
        suite: the suite.
       subjects: the algorithms that are judged.
        against: the algorithm with which each subject is compared.
        quick: true for the cells of a quick evaluation and a single look.
        on, jobs, store: the arguments of :func:`elephan.sweep`.
        seeds: number of replicates, if the user sets it.
        budget_s: wall time, if the user sets it.
        progress: called with the progress.
    """

    suite: Suite
    subjects: Sequence[Subject]
    against: Subject | None
    quick: bool
    on: str
    jobs: int | None
    store: Store
    seeds: int | None
    budget_s: float | None
    progress: Progress | None
    started_s: float = field(default_factory=time.monotonic)
    evidence: Evidence = field(default_factory=Evidence)
    notes: list[str] = field(default_factory=list)
    _others: dict[Case, Case] = field(default_factory=dict)

    @cached_property
    def _backend(self) -> Backend:
        return backends.get(self.on)

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of seeds at which verdicts are computed."""
        if self.seeds is not None:
            return (self.seeds,)
        return LOOKS[:1] if self.quick else LOOKS

    @property
    def confidence(self) -> float:
        """Confidence of each look (a judgment at a number of seeds); a single look has 95 %. With several looks the
        confidence is higher, so that all looks together have 95 %."""
        return CONFIDENCE if len(self.looks) == 1 else LOOK_CONFIDENCE

    def run(self) -> dict[str, list[Found]]:
        """All verdicts by the algorithm's label, in the order of the criteria."""
        cases = self._cases()
        refused = {case: why for case in cases if (why := self._refusal(case))}
        within = self._within_budget([case for case in cases if case not in refused])
        found = {case: Found(case, None, refused.get(case, LEFT_OUT)) for case in cases}
        open_cases, earlier = within, 0
        for look in self.looks:
            if earlier:
                open_cases = self._affordable(open_cases, range(earlier + 1, look + 1))
            self._make(open_cases, range(earlier + 1, look + 1))
            for case in open_cases:
                found[case] = self._judged(case, look, found[case])
            open_cases = [case for case in open_cases if not found[case].settled]
            earlier = look
            if not open_cases:
                break
        labels = [subject.label for subject in self.subjects]
        return {label: [one for case, one in found.items() if case.subject.label == label] for label in labels}

    def _cases(self) -> list[Case]:
        return [
            Case(self.suite, criterion, criterion.id, cell, subject)
            for criterion in criteria_of(self.suite)
            for cell in self.suite.cells(criterion.experiment, quick=self.quick)
            for subject in self.subjects
        ]

    def _refusal(self, case: Case) -> str:
        """The reason why the algorithm or the backend cannot run a case, in one clause; empty if they can.

        The suite itself is correct: it was checked with another algorithm.
        """
        backend = self._backend
        try:
            for scenario in self._scenarios([case]).values():
                backend.check(scenario)
        except ScenarioError as error:
            return f"cannot be run: {error.message}"
        return ""

    def _scenarios(self, cases: Iterable[Case]) -> dict[str, Scenario]:
        """All scenarios of some cases by hash, including the scenarios of ``--against``."""
        found: dict[str, Scenario] = {}
        for case in cases:
            for one in (case, *self._beside(case)):
                found |= {scenario.hash: scenario for scenario in one.scenarios}
        return found

    def _beside(self, case: Case) -> list[Case]:
        """The same criterion and cell for the algorithm of ``--against``."""
        if self.against is None:
            return []
        if case not in self._others:
            self._others[case] = Case(case.suite, case.criterion, case.id, case.cell, self.against)
        return [self._others[case]]

    def trade_offs(self, subject: Subject) -> list[tradeoffs.TradeOff]:
        """Trade-offs of one algorithm, from the completed runs."""
        return tradeoffs.trade_offs(self.evidence, self.suite, subject, quick=self.quick)

    def curves(self, subject: Subject) -> list[curves.Curve]:
        """Curves of one algorithm, from the completed runs."""
        return curves.curves(self.evidence, self.suite, subject, quick=self.quick)

    # ---- time ----

    def _cost(self, scenario: Scenario, seeds: Sequence[int]) -> float:
        """Estimated processor time of the replicates that are not saved, seconds."""
        from elephan.runs.saved import run_id

        missing = sum(run_id(scenario.hash, self.on, seed) not in self.store for seed in seeds)
        specs = [flow.algorithm for flow in scenario.form.flows]
        each_s = OWN_SEGMENT_S if any(own.pinned(spec) for spec in specs) else SEGMENT_S
        return missing * (RUN_S + each_s * self._backend.cost * work(scenario))

    def _within_budget(self, cases: Sequence[Case]) -> list[Case]:
        """Cases whose runs fit into the budget by the estimate of their cost; the first cells of all criteria come
        first."""
        if self.budget_s is None:
            return list(cases)
        position: dict[str, int] = {}
        order = []
        for case in cases:
            key = f"{case.id} {case.subject.label}"
            position[key] = position.get(key, -1) + 1
            order.append((position[key], case))
        room_s, taken, kept = self.budget_s * (self.jobs or cores()), set[str](), set[Case]()
        for _, case in sorted(order, key=lambda pair: pair[0]):
            scenarios = {k: s for k, s in self._scenarios([case]).items() if k not in taken}
            cost_s = sum(self._cost(scenario, range(1, self.looks[0] + 1)) for scenario in scenarios.values())
            if cost_s <= room_s:
                room_s -= cost_s
                taken.update(scenarios)
                kept.add(case)
        return [case for case in cases if case in kept]

    def _affordable(self, cases: Sequence[Case], seeds: Sequence[int]) -> list[Case]:
        """Cases whose further replicates fit into the remaining time by estimate; cases of a *must* are considered
        first."""
        room_s = ((self.budget_s or LATER_S) - (time.monotonic() - self.started_s)) * (self.jobs or cores())
        taken, kept = set[str](), set[Case]()
        for case in sorted(cases, key=lambda case: FORCES.index(case.criterion.force)):
            scenarios = {k: s for k, s in self._scenarios([case]).items() if k not in taken}
            cost_s = sum(self._cost(scenario, seeds) for scenario in scenarios.values())
            if cost_s <= room_s:
                room_s -= cost_s
                taken.update(scenarios)
                kept.add(case)
        return [case for case in cases if case in kept]

    # ---- one look ----

    def _make(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run the replicates of some cases, seed by seed, and read their values."""
        self.evidence.want([one for case in cases for one in (case, *self._beside(case))])
        tradeoffs.want(self.evidence, self.suite, self.subjects, quick=self.quick)
        curves.want(self.evidence, self.suite, self.subjects, quick=self.quick)
        scenarios = self._scenarios(cases).values()
        jobs = self._order(scenarios, seeds)
        if not jobs:
            return

        def each(run: Run) -> None:
            self.evidence.add(run)

        def progress(done: float, total: float, finished: int, runs: int) -> bool | None:
            late = self.budget_s is not None and time.monotonic() - self.started_s > self.budget_s
            if late:
                return False
            return self.progress(done, total, finished, runs) if self.progress is not None else None

        try:
            sweep(jobs, on=self.on, store=self.store, jobs=self.jobs, in_order=True, each=each, progress=progress)
        except Cancelled:
            self.notes.append("the budget was spent before all runs were made")
        except SweepError as failed:
            if not all(isinstance(failure.error, RunMemoryError) for failure in failed.failures):
                raise
            self.notes.append(f"not all runs were completed: {failed.failures[0].error}")

    def _order(self, scenarios: Iterable[Scenario], seeds: Sequence[int]) -> list[Scenario]:
        """Runs in the order of their execution.

        Long runs come first, so that no processor is idle at the end. With a time budget, short runs come first, and
        all seeds of a scenario follow each other. Therefore, if the time does not suffice, most cells are judged and
        few cells are omitted.
        """
        wanted = sorted(scenarios, key=work)
        if self.budget_s is not None:
            return [scenario.with_seed(seed) for scenario in wanted for seed in seeds]
        return [scenario.with_seed(seed) for seed in seeds for scenario in reversed(wanted)]

    def _judged(self, case: Case, look: int, before: Found) -> Found:
        """The verdict at a look; with missing runs the verdict of the previous look."""
        seeds = range(1, look + 1)
        everything = self._scenarios([case]).values()
        if not all(self.evidence.has(scenario, seed) for scenario in everything for seed in seeds):
            return before
        runs = tuple(self.evidence.ids(case, seeds))
        try:
            values = self.evidence.sample(case, seeds)
            judged = self._judge(case, values)
            compared = self._compare(case, values, seeds)
        except NotJudgedError as error:
            return Found(case, None, str(error), runs=runs)
        return Found(case, judged, judged.why, compared, runs)

    def _judge(self, case: Case, values: Sequence[float]) -> Judged:
        criterion = case.criterion
        return judge(
            values, criterion.allowed, force=criterion.force, margin=criterion.margin,
            statistic="median" if any(map(math.isinf, values)) else criterion.statistic,
            confidence=self.confidence, quantity=quantity(criterion), where=case.cell.where, weak=criterion.weak or "",
        )  # fmt: skip

    def _compare(self, case: Case, values: Sequence[float], seeds: Sequence[int]) -> Compared | None:
        """Compare a case with the baseline. A criterion has the result of its worst cell, so all cells of the criterion
        share an error probability of 5 %."""
        for beside in self._beside(case):
            baseline = self.evidence.sample(beside, seeds)
            if not all(map(math.isfinite, [*values, *baseline])):
                nothing = Interval(math.nan, math.nan, math.nan, INFINITE)
                return Compared("not_settled", nothing, 0.0, len(values), INFINITE)
            cells = len(self.suite.cells(case.criterion.experiment, quick=self.quick))
            confidence = 1 - (1 - self.confidence) / cells
            return compare(
                values, baseline, better=case.criterion.direction, margin=case.criterion.same, confidence=confidence,
                quantity=quantity(case.criterion), than=beside.subject.label, where=case.cell.where,
            )  # fmt: skip
        return None
