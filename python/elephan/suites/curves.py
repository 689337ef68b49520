"""Curves of a suite: a metric of an experiment over one parameter of its cells, as in the document's figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elephan.evaluation.measurement import NotJudgedError
from elephan.metrics.registry import get
from elephan.metrics.statistics import Interval, interval
from elephan.runs.axes import Axis, axes_of
from elephan.scenario import Scenario
from elephan.suites.evidence import Evidence
from elephan.suites.measures import Probe, plain_probe
from elephan.suites.schema import CurveTable
from elephan.suites.suite import Cell, Subject, Suite


@dataclass(frozen=True)
class Place:
    """One point of a curve: the replicates of one cell.

    Attributes:
        x: the value of the cell, as the suite states it.
        at: the same value as a number, in the unit of the axis.
        cell: name of the cell.
        runs: ids of the runs.
        values: a value for each run, in the unit of the metric.
    """

    x: Any
    at: float
    cell: str
    runs: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def mean(self) -> Interval:
        """Mean of the values with its 95 % interval by Student's t."""
        return interval(self.values)


@dataclass(frozen=True)
class Curve:
    """One line of a figure.

    Attributes:
        stated: entry of the curve in the suite.
        flow: name of the measured flow; ``None`` for a metric of the run.
        axis: axis, from left to right, with the values of all cells.
        places: points of the curve, in the order of the axis.
    """

    stated: CurveTable
    flow: str | None
    axis: Axis
    places: tuple[Place, ...]

    def to_json(self) -> dict[str, Any]:
        """The curve for ``--json``: means with their intervals, or the reason why a mean has no interval."""
        points = [{**_said(place.mean), "x": place.x, "cell": place.cell, "runs": place.runs} for place in self.places]
        return {
            "id": self.stated.id, "section": self.stated.section, "experiment": self.stated.experiment,
            "x": self.stated.x, "metric": self.stated.metric, "unit": get(self.stated.metric).unit, "flow": self.flow,
            "points": points,
        }  # fmt: skip


def _said(found: Interval) -> dict[str, Any]:
    ends = (found.low, found.high) if found.known else (None, None)
    return {"mean": found.value, "low": ends[0], "high": ends[1], "why": found.reason}


def want(evidence: Evidence, suite: Suite, subjects: Iterable[Subject], *, quick: bool) -> None:
    """Request the values that the curves of a suite need from the runs of its criteria."""
    for subject in subjects:
        for stated in suite.table.curve:
            probes = [_probe(stated, flow) for flow in _flows(stated)]
            for cell in suite.cells(stated.experiment, quick=quick):
                evidence.want_of(suite.scenario(stated.experiment, cell, subject), probes)


def curves(evidence: Evidence, suite: Suite, subject: Subject, *, quick: bool) -> list[Curve]:
    """The curves of one subject, from the existing runs; cells without a run are omitted."""
    found = []
    for stated in suite.table.curve:
        cells = suite.cells(stated.experiment, quick=quick)
        axis = axis_of(stated, cells)
        scenarios = [suite.scenario(stated.experiment, cell, subject) for cell in cells]
        along = sorted(zip(axis.shown, cells, scenarios, strict=True), key=lambda one: one[0])
        for flow in _flows(stated):
            places = tuple(_places(evidence, stated, flow, along))
            if places:
                found.append(Curve(stated, flow, axis, places))
    return found


def axis_of(stated: CurveTable, cells: Sequence[Cell]) -> Axis:
    """The values of cells as an axis; its ``numbers`` are ``None`` if the values are not quantities of one kind."""
    (axis,) = axes_of([stated.x], [{stated.x: cell.values[stated.x]} for cell in cells])
    return axis


def _flows(stated: CurveTable) -> Sequence[str | None]:
    return stated.flows or (None,)


def _probe(stated: CurveTable, flow: str | None) -> Probe:
    return plain_probe(stated.metric) if flow is None else Probe(stated.metric, (flow,), "mean", None, None)


def _places(
    evidence: Evidence, stated: CurveTable, flow: str | None, along: Sequence[tuple[float, Cell, Scenario]]
) -> Iterator[Place]:
    for at, cell, scenario in along:
        runs, values = [], []
        for seed in evidence.seeds(scenario):
            try:
                run, value = evidence.read(scenario, seed, _probe(stated, flow))
            except NotJudgedError:
                continue  # the metric is not defined for this run; the criteria report the reason
            runs.append(run)
            values.append(value)
        if values:
            yield Place(cell.values[stated.x], at, cell.name, tuple(runs), tuple(values))
