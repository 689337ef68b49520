"""Plan of a sweep: its runs without duplicates, and their progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elephan.backends import Backend, Cancelled
from elephan.runs.result import Run
from elephan.runs.store import Store
from elephan.runs.work import work
from elephan.scenario import Scenario

SweepProgress = Callable[[float, float, int, int], bool | None]
"""Called with the finished and the total work (:func:`elephan.runs.work.work`; 0 for runs that were already saved), and
with the finished and the total runs; returning ``False`` cancels.
"""

Finished = Callable[[Run], object]
"""Called once with each run of a sweep, as soon as there is a result; saved runs are first."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    Attributes:
        runs: the finished runs, in the order of the input; they are saved.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)
        super().__init__(f"stopped; {len(self.runs)} finished runs are saved")


@dataclass
class Task:
    """One run of a sweep: requested once or several times, computed once."""

    id: str
    scenario: Scenario
    seed: int
    fraction: float = 0.0
    run: Run | None = None
    error: BaseException | None = None

    saved: bool = False

    @cached_property
    def work(self) -> float:
        """Estimated work of the run; 0 if it was already saved."""
        return 0.0 if self.saved else work(self.scenario)

    @property
    def finished(self) -> bool:
        """True if there is a result or an error."""
        return self.run is not None or self.error is not None


@dataclass
class Plan:
    """Tasks of a sweep, and their state."""

    backend: Backend
    store: Store
    engine: str
    each: Finished | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    _passed_on: set[str] = field(default_factory=set)

    def saved(self, task: Task) -> Run | None:
        """Returns the saved result, if there is one."""
        return self.store.find(task.id, engine=self.engine)

    def report(self, progress: SweepProgress | None) -> None:
        """Report the progress, and pass on the runs that have finished since the last report.

        Raises:
            Cancelled: ``progress`` returned ``False``.
        """
        tasks = list(self.tasks.values())
        if self.each is not None:
            for task in tasks:
                if task.run is not None and task.id not in self._passed_on:
                    self._passed_on.add(task.id)
                    self.each(task.run)
        if progress is None:
            return
        done = sum(task.work * (1.0 if task.finished else task.fraction) for task in tasks)
        total = sum(task.work for task in tasks)
        if progress(done, total, sum(task.finished for task in tasks), len(tasks)) is False:
            raise Cancelled

    def results(self) -> list[Run | None]:
        """Returns the runs in the order of the input; ``None`` for a run that has failed or is not finished."""
        return [self.tasks[run_id].run for run_id in self.order]
