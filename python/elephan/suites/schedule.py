"""Runs of an evaluation: eight seeds of every cell, then sixteen and thirty-two seeds of the cells that are not yet
settled.

Saved runs are reused, so an interrupted evaluation continues, and a second evaluation uses the runs of the first
evaluation. With a budget, the cells that do not fit by an estimate are omitted before the first run; the last cells of
each list are omitted first. Cells without runs at the end of the budget are omitted too. An omitted cell never passes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from elephan import backends
from elephan.evaluation.bench import Bench, Progress, confidence, looks
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.verdicts import Change, Compared, Judged, compare, judge
from elephan.metrics.statistics import INFINITE, Interval
from elephan.runs.work import work
from elephan.scenario import Scenario, ScenarioError
from elephan.suites import drawn
from elephan.suites.cases import Case, quantity
from elephan.suites.schema import FORCES
from elephan.suites.suite import Cell, Subject, Suite, criteria_of

LATER_S = 600.0
"""Wall time for the runs with sixteen and thirty-two seeds if no budget is stated, seconds."""
LEFT_OUT = "left out for the budget"


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
        bench: where the runs are made.
        seeds: number of replicates, if the user sets it.
        progress: called with the progress.
    """

    suite: Suite
    subjects: Sequence[Subject]
    against: Subject | None
    quick: bool
    bench: Bench
    seeds: int | None
    progress: Progress | None
    evidence: Evidence = field(default_factory=Evidence)
    _others: dict[Case, Case] = field(default_factory=dict)

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of seeds at which verdicts are computed."""
        return looks(self.seeds, quick=self.quick)

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
            for cell in self._cells(criterion.experiment)
            for subject in self.subjects
        ]

    def _cells(self, experiment: str) -> list[Cell]:
        """Cells of an experiment. Those in trains of segments, which only the simulator has, are left out elsewhere."""
        cells = self.suite.cells(experiment, quick=self.quick)
        return [cell for cell in cells if self.bench.on == "sim" or cell.values.get("resolution") != "train"]

    def _refusal(self, case: Case) -> str:
        """The reason why the algorithm or the backend cannot run a case, in one clause; empty if they can.

        The suite itself is correct: it was checked with another algorithm.
        """
        backend = backends.get(self.bench.on)
        try:
            for scenario in self._scenarios(case):
                backend.check(scenario)
        except ScenarioError as error:
            return f"cannot be run: {error.message}"
        return ""

    def _scenarios(self, case: Case) -> list[Scenario]:
        """All scenarios of a case, including those of ``--against``."""
        return [scenario for one in (case, *self._beside(case)) for scenario in one.scenarios]

    def _beside(self, case: Case) -> list[Case]:
        """The same criterion and cell for the algorithm of ``--against``."""
        if self.against is None:
            return []
        if case not in self._others:
            self._others[case] = Case(case.suite, case.criterion, case.id, case.cell, self.against)
        return [self._others[case]]

    # ---- time ----

    def _within_budget(self, cases: Sequence[Case]) -> list[Case]:
        """Cases whose runs fit into the budget by the estimate of their cost; the first cells of all criteria come
        first."""
        if self.bench.budget_s is None:
            return list(cases)
        position, order = Counter[tuple[str, str]](), []
        for case in cases:
            key = (case.id, case.subject.label)
            order.append((position[key], case))
            position[key] += 1
        first = [case for _, case in sorted(order, key=lambda pair: pair[0])]
        room_s = self.bench.budget_s * self.bench.cores
        kept = self.bench.fitting(first, self._scenarios, range(1, self.looks[0] + 1), room_s)
        return [case for case in cases if case in kept]

    def _affordable(self, cases: Sequence[Case], seeds: Sequence[int]) -> list[Case]:
        """Cases whose further replicates fit into the remaining time by estimate; cases of a *must* are considered
        first."""
        musts_first = sorted(cases, key=lambda case: FORCES.index(case.criterion.force))
        room_s = self.bench.room_s(self.bench.started_s + (self.bench.budget_s or LATER_S))
        kept = self.bench.fitting(musts_first, self._scenarios, seeds, room_s)
        return [case for case in cases if case in kept]

    # ---- one look ----

    def _make(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run the replicates of some cases, seed by seed, and read their values."""
        self.evidence.want(probe for case in cases for one in (case, *self._beside(case)) for probe in one.probes)
        self.evidence.want(drawn.wanted(self.suite, self.subjects, quick=self.quick))
        runs = self._order({one.hash: one for case in cases for one in self._scenarios(case)}.values(), seeds)
        until_s = math.inf if self.bench.budget_s is None else self.bench.started_s + self.bench.budget_s
        if runs and not self.bench.make(runs, self.evidence.add, until_s, self.progress) and not self.bench.refused:
            self.bench.notes.append("the budget was spent before all runs were made")

    def _order(self, scenarios: Iterable[Scenario], seeds: Sequence[int]) -> list[Scenario]:
        """Runs in the order of their execution.

        Long runs come first, so that no processor is idle at the end. With a time budget, short runs come first, and
        all seeds of a scenario follow each other. Therefore, if the time does not suffice, most cells are judged and
        few cells are omitted.
        """
        wanted = sorted(scenarios, key=work)
        if self.bench.budget_s is not None:
            return [scenario.with_seed(seed) for scenario in wanted for seed in seeds]
        return [scenario.with_seed(seed) for seed in seeds for scenario in reversed(wanted)]

    def _judged(self, case: Case, look: int, before: Found) -> Found:
        """The verdict at a look; with missing runs the verdict of the previous look."""
        seeds = range(1, look + 1)
        failed = [self._failure(one, seeds) for one in (case, *self._beside(case))]
        if any(failed):
            return self._of_failure(case, look, *failed)
        if not all(self.evidence.has(scenario, seed) for scenario in self._scenarios(case) for seed in seeds):
            return before
        runs = case.runs(self.evidence, seeds)
        try:
            values = case.sample(self.evidence, seeds)
            judged = self._judge(case, values)
            compared = self._compare(case, values, seeds)
        except NotJudgedError as error:
            return Found(case, None, str(error), runs=runs)
        return Found(case, judged, judged.why, compared, runs)

    def _failure(self, case: Case, seeds: Sequence[int]) -> str:
        """The reason of the first run of a case whose program failed; empty if none has."""
        keys = ((scenario.hash, seed) for scenario in case.scenarios for seed in seeds)
        return next((f"seed {key[1]}: {self.bench.failed[key]}" for key in keys if key in self.bench.failed), "")

    def _of_failure(self, case: Case, look: int, own: str, beside: str = "") -> Found:
        """The verdict of a case in which a program failed: its criterion is not met, whatever its other runs say."""
        nothing = Interval(math.nan, math.nan, math.nan, "a program failed")
        made = [(s, seed) for s in case.scenarios for seed in range(1, look + 1) if self.evidence.has(s, seed)]
        runs = tuple(self.evidence.replicate(scenario, seed).id for scenario, seed in made)
        compared = None
        for other in self._beside(case):
            change: Change = "not_settled" if own and beside else "worse" if own else "better"
            said = own or f"with {other.subject.label}, {beside}"
            compared = Compared(change, nothing, 0.0, look, said)
        if not own:
            return Found(case, None, f"not compared: {beside}", compared, runs)
        judged = Judged("fail" if case.criterion.force == "must" else "concern", nothing, look, own)
        return Found(case, judged, own, compared, runs)

    def _judge(self, case: Case, values: Sequence[float]) -> Judged:
        criterion = case.criterion
        return judge(
            values, criterion.allowed, force=criterion.force, margin=criterion.margin,
            statistic="median" if any(map(math.isinf, values)) else criterion.statistic,
            within=case.within, confidence=confidence(self.looks), quantity=quantity(criterion), where=case.cell.where,
            weak=criterion.weak or "",
        )  # fmt: skip

    def _compare(self, case: Case, values: Sequence[float], seeds: Sequence[int]) -> Compared | None:
        """Compare a case with the baseline. A criterion has the result of its worst cell, so all cells of the criterion
        share an error probability of 5 %."""
        for beside in self._beside(case):
            baseline = beside.sample(self.evidence, seeds)
            if not all(map(math.isfinite, [*values, *baseline])):
                nothing = Interval(math.nan, math.nan, math.nan, INFINITE)
                return Compared("not_settled", nothing, 0.0, len(values), INFINITE)
            cells = len(self._cells(case.criterion.experiment))
            return compare(
                values, baseline, better=case.criterion.direction, margin=case.criterion.same,
                confidence=1 - (1 - confidence(self.looks)) / cells,
                quantity=quantity(case.criterion), than=beside.subject.label, where=case.cell.where,
            )  # fmt: skip
        return None
