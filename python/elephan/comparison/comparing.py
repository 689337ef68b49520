"""Comparison of algorithms on one path: the recommended algorithm, and the harm of each algorithm to other flows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from elephan import backends
from elephan.comparison.answer import rough_time
from elephan.comparison.paths import Options, Path, from_options, from_scenario
from elephan.comparison.preferences import preference
from elephan.comparison.result import Comparison
from elephan.comparison.schedule import Search, Watch
from elephan.comparison.situations import ALONE, LATE, Cast
from elephan.evaluation.bench import Bench, Named, budget_s, labelled
from elephan.runs import Store
from elephan.scenario import Scenario, ScenarioError, own
from elephan.scenario.units import PS_PER_S, parse_positive_time

RIVALS = ("cubic",)
BUDGET = "60 s"
LEAST_BUDGET_S = 5
LEAST_DURATION_S = 14
LEAST_HORIZON_S = 2
SHORT_FLOWS_LOAD = "10%"
"""Default background load if short flows are preferred."""


class NothingObservedError(Exception):
    """The budget was spent before every algorithm had one run; the message names a remedy."""


def compare(
    algorithms: Sequence[Named],
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    *,
    loss: str | None = None,
    flows: int = 1,
    background: str | None = None,
    queue: str | None = None,
    ecn: bool = False,
    trace: str | Sequence[str] | None = None,
    path: str | None = None,
    scenario: Scenario | str | FilePath | None = None,
    prefer: str | None = None,
    rivals: Sequence[str] = RIVALS,
    seeds: int | None = None,
    budget: str = BUDGET,
    on: str = "sim",
    duration: str | None = None,
    horizon: str | None = None,
    stack: str | Mapping[str, Any] = "linux",
    seed: int = 1,
    jobs: int | None = None,
    store: Store | None = None,
    watch: Watch | None = None,
    started_s: float | None = None,
) -> Comparison:
    """Compare algorithms on one path, and recommend one.

    Each algorithm runs alone, beside flows of each rival, and with late-starting flows of its own kind, and each of
    these runs is repeated with several seeds. Numbers are those of the long run: means over the second half of runs
    that are so long that twice the duration would give the same. The first look comes within ten seconds, and is
    refined until the answer is settled or the budget is spent. A path whose long run does not fit gets no
    recommendation.

    Args:
        algorithms: names, with presets where wanted (``cubic:2005``), or your own: ``./mine.py:Mine``, or the class.
        rate, rtt, buffer: settings of the bottleneck, with units.
        loss: random loss on the path, as in a scenario.
        flows: number of flows of each algorithm.
        background: load of background traffic in each direction: a fraction of the bottleneck's rate (``"20%"``) or a
            rate.
        queue: queue discipline of the bottleneck.
        ecn: explicit congestion notification (RFC 3168) in the endpoints.
        trace: file with the rate over time of both directions, or a forward and a reverse file, in place of ``rate``:
            Mahimahi's opportunities, a table, or a model of netem-trace.
        path: a named path, as ``elephan paths`` lists them, instead of ``rate``, ``rtt`` and ``trace``.
        scenario: a scenario or a scenario file, instead of all arguments above; the scenario's flows get the
            algorithms.
        prefer: the objective: balanced (default), goodput, delay, fairness or short-flows.
        rivals: the algorithms of other hosts.
        seeds: replicates of each run; by default 8, and 16 or 32 if these do not decide.
        budget: largest wall time.
        on: the backend.
        duration: simulated time of each run, of which the second half is measured; by default that of the long run.
        horizon: life of a flow for which the question is asked; numbers are means over the whole life. Not with
            ``duration``.
        stack: stack of all endpoints.
        seed: seed of the first replicate.
        jobs: number of simultaneous runs.
        store: folder of saved results.
        watch: called with each new :class:`~elephan.comparison.answer.Answer`.
        started_s: ``time.monotonic()`` from which the budget counts; now by default.

    Raises:
        ScenarioError: a name or a quantity is wrong.
        NothingObservedError: the budget is too small for one run of each algorithm.
        SweepError: a run failed.
    """
    started_s = time.monotonic() if started_s is None else started_s
    wanted = preference(prefer)
    allowed_s = _budget(budget)
    notes: list[str] = []
    options = Options(rate, rtt, buffer, loss, background, queue, trace, path, flows, ecn, stack, seed)
    if scenario is not None:
        place = _scenario_path(scenario, options)
    else:
        if wanted.short and background is None:
            options = replace(options, background=SHORT_FLOWS_LOAD)
            notes.append(f"background {SHORT_FLOWS_LOAD} each way, since short flows are preferred")
        place = from_options(options)
    if wanted.short and not place.has_background:
        raise ScenarioError("short flows are preferred, and the scenario has no [[traffic]]", source="prefer")
    if on == "sim" and place.is_long_and_fat and "resolution" not in place.tables:
        place = place.in_trains()
        notes.append(_IN_TRAINS)
    place = _with_duration(place, duration, horizon)
    cast = _cast(algorithms, rivals)
    varies = _check(cast, place, on)
    bench = Bench(on, jobs, store, allowed_s, started_s, notes)
    search = Search(cast, place, wanted, bench, seeds, varies, watch)
    found = search.run()
    if found is None:
        spent_s, (needed_s, duration_s) = time.monotonic() - started_s, search.needed
        raise NothingObservedError(
            f"no run of each algorithm on {place.title} ended within {spent_s:.0f} s; runs of {duration_s:g} s take "
            f"about {rough_time(needed_s)} here: give a larger budget"
            + ("" if place.life else ", or ask for a short life with '--horizon 2s'")
            + (f" ({notes[-1]})" if notes else "")
        )
    words, evidence, decision = found
    return Comparison(words, decision, evidence, cast, place, wanted, allowed_s, time.monotonic() - started_s)


_IN_TRAINS = (
    "runs in trains of segments where an algorithm allows them, since the path is long and fat; each compares parts of "
    "itself with single segments, and goes on in these if the two differ by more than 1 %"
)


def _scenario_path(scenario: Scenario | str | FilePath, options: Options) -> Path:
    if stated := options.of_the_path:
        raise ScenarioError("the scenario has the path; leave this out, or change the scenario", source=stated[0])
    return from_scenario(scenario if isinstance(scenario, Scenario) else Scenario.load(scenario))


def _budget(budget: str) -> float:
    allowed_s = budget_s(budget)
    if allowed_s < LEAST_BUDGET_S:
        raise ScenarioError(f"'{budget}' is too short; at least {LEAST_BUDGET_S} s", source="budget")
    return allowed_s


def _with_duration(path: Path, duration: str | None, horizon: str | None) -> Path:
    if duration is None and horizon is None:
        return path
    if duration is not None and horizon is not None:
        raise ScenarioError("a horizon is the duration of the runs; leave one of the two out", source="horizon")
    name, text = ("horizon", str(horizon)) if duration is None else ("duration", duration)
    try:
        seconds = parse_positive_time(text) / PS_PER_S
    except ScenarioError as error:
        raise error.located(source=name) from None
    if horizon is not None and seconds < LEAST_HORIZON_S:
        raise ScenarioError(f"'{horizon}' is too short; at least {LEAST_HORIZON_S} s", source="horizon")
    if duration is not None and seconds < LEAST_DURATION_S:
        raise ScenarioError(
            f"'{duration}' is too short; late-starting flows, from an eighth of it on, are there for 10 s and more, so "
            f"it is at least {LEAST_DURATION_S} s",
            source="duration",
        )
    return replace(path, duration_s=seconds, life=horizon is not None)


def _cast(algorithms: Sequence[Named], rivals: Sequence[str]) -> Cast:
    if not algorithms:
        raise ScenarioError("no algorithm to compare", source="compare")
    if isinstance(algorithms, str):
        raise ScenarioError(f"{algorithms!r} is one name; write a list, [{algorithms!r}]", source="compare")
    specs = labelled([*algorithms, *rivals])
    labels = {spec: label for label, spec in specs.items()}
    wanted, others = ([labels[own.pin(name)] for name in names] for names in (algorithms, rivals))
    if clash := next((label for label in specs if label in (ALONE, LATE)), None):
        raise ScenarioError(f"'{clash}' is the name of a situation here; rename the class", source="compare")
    return Cast(specs, tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(others)))


def _check(cast: Cast, path: Path, on: str) -> bool:
    """Reject scenarios that the backend cannot run, before the runs. Returns True if results depend on the seed."""
    backend = backends.get(on)
    varies = False
    for situation in cast.situations(path, LEAST_DURATION_S):
        backend.check(situation.scenario)
        varies = varies or backend.varies(situation.scenario)
    return varies
