"""Time until a late-starting flow has its share, by the definitions of the papers that measured it.

The papers have no common definition. ``convergence_time_s`` is the definition of ha2006, and
``convergence_accumulated_time_s`` is a variant of that definition. ``convergence_cwnd_time_s`` and
``convergence_epochs`` are the definitions of leith2008. The papers weigle2006 and hcc2011 report the time at which
flows meet, without a rule; ``convergence_abs_time_s`` is our interpretation. ``delta_fair_convergence_time_s`` is the
definition of RFC 5166. The paper katto2008 has no definition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    alive,
    binned,
    duration_s,
    flow_names,
    flow_series,
    on_grid,
    pair,
    resolve_window,
    specs,
    start_s,
)
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
Truth = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
RUNNING_MEAN_S = 10
REACHED = 0.8
CLOSE = 0.1
HOLD_S = 20
STAYS_S = 30
DELTA = 0.1
STEADY = 0.95


@metric("convergence_time_s", "s", "ha2006 §4.7: 80 % of the first flow's timed average, at steps of 1 s")
def convergence_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
) -> float:
    """Time from the second flow's start until its mean throughput first reaches 80 % of the first flow's.

    The means are running means over the previous 10 s, at whole seconds, from 10 s after the second flow's start. The
    value is infinite if this never happens. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    started_s, times, first, second = _rates(run, window, flows)
    means = [_running_mean(rates, mean_s) for rates in (first, second)]
    ends = times[mean_s:]
    met = (means[1] >= reached * means[0]) & (means[1] > 0)
    return _first(ends, met) - started_s


@metric("converged", "1", "ha2006 §4.7")
def converged(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """1 if the second flow converges as ``convergence_time_s`` defines, else 0."""
    return float(math.isfinite(convergence_time_s(run, window, flows)))


@metric("convergence_accumulated_time_s", "s", "ha2006 §4.7, the other interpretation of a timed average")
def convergence_accumulated_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, reached: float = REACHED
) -> float:
    """Time from the second flow's start until its bytes since then are 80 % of the first flow's, at whole seconds.

    This metric is ``convergence_time_s`` with cumulative means from the second flow's start instead of running means.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less than a second.
    """
    started_s, times, first, second = _rates(run, window, flows)
    sums = np.cumsum(first), np.cumsum(second)
    return _first(times[1:], (sums[1] >= reached * sums[0]) & (sums[1] > 0)) - started_s


