//! The sender: what it keeps, its timers, and what it does with an ACK.

mod application;
mod log;
mod loss;
mod marks;
mod pacing;
mod sampler;
mod transmit;

use std::sync::Arc;

use elephan_cc::{Ack, Algorithm, Cause, Controller, Load, Needs, Router, Signal, Start};

pub(super) use self::application::of_flow as application_of;
use self::marks::Marks;
use self::pacing::Pace;
use self::sampler::Sampler;
use self::transmit::widen;
use super::recovery::{Episode, Losses};
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use crate::events::Log;
use crate::network::{Egress, End, Network};
use crate::packet::{OWD_UNIT_PS, Packet, flag};
use crate::random::{Name, Stream};
use crate::record::{Clock, RttHistogram, SenderSample};
use crate::spec::{ClockSpec, Detection, FlowSpec, MOST_IN_FLIGHT, MOST_SEGMENTS, Measure, Spec, StackSpec};
use crate::time::Time;
use crate::traffic::Application;

/// Totals of a sender since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTotals {
    /// Segments put on the wire, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Recovery episodes that began with a loss.
    pub loss_events: u64,
    /// Answers to ECN echoes that were as one to a loss (RFC 3168).
    pub ecn_events: u64,
    /// Segments acknowledged with an ECN echo.
    pub marked: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Episodes and timeouts that turned out to be spurious and were undone.
    pub undone: u64,
    /// ACKs processed.
    pub acks: u64,
}

/// Statistics inside the measurement window.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Smallest RTT, s.
    pub rtt_min: f64,
    /// Σ RTT, s.
    pub rtt_sum: f64,
    /// Samples of RTT.
    pub rtt_count: u64,
    /// ∫ cwnd dt, segments × s.
    pub cwnd_integral: f64,
    /// Largest cwnd.
    pub cwnd_max: f64,
    /// Times that the send loop ended, from the beginning of the window to the end of the run.
    pub sends: u64,
    /// Of those, because of the receive window.
    pub receiver_limited: u64,
    /// Distribution of RTT.
    pub rtt: RttHistogram,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    Recovery(Episode),
    /// After a timeout, until everything outstanding then is acknowledged.
    Loss,
}

/// What stopped the last send loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Window,
    Receiver,
    Application,
}

/// What an ACK says of the newest segment that it reports.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// Its one-way delay in units of [`OWD_UNIT_PS`].
    owd: u32,
    /// Its number.
    newest: u32,
    /// What XCP routers said of it and of those before it, bytes/s.
    feedback: f32,
}

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sender {
    flow: u32,
    algorithm: Controller,
    needs: Needs,
    algorithm_seed: u64,
    board: Scoreboard,
    next: u32,
    state: State,
    limit: Limit,
    rto: Rto,
    timer: Time,
    /// When the retransmission timer was last restarted; [`Time::NEVER`] while nothing is outstanding. When it fires is only
    /// worked out when it might.
    armed: Time,
    /// Whether a tail loss probe may still be sent since then.
    may_probe: bool,
    /// Start of the probe timeout: the last ACK or transmission of new data (RFC 8985 section 7.2).
    probe_from: Time,
    /// Whether the stack has RACK-TLP.
    rack: bool,
    now: Time,
    min_rtt: f64,
    latest_rtt: f64,
    round_end: u32,
    round_peak: u32,
    cwnd: f64,
    cwnd_since: Time,
    measuring: bool,
    bytes: u16,
    egress: Option<Egress>,
    receive_window: u32,
    end: u32,
    max_burst: u32,
    shortest_timeout: Time,
    /// Segments below were sent when the last episode or timeout began; no new episode begins before they are acknowledged.
    recover: u32,
    /// Send time of the latest delivered segment (RACK.xmit_ts).
    rack_stamp: Time,
    rack_rtt: Time,
    reordering_seen: bool,
    reorder_due: Time,
    /// Send time of each outstanding segment, kept for RACK; a ring.
    sent_at: Vec<Time>,
    /// The segment being timed, and when it was sent, where one is timed at a time.
    timed: Option<(u32, Time)>,
    /// Window at which each outstanding segment was sent, kept for algorithms that ask; a ring.
    sent_window: Vec<f32>,
    first_repair: Time,
    undo_possible: bool,
    start: Time,
    stop: Time,
    started: bool,
    last_departure: Time,
    /// Whether [`Sender::remember`] has anything to do.
    remembers: bool,
    /// Whether anybody is told of each segment that is sent.
    watches: bool,
    log: Option<Box<Log>>,
    sampler: Option<Box<Sampler>>,
    /// Retransmissions found lost by this ACK.
    lost_again: Vec<u32>,
    marks: Marks,
    pace: Pace,
    /// What hands data over bit by bit, and whether it is sent as datagrams.
    application: Option<Box<Application>>,
    datagrams: bool,
    /// The sender's clock and the receiver's, where they differ from true time and somebody looks.
    clocks: Option<Box<(ClockSpec, ClockSpec)>>,
    /// Whether the host takes time over an ACK, and until when it is busy.
    slow_host: bool,
    host_busy: Time,
    jitter: u64,
    jitter_stream: Stream,
    stack: StackSpec,
    measure: Measure,
    clock: Clock,
    /// Totals since the beginning.
    pub totals: SenderTotals,
    /// Statistics inside the measurement window.
    pub measured: Measured,
    /// One for each sample time.
    pub samples: Vec<SenderSample>,
    /// When the last segment of a sized transfer was acknowledged.
    pub completed: Option<Time>,
}

