//! CoDel: drops packets at the head of the queue while the smallest delay of an interval stays above a target (RFC
//! 8289).

use elephan_cc::param::{BuildError, MS, NS, S, Settings, duration, flag};

use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use super::{Backlog, DropTail};
use crate::packet::{Packet, flag};
use crate::sidecar::PacketHeaders;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of CoDel.
    pub struct CodelParameters {
        /// Largest standing queueing delay.
        target: Time = duration(5.0 * MS, 1.0 * NS, 100.0 * S), "RFC 8289 section 5.3 (TARGET); RFC 8290 section 5.2.2";
        /// Time for which the delay may exceed the target, about the largest RTT.
        interval: Time = duration(100.0 * MS, 1.0 * NS, 100.0 * S), "RFC 8289 section 5.3 (INTERVAL); RFC 8290 section 5.2.1";
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = flag(true), "RFC 8290 section 5.2.6";
    }
}

elephan_cc::params! {
    /// Rules of Linux's CoDel.
    pub struct CodelRules {
        /// Approximate the square root by one step of Newton's method for each change of the number of drops.
        newton: bool = flag(false), "Linux 6.12, include/net/codel_impl.h";
    }
}

/// The controller of one queue. Names follow RFC 8289 section 5.
#[derive(Clone, Debug)]
pub struct Controller {
    p: CodelParameters,
    newton: bool,
    /// Size of the largest packet so far, bytes; a queue of at most this size does not count as standing.
    largest: u64,
    first_above: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// Linux's approximation of 1/√`count`.
    inverse_root: InverseRoot,
    dropping: bool,
}

/// Approximation of 1/√n in units of 2⁻³², of which Linux keeps the upper half.
#[derive(Clone, Copy, Debug)]
struct InverseRoot(u32);

impl InverseRoot {
    const KEPT: u32 = 0xffff_0000;
    /// The approximation of 1.
    const ONE: Self = Self(Self::KEPT);

    /// One step of Newton's method towards 1/√`n`. The result r is at most 1/√n, so that (n + 1)r² is less than 3 in the
    /// next step.
    fn step(self, n: u32) -> Self {
        let r = u64::from(self.0);
        let rest = (3 << 32) - u64::from(n) * ((r * r) >> 32);
        Self((((rest >> 2) * r) >> 31) as u32 & Self::KEPT)
    }

    fn of(self, time: Time) -> Time {
        Time(((u128::from(time.0) * u128::from(self.0)) >> 32) as u64)
    }
}

impl Controller {
    pub(super) fn new(p: CodelParameters, rules: CodelRules) -> Self {
        let never = Time::ZERO;
        Self {
            p,
            newton: rules.newton,
            largest: 0,
            first_above: never,
            drop_next: never,
            count: 0,
            last_count: 0,
            inverse_root: InverseRoot::ONE,
            dropping: false,
        }
    }

    /// Records the size of an arriving packet.
    #[inline]
    pub(super) fn note_size(&mut self, bytes: u64) {
        self.largest = self.largest.max(bytes);
    }

    /// Counts packets that were dropped for another reason as drops of this controller.
    pub(super) fn count_others(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    fn control_law(&self, from: Time) -> Time {
        if self.newton {
            return from.later(self.inverse_root.of(self.p.interval));
        }
        from.later(Time::from_seconds(self.p.interval.seconds() / libm::sqrt(f64::from(self.count))))
    }

    /// Takes the packet at the head of the queue; also returns true if this packet may be dropped.
    fn look(&mut self, now: Time, source: &mut impl Source) -> Option<(Packet, bool)> {
        let Some(packet) = source.take() else {
            self.first_above = Time::ZERO;
            return None;
        };
        if now.since(packet.at) < self.p.target || source.bytes() <= self.largest {
            self.first_above = Time::ZERO;
            return Some((packet, false));
        }
        if self.first_above == Time::ZERO {
            self.first_above = now + self.p.interval;
            return Some((packet, false));
        }
        Some((packet, now >= self.first_above))
    }

    fn marks(&self, packet: &Packet) -> bool {
        self.p.ecn && packet.flags() & flag::ECT != 0
    }

    /// Takes the packet that is sent at `now`. Packets dropped instead are added to `dropped`.
    pub(super) fn dequeue(&mut self, now: Time, source: &mut impl Source, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let Some((mut packet, mut may_drop)) = self.look(now, source) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                self.inverse_root = self.inverse_root.step(self.count);
                if self.marks(&packet) {
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(packet.marked());
                }
                dropped.push(packet);
                let Some(next) = self.look(now, source) else {
                    self.dropping = false;
                    return None;
                };
                (packet, may_drop) = next;
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
            return Some(packet);
        }
        if !may_drop {
            return Some(packet);
        }
        self.dropping = true;
        let marked = self.marks(&packet);
        let next = if marked {
            Some(packet.marked())
        } else {
            dropped.push(packet);
            self.look(now, source).map(|(next, _)| next)
        };
        // The drop rate of a recent dropping state is a good first rate for this dropping state.
        let delta = self.count.saturating_sub(self.last_count);
        let has_dropped = self.drop_next > Time::ZERO;
        let recent = has_dropped && now.since(self.drop_next) < Time(self.p.interval.0.saturating_mul(16));
        (self.count, self.inverse_root) =
            if delta > 1 && recent { (delta, self.inverse_root.step(delta)) } else { (1, InverseRoot::ONE) };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        if next.is_none() {
            self.dropping = false;
        }
        next
    }
}

