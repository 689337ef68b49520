//! A path for the tests of algorithms that pace or measure delivery: a bottleneck with a finite buffer and random
//! losses, several flows, delivery-rate samples, and a report of each lost segment.

use std::collections::VecDeque;

use crate::ack::Ack;
use crate::algorithm::Algorithm;
use crate::draws::Draws;
use crate::estimators::{DeliverySampler, MinRtt, RoundCounter, seconds};
use crate::event::Event;
use crate::reports::{Cause, Sent, Signal, Start};

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent: f64,
    /// Time of the segment's acknowledgement, s; infinite for a lost segment.
    acknowledged: f64,
    queueing: f64,
    window: f64,
    passed: u8,
}

/// One flow and its endpoint's state.
pub struct Flow<'a> {
    pub algorithm: &'a mut dyn Algorithm,
    pub delivered: f64,
    pub lost: f64,
    flying: VecDeque<Packet>,
    starts_at: f64,
    started: bool,
    next_send: f64,
    last_progress: f64,
    sent: u64,
    sampler: DeliverySampler,
    rounds: RoundCounter,
    min_rtt: MinRtt,
    srtt: f64,
    recovery: Option<Recovery>,
}

/// A recovery, with the segments sent before it and the segment that ends it.
#[derive(Clone, Copy)]
struct Recovery {
    /// Segments sent before the recovery began.
    end: u64,
    /// The recovery ends with the ACK of this segment; the segment left together with the last retransmission.
    repaired: u64,
    /// True if a segment sent during this recovery is also lost, so that another recovery follows.
    more: bool,
}

impl<'a> Flow<'a> {
    pub fn new(algorithm: &'a mut dyn Algorithm, starts_at: f64) -> Self {
        Self {
            algorithm,
            delivered: 0.0,
            lost: 0.0,
            flying: VecDeque::new(),
            starts_at,
            started: false,
            next_send: starts_at,
            last_progress: starts_at,
            sent: 0,
            sampler: DeliverySampler::default(),
            rounds: RoundCounter::default(),
            min_rtt: MinRtt::new(),
            srtt: 0.0,
            recovery: None,
        }
    }

    fn in_flight(&self) -> f64 {
        self.flying.len() as f64
    }

    /// Lowest outstanding segment.
    fn lowest(&self) -> u64 {
        self.flying.front().map_or(self.sent, |packet| packet.number)
    }

    fn may_send_at(&self) -> f64 {
        let allowed = !self.started || self.in_flight() < self.algorithm.window().floor().max(1.0);
        if allowed { self.next_send } else { f64::INFINITY }
    }

    fn next_ack_at(&self) -> f64 {
        self.flying.iter().map(|p| p.acknowledged).find(|t| t.is_finite()).unwrap_or(f64::INFINITY)
    }

    /// Time at which the retransmission timer expires if no further ACK arrives.
    fn times_out_at(&self) -> f64 {
        if self.flying.is_empty() { f64::INFINITY } else { self.last_progress + (2.0 * self.srtt).max(1.0) }
    }
}

