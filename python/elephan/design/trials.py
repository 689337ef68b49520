"""Runs of a candidate: alone, beside CUBIC, and with a late-starting flow of its own kind.

The whole life of a flow is measured, its start included, so that no behavior pays because it happens at a certain time.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan import backends, metrics
from elephan.design.places import Place, times_s
from elephan.metrics.batch import Maker, Point, evaluated
from elephan.runs import Cancelled, Run, Store, SweepError, sweep
from elephan.scenario import Scenario, ScenarioError, c_files, own

ALONE, BESIDE, LATE = "alone", "beside", "late"
SITUATIONS = (ALONE, BESIDE, LATE)
BASELINE = "cubic"
METRICS = ("goodput_mbps", "mean_queue_delay_ms")
"""Metrics of a run."""
_LOOPS_AFTER_S = 600.0
"""Wall time without a finished run on Linux; one of 36 s takes some seconds, and the compiler goes first."""

Parameters = Mapping[str, Any]


class TrialError(Exception):
    """A run of a candidate that failed; the message says where and why."""


@dataclass(frozen=True)
class Trial:
    """One run: a path, a situation, a seed, the simulated time, and the start of a late-starting flow, in s."""

    place: Place
    situation: str
    seed: int
    duration_s: float
    late_s: float

    @property
    def title(self) -> str:
        """The run in words."""
        with_ = {ALONE: "alone", BESIDE: f"beside {BASELINE}", LATE: "with a late-starting flow of its own kind"}
        return f"{with_[self.situation]} on {self.place.title}, seed {self.seed}"


@dataclass(frozen=True)
class Measured:
    """Numbers of one run: goodput of the candidate's flow and of the other flow, and mean queueing delay."""

    own_mbps: float
    other_mbps: float
    queue_ms: float


def plan(places: Sequence[Place], seeds: int, mean_s: float, author: str = "") -> list[Trial]:
    """All runs on some paths; the first run of each situation comes first, so that failures show early.

    Args:
        places: the paths.
        seeds: number of replicates on each.
        mean_s: mean simulated time of a run, s.
        author: digest of the candidate's text, by which the durations are drawn.
    """
    return [
        Trial(place, situation, seed, *times_s(place, seed, mean_s, f"{author} {situation}" if author else ""))
        for seed in range(1, seeds + 1)
        for place in places
        for situation in SITUATIONS
    ]


def measure(
    spec: str, parameters: Parameters, trials: Sequence[Trial], *, peer: str | None = None, jobs: int | None = None,
    memory: int | None = None, threads: Maker | None = None,
) -> dict[Trial, Measured]:  # fmt: skip
    """Run trials of an algorithm.

    Args:
        spec: name of the algorithm.
        parameters: parameters of the algorithm.
        trials: the runs.
        peer: the name of a late-starting flow of its own kind, if it has another one.
        jobs, memory, threads: as in :func:`elephan.metrics.batch.evaluated`.

    Raises:
        TrialError: a run failed.
        ScenarioError: the algorithm or a parameter is wrong.
    """
    specs = (spec, peer or spec)
    wanted = {situation: [trial for trial in trials if trial.situation == situation] for situation in SITUATIONS}
    wanted = {situation: found for situation, found in wanted.items() if found}
    tables = [(base(specs, parameters, situation), list(map(_row, found))) for situation, found in wanted.items()]
    done = evaluated(tables, METRICS, jobs=jobs, memory=memory, threads=threads)
    return {
        trial: _measured(point, specs, trial)
        for found, points in zip(wanted.values(), done, strict=True)
        for trial, point in zip(found, points, strict=True)
    }


def _measured(point: Point, specs: tuple[str, str], trial: Trial) -> Measured:
    own_mbps = point.number(f"goodput_mbps[{flow_name('subject', specs[0])}]")
    if own_mbps is None:
        raise TrialError(f"{trial.title}: {point.why(METRICS)}")
    other = flow_name("other", specs[1] if trial.situation == LATE else BASELINE)
    other_mbps = point.number(f"goodput_mbps[{other}]")
    # Without a packet through the queue there is no delay, and the goodput has the reason.
    queue_ms = point.number("mean_queue_delay_ms")
    return Measured(own_mbps, math.nan if other_mbps is None else other_mbps, queue_ms or 0.0)


