"""Columns of a run's tables: type, unit, meaning, and the condition for a null value. The reference page is generated
from this module.

Tests check that the simulator returns exactly these columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["String", "Categorical", "Float64", "UInt64", "UInt32", "UInt16", "Boolean"]
"""Types, with the names of Polars."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: name in the table.
        kind: type.
        unit: ``1`` for ratios and numbers without a unit, empty for names and switches.
        text: definition, one sentence.
        null: the condition under which the simulator gives no value; empty if there is always a value.
        only: the runs with the column; empty for all runs that have the table.
        required: true if the table of every backend has the column.
        elsewhere: the condition under which another backend gives no value, if the simulator has one.
    """

    name: str
    kind: Kind
    unit: str
    text: str
    null: str = ""
    only: str = ""
    required: bool = True
    elsewhere: str = ""

    @property
    def nulls(self) -> str:
        """The condition under which some backend gives no value."""
        return "; ".join(text for text in (self.null, self.elsewhere) if text)


@dataclass(frozen=True)
class TableOf:
    """A table of a run.

    Attributes:
        rows: the subject of a row.
        columns: columns, in the order of the table.
        only: the runs with the table; empty for all.
    """

    rows: str
    columns: tuple[Column, ...]
    only: str = ""

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that the table of every backend has."""
        return tuple(column.name for column in self.columns if column.required)


_TIME = Column("time_s", "Float64", "s", "Sample time, from the beginning of the run.")
_DATAGRAMS = "flow of datagrams"
_NO_SAMPLE = "no RTT of a packet in the measured part, for example a flow of datagrams, or a socket of `--on linux`"
_NOT_DATAGRAMS = "flow of TCP or UDT, or no packet arrived in the measured part"
_RECORD = 'scenarios with `record` other than `"all"`'
_PARTS = "runs in which a segment had less than its whole payload"
_PROGRAM = "program (`--on linux`), which alone knows it"
_ENCRYPTED = "program of QUIC or other UDP, whose headers are encrypted"
PROGRAMS = "runs with `[[program]]`"
_NOT_SPEAKING = "event that is not at the sender: neither `sent` nor `acked`"

_FLOWS = TableOf(
    "one flow; counts are over the whole run (the summary has those of the measured part too), and rates, RTTs and "
    "windows are over the measured part",
    (
        Column("name", "String", "", "Name of the flow."),
        Column("algorithm", "String", "", "Congestion-control algorithm, with its preset."),
        Column("start_s", "Float64", "s", "Start of the flow, with the jitter that the seed adds."),
        Column("goodput_mbps", "Float64", "Mbit/s",
               "Payload bits that arrived at the receiver, each counted once, over the measured time."),
        Column("throughput_mbps", "Float64", "Mbit/s",
               "Bits on the wire that arrived at the receiver, headers and duplicates too, over the measured time."),
        Column("segments_delivered", "UInt64", "segments", "Distinct segments that arrived at the receiver."),
        Column("segments_sent", "UInt64", "segments", "Segments put on the wire, retransmissions included."),
        Column("retransmits", "UInt64", "segments", "Retransmissions.", elsewhere=_ENCRYPTED),
        Column("loss_events", "UInt64", "1", "Recovery episodes that began with a loss.", elsewhere=_PROGRAM),
        Column("timeouts", "UInt64", "1", "Retransmission timeouts.", elsewhere=_PROGRAM),
        Column("spurious_retransmits", "UInt64", "segments", "Arrivals of segments that had arrived before.",
               elsewhere=_PROGRAM),
        Column("rtt_min_ms", "Float64", "ms", "Smallest RTT sample.", _NO_SAMPLE),
        Column("rtt_mean_ms", "Float64", "ms", "Mean of the RTT samples.", _NO_SAMPLE),
        Column("rtt_p50_ms", "Float64", "ms", "Median RTT sample, to 0.2 %.", _NO_SAMPLE),
        Column("rtt_p95_ms", "Float64", "ms", "RTT that 95 % of the samples do not exceed, to 0.2 %.", _NO_SAMPLE),
        Column("rtt_p99_ms", "Float64", "ms", "RTT that 99 % of the samples do not exceed, to 0.2 %.", _NO_SAMPLE),
        Column("cwnd_mean", "Float64", "segments", "Time average of the congestion window.", _DATAGRAMS),
        Column("cwnd_max", "Float64", "segments", "Largest congestion window.", _DATAGRAMS),
        Column("receive_window_limited_fraction", "Float64", "1",
               "Fraction of the sender's bursts that ended at the receive window, from the beginning of the measured "
               "part.", elsewhere=_PROGRAM),
        Column("ecn_events", "UInt64", "1", "Window reductions in response to ECN echoes.", required=False,
               elsewhere=_PROGRAM),
        Column("marked_segments", "UInt64", "segments", "Segments acknowledged with an ECN echo.", required=False),
        Column("owd_min_ms", "Float64", "ms", "Smallest one-way delay of the datagrams, or of a program's packets.",
               _NOT_DATAGRAMS, required=False),
        Column("owd_mean_ms", "Float64", "ms", "Mean one-way delay of the datagrams.", _NOT_DATAGRAMS, required=False),
        Column("owd_p50_ms", "Float64", "ms", "Median one-way delay of the datagrams.", _NOT_DATAGRAMS,
               required=False),
        Column("owd_p95_ms", "Float64", "ms", "One-way delay that 95 % of the datagrams do not exceed.",
               _NOT_DATAGRAMS, required=False),
        Column("owd_p99_ms", "Float64", "ms", "One-way delay that 99 % of the datagrams do not exceed.",
               _NOT_DATAGRAMS, required=False),
        Column("completion_s", "Float64", "s", "Time from the start until the last segment was acknowledged.",
               "flow without a size, or not complete at the end"),
        Column("missing_packets", "UInt64", "packets",
               "Packets that were sent and had not arrived at the end: lost, but for those still on the path.",
               "flow that is no program", only=PROGRAMS, required=False),
        Column("measured_delivered_segments", "UInt64", "segments", "`segments_delivered` in the measured part alone.",
               only=_RECORD, required=False),
        Column("measured_delivered_bytes", "UInt64", "bytes", "Payload of these segments.",
               only=f"{_RECORD}, {_PARTS}", required=False),
        Column("measured_wire_bytes", "UInt64", "bytes", "Bytes on the wire that arrived in the measured part.",
               only=_RECORD, required=False),
        Column("measured_retransmits", "UInt64", "segments", "`retransmits` in the measured part alone.",
               only=_RECORD, required=False),
        Column("measured_loss_events", "UInt64", "1", "`loss_events` in the measured part alone.",
               only=_RECORD, required=False),
        Column("measured_ecn_events", "UInt64", "1", "`ecn_events` in the measured part alone.",
               only=_RECORD, required=False),
        Column("measured_timeouts", "UInt64", "1", "`timeouts` in the measured part alone.",
               only=_RECORD, required=False),
    ),
)  # fmt: skip

