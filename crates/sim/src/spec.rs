//! What to simulate: the canonical form of a scenario, every quantity an integer in its smallest unit.

mod queue;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::endpoint::udt;
use crate::impairments::Impairments;
use crate::time::Time;

pub use self::queue::QueueSpec;
use crate::traffic::draw::{DurationSpec, RttSpec, SizeSpec};

/// A whole run.
#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    /// Moves start times and phases, and seeds every random stream.
    #[serde(default)]
    pub seed: u64,
    /// Length, ps.
    pub duration_ps: u64,
    /// Distance of samples, ps; 0 records only the ends of the measurement window.
    pub sample_period_ps: u64,
    /// Each flow starts up to this much later than said, uniformly, ps.
    #[serde(default)]
    pub start_jitter_ps: u64,
    /// Each packet leaves its sender up to this much later, uniformly and in order, ps.
    #[serde(default)]
    pub send_jitter_ps: u64,
    /// Where rates, RTT and queue statistics are taken.
    pub measure: Measure,
    /// Directed links.
    pub links: Vec<LinkSpec>,
    /// Flows.
    pub flows: Vec<FlowSpec>,
    /// Transfers that come and go.
    #[serde(default)]
    pub traffic: Vec<SourceSpec>,
    /// Whether, and when, everything that happens to a packet of a flow is written down.
    #[serde(default)]
    pub events: Option<EventsSpec>,
}

/// What of the run goes into the event log. The packets of transfers that come and go are not in it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct EventsSpec {
    /// Events that are kept at most; a run with more is given up.
    pub limit: u64,
    /// Begin, ps.
    #[serde(default)]
    pub from_ps: u64,
    /// End, ps; that of the run where absent.
    #[serde(default)]
    pub to_ps: Option<u64>,
}

/// The measurement window.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Measure {
    /// Begin, ps.
    pub from_ps: u64,
    /// End, ps.
    pub to_ps: u64,
}

/// A directed link: queue → transmitter → delay line.
#[derive(Clone, Debug, Deserialize)]
pub struct LinkSpec {
    /// Unique name; it also names the link's random streams and breaks ties.
    pub name: String,
    /// Bit/s.
    pub rate_bps: u64,
    /// Propagation delay, ps.
    pub delay_ps: u64,
    /// What is lost before the queue.
    #[serde(default)]
    pub loss: LossSpec,
    /// What waits, and what is dropped.
    pub queue: QueueSpec,
    /// Whether it is sampled into the `links` table.
    #[serde(default)]
    pub record: bool,
    /// What it does besides, if anything.
    #[serde(default)]
    pub impairments: Option<Box<Impairments>>,
}

impl LinkSpec {
    /// The shortest propagation delay that it ever has, ps.
    #[must_use]
    pub fn shortest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).min().unwrap_or(self.delay_ps)
    }

    /// The longest propagation delay that it ever has, ps.
    #[must_use]
    pub fn longest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).max().unwrap_or(self.delay_ps)
    }

    /// The fastest that it ever is, bit/s.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.impairments.as_ref().map_or(self.rate_bps, |i| i.fastest_bps(self.rate_bps))
    }
}

/// Losses that the queue has no part in; they hit data packets and ACKs alike, whichever the link carries.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LossSpec {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet independently.
    Bernoulli {
        /// Probability.
        p: f64,
    },
    /// In bursts (Gilbert 1960, Elliott 1963): the link is in a good or in a bad state, changes before each packet, and loses it
    /// with the probability of the state that it is in. In which it begins is drawn in proportion to the time in each.
    GilbertElliott {
        /// From the good state to the bad one.
        to_bad: f64,
        /// From the bad state to the good one.
        to_good: f64,
        /// Loss in the good state.
        in_good: f64,
        /// Loss in the bad state.
        in_bad: f64,
    },
    /// Exactly these packets.
    List {
        /// Positions in the order of arrival at the link, the first packet being 0.
        packets: Vec<u64>,
    },
}

