"""Captures made by scapy, which shares no code with the reader under test."""

from __future__ import annotations

import gzip
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapNgWriter, PcapWriter

MSS = 1448
START_S = 1_700_000_000

Wrap = Callable[[bool], Packet]


def ethernet(to_b: bool) -> Packet:
    return link() / ip(to_b)


def link(**fields: Any) -> Packet:
    # Stated addresses: scapy would ask the network for them.
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", **fields)


def vlan(to_b: bool) -> Packet:
    return link() / Dot1Q(vlan=7) / ip(to_b)


def twice_tagged(to_b: bool) -> Packet:
    return link(type=0x88A8) / Dot1Q(vlan=7, type=0x8100) / Dot1Q(vlan=8) / ip(to_b)


def cooked(to_b: bool) -> Packet:
    return CookedLinux(proto=0x0800) / ip(to_b)


def cooked_2(to_b: bool) -> Packet:
    return CookedLinuxV2(proto=0x0800) / ip(to_b)


def ip(to_b: bool) -> Packet:
    return IP(src="192.0.2.1", dst="198.51.100.2") if to_b else IP(src="198.51.100.2", dst="192.0.2.1")


def ip_6(to_b: bool) -> Packet:
    ends = ("2001:db8::1", "2001:db8::2")
    return IPv6(src=ends[not to_b], dst=ends[to_b])


def ethernet_6(to_b: bool) -> Packet:
    return link() / ip_6(to_b)


def stamped(packet: Packet, time_s: float) -> Packet:
    packet.time = START_S + time_s
    return packet


def transfer(
    wrap: Wrap = ethernet, *, segments: int = 20, rtt_s: float = 0.05, at_receiver: bool = False,
    isn: int = 2**32 - 3000, port: int = 40001, stamps: bool = True, lost: Sequence[int] = (),
) -> list[Packet]:  # fmt: skip
    """A connection that sends two segments each round trip, and the ``lost`` ones again a round trip later."""
    there_s = rtt_s if at_receiver else 0.0

    def options(own_s: float, heard_s: float) -> list[tuple[str, Any]]:
        return [("NOP", None), ("NOP", None), ("Timestamp", (int(own_s * 1e3), int(heard_s * 1e3)))] if stamps else []

    def packet(to_b: bool, at_s: float, data: int, **fields: Any) -> Packet:
        ends = (port, 5201) if to_b else (5201, port)
        inner = TCP(sport=ends[0], dport=ends[1], **fields)
        whole = wrap(to_b) / inner / Raw(bytes(data)) if data else wrap(to_b) / inner
        return stamped(whole, at_s)

    asked = [("MSS", MSS + 12), ("SAckOK", b""), ("WScale", 7), ("Timestamp", (1, 0))]
    first = (isn + 1) % 2**32
    found = [
        packet(True, 0.0, 0, flags="S", seq=isn, options=asked),
        packet(False, rtt_s - there_s, 0, flags="SA", seq=9, ack=first, options=asked),
        packet(True, rtt_s, 0, flags="A", seq=first, ack=10, options=options(1.05, 0)),
    ]
    for number in range(segments):
        at_s = rtt_s * (1 + number // 2) + 1e-4 * (number % 2 + 1)
        seq = (first + number * MSS) % 2**32
        echo = options(1 + at_s, 1 + at_s - 1e-4 - there_s)
        if number not in lost or not at_receiver:
            found.append(packet(True, at_s, MSS, flags="PA", seq=seq, ack=10, options=echo))
        if number in lost:
            found.append(
                packet(True, at_s + rtt_s, MSS, flags="PA", seq=seq, ack=10, options=options(1 + at_s + rtt_s, 1))
            )
        done = (seq + MSS) % 2**32
        if number not in lost:
            answer_s = at_s + rtt_s - there_s - 5e-5
            found.append(
                packet(
                    False, answer_s, 0, flags="A", seq=10, ack=done, window=512, options=options(1 + answer_s, 1 + at_s)
                )
            )
    return sorted(found, key=lambda one: one.time)


def write(
    path: Path, packets: Sequence[Packet], *, linktype: int | None = None, nano: bool = False, snap: int = 0
) -> Path:
    """A file in pcap, or in pcapng if its name says so; compressed if its name says so."""
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if plain.suffix == ".pcapng":
        writer: Any = PcapNgWriter(str(plain))
        for packet in packets:
            writer.write(packet)
    else:
        writer = PcapWriter(str(plain), linktype=linktype, nano=nano, snaplen=snap or 262144)
        writer.write_header(packets[0] if packets else None)
        for packet in packets:
            data, (whole_s, part_s) = bytes(packet), divmod(float(packet.time), 1)
            part = round(part_s * (1e9 if nano else 1e6))
            writer.write_packet(data[: snap or len(data)], sec=int(whole_s), usec=part, wirelen=len(data))
    writer.close()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif path.suffix == ".zst":
        subprocess.run(["zstd", "-q", "-f", str(plain), "-o", str(path)], check=True)
    return path


def datagrams() -> list[Packet]:
    return [stamped(link() / ip(True) / UDP(sport=1, dport=2) / Raw(b"x" * 100), i * 0.1) for i in range(5)]


def flood(connections: int) -> bytes:
    """A SYN of each of many connections, without scapy, which takes a second for a thousand packets."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    found = [head]
    for number in range(connections):
        address = struct.pack(">I", 0x0A000000 + number)
        ip_header = b"\x45\0\0\x28\0\0\0\0\x40\x06\0\0" + address + b"\xc0\0\x02\x01"
        tcp = struct.pack(">HHIIBBHHH", 1024, 80, number, 0, 0x50, 2, 512, 0, 0)
        found.append(struct.pack("<IIII", number, 0, 40, 40) + ip_header + tcp)
    return b"".join(found)
