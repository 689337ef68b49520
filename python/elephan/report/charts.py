"""Charts: lines with markers over a parameter, bars in groups, and tables.

Markers distinguish series for readers without color vision. The module depends neither on runs nor on papers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from elephan.report.figures import COLORS, Figure, Values, error, stacked, suffix_of
from elephan.report.printed import PAGE_IN

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

SYMBOLS = (
    "circle", "square", "triangle-up", "triangle-down", "diamond", "x-thin-open", "cross-thin-open", "star", "hexagon",
)  # fmt: skip
_MODES = {"both": "lines+markers", "line": "lines", "markers": "markers", "dots": "markers", "published": "markers"}
_ROW_PX, _EXTRA_PX = 330, 110


Drawn = Literal["both", "line", "markers", "dots", "published"]
Reach = tuple[float, float, float]
"""A value, and the smallest and the largest value of its replicates."""


@dataclass(frozen=True)
class Points:
    """A series over a parameter.

    Attributes:
        name: name in the legend.
        x: positions.
        y: values; ``None`` for a missing value.
        low: lower ends of the intervals over replicates; empty without intervals.
        high: upper ends.
        style: index into :data:`~elephan.report.figures.COLORS` and :data:`SYMBOLS`.
        drawn: ``line`` for a model or a distribution, ``markers`` for measurements that are compared with a model,
            ``dots`` for many points, ``published`` for published numbers, otherwise ``both`` (markers on a line).
    """

    name: str
    x: Sequence[float]
    y: Values
    low: Values = ()
    high: Values = ()
    style: int = 0
    drawn: Drawn = "both"

    @classmethod
    def of(cls, name: str, line: Mapping[float, Reach], style: int = 0, drawn: Drawn = "both") -> Points:
        """A series of values with the smallest and the largest value of their replicates, in order of position."""
        places = sorted(line)
        middle, low, high = ([_digits(line[x][i]) for x in places] for i in range(3))
        several = low != high
        return cls(name, places, middle, low if several else (), high if several else (), style, drawn)


def _digits(value: float) -> float:
    """Round to five significant digits, more than a plot can resolve."""
    return float(f"{value:.5g}")


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
        ticks: positions with a tick; by default those that the page chooses.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Points, ...]
    log_x: bool = False
    log_y: bool = False
    borders: tuple[float, ...] = ()
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class LineChart(Figure):
    """Lines with markers, in panels below one another."""

    panels: tuple[LinePanel, ...]

    def spec(self) -> dict[str, Any]:
        """Scatter traces; a series that is in several panels has one entry in the legend."""
        layout, data = _layout([(panel.title, panel.x_label, panel.y_label) for panel in self.panels]), []
        named: set[str] = set()
        for number, panel in enumerate(self.panels):
            suffix = suffix_of(number)
            log = {way: "log" if given else "linear" for way, given in (("x", panel.log_x), ("y", panel.log_y))}
            layout[f"xaxis{suffix}"] |= {"type": log["x"], "exponentformat": "power"}
            layout[f"xaxis{suffix}"] |= {"tickvals": list(panel.ticks)} if panel.ticks else {}
            layout[f"yaxis{suffix}"] |= {"type": log["y"]}
            data += [_scatter(points, suffix) | _named(points.name, named) for points in panel.series]
            layout["shapes"] += [_border(x, suffix) for x in panel.borders]
        return {"data": data, "layout": layout}


@dataclass(frozen=True)
class Bars:
    """A series of a bar chart: one bar in each group.

    Attributes:
        name: name in the legend.
        values: one value for each group; ``None`` for a missing value.
        low: lower ends of the intervals over replicates; empty without intervals.
        high: upper ends.
        color: index into :data:`~elephan.report.figures.COLORS`.
        notes: texts beside the pointer; by default the group and the value.
    """

    name: str
    values: Values
    low: Values = ()
    high: Values = ()
    color: int = 0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, bars: Sequence[Reach | None], color: int = 0) -> Bars:
        """A series of values with the smallest and the largest value of their replicates."""
        middle, low, high = ([None if bar is None else _digits(bar[i]) for bar in bars] for i in range(3))
        return cls(name, middle, low, high, color)


@dataclass(frozen=True)
class BarPanel:
    """One part of a bar chart: groups from left to right, with one bar for each series.

    Attributes:
        title: title of the panel; may be empty.
        y_label: label of the y axis, with its unit.
        groups: names of the groups.
        series: series, in the order of the legend.
        band: range of the expected values, which is shaded; ``None`` without an expectation.
        top: upper end of the y axis; ``None`` for that of the values.
    """

    title: str
    y_label: str
    groups: tuple[str, ...]
    series: tuple[Bars, ...]
    band: tuple[float, float] | None = None
    top: float | None = None


_UPRIGHT = 75
"""Letters of the groups' names in a row of panels above which the names are written upwards in print."""