/// A flow.
#[derive(Clone, Debug, Deserialize)]
pub struct FlowSpec {
    /// Unique name; it also names the flow's random streams and breaks ties.
    pub name: String,
    /// `name` or `name:preset`.
    pub algorithm: String,
    /// Digest of the source of an algorithm that is none of ours; whoever runs the spec has to bring it.
    #[serde(default)]
    pub source_sha256: Option<String>,
    /// The algorithm's parameters where they differ from the preset.
    #[serde(default)]
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// First segment, ps.
    pub start_ps: u64,
    /// No new data after this, ps.
    #[serde(default)]
    pub stop_ps: Option<u64>,
    /// Length of the transfer; unlimited where absent.
    #[serde(default)]
    pub size_segments: Option<u64>,
    /// An application that hands its data over bit by bit; where absent, all is there at the start.
    #[serde(default)]
    pub application: Option<ApplicationSpec>,
    /// The application's segments are datagrams: each leaves at once, nothing acknowledges or repeats it, and the algorithm is
    /// not asked.
    #[serde(default)]
    pub datagrams: bool,
    /// Links that data crosses.
    pub path: Vec<usize>,
    /// Links that ACKs cross.
    pub reverse_path: Vec<usize>,
    /// The endpoints.
    pub stack: StackSpec,
    /// How much longer than in truth the algorithm believes the shortest round trip to be, ps.
    #[serde(default)]
    pub base_rtt_error_ps: i64,
    /// The sender's clock, which its time stamps show.
    #[serde(default)]
    pub sender_clock: ClockSpec,
    /// The receiver's clock.
    #[serde(default)]
    pub receiver_clock: ClockSpec,
}

impl FlowSpec {
    /// Whether it is a flow of UDT, which has endpoints of its own.
    #[must_use]
    pub fn is_udt(&self) -> bool {
        self.source_sha256.is_none() && self.algorithm.split(':').next() == Some("udt")
    }

    /// Sizes of its smallest and its largest packet, those with data and those that answer them, bytes.
    #[must_use]
    pub fn packet_sizes(&self) -> [(u64, u64); 2] {
        let stack = &self.stack;
        let data = u64::from(stack.payload_bytes + stack.header_bytes);
        if self.is_udt() {
            // ACK2s go the way of data, and a NAK is at most as large as a full packet; or has two words.
            let widest = data.max(u64::from(udt::ACK_BYTES));
            return [(u64::from(udt::HEADER_BYTES), data), (u64::from(udt::LIGHT_ACK_BYTES), widest)];
        }
        let ack = u64::from(stack.ack_bytes);
        [(data, data), (ack, ack + 3 * u64::from(stack.sack_block_bytes))]
    }

    /// No packet of it is smaller, bytes.
    #[must_use]
    pub fn smallest_bytes(&self) -> u64 {
        u64::from(if self.is_udt() { udt::HEADER_BYTES } else { self.stack.ack_bytes.min(self.stack.payload_bytes) })
    }
}

/// A source of TCP transfers.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceSpec {
    /// What every transfer of the source has in common: name, algorithm, stack, paths, and the times between which transfers
    /// begin. It has no size, application or clocks.
    pub flow: FlowSpec,
    /// When transfers begin.
    pub arrivals: ArrivalsSpec,
    /// How large they are; a list brings its own.
    #[serde(default)]
    pub sizes: Option<SizeSpec>,
    /// Their propagation delays there and back; that of the path where absent. What is more than the path's is put behind the
    /// last link of the ACKs; the path's own is the least.
    #[serde(default)]
    pub rtts: Option<RttSpec>,
}

/// When transfers begin.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArrivalsSpec {
    /// A Poisson process.
    Poisson {
        /// Transfers/s.
        per_second: f64,
    },
    /// A Poisson process whose number of transfers is such that the drawn sizes add up to a load.
    Load {
        /// Bit/s on the wire, without ACKs and retransmissions.
        bps: u64,
    },
    /// Users: each thinks, fetches something, thinks again.
    Users {
        /// How many.
        users: u32,
        /// Distribution of the times from the end of a transfer to the beginning of the next.
        think: DurationSpec,
    },
    /// These.
    List {
        /// When, from the source's start on; not decreasing, ps.
        starts_ps: Vec<u64>,
        /// How large, bytes of user data.
        sizes_bytes: Vec<u64>,
        /// There and back, ps; none, or one for each.
        #[serde(default)]
        rtts_ps: Vec<u64>,
    },
}