_SAMPLES = TableOf(
    "one recorded flow at one sample time; counts are from the beginning of the run",
    (
        _TIME,
        Column("flow", "Categorical", "", "Name of the flow."),
        Column("cwnd", "Float64", "segments", "Congestion window.", _DATAGRAMS),
        Column("ssthresh", "Float64", "segments", "Slow-start threshold.", "before the first loss: it is infinite"),
        Column("srtt_s", "Float64", "s", "Smoothed RTT (RFC 6298).", "before the first RTT sample"),
        Column("rtt_s", "Float64", "s", "Latest RTT sample.", "before the first RTT sample"),
        Column("in_flight", "UInt32", "segments",
               "Pipe (RFC 6675): segments outstanding, less SACKed and lost ones, plus retransmitted ones.",
               elsewhere=_PROGRAM),
        Column("delivered_segments", "UInt64", "segments", "Distinct segments that have arrived at the receiver."),
        Column("wire_bytes", "UInt64", "bytes",
               "Bytes on the wire that have arrived at the receiver, headers and duplicates included."),
        Column("retransmits", "UInt64", "segments", "Retransmissions so far.", elsewhere=_ENCRYPTED),
        Column("loss_events", "UInt64", "1", "Recovery episodes so far.", elsewhere=_PROGRAM),
        Column("ecn_events", "UInt64", "1", "Window reductions in response to ECN echoes so far.", elsewhere=_PROGRAM,
               required=False),
        Column("timeouts", "UInt64", "1", "Retransmission timeouts so far.", elsewhere=_PROGRAM, required=False),
        Column("delivered_bytes", "UInt64", "bytes", "Payload of the distinct segments that have arrived.",
               only=_PARTS, required=False),
        Column("network_bytes", "UInt64", "bytes", "Bytes of the packets that the path carries towards the receiver.",
               "flow that is no program", only=PROGRAMS, required=False),
        Column("sending_rate_mbps", "Float64", "Mbit/s", "Sending rate of UDT, bits on the wire.",
               "flow of another transport, or not yet started", only="runs with a flow of UDT", required=False),
    ),
)  # fmt: skip

