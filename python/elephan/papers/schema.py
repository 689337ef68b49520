"""Tables of a paper's files: ``paper.toml`` (the paper, its open values and their variants), ``claims.toml`` and
``explanations.toml``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from elephan.evaluation.tables import Grid, GridTable, Lists, Table, with_rows


class RunsTable(GridTable):
    """``runs`` of an experiment: a kind of scenario, at each point of a grid."""

    scenario: str = Field(description="name of a function of the paper's set-up that makes the scenarios")
    fixed: dict[str, Any] = Field(default_factory=dict, alias="with", description="arguments that all runs share")
    label: str = Field("{title}", description="name of a run, unique in its experiment")

    def cells(self, lists: Lists, *, quick: bool = False) -> Iterator[dict[str, Any]]:
        """The arguments of each run."""
        return (self.fixed | point for point in self.points(lists, quick=quick))


class ExperimentTable(Table):
    """``[[experiment]]``: the runs of a figure or table of the paper."""

    id: str
    title: str = Field(description="one line")
    figure: str = Field(description="figure, table or section of the paper")
    seeds: int = Field(1, ge=1, description="number of replicates; --quick has one")
    runs: tuple[RunsTable, ...] = Field((), description="what is run; nothing for an experiment that no run stands for")


class ClaimsTable(Table):
    """``claims.toml``; its claims may be tables of several claims, so they are read one by one."""

    schema_version: Literal[2]
    paper: str = Field(description="the paper's id")
    defaults: dict[str, Any] = Field(default_factory=dict, description="fields that all claims share")
    quantities: dict[str, str] = Field(
        default_factory=dict, description="words for a metric whose name does not say what it is"
    )
    lists: dict[str, tuple[Any, ...]] = Field(default_factory=dict, description="lists of values that grids name")
    experiment: tuple[ExperimentTable, ...] = ()
    claim: tuple[dict[str, Any], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _rows(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Give each row of an experiment with ``columns`` and ``rows`` a table of its own."""
        return stated | {"experiment": with_rows(stated.get("experiment", []), ExperimentTable, "experiment")}


class ExplanationTable(Table):
    """``[[explanation]]``: our reason for the differences of some claims."""

    claims: tuple[str, ...] = Field(description="ids of the claims, without that of the paper")
    why: str


class ExplanationsTable(Table):
    """``explanations.toml``."""

    explanation: tuple[ExplanationTable, ...] = ()


class AssumptionTable(Table):
    """``[[assumption]]``: a quantity that the paper does not state."""

    name: str
    value: str = Field(description="value that the experiments use")
    reason: str


class VariantTable(Table):
    """``[[variant]]``: another value of what the paper leaves open, with the runs that show its effect."""

    id: str
    title: str = Field(description="the change")
    set: dict[str, Any] = Field(description="fields of the set-up that differ; of a field with names, the named parts")
    experiments: tuple[str, ...] = Field(description="experiments that are run again")
    only: Grid = Field(default_factory=dict, description="values to which the grids of these experiments are limited")
    by_default: bool = Field(False, description="true to run it with the paper even if other variants are not run")


class QuickTable(Table):
    """``[quick]``: the reductions of ``--quick``."""

    note: str = Field(description="the reductions, in words")
    set: dict[str, Any] = Field(description="fields of the set-up that differ")
    scales: list[str] = Field(default_factory=list, description="metrics whose values scale with the reductions")


class PaperTable(Table):
    """``paper.toml``."""

    title: str
    reference: str = Field(description="authors, venue, year")
    variants_by_default: bool = Field(False, description="true to run all variants with the paper")
    names: dict[str, str] = Field(default_factory=dict, description="the paper's names of protocols")
    setup: dict[str, Any] = Field(description="values of the set-up, among them those that the paper leaves open")
    quick: QuickTable
    assumption: tuple[AssumptionTable, ...] = ()
    variant: tuple[VariantTable, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _rows(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Give each row of a variant with ``columns`` and ``rows`` a table of its own."""
        return stated | {"variant": with_rows(stated.get("variant", []), VariantTable, "variant")}