/// When an application has a segment to send.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct ApplicationSpec {
    /// Bit/s while it is on: of user data, or of what is on the wire where the segments are datagrams.
    pub rate_bps: u64,
    /// Segments come as a Poisson process, and not at equal distances.
    #[serde(default)]
    pub poisson: bool,
    /// Segments come in frames, as those of a video, and not at equal distances.
    #[serde(default)]
    pub frames: Option<FramesSpec>,
    /// Distributions of its times on and off; always on where absent.
    #[serde(default)]
    pub bursts: Option<(DurationSpec, DurationSpec)>,
}

/// Frames of random size at equal distances: a variable bit rate.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct FramesSpec {
    /// Their distance, ps; on average a frame holds what the rate gives in that time.
    pub interval_ps: u64,
    /// Shape of the Weibull distribution of their sizes: P(X > x) = exp(−(x / scale)^shape).
    pub shape: f64,
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

/// Whole seconds in ps.
const fn ps_of(seconds: u64) -> u64 {
    seconds * Time::SECOND.0
}

/// Segments that one flow may have outstanding: as many as SACK's scoreboard and the largest receive window allow.
pub const MOST_IN_FLIGHT: u32 = 1 << 28;

/// Hosts keep no shorter time than this: below it, timers only burn processor time.
pub const SHORTEST_TIMER_PS: u64 = Time::MILLISECOND.0 / 1000;

/// A retransmission timer whose backoff stops earlier would fire hundreds of times a second on a path that is down; RFC 6298
/// section 2.5 has 60 s, Linux 1 s at least.
const SHORTEST_MAX_RTO_PS: u64 = 10 * Time::MILLISECOND.0;

/// Segments that one flow may send: their numbers are 32 bits wide, with room for a window above.
pub const MOST_SEGMENTS: u32 = u32::MAX - (1 << 29);

/// Transfers that one source may have.
pub const MOST_TRANSFERS: u32 = 20_000_000;

/// A spec that cannot be run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {message}")]
pub struct SpecError {
    /// Where in the spec.
    pub path: String,
    /// What is wrong with it, what is allowed.
    pub message: String,
}

impl SpecError {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl Spec {
    /// Reads the canonical JSON.
    ///
    /// # Errors
    /// JSON that is not a spec, or a spec that [`Spec::validate`] refuses.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text).map_err(|e| SpecError::new("spec", e.to_string()))?;
        spec.validate()?;
        Ok(spec)
    }

    /// The flows, and what the transfers of each source have in common.
    pub fn all_flows(&self) -> impl Iterator<Item = &FlowSpec> {
        self.flows.iter().chain(self.traffic.iter().map(|source| &source.flow))
    }

