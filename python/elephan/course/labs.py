"""The labs: one file each, checked completely when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from elephan.course import expressions, readings
from elephan.course.schema import LabTable, RunTable, StepTable
from elephan.evaluation.tables import read
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.words import hint
from elephan.web.lessons import scenario_of, whole

FOLDER = Path(__file__).parent / "data"


@cache
def labs() -> tuple[LabTable, ...]:
    """All labs, in the order of their numbers.

    Raises:
        ScenarioError: a file has a mistake.
    """
    found = [load(path) for path in FOLDER.glob("*.toml")]
    return tuple(sorted(found, key=lambda lab: lab.number))


def lab(name: str) -> LabTable:
    """The lab with an id or a number.

    Raises:
        ScenarioError: there is no such lab.
    """
    known = {key: entry for entry in labs() for key in (entry.id, str(entry.number))}
    if name not in known:
        raise ScenarioError(f"'{name}' is not a lab; {hint(name, [entry.id for entry in labs()])}", source="lab")
    return known[name]


def load(path: Path) -> LabTable:
    """A lab from its file.

    Raises:
        ScenarioError: the file has a mistake; the message has its place.
    """
    found = read(path, LabTable)
    try:
        for name, run in found.runs.items():
            _check_run(found, name, run)
        ids = [step.id for step in found.step]
        for i, step in enumerate(found.step):
            if step.id in ids[:i]:
                raise ScenarioError("another step has this id", path=f"step[{i}].id")
            _check_step(found, step, f"step[{i}]")
    except ScenarioError as error:
        raise error.located(source=str(path)) from None
    return found


def settings(entry: LabTable, run: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Complete setting of a run of a lab in the page."""
    own = entry.runs[run].settings
    assert own is not None, f"{run} is a scenario"
    return whole({**own, **(changes or {})})


def scenario(entry: LabTable, run: str) -> Scenario:
    """The scenario of a run."""
    own = entry.runs[run]
    return (
        Scenario.from_dict(own.scenario)
        if own.scenario is not None
        else scenario_of(settings(entry, run), sampled=True)
    )


def _check_run(entry: LabTable, name: str, run: RunTable) -> None:
    if (run.settings is None) == (run.scenario is None):
        raise ScenarioError("either settings or a scenario must be written", path=f"runs.{name}")
    if entry.place == "page" and run.settings is None:
        raise ScenarioError("a lab in the page has settings", path=f"runs.{name}.scenario")
    try:
        scenario(entry, name)
    except ScenarioError as error:
        raise ScenarioError(f"{error.path}: {error.message}", path=f"runs.{name}") from None


def _check_step(entry: LabTable, step: StepTable, path: str) -> None:
    if step.run not in entry.runs:
        raise ScenarioError(f"'{step.run}' is not a run; {hint(step.run, list(entry.runs))}", path=f"{path}.run")
    for field, written in step.needed().items():
        if not written:
            raise ScenarioError(f"missing; a step of the kind '{step.kind}' has it", path=f"{path}.{field}")
    for text in step.expressions():
        for run, name, flow in expressions.names(expressions.parse(text)):
            if run is not None and run not in entry.runs:
                raise ScenarioError(f"'{text}': '{run}' is not a run of the lab", path=path)
            if not readings.is_known(name, flow):
                known = [*readings.SETTINGS, *readings.OF_RUN, *readings.OF_FLOW]
                raise ScenarioError(f"'{text}': '{name}' is not a number of a run; {hint(name, known)}", path=path)
