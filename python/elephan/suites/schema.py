"""Tables of a suite file. A suite is a folder with ``suite.toml``, without code."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from elephan.evaluation.criteria import Criterion, Margin, Number, number
from elephan.evaluation.relations import RELATIONS, Allowed
from elephan.evaluation.tables import GridTable, Table, with_rows
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import Name, Text, chosen, parsed

FORCES = ("must", "should", "consider")
KINDS = ("lost", "gained", "ratio", "difference")
OVER = ("mean", "max", "min", "sum")
PER = ("rtt", "rate")
JUDGED = ("algorithm", "queue", "program")


def _quick(value: Any) -> bool | dict[str, Any]:
    if not isinstance(value, bool | dict):
        raise ScenarioError(f"{value!r} is neither true nor a table of the values that differ in a quick evaluation")
    return value


def _window(value: Any) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ScenarioError(f"{value!r} is not a window; write two fractions of the duration, [0.5, 1.0]")
    start, end = map(number, value)
    if not 0 <= start < end <= 1:
        raise ScenarioError(f"{value!r} is not a window; its fractions of the duration rise, from 0 to 1")
    return start, end


_Quick = Annotated[bool | dict[str, Any], parsed(_quick)]
_Window = Annotated[tuple[float, float], parsed(_window)]


class CellTable(BaseModel):
    """``[[cells.NAME]]``: values for the placeholders of a scenario, one cell of a grid; any field, and ``quick``."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Name | None = Field(None, description="name, unique in its list; generated from the values by default")
    quick: _Quick = Field(
        False, description="true for a cell of a quick evaluation; a table has the values that differ there"
    )

    @property
    def values(self) -> dict[str, Any]:
        """Values of the placeholders."""
        return dict(self.model_extra or {})


class ExperimentTable(GridTable):
    """``[[experiment]]``: a scenario with placeholders, and the cells that fill them."""

    id: Name = Field(description="unique", examples=["beside"])
    title: Text = Field(description="one line", examples=["one flow beside one of a rival"])
    cells: Name | None = Field(None, description="list of cells; one cell without values by default")
    scenario: dict[str, Any] = Field(
        description="a scenario as in a scenario file; {algorithm} is the judged algorithm, {rtt} the cell's value"
    )


class BaselineTable(Table):
    """``baseline``: a second run of the same cell and seed, for comparison with the measured value."""

    algorithm: Text = Field(description="replaces the judged algorithm", examples=["{rival}"])
    experiment: Name | None = Field(None, description="another experiment with the same cells")
    flows: tuple[Name, ...] | None = Field(None, description="flows, if they differ from those of the criterion")
    kind: Annotated[Literal["lost", "gained", "ratio", "difference"], chosen(KINDS, "a way to compare")] = Field(
        "ratio",
        alias="as",
        description="lost: (baseline - value) / baseline; gained: (value - baseline) / value; ratio: value / baseline; "
        "difference: value - baseline",
    )


class CriterionTable(Criterion):
    """``[[criterion]]``: one requirement that is judged by runs."""

    force: Annotated[Literal["must", "should", "consider"], chosen(FORCES, "a force")] = Field(
        description="strength of the requirement: must, should or consider"
    )
    flows: tuple[Name, ...] | None = Field(None, description="flows or sources of the scenario that are measured")
    over: Annotated[Literal["mean", "max", "min", "sum"], chosen(OVER, "a way to combine flows")] = Field(
        "mean", description="combination of the flows of a metric with a value for each flow"
    )
    link: Name | None = Field(None, description="measured link; the bottleneck by default")
    window: _Window | None = Field(
        None, description="measured part as fractions of the duration; the scenario's by default", examples=[[0.5, 1.0]]
    )
    per: Annotated[Literal["rtt", "rate"], chosen(PER, "a divisor")] | None = Field(
        None, description="divide a time in ms or s by the cell's rtt, or a rate in Mbit/s by the cell's rate"
    )
    baseline: BaselineTable | None = Field(None, description="compare with a second run")
    relation: Annotated[
        str, chosen(tuple(name for name, one in RELATIONS.items() if one.against_number), "a relation")
    ] = Field(description="comparison of the value with the limit")
    range: tuple[Number, Number] | None = Field(
        None, description="smallest and largest value, for the relations in_range and count"
    )
    reason: Text = Field(description="source of the limit: a number of the document, or another source")
    margin: Margin = Field(0.0, description="tolerance: a must that is missed by at most this margin is a concern")
    same: Margin | None = Field(
        None, description="difference from --against that counts as equal; 2 % of the value of --against by default"
    )
    better: Annotated[Literal["higher", "lower"], chosen(("higher", "lower"), "a direction")] | None = Field(
        None, description="direction of a better value; by default lower for <= and higher for >="
    )
    statistic: Annotated[Literal["mean", "median"], chosen(("mean", "median"), "a statistic")] = Field(
        "mean", description="statistic over seeds; median for times that may be infinite"
    )
    weak: Text | None = Field(None, description="the reason why a pass is weak evidence, if it is weak")

    @property
    def stated(self) -> tuple[float | str, ...]:
        """The ends of the range."""
        return self.range or ()

    @property
    def allowed(self) -> Allowed:
        """The values that the criterion allows."""
        allowed = RELATIONS[self.relation].allowed
        assert allowed is not None, "relations to a number state the values that they allow"
        return allowed(self.terms, self.terms.limit)

    @property
    def direction(self) -> Literal["higher", "lower"]:
        """The direction of better values."""
        return self.better or ("lower" if math.isinf(self.allowed.low) else "higher")


