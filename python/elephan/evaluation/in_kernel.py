"""Experiments on a real Linux kernel: the supported scenarios, their runs, and the same scenarios in the simulator.

The network and the flows are as in the experiment; the endpoints are the kernel's TCP. A *carrier* is a backend that
runs real Linux endpoints. The carrier ``kernel`` runs in real time, one run at a time
(:mod:`elephan.backends.kernel.twin`). The carrier ``linux`` runs in virtual time, several runs at a time, until a time
budget is spent (:mod:`elephan.backends.linux.twin`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from elephan import backends
from elephan.backends import Cancelled
from elephan.backends.kernel import host
from elephan.backends.kernel.twin import Twin, twin
from elephan.backends.linux.backend import require as require_linux
from elephan.backends.linux.twin import twin as twin_in_linux
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.kernel_runs import Carrier, KernelRuns, LeftOut, Outcome, Piece, StandIns
from elephan.evaluation.planning import Progress, until
from elephan.runs import Run, Store, SweepError, run_id, sweep
from elephan.runs.work import takes_s
from elephan.scenario import Scenario, ScenarioError


def failed_checks(run: Run) -> list[str]:
    """Checks of the backend 'kernel' that a run failed, one sentence each; empty for a valid run."""
    return [str(line) for line in run.manifest["engine_summary"]["kernel"]["failed_checks"]]


CARRIERS = {
    "kernel": Carrier(
        backend="kernel",
        words="the kernel",
        require=host.require,
        twin=twin,
        failed_checks=failed_checks,
        alone=True,
    ),
    "linux": Carrier(
        backend="linux",
        words="Linux in virtual time",
        require=require_linux,
        twin=twin_in_linux,
        failed_checks=lambda _run: [],
        alone=False,
    ),
}
"""The backends with real Linux, by name."""


def require(carrier: Carrier, path: str) -> None:
    """Reject a request if this host cannot run the carrier's scenarios; ``path`` names the request in the error
    message.

    Raises:
        ScenarioError: the host cannot run any scenario.
    """
    try:
        carrier.require()
    except ScenarioError as error:
        raise ScenarioError(f"{error}; see elephan lab check", path=path) from None


def carried(
    experiments: Iterable[Experiment],
    only: Sequence[str],
    store: Store,
    carrier: Carrier,
    *,
    path: str,
    again: bool = False,
) -> KernelRuns:
    """Find the runs of some experiments that the kernel supports, without running them.

    Args:
        experiments: the experiments.
        only: patterns of the runs to make: a run's label, its experiment, or ``EXPERIMENT/LABEL``. Saved runs are used
            even if no pattern matches them.
        store: folder of the results.
        carrier: the backend of the runs.
        path: name of the request, for error messages.
        again: repeat the runs whose saved result is not valid.

    Raises:
        ScenarioError: the kernel supports none of the runs, or a pattern matches nothing.
    """
    engine = backends.get(carrier.backend).version()
    known: dict[str, Twin | str] = {}
    pieces: dict[str, Piece] = {}
    left: dict[tuple[str, str], list[str]] = {}
    used: set[str] = set()
    for experiment in experiments:
        for label, scenario in experiment.scenarios.items():
            if scenario.hash not in known:
                known[scenario.hash] = _carried(scenario, carrier)
            found = known[scenario.hash]
            matching = {pattern for pattern in only if _matches(pattern, experiment, label)}
            used |= matching
            if isinstance(found, str):
                left.setdefault((experiment.id, found), []).append(label)
            elif (before := pieces.get(scenario.hash)) is not None:
                within, chosen = (*before.experiments, experiment.id), before.chosen or bool(matching)
                pieces[scenario.hash] = replace(before, experiments=within, chosen=chosen)
            else:
                run = store.find(run_id(found.scenario.hash, carrier.backend, scenario.seed), engine=engine)
                pieces[scenario.hash] = Piece(
                    (experiment.id,), label, scenario, found, not only or bool(matching),
                    run is not None, again and run is not None and bool(carrier.failed_checks(run)),
                    takes_s(found.scenario, "kernel" if carrier.alone else carrier.backend),
                )  # fmt: skip
    left_out = tuple(LeftOut(experiment, tuple(labels), why) for (experiment, why), labels in left.items())
    if not pieces:
        reasons = "; ".join(dict.fromkeys(f"{row.experiment}: {row.why}" for row in left_out))
        raise ScenarioError(f"nothing of this can be run in {carrier.words}: {reasons}", path=path)
    if wrong := [pattern for pattern in only if pattern not in used]:
        some = ", ".join(f"'{piece.label}'" for piece in list(pieces.values())[:3])
        raise ScenarioError(f"'{wrong[0]}' is the label of no run here; there are {some}, ...", path="only")
    refused = {name: found for name, found in known.items() if isinstance(found, str)}
    return KernelRuns(tuple(pieces.values()), left_out, refused, carrier)


def _carried(scenario: Scenario, carrier: Carrier) -> Twin | str:
    """The scenario's twin, or the reason why the carrier does not support the scenario."""
    try:
        return carrier.twin(scenario)
    except ScenarioError as error:
        return str(error)


