"""Trade-offs of goodput and delay: the replicates of an experiment as points, with the ellipse fitted to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from elephan.evaluation.measurement import NotJudgedError
from elephan.metrics.ellipse import Ellipse
from elephan.metrics.registry import get
from elephan.scenario import Scenario
from elephan.suites.evidence import Evidence
from elephan.suites.measures import plain_probe
from elephan.suites.schema import EllipseTable
from elephan.suites.suite import Subject, Suite


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        run: id of the run.
        seed: seed of the run.
        delay: value of the x axis, in the unit of its metric.
        goodput: value of the y axis, in the unit of its metric.
    """

    run: str
    seed: int
    delay: float
    goodput: float


@dataclass(frozen=True)
class TradeOff:
    """The replicates of one cell.

    Attributes:
        stated: entry of the trade-off in the suite.
        cell: name of the cell.
        points: a point for each seed.
    """

    stated: EllipseTable
    cell: str
    points: tuple[Point, ...]

    def ellipse(self) -> Ellipse:
        """The ellipse of the points.

        Raises:
            ValueError: there are too few points, or all points are equal.
        """
        return Ellipse.of([point.delay for point in self.points], [point.goodput for point in self.points])

    def to_json(self) -> dict[str, Any]:
        """The trade-off for ``--json``: points, and the ellipse or the reason why there is no ellipse."""
        ellipse: dict[str, Any] | None
        try:
            found, why = self.ellipse(), ""
            ellipse = {"mean": found.mean, "median": found.median, "covariance": found.covariance}
        except ValueError as error:
            ellipse, why = None, str(error)
        units = {axis: get(name).unit for axis, name in self.axes.items()}
        return {
            "id": self.stated.id, "section": self.stated.section, "experiment": self.stated.experiment,
            "cell": self.cell, "metrics": self.axes, "units": units,
            "points": [
                {"run": one.run, "seed": one.seed, "delay": one.delay, "goodput": one.goodput} for one in self.points
            ],
            "ellipse": ellipse, "why": why,
        }  # fmt: skip

    @property
    def axes(self) -> dict[str, str]:
        """Metrics by axis: delay, then goodput, the order of the coordinates of an ellipse."""
        return {"delay": self.stated.delay, "goodput": self.stated.goodput}


def want(evidence: Evidence, suite: Suite, subjects: Iterable[Subject], *, quick: bool) -> None:
    """Request the values that the trade-offs of a suite need from the runs of its criteria."""
    for subject in subjects:
        for stated, _, scenario in _scenarios(suite, subject, quick=quick):
            evidence.want_of(scenario, map(plain_probe, (stated.delay, stated.goodput)))


def trade_offs(evidence: Evidence, suite: Suite, subject: Subject, *, quick: bool) -> list[TradeOff]:
    """The trade-offs of one subject, from the existing runs; cells without a run are omitted."""
    found = []
    for stated, cell, scenario in _scenarios(suite, subject, quick=quick):
        points = tuple(_points(evidence, stated, scenario))
        if points:
            found.append(TradeOff(stated, cell, points))
    return found


def _scenarios(suite: Suite, subject: Subject, *, quick: bool) -> Iterator[tuple[EllipseTable, str, Scenario]]:
    for stated in suite.table.ellipse:
        for cell in suite.cells(stated.experiment, quick=quick):
            yield stated, cell.name, suite.scenario(stated.experiment, cell, subject)


def _points(evidence: Evidence, stated: EllipseTable, scenario: Scenario) -> Iterator[Point]:
    for seed in evidence.seeds(scenario):
        try:
            run, delay = evidence.read(scenario, seed, plain_probe(stated.delay))
            _, goodput = evidence.read(scenario, seed, plain_probe(stated.goodput))
        except NotJudgedError:
            continue  # the metric is not defined for this run; the criteria report the reason
        yield Point(run, seed, delay, goodput)
