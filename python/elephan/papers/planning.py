"""What has to be run for papers, in which order, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from elephan.papers.paper import Experiment, Variant
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run, Store

Progress = Callable[[float, float, int, int], bool | None]
"""Work done and in all, runs finished and in all; returning ``False`` cancels."""

Job = tuple[Scenario, int]
Plan = dict[str, list[Job]]
"""Jobs by phase; a job is in the first phase that asks for it."""


class Planner:
    """Collects jobs, each once."""

    def __init__(self) -> None:
        self.plan: Plan = {}
        self._seen: set[tuple[str, int]] = set()

    def experiments(self, experiments: Iterable[Experiment], seeds: int | None = None) -> None:
        """Add experiments. The first seeds of all come before the others, so that an interrupted reproduction is most
        of one.
        """
        listed = list(experiments)
        for first in (True, False):
            for experiment in listed:
                phase = experiment.title if first else f"{experiment.title}: more seeds"
                for scenario in experiment.scenarios.values():
                    count = (seeds or experiment.seeds) if scenario.is_random else 1
                    for offset in range(min(count, 1)) if first else range(1, count):
                        self._add(phase, scenario, scenario.seed + offset)

    def variants(self, variants: Iterable[Variant]) -> None:
        """Add other readings, one seed each."""
        for variant in variants:
            for scenario in variant.scenarios:
                self._add(variant.title, scenario, scenario.seed)

    def _add(self, phase: str, scenario: Scenario, seed: int) -> None:
        if (scenario.hash, seed) not in self._seen:
            self._seen.add((scenario.hash, seed))
            self.plan.setdefault(phase, []).append((scenario, seed))


class Counter:
    """Adds the progress of consecutive sweeps, in work: what is saved already counts as none."""

    def __init__(self, plans: Iterable[Mapping[str, list[Job]]], store: Store, progress: Progress | None) -> None:
        from elephan.runs.work import unsaved_work

        jobs = [job for plan in plans for tasks in plan.values() for job in tasks]
        self._total = unsaved_work(jobs, store) if progress is not None else 0.0
        self._runs = len(jobs)
        self._done = 0.0
        self._finished = 0
        self._progress = progress

    def sweep(self, tasks: list[Job], jobs: int | None, store: Store) -> list[Run]:
        """Run jobs in their order."""
        from elephan.runs import sweep

        last = 0.0

        def report(done: float, total: float, finished: int, runs: int) -> bool | None:
            nonlocal last
            last = total
            if self._progress is None:
                return None
            # Two papers may ask for the same run, which is then counted twice: the end is the end all the same.
            whole = max(self._total, self._done + total)
            return self._progress(self._done + done, whole, self._finished + finished, self._runs)

        runs = sweep(tasks, jobs=jobs, store=store, progress=report, in_order=True)
        self._done += last
        self._finished += len(tasks)
        return runs
