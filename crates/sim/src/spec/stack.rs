//! Hosts: their transport and their clocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Stream;
use crate::sidecar::AccEcnOption;
use crate::time::Time;

/// Size of Linux's SACK option without its blocks, bytes (`TCPOLEN_SACK_BASE_ALIGNED`).
const LINUX_SACK_OPTION_BYTES: u32 = 4;
/// Options of a SYN in addition to those of a segment, bytes: segment size, window scale and SACK permission.
const SYN_OPTION_BYTES: u32 = 8;

/// Operating system of a flow's two hosts: the rules of their transport besides loss detection and loss recovery.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// The rules of RFCs, with exact clocks.
    #[default]
    Plain,
    /// The rules of Linux 6.12: its clocks and timers, its estimate of the timeout, its receive window and quick ACKs, the
    /// order of its SACK blocks, CWR after each reduction, F-RTO, D-SACK, and its rules for an undo.
    Linux,
}

/// Form of ECN that a receiving host supports, and so what it answers to a SYN that asks for accurate feedback (RFC 9768,
/// table 2).
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiverEcn {
    /// Accurate feedback, which it agrees to.
    #[default]
    Accurate,
    /// The echo of RFC 3168.
    Classic,
    /// None.
    None,
    /// None, but a SYN-ACK that reflects the flags of the SYN, as some old hosts send.
    Broken,
}

/// A rule of Linux that a Linux host may lack. A study that removes one learns what it is worth.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostRule {
    /// RTTs in whole microseconds and times in whole nanoseconds (`tcp_mstamp`).
    Clock,
    /// Timers that end at a timer interrupt (the timer wheel).
    Timers,
    /// The estimate of the retransmission timeout (`tcp_rtt_estimator`), in place of that of RFC 6298.
    Timeout,
    /// The retransmission timer counts from the transmission of the oldest segment (`tcp_rearm_rto`).
    TimerRestart,
    /// A segment after two round trips without an ACK, if losses are found by RACK (`tcp_schedule_loss_probe`).
    TailLossProbe,
    /// RTT samples of SACKed and of waiting segments (`tcp_sacktag_one`, `tcp_clean_rtx_queue`).
    RttSamples,
    /// Use of the window until the segments of its last use are acknowledged (`tcp_cwnd_validate`).
    WindowValidation,
    /// A window that falls for each timeout of an idle sender (`tcp_cwnd_restart`).
    IdleRestart,
    /// A receive window of the send buffer's size that grows at the start (`tcp_grow_window`).
    ReceiveWindow,
    /// The order of SACK blocks (`tcp_sack_new_ofo_skb`).
    SackBlocks,
    /// Reduction of the window at a mark without recovery, and CWR after every reduction (`tcp_enter_cwr`).
    Cwr,
    /// Spurious timeouts found by F-RTO (`tcp_process_loss`).
    FRto,
    /// Reports of segments that arrived twice (`tcp_check_dsack`).
    DSack,
    /// Undo of a reduction at each ACK that shows it to be unnecessary (`tcp_try_undo_partial`), and not only at the first.
    Undo,
}

impl HostRule {
    /// All rules.
    pub const ALL: [Self; 14] = [
        Self::Clock,
        Self::Timers,
        Self::Timeout,
        Self::TimerRestart,
        Self::TailLossProbe,
        Self::RttSamples,
        Self::WindowValidation,
        Self::IdleRestart,
        Self::ReceiveWindow,
        Self::SackBlocks,
        Self::Cwr,
        Self::FRto,
        Self::DSack,
        Self::Undo,
    ];
}