impl Sender {
    /// The sender of a flow of the scenario, which starts a little later than said.
    #[must_use]
    pub fn of_flow(
        flow: u32,
        spec: &Spec,
        this: &FlowSpec,
        algorithm: Controller,
        network: &Network,
        sample_times: &Arc<[Time]>,
    ) -> Self {
        let mut jitter = Stream::new(spec.seed, &format!("flow {} start", this.name));
        let start = Time(this.start_ps + jitter.below(spec.start_jitter_ps + 1));
        Self::new(flow, spec, this, start, algorithm, network, sample_times)
    }

    /// A sender that starts at `start`.
    #[must_use]
    pub fn new(
        flow: u32,
        spec: &Spec,
        this: &FlowSpec,
        start: Time,
        algorithm: Controller,
        network: &Network,
        sample_times: &Arc<[Time]>,
    ) -> Self {
        let stack = this.stack.clone();
        let bytes = (stack.payload_bytes + stack.header_bytes) as u16;
        let clock = Clock::new(sample_times);
        let needs = algorithm.needs();
        let application = application::of_flow(spec, this, start);
        let name = Name::default().and("flow ").and(&this.name);
        Self {
            datagrams: this.datagrams,
            flow,
            board: Scoreboard::default(),
            next: 0,
            state: State::Open,
            limit: Limit::Window,
            rto: Rto::new(
                Time(stack.initial_rto_ps),
                Time(stack.min_rto_ps),
                Time(stack.max_rto_ps),
                Time(stack.rto_granularity_ps),
            ),
            timer: start.min(clock.due()),
            armed: Time::NEVER,
            may_probe: false,
            probe_from: Time::ZERO,
            rack: stack.detection == Detection::Rack,
            now: Time::ZERO,
            min_rtt: f64::INFINITY,
            latest_rtt: f64::NAN,
            round_end: 0,
            round_peak: 0,
            cwnd: if this.datagrams { f64::NAN } else { 0.0 },
            cwnd_since: Time::ZERO,
            measuring: false,
            bytes,
            egress: network.egress(flow, bytes),
            receive_window: stack.receive_window.unwrap_or(MOST_IN_FLIGHT),
            end: if application.is_some() { 0 } else { this.size_segments.map_or(MOST_SEGMENTS, |s| s as u32) },
            max_burst: stack.max_burst.unwrap_or(u32::MAX),
            shortest_timeout: Time(stack.min_rto_ps.min(stack.initial_rto_ps)),
            recover: 0,
            rack_stamp: Time::ZERO,
            rack_rtt: Time::ZERO,
            reordering_seen: false,
            reorder_due: Time::NEVER,
            sent_at: Vec::new(),
            timed: None,
            sent_window: Vec::new(),
            first_repair: Time::NEVER,
            undo_possible: false,
            start,
            stop: this.stop_ps.map_or(Time::NEVER, Time),
            started: false,
            last_departure: Time::ZERO,
            remembers: stack.detection == Detection::Rack
                || needs.window_at_send
                || needs.delivery
                || needs.losses
                || needs.sends
                || needs.router == Some(Router::Xcp),
            watches: needs.sends || needs.delivery || needs.losses || needs.router == Some(Router::Xcp),
            log: None,
            lost_again: Vec::new(),
            sampler: (needs.delivery || needs.losses).then(Box::default),
            marks: Marks::new(needs, stack.ecn),
            pace: Pace::new(needs.pacing || stack.pacing),
            application,
            clocks: (this.sender_clock != this.receiver_clock || this.sender_clock != ClockSpec::default())
                .then(|| Box::new((this.sender_clock, this.receiver_clock))),
            slow_host: stack.host_ack_ps > 0 || stack.host_scan_ps > 0,
            host_busy: Time::ZERO,
            needs,
            algorithm_seed: name.and(" algorithm").stream(spec.seed).bits(),
            jitter: spec.send_jitter_ps,
            jitter_stream: name.and(" departures").stream(spec.seed),
            measure: spec.measure,
            clock,
            totals: SenderTotals::default(),
            measured: Measured { rtt_min: f64::INFINITY, ..Measured::default() },
            samples: Vec::new(),
            completed: None,
            algorithm,
            stack,
        }
    }

