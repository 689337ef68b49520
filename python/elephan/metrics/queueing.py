"""Metrics of the bottleneck's queue. The queue excludes the packet in transmission."""

from __future__ import annotations

import numpy as np

from elephan.metrics.compiled import number
from elephan.metrics.errors import Window
from elephan.metrics.ranges import SHARE
from elephan.metrics.reading import Array, bottleneck, duration_s, link_series
from elephan.metrics.registry import metric
from elephan.runs.result import Run


@metric("mean_queue_pkts", "packets", "Elephan's own definition", scope="link")
def mean_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Time average of the number of packets waiting at the bottleneck, exact from its integral."""
    return number(run, "mean_queue_pkts", window, link=link)


@metric("min_queue_pkts", "packets", "Elephan's own definition", scope="link")
def min_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Smallest number of packets waiting at the bottleneck in the window, also between samples."""
    return number(run, "min_queue_pkts", window, link=link)


@metric("max_queue_pkts", "packets", "Elephan's own definition", scope="link")
def max_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Largest number of packets waiting at the bottleneck in the window, also between samples."""
    return number(run, "max_queue_pkts", window, link=link)


@metric("queue_cov", "1", "weigle2006 §4.3, our interpretation", scope="link")
def queue_cov(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Standard deviation over mean of the number of packets waiting, over the samples of the window.

    Raises:
        MetricError: the queue is empty at every sample.
    """
    return number(run, "queue_cov", window, link=link)


@metric("p50_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p50_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Median number of packets waiting, over the samples of the window."""
    return number(run, "p50_queue_pkts", window, link=link)


@metric("p95_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p95_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """95 % quantile of the number of packets waiting, over the samples of the window."""
    return number(run, "p95_queue_pkts", window, link=link)


@metric("p99_queue_pkts", "packets", "RFC 5166 §2.1.2", scope="link")
def p99_queue_pkts(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """99 % quantile of the number of packets waiting, over the samples of the window."""
    return number(run, "p99_queue_pkts", window, link=link)


@metric("queue_occupancy", "1", "Elephan's own definition", scope="link", within=SHARE)
def queue_occupancy(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Mean number of packets waiting, as a fraction of the buffer.

    Raises:
        MetricError: the buffer is unlimited, or counted in bytes.
    """
    return number(run, "queue_occupancy", window, link=link)


@metric("queue_empty_fraction", "1", "weigle2006 §4.3: whether the queue drains", scope="link", within=SHARE)
def queue_empty_fraction(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of the sampling intervals of the window in which the queue was empty at some time."""
    return number(run, "queue_empty_fraction", window, link=link)


@metric("mark_rate", "1", "RFC 3168; RFC 5166 §2.1.3", scope="link", within=SHARE)
def mark_rate(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Fraction of packets that the bottleneck marked, all flows together.

    A discipline marks packets at their arrival (RED) or at the end of their wait (CoDel). The number of marks is
    divided by the number of arrivals or by the number of ended waits in the window, whichever is larger.

    Raises:
        MetricError: there was no packet, or this backend does not count marks.
    """
    return number(run, "mark_rate", window, link=link)


@metric("mean_queue_delay_ms", "ms", "Little 1961", scope="link")
def mean_queue_delay_ms(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Mean waiting time of a packet at the bottleneck.

    The mean is the time integral of the number of queued packets, divided by the number of packets that left.

    Raises:
        MetricError: no packet left.
    """
    return number(run, "mean_queue_delay_ms", window, link=link)


def queue_delay_series_ms(run: Run, link: str | None = None) -> tuple[Array, Array]:
    """``mean_queue_delay_ms`` of each sampling interval, at the end of the interval; NaN if no packet left in it."""
    name = link or bottleneck(run)
    whole = (0.0, duration_s(run))
    times, integral = link_series(run, name, "queue_integral_packet_s", whole)
    packets = np.diff(link_series(run, name, "delivered_packets", whole)[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return times[1:], np.where(packets > 0, 1e3 * np.diff(integral) / packets, np.nan)
