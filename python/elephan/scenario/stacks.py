"""The named TCP stacks: the endpoint behavior of each name, such as ``stack = "linux"``, field by field.

A scenario or a flow starts from one of these stacks and may set any field of its own (``[stack]`` in the scenario
file). The endpoint performs loss recovery with the settings of its stack; the algorithm only sets the window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from elephan.scenario.form import HostKind, HostRule

_MS_PS = 10**9
_S_PS = 10**12

HOSTS: tuple[str, ...] = get_args(HostKind)
HOST_RULES: tuple[str, ...] = get_args(HostRule)
"""Rules of Linux that a Linux host may lack."""
DETECTIONS = ("rack", "dupthresh", "dupack", "fack")
RECOVERIES = ("prr", "rate_halving", "rate_halving_ns2", "pipe", "pipe_sack1")


@dataclass(frozen=True)
class Stack:
    """Every setting of an endpoint. A named stack provides the settings that a scenario omits.

    Attributes:
        host: operating system of the hosts: ``linux`` for the rules of Linux 6.12 besides loss detection and recovery
            (clocks and timers, estimate of the timeout, receive window and quick ACKs, order of SACK blocks, CWR,
            F-RTO, D-SACK, undo), ``plain`` for those of RFCs with exact clocks.
        without: rules of Linux that a Linux host lacks, for studies of what each is worth (``HOST_RULES``).
        payload_bytes: user data of a full segment, bytes.
        header_bytes: headers of a data packet; a data packet is ``payload_bytes + header_bytes`` on the wire.
        ack_bytes: size of a pure ACK on the wire without SACK blocks, bytes.
        sack_block_bytes: bytes added to an ACK for each SACK block (up to 3).
        sack_option_bytes: bytes added once to an ACK with SACK blocks: kind and length of the option, and padding;
            ``None`` for 4 on a Linux host, and 0 otherwise.
        initial_window: initial congestion window, segments.
        initial_ssthresh: initial slow-start threshold, segments; ``None`` is infinite.
        receive_window: advertised receive window, segments; ``None`` is unlimited, or as large as the send buffer if
            ``host`` is ``"linux"`` and ``hz`` is set.
        ack_every: in-order segments for one ACK; 1 acknowledges every packet.
        delayed_ack_ps: longest delay of an ACK that waits for a second segment.
        quick_acks: number of segments at the start that are acknowledged one by one.
        min_rto_ps: smallest retransmission timeout.
        max_rto_ps: largest retransmission timeout.
        initial_rto_ps: timeout before the first RTT sample.
        rto_granularity_ps: clock granularity G of RFC 6298: a timeout is srtt + max(G, 4 rttvar).
        detection: loss detection: ``rack`` (RFC 8985), ``dupthresh`` (RFC 6675), ``dupack`` (the third duplicate ACK,
            as in ns-2's TCP/Sack1), ``fack`` (forward ACK).
        recovery: rule for the amount of data sent in recovery: ``prr`` (RFC 9937), ``rate_halving`` (Linux 2.6),
            ``rate_halving_ns2`` (ns-2's TCP/Linux), ``pipe`` (RFC 6675), ``pipe_sack1`` (ns-2's TCP/Sack1).
        limited_transmit: true for limited transmit (RFC 3042).
        max_burst: largest number of segments sent after one ACK; ``None`` is unlimited.
        dup_threshold: number of SACKed segments above a hole from which the hole counts as lost (RFC 6675: 3; ns-2's
            TCP/Linux: 4).
        any_ack_restarts_timer: true if an ACK without a cumulative acknowledgment of new data restarts the
            retransmission timer.
        time_one_segment: true if the timeout is estimated from one segment each round trip instead of every ACK.
        undo: true if a spurious recovery or timeout is detected and undone (RFC 3522).
        ecn: true for explicit congestion notification by RFC 3168, for algorithms without their own form of ECN.
        pacing: true if segments are paced over the round trip as Linux does with ``fq``, for algorithms without pacing
            of their own.
        host_ack_ps: the sending host's processing time of an ACK before the host reads the clock; this time affects
            only RTT samples.
        host_scan_ps: processing time for each outstanding segment of an ACK with SACK blocks (Leith et al. 2008,
        section VIII.A: Linux 2.6 walks the list of all segments).
        hz: timer interrupts per second of the sending host (Linux's ``HZ``). Linux's BIC, CUBIC, H-TCP and Westwood+
            (and TCP-LP before Linux 4.13) measure time in these interrupts. On a Linux host, timers expire at a timer
            interrupt, as in Linux; the seed decides how long before the start of the run the last interrupt was.
        handshake: true if the flow opens its connection at its start by a handshake on its path: the SYN, the SYN-ACK
            and the ACK wait in queues and may be lost. The RTT of the handshake is then the first sample of the
            smoothed RTT and of the smallest RTT of ``rack``.
        tso: true if new segments leave in bursts, as with segmentation offload in Linux 6.12: the data of 1 ms at the
            pacing rate, at least two segments. A smaller burst is deferred if the next ACK is expected within 1 ms.
        reads_at_once: true if the receiving application reads each segment at its arrival, as most programs do. With
            ``tso``, Linux since 6.6 then acknowledges the last segment of a burst or of a write at once. If false,
            unread data always wait, and only every second segment is acknowledged at once.
        send_buffer_bytes: send buffer in Linux's accounting, which the application fills before the first ACK;
            ``None`` for a size that holds all data on the path and in its queues. In the simulator, the send buffer
            only affects the bursts of ``tso``; it does not limit the data in flight.
        fast_open: true if the first SYN has the data of the first segment (TCP Fast Open, RFC 7413).
        hide_losses: true if the receiver acknowledges every segment as if all earlier segments had arrived (lazy
            optimistic acknowledgement, Sherwood, Bhattacharjee and Braud, CCS 2005).
        hide_marks: true if the receiver echoes no ECN marks.
        divide_acks: number of ACKs into which the receiver divides each ACK; these ACKs travel as one packet of their
            total size.
        count_acks: true if the sender counts ACKs instead of the segments that they acknowledge.
    """

    payload_bytes: int
    header_bytes: int
    ack_bytes: int
    sack_block_bytes: int
    initial_window: int
    initial_ssthresh: int | None
    receive_window: int | None
    ack_every: int
    delayed_ack_ps: int
    quick_acks: int
    min_rto_ps: int
    max_rto_ps: int
    initial_rto_ps: int
    rto_granularity_ps: int
    detection: str
    recovery: str
    limited_transmit: bool
    max_burst: int | None
    dup_threshold: int = 3
    any_ack_restarts_timer: bool = False
    time_one_segment: bool = False
    undo: bool = True
    ecn: bool = False
    pacing: bool = False
    host_ack_ps: int = 0
    host_scan_ps: int = 0
    hz: int = 1000
    handshake: bool = False
    tso: bool = False
    reads_at_once: bool = False
    send_buffer_bytes: int | None = None
    sack_option_bytes: int | None = None
    fast_open: bool = False
    host: str = "plain"
    without: tuple[str, ...] = ()
    hide_losses: bool = False
    hide_marks: bool = False
    divide_acks: int = 1
    count_acks: bool = False

    @property
    def wire_bytes(self) -> int:
        """Size of a full data packet on the wire, bytes."""
        return self.payload_bytes + self.header_bytes

    @property
    def acks_counted(self) -> int:
        """Number of ACKs that the sender counts for each packet with ACKs; 0 if the sender counts segments."""
        return self.divide_acks if self.count_acks else 0


# Current Linux: RFC 6928's initial window, RACK-TLP, PRR, RFC 6298 with Linux's 200 ms floor. 1448 bytes of payload and
# 52 bytes of headers with timestamps fill an Ethernet MTU.
LINUX = Stack(
    host="linux",
    payload_bytes=1448,
    header_bytes=52,
    ack_bytes=52,
    sack_block_bytes=8,
    initial_window=10,
    initial_ssthresh=None,
    receive_window=None,
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
    limited_transmit=True,
    max_burst=None,
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
    initial_ssthresh=None,
    receive_window=None,
    ack_every=1,
    delayed_ack_ps=0,
    quick_acks=0,
    min_rto_ps=200 * _MS_PS,
    max_rto_ps=120 * _S_PS,
    initial_rto_ps=3 * _S_PS,
    rto_granularity_ps=_MS_PS,
    detection="fack",
    recovery="rate_halving_ns2",
    limited_transmit=True,
    max_burst=None,
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
