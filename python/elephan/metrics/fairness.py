"""How the flows share, and how long it takes a late comer to get there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    duration_s,
    flow_series,
    on_grid,
    pair,
    resolve_window,
    specs,
    start_s,
)
from elephan.metrics.registry import metric
from elephan.metrics.throughput import throughput_mbps
from elephan.runs.result import Run

Flows = Sequence[str] | None
RUNNING_MEAN_S = 10
REACHED = 0.8
CLOSE = 0.1
HOLD_S = 20
DELTA = 0.1


@metric("jain_fi", "1", "Jain, Chiu, Hawe 1984; RFC 5166 §2.3.1", aliases=("jain",))
def jain_fi(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Jain's index (Σx)² / (n Σx²) of the flows' throughputs: 1 when equal, 1/n when one has all.

    Raises:
        MetricError: nothing arrived.
    """
    return jain_index(list(throughput_mbps(run, window, flows).values()))


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index of some rates (unit is of no matter).

    Raises:
        MetricError: all are zero.
    """
    x = np.asarray(rates, dtype=np.float64)
    if x.max() <= 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    x = x / x.max()  # so that squares neither overflow nor vanish
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


@metric("asymmetry", "1", "Bullot, Cottrell, Hughes-Jones 2003")
def asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """(x₁ − x₂) / (x₁ + x₂) of the throughputs of two flows, numbered in order of start: 1 when the first has all.

    Raises:
        MetricError: not two flows, or nothing arrived.
    """
    first, second = pair(run, flows)
    rates = throughput_mbps(run, window, flows)
    total = rates[first] + rates[second]
    if total == 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    return (rates[first] - rates[second]) / total


@metric("abs_asymmetry", "1", "weigle2006 §3")
def abs_asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Absolute value of the asymmetry of two flows: 0 when they share equally, 1 when one has all."""
    return abs(asymmetry(run, window, flows))


@metric("convergence_time_s", "s", "ha2006 §3: 80 % of the first flow's running mean")
def convergence_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
) -> float:
    """From the second flow's start until its running mean first reaches 80 % of the first flow's, at whole seconds.

    Running means are of the throughput over the 10 s before, at steps of 1 s, and begin 10 s after the second flow's
    start. Infinite when it never happens. The window is the whole run unless given.

    Raises:
        MetricError: not two flows, or they are meant to start together, or they are both there for less than one mean.
    """
    started_s, times, first, second = _rates(run, window, flows)
    means = [_running_mean(rates, mean_s) for rates in (first, second)]
    ends = times[mean_s:]
    met = (means[1] >= reached * means[0]) & (means[1] > 0)
    return _first(ends, met) - started_s


@metric("delta_fair_convergence_time_s", "s", "Bansal et al. 2001; RFC 5166 §2.3")
def delta_fair_convergence_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, mean_s: int = RUNNING_MEAN_S, delta: float = DELTA
) -> float:
    """From the second flow's start until it has (1 − δ)/2 of what both get, δ = 0.1, in running means of 10 s.

    The means are as in ``convergence_time_s``; infinite when it never happens.

    Raises:
        MetricError: not two flows, or they are meant to start together, or they are both there for less than one mean.
    """
    started_s, times, first, second = _rates(run, window, flows)
    means = [_running_mean(rates, mean_s) for rates in (first, second)]
    met = (means[1] >= (1 - delta) / 2 * (means[0] + means[1])) & (means[1] > 0)
    return _first(times[mean_s:], met) - started_s


@metric("convergence_abs_time_s", "s", "our reading of weigle2006 and hcc2011")
def convergence_abs_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, hold_s: int = HOLD_S, within: float = CLOSE
) -> float:
    """The simulated time from which the throughputs of two flows stay within 10 % of each other for 20 s.

    Throughputs are taken in bins of 1 s; within 10 % means that they differ by at most 0.1 of the larger. The answer is
    the beginning of the first such 20 s after both have started; infinite when there are none. The window is the whole
    run unless given.

    Raises:
        MetricError: not two flows.
    """
    _, times, first, second = _rates(run, window, flows, together=True)
    larger = np.maximum(first, second)
    close = (np.abs(first - second) <= within * larger) & (larger > 0)
    if len(close) < hold_s:
        return math.inf
    held = np.convolve(close.astype(np.int64), np.ones(hold_s, dtype=np.int64), mode="valid") == hold_s
    return _first(times[: len(held)], held)


def _rates(
    run: Run, window: Window | None, flows: Flows, *, together: bool = False
) -> tuple[float, Array, Array, Array]:
    """The second flow's start, the edges of bins of 1 s from there on, and the bytes per bin of both flows.

    Bins begin at the first whole second at which both flows are there.
    """
    first, second = pair(run, flows)
    starts_ps = [spec["start_ps"] for spec in specs(run, flows)]
    if not together and starts_ps[0] == starts_ps[1]:
        raise MetricError("both flows start together, so that neither has to converge to the other")
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    started_s = start_s(run, second)
    begin_s = float(math.ceil(max(from_s, started_s, start_s(run, first))))
    if begin_s >= to_s:
        raise MetricError(f"the window ends at {to_s:g} s, before the second flow has been there for a second")
    bins = (begin_s, begin_s + math.floor(to_s - begin_s))
    if bins[0] == bins[1]:
        raise MetricError("the window holds no whole second of both flows")
    edges, octets = np.empty(0), []
    for name in (first, second):
        times, values = flow_series(run, name, "wire_bytes", bins)
        edges, values = on_grid(run, times, values, bins, 1.0)
        octets.append(np.diff(values))
    return started_s, edges, octets[0], octets[1]


def _running_mean(rates: Array, mean_s: int) -> Array:
    """Means over ``mean_s`` bins, one for each bin from the first full one on."""
    if len(rates) < mean_s:
        raise MetricError(f"the two flows are there together for {len(rates)} s; a running mean takes {mean_s}")
    return np.convolve(rates, np.ones(mean_s) / mean_s, mode="valid")


def _first(times: Array, met: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(times[np.argmax(met)]) if met.any() else math.inf
