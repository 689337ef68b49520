"""Ethernet, IPv4, TCP and UDP headers of many packets, computed column by column, one column for each field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from elephan.scenario.form import StackSpec

Column = NDArray[Any]

# TCP's flag bits (RFC 9293 section 3.1) and IP's ECN field (RFC 3168 section 5).
SYN, ACK, ECE, CWR, AE = 0x02, 0x10, 0x40, 0x80, 0x100
ECT1, ECT0, CE = 1, 2, 3

IP_BYTES, TCP_BYTES, LARGEST_TCP_BYTES, UDP_BYTES = 20, 20, 60, 8
TCP, UDP = 6, 17
STAMPS_BYTES = 12
SENDER_PORT, SENDER_PORTS, RECEIVER_PORT = 40_000, 20_000, 5001
SENDER_NET, RECEIVER_NET = 10 << 24, (10 << 24) + (128 << 16)
MOST_SCALE = 14
DAY_MS = 86_400_000
CLOCK_BASE_MS = 2 * DAY_MS
_WORD = 1 << 16
_ACCECN_0, _ACCECN_1 = 172, 174


def has_stamps(stack: StackSpec) -> bool:
    """True if a stack's header is long enough for the timestamps option."""
    return stack.header_bytes >= IP_BYTES + TCP_BYTES + STAMPS_BYTES


@dataclass(frozen=True)
class Windows:
    """Receive windows that the receiver of a flow advertises.

    Attributes:
        scale: shift of RFC 7323, the smallest for this window.
        receiver: the window field, in units of 2**scale bytes.
    """

    scale: int
    receiver: int

    @classmethod
    def of(cls, stack: StackSpec) -> Self:
        """The receive window of a stack, or the largest window of TCP if the stack has no receive window."""
        largest = (_WORD - 1) << MOST_SCALE
        limit = stack.receive_window
        octets = largest if limit is None else min(limit * stack.payload_bytes, largest)
        scale = max(0, octets.bit_length() - 16)
        return cls(scale, octets >> scale)


@dataclass(frozen=True)
class Packets:
    """Packets in order of time, with a column for each field; ``ack`` is true for packets from the receiver to the
    sender.

    ``datagram`` is true for UDP packets, of which only the payload is used. ``sacks`` holds up to three blocks of each
    packet, ``(first byte, byte after the last)``, or -1. ``syn_options`` are MSS, SACK permitted and window scale.
    ``accecn`` holds the fields EE0B, ECEB and EE1B of the AccECN option, or -1.
    """

    time_ns: Column
    flow: Column
    ack: Column
    datagram: Column
    seq: Column
    ackno: Column
    bits: Column
    ecn: Column
    window: Column
    payload: Column
    stamped: Column
    tsval: Column
    tsecr: Column
    sacks: Column
    syn_options: Column
    scale: Column
    mss: Column
    accecn: Column

    def __len__(self) -> int:
        return len(self.time_ns)

    def rows(self, which: Any) -> Packets:
        """A subset of the packets."""
        return Packets(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    @classmethod
    def merged(cls, parts: Sequence[Packets]) -> Packets:
        """All packets in order of time; packets with equal times are in the order of ``parts``."""
        whole = cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})
        return whole.rows(np.argsort(whole.time_ns, kind="stable"))

    def blocks(self) -> Column:
        """Number of SACK blocks of each packet."""
        count: Column = np.count_nonzero(self.sacks[:, :, 0] >= 0, axis=1)
        return count

    def alike(self) -> Iterator[Column]:
        """Positions of the packets, grouped by the length of their headers."""
        shape = self.datagram * 16 + self.syn_options * 8 + self.stamped * 4 + self.blocks()
        for place in range(3):
            shape = shape * 2 + (self.accecn[:, place] >= 0)
        for value in np.unique(shape):
            yield np.flatnonzero(shape == value)


def encoded(packets: Packets, idents: Column) -> NDArray[np.uint8]:
    """The header bytes of packets with headers of the same length, one row for each packet."""
    is_udp = bool(packets.datagram[0])
    transport = _udp(packets) if is_udp else _tcp(packets)
    ip = _ip(packets, idents, UDP if is_udp else TCP, header_bytes=2 * len(transport))
    source, target = _macs(packets)
    words = [*target, *source, 0x0800, *ip, *transport]
    columns = np.empty((len(packets), len(words)), dtype=">u2")
    for i, word in enumerate(words):
        columns[:, i] = word
    return columns.view(np.uint8)


