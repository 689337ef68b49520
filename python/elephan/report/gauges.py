"""A small picture of one number: its interval beside the allowed range, on one axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH, HEIGHT = 120, 16
"""Size of the picture, CSS pixels."""
_MARGIN = 8
_PAD = 0.08


@dataclass(frozen=True)
class Gauge:
    """A number with its interval and the allowed range, all in one unit.

    Attributes:
        value: the number.
        low, high: ends of its interval; NaN without one.
        least, most: ends of the allowed range; infinite without a bound.
        label: the same in words, for those who do not see it.
    """

    value: float
    low: float
    high: float
    least: float
    most: float
    label: str

    @property
    def allowed(self) -> tuple[float, float]:
        """Left end and width of the allowed range in the picture."""
        left = self._at(self.least) if math.isfinite(self.least) else 0.0
        right = self._at(self.most) if math.isfinite(self.most) else float(WIDTH)
        return left, right - left

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the interval in the picture."""
        return (self._at(self.low), self._at(self.high)) if math.isfinite(self.low + self.high) else None

    @property
    def dot(self) -> float:
        """Place of the number in the picture."""
        return self._at(self.value)

    def _at(self, number: float) -> float:
        first, last = _ends((self.value, self.low, self.high, self.least, self.most))
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * (number - first) / (last - first), 1)


def _ends(numbers: Iterable[float]) -> tuple[float, float]:
    finite = [number for number in numbers if math.isfinite(number)]
    first, last = min(finite), max(finite)
    pad = _PAD * (last - first) or _PAD * abs(first) or 1.0
    return first - pad, last + pad
