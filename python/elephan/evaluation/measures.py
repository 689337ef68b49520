"""Numbers of runs, for all that is judged: a metric of a run, perhaps of some flows or of a part of the time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from elephan.evaluation.measurement import NotJudgedError

if TYPE_CHECKING:
    from elephan.runs import Run

_COMBINED: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "max": max, "min": min, "sum": math.fsum}


def measured(run: Run, metric: str, **options: Any) -> Any:
    """A registered metric of a run: a number, or a number for each flow; ``options`` that are ``None`` are left out.

    Raises:
        NotJudgedError: the metric is not defined for this run.
    """
    from elephan.metrics import MetricError, get

    try:
        return get(metric)(run, **{name: value for name, value in options.items() if value is not None})
    except MetricError as error:
        raise NotJudgedError(str(error)) from error


@dataclass(frozen=True)
class Probe:
    """A number of a run.

    Attributes:
        metric: name of the metric in the registry.
        flows: the measured flows; all by default.
        over: function that combines the values of several flows.
        link: the measured link.
        window: the window, in fractions of the duration.
    """

    metric: str
    flows: tuple[str, ...] | None = None
    over: str = "mean"
    link: str | None = None
    window: tuple[float, float] | None = None

    def read(self, run: Run) -> float:
        """The value.

        Raises:
            NotJudgedError: the value is not defined for this run.
        """
        from elephan.metrics.reading import duration_s

        flows = None if self.flows is None else list(self.flows)
        window = None if self.window is None else tuple(share * duration_s(run) for share in self.window)
        found = measured(run, self.metric, flows=flows, link=self.link, window=window)
        value = float(_COMBINED[self.over](list(found.values())) if isinstance(found, dict) else found)
        if math.isnan(value):
            raise NotJudgedError(f"{self.metric} is not a number")
        return value
