"""``[stack]`` as a user writes it: the fields of a TCP stack, which start from a named one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer

from elephan.scenario import units
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import (
    Interrupts,
    PositiveTime,
    Size,
    Switch,
    Time,
    Window,
    WindowLimit,
    chosen,
    counted,
    one_of,
    parse_burst,
    parse_rules,
    parsed,
)
from elephan.scenario.lookups import has_option_in_segments
from elephan.scenario.stacks import DETECTIONS, HOST_RULES, HOSTS, RECEIVERS_ECN, RECOVERIES, STACKS, Stack
from elephan.scenario.table import Table
from elephan.scenario.units import Amount
from elephan.scenario.words import listed

MOST_WINDOW = 2**28
"""Largest window of a stack, segments: RFC 7323 allows 2^30 bytes."""

ACCECN_OPTION_BYTES = 12
"""Size of the AccECN option with all three fields, padded (RFC 9768 section 3.2.3)."""

_MOST_OCTETS = 65_535


class StackSpec(Table):
    """``[stack]``: a named stack (``base``) and the fields that differ; ``stack = "ns2"`` is short for a base alone."""

    base: Annotated[str, chosen(tuple(STACKS), "a stack")] | None = Field(
        None, description="the named stack to start from: linux, linux-2.6, ns2, ns2-sack1 or rfc6675", examples=["ns2"]
    )
    host: Annotated[str, chosen(HOSTS, "a host")] | None = Field(
        None,
        description="rules of the hosts besides loss detection and recovery: linux (clocks, timers, timeout, receive "
        "window, quick ACKs, SACK blocks, CWR, F-RTO, D-SACK, undo), or plain (RFCs, exact clocks)",
        examples=["plain"],
    )
    without: Annotated[tuple[str, ...], parsed(parse_rules)] | None = Field(
        None,
        description=f"rules of Linux that the hosts lack, for a study of what each is worth: {listed(HOST_RULES)}",
        examples=[["f-rto"]],
    )
    payload: Size | None = Field(None, description="user data in a full segment", examples=["1448 B"])
    header: Size | None = Field(None, description="headers of a data packet", examples=["52 B"])
    ack_size: Size | None = Field(
        None, description="size of a pure ACK on the wire, without SACK blocks", examples=["52 B"]
    )
    sack_block: Size | None = Field(None, description="size added to an ACK for each SACK block", examples=["8 B"])
    sack_option: Size | None = Field(
        None, description="size added once to an ACK with SACK blocks, for the option's own bytes", examples=["4 B"]
    )
    initial_window: Window | None = Field(None, description="congestion window at the start", examples=["10 segments"])
    initial_ssthresh: WindowLimit | None = Field(
        None, description='slow-start threshold at the start, or "unlimited"', examples=["100 segments"]
    )
    receive_window: WindowLimit | None = Field(
        None,
        description='receive window, or "unlimited"; unlimited Linux hosts have that of their send buffer',
        examples=["64 KiB"],
    )
    ack_every: Annotated[int, counted(1, 64, "a number of segments")] | None = Field(
        None, description="in-order segments for each ACK; 1 acknowledges every packet", examples=[2]
    )
    delayed_ack: Time | None = Field(None, description="longest delay of an ACK", examples=["40 ms"])
    quick_acks: Annotated[int, counted(0, 10**6, "a number of segments")] | None = Field(
        None, description="segments at the start that are acknowledged individually", examples=[16]
    )
    min_rto: PositiveTime | None = Field(None, description="smallest retransmission timeout", examples=["200 ms"])
    max_rto: PositiveTime | None = Field(None, description="largest retransmission timeout", examples=["120 s"])
    initial_rto: PositiveTime | None = Field(None, description="timeout before the first RTT sample", examples=["1 s"])
    rto_granularity: Time | None = Field(None, description="clock granularity G of RFC 6298", examples=["10 ms"])
    detection: Annotated[str, chosen(DETECTIONS, "a way to detect losses")] | None = Field(
        None, description=f"loss detection: {listed(DETECTIONS)}", examples=["rack"]
    )
    recovery: Annotated[str, chosen(RECOVERIES, "a way to recover")] | None = Field(
        None, description=f"amount of data sent in recovery: {listed(RECOVERIES)}", examples=["prr"]
    )
    limited_transmit: Switch | None = Field(None, description="RFC 3042: new data on the first two duplicate ACKs")
    max_burst: Annotated[int | str, parsed(parse_burst)] | None = Field(
        None, description='maximum number of segments sent after one ACK, or "unlimited"', examples=[3]
    )
    dup_threshold: Annotated[int, counted(1, 10**6, "a number of segments")] | None = Field(
        None, description="segments SACKed above a hole before it counts as lost", examples=[3]
    )
    any_ack_restarts_timer: Switch | None = Field(
        None, description="every ACK restarts the retransmission timer, not only ACKs of new data"
    )
    time_one_segment: Switch | None = Field(
        None, description="the timeout is computed from one RTT sample each round trip, not from every ACK"
    )
    undo: Switch | None = Field(None, description="a spurious recovery or timeout is detected and undone (RFC 3522)")
    ecn: Switch | None = Field(
        None, description="explicit congestion notification (RFC 3168), for algorithms without their own form of ECN"
    )
    pacing: Switch | None = Field(
        None, description="pace segments over the round trip, as Linux does with fq, if the algorithm does not pace"
    )
    host_ack: Time | None = Field(
        None, description="time that the sending host needs for an ACK; it affects only RTT samples", examples=["5 us"]
    )
    host_scan: Time | None = Field(
        None,
        description="additional time for each outstanding segment if an ACK carries SACK blocks",
        examples=["50 ns"],
    )
    hz: Interrupts | None = Field(
        None,
        description="timer interrupts per second (Linux's HZ), for RACK's timers and algorithms that count in jiffies",
        examples=[250],
    )
    handshake: Switch | None = Field(
        None,
        description="the flow begins with a handshake on its path, whose RTT is the first sample",
    )
    fast_open: Switch | None = Field(
        None,
        description="TCP Fast Open (RFC 7413): the first SYN has the data of the first segment; the first transfer of "
        "a source has no cookie, and makes a plain handshake",
        examples=[True],
    )
    tso: Switch | None = Field(None, description="segmentation offload: new segments leave in bursts, as in Linux")
    reads_at_once: Switch | None = Field(
        None,
        description="the receiving application reads each segment at its arrival; Linux then acknowledges each burst",
    )
    send_buffer: Size | None = Field(
        None,
        description="send buffer, filled before the first ACK; it shapes tso's bursts and the default receive window",
        examples=["7 MB"],
    )
    hide_losses: Switch | None = Field(
        None, description="a misbehaving receiver: it acknowledges lost segments as if they had arrived"
    )
    hide_marks: Switch | None = Field(None, description="a misbehaving receiver: it does not echo ECN marks")
    accurate_ecn: Switch | None = Field(
        None,
        description="ACKs have the number of ECN marks modulo 8 in place of an echo, if the receiver agrees (RFC 9768)",
    )
    accurate_ecn_option: Switch | None = Field(
        None, description="ACKs have the AccECN option too: the bytes that arrived with each ECN codepoint"
    )
    receiver_ecn: Annotated[str, chosen(RECEIVERS_ECN, "a form of ECN")] | None = Field(
        None,
        description="answer of the receiving host to a SYN that asks for accurate ECN: agreement (accurate), the echo "
        "of RFC 3168 (classic), nothing (none), or the flags of the SYN (broken), which is no agreement",
        examples=["classic"],
    )
    divide_acks: Annotated[int, counted(1, 1000, "a number of ACKs")] | None = Field(
        None,
        description="a misbehaving receiver: it splits each ACK into this number of ACKs of parts of the data",
        examples=[10],
    )
    count_acks: Switch | None = Field(
        None,
        description="a sender without byte counting (RFC 3465): its window grows by ACKs, not by acknowledged segments",
    )

    def resolve(self, inherited: Stack) -> Stack:
        """The complete stack: the named stack, or ``inherited``, overridden by this table's fields.

        Raises:
            ScenarioError: the fields contradict each other.
        """
        start = STACKS[self.base] if self.base else inherited
        chosen = {field: getattr(start, field) for field in Stack.__struct_fields__}
        for ours, theirs in STACK_FIELDS.items():
            value = getattr(self, ours)
            if value is not None:
                chosen[theirs] = None if value == units.UNLIMITED else value
        option = _option_bytes(Stack(**chosen)) - _option_bytes(start)
        if self.header is None:
            chosen["header_bytes"] += option
        if self.payload is None:
            chosen["payload_bytes"] = max(1, chosen["payload_bytes"] - option)
        payload_bytes = chosen["payload_bytes"]
        if payload_bytes < 1:
            raise ScenarioError("'0 B' is too small; a segment carries at least 1 byte", path="payload")
        for field in ("initial_window", "initial_ssthresh", "receive_window"):
            if isinstance(chosen[field], Amount):
                chosen[field] = whole_segments(chosen[field], payload_bytes, field)
        stack = Stack(**chosen)
        _check_stack(stack)
        return stack


def _option_bytes(stack: Stack) -> int:
    """Size of the AccECN option in a data segment, bytes. Segments keep their size on the wire, so they have less
    payload."""
    return ACCECN_OPTION_BYTES if has_option_in_segments(stack) else 0


STACK_FIELDS = {"ack_size": "ack_bytes"} | {
    name: field
    for name in StackSpec.model_fields
    for field in (name, f"{name}_bytes", f"{name}_ps")
    if field in Stack.__struct_fields__
}
"""Fields of a stack's table, each with its field of :class:`Stack`."""


