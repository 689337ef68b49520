"""`Sweep`: the runs of a sweep, with the values of the varied fields for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from elephan.hooks import hook
from elephan.runs.axes import Axis, as_text, axes_of
from elephan.runs.grids import Grid
from elephan.runs.result import Run
from elephan.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

R = TypeVar("R", bound=Run | None)
Per = Literal["run", "flow"]
SCENARIO = "scenario"
"""Axis of a sweep over scenarios that are not from a grid."""


class Sweep(Sequence[R], Generic[R]):
    """The runs of a sweep: a sequence of runs in the order of the input, and their numbers as data.

    Attributes:
        keys: fields whose values differ; ``scenario`` for scenarios that are not from a grid.
        points: value of each of these fields, for each run.
        scenarios: scenario and seed of each run.
        whys: for each run the reason of its failure; ``None`` if it succeeded.
    """

    def __init__(
        self,
        runs: Sequence[R],
        scenarios: Sequence[tuple[Scenario, int]],
        grid: Grid | None = None,
        whys: Sequence[str | None] = (),
    ) -> None:
        self._runs = tuple(runs)
        self.scenarios = tuple(scenarios)
        self.keys: tuple[str, ...]
        self.points: tuple[Mapping[str, Any], ...]
        self.keys, self.points = (grid.keys, grid.points) if grid is not None else _by_scenario(self.scenarios)
        self.whys = tuple(whys) or (None,) * len(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...
    def __getitem__(self, index: int | slice) -> R | Sequence[R]:
        return self._runs[index] if isinstance(index, int) else list(self._runs[index])

    @cached_property
    def axes(self) -> list[Axis]:
        """The fields with their values, one value for each run."""
        return axes_of(self.keys, self.points)

    @property
    def made(self) -> list[Run]:
        """The runs that did not fail."""
        return [run for run in self._runs if run is not None]

    def frame(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        per: Per = "run",
        window: tuple[float, float] | None = None,
    ) -> pl.DataFrame:
        """One row for each run: its values of the axes, its seed, and the metrics.

        An axis has its values as text. An axis of quantities also has numbers, in a column whose name ends in the base
        unit: ``dumbbell.rtt`` and ``dumbbell.rtt_s``. A number without a unit has one column. ``run`` is the run's id,
        and ``why`` has the reason for a null value: the run failed, or the metric is not defined for it.

        Args:
            metrics: names of metrics (``elephan list metrics``); by default goodput, utilization, loss rate, queueing
                delay and Jain's index.
            per: ``flow`` gives one row for each flow, with the columns ``flow`` and ``algorithm``. Metrics of a flow
                need ``per="flow"``; metrics of the run are then repeated for each flow.
            window: start and end in seconds; the scenario's ``[measure]`` by default.

        Raises:
            MetricError: there is no such metric, or the metric is defined for each flow and ``per`` is not "flow".
        """
        made: pl.DataFrame = hook("sweep_frame")(self, metrics, per=per, window=window)
        return made

    def aggregate(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        per: Per = "run",
        window: tuple[float, float] | None = None,
    ) -> pl.DataFrame:
        """One row for each point and metric: the mean over the seeds with its 95 % interval (Student's t).

        The columns are the axes, ``flow`` with ``per="flow"``, ``metric``, ``unit``, ``mean``, ``low``, ``high``,
        ``seeds`` (number of seeds with a value) and ``why``. ``low`` and ``high`` are null without an interval, as with
        one seed, and ``why`` has the reason.

        Raises:
            MetricError: the errors of :meth:`frame`.
        """
        made: pl.DataFrame = hook("sweep_aggregate")(self, metrics, per=per, window=window)
        return made

    def plot(
        self,
        metric: str | None = None,
        *,
        x: str | None = None,
        kind: Literal["lines", "heatmap"] | None = None,
        ax: Axes | None = None,
        size: tuple[float, float] | None = None,
        title: str | None = None,
        window: tuple[float, float] | None = None,
    ) -> Figure:
        """A metric over the axes: lines or bars with whiskers (means and 95 % intervals), or a heat map of the means.

        Two axes of numbers, or two axes of words, give a heat map. In all other cases the first axis of numbers is
        ``x``, and each combination of values of the other axes is a line; words on the x axis have bars. A metric
        of a flow has a line for each flow.

        Args:
            metric: name; by default the first metric of :meth:`frame`.
            x: field on the x axis.
            kind: ``lines`` or ``heatmap``, instead of the choice above.
            ax: Matplotlib axes to draw into; a new figure by default.
            size: width and height of a new figure, inches.
            title: title of the axes; the metric's definition in one line by default.
            window: start and end in seconds; the scenario's ``[measure]`` by default.

        Raises:
            MetricError: there is no such metric, or it has no value in any run.
            ScenarioError: ``x`` is not an axis, or a heat map is requested and the sweep does not have two axes.
        """
        made: Figure = hook("sweep_plot")(self, metric, x=x, kind=kind, ax=ax, size=size, title=title, window=window)
        return made

    def report(self, path: str | Path, metrics: str | Sequence[str] | None = None) -> Path:
        """Write one HTML page with a plot and a table of each metric, all runs, and their provenance. Returns its path.

        ``path`` is a file that ends in ``.html``, or a folder for ``report.html``. The page needs no network.

        Raises:
            MetricError: the errors of :meth:`frame`.
            ScenarioError: the file has another suffix.
            OSError: the page cannot be written.
        """
        made: Path = hook("sweep_report")(self, path, metrics)
        return made

    def __repr__(self) -> str:
        missing = len(self) - len(self.made)
        failed = f", {missing} failed" if missing else ""
        return f"<Sweep of {len(self)} runs over {', '.join(self.keys) or 'seeds'}{failed}>"

    def _repr_html_(self) -> str:
        made: str = hook("sweep_html")(self)
        return made


def _by_scenario(scenarios: Sequence[tuple[Scenario, int]]) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    """An axis of scenarios: their titles if these are distinct, their hashes otherwise."""
    hashes = [scenario.hash for scenario, _ in scenarios]
    titles = [scenario.title for scenario, _ in scenarios]
    pairs = set(zip(hashes, titles, strict=True))
    named = None not in titles and len(pairs) == len(set(hashes)) == len(set(titles))
    return (SCENARIO,), tuple({SCENARIO: as_text(name)} for name in (titles if named else hashes))