@metric("convergence_cwnd_time_s", "s", "our interpretation of leith2008 §IV.B")
def convergence_cwnd_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
    stays_s: int = STAYS_S,
) -> float:
    """Time from the second flow's start until its mean window stays above 80 % of the first flow's for 30 s.

    Congestion windows are averaged over the previous 10 s, at steps of 1 s. The value is the beginning of the 30 s, or
    infinite if the mean window never stays above 80 % for 30 s. The paper states that a new flow obtains its fair share
    on average, and shows windows; the mean, the 80 % and the 30 s are our choice. The window is the whole run unless
    given.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    started_s, bins = _together(run, window, flows)
    means = [_running_mean(_cwnd_means(run, name, bins), mean_s) for name in pair(run, flows)]
    with np.errstate(invalid="ignore"):
        met = means[1] >= reached * means[0]
    times = bins[0] + mean_s + np.arange(len(met), dtype=np.float64)
    return _first(times, _held(met, stays_s + 1)) - started_s


@metric("convergence_epochs", "epochs", "leith2008 §IV: within 95 % of the steady state")
def convergence_epochs(run: Run, window: Window | None = None, flows: Flows = None, *, steady: float = STEADY) -> float:
    """Number of congestion epochs until the second flow has 95 % of its fair share over an epoch; about 4 for Reno.

    Epochs lie between successive backoffs of the first flow; the first epoch begins with the first flow's first backoff
    after the second flow's start. The fair share is half of both flows' data in the epoch. The value is infinite if the
    second flow has 95 % of its fair share in no complete epoch. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows, both start together, or the first backs off fewer than two times.
    """
    _, (from_s, to_s) = _together(run, window, flows)
    first, second = pair(run, flows)
    _, losses = flow_series(run, first, "loss_events", (from_s, to_s))
    bounds = np.flatnonzero(np.diff(np.nan_to_num(losses)) > 0) + 1
    if len(bounds) < 2:
        raise MetricError(f"flow '{first}' backs off too seldom for an epoch after flow '{second}' has started")
    got = [np.diff(flow_series(run, name, "wire_bytes", (from_s, to_s))[1][bounds]) for name in (first, second)]
    met = (got[1] >= steady * (got[0] + got[1]) / 2) & (got[1] > 0)
    return _first(1.0 + np.arange(len(met), dtype=np.float64), met)


@metric("fairness_excursion_s", "s", "our interpretation of leith2008 fig. 4", aliases=("fairness_excursion",))
def fairness_excursion_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
) -> float:
    """Longest time for which two flows diverge again after convergence.

    The flows diverge while one running mean is below 80 % of the other running mean. The means are those of
    ``convergence_time_s``. The metric considers only the time after the convergence. The value is 0 if the flows do not
    diverge.

    Raises:
        MetricError: the errors of ``convergence_time_s``, or the flows never converge.
    """
    _, _, first, second = _rates(run, window, flows)
    means = [_running_mean(rates, mean_s) for rates in (first, second)]
    met = (means[1] >= reached * means[0]) & (means[1] > 0)
    if not met.any():
        raise MetricError("the flows never converge, so they cannot diverge again")
    since = int(np.argmax(met))
    apart = np.minimum(*means)[since:] < reached * np.maximum(*means)[since:]
    longest = run_length = 0
    for away in apart:
        run_length = run_length + 1 if away else 0
        longest = max(longest, run_length)
    return float(longest)


@metric("jain_convergence_time_s", "s", "Elephan's own definition, of Jain's index")
def jain_convergence_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    index: float = STEADY,
) -> float:
    """Time from the last start until Jain's index of all flows' running means reaches 0.95, for any number of flows.

    The means are as in ``convergence_time_s``, from the first whole second at which all flows are active; the value is
    infinite if the index never reaches 0.95. The window is the whole run unless given.

    Raises:
        MetricError: there is only one flow, or all flows are active for less than one mean.
    """
    names = flow_names(run, flows)
    if len(names) < 2:
        raise MetricError("one flow has no other flow to share with")
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    started_s = max(start_s(run, name) for name in names)
    begin_s = float(math.ceil(max(from_s, started_s)))
    if begin_s + mean_s > to_s:
        raise MetricError(f"all flows are active for less than {mean_s} s, and a running mean takes that")
    _, octets = binned(run, names, "wire_bytes", (begin_s, to_s), 1.0)
    means = np.array([_running_mean(row, mean_s) for row in octets])
    squares = (means**2).sum(axis=0)
    met = (means.sum(axis=0) ** 2 >= index * len(names) * squares) & (squares > 0)
    return _first(begin_s + mean_s + np.arange(len(met), dtype=np.float64), met) - started_s


@metric("delta_fair_convergence_time_s", "s", "Bansal et al. 2001; RFC 5166 §2.3")
def delta_fair_convergence_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, mean_s: int = RUNNING_MEAN_S, delta: float = DELTA
) -> float:
    """Time from the second flow's start until its share of both flows' throughput reaches (1 − δ)/2, with δ = 0.1.

    Throughputs are running means over 10 s. The running means are those of ``convergence_time_s``. The value is
    infinite if the second flow never has this share.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    started_s, times, first, second = _rates(run, window, flows)
    means = [_running_mean(rates, mean_s) for rates in (first, second)]
    met = (means[1] >= (1 - delta) / 2 * (means[0] + means[1])) & (means[1] > 0)
    return _first(times[mean_s:], met) - started_s


@metric("convergence_abs_time_s", "s", "our interpretation of weigle2006 and hcc2011")
def convergence_abs_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, hold_s: int = HOLD_S, within: float = CLOSE
) -> float:
    """Simulated time from which the throughputs of two flows stay within 10 % of each other for 20 s.

    Throughputs are taken in bins of 1 s; within 10 % means that they differ by at most 0.1 of the larger throughput.
    The value is the beginning of the first 20 s of this kind after both flows have started; infinite if the flows never
    stay so close. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows.
    """
    _, times, first, second = _rates(run, window, flows, together=True)
    larger = np.maximum(first, second)
    close = (np.abs(first - second) <= within * larger) & (larger > 0)
    return _first(times, _held(close, hold_s))