class ObligationTable(Table):
    """``[[obligation]]``: a requirement that no run can judge, or that the suite's runs do not judge."""

    section: Text = Field(description="of the document")
    force: Annotated[Literal["must", "should", "consider"], chosen(FORCES, "a force")] = Field(
        "should", description="strength of the requirement"
    )
    text: Text = Field(description="the requirement in one sentence")
    reason: Text = Field(description="the reason why it is not judged")


class EllipseTable(Table):
    """``[[ellipse]]``: goodput against delay in an experiment, with an ellipse of the replicates of each cell."""

    id: Name = Field(description="unique", examples=["goodput-delay"])
    section: Text = Field(description="of the document", examples=["8.2"])
    title: Text = Field(description="one line")
    experiment: Name = Field(description="experiment that is plotted; a criterion of the section must use it too")
    delay: Name = Field("mean_queue_delay_ms", description="metric of the x axis, one number for each run")
    goodput: Name = Field("sum_goodput_mbps", description="metric of the y axis, one number for each run")


class CurveTable(Table):
    """``[[curve]]``: a metric of an experiment over one value of its cells, with an interval over the replicates."""

    id: Name = Field(description="unique", examples=["goodput-buffer"])
    section: Text = Field(description="of the document")
    title: Text = Field(description="one line")
    experiment: Name = Field(description="experiment that is plotted; a criterion of the section must use it too")
    x: Name = Field(description="value of the cells on the x axis", examples=["buffer"])
    metric: Name = Field(description="metric of the y axis", examples=["sum_goodput_mbps"])
    flows: tuple[Name, ...] | None = Field(
        None, min_length=1, description="flows with a line each; without this field, one line of a metric of the run"
    )


class SuiteTable(Table):
    """The whole file."""

    id: Name = Field(description="short", examples=["rfc9743"])
    title: Text = Field(description="one line")
    citation: Text = Field(description="the document")
    judges: Annotated[Literal["algorithm", "queue", "program"], chosen(JUDGED, "what a suite judges")] = Field(
        "algorithm",
        description="judged subjects: algorithms; queue disciplines, whose placeholder is {queue}; or programs, in the "
        "place of each [[program]] without a client",
    )
    note: Text | None = Field(None, description="notes for a reader of the verdicts")
    quick_note: Text | None = Field(None, description="omissions of a quick evaluation")
    defaults: dict[str, Any] = Field(
        default_factory=dict, description="fields of each criterion that does not state them"
    )
    sections: dict[str, Text] = Field(default_factory=dict, description="titles of sections, in the order of the lines")
    cells: dict[str, list[CellTable]] = Field(default_factory=dict, description="lists of cells by name")
    experiment: tuple[ExperimentTable, ...] = Field(description="what is run")
    criterion: tuple[CriterionTable, ...] = Field(description="what is judged")
    obligation: tuple[ObligationTable, ...] = Field((), description="requirements that are not judged, with the reason")
    ellipse: tuple[EllipseTable, ...] = Field((), description="trade-offs that are drawn")
    curve: tuple[CurveTable, ...] = Field((), description="lines that are drawn")

    @model_validator(mode="before")
    @classmethod
    def _rows(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Give each row of a table with ``columns`` and ``rows`` a table of its own, and criteria their defaults."""
        cells, shared = stated.get("cells", {}), stated.get("defaults", {})
        found = {name: with_rows(stated[name], TABLES[name], name) for name in _IN_ROWS if name in stated}
        if isinstance(shared, dict) and "criterion" in found:
            found["criterion"] = [shared | row if isinstance(row, dict) else row for row in found["criterion"]]
        if isinstance(cells, dict):
            found["cells"] = {name: with_rows(rows, CellTable, f"cells.{name}") for name, rows in cells.items()}
        return stated | found


_IN_ROWS = ("experiment", "criterion", "obligation", "ellipse", "curve")
TABLES: dict[str, type[BaseModel]] = {
    "cells": CellTable,
    "experiment": ExperimentTable,
    "baseline": BaselineTable,
    "criterion": CriterionTable,
    "obligation": ObligationTable,
    "ellipse": EllipseTable,
    "curve": CurveTable,
}
