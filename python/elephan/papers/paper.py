"""A paper: its experiments as scenarios, which its tables list and its code makes, its claims, and its open values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.tables import Grid, listed
from elephan.evaluation.templates import filled
from elephan.papers.claims import Claim, ClaimSet
from elephan.papers.judging import Reduced
from elephan.papers.schema import AssumptionTable, ExperimentTable, RunsTable, VariantTable
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.report.figures import Figure


@dataclass(frozen=True)
class Variant:
    """A variant of the paper's open values; its runs show the verdicts that depend on these values.

    Attributes:
        id: short name.
        title: the change.
        make: makes the scenarios to run.
        measurer: measures the subjects under the variant.
        by_default: true to run it with the paper even if the paper's other variants are not run.
    """

    id: str
    title: str
    make: Callable[[], Sequence[Scenario]]
    measurer: Callable[[Evidence], Measurer[Claim]]
    by_default: bool = False

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios to run, which are made when they are asked for, since most commands run no variant."""
        return tuple(self.make())


@dataclass(frozen=True)
class Beyond:
    """A question that a paper left open, with the experiments that answer it.

    Attributes:
        question: the question in one sentence.
        why: relevance of the question, and the paper's statement about it.
        experiments: experiments that answer the question, by id.
        figures: draws the answer; figures whose runs are missing are left out.
        answer: sentences built from measured values only.
    """

    question: str
    why: str
    experiments: Mapping[str, Experiment]
    figures: Callable[[Evidence], Sequence[Figure]]
    answer: Callable[[Evidence], Sequence[str]]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        id: id in claims and commands.
        title: the paper's title.
        reference: authors, venue, year.
        claims: claims of the paper.
        experiments: experiments by id, with the main experiment first.
        quick: true for small experiments with about a tenth of the work, for a first overview.
        quick_note: the reductions of ``quick``.
        quick_scales: metrics whose values scale with the reductions, unless the measurer gives them at the paper's
            scale; claims that compare such a value with a number of the paper are not judged by quick runs.
        assumptions: assumptions for the paper's open values.
        variants: variants of the open values.
        variants_by_default: true to run the variants with the paper; otherwise they are run only on request.
        ask: gives the question that the paper left open, which is run only on request.
        measurer: measures the subjects of the claims.
        figures: draws the paper's figures from runs; figures whose runs are missing are left out.
        explanations: our explanations of differences, by claim id.
    """

    id: str
    title: str
    reference: str
    claims: ClaimSet
    experiments: Mapping[str, Experiment]
    measurer: Callable[[Evidence], Measurer[Claim]]
    figures: Callable[[Evidence], Sequence[Figure]]
    quick: bool = False
    quick_note: str = ""
    quick_scales: frozenset[str] = frozenset()
    assumptions: tuple[AssumptionTable, ...] = ()
    variants: tuple[Variant, ...] = ()
    variants_by_default: bool = False
    explanations: Mapping[str, str] = field(default_factory=dict)
    ask: Callable[[], Beyond] | None = None

    @cached_property
    def beyond(self) -> Beyond | None:
        """The question that the paper left open, with its scenarios."""
        return None if self.ask is None else self.ask()

    @property
    def reduced(self) -> Reduced | None:
        """The reductions of a quick paper; ``None`` at the paper's own size."""
        return Reduced(self.quick_note, self.quick_scales) if self.quick else None


class Setup:
    """The values of a paper's set-up, each an attribute: those of ``[setup]`` in its ``paper.toml``, or others in their
    place. The class of a paper adds what its scenarios compute from them.

    Attributes:
        stated: the values of the paper's own set-up.
    """

    stated: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **changed: Any) -> None:
        self._values = {name: _changed(value, changed.get(name, value)) for name, value in self.stated.items()}
        if unknown := sorted(changed.keys() - self.stated.keys()):
            raise ScenarioError(f"'{unknown[0]}' is not a value of the set-up; {hint(unknown[0], self.stated)}")
        vars(self).update(self._values)
        self._key = repr(self._values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def but(self, **changed: Any) -> Self:
        """The set-up with other values; of a value with names, only the named parts change."""
        return type(self)(**self._values | {name: _changed(getattr(self, name), new) for name, new in changed.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setup) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _changed(value: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return value | new
    return tuple(new) if isinstance(new, list) else new


def _no_figures(runs: Evidence, setup: Any) -> Sequence[Figure]:
    return ()


@dataclass(frozen=True)
class Code:
    """Code of a paper: what its data cannot say.

    Attributes:
        setup: the class of the set-up.
        scenarios: the functions that make scenarios, by the name that experiments give; each takes a set-up and the
            arguments of the grid.
        measurer: measures the subjects of the claims in runs, of the set-up ``setup``.
        beyond: the question that the paper left open, for a set-up.
        figures: draws figures that data cannot state, from runs, of the set-up ``setup``.
        scaled: metrics and curves (``rate``, ``cwnd``) that figures show at the paper's scale.
    """

    setup: type[Setup]
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
        other, known = setup.but(**row.set), self.claims.experiments
        for name in row.experiments:
            if f"{self.paper}.{name}" not in known:
                raise ScenarioError(f"paper.toml: variant {row.id}: '{name}' is not an experiment")
        rows = [known[f"{self.paper}.{name}"] for name in row.experiments]

        def make() -> list[Scenario]:
            return [scenario for one in rows for scenario in self.scenarios(one, other, row.only).values()]

        return Variant(row.id, row.title, make, partial(self.code.measurer, setup=other), row.by_default)

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
