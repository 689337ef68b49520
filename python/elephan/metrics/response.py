"""Speed of the response of flows to a change of the path, and their variation on a constant path (RFC 5166 §2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elephan.metrics.ranges import REAL, SHARE
from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    alive,
    base_rtt_s,
    binned,
    bottleneck,
    duration_s,
    flow_names,
    flow_series,
    link_capacity_bits,
    reduction_series,
    resolve_window,
    start_s,
)
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
Truth = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
BIN_S = 1.0
STARTED = 0.9
FULL = 0.95


@metric("recovery_time_s", "s", "leith2008 fig. 1 and 2; RFC 5166 §2.2.1", scope="flow", aliases=("fill_time_s",))
def recovery_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, reached: float = FULL, bin_s: float = BIN_S
) -> dict[str, float]:
    """Time from a disturbance until a flow again has 95 % of its largest throughput before the disturbance.

    The disturbance is at the window's start.

    Throughputs are taken in bins of 1 s, counted forwards and backwards from the disturbance. After the first bin below
    the level of 95 %, the metric finds the first bin at or above the level. The value is the time from the disturbance
    to the beginning of this bin. The value is 0 if the flow never falls below the level, and infinite if the flow does
    not reach the level again before the window's end. The paper gives times until the link is fully used again; the
    95 % and the bins are our choice.

    Raises:
        MetricError: no window is given, or the flow was not active for a whole bin before the window.
    """
    if window is None:
        raise MetricError("give the window: it begins with the disturbance and ends after the latest expected recovery")
    since_s, _ = window = resolve_window(run, window)
    times = {}
    for name in flow_names(run, flows):
        best = _before(run, name, since_s, bin_s).max()
        edges, octets = binned(run, [name], "wire_bytes", window, bin_s)
        low = octets[0] < reached * best
        back = ~low & (np.cumsum(low) > 0)
        times[name] = (float(edges[np.argmax(back)]) - since_s if back.any() else math.inf) if low.any() else 0.0
    return times


@metric("halving_time_s", "s", "Floyd, Handley, Padhye 2000: responsiveness; RFC 5166 §2.2.1", scope="flow")
def halving_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, bin_s: float = BIN_S
) -> dict[str, float]:
    """Time from the onset of congestion at the window's start until a flow has at most half of its earlier throughput.

    Throughputs are in bins of 1 s, and the earlier throughput is that of the last bin before the window. The value is
    the end of the first bin at or below half of the earlier throughput, counted from the window's start; infinite if
    there is no such bin.

    Raises:
        MetricError: no window is given, or the flow was not active for a whole bin before the window.
    """
    if window is None:
        raise MetricError("give the window: it begins with the onset of congestion")
    since_s, _ = window = resolve_window(run, window)
    times = {}
    for name in flow_names(run, flows):
        before = _before(run, name, since_s, bin_s)[-1]
        edges, octets = binned(run, [name], "wire_bytes", window, bin_s)
        met = octets[0] <= before / 2
        times[name] = float(edges[1 + np.argmax(met)]) - since_s if met.any() else math.inf
    return times


def _before(run: Run, flow: str, since_s: float, bin_s: float) -> Array:
    """A flow's bytes in the whole bins between its start and a time, in order of time."""
    bins = math.floor((since_s - start_s(run, flow)) / bin_s + 1e-9)
    if bins < 1:
        raise MetricError(f"flow '{flow}' is not there for {bin_s:g} s before the window, to compare with")
    _, octets = binned(run, [flow], "wire_bytes", (since_s - bins * bin_s, since_s), bin_s)
    before: Array = octets[0]
    return before


