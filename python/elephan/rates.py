"""Rates of counted bytes: the only definitions of throughput and of goodput, for all backends and metrics.

The engine has the same two definitions in Rust (``crates/sim/src/rates.rs``). Counts are increases over an interval in
seconds, as numbers or arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Count = TypeVar("Count", float, "npt.NDArray[np.float64]")
MBIT_PER_BYTE = 8e-6
"""Factor for quantiles over flows, chosen so that rates equal the engine's to the last bit."""


def rate_mbps(octets: Count, seconds: Count | float) -> Count:
    """Rate of a number of bytes over an interval, Mbit/s. The rate is the throughput if the bytes are those on the
    wire, with headers and duplicates."""
    return 8 * octets / seconds / 1e6


def payload_rate_mbps(segments: Count, payload_bytes: int, seconds: Count | float) -> Count:
    """Goodput: payload bits of distinct segments divided by the interval, Mbit/s."""
    return rate_mbps(payload_bytes * segments, seconds)
