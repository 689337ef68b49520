"""Types of the canonical form, as ``crates/sim/src/spec`` defines it.

Written by scripts/form.py (``make form``) from canonical.schema.json: change the types in Rust, not this file. An
instance is made by :func:`elephan.scenario.document.read`, or by :attr:`Scenario.form` and :attr:`Run.form`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct


class Form(Struct, frozen=True):
    """A table of the canonical form."""


class EventsSpec(Form, frozen=True, kw_only=True):
    """The event log, without the packets of sources' transfers.

    Attributes:
        limit: Maximum number of events; a run with more is cancelled.
        from_ps: Start, ps.
        to_ps: End, ps; the end of the run if absent.
    """

    limit: int
    from_ps: int = 0
    to_ps: int | None = None


class ConstantDuration(Form, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """Constant.

    Attributes:
        mean_ps: Value, ps.
    """

    kind: ClassVar[Literal["constant"]] = "constant"
    mean_ps: int


class ExponentialDuration(Form, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """Exponential.

    Attributes:
        mean_ps: Mean, ps.
    """

    kind: ClassVar[Literal["exponential"]] = "exponential"
    mean_ps: int


class ParetoDuration(Form, frozen=True, kw_only=True, tag_field="kind", tag="pareto"):
    """Pareto: heavy-tailed; P(X > x) = (scale / x)^shape with scale = mean (shape − 1) / shape.

    Attributes:
        mean_ps: Mean, ps.
        shape: Shape, above 1, so that the mean is finite.
    """

    kind: ClassVar[Literal["pareto"]] = "pareto"
    mean_ps: int
    shape: float


DurationSpec = ConstantDuration | ExponentialDuration | ParetoDuration
"""Distribution of durations."""


class FramesSpec(Form, frozen=True, kw_only=True):
    """Frames of random size at equal intervals: a variable bit rate.

    Attributes:
        interval_ps: Interval of the frames, ps. The mean size of a frame is the rate times the interval.
        shape: Shape of the Weibull distribution of the sizes, with P(X > x) = exp(−(x / scale)^shape).
    """

    interval_ps: int
    shape: float


class RateStep(Form, frozen=True, kw_only=True):
    """A change of the rate.

    Attributes:
        at_ps: Time of the change, ps.
        rate_bps: Rate from this time on, bit/s; 0 while the link is down and holds the packet in transmission.
    """

    at_ps: int
    rate_bps: int


class WriteSpec(Form, frozen=True, kw_only=True):
    """A write of an application. Its data begins with a segment of its own.

    Attributes:
        at_ps: Time of the write, ps; a write before the flow's start is made at the start.
        bytes: User data, bytes.
    """

    at_ps: int
    bytes: int


class ApplicationSpec(Form, frozen=True, kw_only=True):
    """Application that supplies its data at a rate.

    Attributes:
        rate_bps: Rate during on periods, bit/s; 0 for an application with writes. The rate counts user data; if the
            segments are datagrams, it counts all bits on the wire.
        bursts: Distributions of the on and off periods; always on if absent.
        frames: Segments arrive in frames, as in a video, instead of at equal intervals.
        poisson: Segments arrive as a Poisson process instead of at equal intervals.
        rate_steps: Changes of the rate of an application with frames, in the order of their times, for example those of
            an encoder.
        writes: Writes of given sizes at given times, in the order of their times, instead of a rate.
    """

    rate_bps: int
    bursts: tuple[DurationSpec, DurationSpec] | None = None
    frames: FramesSpec | None = None
    poisson: bool = False
    rate_steps: tuple[RateStep, ...] = ()
    writes: tuple[WriteSpec, ...] = ()


class ForeignSpec(Form, frozen=True, kw_only=True):
    """Packets of endpoints that are not the engine's own.

    Attributes:
        smallest_bytes: Size of the smallest packet that either end sends, bytes on the wire.
        largest_bytes: Size of the largest packet, bytes on the wire.
    """

    smallest_bytes: int
    largest_bytes: int


class ProgramSpec(Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client and its server, which a host of the engine's caller runs. The engine only carries their packets.

    Attributes:
        client: Command of the client.
        port: Port of the server.
        bytes: Amount of data that the commands name, bytes.
        client_sends: True if the client is the host at the beginning of the path, so that its packets take the forward
            path.
        sha256: SHA-256 of the files that the commands name.
        environment: Environment variables of both.
        ready: Text in the server's output that shows that it is ready; a listening port if absent.
        server: Command of the server; empty if the server is another program's.
        server_of: Name of the flow whose server this program uses.
    """

    client: tuple[str, ...]
    port: int
    bytes: int
    client_sends: bool
    sha256: str
    environment: Mapping[str, str] = {}
    ready: str | None = None
    server: tuple[str, ...] = ()
    server_of: str | None = None


