"""Departures that a capture away from the sender shows: of segments that it has, and of those lost before it.

A segment's timestamp says in which tick of its sender's clock it left, and its echo which ACKs had arrived by then. So
segments and ACKs with the same tick and the same echo belong together, in a *slot*. A sender releases data as ACKs
deliver data, so what left in a slot is spread over its ACKs by what they acknowledge.

Lost new data left between those before and behind them in the stream. They are spread over the slots between, within
bounds: their retransmission came a round trip later at least, and none left while a recovery repeated others. Where
that leaves both ends of a recovery, its beginning has those that ACKs would have released there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

_CLOCK_ERROR = 0.25
"""Share of a tick by which an ACK may miss the tick of the segments that it released."""
_FIRST_WINDOW = 10
"""Segments that leave before the first ACK (RFC 6928)."""
_USUAL = 8
"""Slots that show how many segments an ACK releases."""
_MOST_MISSING = 50_000
"""Most segments in a row that are taken for lost."""
_MOST_LACKING = 64
"""Slots that are searched for lost segments before a recovery."""
_LIMITED = 2
"""Duplicate ACKs that each release a new segment."""
_BURST_NS = 1.2e6
"""Time whose data leave at once, ns: 2^-10 s at the pacing rate of a host, which is 1.2 times that of its window."""
_NEIGHBORS = (32, 16, 8, 4, 2, 1, 0)
"""Groups on both sides that have a common window, if they can."""
_ROUND_TRIP = 0.9
"""Share of the least round trip after which a repetition can leave at the earliest."""


@dataclass(frozen=True)
class Packets:
    """Packets with data, in order of time.

    Attributes:
        seq, past: first byte and byte after the last.
        at_ns: time of departure.
        tsval, tsecr: timestamp and its echo.
        low_ns, high_ns: times between which the packet left.
        number: its place among the packets of the sender, if they are numbered, and -1 otherwise.
        pushes: it asks for delivery (PSH); Linux asks so with the last one of several that leave together.
        is_lost: the capture lacks the packet.
    """

    seq: Longs
    past: Longs
    at_ns: Longs
    tsval: Longs
    tsecr: Longs
    number: Longs
    pushes: NDArray[np.bool_]
    low_ns: Longs
    high_ns: Longs
    is_lost: NDArray[np.bool_]

    def taken(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Packets:
        """Some of the packets, or all in another order."""
        return Packets(*(column[places] for column in self._columns()))

    def joined(self, seq: Longs, past: Longs, at_ns: Longs, like: Longs) -> Packets:
        """The packets and some more that were lost, with the timestamps of the packets ``like``. At equal times those
        that begin earlier in the stream come first."""
        number, is_lost = np.full(len(seq), -1), np.ones(len(seq), dtype=bool)
        more = Packets(seq, past, at_ns, self.tsval[like], self.tsecr[like], number, ~is_lost, at_ns, at_ns, is_lost)
        both = zip(self._columns(), more._columns(), strict=True)
        whole = Packets(*(np.concatenate(pair) for pair in both))
        return whole.taken(np.lexsort((whole.seq, whole.at_ns)))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return (
            self.seq, self.past, self.at_ns, self.tsval, self.tsecr, self.number, self.pushes, self.low_ns,
            self.high_ns, self.is_lost,
        )  # fmt: skip


@dataclass(frozen=True)
class Arrivals:
    """ACKs at the sender, in order of time.

    Attributes:
        at_ns: time of arrival.
        tsval: timestamp.
        freed: bytes that each delivers; one segment at least.
        advances: it acknowledges data for the first time.
        reached: position up to which all data are acknowledged.
    """

    at_ns: Longs
    tsval: Longs
    freed: Longs
    advances: NDArray[np.bool_]
    reached: Longs


def departures(
    packets: Packets, acks: Arrivals, clock_ns: int, rtt_ns: int, payload: int, opened_ns: int | None
) -> tuple[Packets, int]:
    """All packets that the sender sent, as far as a capture elsewhere shows them.

    Args:
        packets: those of the capture, by the times at which it saw them.
        acks: ACKs at the sender, by the same clock.
        clock_ns: tick of the sender's timestamps, ns.
        rtt_ns: least round trip, ns.
        payload: payload of a full segment, bytes.
        opened_ns: arrival of the SYN-ACK at the sender, if the sender opened the connection.

    Returns:
        the packets by times of departure, and a time at which a tick begins.
    """
    seen_ns = packets.at_ns
    ticks = packets.tsval * clock_ns
    begin_ns = int((seen_ns - ticks).min())
    order = np.argsort(packets.tsval, kind="stable")
    packets, seen_ns, ticks = packets.taken(order), seen_ns[order], ticks[order]
    begin_ns += _phase(ticks + begin_ns, packets.tsecr, acks, clock_ns)
    low_ns, high_ns = _bounds(packets, ticks + begin_ns, acks, clock_ns)
    packets = replace(packets, low_ns=low_ns, high_ns=high_ns)
    slots = _Slots(packets, acks, int(seen_ns[0]) if opened_ns is None else opened_ns, begin_ns, clock_ns)
    return slots.with_lost(rtt_ns, payload), begin_ns


def _phase(tick_ns: Longs, echoes: Longs, acks: Arrivals, clock_ns: int) -> int:
    """Time to add to the beginnings of ticks, ns. Most segments leave when an ACK arrives, so ticks begin where most of
    these ACKs are within theirs. A sender that paces waits longer, but not for an ACK with a later timestamp."""
    stamps, first, count = np.unique(acks.tsval, return_index=True, return_counts=True)
    if not len(stamps):
        return 0
    place = np.minimum(np.searchsorted(stamps, echoes), len(stamps) - 1)
    last = first + count - 1
    early, late = acks.at_ns[first[place]] - tick_ns, acks.at_ns[last[place]] - tick_ns
    known = (stamps[place] == echoes) & (early < 2 * clock_ns) & (late > -2 * clock_ns)
    if not known.any():
        return 0
    low, high = _most_within(early[known] - clock_ns, late[known])
    later = np.append(acks.at_ns[first], acks.at_ns[-1] + clock_ns)[place + 1] - tick_ns
    least, most = _most_within(early[known] - clock_ns, later[known])
    return int(np.clip((low + high) // 2, least, most))


def _most_within(low: Longs, high: Longs) -> tuple[int, int]:
    """The span that is inside most intervals."""
    edges = np.concatenate([low, high])
    steps = np.repeat([1, -1], len(low))
    order = np.lexsort((-steps, edges))
    best = int(np.argmax(np.cumsum(steps[order])))
    edges = edges[order]
    return int(edges[best]), int(edges[min(best + 1, len(edges) - 1)])


def _bounds(packets: Packets, tick_ns: Longs, acks: Arrivals, clock_ns: int) -> tuple[Longs, Longs]:
    """Times between which packets left: in the tick of their timestamp, and after the first ACK with the timestamp that
    they echo, before any with a later one."""
    slack = int(_CLOCK_ERROR * clock_ns)
    low, high = tick_ns - slack, tick_ns + clock_ns + slack
    stamps, first = np.unique(acks.tsval, return_index=True)
    if len(stamps):
        arrived = np.append(acks.at_ns[first], np.iinfo(np.int64).max)
        later = np.minimum.accumulate(arrived[::-1])[::-1]
        behind = np.searchsorted(stamps, packets.tsecr, side="right")
        own = np.maximum(behind - 1, 0)
        echoed = stamps[own] == packets.tsecr
        low = np.where(echoed, np.maximum(low, np.minimum(arrived[own], high)), low)
        high = np.minimum(high, later[behind])
    return np.minimum(low, high), np.maximum(low, high)


def _common(least: Longs, most: Longs) -> Longs:
    """A window for each group between its bounds, and if possible between those of its neighbors."""
    found = (least + most) // 2
    done = np.zeros(len(found), dtype=bool)
    for reach in _NEIGHBORS:
        low = maximum_filter1d(least, 2 * reach + 1, mode="nearest")
        high = minimum_filter1d(most, 2 * reach + 1, mode="nearest")
        fits = ~done & (low <= high)
        found[fits] = (low[fits] + high[fits]) // 2
        done |= fits
    return found


class _Slots:
    """ACKs, and departures that answer none, in order of time; and in which of them each packet left."""

    def __init__(self, packets: Packets, acks: Arrivals, first_ns: int, begin_ns: int, clock_ns: int) -> None:
        self.packets = packets
        arrivals: dict[int, list[int]] = {}
        for place, stamp in enumerate(acks.tsval.tolist()):
            arrivals.setdefault(stamp, []).append(place)
        at = acks.at_ns.tolist()
        slack = int(_CLOCK_ERROR * clock_ns)
        begins = (packets.tsval * clock_ns + begin_ns).tolist()
        echoes = packets.tsecr.tolist()
        changed = (np.diff(packets.tsval) != 0) | (np.diff(packets.tsecr) != 0)
        edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(begins)]
        own_ns: list[int] = []
        # For each group of packets, its ACKs as a range, or a place among the departures that answer none.
        self.groups: list[tuple[int, int, int, int]] = []
        for first, past in pairwise(edges):
            begin = begins[first]
            known = arrivals.get(echoes[first], [])
            fitting = [place for place in known if begin <= at[place] < begin + clock_ns]
            if not fitting:
                near = [place for place in known if begin - slack <= at[place] < begin + clock_ns + slack]
                fitting = near[:1]
            if fitting:
                self.groups.append((first, past, fitting[0], fitting[-1] + 1))
            else:
                middle = begin + clock_ns // 2
                if first == 0:
                    middle = int(np.clip(first_ns, begin, begin + clock_ns - 1))
                self.groups.append((first, past, -1, len(own_ns)))
                own_ns.append(middle)
        times = np.concatenate([acks.at_ns, np.array(own_ns, dtype=np.int64)])
        order = np.argsort(times, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self.at_ns = times[order]
        least = int(acks.freed.min()) if len(acks.freed) else 1
        own = np.full(len(own_ns), least, dtype=np.int64)
        if self.groups[0][2] < 0:
            own[0] *= _FIRST_WINDOW
        self.freed = np.concatenate([acks.freed, own])[order]
        self.advances = np.concatenate([acks.advances, np.zeros(len(own), dtype=bool)])[order]
        self.reached = np.concatenate([acks.reached, np.zeros(len(own), dtype=np.int64)])[order]
        self.ranges = [
            (first, past, int(rank[low]), int(rank[high - 1]) + 1) if low >= 0
            else (first, past, int(rank[len(acks.at_ns) + high]), int(rank[len(acks.at_ns) + high]) + 1)
            for first, past, low, high in self.groups
        ]  # fmt: skip

    def with_lost(self, rtt_ns: int, payload: int) -> Packets:
        """All packets at their times: within a slot spread over its ACKs, with lost new data between them."""
        packets = self.packets
        slot = np.zeros(len(packets.seq), dtype=np.int64)
        reach = np.cumsum(self.freed)
        for first, past, low, high in self.ranges:
            if high - low == 1:
                slot[first:past] = low
                continue
            before = reach[low] - self.freed[low]
            whole = max(1, int(reach[high - 1] - before))
            share = (np.arange(past - first) + 0.5) / (past - first)
            slot[first:past] = low + np.searchsorted(reach[low:high] - before, share * whole, side="left")
        self._place_bursts(slot, payload)
        slot = np.maximum.accumulate(slot)
        packets = replace(packets, at_ns=self.at_ns[slot])
        return self._with_lost(packets, slot, rtt_ns, payload)

    def _place_bursts(self, slot: Longs, payload: int) -> None:
        """Put bursts of new data where the window lets them leave. A host sends what a millisecond carries at once
        (``tcp_tso_autosize``), when ACKs have freed room for all of it."""
        packets = self.packets
        highest = np.maximum.accumulate(packets.past)
        first, past, low, high = np.array(self.ranges, dtype=np.int64).T
        before = np.where(first > 0, highest[first - 1], packets.seq[0])
        advanced = np.concatenate([[0], np.cumsum(self.advances)])
        plain = (packets.seq[first] >= before) & (advanced[high] - advanced[low] == high - low)
        places = np.flatnonzero(plain)
        if not len(places):
            return
        reached = np.maximum.accumulate(self.reached)
        sent = highest[past - 1]
        least, most = sent - reached[high - 1], sent - reached[low]
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            window = _common(least[run], most[run])
            for place, bound in zip(run.tolist(), window.tolist(), strict=True):
                begin, end = int(low[place]), int(high[place])
                if end - begin == 1:
                    continue
                answered = min(int(np.searchsorted(highest, reached[begin])), len(slot) - 1)
                rtt_ns = max(1, int(self.at_ns[begin] - self.at_ns[slot[answered]]))
                burst = max(2.0, _BURST_NS * max(bound, payload) / rtt_ns / payload)
                inside = np.arange(int(first[place]), int(past[place]))
                bursts = max(1, round(len(inside) / burst))
                if 2 * bursts > end - begin:
                    # Each ACK releases some.
                    continue
                for part in np.array_split(inside, bursts):
                    room = highest[part[-1]] - bound - payload // 2
                    slot[part] = begin + min(int(np.searchsorted(reached[begin:end], room)), end - begin - 1)

    def _with_lost(self, packets: Packets, slot: Longs, rtt_ns: int, payload: int) -> Packets:
        highest = np.maximum.accumulate(packets.past)
        is_new = packets.past > np.concatenate([packets.seq[:1], highest[:-1]])
        new = np.flatnonzero(is_new)
        ahead, behind = new[:-1], new[1:]
        missing = packets.seq[behind] > highest[ahead]
        ahead, behind = ahead[missing], behind[missing]
        if not len(ahead):
            return packets
        again = np.flatnonzero(~is_new)
        by_seq = again[np.argsort(packets.seq[again], kind="stable")]
        repeated_seq = packets.seq[by_seq]
        again_ns = packets.at_ns[again]
        least_ns = int(_ROUND_TRIP * rtt_ns)
        seqs: list[int] = []
        pasts: list[int] = []
        times: list[int] = []
        like: list[int] = []
        # Segments known in a slot.
        known = np.bincount(slot, minlength=len(self.at_ns)).tolist()
        for before, after in zip(ahead.tolist(), behind.tolist(), strict=True):
            begin, end = int(highest[before]), int(packets.seq[after])
            if end - begin > _MOST_MISSING * payload:
                # The capture has a gap, which no queue made.
                continue
            edges = [*range(begin, end, payload), end]
            low_ns, high_ns = int(packets.at_ns[before]), int(packets.at_ns[after])
            first, last = np.searchsorted(again_ns, [low_ns, high_ns], side="right")
            low, high = int(slot[before]), int(slot[after])
            # New data leave before the first repetition in between, or after the last one.
            early = high if last == first else int(np.searchsorted(self.at_ns, again_ns[first], side="left"))
            late = low if last == first else int(np.searchsorted(self.at_ns, again_ns[last - 1], side="left"))
            copies = np.searchsorted(repeated_seq, edges[:-1], side="left")
            copy_ns = [
                int(packets.at_ns[by_seq[place]])
                if place < len(by_seq) and repeated_seq[place] == seq else high_ns + 2 * rtt_ns
                for place, seq in zip(copies.tolist(), edges[:-1], strict=True)
            ]  # fmt: skip
            # A segment that was repeated a round trip after the data behind it may have left with these, unless the ACK
            # before would have released too little then.
            of_late = [at - least_ns >= high_ns and last > first for at in copy_ns]
            split = of_late.index(True) if True in of_late else len(of_late)
            split = max(split, min(len(of_late), self._lacking(known, low, max(early, low + 1))))
            times += self._spread(known, low, min(early, high), [at - least_ns for at in copy_ns[:split]])
            times += self._spread(known, max(late, low), high, copy_ns[split:])
            seqs += edges[:-1]
            pasts += edges[1:]
            like += [before] * split + [after] * (len(of_late) - split)
        return packets.joined(*(np.array(column, dtype=np.int64) for column in (seqs, pasts, times, like)))

    def _lacking(self, known: list[int], low: int, past: int) -> int:
        """Number of segments by which slots released less than the ones before."""
        lacking = (self._quota(known, slot) - known[slot] for slot in range(low, min(past, low + _MOST_LACKING)))
        return max(0, round(sum(lacking)))

    def _quota(self, known: list[int], slot: int) -> float:
        """Number of segments that a slot releases if it is like the ones before. The first duplicate ACKs release one
        segment each (RFC 3042)."""
        kind = self.advances[slot]
        begin = max(slot - _USUAL, 0)
        if not kind and self.advances[max(slot - _LIMITED, 0) : slot].any():
            return 1.0
        like = begin + np.flatnonzero(self.advances[begin:slot] == kind)
        freed = int(self.freed[like].sum())
        released = sum(known[place] for place in like.tolist())
        return released / freed * int(self.freed[slot]) if freed else 1.0

    def _spread(self, known: list[int], low: int, high: int, latest_ns: list[int]) -> list[int]:
        """Times of lost segments from one slot to another, which release as many as those before them, or more if these
        would be too few."""
        count = len(latest_ns)
        if not count:
            return []
        places: list[int] = []
        done = 0.0
        for slot in range(low, high):
            done += self._quota(known, slot) - known[slot]
            more = max(0, min(round(done), count) - len(places))
            places += [slot] * more
            known[slot] += more
            if len(places) == count:
                break
        lacking = count - len(places)
        if lacking and high > low:
            for place in places:
                known[place] -= 1
            reach = np.cumsum(self.freed[low : high + 1])
            shares = (known[low] + np.arange(count) + 0.5) / (count + known[low] + known[high])
            places = (low + np.minimum(np.searchsorted(reach, shares * reach[-1]), high - low)).tolist()
            for place in places:
                known[place] += 1
        elif lacking:
            places += [high] * lacking
            known[high] += lacking
        return [
            int(max(min(self.at_ns[place], latest), self.at_ns[low]))
            for place, latest in zip(places, latest_ns, strict=True)
        ]
