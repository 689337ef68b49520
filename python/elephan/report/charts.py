"""Charts: lines with markers over a parameter, bars in groups, and tables; each is drawn for the screen and for print.

Markers distinguish series for readers without color vision. The module depends neither on runs nor on papers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from elephan.report.figures import COLORS, WIDTH_IN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

Values = Sequence[float | None]
MARKERS = ("o", "s", "^", "v", "D", "x", "+", "*", "h")
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "D": "diamond", "x": "x-thin-open",
    "+": "cross-thin-open", "*": "star", "h": "hexagon",
}  # fmt: skip
_MODES = {"both": "lines+markers", "line": "lines", "markers": "markers", "published": "markers"}
_PUBLISHED: dict[str, Any] = {"markersize": 9, "markeredgecolor": "black", "markeredgewidth": 0.7, "zorder": 5}
_HOLLOW: dict[str, Any] = {"markersize": 4, "fillstyle": "none"}
_ROW_IN = 2.7
_ROW_PX = 330


@dataclass(frozen=True)
class Points:
    """A series over a parameter.

    Attributes:
        name: name in the legend.
        x: positions.
        y: values; ``None`` for a missing value.
        low: lower ends of the intervals over replicates; empty without intervals.
        high: upper ends.
        style: index into :data:`~elephan.report.figures.COLORS` and :data:`MARKERS`.
        drawn: ``line`` for a model, ``markers`` for measurements that are compared with a model, ``published`` for
            published numbers, otherwise ``both`` (markers on a line).
    """

    name: str
    x: Sequence[float]
    y: Values
    low: Values = ()
    high: Values = ()
    style: int = 0
    drawn: Literal["both", "line", "markers", "published"] = "both"

    def whiskers(self) -> tuple[list[float], list[float]]:
        """Distances from each value to the ends of its interval, above and below."""
        return _whiskers(self.y, self.low, self.high)


_LOG_RATIO = 20
"""Ratio of the largest to the smallest value above which an axis of positive numbers is logarithmic."""


def far_apart(places: Sequence[float]) -> bool:
    """True for positive numbers that are so far apart that a linear axis would concentrate them at one end."""
    return min(places) > 0 and max(places) >= _LOG_RATIO * min(places)


@dataclass(frozen=True)
class LinePanel:
    """One part of a line chart, with its own axes.

    Attributes:
        title: title of the panel; may be empty.
        x_label: label of the x axis, with its unit.
        y_label: label of the y axis, with its unit.
        series: series, in the order of the legend.
        log_x: the x axis is logarithmic.
        log_y: the y axis is logarithmic; otherwise it begins at 0.
        borders: positions at which a dashed line goes from bottom to top.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Points, ...]
    log_x: bool = False
    log_y: bool = False
    borders: tuple[float, ...] = ()


