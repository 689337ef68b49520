"""A scatter plot with one point for each series and intervals in both directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.report.charts import MARKERS, SYMBOLS
from elephan.report.figures import COLORS, WIDTH_IN

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure


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
class TradeOff:
    """One point for each series, on two axes that both begin at 0.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        x_label, y_label: labels of the axes, with their units.
        spots: the points.
    """

    id: str
    title: str
    caption: str
    x_label: str
    y_label: str
    spots: tuple[Spot, ...]

    def plotly(self) -> dict[str, Any]:
        """One scatter trace for each point."""
        data = []
        # A name in the right half is written to the left, or a narrow window would cut it off.
        half = max((spot.x for spot in self.spots), default=0.0) / 2
        for i, spot in enumerate(self.spots):
            color = COLORS[i % len(COLORS)]
            side = "top left" if spot.x > half else "top right"
            data.append({
                "type": "scatter", "mode": "markers+text", "name": spot.name, "text": [spot.name],
                "textposition": side, "x": [spot.x], "y": [spot.y], "showlegend": False,
                "marker": {"color": color, "symbol": SYMBOLS[MARKERS[i % len(MARKERS)]], "size": 10},
                "error_x": _error(spot.x, spot.x_ends), "error_y": _error(spot.y, spot.y_ends),
            })  # fmt: skip
        layout = {
            "height": 420,
            "xaxis": {"title": {"text": self.x_label}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": self.y_label}, "rangemode": "tozero"},
        }
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The points for print."""
        from matplotlib.figure import Figure as MplFigure

        figure = MplFigure(figsize=(WIDTH_IN, 3.4), layout="constrained")
        ax = figure.subplots()
        for i, spot in enumerate(self.spots):
            ax.errorbar(
                [spot.x], [spot.y], xerr=_whiskers(spot.x, spot.x_ends), yerr=_whiskers(spot.y, spot.y_ends),
                color=COLORS[i % len(COLORS)], marker=MARKERS[i % len(MARKERS)], markersize=5, elinewidth=0.8,
                capsize=2,
            )  # fmt: skip
            ax.annotate(spot.name, (spot.x, spot.y), xytext=(5, 4), textcoords="offset points", fontsize="small")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.margins(0.15)
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        return figure


def _error(value: float, ends: tuple[float, float] | None) -> dict[str, Any]:
    if ends is None:
        return {"visible": False}
    low, high = ends
    return {"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low], "thickness": 1}


def _whiskers(value: float, ends: tuple[float, float] | None) -> Sequence[Sequence[float]] | None:
    if ends is None or any(math.isnan(end) for end in ends):
        return None
    return [[value - ends[0]], [ends[1] - value]]
