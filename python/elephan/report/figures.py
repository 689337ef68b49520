"""Figures as data, from one specification: ``web/src/figures.ts`` draws it on the screen, zoomable, and
:mod:`elephan.report.printed` for print, as PDF and SVG.

The module depends neither on runs nor on papers. Colors (Okabe and Ito) and patterns distinguish series for readers
without color vision.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report.printed import drawn, saving

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a800", "#8c564b")
PATTERNS = ("/", "x", ".", "-", "\\", "|", "+", "")
Values = Sequence[float | None]


@dataclass(frozen=True)
class Figure(ABC):
    """Figure that the report can show.

    Attributes:
        id: short id, unique in a report and usable as a file name.
        title: title in one line.
        caption: the content of the figure, and the content of the paper's figure.
    """

    id: str
    title: str
    caption: str

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The specification: ``data`` and ``layout`` in the form of Plotly's, without the page's colors; empty for a
        table."""

    def draw(self) -> MplFigure:
        """The figure for print."""
        return drawn(self.spec())


def stacked(panels: Sequence[tuple[str, str, str]], row_px: int, extra_px: int, columns: int = 1) -> dict[str, Any]:
    """Layout of panels in rows, each with a title, an x label and a y label; its size includes ``extra_px`` around
    them."""
    rows = math.ceil(len(panels) / columns)
    gap_x, gap_y = (0.08 if columns > 1 else 0.0), 80 / (extra_px + row_px * rows) if rows > 1 else 0.0
    wide, high = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    layout: dict[str, Any] = {"height": extra_px + row_px * rows, "annotations": [], "shapes": []}
    for number, (title, x_label, y_label) in enumerate(panels):
        suffix, (row, column) = suffix_of(number), divmod(number, columns)
        left, top = column * (wide + gap_x), 1 - row * (high + gap_y)
        layout[f"xaxis{suffix}"] = {
            "domain": [left, left + wide], "anchor": f"y{suffix}", "title": {"text": x_label},
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            "domain": [max(0.0, top - high), top], "anchor": f"x{suffix}", "title": {"text": y_label},
            "rangemode": "tozero",
        }  # fmt: skip
        if title:
            # The texts of annotations may have tags.
            text = title.replace("&", "&amp;").replace("<", "&lt;")
            layout["annotations"].append({
                "text": f"<b>{text}</b>", "x": left, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper",
                "yanchor": "bottom", "showarrow": False,
            })  # fmt: skip
    return layout


def suffix_of(number: int) -> str:
    """The suffix of the axes of a panel, from 0: the first axes have none."""
    return str(number + 1) if number else ""


