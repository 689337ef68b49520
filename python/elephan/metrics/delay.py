"""Delays from the sampled RTT, for any window, and combinations of throughput and delay.

The ``rtt_…_ms`` metrics use the RTT of every packet, for the measurement window only. The metrics here use the smoothed
RTT at the sample times, for any window. Datagrams have no RTT; their metrics are ``owd_…_ms``, which use every packet.
"""

from __future__ import annotations

from collections.abc import Sequence

from elephan.metrics.compiled import by_flow
from elephan.metrics.errors import Window
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None


@metric("mean_srtt_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def mean_srtt_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Time average of the smoothed RTT over the window's samples, while the flow was active.

    Raises:
        MetricError: a flow has fewer than two samples in the window.
    """
    return by_flow(run, "mean_srtt_ms", window, flows)


@metric("queueing_delay_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def queueing_delay_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Mean smoothed RTT minus the propagation RTT of the path.

    The difference consists of queueing delays, transmission times, and the receiver's delay of its ACKs.
    """
    return by_flow(run, "queueing_delay_ms", window, flows)


@metric("power_mbps_per_s", "Mbit/s²", "Giessler et al. 1978; Kleinrock 1979", scope="flow")
def power_mbps_per_s(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Throughput over mean smoothed RTT: Kleinrock's power, which weighs rate and delay equally."""
    return by_flow(run, "power_mbps_per_s", window, flows)


@metric("relative_power", "1", "Giessler et al. 1978; Kleinrock 1979", scope="flow")
def relative_power(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Power relative to the power of a flow that fills the bottleneck with an empty queue.

    The best possible value is 1.

    Equation: (throughput / mean rate of the bottleneck) × (propagation RTT / mean smoothed RTT).

    Raises:
        MetricError: the bottleneck could send nothing in the window, or there are too few samples.
    """
    return by_flow(run, "relative_power", window, flows)


@metric("owd_min_ms", "ms", "RFC 7679", scope="flow")
def owd_min_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Smallest one-way delay of the datagrams that arrive in the measurement window.

    The delay is the time from the application's hand-over until the last bit's arrival. The delay includes
    transmission, propagation, queues and the sender's jitter. TCP flows are left out.

    Raises:
        MetricError: there is no flow of datagrams, or no datagram of a flow arrived.
    """
    return by_flow(run, "owd_min_ms", window, flows)


@metric("owd_mean_ms", "ms", "RFC 7679", scope="flow")
def owd_mean_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Mean one-way delay of the datagrams that arrive in the measurement window; see ``owd_min_ms``."""
    return by_flow(run, "owd_mean_ms", window, flows)


@metric("owd_p50_ms", "ms", "RFC 7679", scope="flow")
def owd_p50_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Median one-way delay of the datagrams that arrive in the measurement window; see ``owd_min_ms``."""
    return by_flow(run, "owd_p50_ms", window, flows)


@metric("owd_p95_ms", "ms", "RFC 7679", scope="flow")
def owd_p95_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """95 % quantile of the one-way delay of the datagrams that arrive in the measurement window; see ``owd_min_ms``."""
    return by_flow(run, "owd_p95_ms", window, flows)


@metric("owd_p99_ms", "ms", "RFC 7679", scope="flow")
def owd_p99_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """99 % quantile of the one-way delay of the datagrams that arrive in the measurement window; see ``owd_min_ms``."""
    return by_flow(run, "owd_p99_ms", window, flows)
