"""Metrics of transfers of given sizes: durations, and the rates that users get (RFC 5166 §2.1.1, §2.8).

Transfers are flows with a size and the transfers of ``[[traffic]]``; ``flows`` may name either. A transfer belongs to
the window in which it starts, whenever it ends. ``size_bytes`` selects transfers by their payload.

A source with ``record = "summary"`` contributes by its sums and distributions (:mod:`elephan.metrics.summed`): means
are exact, quantiles are within 0.1 %. For a source with ``record = "summary"``, only the measurement window is
available, and ``size_bytes`` is not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elephan.metrics.reading import (
    Array,
    MetricError,
    Window,
    base_rtts_s,
    chosen,
    column,
    resolve_window,
    source_transfers,
    wire_factor,
)
from elephan.metrics.registry import metric
from elephan.metrics.summed import Sample, Summed, has_summary, merged, summed
from elephan.metrics.throughput import sum_throughput_mbps
from elephan.runs.result import Run
from elephan.scenario.form import FlowSpec
from elephan.scenario.lookups import slowest_bps

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


Namer = Callable[[int], str]


class _Rows(NamedTuple):
    """Columns of :class:`Transfers`, with start times in s. A column of numbers replaces the names, since names are
    slow to build."""

    numbers: Array
    starts_s: Array
    bits: Array
    seconds: Array
    wire_bits: Array
    least_seconds: Array

    def at(self, places: npt.NDArray[np.int64]) -> _Rows:
        """The transfers at some positions."""
        return _Rows(*(column[places] for column in self))


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
    parties, sources = _parties(run, flows)
    for source in sources:
        if has_summary(run, source.name):
            raise MetricError(f"'{source.name}' has record = \"summary\": there is no row for each of its transfers")
    parts = _parts(run, window, parties, sources, size_bytes)
    names = [named(int(number)) for named, rows in parts for number in rows.numbers]
    if not names:
        raise _none_starts(run, window, size_bytes)
    return Transfers(names, *_joined(parts)[2:])


def _parties(run: Run, flows: Flows) -> tuple[list[FlowSpec], list[FlowSpec]]:
    """The flows with a size, and the sources.

    Raises:
        MetricError: there are none.
    """
    parties, sources = chosen(run, flows, with_sources=True)
    sized = [spec for spec in parties if spec.size_segments is not None]
    if not sized and not sources:
        raise MetricError("no flow has a size")
    return sized, sources


def _none_starts(run: Run, window: Window | None, size_bytes: Sizes) -> MetricError:
    from_s, to_s = resolve_window(run, window)
    between = "" if size_bytes is None else f" and has from {size_bytes[0]:g} B to {size_bytes[1]:g} B"
    return MetricError(f"no flow of a given size starts from {from_s:g} s to {to_s:g} s{between}")


def _parts(
    run: Run, window: Window | None, sized: Sequence[FlowSpec], sources: Sequence[FlowSpec], size_bytes: Sizes
) -> list[tuple[Namer, _Rows]]:
    """The transfers of flows, and of sources that record each transfer, each with a function for their names; may be
    empty."""
    from_s, to_s = resolve_window(run, window)
    if size_bytes is not None and not size_bytes[0] < size_bytes[1]:
        raise MetricError(f"the class of sizes from {size_bytes[0]:g} B to {size_bytes[1]:g} B is empty")
    parts: list[tuple[Namer, _Rows]] = [(lambda number: sized[number].name, _of_flows(run, sized))] if sized else []
    for source in sources:
        rows = run.kept(("transfers", source.name), partial(_of_source, run, source))
        parts.append((f"{source.name} {{}}".format, rows))
    return [(named, _within(rows, from_s, to_s, size_bytes)) for named, rows in parts]


def _joined(parts: Iterable[tuple[Namer, _Rows]]) -> _Rows:
    return _Rows(*(np.concatenate(column) for column in zip(*(rows for _, rows in parts), strict=True)))


def _of_flows(run: Run, sized: Sequence[FlowSpec]) -> _Rows:
    starts, ends = (dict(zip(run.flows["name"], run.flows[name], strict=True)) for name in ("start_s", "completion_s"))
    names = [spec.name for spec in sized]
    starts_s = np.array([starts[name] for name in names], dtype=np.float64)
    octets = [(spec.size_segments or 0) * spec.stack.payload_bytes for spec in sized]
    bits = 8.0 * np.array(octets, dtype=np.float64)
    seconds = np.array([np.nan if ends[name] is None else float(ends[name]) for name in names], dtype=np.float64)
    wire_bits = bits * np.array([wire_factor(spec) for spec in sized], dtype=np.float64)
    rtts_s = base_rtts_s(run, names)
    delays_s = np.array([rtts_s[name] for name in names], dtype=np.float64)
    rates_bps = np.array([slowest_bps(run.form, spec) for spec in sized], dtype=np.float64)
    return _Rows(
        np.arange(len(sized), dtype=np.float64), starts_s, bits, seconds, wire_bits, delays_s + wire_bits / rates_bps
    )


def _of_source(run: Run, source: FlowSpec) -> _Rows:
    rows = source_transfers(run, source.name)
    bits = 8.0 * rows["size_bytes"].to_numpy().astype(np.float64)
    wire_bits = bits * wire_factor(source)
    seconds = rows["completion_s"].fill_null(float("nan")).to_numpy().astype(np.float64)
    delays_s = rows["base_rtt_ms"].to_numpy().astype(np.float64) / 1e3
    least_s = delays_s + wire_bits / slowest_bps(run.form, source)
    starts_s = rows["start_s"].to_numpy().astype(np.float64)
    return _Rows(np.arange(1.0, len(rows) + 1), starts_s, bits, seconds, wire_bits, least_s)


def _within(rows: _Rows, from_s: float, to_s: float, size_bytes: Sizes) -> _Rows:
    inside = (rows.starts_s >= from_s) & (rows.starts_s < to_s)
    if size_bytes is not None:
        inside &= (rows.bits / 8 >= size_bytes[0]) & (rows.bits / 8 < size_bytes[1])
    return rows.at(np.flatnonzero(inside))


def _begun(run: Run, window: Window | None, flows: Flows, size_bytes: Sizes) -> Summed:
    """All transfers that start in a window, both of sources that record each transfer and of sources that keep sums.

    Raises:
        MetricError: there are no transfers, or a source that keeps sums does not have the requested window or size
            class.
    """
    sized, sources = _parties(run, flows)
    kept = [source for source in sources if not has_summary(run, source.name)]
    sums = [summed(run, source, window, by_size=size_bytes is not None) for source in sources if source not in kept]
    if sized or kept:
        sums.append(_in_sums(_joined(_parts(run, window, sized, kept, size_bytes))))
    if not any(part.begun for part in sums):
        raise _none_starts(run, window, size_bytes)
    return Summed(
        sum(part.begun for part in sums),
        sum(part.wire_bits for part in sums),
        sum(part.bits for part in sums),
        merged([part.durations_s for part in sums]),
        merged([part.rates_bps for part in sums]),
        merged([part.slowdowns for part in sums]),
    )


def _in_sums(found: _Rows) -> Summed:
    done = found.at(np.flatnonzero(~np.isnan(found.seconds)))
    return Summed(
        len(found.bits),
        float(found.wire_bits.sum()),
        float(done.bits.sum()),
        Sample(done.seconds),
        Sample(done.bits / done.seconds),
        Sample(done.seconds / done.least_seconds),
    )


def _ended(run: Run, window: Window | None, flows: Flows, size_bytes: Sizes) -> Summed:
    """The transfers of :func:`_begun`, at least one of which completed.

    Raises:
        MetricError: no transfer completed.
    """
    found = _begun(run, window, flows, size_bytes)
    if not len(found.durations_s):
        raise MetricError("no transfer that starts in the window comes to its end")
    return found


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
    if window is not None:
        raise MetricError("the completion time of a transfer belongs to no window")
    return column(run, "completion_s", flows)


@metric("transfers_begun", "transfers", "Elephan's own definition")
def transfers_begun(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Number of the transfers that start in the window.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window.
    """
    return float(_begun(run, window, flows, size_bytes).begun)