    /// Refuses what has no physical sense.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        let check =
            |ok: bool, path: String, message: &str| if ok { Ok(()) } else { Err(SpecError::new(path, message)) };
        check(self.duration_ps > 0, "duration_ps".into(), "must be above 0")?;
        check(self.duration_ps < 1 << 62, "duration_ps".into(), "must be below 53 days")?;
        check(
            self.measure.from_ps < self.measure.to_ps && self.measure.to_ps <= self.duration_ps,
            "measure".into(),
            "must be a window inside the run",
        )?;
        let events = self.events.as_ref();
        check(
            events.is_none_or(|e| e.from_ps < e.to_ps.unwrap_or(self.duration_ps) && e.from_ps < self.duration_ps),
            "events".into(),
            "must be a window inside the run",
        )?;
        let something = !self.flows.is_empty() || !self.traffic.is_empty();
        check(something, "flows".into(), "needs at least one flow, or a source of transfers")?;
        for (i, link) in self.links.iter().enumerate() {
            check(link.rate_bps >= 8, format!("links[{i}].rate_bps"), "must be at least 8 bit/s")?;
            let (limit_packets, limit_bytes) = link.queue.limits();
            check(
                limit_packets != Some(0),
                format!("links[{i}].queue.limit_packets"),
                "must hold at least one packet",
            )?;
            check(limit_bytes != Some(0), format!("links[{i}].queue.limit_bytes"), "must hold at least one packet")?;
            if let QueueSpec::Threshold { mark_packets: None, mark_bytes: None, .. } = link.queue {
                check(false, format!("links[{i}].queue.mark_packets"), "needs a threshold in packets or bytes")?;
            }
            if let QueueSpec::Vcp { t_rho_ps, t_q_ps, .. } = link.queue {
                let often = ps_of(1) / 10_000;
                check(t_rho_ps >= often, format!("links[{i}].queue.t_rho_ps"), "must be at least 0.1 ms")?;
                check(t_q_ps >= often, format!("links[{i}].queue.t_q_ps"), "must be at least 0.1 ms")?;
            }
            if let QueueSpec::Pie { update_ps, .. } | QueueSpec::DualPi2 { update_ps, .. } = link.queue {
                let often = ps_of(1) / 10_000;
                check(update_ps >= often, format!("links[{i}].queue.update_ps"), "must be at least 0.1 ms")?;
            }
            if let LossSpec::Bernoulli { p } = link.loss {
                check((0.0..1.0).contains(&p), format!("links[{i}].loss.p"), "must be in [0, 1)")?;
            }
            if let LossSpec::GilbertElliott { to_bad, to_good, in_good, in_bad } = link.loss {
                let shares = [to_bad, to_good, in_good, in_bad].iter().all(|p| (0.0..=1.0).contains(p));
                check(shares, format!("links[{i}].loss"), "has probabilities in [0, 1]")?;
                check(to_bad > 0.0 && to_good > 0.0, format!("links[{i}].loss"), "must change its state both ways")?;
                check(in_good < 1.0, format!("links[{i}].loss.in_good"), "must let packets through")?;
            }
            if let Some(impairments) = &link.impairments {
                let path = format!("links[{i}].impairments");
                impairments.validate(&path)?;
                // A packet may leave at the instant at which it came; without a delay, time would not advance.
                let advances = impairments.rate_trace_ms.is_empty() || link.shortest_ps() > 0;
                check(advances, format!("{path}.rate_trace_ms"), "needs a delay of the link above 0")?;
            }
        }
        for (i, flow) in self.flows.iter().enumerate() {
            self.validate_flow(&format!("flows[{i}]"), flow)?;
        }
        for (i, source) in self.traffic.iter().enumerate() {
            self.validate_source(i, source)?;
        }
        Ok(())
    }

    fn validate_source(&self, i: usize, source: &SourceSpec) -> Result<(), SpecError> {
        let check = |ok: bool, field: &str, message: &str| {
            if ok { Ok(()) } else { Err(SpecError::new(format!("traffic[{i}].{field}"), message)) }
        };
        // The least size stands for all: that of a transfer is drawn, and cannot be too large.
        let one = FlowSpec { size_segments: Some(1), ..source.flow.clone() };
        self.validate_flow(&format!("traffic[{i}]"), &one)?;
        let flow = &source.flow;
        check(!flow.is_udt(), "algorithm", "has endpoints of its own; transfers that come and go are those of TCP")?;
        let plain = flow.size_segments.is_none() && flow.application.is_none() && !flow.datagrams;
        check(plain && flow.source_sha256.is_none(), "flow", "is a plain TCP flow with an algorithm of ours")?;
        check(flow.start_ps < self.duration_ps, "start_ps", "must be before the end of the run")?;
        match &source.arrivals {
            ArrivalsSpec::Poisson { per_second } => {
                check(*per_second > 0.0 && per_second.is_finite(), "arrivals.per_second", "must be above 0")?;
                let many = per_second * (self.duration_ps as f64 * 1e-12);
                check(many < f64::from(MOST_TRANSFERS), "arrivals.per_second", "gives more than 20 million transfers")?;
            }
            ArrivalsSpec::Load { bps } => check(*bps > 0, "arrivals.bps", "must be above 0")?,
            ArrivalsSpec::Users { users, think } => {
                check((1..=MOST_TRANSFERS).contains(users), "arrivals.users", "are from 1 to 20 million")?;
                check(think.problem().is_none(), "arrivals.think", think.problem().unwrap_or_default())?;
            }
            ArrivalsSpec::List { starts_ps, sizes_bytes, rtts_ps } => {
                let n = starts_ps.len();
                check(
                    (1..=MOST_TRANSFERS as usize).contains(&n),
                    "arrivals.starts_ps",
                    "has 1 to 20 million transfers",
                )?;
                check(starts_ps.is_sorted(), "arrivals.starts_ps", "must not decrease")?;
                check(sizes_bytes.len() == n, "arrivals.sizes_bytes", "needs one for each start")?;
                check(!sizes_bytes.contains(&0), "arrivals.sizes_bytes", "must be at least 1 byte")?;
                check(
                    rtts_ps.is_empty() || rtts_ps.len() == n,
                    "arrivals.rtts_ps",
                    "needs one for each start, or none",
                )?;
                check(rtts_ps.iter().all(|&r| r <= ps_of(3600)), "arrivals.rtts_ps", "is at most an hour")?;
            }
        }
        let listed = matches!(source.arrivals, ArrivalsSpec::List { .. });
        check(source.sizes.is_some() != listed, "sizes", "must be given, unless the arrivals are a list")?;
        check(source.rtts.is_none() || !listed, "rtts", "are in the list")?;
        for problem in
            [source.sizes.as_ref().and_then(SizeSpec::problem), source.rtts.as_ref().and_then(RttSpec::problem)]
        {
            check(problem.is_none(), "sizes", problem.unwrap_or_default())?;
        }
        Ok(())
    }

    fn validate_flow(&self, place: &str, flow: &FlowSpec) -> Result<(), SpecError> {
        let check = |ok: bool, field: &str, message: &str| {
            if ok { Ok(()) } else { Err(SpecError::new(format!("{place}.{field}"), message)) }
        };
        for (field, path) in [("path", &flow.path), ("reverse_path", &flow.reverse_path)] {
            check(!path.is_empty() && path.len() < 250, field, "must name 1 to 249 links")?;
            check(path.iter().all(|&l| l < self.links.len()), field, "names a link that does not exist")?;
            let mut sorted = path.clone();
            sorted.sort_unstable();
            sorted.dedup();
            check(sorted.len() == path.len(), field, "crosses a link twice")?;
        }
        let stack = &flow.stack;
        check(stack.payload_bytes > 0, "stack.payload_bytes", "must be above 0")?;
        check(
            stack.payload_bytes + stack.header_bytes <= 65_535,
            "stack.payload_bytes",
            "a segment is at most 65535 bytes",
        )?;
        check(stack.ack_bytes > 0, "stack.ack_bytes", "must be above 0")?;
        check(
            stack.ack_bytes + 3 * stack.sack_block_bytes <= 65_535,
            "stack.ack_bytes",
            "an ACK is at most 65535 bytes",
        )?;
        let windows = 1..=MOST_IN_FLIGHT;
        check(windows.contains(&stack.initial_window), "stack.initial_window", "must be from 1 to 2^28 segments")?;
        check(stack.receive_window != Some(0), "stack.receive_window", "must be at least 1 segment")?;
        check(stack.receive_window.unwrap_or(1) <= MOST_IN_FLIGHT, "stack.receive_window", "is at most 2^28 segments")?;
        check(stack.dup_threshold > 0, "stack.dup_threshold", "must be at least 1 segment")?;
        check(stack.ack_every > 0, "stack.ack_every", "must be at least 1 segment")?;
        check(
            stack.ack_every == 1 || stack.delayed_ack_ps >= SHORTEST_TIMER_PS,
            "stack.delayed_ack_ps",
            "must be at least 1 us where ACKs are delayed",
        )?;
        check(stack.min_rto_ps >= SHORTEST_TIMER_PS, "stack.min_rto_ps", "must be at least 1 us")?;
        check(stack.initial_rto_ps >= SHORTEST_TIMER_PS, "stack.initial_rto_ps", "must be at least 1 us")?;
        check(stack.max_rto_ps >= SHORTEST_MAX_RTO_PS, "stack.max_rto_ps", "must be at least 10 ms")?;
        check(stack.min_rto_ps <= stack.max_rto_ps, "stack.min_rto_ps", "must be at most max_rto_ps")?;
        for (field, clock) in [("sender_clock", flow.sender_clock), ("receiver_clock", flow.receiver_clock)] {
            check(clock.offset_ps.unsigned_abs() <= ps_of(86_400), field, "is at most a day off")?;
            check(clock.drift_ppb.unsigned_abs() <= 10_000_000, field, "drifts by at most 1 %")?;
            check(clock.resolution_ps <= ps_of(1), field, "ticks at least once a second")?;
        }
        let links = || flow.path.iter().chain(&flow.reverse_path).map(|&l| &self.links[l]);
        let longest_ps = links().map(LinkSpec::longest_ps).fold(0, u64::saturating_add);
        check(
            longest_ps < 1 << 61,
            "path",
            "and the way back take 26 days or more; the limit on a round trip is 26 days",
        )?;
        let round_trip_ps: u64 = links().map(LinkSpec::shortest_ps).sum();
        check(flow.base_rtt_error_ps <= ps_of(3600) as i64, "base_rtt_error_ps", "is at most an hour")?;
        check(
            flow.base_rtt_error_ps.saturating_add_unsigned(round_trip_ps) > 0 || flow.base_rtt_error_ps == 0,
            "base_rtt_error_ps",
            "must leave something of the round trip",
        )?;
        check(stack.host_ack_ps.max(stack.host_scan_ps) <= ps_of(1), "stack.host_ack_ps", "is at most a second")?;
        check((1..=1_000_000).contains(&stack.hz), "stack.hz", "is from 1 to 1000000 a second")?;
        check(flow.size_segments != Some(0), "size_segments", "must be at least 1 segment")?;
        check(flow.size_segments.unwrap_or(1) < 1 << 31, "size_segments", "must be below 2^31 segments")?;
        check(!flow.datagrams || flow.application.is_some(), "application", "must say when the datagrams come")?;
        if let Some(application) = &flow.application {
            check(application.rate_bps > 0, "application.rate_bps", "must be above 0")?;
            let bits = 8.0 * f64::from(stack.payload_bytes);
            // The first frame comes at once, however long the interval.
            let frame_ps = application.frames.map_or(0, |frames| frames.interval_ps);
            let most = application.rate_bps as f64 * (self.duration_ps.max(frame_ps) as f64 * 1e-12) / bits;
            if let Some(FramesSpec { interval_ps, shape }) = application.frames {
                check(!application.poisson, "application.frames", "and a Poisson process exclude each other")?;
                check((0.1..=100.0).contains(&shape), "application.frames.shape", "must be from 0.1 to 100")?;
                let interval_fits = (SHORTEST_TIMER_PS..=ps_of(3600)).contains(&interval_ps);
                check(interval_fits, "application.frames.interval_ps", "must be from 1 us to an hour")?;
                let mean_bits = application.rate_bps as f64 * (interval_ps as f64 * 1e-12);
                check(mean_bits >= 8.0, "application.frames", "must hold a byte on average")?;
            }
            let few = 2.0 * most < f64::from(MOST_SEGMENTS);
            check(few, "application.rate_bps", "could give more than 1.8 billion segments in this run")?;
            for times in application.bursts.iter().flat_map(|&(on, off)| [on, off]) {
                check(times.problem().is_none(), "application.bursts", times.problem().unwrap_or_default())?;
            }
        }
        if flow.is_udt() {
            self.validate_udt(place, flow)?;
        }
        let slowest_bps = flow.path.iter().map(|&l| self.links[l].fastest_bps()).min().unwrap_or(0);
        let wire_bits = 8.0 * f64::from(stack.payload_bytes + stack.header_bytes);
        let most = slowest_bps as f64 * (self.duration_ps as f64 * 1e-12) / wire_bits;
        check(
            flow.size_segments.is_some() || most < f64::from(MOST_SEGMENTS),
            "path",
            "could carry more than 3.7 billion segments in this run; shorten it or enlarge the segments",
        )?;
        check(flow.stop_ps.is_none_or(|stop| stop > flow.start_ps), "stop_ps", "must be after the start")
    }

    /// Refuses what only TCP has.
    fn validate_udt(&self, place: &str, flow: &FlowSpec) -> Result<(), SpecError> {
        let check = |ok: bool, field: &str, message: &str| {
            if ok { Ok(()) } else { Err(SpecError::new(format!("{place}.{field}"), message)) }
        };
        let stack = &flow.stack;
        check(self.events.is_none(), "algorithm", "is UDT, whose packets have no event log; leave events out")?;
        check(!flow.datagrams, "datagrams", "are not UDT's, which brings its own")?;
        check(stack.header_bytes == udt::HEADER_BYTES, "stack.header_bytes", "are 44 with UDT")?;
        check(stack.payload_bytes >= 24, "stack.payload_bytes", "must be at least 24 with UDT, as much as in an ACK")?;
        check(!stack.ecn && !stack.pacing, "stack", "has no meaning for UDT, but for the sizes of packets")?;
        let (sender, receiver) = (flow.sender_clock, flow.receiver_clock);
        let true_clocks = sender == ClockSpec::default() && receiver == ClockSpec::default();
        check(true_clocks, "sender_clock", "has no meaning for UDT, which compares no clocks")?;
        check(flow.base_rtt_error_ps == 0, "base_rtt_error_ps", "has no meaning for UDT, which knows no base RTT")
    }
}
