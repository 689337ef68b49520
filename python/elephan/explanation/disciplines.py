"""Signs of queue disciplines in the drops of a capture. Times are in s, delays are those of the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CODEL_TARGET_S, _CODEL_INTERVAL_S = 0.005, 0.100
_CODEL_RECENT = 16
_PIE_TARGET_S, _PIE_UPDATE_S, _PIE_BURST_S = 0.015, 0.015, 0.150
_PIE_ALPHA, _PIE_BETA = 0.125, 1.25
_PIE_SCALES = ((1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0))
_PIE_LARGE, _PIE_STEP, _PIE_HIGH_S, _PIE_DECAY = 0.1, 0.02, 0.250, 0.98
_CHANCE, _FIRST_DROPS, _LEAST_JUDGED = 0.5, 12, 4
"""Chance from which on a drop shows nothing, number of drops that are judged by themselves too, and the fewest."""
_MARGIN = 0.03
"""Packets by which times of transmissions at a policer may differ from those of the capture."""
_APART, _LEAST_DROPS, _STEP = 10.0, 8, 1.5
"""Gap between drops, relative to the median, across which a bucket may have filled; fewest drops of a stretch; and
packets by which what passed between two drops may differ from the tokens."""
_NEAR_FULL = np.arange(-12, 13) * 1e-5
_AS_WELL = 0.05
"""Difference in the share of wrong packets up to which rates of tokens explain drops alike."""


def codel_excess(
    at_s: NDArray[np.float64], wait_s: NDArray[np.float64], lost: NDArray[np.bool_], packet_s: float, error_s: float
) -> float:
    """Share of the drops that are when CoDel (RFC 8289) drops a packet, beyond the share that chance explains.

    The law is followed from the first drops on; where other flows lose packets too, its state drifts away from the
    true one, so the first drops alone may show it.

    Args:
        at_s: time at which each packet reaches the queue, in order, s.
        wait_s: its wait, s.
        lost: it was dropped.
        packet_s: time of a full packet at the bottleneck, s.
        error_s: error of these times, s.
    """
    law = _ControlLaw(packet_s, error_s)
    hits: list[tuple[float, float]] = []
    leaves = at_s + wait_s
    alone = np.append(at_s[1:] > leaves[:-1], True) & (wait_s <= packet_s)
    for now, wait, is_alone, is_lost in zip(
        leaves.tolist(), wait_s.tolist(), alone.tolist(), lost.tolist(), strict=True
    ):
        law.look(now, wait, alone=is_alone, lost=is_lost)
        if is_lost:
            hit, chance = law.drop(now)
            if chance < _CHANCE:
                hits.append((float(hit) - chance, 1.0 - chance))
    excess = [
        float(np.sum(counted, axis=0)[0] / np.sum(counted, axis=0)[1])
        for counted in (hits, hits[:_FIRST_DROPS])
        if len(counted) >= _LEAST_JUDGED
    ]
    return max(excess, default=0.0)


class _ControlLaw:
    """CoDel's state, as far as it shows when the next drop is due."""

    def __init__(self, packet_s: float, error_s: float) -> None:
        self.early_s, self.late_s = packet_s / 2 + error_s, 1.5 * packet_s + error_s
        self.first_above: float | None = None
        self.next_s = 0.0
        self.dropping = False
        self.count, self.last_count = 0, 0

    def look(self, now: float, wait: float, *, alone: bool, lost: bool) -> None:
        """Take a packet that leaves the queue."""
        if wait < _CODEL_TARGET_S or alone:
            self.first_above = None
            self.dropping &= lost
        elif self.first_above is None:
            self.first_above = now + _CODEL_INTERVAL_S

    def drop(self, now: float) -> tuple[bool, float]:
        """Take a drop. Returns true if it was due, and the probability that a drop at any time would be."""
        gap = _CODEL_INTERVAL_S
        if self.dropping:
            while now > self.next_s + self.late_s:
                # A packet of other traffic was dropped.
                self.count += 1
                self.next_s += _CODEL_INTERVAL_S / self.count**0.5
            gap /= max(1, self.count) ** 0.5
            is_due = now >= self.next_s - self.early_s
            self.count += 1
            start = self.next_s if is_due else now
        else:
            is_due = self.first_above is not None and -self.early_s <= now - self.first_above <= self.late_s
            recent = now - self.next_s < _CODEL_RECENT * _CODEL_INTERVAL_S
            delta = self.count - self.last_count
            self.count = delta if delta > 1 and recent else 1
            self.last_count, self.dropping, start = self.count, True, now
        self.next_s = start + _CODEL_INTERVAL_S / self.count**0.5
        return is_due, min(1.0, (self.early_s + self.late_s) / gap)


def pie_ratio(sent_s: NDArray[np.float64], delay_s: NDArray[np.float64], drops: int) -> float:
    """Drops as a multiple of those that PIE (RFC 8033) makes at these delays."""
    probability, before, allowance = 0.0, 0.0, _PIE_BURST_S
    updated, expected = float(sent_s[0]), 0.0
    for at, delay in zip(sent_s.tolist(), delay_s.tolist(), strict=True):
        while updated + _PIE_UPDATE_S <= at:
            updated += _PIE_UPDATE_S
            now = max(0.0, delay - (at - updated) if at - updated < delay else delay)
            step = _PIE_ALPHA * (now - _PIE_TARGET_S) + _PIE_BETA * (now - before)
            step /= next((scale for below, scale in _PIE_SCALES if probability < below), 1.0)
            if probability >= _PIE_LARGE:
                step = min(step, _PIE_STEP)
            if now > _PIE_HIGH_S:
                step = _PIE_STEP
            probability += step
            if now == 0 and before == 0:
                probability *= _PIE_DECAY
            probability, before = min(max(probability, 0.0), 1.0), now
            allowance = max(0.0, allowance - _PIE_UPDATE_S)
            if probability == 0 and now < _PIE_TARGET_S / 2:
                allowance = _PIE_BURST_S
        if allowance == 0 and not (before < _PIE_TARGET_S / 2 and probability < 0.2):
            # The accumulated probability keeps drops apart, which about halves them (RFC 8033 section 5.4).
            expected += probability / 1.85
    return drops / expected if expected > 0 else np.inf