/// Transport of a flow's endpoints: all settings except the congestion control algorithm.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct StackSpec {
    /// Operating system of the hosts.
    #[serde(default)]
    pub host: HostKind,
    /// Rules that a Linux host lacks; all are there if absent.
    #[serde(default)]
    pub without: Vec<HostRule>,
    /// Payload of a full segment, bytes.
    pub payload_bytes: u32,
    /// Headers of a segment, bytes.
    pub header_bytes: u32,
    /// Size of an ACK without SACK blocks, bytes.
    pub ack_bytes: u32,
    /// Size of each SACK block, bytes.
    pub sack_block_bytes: u32,
    /// Initial congestion window, segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, segments; unlimited if absent.
    #[serde(default)]
    pub initial_ssthresh: Option<u32>,
    /// Advertised receive window, segments. If absent: as large as the send buffer with `host = "linux"` and `hz`, and
    /// unlimited otherwise.
    #[serde(default)]
    pub receive_window: Option<u32>,
    /// Segments per ACK; 1 acknowledges each segment.
    pub ack_every: u32,
    /// Longest delay of an ACK, ps.
    pub delayed_ack_ps: u64,
    /// Number of segments at the start that are acknowledged at once.
    pub quick_acks: u32,
    /// Lower bound of the retransmission timeout, ps.
    pub min_rto_ps: u64,
    /// Upper bound of the retransmission timeout, ps.
    pub max_rto_ps: u64,
    /// Retransmission timeout before the first RTT sample, ps.
    pub initial_rto_ps: u64,
    /// Clock granularity G of RFC 6298, ps.
    pub rto_granularity_ps: u64,
    /// Loss detection.
    pub detection: Detection,
    /// Loss recovery.
    pub recovery: RecoveryRule,
    /// Limited transmit: the first two duplicate ACKs release new segments (RFC 3042).
    pub limited_transmit: bool,
    /// Number of SACKed segments above a gap from which the gap counts as lost.
    pub dup_threshold: u32,
    /// Restarts the retransmission timer at any ACK instead of only at a cumulative ACK of new data.
    pub any_ack_restarts_timer: bool,
    /// Estimates the timeout from one segment each round trip (RFC 6298 section 3 without timestamps) instead of from every
    /// ACK.
    pub time_one_segment: bool,
    /// Detects and undoes a spurious loss event or timeout (RFC 3522).
    pub undo: bool,
    /// Maximum number of segments that one ACK releases; unlimited if absent.
    #[serde(default)]
    pub max_burst: Option<u32>,
    /// Explicit congestion notification by RFC 3168, for algorithms without their own form of ECN.
    #[serde(default)]
    pub ecn: bool,
    /// Paces segments over the round trip as Linux does with `fq`, if the algorithm has no pacing of its own.
    #[serde(default)]
    pub pacing: bool,
    /// Processing time of the sending host for an ACK, ps, before it reads the clock.
    #[serde(default)]
    pub host_ack_ps: u64,
    /// Additional processing time for each outstanding segment if an ACK carries SACK blocks, ps (Leith and others
    /// 2008, section VIII.A, where Linux 2.6 walks the list of all outstanding segments).
    #[serde(default)]
    pub host_scan_ps: u64,
    /// Timer interrupts a second of the sending host (Linux's `HZ`), for algorithms that count in jiffies; 1000 if
    /// absent. With `host = "linux"`, timers expire at such an interrupt, as in Linux, or at exact times if `hz` is
    /// absent.
    #[serde(default)]
    pub hz: Option<u32>,
    /// Opens the connection at the start by a handshake on the flow's path (RFC 9293 section 3.5): a SYN, a SYN-ACK and an
    /// ACK wait in queues, and may be lost. A SYN is repeated after `initial_rto_ps`. The RTT of the handshake is the
    /// first sample of the smallest and the smoothed RTT. Data follow a round trip after the start. A flow whose routers
    /// report to its sender (XCP, VCP) sends data at once, and takes the RTT of a handshake over the empty path.
    #[serde(default)]
    pub handshake: bool,
    /// TCP Fast Open (RFC 7413): the first SYN has the data of the first segment, and is as large as a segment. The sender has
    /// the cookie of an earlier connection; the first transfer of a source has none, and makes a plain handshake. If the
    /// SYN is lost, it is repeated without data, which then follow the handshake.
    #[serde(default)]
    pub fast_open: bool,
    /// Segmentation offload as in Linux 6.12: new segments leave in bursts, each with the data of 1 ms at the pacing
    /// rate, at least two segments. A smaller burst is deferred if the next ACK is expected within 1 ms
    /// (`tcp_tso_autosize`, `tcp_tso_should_defer`).
    #[serde(default)]
    pub tso: bool,
    /// The receiving application reads each segment at its arrival. With `tso`, the last segment of a burst or of a write
    /// is then acknowledged at once, since Linux 6.6 (`tcp_cleanup_rbuf`). If absent, unread data always wait, and only
    /// every second segment is acknowledged at once.
    #[serde(default)]
    pub reads_at_once: bool,
    /// Send buffer in Linux's accounting, bytes, which the application fills before the first ACK; if absent, large enough
    /// for the path. With `tso`, its end begins larger buffers of unsent data. It limits the data in flight only through
    /// the default receive window.
    #[serde(default)]
    pub send_buffer_bytes: Option<u64>,
    /// Size of a SACK option without its blocks, bytes. If absent: 4 with `host = "linux"`, for kind, length and two
    /// bytes of padding as in Linux, and 0 otherwise.
    #[serde(default)]
    pub sack_option_bytes: Option<u32>,
    /// The receiver acknowledges every segment as if all earlier segments had arrived, which hides losses from its
    /// sender (lazy optimistic acknowledgement, Sherwood, Bhattacharjee and Braud, CCS 2005). A segment that arrives
    /// after a later one counts as a duplicate.
    #[serde(default)]
    pub hide_losses: bool,
    /// The receiver echoes no ECN marks.
    #[serde(default)]
    pub hide_marks: bool,
    /// Accurate feedback of marks (RFC 9768) in place of an echo, which a handshake negotiates: each ACK has the number of marked
    /// packets modulo 8 in its TCP header (ACE). It is for flows with ECN of any form.
    #[serde(default)]
    pub accurate_ecn: bool,
    /// The receiver's ACKs have the AccECN option (RFC 9768 section 3.2.3), with the numbers of bytes that arrived with each
    /// codepoint, whenever one has grown. Linux hosts send it with each packet, so `header_bytes` includes it.
    #[serde(default)]
    pub accurate_ecn_option: bool,
    /// Support of the receiving host for a SYN that asks for accurate feedback.
    #[serde(default)]
    pub receiver_ecn: ReceiverEcn,
    /// Number of ACKs as which the sender counts each packet that acknowledges new data (RFC 5681 without RFC 3465); 0:
    /// the sender counts the acknowledged segments. A receiver that divides an ACK into several sends them as one
    /// packet of their total size.
    #[serde(default)]
    pub acks_counted: u32,
    /// Time from a timer interrupt of the hosts to the start of the run. The field is not in the canonical form, since
    /// it depends on the seed: see [`timer_phase_ns`].
    #[serde(skip)]
    #[schemars(skip)]
    pub phase: Time,
}