_LINKS = TableOf(
    "one recorded link at one sample time; counts are from the beginning of the run; "
    "`queue_mean`, `queue_min` and `queue_max` cover the time since the previous sample",
    (
        _TIME,
        Column("link", "Categorical", "", "Name of the link."),
        Column("queue_packets", "UInt64", "packets", "Number of waiting packets, without the packet in transmission."),
        Column("queue_mean", "Float64", "packets", "Time average of the number of waiting packets."),
        Column("queue_min", "UInt64", "packets", "Smallest number of waiting packets at any time."),
        Column("queue_max", "UInt64", "packets", "Largest number of waiting packets at any time."),
        Column("queue_integral_packet_s", "Float64", "packets × s", "Time integral of the number of waiting packets."),
        Column("arrived_packets", "UInt64", "packets", "Packets that have arrived at the queue."),
        Column("dropped_packets", "UInt64", "packets", "Packets that the queue has dropped or the link has lost."),
        Column("marked_packets", "UInt64", "packets", "Packets that the queue has marked (ECN).", required=False),
        Column("reordered_packets", "UInt64", "packets", "Packets that the link has reordered behind later packets.",
               required=False),
        Column("duplicated_packets", "UInt64", "packets", "Packets that the link has duplicated.", required=False),
        Column("delivered_packets", "UInt64", "packets", "Packets whose last bit has left the transmitter."),
        Column("delivered_bytes", "UInt64", "bytes", "Bytes of these packets."),
    ),
)  # fmt: skip

_TRAFFIC = "scenarios with `[[traffic]]`"
_TRANSFERS = TableOf(
    "one transfer of a source that keeps all of its transfers",
    (
        Column("source", "Categorical", "", "Name of the source."),
        Column("user", "UInt32", "1", "Number of the user that makes the transfer, from 0.",
               "source without a fixed number of users"),
        Column("start_s", "Float64", "s", "Start of the transfer."),
        Column("size_bytes", "UInt64", "bytes", "Size in whole segments of user data."),
        Column("size_segments", "UInt64", "segments", "Size."),
        Column("base_rtt_ms", "Float64", "ms", "Two-way propagation delay of the transfer's path."),
        Column("completion_s", "Float64", "s", "Time from the start until the last segment was acknowledged.",
               "not complete at the end"),
        Column("segments_sent", "UInt64", "segments", "Segments put on the wire, retransmissions included."),
        Column("retransmits", "UInt64", "segments", "Retransmissions."),
        Column("loss_events", "UInt64", "1", "Recovery episodes that began with a loss."),
        Column("timeouts", "UInt64", "1", "Retransmission timeouts."),
    ),
    _TRAFFIC,
)  # fmt: skip

_SOURCES = TableOf(
    "one source of transfers at one sample time; counts are from the beginning of the run",
    (
        _TIME,
        Column("source", "Categorical", "", "Name of the source."),
        Column("delivered_segments", "UInt64", "segments", "Distinct segments of its transfers that have arrived."),
        Column("wire_bytes", "UInt64", "bytes", "Bytes on the wire of its transfers that have arrived."),
    ),
    _TRAFFIC,
)

_DISTRIBUTIONS = TableOf(
    "one bucket of a quantity of the transfers that began in the measured part and ended",
    (
        Column("source", "Categorical", "", "Name of the source."),
        Column("quantity", "Categorical", "", "`duration_s`, `slowdown` or `size_segments`."),
        Column("low", "Float64", "that of the quantity", "Lower edge of the bucket, which belongs to it."),
        Column("high", "Float64", "that of the quantity", "Upper edge of the bucket."),
        Column("transfers", "UInt64", "1", "Transfers in the bucket."),
    ),
    'scenarios with a source that has `record = "summary"`',
)

_WRITES = TableOf(
    "one write of a flow's application",
    (
        Column("flow", "Categorical", "", "Name of the flow."),
        Column("write", "UInt32", "1", "Number of the write in its application, from 0."),
        Column("at_s", "Float64", "s", "Time of the write, or of the flow's start if that is later."),
        Column("size_bytes", "UInt64", "bytes", "Size as stated."),
        Column("size_segments", "UInt64", "segments", "Size in whole segments."),
        Column("completion_s", "Float64", "s", "Time from the write until its last segment was acknowledged.",
               "not complete at the end"),
    ),
    "scenarios with an application that has `writes`",
)  # fmt: skip

