//! The parts of the TCP sender.

use std::sync::Arc;

use elephan_cc::estimators::{DeliverySampler, RoundCounter, SegmentRing, WindowUse};
use elephan_cc::{Algorithm, Controller, Needs, Router};

use super::host::Host;
use super::log::{Logged, SenderLog};
use super::marks::Marks;
use super::opening::Opening;
use super::repair::{Past, Repair};
use super::shortcut::Shortcut;
use super::timer::Timers;
use super::trains::Trains;
use crate::application::Application;
use crate::endpoint::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use crate::endpoint::departures::Departures;
use crate::endpoint::linux::announced::Announced;
use crate::endpoint::linux::dsack::Reports;
use crate::endpoint::linux::jiffies::Interrupts;
use crate::endpoint::linux::pacing::Pace;
use crate::endpoint::linux::rack::Rack;
use crate::endpoint::linux::rules::HostRules;
use crate::endpoint::linux::send_buffer::SendBuffer;
use crate::endpoint::linux::timestamps::TimestampEcho;
use crate::endpoint::linux::tlp::Outstanding;
use crate::endpoint::rtt::Rtt;
use crate::endpoint::scoreboard::{Parts, Scoreboard};
use crate::endpoint::statistics::SenderStatistics;
use crate::events::Log;
use crate::packet::{FlowId, Packet, flag};
use crate::prefetch;
use crate::random::Name;
use crate::record::{Sampled, SenderRecord, SenderSample, SenderTotals, Sending};
use crate::sidecar::Sidecar;
use crate::spec::{EventsSpec, FlowSpec, Handshake, MOST_SEGMENTS, Spec, StackSpec};
use crate::time::Time;