/// Time from a timer interrupt of a host with `hz` interrupts a second to the start of the run, ns: a random number,
/// drawn from the run's seed. All hosts with the same `hz` have the same interrupts, as if they were virtual machines of
/// one computer. The Linux backend has the same phase.
#[must_use]
pub fn timer_phase_ns(seed: u64, hz: u32) -> u64 {
    let interval_ns = Time::SECOND.0 / Time::NANOSECOND.0 / u64::from(hz.max(1));
    Stream::new(seed, "timer interrupts").below(interval_ns)
}

impl StackSpec {
    /// Stack of current Linux, with 1,448 bytes of payload, SACK, RACK-TLP, PRR, delayed ACKs, and an initial window of
    /// 10 segments.
    #[must_use]
    pub fn linux() -> Self {
        let ms = Time::MILLISECOND.0;
        Self {
            payload_bytes: 1448,
            header_bytes: 52,
            ack_bytes: 52,
            sack_block_bytes: 8,
            initial_window: 10,
            initial_ssthresh: None,
            receive_window: None,
            ack_every: 2,
            delayed_ack_ps: 40 * ms,
            // The value of the scenarios' Linux stack: a receiver's window grows by two segments for each segment that
            // arrives.
            quick_acks: 1080,
            min_rto_ps: 200 * ms,
            max_rto_ps: 120_000 * ms,
            initial_rto_ps: 1000 * ms,
            rto_granularity_ps: 200 * ms,
            host: HostKind::Linux,
            without: Vec::new(),
            detection: Detection::Rack,
            recovery: RecoveryRule::Prr,
            limited_transmit: true,
            dup_threshold: 3,
            any_ack_restarts_timer: false,
            time_one_segment: false,
            undo: true,
            max_burst: None,
            ecn: false,
            pacing: false,
            host_ack_ps: 0,
            host_scan_ps: 0,
            hz: Some(250),
            handshake: true,
            tso: true,
            reads_at_once: false,
            send_buffer_bytes: None,
            sack_option_bytes: None,
            fast_open: false,
            hide_losses: false,
            hide_marks: false,
            accurate_ecn: false,
            accurate_ecn_option: false,
            receiver_ecn: ReceiverEcn::Accurate,
            acks_counted: 0,
            phase: Time::ZERO,
        }
    }

    /// True if the hosts have Linux's rules.
    #[must_use]
    #[inline]
    pub fn is_linux(&self) -> bool {
        self.host == HostKind::Linux
    }

    /// True if the hosts have a rule of Linux.
    #[must_use]
    pub fn has(&self, rule: HostRule) -> bool {
        self.is_linux() && !self.without.contains(&rule)
    }

    /// True if the sender keeps the send time of each outstanding segment.
    #[must_use]
    pub fn keeps_times(&self) -> bool {
        self.is_linux() || self.detection == Detection::Rack || self.tso
    }

    /// Size of a SYN, and of a SYN-ACK without the AccECN option, bytes.
    #[must_use]
    pub fn syn_bytes(&self) -> u32 {
        self.bare_header_bytes() + SYN_OPTION_BYTES
    }

    /// Size of a segment's header without the AccECN option, bytes.
    #[must_use]
    pub fn bare_header_bytes(&self) -> u32 {
        self.header_bytes - self.segment_option_bytes()
    }

