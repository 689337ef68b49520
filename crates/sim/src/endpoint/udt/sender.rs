//! The sending end. The sender sends one packet per period, lost packets first.

use std::sync::Arc;

use elephan_cc::udt::{Estimates, Timers, Udt as Control, UdtParams};
use elephan_cc::{Observe, Observer};

use super::kinds::{ACK2, DATA, LIGHT_ACK};
use super::losses::Lost;
use super::messages::Message;
use crate::application::Application;
use crate::endpoint::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use crate::endpoint::departures::Departures;
use crate::endpoint::statistics::SenderStatistics;
use crate::packet::{FlowId, Packet, flag};
use crate::random::Stream;
use crate::record::{Sampled, SenderRecord, SenderSample, Sending};
use crate::spec::udt::HEADER_BYTES;
use crate::spec::{FlowSpec, MOST_SEGMENTS, Spec};
use crate::time::Time;

/// Interval of packet pairs: a packet whose number is a multiple of this constant is sent back to back with the next
/// packet.
const PAIR_EVERY: u32 = 16;

/// Internal variables of a sender: those of its rate control and those of its estimates.
struct Observed<'a>(&'a Control, &'a Estimates);

impl Observe for Observed<'_> {
    fn observe(&self, observer: &mut Observer<'_>) {
        self.0.observe(observer);
        self.1.observe(observer);
    }
}

/// The sending end of a UDT flow.
#[derive(Debug)]
pub struct UdtSender {
    flow: FlowId,
    control: Control,
    path: Estimates,
    /// Lowest packet that is not acknowledged.
    una: u32,
    /// First packet that was never sent.
    next: u32,
    /// First packet number after the flow's data.
    end: u32,
    /// Packet number in the latest full ACK.
    last_ack: u32,
    flow_window: u32,
    lost: Lost,
    /// Time of the last packet from the receiver, or start of the wait for such a packet.
    heard: Time,
    /// Expirations since `heard`, plus one.
    expirations: u32,
    expires: Time,
    /// Earliest departure of the next packet, and time of the timer for it.
    pace: Time,
    wake: Time,
    /// True if the next packet is the second packet of a pair.
    pair: bool,
    start: Time,
    stop: Time,
    started: bool,
    timer: Time,
    now: Time,
    bytes: u16,
    seed: u64,
    departures: Departures,
    application: Option<Box<Application>>,
    stats: SenderStatistics,
    rates: Vec<f64>,
    ack2s: u64,
}

impl UdtSender {
    /// Sender of flow number `flow` of a spec; the flow starts at `start`.
    #[must_use]
    pub fn new(
        flow: FlowId,
        spec: &Spec,
        this: &FlowSpec,
        start: Time,
        control: Control,
        sample_times: &Arc<[Time]>,
    ) -> Self {
        let stack = &this.stack;
        let UdtParams { syn, initial_arrival_rate, initial_capacity, flow_window, .. } = *control.parameters();
        let application = Application::of_flow(spec, this, start);
        let stats = SenderStatistics::new(flow, spec, sample_times);
        Self {
            flow,
            path: Estimates::new(syn, initial_arrival_rate, initial_capacity),
            una: 0,
            next: 0,
            end: if application.is_some() { 0 } else { this.size_segments.map_or(MOST_SEGMENTS, |s| s as u32) },
            last_ack: 0,
            flow_window: flow_window as u32,
            lost: Lost::default(),
            heard: start,
            expirations: 1,
            expires: Time::NEVER,
            pace: start,
            wake: Time::NEVER,
            pair: false,
            start,
            stop: this.stop_ps.map_or(Time::NEVER, Time),
            started: false,
            timer: start.min(stats.due()),
            now: Time::ZERO,
            bytes: (stack.payload_bytes + stack.header_bytes) as u16,
            seed: Stream::new(spec.seed, &format!("flow {} algorithm", this.name)).bits(),
            departures: Departures::new(spec.seed, &this.name, spec.send_jitter_ps),
            application,
            stats,
            rates: Vec::new(),
            ack2s: 0,
            control,
        }
    }

