"""Ellipses of replicates: the trade-off between two quantities, and their joint variation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.report.charts import MARKERS, SYMBOLS
from elephan.report.figures import COLORS, WIDTH_IN

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure


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
class Ellipses:
    """Points with their ellipses; the x axis is reversed, so that up and to the right is better.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        x_label, y_label: labels of the axes, with their units.
        blobs: one for each series and case.
    """

    id: str
    title: str
    caption: str
    x_label: str
    y_label: str
    blobs: tuple[Blob, ...]

    def _styled(self) -> Iterator[tuple[Blob, str, str, bool]]:
        """Each ellipse with its color, its marker, and true for the first ellipse of a series."""
        series = list(dict.fromkeys(blob.series for blob in self.blobs))
        seen: set[str] = set()
        for blob in self.blobs:
            i = series.index(blob.series)
            yield blob, COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)], blob.series not in seen
            seen.add(blob.series)

    def plotly(self) -> dict[str, Any]:
        """Three traces for each series and case: the contour, the points, and the median with its case."""
        data: list[dict[str, Any]] = []
        for blob, color, marker, first in self._styled():
            common = {"type": "scatter", "name": blob.series, "legendgroup": blob.series}
            if blob.contour is not None:
                x, y = map(list, blob.contour)
                line = {"color": color, "width": 1.2}
                data.append({**common, "mode": "lines", "x": x, "y": y, "line": line, "fill": "toself", "opacity": 0.6,
                             "hoverinfo": "skip", "showlegend": False})  # fmt: skip
            dots = {"color": color, "size": 3}
            data.append({**common, "mode": "markers", "x": list(blob.x), "y": list(blob.y), "marker": dots,
                         "showlegend": False})  # fmt: skip
            data.append({**common, "mode": "markers+text", "x": [blob.median[0]], "y": [blob.median[1]],
                         "text": [blob.case], "textposition": "top center", "showlegend": first,
                         "marker": {"color": color, "symbol": SYMBOLS[marker], "size": 9}})  # fmt: skip
        layout = {
            "height": 480,
            "xaxis": {"title": {"text": self.x_label}, "autorange": "reversed"},
            "yaxis": {"title": {"text": self.y_label}},
        }
        return {"data": data, "layout": layout}

    def draw(self) -> MplFigure:
        """The ellipses for print."""
        from matplotlib.figure import Figure as MplFigure

        figure = MplFigure(figsize=(WIDTH_IN, 4.2), layout="constrained")
        ax = figure.subplots()
        for blob, color, marker, first in self._styled():
            if blob.contour is not None:
                ax.fill(*blob.contour, facecolor=color, edgecolor=color, alpha=0.3, linewidth=1.0)
            ax.plot(blob.x, blob.y, ".", color=color, markersize=2)
            label = blob.series if first else None
            ax.plot(
                [blob.median[0]], [blob.median[1]], marker, color=color, markersize=6, linestyle="none", label=label
            )
            ax.annotate(blob.case, blob.median, xytext=(5, 4), textcoords="offset points", fontsize="x-small")
        ax.invert_xaxis()
        ax.margins(0.12)
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        figure.legend(loc="outside upper left", ncols=5, fontsize="small")
        return figure
