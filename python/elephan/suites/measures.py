"""Values of criteria: for each seed, a value computed from the numbers of one run or of two runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from elephan.evaluation.measurement import NotJudgedError
from elephan.metrics.friendliness import fraction_lost
from elephan.metrics.reading import MetricError, duration_s
from elephan.metrics.registry import get
from elephan.scenario.units import parse_positive_time, parse_rate
from elephan.suites.schema import BaselineTable, CriterionTable

if TYPE_CHECKING:
    from elephan.runs import Run

_COMBINED: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "max": max, "min": min, "sum": math.fsum}


@dataclass(frozen=True)
class Probe:
    """A number from a run.

    Attributes:
        metric: name of the metric in the registry.
        flows: the measured flows; all by default.
        over: function that combines the values of several flows.
        link: the measured link.
        window: the window, in fractions of the duration.
    """

    metric: str
    flows: tuple[str, ...] | None
    over: str
    link: str | None
    window: tuple[float, float] | None

    def read(self, run: Run) -> float:
        """The value.

        Raises:
            NotJudgedError: the value is not defined for this run.
        """
        metric = get(self.metric)
        options: dict[str, Any] = {}
        if self.flows is not None:
            options["flows"] = list(self.flows)
        if self.link is not None:
            options["link"] = self.link
        if self.window is not None:
            start, end = self.window
            options["window"] = (start * duration_s(run), end * duration_s(run))
        try:
            found = metric(run, **options)
            value = float(_COMBINED[self.over](list(found.values())) if isinstance(found, dict) else found)
        except MetricError as error:
            raise NotJudgedError(str(error)) from None
        if math.isnan(value):
            raise NotJudgedError(f"{self.metric} is not a number")
        return value


def probe(criterion: CriterionTable) -> Probe:
    """The number that a criterion reads from the run of the algorithm that is judged."""
    return Probe(criterion.metric, criterion.flows, criterion.over, criterion.link, criterion.window)


def baseline_probe(criterion: CriterionTable, baseline: BaselineTable) -> Probe:
    """The number that a criterion reads from the run of its baseline."""
    flows = criterion.flows if baseline.flows is None else baseline.flows
    return Probe(criterion.metric, flows, criterion.over, criterion.link, criterion.window)


def plain_probe(metric: str) -> Probe:
    """A probe that reads a metric of the whole run."""
    return Probe(metric, None, "mean", None, None)


def compared(kind: str, value: float, baseline: float) -> float:
    """A value relative to the baseline's value: difference, ratio, or fraction lost or gained, by ``kind``.

    Raises:
        NotJudgedError: the divisor is 0.
    """
    try:
        if kind == "lost":
            return fraction_lost(baseline, value)
        if kind == "gained":
            return fraction_lost(baseline, value, more_is_better=False)
        return value / baseline if kind == "ratio" else value - baseline
    except ZeroDivisionError:
        raise NotJudgedError("the value that it is compared with is 0") from None


def divisor(criterion: CriterionTable, values: Mapping[str, Any]) -> float:
    """The number by which values are divided, in the unit of the metric."""
    if criterion.per is None:
        return 1.0
    if criterion.per == "rate":
        return parse_rate(values["rate"]) / 1e6
    unit_ps = 1e9 if get(criterion.metric).unit == "ms" else 1e12
    return parse_positive_time(values["rtt"]) / unit_ps
