"""Explanation of a capture: what limited its largest flow, or another, and when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.explanation.capture import Capture, open_capture, read_connection
from elephan.explanation.connection import Connection, Flow
from elephan.explanation.limits import find_limits
from elephan.explanation.results import OF_PATH, Limit, Limits

MOST_LISTED = 12
"""Most connections in an answer; ``flows`` of the capture has all."""
_MOST_INTERVALS = 200
_LITTLE = 0.02
"""Smallest share of time that the first sentence names."""


@dataclass(frozen=True)
class Explanation:
    """Answer of a capture on one of its flows.

    Attributes:
        capture: the file, with its connections.
        connection: the packets of the flow.
        limits: what limited it, and when.
    """

    capture: Capture
    connection: Connection
    limits: Limits

    @property
    def goodput_bps(self) -> float:
        """Data acknowledged for the first time, over the time from the first segment to the last packet, bit/s."""
        acks, segments = self.connection.acks, self.connection.segments
        if acks.is_empty():
            return 0.0
        span_s = self.limits.intervals[-1].end_s - self.limits.intervals[0].start_s
        reached, start = float(acks["ack"].to_numpy().max()), float(segments["seq"].to_numpy().min())
        return 8 * max(0.0, reached - start) / max(span_s, 1e-9)

    @property
    def rtt_s(self) -> float:
        """Least round trip, s."""
        return self.connection.position.rtt_ns / 1e9

    @property
    def text(self) -> str:
        """The answer in words: one paragraph."""
        return " ".join(_sentences(self))

    @property
    def notes(self) -> tuple[str, ...]:
        """Shortcomings of the capture, in sentences."""
        return self.connection.notes

    def document(self) -> dict[str, Any]:
        """The explanation as plain values, without addresses and payloads."""
        shake, position = self.connection.handshake, self.connection.position
        return {
            "answer": self.text,
            "connections": [_listed(flow) for flow in self.capture.flows[:MOST_LISTED]],
            "connections_in_all": len(self.capture.flows),
            "flow": _listed(self.connection.flow),
            "goodput_bps": self.goodput_bps,
            "place": position.place if position.known else None,
            "rtt_s": {
                "least": self.rtt_s,
                "to_receiver": position.to_receiver_ns / 1e9,
                "to_sender": None if position.to_sender_ns is None else position.to_sender_ns / 1e9,
            },
            "segments": self.connection.segments.height,
            "retransmissions": int(self.connection.segments["retransmission"].sum()),
            "acks": self.connection.acks.height,
            "mss_bytes": self.connection.mss,
            "timestamps": shake.sender_stamps,
            "sack": shake.sender_sack and shake.receiver_sack if shake.sender_sack is not None else None,
            "window_scale": self.connection.window_scale,
            "limits": {
                "shares": [
                    {"limit": str(share.limit), "fraction": share.fraction, "evidence": share.evidence}
                    for share in self.limits.shares
                ],
                "intervals": [
                    {"start_s": interval.start_s, "end_s": interval.end_s, "limit": str(interval.limit)}
                    for interval in self.limits.intervals[:_MOST_INTERVALS]
                ],
                "intervals_in_all": len(self.limits.intervals),
            },
            "notes": list(self.notes),
        }


def explain(file: str | Path, *, flow: int | None = None) -> Explanation:
    """Explain what limited a flow of a capture.

    Args:
        file: a capture in pcap or pcapng, which may be compressed with gzip or zstd.
        flow: number of the connection in the file; by default that with the most data.

    Raises:
        ScenarioError: the file cannot be read, is no capture, or has no such connection.
    """
    capture = open_capture(file)
    connection = read_connection(capture, flow)
    return Explanation(capture, connection, find_limits(connection))


def _listed(flow: Flow) -> dict[str, Any]:
    return {
        "number": flow.number,
        "packets": flow.packets,
        "sent_bytes": flow.sent_bytes,
        "answered_bytes": flow.answered_bytes,
        "start_s": flow.start_s,
        "duration_s": flow.duration_s,
        "handshake": flow.opened,
    }


CAUSES = {
    Limit.APPLICATION: "the application on A, which had no more data to send",
    Limit.RECEIVE_WINDOW: "B's receive window",
    Limit.SEND_BUFFER: "A's send buffer, or another fixed window of A",
    Limit.SLOW_START: "slow start",
    Limit.CONGESTION: "the path, by congestion",
    Limit.RANDOM_LOSS: "the path, by losses that no queue announces",
    Limit.POLICER: "the path, by a policer",
    Limit.DELAYED_ACKS: "B's delayed acknowledgments",
}
REMEDIES = {
    Limit.APPLICATION: "Another algorithm would change little.",
    Limit.RECEIVE_WINDOW: "A larger receive buffer on B would help (tcp_rmem), and another algorithm would not.",
    Limit.SEND_BUFFER: "A larger send buffer on A would help (tcp_wmem, SO_SNDBUF), and another algorithm hardly.",
    Limit.DELAYED_ACKS: "Larger writes, or B's quick acknowledgments, would help.",
}


def _sentences(found: Explanation) -> list[str]:
    flow, limits = found.connection.flow, found.limits
    acked = found.goodput_bps * (limits.intervals[-1].end_s - limits.intervals[0].start_s) / 8
    sentences = [
        f"A sent {size(acked)} to B in {flow.duration_s:.3g} s: {rate(found.goodput_bps)} over a path with a round "
        f"trip of at least {1e3 * found.rtt_s:.3g} ms."
    ]
    named = [share for share in limits.shares if share.fraction >= _LITTLE]
    first = limits.shares[0]
    rest = ", ".join(f"{CAUSES[share.limit]} ({100 * share.fraction:.0f} %)" for share in named[1:])
    sentences.append(
        f"It was limited by {CAUSES[first.limit]}, in {100 * first.fraction:.0f} % of the time"
        + (f", then by {rest}." if rest else ".")
    )
    sentences.append(f"{first.evidence[:1].upper()}{first.evidence[1:]}.")
    if first.limit in REMEDIES:
        sentences.append(REMEDIES[first.limit])
    elif sum(limits.fractions.get(limit, 0.0) for limit in OF_PATH) > 0.5:
        sentences.append("Whether another algorithm would do better depends on the path.")
    return sentences


def size(number: float) -> str:
    """A size with its unit."""
    for least, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= least:
            return f"{number / least:.3g} {unit}"
    return f"{number:.0f} bytes"


def rate(bps: float) -> str:
    """A rate with its unit."""
    for least, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= least:
            return f"{bps / least:.3g} {unit}"
    return f"{bps:.0f} bit/s"