class ClockSpec(Form, frozen=True, kw_only=True):
    """Clock of a host. The clock's time at ``t`` is ``t × (1 + drift) + offset``, rounded down to its resolution.

    Attributes:
        drift_ppb: Drift, 10⁻⁹; positive if the clock is fast.
        offset_ps: Offset from true time at the start, ps; positive if the clock is ahead.
        resolution_ps: Tick of the clock, ps; 0 for a resolution of 1 ps.
    """

    drift_ppb: int = 0
    offset_ps: int = 0
    resolution_ps: int = 0


Detection = Literal["rack", "dupthresh", "dupack", "fack"]
"""Loss detection.

Values:
    rack: RACK-TLP, RFC 8985.
    dupthresh: Three segments SACKed above the lost segment (RFC 6675).
    dupack: The third duplicate ACK. After this ACK, every gap below the highest SACKed segment counts as lost, and a
        timeout discards the SACK information (ns-2's ``TCP/Sack1``).
    fack: More than three segments below the highest SACKed segment (forward acknowledgement, Mathis and Mahdavi 1996;
        Linux until 4.x).
"""


HostKind = Literal["plain", "linux"]
"""Operating system of a flow's two hosts: the rules of their transport besides loss detection and loss recovery.

Values:
    plain: The rules of RFCs, with exact clocks.
    linux: The rules of Linux 6.12: its clocks and timers, its estimate of the timeout, its receive window and quick
        ACKs, the order of its SACK blocks, CWR after each reduction, F-RTO, D-SACK, and its rules for an undo.
"""


ReceiverEcn = Literal["accurate", "classic", "none", "broken"]
"""Form of ECN that a receiving host supports, and so what it answers to a SYN that asks for accurate feedback (RFC
9768, table 2).

Values:
    accurate: Accurate feedback, which it agrees to.
    classic: The echo of RFC 3168.
    none: None.
    broken: None, but a SYN-ACK that reflects the flags of the SYN, as some old hosts send.
"""


RecoveryRule = Literal["prr", "rate_halving", "rate_halving_ns2", "pipe_sack1", "pipe"]
"""Rule for the number of segments sent during loss recovery.

Values:
    prr: Proportional rate reduction, RFC 9937.
    rate_halving: Rate halving: the window falls by one segment for every two ACKs (Linux until 3.x).
    rate_halving_ns2: Rate halving as in ns-2's TCP/Linux: the window falls to the floor at once if the flight size is
        already below it.
    pipe_sack1: Recovery of ns-2's ``TCP/Sack1``. The window is reduced at once. The estimate of the pipe falls by one
        for an ACK, and by two for a cumulative ACK of new data; lost segments remain in the estimate.
    pipe: The window is reduced at once and the pipe drains to it, RFC 6675.
"""


HostRule = Literal[
    "clock", "timers", "timeout", "timer-restart", "tail-loss-probe", "rtt-samples", "window-validation",
    "idle-restart", "receive-window", "sack-blocks", "cwr", "f-rto", "d-sack", "undo"
]  # fmt: skip
"""A rule of Linux that a Linux host may lack. A study that removes one learns what it is worth.

Values:
    clock: RTTs in whole microseconds and times in whole nanoseconds (``tcp_mstamp``).
    timers: Timers that end at a timer interrupt (the timer wheel).
    timeout: The estimate of the retransmission timeout (``tcp_rtt_estimator``), in place of that of RFC 6298.
    timer-restart: The retransmission timer counts from the transmission of the oldest segment (``tcp_rearm_rto``).
    tail-loss-probe: A segment after two round trips without an ACK, if losses are found by RACK
        (``tcp_schedule_loss_probe``).
    rtt-samples: RTT samples of SACKed and of waiting segments (``tcp_sacktag_one``, ``tcp_clean_rtx_queue``).
    window-validation: Use of the window until the segments of its last use are acknowledged (``tcp_cwnd_validate``).
    idle-restart: A window that falls for each timeout of an idle sender (``tcp_cwnd_restart``).
    receive-window: A receive window of the send buffer's size that grows at the start (``tcp_grow_window``).
    sack-blocks: The order of SACK blocks (``tcp_sack_new_ofo_skb``).
    cwr: Reduction of the window at a mark without recovery, and CWR after every reduction (``tcp_enter_cwr``).
    f-rto: Spurious timeouts found by F-RTO (``tcp_process_loss``).
    d-sack: Reports of segments that arrived twice (``tcp_check_dsack``).
    undo: Undo of a reduction at each ACK that shows it to be unnecessary (``tcp_try_undo_partial``), and not only at
        the first.
"""


