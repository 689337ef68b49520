"""A run as qlog, for qvis (https://qvis.quictools.info) and other viewers of QUIC logs.

The file has version 0.3 of qlog's main schema (draft-ietf-quic-qlog-main-schema). The file uses the events of
draft-ietf-quic-qlog-quic-events that apply to TCP, and has a trace for each flow from its sender's view. The mapping of
TCP is:

- Each transmission is a packet. The packet number counts the flow's transmissions, as in QUIC. The packet carries a
STREAM frame of stream 0 with the segment's bytes.
- An ACK is a packet with an ACK frame. The frame's ranges are the transmissions that this ACK acknowledges for the
  first time, in order or by SACK blocks. If a segment was sent twice, the later transmission counts.
- ``recovery:packet_lost`` names the earlier transmission of a segment, at the time when the segment is sent again. The
  engine does not log the time at which a sender declares a loss.
- A datagram is a packet with a DATAGRAM frame; it has no other event.
- ``recovery:metrics_updated`` follows each ACK. The event has the congestion window and the bytes in flight after the
ACK was processed, and the RTTs in ms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from elephan.runs import Run
from elephan.scenario.form import FlowSpec
from elephan.version import __version__
from elephan.writing import whole_file

if TYPE_CHECKING:
    import polars as pl

VERSION = "0.3"
MS = 1e3


def write_qlog(run: Run, events: pl.DataFrame, path: str | Path) -> int:
    """Write a trace for each flow with events.

    Args:
        run: run of the flows.
        events: its event log, from :func:`elephan.export.events_of`.
        path: the file.

    Returns:
        Number of qlog events in the file.

    Raises:
        OSError: the file cannot be written.
    """
    with whole_file(path) as place, place.open("w", encoding="utf-8") as file:
        head = {
            "qlog_version": VERSION,
            "qlog_format": "JSON",
            "title": run.manifest.get("title") or run.id,
            "description": f"elephan {__version__}, run {run.id}; TCP, mapped to QUIC's events",
        }
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "traces": [')
        seen = set(events["flow"].cast(str).unique())
        flows = [flow for flow in run.form.flows if flow.name in seen]
        count = 0
        for i, flow in enumerate(flows):
            file.write(",\n" if i else "\n")
            count += _write_trace(file, flow, events)
        file.write("\n]}\n")
    return count


def _write_trace(file: TextIO, flow: FlowSpec, events: pl.DataFrame) -> int:
    head = {
        "title": flow.name,
        "description": f"{flow.algorithm}; packet numbers count transmissions",
        "vantage_point": {"name": f"sender of {flow.name}", "type": "client"},
        "common_fields": {"time_format": "absolute", "reference_time": 0, "protocol_type": ["TCP"]},
        "configuration": {"time_offset": 0},
    }
    file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "events": [')
    count = 0
    for event in trace(flow, events):
        file.write(",\n" if count else "\n")
        file.write(json.dumps(event))
        count += 1
    file.write("\n]}")
    return count


def trace(flow: FlowSpec, events: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The qlog events of one flow, in order of time."""
    import polars as pl

    stack = flow.stack
    sender = _Sender(stack.payload_bytes, datagrams=flow.datagrams)
    seen = events.filter((pl.col("flow") == flow.name) & pl.col("kind").cast(pl.String).is_in(["sent", "acked"]))
    yield _event(
        seen["time_s"][0] if seen.height else 0.0,
        "recovery:parameters_set",
        {
            "max_datagram_size": stack.payload_bytes,
            "initial_congestion_window": stack.initial_window * stack.payload_bytes,
            "reordering_threshold": stack.dup_threshold,
        },
    )
    for row in seen.iter_rows(named=True):
        yield from sender.acked(row) if row["ack"] else sender.sent(row)


class _Sender:
    """Numbers of a sender's transmissions, and the transmissions that are not yet acknowledged."""

    def __init__(self, payload_bytes: int, *, datagrams: bool) -> None:
        self._payload_bytes = payload_bytes
        self._datagrams = datagrams
        self._next_number = 0
        self._outstanding: dict[int, int] = {}
        """The latest transmission of each unacknowledged segment."""
        self._una: int | None = None
        self._min_rtt_ms: float | None = None

    def sent(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        segment, number = row["segment"], self._next_number
        self._next_number += 1
        before = self._outstanding.get(segment)
        if self._una is None:
            self._una = segment
        if before is not None:
            yield _event(
                row["time_s"], "recovery:packet_lost", {"header": _header(before), "frames": [self._frame(segment)]}
            )
        self._outstanding[segment] = number
        yield _event(
            row["time_s"],
            "transport:packet_sent",
            {
                "header": _header(number),
                "raw": {"length": row["bytes"], "payload_length": self._payload_bytes},
                "frames": [self._frame(segment)],
            },
        )

    def acked(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        numbers = self._acknowledged(row)
        if numbers:
            frame = {"frame_type": "ack", "acked_ranges": ranges(numbers)}
            yield _event(
                row["time_s"],
                "transport:packet_received",
                {"header": {"packet_type": "1RTT"}, "raw": {"length": row["bytes"]}, "frames": [frame]},
            )
        latest_ms = (row["time_s"] - row["stamp_s"]) * MS
        self._min_rtt_ms = latest_ms if self._min_rtt_ms is None else min(latest_ms, self._min_rtt_ms)
        metrics = {
            "congestion_window": int(row["cwnd"] * self._payload_bytes),
            "bytes_in_flight": row["in_flight"] * self._payload_bytes,
            "packets_in_flight": row["in_flight"],
            "latest_rtt": _ms(latest_ms),
            "min_rtt": _ms(self._min_rtt_ms),
        }
        if row["srtt_s"] is not None:
            metrics["smoothed_rtt"] = _ms(row["srtt_s"] * MS)
        yield _event(row["time_s"], "recovery:metrics_updated", metrics)

    def _acknowledged(self, row: dict[str, Any]) -> list[int]:
        """Transmissions that an ACK newly acknowledges."""
        fresh = []
        if self._una is not None and row["segment"] > self._una:
            fresh += [self._outstanding.pop(s) for s in range(self._una, row["segment"]) if s in self._outstanding]
            self._una = row["segment"]
        for i in (1, 2, 3):
            first, past = row[f"sack_{i}_first"], row[f"sack_{i}_past"]
            if first is not None:
                held = range(first, past) if past - first < len(self._outstanding) else sorted(self._outstanding)
                inside = [s for s in held if first <= s < past and s in self._outstanding]
                fresh += [self._outstanding.pop(s) for s in inside]
        return sorted(fresh)

    def _frame(self, segment: int) -> dict[str, Any]:
        if self._datagrams:
            return {"frame_type": "datagram", "length": self._payload_bytes}
        return {
            "frame_type": "stream",
            "stream_id": 0,
            "offset": segment * self._payload_bytes,
            "length": self._payload_bytes,
        }


def ranges(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as ranges, both ends included.

    >>> ranges([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _event(time_s: float, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": _ms(time_s * MS), "name": name, "data": data}


def _header(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


def _ms(value: float) -> float:
    """A time in ms, rounded to ns, since smaller digits are rounding errors."""
    return round(value, 6)
