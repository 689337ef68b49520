"""Reading of captures: pcap and pcapng, also compressed with gzip or zstd."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan import _engine
from elephan.explanation.connection import Connection, Flow, Handshake
from elephan.explanation.position import find_position
from elephan.scenario.errors import ScenarioError

MOST_PACKETS = 4_000_000
"""Most packets of a connection that are read: about 1 GB of memory."""
_LEAST_SEGMENTS = 3


@dataclass(frozen=True)
class Capture:
    """The connections of a file.

    Attributes:
        path: the file.
        flows: its connections, the largest first.
        packets: packets of all kinds.
        notes: sentences on what was left out.
    """

    path: Path
    flows: tuple[Flow, ...]
    packets: int
    notes: tuple[str, ...]


def open_capture(path: str | Path) -> Capture:
    """List the connections of a capture.

    Raises:
        ScenarioError: the file cannot be read, or has no TCP connection with data.
    """
    path = Path(path)
    try:
        found = _engine.capture_connections(str(path))
    except _engine.CaptureError as error:
        raise ScenarioError(str(error), source=_name(path)) from None
    except OSError as error:
        raise ScenarioError((error.strerror or str(error)).lower(), source=_name(path)) from None
    start_ns = min((one["first_ns"] for one in found["connections"]), default=0)
    flows = tuple(_flow(one, start_ns) for one in found["connections"] if sum(one["payload_bytes"]) > 0)
    if not flows:
        raise ScenarioError(_nothing(found), source=_name(path))
    return Capture(path, flows, found["packets"], tuple(_notes(found)))


def read_connection(capture: Capture, number: int | None = None) -> Connection:
    """Read the packets of a connection: the largest, or that with a number.

    Raises:
        ScenarioError: there is no such connection, or it has hardly any data.
    """
    flow = capture.flows[0] if number is None else next((f for f in capture.flows if f.number == number), None)
    if flow is None:
        known = ", ".join(str(f.number) for f in capture.flows[:8]) + (", …" if len(capture.flows) > 8 else "")
        raise ScenarioError(f"{number} is no connection with data; there are {known}", source="--flow")
    import polars as pl

    found = _engine.capture_packets(str(capture.path), flow.number, flow.sender, MOST_PACKETS, flow.first_ns)
    segments, acks = pl.DataFrame(found["segments"]), pl.DataFrame(found["acks"])
    if segments.height < _LEAST_SEGMENTS:
        raise ScenarioError(
            f"connection {flow.number} has {segments.height} packets with data, at least {_LEAST_SEGMENTS} are needed",
            source=_name(capture.path),
        )
    shake = Handshake(**found["handshake"], opened_by_sender=flow.sender == 0 if flow.opened else None)
    position = find_position(segments, acks, shake)
    return Connection(
        flow, segments, acks, shake, position, found["from_start"], found["window_scale"], found["reset_ns"],
        (*capture.notes, *_shortcomings(found, acks, position.known)),
    )  # fmt: skip


def _flow(one: dict[str, Any], start_ns: int) -> Flow:
    sent, answered = one["payload_bytes"]
    sender = int(answered > sent)
    hosts = one["hosts"] if not sender else one["hosts"][::-1]
    return Flow(
        one["number"], ((hosts[0][0], hosts[0][1]), (hosts[1][0], hosts[1][1])), one["packets"], max(sent, answered),
        min(sent, answered), (one["first_ns"] - start_ns) / 1e9, (one["last_ns"] - one["first_ns"]) / 1e9,
        one["opened"], one["first_ns"], sender,
    )  # fmt: skip


def _nothing(found: dict[str, Any]) -> str:
    """Reason why a file has no connection to explain."""
    packets = found["packets"]
    if not packets:
        return {
            "whole": "the capture has no packets", "cut": "the file ends within its first packet",
        }.get(found["end"], "the first packet of the capture is damaged")  # fmt: skip
    if found["cut"]:
        return (
            f"the packets were cut before the end of the TCP header; capture 128 bytes of each: tcpdump -s 128 "
            f"({found['cut']} packets)"
        )
    if found["unknown_links"]:
        return (
            f"packets of link type {found['unknown_link']} are not read; capture on an interface with Ethernet, IP or "
            "Linux's cooked headers"
        )
    if found["connections"]:
        return f"none of its {len(found['connections'])} TCP connections has data"
    return f"none of its {packets} packets is TCP over IP"


def _notes(found: dict[str, Any]) -> list[str]:
    notes = []
    if found["end"] == "cut":
        notes.append("the file ends within a packet, so its end is missing")
    if found["end"] == "damaged":
        notes.append(f"the file is damaged after {found['packets']} packets, and what follows is left out")
    if found["cut"]:
        notes.append(f"{found['cut']} TCP packets were cut within their header and are left out")
    if found["fragments"]:
        notes.append(f"{found['fragments']} fragments of TCP packets are left out")
    if found["unknown_links"]:
        notes.append(f"{found['unknown_links']} packets of link type {found['unknown_link']} are left out")
    if found["forgotten"]:
        notes.append(f"{found['forgotten']} of the smallest connections are left out, since there are too many")
    return notes


def _shortcomings(found: dict[str, Any], acks: Any, place_known: bool) -> list[str]:
    notes = []
    if found["left_out"]:
        notes.append(f"only the first {MOST_PACKETS} packets are read, and {found['left_out']} are left out")
    if found["disordered"]:
        notes.append(
            f"{found['disordered']} packets have an earlier time than the packet before them (up to "
            f"{found['step_back_ns'] / 1e6:.3g} ms), so packets are taken in the order of their times"
        )
    if found["options_cut"]:
        notes.append(
            f"TCP options of {found['options_cut']} packets were cut off, and with them SACK blocks or timestamps; "
            "capture 128 bytes of each packet: tcpdump -s 128"
        )
    if not found["from_start"]:
        notes.append("the handshake was not captured")
    if found["window_scale"] is None:
        notes.append("the scale of the receive window is not known without the handshake")
    if acks.is_empty():
        notes.append("the capture has no acknowledgments, so it shows one direction only")
    if not place_known:
        notes.append("the place of the capture is not known and is taken to be the sender")
    return notes


def _name(path: Path) -> str:
    return path.name
