"""Logs that programs write themselves, in qlog: congestion windows, RTTs, data in flight and losses of QUIC.

JSON and JSON-SEQ of draft 0.3 and later (draft-ietf-quic-qlog-main-schema) are read, with the names of events and
fields that quic-go, quinn, quiche, aioquic and ngtcp2 use. A log in JSON-SEQ is read event by event; a file in JSON is
read at once, and is not larger than a file of a program may be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

SUFFIXES = (".qlog", ".sqlog", ".jsonseq", ".json-seq")
MOST_BYTES = 64 << 20
"""Largest file of a program (crates/guest, sys.rs)."""
_LONGEST_LINE_BYTES = 1 << 20
_SEPARATOR = b"\x1e"
# Smallest time, ms, that can only count from 1970: the year 1973.
_LEAST_DATE_MS = 1e11
_US_PER_MS = 1e3
_DELTAS = ("delta", "relative_to_previous_event")
_LOST, _SENT, _METRICS, _STATE = "packet_lost", "packet_sent", "metrics_updated", "congestion_state_updated"
_OF_DATA = ("1RTT", "onertt", "1rtt", "application_data")


class QlogError(Exception):
    """A log cannot be read; the message is one clause."""


class _Header(msgspec.Struct):
    packet_number: int | None = None
    packet_type: str | None = None


class _Data(msgspec.Struct):
    congestion_window: float | None = None
    cwnd: float | None = None
    bytes_in_flight: float | None = None
    ssthresh: float | None = None
    smoothed_rtt: float | None = None
    latest_rtt: float | None = None
    new: str | None = None
    trigger: str | None = None
    header: _Header | None = None
    packet_number: int | None = None
    packet_type: str | None = None


class _Fields(msgspec.Struct):
    group_id: str | None = None
    ODCID: str | None = None
    time_format: str | None = None
    time_units: str | None = None
    reference_time: Any = None


class _Event(msgspec.Struct):
    time: float
    name: str
    data: msgspec.Raw = msgspec.Raw(b"{}")
    group_id: str | None = None
    ODCID: str | None = None


class _Trace(msgspec.Struct):
    common_fields: _Fields = msgspec.field(default_factory=_Fields)
    configuration: Any = None
    events: list[_Event] = msgspec.field(default_factory=list)


class _File(msgspec.Struct):
    traces: list[_Trace] | None = None
    trace: _Trace | None = None


@dataclass
class Log:
    """A connection in the words of a program.

    Attributes:
        group: id of the connection, as it is on the path (Original Destination Connection ID); empty if unknown.
        dated: true if times count from 1970 and not from the connection's beginning.
        metrics: times, ms, and the congestion window, data in flight and ssthresh, bytes, and the smoothed and the
            latest RTT, ms; ``None`` for a value that did not change.
        lost_ms: times at which packets were found lost.
        events_ms: times at which a recovery began because of a loss; ``None`` if the log does not show them.
        marks_ms: the same because of ECN.
    """

    group: str
    dated: bool = False
    metrics: list[tuple[float, tuple[float | None, ...]]] = field(default_factory=list)
    lost_ms: list[float] = field(default_factory=list)
    events_ms: list[float] | None = None
    marks_ms: list[float] | None = None
    _sent_ms: dict[int, float] = field(default_factory=dict)
    _derived_ms: list[float] = field(default_factory=list)

    def add(self, time_ms: float, kind: str, data: _Data) -> None:
        """Add an event."""
        if kind == _METRICS:
            window = data.cwnd if data.congestion_window is None else data.congestion_window
            values = (window, data.bytes_in_flight, data.ssthresh, data.smoothed_rtt, data.latest_rtt)
            if any(value is not None for value in values):
                self.metrics.append((time_ms, values))
        elif kind == _STATE:
            self._enter(time_ms, data)
        else:
            self._packet(time_ms, kind, data)

    def _enter(self, time_ms: float, data: _Data) -> None:
        self.events_ms = self.events_ms or []
        if data.trigger is not None:
            # Otherwise the program does not say which of its recoveries began with a mark.
            self.marks_ms = self.marks_ms or []
        if (data.new or "").lower() == "recovery":
            of_mark = self.marks_ms is not None and (data.trigger or "").lower() == "ecn"
            (self.marks_ms if of_mark and self.marks_ms is not None else self.events_ms).append(time_ms)

    def _packet(self, time_ms: float, kind: str, data: _Data) -> None:
        header = data.header or _Header()
        number = data.packet_number if header.packet_number is None else header.packet_number
        is_data = (header.packet_type or data.packet_type or "1RTT") in _OF_DATA
        if kind == _SENT:
            if is_data and number is not None:
                self._sent_ms[number] = time_ms
            return
        self.lost_ms.append(time_ms)
        # A recovery begins with the loss of a packet that was sent after the last one began (RFC 9002 §7.3.2).
        sent_ms = self._sent_ms.get(number) if is_data and number is not None else None
        if sent_ms is not None and (not self._derived_ms or sent_ms > self._derived_ms[-1]):
            self._derived_ms.append(time_ms)

    def complete(self) -> None:
        """Forget what is needed while the log is read, and order the events."""
        if self.events_ms is None and (self._sent_ms or not self.lost_ms):
            self.events_ms = self._derived_ms
        self._sent_ms = {}
        self.metrics.sort(key=lambda one: one[0])
        self.lost_ms.sort()


@dataclass(frozen=True)
class Seen:
    """A log at sample times. Values are ``None`` before the first.

    Attributes:
        values: for each sample time the congestion window, data in flight, ssthresh, smoothed and latest RTT.
        lost: packets found lost until each sample time.
        events: loss events until each sample time, if known.
        marks: window reductions after ECN marks until each sample time, if known.
    """

    values: list[tuple[float | None, ...]]
    lost: list[int]
    events: list[int] | None
    marks: list[int] | None


def at_times(log: Log, times_ms: list[float]) -> Seen:
    """A log at sample times, which count as the log's own."""
    values: list[tuple[float | None, ...]] = []
    known: tuple[float | None, ...] = (None,) * 5
    place = 0
    for time_ms in times_ms:
        while place < len(log.metrics) and log.metrics[place][0] <= time_ms:
            known = tuple(old if new is None else new for old, new in zip(known, log.metrics[place][1], strict=True))
            place += 1
        values.append(known)

    def until(found: list[float] | None) -> list[int] | None:
        return None if found is None else [bisect_right(found, time_ms) for time_ms in times_ms]

    return Seen(values, until(log.lost_ms) or [0] * len(times_ms), until(log.events_ms), until(log.marks_ms))


