//! The parts of the TCP sender.

use std::sync::Arc;

use elephan_cc::estimators::{DeliverySampler, MinRtt, RoundCounter, SegmentRing, WindowUse};
use elephan_cc::{Algorithm, Controller, Needs, Router};

use super::announced::Announced;
use super::bursts::Bursts;
use super::host::Host;
use super::log::SenderLog;
use super::marks::Marks;
use super::opening::Opening;
use super::pace::Pace;
use super::rack::Rack;
use super::repair::Repair;
use super::reports::Reports;
use super::timer::RetransmissionTimer;
use super::timestamps::TimestampEcho;
use crate::application::Application;
use crate::endpoint::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use crate::endpoint::departures::Departures;
use crate::endpoint::jiffies::Interrupts;
use crate::endpoint::rto::Rto;
use crate::endpoint::rules::HostRules;
use crate::endpoint::scoreboard::{Parts, Scoreboard};
use crate::endpoint::statistics::SenderStatistics;
use crate::packet::{FlowId, Packet};
use crate::random::Name;
use crate::record::{Sampled, SenderRecord, SenderTotals, Sending};
use crate::sidecar::Sidecar;
use crate::spec::{FlowSpec, Handshake, HostRule, MOST_SEGMENTS, Spec, StackSpec};
use crate::time::Time;

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sender {
    pub(super) flow: FlowId,
    pub(super) algorithm: Controller,
    pub(super) needs: Needs,
    pub(super) algorithm_seed: u64,
    pub(super) board: Scoreboard,
    pub(super) next: u32,
    pub(super) rto: Rto,
    pub(super) timer: Time,
    /// Lower bound of the next time at which a timer other than pacing is due.
    pub(super) quiet_until: Time,
    pub(super) now: Time,
    pub(super) min_rtt: MinRtt,
    pub(super) latest_rtt: Option<Time>,
    /// `Some` during an ACK whose RTT samples are those of an ACK with SACKs, or after SACKs or losses.
    pub(super) parts: Option<Parts>,
    pub(super) rounds: RoundCounter,
    pub(super) window_use: WindowUse,
    pub(super) bytes: u16,
    pub(super) receive_window: u32,
    pub(super) announced: Announced,
    pub(super) end: u32,
    pub(super) max_burst: u32,
    /// The timed segment and its send time, if one segment is timed at a time.
    pub(super) timed: Option<(u32, Time)>,
    /// Window at which each outstanding segment was sent, for algorithms that need it.
    pub(super) sent_window: SegmentRing<f32>,
    pub(super) start: Time,
    pub(super) stop: Time,
    pub(super) started: bool,
    pub(super) opening: Opening,
    /// True if [`Sender::remember`] has anything to do.
    pub(super) remembers: bool,
    pub(super) rules: HostRules,
    /// True if clean ACKs take the short path.
    pub(super) plain: bool,
    /// True if the algorithm or a log handles each sent segment.
    pub(super) watches: bool,
    pub(super) log: Option<Box<SenderLog>>,
    pub(super) sampler: Option<Box<DeliverySampler>>,
    pub(super) marks: Marks,
    pub(super) pace: Pace,
    pub(super) bursts: Bursts,
    /// Application that hands over the data over time.
    pub(super) application: Option<Box<Application>>,
    pub(super) departures: Departures,
    pub(super) stack: Arc<StackSpec>,
    pub(super) repair: Repair,
    pub(super) reports: Reports,
    pub(super) timeout: RetransmissionTimer,
    pub(super) rack: Rack,
    pub(super) timestamps: TimestampEcho,
    /// Send time of the segment that the latest ACK echoes; only with [`Needs::one_way_delay`].
    pub(super) echoed: Time,
    pub(super) host: Host,
    pub(super) stats: SenderStatistics,
}

/// The estimator of a stack's retransmission timeout.
fn timeout_of(stack: &StackSpec) -> Rto {
    let [initial, least, most, granularity] =
        [stack.initial_rto_ps, stack.min_rto_ps, stack.max_rto_ps, stack.rto_granularity_ps].map(Time);
    let rto = Rto::new(initial, least, most, granularity);
    if stack.has(HostRule::Timeout) { rto.of_linux(Interrupts::of(stack).jiffy) } else { rto }
}