    /// A turn: everything before `horizon`. Answers whether there was anything.
    pub fn run(&mut self, horizon: Time, network: &mut Network) -> bool {
        let mut worked = false;
        let inbox = network.inbox(self.flow, End::Sender);
        loop {
            let arrival = network.head(inbox);
            if self.timer <= arrival {
                if self.timer >= horizon {
                    return worked;
                }
                self.on_timer(network);
            } else {
                if arrival >= horizon {
                    return worked;
                }
                let Some(packet) = network.take(inbox) else { return worked };
                self.on_packet(&packet, network);
            }
            worked = true;
        }
    }

    /// When it next has something to do by itself.
    #[must_use]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// When the flow really starts, jitter included.
    #[must_use]
    pub fn start(&self) -> Time {
        self.start
    }

    /// Ends the run: the samples due at its end.
    pub fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }

    // ---- timers ------------------------------------------------------------------------------------------------------

    #[cold]
    fn on_timer(&mut self, network: &mut Network) {
        let now = self.timer;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.sample_until(now);
        if !self.started && self.start <= now {
            self.begin(now, network);
        }
        if self.reorder_due <= now {
            self.reorder_due = Time::NEVER;
            self.give_up_waiting(now, network);
        }
        if self.probe_due().min(self.timeout_due()) <= now {
            if self.timeout_due() <= now { self.on_timeout(now, network) } else { self.probe_tail(now, network) }
        }
        if self.pace.is_due(now) {
            self.transmit(now, network);
        }
        if self.application_due() <= now {
            self.serve_application(now, network);
        }
        let retransmission = self.probe_due().min(self.timeout_due()).min(self.reorder_due);
        let timer = self.clock.due().min(retransmission).min(self.pace.wake()).min(self.application_due());
        let timer = if self.started { timer } else { timer.min(self.start) };
        // A timeout that has shrunk since it was armed may be overdue: it fires now, never in the past.
        self.timer = timer.max(now);
    }

    /// When the retransmission timer fires, if nothing happens before.
    fn timeout_due(&self) -> Time {
        if self.armed == Time::NEVER { Time::NEVER } else { self.armed.later(self.rto.timeout()) }
    }

    /// When a tail loss probe is due, if nothing happens before (RFC 8985 section 7.2).
    fn probe_due(&self) -> Time {
        if !self.may_probe || self.armed == Time::NEVER || !self.board.is_clean() {
            return Time::NEVER;
        }
        let delayed = if self.next - self.board.una() == 1 { self.stack.delayed_ack_ps } else { 0 };
        self.probe_from.later(Time::from_seconds(2.0 * self.rto.srtt)).later(Time(delayed))
    }

    fn begin(&mut self, now: Time, network: &mut Network) {
        self.started = true;
        if self.datagrams {
            return;
        }
        self.algorithm.on_start(&Start {
            now: now.seconds(),
            initial_window: f64::from(self.stack.initial_window),
            initial_ssthresh: self.stack.initial_ssthresh.map_or(f64::INFINITY, f64::from),
            segment_bytes: f64::from(self.stack.payload_bytes),
            hz: self.stack.hz(),
            seed: self.algorithm_seed,
        });
        self.note_window(now, self.algorithm.window());
        self.transmit(now, network);
    }

    fn sample_until(&mut self, now: Time) {
        while self.clock.due() <= now {
            let at = self.clock.due();
            self.clock.advance();
            self.settle_window(at);
            if at.0 == self.measure.from_ps {
                self.measuring = true;
                (self.measured.sends, self.measured.receiver_limited) = (0, 0);
                self.measured.cwnd_max = self.cwnd;
            }
            if at.0 == self.measure.to_ps {
                self.measuring = false;
            }
            self.samples.push(SenderSample {
                cwnd: self.cwnd,
                ssthresh: if self.started && !self.datagrams { self.algorithm.ssthresh() } else { f64::INFINITY },
                srtt: if self.rto.srtt > 0.0 { self.rto.srtt } else { f64::NAN },
                rtt: self.latest_rtt,
                in_flight: self.board.in_flight(self.next),
                retransmits: self.totals.retransmits,
                loss_events: self.totals.loss_events,
            });
        }
    }

    /// Brings ∫ cwnd dt up to `at`.
    #[inline]
    fn settle_window(&mut self, at: Time) {
        if self.measuring {
            self.measured.cwnd_integral += self.cwnd * (at - self.cwnd_since).seconds();
        }
        self.cwnd_since = at;
    }

    #[inline]
    fn note_window(&mut self, now: Time, window: f64) {
        if window != self.cwnd {
            self.settle_window(now);
            self.cwnd = window;
            if self.measuring {
                self.measured.cwnd_max = self.measured.cwnd_max.max(window);
            }
        }
    }

    fn signal(&self, now: Time, cause: Cause) -> Signal {
        Signal {
            now: now.seconds(),
            in_flight: f64::from(self.board.in_flight(self.next)),
            cause,
            srtt: self.rto.srtt,
            min_rtt: self.min_rtt,
            repeated: self.rto.is_backed_off(),
        }
    }

    /// RFC 6298 section 5: everything is lost, begin again with the lowest segment.
    fn on_timeout(&mut self, now: Time, network: &mut Network) {
        self.totals.timeouts += 1;
        let signal = self.signal(now, Cause::Loss);
        if self.stack.detection == Detection::Dupack {
            self.board.forget_sacks(self.next);
        }
        if self.needs.losses {
            self.report_all_lost(now);
        }
        self.board.mark_all_lost(self.next);
        self.algorithm.on_timeout(&signal);
        self.rto.back_off();
        self.timed = None;
        self.state = State::Loss;
        self.recover = self.next;
        self.first_repair = now;
        self.undo_possible = self.stack.undo;
        self.reorder_due = Time::NEVER;
        self.note_window(now, self.algorithm.window());
        self.arm(now);
        self.transmit(now, network);
    }

    /// Tail loss probe, RFC 8985 section 7.
    fn probe_tail(&mut self, now: Time, network: &mut Network) {
        self.arm(now);
        self.may_probe = false;
        if self.send_new(1, now, network) == 0 {
            // Not marked lost: if it was, the SACK or the timeout that follows says so.
            self.totals.retransmits += 1;
            self.emit(self.next - 1, self.marks.on_retransmission(), now, network);
        }
    }

    /// Restarts the retransmission timer. `timer` may only be early, never late: the timeout is at least `min_rto`, and two
    /// RTTs at least two minimum RTTs.
    #[inline]
    fn arm(&mut self, now: Time) {
        (self.armed, self.probe_from) = (now, now);
        let mut earliest = self.shortest_timeout;
        if self.rack {
            self.may_probe = self.rto.srtt > 0.0;
        }
        if self.may_probe {
            earliest = earliest.min(Time::from_seconds(2.0 * self.min_rtt));
        }
        self.timer = self.timer.min(now + earliest);
    }

    // ---- acknowledgements --------------------------------------------------------------------------------------------

    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, network: &mut Network) {
        let now = packet.at;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.totals.acks += 1;
        let una = self.board.una();
        let cumulative = packet.segment();
        let has_sack = packet.flags() & flag::SACK != 0;
        let mut report = Report { owd: packet.extra(), newest: cumulative.wrapping_sub(1), feedback: 0.0 };
        let mut delivered = 0;
        if self.board.is_clean() && !has_sack {
            if cumulative <= una {
                return;
            }
            delivered += cumulative - una;
            self.board.advance_clean(cumulative);
        } else {
            let entry = if has_sack { network.sacks[self.flow as usize].take(packet.extra()) } else { None };
            if let Some(entry) = entry {
                self.note_overtaken(entry.trigger);
            }
            if cumulative > una {
                delivered += self.board.advance(cumulative);
            }
            if let Some(entry) = entry {
                report = Report { owd: entry.owd, newest: entry.trigger, feedback: entry.feedback };
                delivered += self.apply_sack(&entry.blocks[..usize::from(entry.count)]);
            }
        }
        if delivered == 0 && cumulative <= una {
            return;
        }
        self.digest(packet, report, una, delivered, network);
    }

    fn apply_sack(&mut self, blocks: &[(u32, u32)]) -> u32 {
        let mut delivered = 0;
        for &(first, past) in blocks {
            if past > self.board.una() {
                delivered += self.board.sack(first, past, self.next);
            }
        }
        delivered
    }

    #[inline(always)]
    fn digest(&mut self, packet: &Packet, report: Report, una: u32, delivered: u32, network: &mut Network) {
        let now = packet.at;
        let cumulative = packet.segment();
        let rtt = if self.slow_host { self.when_host_looks(*packet) } else { now } - packet.stamp;
        let sample = rtt.seconds();
        self.latest_rtt = sample;
        self.min_rtt = self.min_rtt.min(sample);
        if !self.stack.time_one_segment {
            self.rto.sample(sample);
        } else if let Some((segment, at)) = self.timed
            && cumulative > segment
        {
            self.rto.sample((now - at).seconds());
            self.timed = None;
        }
        if self.measuring {
            self.measured.rtt_sum += sample;
            self.measured.rtt_count += 1;
            self.measured.rtt_min = self.measured.rtt_min.min(sample);
            self.measured.rtt.add(rtt);
        }
        if self.rack && packet.stamp > self.rack_stamp {
            self.rack_stamp = packet.stamp;
            self.rack_rtt = rtt;
        }
        if self.undo_possible {
            self.try_undo(now, *packet, una);
        }
        let restarted = self.leave_if_repaired(now, cumulative) && self.needs.rounds_restart;
        let round_start = !restarted && cumulative > self.round_end;
        if round_start || restarted {
            self.round_end = self.next;
            self.round_peak = 0;
        }
        let marked = if packet.flags() & flag::ECE == 0 { 0.0 } else { self.on_echo(now, cumulative, delivered) };
        if let Some(sampler) = &mut self.sampler {
            sampler.on_delivered(report.newest, delivered, now, self.min_rtt);
        }
        let losses = if self.board.is_clean() { Losses::default() } else { self.detect_on_ack(now) };
        let in_flight = self.board.in_flight(self.next);
        let recovering = matches!(self.state, State::Recovery(_));
        let ack = Ack {
            now: now.seconds(),
            acked: f64::from(delivered),
            rtt: Some(sample),
            owd: None,
            min_rtt: self.min_rtt,
            srtt: self.rto.srtt,
            delivery: None,
            in_flight: f64::from(in_flight),
            window_at_send: 0.0,
            round_start,
            // A duplicate ACK may be the beginning of a recovery, and is no reason to grow (RFC 5681 section 3.2).
            in_recovery: recovering || cumulative <= una,
            window_limited: self.was_window_limited(),
            marked,
            feedback: 0.0,
            load: None,
        };
        let window = self.algorithm.react(ack, |ack| {
            let (sampler, clocks) = (self.sampler.as_deref(), self.clocks.as_deref());
            let (needs, sent_window) = (self.needs, &self.sent_window);
            let (packet, bytes) = (*packet, f64::from(self.bytes));
            Wanted { needs, packet, bytes, report, sampler, clocks, sent_window }.complete(ack);
        });
        if let State::Recovery(episode) = &mut self.state
            && !self.needs.own_recovery
        {
            episode.on_ack(delivered, in_flight, cumulative > una, losses);
            let window = episode.window();
            self.note_window(now, f64::from(window));
        } else {
            self.note_window(now, window);
        }
        if self.board.una() == self.next {
            self.armed = Time::NEVER;
            self.all_acknowledged(now);
        } else if cumulative > una || self.stack.any_ack_restarts_timer {
            self.arm(now);
        }
        self.transmit(now, network);
    }

    /// When a slow host gets round to an ACK: after all that came before it, and after a walk over everything outstanding
    /// where the ACK carries SACK blocks. Only the samples of RTT see this, not what is sent when.
    #[cold]
    fn when_host_looks(&mut self, packet: Packet) -> Time {
        let sacks = packet.flags() & flag::SACK != 0 && (self.needs.router.is_none() || self.board.sacked() > 0);
        let scanned = if !sacks { 0 } else { u64::from(self.next - self.board.una()) };
        let work = self.stack.host_ack_ps + self.stack.host_scan_ps * scanned;
        self.host_busy = self.host_busy.max(packet.at) + Time(work);
        self.host_busy
    }

    #[inline]
    fn was_window_limited(&self) -> bool {
        // In slow start a window of up to twice what was used is still being probed (Linux, is_cwnd_limited).
        self.limit == Limit::Window
            || (self.cwnd < self.algorithm.ssthresh() && self.cwnd < 2.0 * f64::from(self.round_peak))
    }
}

