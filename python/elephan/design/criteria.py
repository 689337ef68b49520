"""The last stage of a score: the criteria of a suite, judged from a quick evaluation.

A stranger's code is judged in its restricted processes, which write no files, so its runs have no store there.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from elephan import backends, suites
from elephan.design import baseline
from elephan.design.verdicts import BUDGET_S, MUSTS_ON_LINUX_S, SEEDS_ON_LINUX, SUITE, Criterion
from elephan.evaluation.bench import Bench, Progress
from elephan.runs import Run, Store, execute, index, prune
from elephan.runs.work import takes_s
from elephan.scenario import Scenario, own
from elephan.suites.result import Outcome, outcomes
from elephan.suites.schedule import Schedule
from elephan.suites.suite import Subject

LINUX = "linux"
_KEPT = timedelta(days=30)
"""Age up to which the baselines' runs on Linux stay; older ones are made again if they are still needed."""


class _Here(Bench):
    """Runs in this process, which are not saved."""

    def make(
        self, runs: Sequence[Scenario], each: Callable[[Run], None], until_s: float = math.inf,
        progress: Progress | None = None,
    ) -> bool:  # fmt: skip
        """Make runs in order until a monotonic time. Returns False if not all were made."""
        backend = backends.get(self.on)
        for scenario in runs:
            if time.monotonic() > until_s:
                return False
            each(execute.compute(backend, scenario, scenario.seed or 1))
        return True


def shares(count: int) -> list[list[str]]:
    """The criteria in shares of about equal cost; those of one experiment have the same runs, so they stay together."""
    suite = suites.load(SUITE)
    together: dict[str, list[str]] = {}
    for row in suite.table.criterion:
        together.setdefault(row.experiment, []).append(row.id)
    found: list[tuple[float, list[str]]] = [(0.0, []) for _ in range(min(count, len(together)))]
    costs = {name: _cost_s(suite, name) for name in together}
    for name in sorted(together, key=lambda each: -costs[each]):
        spent, taken = min(found, key=lambda each: each[0])
        found[found.index((spent, taken))] = (spent + costs[name], [*taken, *together[name]])
    return [taken for _, taken in found]


def _cost_s(suite: suites.Suite, experiment: str) -> float:
    """Estimated cost of the runs of an experiment for an algorithm in Rust, s."""
    subject = Subject("cubic", "cubic")
    cells = suite.cells(experiment, quick=True)
    return sum(takes_s(suite.scenario(experiment, cell, subject), "sim") for cell in cells)


def judge_here(spec: str, parameters: Mapping[str, Any], only: Sequence[str]) -> list[Criterion]:
    """Judge some criteria in this process.

    Raises:
        AlgorithmError: the algorithm failed.
        ScenarioError: a parameter is wrong.
    """
    suite = suites.load(SUITE).part(only)
    subject = Subject(own.label(spec), spec, tuple(sorted(parameters.items())))
    bench = _Here("sim", 1, None, BUDGET_S)
    found = Schedule(suite, [subject], None, True, bench, None, None).run()
    return [_criterion(outcome) for outcome in outcomes(suite, found[subject.label])]


def judge(spec: str, parameters: Mapping[str, Any], *, on: str, jobs: int | None) -> list[Criterion]:
    """Judge all criteria by runs that are not contained, those that are a must first.

    Raises:
        ScenarioError: the algorithm, a parameter or the backend is wrong.
        SweepError: a run failed.
    """
    end_s = time.monotonic() + BUDGET_S
    of_suite = suites.load(SUITE).table.criterion
    found: dict[str, Criterion] = {}
    with _store(on) as store:
        for first in (True, False):
            left_s = max(1.0, end_s - time.monotonic())
            within_s = MUSTS_ON_LINUX_S if first and on == LINUX else left_s
            (part,) = suites.evaluate(
                [spec], SUITE, parameters=parameters, on=on, quick=True, jobs=jobs, store=store,
                seeds=SEEDS_ON_LINUX if on == LINUX else None,
                only=[row.id for row in of_suite if (row.force == "must") == first], budget=f"{within_s:.3f} s",
            )  # fmt: skip
            found |= {outcome.criterion.id: _criterion(outcome, within_s) for outcome in part.outcomes}
    return [found[row.id] for row in of_suite]


@contextmanager
def _store(on: str) -> Iterator[Store]:
    """A store for the runs of one candidate. On Linux it has those of the baselines from the start, since they cost as
    much as the candidate's own and are the same for all."""
    with tempfile.TemporaryDirectory(prefix="elephan-score-") as folder:
        store = Store(folder)
        if on != LINUX:
            yield store
            return
        kept = Store(baseline.folder() / "linux-suite")
        prune.prune(kept, prune.prunable(index.listing(kept).entries, before=datetime.now(UTC) - _KEPT))
        for run in kept:
            store.save(run)
        try:
            yield store
        finally:
            for run in store:
                if not any(own.pinned(flow.algorithm) for flow in run.scenario.flow):
                    kept.save(run)


def _criterion(outcome: Outcome, within_s: float = BUDGET_S) -> Criterion:
    row = outcome.criterion
    is_whole = not any(cell.left_out for cell in outcome.cells)
    return Criterion(row.id, row.section, row.force, outcome.verdict, outcome.why, is_whole, within_s)