class StackSpec(Form, frozen=True, kw_only=True):
    """Transport of a flow's endpoints: all settings except the congestion control algorithm.

    Attributes:
        payload_bytes: Payload of a full segment, bytes.
        header_bytes: Headers of a segment, bytes.
        ack_bytes: Size of an ACK without SACK blocks, bytes.
        sack_block_bytes: Size of each SACK block, bytes.
        initial_window: Initial congestion window, segments.
        ack_every: Segments per ACK; 1 acknowledges each segment.
        delayed_ack_ps: Longest delay of an ACK, ps.
        quick_acks: Number of segments at the start that are acknowledged at once.
        min_rto_ps: Lower bound of the retransmission timeout, ps.
        max_rto_ps: Upper bound of the retransmission timeout, ps.
        initial_rto_ps: Retransmission timeout before the first RTT sample, ps.
        rto_granularity_ps: Clock granularity G of RFC 6298, ps.
        detection: Loss detection.
        recovery: Loss recovery.
        limited_transmit: Limited transmit: the first two duplicate ACKs release new segments (RFC 3042).
        dup_threshold: Number of SACKed segments above a gap from which the gap counts as lost.
        any_ack_restarts_timer: Restarts the retransmission timer at any ACK instead of only at a cumulative ACK of new
            data.
        time_one_segment: Estimates the timeout from one segment each round trip (RFC 6298 section 3 without timestamps)
            instead of from every ACK.
        undo: Detects and undoes a spurious loss event or timeout (RFC 3522).
        accurate_ecn: Accurate feedback of marks (RFC 9768) in place of an echo, which a handshake negotiates: each ACK
            has the number of marked packets modulo 8 in its TCP header (ACE). It is for flows with ECN of any form.
        accurate_ecn_option: The receiver's ACKs have the AccECN option (RFC 9768 section 3.2.3), with the numbers of
            bytes that arrived with each codepoint, whenever one has grown. Linux hosts send it with each packet, so
            ``header_bytes`` includes it.
        acks_counted: Number of ACKs as which the sender counts each packet that acknowledges new data (RFC 5681 without
            RFC 3465); 0: the sender counts the acknowledged segments. A receiver that divides an ACK into several sends
            them as one packet of their total size.
        ecn: Explicit congestion notification by RFC 3168, for algorithms without their own form of ECN.
        fast_open: TCP Fast Open (RFC 7413): the first SYN has the data of the first segment, and is as large as a
            segment. The sender has the cookie of an earlier connection; the first transfer of a source has none, and
            makes a plain handshake. If the SYN is lost, it is repeated without data, which then follow the handshake.
        handshake: Opens the connection at the start by a handshake on the flow's path (RFC 9293 section 3.5): a SYN, a
            SYN-ACK and an ACK wait in queues, and may be lost. A SYN is repeated after ``initial_rto_ps``. The RTT of
            the handshake is the first sample of the smallest and the smoothed RTT. Data follow a round trip after the
            start. A flow whose routers report to its sender (XCP, VCP) sends data at once, and takes the RTT of a
            handshake over the empty path.
        hide_losses: The receiver acknowledges every segment as if all earlier segments had arrived, which hides losses
            from its sender (lazy optimistic acknowledgement, Sherwood, Bhattacharjee and Braud, CCS 2005). A segment
            that arrives after a later one counts as a duplicate.
        hide_marks: The receiver echoes no ECN marks.
        host: Operating system of the hosts.
        host_ack_ps: Processing time of the sending host for an ACK, ps, before it reads the clock.
        host_scan_ps: Additional processing time for each outstanding segment if an ACK carries SACK blocks, ps (Leith
            and others 2008, section VIII.A, where Linux 2.6 walks the list of all outstanding segments).
        hz: Timer interrupts a second of the sending host (Linux's ``HZ``), for algorithms that count in jiffies; 1000
            if absent. With ``host = "linux"``, timers expire at such an interrupt, as in Linux, or at exact times if
            ``hz`` is absent.
        initial_ssthresh: Initial slow-start threshold, segments; unlimited if absent.
        max_burst: Maximum number of segments that one ACK releases; unlimited if absent.
        pacing: Paces segments over the round trip as Linux does with ``fq``, if the algorithm has no pacing of its own.
        reads_at_once: The receiving application reads each segment at its arrival. With ``tso``, the last segment of a
            burst or of a write is then acknowledged at once, since Linux 6.6 (``tcp_cleanup_rbuf``). If absent, unread
            data always wait, and only every second segment is acknowledged at once.
        receive_window: Advertised receive window, segments. If absent: as large as the send buffer with ``host =
            "linux"`` and ``hz``, and unlimited otherwise.
        receiver_ecn: Support of the receiving host for a SYN that asks for accurate feedback.
        sack_option_bytes: Size of a SACK option without its blocks, bytes. If absent: 4 with ``host = "linux"``, for
            kind, length and two bytes of padding as in Linux, and 0 otherwise.
        send_buffer_bytes: Send buffer in Linux's accounting, bytes, which the application fills before the first ACK;
            if absent, large enough for the path. With ``tso``, its end begins larger buffers of unsent data. It limits
            the data in flight only through the default receive window.
        tso: Segmentation offload as in Linux 6.12: new segments leave in bursts, each with the data of 1 ms at the
            pacing rate, at least two segments. A smaller burst is deferred if the next ACK is expected within 1 ms
            (``tcp_tso_autosize``, ``tcp_tso_should_defer``).
        without: Rules that a Linux host lacks; all are there if absent.
    """

    payload_bytes: int
    header_bytes: int
    ack_bytes: int
    sack_block_bytes: int
    initial_window: int
    ack_every: int
    delayed_ack_ps: int
    quick_acks: int
    min_rto_ps: int
    max_rto_ps: int
    initial_rto_ps: int
    rto_granularity_ps: int
    detection: Detection
    recovery: RecoveryRule
    limited_transmit: bool
    dup_threshold: int
    any_ack_restarts_timer: bool
    time_one_segment: bool
    undo: bool
    accurate_ecn: bool = False
    accurate_ecn_option: bool = False
    acks_counted: int = 0
    ecn: bool = False
    fast_open: bool = False
    handshake: bool = False
    hide_losses: bool = False
    hide_marks: bool = False
    host: HostKind = "plain"
    host_ack_ps: int = 0
    host_scan_ps: int = 0
    hz: int | None = None
    initial_ssthresh: int | None = None
    max_burst: int | None = None
    pacing: bool = False
    reads_at_once: bool = False
    receive_window: int | None = None
    receiver_ecn: ReceiverEcn = "accurate"
    sack_option_bytes: int | None = None
    send_buffer_bytes: int | None = None
    tso: bool = False
    without: tuple[HostRule, ...] = ()