    /// All records that the run keeps of the sender, except the RTT samples, which the receiver has.
    pub(super) fn into_record(self) -> SenderRecord {
        SenderRecord { rates: Some(self.rates), ..self.stats.into_record(self.start) }
    }

    // ---- timers ------------------------------------------------------------------------------------------------------

    fn on_timer_due(&mut self, out: &mut impl Outlet) {
        let now = self.timer;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.sample_until(now);
        if !self.started && self.start <= now {
            self.started = true;
            self.control.on_start(now.seconds(), f64::from(self.bytes), self.seed);
            self.note_window(now);
            self.wake = now;
        }
        if self.expires <= now {
            self.expire(now);
        }
        if let Some(application) = &mut self.application {
            if application.due() <= now {
                self.end += application.take(now);
                self.wake = now;
            }
        }
        if self.wake <= now {
            self.transmit(now, out);
        }
        self.set_timer(now);
    }

    fn set_timer(&mut self, now: Time) {
        let mut timer = self.stats.due().min(self.wake).min(self.expires);
        if let Some(application) = &self.application {
            timer = timer.min(application.due());
        }
        if !self.started {
            timer = timer.min(self.start);
        }
        // The expiration time may be overdue because it became shorter with the RTT; the timer then expires now, not in
        // the past.
        self.timer = timer.max(now);
    }

    /// Sets the expiration timer, which runs while packets are unacknowledged.
    fn set_expiration(&mut self) {
        let Estimates { rtt, rtt_var, .. } = self.path;
        let period_s = self.control.parameters().expiration_s(f64::from(self.expirations), rtt, rtt_var);
        let waits = self.next > self.una;
        self.expires = if waits { self.heard.later(Time::from_seconds(period_s)) } else { Time::NEVER };
    }

    /// Handles an expiration: schedules all unacknowledged packets for retransmission. At an expiration the library
    /// schedules retransmissions only if none is pending.
    fn expire(&mut self, now: Time) {
        self.stats.totals.timeouts += 1;
        if self.lost.is_empty() || self.control.parameters().timers == Timers::Draft {
            self.lost.insert(self.una, self.next);
        }
        self.control.on_timeout(&self.path);
        self.expirations += 1;
        self.heard = now;
        self.note_window(now);
        self.set_expiration();
        self.wake = now;
    }

    fn sample_until(&mut self, now: Time) {
        let Self { stats, rates, control, path, lost, .. } = self;
        let srtt = if self.last_ack > 0 { path.rtt } else { f64::NAN };
        let (started, in_flight) = (self.started, self.next - self.una - lost.len());
        stats.sample_until(now, |stats| {
            rates.push(if started { control.rate() } else { f64::NAN });
            if started {
                stats.sample_internals(&Observed(control, path));
            }
            SenderSample {
                cwnd: stats.cwnd,
                ssthresh: f64::INFINITY,
                srtt,
                // The receiver has the RTT samples, and fills them in.
                rtt: f64::NAN,
                in_flight,
                timeouts: stats.totals.timeouts as u32,
                ecn_events: 0,
                retransmits: stats.totals.retransmits,
                loss_events: stats.totals.loss_events,
            }
        });
    }

    fn note_window(&mut self, now: Time) {
        self.stats.note_window(now, self.control.window());
    }

    // ---- packets from the receiver
    // --------------------------------------------------------------------------------------

    fn on_control_packet(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let now = packet.at;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.stats.totals.acks += 1;
        (self.heard, self.expirations) = (now, 1);
        if packet.extra() == LIGHT_ACK {
            self.acknowledge(packet.segment(), now);
        } else {
            let payload = out.beside().take_payload(packet);
            match payload.and_then(|payload| Message::from_bytes(&payload)) {
                Some(Message::Ack { number, rtt, arrival_rate, capacity }) => {
                    self.answer(number, now, out);
                    if packet.segment() > self.last_ack {
                        self.last_ack = packet.segment();
                        self.acknowledge(packet.segment(), now);
                        self.path.note_rtt(rtt);
                        self.path.note_rates(arrival_rate, capacity);
                        self.control.on_ack(now.seconds(), self.last_ack, &self.path);
                    }
                }
                Some(Message::Gaps(gaps)) => self.on_nak(&gaps),
                None => {}
            }
            self.note_window(now);
        }
        self.set_expiration();
        self.transmit(now, out);
        self.set_timer(now);
    }