@dataclass(frozen=True)
class LineChart:
    """Lines with markers, in panels below one another."""

    id: str
    title: str
    caption: str
    panels: tuple[LinePanel, ...]

    def plotly(self) -> dict[str, Any]:
        """Scatter traces; a series that is in several panels has one entry in the legend."""
        layout, data = _layout([panel.title for panel in self.panels]), []
        named: set[str] = set()
        for number, panel in enumerate(self.panels, start=1):
            suffix = "" if number == 1 else str(number)
            layout[f"xaxis{suffix}"] |= {
                "title": {"text": panel.x_label}, "type": "log" if panel.log_x else "linear", "exponentformat": "power",
            }  # fmt: skip
            layout[f"yaxis{suffix}"] |= {"title": {"text": panel.y_label}, "type": "log" if panel.log_y else "linear"}
            for points in panel.series:
                data.append(_scatter(points, suffix, legend=points.name not in named))
                named.add(points.name)
            layout.setdefault("shapes", []).extend(_border(x, suffix) for x in panel.borders)
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The panels for print."""
        figure, axes = _grid(len(self.panels))
        for panel, ax in zip(self.panels, axes, strict=True):
            for points in panel.series:
                up, down = points.whiskers()
                ax.errorbar(
                    points.x, _known(points.y), yerr=[down, up] if points.low else None, color=COLORS[points.style],
                    marker={"line": "", "published": "*"}.get(points.drawn, MARKERS[points.style]),
                    linewidth=0.9 if points.drawn in ("both", "line") else 0.0, elinewidth=0.6, capsize=1.5,
                    **(_PUBLISHED if points.drawn == "published" else _HOLLOW), label=points.name,
                )  # fmt: skip
            for x in panel.borders:
                ax.axvline(x, color="0.5", linewidth=0.7, linestyle="--")
            ax.set_xscale("log" if panel.log_x else "linear")
            if panel.log_y:
                ax.set_yscale("log")
            else:
                ax.set_ylim(bottom=0)
            _label(ax, panel.title, panel.x_label, panel.y_label)
        _legend(figure, axes)
        return figure


@dataclass(frozen=True)
class Bars:
    """A series of a bar chart: one bar in each group.

    Attributes:
        name: name in the legend.
        values: one value for each group; ``None`` for a missing value.
        low: lower ends of the intervals over replicates; empty without intervals.
        high: upper ends.
        color: index into :data:`~elephan.report.figures.COLORS`.
    """

    name: str
    values: Values
    low: Values = ()
    high: Values = ()
    color: int = 0


@dataclass(frozen=True)
class BarPanel:
    """One part of a bar chart: groups from left to right, with one bar for each series."""

    title: str
    y_label: str
    groups: tuple[str, ...]
    series: tuple[Bars, ...]


@dataclass(frozen=True)
class BarChart:
    """Bars in groups, in panels below one another."""

    id: str
    title: str
    caption: str
    panels: tuple[BarPanel, ...]

    def plotly(self) -> dict[str, Any]:
        """Bar traces; a series that is in several panels has one entry in the legend."""
        layout, data = _layout([panel.title for panel in self.panels]), []
        layout["barmode"] = "group"
        named: set[str] = set()
        for number, panel in enumerate(self.panels, start=1):
            suffix = "" if number == 1 else str(number)
            layout[f"yaxis{suffix}"] |= {"title": {"text": panel.y_label}}
            for bars in panel.series:
                up, down = _whiskers(bars.values, bars.low, bars.high)
                data.append({
                    "type": "bar", "name": bars.name, "x": list(panel.groups), "y": list(bars.values),
                    "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "legendgroup": bars.name,
                    "showlegend": bars.name not in named, "marker": {"color": COLORS[bars.color]},
                    "error_y": _error(up, down, shown=bool(bars.low)), "hovertemplate": "%{x}: %{y:.4g}",
                })  # fmt: skip
                named.add(bars.name)
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The bars for print."""
        figure, axes = _grid(len(self.panels))
        for panel, ax in zip(self.panels, axes, strict=True):
            width = 0.8 / max(1, len(panel.series))
            for position, bars in enumerate(panel.series):
                x = [group - 0.4 + width * (position + 0.5) for group in range(len(panel.groups))]
                up, down = _whiskers(bars.values, bars.low, bars.high)
                ax.bar(
                    x, _known(bars.values), width=width, color=COLORS[bars.color], edgecolor="white", linewidth=0.3,
                    yerr=[down, up] if bars.low else None, error_kw={"elinewidth": 0.6, "capsize": 1}, label=bars.name,
                )  # fmt: skip
            ax.set_xticks(range(len(panel.groups)), panel.groups, fontsize="small")
            ax.set_ylim(bottom=0)
            _label(ax, panel.title, "", panel.y_label)
        _legend(figure, axes)
        return figure


@dataclass(frozen=True)
class DataTable:
    """A table as a figure, shown as HTML in a page and drawn for print.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        header: header of the columns.
        rows: texts; the first text of a row names the row's subject.
        emphasis: positions (row, column) of emphasized cells.
        groups: titles over groups of columns, each with the number of columns; may be empty.
        marks: the verdict of cells, by position (row, column).
    """

    id: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: frozenset[tuple[int, int]] = frozenset()
    groups: tuple[tuple[str, int], ...] = ()
    marks: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def plotly(self) -> dict[str, Any]:
        """Empty, since a page shows the table as HTML and not as a plot."""
        return {}

    @property
    def cells(self) -> list[list[tuple[str, str]]]:
        """Each row as texts with the class of their cell, for a page."""
        return [[(text, self._class(i, j)) for j, text in enumerate(row)] for i, row in enumerate(self.rows)]

    def _class(self, row: int, column: int) -> str:
        numeric = self.rows[row][column][:1] in "0123456789−–∞" and self.rows[row][column] != ""
        strong = "strong" if (row, column) in self.emphasis else ""
        return " ".join(filter(None, ("num" if numeric else "", strong, self.marks.get((row, column), ""))))

    def draw(self) -> MplFigure:
        """The table for print."""
        from matplotlib.figure import Figure as MplFigure

        over = [self._over()] if self.groups else []
        figure = MplFigure(figsize=(WIDTH_IN, 0.19 * (len(self.rows) + len(over) + 2)), layout="constrained")
        ax = figure.subplots()
        ax.axis("off")
        table = ax.table(cellText=[*over, self.header, *self.rows], loc="center", cellLoc="left")
        table.auto_set_font_size(False)
        table.set_fontsize(6)
        table.auto_set_column_width(list(range(len(self.header))))
        first = len(over) + 1
        for (row, column), cell in table.get_celld().items():
            cell.set_linewidth(0.3)
            if row < first or (row - first, column) in self.emphasis:
                cell.set_text_props(fontweight="bold")
            if self.marks.get((row - first, column)) == "differs":
                cell.set_facecolor("0.85")
        return figure

    def _over(self) -> list[str]:
        """The titles of the column groups, each at the position of its first column."""
        return [text for title, width in self.groups for text in (title, *[""] * (width - 1))]