@dataclass(frozen=True)
class BarChart(Figure):
    """Bars in groups, in panels in rows."""

    panels: tuple[BarPanel, ...]
    columns: int = 1

    def spec(self) -> dict[str, Any]:
        """Bar traces; a series that is in several panels has one entry in the legend."""
        layout, data = _layout([(panel.title, "", panel.y_label) for panel in self.panels], self.columns), []
        layout["barmode"] = "group"
        named: set[str] = set()
        upright = self.columns * max(sum(map(len, panel.groups)) for panel in self.panels) > _UPRIGHT
        for number, panel in enumerate(self.panels):
            suffix = suffix_of(number)
            layout[f"xaxis{suffix}"] |= {"tickangle": -90} if upright else {}
            layout[f"yaxis{suffix}"] |= {"range": [0, panel.top]} if panel.top is not None else {}
            layout["shapes"] += [_expected(*panel.band, len(panel.groups), suffix)] if panel.band else []
            data += [
                _named(bars.name, named) | {
                    "type": "bar", "x": list(panel.groups), "y": list(bars.values), "xaxis": f"x{suffix}",
                    "yaxis": f"y{suffix}", "marker": {"color": COLORS[bars.color]},
                    "error_y": error(bars.values, bars.low, bars.high), "customdata": list(bars.notes),
                    "hovertemplate": "%{customdata}" if bars.notes else "%{x}: %{y:.4g}",
                }
                for bars in panel.series
            ]  # fmt: skip
        return {"data": data, "layout": layout}