/// One queue with CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    tail: DropTail,
    held: Held,
    controller: Controller,
}

impl AtDeparture for Codel {
    const ENTRY: Entry = Entry {
        additions: &[CodelRules::TABLE],
        ..Entry::new("codel", "Controlled delay", "RFC 8289", &[CodelParameters::TABLE])
    };

    type Parameters = (CodelParameters, CodelRules);

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        Ok((CodelParameters::read(settings)?, CodelRules::read(settings)?))
    }

    fn build((p, rules): Self::Parameters, place: Place) -> Self {
        Self { tail: place.tail(false), held: Held::default(), controller: Controller::new(p, rules) }
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) {
        if self.tail.admits(self.held.backlog(), packet.bytes()) {
            self.controller.note_size(packet.bytes());
            self.held.push(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) -> Option<Packet> {
        self.controller.dequeue(now, &mut self.held, dropped)
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        std::iter::once(&self.held)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    /// Drops and marks at each departure, while packets arrive twice as fast as they leave and senders do not respond.
    fn overload(ecn: bool, capable: bool, seconds: f64) -> (Vec<Time>, Vec<Time>) {
        let p =
            CodelParameters { target: Time(5 * Time::MILLISECOND.0), interval: Time(100 * Time::MILLISECOND.0), ecn };
        let (mut controller, mut held) = (Controller::new(p, CodelRules { newton: false }), Held::default());
        let (mut dropped_at, mut marked_at, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        let flags = if capable { flag::ECT0 } else { 0 };
        let (step, mut now, mut number) = (Time(Time::MILLISECOND.0 / 10), Time::ZERO, 0);
        while now < Time::from_seconds(seconds) {
            for _ in 0..2 {
                controller.note_size(1000);
                held.push(Packet::new(now, now, FlowId(0), number, 1000, flags, 0));
                number += 1;
            }
            let sent = controller.dequeue(now, &mut held, &mut gone);
            if sent.is_some_and(|packet| packet.is_marked()) {
                marked_at.push(now);
            }
            dropped_at.extend(gone.drain(..).map(|_| now));
            now += step;
        }
        (dropped_at, marked_at)
    }

    #[test]
    fn drops_come_an_interval_over_the_root_of_their_number_apart() {
        // RFC 8289 section 3.3: the interval between drop n and drop n + 1 is interval / sqrt(n).
        let (dropped, marked) = overload(true, false, 2.0);
        assert!(marked.is_empty());
        // The delay exceeds 5 ms some 10 ms after the start. The first drop follows one interval later.
        assert!((dropped[0].seconds() - 0.11).abs() < 0.002, "{:?}", dropped[0]);
        let mut due = dropped[0].seconds();
        for (n, at) in dropped.iter().enumerate().skip(1) {
            due += 0.1 / libm::sqrt(n as f64);
            assert!((at.seconds() - due).abs() < 2e-4, "drop {n} at {} and not {due}", at.seconds());
        }
        assert!(dropped.len() > 90, "{}", dropped.len());
    }

    #[test]
    fn what_is_capable_of_ecn_is_marked_at_the_same_times() {
        let (dropped, _) = overload(true, false, 1.0);
        let (none, marked) = overload(true, true, 1.0);
        assert!(none.is_empty());
        assert_eq!(dropped.len(), marked.len());
        assert_eq!(overload(false, true, 1.0).0.len(), dropped.len());
    }

    #[test]
    fn newtons_steps_follow_the_root_of_a_number_that_grows_and_lag_behind_one_that_falls() {
        let exact = |n: u32| libm::sqrt(f64::from(n)).recip();
        let value = |root: InverseRoot| f64::from(root.0) / (1_u64 << 32) as f64;
        let mut root = InverseRoot::ONE;
        for n in 2..2000 {
            root = root.step(n);
            assert!(value(root) <= exact(n) && (n < 10 || value(root) > 0.98 * exact(n)), "{n}: {}", value(root));
        }
        // From 16 to 4: x(3 − 4x²)/2 with x = 1/4 is 0.34, and 1/√4 is 0.5.
        let lag = (2..=16).fold(InverseRoot::ONE, InverseRoot::step).step(4);
        assert!((value(lag) - 0.34375).abs() < 2e-3, "{}", value(lag));
    }

    #[test]
    fn a_queue_of_one_packet_is_left_alone() {
        let p = CodelParameters { target: Time(1), interval: Time(2), ecn: true };
        let (mut controller, mut held, mut gone) =
            (Controller::new(p, CodelRules { newton: false }), Held::default(), Vec::new());
        for second in 0..50 {
            let at = Time(second * Time::SECOND.0);
            controller.note_size(1000);
            held.push(Packet::new(at, at, FlowId(0), 0, 1000, 0, 0));
            assert!(controller.dequeue(at + Time(1 << 30), &mut held, &mut gone).is_some());
        }
        assert!(gone.is_empty());
    }
}
