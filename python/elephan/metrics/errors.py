"""The error of a metric that has no value, and the type of a window."""

from __future__ import annotations

Window = tuple[float, float]
"""Start and end, seconds of simulated time."""


class MetricError(ValueError):
    """A metric is not defined for this run, window, flow or link; the message has the reason."""
