"""A sweep as plots, as a page, and as the output of a notebook's cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from elephan import notebooks
from elephan.metrics.reading import MetricError, Window
from elephan.metrics.registry import get
from elephan.metrics.sweeps import Names, aggregate, chosen, frame
from elephan.report import pages, tables
from elephan.report.charts import SYMBOLS, BarChart, BarPanel, Bars, LineChart, LinePanel, Points, far_apart
from elephan.report.figures import COLORS, Figure, Values
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
_NUMBERS = ("mean", "low", "high")


Lines = dict[str, dict[float, Mapping[str, Any]]]
"""Rows of an aggregate (mean, low, high) by the name of their line and their position on the x axis."""


def positions(axis: Axis) -> list[tuple[float, str]]:
    """The values of an axis in order, as positions and texts: numbers in the displayed unit, or 0, 1, 2, ... for
    words."""
    if axis.numbers is None:
        return [(float(i), text) for i, text in enumerate(axis.distinct)]
    return sorted(dict(zip(axis.shown, axis.texts, strict=True)).items())


def figure(
    sweep: Sweep[Any], name: str | None, x: str | None = None, kind: Kind | None = None, window: Window | None = None
) -> Figure:
    """A metric over the axes of a sweep: lines over numbers, bars over words, or a heat map.

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
    lines = _lines(table.to_dicts(), across, [axis.key for axis in others] + (["flow"] if per == "flow" else []))
    several = any(row["low"] is not None for line in lines.values() for row in line.values())
    caption = "Means over the seeds, with 95 % intervals." if several else "One run for each point."
    head = (f"sweep-{name.replace('_', '-')}", metric.title.rstrip("."), caption)
    (label,) = headings([name])
    if kind == "heatmap":
        return _matrix(head, label, across, others[0], lines)
    if len(lines) > MOST_LINES:
        raise ScenarioError(f"{len(lines)} lines cannot be distinguished; draw a part of the sweep", path="kind")
    places = [place for place, _ in positions(across)]
    if across.numbers is None:
        bars = tuple(
            Bars(line or name, *_ends([rows.get(place, {}) for place in places]), color=i % len(COLORS))
            for i, (line, rows) in enumerate(lines.items())
        )
        return BarChart(*head, (BarPanel("", label, tuple(text for _, text in positions(across)), bars),))
    points = tuple(
        Points(line or name, list(rows), *_ends(list(rows.values())), style=i % len(SYMBOLS))
        for i, (line, rows) in enumerate(lines.items())
    )
    log = far_apart(places)
    panel = LinePanel("", across.label, label, points, log_x=log, ticks=tuple(places) if log else ())
    return LineChart(*head, (panel,))


def _ends(rows: Sequence[Mapping[str, Any]]) -> tuple[Values, Values, Values]:
    """Means, and the lower and upper ends of their intervals."""
    mean, low, high = ([row.get(end) for row in rows] for end in ("mean", "low", "high"))
    return mean, low, high


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


def _lines(rows: Sequence[Mapping[str, Any]], x: Axis, by: Sequence[str]) -> Lines:
    """The rows of an aggregate as lines over one axis, in its order."""
    where = {text: place for place, text in positions(x)}
    # Two spellings of the same number have the same position.
    where |= dict(zip(x.texts, x.shown, strict=True)) if x.numbers is not None else {}
    found: dict[str, list[tuple[float, Mapping[str, Any]]]] = {}
    for row in rows:
        known = {end: row[end] if row[end] is not None and math.isfinite(row[end]) else None for end in _NUMBERS}
        # An axis of numbers without a unit has no column of texts.
        place = where.get(row[x.key]) if isinstance(row.get(x.key), str) else row.get(x.key, 0.0)
        found.setdefault(", ".join(_shown(row[key]) for key in by), []).append((float(place or 0.0), known))
    return {name: dict(sorted(line, key=lambda pair: pair[0])) for name, line in found.items()}


