"""A TCP connection as a capture shows it: what one host sent, and what the other acknowledged.

Times are whole ns from the first packet of the connection, by the clock of the capture, and are in order. Positions in
the stream are bytes: 0 is the first byte of data if the handshake was captured, and otherwise the first byte seen. They
do not wrap. The hosts are called A and B: A sends the data that are explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import polars as pl

SEGMENTS: Mapping[str, str] = {
    "time_ns": "time of the packet, ns",
    "seq": "position of its first byte",
    "bytes": "payload, bytes; a host with segmentation offload shows several segments as one; 0 for a FIN alone",
    "retransmission": "its data were sent before: they were captured, or came a round trip after data behind them",
    "late": "data behind it were captured before, and its own data were not",
    "flags": "flags of the TCP header, with those of ECN",
    "ecn": "ECN field of the IP header",
    "ident": "identification of the IPv4 header, by which some hosts number the packets of a connection",
    "bare": "packets of A without data since the segment before",
    "tsval": "timestamp, in the units of the sender's clock",
    "tsecr": "echoed timestamp",
}
"""Columns of ``segments``: packets of A with data, or with the end of the stream."""

ACKS: Mapping[str, str] = {
    "time_ns": "time of the packet, ns",
    "ack": "position of the next byte that B expects",
    "window": "receive window, scaled, bytes; unknown if B's SYN was not captured",
    "window_field": "receive window as it is in the header",
    "bytes": "payload in the same packet, bytes",
    "flags": "flags of the TCP header, with those of ECN",
    "ecn": "ECN field of the IP header",
    "tsval": "timestamp, in the units of the receiver's clock",
    "tsecr": "echoed timestamp",
    **{
        f"sack_{block}_{edge}": f"SACK block {block}: position of {what}"
        for block in range(1, 5)
        for edge, what in (("first", "its first byte"), ("past", "the byte after its last"))
    },
}
"""Columns of ``acks``: packets of B with an acknowledgment, without SYN and RST. Blocks are in the packet's order."""

MOST_REPLAYED = 500_000
"""Most segments that are replayed by each algorithm: about 1 GB of memory."""

MOST_FITTED = 2_000_000
"""Most segments from which the path is found: about as much memory."""

Place = Literal["sender", "receiver", "between"]


@dataclass(frozen=True)
class Handshake:
    """The beginning of a connection. Each value is ``None`` if it was not captured.

    Attributes:
        syn_ns: time of the last SYN before the answer.
        answer_ns: time of the SYN-ACK.
        complete_ns: time of the first packet after it from the host that opened the connection.
        opened_by_sender: A opened the connection.
        sender_mss, receiver_mss: maximum segment sizes that A and B announce, bytes.
        sender_sack, receiver_sack: SACK is permitted.
        sender_stamps, receiver_stamps: the timestamps option is there.
        sender_scale, receiver_scale: shifts of the windows.
    """

    syn_ns: int | None = None
    answer_ns: int | None = None
    complete_ns: int | None = None
    opened_by_sender: bool | None = None
    sender_mss: int | None = None
    receiver_mss: int | None = None
    sender_sack: bool | None = None
    receiver_sack: bool | None = None
    sender_stamps: bool | None = None
    receiver_stamps: bool | None = None
    sender_scale: int | None = None
    receiver_scale: int | None = None


@dataclass(frozen=True)
class Position:
    """Place of the capture on the path.

    Attributes:
        place: ``"sender"``, ``"receiver"``, or ``"between"`` them.
        to_receiver_ns: least time from a segment to its acknowledgment: the round trip on B's side.
        to_sender_ns: least time from an acknowledgment to the data that answer it: the round trip on A's side; ``None``
            if it is not known.
        known: false if nothing in the capture shows the place, which is then assumed to be the sender.
    """

    place: Place
    to_receiver_ns: int
    to_sender_ns: int | None
    known: bool = True

    @property
    def rtt_ns(self) -> int:
        """Least round trip, as far as it is known, ns."""
        return self.to_receiver_ns + (self.to_sender_ns or 0)


@dataclass(frozen=True)
class Flow:
    """A connection in the list of a capture.

    Attributes:
        number: its place among the connections of the file, from 1.
        hosts: address and port of A, which sent the most payload, and of B. They are shown only if a user asks.
        packets: packets of both directions.
        sent_bytes, answered_bytes: payload of A and of B, with repetitions.
        start_s: time of its first packet, from that of the first connection, s.
        duration_s: time from its first to its last packet, s.
        opened: its SYN was captured.
    """

    number: int
    hosts: tuple[tuple[str, int], tuple[str, int]]
    packets: int
    sent_bytes: int
    answered_bytes: int
    start_s: float
    duration_s: float
    opened: bool
    first_ns: int = field(repr=False)
    sender: int = field(repr=False)


@dataclass(frozen=True)
class Connection:
    """A connection whose packets were read.

    Attributes:
        flow: its line in the list.
        segments: packets of A (:data:`SEGMENTS`).
        acks: packets of B (:data:`ACKS`).
        handshake: its beginning.
        position: place of the capture.
        from_start: positions count from A's SYN.
        window_scale: shift of B's window; ``None`` if it is unknown.
        reset_ns: time of the first RST.
        notes: sentences on what the capture lacks.
    """

    flow: Flow
    segments: pl.DataFrame
    acks: pl.DataFrame
    handshake: Handshake
    position: Position
    from_start: bool
    window_scale: int | None
    reset_ns: int | None
    notes: tuple[str, ...] = ()

    @cached_property
    def mss(self) -> int:
        """Payload of a full segment, bytes: the most frequent size among those that fit in a packet, or the SYN's."""
        stated = [size for size in (self.handshake.sender_mss, self.handshake.receiver_mss) if size]
        stamps = 12 if self.segments["tsval"].null_count() < self.segments.height else 0
        if stated:
            return max(1, min(stated) - stamps)
        sizes = self.segments.filter(self.segments["bytes"] > 0)["bytes"]
        small = sizes.filter(sizes <= 1460)
        most = small.mode().max() if not small.is_empty() else None
        return int(most) if isinstance(most, int) else 1448

    @property
    def offloaded(self) -> float:
        """Share of the packets with data that hold more than one segment."""
        sizes = self.segments["bytes"].to_numpy()
        return float((sizes > self.mss).sum() / max(1, (sizes > 0).sum()))

    @cached_property
    def beginning(self) -> Connection:
        """The connection until the last segment that is replayed: itself if it has no more."""
        return self._first(MOST_REPLAYED)

    @cached_property
    def fitted(self) -> Connection:
        """The connection until the last segment that the path is found from: itself if it has no more."""
        return self._first(MOST_FITTED)

    def _first(self, most: int) -> Connection:
        sizes = self.segments["bytes"].to_numpy().astype(np.int64)
        past = int(np.searchsorted(np.cumsum(-(-sizes // self.mss)), most, side="right"))
        if past == self.segments.height:
            return self
        end_ns = int(self.segments["time_ns"][past])
        return replace(self, segments=self.segments.head(past), acks=self.acks.filter(self.acks["time_ns"] < end_ns))

    @property
    def duration_s(self) -> float:
        """Time from the first to the last packet, s."""
        return self.flow.duration_s
