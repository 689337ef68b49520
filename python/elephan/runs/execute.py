"""Execution of a scenario: from the scenario to a saved run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from elephan import backends
from elephan.backends import Backend, Cancelled, MemoryPool, Progress, RawResult
from elephan.hooks import hook
from elephan.runs import permission, repeat
from elephan.runs.arguments import with_seed
from elephan.runs.failures import explained
from elephan.runs.provenance import provenance
from elephan.runs.result import Run
from elephan.runs.saved import run_id
from elephan.runs.store import Store
from elephan.scenario import Scenario


def run(
    scenario: Scenario,
    on: str = "sim",
    seed: int | None = None,
    store: Store | None = None,
    force: bool = False,
    progress: Callable[[float], bool | None] | None = None,
    memory: int | str | None = None,
    allow_programs: bool = False,
    check_repeat: bool = False,
) -> Run:
    """Run a scenario, or return the saved result of the same scenario and seed.

    Args:
        scenario: the scenario to run.
        on: the backend.
        seed: seed of the random streams; the scenario's seed by default.
        store: folder of the results; ``$ELEPHAN_STORE`` or ``.elephan/runs`` by default.
        force: true to run the scenario even if a result is saved.
        progress: called regularly with the simulated fraction of the duration; returning ``False`` cancels the run.
        memory: limit on the run's memory, bytes or ``"8 GB"``; 80 % of the free memory by default.
        allow_programs: true to run the programs of the scenario (``[[program]]``).
        check_repeat: true to run the scenario twice, even if a result is saved, and to keep a run that repeats.

    Raises:
        ScenarioError: programs are not allowed, the backend does not exist or cannot run the scenario, the run needs
            more memory than its limit, or an argument is wrong.
        RunMemoryError: the run exceeded its memory limit.
        RunFailedError: Elephan has a defect; the message names a file for the bug report.
        AlgorithmError: an algorithm of the user's own raised an exception.
        NotRepeatableError: the second run differs; no result is saved.
        KernelError, BpfError, LeftOverError: the kernel backend failed; the message has the reason.
        Cancelled: ``progress`` returned ``False``; no result is saved.
    """
    backend = backends.get(on, MemoryPool(memory))
    store = Store() if store is None else store
    scenario, seed = with_seed(scenario, seed)
    if check_repeat:
        repeat.require(backend)
    elif not force:
        there = store.find(run_id(scenario.hash, on, seed), engine=backend.version())
        if there is not None:
            return there
    permission.require(scenario, allow_programs)
    backend.check(scenario)
    try:
        made = compute(backend, scenario, seed, _interruptible(progress), check_repeat=check_repeat)
        return store.save(made, replace=force or check_repeat)
    except Exception as error:
        told = explained(error, store, run_id(scenario.hash, on, seed), scenario, seed, backend.version())
        if told is error:
            raise
        raise told from error


def compute(
    backend: Backend,
    scenario: Scenario,
    seed: int,
    progress: Progress | None = None,
    *,
    check_repeat: bool = False,
) -> Run:
    """Run a scenario, or run it twice and compare, and keep the result in memory.

    Raises:
        ScenarioError, Cancelled, NotRepeatableError: the errors of :func:`run`.
    """
    begun_s = time.perf_counter()
    if check_repeat:
        raw = repeat.twice(backend, scenario, seed, progress or _interruptible(None))
    else:
        raw = backend.run(scenario, seed, progress)
    wall_seconds = time.perf_counter() - begun_s
    return assemble(scenario, raw, backend.name, seed, provenance(engine=backend.version(), wall_seconds=wall_seconds))


def assemble(scenario: Scenario, raw: RawResult, backend: str, seed: int, origin: dict[str, Any]) -> Run:
    """A run in memory from the output of a backend, with its provenance and warnings.

    Raises:
        TableError: a table or a column that every run has is missing.
    """
    extra = origin | {"conservation": raw.summary.get("conservation", {})}
    made = Run.from_tables(scenario, raw.tables, backend=backend, seed=seed, summary=raw.summary, extra=extra)
    made.manifest["warnings"] = [*made.warnings, *raw.summary.get("warnings", ()), *hook("warnings_after")(made)]
    return made


def _interruptible(progress: Callable[[float], bool | None] | None) -> Progress:
    """A callback for the engine. The callback lets Python handle Ctrl-C during a simulation, when no other Python code
    runs."""

    def callback(fraction: float) -> bool:
        return progress is None or progress(fraction) is not False

    return callback


__all__ = ["Cancelled", "assemble", "compute", "run"]
