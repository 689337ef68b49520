"""Logs in place of captures: ``ss -tin`` over time, ``iperf3 -J``, and qlog 0.3.

A log has the sender's own state (its window, its round trip, what it waits for), but no packets, so that it shows
limits and no algorithm. ``ss`` does not print the time, so a line of ``date +%s.%N`` comes before each of its outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from elephan.backends.linux.qlogs import Log, QlogError
from elephan.backends.linux.qlogs import read as read_qlog
from elephan.scenario.errors import ScenarioError

Kind = Literal["ss", "iperf3", "qlog"]

LARGEST_BYTES = 256 << 20
"""Largest log: it is read at once."""
_SNIFFED_BYTES = 1 << 16
_LEAST_SAMPLES = 3
_INITIAL_RTT_S = 0.333
_INITIAL_RTT_ERROR_S = 1e-4
"""Round trip that QUIC assumes at first (RFC 9002 §6.2.2), which shows the unit of a log."""
_TIME = re.compile(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*")
_FIELD = re.compile(r"([a-z_]+):(\S+)")
_RATE = re.compile(r"delivery_rate (\d+(?:\.\d+)?)([KMGT]?)bps")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_WORDS = ("ts", "sack", "ecn", "ecnseen", "fastopen")
"""Words that may come before the algorithm."""
_STATES = ("ESTAB", "SYN-", "FIN-", "CLOSE", "LAST-", "CLOSING", "TIME-")


@dataclass(frozen=True)
class Sample:
    """State of a sender at a time; ``None`` is unknown.

    Attributes:
        time_s: time from the first sample, s.
        acked_bytes: data acknowledged until then.
        rate_bps: rate since the sample before, if the log states it.
        window_bytes: congestion window.
        flight_bytes: bytes in flight.
        rtt_s: smoothed or latest round trip, s.
        lost: segments or packets that were lost until then.
        slow_start: the window is below the threshold of slow start.
        busy_s, receive_limited_s, send_limited_s: time so far with data to send, at the edge of the receive window, and
            without room in the send buffer, as Linux counts it, s.
        application_limited: Linux's mark of a sender that has nothing more to send, or a rate that was asked for.
        receive_window_bytes: window of the receiver.
    """

    time_s: float
    acked_bytes: float | None = None
    rate_bps: float | None = None
    window_bytes: float | None = None
    flight_bytes: float | None = None
    rtt_s: float | None = None
    lost: float = 0.0
    slow_start: bool | None = None
    busy_s: float | None = None
    receive_limited_s: float | None = None
    send_limited_s: float | None = None
    application_limited: bool | None = None
    receive_window_bytes: float | None = None


@dataclass(frozen=True)
class SenderLog:
    """A connection in a log.

    Attributes:
        kind: the program that wrote it.
        samples: states, in order of time.
        base_rtt_s: least round trip that the log states, s.
        algorithm: congestion control that the log names.
        connections: connections of the log; that with the most data is taken.
        notes: sentences on what the log lacks.
    """

    kind: Kind
    samples: tuple[Sample, ...]
    base_rtt_s: float | None
    algorithm: str | None = None
    connections: int = 1
    notes: tuple[str, ...] = ()


def kind_of(path: Path) -> Kind | None:
    """The kind of a log, by its first bytes; ``None`` for another file.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(_SNIFFED_BYTES)
    text = start.lstrip(b"\x1e \r\n\t")
    if text.startswith(b"{"):
        return "qlog" if b'"qlog_version"' in start or b'"qlog_format"' in start else "iperf3"
    if b"\0" in start:
        return None
    return "ss" if b"cwnd:" in start else None


def read_log(path: str | Path, kind: Kind) -> SenderLog:
    """Read a log.

    Raises:
        ScenarioError: the log is damaged, or has hardly any states of a sender.
    """
    path = Path(path)
    if path.stat().st_size > LARGEST_BYTES:
        raise ScenarioError(f"the log has more than {LARGEST_BYTES >> 20} MiB", source=path.name)
    try:
        log = {"ss": _ss, "iperf3": _iperf3, "qlog": _qlog}[kind](path)
    except (msgspec.MsgspecError, QlogError, UnicodeError) as error:
        raise ScenarioError(f"the log cannot be read: {error}".lower(), source=path.name) from None
    if len(log.samples) < _LEAST_SAMPLES:
        raise ScenarioError(
            f"the log has {len(log.samples)} states of a sender, at least {_LEAST_SAMPLES} are needed", source=path.name
        )
    return log


