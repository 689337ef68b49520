"""Reader of suites: included suites by name, user-defined suites by folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from elephan.evaluation import tables
from elephan.evaluation.relations import RELATIONS
from elephan.evaluation.tables import known
from elephan.evaluation.templates import filled, left_open
from elephan.metrics.registry import find, get, registry
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.words import hint
from elephan.suites.drawn import axis_of
from elephan.suites.schema import CriterionTable, CurveTable, EllipseTable, SuiteTable
from elephan.suites.suite import Subject, Suite

FOLDER = Path(__file__).parent
FILE = "suite.toml"
_NOTHING = {"server": ["sh"], "client": ["sh"], "port": 4433}
_PROBES = {
    "algorithm": Subject("cubic", "cubic"),
    "queue": Subject("droptail", "droptail"),
    "program": Subject("sh", "sh", program=_NOTHING),
}
"""Subject with which a suite's scenarios are checked."""


def names() -> list[str]:
    """Ids of the included suites."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}"))


def included() -> list[Suite]:
    """The included suites, without the checks that need scenarios."""
    return [read(FOLDER / name / FILE) for name in names()]


def listing() -> list[dict[str, Any]]:
    """Suites for ``elephan list``."""
    found = [one.table for one in included()]
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
    return Suite(tables.read(path, SuiteTable, "no such file; a suite is a folder that has one"), path)


def checked(suite: Suite) -> Suite:
    """The suite, if all names in its criteria exist and all of its scenarios can be run.

    Raises:
        ScenarioError: the errors of :func:`load`.
    """
    try:
        _check_names(suite)
        for experiment in suite.experiments:
            both = [cell for quick in (True, False) for cell in suite.cells(experiment, quick=quick)]
            for cell in {cell.name: cell for cell in both}.values():
                _check_scenario(suite, experiment, suite.scenario(experiment, cell, _PROBES[suite.table.judges]))
    except ScenarioError as error:
        raise tables.in_file(error, suite.file) from None
    return suite


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Within this context, add the place of a mistake to error messages."""
    try:
        yield
    except ScenarioError as error:
        raise error.located(path=path) from None


def _check_names(suite: Suite) -> None:
    table = suite.table
    ellipses = [row.id for row in table.ellipse]
    _check_unique([row.id for row in table.experiment], "experiment")
    _check_unique([row.id for row in table.criterion], "criterion")
    for i, experiment in enumerate(table.experiment):
        with _at(f"experiment[{i}]"):
            if experiment.cells is not None:
                known(experiment.cells, table.cells, "a list of cells", "cells")
            for field, grid in (("grid", experiment.grid), ("quick_grid", experiment.quick_grid)):
                for name, values in grid.items():
                    if not values:
                        raise ScenarioError("empty; write at least one value", path=f"{field}.{name}")
            for name in experiment.quick_grid:
                known(name, experiment.grid, "in the grid", "quick_grid")
    for name, rows in table.cells.items():
        for i, cell in enumerate(rows):
            for field in cell.quick if isinstance(cell.quick, dict) else ():
                known(field, cell.values, "a value of this cell", f"cells.{name}[{i}].quick")
    _check_unique(ellipses, "ellipse")
    for i, ellipse in enumerate(table.ellipse):
        with _at(f"ellipse[{i}]"):
            _check_drawn(table, ellipse)
            for field, name in (("delay", ellipse.delay), ("goodput", ellipse.goodput)):
                _check_metric(name, field)
                if get(name).scope == "flow":
                    raise ScenarioError(f"the metric '{name}' does not have one number for each run", path=field)
    _check_unique([*ellipses, *(row.id for row in table.curve)], "curve")
    for i, curve in enumerate(table.curve):
        with _at(f"curve[{i}]"):
            _check_drawn(table, curve)
            _check_curve(suite, curve)
    for i, criterion in enumerate(table.criterion):
        with _at(f"criterion[{i}]"):
            _check_section(table, criterion.section)
            _check_words(criterion)
            _check_criterion(suite, criterion)


def _check_drawn(table: SuiteTable, row: EllipseTable | CurveTable) -> None:
    _check_section(table, row.section)
    judged = dict.fromkeys(criterion.experiment for criterion in table.criterion)
    known(row.experiment, judged, "an experiment of a criterion", "experiment")


def _check_curve(suite: Suite, row: CurveTable) -> None:
    _check_metric(row.metric, "metric")
    for quick in (False, True):
        # A cell needs a position on the x axis that no other cell has.
        cells = suite.cells(row.experiment, quick=quick)
        for cell in cells:
            known(row.x, cell.values, f"a value of the cell '{cell.name}'", "x")
        axis = axis_of(row, cells)
        if axis.numbers is None:
            raise ScenarioError(f"the values of '{row.x}' are not quantities of one kind", path="x")
        if len(set(axis.numbers)) < len(cells):
            raise ScenarioError(f"two cells have the same '{row.x}'; a curve has one for each", path="x")
    if row.flows is None and get(row.metric).scope == "flow":
        message = f"the metric '{row.metric}' does not have one number for each run; name flows"
        raise ScenarioError(message, path="metric")


def _check_metric(name: str, field: str) -> None:
    if find(name) is None:
        known(name, registry(), "a metric", field, "elephan list metrics")


def _check_section(table: SuiteTable, section: str) -> None:
    if table.sections:
        known(section, table.sections, "a section", "section")


def _check_words(criterion: CriterionTable) -> None:
    for field in ("text", "reason"):
        for name in left_open(getattr(criterion, field)):
            raise ScenarioError(f"'{{{name}}}' is not a column of this criterion", path=field)


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
    known(criterion.experiment, suite.experiments, "an experiment", "experiment")
    if baseline is not None and baseline.experiment is not None:
        known(baseline.experiment, suite.experiments, "an experiment", "baseline.experiment")
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


def _check_scenario(suite: Suite, experiment: str, found: Scenario) -> None:
    """Reject links and flows that a scenario of an experiment does not have."""
    links = [link.name for link in found.form.links if link.record]
    names = [*found.flow_names, *(source.flow.name for source in found.form.traffic)]
    for i, criterion in enumerate(suite.table.criterion):
        with _at(f"criterion[{i}]"):
            lists = [("flows", criterion.experiment, criterion.flows)]
            if criterion.baseline is not None:
                at = criterion.baseline.experiment or criterion.experiment
                lists.append(("baseline.flows", at, criterion.baseline.flows))
            for field, at, flows in lists:
                for name in flows or () if at == experiment else ():
                    known(name, names, f"a flow of '{experiment}'", field)
            if criterion.link is not None and criterion.experiment == experiment:
                known(criterion.link, links, f"a recorded link of '{experiment}'", "link")
