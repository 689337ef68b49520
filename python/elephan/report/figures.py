"""Figures as data, drawn twice: for the screen (plotly, zoomable) and for print (matplotlib, PDF and SVG).

The module depends neither on runs nor on papers. Colors (Okabe and Ito) and patterns distinguish series for readers
without color vision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a800", "#8c564b")
PATTERNS = ("/", "x", ".", "-", "\\", "|", "+", "")
_HATCHES = {"/": "///", "x": "xxx", ".": "...", "-": "---", "\\": "\\\\\\", "|": "|||", "+": "+++", "": ""}
WIDTH_IN = 7.2


class Figure(Protocol):
    """Figure that the report can show."""

    @property
    def id(self) -> str:
        """Short id, unique in a report and usable as a file name."""
        ...

    @property
    def title(self) -> str:
        """Title in one line."""
        ...

    @property
    def caption(self) -> str:
        """Caption: the content of the figure, and the content of the paper's figure."""
        ...

    def plotly(self) -> dict[str, Any]:
        """``data`` and ``layout`` for plotly.js, without the page's colors; empty for a table."""
        ...

    def draw(self) -> MplFigure:
        """The figure for print."""
        ...


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
class Panel:
    """One part of a figure, with its own y axis."""

    title: str
    y_label: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Traces:
    """Panels, one above the other, with a common x axis.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        panels: panels, from top to bottom.
        x_label: label of the x axis, with its unit.
        shaded: an interval of the x axis that is shaded, and the meaning of the interval.
    """

    id: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    x_label: str = "time (s)"
    shaded: tuple[float, float, str] | None = None

    def plotly(self) -> dict[str, Any]:
        """Lines, with one pair of axes for each panel; all x axes zoom together."""
        count = len(self.panels)
        gap = 0.14 if count > 1 else 0.0
        height = (1 - gap * (count - 1)) / count
        data: list[dict[str, Any]] = []
        layout: dict[str, Any] = {"height": 90 + 250 * count, "annotations": [], "shapes": []}
        for number, panel in enumerate(self.panels, start=1):
            suffix = "" if number == 1 else str(number)
            top = 1 - (number - 1) * (height + gap)
            layout[f"yaxis{suffix}"] = {
                "title": {"text": panel.y_label}, "domain": [max(0.0, top - height), top], "rangemode": "tozero",
                "anchor": f"x{suffix}",
            }  # fmt: skip
            layout[f"xaxis{suffix}"] = {
                "anchor": f"y{suffix}",
                "title": {"text": self.x_label if number == count else ""},
            }
            if number > 1:
                layout[f"xaxis{suffix}"]["matches"] = "x"
            layout["annotations"].append(_heading(panel.title, top))
            layout[f"legend{suffix}"] = {
                "orientation": "h", "x": 1, "xanchor": "right", "y": top, "yanchor": "bottom",
                "bgcolor": "rgba(0,0,0,0)",
            }  # fmt: skip
            if self.shaded:
                layout["shapes"].append(_shade(self.shaded, suffix))
            data += [_line(curve, suffix) for curve in panel.curves]
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The panels for print."""
        figure, axes = _subplots(len(self.panels), 1.9)
        for panel, ax in zip(self.panels, axes, strict=True):
            if self.shaded:
                ax.axvspan(self.shaded[0], self.shaded[1], color="0.5", alpha=0.1, linewidth=0)
            for curve in panel.curves:
                x = [curve.start + curve.step * i for i in range(len(curve.values))]
                y = [math.nan if value is None else value for value in curve.values]
                dashes = "--" if curve.dashed else "-"
                ax.plot(x, y, dashes, color=COLORS[curve.color], linewidth=0.8, label=curve.name)
            ax.set_ylim(bottom=0)
            ax.margins(x=0)
            ax.set_ylabel(panel.y_label)
            ax.set_title(panel.title, fontsize="small", loc="left")
            ax.legend(fontsize="x-small", loc="upper right")
        axes[-1].set_xlabel(self.x_label)
        return figure


def _heading(text: str, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{text}</b>", "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper",
        "yanchor": "bottom", "showarrow": False,
    }  # fmt: skip


def _shade(shaded: tuple[float, float, str], suffix: str) -> dict[str, Any]:
    return {
        "type": "rect", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": shaded[0], "x1": shaded[1], "y0": 0,
        "y1": 1, "fillcolor": "rgba(128,128,128,0.12)", "line": {"width": 0}, "layer": "below",
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
class PairBars:
    """Groups of pairs side by side; each pair is drawn as two rectangles, each with the pattern of its series.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        y_label: label of the y axis, with its unit.
        series: names in the order of colors and patterns.
        groups: groups, from left to right.
        lines: values at which a horizontal line is drawn.
    """

    id: str
    title: str
    caption: str
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

    def plotly(self) -> dict[str, Any]:
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
        layout["xaxis"] = {
            "tickvals": ticks,
            "ticktext": labels,
            "tickangle": -90,
            "showgrid": False,
            "zeroline": False,
        }
        layout["yaxis"] = {"title": {"text": self.y_label}, "range": [0, 1.04], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1]}
        data = [_bar_trace(name, position, rectangles[name]) for position, name in enumerate(self.series)]
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The bars for print."""
        figure, (ax,) = _subplots(1, 3.6)
        ticks, labels = [], []
        for group, left, right, centers in self._placed():
            ax.text((left + right) / 2, 1.03, group.title, ha="center", va="bottom", fontsize="x-small")
            if group.band:
                ax.fill_between([left, right], *group.band, color="0.5", alpha=0.18, linewidth=0)
            for bar, center in centers:
                ticks.append(center)
                labels.append(f"{bar.first} › {bar.second}")
                for side, (name, height) in enumerate(zip((bar.first, bar.second), bar.heights(), strict=True)):
                    up, down = _whisker(bar, winner=(bar.value >= 0) == (side == 0))
                    _rectangle(ax, self.series.index(name), center - 0.2 + 0.4 * side, height, up, down)
        for line in self.lines:
            ax.axhline(line, color="0.6", linewidth=0.4, zorder=0)
        ax.set_xticks(ticks, labels, rotation=90, fontsize="xx-small")
        ax.set_ylim(0, 1.02)
        ax.set_xlim(-0.4, self._placed()[-1][2] + 0.4)
        ax.set_ylabel(self.y_label)
        ax.legend(handles=_patches(self.series), fontsize="xx-small", loc="upper left", ncols=2)
        return figure


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