@dataclass(frozen=True)
class DataTable(Figure):
    """A table as a figure, shown as HTML in a page and drawn for print.

    Attributes:
        header: header of the columns.
        rows: texts; the first text of a row names the row's subject.
        emphasis: positions (row, column) of emphasized cells.
        groups: titles over groups of columns, each with the number of columns; may be empty.
        marks: the verdict of cells, by position (row, column).
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: frozenset[tuple[int, int]] = frozenset()
    groups: tuple[tuple[str, int], ...] = ()
    marks: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def spec(self) -> dict[str, Any]:
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
        figure = MplFigure(figsize=(PAGE_IN, 0.19 * (len(self.rows) + len(over) + 2)), layout="constrained")
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


def _named(name: str, named: set[str]) -> dict[str, Any]:
    """The name of a trace, which is in the legend once for all panels."""
    shown = name not in named
    named.add(name)
    return {"name": name, "legendgroup": name, "showlegend": shown}


def _scatter(points: Points, suffix: str) -> dict[str, Any]:
    line = {"width": 1.4, "color": COLORS[points.style]}
    marker: dict[str, Any] = {"symbol": SYMBOLS[points.style], "size": 7, "color": COLORS[points.style], "line": line}
    if points.drawn == "dots":
        marker |= {"symbol": "circle", "size": 3}
    if points.drawn == "published":
        marker |= {"symbol": "star", "size": 13, "line": {"width": 1.4, "color": "#888888"}}
    return {
        "type": "scatter", "mode": _MODES[points.drawn], "x": list(points.x), "y": list(points.y),
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "line": line, "marker": marker,
        "error_y": error(points.y, points.low, points.high), "hovertemplate": "%{x:,.4g}: %{y:,.4g}",
    }  # fmt: skip


def _border(x: float, suffix: str) -> dict[str, Any]:
    return {
        "type": "line", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": x, "x1": x, "y0": 0, "y1": 1,
        "line": {"width": 1, "dash": "dash", "color": "rgba(128,128,128,0.8)"}, "layer": "below",
    }  # fmt: skip


def _expected(low: float, high: float, groups: int, suffix: str) -> dict[str, Any]:
    """A shaded range of values behind all groups of a panel."""
    return {
        "type": "rect", "xref": f"x{suffix}", "yref": f"y{suffix}", "x0": -0.5, "x1": groups - 0.5, "y0": low,
        "y1": high, "fillcolor": "rgba(128,128,128,0.18)", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def _layout(panels: Sequence[tuple[str, str, str]], columns: int = 1) -> dict[str, Any]:
    """Axes of panels in rows."""
    return stacked(panels, _ROW_PX, _EXTRA_PX, columns)


@dataclass(frozen=True)
class Spot:
    """A point with its intervals.

    Attributes:
        name: text beside the point.
        x, y: values.
        x_ends, y_ends: lower and upper ends of the intervals; ``None`` without an interval.
    """

    name: str
    x: float
    y: float
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class TradeOff(Figure):
    """One point for each series, on two axes that both begin at 0.

    Attributes:
        x_label, y_label: labels of the axes, with their units.
        spots: the points.
    """

    x_label: str
    y_label: str
    spots: tuple[Spot, ...]

    def spec(self) -> dict[str, Any]:
        """One scatter trace for each point."""
        data = []
        # A name in the right half is written to the left, or a narrow window would cut it off.
        half = max((spot.x for spot in self.spots), default=0.0) / 2
        for i, spot in enumerate(self.spots):
            marker = {"color": COLORS[i % len(COLORS)], "symbol": SYMBOLS[i % len(SYMBOLS)], "size": 10}
            data.append({
                "type": "scatter", "mode": "markers+text", "name": spot.name, "text": [spot.name], "showlegend": False,
                "textposition": "top left" if spot.x > half else "top right", "x": [spot.x], "y": [spot.y],
                "marker": marker, "error_x": _ends(spot.x, spot.x_ends), "error_y": _ends(spot.y, spot.y_ends),
            })  # fmt: skip
        return {"data": data, "layout": _plane(self.x_label, self.y_label, 420, rangemode="tozero")}


def _ends(value: float, ends: tuple[float, float] | None) -> dict[str, Any]:
    return error([value], *(([end] for end in ends) if ends is not None else ((), ())))


def _plane(x_label: str, y_label: str, height: int, **more: Any) -> dict[str, Any]:
    """Layout of one pair of axes."""
    axes = {f"{way}axis": {"title": {"text": text}, **more} for way, text in (("x", x_label), ("y", y_label))}
    return {"height": height, **axes}


@dataclass(frozen=True)
class Blob:
    """The replicates of one case of one series.

    Attributes:
        series: name in the legend.
        case: label beside the median.
        x, y: coordinates of the points.
        median: median of each coordinate.
        contour: coordinates around the ellipse; ``None`` without an ellipse.
    """

    series: str
    case: str
    x: Sequence[float]
    y: Sequence[float]
    median: tuple[float, float]
    contour: tuple[Sequence[float], Sequence[float]] | None


@dataclass(frozen=True)
class Ellipses(Figure):
    """Points with their ellipses; the x axis is reversed, so that up and to the right is better.

    Attributes:
        x_label, y_label: labels of the axes, with their units.
        blobs: one for each series and case.
    """

    x_label: str
    y_label: str
    blobs: tuple[Blob, ...]

    def spec(self) -> dict[str, Any]:
        """Three traces for each series and case: the contour, the points, and the median with its case."""
        series = list(dict.fromkeys(blob.series for blob in self.blobs))
        named: set[str] = set()
        data = [trace for blob in self.blobs for trace in _ellipse(blob, series.index(blob.series), named)]
        layout = _plane(self.x_label, self.y_label, 480)
        layout["xaxis"]["autorange"] = "reversed"
        return {"data": data, "layout": layout}


def _ellipse(blob: Blob, i: int, named: set[str]) -> Iterator[dict[str, Any]]:
    color, symbol = COLORS[i % len(COLORS)], SYMBOLS[i % len(SYMBOLS)]
    common = {"type": "scatter", "name": blob.series, "legendgroup": blob.series, "showlegend": False}
    if blob.contour is not None:
        x, y = map(list, blob.contour)
        yield common | {"mode": "lines", "x": x, "y": y, "line": {"color": color, "width": 1.2}, "fill": "toself",
                        "opacity": 0.6, "hoverinfo": "skip"}  # fmt: skip
    dots = {"color": color, "size": 3}
    yield common | {"mode": "markers", "x": list(blob.x), "y": list(blob.y), "marker": dots}
    median = {"x": [blob.median[0]], "y": [blob.median[1]], "marker": {"color": color, "symbol": symbol, "size": 9}}
    yield common | _named(blob.series, named) | median | {
        "mode": "markers+text", "text": [blob.case], "textposition": "top center",
    }  # fmt: skip