    fn acknowledge(&mut self, next: u32, now: Time) {
        if next <= self.una {
            return;
        }
        self.una = next;
        self.lost.forget_below(next);
        let all_there = self.application.as_ref().is_none_or(|application| application.is_complete());
        if self.una >= self.end && all_there && self.stats.completed.is_none() {
            self.stats.completed = Some(now);
        }
    }

    fn on_nak(&mut self, gaps: &[(u32, u32)]) {
        let Some(&(first, _)) = gaps.first() else { return };
        if self.control.on_nak(first, self.next, &self.path) {
            self.stats.totals.loss_events += 1;
        }
        for &(first, past) in gaps {
            self.lost.insert(first.max(self.una), past);
        }
    }

    fn answer(&mut self, number: u32, now: Time, out: &mut impl Outlet) {
        self.ack2s += 1;
        let at = now.max(self.departures.last());
        out.send(Packet::new(at, now, self.flow, number, HEADER_BYTES as u16, 0, ACK2));
    }

    // ---- sending -----------------------------------------------------------------------------------------------------

    /// First packet beyond the window, which must not be sent.
    fn limit(&self) -> u32 {
        (self.una + self.control.window() as u32).min(self.receive_limit())
    }

    /// First packet beyond the receiver's buffer, which only full ACKs report.
    fn receive_limit(&self) -> u32 {
        self.last_ack + self.flow_window
    }

    fn has_new(&self, now: Time) -> bool {
        self.next < self.end && now < self.stop && self.next < self.limit()
    }

    /// Sends the packets that the period and the windows allow.
    fn transmit(&mut self, now: Time, out: &mut impl Outlet) {
        self.wake = Time::NEVER;
        if !self.started {
            return;
        }
        loop {
            let (has_new, has_lost) = (self.has_new(now), !self.lost.is_empty());
            if !has_new && !has_lost {
                let more = self.next < self.end && now < self.stop;
                self.stats.note_send();
                if more && self.next >= self.receive_limit() {
                    self.stats.note_receiver_limited();
                }
                return;
            }
            if now < self.pace {
                self.stats.note_send();
                self.wake = self.pace;
                return;
            }
            let completes_pair = std::mem::take(&mut self.pair);
            if has_lost && !(completes_pair && has_new) {
                self.send_again(now, out);
            } else {
                self.send_new(now, out);
            }
            if !self.pair {
                self.pace = self.pace.max(now).later(Time::from_seconds(self.control.period()));
            }
        }
    }

    fn send_again(&mut self, now: Time, out: &mut impl Outlet) {
        let Some(packet) = self.lost.pop() else { return };
        self.stats.totals.retransmits += 1;
        self.emit(packet, flag::RETRANSMIT, now, out);
    }

    fn send_new(&mut self, now: Time, out: &mut impl Outlet) {
        if self.una == self.next {
            (self.heard, self.expirations) = (now, 1);
        }
        let packet = self.next;
        self.next += 1;
        if self.expires == Time::NEVER {
            self.set_expiration();
        }
        self.pair = packet % PAIR_EVERY == 0;
        self.emit(packet, 0, now, out);
    }

    fn emit(&mut self, packet: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        self.stats.totals.sent += 1;
        let at = self.departures.next(now);
        out.send(Packet::new(at, now, self.flow, packet, self.bytes, flags, DATA));
    }
}

impl Sampled for UdtSender {
    fn sampled(&self) -> Sending<'_> {
        Sending { start: self.start, completed: self.stats.completed, samples: self.stats.samples() }
    }

    fn forget(&mut self, count: usize) {
        self.stats.forget(count);
        self.rates.drain(..count);
    }
}

impl EndpointState for UdtSender {
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        PacketCounts { sent: self.stats.totals.sent + self.ack2s, received: self.stats.totals.acks }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for UdtSender {
    fn on_timer(&mut self, out: &mut O) {
        self.on_timer_due(out);
    }

    fn on_packet(&mut self, packet: &Packet, out: &mut O) {
        self.on_control_packet(packet, out);
    }
}
