"""A matrix of numbers as colors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from elephan.report.figures import COLORS, Figure

_MOST_TEXTS = 64
"""Largest number of cells at which the numbers in a matrix are readable."""


@dataclass(frozen=True)
class Matrix(Figure):
    """A matrix whose numbers are shown as colors.

    Attributes:
        rows: names from top to bottom.
        columns: names from left to right.
        values: values, by row; ``nan`` for a missing value.
        value_label: label of the values, with its unit.
        value_range: the values with the first and the last color.
        row_label: label of the rows.
        column_label: label of the columns.
        high_is_bad: high values have the warm color, if zero is in the middle.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    value_label: str
    value_range: tuple[float, float]
    row_label: str = ""
    column_label: str = ""
    high_is_bad: bool = False

    @property
    def _shades(self) -> tuple[str, ...]:
        """Colors from the first to the last value; if zero is in the middle of the range, the colors are light at zero
        and darken to both ends."""
        low, high = self.value_range
        if low != -high:
            return ("#f5f5f5", COLORS[0])
        warm, cold = COLORS[1], COLORS[0]
        return (cold, "#f5f5f5", warm) if self.high_is_bad else (warm, "#f5f5f5", cold)

    def spec(self) -> dict[str, Any]:
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