_EVENTS = TableOf(
    "one event of a packet, in order of time",
    (
        Column("time_s", "Float64", "s", "Time of the event."),
        Column("kind", "Categorical", "",
               "`sent`, `received` (a segment at its receiver), `ack_sent`, `acked` (an ACK at its sender), `dropped` "
               "(by a queue), `lost` (by a link), `marked` or `duplicated`."),
        Column("flow", "Categorical", "", "Name of the flow."),
        Column("link", "Categorical", "", "Link that dropped, lost, marked or duplicated the packet.",
               "event at an endpoint"),
        Column("segment", "UInt32", "segments", "Number of the segment, from 0; of an ACK, the next segment expected."),
        Column("bytes", "UInt16", "bytes", "Size of the packet on the wire."),
        Column("stamp_s", "Float64", "s", "Time at which the segment was sent; of an ACK, the stamp that it echoes."),
        Column("ack", "Boolean", "", "True for an ACK."),
        Column("retransmit", "Boolean", "", "True for a retransmission, and for an ACK that answers one."),
        Column("ect0", "Boolean", "", "ECN-capable transport, code point ECT(0)."),
        Column("ect1", "Boolean", "", "ECN-capable transport, code point ECT(1)."),
        Column("ce", "Boolean", "", "ECN code point CE (congestion experienced): a router has marked the packet."),
        Column("ece", "Boolean", "", "ECN echo of an ACK."),
        Column("cwr", "Boolean", "", "ECN flag CWR (congestion window reduced), in response to an ECN echo."),
        Column("cwnd", "Float64", "segments", "Congestion window of the sender after the event.",
               f"{_NOT_SPEAKING}; {_DATAGRAMS}"),
        Column("in_flight", "UInt32", "segments", "Pipe of the sender after the event.", _NOT_SPEAKING),
        Column("srtt_s", "Float64", "s", "Smoothed RTT of the sender after the event.",
               f"{_NOT_SPEAKING}; before the first RTT sample"),
        *(
            Column(f"sack_{block}_{end}", "UInt32", "segments", text, f"packet without {which} SACK block")
            for block, which in enumerate(("a first", "a second", "a third"), start=1)
            for end, text in (
                ("first", f"First segment of SACK block {block}, of at most three: a repeated segment (D-SACK), then "
                 "the newest first."),
                ("past", f"Segment after the last of SACK block {block}."),
            )
        ),
        Column("ae", "Boolean", "", "Flag AE of an ACK: with CWR and ECE, the number of marked packets modulo 8, which "
               "begins at 5 (RFC 9768)."),
        *(
            Column(field, "UInt32", "bytes",
                   f"Field {field.upper()} of the AccECN option: bytes that arrived {codepoint}, plus {first}, modulo "
                   "2^24.",
                   "packet without the field")
            for field, codepoint, first in (
                ("ee0b", "as ECT(0)", 1), ("eceb", "marked", 0), ("ee1b", "as ECT(1)", 1)
            )
        ),
    ),
    "scenarios with `events`",
)  # fmt: skip

_INTERNALS = TableOf(
    "one internal variable of a flow's algorithm at one sample time (in the kernel: once in a round trip)",
    (
        Column("time_s", "Float64", "s", "Sample time; the first is after the flow's start."),
        Column("flow", "Categorical", "", "Name of the flow."),
        Column("variable", "Categorical", "", "Name of the variable; `elephan show cubic` lists those of CUBIC."),
        Column("value", "Float64", "that of the variable", "Value; a time is in s, and its variable ends in `_s`.",
               "not known yet, such as the smallest RTT before the first sample"),
        Column("state", "Categorical", "", "Name of the value, if the variable is a state such as BBR's `mode`.",
               "variable that is a number"),
    ),
    "scenarios with `internals`",
)  # fmt: skip

_NO_FLOW = "no flow of the group has a value: none is active, or none has an RTT sample"
_CROWD = TableOf(
    "one quantile over the active flows of a group at one sample time",
    (
        _TIME,
        Column("group", "Categorical", "", "Name of the `[[flow]]` table."),
        Column("algorithm", "Categorical", "", "Congestion-control algorithm of its flows."),
        Column("active_flows", "UInt64", "flows", "Flows that have started and have neither stopped nor completed."),
        Column("quantile", "Float64", "1", "0, 0.05, 0.25, 0.5, 0.75, 0.95 or 1."),
        Column("cwnd_segments", "Float64", "segments", "Congestion window.", _NO_FLOW),
        Column("srtt_s", "Float64", "s", "Smoothed RTT.", _NO_FLOW),
        Column("in_flight_segments", "Float64", "segments", "Pipe (RFC 6675).", _NO_FLOW),
        Column("goodput_mbps", "Float64", "Mbit/s",
               "Payload bits of distinct segments that arrived since the previous sample.",
               "first sample, and a group without active flows"),
    ),
    f"{_RECORD}; `Run.crowd` computes the same table for other runs",
)  # fmt: skip

TABLES: dict[str, TableOf] = {
    "flows": _FLOWS,
    "samples": _SAMPLES,
    "links": _LINKS,
    "transfers": _TRANSFERS,
    "sources": _SOURCES,
    "distributions": _DISTRIBUTIONS,
    "writes": _WRITES,
    "events": _EVENTS,
    "internals": _INTERNALS,
    "crowd": _CROWD,
}
"""The tables of a run, by name."""

ALWAYS = ("flows", "samples", "links")
"""Tables that every run has."""
