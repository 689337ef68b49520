"""The two components of Compound TCP's window, derived from their sum.

A host reports only the sum. The loss-based component follows from four rules. In slow start it is the whole window,
since the delay-based component does not change. In congestion avoidance it grows by one segment each round trip. It
halves on a loss. It is never more than the whole window. The rest of the window is the delay-based component.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elephan.metrics.reading import (
    Array,
    Window,
    base_rtt_s,
    bottleneck,
    duration_s,
    flow_names,
    flow_series,
    link_capacity_bits,
    resolve_window,
    start_s,
    time_mean,
    wire_bytes,
)
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
Truth = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
INCREASE = 1.0


def loss_window_series(run: Run, flow: str, increase: float = INCREASE) -> tuple[Array, Array, Array]:
    """Sample times of the whole run, the loss-based component of the window, and the window; NaN before the start."""
    whole = (0.0, duration_s(run))
    columns = ("cwnd", "ssthresh", "srtt_s", "loss_events")
    times, cwnd = flow_series(run, flow, "cwnd", whole)
    _, ssthresh, srtt_s, losses = (flow_series(run, flow, column, whole)[1] for column in columns)
    there = (times >= start_s(run, flow)) & ~np.isnan(cwnd)
    return times, _followed(times, cwnd, ssthresh, srtt_s, losses, there, increase), np.where(there, cwnd, np.nan)


def _followed(
    times: Array, cwnd: Array, ssthresh: Array, srtt_s: Array, losses: Array, there: Truth, increase: float
) -> Array:
    """The loss-based component at each sample."""
    parts = np.full(len(times), np.nan)
    begun = np.flatnonzero(there)
    if not len(begun):
        return parts
    first = int(begun[0])
    parts[first] = cwnd[first]
    for i in range(first + 1, len(times)):
        part = parts[i - 1]
        lost = losses[i] - losses[i - 1]
        if lost > 0:
            part /= 2.0**lost
        elif cwnd[i] < ssthresh[i]:
            part = cwnd[i]
        elif srtt_s[i] > 0:
            part += increase * (times[i] - times[i - 1]) / srtt_s[i]
        parts[i] = min(part, cwnd[i])
    return parts


@metric("mean_dwnd_fraction", "1", "leith2008 §IV: dwnd of Compound TCP", scope="flow")
def mean_dwnd_fraction(
    run: Run, window: Window | None = None, flows: Flows = None, *, increase: float = INCREASE
) -> dict[str, float]:
    """Time average of the delay-based component of Compound TCP's window over the whole window.

    The loss-based component follows from the samples: it is the whole window in slow start, ``increase`` segments more
    each smoothed round trip in congestion avoidance, half of it after a loss.

    Raises:
        MetricError: a flow has fewer than two samples in the window.
    """
    from_s, to_s = resolve_window(run, window)
    means = {}
    for name in flow_names(run, flows):
        times, part, cwnd = loss_window_series(run, name, increase)
        inside = (times >= from_s) & (times <= to_s)
        means[name] = time_mean(times[inside], 1 - part[inside] / cwnd[inside])
    return means


@metric("wnd_fill_time_s", "s", "leith2008 §IV.B: fig. 6")
def wnd_fill_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, increase: float = INCREASE
) -> float:
    """Time until the loss-based components of all flows' windows together equal the path's BDP.

    The time begins at the window's start, and is infinite if they never do. The components are those of
    ``mean_dwnd_fraction``. The BDP is that of the bottleneck and the longest path, in full data packets on the wire.
    The default window is the whole run.
    """
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    names = flow_names(run, flows)
    series = [loss_window_series(run, name, increase) for name in names]
    times = series[0][0]
    total = np.nansum([part for _, part, _ in series], axis=0)
    rate_bps = link_capacity_bits(run, bottleneck(run), (from_s, to_s)) / (to_s - from_s)
    bdp = rate_bps * max(base_rtt_s(run, name) for name in names) / (8 * wire_bytes(run, names[0]))
    full = (times >= from_s) & (times <= to_s) & (total >= bdp)
    return float(times[np.argmax(full)]) - from_s if full.any() else math.inf
