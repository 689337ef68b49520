"""Jitter: delays behind the bottleneck that change from packet to packet, on the way to B or on that of its ACKs.

A bottleneck with a queue serves packets at its rate. Without jitter they arrive like this; with it, some come closer
together than the bottleneck can serve them, so those ahead of them were late. The rate is then seen over longer times
only: what a packet is late by does not grow with time, so the spread of the rates falls as the time over which they are
taken. Other traffic makes rates differ too, but its amount varies with time, so their spread falls more slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import minimum_filter1d

from elephan.explanation.estimates import PARTS, of_parts
from elephan.explanation.modes import BIN, highest_mode
from elephan.metrics.statistics import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Seen

    Floats = NDArray[np.float64]

_STEP, _MOST_ACKS = 4, 4096
"""Factor between numbers of ACKs over which rates are taken, and the most of them."""
_LEAST_STRETCHES = 8
_SPREAD = 4 * BIN
"""Interquartile range of logarithms of rates from which on jitter may be the reason."""
_BOUNDED = 3.0
"""Least ratio of spreads, between 2 of independent arrivals and 4 of times that are wrong by as much."""
_CLEAR = 0.6
"""Least share of the deliveries at one rate."""
_IMPOSSIBLE = 0.05
"""Largest share of packets whose round trip would be shorter than the least one without what they were late by."""
_LEAST_QUEUED, _FEWEST = 0.2, 200
"""Least share of the packets that were served behind another one, and the fewest of them."""
_HIGH = 0.95
_FLOOR, _LEAST_S = 0.1, 1e-6
_SHARE_OF_PACKET = 0.1
"""Jitter that changes nothing, in packets of the bottleneck."""
_DRAWN = 20_000
_ROUNDS = 40


@dataclass(frozen=True)
class Jitter:
    """Jitter of a path.

    Attributes:
        late: 95th percentile of the time by which packets were late, s; ``None`` if the capture does not show it.
        reason: evidence for it, or the reason why there is none.
        uniform_s: upper end of the uniform distribution of delays that makes packets late like this, s; 0 for none.
    """

    late: Interval | None
    reason: str
    uniform_s: float = 0.0


@dataclass(frozen=True)
class SteadyRate:
    """Rate of a bottleneck where jitter hides it from single ACKs.

    Attributes:
        rate_bps: the rate, bit/s.
        acks: number of ACKs over which it is clear.
        spread: relative difference of the rates over so many.
    """

    rate_bps: float
    acks: int
    spread: float


def steady_rate(seen: Seen, wire_bits: float, error_s: float) -> SteadyRate | None:
    """The rate of the bottleneck over the times that show it in spite of jitter; ``None`` where there is no need.

    Args:
        seen: deliveries and losses of the capture.
        wire_bits: size of a full packet, bits.
        error_s: error of times of departure, s.
    """
    found = _steady(seen, wire_bits)
    if found is None:
        return None
    packet_s = wire_bits / found.rate_bps
    served, _ = without_jitter(seen, packet_s, found.acks)
    # A burst of the sender's own arrives as a burst, and no packet was late by more than its round trip was long.
    below = served.rtt_s < np.nanmin(seen.rtt_s) - packet_s - error_s
    return found if np.mean(below[np.isfinite(seen.rtt_s)]) <= _IMPOSSIBLE else None


def _steady(seen: Seen, wire_bits: float) -> SteadyRate | None:
    times, sizes = seen.acked_s, np.cumsum(seen.delivered)
    acks, before = 1, None
    while acks <= _MOST_ACKS and len(times) >= _LEAST_STRETCHES * acks + 1:
        begins = np.arange(0, len(times) - acks, max(1, acks // _STEP))
        gaps, delivered = times[begins + acks] - times[begins], sizes[begins + acks] - sizes[begins]
        usable = gaps > _LEAST_S
        if not usable.any():
            return None
        rates, weights = delivered[usable] * wire_bits / gaps[usable], delivered[usable].astype(float)
        spread = float(np.subtract(*np.quantile(np.log(rates), (0.75, 0.25))))
        if acks == 1 and spread < _SPREAD:
            return None
        mode = highest_mode(rates, weights)
        share = float(weights[np.abs(np.log(rates / mode)) < 2 * BIN].sum() / weights.sum())
        if before is not None and share >= _CLEAR:
            return SteadyRate(mode, acks, spread) if spread > 0 and before / spread >= _BOUNDED else None
        before, acks = spread, acks * _STEP
    return None


def without_jitter(seen: Seen, packet_s: float, acks: int = _STEP**2) -> tuple[Seen, Floats]:
    """The deliveries as the bottleneck served them, and by how much each was late, s: a packet is served one
    transmission before the one behind it at the latest.

    Args:
        seen: deliveries and losses of the capture.
        packet_s: time of a full packet at the bottleneck, s.
        acks: number of ACKs that are compared, so that an error of the rate does not add up.
    """
    service = np.cumsum(seen.delivered) * packet_s
    least = minimum_filter1d(seen.acked_s - service, acks + 1, mode="nearest", origin=-(acks // 2))
    served = np.maximum.accumulate(np.minimum(least + service, seen.acked_s))
    late = seen.acked_s - served
    return replace(seen, acked_s=served, rtt_s=seen.rtt_s - late), late


def jitter_of(seen: Seen, packet_s: float, acks: int = _STEP**2) -> Jitter:
    """The jitter that a capture shows; arguments are those of :func:`without_jitter`."""
    served, late = without_jitter(seen, packet_s, acks)
    # Only a packet that was served right behind another one shows if it was late.
    gaps, own = np.diff(served.acked_s), served.delivered[1:] * packet_s
    queued = (gaps <= (1 + _SHARE_OF_PACKET) * own) & seen.in_order[1:] & seen.in_order[:-1]
    if queued.sum() < max(_FEWEST, _LEAST_QUEUED * len(gaps)):
        return Jitter(None, "packets seldom follow each other at the rate of the bottleneck, which would show it")
    found, packets = late[:-1][queued], max(1, round(float(served.delivered[1:][queued].mean())))
    high = float(np.quantile(found, _HIGH))
    if high <= _SHARE_OF_PACKET * packet_s:
        most = max(_SHARE_OF_PACKET * packet_s, _LEAST_S)
        return Jitter(Interval(0.0, 0.0, most), "packets come no closer together than the bottleneck serves them")
    parts = [float(np.quantile(part, _HIGH)) for part in np.array_split(found, PARTS)]
    interval = of_parts(parts, high, _FLOOR)
    reason = f"{float(np.mean(found > _SHARE_OF_PACKET * packet_s)):.0%} of the packets of a queue came late"
    interval = Interval(interval.value, max(0.0, interval.low), interval.high)
    return Jitter(interval, reason, _uniform(interval.value, packet_s, packets))


def _uniform(late_s: float, packet_s: float, packets: int) -> float:
    """Upper end of a uniform distribution of delays by which packets of a queue, which stay in order, are late by
    ``late_s`` at the 95th percentile, if every ``packets``-th one is acknowledged."""
    draws = np.random.default_rng(0).random(_DRAWN)
    steps = np.arange(_DRAWN) * packet_s

    def lateness(most_s: float) -> float:
        arrived = (np.maximum.accumulate(steps + most_s * draws) - steps)[packets - 1 :: packets]
        return float(np.quantile(arrived - np.minimum.accumulate(arrived[::-1])[::-1], _HIGH))

    low, high = 0.0, late_s
    while lateness(high) < late_s and high < 1e3 * late_s:
        low, high = high, 2 * high
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if lateness(middle) < late_s else (low, middle)
    return (low + high) / 2
