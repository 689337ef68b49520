"""The bottleneck's queue: waiting packets, without the one that is being sent."""

from __future__ import annotations

import numpy as np

from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    bottleneck,
    link_counter,
    link_series,
    link_spec,
    resolve_window,
)
from elephan.metrics.registry import metric
from elephan.metrics.throughput import settled_packets
from elephan.runs.result import Run


@metric("mean_queue_pkts", "packets", "Elephan's own definition", scope="link")
def mean_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Time average of the number of packets waiting at the bottleneck: exact, from its integral."""
    start_s, end_s = window = resolve_window(run, window)
    return link_counter(run, link or bottleneck(run), "queue_integral_packet_s", window) / (end_s - start_s)


@metric("min_queue_pkts", "packets", "Elephan's own definition", scope="link")
def min_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """The fewest packets that waited at the bottleneck at any moment of the window, between samples too."""
    return float(_between(run, window, link, "queue_min").min())


@metric("max_queue_pkts", "packets", "Elephan's own definition", scope="link")
def max_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """The most packets that waited at the bottleneck at any moment of the window, between samples too."""
    return float(_between(run, window, link, "queue_max").max())


def _between(run: Run, window: Window | None, link: str | None, column: str) -> Array:
    """Statistics of the intervals that lie in the window; the sample at its start speaks of the interval before."""
    _, values = link_series(run, link or bottleneck(run), column, resolve_window(run, window))
    return values[1:]


@metric("queue_cov", "1", "weigle2006 §4.3, our interpretation", scope="link")
def queue_cov(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Standard deviation over mean of the number of packets waiting, over the samples of the window.

    Raises:
        MetricError: the queue is empty at every sample.
    """
    _, packets = link_series(run, link or bottleneck(run), "queue_packets", resolve_window(run, window))
    if np.max(packets) == 0:
        raise MetricError("the queue is empty at every sample, so that its variation has nothing to relate to")
    return float(np.std(packets) / np.mean(packets))


@metric("p50_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p50_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Median number of packets waiting, over the samples of the window: the fewest that half do not exceed."""
    return _quantile(run, window, link, 0.5)


@metric("p95_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p95_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """The number of packets waiting that 95 % of the window's samples do not exceed."""
    return _quantile(run, window, link, 0.95)


@metric("p99_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p99_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """The number of packets waiting that 99 % of the window's samples do not exceed."""
    return _quantile(run, window, link, 0.99)


def _quantile(run: Run, window: Window | None, link: str | None, part: float) -> float:
    _, packets = link_series(run, link or bottleneck(run), "queue_packets", resolve_window(run, window))
    return float(np.quantile(packets, part, method="inverted_cdf"))


@metric("queue_occupancy", "1", "Elephan's own definition", scope="link")
def queue_occupancy(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Mean number of packets waiting over the number that the buffer has room for.

    Raises:
        MetricError: the buffer is unlimited, or counted in bytes.
    """
    name = link or bottleneck(run)
    room = link_spec(run, name).queue.limit_packets
    if room is None:
        raise MetricError(f"the buffer of '{name}' is not a number of packets")
    return mean_queue_pkts(run, window, name) / room


@metric("queue_empty_fraction", "1", "weigle2006 §4.3: whether the queue drains", scope="link")
def queue_empty_fraction(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of the intervals between the window's samples in which the queue was empty at some moment."""
    return float((_between(run, window, link, "queue_min") == 0).mean())


@metric("mark_rate", "1", "RFC 3168; RFC 5166 §2.1.3", scope="link")
def mark_rate(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Packets that the bottleneck marked over packets that it could mark, all flows together.

    A discipline marks packets that arrive (RED) or packets whose wait ends (CoDel): the divisor is the larger number of
    the two in the window.

    Raises:
        MetricError: there was no packet, or this backend does not count marks.
    """
    window = resolve_window(run, window)
    name = link or bottleneck(run)
    if "marked_packets" not in run.links.columns:
        raise MetricError("marks are not counted in this run")
    markable = max(link_counter(run, name, "arrived_packets", window), settled_packets(run, name, window))
    if markable == 0:
        raise MetricError(f"no packet arrived at '{name}' in the window or left it")
    return link_counter(run, name, "marked_packets", window) / markable


@metric("mean_queue_delay_ms", "ms", "Little 1961", scope="link")
def mean_queue_delay_ms(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Mean time that a packet waited at the bottleneck: the queue's time integral over the packets that left.

    Raises:
        MetricError: no packet left.
    """
    window = resolve_window(run, window)
    name = link or bottleneck(run)
    packets = link_counter(run, name, "delivered_packets", window)
    if packets == 0:
        raise MetricError(f"no packet left '{name}' in the window")
    return 1e3 * link_counter(run, name, "queue_integral_packet_s", window) / packets
