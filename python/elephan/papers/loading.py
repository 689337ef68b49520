"""Reader of a paper's folder, and the paper that its files and its code make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.evaluation.criteria import CriterionError, Measurer
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.measuring import At
from elephan.evaluation.tables import Grid, listed, read
from elephan.evaluation.templates import filled
from elephan.papers import drawing
from elephan.papers.claims import Claim, ClaimSet, load_explanations, parse_claims
from elephan.papers.paper import Beyond, Paper, Variant
from elephan.papers.schema import ClaimsTable, ExperimentTable, PaperTable, VariantTable
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from elephan.report.figures import Figure

FOLDER = Path(__file__).parent
FILE = "paper.toml"


@lru_cache(maxsize=16)
def about(paper_id: str) -> PaperTable:
    """The content of a paper's ``paper.toml``."""
    return read(FOLDER / paper_id / FILE, PaperTable)


@lru_cache(maxsize=16)
def claims(paper_id: str) -> ClaimSet:
    """The claims and experiments of a paper's ``claims.toml``."""
    return parse_claims(read(FOLDER / paper_id / "claims.toml", ClaimsTable))


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


def paper(paper_id: str, quick: bool, code: Code) -> Paper:
    """The paper in a folder; with ``quick``, the same experiments with the reductions of ``[quick]``.

    Raises:
        ScenarioError: the files contradict each other or the code.
    """
    table, stated = about(paper_id), claims(paper_id)
    setup = code.setup(**(table.quick.set if quick else {}))
    made = Maker(paper_id, stated, code, quick)
    tables, styles = drawing.read(FOLDER / paper_id / "figures.toml")
    drawn = drawing.Figures(
        stated, table.names, tables, styles, setup, code.scenarios, code.measurer, code.scaled, quick
    )
    return Paper(
        id=paper_id,
        title=table.title,
        reference=table.reference,
        claims=stated,
        experiments=made.experiments(setup),
        measurer=partial(code.measurer, setup=setup),
        figures=lambda runs: [*drawn.draw(runs), *code.figures(runs, setup=setup)],
        quick=quick,
        quick_note=table.quick.note if quick else "",
        quick_scales=frozenset(table.quick.scales),
        assumptions=table.assumption,
        variants=tuple(made.variant(row, setup) for row in table.variant),
        variants_by_default=table.variants_by_default and not quick,
        explanations=load_explanations(FOLDER / paper_id / "explanations.toml", stated),
        beyond=code.beyond(setup),
    )


@dataclass(frozen=True)
class Maker:
    """Makes the scenarios of a paper's experiments."""

    paper: str
    claims: ClaimSet
    code: Code
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
                raise ScenarioError(f"{FILE}: variant {row.id}: '{name}' is not an experiment")
            known = self.claims.experiments[f"{self.paper}.{name}"]
            scenarios += self.scenarios(known, other, row.only).values()
        return Variant(row.id, row.title, tuple(scenarios), partial(self.code.measurer, setup=other), row.by_default)

    def scenarios(self, row: ExperimentTable, setup: Any, only: Grid | None = None) -> dict[str, Scenario]:
        """The scenarios of an experiment by label; with ``only``, those at the listed values."""
        found: dict[str, Scenario] = {}
        limits = {name: listed(values, self.claims.lists) for name, values in (only or {}).items()}
        for runs in row.runs:
            if runs.scenario not in self.code.scenarios:
                raise ScenarioError(f"{row.id}: '{runs.scenario}' is not a scenario of {self.paper}")
            for cell in runs.cells(self.claims.lists, quick=self.quick):
                if any(cell[name] not in limits[name] for name in limits.keys() & cell.keys()):
                    continue
                scenario = self.code.scenarios[runs.scenario](setup, **cell)
                label = str(filled(runs.label, self._told(cell) | {"title": scenario.title}))
                if found.setdefault(label, scenario).hash != scenario.hash:
                    raise ScenarioError(f"{row.id}: two runs have the label '{label}'")
        return found

    def _told(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a cell for its label, with the paper's name of a protocol as ``{protocol_name}``."""
        known = about(self.paper).names
        told = {f"{key}_name": known.get(value, value) for key, value in cell.items() if isinstance(value, str)}
        return {**cell, **told}


def along(paper_id: str, experiment: str, name: str, *, quick: bool = False) -> tuple[Any, ...]:
    """The values that the first runs of an experiment have for a name of the grid, in order."""
    stated = claims(paper_id)
    runs = stated.experiments[f"{paper_id}.{experiment}"].runs[0]
    return tuple(dict.fromkeys(cell[name] for cell in runs.cells(stated.lists, quick=quick)))


def scenario_at(
    paper_id: str, scenarios: Mapping[str, Callable[..., Scenario]], setup: Any, protocol: str, at: At
) -> Scenario:
    """The scenario of a claim's experiment for a protocol: the arguments of the first runs, and the claim's conditions
    that are named as arguments.

    Raises:
        CriterionError: an argument is missing.
    """
    runs = claims(paper_id).experiments[f"{paper_id}.{at.experiment}"].runs[0]
    make = scenarios[runs.scenario]
    taken = signature(make).parameters
    arguments = runs.fixed | {name: value for name, value in at.where.items() if name in taken} | {"protocol": protocol}
    try:
        signature(make).bind(setup, **arguments)
    except TypeError as error:
        raise CriterionError(f"{at.criterion.id}: where: {error}") from None
    return make(setup, **arguments)


def _changed(setup: Any, fields: Mapping[str, Any]) -> Any:
    """The set-up with other fields; of a field with names, only the named parts change."""
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            changed[name] = tuple((dict(getattr(setup, name)) | value).items())
        else:
            changed[name] = tuple(value) if isinstance(value, list) else value
    return replace(setup, **changed)
