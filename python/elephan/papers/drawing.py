"""The figures of a paper in its own layout, from the tables of ``figures.toml`` and the runs of the experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from elephan.evaluation import tables
from elephan.evaluation.criteria import CriterionError, Measurer
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.tables import Table, known, with_rows
from elephan.evaluation.templates import filled
from elephan.metrics.registry import registry
from elephan.papers import printed
from elephan.papers.paper import Maker
from elephan.papers.schema import ExperimentTable
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points, Reach
from elephan.report.figures import Curve, Figure, Panel, Traces
from elephan.report.series import flow_curve, throughput_curve
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.errors import join_path


class PanelTable(Table):
    """A part of a figure, about the runs of one experiment."""

    title: str = ""
    experiment: str
    at: dict[str, Any] = Field(default_factory=dict, description="arguments to which the runs are limited")
    y_label: str


class LinesTable(PanelTable):
    """``lines`` of a figure: a metric over an argument, with a line for each value of the others."""

    x: str = Field(description="argument on the x axis")
    x_label: str
    metric: str
    flow: str = Field("", description="flow whose value is shown; without it, the metric is that of the claims")
    name: str = Field("{protocol_name}", description="name of a line in the legend")
    published: str = Field("", description="section whose printed numbers are drawn as stars")
    log: bool = Field(False, description="true for logarithmic axes")


class PartTable(Table):
    """A flow that a panel shows: one bar of each group, or a curve."""

    name: str
    flow: str
    at: dict[str, Any] = Field(default_factory=dict)


class BarsTable(PanelTable):
    """``bars`` of a figure: a group for each protocol."""

    metric: str
    bars: tuple[PartTable, ...]


class TracesTable(PanelTable):
    """``traces`` of a figure: rates or windows over time, in the run with the smallest seed."""

    shows: str = Field("rate", pattern="^(rate|cwnd)$")
    curves: tuple[PartTable, ...]
    published: str = Field("", description="section whose printed throughputs are drawn as dashed lines")


KINDS = ("lines", "bars", "traces")


class FigureTable(Table):
    """``[[figure]]``; its panels are of one kind, and share what ``each`` has."""

    id: str
    title: str
    caption: str
    lines: tuple[LinesTable, ...] = ()
    bars: tuple[BarsTable, ...] = ()
    traces: tuple[TracesTable, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Give each panel what ``each`` has."""
        each = stated.get("each", {})
        if not isinstance(each, dict):
            raise ScenarioError(f"{each!r} is not a table of the fields that all panels share", path="figure.each")
        panels = {kind: _with_shared(stated[kind], each) for kind in KINDS if kind in stated}
        return {name: value for name, value in stated.items() if name != "each"} | panels


def _with_shared(panels: Any, shared: dict[str, Any]) -> Any:
    if not isinstance(panels, list):
        return panels
    return [shared | panel if isinstance(panel, dict) else panel for panel in panels]


