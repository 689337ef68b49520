//! Hosts: their transport and their clocks.

use serde::Deserialize;

use crate::time::Time;

/// Everything about the endpoints that is not the algorithm's.
#[derive(Clone, Debug, Deserialize)]
pub struct StackSpec {
    /// Payload of a segment, bytes.
    pub payload_bytes: u32,
    /// Headers of a segment, bytes.
    pub header_bytes: u32,
    /// An ACK without SACK blocks, bytes.
    pub ack_bytes: u32,
    /// Each SACK block, bytes.
    pub sack_block_bytes: u32,
    /// Segments.
    pub initial_window: u32,
    /// Segments; unlimited where absent.
    pub initial_ssthresh: Option<u32>,
    /// Segments; unlimited where absent.
    pub receive_window: Option<u32>,
    /// Segments per ACK: 1 acknowledges each.
    pub ack_every: u32,
    /// A delayed ACK waits at most this long, ps.
    pub delayed_ack_ps: u64,
    /// So many segments at the start are acknowledged at once.
    pub quick_acks: u32,
    /// Lower bound of the retransmission timeout, ps.
    pub min_rto_ps: u64,
    /// Upper bound, ps.
    pub max_rto_ps: u64,
    /// Before the first RTT sample, ps.
    pub initial_rto_ps: u64,
    /// Clock granularity G of RFC 6298, ps.
    pub rto_granularity_ps: u64,
    /// How a loss is found.
    pub detection: Detection,
    /// How it is repaired.
    pub recovery: RecoveryRule,
    /// Whether the first two duplicate ACKs may release new segments (RFC 3042).
    pub limited_transmit: bool,
    /// Segments SACKed above a hole before it counts as lost.
    pub dup_threshold: u32,
    /// Whether any ACK restarts the retransmission timer, and not only one that acknowledges something in order.
    pub any_ack_restarts_timer: bool,
    /// Whether the timeout is estimated from one segment each round trip (RFC 6298 section 3 without timestamps), and not from
    /// every ACK.
    pub time_one_segment: bool,
    /// Whether a spurious episode or timeout is found out and undone (RFC 3522).
    pub undo: bool,
    /// At most so many segments per ACK; unlimited where absent.
    #[serde(default)]
    pub max_burst: Option<u32>,
    /// Explicit congestion notification as in RFC 3168, for algorithms that do not bring their own.
    #[serde(default)]
    pub ecn: bool,
    /// Segments are spread over the round trip, as Linux does it with `fq`, where the algorithm has no pacing of its own.
    #[serde(default)]
    pub pacing: bool,
    /// What the sending host takes for an ACK before it looks at the clock, ps.
    #[serde(default)]
    pub host_ack_ps: u64,
    /// What it takes besides, for each outstanding segment, where an ACK carries SACK blocks, ps (Leith et al. 2008 section
    /// VIII.A: Linux 2.6 walks the list of all of them).
    #[serde(default)]
    pub host_scan_ps: u64,
    /// Timer interrupts a second of the sending host (Linux's `HZ`): algorithms of Linux that count in jiffies.
    #[serde(default = "default_hz")]
    pub hz: u32,
}

fn default_hz() -> u32 {
    elephan_cc::jiffies::DEFAULT_HZ as u32
}

/// How a lost segment is recognized.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Detection {
    /// RACK-TLP, RFC 8985.
    Rack,
    /// Three segments SACKed above it, RFC 6675.
    Dupthresh,
    /// The third duplicate ACK; from then on every hole below the highest SACKed segment counts as lost, and a timeout
    /// forgets what was SACKed (ns-2's `TCP/Sack1`).
    Dupack,
    /// More than three segments below the highest SACKed one (forward acknowledgement, Mathis and Mahdavi 1996; Linux until 4.x).
    Fack,
}

/// How much is sent while a loss is repaired.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryRule {
    /// Proportional rate reduction, RFC 9937.
    Prr,
    /// One segment less for every two ACKs (Linux until 3.x).
    RateHalving,
    /// The same idea as ns-2's TCP/Linux has it: down to the floor at once where the flight already is below.
    #[serde(rename = "rate_halving_ns2")]
    RateHalvingNs2,
    /// As ns-2's `TCP/Sack1`: the window is the new one at once, and an estimate of the pipe counts one out for an ACK, two
    /// for one that acknowledges in order; what is lost stays in it.
    PipeSack1,
    /// The window is the new one at once and the pipe drains to it, RFC 6675.
    Pipe,
}

/// A host's clock: what it shows at `t` is `t × (1 + drift) + offset`, rounded down to its resolution.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct ClockSpec {
    /// Ahead of true time by this at the beginning, ps.
    #[serde(default)]
    pub offset_ps: i64,
    /// Faster than true time by this, 10⁻⁹.
    #[serde(default)]
    pub drift_ppb: i64,
    /// Length of its tick, ps; 0 shows every ps.
    #[serde(default)]
    pub resolution_ps: u64,
}

impl ClockSpec {
    /// What it shows at `t`, ps.
    #[must_use]
    pub fn reading(&self, t: Time) -> i128 {
        let t = i128::from(t.0);
        let shown = t + t * i128::from(self.drift_ppb) / 1_000_000_000 + i128::from(self.offset_ps);
        let tick = i128::from(self.resolution_ps.max(1));
        shown.div_euclid(tick) * tick
    }
}
