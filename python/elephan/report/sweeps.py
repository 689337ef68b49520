"""A sweep as plots, as a page, and as the output of a notebook's cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from elephan import notebooks
from elephan.metrics.reading import MetricError, Window
from elephan.metrics.registry import Metric, get
from elephan.metrics.sweeps import Names, aggregate, chosen, frame
from elephan.report import pages
from elephan.report.charts import SYMBOLS, BarChart, BarPanel, Bars, LineChart, LinePanel, Points, far_apart
from elephan.report.figures import COLORS, Figure, entry
from elephan.report.matrix import Matrix
from elephan.report.printed import draw_on, drawn
from elephan.report.provenance import facts
from elephan.runs.axes import Axis
from elephan.runs.grids import SEED
from elephan.scenario import ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from elephan.runs.swept import Sweep

Kind = Literal["lines", "heatmap"]
SIZE_IN = (6.4, 3.8)
MOST_LINES = 24


@dataclass(frozen=True)
class Line:
    """Means over one axis with the ends of their intervals; ``low`` and ``high`` are NaN without an interval."""

    name: str
    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class Drawing:
    """Data of a plot of a metric.

    Attributes:
        name: name of the metric, as requested.
        metric: definition of the metric.
        x: axis from left to right.
        y: axis from bottom to top of a heat map; ``None`` for lines.
        lines: one for each combination of the other axes, or for each value of ``y``.
    """

    name: str
    metric: Metric
    x: Axis
    y: Axis | None
    lines: list[Line]

    @property
    def label(self) -> str:
        """The metric with its unit."""
        return self.name if self.metric.unit == "1" else f"{self.name} ({self.metric.unit})"

    @property
    def positions(self) -> list[tuple[float, str]]:
        """The values of the x axis from left to right: position and text."""
        return positions(self.x)

    @property
    def has_intervals(self) -> bool:
        """True if a mean has an interval."""
        return any(not math.isnan(low) for line in self.lines for low in line.low)

    @property
    def is_log(self) -> bool:
        """True if the x axis is logarithmic: its values are positive and differ by large factors."""
        return self.x.numbers is not None and far_apart([place for place, _ in self.positions])


def positions(axis: Axis) -> list[tuple[float, str]]:
    """The values of an axis in order, as positions and texts: numbers in the displayed unit, or 0, 1, 2, ... for
    words."""
    if axis.numbers is None:
        return [(float(i), text) for i, text in enumerate(axis.distinct)]
    return sorted(dict(zip(axis.shown, axis.texts, strict=True)).items())


def drawing(
    sweep: Sweep[Any],
    name: str | None,
    x: str | None = None,
    kind: Kind | None = None,
    window: Window | None = None,
) -> Drawing:
    """The data of a plot of a metric.

    Raises:
        MetricError: there is no such metric, or it has no value in any run.
        ScenarioError: ``x`` is not an axis, there are too many lines, or a heat map does not have two axes.
    """
    name = name or next(iter(chosen(None, "run")))
    metric = get(name)
    per: Literal["run", "flow"] = "flow" if metric.scope == "flow" else "run"
    if not len(sweep):
        raise MetricError("the sweep has no runs")
    axes = [axis for axis in sweep.axes if axis.key != SEED]
    across = _across(axes, x)
    others = [axis for axis in axes if axis is not across]
    kind = kind or _kind(axes, per, x)
    if kind == "heatmap" and (len(axes) != 2 or per == "flow"):
        raise ScenarioError(f"a heat map has two axes and one number a run; here are {len(axes)}", path="kind")
    table = aggregate(sweep, name, per=per, window=window)
    if table["mean"].null_count() == len(table):
        raise MetricError(f"'{name}' has no value in any run: {table['why'].to_list()[0]}")
    by = [axis.key for axis in others] + (["flow"] if per == "flow" else [])
    lines = _lines(table.to_dicts(), across, by)
    if kind == "heatmap":
        return Drawing(name, metric, across, others[0], lines)
    if len(lines) > MOST_LINES:
        raise ScenarioError(f"{len(lines)} lines cannot be distinguished; draw a part of the sweep", path="kind")
    return Drawing(name, metric, across, None, lines)


def _across(axes: Sequence[Axis], x: str | None) -> Axis:
    if x is not None:
        found = next((axis for axis in axes if axis.key == x), None)
        if found is None:
            raise ScenarioError(f"'{x}' is not an axis; {hint(x, [axis.key for axis in axes])}", path="x")
        return found
    if not axes:
        return Axis("", ("all seeds",))
    return next((axis for axis in axes if axis.numbers is not None), axes[0])


def _kind(axes: Sequence[Axis], per: str, x: str | None) -> Kind:
    numeric = {axis.numbers is not None for axis in axes}
    several = all(len(axis.distinct) > 1 for axis in axes)
    return "heatmap" if len(axes) == 2 and len(numeric) == 1 and several and per == "run" and x is None else "lines"


def _lines(rows: Sequence[Mapping[str, Any]], x: Axis, by: Sequence[str]) -> list[Line]:
    """The rows of an aggregate as lines over one axis."""
    where = {text: place for place, text in positions(x)}
    # Two spellings of the same number have the same position.
    where |= dict(zip(x.texts, x.shown, strict=True)) if x.numbers is not None else {}
    groups: dict[str, list[tuple[float, Mapping[str, Any]]]] = {}
    for row in rows:
        name = ", ".join(_shown(row[key]) for key in by)
        # An axis of numbers without a unit has no column of texts.
        place = where.get(row[x.key]) if isinstance(row.get(x.key), str) else row.get(x.key, 0.0)
        groups.setdefault(name, []).append((float(place or 0.0), row))
    return [_line(name, sorted(found, key=lambda pair: pair[0])) for name, found in groups.items()]


def _line(name: str, found: Sequence[tuple[float, Mapping[str, Any]]]) -> Line:
    ends = {end: [_number(row[end]) for _, row in found] for end in ("mean", "low", "high")}
    return Line(name, [place for place, _ in found], **ends)


def _number(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else value


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---- figures ----


def plot(
    sweep: Sweep[Any],
    metric: str | None = None,
    *,
    x: str | None = None,
    kind: Kind | None = None,
    ax: Axes | None = None,
    size: tuple[float, float] | None = None,
    title: str | None = None,
    window: Window | None = None,
) -> MplFigure:
    """A metric over the axes of a sweep; see :meth:`elephan.runs.swept.Sweep.plot`.

    Raises:
        MetricError, ScenarioError: the errors of :func:`drawing`.
    """
    shown = drawing(sweep, metric, x, kind, window)
    heading = shown.metric.title.rstrip(".") if title is None else title
    spec = figure(shown).plotly()
    if ax is None:
        made = drawn(spec, size or SIZE_IN, notebook=True)
        ax = made.axes[0]
    else:
        draw_on(ax, spec)
    ax.set_title(heading, fontsize="medium", loc="left", wrap=True)
    found: Any = ax.get_figure()
    # Axes of a subfigure belong to the figure that contains it.
    root: MplFigure = found.figure
    return root


def _tick(axis: Axis, place: float, text: str) -> str:
    return text if axis.numbers is None else f"{place:g}"


def _cells(shown: Drawing, y: Axis) -> list[list[float]]:
    """The means of a heat map, by row from the bottom."""
    at = {place: i for i, (place, _) in enumerate(shown.positions)}
    by_name = {line.name: line for line in shown.lines}
    table = []
    for place, text in positions(y):
        row = [math.nan] * len(at)
        line = by_name.get(text) or by_name.get(_shown(place)) or by_name.get(_shown(int(place)))
        for position, mean in zip(line.x, line.mean, strict=True) if line is not None else ():
            row[at[position]] = mean
        table.append(row)
    return table


def figure(shown: Drawing) -> Figure:
    """The drawing as an interactive figure of a report."""
    name, title = f"sweep-{shown.name.replace('_', '-')}", shown.metric.title.rstrip(".")
    caption = "Means over the seeds, with 95 % intervals." if shown.has_intervals else "One run for each point."
    if shown.y is not None:
        values = _cells(shown, shown.y)
        known = [value for row in values for value in row if not math.isnan(value)]
        low, high = min(known), max(known)
        return Matrix(
            name, title, caption,
            rows=tuple(_tick(shown.y, *row) for row in reversed(positions(shown.y))),
            columns=tuple(_tick(shown.x, *column) for column in shown.positions),
            values=tuple(tuple(row) for row in reversed(values)),
            value_label=shown.label, value_range=(low, high if high > low else low + 1),
            row_label=shown.y.label, column_label=shown.x.label,
        )  # fmt: skip
    if shown.x.numbers is None:
        groups = tuple(text for _, text in shown.positions)
        bars = tuple(_bars(line, line.name or shown.name, len(groups), i) for i, line in enumerate(shown.lines))
        return BarChart(name, title, caption, (BarPanel("", shown.label, groups, bars),))
    points = tuple(
        Points(
            line.name or shown.name, line.x, _values(line.mean), _values(line.low), _values(line.high),
            style=i % len(SYMBOLS),
        )
        for i, line in enumerate(shown.lines)
    )  # fmt: skip
    ticks = tuple(place for place, _ in shown.positions) if shown.is_log else ()
    panel = LinePanel("", shown.x.label, shown.label, points, log_x=shown.is_log, ticks=ticks)
    return LineChart(name, title, caption, (panel,))


def _bars(line: Line, name: str, groups: int, i: int) -> Bars:
    mean, low, high = ([math.nan] * groups for _ in range(3))
    for place, *ends in zip(line.x, line.mean, line.low, line.high, strict=True):
        for row, end in zip((mean, low, high), ends, strict=True):
            row[round(place)] = end
    return Bars(name, _values(mean), _values(low), _values(high), color=i % len(COLORS))


def _values(numbers: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers]


def sweep_report(sweep: Sweep[Any], path: str | Path, names: Names = None) -> Path:
    """Write the page of a sweep; see :meth:`elephan.runs.swept.Sweep.report`.

    Raises:
        MetricError: there is no such metric.
        ScenarioError: the file has another suffix.
        OSError: the page cannot be written.
    """
    path = Path(path)
    if path.suffix not in ("", ".html") and not path.is_dir():
        raise ScenarioError(f"'{path}' ends in '{path.suffix}'; write a file that ends in .html, or a folder")
    target = path if path.suffix == ".html" else path / "report.html"
    asked = [names] if isinstance(names, str) else list(names) if names is not None else list(chosen(None, "run"))
    per: Literal["run", "flow"] = "flow" if any(get(name).scope == "flow" for name in asked) else "run"
    figures, notes = [], []
    for name in asked:
        try:
            figures.append(figure(drawing(sweep, name)))
        except (MetricError, ScenarioError) as error:
            notes.append(f"{name} is not drawn: {error}")
    means = aggregate(sweep, asked, per=per).to_dicts()
    notes += dict.fromkeys(f"{row['metric']}: {row['why']}" for row in means if row["mean"] is None)
    keys = [*(axis.key for axis in sweep.axes if axis.key != SEED), *(["flow"] if per == "flow" else [])]
    tables = [_means(means, keys), _table("Runs", frame(sweep, asked, per=per))]
    warnings = dict.fromkeys(line for run in sweep.made for line in run.warnings)
    page = {
        "title": _title(sweep),
        "size": f"{len(sweep)} runs over {', '.join(sweep.keys) or 'seeds'}",
        "warnings": [*notes, *warnings],
        "figures": [entry(made) for made in figures],
        "tables": tables,
        "toml": sweep.scenarios[0][0].to_toml() if sweep.scenarios else "",
        "provenance": facts(sweep.made),
    }
    payloads = {"figures-data": {made.id: made.plotly() for made in figures}}
    return pages.write(target, pages.render("sweep.html.j2", payloads, plotly=bool(figures), page=page))


def _title(sweep: Sweep[Any]) -> str:
    titles = list(dict.fromkeys(scenario.title for scenario, _ in sweep.scenarios if scenario.title))
    return titles[0] if len(titles) == 1 else f"A sweep over {', '.join(sweep.keys) or 'seeds'}"


def _means(found: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    """A table with a row for each point, with the means of the metrics."""
    names, rows = wide(found, keys, notebooks.shown)
    return {
        "title": "Means over the seeds",
        "header": [*keys, *headings(names)],
        "numeric": list(range(len(keys), len(keys) + len(names))),
        "rows": [[_cell(value) for value in row] for row in rows],
    }


def headings(names: Iterable[str]) -> list[str]:
    """Headings of the metrics, with their units."""
    units = {name: get(name).unit for name in names}
    return [name if unit == "1" else f"{name} ({unit})" for name, unit in units.items()]


def _table(title: str, found: Any) -> dict[str, Any]:
    """A data frame as a table of a page, without columns that are empty."""
    import polars.selectors as cs

    numeric = set(found.select(cs.numeric()).columns)
    kept = [name for name in found.columns if found[name].null_count() < len(found)]
    return {
        "title": title,
        "header": kept,
        "numeric": [i for i, name in enumerate(kept) if name in numeric],
        "rows": [[_cell(value) for value in row] for row in found.select(kept).iter_rows()],
    }


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return "never" if math.isinf(value) else f"{value:.4g}"
    return str(value)


def notebook(sweep: Sweep[Any]) -> str:
    """A sweep in a notebook: a row for each point, with the means over the seeds."""
    found = aggregate(sweep)
    keys = [axis.key for axis in sweep.axes if axis.key != SEED]
    names, rows = wide(found.to_dicts(), keys, notebooks.shown)
    return notebooks.heading(_title(sweep), repr(sweep)[1:-1]) + notebooks.table([*keys, *headings(names)], rows)


def wide(
    found: Sequence[Mapping[str, Any]], keys: Sequence[str], show: Callable[[Any], str]
) -> tuple[list[str], list[list[Any]]]:
    """The metrics of an aggregate, and a row for each point: the values of ``keys``, and a text for each metric.

    A text is the mean ± half the width of its interval (Student's t).
    """
    points: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in found:
        text = show(row["mean"])
        if row["low"] is not None:
            text += f" ± {(row['high'] - row['low']) / 2:.2g}"
        points.setdefault(tuple(row[key] for key in keys), {})[str(row["metric"])] = text
    names = list(dict.fromkeys(str(row["metric"]) for row in found))
    return names, [[*point, *(texts[name] for name in names)] for point, texts in points.items()]
