"""A matrix of numbers as colors, drawn for the screen and for print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.report.figures import COLORS, WIDTH_IN

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure


_MOST_TEXTS = 64
"""Largest number of cells at which the numbers in a matrix are readable."""


@dataclass(frozen=True)
class Matrix:
    """A matrix whose numbers are shown as colors.

    Attributes:
        id: short name.
        title: title in one line.
        caption: description of the content.
        rows: names from top to bottom.
        columns: names from left to right.
        values: values, by row; ``nan`` for a missing value.
        value_label: label of the values, with its unit.
        value_range: the values with the first and the last color.
        row_label: label of the rows.
        column_label: label of the columns.
    """

    id: str
    title: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    value_label: str
    value_range: tuple[float, float]
    row_label: str = ""
    column_label: str = ""

    @property
    def _shades(self) -> tuple[str, ...]:
        """Colors from the first to the last value; if zero is in the middle of the range, the colors are light at zero
        and darken to both ends."""
        low, high = self.value_range
        return (COLORS[1], "#f5f5f5", COLORS[0]) if low == -high else ("#f5f5f5", COLORS[0])

    def plotly(self) -> dict[str, Any]:
        """A heat map."""
        low, high = self.value_range
        known = [[value if math.isfinite(value) else None for value in row] for row in self.values]
        scale = [[i / (len(self._shades) - 1), shade] for i, shade in enumerate(self._shades)]
        data = {
            "type": "heatmap", "x": list(self.columns), "y": list(self.rows), "z": known,
            "zmin": low, "zmax": high, "colorscale": scale, "colorbar": {"title": {"text": self.value_label}},
            "hovertemplate": "%{y}, %{x}: %{z:.3f}<extra></extra>", "xgap": 1, "ygap": 1,
            **({"texttemplate": "%{z:.3g}"} if len(self.rows) * len(self.columns) <= _MOST_TEXTS else {}),
        }  # fmt: skip
        layout = {
            "height": max(360, 160 + 18 * len(self.rows)),
            "xaxis": {"title": {"text": self.column_label}, "tickangle": -60, "type": "category"},
            "yaxis": {"title": {"text": self.row_label}, "autorange": "reversed", "type": "category"},
            "margin": {"l": 110, "b": 110},
        }
        return {"data": [data], "layout": layout}

    def draw(self) -> MplFigure:
        """The matrix for print."""
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure as MplFigure

        shades = LinearSegmentedColormap.from_list("shares", list(self._shades))
        size = max(3.0, 0.17 * len(self.rows) + 1.4)
        figure = MplFigure(figsize=(WIDTH_IN, size), layout="constrained")
        ax = figure.subplots()
        low, high = self.value_range
        image = ax.imshow(self.values, cmap=shades, vmin=low, vmax=high, aspect="auto")
        size_pt = 5 if len(self.rows) > 20 else 7
        ax.set_xticks(range(len(self.columns)), list(self.columns), rotation=70, ha="right", fontsize=size_pt)
        ax.set_yticks(range(len(self.rows)), list(self.rows), fontsize=size_pt)
        ax.set_xlabel(self.column_label)
        ax.set_ylabel(self.row_label)
        figure.colorbar(image, ax=ax, label=self.value_label)
        return figure
