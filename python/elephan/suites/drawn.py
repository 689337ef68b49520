"""Figures of a suite, from the runs of its criteria: curves of a metric over a value of the cells, as in the document's
figures, and trade-offs of goodput and delay with an ellipse of the replicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from elephan.evaluation.evidence import Evidence, Probe
from elephan.evaluation.measurement import NotJudgedError
from elephan.metrics.ellipse import Ellipse
from elephan.metrics.registry import get
from elephan.metrics.statistics import Interval, interval
from elephan.runs.axes import Axis, axes_of
from elephan.scenario import Scenario
from elephan.suites.schema import CurveTable, EllipseTable
from elephan.suites.suite import Cell, Subject, Suite


@dataclass(frozen=True)
class Place:
    """One point of a curve: the replicates of one cell.

    Attributes:
        x: the value of the cell, as the suite states it.
        at: the same value as a number, in the unit of the axis.
        cell: name of the cell.
        runs: ids of the runs.
        mean: mean of the values with its 95 % interval by Student's t.
    """

    x: Any
    at: float
    cell: str
    runs: tuple[str, ...]
    mean: Interval


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
        points = [
            {"mean": one.mean.value, **one.mean.ends, "why": one.mean.reason, "x": one.x, "cell": one.cell,
             "runs": one.runs}
            for one in self.places
        ]  # fmt: skip
        return {
            "id": self.stated.id, "section": self.stated.section, "experiment": self.stated.experiment,
            "x": self.stated.x, "metric": self.stated.metric, "unit": get(self.stated.metric).unit, "flow": self.flow,
            "points": points,
        }  # fmt: skip


@dataclass(frozen=True)
class TradeOff:
    """The replicates of one cell.

    Attributes:
        stated: entry of the trade-off in the suite.
        cell: name of the cell.
        points: run id, seed, and delay and goodput of each replicate, in the units of their metrics.
    """

    stated: EllipseTable
    cell: str
    points: tuple[tuple[str, int, list[float]], ...]

    @property
    def coordinates(self) -> tuple[list[float], list[float]]:
        """Delays and goodputs."""
        return [at[0] for _, _, at in self.points], [at[1] for _, _, at in self.points]

    def ellipse(self) -> Ellipse:
        """The ellipse of the points.

        Raises:
            ValueError: there are too few points, or all points are equal.
        """
        return Ellipse.of(*self.coordinates)

    def to_json(self) -> dict[str, Any]:
        """The trade-off for ``--json``: points, and the ellipse or the reason why there is no ellipse."""
        ellipse: dict[str, Any] | None
        try:
            found, why = self.ellipse(), ""
            ellipse = {"mean": found.mean, "median": found.median, "covariance": found.covariance}
        except ValueError as error:
            ellipse, why = None, str(error)
        # Delay, then goodput: the order of the coordinates of an ellipse.
        axes = {"delay": self.stated.delay, "goodput": self.stated.goodput}
        return {
            "id": self.stated.id, "section": self.stated.section, "experiment": self.stated.experiment,
            "cell": self.cell, "metrics": axes, "units": {axis: get(name).unit for axis, name in axes.items()},
            "points": [{"run": run, "seed": seed, **dict(zip(axes, at, strict=True))} for run, seed, at in self.points],
            "ellipse": ellipse, "why": why,
        }  # fmt: skip


def wanted(suite: Suite, subjects: Iterable[Subject], *, quick: bool) -> Iterator[tuple[Scenario, Probe]]:
    """The values that the figures of a suite need from the runs of its criteria."""
    for subject in subjects:
        for curve in suite.table.curve:
            for _, scenario in _runs(suite, curve.experiment, subject, quick=quick):
                yield from ((scenario, _probe(curve, flow)) for flow in curve.flows or (None,))
        for stated in suite.table.ellipse:
            for _, scenario in _runs(suite, stated.experiment, subject, quick=quick):
                yield from ((scenario, Probe(metric)) for metric in (stated.delay, stated.goodput))


def curves(evidence: Evidence, suite: Suite, subject: Subject, *, quick: bool) -> Iterator[Curve]:
    """The curves of one subject, from the existing runs; cells without a run are omitted."""
    for stated in suite.table.curve:
        runs = _runs(suite, stated.experiment, subject, quick=quick)
        axis = axis_of(stated, [cell for cell, _ in runs])
        along = sorted(zip(axis.shown, runs, strict=True), key=lambda one: one[0])
        for flow in stated.flows or (None,):
            places = []
            for at, (cell, scenario) in along:
                if rows := _rows(evidence, scenario, [_probe(stated, flow)]):
                    mean = interval([value for _, _, (value,) in rows])
                    places.append(Place(cell.values[stated.x], at, cell.name, tuple(run for run, _, _ in rows), mean))
            if places:
                yield Curve(stated, flow, axis, tuple(places))


def trade_offs(evidence: Evidence, suite: Suite, subject: Subject, *, quick: bool) -> Iterator[TradeOff]:
    """The trade-offs of one subject, from the existing runs; cells without a run are omitted."""
    for stated in suite.table.ellipse:
        probes = [Probe(stated.delay), Probe(stated.goodput)]
        for cell, scenario in _runs(suite, stated.experiment, subject, quick=quick):
            if rows := _rows(evidence, scenario, probes):
                yield TradeOff(stated, cell.name, tuple(rows))


def _rows(evidence: Evidence, scenario: Scenario, probes: Sequence[Probe]) -> list[tuple[str, int, list[float]]]:
    """Run id, seed and values of each run of a scenario in which all values are defined."""
    rows = []
    for run in evidence.made(scenario):
        with suppress(NotJudgedError):  # the criteria report the reason of an undefined value
            rows.append((run.id, run.seed, [evidence.read(run, probe) for probe in probes]))
    return rows


def axis_of(stated: CurveTable, cells: Sequence[Cell]) -> Axis:
    """The values of cells as an axis; its ``numbers`` are ``None`` if the values are not quantities of one kind."""
    (axis,) = axes_of([stated.x], [{stated.x: cell.values[stated.x]} for cell in cells])
    return axis


def _runs(suite: Suite, experiment: str, subject: Subject, *, quick: bool) -> list[tuple[Cell, Scenario]]:
    return [(cell, suite.scenario(experiment, cell, subject)) for cell in suite.cells(experiment, quick=quick)]


def _probe(stated: CurveTable, flow: str | None) -> Probe:
    return Probe(stated.metric, None if flow is None else (flow,))
