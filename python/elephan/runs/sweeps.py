"""Parallel runs of many scenarios. The runs of a sweep are in threads, since the engine releases Python's global lock.

Saved results are reused. If another process is computing a result, the sweep waits for it. Ctrl-C stops the engines at
their next progress report, and keeps all finished results.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from elephan import backends
from elephan.backends import Cancelled, MemoryPool
from elephan.progress import meter
from elephan.runs import execute, permission
from elephan.runs.arguments import with_seed
from elephan.runs.crowds import MOST_ROWS
from elephan.runs.failures import explained
from elephan.runs.grids import Grid
from elephan.runs.plan import Finished, Interrupted, Plan, SweepProgress, Task
from elephan.runs.provenance import cores
from elephan.runs.result import Run
from elephan.runs.saved import run_id
from elephan.runs.store import Store
from elephan.runs.swept import Sweep
from elephan.scenario import Scenario, ScenarioError
from elephan.unhurried import is_at_work

THREADS = "elephan-sweep"
"""Prefix of the names of a sweep's threads."""

_LOOK_AGAIN_S = 0.1
_PATIENCE_S = 0.15
"""Time in which the runs of an interrupted sweep should stop, s. Runs that have not stopped are then interrupted, and
get the same time again."""


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the reason."""

    scenario: Scenario
    seed: int
    error: BaseException

    def __str__(self) -> str:
        kind = "" if str(self.error) else type(self.error).__name__
        names = list(self.scenario.flow_names)
        named = ", ".join(names) if len(names) <= MOST_ROWS else f"{names[0]} and {len(names) - 1:,} other flows"
        return f"{self.scenario.title or named} (seed {self.seed}): {kind}{self.error}"


class SweepError(Exception):
    """Some runs failed; the other runs are saved.

    Attributes:
        failures: the failed runs, with the reasons.
        runs: the sweep in the order of the input, with ``None`` for each failed run. The :meth:`~Sweep.frame` of the
            sweep has nulls and the reason in the row of a failed run.
    """

    def __init__(self, failures: Sequence[Failure], runs: Sweep[Run | None]) -> None:
        self.failures = list(failures)
        self.runs = runs
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        super().__init__(f"{len(failures)} of {len(runs)} runs failed: {failures[0]}{more}")


class ReplicateError(Exception):
    """Two seeds gave the same result although start times are drawn from the seed; this is a defect."""


def sweep(
    scenarios: Iterable[Scenario | tuple[Scenario, int]],
    on: str = "sim",
    jobs: int | None = None,
    store: Store | None = None,
    cluster: str | None = None,
    progress: SweepProgress | bool | None = None,
    force: bool = False,
    in_order: bool = False,
    memory: int | str | None = None,
    each: Finished | None = None,
    allow_programs: bool = False,
) -> Sweep[Run]:
    """Run scenarios, and return their runs in the order of the input.

    Args:
        scenarios: a :func:`grid`, or scenarios; ``(scenario, seed)`` is the scenario with another seed.
        on: the backend.
        jobs: number of simultaneous runs; one per core by default. On a cluster, ``jobs`` is the number of workers.
        store: folder of the results; ``$ELEPHAN_STORE`` or ``.elephan/runs`` by default.
        cluster: address of a Dask scheduler, ``tcp://host:port``; the results are saved in this store.
        progress: called with the progress several times a second, in the calling thread. ``True`` shows the progress,
            with an estimate of the time left, on stderr or in the notebook; ``False`` does not. By default the progress
            is shown in a notebook and where stderr is a terminal.
        force: true to repeat saved runs.
        in_order: true to run them in the order of the input instead of the longest first.
        memory: limit on the memory of all simultaneous runs, bytes or ``"8 GB"``; 80 % of the free memory by default.
        each: called with each run once, as soon as it is finished, in the calling thread; saved runs are first.
        allow_programs: true to run the programs of the scenarios (``[[program]]``).

    Raises:
        ScenarioError: programs are not allowed, the backend cannot run a scenario, or an element is not a scenario; no
            scenario was run.
        SweepError: some runs failed; the other runs are saved.
        ReplicateError: two seeds gave equal results although starts are drawn from the seed.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
        Cancelled: ``progress`` returned ``False``; finished results are saved.
        OSError: the store cannot be written.
    """
    if isinstance(scenarios, Scenario | str):
        raise ScenarioError(
            "a sweep takes a list of scenarios, not one; write elephan.grid(scenario, {...}), [scenario], or "
            "elephan.run(scenario)"
        )
    pool = MemoryPool(memory)
    backend = backends.get(on, pool)
    plan = Plan(backend, Store() if store is None else store, backend.version(), each)
    wanted: list[tuple[Scenario, int]] = []
    for item in scenarios:
        scenario, seed = with_seed(*item) if isinstance(item, tuple) and len(item) == 2 else with_seed(item)
        backend.check(scenario)
        task = Task(run_id(scenario.hash, on, seed), scenario, seed)
        wanted.append((scenario, seed))
        plan.order.append(task.id)
        if task.id not in plan.tasks:
            plan.tasks[task.id] = task
            task.run = None if force else plan.saved(task)
            task.saved = task.run is not None
    waiting = [task for task in plan.tasks.values() if not task.finished]
    for task in waiting:
        permission.require(task.scenario, allow_programs)
    if waiting:
        plan.store.prepare()
    if not in_order:
        waiting.sort(key=lambda task: -task.work)
    with reporting(progress) as told:
        if waiting and cluster is not None:
            from elephan.runs.cluster import run_on_cluster

            run_on_cluster(plan, waiting, cluster, told, force=force)
        elif waiting:
            pool.runs = min(jobs or cores(), len(waiting))
            _Pool(plan, waiting, pool.runs, force=force).run(told)
        plan.report(told)
    return finish(plan, wanted, scenarios if isinstance(scenarios, Grid) else None)


def reporting(progress: SweepProgress | bool | None) -> AbstractContextManager[SweepProgress | None]:
    """The callback that receives the progress during a sweep."""
    if callable(progress):
        return nullcontext(progress)
    return meter(show=progress)


def finish(plan: Plan, wanted: Sequence[tuple[Scenario, int]], grid: Grid | None) -> Sweep[Run]:
    """The runs of a sweep that has ended.

    Raises:
        SweepError, ReplicateError: the errors of :func:`sweep`.
    """
    failures = [Failure(t.scenario, t.seed, t.error) for t in plan.tasks.values() if t.error is not None]
    if failures:
        errors = [plan.tasks[run_id].error for run_id in plan.order]
        whys = [None if error is None else str(error) or type(error).__name__ for error in errors]
        raise SweepError(failures, Sweep(plan.results(), wanted, grid, whys))
    check_replicates([task for task in plan.tasks.values() if plan.backend.must_differ(task.scenario)])
    return Sweep([run for run in plan.results() if run is not None], wanted, grid)


def check_replicates(tasks: Sequence[Task]) -> None:
    """Reject equal results of two seeds of the same scenario; ``tasks`` are the tasks whose results must differ.

    Raises:
        ReplicateError: there are such results.
    """
    seen: dict[tuple[str, str], Task] = {}
    for task in tasks:
        if task.run is None:
            continue
        key = (task.scenario.hash, str(task.run.manifest["tables_sha256"]))
        other = seen.setdefault(key, task)
        if other is not task:
            raise ReplicateError(
                f"{task.scenario.title or task.scenario.hash}: seeds {other.seed} and {task.seed} gave equal results "
                "although each flow's start is drawn from the seed; equal replicates confirm nothing"
            )


class _Pool:
    """The worker threads of one sweep: one more than the number of simultaneous runs, since a core is free while a
    result is written.

    Backends that measure this host get no additional thread, since a thread would disturb the measurement.
    """

    def __init__(self, plan: Plan, waiting: Sequence[Task], jobs: int, *, force: bool) -> None:
        self._plan = plan
        self._queue = deque(waiting)
        self._force = force
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._workers = min(jobs if plan.backend.measures else jobs + 1, len(waiting))
        self._slots = threading.Semaphore(jobs)
        self._computing: set[int] = set()
        # Not `futures.wait`: a Ctrl-C during that call can leave the lock of a future taken, and its worker then never
        # ends. A `SimpleQueue` keeps no lock.
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._left = 0

    def run(self, progress: SweepProgress | None) -> None:
        """Run all tasks; the calling thread reports the progress and receives Ctrl-C."""
        # Not `Thread.join`: a Ctrl-C during this call marks a running thread as ended (CPython 3.11, bpo-45274).
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix=THREADS)
        try:
            for _ in range(self._workers):
                pool.submit(self._serve)
                self._left += 1
            while self._left:
                self._plan.report(progress)
                if error := self._take_ended(_LOOK_AGAIN_S):
                    raise error
        except KeyboardInterrupt:
            self._end()
            raise Interrupted([run for run in self._plan.results() if run is not None]) from None
        except BaseException:
            self._end()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _serve(self) -> None:
        """One worker thread: reports its end to the calling thread."""
        error: BaseException | None = None
        try:
            self._work()
        except BaseException as raised:  # noqa: BLE001  (raised by the calling thread)
            error = raised
        finally:
            self._ended.put(error)

    def _take_ended(self, timeout_s: float) -> BaseException | None:
        """Wait until a worker has ended, for at most ``timeout_s``. Returns the worker's error."""
        try:
            error = self._ended.get(timeout=timeout_s)
        except Empty:
            return None
        self._left -= 1
        return error

    def _wait_for_all(self, timeout_s: float) -> None:
        until_s = time.monotonic() + timeout_s
        while self._left and (left_s := until_s - time.monotonic()) > 0:
            self._take_ended(left_s)

    def _end(self) -> None:
        """Stop the engines, and complete results that are being saved.

        A user's algorithm that is in a loop is interrupted. A run that sleeps in a system call cannot be stopped; its
        thread is abandoned, and its result is not saved.
        """
        self._stop.set()
        self._wait_for_all(_PATIENCE_S)
        # A run that has changed the host ends by itself soon. An exception within its cleanup would leave the changes.
        while self._left and is_at_work():
            self._take_ended(_LOOK_AGAIN_S)
        for thread in tuple(self._computing) if self._left else ():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
        self._wait_for_all(_PATIENCE_S if self._computing else threading.TIMEOUT_MAX)

    def _work(self) -> None:
        while True:
            with ExitStack() as slot:
                slot.enter_context(self._slots)
                task = self._next()
                if task is None:
                    return
                try:
                    if not self._obtain(task, slot):
                        with self._lock:
                            self._queue.append(task)
                        slot.close()
                        self._stop.wait(_LOOK_AGAIN_S)
                except Cancelled:
                    return
                except BaseException as error:  # noqa: BLE001  (reported later; the other runs continue)
                    if self._stop.is_set():
                        return
                    plan = self._plan
                    task.error = explained(error, plan.store, task.id, task.scenario, task.seed, plan.engine)

    def _next(self) -> Task | None:
        with self._lock:
            return None if self._stop.is_set() or not self._queue else self._queue.popleft()

    def _obtain(self, task: Task, slot: ExitStack) -> bool:
        """Compute or load one result; ``False`` while another process is computing it. Releases the slot when the
        result is computed."""
        claim = self._plan.store.claim(task.id)
        if claim is None:
            return False
        try:
            there = None if self._force else self._plan.saved(task)
            if there is None:
                self._computing.add(threading.get_ident())
                try:
                    made = execute.compute(self._plan.backend, task.scenario, task.seed, self._reporter(task))
                finally:
                    self._computing.discard(threading.get_ident())
                slot.close()
                there = self._plan.store.save(made, replace=self._force)
            task.run = there
        finally:
            claim.release()
        return True

    def _reporter(self, task: Task) -> Callable[[float], bool]:
        def report(fraction: float) -> bool:
            task.fraction = fraction
            return not self._stop.is_set()

        return report
