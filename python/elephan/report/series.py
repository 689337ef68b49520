"""Curves from the tables of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from elephan.rates import rate_mbps
from elephan.report.figures import Curve, thinned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from elephan.runs import Run

FULL_BINS = 1500
"""Number of bins of a curve in a figure, more than it has pixels, so that a reader can zoom."""


def flow_curve(
    run: Run, flow: str, column: str, name: str, color: int, bins: int = FULL_BINS, scale: float = 1.0
) -> Curve:
    """A column of ``samples`` at the sample period, times a scale, from the flow's start to the end of the run."""
    import numpy as np

    from elephan.metrics.reading import duration_s, flow_series, start_s

    times, values = flow_series(run, flow, column, (0.0, duration_s(run)))
    there = times >= start_s(run, flow)
    return _curve(run, times, np.where(there, values * scale, np.nan), name, color, bins)


def link_curve(run: Run, link: str, column: str, name: str, color: int, bins: int = FULL_BINS) -> Curve:
    """A column of ``links`` over the whole run, at the sample period."""
    from elephan.metrics.reading import duration_s, link_series

    return _curve(run, *link_series(run, link, column, (0.0, duration_s(run))), name, color, bins)


def quantile_curve(
    run: Run, group: str, column: str, quantile: float, name: str, color: int, bins: int = FULL_BINS
) -> Curve:
    """A quantile of a column of ``crowd`` over the whole run, at the sample period."""
    from elephan.metrics.reading import quantile_series

    times, values = quantile_series(run, group, column)
    return _curve(run, times, values[quantile], name, color, bins)


def throughput_curve(run: Run, flow: str, name: str, color: int) -> Curve:
    """Throughput on the wire of a flow in bins of 1 s, Mbit/s, at the middle of each bin."""
    import numpy as np

    from elephan.metrics.reading import duration_s, grid

    edges, octets = grid(run, flow, "wire_bytes", (0.0, duration_s(run)), 1.0)
    return Curve(name, float(edges[0]) + 0.5, 1.0, _rounded(rate_mbps(np.diff(octets), 1.0)), color)


def _curve(
    run: Run, times: npt.NDArray[np.float64], values: npt.NDArray[np.float64], name: str, color: int, bins: int
) -> Curve:
    import numpy as np

    period_s = run.form.sample_period_ps / 1e12
    # The ends of the measurement window are additional samples; a curve has equal steps.
    steps = times / period_s
    regular = np.abs(steps - np.round(steps)) < 1e-6
    kept, stretch = thinned([None if value != value else value for value in values[regular].tolist()], bins)
    return Curve(name, float(times[regular][0]), round(period_s * stretch, 9), _rounded(kept), color)


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    """Values with four significant digits, more than a screen resolves, to keep the file small; ``None`` for undefined
    values."""
    digits = [None if value is None or value != value else float(f"{value:.4g}") for value in values]
    return [int(value) if value is not None and value == int(value) else value for value in digits]
