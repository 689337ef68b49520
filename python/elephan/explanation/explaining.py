"""Explanation of a capture: what limited its largest flow, or another, and when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.explanation.capture import Capture, open_capture, read_connection
from elephan.explanation.connection import Connection, Flow
from elephan.explanation.limits import find_limits
from elephan.explanation.results import Limits
from elephan.explanation.wording import limits_words

MOST_LISTED = 12
"""Most connections in an answer; ``flows`` of the capture has all."""
_MOST_INTERVALS = 200


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
        return limits_words(
            self.limits, goodput_bps=self.goodput_bps, rtt_s=self.rtt_s, duration_s=self.connection.duration_s
        )

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
