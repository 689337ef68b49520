"""A loaded suite: its experiments with their cells, and its criteria."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from elephan.evaluation.templates import filled
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.commands import PROGRAM
from elephan.scenario.errors import join_path
from elephan.scenario.words import nearest
from elephan.suites.schema import CriterionTable, ExperimentTable, SuiteTable


@dataclass(frozen=True)
class Subject:
    """The judged algorithm, queue discipline or program.

    Attributes:
        label: name in tables.
        spec: name in a scenario.
        parameters: parameters that differ from the preset.
        program: fields of ``[[program]]`` of a judged program; ``None`` for an algorithm or a queue discipline.
    """

    label: str
    spec: str
    parameters: tuple[tuple[str, Any], ...] = ()
    program: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Cell:
    """One point of an experiment's grid.

    Attributes:
        name: short name, unique in its experiment.
        values: values of the placeholders.
    """

    name: str
    values: Mapping[str, Any] = field(hash=False)

    @property
    def where(self) -> str:
        """The cell as the end of a clause, " at 40 ms" or " beside cubic"; empty for the only cell."""
        return f"{'' if self.name.startswith('beside ') else ' at'} {self.name}" if self.name else ""


@dataclass(frozen=True)
class Suite:
    """The requirements of a document as criteria.

    Attributes:
        table: content of the file.
       file: path of the file.
    """

    table: SuiteTable
    file: Path
    _built: dict[tuple[Any, ...], Scenario] = field(default_factory=dict, repr=False, compare=False)

    @property
    def id(self) -> str:
        """Short name."""
        return self.table.id

    def part(self, only: Sequence[str]) -> Suite:
        """The suite with only some of its criteria and sections; the whole suite without a selection.

        Raises:
            ScenarioError: the suite has no such criterion or section.
        """
        table = self.table
        known = [*self.sections, *(criterion.id for criterion in table.criterion)]
        for name in only:
            if name not in known:
                near = nearest(name, known)
                meant = f"did you mean '{near}'?" if near else f"its sections are {', '.join(self.sections)}"
                message = f"'{name}' is neither a criterion nor a section of {self.id}; {meant}"
                raise ScenarioError(message, source="only")
        if not only:
            return self
        criteria = tuple(row for row in table.criterion if row.id in only or row.section in only)
        obligations = tuple(row for row in table.obligation if row.section in only)
        kept = {row.section for row in criteria} | {row.section for row in obligations}
        sections = {name: title for name, title in table.sections.items() if name in kept}
        used = {row.experiment for row in criteria}
        ellipses = tuple(row for row in table.ellipse if row.experiment in used)
        curves = tuple(row for row in table.curve if row.experiment in used)
        changed = {
            "criterion": criteria, "obligation": obligations, "sections": sections, "ellipse": ellipses, "curve": curves
        }  # fmt: skip
        return replace(self, table=table.model_copy(update=changed))

    @cached_property
    def experiments(self) -> dict[str, ExperimentTable]:
        """Experiments by id."""
        return {experiment.id: experiment for experiment in self.table.experiment}

    def position(self, experiment: str) -> int:
        """Position of an experiment in the file."""
        return list(self.experiments).index(experiment)

    @cached_property
    def sections(self) -> dict[str, str]:
        """Titles of all sections: first the sections that the file lists, then other sections in the order in which
        criteria name them."""
        named = [row.section for row in self.table.criterion] + [row.section for row in self.table.obligation]
        return dict.fromkeys([*self.table.sections, *named], "") | dict(self.table.sections)

    def cells(self, experiment: str, *, quick: bool) -> list[Cell]:
        """Cells of an experiment in the order of the file."""
        stated = self.experiments[experiment]
        rows = self.table.cells[stated.cells] if stated.cells is not None else []
        listed: list[tuple[str | None, dict[str, Any]]] = []
        for row in rows:
            if quick and not row.quick:
                continue
            changed = row.quick if quick and isinstance(row.quick, dict) else {}
            listed.append((row.name, row.values | changed))
        if stated.cells is None:
            listed = [(None, {})]
        return [_cell(name, values, point) for name, values in listed for point in stated.points({}, quick=quick)]

    def scenario(self, experiment: str, cell: Cell, subject: Subject) -> Scenario:
        """The scenario of a cell with the subject filled in, with the perturbations of replicates.

        Raises:
            ScenarioError: the scenario is wrong; the message has the file and the field.
        """
        key = (experiment, cell.name, repr(cell.values), subject)
        if key not in self._built:
            self._built[key] = self._scenario(experiment, cell, subject)
        return self._built[key]

    def _scenario(self, experiment: str, cell: Cell, subject: Subject) -> Scenario:
        place = join_path("experiment", self.position(experiment), "scenario")
        stated = self.experiments[experiment].scenario
        try:
            tables = filled(stated, values_of(cell, subject, self.table.judges))
            _put_parameters(tables, stated, dict(subject.parameters))
            _put_program(tables, subject.program)
            tables.setdefault("title", f"{self.id}, {experiment}, {cell.name or 'one cell'}: {subject.label}")
            return Scenario.from_dict(tables).perturbed()
        except ScenarioError as error:
            where = f" (cell '{cell.name}')" if cell.name else ""
            message = f"{error.message}{where}"
            raise ScenarioError(message, path=join_path(place, error.path), source=str(self.file)) from None


def _cell(name: str | None, values: dict[str, Any], point: dict[str, Any]) -> Cell:
    shown = [name] if name is not None else [_shown(key, value) for key, value in values.items() if key not in _APART]
    shown += [_shown(key, value) for key, value in point.items()]
    if values.get("resolution") == "train":
        shown.append("in trains of segments")
    return Cell(", ".join(shown), values | point)


_APART = ("duration", "resolution")
"""Values that a cell's name does not state as such."""


def _shown(key: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{value} buffer" if key == "buffer" else f"beside {value}" if key == "rival" else value
    return f"{key} {value}"


def values_of(cell: Cell, subject: Subject, place: str = "algorithm") -> dict[str, Any]:
    """Values of all placeholders; a cell's value may refer to the subject or to another value of the cell.

    Raises:
        ScenarioError: a value refers to something else.
    """
    plain = {**cell.values, place: subject.spec}
    return {**{name: filled(value, plain) for name, value in cell.values.items()}, place: subject.spec}


def _put_parameters(tables: dict[str, Any], stated: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Set the parameters of the flows and sources with the judged algorithm, or of the judged queue."""
    if not parameters:
        return
    for kind in ("flow", "traffic"):
        for table, template in zip(tables.get(kind, []), stated.get(kind, []), strict=True):
            if template.get("algorithm") == "{algorithm}":
                table["parameters"] = parameters
    if stated.get("dumbbell", {}).get("queue") == "{queue}":
        tables["dumbbell"]["queue_parameters"] = parameters


def _put_program(tables: dict[str, Any], judged: Mapping[str, Any] | None) -> None:
    """Give the judged program to each ``[[program]]`` without a client; each further one has the next port."""
    places = [table for table in tables.get(PROGRAM, []) if "client" not in table]
    for number, table in enumerate(places if judged is not None else []):
        assert judged is not None
        table |= {**judged, "port": judged["port"] + number, **table}


def criteria_of(suite: Suite) -> Iterator[CriterionTable]:
    """Criteria in the order of the sections."""
    order = list(suite.sections)
    yield from sorted(suite.table.criterion, key=lambda criterion: order.index(criterion.section))
