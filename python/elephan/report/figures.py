"""Figures as data, from one specification: ``web/src/figures.ts`` draws it on the screen, zoomable, and
:mod:`elephan.report.printed` for print, as PDF and SVG.

The module depends neither on runs nor on papers. The colors (Okabe and Ito) distinguish series for readers without
color vision.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report.printed import drawn, saving

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a800", "#8c564b")
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