@metric("time_to_full_rate_s", "s", "our interpretation of hcc2011 fig. 9", scope="flow")
def time_to_full_rate_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, reached: float = FULL
) -> dict[str, float]:
    """Time from a flow's start until its throughput over a second is 95 % of the bottleneck's rate.

    The value is the beginning of the first whole second of simulated time with this throughput, or infinite if there is
    no such second. The window is the whole run unless given.

    Raises:
        MetricError: the window contains no whole second of the flow.
    """
    from_s, to_s = resolve_window(run, window or (0.0, duration_s(run)))
    link = bottleneck(run)
    times = {}
    for name in flow_names(run, flows):
        begun_s = start_s(run, name)
        first_s = float(math.ceil(max(from_s, begun_s)))
        if first_s + 1 > to_s:
            raise MetricError(f"the window contains no whole second of flow '{name}'")
        edges, octets = binned(run, [name], "wire_bytes", (first_s, to_s), 1.0)
        seconds = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        possible = np.array([link_capacity_bits(run, link, second) / 8 for second in seconds])
        met = (octets[0] >= reached * possible) & (possible > 0)
        times[name] = float(edges[np.argmax(met)]) - begun_s if met.any() else math.inf
    return times


@metric("startup_time_s", "s", "Elephan's own definition", scope="flow")
def startup_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, reached: float = STARTED, mean_s: float = BIN_S
) -> dict[str, float]:
    """Time from a flow's start until its goodput over a second first reaches 90 % of its goodput in the window.

    The seconds end at sample times, and the value is the end of the first such second, so that it is at least 1 s. It
    is infinite if no second of the flow has this goodput.

    Raises:
        MetricError: nothing of a flow arrived in the window, or the samples are more than a second apart.
    """
    from_s, to_s = resolve_window(run, window)
    times = {}
    for name in flow_names(run, flows):
        begun_s = start_s(run, name)
        at_s, segments = flow_series(run, name, "delivered_segments", (0.0, duration_s(run)))
        in_window = np.diff(np.interp([from_s, to_s], at_s, segments))[0] / (to_s - from_s)
        if in_window <= 0:
            raise MetricError(f"nothing of flow '{name}' arrived in the window")
        ends = (at_s >= begun_s + mean_s) & (at_s - mean_s >= at_s[0])
        if not ends.any():
            raise MetricError(f"flow '{name}' is not there for {mean_s:g} s")
        rates = (segments[ends] - np.interp(at_s[ends] - mean_s, at_s, segments)) / mean_s
        met = rates >= reached * in_window
        times[name] = float(at_s[ends][np.argmax(met)]) - begun_s if met.any() else math.inf
    return times


@metric("throughput_cov", "1", "RFC 5166 §2.2.2: coefficient of variation", scope="flow")
def throughput_cov(
    run: Run, window: Window | None = None, flows: Flows = None, *, bin_s: float = BIN_S
) -> dict[str, float]:
    """Standard deviation over mean of a flow's throughput in bins of 1 s, or of ``bin_s``.

    An incomplete bin at the end is left out. The standard deviation is that of the population (divisor n).

    Raises:
        MetricError: there are fewer than two bins, or nothing of a flow arrived.
    """
    names = flow_names(run, flows)
    _, octets = binned(run, names, "wire_bytes", resolve_window(run, window), bin_s)
    if octets.shape[1] < 2:
        raise MetricError(f"the window contains fewer than two bins of {bin_s:g} s")
    for name, row in zip(names, octets, strict=True):
        if row.max() == 0:
            raise MetricError(f"nothing of flow '{name}' arrived in the window")
    return {name: float(row.std() / row.mean()) for name, row in zip(names, octets, strict=True)}


@metric("largest_rate_drop", "1", "RFC 5166 §2.2.2: smoothness", scope="flow", within=SHARE)
def largest_rate_drop(
    run: Run, window: Window | None = None, flows: Flows = None, *, bin_s: float = BIN_S
) -> dict[str, float]:
    """Largest decrease of a flow's throughput from one second to the next, or between bins of ``bin_s``, as a fraction.

    The fraction is 0 if the throughput never falls, and 1 if the throughput falls to 0. RFC 5166 uses bins of a round
    trip.

    Raises:
        MetricError: there are fewer than two bins, or nothing of a flow arrived.
    """
    names = flow_names(run, flows)
    _, octets = binned(run, names, "wire_bytes", resolve_window(run, window), bin_s)
    if octets.shape[1] < 2:
        raise MetricError(f"the window contains fewer than two bins of {bin_s:g} s")
    drops = {}
    for name, row in zip(names, octets, strict=True):
        busy = row[:-1] > 0
        if not busy.any():
            raise MetricError(f"nothing of flow '{name}' arrived in the window")
        drops[name] = max(0.0, float((1 - row[1:][busy] / row[:-1][busy]).max()))
    return drops


