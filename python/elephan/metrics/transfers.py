"""Transfers of a given size: how long they take, and what rate that is to the user (RFC 5166 §2.1.1, §2.8).

They are the flows that have a size, and the transfers of ``[[traffic]]`` sources. A transfer belongs to the window in
which it starts, wherever it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from elephan.metrics.reading import Array, MetricError, Window, column, resolve_window, specs
from elephan.metrics.registry import metric
from elephan.metrics.throughput import sum_throughput_mbps
from elephan.runs.result import Run

Flows = Sequence[str] | None


class Transfers(NamedTuple):
    """Transfers: flows in order of their stated starts, then those of sources in order of their own.

    Attributes:
        names: of the flows, and of the sources for each of their transfers.
        bits: payload bits, of whole segments.
        seconds: from the start until the last segment was acknowledged; NaN when it did not come to that.
    """

    names: list[str]
    bits: Array
    seconds: Array


def sized_transfers(run: Run, window: Window | None = None, flows: Flows = None) -> Transfers:
    """The transfers that start in a window, its end excluded; the scenario's ``[measure]`` unless given.

    ``flows`` names flows or sources of transfers; all of both by default.

    Raises:
        MetricError: there are none.
    """
    from_s, to_s = resolve_window(run, window)
    sources = [str(source["flow"]["name"]) for source in run.canonical.get("traffic", [])]
    chosen = sources if flows is None else [name for name in sources if name in flows]
    others = None if flows is None else [name for name in flows if name not in sources]
    sized = [spec for spec in specs(run, others) if spec["size_segments"] is not None] if others != [] else []
    if not sized and not chosen:
        raise MetricError("no flow has a size")
    starts, ends = (dict(zip(run.flows["name"], run.flows[name], strict=True)) for name in ("start_s", "completion_s"))
    inside = [spec for spec in sized if from_s <= starts[spec["name"]] < to_s]
    names = [str(spec["name"]) for spec in inside]
    bits = [8.0 * spec["size_segments"] * spec["stack"]["payload_bytes"] for spec in inside]
    seconds = [np.nan if ends[name] is None else float(ends[name]) for name in names]
    if chosen:
        rows = _of_sources(run, chosen, from_s, to_s)
        names += rows["source"].cast(pl.String).to_list()
        bits += (8.0 * rows["size_bytes"]).to_list()
        seconds += (rows["completion_s"] - rows["start_s"]).fill_null(np.nan).to_list()
    if not names:
        raise MetricError(f"no flow of a given size starts from {from_s:g} s to {to_s:g} s")
    return Transfers(names, np.array(bits), np.array(seconds))


def _of_sources(run: Run, sources: Sequence[str], from_s: float, to_s: float) -> pl.DataFrame:
    """Rows of ``transfers`` that start in a window; ``completion_s`` there is a moment and not a duration."""
    within = pl.col("source").cast(pl.String).is_in(list(sources)) & (pl.col("start_s") >= from_s)
    return run.transfers.filter(within & (pl.col("start_s") < to_s)).sort("start_s")


def _finished(run: Run, window: Window | None, flows: Flows) -> tuple[Array, Array]:
    """Bits and seconds of the transfers that came to their end."""
    _, bits, seconds = sized_transfers(run, window, flows)
    done = ~np.isnan(seconds)
    if not done.any():
        raise MetricError("no transfer that starts in the window comes to its end")
    return bits[done], seconds[done]


@metric("completion_s", "s", "RFC 5166 §2.1.1: file transfer times", scope="flow")
def completion_s(run: Run, window: Window | None = None, flows: Flows = None) -> dict[str, float]:
    """Time from a sized flow's start until its sender knew that its last segment was delivered.

    Raises:
        MetricError: a flow has no size or did not finish; or a window is given, since it belongs to none.
    """
    if window is not None:
        raise MetricError("the completion time of a transfer belongs to no window")
    return column(run, "completion_s", flows)


@metric("completed_fraction", "1", "Elephan's own definition")
def completed_fraction(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Part of the transfers that start in the window which come to their end before the run does.

    Mean rates and durations are over these alone: where this is well below 1 they leave out the slowest.

    Raises:
        MetricError: no transfer starts in the window.
    """
    return float((~np.isnan(sized_transfers(run, window, flows).seconds)).mean())


@metric("mean_flow_rate_mbps", "Mbit/s", "leith2008 table I: E[b/T]")
def mean_flow_rate_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """E[b/T]: mean over the transfers that start in the window, and finish, of payload bits over duration.

    Each transfer counts once, so that it speaks for the many short ones.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    bits, seconds = _finished(run, window, flows)
    return float((bits / seconds).mean() / 1e6)


@metric("mean_size_over_mean_duration_mbps", "Mbit/s", "leith2008 table I: E[b]/E[T]")
def mean_size_over_mean_duration_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """E[b]/E[T]: payload bits of the transfers that start in the window, and finish, over their durations' sum.

    Each second of a transfer counts once, so that it speaks for the few long ones.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    bits, seconds = _finished(run, window, flows)
    return float(bits.sum() / seconds.sum() / 1e6)


@metric("mean_flow_duration_ms", "ms", "leith2008 table I: E[T]")
def mean_flow_duration_ms(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """E[T]: mean duration of the transfers that start in the window and finish.

    Raises:
        MetricError: no transfer starts in the window, or none finishes.
    """
    return float(1e3 * _finished(run, window, flows)[1].mean())


@metric("flow_duration_p50_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p50_ms(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Median duration of the transfers that start in the window and finish: the shortest that half do not exceed."""
    return _quantile_ms(run, window, flows, 0.5)


@metric("flow_duration_p95_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p95_ms(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """The duration that 95 % of the transfers that start in the window and finish do not exceed."""
    return _quantile_ms(run, window, flows, 0.95)


@metric("flow_duration_p99_ms", "ms", "RFC 5166 §2.1.1: file transfer times")
def flow_duration_p99_ms(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """The duration that 99 % of the transfers that start in the window and finish do not exceed."""
    return _quantile_ms(run, window, flows, 0.99)


def _quantile_ms(run: Run, window: Window | None, flows: Flows, part: float) -> float:
    return float(1e3 * np.quantile(_finished(run, window, flows)[1], part, method="inverted_cdf"))


@metric("short_flow_total_mbps", "Mbit/s", "katto2008 fig. 8")
def short_flow_total_mbps(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Sum of the throughputs in the window of the flows that have a size, whenever they started.

    Raises:
        MetricError: no flow has a size.
    """
    sized = [str(spec["name"]) for spec in specs(run, flows) if spec["size_segments"] is not None]
    if not sized:
        raise MetricError("no flow has a size")
    return sum_throughput_mbps(run, window, sized)
