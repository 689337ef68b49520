//! The short paths of an ACK that moves the left edge of the window of a sender that has nothing to repair: one for stacks
//! without Linux's rules and one for Linux, of senders whose algorithm, path and application ask for nothing else. Their
//! steps are those of the long path that remain, in the same order; a test runs both and compares.

use elephan_cc::linux::{Recovery, Sample};
use elephan_cc::{Ack, Algorithm};

use super::core::Sender;
use super::shortcut::Shortcut;
use super::timer::Before;
use crate::endpoint::boundary::Outlet;
use crate::packet::{Packet, flag};
use crate::spec::HostRule;
use crate::time::Time;

#[cfg(not(test))]
const fn is_switched_off() -> bool {
    false
}

#[cfg(test)]
use tests::is_switched_off;

impl Sender {
    /// The short path of the sender's ACKs.
    pub(super) fn find_shortcut(&self) -> Shortcut {
        let Self { stack, needs, rules, .. } = self;
        let has_times = self.pace.is_active() || self.host.is_slow() || self.application.is_some();
        let is_asked =
            needs.with_acks() || needs.losses || needs.reductions || stack.reads_at_once || self.marks.counts();
        // The test hook counts the senders that get here.
        if has_times || is_asked || is_switched_off() {
            return Shortcut::None;
        }
        let needed = [HostRule::TimerRestart, HostRule::RttSamples, HostRule::WindowValidation];
        let restarts = rules.linux && needed.iter().all(|&rule| rules.has(rule));
        match [rules.linux, self.rack.is_on(), self.buffer.is_offloaded()] {
            [false, false, false] => Shortcut::Plain,
            [true, true, true] if restarts && self.rtt.times_all() => Shortcut::Linux,
            _ => Shortcut::None,
        }
    }

    /// True if an ACK may take a short path. Its packet has no other flag: neither an echo nor blocks beside it.
    #[inline(always)]
    pub(super) fn is_clean(&self, packet: &Packet) -> bool {
        packet.flags() == flag::ACK && self.is_plain_sailing()
    }

