"""The two components of Compound TCP's window, derived from their sum.

A host reports only the sum. The loss-based component follows from four rules. In slow start this component is the whole
window, since the delay-based component does not change. In congestion avoidance this component grows by one segment
each round trip. This component halves on a loss, and is never more than the whole window. The rest of the window is the
delay-based component.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elephan.metrics.ranges import SHARE
from elephan.metrics.reading import (
    Array,
    Window,
    base_rtt_s,
    bottleneck,
    duration_s,
    flow_names,
    flow_series,
    link_capacity_bits,
    reduction_series,
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
    times, cwnd = flow_series(run, flow, "cwnd", whole)
    ssthresh, srtt_s = (flow_series(run, flow, column, whole)[1] for column in ("ssthresh", "srtt_s"))
    _, losses = reduction_series(run, flow, whole)
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


@metric("mean_dwnd_fraction", "1", "leith2008 §IV: dwnd of Compound TCP", scope="flow", within=SHARE)
def mean_dwnd_fraction(
    run: Run, window: Window | None = None, flows: Flows = None, *, increase: float = INCREASE
) -> dict[str, float]:
    """Time average of the fraction of Compound TCP's congestion window that is the delay-based component.

    The loss-based component follows from the samples. The component is the whole window in slow start, grows by
    ``increase`` segments each smoothed round trip in congestion avoidance, and halves on a loss.

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

    The time begins at the start of the measured window, and is infinite if the components never reach the BDP. The
    components are those of ``mean_dwnd_fraction``. The BDP is that of the bottleneck and the longest path, in full data
    packets on the wire. The measured window is the whole run unless given.
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
