"""Lines over time in panels: overlays and small multiples.

The module does not depend on runs. Each algorithm has one color; several lines of one algorithm differ in shade and
dashes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from elephan.report.figures import COLORS, shade, stacked, suffix_of
from elephan.report.printed import COLUMN_IN, PAGE_IN, drawn, saving
from elephan.version import __version__
from elephan.writing import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

Array = npt.NDArray[np.float64]

GRAY = "#4d4d4d"
DASHES = ("solid", "dash", "dot", "dashdot")
BINS = 2000
"""Number of bins of a line; a line has at most two points in each bin, the smallest and the largest value."""

SIZES = {"column": COLUMN_IN, "page": PAGE_IN}
KINDS = (".pdf", ".svg", ".png", ".html")
_PANEL_IN = 1.75
_PANEL_PX = 260
_SIZE = re.compile(r"(?P<width>\d+(?:\.\d+)?)\s*[x×]\s*(?P<height>\d+(?:\.\d+)?)\s*(?P<unit>in|cm|mm|pt)")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
_LEAST_IN, _MOST_IN = 1.0, 40.0


@dataclass(frozen=True)
class Band:
    """The range between two quantiles over many lines, around a median."""

    low: Array
    high: Array
    alpha: float


@dataclass(frozen=True)
class Line:
    """A series over time.

    Attributes:
        name: name in the legend.
        times: times, in s, ascending.
        values: values; NaN for a missing value.
        color: ``#rrggbb``.
        dash: index into :data:`DASHES`.
        bands: ranges around the line, the widest first.
        steps: true if a value holds from the previous time until the value's own time.
    """

    name: str
    times: Array
    values: Array
    color: str = GRAY
    dash: int = 0
    bands: tuple[Band, ...] = ()
    steps: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes; panels with the same label of the y axis have one scale."""

    title: str
    y_label: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Overlay:
    """Panels in rows, with a common time axis.

    Attributes:
        title: one line; may be empty.
        caption: one or two sentences for the page.
        panels: panels, row by row.
        columns: panels in a row.
        shaded: measurement window, s; ``None`` without shading.
        span: range of the time axis, s.
        provenance: names and values for the file's metadata.
    """

    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 1
    shaded: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)

    id = "plot"

    @property
    def rows(self) -> int:
        """Rows of panels."""
        return math.ceil(len(self.panels) / self.columns)

    def draw(self, size: str | tuple[float, float] | None = None, *, notebook: bool = False) -> MplFigure:
        """The figure for print, with font sizes that fit a paper's text; with ``notebook`` a figure that a notebook
        displays.

        Raises:
            ValueError: ``size`` is not a size.
        """
        return drawn(self.spec(), inches(size, self.rows), title=self.title, notebook=notebook)

    def save(self, path: str | Path, size: str | tuple[float, float] | None = None) -> None:
        """Write a PDF, an SVG or a PNG; the same data give the same bytes. A PDF has TrueType fonts, as journals
        require.

        Raises:
            ValueError: the file has another suffix, or ``size`` is not a size.
            OSError: the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in (".pdf", ".svg", ".png"):
            raise ValueError(f"'{path}' does not end in .pdf, .svg or .png")
        words = {"Title": self.title, **self.provenance}
        text = "; ".join(f"{name}: {value}" for name, value in self.provenance.items())
        metadata_of: dict[str, dict[str, Any]] = {
            ".pdf": {"Title": self.title, "Subject": text, "Creator": f"Elephan {__version__}", "CreationDate": None},
            ".svg": {"Title": self.title, "Description": text, "Creator": f"Elephan {__version__}", "Date": None},
            ".png": {"Software": f"Elephan {__version__}", **words},
        }
        figure = self.draw(size)
        with saving(), whole_file(path) as place:
            figure.savefig(place, format=kind[1:], metadata=metadata_of[kind], dpi=200)

    def spec(self) -> dict[str, Any]:
        """Data and layout; time axes zoom together, and a name in the legend applies to all panels."""
        count = len(self.panels)
        below = ["time (s)" if i + self.columns >= count else "" for i in range(count)]
        panels = [(panel.title, label, panel.y_label) for panel, label in zip(self.panels, below, strict=True)]
        layout = stacked(panels, _PANEL_PX, 130, self.columns) | {
            "legend": {"orientation": "h", "x": 0, "y": 1 + 34 / (_PANEL_PX * self.rows), "yanchor": "bottom"},
            "margin": {"t": 100, "b": 56, "l": 64, "r": 16},
        }  # fmt: skip
        data: list[dict[str, Any]] = []
        named: set[str] = set()
        for i, panel in enumerate(self.panels):
            suffix = suffix_of(i)
            first = next(k for k, other in enumerate(self.panels) if other.y_label == panel.y_label)
            layout[f"xaxis{suffix}"] |= {"matches": "x"} if i else {}
            layout[f"xaxis{suffix}"] |= {"range": list(self.span)} if self.span else {}
            layout[f"yaxis{suffix}"] |= {"matches": f"y{suffix_of(first)}"} if first != i else {}
            if self.shaded:
                layout["shapes"].append(shade(*self.shaded, suffix))
            for line in panel.lines:
                data += _traces(line, suffix, legend=line.name not in named)
                named.add(line.name)
        return {"data": data, "layout": layout}


def inches(size: str | tuple[float, float] | None, rows: int = 1) -> tuple[float, float]:
    """Width and height of a figure in inches, from ``column``, ``page``, ``"12x8 cm"``, or a pair of numbers in inches.

    Raises:
        ValueError: the value is not a size, or not between 1 and 40 inches.
    """
    own_height = _PANEL_IN * rows + 0.6
    if size is None:
        return PAGE_IN, own_height
    if isinstance(size, str):
        word = size.strip().lower()
        if word in SIZES:
            return SIZES[word], own_height
        match = _SIZE.fullmatch(word)
        if match is None:
            raise ValueError(f"'{size}' is not a size; write column, page, or for example '12x8 cm'")
        unit = _INCHES[match["unit"]]
        size = float(match["width"]) * unit, float(match["height"]) * unit
    try:
        width, height = map(float, size)
    except (TypeError, ValueError):
        raise ValueError(f"{size!r} is not a size; write a width and a height in inches, such as (3.5, 2.5)") from None
    if not all(_LEAST_IN <= length <= _MOST_IN for length in (width, height)):
        raise ValueError(f"a figure of {width:.3g} x {height:.3g} in; both are from 1 to 40 in")
    return width, height


def color_of(place: int) -> str:
    """The color of an algorithm, by its position in the order of appearance."""
    return COLORS[place % len(COLORS)]


def variant(color: str, number: int) -> tuple[str, int]:
    """Color and dashes of a line: the first line of an algorithm has its plain color; further lines are darker or
    lighter, and dashed."""
    shade = (0.0, -0.35, 0.4)[number % 3]
    channels = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    mixed = (round(c + (255 - c) * shade if shade > 0 else c * (1 + shade)) for c in channels)
    return "#" + "".join(f"{c:02x}" for c in mixed), number % len(DASHES)


def thinned_line(times: Array, values: Array, bins: int = BINS) -> tuple[Array, Array]:
    """A line with at most two points in each bin: the smallest and the largest value, in order of time, so extremes
    remain visible."""
    if len(values) <= 2 * bins:
        return times, values
    width = math.ceil(len(values) / bins)
    kept: list[int] = []
    for begin in range(0, len(values), width):
        chunk = values[begin : begin + width]
        if np.isnan(chunk).all():
            kept.append(begin)
        else:
            kept += sorted({begin + int(np.nanargmin(chunk)), begin + int(np.nanargmax(chunk))})
    return times[kept], values[kept]


def thinned_band(times: Array, band: Band, bins: int = BINS) -> tuple[Array, Array, Array]:
    """A band with one point in each bin, as wide as the widest of its points in the bin."""
    if len(times) <= bins:
        return times, band.low, band.high
    begins = np.arange(0, len(times), math.ceil(len(times) / bins))
    # fmin and fmax ignore NaN unless all values are NaN.
    return times[begins], np.fmin.reduceat(band.low, begins), np.fmax.reduceat(band.high, begins)


def _traces(line: Line, suffix: str, *, legend: bool) -> list[dict[str, Any]]:
    shape = "vh" if line.steps else "linear"
    common = {
        "type": "scatter", "mode": "lines", "xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "legendgroup": line.name,
        "name": line.name,
    }  # fmt: skip
    found = []
    for band in line.bands:
        times, low, high = thinned_band(line.times, band)
        red, green, blue = (int(line.color[i : i + 2], 16) for i in (1, 3, 5))
        for values, fill in ((low, "none"), (high, "tonexty")):
            found.append(
                common | {
                    "x": _plain(times), "y": _plain(values), "showlegend": False, "hoverinfo": "skip", "fill": fill,
                    "fillcolor": f"rgba({red},{green},{blue},{band.alpha})", "line": {"width": 0, "shape": shape},
                }
            )  # fmt: skip
    times, values = thinned_line(line.times, line.values)
    found.append(
        common | {
            "x": _plain(times), "y": _plain(values), "showlegend": legend,
            "line": {"width": 1.4, "color": line.color, "dash": DASHES[line.dash], "shape": shape},
            "hovertemplate": "%{x:.3f} s: %{y:,.4g}",
        }
    )  # fmt: skip
    return found


def _plain(values: Array) -> list[float | None]:
    """Numbers with six digits for JSON; NaN, which JSON lacks, becomes ``None``."""
    return [None if value != value else float(f"{value:.6g}") for value in values.tolist()]