    /// Handles an ACK by the short path.
    #[inline(always)]
    pub(super) fn on_plain_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let (now, una, cumulative) = (packet.at, self.board.una(), packet.segment());
        if cumulative <= una {
            return;
        }
        self.board.advance_clean(cumulative);
        let (min_rtt, rtt) = self.measure_plainly(packet);
        let round_start = self.rounds.on_ack(cumulative.into(), self.next.into());
        self.note_round_of_trains(round_start);
        if round_start {
            self.window_use.begin_round();
        }
        let in_flight = self.next - cumulative;
        let ack = Ack {
            now: self.host_seconds(now),
            acked: f64::from(cumulative - una),
            rtt: Some(rtt),
            min_rtt,
            srtt: self.rtt.srtt(),
            in_flight: f64::from(in_flight),
            round_start,
            window_limited: self.window_use.is_limited(self.stats.cwnd, || self.algorithm.ssthresh()),
            ..Ack::default()
        };
        let window = self.algorithm.react(ack, |_| ());
        self.stats.note_window(now, window);
        if in_flight == 0 {
            self.timers.stop();
            self.all_acknowledged(now);
        } else {
            let (timers, outstanding) = self.timers();
            timers.arm_plainly(now, outstanding);
        }
        let room = (self.stats.cwnd as u32).max(1).saturating_sub(in_flight).min(self.max_burst);
        self.transmit_plainly(room, in_flight, now, out);
    }

    /// Takes the RTT samples of an ACK. Returns the smallest RTT so far and the RTT of the ACK's segment, s.
    #[inline(always)]
    fn measure_plainly(&mut self, packet: &Packet) -> (f64, f64) {
        let rtt = packet.at.since(packet.stamp);
        let sample = rtt.seconds();
        self.rtt.on_latest(rtt);
        self.stats.note_rtt(rtt, sample);
        let min_rtt = self.rtt.on_sample(sample);
        self.rtt.on_ack(rtt, (packet.segment(), packet.at), self.board.una(), self.next);
        (min_rtt, sample)
    }

    /// Handles an ACK by the short path of Linux.
    #[inline(always)]
    pub(super) fn on_clean_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let (now, una, cumulative) = (packet.at, self.board.una(), packet.segment());
        let is_slow = self.announced.on_ack(una, cumulative);
        self.timestamps.on_ack(packet.stamp, packet.extra());
        if cumulative <= una {
            return;
        }
        self.board.advance_clean(cumulative);
        let (newest, acked, in_flight) = (cumulative - 1, f64::from(cumulative - una), self.next - cumulative);
        let rtt = self.note_rtt(packet);
        self.rack.on_delivered(newest, packet.stamp, rtt);
        let sample = rtt.seconds();
        let min_rtt = self.rtt.on_sample(sample);
        let smoothed = if una == newest { rtt } else { self.rtt_of_oldest(packet, una, rtt) };
        self.rtt.smooth(smoothed, cumulative, self.next);
        let round_start = self.rounds.on_ack(cumulative.into(), self.next.into());
        self.note_round_of_trains(round_start);
        let ack = Ack {
            now: self.host_seconds(now),
            acked,
            rtt: Some(sample),
            min_rtt,
            srtt: self.rtt.srtt(),
            in_flight: f64::from(in_flight),
            round_start,
            sample: Some(Sample {
                state: Recovery::Open,
                then: Recovery::Open,
                una: cumulative,
                next: self.next,
                acked,
                sacked: 0,
                is_slow,
                largest_burst: self.buffer.largest_burst(),
                window: self.stats.cwnd,
                timestamps: (0.0, 0.0),
            }),
            window_limited: self.window_use.is_limited(self.stats.cwnd, || self.algorithm.ssthresh()),
            ..Ack::default()
        };
        let window = self.algorithm.react(ack, |_| ());
        self.stats.note_window(now, window);
        self.timers.probe.on_advance(cumulative);
        if in_flight == 0 {
            self.timers.stop();
            self.all_acknowledged(now);
        } else {
            let (timers, outstanding) = self.timers();
            timers.on_ack(now, Time::ZERO, Before::Clean, outstanding);
        }
        self.transmit_in_bursts(None, now, out);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use elephan_cc::registry;

    use crate::engine::Engine;
    use crate::spec::{Detection, HostKind, HostRule, LossSpec, RecoveryRule, Spec, StackSpec};
    use crate::time::Time;

    thread_local! {
        /// True while senders take the long path only.
        static ONLY_LONG: Cell<bool> = const { Cell::new(false) };
        /// Senders that took the short path.
        static PLAIN: Cell<u32> = const { Cell::new(0) };
    }

    pub(super) fn is_switched_off() -> bool {
        PLAIN.set(PLAIN.get() + u32::from(!ONLY_LONG.get()));
        ONLY_LONG.get()
    }

    /// Stacks that differ in what the short path touches.
    fn stacks() -> [StackSpec; 7] {
        let ns2 = StackSpec {
            detection: Detection::Dupack,
            recovery: RecoveryRule::PipeSack1,
            ack_every: 1,
            time_one_segment: true,
            undo: false,
            ..plain()
        };
        let bounded = StackSpec { receive_window: Some(30), max_burst: Some(2), handshake: true, ecn: true, ..plain() };
        let counting = StackSpec { any_ack_restarts_timer: true, acks_counted: 1, undo: true, ..plain() };
        let exact = StackSpec { hz: None, ecn: true, ack_every: 1, ..StackSpec::linux() };
        let filled = StackSpec { receive_window: Some(30), without: vec![HostRule::Clock], ..StackSpec::linux() };
        [plain(), ns2, bounded, counting, StackSpec::linux(), exact, filled]
    }

    fn plain() -> StackSpec {
        StackSpec {
            host: HostKind::Plain,
            detection: Detection::Dupthresh,
            tso: false,
            hz: None,
            handshake: false,
            ..StackSpec::linux()
        }
    }

    /// Two flows of `algorithm` on a path with losses, one of which ends.
    fn spec(algorithm: &str, stack: &StackSpec) -> Spec {
        let ms = Time::MILLISECOND.0;
        let mut spec = Spec::dumbbell(10_000_000, Time(60 * ms), 40, Time(8000 * ms), &[algorithm, algorithm]);
        spec.links[0].loss = LossSpec::Bernoulli { p: 0.002 };
        (spec.send_jitter_ps, spec.flows[1].size_segments) = (ms / 10, Some(500));
        spec.flows.iter_mut().for_each(|flow| flow.stack = Arc::new(stack.clone()));
        spec
    }

    #[test]
    fn both_paths_give_the_same_bits() {
        for algorithm in registry().iter().map(|entry| entry.name) {
            for stack in stacks() {
                let run = |only_long| {
                    ONLY_LONG.set(only_long);
                    let outcome = Engine::new(spec(algorithm, &stack)).ok()?.run(|_| true);
                    Some(format!("{:?}", outcome.expect("nothing stops the run")))
                };
                // Algorithms that need routers cannot run on this path.
                assert!(run(true) == run(false), "{algorithm} {stack:?}");
            }
        }
        assert!(PLAIN.get() > 160, "{} senders took the short path", PLAIN.get());
    }
}
