"""The reader of captures gives the packets that scapy wrote, for each format, link type and compression."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from tests.explanation import captures
from tests.explanation.captures import MSS, transfer, write

import elephan
from elephan.explanation import ACKS, SEGMENTS, Connection, open_capture, read_connection


def read(path: Path, number: int | None = None) -> Connection:
    return read_connection(open_capture(path), number)


def check(found: Connection, *, segments: int = 20) -> None:
    assert found.segments["seq"].to_list() == [number * MSS for number in range(segments)]
    assert set(found.segments["bytes"]) == {MSS}
    assert found.acks["ack"].to_list()[-1] == segments * MSS
    assert found.acks["window"].to_list()[-1] == 512 << 7
    assert found.from_start
    assert found.handshake.sender_mss == MSS + 12
    assert not found.segments["retransmission"].any()


@pytest.mark.parametrize(
    ("wrap", "linktype"),
    [
        (captures.ethernet, None), (captures.vlan, None), (captures.twice_tagged, None), (captures.cooked, 113),
        (captures.cooked_2, 276), (captures.ip, 101), (captures.ip, 228), (captures.ip_6, 229),
        (captures.ethernet_6, None),
    ],
)  # fmt: skip
def test_each_link_type_gives_the_same_tables(wrap: captures.Wrap, linktype: int | None, tmp_path: Path) -> None:
    found = read(write(tmp_path / "one.pcap", transfer(wrap), linktype=linktype))
    check(found)
    assert found.notes == ()


@pytest.mark.parametrize("name", ["one.pcap", "one.pcapng", "one.pcap.gz", "one.pcapng.gz", "one.pcap.zst"])
def test_each_format_gives_the_same_tables(name: str, tmp_path: Path) -> None:
    if name.endswith("zst") and shutil.which("zstd") is None:
        pytest.skip("zstd is not installed")
    check(read(write(tmp_path / name, transfer())))


def test_columns_are_those_that_are_documented(tmp_path: Path) -> None:
    found = read(write(tmp_path / "one.pcap", transfer()))
    assert found.segments.columns == list(SEGMENTS)
    assert found.acks.columns == list(ACKS)


@pytest.mark.parametrize(("nano", "unit_ns"), [(False, 1000), (True, 1)])
def test_times_have_the_resolution_of_the_file(nano: bool, unit_ns: int, tmp_path: Path) -> None:
    found = read(write(tmp_path / "one.pcap", transfer(), nano=nano))
    assert found.segments["time_ns"][0] == pytest.approx(50.1e6, abs=2 * unit_ns + 500)
    assert all(time_ns % unit_ns == 0 for time_ns in found.segments["time_ns"])


def test_a_snap_length_of_64_bytes_loses_only_the_echoes(tmp_path: Path) -> None:
    found = read(write(tmp_path / "cut.pcap", transfer(), snap=64))
    check(found)
    assert found.segments["tsval"].null_count() == 0
    assert found.segments["tsecr"].null_count() == found.segments.height
    assert any("128 bytes" in note for note in found.notes)


def test_headers_that_were_cut_off_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.pcap", transfer(captures.ethernet_6), snap=64)
    with pytest.raises(elephan.ScenarioError, match="capture 128 bytes of each: tcpdump -s 128"):
        open_capture(path)


def test_a_super_segment_keeps_its_length(tmp_path: Path) -> None:
    packets = transfer()
    big = captures.ethernet(True) / TCP(sport=40001, dport=5201, flags="A", seq=100, ack=10) / (b"x" * 40000)
    found = read(write(tmp_path / "tso.pcap", [*packets, captures.stamped(big, 9)], snap=96))
    assert found.segments["bytes"].max() == 40000


@pytest.mark.parametrize("at_receiver", [False, True])
@pytest.mark.parametrize("stamps", [False, True])
def test_the_place_of_a_capture_is_found(at_receiver: bool, stamps: bool, tmp_path: Path) -> None:
    found = read(write(tmp_path / "one.pcap", transfer(at_receiver=at_receiver, stamps=stamps))).position
    assert found.place == ("receiver" if at_receiver else "sender")
    assert found.rtt_ns == pytest.approx(50e6, rel=0.02)


@pytest.mark.parametrize("at_receiver", [False, True])
@pytest.mark.parametrize("stamps", [False, True])
def test_a_retransmission_is_one_on_both_sides_of_the_loss(at_receiver: bool, stamps: bool, tmp_path: Path) -> None:
    packets = transfer(at_receiver=at_receiver, stamps=stamps, lost=[6])
    segments = read(write(tmp_path / "one.pcap", packets)).segments
    again = segments.filter(segments["retransmission"])
    assert again["seq"].to_list() == [6 * MSS]
    assert again["late"].to_list() == [at_receiver]


def test_packets_in_another_order_than_their_times_are_sorted(tmp_path: Path) -> None:
    packets = transfer()
    packets[8:12] = packets[11:7:-1]
    found = read(write(tmp_path / "one.pcap", packets))
    assert found.segments["time_ns"].is_sorted()
    assert any("earlier time" in note for note in found.notes)
    check(found)


def test_a_capture_without_a_handshake_says_what_is_not_known(tmp_path: Path) -> None:
    found = read(write(tmp_path / "late.pcap", transfer()[6:]))
    assert found.window_scale is None
    assert found.acks["window"].null_count() == found.acks.height
    assert found.mss == MSS
    assert "the handshake was not captured" in found.notes


def test_ports_that_are_used_again_are_another_connection(tmp_path: Path) -> None:
    second = transfer(isn=77, segments=30)
    for packet in second:
        packet.time = float(packet.time) + 10
    found = open_capture(write(tmp_path / "two.pcap", [*transfer(), *second]))
    assert [(flow.number, flow.sent_bytes) for flow in found.flows] == [(2, 30 * MSS), (1, 20 * MSS)]
    check(read_connection(found, 1))
    check(read_connection(found), segments=30)


def test_an_unknown_connection_is_refused(tmp_path: Path) -> None:
    found = open_capture(write(tmp_path / "one.pcap", transfer()))
    with pytest.raises(elephan.ScenarioError, match="--flow: 3 is no connection with data; there are 1"):
        read_connection(found, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.pcap: the file is empty"),
        (b"hello, world, this is a text and no capture at all", "x.pcap: the file is no capture in pcap or pcapng"),
        (b"\x1f\x8b\x08", "x.pcap: "),
        (b"\x28\xb5\x2f\xfd\x00", "x.pcap: "),
    ],
)
def test_other_files_are_refused_in_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    with pytest.raises(elephan.ScenarioError) as caught:
        open_capture(path)
    assert str(caught.value).startswith(message)


def test_a_capture_without_tcp_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "dns.pcap", captures.datagrams())
    with pytest.raises(elephan.ScenarioError, match="none of its 5 packets is TCP over IP"):
        open_capture(path)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(elephan.ScenarioError, match=r"none\.pcap: no such file"):
        open_capture(tmp_path / "none.pcap")


def test_a_file_that_ends_within_a_packet_is_read_up_to_there(tmp_path: Path) -> None:
    path = write(tmp_path / "one.pcap", transfer())
    path.write_bytes(path.read_bytes()[:-10])
    found = read(path)
    assert "the file ends within a packet, so its end is missing" in found.notes
    assert found.segments.height == 20
