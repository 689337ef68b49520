"""Tables of a paper's files: ``paper.toml`` (the paper, its open values and their variants), and the experiments in
``claims.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from elephan.evaluation.templates import points


class ClaimError(ValueError):
    """A paper's file is wrong; the message names the claim or experiment, and the field."""


Grid = dict[str, list[Any] | str]
"""Values by the name of a placeholder, as a list or as the name of one in ``[lists]``. A key with several names
(``"first, second"``) has a list of values for each of its points."""


class PaperTableBase(BaseModel):
    """A table of a paper's files: frozen, without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class RunsTable(PaperTableBase):
    """``runs`` of an experiment: a kind of scenario, at each point of a grid."""

    scenario: str = Field(description="name of a function of the paper's set-up that makes the scenarios")
    grid: Grid = Field(default_factory=dict, description="arguments that vary; each is combined with all others")
    quick_grid: Grid = Field(default_factory=dict, description="values of the grid with --quick, if these are fewer")
    fixed: dict[str, Any] = Field(default_factory=dict, alias="with", description="arguments that all runs share")
    label: str = Field("{title}", description="name of a run, unique in its experiment")


class ExperimentTable(PaperTableBase):
    """``[[experiment]]``: the runs of a figure or table of the paper."""

    id: str
    title: str = Field(description="one line")
    figure: str = Field(description="figure, table or section of the paper")
    seeds: int = Field(1, ge=1, description="number of replicates; --quick has one")
    runs: tuple[RunsTable, ...] = Field((), description="what is run; nothing for an experiment that no run stands for")


class AssumptionTable(PaperTableBase):
    """``[[assumption]]``: a quantity that the paper does not state."""

    name: str
    value: str = Field(description="value that the experiments use")
    reason: str


class VariantTable(PaperTableBase):
    """``[[variant]]``: another value of what the paper leaves open, with the runs that show its effect."""

    id: str
    title: str = Field(description="the change")
    set: dict[str, Any] = Field(description="fields of the set-up that differ; of a field with names, the named parts")
    experiments: tuple[str, ...] = Field(description="experiments that are run again")
    only: Grid = Field(default_factory=dict, description="values to which the grids of these experiments are limited")
    by_default: bool = Field(False, description="true to run it with the paper even if other variants are not run")


class QuickTable(PaperTableBase):
    """``[quick]``: the reductions of ``--quick``."""

    note: str = Field(description="the reductions, in words")
    set: dict[str, Any] = Field(description="fields of the set-up that differ")
    scales: list[str] = Field(default_factory=list, description="metrics whose values scale with the reductions")


class PaperTable(PaperTableBase):
    """``paper.toml``."""

    title: str
    reference: str = Field(description="authors, venue, year")
    variants_by_default: bool = Field(False, description="true to run all variants with the paper")
    names: dict[str, str] = Field(default_factory=dict, description="the paper's names of protocols")
    quick: QuickTable
    assumption: tuple[AssumptionTable, ...] = ()
    variant: tuple[VariantTable, ...] = ()


def cells(runs: RunsTable, lists: Mapping[str, Sequence[Any]], *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """The arguments of each run."""
    grid = runs.grid | (runs.quick_grid if quick else {})
    for point in points({key: listed(values, lists) for key, values in grid.items()}):
        yield runs.fixed | point


def listed(values: list[Any] | str, lists: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
    """The values of a grid that are written there, or in the list that it names.

    Raises:
        ClaimError: there is no such list.
    """
    if not isinstance(values, str):
        return values
    if values not in lists:
        raise ClaimError(f"'{values}' is not one of the lists {', '.join(lists)}")
    return lists[values]
