"""The course of a window between two losses, and its mean.

A response function of the literature assumes a loss at every 1/p-th segment. Random losses give another mean: a Reno
flow's mean window is larger by 7 %, since the square of the window has the mean 2/p (Ott, Kemperman, Mathis: "The
stationary behavior of ideal TCP congestion avoidance", 1996). :func:`under_random_losses` computes that mean for any
rule whose only memory is the window at the last loss. :func:`under_even_losses` computes the mean under evenly spaced
losses; tests compare this mean with the closed forms.

A cycle has three parts: one round trip of recovery at the reduced window, growth until a segment is lost, and one more
round trip until the sender detects the loss. In the third part of a cycle the window still grows, and further losses
belong to the same loss event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Growth = Callable[[Floats, Floats, float], Floats]
"""Function (window after the reduction, window at the loss, round trip in s) -> growth per round trip, segments."""
Keep = Callable[[Floats], Floats]
"""Function from the window at a loss to the window after it, segments."""


def floats(values: ArrayLike) -> Floats:
    """Converts values to an array of double precision."""
    return np.asarray(values, dtype=np.float64)


_TAIL = 16.0
"""Expected number of losses at which the evaluation of a cycle stops. The probability of no loss before this point is
exp(-16), about 1e-7."""
_PEAKS = 240
_STEPS = 400


@dataclass(frozen=True)
class Cycle:
    """The rules that determine the window between two losses.

    Attributes:
        keep: function from the window at a loss to the window after it.
        path: function from (windows at the last loss, round trips since recovery ended, round trip in s) to windows.
            The first argument is a column, and the second is a row. The result is a table whose values never fall along
            a row.
    """

    keep: Keep
    path: Callable[[Floats, Floats, float], Floats]


def memoryless(gain: Callable[[Floats], Floats], keep: Keep, highest: float = 1e7) -> Cycle:
    """A rule that depends on its window alone; `gain` segments are added each round trip, and the fraction `keep`
    remains after a loss."""
    windows = np.geomspace(0.5, highest, 40_001)
    slowness = 1.0 / gain(floats(windows))
    rounds = np.concatenate(([0.0], np.cumsum(np.diff(windows) * (slowness[1:] + slowness[:-1]) / 2)))

    def path(peaks: Floats, elapsed: Floats, rtt_s: float) -> Floats:
        del rtt_s
        begun = np.interp(keep(peaks), windows, rounds)
        reached: Floats = np.interp(begun + elapsed, rounds, windows)
        return reached

    return Cycle(keep, path)


def _elapsed(cycle: Cycle, peaks: Floats, rtt_s: float, segments: float) -> Floats:
    """Round trips at which a cycle is evaluated: dense at the start, and long enough to send a number of segments."""
    last = 4.0
    lowest = peaks.min(keepdims=True).reshape(1, 1)
    while True:
        elapsed = last * np.linspace(0.0, 1.0, _STEPS) ** 2
        windows = cycle.path(lowest, elapsed[None, :], rtt_s)[0]
        if np.trapezoid(windows, elapsed) > segments:
            return elapsed
        last *= 1.5


def _sent(windows: Floats, elapsed: Floats) -> Floats:
    """Segments sent since the recovery ended, along each row."""
    steps = np.diff(elapsed) * (windows[:, 1:] + windows[:, :-1]) / 2
    return np.concatenate((np.zeros((len(windows), 1)), np.cumsum(steps, axis=1)), axis=1)


def under_even_losses(cycle: Cycle, p: float, rtt_s: float, halvings: int = 44) -> float:
    """Mean window over round trips if each 1/p-th segment is lost and detected at once, as closed forms assume.

    `halvings` is the number of halvings of the search range for the window at a loss: with 14 halvings the relative
    error is below a thousandth, and with 44 halvings the result is exact.
    """
    low, high = 0.5, 1e7
    for _ in range(halvings):
        peak = float(np.sqrt(low * high))
        peaks = np.array([[peak]])
        elapsed = _elapsed(cycle, cycle.keep(peaks), rtt_s, 1.05 / p)
        windows = cycle.path(peaks, elapsed[None, :], rtt_s)
        sent = _sent(windows, elapsed)[0]
        reached = float(np.interp(1.0 / p, sent, windows[0]))
        low, high = (peak, high) if reached > peak else (low, peak)
    return float(1.0 / p / np.interp(1.0 / p, sent, elapsed))


def under_random_losses(cycle: Cycle, p: float, rtt_s: float) -> float:
    """Mean window over round trips if every segment is lost with probability p, independently of the others.

    The windows at successive losses are a Markov chain. The chain's transition probabilities follow from the number of
    segments that a cycle sends before its window reaches a value. The chain's stationary distribution weighs the
    cycles' segments and durations. Timeouts are not included, so the result applies to windows of many segments.
    """
    scale = under_even_losses(cycle, p, rtt_s, halvings=14)
    edges = np.geomspace(max(0.5, scale / 300.0), scale * 30.0, _PEAKS + 1)
    peaks = np.sqrt(edges[1:] * edges[:-1])[:, None]
    after = cycle.keep(peaks)
    elapsed = _elapsed(cycle, peaks, rtt_s, _TAIL / p)
    windows = cycle.path(peaks, elapsed[None, :], rtt_s)
    # Recovery: one round trip at the reduced window, whose segments may be lost too.
    sent = after + _sent(windows, elapsed)
    alive = np.exp(-p * sent)
    later = cycle.path(peaks, elapsed[None, :] + 1.0, rtt_s)

    chain = np.empty((_PEAKS, _PEAKS))
    in_recovery = 1.0 - np.exp(-p * after[:, 0])
    for i in range(_PEAKS):
        below = 1.0 - np.interp(edges, later[i], alive[i], left=alive[i, 0], right=0.0)
        below[edges <= later[i, 0]] = 0.0
        below[edges > later[i, 0]] = np.maximum(below[edges > later[i, 0]], in_recovery[i])
        below[0], below[-1] = 0.0, 1.0
        chain[i] = np.diff(below)
    weights = _stationary(chain)

    widths = np.diff(elapsed)
    # Until the loss: recovery, growth; then the round trip before the sender detects the loss.
    recovery_rounds = (1.0 - np.exp(-p * after[:, 0])) / (p * after[:, 0])
    growth_rounds = ((alive[:, 1:] + alive[:, :-1]) / 2 * widths).sum(axis=1)
    lost_at = np.concatenate((in_recovery[:, None], -np.diff(alive, axis=1)), axis=1)
    unknowing = (lost_at * (windows + later) / 2).sum(axis=1)
    segments = 1.0 / p + unknowing
    rounds = recovery_rounds + growth_rounds + 1.0
    return float((weights @ segments) / (weights @ rounds))


def _stationary(chain: Floats) -> Floats:
    """The stationary distribution of a Markov chain."""
    # One of the equations follows from the other equations, and is replaced by the sum of the weights, which is 1.
    system = chain.T - np.eye(len(chain))
    system[-1] = 1.0
    right = np.zeros(len(chain))
    right[-1] = 1.0
    return floats(np.linalg.solve(system, right))