impl Sender {
    /// A sender that starts at `start`.
    #[must_use]
    pub fn new(
        flow: FlowId,
        spec: &Spec,
        this: &FlowSpec,
        start: Time,
        algorithm: Controller,
        sample_times: &Arc<[Time]>,
    ) -> Self {
        let stack = this.stack.clone();
        let start = stack.on_clock(start);
        let bytes = (stack.payload_bytes + stack.header_bytes) as u16;
        let stats = SenderStatistics::new(flow, spec, sample_times);
        let needs = algorithm.needs();
        let application = Application::of_flow(spec, this, start);
        let name = Name::default().and("flow ").and(&this.name);
        let (receive_window, announced) = Announced::new(this);
        Self {
            flow,
            board: Scoreboard::default(),
            next: 0,
            rto: timeout_of(&stack),
            timer: start.min(stats.due()),
            quiet_until: Time::ZERO,
            repair: Repair::new(),
            reports: Reports::default(),
            timeout: RetransmissionTimer::new(Time(stack.min_rto_ps.min(stack.initial_rto_ps))),
            rack: Rack::new(&stack),
            timestamps: TimestampEcho::default(),
            echoed: Time::ZERO,
            now: Time::ZERO,
            min_rtt: MinRtt::new(),
            latest_rtt: None,
            parts: None,
            rounds: RoundCounter::default(),
            window_use: WindowUse::new(),
            bytes,
            receive_window,
            announced,
            end: if application.is_some() { 0 } else { this.size_segments.map_or(MOST_SEGMENTS, |s| s as u32) },
            max_burst: stack.max_burst.unwrap_or(u32::MAX),
            timed: None,
            sent_window: SegmentRing::new(),
            start,
            stop: this.stop_ps.map_or(Time::NEVER, Time),
            started: false,
            opening: Opening::new(&stack, this.makes_handshake() && needs.router.is_none(), start),
            rules: HostRules::of(&stack),
            plain: false,
            remembers: stack.keeps_times()
                || needs.window_at_send
                || needs.delivery
                || needs.losses
                || needs.sends
                || needs.router == Some(Router::Xcp),
            watches: needs.sends || needs.delivery || needs.losses || needs.router == Some(Router::Xcp),
            log: None,
            sampler: (needs.delivery || needs.losses).then(|| Box::new(DeliverySampler::new(needs.hz))),
            marks: Marks::new(needs, stack.ecn),
            pace: Pace::new(needs.pacing || stack.pacing),
            bursts: Bursts::new(&stack, this.send_buffer_bytes),
            application,
            host: Host::new(this),
            needs,
            algorithm_seed: name.and(" algorithm").stream(spec.seed).bits(),
            departures: Departures::new(spec.seed, &this.name, spec.send_jitter_ps),
            stats,
            algorithm,
            stack,
        }
    }

    /// Time of the host's clock in s, which the algorithm sees: the clock of a host with timer interrupts begins at an
    /// interrupt.
    #[inline(always)]
    pub(super) fn host_seconds(&self, now: Time) -> f64 {
        now.later(self.stack.phase).seconds()
    }

    /// Takes the handshake over the empty path, if the stack makes one; it is the shortest if the path is steady. A sender whose routers report to it makes none,
    /// and takes this RTT as its first sample.
    pub(crate) fn note_handshake(&mut self, shortest: Option<Handshake>, is_steady: bool) {
        let Some(shortest) = shortest else { return };
        if self.stack.counts_ns() && self.needs.router.is_none() {
            let least = if is_steady && !self.stack.reads_at_once { shortest.receivers_rtt } else { Time::ZERO };
            self.timestamps = TimestampEcho::new(least, self.stack.phase);
        }
        if !self.opening.is_needed {
            self.note_rtt_of_handshake(shortest.rtt);
        }
    }

    /// Takes the RTT of the handshake as the first sample.
    pub(super) fn note_rtt_of_handshake(&mut self, rtt: Time) {
        self.rack.handshake = rtt.seconds();
        self.note_smallest_twice();
    }

    /// Returns the records that the run keeps of this end.
    #[must_use]
    pub fn into_record(self) -> SenderRecord {
        let writes = self.application.map_or_else(Vec::new, |application| application.into_writes());
        SenderRecord { writes, ..self.stats.into_record(self.start) }
    }

    /// Totals since the beginning.
    #[must_use]
    pub fn totals(&self) -> SenderTotals {
        self.stats.totals
    }

    /// Time at which the last segment of a sized transfer was acknowledged.
    #[must_use]
    #[inline]
    pub fn completed(&self) -> Option<Time> {
        self.stats.completed
    }
}

impl Sampled for Sender {
    fn sampled(&self) -> Sending<'_> {
        Sending { start: self.start, completed: self.stats.completed, samples: self.stats.samples() }
    }

    fn forget(&mut self, count: usize) {
        self.stats.forget(count);
    }
}

impl EndpointState for Sender {
    #[inline(always)]
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        let Self { opening, stats, .. } = self;
        PacketCounts {
            sent: stats.totals.sent + opening.sent(),
            received: stats.totals.acks + u64::from(opening.answers),
        }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for Sender {
    fn on_timer(&mut self, out: &mut O) {
        if self.is_only_paced() {
            self.on_pace_due(out);
        } else {
            self.on_timer_due(out);
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, out: &mut O) {
        if packet.opens().is_some() {
            return self.on_syn_ack(packet, out);
        }
        self.on_acknowledgement(packet, out);
    }

    fn log_arrivals(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        self.log_acks(packets, beside);
    }

    fn log_settled(&mut self) {
        self.settle_log();
    }
}
