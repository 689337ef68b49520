"""The scenarios of a paper's experiments, which its tables list and its code makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.tables import Grid, listed
from elephan.evaluation.templates import filled
from elephan.papers.claims import Claim, ClaimSet
from elephan.papers.paper import Beyond, Variant
from elephan.papers.schema import ExperimentTable, RunsTable, VariantTable
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from elephan.report.figures import Figure


def _no_figures(runs: Evidence, setup: Any) -> Sequence[Figure]:
    return ()


@dataclass(frozen=True)
class Code:
    """Code of a paper: what its data cannot say.

    Attributes:
        setup: the class of the set-up, a frozen dataclass; its defaults are the paper's own set-up.
        scenarios: the functions that make scenarios, by the name that experiments give; each takes a set-up and the
            arguments of the grid.
        measurer: measures the subjects of the claims in runs, of the set-up ``setup``.
        beyond: the question that the paper left open, for a set-up.
        figures: draws figures that data cannot state, from runs, of the set-up ``setup``.
        scaled: metrics and curves (``rate``, ``cwnd``) that figures show at the paper's scale.
    """

    setup: Callable[..., Any]
    scenarios: Mapping[str, Callable[..., Scenario]]
    measurer: Callable[..., Measurer[Claim]]
    beyond: Callable[[Any], Beyond]
    figures: Callable[..., Sequence[Figure]] = _no_figures
    scaled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Maker:
    """Makes the scenarios of a paper's experiments.

    Attributes:
        paper: the paper's id.
        claims: its experiments.
        code: its code.
        names: the paper's names of protocols.
        quick: true for the runs of ``--quick``.
    """

    paper: str
    claims: ClaimSet
    code: Code
    names: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False

    def experiments(self, setup: Any) -> dict[str, Experiment]:
        """All experiments that are run, by id."""
        return {
            name: Experiment(name, row.title, row.figure, self.scenarios(row, setup), 1 if self.quick else row.seeds)
            for name, row in self.claims.experiments.items()
            if row.runs
        }

    def variant(self, row: VariantTable, setup: Any) -> Variant:
        """A variant of a set-up."""
        other = _changed(setup, row.set)
        scenarios: list[Scenario] = []
        for name in row.experiments:
            if f"{self.paper}.{name}" not in self.claims.experiments:
                raise ScenarioError(f"paper.toml: variant {row.id}: '{name}' is not an experiment")
            known = self.claims.experiments[f"{self.paper}.{name}"]
            scenarios += self.scenarios(known, other, row.only).values()
        return Variant(row.id, row.title, tuple(scenarios), partial(self.code.measurer, setup=other), row.by_default)

    def scenarios(self, row: ExperimentTable, setup: Any, only: Grid | None = None) -> dict[str, Scenario]:
        """The scenarios of an experiment by label; with ``only``, those at the listed values."""
        found: dict[str, Scenario] = {}
        limits = {name: listed(values, self.claims.lists) for name, values in (only or {}).items()}
        for runs, cell in self.cells(row):
            if any(cell[name] not in limits[name] for name in limits.keys() & cell.keys()):
                continue
            scenario = self.scenario(runs, cell, setup)
            label = str(filled(runs.label, self.told(cell) | {"title": scenario.title}))
            if found.setdefault(label, scenario).hash != scenario.hash:
                raise ScenarioError(f"{row.id}: two runs have the label '{label}'")
        return found

    def cells(self, row: ExperimentTable) -> Iterator[tuple[RunsTable, dict[str, Any]]]:
        """The arguments of each run of an experiment, with the table that has them."""
        for runs in row.runs:
            if runs.scenario not in self.code.scenarios:
                raise ScenarioError(f"{row.id}: '{runs.scenario}' is not a scenario of {self.paper}")
            yield from ((runs, cell) for cell in runs.cells(self.claims.lists, quick=self.quick))

    def scenario(self, runs: RunsTable, cell: Mapping[str, Any], setup: Any) -> Scenario:
        """The scenario of a run."""
        return self.code.scenarios[runs.scenario](setup, **cell)

    def told(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a cell for a text, with the paper's name of a protocol as ``{protocol_name}``."""
        known = {f"{key}_name": self.name(value) for key, value in cell.items() if isinstance(value, str)}
        return {**cell, **known}

    def name(self, protocol: str) -> str:
        """The paper's name of a protocol."""
        return self.names.get(protocol, protocol)


def _changed(setup: Any, fields: Mapping[str, Any]) -> Any:
    """The set-up with other fields; of a field with names, only the named parts change."""
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            changed[name] = tuple((dict(getattr(setup, name)) | value).items())
        else:
            changed[name] = tuple(value) if isinstance(value, list) else value
    return replace(setup, **changed)