/// The sending end of a flow. A copy needs an algorithm that can be copied ([`Sender::can_be_copied`]).
#[derive(Clone, Debug)]
pub struct Sender {
    pub(in crate::endpoint) flow: FlowId,
    pub(in crate::endpoint) algorithm: Controller,
    pub(in crate::endpoint) needs: Needs,
    pub(in crate::endpoint) algorithm_seed: u64,
    pub(in crate::endpoint) stack: Arc<StackSpec>,
    pub(in crate::endpoint) rules: HostRules,
    pub(in crate::endpoint) clock: Interrupts,
    /// Time of the current event.
    pub(in crate::endpoint) now: Time,
    pub(in crate::endpoint) timers: Timers,
    pub(in crate::endpoint) board: Scoreboard,
    /// Next new segment.
    pub(in crate::endpoint) next: u32,
    /// Segment after the last one that the application has handed over.
    pub(in crate::endpoint) end: u32,
    pub(in crate::endpoint) repair: Repair,
    pub(in crate::endpoint) past: Past,
    /// True while the timer of the reordering window is handled. It sends lost segments and no new data
    /// (`tcp_rack_reo_timeout`).
    pub(in crate::endpoint) by_timer: bool,
    pub(in crate::endpoint) rtt: Rtt,
    /// `Some` during an ACK whose RTT samples are those of an ACK with SACKs, or after SACKs or losses.
    pub(in crate::endpoint) parts: Option<Parts>,
    pub(in crate::endpoint) rack: Rack,
    pub(in crate::endpoint) reports: Reports,
    pub(in crate::endpoint) rounds: RoundCounter,
    pub(in crate::endpoint) window_use: WindowUse,
    pub(in crate::endpoint) pace: Pace,
    pub(in crate::endpoint) buffer: SendBuffer,
    pub(in crate::endpoint) announced: Announced,
    pub(in crate::endpoint) marks: Marks,
    pub(in crate::endpoint) timestamps: TimestampEcho,
    pub(in crate::endpoint) stats: SenderStatistics,
    /// Size of a packet, bytes.
    pub(in crate::endpoint) bytes: u16,
    pub(in crate::endpoint) max_burst: u32,
    pub(in crate::endpoint) start: Time,
    pub(in crate::endpoint) stop: Time,
    pub(in crate::endpoint) started: bool,
    /// Short path of clean ACKs.
    pub(in crate::endpoint) shortcut: Shortcut,
    /// True if [`Sender::remember`] has anything to do, and if the algorithm or a log handles each sent segment.
    pub(in crate::endpoint) remembers: bool,
    pub(in crate::endpoint) watches: bool,
    pub(in crate::endpoint) opening: Opening,
    pub(in crate::endpoint) departures: Departures,
    pub(in crate::endpoint) host: Host,
    pub(in crate::endpoint) sampler: Option<Box<DeliverySampler>>,
    /// Application that hands over the data over time.
    pub(in crate::endpoint) application: Option<Box<Application>>,
    pub(in crate::endpoint) log: Option<Box<SenderLog>>,
    /// Window at which each outstanding segment was sent, for algorithms that need it.
    pub(in crate::endpoint) sent_window: SegmentRing<f32>,
    pub(in crate::endpoint) trains: Trains,
    /// Send time of the segment that the latest ACK echoes; only with [`Needs::one_way_delay`].
    pub(in crate::endpoint) echoed: Time,
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
        let (stack, needs) = (this.stack.clone(), algorithm.needs());
        let (start, clock) = (stack.on_clock(start), Interrupts::of(&stack));
        let stats = SenderStatistics::new(flow, spec, sample_times);
        let application = Application::of_flow(spec, this, start);
        let watches = needs.sends || needs.delivery || needs.losses || needs.router == Some(Router::Xcp);
        Self {
            flow,
            algorithm_seed: Name::default().and("flow ").and(&this.name).and(" algorithm").stream(spec.seed).bits(),
            rules: HostRules::of(&stack),
            clock,
            now: Time::ZERO,
            timers: Timers::new(&stack, clock, start.min(stats.due())),
            board: Scoreboard::default(),
            next: 0,
            end: if application.is_some() { 0 } else { this.size_segments.map_or(MOST_SEGMENTS, |s| s as u32) },
            repair: Repair::Open,
            past: Past::default(),
            by_timer: false,
            rtt: Rtt::new(&stack, clock),
            parts: None,
            rack: Rack::new(&stack, clock),
            reports: Reports::default(),
            rounds: RoundCounter::default(),
            window_use: WindowUse::new(),
            pace: Pace::new(&stack, clock, needs),
            buffer: SendBuffer::new(&stack, this.send_buffer_bytes),
            announced: Announced::new(this),
            marks: Marks::new(needs, &stack),
            timestamps: TimestampEcho::default(),
            stats,
            bytes: (stack.payload_bytes + stack.header_bytes) as u16,
            max_burst: stack.max_burst.unwrap_or(u32::MAX),
            start,
            stop: this.stop_ps.map_or(Time::NEVER, Time),
            started: false,
            shortcut: Shortcut::None,
            remembers: needs.window_at_send || watches || spec.send_jitter_ps > 0,
            watches,
            opening: Opening::new(this, needs, start),
            departures: Departures::new(spec.seed, &this.name, spec.send_jitter_ps),
            host: Host::new(this),
            sampler: (needs.delivery || needs.losses).then(|| Box::new(DeliverySampler::new(needs.hz))),
            application,
            log: None,
            sent_window: SegmentRing::new(),
            trains: Trains::default(),
            echoed: Time::ZERO,
            needs,
            algorithm,
            stack,
        }
    }

    /// The timers, and what they depend on.
    #[inline(always)]
    pub(in crate::endpoint) fn timers(&mut self) -> (&mut Timers, Outstanding<'_>) {
        let may_probe = self.board.is_clean() || self.repair.is_cwr();
        let (una, next) = (self.board.una(), self.next);
        (&mut self.timers, Outstanding { una, next, may_probe, rtt: &self.rtt, rack: &self.rack })
    }

    /// Time of the host's clock in s, which the algorithm sees: the clock of a host with timer interrupts begins at an
    /// interrupt.
    pub(in crate::endpoint) fn host_seconds(&self, now: Time) -> f64 {
        self.clock.seconds(now)
    }

    /// True if no segment must be counted or repaired, so that fast paths apply.
    pub(in crate::endpoint) fn is_plain_sailing(&self) -> bool {
        self.repair.is_open() && self.board.is_clean()
    }

    /// Takes the handshake over the empty path, if the stack makes one, and the `shortest` one, if the path is steady. A sender
    /// whose routers report to it makes none, and takes this RTT as its first sample.
    pub(crate) fn note_handshake(&mut self, handshake: Option<Handshake>, shortest: Option<Handshake>) {
        let Some(handshake) = handshake else { return };
        if self.stack.counts_ns() && self.needs.router.is_none() {
            let shortest = shortest.filter(|_| !self.stack.reads_at_once);
            let least = shortest.map_or(Time::ZERO, |shortest| shortest.receivers_rtt);
            self.timestamps = TimestampEcho::new(least, self.stack.phase);
        }
        if !self.opening.is_needed() {
            self.rtt.on_handshake(handshake.rtt);
        }
    }

    /// True if the sender's algorithm can be copied.
    pub(crate) fn can_be_copied(&self) -> bool {
        self.algorithm.try_clone().is_some()
    }

    /// The sender's algorithm.
    pub(crate) fn algorithm(&mut self) -> &mut Controller {
        &mut self.algorithm
    }

    /// Size of the sender's packets, bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u16 {
        self.bytes
    }

    /// Takes over the memory of a sender that has ended, so that thousands of short transfers need not allocate it.
    pub fn inherit(&mut self, old: &mut Self) {
        self.board.inherit(&mut old.board);
        self.rack.inherit(&mut old.rack);
    }

    /// Prefetches one half of the sender's struct; `part` is 0 or 1.
    pub fn fetch_part(&self, part: usize) {
        prefetch::part(self, part * size_of::<Self>() / 2, size_of::<Self>() / 2);
    }

    /// Prefetches the data behind the sender's pointers, for the sender's next turn.
    #[inline(always)]
    pub fn fetch_behind(&self) {
        for segment in [self.board.una(), self.next] {
            let (times, place) = self.rack.place(segment);
            prefetch::element(times, place);
        }
    }

    /// Takes the samples due by `now`.
    pub(super) fn sample_until(&mut self, now: Time) {
        let Self { stats, algorithm, rtt, board, .. } = self;
        let (started, next) = (self.started, self.next);
        stats.sample_until(now, |stats| {
            if started {
                stats.sample_internals(algorithm);
            }
            SenderSample {
                cwnd: stats.cwnd,
                ssthresh: if started { algorithm.ssthresh() } else { f64::INFINITY },
                srtt: if rtt.srtt() > 0.0 { rtt.srtt() } else { f64::NAN },
                rtt: rtt.latest().map_or(f64::NAN, Time::seconds),
                in_flight: board.in_flight(next),
                timeouts: stats.totals.timeouts as u32,
                ecn_events: stats.totals.ecn_events as u32,
                retransmits: stats.totals.retransmits,
                loss_events: stats.totals.loss_events,
            }
        });
    }

    /// Starts a log.
    pub(crate) fn keep_log(&mut self, spec: &EventsSpec) {
        self.log = Some(Box::new(SenderLog::new(spec)));
        (self.remembers, self.watches) = (true, true);
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.len())
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        self.log.take().map(|log| log.into_log())
    }

    /// State that the log has beside an event.
    pub(super) fn state_of_log(&self) -> Logged {
        let srtt = if self.rtt.srtt() > 0.0 { self.rtt.srtt() as f32 } else { f32::NAN };
        Logged { cwnd: self.stats.cwnd as f32, in_flight: self.board.in_flight(self.next), srtt }
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
    fn timer(&self) -> Time {
        self.timers.next()
    }

    fn packets(&self) -> PacketCounts {
        let Self { opening, stats, .. } = self;
        PacketCounts { sent: stats.totals.sent + opening.sent(), received: stats.totals.acks + opening.answers() }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for Sender {
    fn on_timer(&mut self, out: &mut O) {
        if self.timers.is_only_paced(self.pace.wake()) {
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
        if packet.is_train() {
            return self.on_train(packet, out);
        }
        if packet.flags() & flag::BESIDE != 0 && self.trains.has_waiting() {
            self.end_wait_of_train(packet.at, out);
        }
        self.on_ack(packet, out);
    }

    fn log_arrivals(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        if let Some(log) = &mut self.log {
            log.on_acks(packets, beside);
        }
    }

    fn log_settled(&mut self) {
        let state = self.state_of_log();
        if let Some(log) = &mut self.log {
            log.settle(state);
        }
    }
}
