"""Several evaluations as one sweep of their runs; each evaluation is judged as soon as its runs are complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from elephan.evaluation.planning import Job, Plan, Progress

if TYPE_CHECKING:
    from elephan.runs import Run, Store

Found = TypeVar("Found")
Judge = Callable[[int, Mapping[str, "Run"], float], Found]
"""Called with an evaluation's position, the finished runs by id, and the seconds spent on them."""


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
    evaluations: Sequence[Sequence[Job]],
    judge: Judge[Found],
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Found]:
    """Run the jobs of several evaluations; returns the results of ``judge``, in the order of the evaluations.

    All runs are one sweep, evaluation after evaluation. An evaluation is judged while later evaluations are run. The
    evaluation with the most runs is first. The evaluation with the fewest runs is last, since no runs are left while
    the last evaluation is judged.

    Args:
        evaluations: the jobs of each evaluation.
        judge: called in a separate thread, for one evaluation at a time.
        jobs: number of simultaneous runs; one per core by default.
        store: folder of saved results, which are reused.
        progress: called with the total progress.

    Raises:
        SweepError: a run failed.
        Interrupted: Ctrl-C; finished runs are saved.
    """
    from elephan.runs import sweep

    with ThreadPoolExecutor(1, thread_name_prefix="elephan-judge") as beside:
        arrivals = _Arrivals(evaluations, lambda i, found, wall_s: beside.submit(judge, i, found, wall_s))
        try:
            largest_first = sorted(evaluations, key=len, reverse=True)
            in_order = [job for listed in largest_first for job in listed]
            sweep(in_order, jobs=jobs, store=store, progress=progress, in_order=True, each=arrivals.add)
            return [arrivals.judged[i].result() for i in range(len(evaluations))]
        except BaseException:
            beside.shutdown(cancel_futures=True)
            raise


class _Arrivals(Generic[Found]):
    """Collector of finished runs. An evaluation is judged when all of its runs are finished.

    Attributes:
        judged: results of ``judge``, by the evaluation's position.
    """

    def __init__(self, evaluations: Sequence[Sequence[Job]], judge: Judge[Future[Found]]) -> None:
        self.judged: dict[int, Future[Found]] = {}
        self._judge = judge
        self._found: dict[str, Run] = {}
        self._missing = [{job_id(job) for job in listed} for listed in evaluations]
        self._since_s = time.perf_counter()
        self._pass_on()

    def add(self, run: Run) -> None:
        """Add a finished run."""
        self._found[run.id] = run
        for missing in self._missing:
            missing.discard(run.id)
        self._pass_on()

    def _pass_on(self) -> None:
        for i, missing in enumerate(self._missing):
            if not missing and i not in self.judged:
                # Count from the end of the previous evaluation, so that the times of all evaluations add up to the time
                # of the sweep.
                now_s = time.perf_counter()
                self.judged[i] = self._judge(i, self._found, now_s - self._since_s)
                self._since_s = now_s
