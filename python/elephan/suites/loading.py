"""Reader of suites: included suites by name, user-defined suites by folder."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from elephan.evaluation.relations import RELATIONS
from elephan.evaluation.templates import filled
from elephan.metrics.registry import find, get, registry
from elephan.scenario import ScenarioError, reading
from elephan.scenario.errors import join_path
from elephan.scenario.schema import field_names
from elephan.scenario.words import hint
from elephan.suites.drawn import axis_of
from elephan.suites.schema import TABLES, CriterionTable, CurveTable, SuiteTable
from elephan.suites.suite import Cell, Subject, Suite

FOLDER = Path(__file__).parent
FILE = "suite.toml"
_MOST_BYTES = 4_000_000
_PROBES = {"algorithm": Subject("cubic", "cubic"), "queue": Subject("droptail", "droptail")}
"""Algorithm or queue discipline with which a suite's scenarios are checked."""


def names() -> list[str]:
    """Ids of the included suites."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}"))


def listing() -> list[dict[str, Any]]:
    """Suites for ``elephan list``."""
    found = [read(FOLDER / name / FILE).table for name in names()]
    return [{"name": t.id, "kind": "suite", "title": t.title, "source": t.citation, "parameters": []} for t in found]


def load(name: str | Path) -> Suite:
    """Load a suite by its id or its folder (``./mysuite/``), and check it completely.

    Raises:
        ScenarioError: there is no such suite, or its file has a mistake; the message has the field and a suggestion.
    """
    text = str(name)
    if text in names():
        return checked(read(FOLDER / text / FILE))
    folder = Path(text)
    if folder.name == FILE:
        folder = folder.parent
    if not folder.is_dir():
        said = "no such folder" if "/" in text else f"not a suite; {hint(text, names())}; a folder is written ./{text}"
        raise ScenarioError(f"'{text}': {said}", source="suite")
    return checked(read(folder / FILE))


def read(path: Path) -> Suite:
    """Read a suite's file, without the checks that need scenarios.

    Raises:
        ScenarioError: the errors of :func:`load`.
    """
    try:
        return Suite(SuiteTable(**tomllib.loads(reading.read_text(path, _MOST_BYTES))), path)
    except FileNotFoundError:
        raise ScenarioError("no such file; a suite is a folder that has one", source=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"not TOML: {str(error)[:1].lower()}{str(error)[1:]}", source=str(path)) from None
    except ValidationError as error:
        raise _first_problem(error).located(source=str(path)) from None
    except ScenarioError as error:
        raise error.located(source=str(path)) from None


def _first_problem(error: ValidationError) -> ScenarioError:
    order = {"extra_forbidden": 0, "elephan": 1}
    found = min(error.errors(include_url=False), key=lambda problem: order.get(problem["type"], 2))
    place, kind = found["loc"], found["type"]
    tables = [TABLES[step] for step in place[:-1] if isinstance(step, str) and step in TABLES]
    table: type[BaseModel] = tables[-1] if tables else SuiteTable
    path = join_path(*place)
    if kind == "extra_forbidden":
        known = field_names(table)  # type: ignore[arg-type]  # needs the fields of a model only
        return ScenarioError(f"not a field; {hint(str(place[-1]), known)}", path=path)
    if kind == "missing":
        return ScenarioError("missing; it must be written", path=path)
    message = found["msg"]
    if kind != "elephan":
        message = f"{found['input']!r}: {message[:1].lower()}{message[1:]}"
    return ScenarioError(message, path=path)


def checked(suite: Suite) -> Suite:
    """The suite, if all names in its criteria exist and all of its scenarios can be run.

    Raises:
        ScenarioError: the errors of :func:`load`.
    """
    try:
        _check_names(suite)
    except ScenarioError as error:
        raise error.located(source=str(suite.file)) from None
    for experiment in suite.experiments:
        for cell in {
            cell.name: cell for quick in (True, False) for cell in suite.cells(experiment, quick=quick)
        }.values():
            found = suite.scenario(experiment, cell, _PROBES[suite.table.judges])
            _check_flows(suite, experiment, [*found.flow_names, *(source.flow.name for source in found.form.traffic)])
            _check_links(suite, experiment, [link.name for link in found.form.links if link.record])
    return suite


def _check_names(suite: Suite) -> None:
    table = suite.table
    _check_unique([row.id for row in table.experiment], "experiment")
    _check_unique([row.id for row in table.criterion], "criterion")
    for i, experiment in enumerate(table.experiment):
        if experiment.cells is not None and experiment.cells not in table.cells:
            message = f"'{experiment.cells}' is not a list of cells; {hint(experiment.cells, table.cells)}"
            raise ScenarioError(message, path=f"experiment[{i}].cells")
        for field, grid in (("grid", experiment.grid), ("quick_grid", experiment.quick_grid)):
            for name, values in grid.items():
                if not values:
                    raise ScenarioError("empty; write at least one value", path=f"experiment[{i}].{field}.{name}")
        for name in experiment.quick_grid:
            if name not in experiment.grid:
                message = f"'{name}' is not in the grid; {hint(name, experiment.grid)}"
                raise ScenarioError(message, path=f"experiment[{i}].quick_grid")
    _check_cells(table)
    _check_ellipses(suite)
    _check_curves(suite)
    for i, criterion in enumerate(table.criterion):
        try:
            _check_section(table, criterion.section)
            _check_criterion(suite, criterion)
        except ScenarioError as error:
            raise error.located(path=f"criterion[{i}]") from None


def _check_cells(table: SuiteTable) -> None:
    for name, rows in table.cells.items():
        for i, row in enumerate(rows):
            for field in row.quick if isinstance(row.quick, dict) else ():
                if field not in row.values:
                    message = f"'{field}' is not a value of this cell; {hint(field, row.values)}"
                    raise ScenarioError(message, path=f"cells.{name}[{i}].quick")


def _check_ellipses(suite: Suite) -> None:
    table = suite.table
    _check_unique([row.id for row in table.ellipse], "ellipse")
    for i, row in enumerate(table.ellipse):
        try:
            _check_section(table, row.section)
            _check_judged(table, row.experiment)
            for field, name in (("delay", row.delay), ("goodput", row.goodput)):
                _check_metric(name, field)
                if get(name).scope == "flow":
                    raise ScenarioError(f"the metric '{name}' does not have one number for each run", path=field)
        except ScenarioError as error:
            raise error.located(path=f"ellipse[{i}]") from None


def _check_curves(suite: Suite) -> None:
    table = suite.table
    _check_unique([*(row.id for row in table.ellipse), *(row.id for row in table.curve)], "curve")
    for i, row in enumerate(table.curve):
        try:
            _check_section(table, row.section)
            _check_judged(table, row.experiment)
            _check_metric(row.metric, "metric")
            for quick in (False, True):
                _check_x(row, suite.cells(row.experiment, quick=quick))
            if row.flows is None and get(row.metric).scope == "flow":
                raise ScenarioError(
                    f"the metric '{row.metric}' does not have one number for each run; name flows", path="metric"
                )
        except ScenarioError as error:
            raise error.located(path=f"curve[{i}]") from None


def _check_x(row: CurveTable, cells: Sequence[Cell]) -> None:
    """Reject an x axis on which a cell has no position, or two cells have the same position."""
    for cell in cells:
        if row.x not in cell.values:
            message = f"'{row.x}' is not a value of the cell '{cell.name}'; {hint(row.x, cell.values)}"
            raise ScenarioError(message, path="x")
    axis = axis_of(row, cells)
    if axis.numbers is None:
        raise ScenarioError(f"the values of '{row.x}' are not quantities of one kind", path="x")
    if len(set(axis.numbers)) < len(cells):
        raise ScenarioError(f"two cells have the same '{row.x}'; a curve has one for each", path="x")


def _check_judged(table: SuiteTable, experiment: str) -> None:
    judged = dict.fromkeys(criterion.experiment for criterion in table.criterion)
    if experiment not in judged:
        message = f"'{experiment}' is not an experiment of a criterion; {hint(experiment, judged)}"
        raise ScenarioError(message, path="experiment")


def _check_metric(name: str, field: str) -> None:
    if find(name) is None:
        message = f"'{name}' is not a metric; {hint(name, registry(), lister='elephan list metrics')}"
        raise ScenarioError(message, path=field)


def _check_section(table: SuiteTable, section: str) -> None:
    if table.sections and section not in table.sections:
        raise ScenarioError(f"'{section}' is not a section; {hint(section, table.sections)}", path="section")


def _check_options(criterion: CriterionTable) -> None:
    """Reject a criterion with an option that its metric does not accept."""
    taken = signature(get(criterion.metric).function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return
    for field in ("flows", "link", "window"):
        if getattr(criterion, field) is not None and field not in taken:
            raise ScenarioError(f"the metric '{criterion.metric}' is not one of a {field.rstrip('s')}", path=field)


def _check_unique(ids: Sequence[str], kind: str) -> None:
    for i, name in enumerate(ids):
        if name in ids[:i]:
            raise ScenarioError(f"'{name}' is there twice", path=f"{kind}[{i}].id")


def _check_criterion(suite: Suite, criterion: CriterionTable) -> None:
    baseline = criterion.baseline
    named = [("experiment", criterion.experiment)]
    if baseline is not None and baseline.experiment is not None:
        named.append(("baseline.experiment", baseline.experiment))
    for field, name in named:
        if name not in suite.experiments:
            raise ScenarioError(f"'{name}' is not an experiment; {hint(name, suite.experiments)}", path=field)
    _check_metric(criterion.metric, "metric")
    _check_options(criterion)
    needs = RELATIONS[criterion.relation].takes
    if getattr(criterion, needs) is None:
        form = ", [smallest, largest]" if needs == "range" else ""
        raise ScenarioError(f"missing; the relation '{criterion.relation}' needs it{form}", path=needs)
    if criterion.better is None and not any(map(math.isinf, criterion.allowed[:2])):
        raise ScenarioError(f"missing; with {criterion.relation}, write which direction is better", path="better")
    for quick in (True, False):
        for cell in suite.cells(criterion.experiment, quick=quick):
            if baseline is not None:
                filled({"baseline": {"algorithm": baseline.algorithm}}, {**cell.values, suite.table.judges: ""})
            if criterion.per is not None and criterion.per not in cell.values:
                raise ScenarioError(f"the cell '{cell.name}' has no {criterion.per}", path="per")


def _check_links(suite: Suite, experiment: str, known: Sequence[str]) -> None:
    for i, criterion in enumerate(suite.table.criterion):
        link = criterion.link
        if link is not None and criterion.experiment == experiment and link not in known:
            message = f"'{link}' is not a recorded link of '{experiment}'; {hint(link, known)}"
            raise ScenarioError(message, path=f"criterion[{i}].link", source=str(suite.file))


def _check_flows(suite: Suite, experiment: str, known: Iterable[str]) -> None:
    names = list(known)
    for i, criterion in enumerate(suite.table.criterion):
        lists = [("flows", criterion.experiment, criterion.flows or ())]
        if criterion.baseline is not None:
            at = criterion.baseline.experiment or criterion.experiment
            lists.append(("baseline.flows", at, criterion.baseline.flows or ()))
        for field, at, flows in lists:
            for name in flows if at == experiment else ():
                if name not in names:
                    message = f"'{name}' is not a flow of '{experiment}'; {hint(name, names)}"
                    path = f"criterion[{i}].{field}"
                    raise ScenarioError(message, path=path, source=str(suite.file))