/// What only some algorithms want to know of an ACK.
struct Wanted<'a> {
    needs: Needs,
    packet: Packet,
    /// Of a segment on the wire.
    bytes: f64,
    report: Report,
    sampler: Option<&'a Sampler>,
    clocks: Option<&'a (ClockSpec, ClockSpec)>,
    sent_window: &'a [f32],
}

impl Wanted<'_> {
    #[inline(never)]
    fn complete(&self, ack: &mut Ack) {
        ack.delivery = self.sampler.and_then(Sampler::sample);
        ack.owd = self.needs.one_way_delay.then(|| self.one_way_delay());
        match self.needs.router {
            Some(Router::Xcp) => ack.feedback = f64::from(self.report.feedback) / self.bytes,
            Some(Router::Vcp) => ack.load = Some(self.load()),
            None => {}
        }
        let cumulative = self.packet.segment();
        if self.needs.window_at_send && cumulative > 0 && !self.sent_window.is_empty() {
            let mask = self.sent_window.len() - 1;
            ack.window_at_send = f64::from(self.sent_window[(cumulative - 1) as usize & mask]);
        }
    }

    /// What VCP routers report.
    fn load(&self) -> Load {
        match self.packet.flags() {
            flags if flags & flag::ECE != 0 => Load::Overload,
            flags if flags & flag::CWR != 0 => Load::High,
            _ => Load::Low,
        }
    }

    /// The forward delay of a segment as the two hosts' clocks show it, s.
    fn one_way_delay(&self) -> f64 {
        let units = self.report.owd;
        let Some(clocks) = self.clocks else { return f64::from(units) * (OWD_UNIT_PS as f64 * 1e-12) };
        let sent = self.packet.stamp;
        let arrived = sent + Time(u64::from(units) * OWD_UNIT_PS);
        (clocks.1.reading(arrived) - clocks.0.reading(sent)) as f64 * 1e-12
    }
}