    /// Size of the AccECN option of a data segment, bytes: Linux hosts send the option with each packet
    /// (`net.ipv4.tcp_ecn_option = 2`), others only with ACKs.
    #[must_use]
    pub fn segment_option_bytes(&self) -> u32 {
        if self.is_linux() && self.receiver_ecn == ReceiverEcn::Accurate { self.option_bytes() } else { 0 }
    }

    /// Largest size of an AccECN option with its padding, bytes; 0 without it.
    #[must_use]
    pub fn option_bytes(&self) -> u32 {
        if self.accurate_ecn_option { u32::from(AccEcnOption::bytes(AccEcnOption::MOST)) } else { 0 }
    }

    /// Size of a SACK option with three blocks, bytes.
    #[must_use]
    pub fn most_sack_bytes(&self) -> u32 {
        self.sack_option().saturating_add(self.sack_block_bytes.saturating_mul(3))
    }

    /// Size of a SACK option without its blocks, bytes.
    #[must_use]
    pub fn sack_option(&self) -> u32 {
        // The studies that use other stacks are reproduced without these bytes.
        let usual = if self.is_linux() { LINUX_SACK_OPTION_BYTES } else { 0 };
        self.sack_option_bytes.unwrap_or(usual)
    }

    /// An event's time on the clock of a host: rounded up to whole ns, if the clock counts ns.
    #[must_use]
    #[inline]
    pub fn on_clock(&self, at: Time) -> Time {
        if self.counts_ns() { at.to_next_ns() } else { at }
    }

    /// Time between two instants as the hosts measure it. Linux's clock for RTTs counts whole microseconds.
    #[must_use]
    pub fn elapsed(&self, from: Time, to: Time) -> Time {
        let us = |time: Time| time.later(self.phase).whole_us();
        if self.counts_ns() { us(to).since(us(from)) } else { to.since(from) }
    }

    /// True if the hosts read clocks of whole ns, as Linux does. Other stacks have exact clocks: the studies that use
    /// these stacks state no unit.
    #[must_use]
    pub fn counts_ns(&self) -> bool {
        self.has(HostRule::Clock) && self.hz.is_some()
    }

    /// Sets the phase of the timer interrupts that a host of this stack has in a run with `seed`.
    pub(super) fn set_phase(&mut self, seed: u64) {
        if let Some(hz) = self.hz.filter(|_| self.is_linux()) {
            self.phase = Time(timer_phase_ns(seed, hz) * Time::NANOSECOND.0);
        }
    }

    /// Timer interrupts a second.
    #[must_use]
    pub fn hz(&self) -> f64 {
        self.hz.map_or(elephan_cc::jiffies::DEFAULT_HZ, f64::from)
    }
}

/// Loss detection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detection {
    /// RACK-TLP, RFC 8985.
    Rack,
    /// Three segments SACKed above the lost segment (RFC 6675).
    Dupthresh,
    /// The third duplicate ACK. After this ACK, every gap below the highest SACKed segment counts as lost, and a
    /// timeout discards the SACK information (ns-2's `TCP/Sack1`).
    Dupack,
    /// More than three segments below the highest SACKed segment (forward acknowledgement, Mathis and Mahdavi 1996; Linux until 4.x).
    Fack,
}

/// Rule for the number of segments sent during loss recovery.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryRule {
    /// Proportional rate reduction, RFC 9937.
    Prr,
    /// Rate halving: the window falls by one segment for every two ACKs (Linux until 3.x).
    RateHalving,
    /// Rate halving as in ns-2's TCP/Linux: the window falls to the floor at once if the flight size is already below
    /// it.
    #[serde(rename = "rate_halving_ns2")]
    RateHalvingNs2,
    /// Recovery of ns-2's `TCP/Sack1`. The window is reduced at once. The estimate of the pipe falls by one for an ACK,
    /// and by two for a cumulative ACK of new data; lost segments remain in the estimate.
    PipeSack1,
    /// The window is reduced at once and the pipe drains to it, RFC 6675.
    Pipe,
}

/// Clock of a host. The clock's time at `t` is `t × (1 + drift) + offset`, rounded down to its resolution.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ClockSpec {
    /// Offset from true time at the start, ps; positive if the clock is ahead.
    #[serde(default)]
    pub offset_ps: i64,
    /// Drift, 10⁻⁹; positive if the clock is fast.
    #[serde(default)]
    pub drift_ppb: i64,
    /// Tick of the clock, ps; 0 for a resolution of 1 ps.
    #[serde(default)]
    pub resolution_ps: u64,
}

impl ClockSpec {
    /// The clock's reading at the true time `t`, ps.
    #[must_use]
    pub fn reading(&self, t: Time) -> i128 {
        let t = i128::from(t.0);
        let shown = t + t * i128::from(self.drift_ppb) / 1_000_000_000 + i128::from(self.offset_ps);
        let tick = i128::from(self.resolution_ps.max(1));
        shown.div_euclid(tick) * tick
    }
}
