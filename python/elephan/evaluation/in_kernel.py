"""Experiments in today's Linux: the scenarios that it supports, the runs, and the same runs in the simulator.

The network and the flows are those of the experiment. The endpoints are the kernel's own, and an algorithm is its
object in BPF or Linux's own (:mod:`elephan.backends.kernel.twin`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from elephan import backends
from elephan.backends.kernel import host
from elephan.backends.kernel.twin import Twin, twin
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.kernel_runs import KernelRuns, LeftOut, Outcome, Piece, StandIns
from elephan.evaluation.planning import Progress
from elephan.runs import Run, Store, SweepError, run_id, sweep
from elephan.scenario import Scenario, ScenarioError

BACKEND = "kernel"


def require(path: str) -> None:
    """Raise an error if this host cannot run the kernel backend; ``path`` is the option of the request.

    Raises:
        ScenarioError: it cannot run any scenario.
    """
    try:
        host.require()
    except ScenarioError as error:
        raise ScenarioError(f"{error}; see elephan lab check", path=path) from None


def carried(
    experiments: Iterable[Experiment],
    only: Sequence[str],
    store: Store,
    *,
    path: str,
    again: bool = False,
) -> KernelRuns:
    """Find the runs of some experiments that the kernel supports, without running them.

    Args:
        experiments: the experiments.
        only: patterns of the runs to make: a run's label, its experiment, or ``EXPERIMENT/LABEL``.
            Saved runs count in any case.
        store: where results are kept.
        path: option of the request, for error lines.
        again: true to repeat runs whose saved result is not valid.

    Raises:
        ScenarioError: the kernel supports none of the runs, or a pattern matches nothing.
    """
    engine = backends.get(BACKEND).version()
    known: dict[str, Twin | str] = {}
    pieces: dict[str, Piece] = {}
    left: dict[tuple[str, str], list[str]] = {}
    used: set[str] = set()
    for experiment in experiments:
        for label, scenario in experiment.scenarios.items():
            if scenario.hash not in known:
                known[scenario.hash] = _carried(scenario)
            found = known[scenario.hash]
            matching = {pattern for pattern in only if _matches(pattern, experiment, label)}
            used |= matching
            if isinstance(found, str):
                left.setdefault((experiment.id, found), []).append(label)
            elif (before := pieces.get(scenario.hash)) is not None:
                within, chosen = (*before.experiments, experiment.id), before.chosen or bool(matching)
                pieces[scenario.hash] = replace(before, experiments=within, chosen=chosen)
            else:
                run = store.find(run_id(found.scenario.hash, BACKEND, scenario.seed), engine=engine)
                pieces[scenario.hash] = Piece(
                    (experiment.id,), experiment.title, label, scenario, found, not only or bool(matching),
                    run is not None, again and run is not None and bool(failed_checks(run)),
                )  # fmt: skip
    left_out = tuple(LeftOut(experiment, tuple(labels), why) for (experiment, why), labels in left.items())
    if not pieces:
        reasons = "; ".join(dict.fromkeys(f"{row.experiment}: {row.why}" for row in left_out))
        raise ScenarioError(f"nothing of this can be run in the kernel: {reasons}", path=path)
    if wrong := [pattern for pattern in only if pattern not in used]:
        some = ", ".join(f"'{piece.label}'" for piece in list(pieces.values())[:3])
        raise ScenarioError(f"'{wrong[0]}' is the label of no run here; there are {some}, ...", path="only")
    refused = {name: found for name, found in known.items() if isinstance(found, str)}
    return KernelRuns(tuple(pieces.values()), left_out, refused)


def _carried(scenario: Scenario) -> Twin | str:
    """The twin, or the reason for its absence."""
    try:
        return twin(scenario)
    except ScenarioError as error:
        return str(error)


def _matches(pattern: str, experiment: Experiment, label: str) -> bool:
    short = experiment.id.partition(".")[2]
    names = (label, short, experiment.id, f"{short}/{label}", f"{experiment.id}/{label}")
    return any(fnmatchcase(name.casefold(), pattern.strip().casefold()) for name in names)


def failed_checks(run: Run) -> list[str]:
    """Checks of the backend that a run failed, one sentence each; empty for a valid run."""
    return [str(line) for line in run.manifest["engine_summary"]["kernel"]["failed_checks"]]


def simulated(found: Iterable[Outcome], jobs: int | None, store: Store, progress: Progress | None) -> StandIns:
    """Runs of the twins of valid runs in the simulator."""
    pieces = [outcome.piece for outcome in found if outcome.valid]
    wanted = [(piece.twin.scenario, piece.scenario.seed) for piece in pieces]
    runs = sweep(wanted, jobs=jobs, store=store, progress=progress)
    return StandIns({piece.scenario.hash: run for piece, run in zip(pieces, runs, strict=True)}, {})


def outcomes(planned: KernelRuns, store: Store, progress: Progress | None) -> Iterator[Outcome]:
    """Run the plan, one run at a time; a failed run is reported, and the others continue."""
    total_s, done_s, finished, count = planned.takes_s, 0.0, 0, len(planned.to_run)
    engine = backends.get(BACKEND).version()
    for piece in planned.pieces:
        if not piece.to_run:
            run = store.find(run_id(piece.twin.scenario.hash, BACKEND, piece.scenario.seed), engine=engine)
            yield _outcome(piece, run, "it was not run")
            continue
        report = None if progress is None else _reporter(progress, done_s, piece.takes_s, total_s, finished, count)
        try:
            (made,) = sweep(
                [(piece.twin.scenario, piece.scenario.seed)],
                on=BACKEND,
                jobs=1,
                store=store,
                progress=report,
                force=piece.again,
            )
            yield _outcome(piece, made)
        except SweepError as error:
            yield Outcome(piece, None, f"it failed: {error.failures[0].error}")
        done_s, finished = done_s + piece.takes_s, finished + 1
        if progress is not None:
            progress(done_s, total_s, finished, count)


def _outcome(piece: Piece, run: Run | None, why: str = "") -> Outcome:
    if run is not None:
        why = f"it is not valid: {'; '.join(found)}" if (found := failed_checks(run)) else ""
    return Outcome(piece, run, why)


def _reporter(
    progress: Progress, done_s: float, takes_s: float, total_s: float, finished: int, count: int
) -> Callable[[float, float, int, int], bool | None]:
    """Progress of one run as progress of all, in seconds of real time."""

    def report(done: float, total: float, _finished: int, _runs: int) -> bool | None:
        part = done / total if total else 1.0
        return progress(done_s + part * takes_s, total_s, finished, count)

    return report
