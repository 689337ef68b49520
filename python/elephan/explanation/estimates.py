"""Estimates with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elephan.explanation.results import Estimate
from elephan.metrics.statistics import Interval

PARTS = 8
"""Parts of a capture from whose differences intervals come."""
_T_95 = 2.365
"""Student's t at 97.5 % with 7 degrees of freedom."""


def scaled(interval: Interval, factor: float) -> Interval:
    """An interval in another unit; nothing is below zero."""
    return Interval(interval.value * factor, max(0.0, interval.low) * factor, interval.high * factor)


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


def estimated(name: str, title: str, unit: str, interval: Interval | None, reason: str) -> Estimate:
    """A number of the path; without an interval, the reason why there is none."""
    if interval is None:
        return Estimate(name, title, unit, None, reason=reason)
    return Estimate(name, title, unit, interval.value, interval.low, interval.high, reason)