@dataclass(frozen=True)
class VirtualQueue:
    """A token bucket.

    Attributes:
        rate_bps: rate of the tokens, bit/s.
        burst_packets: its size, in packets.
        cost: packets that it would have passed or dropped otherwise, relative to the drops.
        certain_cost: those of them that are so whatever the errors of the times are.
        low_bps, high_bps: rates that explain the drops as well, bit/s.
    """

    rate_bps: float
    burst_packets: float
    cost: float
    certain_cost: float = np.inf
    low_bps: float = 0.0
    high_bps: float = 0.0


def rate_while_full(at_s: NDArray[np.float64], passed: NDArray[np.int64]) -> float | None:
    """Rate of the tokens between drops that are close to each other, in packets/s: the bucket is empty at each, so as
    many packets pass as there are tokens. A bucket that fills in between loses tokens, so only stretches without this
    count. ``None`` if there are too few.

    Args:
        at_s: times of the drops, in order, s.
        passed: packets that passed before each.
    """
    gaps = np.diff(at_s)
    if not len(gaps):
        return None
    begins = gaps > _APART * float(np.median(gaps))
    rate = None
    for _ in range(4):
        stretch = np.concatenate([[0], np.cumsum(begins)])
        sizes = np.bincount(stretch)
        some = (sizes >= _LEAST_DROPS)[stretch]
        if not some.any():
            return rate
        at, number = ((values - (np.bincount(stretch, values) / sizes)[stretch])[some] for values in (at_s, passed))
        if not at.any():
            return rate
        rate = float((at * number).sum() / (at * at).sum())
        begins = np.abs(np.diff(passed) - rate * gaps) > _STEP
    return rate


def virtual_queue(
    sent_s: NDArray[np.float64], lost: NDArray[np.bool_], wire_bits: float, error_s: float = 0.0
) -> VirtualQueue:
    """The token bucket that explains the drops best: its virtual queue is full at each drop, and at no other packet.

    Args:
        sent_s: times of departure, s.
        lost: the packets that were dropped.
        wire_bits: size of a packet, bits.
        error_s: error of the times, s.
    """
    order = np.argsort(sent_s, kind="stable")
    times, gone = sent_s[order], lost[order]
    arrived = (~gone).astype(np.int64)
    passed: NDArray[np.int64] = np.cumsum(arrived) - arrived
    span = max(float(times[-1] - times[0]), 1e-3)
    mean = max(float(passed[-1]) / span, 1e-3)

    def queues(rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        free = passed - rate * (times - times[0])
        queue = free - np.minimum.accumulate(free)
        return queue[gone], np.sort(queue[~gone])

    def fit(rate: Any) -> VirtualQueue:
        rate = float(rate)
        at_drops, accepted = queues(rate)
        best = VirtualQueue(rate * wire_bits, 0.0, np.inf)
        for limit in np.quantile(at_drops, (0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5)) - _MARGIN:
            missed = int((at_drops < limit).sum())
            wrong = len(accepted) - int(np.searchsorted(accepted, limit))
            cost = (missed + wrong) / max(1, len(at_drops))
            if cost < best.cost:
                best = VirtualQueue(rate * wire_bits, float(limit) + 1, cost)
        return best

    # A flow that meets an empty bucket time and again has the rate of the tokens between its drops.
    first, last = np.flatnonzero(gone)[[0, -1]]
    between = float(passed[last] - passed[first]) / max(float(times[last] - times[first]), 1e-3)
    steps = (*np.arange(-0.2, 1.6, 0.02), *np.arange(-0.02, 0.0201, 0.001))
    coarse = [fit(mean * np.exp(step)) for step in steps]
    if between > 0:
        coarse += [
            fit(between * (1 + step)) for step in (*np.arange(-8, 9) / max(float(passed[last]), 1.0), 1e-5, -1e-5)
        ]
    drops = np.flatnonzero(gone)
    full = rate_while_full(times[drops], passed[drops])
    if full is not None:
        coarse += [fit(full * (1 + step)) for step in _NEAR_FULL]
    near = min(coarse, key=lambda one: one.cost).rate_bps / wire_bits
    fine = [fit(near * np.exp(step)) for step in (0.0, *np.arange(-0.02, 0.0201, 0.002))]
    best = min((*coarse, *fine), key=lambda one: one.cost)
    alike = [one.rate_bps for one in (*coarse, *fine) if one.cost <= best.cost + _AS_WELL]
    at_drops, accepted = queues(best.rate_bps / wire_bits)
    limit, error = best.burst_packets - 1, error_s * best.rate_bps / wire_bits
    wrong = int((at_drops < limit - error).sum()) + len(accepted) - int(np.searchsorted(accepted, limit + error))
    return replace(best, certain_cost=wrong / max(1, len(at_drops)), low_bps=min(alike), high_bps=max(alike))
