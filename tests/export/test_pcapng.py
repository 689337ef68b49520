"""Captures: read back byte by byte, and by tshark where it is installed."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan import Run, Scenario, ScenarioError, export, runs
from elephan.cli.main import run_command
from elephan.export.pcapng import SIDES, Side

EPOCH_NS = 946_684_800 * 10**9
SYN, ACK, ECE, CWR = 2, 16, 64, 128
PAYLOAD = 1448


@dataclass
class Packet:
    """A packet as a reader of the file sees it."""

    interface: int
    time_ns: int
    direction: int
    source: int
    ecn: int
    protocol: int
    seq: int = 0
    ack: int = 0
    bits: int = 0
    window: int = 0
    payload: int = 0
    options: dict[int, bytes] = field(default_factory=dict)

    @property
    def from_sender(self) -> bool:
        return self.source < (10 << 24) + (128 << 16)

    @property
    def sacks(self) -> list[int]:
        return list(struct.unpack(f">{len(self.options.get(5, b'')) // 4}I", self.options.get(5, b"")))

    @property
    def stamps(self) -> tuple[int, int]:
        tsval, tsecr = struct.unpack(">II", self.options[8])
        return tsval, tsecr


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each block."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8 : at + length - 4]
        at += length
    assert at == len(data)


def folded(data: bytes) -> int:
    """The Internet checksum's sum: 0xffff where the checksum inside is right."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return int(total)


