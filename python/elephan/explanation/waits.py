"""How long packets waited for the bottleneck, and would have waited where they were dropped.

A round trip has a part that does not change and the wait for the bottleneck. Before the bottleneck, the packets of one
burst follow each other by the time that the link of the sender takes for one. What is known of a dropped packet comes
from its neighbors: at most the own packets between them were added to the queue of the packet before, unless others
sent some too, and the queue of the packet behind is what was left of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Seen

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_TIMER_S = 0.025
"""Least time between acknowledgments of which the second may be a timer's (Linux: 40 ms; RFC 1122: up to 500 ms)."""
_LATE_S = 0.001
"""Longest time by which Linux compresses acknowledgments behind a loss (``tcp_comp_sack_delay_ns``)."""
_SMALLEST, _FEWEST = 0.1, 8
"""Least size of a packet of others, relative to a full one, that is seen, and the fewest of them that show a size."""
_SPREAD = 0.03
"""Share of the drops by which a limit may explain fewer packets than the best one."""


@dataclass(frozen=True)
class Waits:
    """Waits of all transmissions, in the order in which they left.

    Attributes:
        at_s: time at which each reaches the bottleneck, but for a constant, s.
        wait_s: its wait, s; NaN if no acknowledgment shows it.
        exact: its acknowledgment was not delayed, so that its wait was not shorter either.
        lost: it was dropped.
        low_s, high_s: bounds of a wait that is not known, s; NaN for others.
        segment: its segment.
    """

    at_s: Floats
    wait_s: Floats
    exact: Flags
    lost: Flags
    low_s: Floats
    high_s: Floats
    segment: Longs

    @property
    def accepted_s(self) -> Floats:
        """Waits of the packets that were not dropped, as far as they are exactly known."""
        known: Floats = self.wait_s[self.exact]
        return known

    @property
    def likely_s(self) -> Floats:
        """Waits of all packets, s; NaN where no other packet shows it."""
        bounded = np.maximum(np.where(np.isfinite(self.high_s), self.high_s, self.low_s), 0.0)
        likely: Floats = np.where(np.isfinite(self.wait_s), self.wait_s, bounded)
        return likely

    @property
    def dropped_s(self) -> Floats:
        """Waits that dropped packets would have had at most, as the packet behind them shows."""
        known = np.where(np.isfinite(self.high_s), self.high_s, self.low_s)[self.lost]
        found: Floats = np.maximum(known[np.isfinite(known)], 0.0)
        return found

    def taken(self, which: Flags) -> Waits:
        """Some of the transmissions."""
        return Waits(*(getattr(self, column.name)[which] for column in fields(self)))


def waits_of(seen: Seen, empty_s: float, packet_s: float, before_s: float) -> Waits:
    """The waits of a capture.

    Args:
        seen: its deliveries and losses.
        empty_s: round trip of a segment that does not wait, s.
        packet_s: time of a full packet at the bottleneck, s.
        before_s: time of a full packet on the link of the sender, s.
    """
    count = len(seen.left_s)
    steps = np.arange(count) * before_s
    left = np.maximum.accumulate(seen.left_s - steps) + steps
    wait = np.full(count, np.nan)
    first = np.full(int(seen.left.max()) + 1, -1, dtype=np.int64)
    first[seen.left[::-1]] = np.arange(count)[::-1]
    rtt = np.where(_waits_for_timer(seen, packet_s), np.nan, seen.rtt_s)
    valid = np.isfinite(rtt)
    place = first[seen.trigger[valid]]
    wait[place] = np.maximum(rtt[valid] - empty_s - (left - seen.left_s)[place], 0.0)
    exact = np.zeros(count, dtype=bool)
    exact[place[seen.in_order[valid]]] = True
    low, high = _bounds(left, wait, exact, seen.left_lost, packet_s)
    return Waits(left, wait, exact, seen.left_lost, low, high, seen.left)


def _waits_for_timer(seen: Seen, packet_s: float) -> Flags:
    """Acknowledgments that a timer of the receiver may have sent: of a single segment, long after the one before."""
    gap = np.diff(seen.acked_s, prepend=-np.inf)
    late: Flags = (seen.delivered == 1) & (gap >= max(_TIMER_S, 1.5 * packet_s))
    late[0] = False
    # The first segment behind a hole comes with the acknowledgment of one that waited for the timer.
    first: Flags = (seen.delivered > 1) & ~seen.in_order & np.concatenate([[False], seen.in_order[:-1]])
    return late | first