def _macs(packets: Packets) -> tuple[list[Any], list[Any]]:
    """Locally administered addresses: the flow's number, and 1 for its receiver."""
    low = packets.flow + 1
    address = [[0x0200, low >> 16, low & 0xFFFF], [0x0201, low >> 16, low & 0xFFFF]]
    source = [np.where(packets.ack, b, a) for a, b in zip(*address, strict=True)]
    target = [np.where(packets.ack, a, b) for a, b in zip(*address, strict=True)]
    return source, target


def _addresses(packets: Packets) -> list[Column]:
    sender, receiver = SENDER_NET + packets.flow + 1, RECEIVER_NET + packets.flow + 1
    source, target = np.where(packets.ack, receiver, sender), np.where(packets.ack, sender, receiver)
    return [source >> 16, source & 0xFFFF, target >> 16, target & 0xFFFF]


def _ip(packets: Packets, idents: Column, protocol: int, header_bytes: int) -> list[Any]:
    """IPv4 without options (RFC 791): don't fragment, TTL 64."""
    length = IP_BYTES + header_bytes + packets.payload
    words = [0x4500 + packets.ecn, length, idents & 0xFFFF, 0x4000, 64 << 8 | protocol, 0, *_addresses(packets)]
    words[5] = _checksum(words)
    return words


def _tcp(packets: Packets) -> list[Any]:
    """TCP with its options (RFC 9293, 7323, 2018)."""
    options = _options(packets)
    size = TCP_BYTES + 2 * len(options)
    offset = size // 4 << 12
    words = [
        *_ports(packets),
        *_long(packets.seq),
        *_long(packets.ackno),
        offset + packets.bits,
        packets.window,
        0,
        0,
        *options,
    ]
    words[8] = _checksum([*_addresses(packets), TCP, size + packets.payload, *words])
    return words


def _udp(packets: Packets) -> list[Any]:
    """UDP (RFC 768)."""
    length = UDP_BYTES + packets.payload
    words = [*_ports(packets), length, 0]
    checksum = _checksum([*_addresses(packets), UDP, length, *words])
    words[3] = np.where(checksum == 0, 0xFFFF, checksum)
    return words


def _ports(packets: Packets) -> list[Column]:
    port = SENDER_PORT + packets.flow % SENDER_PORTS
    return [np.where(packets.ack, RECEIVER_PORT, port), np.where(packets.ack, port, RECEIVER_PORT)]


def _options(packets: Packets) -> list[Any]:
    syn, stamped, blocks = bool(packets.syn_options[0]), bool(packets.stamped[0]), int(packets.blocks()[0])
    words: list[Any] = [0x0204, packets.mss] if syn else []
    if stamped:
        # In a SYN the SACK-permitted option replaces the two bytes that align the timestamps.
        words += [0x0402 if syn else 0x0101, 0x080A, *_long(packets.tsval), *_long(packets.tsecr)]
    elif syn:
        words += [0x0101, 0x0402]
    if syn:
        words += [0x0103, 0x0300 + packets.scale]
    if blocks:
        words += [0x0101, 0x0500 + 2 + 8 * blocks]
        words += [word for block in range(blocks) for edge in range(2) for word in _long(packets.sacks[:, block, edge])]
    return words + _accecn(packets.accecn)


def _accecn(fields: Column) -> list[Any]:
    """The AccECN option (RFC 9768 section 3.2.3): order 1 if it has EE1B, which is then its first field."""
    order = [0, 1, 2] if fields[0, 2] < 0 else [2, 1, 0]
    present = [fields[:, place] for place in order if fields[0, place] >= 0]
    if not present:
        return []
    kind = _ACCECN_0 if order[0] == 0 else _ACCECN_1
    length = 2 + 3 * len(present)
    octets: list[Any] = [kind, length, *(field >> shift & 0xFF for field in present for shift in (16, 8, 0))]
    octets += [1] * (-length % 4)
    return [high << 8 | low for high, low in zip(octets[::2], octets[1::2], strict=True)]


def _long(column: Column) -> list[Column]:
    """Numbers modulo 2**32, each as two 16-bit words."""
    return [column >> 16 & 0xFFFF, column & 0xFFFF]


def _checksum(words: Sequence[Any]) -> Any:
    """The Internet checksum (RFC 1071) of words in columns; absent words count as zeros."""
    total = sum(words[1:], start=np.asarray(words[0], dtype=np.int64))
    for _ in range(2):
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
