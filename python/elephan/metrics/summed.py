"""Sums and distributions of transfers, from the records of single transfers or from the sums of ``record = "summary"``.

A source that keeps a summary has exact sums, and counts in buckets whose edges are 0.2 % apart. A value is replaced by
the middle of its bucket, so a quantile is within 0.1 % of the exact quantile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from elephan.metrics.reading import GRID_TOLERANCE_S, Array, MetricError, Window, measure_window, wire_factor
from elephan.runs.result import Run
from elephan.scenario.form import FlowSpec


def _none() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class Sample:
    """A sample of positive numbers, stored one by one or as counts in buckets.

    Attributes:
        values: single numbers.
        middles: middles of the buckets.
        counts: number of values in each bucket.
        total: sum of the values in buckets.
    """

    values: Array
    middles: Array = field(default_factory=_none)
    counts: Array = field(default_factory=_none)
    total: float = 0.0

    def __len__(self) -> int:
        return len(self.values) + int(self.counts.sum())

    def sum(self) -> float:
        """Sum of the values, exact."""
        return float(self.values.sum()) + self.total

    def mean(self) -> float:
        """Mean of the values, exact."""
        return self.sum() / len(self)

    def quantile(self, part: float) -> float:
        """The ``part``-quantile; within 0.1 % for values in buckets."""
        if not len(self.counts):
            return float(np.quantile(self.values, part, method="inverted_cdf"))
        values = np.concatenate([self.values, self.middles])
        weights = np.concatenate([np.ones(len(self.values)), self.counts])
        order = np.argsort(values)
        below = np.cumsum(weights[order])
        return float(values[order][np.searchsorted(below, part * below[-1])])


class Summed(NamedTuple):
    """Sums over the transfers of one source that start in the measurement window.

    Attributes:
        begun: number of transfers.
        wire_bits: bits on the wire of these transfers, with a header for each segment, without retransmissions.
        bits: payload bits of the transfers that finish.
        durations_s: durations of the transfers that finish.
        rates_bps: payload bits divided by duration, of each transfer that finishes; only the mean is available.
        slowdowns: slowdowns of the transfers that finish.
    """

    begun: int
    wire_bits: float
    bits: float
    durations_s: Sample
    rates_bps: Sample
    slowdowns: Sample


def has_summary(run: Run, source: str) -> bool:
    """True if a source records sums of its transfers instead of each transfer."""
    return any(spec.flow.name == source and spec.record == "summary" for spec in run.form.traffic)


def summed(run: Run, source: FlowSpec, window: Window | None, *, by_size: bool) -> Summed:
    """Sums over the transfers of a source with ``record = "summary"`` that start in the measurement window.

    Raises:
        MetricError: another window or a class of sizes is requested; both need a record of each transfer.
    """
    if by_size:
        raise MetricError(f"'{source.name}' has record = \"summary\": a class of sizes needs each transfer")
    from_s, to_s = measure_window(run)
    if window is not None and max(abs(window[0] - from_s), abs(window[1] - to_s)) > GRID_TOLERANCE_S:
        raise MetricError(
            f"'{source.name}' has record = \"summary\": of the measured part, {from_s:g} s to {to_s:g} s, and of no "
            "other window"
        )
    sums = _sums(run, source.name)
    payload_bits = 8.0 * source.stack.payload_bytes
    middles, counts = _buckets(run, source.name, "duration_s")
    return Summed(
        begun=int(sums["begun"]),
        wire_bits=sums["offered_segments"] * payload_bits * wire_factor(source),
        bits=sums["segments"] * payload_bits,
        durations_s=Sample(_none(), middles, counts, sums["duration_s"]),
        # Only the mean is needed, so one bucket holds all rates.
        rates_bps=Sample(_none(), np.zeros(1), np.array([counts.sum()]), sums["segments_per_s"] * payload_bits),
        slowdowns=Sample(_none(), *_buckets(run, source.name, "slowdown"), sums["slowdown"]),
    )


def merged(parts: Sequence[Sample]) -> Sample:
    """One sample with the numbers of several samples."""
    values, middles, counts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "middles", "counts")
    )
    return Sample(values, middles, counts, sum(part.total for part in parts))


def _sums(run: Run, source: str) -> Mapping[str, Any]:
    for row in run.manifest.get("engine_summary", {}).get("traffic", ()):
        if row["name"] == source and "sums" in row:
            sums: Mapping[str, Any] = row["sums"]
            return sums
    raise MetricError(f"the run has no sums of '{source}'")


def _buckets(run: Run, source: str, quantity: str) -> tuple[Array, Array]:
    rows = run.distributions.filter(
        (pl.col("source").cast(pl.String) == source) & (pl.col("quantity").cast(pl.String) == quantity)
    )
    low, high, counts = (rows[name].to_numpy().astype(np.float64) for name in ("low", "high", "transfers"))
    return (low + high) / 2, counts