def _known(values: Values) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _whiskers(values: Values, low: Values, high: Values) -> tuple[list[float], list[float]]:
    if not low or not high:
        return [0.0] * len(values), [0.0] * len(values)
    ends = list(zip(values, low, high, strict=True))
    up = [0.0 if value is None or top is None else max(0.0, top - value) for value, _, top in ends]
    down = [0.0 if value is None or least is None else max(0.0, value - least) for value, least, _ in ends]
    return up, down


def _error(up: Sequence[float], down: Sequence[float], *, shown: bool) -> dict[str, Any]:
    return {
        "type": "data", "symmetric": False, "array": list(up), "arrayminus": list(down), "thickness": 1, "width": 3,
        "visible": shown,
    }  # fmt: skip


def _scatter(points: Points, suffix: str, *, legend: bool) -> dict[str, Any]:
    up, down = points.whiskers()
    trace: dict[str, Any] = {
        "type": "scatter", "mode": _MODES[points.drawn], "name": points.name, "x": list(points.x), "y": list(points.y),
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "legendgroup": points.name, "showlegend": legend,
        "line": {"width": 1.4, "color": COLORS[points.style]},
        "marker": {"symbol": SYMBOLS[MARKERS[points.style]], "size": 7, "color": COLORS[points.style],
                   "line": {"width": 1.4, "color": COLORS[points.style]}},
        "error_y": _error(up, down, shown=bool(points.low)), "hovertemplate": "%{x:,.4g}: %{y:,.4g}",
    }  # fmt: skip
    if points.drawn == "published":
        trace["marker"] |= {"symbol": "star", "size": 13, "line": {"width": 1.4, "color": "#888888"}}
    return trace


def _border(x: float, suffix: str) -> dict[str, Any]:
    return {
        "type": "line", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": x, "x1": x, "y0": 0, "y1": 1,
        "line": {"width": 1, "dash": "dash", "color": "rgba(128,128,128,0.8)"}, "layer": "below",
    }  # fmt: skip


def _layout(titles: Sequence[str]) -> dict[str, Any]:
    """Axes of panels below one another, and a legend above them."""
    count = len(titles)
    gap = 0.2 / count if count > 1 else 0.0
    height = (1 - gap * (count - 1)) / count
    layout: dict[str, Any] = {
        "height": 110 + _ROW_PX * count, "annotations": [],
        "legend": {"orientation": "h", "y": 1 + 30 / (_ROW_PX * count), "yanchor": "bottom", "x": 0},
        "margin": {"t": 110, "b": 60},
    }  # fmt: skip
    for number, title in enumerate(titles, start=1):
        suffix = "" if number == 1 else str(number)
        top = 1 - (number - 1) * (height + gap)
        layout[f"xaxis{suffix}"] = {"anchor": f"y{suffix}"}
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}", "domain": [max(0.0, top - height), top], "rangemode": "tozero"
        }  # fmt: skip
        if title:
            layout["annotations"].append({
                "text": f"<b>{title}</b>", "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper",
                "yanchor": "bottom", "showarrow": False,
            })  # fmt: skip
    return layout


def _grid(rows: int) -> tuple[MplFigure, list[Axes]]:
    from matplotlib.figure import Figure as MplFigure

    figure = MplFigure(figsize=(WIDTH_IN, _ROW_IN * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, 1, squeeze=False)
    return figure, [row[0] for row in axes]


def _label(ax: Axes, title: str, x_label: str, y_label: str) -> None:
    if title:
        ax.set_title(title, fontsize="small", loc="left")
    ax.set_xlabel(x_label, fontsize="small")
    ax.set_ylabel(y_label, fontsize="small")
    ax.tick_params(labelsize="small")


def _legend(figure: MplFigure, axes: Sequence[Axes]) -> None:
    """One legend for all panels; a series in several panels has one entry."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    handles, names = list(named.values()), list(named)
    if len(handles) > 1:
        # Use as many columns as fit: a row has room for about 110 small letters, and the line sample of each entry
        # takes 8.
        columns = max(1, min(5, len(handles), 110 // (max(map(len, names)) + 8)))
        figure.legend(handles, names, loc="outside upper center", ncols=columns, fontsize="x-small")
