"""Metrics of congestion windows, congestion epochs, RTTs, and points of the response function, with one number for each
flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from elephan.metrics.compiled import by_flow
from elephan.metrics.errors import MetricError, Window
from elephan.metrics.ranges import LOST, REAL, SHARE
from elephan.metrics.reading import Array, duration_s, flow_names, flow_series, reduction_series, resolve_window
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
SKIPPED_EPOCHS = 2


@metric("mean_cwnd_pkts", "segments", "Elephan's own definition", scope="flow")
def mean_cwnd_pkts(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Time average of the congestion window over the window's samples (trapezoidal rule).

    Times before the flow's start and after its end, at which the flow has no congestion window, are left out.
    """
    return by_flow(run, "mean_cwnd_pkts", window, flows)


@metric("max_cwnd_pkts", "segments", "Elephan's own definition", scope="flow", aliases=("cwnd_max",))
def max_cwnd_pkts(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Largest sampled congestion window between the flow's start and its end."""
    return by_flow(run, "max_cwnd_pkts", window, flows)


@metric("cwnd_cov", "1", "our interpretation of hcc2011", scope="flow")
def cwnd_cov(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Standard deviation over mean of the congestion window, over the samples between the flow's start and its end."""
    return by_flow(run, "cwnd_cov", window, flows)


@metric("cwnd_fraction_of_bdp", "1", "our interpretation of weigle2006", scope="flow")
def cwnd_fraction_of_bdp(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Mean congestion window over the bandwidth-delay product of the bottleneck and the flow's path.

    The product is the bottleneck's mean rate in the window times the two-way propagation delay, in full data packets on
    the wire.
    """
    return by_flow(run, "cwnd_fraction_of_bdp", window, flows)


@metric("loss_events", "events", "RFC 5166 §2.1.3", scope="flow")
def loss_events(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Number of loss events: recoveries that began with a loss, however many packets were lost in each."""
    return by_flow(run, "loss_events", window, flows)


@metric("ecn_events", "events", "RFC 3168 §6.1.2", scope="flow")
def ecn_events(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Number of reductions of the window in response to ECN marks, at most one for each window of data.

    Algorithms that read the fraction of marked packets (DCTCP, Prague) reduce their windows themselves; their
    reductions are not counted.
    """
    return by_flow(run, "ecn_events", window, flows)


@metric("congestion_events", "events", "RFC 5681 §3.1 and RFC 3168 §6.1.2", scope="flow")
def congestion_events(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Number of congestion events: ``loss_events`` and ``ecn_events`` together."""
    return by_flow(run, "congestion_events", window, flows)


@metric("timeouts", "events", "RFC 6298", scope="flow")
def timeouts(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Number of retransmission timeouts. With QUIC, the number of persistent congestions (RFC 9002)."""
    return by_flow(run, "timeouts", window, flows)


@metric("retransmits", "segments", "RFC 5166 §2.1.3", scope="flow")
def retransmits(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Number of retransmitted segments, spurious retransmissions included. With QUIC, the number of lost packets."""
    return by_flow(run, "retransmits", window, flows)


@metric("epoch_duration_s", "s", "Elephan's own definition", scope="flow")
def epoch_duration_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, skip: int = SKIPPED_EPOCHS
) -> dict[str, float]:
    """Mean time between successive backoffs, without the first two epochs (the start-up and the epoch after it).

    A backoff is a reduction of the window by a loss or by an ECN mark. It lies between two samples and is assumed to be
    in their middle. The window is the whole run unless given.

    Raises:
        MetricError: there are too few backoffs.
    """
    window = resolve_window(run, window or (0.0, duration_s(run)))
    means = {}
    for name in flow_names(run, flows):
        times, counts = reduction_series(run, name, window)
        middles = (times[1:] + times[:-1]) / 2
        backoffs = np.repeat(middles, np.diff(counts).astype(np.int64))[max(skip - 1, 0) :]
        if len(backoffs) < 2:
            raise MetricError(f"flow '{name}' backs off too seldom for an epoch after the first {skip}")
        means[name] = float((backoffs[-1] - backoffs[0]) / (len(backoffs) - 1))
    return means


@metric("epoch_growth_pkts", "segments", "leith2008 §IV.B: fig. 3", scope="flow")
def epoch_growth_pkts(
    run: Run, window: Window | None = None, flows: Flows = None, *, skip: int = SKIPPED_EPOCHS
) -> dict[str, float]:
    """Mean growth of the sampled congestion window in an epoch, from its smallest to its largest value.

    Epochs lie between successive backoffs, without the first two epochs (the start-up and the epoch after it). Samples
    with a window below ssthresh, in recovery or slow start, are left out. The window is the whole run unless given.

    Raises:
        MetricError: there are too few backoffs, or an epoch consists of recovery and slow start only.
    """
    window = resolve_window(run, window or (0.0, duration_s(run)))
    return {
        name: float(np.mean([epoch.max() - epoch.min() for epoch in _growing(run, name, window, skip)]))
        for name in flow_names(run, flows)
    }


@metric("cwnd_curvature", "1", "leith2008 §IV.B: fig. 3", scope="flow", within=REAL)
def cwnd_curvature(
    run: Run, window: Window | None = None, flows: Flows = None, *, skip: int = SKIPPED_EPOCHS
) -> dict[str, float]:
    """Curvature of the window's growth in an epoch: below 0 for a concave curve, 0 for a straight line.

    The curvature is the second difference divided by the growth, 4 ((w_end + w_begin) / 2 - w_middle) / (w_end -
    w_begin). The windows w are those at the beginning, the middle and the end of the growing part of an epoch. The
    value is the mean over the epochs of ``epoch_growth_pkts``.

    Raises:
        MetricError: the errors of ``epoch_growth_pkts``.
    """
    window = resolve_window(run, window or (0.0, duration_s(run)))
    means = {}
    for name in flow_names(run, flows):
        bends = [
            4 * ((epoch[-1] + epoch[0]) / 2 - epoch[len(epoch) // 2]) / (epoch[-1] - epoch[0])
            for epoch in (part[int(part.argmin()) :] for part in _growing(run, name, window, skip))
            if epoch[-1] > epoch[0]
        ]
        if not bends:
            raise MetricError(f"the window of flow '{name}' grows in no epoch")
        means[name] = float(np.mean(bends))
    return means


@metric("backoff_delta", "1", "leith2008 §II", scope="flow", within=LOST)
def backoff_delta(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Multiplicative decrease: the fraction by which a loss or an ECN mark lowers cwnd, as a mean over the window.

    The decrease is 1 - s / w, where w is the congestion window in the last sample before the reduction, and s is
    ssthresh in the first sample after it.

    Raises:
        MetricError: a flow has no loss or mark in the window, or no ssthresh.
    """
    window = resolve_window(run, window)
    means = {}
    for name in flow_names(run, flows):
        cwnd, ssthresh = (flow_series(run, name, column, window)[1] for column in ("cwnd", "ssthresh"))
        after = np.flatnonzero(np.diff(reduction_series(run, name, window)[1]) > 0) + 1
        if not len(after) or np.isnan(ssthresh[after]).any():
            raise MetricError(f"flow '{name}' has no loss or mark in the window, or no ssthresh")
        means[name] = float(np.mean(1 - ssthresh[after] / cwnd[after - 1]))
    return means


def _growing(run: Run, flow: str, window: Window, skip: int) -> list[Array]:
    """The windows of each epoch that are not below ssthresh.

    Raises:
        MetricError: there are too few backoffs, or an epoch consists of recovery and slow start only.
    """
    cwnd, ssthresh = (flow_series(run, flow, series, window)[1] for series in ("cwnd", "ssthresh"))
    bounds = np.flatnonzero(np.diff(reduction_series(run, flow, window)[1]) > 0)[max(skip - 1, 0) :]
    if len(bounds) < 2:
        raise MetricError(f"flow '{flow}' backs off too seldom for an epoch after the first {skip}")
    with np.errstate(invalid="ignore"):
        growing = [epoch[~low] for epoch, low in _epochs(bounds, cwnd, cwnd < ssthresh)]
    if not all(len(epoch) for epoch in growing):
        raise MetricError(f"flow '{flow}' has an epoch that is all recovery and slow start")
    return growing


def _epochs(bounds: npt.NDArray[np.intp], *series: npt.NDArray[Any]) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """Sections of each series between consecutive bounds. Samples before the first bound and after the last bound are
    left out, since they form no whole epoch."""
    return zip(*(np.split(values, bounds + 1)[1:-1] for values in series), strict=True)


@metric("loss_event_rate", "1", "RFC 3649 §3: response functions", scope="flow")
def loss_event_rate(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Loss events per distinct segment delivered: p of a response function.

    Raises:
        MetricError: a flow delivered nothing.
    """
    return by_flow(run, "loss_event_rate", window, flows)


@metric("response_pkts_per_rtt", "segments", "RFC 3649 §3: response functions", scope="flow")
def response_pkts_per_rtt(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Distinct segments delivered in a mean round trip: w of a response function w(p).

    The mean round trip is the time average of the smoothed RTT.
    """
    return by_flow(run, "response_pkts_per_rtt", window, flows)


@metric("receive_window_limited_fraction", "1", "design: limits of a run", scope="flow", within=SHARE)
def receive_window_limited_fraction(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Fraction of the sender's bursts that ended at the receive window, and not at the congestion window.

    The count begins with the measured part. On real Linux, the value is the fraction of the time with data to send in
    which the receive window limited the sender.

    Raises:
        MetricError: a window other than the whole run is requested.
    """
    return by_flow(run, "receive_window_limited_fraction", window, flows)


@metric("rtt_min_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def rtt_min_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Smallest RTT of any packet in the measurement window."""
    return by_flow(run, "rtt_min_ms", window, flows)


@metric("rtt_mean_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def rtt_mean_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Mean RTT over the packets of the measurement window."""
    return by_flow(run, "rtt_mean_ms", window, flows)


@metric("rtt_p50_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def rtt_p50_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Median RTT over the packets of the measurement window."""
    return by_flow(run, "rtt_p50_ms", window, flows)


@metric("rtt_p95_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def rtt_p95_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """95 % quantile of the RTT over the packets of the measurement window."""
    return by_flow(run, "rtt_p95_ms", window, flows)


@metric("rtt_p99_ms", "ms", "RFC 5166 §2.1.2", scope="flow")
def rtt_p99_ms(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """99 % quantile of the RTT over the packets of the measurement window."""
    return by_flow(run, "rtt_p99_ms", window, flows)


@metric("peak_window_over_bdp", "1", "katto2008 §III", scope="flow")
def peak_window_over_bdp(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Largest sampled congestion window over the bandwidth-delay product of the bottleneck and the flow's path.

    The bandwidth-delay product is the same as in ``cwnd_fraction_of_bdp``.
    """
    return by_flow(run, "peak_window_over_bdp", window, flows)


@metric("response_over_reno", "1", "RFC 3649 §2; Mathis et al. 1997", scope="flow")
def response_over_reno(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Ratio of w of the response function to Reno's √(3/2p) at the same loss event rate p.

    The ratio is 1 for Reno with an ACK per packet.

    Raises:
        MetricError: a flow has no loss event in the window.
    """
    return by_flow(run, "response_over_reno", window, flows)


@metric("retransmit_rate", "1", "RFC 5166 §2.1.3", scope="flow")
def retransmit_rate(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Retransmissions per distinct segment delivered in the window, spurious retransmissions included.

    Raises:
        MetricError: a flow delivered nothing.
    """
    return by_flow(run, "retransmit_rate", window, flows)
