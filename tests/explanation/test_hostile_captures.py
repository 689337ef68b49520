"""Damaged captures end in one line or in an explanation, whatever bits are flipped; so do the command's inputs."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Packet
from tests.explanation import captures

import elephan
from elephan.cli.main import run_command
from elephan.explanation import Explanation


def explained(path: Path) -> Explanation | str:
    try:
        return elephan.explain(path)
    except elephan.ScenarioError as error:
        return str(error)


@pytest.mark.parametrize("name", ["one.pcap", "one.pcapng", "one.pcap.gz"])
def test_flipped_bits_give_one_line_or_an_explanation(name: str, tmp_path: Path) -> None:
    path = captures.write(tmp_path / name, captures.transfer(segments=12))
    whole = path.read_bytes()
    draw = random.Random(name)
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 3, 20))):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            del content[draw.randrange(len(content)) :]
        path.write_bytes(content)
        found = explained(path)
        if isinstance(found, str):
            assert "\n" not in found
        else:
            assert sum(found.limits.fractions.values()) == pytest.approx(1)
            assert "nan" not in found.text
            found.document()


@pytest.mark.parametrize("seed", range(4))
def test_hostile_connections_are_explained(seed: int, tmp_path: Path) -> None:
    """Valid packets with any sequence numbers, windows, options and times."""
    draw = random.Random(seed)
    packets = captures.transfer(segments=40)
    for packet in packets[3:]:
        inner = packet[TCP]
        if draw.random() < 0.3:
            inner.seq = draw.getrandbits(32)
        if draw.random() < 0.3:
            inner.ack = draw.getrandbits(32)
        if draw.random() < 0.2:
            inner.window = draw.getrandbits(16)
        if draw.random() < 0.2:
            inner.options = [("Timestamp", (draw.getrandbits(32), draw.getrandbits(32)))]
        if draw.random() < 0.1:
            packet.time = float(packet.time) + draw.choice((-1e9, -1.0, 1.0, 1e9))
    found = elephan.explain(captures.write(tmp_path / "one.pcap", packets))
    assert sum(found.limits.fractions.values()) == pytest.approx(1)


def changed(packets: list[Packet], kind: str, draw: random.Random) -> list[Packet]:
    """Valid packets of one connection that no TCP would send."""
    for packet in packets[3:]:
        inner = packet[TCP]
        if draw.random() > 0.3:
            continue
        if kind == "numbers":
            inner.seq, inner.ack = draw.getrandbits(32), draw.getrandbits(32)
        elif kind == "times":
            packet.time = float(packet.time) + draw.choice((-1e6, -0.01, 0.01, 1e9))
        elif kind == "blocks":
            edges = tuple(draw.getrandbits(32) for _ in range(4))
            inner.options = [("Timestamp", (draw.getrandbits(32), draw.getrandbits(32))), ("SAck", edges)]
        elif kind == "flags":
            inner.flags = draw.choice(("S", "SA", "F", "R", "U", ""))
    return [packet for packet in packets if draw.random() < 0.8]


@pytest.mark.parametrize("kind", ["numbers", "times", "blocks", "flags"])
@pytest.mark.parametrize("seed", range(3))
def test_paths_of_hostile_connections_are_fitted_or_refused(kind: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    packets = changed(captures.transfer(segments=60, lost=[7], at_receiver=seed == 1), kind, draw)
    found = elephan.explain(captures.write(tmp_path / "one.pcap", packets))
    why = None
    try:
        assert found.path.quantities
        assert found.algorithm.reason
    except elephan.ScenarioError as error:
        why = str(error)
    assert why is None or "\n" not in why


def test_a_window_below_a_segment_is_said(tmp_path: Path) -> None:
    packets = captures.transfer(segments=300)
    for packet in packets:
        packet[TCP].window = 0
    found = elephan.explain(captures.write(tmp_path / "one.pcap", packets))
    with pytest.raises(elephan.ScenarioError, match="less than a segment"):
        found.check  # noqa: B018


def test_a_gap_of_gigabytes_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    packets = captures.transfer(segments=30)
    for number, packet in enumerate(packets[3:]):
        packet[TCP].seq = (number * 2**30) % 2**32
    found = elephan.explain(captures.write(tmp_path / "one.pcap", packets))
    with pytest.raises(elephan.ScenarioError, match=r"the capture has \d+ of \d+ segments"):
        _ = found.path


def test_a_flood_of_connections_keeps_its_bounds(tmp_path: Path) -> None:
    flood = captures.flood(70_000)
    path = tmp_path / "flood.pcap"
    path.write_bytes(flood)
    with pytest.raises(elephan.ScenarioError, match=r"none of its \d+ TCP connections has data"):
        elephan.explain(path)


def test_a_bomb_of_zeros_is_refused(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "bomb.pcap.gz"
    path.write_bytes(gzip.compress(bytes(200_000_000), compresslevel=1))
    with pytest.raises(elephan.ScenarioError, match="the file is no capture"):
        elephan.explain(path)


@pytest.mark.parametrize("content", [b"", b"junk" * 100])
def test_the_command_ends_with_status_2_and_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    assert run_command(["explain", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["explain", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_pipe_that_never_ends_is_not_needed() -> None:
    """A device with endless bytes is refused by its first ones."""
    done = subprocess.run(
        [sys.executable, "-m", "elephan", "explain", "/dev/zero"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
