"""Fairness between flows: indices of equality, and ratios of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from elephan.metrics.reading import (
    MetricError,
    Window,
    base_rtts_s,
    binned,
    flow_names,
    lifetime_s,
    pair,
    resolve_window,
    sample_times,
)
from elephan.metrics.registry import metric
from elephan.metrics.throughput import throughput_mbps
from elephan.runs.result import Run

Flows = Sequence[str] | None
FAIRNESS_BIN_S = 1.0


@metric("jain_fi", "1", "Jain, Chiu, Hawe 1984; RFC 5166 §2.3.1", aliases=("jain",))
def jain_fi(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Jain's index (Σx)² / (n Σx²) of the flows' throughputs; 1 for equal throughputs, 1/n if one flow has all.

    Raises:
        MetricError: nothing arrived.
    """
    return jain_index(list(throughput_mbps(run, window, flows).values()))


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index of rates in any unit.

    Raises:
        MetricError: all are zero.
    """
    x = np.asarray(rates, dtype=np.float64)
    if x.max() <= 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    x = x / x.max()  # squares then neither overflow nor underflow
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


@metric("mean_jain_fi", "1", "ha2006 §4.7: fairness index over time scales")
def mean_jain_fi(
    run: Run, window: Window | None = None, flows: Flows = None, *, bin_s: float = FAIRNESS_BIN_S
) -> float:
    """Mean of Jain's index over bins of 1 s, or of ``bin_s``: the fairness at that time scale.

    Flows that take turns are fair over the whole window and unfair in each bin. Bins without arrivals are left out, and
    so is an incomplete bin at the window's end.

    Raises:
        MetricError: nothing arrived in any bin.
    """
    _, octets = binned(run, flow_names(run, flows), "wire_bytes", resolve_window(run, window), bin_s)
    busy = octets[:, octets.sum(axis=0) > 0]
    if busy.shape[1] == 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    return float(np.mean([jain_index(rates) for rates in busy.T.tolist()]))


@metric("jain_fi_when_all_active", "1", "our interpretation of hcc2011 figs. 12 and 13")
def jain_fi_when_all_active(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Jain's index of the throughputs over the time of the window in which all flows are active.

    The time begins with the first sample after the last start, and ends with the last sample before the first end. The
    window is the whole run unless given.

    Raises:
        MetricError: the flows are never all active, or nothing arrived.
    """
    names = flow_names(run, flows)
    lives = [lifetime_s(run, name) for name in names]
    from_s, to_s = max(begun for begun, _ in lives), min(ended for _, ended in lives)
    times = sample_times(run, window)
    inside = times[(times >= from_s) & (times <= to_s)]
    if len(inside) < 2:
        raise MetricError("the flows are never all there at once")
    return jain_fi(run, (float(inside[0]), float(inside[-1])), flows)


@metric("min_max_ratio", "1", "RFC 5166 §2.3.1: epsilon-fairness")
def min_max_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """The smallest throughput over the largest; 1 if all are equal, 0 if a flow is starved.

    Flows are ε-fair when this ratio is at least 1 − ε.

    Raises:
        MetricError: nothing arrived.
    """
    rates = throughput_mbps(run, window, flows).values()
    if max(rates) == 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    return min(rates) / max(rates)


@metric("product_fairness", "1", "RFC 5166 §2.3.1: product measure")
def product_fairness(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Geometric over arithmetic mean of the throughputs; 1 if all are equal, 0 if a flow is starved.

    Proportional fairness maximizes the product of the throughputs. The product depends on the unit and on the number of
    flows; the n-th root of the product, divided by the mean, does not depend on them.

    Raises:
        MetricError: nothing arrived.
    """
    rates = np.array(list(throughput_mbps(run, window, flows).values()))
    if rates.max() == 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    return float(np.exp(np.log(rates / rates.mean()).mean())) if rates.min() > 0 else 0.0


@metric("asymmetry", "1", "Bullot, Cottrell, Hughes-Jones 2003")
def asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """(x₁ − x₂) / (x₁ + x₂) of the throughputs of two flows, numbered in order of start; 1 if the first flow has all.

    Raises:
        MetricError: there are not two flows, or nothing arrived.
    """
    first, second = pair(run, flows)
    rates = throughput_mbps(run, window, flows)
    total = rates[first] + rates[second]
    if total == 0:
        raise MetricError("nothing arrived in the window, so that there is nothing to share")
    return (rates[first] - rates[second]) / total


@metric("abs_asymmetry", "1", "weigle2006 §3")
def abs_asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Absolute value of the asymmetry of two flows; 0 for equal shares, 1 if one flow has all of the throughput."""
    return abs(asymmetry(run, window, flows))


@metric("throughput_ratio", "1", "leith2008 §VI: figs. 8 and 9")
def throughput_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of the throughputs of two flows, the first over the second, in order of start.

    Raises:
        MetricError: there are not two flows, or no data of the second flow arrived.
    """
    first, second = pair(run, flows)
    rates = throughput_mbps(run, window, flows)
    return _ratio(rates, first, second)


@metric("rtt_fairness_ratio", "1", "RFC 5166 §2.3.2", aliases=("throughput_ratio_short_over_long",))
def rtt_fairness_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of throughputs: the flow with the shortest propagation RTT over the flow with the longest.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the longest RTT.
    """
    shortest, longest = _by_rtt(run, flows)
    return _ratio(throughput_mbps(run, window, flows), shortest, longest)


@metric("throughput_ratio_long_over_short", "1", "leith2008 §V: fig. 7")
def throughput_ratio_long_over_short(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of throughputs: the flow with the longest propagation RTT over the flow with the shortest.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the shortest RTT.
    """
    shortest, longest = _by_rtt(run, flows)
    return _ratio(throughput_mbps(run, window, flows), longest, shortest)


@metric("rtt_fairness_exponent", "1", "Lakshman, Madhow 1997; the two notions of ha2006 §4.4")
def rtt_fairness_exponent(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Exponent a of throughput ∝ RTT⁻ᵃ, from the flows with the shortest and the longest RTT.

    The exponent is 0 for equal shares at any RTT, 1 for shares in inverse proportion to the RTT, and 2 for the shares
    of Reno flows with synchronized losses. With an exponent below 0, the flow with the longer RTT has the larger share.
    RTTs are those of propagation.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the shortest or the longest RTT.
    """
    shortest, longest = _by_rtt(run, flows)
    ratio = rtt_fairness_ratio(run, window, flows)
    if ratio == 0:
        raise MetricError(f"nothing of flow '{shortest}' arrived in the window")
    rtts_s = base_rtts_s(run, [shortest, longest])
    return float(np.log(ratio) / np.log(rtts_s[longest] / rtts_s[shortest]))


def _by_rtt(run: Run, flows: Flows) -> tuple[str, str]:
    """The flows with the shortest and the longest propagation RTT."""
    rtts_s = base_rtts_s(run, flows)
    shortest, longest = min(rtts_s, key=rtts_s.__getitem__), max(rtts_s, key=rtts_s.__getitem__)
    if rtts_s[shortest] == rtts_s[longest]:
        raise MetricError("all flows have the same RTT")
    return shortest, longest


def _ratio(rates: Mapping[str, float], over: str, under: str) -> float:
    if rates[under] == 0:
        raise MetricError(f"nothing of flow '{under}' arrived in the window")
    return rates[over] / rates[under]