def shade(start: float, end: float, suffix: str) -> dict[str, Any]:
    """A shaded interval of the x axis of a panel."""
    return {
        "type": "rect", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": start, "x1": end, "y0": 0, "y1": 1,
        "fillcolor": "rgba(128,128,128,0.12)", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def error(values: Values, low: Values, high: Values) -> dict[str, Any]:
    """The intervals of values, as distances from each value to its ends; not visible without intervals."""
    ends = list(zip(values, low, high, strict=True)) if low and high else []
    return {
        "type": "data", "symmetric": False, "thickness": 1, "width": 3, "visible": bool(ends),
        "array": [0.0 if value is None or top is None else max(0.0, top - value) for value, _, top in ends],
        "arrayminus": [0.0 if value is None or least is None else max(0.0, value - least) for value, least, _ in ends],
    }  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """A series at equal steps.

    Attributes:
        name: name in the legend.
        start: first position, in the unit of the x axis.
        step: interval between two values, in the unit of the x axis.
        values: values; ``None`` for a missing value.
        color: index into :data:`COLORS`.
        dashed: the line is dashed, for data that were not measured here.
    """

    name: str
    start: float
    step: float
    values: Sequence[float | None]
    color: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Marks:
    """Crosses at points of a panel, such as the losses of a flow.

    Attributes:
        name: name in the legend, which several of a panel may share.
        x: positions, in the unit of the x axis.
        y: values.
        color: index into :data:`COLORS`.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    color: int = 0


@dataclass(frozen=True)
class Panel:
    """One part of a figure, with its own y axis."""

    title: str
    y_label: str
    curves: tuple[Curve, ...]
    marks: tuple[Marks, ...] = ()


@dataclass(frozen=True)
class Traces(Figure):
    """Panels, one above the other, with a common x axis.

    Attributes:
        panels: panels, from top to bottom.
        x_label: label of the x axis, with its unit.
        shaded: an interval of the x axis that is shaded, and the meaning of the interval.
    """

    panels: tuple[Panel, ...]
    x_label: str = "time (s)"
    shaded: tuple[float, float, str] | None = None

    def spec(self) -> dict[str, Any]:
        """Lines, with one pair of axes for each panel; all x axes zoom together."""
        labels = ["" for _ in self.panels[1:]] + [self.x_label]
        panels = [(panel.title, label, panel.y_label) for panel, label in zip(self.panels, labels, strict=True)]
        layout, data = stacked(panels, 250, 90), []
        for number, panel in enumerate(self.panels):
            suffix = suffix_of(number)
            if number:
                layout[f"xaxis{suffix}"]["matches"] = "x"
            layout[f"legend{suffix}"] = {
                "orientation": "h", "x": 1, "xanchor": "right", "y": layout[f"yaxis{suffix}"]["domain"][1],
                "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)",
            }  # fmt: skip
            if self.shaded:
                layout["shapes"].append(shade(*self.shaded[:2], suffix))
            data += [_line(curve, suffix) for curve in panel.curves]
            data += [_crosses(marks, suffix, first=i == 0) for i, marks in enumerate(panel.marks)]
        return {"data": data, "layout": layout}


def _crosses(marks: Marks, suffix: str, *, first: bool) -> dict[str, Any]:
    marker = {"symbol": "x-thin-open", "size": 6, "color": COLORS[marks.color], "line": {"width": 1.4}}
    return {
        "type": "scatter", "mode": "markers", "name": marks.name, "showlegend": first, "x": list(marks.x),
        "y": list(marks.y), "marker": marker, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
        "legend": f"legend{suffix}", "hovertemplate": "%{x:.2f} s",
    }  # fmt: skip


def _stroke(curve: Curve) -> dict[str, Any]:
    plain = {"width": 1.2, "color": COLORS[curve.color]}
    return plain | {"width": 2, "dash": "dash"} if curve.dashed else plain


def _line(curve: Curve, suffix: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "name": curve.name, "x0": curve.start, "dx": curve.step,
        "y": list(curve.values), "line": _stroke(curve), "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}", "legend": f"legend{suffix}", "hovertemplate": "%{x:.1f} s: %{y:,.0f}",
    }  # fmt: skip


@dataclass(frozen=True)
class PairBar:
    """Two rectangles that show the difference between the shares of two flows.

    Attributes:
        first: name of flow 1's series.
        second: name of flow 2's series.
        value: difference of the shares; positive if flow 1 has the larger share.
        low: lower end of the interval of ``value`` over replicates; ``None`` without an interval.
        high: upper end.
        note: text of the tooltip.
    """

    first: str
    second: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""

    def heights(self) -> tuple[float, float]:
        """Heights of the two rectangles. The height of the flow with the larger share is A, the absolute value of the
        difference; the height of the other flow is A (1 - A)/(1 + A)."""
        top = abs(self.value)
        other = top * (1 - top) / (1 + top)
        return (top, other) if self.value >= 0 else (other, top)


@dataclass(frozen=True)
class BarGroup:
    """A group of pairs.

    Attributes:
        title: title of the group.
        band: range of the expected values; ``None`` without an expectation.
        bars: bars, in order.
    """

    title: str
    band: tuple[float, float] | None
    bars: tuple[PairBar, ...]


@dataclass(frozen=True)
class PairBars(Figure):
    """Groups of pairs side by side; each pair is drawn as two rectangles, each with the pattern of its series.

    Attributes:
        y_label: label of the y axis, with its unit.
        series: names in the order of colors and patterns.
        groups: groups, from left to right.
        lines: values at which a horizontal line is drawn.
    """

    y_label: str
    series: tuple[str, ...]
    groups: tuple[BarGroup, ...]
    lines: tuple[float, ...] = ()

    def _placed(self) -> list[tuple[BarGroup, float, float, list[tuple[PairBar, float]]]]:
        """Each group with its left and right end, and the center of each of its bars."""
        placed = []
        position = 0.0
        for group in self.groups:
            centers = [(bar, position + 0.5 + i) for i, bar in enumerate(group.bars)]
            end = position + len(group.bars)
            placed.append((group, position, end, centers))
            position = end + 0.8
        return placed

    def spec(self) -> dict[str, Any]:
        """One bar trace for each series, with its pattern."""
        rectangles: dict[str, dict[str, list[Any]]] = {
            name: {"x": [], "y": [], "text": [], "up": [], "down": []} for name in self.series
        }
        ticks: list[float] = []
        labels: list[str] = []
        layout: dict[str, Any] = {
            "height": 560, "barmode": "overlay", "bargap": 0, "annotations": [], "shapes": [],
            "margin": {"l": 64, "r": 16, "t": 96, "b": 150}, "legend": {"y": 1.1, "yanchor": "bottom"},
        }  # fmt: skip
        for group, left, right, centers in self._placed():
            layout["annotations"].append(_group_title(group.title, (left + right) / 2))
            if group.band:
                layout["shapes"].append(_band(left, right, group.band))
            for bar, center in centers:
                ticks.append(center)
                labels.append(f"{bar.first} › {bar.second}")
                for side, (name, height) in enumerate(zip((bar.first, bar.second), bar.heights(), strict=True)):
                    row = rectangles[name]
                    row["x"].append(round(center - 0.2 + 0.4 * side, 3))
                    row["y"].append(round(height, 4))
                    row["text"].append(bar.note)
                    up, down = _whisker(bar, winner=(bar.value >= 0) == (side == 0))
                    row["up"].append(up)
                    row["down"].append(down)
        layout["shapes"] += [_level(line) for line in self.lines]
        layout["xaxis"] = {
            "tickvals": ticks, "ticktext": labels, "tickangle": -90, "showgrid": False, "zeroline": False,
        }  # fmt: skip
        layout["yaxis"] = {"title": {"text": self.y_label}, "range": [0, 1.04], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1]}
        data = [_bar_trace(name, position, rectangles[name]) for position, name in enumerate(self.series)]
        return {"data": data, "layout": layout}


def _whisker(bar: PairBar, *, winner: bool) -> tuple[float, float]:
    """Distances from the winner's rectangle to the ends of the interval over replicates, below and above."""
    if not winner or bar.low is None or bar.high is None:
        return 0.0, 0.0
    ends = [abs(bar.low), abs(bar.high), *([0.0] if bar.low < 0 < bar.high else [])]
    top = abs(bar.value)
    return max(0.0, round(max(ends) - top, 4)), max(0.0, round(top - min(ends), 4))


def _group_title(text: str, x: float) -> dict[str, Any]:
    return {"text": f"<b>{text}</b>", "x": x, "y": 1.02, "yref": "paper", "yanchor": "bottom", "showarrow": False}


def _band(left: float, right: float, band: tuple[float, float]) -> dict[str, Any]:
    return {
        "type": "rect", "xref": "x", "yref": "y", "x0": left, "x1": right, "y0": band[0], "y1": band[1],
        "fillcolor": "rgba(128,128,128,0.18)", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def _level(y: float) -> dict[str, Any]:
    line = {"width": 0.6, "color": "rgba(128,128,128,0.6)"}
    return {"type": "line", "xref": "x domain", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line,
            "layer": "below"}  # fmt: skip


def _bar_trace(name: str, position: int, row: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {
        "type": "bar", "name": name, "x": row["x"], "y": row["y"], "width": 0.4, "customdata": row["text"],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {
            "color": COLORS[position], "line": {"width": 0.6, "color": COLORS[position]},
            "pattern": {"shape": PATTERNS[position], "fillmode": "overlay", "size": 6, "solidity": 0.35},
        },
        "error_y": {
            "type": "data", "symmetric": False, "array": row["up"], "arrayminus": row["down"], "thickness": 1,
            "width": 3,
        },
    }  # fmt: skip


def thinned(values: Sequence[float | None], bins: int) -> tuple[list[float | None], float]:
    """A series with at most two values in each bin: the smallest and the largest value, in order of time.

    The extremes of a trace are kept, so a drop of one sample remains visible. The second returned value is the ratio of
    the new step to the old step.
    """
    if len(values) <= 2 * bins:
        return list(values), 1.0
    width = math.ceil(len(values) / bins)
    found: list[float | None] = []
    for begin in range(0, len(values), width):
        chunk = [(value, i) for i, value in enumerate(values[begin : begin + width]) if value is not None]
        if not chunk:
            found += [None, None]
            continue
        found += [value for value, _ in sorted((min(chunk), max(chunk)), key=lambda item: item[1])]
    return found, width / 2


def save(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as PDF and as SVG into a folder. Returns the paths.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = figure.draw()
    paths = [folder / f"{figure.id}.{kind}" for kind in ("pdf", "svg")]
    for path in paths:
        with saving():
            made.savefig(path, metadata={"CreationDate": None} if path.suffix == ".pdf" else {"Date": None})
    return paths


def entry(figure: Figure, folder: Path | None = None) -> dict[str, Any]:
    """The entry of a figure in a page; with a folder, the figure is written there for print."""
    files = [] if folder is None else [path.name for path in save(figure, folder)]
    return {"id": figure.id, "title": figure.title, "caption": figure.caption, "files": files}