def _rectangle(ax: Axes, position: int, x: float, height: float, up: float, down: float) -> None:
    ax.bar(
        x, height, width=0.4, color=COLORS[position], alpha=0.75, hatch=_HATCHES[PATTERNS[position]], edgecolor="white",
        linewidth=0.2,
    )  # fmt: skip
    if up or down:
        ax.errorbar(x, height, yerr=[[down], [up]], color="black", linewidth=0.6, capsize=1)


def _patches(series: Sequence[str]) -> list[Any]:
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=COLORS[i], alpha=0.75, hatch=_HATCHES[PATTERNS[i]], edgecolor="white", label=name)
        for i, name in enumerate(series)
    ]


def _subplots(rows: int, height_in: float) -> tuple[MplFigure, list[Axes]]:
    from matplotlib.figure import Figure as MplFigure

    figure = MplFigure(figsize=(WIDTH_IN, height_in * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


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


def save(figure: Figure, folder: Any) -> list[Any]:
    """Write a figure as PDF and as SVG into a folder. Returns the paths."""
    from pathlib import Path

    import matplotlib as mpl

    drawn = figure.draw()
    paths = [Path(folder) / f"{figure.id}.{kind}" for kind in ("pdf", "svg")]
    for path in paths:
        # Without a date and with a fixed salt the same data gives the same bytes.
        with mpl.rc_context({"svg.hashsalt": "elephan", "svg.fonttype": "none", "pdf.fonttype": 42}):
            drawn.savefig(path, metadata={"CreationDate": None} if path.suffix == ".pdf" else {"Date": None})
    return paths
