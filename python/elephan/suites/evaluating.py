"""`evaluate`: judges one or several algorithms by one suite."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elephan import backends
from elephan.evaluation.bench import Bench, Named, Progress, budget_s, labelled
from elephan.runs import Store
from elephan.scenario import Scenario, ScenarioError, catalog, own, transports
from elephan.suites import drawn, programs
from elephan.suites.limits import with_limits
from elephan.suites.loading import load
from elephan.suites.result import Evaluation, outcomes
from elephan.suites.schedule import Schedule
from elephan.suites.suite import Subject, Suite

DEFAULT, DEFAULT_OF_PROGRAMS = "rfc9743", "transport"
Judged = Named | Mapping[str, Any]
"""An algorithm, a queue discipline, or a program as a table."""


def evaluate(
    algorithms: Sequence[Judged],
    suite: str | Path | Suite | None = None,
    *,
    against: Judged | None = None,
    only: Sequence[str] = (),
    limits: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    on: str | Sequence[str] | None = None,
    quick: bool = False,
    seeds: int | None = None,
    budget: str | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    allow_programs: bool = False,
) -> list[Evaluation]:
    """Judge algorithms or programs by a suite of criteria. Returns one evaluation for each of them and each backend,
    ordered by backend.

    Args:
        algorithms: names, optionally with presets, or your own algorithms: ``./mine.py:Mine``, or the class; for a
            suite that judges queue disciplines, their names; for one that judges programs, tables with ``server``,
            ``client`` and other fields of ``[[program]]``, and ``name``.
        suite: id of a suite, or the folder of your own; ``rfc9743`` by default, ``transport`` for programs.
        against: a baseline; each criterion is then also judged better, worse, same or not settled.
        only: the judged criteria or sections; all by default.
        limits: other limits of criteria, in the unit of the verdict (``{"tail-drop": "30 %"}``); a note says each.
        parameters: parameters of the judged algorithms (not of ``against``) that differ from the preset.
        on: the backend, or several backends; ``sim`` by default, ``linux`` for programs.
        quick: true for fewer cells and shorter runs, as the suite states; verdicts are then preliminary.
        seeds: number of replicates of each run; by default 8, then 16 and 32 if a criterion is not settled (only 8 if
            quick).
        budget: largest wall time; cells that do not fit are omitted, and an omitted cell never passes.
        jobs: number of simultaneous runs.
        store: folder of saved results, which are reused.
        progress: called with the progress of the runs.
        allow_programs: true to run the programs.

    Raises:
        ScenarioError: a name is wrong, the suite has a mistake, or programs are not allowed.
        SweepError: a run failed.
        Interrupted: the user pressed Ctrl-C; finished runs are saved, and the same call continues with the missing
            runs.
    """
    started_s = time.monotonic()
    if isinstance(algorithms, str | Mapping):
        raise ScenarioError(f"{algorithms!r} is one name; write a list, [{algorithms!r}]", source="evaluate")
    if not algorithms:
        raise ScenarioError("no algorithm to evaluate", source="evaluate")
    are_programs = any(isinstance(one, Mapping) for one in algorithms)
    named = suite or (DEFAULT_OF_PROGRAMS if are_programs else DEFAULT)
    part = (named if isinstance(named, Suite) else load(named)).part(only)
    read, changed = with_limits(part, limits or {})
    subjects, beside = _subjects(algorithms, against, parameters or {}, read.table.judges)
    if read.table.judges == "program":
        programs.require([*subjects, *([beside] if beside else [])], allow_programs)
    allowed_s = None if budget is None else budget_s(budget)
    where = Store() if store is None else store
    names = _backends(on or ("linux" if are_programs else "sim"))
    for subject, name in itertools.product([*subjects, *([beside] if beside else [])], names):
        _check_backend(subject, name)
    found: list[Evaluation] = []
    for i, name in enumerate(names):
        spent_s = time.monotonic() - started_s
        room_s = None if allowed_s is None else max(0.0, allowed_s - spent_s) / (len(names) - i)
        bench = Bench(name, jobs, where, room_s, allow_programs=allow_programs)
        schedule = Schedule(read, subjects, beside, quick, bench, seeds, progress)
        found += _evaluations(schedule, changed)
    return found


def _backends(on: str | Sequence[str]) -> list[str]:
    """Names of backends, without duplicates.

    Raises:
        ScenarioError: a name is not the name of a backend, or the list is empty.
    """
    names = list(dict.fromkeys([on] if isinstance(on, str) else on))
    if not names:
        raise ScenarioError("no backend", source="on")
    for name in names:
        try:
            backends.get(name)
        except ScenarioError as error:
            raise error.located(source="on") from None
    return names


def _evaluations(schedule: Schedule, changed: Sequence[str]) -> list[Evaluation]:
    """Run a schedule. Returns an evaluation of each algorithm, with the notes on changed limits first."""
    read, quick = schedule.suite, schedule.quick
    found = schedule.run()
    stated = (read.table.note, read.table.quick_note if quick else None)
    notes = [*changed, *(note for note in stated if note is not None)]
    notes += dict.fromkeys(schedule.bench.notes)
    notes += programs.note(schedule.subjects, schedule.against) if read.table.judges == "program" else []
    wall_s = time.monotonic() - schedule.bench.started_s
    found_by = schedule.evidence
    return [
        Evaluation(
            read, subject, schedule.against, quick, schedule.bench.on, outcomes(read, found[subject.label]),
            tuple(notes), wall_s, [run.manifest for run in found_by],
            tuple(drawn.trade_offs(found_by, read, subject, quick=quick)),
            tuple(drawn.curves(found_by, read, subject, quick=quick)),
        )
        for subject in schedule.subjects
    ]  # fmt: skip


def _subjects(
    algorithms: Sequence[Judged], against: Judged | None, parameters: Mapping[str, Any], judges: str
) -> tuple[list[Subject], Subject | None]:
    """The judged algorithms, queue disciplines or programs and the baseline, with unique labels."""
    if judges == "program":
        return _programs(algorithms, against, parameters)
    given = tuple(sorted(parameters.items()))
    shown = "".join(f" {name}={value}" for name, value in given)
    specs = _specs(algorithms, judges)
    for spec in specs.values():
        _check_parameters(spec, parameters, judges)
    subjects = [Subject(label + shown, spec, given) for label, spec in specs.items()]
    if against is None:
        return subjects, None
    try:
        ((label, spec),) = _specs([against], judges).items()
    except ScenarioError as error:
        raise error.located(source="against") from None
    return subjects, _beside(subjects, Subject(label, spec))


def _programs(
    stated: Sequence[Judged], against: Judged | None, parameters: Mapping[str, Any]
) -> tuple[list[Subject], Subject | None]:
    """The judged programs and the baseline."""
    if parameters:
        raise ScenarioError("a program has no parameters of an algorithm", source="parameter")
    found = []
    for source, ones in (("evaluate", stated), ("against", [] if against is None else [against])):
        tables = [one for one in ones if isinstance(one, Mapping)]
        if len(tables) != len(ones):
            raise ScenarioError("the suite judges programs; write a server and a client", source=source)
        found.append(programs.subjects(tables, source))
    subjects, beside = found
    return subjects, _beside(subjects, beside[0]) if beside else None


def _beside(subjects: Sequence[Subject], baseline: Subject) -> Subject:
    """The baseline, with a label that no judged subject has."""
    clash = any(subject.label == baseline.label for subject in subjects)
    return replace(baseline, label=f"{baseline.label} (baseline)") if clash else baseline


def _specs(given: Sequence[Judged], judges: str) -> dict[str, str]:
    names = [one for one in given if not isinstance(one, Mapping)]
    if len(names) != len(given):
        raise ScenarioError("the suite judges no programs", source="suite")
    if judges == "algorithm":
        return labelled(names)
    for name in names:
        catalog.check_name(str(name), catalog.queues(), "a queue discipline")
    return {str(name): str(name) for name in names}


def _check_parameters(spec: str, parameters: Mapping[str, Any], judges: str) -> None:
    """Reject parameters that an algorithm does not have; the parameters of a queue discipline are checked with each
    scenario."""
    if judges == "queue":
        return
    check = own.check_parameters if own.pinned(spec) else catalog.check_parameters
    try:
        check(spec, parameters)
    except ScenarioError as error:
        raise error.located(source="parameter" if parameters else "evaluate") from None


def _check_backend(subject: Subject, on: str) -> None:
    """Reject a program, or a controller of another transport, if its backend is not built; otherwise every cell would
    fail with the same error."""
    if subject.program is not None:
        field, judged = "client", programs.scenario(subject)
    elif transports.backend_of(subject.spec) == on:
        path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
        flow = {"algorithm": subject.spec}
        field, judged = "algorithm", Scenario.from_dict({"duration": "1 s", "dumbbell": path, "flow": [flow]})
    else:
        return
    try:
        backends.get(on).check(judged)
    except ScenarioError as error:
        raise ScenarioError(error.message, path=field, source="evaluate") from None
