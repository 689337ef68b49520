"""The connection as its sender saw it: when each segment left and each acknowledgment arrived, in one clock.

At the sender that is the capture. Elsewhere a segment's timestamp says when it left, to a tick of the sender's clock,
and an acknowledgment arrives at the sender one round trip of the sender's side after its capture. The clock then counts
as if the least delay from the sender to the capture were nothing, which no difference of times shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.connection import Connection

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_TICKS_S = (1e-6, 1e-5, 1e-4, 1e-3, 4e-3, 1e-2, 0.1)
_TICK_ERROR = 0.05
_LEAST_SPAN_S = 0.5


@dataclass(frozen=True)
class Timeline:
    """Packets at their sender, in order of time.

    Attributes:
        sent_ns, first, past: time, first byte and byte after the last of each segment.
        again: it is a retransmission.
        acked_ns, ack: time of each acknowledgment, and the position up to which all data are acknowledged.
        edge: position up to which B's window lets A send; -1 where the window is not known.
        sacked: bytes beyond it that the acknowledgment's SACK blocks report.
        resolution_ns: error of times that came from timestamps.
    """

    sent_ns: Longs
    first: Longs
    past: Longs
    again: Flags
    acked_ns: Longs
    ack: Longs
    edge: Longs
    sacked: Longs
    resolution_ns: int

    @property
    def start_ns(self) -> int:
        """Time of the first segment."""
        return int(self.sent_ns[0])

    @property
    def end_ns(self) -> int:
        """Time of the last packet."""
        return int(max(self.sent_ns[-1], self.acked_ns[-1] if len(self.acked_ns) else 0))


def timeline_of(connection: Connection) -> Timeline:
    """The packets of a connection at its sender."""
    segments, acks = connection.segments, connection.acks
    segments = segments.filter(segments["bytes"] > 0)
    sent_ns, resolution_ns = segments["time_ns"].to_numpy(), 0
    shift_ns = 0
    if connection.position.place != "sender":
        shift_ns = connection.position.to_sender_ns or 0
        sent_ns, resolution_ns = _departures(segments)
    order = np.argsort(sent_ns, kind="stable")
    first = segments["seq"].to_numpy()[order]
    past = first + segments["bytes"].to_numpy().astype(np.int64)[order]
    ack = np.maximum.accumulate(acks["ack"].to_numpy()) if acks.height else np.empty(0, dtype=np.int64)
    edge = np.full(len(ack), -1, dtype=np.int64)
    if acks.height and acks["window"].null_count() == 0:
        edge = np.maximum.accumulate(acks["ack"].to_numpy() + acks["window"].to_numpy())
    return Timeline(
        sent_ns[order], first, past, segments["retransmission"].to_numpy()[order],
        acks["time_ns"].to_numpy() + shift_ns, ack, edge, _sacked(acks, ack), resolution_ns,
    )  # fmt: skip


def round_trips(line: Timeline) -> tuple[Longs, Longs]:
    """Times of acknowledgments, and their round trips: only of data that were sent once, ns."""
    if not len(line.ack):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    new = np.concatenate([[True], np.diff(line.ack) > 0])
    reached, at_ns = line.ack[new], line.acked_ns[new]
    once = ~line.again
    past, sent_ns = line.past[once], line.sent_ns[once]
    order = np.argsort(past, kind="stable")
    found = np.searchsorted(past[order], reached, side="left")
    inside = found < len(order)
    found, reached, at_ns = found[inside], reached[inside], at_ns[inside]
    exact = past[order][found] == reached
    rtt = at_ns - sent_ns[order][found]
    # An acknowledgment that fills a hole says when the retransmission came.
    good = exact & (rtt > 0) & ~_repaired(line, reached)
    return at_ns[good], rtt[good]


def _repaired(line: Timeline, reached: Longs) -> Flags:
    """Acknowledgments of data of which some was sent again."""
    if not line.again.any():
        return np.zeros(len(reached), dtype=bool)
    firsts = np.sort(line.first[line.again])
    before = np.concatenate([[-(2**62)], reached[:-1]])
    result: Flags = np.searchsorted(firsts, before, side="left") < np.searchsorted(firsts, reached, side="left")
    return result


def _departures(segments: pl.DataFrame) -> tuple[Longs, int]:
    """Times at which segments left, from their timestamps; their captured times if they have none."""
    seen_ns: Longs = segments["time_ns"].to_numpy()
    if segments["tsval"].null_count() or segments.height < 2:
        return seen_ns, 0
    stamps = segments["tsval"].to_numpy().astype(np.int64)
    stamps = _unwrapped(stamps)
    tick_ns = _tick_ns(seen_ns, stamps)
    if tick_ns is None:
        return seen_ns, 0
    left_ns = (stamps - stamps[0]) * tick_ns
    return left_ns + np.min(seen_ns - left_ns), tick_ns


def _unwrapped(stamps: Longs) -> Longs:
    steps = np.diff(stamps)
    steps = (steps + 2**31) % 2**32 - 2**31
    result: Longs = np.concatenate([[0], np.cumsum(steps)])
    return result


def _tick_ns(seen_ns: Longs, stamps: Longs) -> int | None:
    """Unit of the sender's timestamps, ns, if the capture is long enough to show it."""
    span_s, ticks = (seen_ns[-1] - seen_ns[0]) / 1e9, int(stamps[-1] - stamps[0])
    if span_s < _LEAST_SPAN_S or ticks <= 0:
        return None
    tick_s = span_s / ticks
    near = min(_TICKS_S, key=lambda known: abs(np.log(tick_s / known)))
    return round(near * 1e9) if abs(tick_s / near - 1) < _TICK_ERROR else None


def _sacked(acks: pl.DataFrame, ack: Longs) -> Longs:
    """Bytes that the SACK blocks of each acknowledgment report, without those that are acknowledged."""
    total = np.zeros(len(ack), dtype=np.int64)
    for block in range(1, 5):
        first, past = (_filled(acks[f"sack_{block}_{edge}"]) for edge in ("first", "past"))
        total += np.where(past > ack, past - np.maximum(first, ack), 0)
    return total


def _filled(column: Any) -> Longs:
    found: Longs = column.fill_null(-(2**62)).to_numpy()
    return found
