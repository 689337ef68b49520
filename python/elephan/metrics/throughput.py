"""Rates and losses: the shares of the flows, and the loads of the links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elephan.metrics.reading import (
    MetricError,
    Window,
    base_rtts_s,
    bottleneck,
    chosen,
    counters,
    flow_names,
    link_capacity_bits,
    link_counter,
    link_series,
    on_grid,
    resolve_window,
    specs,
)
from elephan.metrics.registry import metric
from elephan.rates import payload_rate_mbps, rate_mbps
from elephan.runs.result import Run

Flows = Sequence[str] | None
STABILITY_BIN_S = 10.0


@metric("throughput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="flow")
def throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Bits on the wire that arrived at the flow's receiver, over the length of the window.

    Headers and duplicates count; dropped packets do not. A named source of transfers counts as one flow, with the
    arrivals of all its transfers.
    """
    start_s, end_s = window = resolve_window(run, window)
    return {
        name: rate_mbps(octets, end_s - start_s) for name, octets in counters(run, "wire_bytes", window, flows).items()
    }


@metric("goodput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="flow")
def goodput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Payload bits of distinct segments that arrived at the flow's receiver, over the length of the window.

    A named source of transfers counts as one flow.
    """
    start_s, end_s = window = resolve_window(run, window)
    segments = counters(run, "delivered_segments", window, flows)
    everyone = [spec for part in chosen(run, flows) for spec in part]
    payload_bytes = {spec.name: spec.stack.payload_bytes for spec in everyone}
    return {name: payload_rate_mbps(count, payload_bytes[name], end_s - start_s) for name, count in segments.items()}


@metric("sum_throughput_mbps", "Mbit/s", "Elephan's own definition")
def sum_throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Sum of the flows' throughputs (wire bits at the receivers)."""
    return sum(throughput_mbps(run, window, flows).values())


@metric("sum_goodput_mbps", "Mbit/s", "RFC 5166 §2.1.1")
def sum_goodput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Sum of the flows' goodputs (payload bits of distinct segments at the receivers)."""
    return sum(goodput_mbps(run, window, flows).values())


@metric("mean_throughput_mbps", "Mbit/s", "hcc2011 fig. 14: a mean over the Reno flows")
def mean_throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Mean of the flows' throughputs (wire bits at the receivers), each flow counted once."""
    rates = throughput_mbps(run, window, flows)
    return sum(rates.values()) / len(rates)


@metric("throughput_share", "1", "Elephan's own definition", scope="flow")
def throughput_share(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """A flow's throughput as a fraction of the sum over the flows."""
    rates = throughput_mbps(run, window, flows)
    total = sum(rates.values())
    if total == 0:
        raise MetricError("nothing arrived in the window, so that there is no share of it")
    return {name: rate / total for name, rate in rates.items()}


@metric("late_flow_share", "1", "weigle2006 §4", aliases=("late_comer_share",))
def late_flow_share(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Throughput share of the flow that started last.

    Raises:
        MetricError: there is only one flow, or several flows started last.
    """
    chosen = specs(run, flows)
    if len(chosen) < 2 or chosen[-1].start_ps == chosen[-2].start_ps:
        raise MetricError("no flow started after all others")
    return throughput_share(run, window, flows)[chosen[-1].name]


@metric("utilization", "1", "RFC 5166 §2.1.1", scope="link")
def utilization(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Bits that left the bottleneck (or another recorded link), as a fraction of the bits that the link's rate allowed.

    If the rate varies, its value at each time is used; each opportunity of a trace allows 1500 B. A packet counts when
    its last bit has left, so the value of a full link may exceed 1 by up to one packet.
    """
    window = resolve_window(run, window)
    name = link or bottleneck(run)
    sent = 8 * link_counter(run, name, "delivered_bytes", window)
    possible = link_capacity_bits(run, name, window)
    if possible == 0:
        raise MetricError(f"the link '{name}' could send nothing in the window")
    return sent / possible


@metric("link_throughput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="link")
def link_throughput_mbps(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Bits that left the bottleneck (or another recorded link), over the length of the window."""
    start_s, end_s = window = resolve_window(run, window)
    octets = link_counter(run, link or bottleneck(run), "delivered_bytes", window)
    return rate_mbps(octets, end_s - start_s)


@metric("drops", "packets", "RFC 5166 §2.1.3", scope="link")
def drops(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Packets of all flows that the bottleneck (or another recorded link) dropped or lost in the window."""
    return link_counter(run, link or bottleneck(run), "dropped_packets", resolve_window(run, window))


@metric("loss_rate", "1", "RFC 5166 §2.1.3", scope="link")
def loss_rate(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of packets dropped at the bottleneck, of all packets whose wait ended in the window, all flows together.

    A wait ends when the packet is dropped or when its transmission begins. The number of ended waits is the number of
    arrivals minus the growth of the queue. A discipline that drops packets from inside the queue (CoDel) may drop, in
    the window, a packet that arrived before the window. A duplicate created by an earlier link counts as a separate
    packet.

    Raises:
        MetricError: no packet was dropped or sent.
    """
    window = resolve_window(run, window)
    name = link or bottleneck(run)
    settled = settled_packets(run, name, window)
    if settled == 0:
        raise MetricError(f"no packet was dropped or sent at '{name}' in the window")
    return drops(run, window, name) / settled


@metric("offered_pkts_per_rtt", "packets", "RFC 9743 §5.1.1: at most one packet per round trip", scope="link")
def offered_pkts_per_rtt(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Packets that arrived at the bottleneck (or another recorded link) in one round trip.

    The value is the number of arrivals per second in the window times the shortest base RTT of the flows.

    Packets lost at the link count, so the value is the load that a flow offers to a path with many losses.
    """
    start_s, end_s = window = resolve_window(run, window)
    arrived = link_counter(run, link or bottleneck(run), "arrived_packets", window)
    return arrived / (end_s - start_s) * min(base_rtts_s(run, flow_names(run)).values())


def settled_packets(run: Run, link: str, window: Window) -> float:
    """Number of packets whose wait at a link ended in a window, because they were dropped or transmitted."""
    return link_counter(run, link, "arrived_packets", window) - link_counter(run, link, "queue_packets", window)


@metric("cov_total_throughput", "1", "ha2006 §4: coefficient of variation", scope="link", aliases=("stability",))
def cov_total_throughput(
    run: Run, window: Window | None = None, link: str | None = None, *, bin_s: float = STABILITY_BIN_S
) -> float:
    """Standard deviation over mean of the bottleneck's throughput in bins of 10 s, counted from the window's start.

    An incomplete bin at the end is left out. The standard deviation is that of the population (divisor n).

    Raises:
        MetricError: there are fewer than two bins, or nothing left the link.
    """
    window = resolve_window(run, window)
    times, octets = link_series(run, link or bottleneck(run), "delivered_bytes", window)
    _, totals = on_grid(run, times, octets, window, bin_s)
    rates = np.diff(totals)
    if len(rates) < 2:
        raise MetricError(f"the window contains fewer than two bins of {bin_s:g} s")
    if rates.mean() == 0:
        raise MetricError("nothing left the link in the window")
    return float(rates.std() / rates.mean())
