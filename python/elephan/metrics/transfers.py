"""Metrics of transfers of given sizes: durations, and the rates that users get (RFC 5166 §2.1.1, §2.8).

Transfers are flows with a size and the transfers of ``[[traffic]]``; ``flows`` may name either. A transfer belongs to
the window in which it starts, whenever it ends. ``size_bytes`` selects transfers by their payload.

A source with ``record = "summary"`` contributes by its sums and distributions: means
are exact, quantiles are within 0.1 %. For a source with ``record = "summary"``, only the measurement window is
available, and ``size_bytes`` is not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from elephan.metrics.compiled import by_flow, defined, number
from elephan.metrics.errors import MetricError, Window
from elephan.metrics.ranges import SHARE
from elephan.metrics.reading import Array, flow_names
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
Sizes = tuple[float, float] | None
"""A class of sizes: smallest payload, and the payload above which sizes are excluded, bytes."""


class Transfers(NamedTuple):
    """Transfers in order of start: first the flows with a size, then the transfers of each source.

    Attributes:
        names: name of the flow, or name of the source with the transfer's number, from 1 (``web 17``).
        bits: payload bits, in whole segments.
        seconds: time from the start until the last segment was acknowledged; NaN for an incomplete transfer.
        wire_bits: bits on the wire with a header for each segment, without retransmissions.
        least_seconds: smallest possible duration: the propagation RTT, plus the time to send ``wire_bits`` at the
            initial rate of the slowest link.
    """

    names: list[str]
    bits: Array
    seconds: Array
    wire_bits: Array
    least_seconds: Array


def sized_transfers(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> Transfers:
    """The transfers that start in a window, the end of the window excluded; the scenario's ``[measure]`` unless given.

    Args:
        run: the run.
        window: interval of the transfers' starts.
        flows: flows with a size, and sources of transfers; all for ``None``.
        size_bytes: range of the transfers' payload, without the upper end; any for ``None``.

    Raises:
        MetricError: there are no transfers, or a source with ``record = "summary"`` does not record each transfer.
    """
    given = {
        "window": None if window is None else (float(window[0]), float(window[1])),
        "flows": None if flows is None else list(flows),
        "size_bytes": size_bytes,
        "settings": [],
    }
    rows = defined(run, lambda numbers: numbers.transfers(given))
    names = [f"{name} {place}" if place else name for name, place, *_ in rows]
    columns = np.array([row[2:] for row in rows], dtype=np.float64).reshape(len(rows), 4).T
    return Transfers(names, *columns)


def by_size(
    run: Run,
    function: Callable[..., float],
    edges_bytes: Sequence[float],
    window: Window | None = None,
    flows: Flows = None,
) -> dict[tuple[float, float], float | None]:
    """A metric of transfers for each class of sizes between edges in bytes; ``None`` for a class without transfers.

    ``by_size(run, metrics.flow_duration_p99_ms, [0, 10e3, 100e3, 1e6, math.inf])``

    Raises:
        MetricError: the edges do not rise.
    """
    classes = list(pairwise(edges_bytes))
    if not classes or any(low >= high for low, high in classes):
        raise MetricError("classes of sizes need at least two edges, which rise")
    values: dict[tuple[float, float], float | None] = {}
    for size_bytes in classes:
        try:
            values[size_bytes] = function(run, window, flows, size_bytes=size_bytes)
        except MetricError:
            sized_transfers(run, window, flows)  # raises the error if no class has a transfer
            values[size_bytes] = None
    return values


@metric("completion_s", "s", "RFC 5166 §2.1.1: file transfer times", scope="flow")
def completion_s(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Time from the start of a flow with a size until its last segment was acknowledged.

    Raises:
        MetricError: a flow has no size or did not finish; or a window is given, which does not apply.
    """
    return by_flow(run, "completion_s", window, flows)