class FlowSpec(Form, frozen=True, kw_only=True):
    """A flow: one sender, one receiver, a forward path and a reverse path.

    Attributes:
        name: Unique name, which also names the flow's random streams and breaks ties.
        algorithm: Congestion control: ``name`` or ``name:preset``.
        start_ps: Time at which the connection is opened, ps; without a handshake, that of the first segment.
        path: Links of the forward path, by their position in ``links``.
        reverse_path: Links of the reverse path, by their position in ``links``.
        stack: Transport of the two endpoints.
        application: Application that limits the flow; all data is available at the start if absent.
        backend: Backend of both endpoints, if it differs from that of the run's other flows. The engine runs a flow of
            another backend only with endpoints that its caller supplies.
        base_rtt_error_ps: Error of the base RTT that the sender reports to the algorithm, ps; positive if the reported
            RTT is too long.
        count: Number of equal flows: a group, with the names ``name-1``, ``name-2`` and so on.
        datagrams: Sends the application's segments as datagrams: each leaves at once, without acknowledgements,
            retransmissions or congestion control.
        foreign: Packets of endpoints that the engine's caller supplies; the engine's own endpoints are used if absent.
        parameters: Parameters of the algorithm that differ from its preset.
        program: Program in place of the flow's endpoints, on a host that the engine's caller supplies.
        receiver_clock: Clock of the receiver.
        sender_clock: Clock of the sender, which its timestamps show.
        size_segments: Length of the transfer; unlimited if absent.
        source_sha256: SHA-256 of the source of an algorithm in Python, whose object the caller supplies. Absent for
            built-in algorithms.
        start_spread_ps: Time over which a group's flows start, at equal intervals, ps.
        stop_ps: Time after which no new data is sent, ps; the end of the run if absent.
    """

    name: str
    algorithm: str
    start_ps: int
    path: tuple[int, ...]
    reverse_path: tuple[int, ...]
    stack: StackSpec
    application: ApplicationSpec | None = None
    backend: str | None = None
    base_rtt_error_ps: int = 0
    count: int = 1
    datagrams: bool = False
    foreign: ForeignSpec | None = None
    parameters: Mapping[str, bool | int | float | str] = {}
    program: ProgramSpec | None = None
    receiver_clock: ClockSpec = ClockSpec()
    sender_clock: ClockSpec = ClockSpec()
    size_segments: int | None = None
    source_sha256: str | None = None
    start_spread_ps: int = 0
    stop_ps: int | None = None