def whole_segments(amount: Amount, payload_bytes: int, field: str) -> int:
    """A window in segments; bytes count as the whole segments that fit.

    Raises:
        ScenarioError: less than one segment fits.
    """
    count = amount.segments if amount.segments is not None else (amount.octets or 0) // payload_bytes
    if count > MOST_WINDOW:
        raise ScenarioError(f"'{amount}' is too large; the limit is 2^28 segments", path=field)
    if count < 1:
        raise ScenarioError(f"'{amount}' is less than one segment of {payload_bytes} B", path=field)
    return count


_LEAST_LINUX_HEADER = 52
"""Headers of IP and TCP with timestamps, bytes."""
_LEAST_SEND_BUFFER = 4608
"""Smallest send buffer of Linux, SOCK_MIN_SNDBUF."""


def _check_stack(stack: Stack) -> None:
    if stack.send_buffer_bytes is not None and stack.send_buffer_bytes < _LEAST_SEND_BUFFER:
        raise ScenarioError(
            f"'{units.format_size(stack.send_buffer_bytes)}' is too small; a send buffer has at least "
            f"{_LEAST_SEND_BUFFER} B, as in Linux",
            path="send_buffer",
        )
    for field in ("header_bytes", "ack_bytes", "sack_block_bytes", "sack_option_bytes"):
        if (getattr(stack, field) or 0) > _MOST_OCTETS:
            written = next(ours for ours, theirs in STACK_FIELDS.items() if theirs == field)
            raise ScenarioError(
                f"'{units.format_size(getattr(stack, field))}' is too large; a packet has at most {_MOST_OCTETS} B",
                path=written,
            )
    bare_bytes = stack.header_bytes - _option_bytes(stack)
    if bare_bytes != stack.header_bytes and bare_bytes < _LEAST_LINUX_HEADER:
        raise ScenarioError(
            f"'{units.format_size(stack.header_bytes)}' is too small; a Linux host sends the option of "
            f"accurate_ecn_option with each segment, so its headers have {_LEAST_LINUX_HEADER + ACCECN_OPTION_BYTES} B",
            path="header",
        )
    if stack.without and stack.host != "linux":
        raise ScenarioError("a plain host has none of these rules; leave it out", path="without")
    if stack.wire_bytes > 2**16:
        raise ScenarioError(
            f"a packet of {stack.wire_bytes} B (payload and header) is more than 65536 B", path="payload"
        )
    if stack.ack_bytes * stack.divide_acks > _MOST_OCTETS:
        raise ScenarioError(
            f"{stack.divide_acks} ACKs of {units.format_size(stack.ack_bytes)} are too many; they are sent as one "
            f"packet of at most {_MOST_OCTETS} B",
            path="divide_acks",
        )
    if stack.ack_bytes < 1:
        raise ScenarioError("'0 B' is too small; an ACK takes at least 1 byte on the wire", path="ack_size")
    if stack.ack_every > 1 and stack.delayed_ack_ps == 0:
        raise ScenarioError(
            f"{stack.ack_every} needs a delayed_ack above zero, the longest that an ACK waits for the next segment",
            path="ack_every",
        )
    if stack.min_rto_ps > stack.max_rto_ps:
        shown = units.format_time
        raise ScenarioError(
            f"'{shown(stack.min_rto_ps)}' is more than max_rto, {shown(stack.max_rto_ps)}", path="min_rto"
        )
    if stack.initial_rto_ps > stack.max_rto_ps:
        shown = units.format_time
        raise ScenarioError(
            f"'{shown(stack.initial_rto_ps)}' is more than max_rto, {shown(stack.max_rto_ps)}", path="initial_rto"
        )


def parse_stack(value: Any) -> Any:
    """``stack = "ns2"`` as a table; a table is unchanged.

    Raises:
        ScenarioError: the value is neither a known name nor a table.
    """
    if isinstance(value, str):
        return {"base": one_of(tuple(STACKS), "a stack")(value)}
    if not isinstance(value, dict | StackSpec):
        raise ScenarioError(f"{value!r} is not a stack; write a name ({', '.join(STACKS)}) or a table")
    return value


def _dump_stack(spec: StackSpec) -> str | dict[str, Any]:
    table = spec.model_dump(exclude_unset=True, exclude_none=True)
    return str(table["base"]) if set(table) == {"base"} else table


StackChoice = Annotated[StackSpec, parsed(parse_stack), PlainSerializer(_dump_stack)]
