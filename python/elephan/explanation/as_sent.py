"""A connection as its sender saw it: when packets left and ACKs arrived, and where segments begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.departures import Arrivals, Packets, departures
from elephan.explanation.modes import highest_mode
from elephan.scenario import ScenarioError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from elephan.explanation.connection import Connection

MS_NS = 1_000_000
_PUSH = 0x08
_ALONE_OR_NOT, _BEGINS, _JOINED = 0, 1, 2
_CLOCKS_HZ = (1000, 250, 100)
_IDENTS = 2**16
_LEAST_IN_ROW = 0.5
"""Share of packets that have the number after the last one, if they are numbered."""
_MOST_MISSING = 2**13
"""Most segments in a row that are lost."""
_MOST_ABSENT = 4
"""Most segments that the stream's numbers span, as a multiple of those in the capture, but for short ones."""
HEADER_BYTES = 52
_SYN_BYTES = 60


class AsSent:
    """The columns of a connection as the sender saw them: departures and arrivals in ns, edges as segments."""

    def __init__(self, connection: Connection) -> None:
        segments, acks = connection.segments, connection.acks
        self.payload = connection.mss
        seq = segments["seq"].to_numpy().astype(np.int64)
        past = seq + segments["bytes"].to_numpy().astype(np.int64)
        keep = past > seq
        if not keep.any():
            raise ScenarioError("the capture has no data of the sender")
        self.seq, self.past = seq[keep], past[keep]
        self.tsval = numbers(segments["tsval"])[keep]
        self.tsecr = numbers(segments["tsecr"])[keep]
        seen_ns = segments["time_ns"].to_numpy().astype(np.int64)[keep]
        self.acked_ns = acks["time_ns"].to_numpy().astype(np.int64)
        self.ack_tsval, self.ack_tsecr = numbers(acks["tsval"]), numbers(acks["tsecr"])
        self.exact = connection.position.place == "sender"
        self.clock_ns, self.tick_ns = MS_NS, 0
        self.found: Packets | None = None
        self.late: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        if self.exact:
            self.sent_ns = seen_ns
        else:
            self._shift(connection, seen_ns)
        self._cut()

    def _shift(self, connection: Connection, seen_ns: NDArray[np.int64]) -> None:
        """Turn the times of a capture elsewhere into those of the sender."""
        if not len(self.tsval) or (self.tsval < 0).any():
            raise ScenarioError(
                "the capture is not from the sender and has no timestamps (RFC 7323), so it does not show when "
                "segments left; capture at the sender"
            )
        ticks = int(self.tsval.max() - self.tsval.min())
        rate_hz = ticks / max(1e-9, (seen_ns.max() - seen_ns.min()) / 1e9)
        self.clock_ns = 1_000_000_000 // min(_CLOCKS_HZ, key=lambda hz: abs(np.log(max(rate_hz, 1e-9) / hz)))
        shift_ns, shake = self._round_trip(connection, seen_ns), connection.handshake
        self.acked_ns = self.acked_ns + shift_ns
        opened_ns = shake.answer_ns + shift_ns if shake.opened_by_sender and shake.answer_ns is not None else None
        data = connection.segments.filter(connection.segments["bytes"] > 0)
        pushes = (data["flags"].to_numpy() & _PUSH) != 0
        places = places_of(data, connection.acks["time_ns"].to_numpy(), self.payload)
        if (places >= 0).all():
            self.late = overtaken(self.seq, seen_ns, places)
        is_lost = np.zeros(len(seen_ns), dtype=bool)
        packets = Packets(
            self.seq, self.past, seen_ns, self.tsval, self.tsecr, places, pushes, seen_ns, seen_ns, is_lost,
        )  # fmt: skip
        reached = np.maximum.accumulate(connection.acks["ack"].to_numpy().astype(np.int64))
        step = np.diff(reached, prepend=reached[:1])
        acks = Arrivals(self.acked_ns, self.ack_tsval, np.maximum(step, self.payload), step > 0, reached)
        found, self.tick_ns = departures(
            packets, acks, self.clock_ns, connection.position.rtt_ns, self.payload, opened_ns
        )
        self.seq, self.past, self.sent_ns, self.tsval, self.tsecr = (
            found.seq, found.past, found.at_ns, found.tsval, found.tsecr,
        )  # fmt: skip
        self.found = found

    def _round_trip(self, connection: Connection, seen_ns: NDArray[np.int64]) -> int:
        """Round trip of an ACK and the data that answer it while no queue waits, ns."""
        shake = connection.handshake
        gaps = np.diff(seen_ns)
        bits = 8.0 * (self.past - self.seq)[1:] + 8 * HEADER_BYTES
        usable = gaps > 0
        if not usable.any():
            return connection.position.to_sender_ns or 0
        rate_bps = highest_mode(bits[usable] / gaps[usable] * 1e9, bits[usable])
        transmission_ns = int(8e9 * (self.payload + HEADER_BYTES - _SYN_BYTES) / rate_bps)
        if shake.answer_ns is not None and shake.complete_ns is not None and shake.opened_by_sender:
            return int(shake.complete_ns - shake.answer_ns) + transmission_ns
        return connection.position.to_sender_ns or 0

    def _cut(self) -> None:
        """Find where segments begin and end."""
        highest = np.maximum.accumulate(self.past)
        before = np.concatenate([self.seq[:1], highest[:-1]])
        is_new = self.past > before
        # Data that the capture lacks come before those behind them.
        begin, end = before[is_new], self.past[is_new]
        middle = np.clip(self.seq[is_new], begin, end)
        pieces = np.stack([begin, middle, middle, end], axis=1).reshape(-1, 2)
        pieces = pieces[pieces[:, 1] > pieces[:, 0]]
        counts = -(-(pieces[:, 1] - pieces[:, 0]) // self.payload)
        whole, captured = int(counts.sum()), -(-int((self.past - self.seq).sum()) // self.payload)
        if whole > _MOST_ABSENT * captured + _MOST_MISSING:
            raise ScenarioError(f"the capture has {captured} of {whole} segments, which is too little for a replay")
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        self.begins = np.repeat(pieces[:, 0], counts) + within * self.payload
        self.ends = np.concatenate([self.begins[1:], pieces[-1:, 1]])

    def first(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """First segment that begins at a position of the stream, or behind it."""
        return np.searchsorted(self.begins, position, side="left").astype(np.int64)

    def whole(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of segments that end at a position of the stream, or before it."""
        return np.searchsorted(self.ends, position, side="right").astype(np.int64)


def places_of(data: pl.DataFrame, acked_ns: NDArray[np.int64], payload: int) -> NDArray[np.int64]:
    """Place of each packet with data among those that the sender sent, in segments; -1 if packets are not numbered.

    Linux numbers the packets of a connection by the identification of IPv4, repetitions too (``ip_select_ident_segs``),
    so what is missing was lost before the capture. Some hosts number the packets of all connections, and some tools
    those of both directions.
    """
    nothing = np.full(data.height, -1)
    if data.height < 2 or data["ident"].null_count():
        return nothing
    step = (np.diff(data["ident"].to_numpy().astype(np.int64)) + _IDENTS // 2) % _IDENTS - _IDENTS // 2
    bare = data["bare"].to_numpy().astype(np.int64)[1:]
    place = np.concatenate([[0], np.cumsum(step - bare)])
    place -= place.min()
    count = -(-data["bytes"].to_numpy().astype(np.int64) // payload)
    order = np.argsort(place, kind="stable")
    missing = np.diff(place[order]) - count[order][:-1]
    answers = np.diff(np.searchsorted(acked_ns, data["time_ns"].to_numpy()[order]))
    in_row = (missing == 0).mean()
    is_numbered = in_row >= max(_LEAST_IN_ROW, (missing == answers).mean())
    return place if is_numbered and ((missing >= 0) & (missing < _MOST_MISSING)).all() else nothing


def overtaken(
    seq: NDArray[np.int64], seen_ns: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First bytes of packets that left before others that the capture has earlier, and how much later each came, ns."""
    highest = np.maximum.accumulate(places)
    late = np.flatnonzero(places < highest)
    rises = np.flatnonzero(np.diff(highest, prepend=highest[0] - 1) > 0)
    first = rises[np.searchsorted(highest[rises], places[late], side="right")]
    return seq[late], seen_ns[late] - seen_ns[first]


def bursts_of(
    packets: Packets, first: NDArray[np.int64], past: NDArray[np.int64], unseen: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Place of each packet in its burst. New data that leave together end with PSH, so what does not may have left with
    others that the capture lacks."""
    if not len(first):
        return np.zeros(0, dtype=np.uint8)
    is_new = first >= np.concatenate([first[:1], np.maximum.accumulate(past)[:-1]])
    alike = (np.diff(packets.tsval) == 0) & (np.diff(packets.tsecr) == 0)
    continues = is_new[1:] & is_new[:-1] & (past[:-1] + unseen[1:] == first[1:])
    joined = np.concatenate([[False], alike & continues & ~packets.pushes[:-1]])
    last = np.append(np.flatnonzero(~joined)[1:] - 1, len(first) - 1)
    ends = packets.pushes[last][np.cumsum(~joined) - 1]
    return np.where(ends, np.where(joined, _JOINED, _BEGINS), _ALONE_OR_NOT).astype(np.uint8)


def numbers(column: pl.Series) -> NDArray[np.int64]:
    """Whole numbers of a column; -1 where one is missing."""
    values: NDArray[np.int64] = column.cast(int).fill_null(-1).to_numpy().astype(np.int64)
    return values
