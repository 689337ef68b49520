"""The named TCP stacks: the endpoint behavior of each name, such as ``stack = "linux"``, field by field.

A scenario or a flow starts from one of these stacks and may set any field of its own (``[stack]`` in the scenario
file). The endpoint performs loss recovery with the settings of its stack; the algorithm only sets the window.
"""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from elephan.scenario.form import Detection, HostKind, HostRule, ReceiverEcn, RecoveryRule, StackSpec

_MS_PS = 10**9
_S_PS = 10**12

HOSTS: tuple[str, ...] = get_args(HostKind)
HOST_RULES: tuple[str, ...] = get_args(HostRule)
"""Rules of Linux that a Linux host may lack."""
DETECTIONS: tuple[str, ...] = get_args(Detection)
RECOVERIES: tuple[str, ...] = get_args(RecoveryRule)
RECEIVERS_ECN: tuple[str, ...] = get_args(ReceiverEcn)


class Stack(StackSpec, frozen=True, kw_only=True):
    """Every setting of an endpoint, as the engine defines it; a named stack provides those that a scenario omits.

    Attributes:
        hz: timer interrupts per second of the sending host; the canonical form has it where it matters.
        divide_acks: number of ACKs into which the receiver divides each ACK.
        count_acks: true if the sender counts ACKs instead of the segments that they acknowledge.
    """

    hz: int | None = 1000
    divide_acks: int = 1
    count_acks: bool = False
    limited_transmit: bool = True
    dup_threshold: int = 3
    any_ack_restarts_timer: bool = False
    time_one_segment: bool = False
    undo: bool = True

    @property
    def wire_bytes(self) -> int:
        """Size of a full data packet on the wire, bytes."""
        return self.payload_bytes + self.header_bytes


# Current Linux: RFC 6928's initial window, RACK-TLP, PRR, RFC 6298 with Linux's 200 ms floor. 1448 bytes of payload and
# 52 bytes of headers with timestamps fill an Ethernet MTU.
LINUX = Stack(
    host="linux",
    payload_bytes=1448,
    header_bytes=52,
    ack_bytes=52,
    sack_block_bytes=8,
    initial_window=10,
    ack_every=2,
    delayed_ack_ps=40 * _MS_PS,
    # Sixteen, plus about 1,060 while the receive window grows by two segments for each arriving segment, from 64 kB to
    # the 3 MiB of the default net.ipv4.tcp_rmem (tcp_grow_window, tcp_incr_quickack).
    quick_acks=1080,
    min_rto_ps=200 * _MS_PS,
    max_rto_ps=120 * _S_PS,
    initial_rto_ps=_S_PS,
    # Linux's floor applies to the variation and not to the timeout: srtt + max(4 rttvar, 200 ms) (tcp_set_rto).
    rto_granularity_ps=200 * _MS_PS,
    detection="rack",
    recovery="prr",
    # Debian's kernels: CONFIG_HZ=250.
    hz=250,
    handshake=True,
    tso=True,
)

# Linux 2.6.13 to 2.6.23, the kernels of the high-speed TCP studies: RFC 3390's window, forward acknowledgement, rate
# halving. HZ is 1000, which i386 has in 2.6.0 to 2.6.12 (include/asm-i386/param.h); since 2.6.13 the build chooses HZ.
LINUX_2_6 = replace(
    LINUX,
    host="plain",
    initial_window=3,
    quick_acks=16,
    initial_rto_ps=3 * _S_PS,
    detection="fack",
    recovery="rate_halving",
    hz=1000,
    handshake=False,
    tso=False,
)

# ns-2.35's Agent/TCP/Linux with TCPSink/Sack1: packets of 1000 bytes (1040 bytes on the wire), an ACK for every packet,
# 8 bytes per SACK block, two segments at the start, a 1 ms tick (HZ in ns-linux-c.h is 1000); a hole counts as lost
# with four segments SACKed above it. Its initial threshold is the window_ that a script sets, so a reproduction sets
# receive_window and initial_ssthresh to the same number.
NS2 = Stack(
    payload_bytes=1000,
    header_bytes=40,
    ack_bytes=40,
    sack_block_bytes=8,
    initial_window=2,
    ack_every=1,
    delayed_ack_ps=0,
    quick_acks=0,
    min_rto_ps=200 * _MS_PS,
    max_rto_ps=120 * _S_PS,
    initial_rto_ps=3 * _S_PS,
    rto_granularity_ps=_MS_PS,
    detection="fack",
    recovery="rate_halving_ns2",
    dup_threshold=4,
    any_ack_restarts_timer=True,
    time_one_segment=True,
    undo=False,
)

# ns-2's Agent/TCP/Sack1, on which the high-speed patches of 2003 to 2006 were built, before TCP/Linux existed. The
# third duplicate ACK begins recovery, the window falls at once, lost segments stay in the estimate of the pipe, and a
# lost retransmission waits for the timeout.
NS2_SACK1 = replace(
    NS2,
    initial_window=1,
    max_rto_ps=60 * _S_PS,
    rto_granularity_ps=10 * _MS_PS,
    detection="dupack",
    recovery="pipe_sack1",
    dup_threshold=3,
    any_ack_restarts_timer=False,
)

# Only the standards: RFC 6675 recovery, RFC 6298 with its 1 s floor, RFC 5681 delayed ACKs.
RFC6675 = replace(
    LINUX,
    host="plain",
    delayed_ack_ps=200 * _MS_PS,
    quick_acks=0,
    min_rto_ps=_S_PS,
    max_rto_ps=60 * _S_PS,
    detection="dupthresh",
    recovery="pipe",
    undo=False,
    hz=1000,
    handshake=False,
    tso=False,
)

# IP, UDP and UDT: 20, 8 and 16 bytes (draft-gg-udt-03 section 2); a packet carries at least as much as UDT's own ACK.
UDT_HEADER_BYTES = 44
UDT_LEAST_PAYLOAD_BYTES = 24


def is_udt(algorithm: str) -> bool:
    """True for an algorithm of UDT; UDT has its own endpoints."""
    return algorithm.partition(":")[0] == "udt"


def udt_stack(payload_bytes: int) -> Stack:
    """The sizes of a UDT flow's packets; its endpoints use no other field of a stack, so the rest is ``linux``."""
    return replace(LINUX, payload_bytes=payload_bytes, header_bytes=UDT_HEADER_BYTES, handshake=False, tso=False)


STACKS: dict[str, Stack] = {
    "linux": LINUX,
    "linux-2.6": LINUX_2_6,
    "ns2": NS2,
    "ns2-sack1": NS2_SACK1,
    "rfc6675": RFC6675,
}
TITLES = {
    "linux": "today's Linux: RACK-TLP, PRR, delayed ACKs, initial window 10",
    "linux-2.6": "Linux 2.6 of the high-speed TCP studies: FACK, rate halving, initial window 3",
    "ns2": "ns-2.35's TCP/Linux: 1040 bytes on the wire, an ACK for every packet",
    "ns2-sack1": "ns-2's TCP/Sack1, under the high-speed patches that came before TCP/Linux",
    "rfc6675": "only the standards: RFC 6675 recovery, RFC 6298 timeouts",
}