class AggregationSpec(Form, frozen=True, kw_only=True):
    """Aggregation: a transmitter gains access to the medium and then sends the packets that wait, up to a number,
    back to back (A-MPDU of IEEE 802.11n).

    Attributes:
        packets: Largest number of packets of a burst.
        access_ps: Constant time for each access, ps.
        contention_ps: Mean of an additional, exponentially distributed time, ps.
    """

    packets: int
    access_ps: int
    contention_ps: int


class DelayStep(Form, frozen=True, kw_only=True):
    """A change of the propagation delay.

    Attributes:
        at_ps: Time of the change, ps; it applies to packets whose last bit leaves the transmitter at this time or
            later.
        delay_ps: Propagation delay from this time on, ps.
    """

    at_ps: int
    delay_ps: int


class UniformJitter(Form, frozen=True, kw_only=True, tag_field="kind", tag="uniform"):
    """Uniform from 0 to a maximum.

    Attributes:
        max_ps: Maximum, ps.
    """

    kind: ClassVar[Literal["uniform"]] = "uniform"
    max_ps: int


class NormalJitter(Form, frozen=True, kw_only=True, tag_field="kind", tag="normal"):
    """Normal; a negative value is drawn again.

    Attributes:
        mean_ps: Mean of the normal distribution, ps.
        deviation_ps: Standard deviation of the normal distribution, ps.
    """

    kind: ClassVar[Literal["normal"]] = "normal"
    mean_ps: int
    deviation_ps: int