def _matches(pattern: str, experiment: Experiment, label: str) -> bool:
    short = experiment.id.partition(".")[2]
    names = (label, short, experiment.id, f"{short}/{label}", f"{experiment.id}/{label}")
    return any(fnmatchcase(name.casefold(), pattern.strip().casefold()) for name in names)


def simulated(found: Iterable[Outcome], jobs: int | None, store: Store, progress: Progress | None) -> StandIns:
    """Run in the simulator each twin whose kernel run is valid; returns these runs by the experiment's scenario."""
    pieces = [outcome.piece for outcome in found if outcome.valid]
    wanted = [(_in_simulator(piece.twin.scenario), piece.scenario.seed) for piece in pieces]
    runs = sweep(wanted, jobs=jobs, store=store, progress=progress)
    return StandIns({piece.scenario.hash: run for piece, run in zip(pieces, runs, strict=True)}, {})


def _in_simulator(scenario: Scenario) -> Scenario:
    """The scenario of a twin, with its flows on Linux simulated like the others."""
    form = scenario.to_dict()
    flows = [{key: value for key, value in flow.items() if key != "backend"} for flow in form.get("flow", [])]
    return Scenario.from_dict(form | {"flow": flows})


def outcomes(
    planned: KernelRuns,
    store: Store,
    progress: Progress | None,
    *,
    jobs: int | None = None,
    until_s: float | None = None,
) -> list[Outcome]:
    """Make the planned runs, and return the outcome of each; a failed run does not stop the other runs.

    Args:
        planned: the runs.
        store: folder of the results.
        progress: called with the total progress.
        jobs: number of simultaneous runs, for a carrier in virtual time; one per core by default.
        until_s: monotonic time at which the budget is spent; unfinished runs are cancelled then.
    """
    carrier = planned.carrier
    failures: dict[tuple[str, int], str] = {}
    why = "it was not run"
    for again in (True, False):
        wanted = [(one.twin.scenario, one.scenario.seed) for one in planned.to_run if one.again == again]
        try:
            sweep(
                wanted, on=carrier.backend, jobs=1 if carrier.alone else jobs, store=store, in_order=True, force=again,
                progress=progress if until_s is None else until(until_s, progress),
            )  # fmt: skip
        except Cancelled:
            why = "the budget was spent before it was run"
            break
        except SweepError as error:
            failures |= {(one.scenario.hash, one.seed): f"it failed: {one.error}" for one in error.failures}
    engine = backends.get(carrier.backend).version()
    return [_outcome(piece, carrier, store, engine, failures, why) for piece in planned.pieces]


def _outcome(
    piece: Piece, carrier: Carrier, store: Store, engine: str, failures: Mapping[tuple[str, int], str], why: str
) -> Outcome:
    key = (piece.twin.scenario.hash, piece.scenario.seed)
    run = store.find(run_id(key[0], carrier.backend, key[1]), engine=engine)
    if run is None or key in failures:
        return Outcome(piece, None, failures.get(key, why if piece.to_run else "it was not run"))
    failed = carrier.failed_checks(run)
    return Outcome(piece, run, f"it is not valid: {'; '.join(failed)}" if failed else "")
