"""Plan of the runs that criteria need, and several evaluations as one sweep of their runs, each judged as soon as its
runs are complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from elephan.evaluation.experiments import Experiment
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run, Store

Progress = Callable[[float, float, int, int], bool | None]
"""Called with the work done, the total work, the finished runs and the total runs; returning ``False`` cancels."""

Job = tuple[Scenario, int]
Plan = dict[str, list[Job]]
"""Jobs by phase; a job is listed only in the first phase that needs the job."""

Found = TypeVar("Found")
Judge = Callable[[int, Mapping[str, "Run"], float], Found]
"""Called with an evaluation's position, the finished runs by id, and the seconds spent on them."""


def until(end_s: float, progress: Progress | None) -> Progress:
    """``progress`` that cancels from a monotonic time on."""

    def watched(done: float, total: float, finished: int, count: int) -> bool | None:
        if time.monotonic() > end_s:
            return False
        return progress(done, total, finished, count) if progress is not None else None

    return watched


class Running(TypedDict, total=False):
    """How runs are made.

    Attributes:
        jobs: number of simultaneous runs; one per core by default.
        store: folder of the results; saved runs are reused.
        progress: called with the progress.
    """

    jobs: int | None
    store: Store | None
    progress: Progress | None


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


@dataclass(frozen=True)
class Phase:
    """Duration of one phase of the work.

    Attributes:
        name: name of the phase.
        runs: number of runs.
        run_seconds: sum of the durations of the runs, although several runs are simultaneous.
    """

    name: str
    runs: int
    run_seconds: float


def job_id(job: Job) -> str:
    """The id of a job's run in the simulator."""
    from elephan.runs.saved import run_id

    scenario, seed = job
    return run_id(scenario.hash, "sim", seed)


def by_phase(plan: Plan, found: Mapping[str, Run]) -> dict[str, list[Run]]:
    """The runs of a plan, by phase."""
    return {name: [found[job_id(job)] for job in jobs] for name, jobs in plan.items()}


def phase(name: str, runs: Sequence[Run]) -> Phase:
    """Time that the runs of a phase took."""
    return Phase(name, len(runs), sum(float(run.manifest["wall_seconds"]) for run in runs))


def sweep_and_judge(
    evaluations: Sequence[Sequence[Job]], judge: Judge[Found], **running: Unpack[Running]
) -> list[Found]:
    """Run the jobs of several evaluations; returns the results of ``judge``, in the order of the evaluations.

    All runs are one sweep, evaluation after evaluation. An evaluation is judged while later evaluations are run. The
    evaluation with the most runs is first. The evaluation with the fewest runs is last, since no runs are left while
    the last evaluation is judged.

    Args:
        evaluations: the jobs of each evaluation.
        judge: called in a separate thread, for one evaluation at a time.
        running: how the runs are made.

    Raises:
        SweepError: a run failed.
        Interrupted: Ctrl-C; finished runs are saved.
    """
    from elephan.runs import sweep

    found: dict[str, Run] = {}
    judged: dict[int, Future[Found]] = {}
    missing = [{job_id(job) for job in listed} for listed in evaluations]
    since_s = time.perf_counter()

    def add(run: Run | None) -> None:
        nonlocal since_s
        if run is not None:
            found[run.id] = run
        for i, left in enumerate(missing):
            left -= {run.id} if run is not None else set()
            if not left and i not in judged:
                # Count from the end of the previous evaluation, so that the times of all evaluations add up to the time
                # of the sweep.
                now_s = time.perf_counter()
                judged[i] = beside.submit(judge, i, found, now_s - since_s)
                since_s = now_s

    with ThreadPoolExecutor(1, thread_name_prefix="elephan-judge") as beside:
        try:
            add(None)  # an evaluation without runs
            in_order = [job for listed in sorted(evaluations, key=len, reverse=True) for job in listed]
            sweep(in_order, in_order=True, each=add, **running)
            return [judged[i].result() for i in range(len(evaluations))]
        except BaseException:
            beside.shutdown(cancel_futures=True)
            raise