class ExponentialJitter(Form, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """Exponential.

    Attributes:
        mean_ps: Mean, ps.
    """

    kind: ClassVar[Literal["exponential"]] = "exponential"
    mean_ps: int


class SamplesJitter(Form, frozen=True, kw_only=True, tag_field="kind", tag="samples"):
    """One of the listed delays, all with equal probability.

    Attributes:
        samples_ps: Samples, ps.
    """

    kind: ClassVar[Literal["samples"]] = "samples"
    samples_ps: tuple[int, ...]


JitterSpec = UniformJitter | NormalJitter | ExponentialJitter | SamplesJitter
"""Distribution of the random delay of a packet."""


class ReorderSpec(Form, frozen=True, kw_only=True):
    """Reordering: a fraction of the packets takes longer.

    Attributes:
        p: Probability of the extra delay.
        delay_ps: Extra delay, ps.
    """

    p: float
    delay_ps: int


class RetransmissionSpec(Form, frozen=True, kw_only=True):
    """Retransmission by the link layer (ARQ): the loss of a transmission becomes delay.

    Attributes:
        p: Probability that a transmission fails.
        tries: Largest number of transmissions of a packet, after which it is lost.
        delay_ps: Extra delay of each retransmission of a packet, besides its transmission, ps.
        in_order: True if later packets wait for a retransmitted one.
    """

    p: float
    tries: int
    delay_ps: int
    in_order: bool


class Impairments(Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes of a link over time, random delays, reordering and duplicates.

    Attributes:
        aggregation: Bursts of a transmitter that must gain access to its medium.
        delay_steps: Changes of the propagation delay, which are changes of the route, in the order of their times.
            Packets on a shorter route overtake those on a longer one.
        duplicate: Probability of a second copy of a packet.
        jitter: Random delay of each packet; packets on the same route stay in order.
        rate_steps: Changes of the rate, in the order of their times.
        rate_trace_ms: Times at which one packet may leave, instead of a rate, ms. The list repeats after its last time,
            as in Mahimahi (Netravali et al., USENIX ATC 2015).
        reorder: Reordering of packets.
        retransmission: Retransmission by the link layer.
        steps_in_order: True if packets stay in order when the delay becomes shorter.
    """

    aggregation: AggregationSpec | None = None
    delay_steps: tuple[DelayStep, ...] = ()
    duplicate: float = 0.0
    jitter: JitterSpec | None = None
    rate_steps: tuple[RateStep, ...] = ()
    rate_trace_ms: tuple[int, ...] = ()
    reorder: ReorderSpec | None = None
    retransmission: RetransmissionSpec | None = None
    steps_in_order: bool = False


class LossInterval(Form, frozen=True, kw_only=True):
    """An interval in which packets are lost.

    Attributes:
        p: Loss probability of a packet.
        from_ps: Beginning of the interval, ps.
        to_ps: End of the interval, ps.
    """

    p: float
    from_ps: int
    to_ps: int


class NoneLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="none"):
    """No losses."""

    kind: ClassVar[Literal["none"]] = "none"


class BernoulliLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="bernoulli"):
    """Independent losses.

    Attributes:
        p: Loss probability of a packet.
    """

    kind: ClassVar[Literal["bernoulli"]] = "bernoulli"
    p: float


class IntervalLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="interval"):
    """Independent losses of the packets that arrive in an interval.

    Attributes:
        p: Loss probability of a packet.
        from_ps: Beginning of the interval, ps.
        to_ps: End of the interval, ps.
    """

    kind: ClassVar[Literal["interval"]] = "interval"
    p: float
    from_ps: int
    to_ps: int


class IntervalsLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="intervals"):
    """Independent losses of the packets that arrive in one of several intervals.

    Attributes:
        intervals: Intervals in the order of time, which do not overlap.
    """

    kind: ClassVar[Literal["intervals"]] = "intervals"
    intervals: tuple[LossInterval, ...]


class GilbertElliottLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="gilbert_elliott"):
    """Losses in bursts (Gilbert 1960, Elliott 1963). The link is in a good or a bad state, which may change before
    each packet. The packet is lost with the state's probability. The first state is drawn from the stationary
    distribution.

    Attributes:
        to_bad: Probability of a change from the good state to the bad one.
        to_good: Probability of a change from the bad state to the good one.
        in_good: Loss probability in the good state.
        in_bad: Loss probability in the bad state.
    """

    kind: ClassVar[Literal["gilbert_elliott"]] = "gilbert_elliott"
    to_bad: float
    to_good: float
    in_good: float
    in_bad: float


class TimedStatesLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="timed_states"):
    """Losses in bursts that last for a time, with or without packets: the link is in a good or a bad state for
    exponentially distributed times. The packet is lost with the state's probability. The first state is drawn
    from the stationary distribution.

    Attributes:
        good_ps: Mean duration of a good state, ps.
        bad_ps: Mean duration of a bad state, ps.
        in_good: Loss probability in the good state.
        in_bad: Loss probability in the bad state.
    """

    kind: ClassVar[Literal["timed_states"]] = "timed_states"
    good_ps: int
    bad_ps: int
    in_good: float
    in_bad: float


class ListLoss(Form, frozen=True, kw_only=True, tag_field="kind", tag="list"):
    """Losses of listed packets.

    Attributes:
        packets: Positions of the lost packets in the order of arrival at the link; the first packet is 0.
    """

    kind: ClassVar[Literal["list"]] = "list"
    packets: tuple[int, ...]


LossSpec = NoneLoss | BernoulliLoss | IntervalLoss | IntervalsLoss | GilbertElliottLoss | TimedStatesLoss | ListLoss
"""Losses of data packets and ACKs alike."""


class QueueSpec(Form, frozen=True, kw_only=True):
    """A queue. Every further key is a parameter of its discipline: in packets (``_packets``), bytes (``_bytes``) or
    ps (``_ps``), a plain number or a switch.

    Attributes:
        kind: Queue discipline.
        limit_bytes: Capacity, bytes; unlimited if absent.
        limit_packets: Capacity, packets; unlimited if absent.
        parameters: Every further key.
    """

    kind: str
    limit_bytes: int | None = None
    limit_packets: int | None = None
    parameters: Mapping[str, bool | int | float | None] = {}


class LinkSpec(Form, frozen=True, kw_only=True):
    """A directed link: queue → transmitter → delay line.

    Attributes:
        name: Unique name, which also names the link's random streams and breaks ties.
        rate_bps: Rate, bit/s.
        delay_ps: Propagation delay, ps.
        queue: Queue in front of the transmitter.
        copies: Number of equal links: one for each flow of the group that crosses the link.
        delays_ps: Propagation delay of each copy, ps; ``delay_ps`` for all if empty.
        impairments: Changes over time, jitter, reordering and duplicates; none if absent.
        loss: Losses before the queue, or after the transmitter.
        loss_on_wire: True if packets are lost after the transmitter, so that they take its time.
        record: Samples the link into the ``links`` table.
    """

    name: str
    rate_bps: int
    delay_ps: int
    queue: QueueSpec
    copies: int = 1
    delays_ps: tuple[int, ...] = ()
    impairments: Impairments | None = None
    loss: LossSpec = NoneLoss()
    loss_on_wire: bool = False
    record: bool = False


class Measure(Form, frozen=True, kw_only=True):
    """The measurement window.

    Attributes:
        from_ps: Start, ps.
        to_ps: End, ps.
    """

    from_ps: int
    to_ps: int


Resolution = Literal["segment", "train"]
"""Resolution of a run.

Values:
    segment: A packet of the engine is one segment.
    train: A packet of the engine may be a train of consecutive segments of a flow, as long as nothing happens that one
        segment decides.
"""


class PoissonArrivals(Form, frozen=True, kw_only=True, tag_field="kind", tag="poisson"):
    """Poisson process of a given rate.

    Attributes:
        per_second: Mean number of transfers per second.
    """

    kind: ClassVar[Literal["poisson"]] = "poisson"
    per_second: float


class LoadArrivals(Form, frozen=True, kw_only=True, tag_field="kind", tag="load"):
    """Poisson process with a stated load: transfers are drawn until the sum of their sizes gives the load.

    Attributes:
        bps: Load on the wire, bit/s, without ACKs and retransmissions.
    """

    kind: ClassVar[Literal["load"]] = "load"
    bps: int


class UsersArrivals(Form, frozen=True, kw_only=True, tag_field="kind", tag="users"):
    """Users, each of whom alternates between a think time and a transfer.

    Attributes:
        users: Number of users.
        think: Time from the end of a transfer to the start of the next.
    """

    kind: ClassVar[Literal["users"]] = "users"
    users: int
    think: DurationSpec


class ListArrivals(Form, frozen=True, kw_only=True, tag_field="kind", tag="list"):
    """A list of transfers.

    Attributes:
        starts_ps: Time from the start of the source to the start of each transfer, ps; not decreasing.
        sizes_bytes: Size of each transfer, bytes of user data.
        rtts_ps: Propagation round-trip time of each transfer, ps; the path's if empty.
    """

    kind: ClassVar[Literal["list"]] = "list"
    starts_ps: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    rtts_ps: tuple[int, ...] = ()


ArrivalsSpec = PoissonArrivals | LoadArrivals | UsersArrivals | ListArrivals
"""Start times of transfers."""


RecordSpec = Literal["all", "summary"]
"""Record of a source's transfers.

Values:
    all: A row for each transfer.
    summary: Sums, and the distributions of transfers that begin in the measurement window; memory does not grow with
        the number of transfers.
"""


class RttSpec(Form, frozen=True, kw_only=True):
    """Distribution of round-trip times, given by quantiles. The logarithm is interpolated between two quantiles.

    Attributes:
        shares: Cumulative probabilities, rising from 0 to 1.
        rtts_ps: Quantile at each probability, ps; not decreasing.
    """

    shares: tuple[float, ...]
    rtts_ps: tuple[int, ...]


class ConstantSize(Form, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """Constant.

    Attributes:
        mean_bytes: Value, bytes.
    """

    kind: ClassVar[Literal["constant"]] = "constant"
    mean_bytes: float


class ExponentialSize(Form, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """Exponential.

    Attributes:
        mean_bytes: Mean, bytes.
    """

    kind: ClassVar[Literal["exponential"]] = "exponential"
    mean_bytes: float


class ParetoSize(Form, frozen=True, kw_only=True, tag_field="kind", tag="pareto"):
    """Pareto: heavy-tailed.

    Attributes:
        mean_bytes: Mean, bytes.
        shape: Shape, above 1.
    """

    kind: ClassVar[Literal["pareto"]] = "pareto"
    mean_bytes: float
    shape: float


class LognormalParetoSize(Form, frozen=True, kw_only=True, tag_field="kind", tag="lognormal_pareto"):
    """A lognormal body, truncated at the start of the tail, and a Pareto tail, truncated at the largest size
    (Barford and Crovella 1998).

    Attributes:
        mu: Mean of the body's logarithm (of bytes).
        sigma: Standard deviation of the body's logarithm.
        body_share: Fraction of the transfers in the body, from 0 to 1.
        tail_bytes: Start of the tail, bytes.
        tail_shape: Shape of the Pareto tail.
        most_bytes: Largest size, bytes.
    """

    kind: ClassVar[Literal["lognormal_pareto"]] = "lognormal_pareto"
    mu: float
    sigma: float
    body_share: float
    tail_bytes: float
    tail_shape: float
    most_bytes: float


SizeSpec = ConstantSize | ExponentialSize | ParetoSize | LognormalParetoSize
"""Distribution of the sizes of transfers."""


class SourceSpec(Form, frozen=True, kw_only=True):
    """A source of TCP transfers that come and go.

    Attributes:
        flow: Common properties of the transfers: name, algorithm, stack, paths, and the interval in which transfers
            start. Size, application and clocks are absent.
        arrivals: Start times of the transfers.
        record: Form of the records of the transfers.
        rtts: Propagation round-trip times of the transfers; the path's if absent. If a transfer's time is longer than
            the path's, the difference is added as a delay behind the last link of the ACKs. If a transfer's time is
            shorter, the path's time is used.
        sizes: Sizes of the transfers; absent if ``arrivals`` lists them.
    """

    flow: FlowSpec
    arrivals: ArrivalsSpec
    record: RecordSpec = "all"
    rtts: RttSpec | None = None
    sizes: SizeSpec | None = None


class Spec(Form, frozen=True, kw_only=True):
    """A whole run: the canonical form of a scenario. A key that is absent has its default.

    Attributes:
        duration_ps: Simulated time, ps.
        sample_period_ps: Sampling interval, ps; 0 records only the ends of the measurement window.
        measure: Measurement window of rates, RTT and queue statistics.
        links: Directed links.
        flows: Flows that exist for the whole run.
        events: Event log of every packet of a flow; none if absent.
        format: Version of the canonical form.
        internals: Record the internal variables of each flow's algorithm at the sample times.
        record_flows: Number of flows of each group whose samples are kept, evenly spread over the group; all if absent.
            If this number is present, also with the value 0, quantiles over the flows of each group are recorded.
        resolution: Resolution: segments or trains of them.
        seed: Seed of start times, phases and every random stream.
        send_jitter_ps: Upper end of the uniform random delay of each packet at its sender, ps; packets stay in order.
        start_jitter_ps: Upper end of the uniform random delay of each flow's start, ps.
        title: Title for readers; the engine ignores it.
        traffic: Sources of transfers that come and go.
    """

    duration_ps: int
    sample_period_ps: int
    measure: Measure
    links: tuple[LinkSpec, ...]
    flows: tuple[FlowSpec, ...]
    events: EventsSpec | None = None
    format: int = 1
    internals: bool = False
    record_flows: int | None = None
    resolution: Resolution = "segment"
    seed: int = 0
    send_jitter_ps: int = 0
    start_jitter_ps: int = 0
    title: str | None = None
    traffic: tuple[SourceSpec, ...] = ()
