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
    resolve_window,
)
from elephan.metrics.registry import metric
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


@metric("queue_cov", "1", "weigle2006 §4.3, our reading", scope="link")
def queue_cov(run: Run, window: Window | None = None, link: str | None = None) -> float:
    """Standard deviation over mean of the number of packets waiting, over the samples of the window.

    Raises:
        MetricError: the queue is empty at every sample.
    """
    _, packets = link_series(run, link or bottleneck(run), "queue_packets", resolve_window(run, window))
    if np.max(packets) == 0:
        raise MetricError("the queue is empty at every sample, so that its variation has nothing to relate to")
    return float(np.std(packets) / np.mean(packets))


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