def measure_on_linux(
    spec: str, parameters: Parameters, trials: Sequence[Trial], *, jobs: int | None = None,
    wall_s: float = _LOOPS_AFTER_S,
) -> dict[Trial, Measured]:  # fmt: skip
    """Run trials on a Linux kernel in virtual time, which compiles an algorithm in C.

    Nothing in a kernel ends a callback that loops, so the runs end if none is finished for ``wall_s``. The first run of
    each situation is made before all others, since a sweep goes on after a failure.

    Raises:
        TrialError: a run failed.
        ScenarioError: the algorithm, a parameter or the backend is wrong.
    """
    with tempfile.TemporaryDirectory(prefix="elephan-score-") as folder:
        # Two modules have no variables in common, as two copies of a class have none.
        specs = (spec, str(c_files.copy_of(Path(spec), Path(folder))) if spec.endswith(c_files.SUFFIX) else spec)
        scenarios = [base(specs, parameters, t.situation).replace(_row(t)) for t in trials]
        _compile(spec, dict(zip((t.situation for t in trials), scenarios, strict=True)).values())
        last_s, finished, done = time.monotonic(), 0, list[Run]()

        def watched(_done: float, _total: float, count: int, _all: int) -> bool:
            nonlocal last_s, finished
            if count > finished:
                last_s, finished = time.monotonic(), count
            return time.monotonic() - last_s < wall_s

        try:
            for part in scenarios[: len(SITUATIONS)], scenarios[len(SITUATIONS) :]:
                finished = 0
                done += sweep(part, on="linux", jobs=jobs, store=Store(folder), progress=watched)
        except Cancelled:
            raise TrialError(f"no run ended for {wall_s:g} s; each function must end soon") from None
        except SweepError as error:
            failure = error.failures[0]
            raise TrialError(str(failure.error)) from None
        return {trial: _of_run(run) for trial, run in zip(trials, done, strict=True)}


def _compile(spec: str, scenarios: Iterable[Scenario]) -> None:
    """Build the kernels before the time of the runs begins, since another build may be under way.

    Raises:
        TrialError: the compiler rejects the candidate.
        ScenarioError: a parameter or the backend is wrong.
    """
    backend = backends.get("linux")
    for scenario in scenarios:
        try:
            backend.check(scenario)
        except ScenarioError as error:
            if error.path or not str(error).partition(":")[0].endswith(Path(spec).name):
                raise
            raise TrialError(str(error)) from None


def _of_run(run: Run) -> Measured:
    rates = metrics.goodput_mbps(run)
    own_mbps, *others = (rates[name] for name in run.scenario.flow_names)
    queue_ms = 0.0
    with suppress(metrics.MetricError):  # no packet left the queue
        queue_ms = metrics.mean_queue_delay_ms(run)
    return Measured(own_mbps, others[0] if others else math.nan, queue_ms)


def base(specs: tuple[str, str], parameters: Parameters, situation: str) -> Scenario:
    """The scenario whose path the rows of a table change."""
    flows = [_flow("subject", specs[0], parameters)]
    if situation != ALONE:
        flows.append(_flow("other", specs[1], parameters) if situation == LATE else _flow("other", BASELINE, {}))
    return Scenario.dumbbell(
        flows, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="10 s", sample_period="500 ms",
        perturb="hosts", measure={"from": "0 s"},
    )  # fmt: skip


def _row(trial: Trial) -> dict[str, Any]:
    row = {**trial.place.changes, "seed": trial.seed, "duration": f"{trial.duration_s:g} s"}
    if trial.situation == LATE:
        start = f"{trial.late_s:g} s"
        row |= {"flow[1].start": start, "measure.from": start}
    return row


def _flow(role: str, spec: str, parameters: Parameters) -> dict[str, Any]:
    return {"name": flow_name(role, spec), "algorithm": spec, "parameters": dict(parameters)}


def flow_name(role: str, spec: str) -> str:
    """Name of a flow. A flow's random numbers depend on its name, and the name of a user's algorithm on its source, so
    a source cannot contain what its seeds will be."""
    return f"{role}-{own.digest(spec)[:8]}" if own.pinned(spec) else role
