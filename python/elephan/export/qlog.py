"""A run as qlog, for qvis (https://qvis.quictools.info) and other viewers of QUIC logs.

The file has version 0.3 of qlog's main schema (draft-ietf-quic-qlog-main-schema), those events of
draft-ietf-quic-qlog-quic-events that apply to TCP, and a trace for each flow from its sender's view. TCP is mapped so:

- Each transmission is a packet, whose number counts the flow's transmissions, as in QUIC. It carries a STREAM frame of
  stream 0 with the segment's bytes.
- An ACK is a packet with an ACK frame. Its ranges are the transmissions that it acknowledges for the first time, in
  order or by SACK blocks; if a segment was sent twice, the later transmission counts.
- ``recovery:packet_lost`` names the earlier transmission of a segment when the segment is sent again, because the
  engine does not log when a sender declares a loss.
- A datagram is a packet with a DATAGRAM frame; it has no other event.
- ``recovery:metrics_updated`` follows each ACK, with the congestion window and the bytes in flight after the ACK was
  processed, and the RTTs in ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from elephan.runs import Run
from elephan.scenario.form import FlowSpec
from elephan.version import __version__
from elephan.writing import whole_file

if TYPE_CHECKING:
    import polars as pl

VERSION = "0.3"
MS = 1e3
_ROW_BYTES = 290
"""Mean size of what a row of the event log becomes, bytes."""
_ROWS_A_REPORT = 20_000
_ENCODE = msgspec.json.Encoder().encode

Report = Callable[[int, int], object]


def size_bytes(events: pl.DataFrame) -> int:
    """Estimated size of the file of an event log."""
    return _ROW_BYTES * _seen(events).height


def write_qlog(run: Run, events: pl.DataFrame, path: str | Path, report: Report | None = None) -> int:
    """Write a trace for each flow with events.

    Args:
        run: run of the flows.
        events: its event log, from :func:`elephan.export.events_of`.
        path: the file.
        report: called with the rows of the log that are written so far, and all rows.

    Returns:
        Number of qlog events in the file.

    Raises:
        OSError: the file cannot be written.
    """
    rows = _seen(events)
    done, told = 0, report or (lambda _done, _total: None)
    with whole_file(path) as place, place.open("wb") as file:
        head = {
            "qlog_version": VERSION,
            "qlog_format": "JSON",
            "title": run.manifest.get("title") or run.id,
            "description": f"elephan {__version__}, run {run.id}; TCP, mapped to QUIC's events",
        }
        file.write(_ENCODE(head)[:-1] + b',"traces":[')
        seen = set(events["flow"].cast(str).unique())
        flows = [flow for flow in run.form.flows if flow.name in seen]
        count = 0
        for i, flow in enumerate(flows):
            file.write(b",\n" if i else b"\n")
            own = rows.filter(rows["flow"].cast(str) == flow.name)
            count += _write_trace(file, flow, own, partial(_told, told, done, rows.height))
            done += own.height
        file.write(b"\n]}\n")
    return count


def _told(report: Report, before: int, total: int, part: int) -> None:
    report(before + part, total)


def _seen(events: pl.DataFrame) -> pl.DataFrame:
    """The events at the senders."""
    return events.filter(events["kind"].cast(str).is_in(["sent", "acked"]))


def _write_trace(file: BinaryIO, flow: FlowSpec, rows: pl.DataFrame, report: Callable[[int], object]) -> int:
    head = {
        "title": flow.name,
        "description": f"{flow.algorithm}; packet numbers count transmissions",
        "vantage_point": {"name": f"sender of {flow.name}", "type": "client"},
        "common_fields": {"time_format": "absolute", "reference_time": 0, "protocol_type": ["TCP"]},
        "configuration": {"time_offset": 0},
    }
    stack = flow.stack
    begun = {
        "max_datagram_size": stack.payload_bytes,
        "initial_congestion_window": stack.initial_window * stack.payload_bytes,
        "reordering_threshold": stack.dup_threshold,
    }
    begin_ms = round(rows["time_s"][0] * MS, 6) if rows.height else 0.0
    first = {"time": begin_ms, "name": "recovery:parameters_set", "data": begun}
    file.write(_ENCODE(head)[:-1] + b',"events":[\n' + _ENCODE(first))
    sender, count = _Sender(stack.payload_bytes, datagrams=flow.datagrams), 1
    for start in range(0, rows.height, _ROWS_A_REPORT):
        made = sender.events(rows[start : start + _ROWS_A_REPORT])
        file.writelines(f",\n{event}".encode() for event in made)
        count += len(made)
        report(min(start + _ROWS_A_REPORT, rows.height))
    file.write(b"\n]}")
    return count


class _Sender:
    """Numbers of a sender's transmissions, and the transmissions that are not yet acknowledged.

    Events are made as text: a run has millions, and building and encoding objects takes three times as long.
    """

    def __init__(self, payload_bytes: int, *, datagrams: bool) -> None:
        self._payload_bytes = payload_bytes
        self._datagrams = datagrams
        self._next_number = 0
        self._outstanding: dict[int, int] = {}
        """The latest transmission of each unacknowledged segment."""
        self._una: int | None = None
        self._min_rtt_ms: float | None = None

    def events(self, rows: pl.DataFrame) -> list[str]:
        """The qlog events of rows of the event log, in order of time."""
        import polars as pl

        # Times are rounded to ns, since smaller digits are rounding errors.
        columns = rows.select(
            "ack", "segment", "bytes", "in_flight",
            (pl.col("time_s") * MS).round(6).alias("time_ms"),
            ((pl.col("time_s") - pl.col("stamp_s")) * MS).alias("rtt_ms"),
            (pl.col("srtt_s") * MS).round(6).alias("srtt_ms"),
            (pl.col("cwnd") * self._payload_bytes).alias("window"),
            *(f"sack_{block}_{edge}" for block in (1, 2, 3) for edge in ("first", "past")),
        )  # fmt: skip
        made: list[str] = []
        for ack, segment, octets, in_flight, time_ms, rtt_ms, srtt_ms, window, *sacks in columns.iter_rows():
            if not ack:
                self._sent(made, time_ms, segment, octets)
                continue
            numbers = self._acknowledged(segment, sacks)
            if numbers:
                acked = str(ranges(numbers)).replace(" ", "")
                made.append(
                    f'{{"time":{time_ms},"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT"}},'
                    f'"raw":{{"length":{octets}}},"frames":[{{"frame_type":"ack","acked_ranges":{acked}}}]}}}}'
                )
            if self._min_rtt_ms is None or rtt_ms < self._min_rtt_ms:
                self._min_rtt_ms = rtt_ms
            smoothed = "" if srtt_ms is None else f',"smoothed_rtt":{srtt_ms}'
            made.append(
                f'{{"time":{time_ms},"name":"recovery:metrics_updated","data":{{"congestion_window":{int(window)},'
                f'"bytes_in_flight":{in_flight * self._payload_bytes},"packets_in_flight":{in_flight},'
                f'"latest_rtt":{round(rtt_ms, 6)},"min_rtt":{round(self._min_rtt_ms, 6)}{smoothed}}}}}'
            )
        return made

    def _sent(self, made: list[str], time_ms: float, segment: int, octets: int) -> None:
        number = self._next_number
        self._next_number += 1
        before = self._outstanding.get(segment)
        if self._una is None:
            self._una = segment
        frame = self._frame(segment)
        if before is not None:
            made.append(
                f'{{"time":{time_ms},"name":"recovery:packet_lost","data":{{"header":{{"packet_type":"1RTT",'
                f'"packet_number":{before}}},"frames":[{frame}]}}}}'
            )
        self._outstanding[segment] = number
        made.append(
            f'{{"time":{time_ms},"name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT",'
            f'"packet_number":{number}}},"raw":{{"length":{octets},"payload_length":{self._payload_bytes}}},'
            f'"frames":[{frame}]}}}}'
        )

    def _acknowledged(self, segment: int, sacks: Sequence[int | None]) -> list[int]:
        """Transmissions that an ACK newly acknowledges."""
        fresh = []
        if self._una is not None and segment > self._una:
            fresh += [self._outstanding.pop(s) for s in range(self._una, segment) if s in self._outstanding]
            self._una = segment
        for first, past in zip(sacks[::2], sacks[1::2], strict=True):
            if first is not None and past is not None:
                held = range(first, past) if past - first < len(self._outstanding) else sorted(self._outstanding)
                inside = [s for s in held if first <= s < past and s in self._outstanding]
                fresh += [self._outstanding.pop(s) for s in inside]
        return sorted(fresh)

    def _frame(self, segment: int) -> str:
        length = self._payload_bytes
        if self._datagrams:
            return f'{{"frame_type":"datagram","length":{length}}}'
        return f'{{"frame_type":"stream","stream_id":0,"offset":{segment * length},"length":{length}}}'


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
