"""Metrics of the bottleneck's queue. The queue excludes the packet in transmission."""

from __future__ import annotations

import numpy as np

from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    bottleneck,
    duration_s,
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
    """Time average of the number of packets waiting at the bottleneck, exact from its integral."""
    start_s, end_s = window = resolve_window(run, window)
    return link_counter(run, link or bottleneck(run), "queue_integral_packet_s", window) / (end_s - start_s)


@metric("min_queue_pkts", "packets", "Elephan's own definition", scope="link")
def min_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Smallest number of packets waiting at the bottleneck in the window, also between samples."""
    return float(_between(run, window, link, "queue_min").min())


@metric("max_queue_pkts", "packets", "Elephan's own definition", scope="link")
def max_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Largest number of packets waiting at the bottleneck in the window, also between samples."""
    return float(_between(run, window, link, "queue_max").max())


def _between(run: Run, window: Window | None, link: str | None, column: str) -> Array:
    """A column of interval statistics for the intervals within the window. The sample at the window's start is left
    out, since it describes the interval before the window."""
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
    """Median number of packets waiting, over the samples of the window."""
    return _quantile(run, window, link, 0.5)


@metric("p95_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p95_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """95 % quantile of the number of packets waiting, over the samples of the window."""
    return _quantile(run, window, link, 0.95)


@metric("p99_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p99_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """99 % quantile of the number of packets waiting, over the samples of the window."""
    return _quantile(run, window, link, 0.99)


def _quantile(run: Run, window: Window | None, link: str | None, part: float) -> float:
    _, packets = link_series(run, link or bottleneck(run), "queue_packets", resolve_window(run, window))
    return float(np.quantile(packets, part, method="inverted_cdf"))


@metric("queue_occupancy", "1", "Elephan's own definition", scope="link")
def queue_occupancy(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Mean number of packets waiting, as a fraction of the buffer.

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
    """Fraction of the sampling intervals of the window in which the queue was empty at some time."""
    return float((_between(run, window, link, "queue_min") == 0).mean())


@metric("mark_rate", "1", "RFC 3168; RFC 5166 §2.1.3", scope="link")
def mark_rate(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of packets that the bottleneck marked, all flows together.

    A discipline marks packets at their arrival (RED) or at the end of their wait (CoDel). The number of marks is
    divided by the number of arrivals or by the number of ended waits in the window, whichever is larger.

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
    """Mean waiting time of a packet at the bottleneck.

    The mean is the time integral of the number of queued packets, divided by the number of packets that left.

    Raises:
        MetricError: no packet left.
    """
    window = resolve_window(run, window)
    name = link or bottleneck(run)
    packets = link_counter(run, name, "delivered_packets", window)
    if packets == 0:
        raise MetricError(f"no packet left '{name}' in the window")
    return 1e3 * link_counter(run, name, "queue_integral_packet_s", window) / packets


def queue_delay_series_ms(run: Run, link: str | None = None) -> tuple[Array, Array]:
    """``mean_queue_delay_ms`` of each sampling interval, at the end of the interval; NaN if no packet left in it."""
    name = link or bottleneck(run)
    whole = (0.0, duration_s(run))
    times, integral = link_series(run, name, "queue_integral_packet_s", whole)
    packets = np.diff(link_series(run, name, "delivered_packets", whole)[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return times[1:], np.where(packets > 0, 1e3 * np.diff(integral) / packets, np.nan)