def _bounds(at: Floats, wait: Floats, exact: Flags, lost: Flags, packet_s: float) -> tuple[Floats, Floats]:
    """Bounds of the waits of dropped packets, from the last known wait before each and the first one behind it."""
    places, known = np.arange(len(at)), np.isfinite(wait)
    low, high = np.full(len(at), np.nan), np.full(len(at), np.nan)
    before = np.maximum.accumulate(np.where(exact, places, -1))
    behind = np.minimum.accumulate(np.where(known, places, len(at))[::-1])[::-1]
    entered = np.cumsum(~lost)
    some = np.flatnonzero(~known & (before >= 0))
    last = before[some]
    low[some] = wait[last] + (entered[some - 1] - entered[last] + 1) * packet_s - (at[some] - at[last])
    some = np.flatnonzero(~known & (behind < len(at)))
    next_ = behind[some]
    high[some] = wait[next_] + at[next_] - at[some] - (entered[next_ - 1] - entered[some] + ~lost[some]) * packet_s
    return low, high


@dataclass(frozen=True)
class FullQueue:
    """The wait from which on packets are dropped.

    Attributes:
        limit_s: the wait, s.
        low_s, high_s: waits that explain the drops nearly as well, s.
        cost: packets that were accepted above or dropped below it, relative to the drops.
        early: drops below it.
        below: packets whose wait was below it.
        deep: drops below half of it.
        low: packets whose wait was below half of it.
        full: share of the accepted packets that nearly waited so long.
    """

    limit_s: float
    low_s: float
    high_s: float
    cost: float
    early: int
    below: int
    deep: int
    low: int
    full: float


def full_queue(waits: Waits, slack: float, least_s: float) -> FullQueue:
    """The wait that divides accepted from dropped packets best.

    Args:
        waits: the waits.
        slack: difference from the limit, relative to it, up to which a packet on the wrong side counts for nothing.
        least_s: the least such difference, s.
    """
    accepted, dropped = np.sort(waits.accepted_s), np.sort(waits.dropped_s)
    tried = np.unique(np.concatenate([accepted, dropped, np.nextafter(dropped, np.inf)]))
    margin = np.maximum(slack * tried, least_s)
    above = len(accepted) - np.searchsorted(accepted, tried + margin, side="right")
    early = np.searchsorted(dropped, tried - margin, side="left")
    # Packets behind a loss count too: their acknowledgments are late by a little, so their waits were shorter at most.
    # An overflow of slow start shows hardly any others.
    late = np.sort(waits.wait_s[np.isfinite(waits.wait_s) & ~waits.exact])
    passed = len(late) - np.searchsorted(late, tried + margin + _LATE_S + least_s, side="right")
    wrong = above + early + passed
    least = int(wrong.min())
    best = tried[wrong == least]
    near = tried[wrong <= least + _SPREAD * len(dropped)]
    limit = float((best[0] + best[-1]) / 2)
    # The waits of about half of the accepted packets are known if a receiver acknowledges every second one.
    unseen = float((~waits.lost).sum()) / max(1, len(accepted))
    below = round(unseen * int(np.searchsorted(accepted, limit))) + int(np.searchsorted(dropped, limit))
    early_drops = int(np.searchsorted(dropped, limit - max(slack * limit, least_s)))
    deep_drops = int(np.searchsorted(dropped, limit / 2))
    low = round(unseen * int(np.searchsorted(accepted, limit / 2))) + deep_drops
    full = float(np.mean(accepted >= limit - 2 * least_s)) if len(accepted) else 0.0
    cost = least / max(1, len(dropped))
    return FullQueue(limit, float(near[0]), float(near[-1]), cost, early_drops, below, deep_drops, low, full)


@dataclass(frozen=True)
class OtherPackets:
    """Other traffic in the queue.

    Attributes:
        share: its share of the bytes that arrive.
        size: size of most of its packets, relative to a full one.
    """

    share: float
    size: float

    @property
    def more(self) -> float:
        """Packets in a queue, as a multiple of the full ones that it could hold."""
        return 1.0 + self.share * (1.0 / self.size - 1.0)


def other_packets(waits: Waits, packet_s: float, limit_s: float) -> OtherPackets:
    """Packets of others in a queue, from the waits of neighboring packets while it was at least half full."""
    exact = np.flatnonzero(waits.exact)
    grown = np.diff(waits.wait_s[exact]) + np.diff(waits.at_s[exact])
    own = np.diff(np.cumsum(~waits.lost)[exact]) * packet_s
    full = (waits.wait_s[exact][1:] > limit_s / 2) & (waits.wait_s[exact][:-1] > limit_s / 2)
    added = np.maximum((grown - own)[full] / packet_s, 0.0)
    size = usual_size(added)
    if size is None:
        return OtherPackets(0.0, 1.0)
    total = float(added.sum())
    return OtherPackets(total / max(total + float(own[full].sum()) / packet_s, 1e-9), size)


def usual_size(added: Floats) -> float | None:
    """Size of most packets of others, relative to a full one, from what they added between neighboring packets."""
    some = added[(added > _SMALLEST) & (added < 1 + _SMALLEST)]
    if len(some) < _FEWEST:
        return None
    counts, edges = np.histogram(some, bins=np.linspace(0, 1 + _SMALLEST, 24))
    place = int(counts.argmax())
    return min(1.0, float(np.median(some[(some >= edges[place]) & (some <= edges[place + 1])])))