/// Converts seconds to the nearest whole number of picoseconds.
fn ps(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

/// The bottleneck.
pub struct Path {
    /// Segments/s.
    pub rate: f64,
    /// Round-trip time without a queue, s.
    pub base: f64,
    /// Buffer of the queue, segments.
    pub buffer: f64,
    /// Probability of a random loss of a segment.
    pub loss: f64,
    pub now: f64,
    draws: Draws,
    free_at: f64,
}

impl Path {
    pub fn new(rate: f64, base: f64, buffer: f64, loss: f64) -> Self {
        Self { rate, base, buffer, loss, now: 0.0, draws: Draws::new(11), free_at: 0.0 }
    }

    /// Segments in the queue.
    pub fn queue(&self) -> f64 {
        ((self.free_at - self.now) * self.rate).max(0.0)
    }

    /// Runs until `until` s; calls `watch` with the path and the flows at every ACK.
    pub fn run(&mut self, flows: &mut [Flow<'_>], until: f64, mut watch: impl FnMut(&Path, &[Flow<'_>])) {
        loop {
            let (mut at, mut what, mut which) = (f64::INFINITY, 0, 0);
            for (i, flow) in flows.iter().enumerate() {
                let times = [flow.next_ack_at(), flow.may_send_at().max(self.now), flow.times_out_at()];
                for (kind, time) in times.into_iter().enumerate() {
                    if time < at {
                        (at, what, which) = (time, kind, i);
                    }
                }
            }
            if at > until {
                self.now = until;
                return;
            }
            self.now = seconds(ps(at));
            match what {
                0 => {
                    self.acknowledge(&mut flows[which]);
                    watch(self, flows);
                }
                1 => self.send(&mut flows[which]),
                _ => self.time_out(&mut flows[which]),
            }
        }
    }

    fn send(&mut self, flow: &mut Flow<'_>) {
        if !flow.started {
            flow.started = true;
            flow.algorithm.on_event(&Event::Start(Start {
                now: self.now,
                seed: flow.starts_at.to_bits() ^ 5,
                segment_bytes: 1500.0,
                ..Start::default()
            }));
        }
        if flow.flying.is_empty() {
            flow.last_progress = self.now;
        }
        let drawn = self.draws.uniform() < self.loss;
        let dropped = drawn || self.queue() >= self.buffer;
        let begins = self.free_at.max(self.now);
        if !dropped {
            self.free_at = begins + 1.0 / self.rate;
        }
        let arrives = begins + self.base;
        flow.flying.push_back(Packet {
            number: flow.sent,
            sent: self.now,
            acknowledged: if dropped { f64::INFINITY } else { arrives },
            queueing: begins - self.now,
            window: flow.algorithm.window(),
            passed: 0,
        });
        let (lowest, in_flight) = (flow.lowest(), flow.in_flight());
        flow.sampler.on_sent(flow.sent, lowest, flow.flying.len() as u32, ps(self.now));
        flow.sent += 1;
        flow.algorithm.on_event(&Event::Sent(Sent { now: self.now, in_flight, retransmission: false }));
        flow.next_send = match flow.algorithm.pacing_rate() {
            Some(rate) => flow.next_send.max(self.now - 1.0 / rate) + 1.0 / rate,
            None => self.now,
        };
    }

    fn acknowledge(&mut self, flow: &mut Flow<'_>) {
        let at = flow.flying.iter().position(|p| p.acknowledged.is_finite()).unwrap_or(0);
        let Some(packet) = flow.flying.remove(at) else { return };
        let rtt = seconds(ps(self.now) - ps(packet.sent));
        let min_rtt = flow.min_rtt.update(rtt);
        flow.srtt = if flow.srtt == 0.0 { rtt } else { 0.875 * flow.srtt + 0.125 * rtt };
        flow.delivered += 1.0;
        flow.sampler.on_delivered(packet.number, 1, ps(self.now), min_rtt);
        flow.last_progress = self.now;
        let before = flow.in_flight() + 1.0;
        let ended = flow.recovery.filter(|r| packet.number >= r.repaired);
        if let Some(recovery) = ended {
            flow.recovery = None;
            flow.algorithm.on_event(&Event::RecoveryExit { now: self.now });
            if recovery.more {
                self.begin_recovery(flow, before);
            }
        }
        self.find_losses(flow, at, before);
        let round_start = flow.rounds.on_ack(packet.number + 1, flow.sent);
        let ack = Ack {
            now: self.now,
            acked: 1.0,
            rtt: Some(rtt),
            owd: Some(self.base / 2.0 + packet.queueing + 1234.5),
            min_rtt,
            srtt: flow.srtt,
            delivery: flow.sampler.sample(),
            in_flight: flow.in_flight(),
            window_at_send: packet.window,
            round_start,
            in_recovery: flow.recovery.is_some(),
            window_limited: before >= flow.algorithm.window().floor(),
            ..Ack::default()
        };
        flow.algorithm.on_ack(&ack);
    }

    /// Declares a segment lost if three later segments were acknowledged.
    fn find_losses(&mut self, flow: &mut Flow<'_>, before: usize, in_flight: f64) {
        for packet in flow.flying.iter_mut().take(before) {
            packet.passed += 1;
        }
        while let Some(packet) = flow.flying.front().copied().filter(|p| p.passed >= 3) {
            flow.flying.pop_front();
            flow.lost += 1.0;
            let lost = flow.sampler.on_lost(packet.number, ps(self.now));
            flow.algorithm.on_event(&Event::Lost(lost));
            match &mut flow.recovery {
                Some(recovery) if packet.number < recovery.end => recovery.repaired = flow.sent,
                Some(recovery) => recovery.more = true,
                None => self.begin_recovery(flow, in_flight),
            }
        }
    }

    fn begin_recovery(&mut self, flow: &mut Flow<'_>, in_flight: f64) {
        flow.recovery = Some(Recovery { end: flow.sent, repaired: flow.sent, more: false });
        let signal = self.signal(flow, in_flight);
        flow.algorithm.on_event(&Event::Congestion(signal));
    }

    fn signal(&self, flow: &Flow<'_>, in_flight: f64) -> Signal {
        let (cause, srtt, min_rtt) = (Cause::Loss, flow.srtt, flow.min_rtt.get());
        Signal { now: self.now, in_flight, cause, srtt, min_rtt, repeated: false, kept: 0.0 }
    }

    fn time_out(&mut self, flow: &mut Flow<'_>) {
        flow.lost += flow.in_flight();
        for packet in &flow.flying {
            let lost = flow.sampler.on_lost(packet.number, ps(self.now));
            flow.algorithm.on_event(&Event::Lost(lost));
        }
        let signal = self.signal(flow, flow.in_flight());
        flow.flying.clear();
        flow.algorithm.on_event(&Event::Timeout(signal));
        flow.recovery = Some(Recovery { end: flow.sent, repaired: flow.sent, more: false });
        flow.last_progress = self.now;
    }
}

/// Result of a single bulk flow over the second half of a run.
pub struct Outcome {
    /// Delivered segments, as a fraction of the capacity.
    pub utilization: f64,
    /// Mean queue at the times of the ACKs, segments.
    pub queue: f64,
    /// Lost segments, as a fraction of the segments sent.
    pub loss: f64,
}

/// Runs `algorithm` alone for `seconds`.
pub fn alone(algorithm: &mut dyn Algorithm, path: &mut Path, seconds: f64) -> Outcome {
    let mut flows = [Flow::new(algorithm, 0.0)];
    path.run(&mut flows, seconds / 2.0, |_, _| {});
    let (delivered, lost) = (flows[0].delivered, flows[0].lost);
    let (mut queue, mut acks) = (0.0, 0.0);
    path.run(&mut flows, seconds, |path, _| {
        queue += path.queue();
        acks += 1.0;
    });
    let (delivered, lost) = (flows[0].delivered - delivered, flows[0].lost - lost);
    Outcome {
        utilization: delivered / (path.rate * seconds / 2.0),
        queue: queue / acks,
        loss: lost / (lost + delivered),
    }
}
