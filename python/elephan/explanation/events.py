"""Events of a sender that a capture shows, for replays: its ACKs arrive, and its segments leave.

Bytes become segments: a new one begins where the sender began one, and after each full payload. The trigger of an ACK,
that is the segment whose arrival caused it, follows from the SACK blocks and the echoed timestamp.

At the receiver, and in between, ACKs reach the sender later than they were captured, by the least round trip on the
sender's side. Segments left when their timestamps say so, by a clock that counts milliseconds as a rule, and not before
the ACK arrived whose timestamp they echo. Segments that were lost before the capture left with those ahead of them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.as_sent import HEADER_BYTES, MS_NS, AsSent, bursts_of, numbers
from elephan.explanation.connection import MOST_FITTED
from elephan.scenario import ScenarioError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from elephan.explanation.connection import Connection, Handshake

_MOST_ROWS, _FEWEST_ROWS = 2**62, 2000
"""Rows of the table, and those of an empty one, which show the first window."""
_FIRST_NS = 1_000_000_000
"""Time of the first packet in a replay, ns: the clocks of a host show later times than zero."""
_TOGETHER_NS = 20_000
"""Segments at most this far apart left together."""
_OWD_UNIT_NS = 16
_UNKNOWN_WINDOW = 2**30
_ECHO = 0x40
_US = 1000
_LEAST_SHARE = 0.1
"""Share of the least RTT of data that the handshake takes at least: its packets are smaller."""
_ROUND_TRIP = 0.9
"""Share of the least round trip that passes at least before a lost retransmission is repeated."""
_DUPLICATES = 3
"""Segments behind a hole that arrive before it is taken for lost (RFC 6675)."""
_DAY_NS = 86_400 * 10**9
_MOST_DAYS = 30
"""Longest time of a connection, in days: the engine counts ps in 64 bits."""


@dataclass(frozen=True)
class Events:
    """Events of a sender.

    Attributes:
        table: one row for each event, as the engine reads them.
        sent_s: time at which each segment first left, s.
        payload_bytes: payload of a full segment, bytes.
        first_window: segments that left before the first ACK.
        handshake_s: RTT of the handshake, s.
        least_rtt_s: least RTT of data, s; away from the sender the sum of what both sides show, since times of
            departure are those of the sender's clock.
        start_s: time of the first event, s.
        offset_s: what to add to a time of the capture to have one of the replay, s.
        phase_ns: time of the sender's clock within a millisecond at the replay's time zero, ns.
        ecn: the segments are ECN-capable.
        exact: the capture is from the sender, so that times of departure are exact.
        clock_ns: tick of the sender's timestamps, ns.
        seen: what the capture shows of the path.
        within: times between which segments left, if the capture is from elsewhere and the sender numbers its packets.
    """

    table: pl.DataFrame
    sent_s: NDArray[np.float64]
    payload_bytes: int
    first_window: int
    handshake_s: float
    least_rtt_s: float
    start_s: float
    offset_s: float
    phase_ns: int
    ecn: bool
    exact: bool
    clock_ns: int
    seen: Seen
    within: Within | None = None

    @property
    def segments(self) -> int:
        """Number of segments."""
        return len(self.sent_s)

    @property
    def wire_bytes(self) -> int:
        """Size of a full segment with its headers, bytes."""
        return self.payload_bytes + HEADER_BYTES


@dataclass(frozen=True)
class Within:
    """Transmissions whose times are known within bounds only.

    Attributes:
        low_s, high_s: times between which each segment first left, s.
        known: for each segment, true if the capture has this transmission.
        captured: the packets that the capture has, in the order in which they left, as the engine reads them: the
            segments of each, the number of those before it that the capture lacks, and the times.
    """

    low_s: NDArray[np.float64]
    high_s: NDArray[np.float64]
    known: NDArray[np.bool_]
    captured: pl.DataFrame


@dataclass(frozen=True)
class Seen:
    """Deliveries and losses that show the path.

    Attributes:
        acked_s: time of each ACK that delivers segments, s.
        delivered: segments delivered by it.
        trigger: the segment whose arrival caused it.
        rtt_s: time since this segment left, s; NaN if it was retransmitted.
        in_order: no data are missing before it; while some are, receivers delay ACKs, and an ACK of delayed data may
            come with the first segment behind a hole.
        lost: for each segment, true if it was retransmitted and no copy of it arrived twice.
        left_s: times of all transmissions, in order, s.
        left: their segments.
        left_lost: true for those that were lost.
        late: segments that others overtook on the path. What is late by a round trip may be a repetition, and is left
            out.
        late_s: how much later each arrived than the first one that overtook it, s.
        ahead_s: how much earlier it left than that one, s; away from the sender 0, since the times are not known.
        shows_order: the capture shows if packets were overtaken.
    """

    acked_s: NDArray[np.float64]
    delivered: NDArray[np.int64]
    trigger: NDArray[np.int64]
    rtt_s: NDArray[np.float64]
    in_order: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    left_s: NDArray[np.float64]
    left: NDArray[np.int64]
    left_lost: NDArray[np.bool_]
    late: NDArray[np.int64]
    late_s: NDArray[np.float64]
    ahead_s: NDArray[np.float64]
    shows_order: bool


def events_of(connection: Connection, *, replayed: bool = True) -> Events:
    """The events of a connection.

    Args:
        connection: its packets.
        replayed: a replay shall read them; without, the table is empty, and a long capture needs half of the memory.

    Raises:
        ScenarioError: the capture does not show when segments left, or has no acknowledgments.
    """
    if connection.acks.is_empty():
        raise ScenarioError("the capture has no acknowledgments, and a replay needs those that the sender received")
    walk = _Walk(connection, _MOST_ROWS if replayed else _FEWEST_ROWS)
    walk.run()
    return walk.events()


@dataclass(slots=True)
class _Segment:
    """Transmissions of a segment: the first, the latest and its timestamp."""

    first_ns: int = -1
    last_ns: int = -1
    stamp: int = -1
    count: int = 0


class _Walk:
    """Walks through a capture in order of time, with the scoreboard of its sender."""

    def __init__(self, connection: Connection, most_rows: int) -> None:
        capture = AsSent(connection)
        self.most_rows = most_rows
        self.connection, self.capture = connection, capture
        acks = connection.acks
        self.count = min(len(capture.begins), MOST_FITTED)
        self.segments = [_Segment() for _ in range(self.count)]
        self.sacked = bytearray(self.count)
        self.sacked_count = 0
        self.una, self.next = 0, 0
        self.rows: list[tuple[Any, ...]] = []
        # Five numbers of each ACK that delivers segments, and three of each transmission.
        self.deliveries, self.left = array("q"), array("q")
        self.repeated: list[tuple[int, int]] = []
        self.cumulative = capture.whole(acks["ack"].to_numpy().astype(np.int64))
        window = numbers(acks["window"]) // capture.payload
        self.window = np.where(window < 0, _UNKNOWN_WINDOW, window)
        self.delivered_ns, self.known_lost_ns, self.recovery_end = -1, -1, 0
        self.least_ns = int(_ROUND_TRIP * connection.position.rtt_ns)
        self.knowledge: list[int] = []
        self.knowledge_ns: list[int] = []
        self.idle_ns: list[int] = []
        # Time of the first retransmission that the capture has of a segment; those segments, the last one first, until
        # they are known as lost; those that are; and those whose retransmission is lost, too.
        self.copies: dict[int, int] = {}
        self.lost: list[int] = []
        self.known_lost: list[int] = []
        self.added: deque[int] = deque()
        # Segments that others overtook, with the times at which these left and arrived, ns; the first segment behind
        # all that arrived; and those of them that arrived, with the times by which they came later and left earlier.
        self.overtaken: dict[int, tuple[int, int]] = {}
        self.top = 0
        self.late: list[tuple[int, int, int]] = []
        # Packets that have each segment first, and those of the capture, with their segments.
        self.first_places: list[int] = []
        self.captured: list[tuple[int, int, int]] = []
        self.echoes = (acks["flags"].to_numpy() & _ECHO) != 0
        self.blocks = [
            (
                capture.first(numbers(acks[f"sack_{block}_first"])),
                capture.whole(numbers(acks[f"sack_{block}_past"])),
                numbers(acks[f"sack_{block}_first"]) >= 0,
            )
            for block in range(1, 5)
        ]

    def run(self) -> None:
        """Take all packets; at equal times ACKs come before the segments that they release."""
        capture = self.capture
        times = np.concatenate([capture.sent_ns, capture.acked_ns])
        is_segment = np.concatenate([np.ones(len(capture.sent_ns)), np.zeros(len(capture.acked_ns))])
        first = np.searchsorted(capture.begins, capture.seq, side="right") - 1
        # Data before the first byte that was captured first are left out.
        past = np.maximum(capture.whole(capture.past), first + 1)
        first = np.maximum(first, 0)
        if not capture.exact:
            again = np.flatnonzero(
                capture.past <= np.concatenate([capture.seq[:1], np.maximum.accumulate(capture.past)[:-1]])
            )
            self.copies = dict(zip(first[again[::-1]].tolist(), capture.sent_ns[again[::-1]].tolist(), strict=True))
            self.lost = sorted(self.copies, reverse=True)
        sent = list(zip(capture.sent_ns.tolist(), first.tolist(), past.tolist(), capture.tsval.tolist(), strict=True))
        for place in np.lexsort((is_segment, times)).tolist():
            if place >= len(sent):
                self._take(place - len(sent))
            elif past[place] > 0:
                self._send(place, *sent[place])

    def _send(self, place: int, at: int, first: int, past: int, stamp: int) -> None:
        past = min(past, self.count)
        if self.capture.found is not None:
            self._note_captured(place, first, past)
        if not self.capture.exact:
            if self.idle_ns and self.idle_ns[-1] == at:
                self.idle_ns.pop()
            # A tail loss probe repeats the last segment, and says nothing of those before it.
            if past != self.next:
                self._add_lost(at, min(first, self.next))
        if first < self.next:
            again = min(past, self.next)
            for segment in range(first, again):
                self._note_sent(segment, at, stamp)
            if len(self.rows) < self.most_rows:
                self.rows.append((1, at, first, again, False))
        if past > self.next:
            for segment in range(self.next, past):
                self._note_sent(segment, at, stamp)
                self.first_places.append(place)
            last = self.rows[-1] if self.rows else None
            if last and last[0] == 1 and last[4] and last[3] == self.next and at - last[1] <= _TOGETHER_NS:
                self.rows[-1] = (*last[:3], past, True)
            elif len(self.rows) < self.most_rows:
                self.rows.append((1, at, self.next, past, True))
            self.next = past

    def _note_captured(self, place: int, first: int, past: int) -> None:
        if self.capture.found is None or past <= first:
            return
        if not self.capture.found.is_lost[place]:
            self.captured.append((first, past, place))

    def _add_lost(self, at: int, end: int) -> None:
        """Add retransmissions that were lost before the capture: a sender repeats what it knows as lost, in the order
        of the stream, before it sends what is behind ``end`` and new data. They left with an ACK that released nothing
        else."""
        while self.known_lost and self.known_lost[0] < end:
            segment = heappop(self.known_lost)
            # The loss of a retransmission takes a round trip to show.
            latest = self.copies[segment] - self.least_ns
            if segment < self.una or self.sacked[segment] or self.copies[segment] <= at:
                continue
            state = self.segments[segment]
            known = self.knowledge_ns[bisect_right(self.knowledge, state.last_ns)]
            place = bisect_left(self.idle_ns, known)
            is_idle = place < len(self.idle_ns)
            left = self.idle_ns[place] if is_idle else at
            if left > latest:
                continue
            if is_idle:
                self.idle_ns.pop(place)
            self._note_sent(segment, left, state.stamp)
            if len(self.rows) < self.most_rows:
                row = (1, left, segment, segment + 1, False)
                self.rows.insert(bisect_right(self.rows, left, key=itemgetter(1)), row)
            self.added.append(segment)

    def _learn(self, at: int, sent_ns: int) -> None:
        """Note at an ACK that segments that left before ``sent_ns`` and have not arrived are lost (RFC 8985)."""
        self.delivered_ns = max(self.delivered_ns, sent_ns)
        is_recovering = self.una < self.recovery_end
        if not is_recovering and self.sacked_count >= _DUPLICATES:
            self.recovery_end, is_recovering = self.next, True
        if is_recovering and self.delivered_ns > self.known_lost_ns:
            self.known_lost_ns = self.delivered_ns
            self.knowledge.append(self.delivered_ns)
            self.knowledge_ns.append(at)
            while self.lost and 0 <= self.segments[self.lost[-1]].first_ns < self.known_lost_ns:
                heappush(self.known_lost, self.lost.pop())
            while self.added and self.segments[self.added[0]].last_ns < self.known_lost_ns:
                heappush(self.known_lost, self.added.popleft())
        if is_recovering:
            self.idle_ns.append(at)
        else:
            self.idle_ns.clear()

    def _note_sent(self, segment: int, at: int, stamp: int) -> None:
        state = self.segments[segment]
        if not state.count:
            state.first_ns = at
        state.last_ns, state.stamp, state.count = at, stamp, state.count + 1
        self.left.extend((at, segment, state.count))

    def _take(self, ack: int) -> None:
        at = int(self.capture.acked_ns[ack])
        cumulative = min(int(self.cumulative[ack]), self.next)
        blocks = [
            (int(first[ack]), min(int(past[ack]), self.next))
            for first, past, there in self.blocks
            if there[ack] and first[ack] < past[ack]
        ]
        repeated = (0, 0)
        if blocks and _is_report(blocks, cumulative):
            repeated, blocks = blocks[0], blocks[1:]
        blocks = [block for block in blocks[:3] if block[0] < block[1] and block[1] > cumulative]
        echo = int(self.capture.ack_tsecr[ack])
        before = self.una + self.sacked_count
        self._arrive(at, cumulative, blocks, echo)
        trigger = self._trigger(cumulative, blocks, repeated, echo)
        self._overtake(at, trigger, cumulative, blocks)
        delivered = self.una + self.sacked_count - before
        if repeated[0] < repeated[1]:
            self.repeated.append(repeated)
        state = self.segments[trigger] if trigger < self.count else _Segment()
        is_of_resent = state.count > 1
        stamp = state.last_ns
        if is_of_resent and 0 <= echo < state.stamp:
            # The echoed timestamp is that of the original.
            stamp, is_of_resent = state.first_ns, False
        flags = is_of_resent | (bool(self.echoes[ack]) << 1)
        owd = int(self.capture.ack_tsval[ack]) * self.capture.clock_ns - stamp
        window = int(self.window[ack])
        if not self.capture.exact:
            self._learn(at, stamp if delivered > 0 else -1)
        if delivered > 0:
            self.deliveries.extend((at, delivered, trigger, -1 if state.count > 1 else stamp, not blocks))
        latest = 0
        if not self.capture.exact and echo >= 0:
            latest = echo * self.capture.clock_ns + self.capture.tick_ns + 2 * self.capture.clock_ns
        if len(self.rows) < self.most_rows:
            self.rows.append((0, at, cumulative, window, blocks, repeated, trigger, max(stamp, 0), flags, owd, latest))

    def _arrive(self, at: int, cumulative: int, blocks: list[tuple[int, int]], echo: int) -> None:
        """Note overtaken segments that an ACK delivers."""
        if not self.overtaken:
            return
        # Those that arrived before are not there any more.
        reached = [
            *range(self.una, cumulative),
            *(segment for first, past in blocks for segment in self._missing(max(first, cumulative), past)),
        ]
        arrived = [segment for segment in dict.fromkeys(reached) if segment in self.overtaken]
        for segment in arrived:
            (left_ns, arrived_ns), state = self.overtaken.pop(segment), self.segments[segment]
            # A retransmission has a later timestamp than the original.
            if state.count == 1 or (state.count == 2 and 0 <= echo < state.stamp and len(arrived) == 1):
                self.late.append((segment, at - arrived_ns, left_ns - state.first_ns))

    def _overtake(self, at: int, trigger: int, cumulative: int, blocks: list[tuple[int, int]]) -> None:
        """Note segments that have not arrived before ones behind them."""
        top = max([cumulative, *(past for _, past in blocks)])
        if top <= self.top:
            return
        if blocks and self.segments[trigger].count == 1:
            times = self.segments[trigger].first_ns, at
            for segment in range(max(self.top, cumulative), top):
                if not self.sacked[segment]:
                    self.overtaken[segment] = times
        self.top = top

    def _trigger(self, cumulative: int, blocks: list[tuple[int, int]], repeated: tuple[int, int], echo: int) -> int:
        """The segment whose arrival caused an ACK."""
        trigger = -1
        # A receiver delays ACKs until a segment arrives behind a hole, which the first block then reports.
        may_be_delayed = cumulative > self.una and not self.sacked_count
        if cumulative > self.una:
            trigger = cumulative - 1
            if self.sacked_count:
                trigger = self._filled(cumulative, echo)
                left = sum(self.sacked[self.una : cumulative])
                self.sacked_count -= left
            self.una = cumulative
        for first, past in blocks:
            newest = -1
            for segment in self._missing(max(first, self.una), past):
                self.sacked[segment] = 1
                self.sacked_count += 1
                newest = segment
            if trigger < 0 or (may_be_delayed and newest >= 0):
                trigger = newest
            may_be_delayed = False
        if trigger < 0:
            trigger = repeated[1] - 1 if repeated[1] else cumulative - 1
        return max(trigger, 0)

    def _missing(self, first: int, past: int) -> Iterator[int]:
        """Segments of a range that no SACK block has reported; blocks are long, and most of them is known."""
        segment = self.sacked.find(0, first, past)
        while segment >= 0:
            yield segment
            segment = self.sacked.find(0, segment + 1, past)

    def _filled(self, cumulative: int, echo: int) -> int:
        """The segment that filled the last hole below ``cumulative``: a retransmission if the echo is not older."""
        missing = [segment for segment in range(self.una, cumulative) if not self.sacked[segment]]
        resent = [segment for segment in missing if self.segments[segment].count > 1]
        if resent and (echo < 0 or self.segments[resent[0]].stamp <= echo):
            return max(resent, key=lambda segment: self.segments[segment].last_ns)
        return missing[-1] if missing else cumulative - 1

    def events(self) -> Events:
        """The events so far."""
        capture, shake = self.capture, self.connection.handshake
        base = min(int(capture.sent_ns[0]), *(row[1] for row in self.rows[:1])) - _FIRST_NS
        days = (max(int(capture.sent_ns[-1]), int(capture.acked_ns[-1])) - base) / _DAY_NS
        if days > _MOST_DAYS:
            raise ScenarioError(f"the packets of the connection span {days:.0f} days; a fit takes {_MOST_DAYS} at most")
        sent_s = (np.array([segment.first_ns for segment in self.segments[: self.next]]) - base) / 1e9
        deliveries = np.frombuffer(self.deliveries, dtype=np.int64).reshape(-1, 5)
        rtts = (deliveries[:, 0] - deliveries[:, 3])[deliveries[:, 3] >= 0]
        least_ns = int(rtts.min()) if len(rtts) else 0
        rtt_ns = _handshake_rtt(shake, least_ns)
        # A tail loss probe may leave before the first ACK.
        first_ack = next((row[1] for row in self.rows if row[0] == 0 and row[2] > 0), None)
        begun = int(capture.sent_ns[0])
        end = begun + rtt_ns // 2 if first_ack is None else min(first_ack, begun + rtt_ns // 2)
        first = [row for row in self.rows if row[0] == 1 and row[1] < end]
        before = sum(row[3] - row[2] for row in first)
        ended_early = (
            before < self.count and self.capture.ends[before - 1] - capture.begins[before - 1] < capture.payload
        )
        phase = base - capture.tick_ns
        if capture.exact and capture.tsval[0] >= 0:
            phase = base + int(np.max(capture.tsval * capture.clock_ns - capture.sent_ns))
        return Events(
            table=self._table(base) if self.most_rows > _FEWEST_ROWS else self._table(base).clear(),
            sent_s=sent_s,
            payload_bytes=capture.payload,
            first_window=max(1, before) if before >= 10 or not (ended_early or not capture.exact) else 10,
            handshake_s=rtt_ns / 1e9,
            least_rtt_s=(least_ns if capture.exact else self.connection.position.rtt_ns) / 1e9,
            start_s=_FIRST_NS / 1e9,
            offset_s=-base / 1e9,
            phase_ns=phase % MS_NS,
            ecn=bool((self.connection.segments["ecn"].to_numpy() > 0).any()),
            exact=capture.exact,
            clock_ns=capture.clock_ns,
            seen=self._seen(base),
            within=self._within(base),
        )

    def _within(self, base: int) -> Within | None:
        import polars as pl

        found = self.capture.found
        if found is None:
            return None
        first_place = np.array(self.first_places, dtype=np.int64)
        low_s, high_s = ((times[first_place] - base) / 1e9 for times in (found.low_ns, found.high_ns))
        first, past, place = np.array(self.captured, dtype=np.int64).reshape(-1, 3).T
        number = found.number[place]
        if (number < 0).any():
            return None
        order = np.argsort(number, kind="stable")
        first, past, place, number = first[order], past[order], place[order], number[order]
        unseen = np.maximum(np.diff(number, prepend=number[:1]) - np.concatenate([[0], (past - first)[:-1]]), 0)
        burst = bursts_of(found.taken(place), first, past, unseen)

        def ps(times_ns: NDArray[np.int64]) -> pl.Series:
            return pl.Series(np.maximum(times_ns[place] - base, 0) * 1000, dtype=pl.UInt64)

        numbers = {
            name: pl.Series(values, dtype=pl.UInt32)
            for name, values in {"first": first, "past": past, "unseen": unseen}.items()
        }
        captured = pl.DataFrame(
            {
                **numbers,
                "burst": pl.Series(burst, dtype=pl.UInt8),
                "low_ps": ps(found.low_ns),
                "high_ps": ps(found.high_ns),
            }
        )
        return Within(low_s, high_s, ~found.is_lost[first_place], captured)

    def _seen(self, base: int) -> Seen:
        found = np.frombuffer(self.deliveries, dtype=np.int64) if self.deliveries else np.array([0, 0, 0, -1, 0])
        at, delivered, trigger, stamp, in_order = found.reshape(-1, 5).T
        lost = np.array([segment.count > 1 for segment in self.segments[: self.next]], dtype=bool)
        for first, past in self.repeated:
            lost[first:past] = False
        late, late_ns, ahead_ns = np.array(self.late, dtype=np.int64).reshape(-1, 3).T
        if self.capture.late is not None:
            late, late_ns = self.capture.first(self.capture.late[0]), self.capture.late[1]
            ahead_ns = np.zeros_like(late_ns)
        some = (late_ns < self.least_ns) & (late < self.next)
        late, late_ns, ahead_ns = late[some], late_ns[some], ahead_ns[some]
        lost[late] = False
        # The delay of a packet that others overtook is no wait.
        rtt = np.where((stamp >= 0) & ~np.isin(trigger, late), (at - stamp) / 1e9, np.nan)
        # Retransmissions that were lost before the capture were added late.
        left_at, left, number = np.frombuffer(self.left, dtype=np.int64).reshape(-1, 3).T
        order = np.lexsort((number, left, left_at))
        left_at, left, number = left_at[order], left[order], number[order]
        last = np.array([segment.count for segment in self.segments], dtype=np.int64)[left]
        shows_order = self.capture.exact or self.capture.late is not None
        return Seen(
            (at - base) / 1e9, delivered, trigger, rtt, in_order > 0, lost, (left_at - base) / 1e9, left,
            (number < last) & lost[left], late, late_ns / 1e9, ahead_ns / 1e9, shows_order,
        )  # fmt: skip

    def _table(self, base: int) -> pl.DataFrame:
        import polars as pl

        rows = [row for row in self.rows if row[1] - base >= 0]
        for before, row in pairwise(rows):
            assert row[1] >= before[1], "events are in order"
        numbers = ["first", "past", "trigger", "owd", "repeated_first", "repeated_past"]
        edges = [f"{edge}_{block}" for block in (1, 2, 3) for edge in ("sack", "past")]
        table: dict[str, list[int]] = {name: [0] * len(rows) for name in [*numbers, *edges]}
        small: dict[str, list[int]] = {name: [0] * len(rows) for name in ("kind", "flags", "count")}
        stamps, echoes = [0] * len(rows), [0] * len(rows)
        least = min((row[9] for row in rows if row[0] == 0), default=0)
        for place, row in enumerate(rows):
            small["kind"][place] = row[0]
            table["first"][place], table["past"][place] = row[2], row[3]
            if row[0]:
                continue
            _, _, _, _, blocks, repeated, trigger, stamp, flags, owd, latest = row
            small["flags"][place], small["count"][place] = int(flags), len(blocks)
            for block, (first, past) in enumerate(blocks, start=1):
                table[f"sack_{block}"][place], table[f"past_{block}"][place] = first, past
            table["repeated_first"][place], table["repeated_past"][place] = repeated
            table["trigger"][place] = trigger
            table["owd"][place] = min((owd - least + MS_NS) // _OWD_UNIT_NS, 2**32 - 1)
            stamps[place] = max(0, stamp - base) * 1000
            echoes[place] = max(0, latest - base) * 1000
        at = [(row[1] - base) * 1000 for row in rows]
        return pl.DataFrame(
            [
                *(pl.Series(name, values, dtype=pl.UInt8) for name, values in small.items()),
                *(pl.Series(name, values, dtype=pl.UInt32) for name, values in table.items()),
                pl.Series("at_ps", at, dtype=pl.UInt64),
                pl.Series("stamp_ps", stamps, dtype=pl.UInt64),
                pl.Series("echo_ps", echoes, dtype=pl.UInt64),
            ]
        )


def _is_report(blocks: list[tuple[int, int]], cumulative: int) -> bool:
    """True if the first block reports segments that arrived twice (RFC 2883 section 4)."""
    first = blocks[0]
    inside = len(blocks) > 1 and blocks[1][0] <= first[0] and first[1] <= blocks[1][1]
    return first[1] <= cumulative or inside


def _handshake_rtt(shake: Handshake, least_ns: int) -> int:
    """RTT of the handshake, ns; the least RTT of data if it was not captured, or if its packets were added later."""
    if shake.syn_ns is None or shake.answer_ns is None:
        return max(least_ns, _US)
    complete = shake.answer_ns if shake.complete_ns is None else shake.complete_ns
    rtt_ns = int(complete - shake.syn_ns)
    return max(rtt_ns if rtt_ns > least_ns * _LEAST_SHARE else least_ns, _US)
