"""Plan of the runs that criteria need, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from elephan.evaluation.experiments import Experiment
from elephan.scenario import Scenario

Progress = Callable[[float, float, int, int], bool | None]
"""Called with the work done, the total work, the finished runs and the total runs; returning ``False`` cancels."""

Job = tuple[Scenario, int]
Plan = dict[str, list[Job]]
"""Jobs by phase; a job is listed only in the first phase that needs the job."""


class Planner:
    """Collects jobs without duplicates.

    Attributes:
        plan: the jobs by phase.
    """

    def __init__(self) -> None:
        self.plan: Plan = {}
        self._stages: list[list[Job]] = []
        self._seen: set[tuple[str, int]] = set()

    def in_order(self) -> list[Job]:
        """All jobs in the order in which to run them: stage by stage, the longest jobs of each stage first.

        With this order, the last runs of a sweep are short, so no core is idle for long.
        """
        from elephan.runs.work import work

        return [job for stage in self._stages for job in sorted(stage, key=lambda job: -work(job[0]))]

    def experiments(self, experiments: Iterable[Experiment], seeds: int | None = None) -> None:
        """Add experiments. The first seeds of all experiments come before the other seeds, so an interrupted evaluation
        is already complete with one seed.
        """
        listed = list(experiments)
        for first in (True, False):
            self._stages.append([])
            for experiment in listed:
                phase = experiment.title if first else f"{experiment.title}: more seeds"
                for scenario in experiment.scenarios.values():
                    count = (seeds or experiment.seeds) if scenario.is_random else 1
                    for offset in range(min(count, 1)) if first else range(1, count):
                        self._add(phase, scenario, scenario.seed + offset)

    def one_seed(self, phases: Iterable[tuple[str, Iterable[Scenario]]]) -> None:
        """Add the scenarios of named phases, one seed each."""
        self._stages.append([])
        for phase, scenarios in phases:
            for scenario in scenarios:
                self._add(phase, scenario, scenario.seed)

    def _add(self, phase: str, scenario: Scenario, seed: int) -> None:
        if (scenario.hash, seed) not in self._seen:
            self._seen.add((scenario.hash, seed))
            self.plan.setdefault(phase, []).append((scenario, seed))
            self._stages[-1].append((scenario, seed))