@metric(
    "increase_pkts_per_rtt",
    "segments",
    "leith2008 §IV.A",
    scope="flow",
    aliases=("mean_alpha_pkts_per_rtt",),
    within=REAL,
)
def increase_pkts_per_rtt(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Growth of the congestion window for each round trip in congestion avoidance: 1 for Reno.

    The growth rate is the total growth between samples over the number of round trips between them. A pair of
    consecutive samples is used if the window is at least ssthresh at both and no backoff lies between them. After a
    backoff, pairs are used again as soon as the window no longer falls. The smoothed RTT is the duration of a round
    trip.

    Raises:
        MetricError: a flow has no samples in congestion avoidance, for example a flow without ssthresh.
    """
    sums = {name: _growth(run, name, resolve_window(run, window)) for name in flow_names(run, flows)}
    return {name: float(grown.sum() / rounds.sum()) for name, (grown, rounds) in sums.items()}


@metric(
    "aggressiveness_pkts_per_rtt", "segments", "Floyd, Handley, Padhye 2000; RFC 5166 §2.2.1", scope="flow", within=REAL
)
def aggressiveness_pkts_per_rtt(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Fastest growth of the congestion window per round trip in congestion avoidance, between two samples.

    The samples are those of ``increase_pkts_per_rtt``.

    Raises:
        MetricError: the errors of ``increase_pkts_per_rtt``.
    """
    steps = {name: _growth(run, name, resolve_window(run, window)) for name in flow_names(run, flows)}
    return {name: float((grown / rounds).max()) for name, (grown, rounds) in steps.items()}


@metric("growth_factor_per_rtt", "1", "hcc2011 Table 1: the window doubles per RTT", scope="flow")
def growth_factor_per_rtt(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Growth factor of the congestion window in each round trip of the measurement window: 2 in slow start.

    The factor is the geometric mean over the propagation RTTs that lie between the first and the last sample. Queueing
    makes round trips longer, and therefore the factor smaller.

    Raises:
        MetricError: the flow has no congestion window at the first or the last sample.
    """
    factors = {}
    for name in flow_names(run, flows):
        times, cwnd = alive(run, name, "cwnd", resolve_window(run, window))
        if not cwnd[0] > 0 or not cwnd[-1] > 0:
            raise MetricError(f"flow '{name}' has no congestion window at an end of the window")
        rounds = (times[-1] - times[0]) / base_rtt_s(run, name)
        factors[name] = float((cwnd[-1] / cwnd[0]) ** (1 / rounds))
    return factors


def _growth(run: Run, flow: str, window: Window) -> tuple[Array, Array]:
    """Growth of the window between consecutive samples in congestion avoidance, segments, and the number of round trips
    between them."""
    times, cwnd = alive(run, flow, "cwnd", window)
    ssthresh, srtt_s = (flow_series(run, flow, column, window)[1] for column in ("ssthresh", "srtt_s"))
    _, reductions = reduction_series(run, flow, window)
    with np.errstate(invalid="ignore"):
        avoiding = cwnd >= ssthresh
    grown = np.diff(cwnd)
    used = avoiding[1:] & avoiding[:-1] & ~_backing_off(np.diff(reductions) != 0, grown < 0)
    rounds = np.diff(times) / ((srtt_s[1:] + srtt_s[:-1]) / 2)
    used &= np.isfinite(rounds)
    if not used.any():
        raise MetricError(f"flow '{flow}' is nowhere seen in congestion avoidance between two samples")
    return grown[used], rounds[used]


def _backing_off(lost: Truth, falling: Truth) -> Truth:
    """True at steps with a backoff, and at the following steps in which recovery still reduces the window."""
    still = np.zeros(len(lost), dtype=np.bool_)
    for i in range(len(lost)):
        still[i] = lost[i] or (i > 0 and still[i - 1] and falling[i])
    return still