def options_of(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while data:
        if data[0] == 1:
            data = data[1:]
            continue
        assert data[0] not in found
        assert 2 <= data[1] <= len(data)
        found[data[0]] = data[2 : data[1]]
        data = data[data[1] :]
    return found


def dissect(body: bytes) -> Packet:
    """An Enhanced Packet Block, with every length and checksum looked at."""
    interface, high, low, captured, original = struct.unpack_from("<5I", body)
    frame = body[20 : 20 + captured]
    option, size, direction = struct.unpack_from("<HHI", body, 20 + captured + -captured % 4)
    assert (option, size) == (2, 4)
    assert frame[12:14] == b"\x08\x00"
    ip, rest = frame[14:34], frame[34:]
    version, tos, length, _, fragment, hops, protocol, _, source, target = struct.unpack(">BBHHHBBHII", ip)
    assert (version, fragment, hops, length) == (0x45, 0x4000, 64, original - 14)
    assert folded(ip) == 0xFFFF
    # Bytes that are not captured are zeros.
    pseudo = struct.pack(">IIHH", source, target, protocol, length - 20)
    assert folded(pseudo + rest) == 0xFFFF
    packet = Packet(interface, (high << 32) + low - EPOCH_NS, direction & 3, source, tos & 3, protocol)
    if protocol == 17:
        packet.payload = struct.unpack_from(">H", rest, 4)[0] - 8
        assert (packet.payload, len(rest)) == (length - 28, 8)
        return packet
    assert protocol == 6
    _, _, packet.seq, packet.ack, offset, packet.bits, packet.window = struct.unpack_from(">HHIIBBH", rest)
    assert (offset >> 4) * 4 == len(rest)
    packet.payload = length - 20 - len(rest)
    packet.options = options_of(rest[20:])
    return packet


def capture(run: Run, path: Path, at: Side, from_ps: int = 0, to_ps: int | None = None) -> list[Packet]:
    count = export.write_pcapng(run, export.events_of(run, from_ps, to_ps), path, at)
    kinds = list(blocks(path.read_bytes()))
    flows = len(run.canonical["flows"])
    assert [kind for kind, _ in kinds] == [0x0A0D0D0A, *[1] * flows, *[6] * count]
    return [dissect(body) for _, body in kinds[1 + flows :]]


@pytest.fixture(scope="module")
def captures(lossy: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[Side, list[Packet]]:
    folder = tmp_path_factory.mktemp("captures")
    return {at: capture(lossy, folder / f"{at}.pcapng", at) for at in SIDES}


def of(packets: list[Packet], interface: int, *, from_sender: bool) -> list[Packet]:
    """A direction of a flow, without its handshake."""
    mine = [p for p in packets if p.interface == interface and p.from_sender is from_sender]
    return mine[2 if from_sender else 1 :] if interface < 2 else mine


def test_packets_are_the_events(lossy: Run, captures: dict[Side, list[Packet]]) -> None:
    events = export.events_of(lossy).with_columns(pl.col("flow", "kind").cast(pl.String))
    kinds = {"sender": ("sent", "acked"), "receiver": ("received", "ack_sent")}
    for at, packets in captures.items():
        assert [p.time_ns for p in packets] == sorted(p.time_ns for p in packets)
        for interface, name in enumerate(["plain", "capable"]):
            for from_sender, kind in zip((True, False), kinds[at], strict=True):
                rows = events.filter((pl.col("flow") == name) & (pl.col("kind") == kind)).to_dicts()
                seen = of(packets, interface, from_sender=from_sender)
                assert len(seen) == len(rows)
                for packet, row in zip(seen, rows, strict=True):
                    assert abs(packet.time_ns - row["time_s"] * 1e9) <= 1
                    number = (row["segment"] * PAYLOAD + 1) % 2**32
                    edges = [row[f"sack_{i}_{edge}"] for i in (1, 2, 3) for edge in ("first", "past")]
                    if from_sender:
                        assert (packet.seq, packet.ack, packet.payload) == (number, 1, PAYLOAD)
                    else:
                        assert (packet.seq, packet.ack, packet.payload) == (1, number, 0)
                    assert packet.sacks == [edge * PAYLOAD + 1 for edge in edges if edge is not None]
                    assert packet.direction == (2 if from_sender == (at == "sender") else 1)
    assert any(len(p.sacks) == 6 for p in captures["sender"])


def test_ecn_is_negotiated_and_its_bits_are_those_of_the_flow(lossy: Run, captures: dict[Side, list[Packet]]) -> None:
    events = export.events_of(lossy).with_columns(pl.col("kind").cast(pl.String))
    for interface, asking in ((0, 0), (1, ECE | CWR)):
        shake = [p for p in captures["sender"] if p.interface == interface][:3]
        assert [p.bits for p in shake] == [SYN | asking, SYN | ACK | asking & ECE, ACK]
    sent, received = (of(captures[at], 1, from_sender=True) for at in SIDES)
    assert {p.ecn for p in sent} == {0, 2}
    assert {p.ecn for p in of(captures["sender"], 0, from_sender=True)} == {0}
    marked = events.filter((pl.col("kind") == "received") & pl.col("ce")).height
    assert sum(p.ecn == 3 for p in received) == marked > 4
    echoes = events.filter((pl.col("kind") == "acked") & pl.col("ece")).height
    assert sum(bool(p.bits & ECE) for p in of(captures["sender"], 1, from_sender=False)) == echoes > 4
    assert sum(bool(p.bits & CWR) for p in sent) == events.filter((pl.col("kind") == "sent") & pl.col("cwr")).height > 1


def test_handshakes_tell_sizes_and_take_no_time_at_a_sender_and_a_round_trip_at_a_receiver(
    captures: dict[Side, list[Packet]],
) -> None:
    for interface, scale, window in ((0, 14, 65_535), (1, 0, 45 * PAYLOAD)):
        for at, took_ns in (("sender", 1), ("receiver", 40_000_000)):
            syn, answer, last, first = [p for p in captures[at] if p.interface == interface][:4]  # type: ignore[index]
            assert (syn.seq, answer.seq, answer.ack, last.seq, last.ack, first.seq) == (0, 0, 1, 1, 1, 1)
            assert last.time_ns - syn.time_ns == took_ns
            assert struct.unpack(">H", syn.options[2])[0] == PAYLOAD + 12
            assert set(syn.options) == set(answer.options) == {2, 3, 4, 8}
            assert answer.options[3][0] == scale
            acks = of(captures[at], interface, from_sender=False)  # type: ignore[index]
            assert {p.window for p in acks} == {window}


def test_stamps_are_the_hosts_clocks(captures: dict[Side, list[Packet]]) -> None:
    base_ms = 2 * 86_400_000
    for packet in of(captures["receiver"], 1, from_sender=False):
        shown_ms = packet.time_ns / 1e6 - 2000 + base_ms
        assert packet.stamps[0] % 10 == 0
        assert shown_ms - 10.001 <= packet.stamps[0] <= shown_ms + 0.001
    for packet in of(captures["sender"], 1, from_sender=True):
        shown_ms = packet.time_ns / 1e6 * (1 + 1e-4) + 3000 + base_ms
        assert shown_ms - 1.001 <= packet.stamps[0] <= shown_ms + 0.001
    # A segment says the same at both ends, and it echoes the ACK that the sender has seen last.
    sent = {(p.seq, p.stamps) for p in of(captures["sender"], 1, from_sender=True)}
    assert {(p.seq, p.stamps) for p in of(captures["receiver"], 1, from_sender=True)} <= sent
    heard = [p for p in captures["sender"] if p.interface == 1][1].stamps[0]
    for packet in [p for p in captures["sender"] if p.interface == 1][3:]:
        if packet.from_sender:
            assert packet.stamps[1] == heard
        else:
            heard = packet.stamps[0]


def test_datagrams_are_udp(lossy: Run, captures: dict[Side, list[Packet]]) -> None:
    datagrams = [p for p in captures["sender"] if p.interface == 2]
    assert len(datagrams) == lossy.flows["segments_sent"][2] > 100
    stack = lossy.canonical["flows"][2]["stack"]
    wire_bytes = stack["payload_bytes"] + stack["header_bytes"]
    assert {(p.protocol, p.payload, p.direction) for p in datagrams} == {(17, wire_bytes - 28, 2)}


def test_a_part_of_a_run_has_no_handshake(lossy: Run, tmp_path: Path) -> None:
    packets = capture(lossy, tmp_path / "part.pcapng", "sender", from_ps=4 * 10**12, to_ps=5 * 10**12)
    assert len(packets) > 500
    assert not any(p.bits & SYN for p in packets)
    assert all(4e9 <= p.time_ns <= 5e9 for p in packets)


def test_a_stack_without_room_for_stamps_has_none_and_a_large_segment_is_refused(tmp_path: Path) -> None:
    scenario = Scenario.dumbbell(["reno"], rate="10 Mbit/s", rtt="20 ms", buffer="1 MB", duration="1 s", stack="ns2")
    store = runs.Store(tmp_path)
    packets = capture(runs.run(scenario, store=store), tmp_path / "ns2.pcapng", "sender")
    assert all(8 not in p.options for p in packets)
    assert set(packets[0].options) == {2, 3, 4}
    assert struct.unpack(">H", packets[0].options[2])[0] == 1000
    large = runs.run(scenario.replace(stack={"base": "ns2", "payload": "65490 B"}), store=store)
    with pytest.raises(ScenarioError, match="a payload of 65490 B leaves no room for headers in an IPv4 packet"):
        export.write_pcapng(large, export.events_of(large), tmp_path / "large.pcapng")


def test_a_part_of_a_segment_fills_the_receive_window_as_on_linux(tmp_path: Path) -> None:
    flow = {"name": "flow0", "algorithm": "hybla:linux", "start": "0 s"}
    form = {
        "seed": 256,
        "duration": "2200 ms",
        "events": True,
        "dumbbell": {"rate": "1.2 Mbit/s", "rtt": "240 ms", "buffer": "48 packets"},
        "flow": [flow],
    }
    run = runs.run(Scenario.from_dict(form), store=runs.Store(tmp_path / "runs"))
    captures = {}
    for at in SIDES:
        export.write_pcapng(run, run.events, tmp_path / f"{at}.pcapng", at)
        read = [dissect(body) for kind, body in blocks((tmp_path / f"{at}.pcapng").read_bytes()) if kind == 6]
        captures[at] = [packet for packet in read if not packet.bits & SYN]
    data = [packet for packet in captures["sender"] if packet.from_sender and packet.payload]
    # Linux 6.12 sent these bytes on this path; the part left at 514.234 ms, at the end of the receive window.
    around = [(packet.seq - 1, packet.payload) for packet in data[920:923]]
    assert around == [(1_332_160, 1448), (1_333_608, 16), (1_333_624, 1448)]
    assert data[921].time_ns // 1000 == 514_234
    assert {packet.payload for packet in data} == {16, 1448}
    # The part was dropped. Linux acknowledged the segment at 2026.234 ms by this SACK block.
    acks = [packet for packet in captures["receiver"] if not packet.from_sender]
    assert next(ack for ack in acks if ack.time_ns // 1000 >= 2_026_234).sacks[:2] == [1_345_209, 1_346_657]


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    scenario = Scenario.dumbbell(
        ["cubic"], rate="10 Gbit/s", rtt="1 ms", buffer="10 MB", duration="5 s",
        stack={"payload": "60000 B"}, events={"from": "4.9 s"},
    )  # fmt: skip
    run = runs.run(scenario, store=runs.Store(tmp_path))
    packets = capture(run, tmp_path / "long.pcapng", "sender")
    first = run.events.filter(pl.col("kind").cast(pl.String) == "sent")["segment"][0]
    assert first * 60_000 > 2**32
    assert next(p for p in packets if p.from_sender).seq == (first * 60_000 + 1) % 2**32


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: apt install tshark)")
@pytest.mark.parametrize("at", SIDES)
def test_tshark_finds_nothing_wrong_and_counts_the_same_retransmissions(
    at: Side, lossy: Run, scenario_file: Path, store: runs.Store, tmp_path: Path
) -> None:
    path = tmp_path / "lossy.pcapng"
    assert run_command(["show", lossy.id, "--store", str(store.root), "--pcapng", str(path), "--at", at]) == 0

    fields = ["tcp.stream", "tcp.analysis.retransmission", "tcp.analysis.out_of_order", "ip.checksum.status"]
    fields += ["tcp.checksum.status", "udp.checksum.status", "_ws.malformed", "ip.proto"]
    checks = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
    command = ["tshark", "-r", str(path), "-T", "fields", *(word for name in fields for word in ("-e", name))]
    command += [word for check in checks for word in ("-o", check)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [dict(zip(fields, line.split("\t"), strict=True)) for line in found.splitlines()]
    assert len(rows) == len(capture(lossy, tmp_path / "again.pcapng", at))
    assert not any(row["_ws.malformed"] for row in rows)
    bad, good = "0", "1"
    assert {row["ip.checksum.status"] for row in rows} == {good}
    assert bad not in {row[f"{protocol}.checksum.status"] for row in rows for protocol in ("tcp", "udp")}
    assert {row["ip.proto"] for row in rows} == {"6", "17"}
    for stream, flow in enumerate(lossy.flows.head(2).iter_rows(named=True)):
        mine = [row for row in rows if row["tcp.stream"] == str(stream)]
        again = sum(bool(row["tcp.analysis.retransmission"]) for row in mine)
        overtaken = sum(bool(row["tcp.analysis.out_of_order"]) for row in mine)
        if at == "sender":
            assert (again, overtaken) == (flow["retransmits"], 0)
        else:
            # A segment that comes late at the receiver was sent again, and may have been lost again.
            assert 5 < again + overtaken <= flow["retransmits"]


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A run with accurate ECN, where packets are marked and lost, and its capture at the receivers."""
    accurate: dict[str, Any] = {"ecn": True, "accurate_ecn": True, "accurate_ecn_option": True, "host": "plain"}
    flows = [{"name": name, "algorithm": name, "stack": accurate} for name in ("prague", "dctcp")]
    flows += [{"name": "cubic", "algorithm": "cubic", "stack": accurate | {"accurate_ecn_option": False}}]
    flows += [{"name": "refused", "algorithm": "cubic", "stack": accurate | {"receiver_ecn": "classic"}}]
    path = {"rate": "40 Mbit/s", "rtt": "20 ms", "buffer": "8 BDP", "queue": "dualpi2", "loss": "0.2%"}
    folder = tmp_path_factory.mktemp("counting")
    scenario = Scenario.from_dict({"duration": "2 s", "events": True, "dumbbell": path, "flow": flows})
    run = runs.run(scenario, store=runs.Store(folder))
    export.write_pcapng(run, export.events_of(run), folder / "counting.pcapng", "receiver")
    return run, folder / "counting.pcapng"


def test_accurate_ecn_has_its_flags_counters_and_options(counting: tuple[Run, Path]) -> None:
    run, path = counting
    packets = [dissect(body) for kind, body in blocks(path.read_bytes()) if kind == 6]
    shakes = [[p for p in packets if p.interface == i][:3] for i in range(4)]
    accurate = [SYN | ECE | CWR, SYN | ACK | CWR, ACK | CWR]
    # DCTCP's SYN is ECT(0), which the flag AE reports, as in Linux.
    dctcps = [SYN | ECE | CWR, SYN | ACK, ACK]
    refused = [SYN | ECE | CWR, SYN | ACK | ECE, ACK]
    assert [[p.bits for p in shake] for shake in shakes] == [accurate, dctcps, accurate, refused]
    assert [[p.ecn for p in shake] for shake in shakes] == [[0, 0, 0], [2, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert [shake[1].options.get(174) for shake in shakes] == [bytes([0, 0, 1, 0, 0, 0, 0, 0, 1])] * 2 + [None] * 2
    for interface, kind, fields in ((0, 174, ("ee1b", "eceb")), (1, 172, ("ee0b", "eceb"))):
        acks = [p for p in packets if p.interface == interface and not p.from_sender and not p.bits & SYN]
        mine = pl.col("flow").cast(pl.String) == run.form.flows[interface].name
        rows = run.events.filter(mine & (pl.col("kind").cast(pl.String) == "ack_sent"))
        for packet, row in zip(acks, rows.iter_rows(named=True), strict=True):
            assert (bool(packet.bits & ECE), bool(packet.bits & CWR)) == (row["ece"], row["cwr"])
            counts = [row[name] for name in fields if row[name] is not None]
            assert packet.options.get(kind, b"") == b"".join(count.to_bytes(3, "big") for count in counts)
        # The last option has the bytes that had arrived, without headers, and the counters began at 1 and 0.
        last = next(p for p in reversed(acks) if kind in p.options)
        arrived = [p for p in packets if p.interface == interface and p.from_sender and p.time_ns <= last.time_ns]
        capable, marked = (sum(p.payload for p in arrived if p.ecn == ecn) for ecn in (1 if kind == 174 else 2, 3))
        assert marked > 0
        assert last.options[kind] == (1 + capable).to_bytes(3, "big") + marked.to_bytes(3, "big")


def test_a_linux_host_sends_the_option_with_each_packet(tmp_path: Path) -> None:
    stack = {"ecn": True, "accurate_ecn": True, "accurate_ecn_option": True}
    path = {"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "1000 packets", "queue": "codel"}
    flow = {"algorithm": "cubic", "stack": stack}
    scenario = Scenario.from_dict({"duration": "1 s", "events": True, "dumbbell": path, "flow": [flow]})
    run = runs.run(scenario, store=runs.Store(tmp_path))
    export.write_pcapng(run, export.events_of(run), tmp_path / "linux.pcapng", "receiver")
    packets = [dissect(body) for kind, body in blocks((tmp_path / "linux.pcapng").read_bytes()) if kind == 6]
    segments = [p for p in packets if p.payload]
    assert {(p.payload, p.options[174]) for p in segments} == {(1436, bytes([0, 0, 1, 0, 0, 0, 0, 0, 1]))}
    acks = [p for p in packets[3:] if not p.from_sender]
    assert {len(p.options[174]) for p in acks} == {9}
    assert int.from_bytes(acks[-1].options[174][6:], "big") > 1436 * len(acks)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: apt install tshark)")
def test_tshark_reads_the_counters_of_accurate_ecn(counting: tuple[Run, Path]) -> None:
    run, path = counting
    fields = ["tcp.stream", "tcp.flags.ace", "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb"]
    fields += ["tcp.options.acc_ecn.ee1b"]
    command = ["tshark", "-r", str(path), "-Y", "tcp.srcport == 5001 && tcp.flags.syn == 0", "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shown: dict[str, list[tuple[str, ...]]] = {}
    for line in found.splitlines():
        stream, *numbers = line.split("\t")
        shown.setdefault(stream, []).append(tuple(numbers))
    rows = run.events.with_columns(pl.col("flow", "kind").cast(pl.String)).filter(pl.col("kind") == "ack_sent")
    said = [
        [
            (
                str(4 * row["ae"] + 2 * row["cwr"] + row["ece"]),
                *(_shown(row[name]) for name in ("ee0b", "eceb", "ee1b")),
            )
            for row in rows.filter(pl.col("flow") == flow).iter_rows(named=True)
        ]
        for flow in ("prague", "dctcp", "cubic")
    ]
    assert all(numbers in shown.values() for numbers in said)


def _shown(count: int | None) -> str:
    return "" if count is None else str(count)


def test_the_command_takes_a_part_and_some_flows(
    lossy: Run, store: runs.Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, log = tmp_path / "part.pcapng", tmp_path / "part.qlog"
    part = ["--window", "4 s", "5 s", "--flow", "capable"]
    command = ["show", lossy.id, "--store", str(store.root), "--pcapng", str(path), "--qlog", str(log), "--json"]
    assert run_command([*command, *part]) == 0
    assert json.loads(capsys.readouterr().out) == {"id": lossy.id, "files": [str(path), str(log)]}
    packets = [dissect(body) for kind, body in blocks(path.read_bytes()) if kind == 6]
    assert {p.interface for p in packets} == {1}
    assert 4e9 <= packets[0].time_ns < packets[-1].time_ns <= 5e9
    assert [trace["title"] for trace in json.loads(log.read_text())["traces"]] == ["capable"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--pcapng", "x", "--at", "recever"], "--at: 'recever' is not an end of a flow; did you mean 'receiver'?"),
        (["--qlog", "x", "--at", "sender"], "--at belongs to --pcapng FILE"),
        (
            ["--pcapng", "x", "--flow", "capabel"],
            "--flow: 'capabel' is not a flow of this run; did you mean 'capable'?",
        ),
        (["--pcapng", "x", "--window", "5 s", "4 s"], "--window: '4 s' is not after '5 s'"),
        (["--pcapng", "x", "--window", "5", "6 s"], "--window: '5' has no unit"),
        (
            ["--pcapng", "x", "--metric", "jain"],
            "--pcapng and --qlog write packets, --metric and --link are for numbers",
        ),
    ],
)
def test_wrong_options_are_one_line(
    options: list[str], line: str, lossy: Run, store: runs.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["show", lossy.id, "--store", str(store.root), *options]) == 2
    assert capsys.readouterr().err.startswith(f"elephan: show: {line}")