def mean_window(log: Log, from_ms: float, to_ms: float) -> tuple[float, float] | None:
    """Time average and largest value of the congestion window, bytes, between two times; ``None`` if it is unknown."""
    steps = [(time_ms, values[0]) for time_ms, values in log.metrics if values[0] is not None and time_ms < to_ms]
    first = next((i for i in reversed(range(len(steps))) if steps[i][0] <= from_ms), 0)
    steps = steps[first:]
    if not steps:
        return None
    begun_ms = max(steps[0][0], from_ms)
    ends = [*(max(time_ms, from_ms) for time_ms, _ in steps[1:]), to_ms]
    area, at_ms = 0.0, begun_ms
    for (_, window), end_ms in zip(steps, ends, strict=True):
        area += window * (end_ms - at_ms)
        at_ms = end_ms
    return area / (to_ms - begun_ms), max(window for _, window in steps)


Logs = dict[tuple[int, str], list[Log]]
"""Logs by the program's number and the role, ``server`` or ``client``."""


def of_folder(folder: Path) -> tuple[Logs, list[str]]:
    """The logs in the folders of programs, and a sentence on each that cannot be read."""
    found: Logs = {}
    complaints = []
    for file in sorted(folder.glob("*/*/**/*")):
        if file.suffix not in SUFFIXES or not file.is_file():
            continue
        number, role, *_ = file.relative_to(folder).parts
        try:
            logs = read(file)
        except QlogError as error:
            complaints.append(f"{role}/{file.name} is left out, since it is no qlog or a damaged one: {error}")
            continue
        if file.stat().st_size >= MOST_BYTES:
            complaints.append(f"{role}/{file.name} was cut at {MOST_BYTES >> 20} MiB, and nothing later is known")
        found.setdefault((int(number), role), []).extend(logs)
    return found, complaints