# ---- ss ----


@dataclass
class _Socket:
    algorithm: str | None = None
    rows: list[tuple[float, dict[str, str], float | None, bool]] = field(default_factory=list)

    def bytes(self) -> float:
        return max((_number(fields.get("bytes_acked")) or 0.0 for _, fields, _, _ in self.rows), default=0.0)


def _ss(path: Path) -> SenderLog:
    sockets: dict[str, _Socket] = {}
    for time_s, name, line in _outputs(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        fields = dict(_FIELD.findall(line))
        if "cwnd" not in fields:
            continue
        if time_s is None:
            raise ScenarioError(
                "the log has no times; write the time before each output: "
                "while sleep 0.1; do date +%s.%N; ss -tin; done",
                source=path.name,
            )
        socket = sockets.setdefault(name, _Socket())
        words = line.split()
        socket.algorithm = next(
            (word for word in words if word.isalnum() and word.islower() and word not in _WORDS), None
        )
        rate = _RATE.search(line)
        stated = float(rate[1]) * _UNITS[rate[2]] if rate else None
        socket.rows.append((time_s, fields, stated, "app_limited" in words))
    if not sockets:
        raise ScenarioError("the log has no TCP connection with its details; write ss -tin", source=path.name)
    chosen = max(sockets.values(), key=_Socket.bytes)
    chosen.rows.sort(key=lambda row: row[0])
    start_s = chosen.rows[0][0]
    samples = tuple(_of_ss(time_s - start_s, fields, rate, app) for time_s, fields, rate, app in chosen.rows)
    rtts = [_number(fields.get("minrtt")) for _, fields, _, _ in chosen.rows]
    known = [rtt / 1e3 for rtt in rtts if rtt]
    base = min(known, default=min((one.rtt_s for one in samples if one.rtt_s), default=None))
    return SenderLog("ss", samples, base, chosen.algorithm, len(sockets))


def _outputs(lines: Iterable[str]) -> Iterator[tuple[float | None, str, str]]:
    """Lines with the details of a socket, with the time before them and the socket's line."""
    time_s: float | None = None
    name = ""
    for line in lines:
        if (match := _TIME.fullmatch(line)) is not None:
            time_s = float(match[1])
        elif line.startswith(_STATES):
            # The state and the queues change, the addresses do not.
            name = " ".join(line.split()[3:5])
            if "cwnd:" in line:
                yield time_s, name, line
        elif "cwnd:" in line:
            yield time_s, name, line


def _of_ss(time_s: float, fields: dict[str, str], rate: float | None, app: bool) -> Sample:
    mss = _number(fields.get("mss")) or 1448.0
    window, threshold = _number(fields.get("cwnd")), _number(fields.get("ssthresh"))
    unacked, rtt = _number(fields.get("unacked")), _number(fields.get("rtt"))
    busy = _number(fields.get("busy"))
    again = fields.get("retrans", "0/0").rpartition("/")[2]
    return Sample(
        time_s,
        acked_bytes=_number(fields.get("bytes_acked")),
        rate_bps=None if "bytes_acked" in fields else rate,
        window_bytes=None if window is None else window * mss,
        flight_bytes=(unacked or 0.0) * mss,
        rtt_s=None if rtt is None else rtt / 1e3,
        lost=_number(again) or 0.0,
        slow_start=window is not None and (threshold is None or window < threshold),
        busy_s=None if busy is None else busy / 1e3,
        receive_limited_s=None if busy is None else (_number(fields.get("rwnd_limited")) or 0.0) / 1e3,
        send_limited_s=None if busy is None else (_number(fields.get("sndbuf_limited")) or 0.0) / 1e3,
        application_limited=app,
    )


def _number(text: str | None) -> float | None:
    """The number at the beginning of a field, such as 12ms(3.1%) or 40.1/0.2."""
    match = re.match(r"\d+(?:\.\d+)?", text or "")
    return float(match[0]) if match else None


# ---- iperf3 ----


class _Stream(msgspec.Struct):
    socket: int = 0
    start: float = 0.0
    end: float = 0.0
    bytes: float = 0.0
    bits_per_second: float = 0.0
    retransmits: float | None = None
    snd_cwnd: float | None = None
    snd_wnd: float | None = None
    rtt: float | None = None
    sender: bool | None = None


class _Interval(msgspec.Struct):
    streams: list[_Stream] = msgspec.field(default_factory=list)


class _Test(msgspec.Struct):
    target_bitrate: float = 0.0


class _Start(msgspec.Struct):
    test_start: _Test = msgspec.field(default_factory=_Test)


class _Iperf(msgspec.Struct):
    start: _Start = msgspec.field(default_factory=_Start)
    intervals: list[_Interval] = msgspec.field(default_factory=list)
    error: str | None = None
    end: dict[str, Any] = msgspec.field(default_factory=dict)


def _iperf3(path: Path) -> SenderLog:
    found = msgspec.json.decode(path.read_bytes(), type=_Iperf, strict=False)
    streams: dict[int, list[_Stream]] = {}
    for interval in found.intervals:
        for stream in interval.streams:
            streams.setdefault(stream.socket, []).append(stream)
    if not streams:
        why = f": {found.error}" if found.error else ""
        raise ScenarioError(f"the file is neither qlog nor a result of iperf3 -J with intervals{why}", source=path.name)
    rows = max(streams.values(), key=lambda rows: sum(row.bytes for row in rows))
    asked = found.start.test_start.target_bitrate > 0
    total, lost, samples = 0.0, 0.0, [Sample(0.0, acked_bytes=0.0)]
    for row in rows:
        total += row.bytes
        lost += row.retransmits or 0.0
        rtt_s = row.rtt / 1e6 if row.rtt else None
        samples.append(
            Sample(
                row.end, acked_bytes=total, window_bytes=row.snd_cwnd, lost=lost, rtt_s=rtt_s,
                flight_bytes=None if rtt_s is None else row.bits_per_second * rtt_s / 8,
                receive_window_bytes=row.snd_wnd, application_limited=asked,
            )
        )  # fmt: skip
    notes = []
    if all(row.rtt is None for row in rows):
        notes.append("the log is the receiver's and has neither windows nor round trips; take that of the sender")
    base = min((one.rtt_s for one in samples if one.rtt_s), default=None)
    name = found.end.get("sender_tcp_congestion")
    algorithm = name if isinstance(name, str) else None
    return SenderLog("iperf3", tuple(samples), base, algorithm, len(streams), tuple(notes))


# ---- qlog ----


def _qlog(path: Path) -> SenderLog:
    logs = [log for log in read_qlog(path) if log.metrics]
    if not logs:
        raise ScenarioError("the log has no event metrics_updated", source=path.name)
    log = max(logs, key=lambda one: len(one.metrics))
    firsts = [next((values[3] for _, values in one.metrics if values[3] is not None), None) for one in logs]
    in_seconds = any(first is not None and abs(first - _INITIAL_RTT_S) < _INITIAL_RTT_ERROR_S for first in firsts)
    samples = tuple(_of_qlog(log, 1.0 if in_seconds else 1e-3))
    base = min((one.rtt_s for one in samples if one.rtt_s), default=None)
    notes = ("round trips of this log are in seconds and not in ms, as those of quinn",) if in_seconds else ()
    return SenderLog("qlog", samples, base, None, len(logs), notes)


def _of_qlog(log: Log, unit_s: float) -> Iterator[Sample]:
    start_ms = log.metrics[0][0]
    known: list[float | None] = [None] * 5
    lost = 0
    for time_ms, values in log.metrics:
        known = [old if new is None else new for old, new in zip(known, values, strict=True)]
        window, flight, threshold, smoothed, latest = known
        while lost < len(log.lost_ms) and log.lost_ms[lost] <= time_ms:
            lost += 1
        rtt = latest if latest is not None else smoothed
        begins = (
            window is not None and (threshold is None or window < threshold) and (threshold is not None or not lost)
        )
        yield Sample(
            (time_ms - start_ms) / 1e3, window_bytes=window, flight_bytes=flight,
            rtt_s=None if rtt is None else rtt * unit_s, lost=float(lost), slow_start=begins,
        )  # fmt: skip