class FiguresTable(Table):
    """``figures.toml``."""

    styles: dict[str, int] = Field(default_factory=dict, description="color and marker of each protocol")
    figure: tuple[FigureTable, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _rows(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Give each row of a figure with ``columns`` and ``rows`` a table of its own."""
        return stated | {"figure": with_rows(stated.get("figure", []), FigureTable, "figure")}


def read(path: Path) -> FiguresTable:
    """The figures and styles of a file; none if there is no file."""
    return tables.read(path, FiguresTable) if path.exists() else FiguresTable()


@dataclass(frozen=True)
class _Drawn:
    """A value of a figure, in place of the claim for which a paper's rules measure."""

    experiment: str
    conditions: Mapping[str, Any]
    id: str = "a figure"
    check: str = "simulation"


@dataclass(frozen=True)
class Drawing:
    """Draws a paper's figures from runs.

    Attributes:
        of: makes the scenarios of the experiments.
        setup: the set-up of these scenarios.
        table: the figures.
        runs: the runs.
    """

    of: Maker
    setup: Any
    table: FiguresTable
    runs: Evidence

    def figures(self) -> list[Figure]:
        """Every figure whose runs exist, without panels, series and points whose runs do not."""
        return [figure for table in self.table.figure if (figure := self.figure(table)) is not None]

    def figure(self, table: FigureTable) -> Figure | None:
        """A figure; ``None`` without any of its runs."""
        about = (table.id, table.title, table.caption)
        if lines := tuple(panel for panel in map(self._lines, table.lines) if panel.series):
            return LineChart(*about, lines)
        if bars := tuple(panel for panel in map(self._bars, table.bars) if panel.series):
            return BarChart(*about, bars)
        traces = tuple(panel for panel in map(self._traces, table.traces) if panel.curves)
        return Traces(*about, traces) if traces else None

    # ---- mistakes ----

    def check(self) -> None:
        """Check that the paper has all that its figures name, whether or not it was run.

        Raises:
            ScenarioError: it does not; the message has the panel.
        """
        for figure in self.table.figure:
            for kind in KINDS:
                for i, panel in enumerate(getattr(figure, kind)):
                    try:
                        self._check(panel)
                    except ScenarioError as error:
                        raise error.located(source="figures.toml", path=join_path(figure.id, kind, i)) from None

    def _check(self, panel: PanelTable) -> None:
        ids = [name.removeprefix(f"{self.of.paper}.") for name in self.of.claims.experiments]
        known(panel.experiment, ids, "an experiment", "experiment")
        cells = [cell for _, cell in self.of.cells(self._experiment(panel))]
        for part in self._parts(panel):
            for name in (*panel.at, *part.at):
                known(name, dict.fromkeys(name for cell in cells for name in cell), "an argument", "at")
            found = next(self._cells(panel, part.at), None)
            if found is None:
                raise ScenarioError(f"no run of '{panel.experiment}' has {panel.at | part.at}", path="at")
            cell, scenario = found
            if part.flow:
                known(str(filled(part.flow, cell)), [*scenario.flow_names, *scenario.sources], "a flow", "flow")
        if isinstance(panel, LinesTable):
            self._check_lines(panel, cells[0])
        elif isinstance(panel, BarsTable):
            known(panel.metric, registry(), "a metric", "metric")
        elif isinstance(panel, TracesTable) and panel.published:
            means = printed.single(self.of.claims, panel.published, "throughput_mbps")
            for curve in panel.curves:
                known(curve.flow, means, f"a flow with a number of {panel.published}", "published")

    def _parts(self, panel: PanelTable) -> Sequence[LinesTable | PartTable]:
        if isinstance(panel, BarsTable):
            return panel.bars
        if isinstance(panel, TracesTable):
            return panel.curves
        assert isinstance(panel, LinesTable)
        return (panel,)

    def _check_lines(self, panel: LinesTable, cell: dict[str, Any]) -> None:
        known(panel.x, [name for name, value in cell.items() if isinstance(value, int | float)], "a number", "x")
        filled(panel.name, self.of.told(cell))
        if panel.flow:
            known(panel.metric, registry(), "a metric", "metric")
        else:
            try:
                self._of_claims(panel, cell)
            except NotJudgedError:
                pass  # there are no runs yet
            except CriterionError as error:
                raise ScenarioError(str(error), path="metric") from None
        if panel.published:
            numbers = printed.along(self.of.claims, panel.published, panel.metric, panel.x)
            if not numbers:
                raise ScenarioError(f"{panel.published} has no numbers of {panel.metric}", path="published")
            for protocol in numbers:
                known(protocol, self.table.styles, "a protocol with a style", "published")

    # ---- runs and values ----

    def _experiment(self, panel: PanelTable) -> ExperimentTable:
        return self.of.claims.experiments[f"{self.of.paper}.{panel.experiment}"]

    @cached_property
    def _measurer(self) -> Measurer[Any]:
        return self.of.code.measurer(self.runs, setup=self.setup)

    def _cells(self, panel: PanelTable, at: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Scenario]]:
        """The runs with the arguments of ``at``, by their arguments."""
        wanted = {**panel.at, **at}
        for runs, cell in self.of.cells(self._experiment(panel)):
            if all(key in cell and cell[key] == value for key, value in wanted.items()):
                yield cell, self.of.scenario(runs, cell, self.setup)

    def _factor(self, quantity: str) -> float:
        return float(self.setup.scale) if quantity in self.of.code.scaled else 1.0

    def _of_flow(self, scenario: Scenario, metric: str, flow: str) -> Reach:
        return self.runs.values(scenario, metric, flow).times(self._factor(metric)).reach

    def _of_claims(self, panel: LinesTable, cell: Mapping[str, Any]) -> Reach:
        where = {key: value for key, value in cell.items() if key != "protocol"}
        drawn = _Drawn(f"{self.of.paper}.{panel.experiment}", where)
        return self._measurer.measure(panel.metric, cell["protocol"], where, drawn).reach

    # ---- kinds of panels ----

    def _lines(self, panel: LinesTable) -> LinePanel:
        found: dict[str, dict[float, Reach]] = {}
        protocols: dict[str, str] = {}
        first = self._experiment(panel).runs[0]
        names = {*first.fixed, *(name for key in first.grid for name in key.split(", "))}
        for cell, scenario in self._cells(panel, {}):
            if set(cell) != names:
                continue  # runs for comparison, at other arguments than those of the figure
            name, flow = str(filled(panel.name, self.of.told(cell))), str(filled(panel.flow, cell))
            try:
                value = self._of_flow(scenario, panel.metric, flow) if flow else self._of_claims(panel, cell)
            except NotJudgedError:
                continue
            found.setdefault(name, {})[cell[panel.x]] = value
            protocols[name] = cell["protocol"]
        alone = len(set(protocols.values())) == len(protocols)
        series = [
            Points.of(name, line, self.table.styles.get(protocols[name], i) if alone else i)
            for i, (name, line) in enumerate(found.items())
        ]
        if panel.published and series:
            series += self._stars(panel)
        return LinePanel(panel.title, panel.x_label, panel.y_label, tuple(series), log_x=panel.log, log_y=panel.log)

    def _stars(self, panel: LinesTable) -> Iterator[Points]:
        """The numbers that the paper prints about the figure."""
        for protocol, found in printed.along(self.of.claims, panel.published, panel.metric, panel.x).items():
            name = f"{self.of.name(protocol)}, published"
            yield Points(
                name, tuple(found), tuple(found.values()), style=self.table.styles[protocol], drawn="published"
            )

    def _bars(self, panel: BarsTable) -> BarPanel:
        groups = list(dict.fromkeys(cell["protocol"] for cell, _ in self._cells(panel, {})))
        series = []
        for color, bar in enumerate(panel.bars):
            values = [self._bar(panel, bar, protocol) for protocol in groups]
            if any(values):
                series.append(Bars.of(bar.name, values, color))
        names = tuple(map(self.of.name, groups))
        return BarPanel(panel.title, panel.y_label, names, tuple(series))

    def _bar(self, panel: BarsTable, bar: PartTable, protocol: str) -> Reach | None:
        """The value of a bar; ``None`` without runs."""
        for cell, scenario in self._cells(panel, bar.at | {"protocol": protocol}):
            try:
                return self._of_flow(scenario, panel.metric, str(filled(bar.flow, cell)))
            except NotJudgedError:
                break
        return None

    def _traces(self, panel: TracesTable) -> Panel:
        curves = []
        for color, curve in enumerate(panel.curves):
            scenario = next(scenario for _, scenario in self._cells(panel, curve.at))
            run = self.runs.first(scenario)
            if run is None:
                continue
            made = (
                throughput_curve(run, curve.flow, curve.name, color)
                if panel.shows == "rate"
                else flow_curve(run, curve.flow, "cwnd", curve.name, color)
            )
            factor = self._factor(panel.shows)
            values = [None if value is None else factor * value for value in made.values]
            curves.append(made if factor == 1 else replace(made, values=values))
        if panel.published and curves:
            curves += self._means(panel)
        return Panel(panel.title, panel.y_label, tuple(curves))

    def _means(self, panel: TracesTable) -> Iterator[Curve]:
        """The published mean of each flow over the measurement window."""
        means = printed.single(self.of.claims, panel.published, "throughput_mbps")
        measure = next(scenario for _, scenario in self._cells(panel, {})).form.measure
        from_s, to_s = measure.from_ps / 1e12, measure.to_ps / 1e12
        for color, curve in enumerate(panel.curves):
            level = (means[curve.flow],) * 2
            yield Curve(f"{curve.name}, published", from_s, to_s - from_s, level, color, dashed=True)