@metric("rates_close_time_s", "s", "our interpretation of hcc2011 figs. 11 to 13")
def rates_close_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, hold_s: int = HOLD_S, within: float = CLOSE
) -> float:
    """Time from the last start until the throughputs of all flows stay within 10 % of each other for 20 s.

    This metric is ``convergence_abs_time_s`` for any number of flows, counted from the start of the last flow.

    Raises:
        MetricError: there is only one flow, or the window contains no whole second in which all flows are active.
    """
    names = flow_names(run, flows)
    if len(names) < 2:
        raise MetricError("one flow has no other flow to compare with")
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    started_s = max(start_s(run, name) for name in names)
    begin_s = float(math.ceil(max(from_s, started_s)))
    if begin_s + 1 > to_s:
        raise MetricError("the window contains no whole second of all flows")
    edges, octets = binned(run, names, "wire_bytes", (begin_s, to_s), 1.0)
    largest = octets.max(axis=0)
    close = (largest - octets.min(axis=0) <= within * largest) & (largest > 0)
    return _first(edges, _held(close, hold_s)) - started_s


def _together(run: Run, window: Window | None, flows: Flows, *, together: bool = False) -> tuple[float, Window]:
    """The second flow's start, and the whole seconds of the window in which both flows are active."""
    first, second = pair(run, flows)
    starts_ps = [spec.start_ps for spec in specs(run, flows)]
    if not together and starts_ps[0] == starts_ps[1]:
        raise MetricError("both flows start together, so that neither has to converge to the other")
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    started_s = start_s(run, second)
    begin_s = float(math.ceil(max(from_s, started_s, start_s(run, first))))
    if begin_s >= to_s:
        raise MetricError(f"the window ends at {to_s:g} s, before the second flow has been there for a second")
    end_s = begin_s + math.floor(to_s - begin_s)
    if begin_s == end_s:
        raise MetricError("the window contains no whole second of both flows")
    return started_s, (begin_s, end_s)


def _rates(
    run: Run, window: Window | None, flows: Flows, *, together: bool = False
) -> tuple[float, Array, Array, Array]:
    """The second flow's start, the edges of bins of 1 s from that start on, and the bytes per bin of both flows.

    Bins begin at the first whole second at which both flows are active.
    """
    started_s, bins = _together(run, window, flows, together=together)
    edges, octets = binned(run, pair(run, flows), "wire_bytes", bins, 1.0)
    return started_s, edges, octets[0], octets[1]


def _cwnd_means(run: Run, flow: str, bins: Window) -> Array:
    """Time averages of a congestion window over each second; NaN from a flow's end on."""
    times, cwnd = alive(run, flow, "cwnd", bins)
    pieces = (cwnd[1:] + cwnd[:-1]) / 2 * np.diff(times)
    _, total = on_grid(run, times, np.concatenate([[0.0], np.cumsum(pieces)]), bins, 1.0)
    return np.diff(total)


def _running_mean(rates: Array, mean_s: int) -> Array:
    """Running means over ``mean_s`` bins; the first mean ends with bin number ``mean_s``."""
    if len(rates) < mean_s:
        raise MetricError(f"the two flows are active together for {len(rates)} s; a running mean takes {mean_s}")
    return np.convolve(rates, np.ones(mean_s) / mean_s, mode="valid")


def _held(met: Truth, steps: int) -> Truth:
    """True at each position from which a condition holds for ``steps`` steps. The result is shorter than ``met`` by
    ``steps - 1``."""
    if len(met) < steps:
        return np.zeros(0, dtype=np.bool_)
    held: Truth = np.convolve(met.astype(np.int64), np.ones(steps, dtype=np.int64), mode="valid") == steps
    return held


def _first(times: Array, met: Truth) -> float:
    return float(times[np.argmax(met)]) if met.any() else math.inf
