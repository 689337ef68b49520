"""The rate at which a bottleneck serves, from the times between the packets that it has served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BIN = 0.01
"""Width of a bin of rates, relative."""
_WEIGHT = 0.25
_FINE, _VALLEY = 8, 0.5
"""Parts of a bin by which two peaks in it are told apart, and largest weight between them, relative to the higher."""


def highest_mode(rates: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The highest rate that many packets have.

    Other traffic between two packets only makes their rate smaller, so of all frequent rates the highest is the
    bottleneck's: a bin counts as frequent if it has a quarter of the largest bin's weight.
    """
    logs = np.log(rates)
    # Three bins at least, which the smoothing needs.
    edges = np.arange(logs.min() - BIN, logs.max() + 3 * BIN, BIN)
    counts, _ = np.histogram(logs, bins=edges, weights=weights)
    counts = np.convolve(counts, [0.5, 1.0, 0.5], mode="same")
    place = int(np.flatnonzero(counts >= _WEIGHT * counts.max())[-1])
    while place > 0 and counts[place - 1] > counts[place]:
        place -= 1
    middle = 0.5 * (edges[place] + edges[place + 1])
    near = np.abs(logs - middle) < 1.5 * BIN
    return float(np.median(rates[near])) if near.any() else float(np.exp(middle))


def valley(rates: NDArray[np.float64], weights: NDArray[np.float64], mode: float) -> float:
    """Rate that divides the highest peak near a mode from a lower one; 0 if there is one peak.

    A sender that paces itself hardly slower than the bottleneck makes a peak of its own close below.
    """
    edges = np.arange(-2 * _FINE, 2 * _FINE + 1) * BIN / _FINE
    counts, _ = np.histogram(np.log(rates / mode), bins=edges, weights=weights)
    counts = np.convolve(counts, [0.5, 1.0, 0.5], mode="same")
    largest = int(counts.argmax())
    place = int(np.flatnonzero(counts >= _WEIGHT * counts.max())[-1])
    while place > largest and counts[place - 1] > counts[place]:
        place -= 1
    least = largest + int(counts[largest : place + 1].argmin())
    if counts[least] > _VALLEY * counts[place]:
        return 0.0
    return float(mode * np.exp((edges[least] + edges[least + 1]) / 2))