def _shown(value: Any) -> str:
    return notebooks.figures(value, 6) if isinstance(value, float) else str(value)


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
        MetricError, ScenarioError: the errors of :func:`figure`.
    """
    shown = figure(sweep, metric, x, kind, window)
    spec = shown.spec()
    if ax is None:
        made = drawn(spec, size or SIZE_IN, notebook=True)
        ax = made.axes[0]
    else:
        draw_on(ax, spec)
    ax.set_title(shown.title if title is None else title, fontsize="medium", loc="left", wrap=True)
    found: Any = ax.get_figure()
    # Axes of a subfigure belong to the figure that contains it.
    root: MplFigure = found.figure
    return root


def _tick(axis: Axis, place: float, text: str) -> str:
    return text if axis.numbers is None else notebooks.figures(place, 6)


def _matrix(head: tuple[str, str, str], label: str, x: Axis, y: Axis, lines: Lines) -> Matrix:
    """A heat map of the means; its rows are from the top."""
    columns, rows = positions(x), positions(y)[::-1]
    by_row = [lines.get(text) or lines.get(_shown(place)) or lines.get(_shown(int(place)), {}) for place, text in rows]
    values = tuple(tuple(_mean(line.get(place)) for place, _ in columns) for line in by_row)
    known = [value for row in values for value in row if not math.isnan(value)]
    low, high = min(known), max(known)
    return Matrix(
        *head, tuple(_tick(y, *row) for row in rows), tuple(_tick(x, *column) for column in columns), values, label,
        (low, high if high > low else low + 1), y.label, x.label,
    )  # fmt: skip


def _mean(row: Mapping[str, Any] | None) -> float:
    return math.nan if row is None or row["mean"] is None else float(row["mean"])


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
            figures.append(figure(sweep, name))
        except (MetricError, ScenarioError) as error:
            notes.append(f"{name} is not drawn: {error}")
    means = aggregate(sweep, asked, per=per).to_dicts()
    notes += dict.fromkeys(f"{row['metric']}: {row['why']}" for row in means if row["mean"] is None)
    keys = [*(axis.key for axis in sweep.axes if axis.key != SEED), *(["flow"] if per == "flow" else [])]
    shown = [_means(means, keys), _runs(frame(sweep, asked, per=per))]
    warnings = dict.fromkeys(line for run in sweep.made for line in run.warnings)
    page = {
        "title": _title(sweep),
        "size": f"{len(sweep)} runs over {', '.join(sweep.keys) or 'seeds'}",
        "warnings": [*notes, *warnings],
        "tables": shown,
        "toml": sweep.scenarios[0][0].to_toml() if sweep.scenarios else "",
        "provenance": facts(sweep.made),
    }
    return pages.report("sweep.html.j2", target, page, figures)


def _title(sweep: Sweep[Any]) -> str:
    titles = list(dict.fromkeys(scenario.title for scenario, _ in sweep.scenarios if scenario.title))
    return titles[0] if len(titles) == 1 else f"A sweep over {', '.join(sweep.keys) or 'seeds'}"


def _means(found: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    """A table with a row for each point, with the means of the metrics."""
    names, rows = wide(found, keys, notebooks.shown)
    return tables.table(
        "Means over the seeds", [*keys, *headings(names)], rows, range(len(keys), len(keys) + len(names))
    )


def headings(names: Iterable[str]) -> list[str]:
    """Headings of the metrics, by the names that were asked for, with their units."""
    return [get(name).heading(name) for name in dict.fromkeys(names)]


def _runs(found: Any) -> dict[str, Any]:
    """The runs of a sweep as a table of a page, without columns that are empty."""
    kept = [name for name in found.columns if found[name].null_count() < len(found)]
    seeds = [str(seed) for seed in found["seed"]] if "seed" in kept else []
    rows = found.select(kept).to_dicts()
    shown = (row | {"seed": seed} for row, seed in zip(rows, seeds, strict=True)) if seeds else rows
    return tables.table("Runs", kept, (list(row.values()) for row in shown))


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
