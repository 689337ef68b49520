"""Rates and losses: the shares of the flows, and the loads of the links."""

from __future__ import annotations

from collections.abc import Sequence

from elephan.metrics.compiled import by_flow, number
from elephan.metrics.errors import Window
from elephan.metrics.ranges import SHARE
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
STABILITY_BIN_S = 10.0


@metric("throughput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="flow")
def throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Bits on the wire that arrived at the flow's receiver, over the length of the window.

    Headers and duplicates count; dropped packets do not. A named source of transfers counts as one flow, with the
    arrivals of all its transfers.
    """
    return by_flow(run, "throughput_mbps", window, flows)


@metric("goodput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="flow")
def goodput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Payload bits of distinct segments that arrived at the flow's receiver, over the length of the window.

    A named source of transfers counts as one flow.
    """
    return by_flow(run, "goodput_mbps", window, flows)


@metric("sum_throughput_mbps", "Mbit/s", "Elephan's own definition")
def sum_throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Sum of the flows' throughputs (wire bits at the receivers)."""
    return number(run, "sum_throughput_mbps", window, flows=flows)


@metric("sum_goodput_mbps", "Mbit/s", "RFC 5166 §2.1.1")
def sum_goodput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Sum of the flows' goodputs (payload bits of distinct segments at the receivers)."""
    return number(run, "sum_goodput_mbps", window, flows=flows)


@metric("mean_throughput_mbps", "Mbit/s", "hcc2011 fig. 14: a mean over the Reno flows")
def mean_throughput_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Mean of the flows' throughputs (wire bits at the receivers), each flow counted once."""
    return number(run, "mean_throughput_mbps", window, flows=flows)


@metric("throughput_share", "1", "Elephan's own definition", scope="flow", within=SHARE)
def throughput_share(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """A flow's throughput as a fraction of the sum over the flows."""
    return by_flow(run, "throughput_share", window, flows)


@metric("late_flow_share", "1", "weigle2006 §4", aliases=("late_comer_share",), within=SHARE)
def late_flow_share(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Throughput share of the flow that started last.

    Raises:
        MetricError: there is only one flow, or several flows started last.
    """
    return number(run, "late_flow_share", window, flows=flows)


@metric("utilization", "1", "RFC 5166 §2.1.1", scope="link", within=SHARE)
def utilization(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Bits that left the bottleneck (or another recorded link), as a fraction of the bits that the link's rate allowed.

    If the rate varies, its value at each time is used; each opportunity of a trace allows 1500 B. A packet counts when
    its last bit has left, so the value of a full link may exceed 1 by up to one packet. Transmission times are whole
    picoseconds, rounded down, so it may also exceed 1 by the ratio of 1 ps to the time of a packet: by less than
    10⁻⁶ up to 10 Gbit/s with packets of 1,500 B, and by 1 % at 100 Tbit/s.
    """
    return number(run, "utilization", window, link=link)


@metric("link_throughput_mbps", "Mbit/s", "RFC 5166 §2.1.1", scope="link")
def link_throughput_mbps(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Bits that left the bottleneck (or another recorded link), over the length of the window."""
    return number(run, "link_throughput_mbps", window, link=link)


@metric("drops", "packets", "RFC 5166 §2.1.3", scope="link")
def drops(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Packets of all flows that the bottleneck (or another recorded link) dropped or lost in the window."""
    return number(run, "drops", window, link=link)


@metric("loss_rate", "1", "RFC 5166 §2.1.3", scope="link", within=SHARE)
def loss_rate(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of packets dropped at the bottleneck, of all packets whose wait ended in the window, all flows together.

    A wait ends when the packet is dropped or when its transmission begins. The number of ended waits is the number of
    arrivals minus the growth of the queue. On a link that loses packets on the wire (`at = "wire"`), losses and other
    packets count when their last bit has left. A discipline that drops packets from inside the queue (CoDel) may
    drop, in the window, a packet that arrived before the window. A duplicate created by an earlier link counts as a
    separate packet.

    Raises:
        MetricError: no packet was dropped or sent.
    """
    return number(run, "loss_rate", window, link=link)


@metric("offered_pkts_per_rtt", "packets", "RFC 9743 §5.1.1: at most one packet per round trip", scope="link")
def offered_pkts_per_rtt(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Packets that arrived at the bottleneck (or another recorded link) in one round trip.

    The value is the number of arrivals per second in the window times the shortest base RTT of the flows.

    Packets lost at the link count, so the value is the load that a flow offers to a path with many losses.
    """
    return number(run, "offered_pkts_per_rtt", window, link=link)


@metric("cov_total_throughput", "1", "ha2006 §4: coefficient of variation", scope="link", aliases=("stability",))
def cov_total_throughput(
    run: Run, window: Window | None = None, link: str | None = None, *, bin_s: float = STABILITY_BIN_S
) -> float:
    """Standard deviation over mean of the bottleneck's throughput in bins of 10 s, counted from the window's start.

    An incomplete bin at the end is left out. The standard deviation is that of the population (divisor n).

    Raises:
        MetricError: there are fewer than two bins, or nothing left the link.
    """
    return number(run, "cov_total_throughput", window, link=link, bin_s=bin_s)
