"""Estimates with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elephan.explanation.results import Quantity

PARTS = 8
"""Parts of a capture from whose differences intervals come."""
_T_95 = 2.365
"""Student's t at 97.5 % with 7 degrees of freedom."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at 95 %."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """The same in another unit; nothing is below zero."""
        return Interval(self.value * factor, max(0.0, self.low) * factor, self.high * factor)


def of_parts(parts: Sequence[float], value: float, floor: float, *, least: float = 0.0) -> Interval:
    """A value with the interval of its parts, no narrower than the share ``floor`` of it and than ``least``."""
    wide = max(floor * abs(value), least)
    if len(parts) > 1:
        value = float(np.median(parts))
        wide = max(wide, _T_95 * float(np.std(parts, ddof=1)) / len(parts) ** 0.5)
    return Interval(value, value - wide, value + wide)


def share_of(found: int, of: int, *, doubtful: int = 0) -> Interval:
    """Share of independent events, with Garwood's interval; ``doubtful`` ones may be some as well."""
    from scipy.stats import chi2

    of = max(1, of)
    low = chi2.ppf(0.025, 2 * found) / 2 if found else 0.0
    high = chi2.ppf(0.975, 2 * (found + doubtful) + 2) / 2
    return Interval(found / of, float(low) / of, float(high) / of)


def quantity(name: str, title: str, unit: str, interval: Interval | None, reason: str) -> Quantity:
    """A number of the path; without an interval, the reason why there is none."""
    if interval is None:
        return Quantity(name, title, unit, None, reason=reason)
    return Quantity(name, title, unit, interval.value, interval.low, interval.high, reason)