@metric("completed", "1", "Elephan's own definition", scope="flow", within=SHARE)
def completed(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """1 if a flow with a size, or a program, is complete before the end of the run, else 0.

    Raises:
        MetricError: a flow has neither a size nor a program; or a window is given, which does not apply.
    """
    if window is not None:
        raise MetricError("completed is of the whole run; leave the window out")
    ends = dict(zip(run.flows["name"], run.flows["completion_s"], strict=True))
    stated = {flow.name: flow.size_segments is not None or flow.program is not None for flow in run.form.flows}
    found = {}
    for name in flow_names(run, flows):
        if not stated[name]:
            raise MetricError(f"flow '{name}' has neither a size nor a program, so it does not complete")
        found[name] = float(ends[name] is not None)
    return found


@metric("transfers_begun", "transfers", "Elephan's own definition")
def transfers_begun(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Number of the transfers that start in the window.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window.
    """
    return number(run, "transfers_begun", window, flows=flows, size_bytes=size_bytes)


@metric("completed_fraction", "1", "Elephan's own definition", within=SHARE)
def completed_fraction(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """Fraction of the transfers that start in the window and complete before the end of the run.

    Mean rates and durations are over completed transfers only; if this fraction is well below 1, these means leave out
    the slowest transfers.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window.
    """
    return number(run, "completed_fraction", window, flows=flows, size_bytes=size_bytes)


@metric("mean_flow_rate_mbps", "Mbit/s", "leith2008 table I: E[b/T]")
def mean_flow_rate_mbps(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """E[b/T]: mean over the transfers that start in the window, and finish, of payload bits over duration.

    Each transfer has the same weight, so the value describes the many short transfers.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return number(run, "mean_flow_rate_mbps", window, flows=flows, size_bytes=size_bytes)


@metric("mean_size_over_mean_duration_mbps", "Mbit/s", "leith2008 table I: E[b]/E[T]")
def mean_size_over_mean_duration_mbps(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """E[b]/E[T]: payload bits of the transfers that start in the window, and finish, over the sum of their durations.

    Each second of a transfer has the same weight, so the value describes the few long transfers.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return number(run, "mean_size_over_mean_duration_mbps", window, flows=flows, size_bytes=size_bytes)


@metric("mean_flow_duration_ms", "ms", "leith2008 table I: E[T]")
def mean_flow_duration_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """E[T]: mean duration of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return number(run, "mean_flow_duration_ms", window, flows=flows, size_bytes=size_bytes)


@metric("flow_duration_p50_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p50_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """Median duration of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return number(run, "flow_duration_p50_ms", window, flows=flows, size_bytes=size_bytes)


@metric("flow_duration_p95_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p95_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """95 % quantile of the durations of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return number(run, "flow_duration_p95_ms", window, flows=flows, size_bytes=size_bytes)


@metric("flow_duration_p99_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p99_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """99 % quantile of the durations of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return number(run, "flow_duration_p99_ms", window, flows=flows, size_bytes=size_bytes)


@metric("mean_slowdown", "1", "Montazeri et al. 2018 (Homa): slowdown")
def mean_slowdown(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Mean slowdown, duration over least duration, of the transfers that start in the window and finish.

    The least duration is the propagation RTT plus the time to send the transfer with its headers at the rate of the
    slowest link of the path. The slowdown is 1 for a sender that knows the path's rate and is alone on the path. The
    slowdown is above 1 for a sender that must find the rate, such as TCP in slow start, even on an empty path.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return number(run, "mean_slowdown", window, flows=flows, size_bytes=size_bytes)


@metric("slowdown_p50", "1", "Montazeri et al. 2018 (Homa): slowdown")
def slowdown_p50(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Median slowdown of the transfers that start in the window and finish; see ``mean_slowdown``.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return number(run, "slowdown_p50", window, flows=flows, size_bytes=size_bytes)


@metric("slowdown_p99", "1", "Montazeri et al. 2018 (Homa): slowdown")
def slowdown_p99(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """99 % quantile of the slowdown of the transfers that start in the window and finish; see ``mean_slowdown``.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return number(run, "slowdown_p99", window, flows=flows, size_bytes=size_bytes)


@metric("offered_mbps", "Mbit/s", "Elephan's own definition")
def offered_mbps(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Offered load: bits of the transfers that start in the window, divided by the window's length.

    Headers count, and retransmissions do not. With ``record = "summary"`` the value is computed from the source's sums,
    and is exact.

    Raises:
        MetricError: no transfer starts in the window.
    """
    return number(run, "offered_mbps", window, flows=flows, size_bytes=size_bytes)


@metric("short_flow_total_mbps", "Mbit/s", "katto2008 fig. 8", aliases=("carried_mbps",))
def short_flow_total_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Carried load: throughput of the flows with a size and of the sources, in the measurement window.

    Transfers that started before the window count too.

    Raises:
        MetricError: no flow has a size.
    """
    return number(run, "short_flow_total_mbps", window, flows=flows)
