"""Steps of the bottleneck's rate: times from which on it serves at another rate.

While a queue stands, packets leave the bottleneck at its rate, so the mode of the rates at which ACKs deliver is its
rate at that time. Only ACKs behind a queue count, since without one the sender sets the pace. A step is a mode that
holds, differs from the one before, and whose own parts agree; a rate that changes all the time has no steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.modes import highest_mode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Seen

    Floats = NDArray[np.float64]

_QUEUED = 1.6
"""Least wait of a packet behind a queue, in packets of the bottleneck."""
_WINDOW, _WINDOW_ROUNDS, _WINDOW_S = 48, 3.0, 0.2
"""Length of a window: in ACKs behind a queue, in least round trips, and in s, at least."""
_FEWEST_WINDOWS = 6
_ALIKE, _OTHER = 0.03, 0.08
"""Largest relative difference of modes of one rate, and least one of two rates."""
_HOLDS = 3
"""Fewest windows in a row that show another rate."""
_CLEAR = 0.7
"""Least share of windows that have the rate of their level."""
_OF_THE_RATE = 0.25
"""Least share of the deliveries of a window at its mode."""
_MOST_STEPS = 20


@dataclass(frozen=True)
class Level:
    """A rate that holds for a time.

    Attributes:
        from_s, to_s: its time, in the time of the events, s.
        rate_bps: the rate, bit/s.
    """

    from_s: float
    to_s: float
    rate_bps: float


def levels_of(seen: Seen, wire_bits: float) -> tuple[Level, ...]:
    """The rates of a capture's bottleneck over time; empty if it has one rate, or none that holds.

    Args:
        seen: deliveries and losses of the capture.
        wire_bits: size of a full packet, bits.
    """
    times, rates, weights = _behind_queues(seen, wire_bits)
    bounds = _windows(times, float(np.nan_to_num(np.fmin.reduce(seen.rtt_s))))
    if len(bounds) - 1 < _FEWEST_WINDOWS:
        return ()
    modes = []
    for low, high in pairwise(bounds):
        mode = highest_mode(rates[low:high], weights[low:high])
        near = np.abs(np.log(rates[low:high] / mode)) < _ALIKE
        modes.append(mode if weights[low:high][near].sum() >= _OF_THE_RATE * weights[low:high].sum() else np.nan)
    runs = _runs(np.array(modes))
    if len(runs) < 2 or len(runs) > _MOST_STEPS + 1:
        return ()
    logs = np.log(rates)
    levels: list[Level] = []
    start_s = -np.inf
    for number, (first, past, rate) in enumerate(runs):
        end_s = np.inf
        if number + 1 < len(runs):
            later = runs[number + 1]
            end_s = _change(times, logs, (bounds[past - 1], bounds[later[0] + 1]), rate, later[2])
        inside = slice(bounds[first], bounds[past])
        mode = highest_mode(rates[inside], weights[inside])
        levels.append(Level(start_s, end_s, mode if abs(np.log(mode / rate)) < _ALIKE else rate))
        start_s = end_s
    return tuple(levels)


def _behind_queues(seen: Seen, wire_bits: float) -> tuple[Floats, Floats, Floats]:
    """Times, rates and deliveries of the ACKs between whose packets the bottleneck served without a pause."""
    gaps = np.diff(seen.acked_s)
    delivered = seen.delivered[1:].astype(np.float64)
    least_s = float(np.fmin.reduce(seen.rtt_s))
    rates = delivered * wire_bits / np.maximum(gaps, 1e-9)
    # A packet waited if its round trip has more than a few transmissions at the rate at which it was served.
    wait = seen.rtt_s[1:] - least_s
    queued = (wait > _QUEUED * wire_bits / rates) & (gaps > 1e-6) & seen.in_order[1:] & seen.in_order[:-1]
    return seen.acked_s[1:][queued], rates[queued], delivered[queued]


def _windows(times: Floats, rtt_s: float) -> list[int]:
    """Bounds of windows of ACKs."""
    bounds = [0]
    least_s = max(_WINDOW_ROUNDS * rtt_s, _WINDOW_S)
    for place in range(len(times)):
        if place - bounds[-1] >= _WINDOW and times[place] - times[bounds[-1]] >= least_s:
            bounds.append(place)
    return bounds


def _runs(modes: Floats) -> list[tuple[int, int, float]]:
    """First window, the one behind the last, and the rate of each level; nothing if most windows have no such rate."""
    found: list[tuple[int, int, float]] = []
    place, like, count = 0, 0, len(modes)
    while place < count:
        near = _holding(modes, place)
        if near is None:
            place += 1
            continue
        if found and abs(np.log(near / found[-1][2])) < _OTHER:
            near = found[-1][2]
            found[-1] = (found[-1][0], place + 1, near)
        else:
            found.append((place, place + 1, near))
        like += 1
        place += 1
    return found if like >= _CLEAR * count else []


def _holding(modes: Floats, place: int) -> float | None:
    """Rate of a window that those around it have too."""
    for first in range(max(0, place - _HOLDS + 1), place + 1):
        some = modes[first : first + _HOLDS]
        if len(some) == _HOLDS and np.isfinite(some).all() and np.ptp(np.log(some)) < _ALIKE:
            return float(np.median(some))
    return None


def _change(times: Floats, logs: Floats, between: Sequence[int], before: float, after: float) -> float:
    """Time of a step: the place that leaves the fewest ACKs on the side of the other rate."""
    low, high = between
    nearer = np.abs(logs[low:high] - np.log(before)) < np.abs(logs[low:high] - np.log(after))
    wrong = np.concatenate([[0], np.cumsum(~nearer)]) + np.concatenate([np.cumsum(nearer[::-1])[::-1], [0]])
    place = low + int(np.argmin(wrong))
    return float(times[min(place, len(times) - 1)])