def read(path: Path) -> list[Log]:
    """The logs of a file, one for each connection.

    Raises:
        QlogError: the file is damaged, or is no qlog.
    """
    found: dict[str, Log] = {}
    try:
        with path.open("rb") as file:
            for trace, event in _events(file):
                _take(found, trace, event)
    except msgspec.MsgspecError as error:
        raise QlogError(str(error).lower()) from None
    for log in found.values():
        log.complete()
    return list(found.values())


def _take(found: dict[str, Log], trace: _Clock, event: _Event) -> None:
    time_ms = trace.time_ms(event)
    kind = event.name.rpartition(":")[2].removeprefix("recovery_")
    if kind not in (_LOST, _SENT, _METRICS, _STATE):
        return
    group = event.group_id or event.ODCID or trace.group
    log = found.setdefault(group, Log(group.lower(), dated=time_ms > _LEAST_DATE_MS))
    log.add(time_ms, kind, msgspec.json.decode(event.data, type=_Data, strict=False))


class _Clock:
    """The times of a trace."""

    def __init__(self, trace: _Trace) -> None:
        fields = trace.common_fields
        self.group = fields.group_id or fields.ODCID or ""
        self._unit = 1 / _US_PER_MS if fields.time_units == "us" else 1.0
        self._sums = fields.time_format in _DELTAS
        self._reference_ms = _reference_ms(fields.reference_time)
        self._last_ms = 0.0

    def time_ms(self, event: _Event) -> float:
        """Time of an event, since 1970 or since the beginning of the connection."""
        time_ms = event.time * self._unit
        if self._sums:
            time_ms += self._last_ms
            self._last_ms = time_ms
        return time_ms if time_ms > _LEAST_DATE_MS else time_ms + self._reference_ms


def _reference_ms(stated: Any) -> float:
    """A reference time, ms since 1970; 0 if there is none."""
    if isinstance(stated, dict):
        stated = stated.get("wall_clock_time") or stated.get("epoch")
    if isinstance(stated, str):
        try:
            stated = datetime.fromisoformat(stated).timestamp() * 1e3
        except ValueError:
            return 0.0
    return float(stated) if isinstance(stated, int | float) and stated > _LEAST_DATE_MS else 0.0


def _events(file: BinaryIO) -> Iterator[tuple[_Clock, _Event]]:
    head = file.readline(_LONGEST_LINE_BYTES)
    first = head.strip(_SEPARATOR + b" \r\n\t")
    try:
        trace = msgspec.json.decode(first, type=_File, strict=False).trace
    except msgspec.MsgspecError:
        if head.startswith(_SEPARATOR):
            raise
        trace = None
    if trace is None:
        whole = msgspec.json.decode(head + file.read(), type=_File, strict=False)
        if whole.traces is None:
            raise QlogError("it has no traces")
        for one in whole.traces:
            clock = _Clock(one)
            yield from ((clock, event) for event in one.events)
        return
    clock = _Clock(trace)
    damaged: msgspec.MsgspecError | None = None
    while line := file.readline(_LONGEST_LINE_BYTES):
        # A program that was ended leaves half of its last line.
        if damaged is not None:
            raise damaged
        text = line.strip(_SEPARATOR + b" \r\n\t")
        if not text:
            continue
        try:
            event = msgspec.json.decode(text, type=_Event, strict=False)
        except msgspec.MsgspecError as error:
            damaged = error
            continue
        yield clock, event