@metric("completed_fraction", "1", "Elephan's own definition")
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
    found = _begun(run, window, flows, size_bytes)
    return len(found.durations_s) / found.begun


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
    return _ended(run, window, flows, size_bytes).rates_bps.mean() / 1e6


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
    done = _ended(run, window, flows, size_bytes)
    return done.bits / done.durations_s.sum() / 1e6


@metric("mean_flow_duration_ms", "ms", "leith2008 table I: E[T]")
def mean_flow_duration_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """E[T]: mean duration of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's sums, and is exact.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return 1e3 * _ended(run, window, flows, size_bytes).durations_s.mean()


@metric("flow_duration_p50_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p50_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """Median duration of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return 1e3 * _ended(run, window, flows, size_bytes).durations_s.quantile(0.5)


@metric("flow_duration_p95_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p95_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """95 % quantile of the durations of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return 1e3 * _ended(run, window, flows, size_bytes).durations_s.quantile(0.95)


@metric("flow_duration_p99_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p99_ms(
    run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None
) -> float:
    """99 % quantile of the durations of the transfers that start in the window and finish.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return 1e3 * _ended(run, window, flows, size_bytes).durations_s.quantile(0.99)


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
    return _ended(run, window, flows, size_bytes).slowdowns.mean()


@metric("slowdown_p50", "1", "Montazeri et al. 2018 (Homa): slowdown")
def slowdown_p50(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Median slowdown of the transfers that start in the window and finish; see ``mean_slowdown``.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return _ended(run, window, flows, size_bytes).slowdowns.quantile(0.5)


@metric("slowdown_p99", "1", "Montazeri et al. 2018 (Homa): slowdown")
def slowdown_p99(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """99 % quantile of the slowdown of the transfers that start in the window and finish; see ``mean_slowdown``.

    With ``record = "summary"`` the value is computed from the source's distribution, with an error of at most 0.1 %.
    """
    return _ended(run, window, flows, size_bytes).slowdowns.quantile(0.99)


@metric("offered_mbps", "Mbit/s", "Elephan's own definition")
def offered_mbps(run: Run, window: Window | None = None, flows: Flows = None, *, size_bytes: Sizes = None) -> float:
    """Offered load: bits of the transfers that start in the window, divided by the window's length.

    Headers count, and retransmissions do not. With ``record = "summary"`` the value is computed from the source's sums,
    and is exact.

    Raises:
        MetricError: no transfer starts in the window.
    """
    from_s, to_s = resolve_window(run, window)
    return _begun(run, window, flows, size_bytes).wire_bits / (to_s - from_s) / 1e6


@metric("short_flow_total_mbps", "Mbit/s", "katto2008 fig. 8", aliases=("carried_mbps",))
def short_flow_total_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Carried load: throughput of the flows with a size and of the sources, in the measurement window.

    Transfers that started before the window count too.

    Raises:
        MetricError: no flow has a size.
    """
    parties, sources = chosen(run, flows, with_sources=True)
    sized = [spec for spec in parties if spec.size_segments is not None]
    names = [spec.name for spec in (*sized, *sources)]
    if not names:
        raise MetricError("no flow has a size")
    return sum_throughput_mbps(run, window, names)
