//! DualPI2: a shallow queue for scalable flows and a queue for classic flows, coupled so that flows share the rate
//! evenly (RFC 9332, Appendix A).
//!
//! Variant: the scheduler is weighted round robin (allowed by Appendix A.1; used by Linux). The native marking of the
//! shallow queue is the step of Linux's `sch_dualpi2` and not the ramp of Appendix A. The base controller PI2 is that
//! of Appendix A.1 with Linux's constants. Up to rounding, Linux's constants are the results of the RFC's formulas for
//! RTT_max = 100 ms (update 15 ms, alpha 0.15, beta 3).

use elephan_cc::param::{BuildError, MS, NS, S, Settings, US, duration, num};

use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use super::{Backlog, DropTail};
use crate::packet::{Packet, flag};
use crate::random::Stream;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of DualPI2.
    pub struct DualPi2Parameters {
        /// Target delay of the classic queue.
        target: Time = duration(15.0 * MS, 1.0 * NS, 100.0 * S), "RFC 9332 Appendix A.1";
        /// Interval between two updates of the probability (Tupdate).
        update: Time = duration(16.0 * MS, 100.0 * US, 100.0 * S), "Linux sch_dualpi2.c; RFC 9332 Appendix A.1: min(target, RTT_max / 3)";
        /// Weight of the difference from the target.
        alpha: f64 = num(0.16, 0.0, 1e3, Unit::PerSecond), "Linux sch_dualpi2.c; RFC 9332 Appendix A.1: 0.1 Tupdate / RTT_max^2";
        /// Weight of the trend.
        beta: f64 = num(3.2, 0.0, 1e3, Unit::PerSecond), "Linux sch_dualpi2.c; RFC 9332 Appendix A.1: 0.3 / RTT_max";
        /// Coupling factor k: the marking probability of the scalable queue is k times the square root of the classic
        /// probability.
        coupling: f64 = num(2.0, 0.1, 100.0, Unit::None), "RFC 9332 Appendix A.1";
        /// Smallest delay at which every packet of the scalable queue is marked.
        step: Time = duration(1.0 * MS, 1.0 * NS, 100.0 * S), "Linux sch_dualpi2.c";
        /// Smallest fraction of the rate for the classic queue while both queues are busy.
        classic_share: f64 = num(0.1, 0.0, 1.0, Unit::None), "Linux sch_dualpi2.c";
    }
}

/// Both queues of a link.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    p: DualPi2Parameters,
    tail: DropTail,
    scalable: Held,
    classic: Held,
    /// p' of Appendix A: the classic probability is p'², and the coupled probability is k p'.
    base: f64,
    delay_before: Time,
    updated: Time,
    /// Bytes sent by the classic queue minus its share of all bytes sent; the classic queue is next if this difference
    /// is not positive.
    credit: f64,
    draws: Stream,
}

/// Largest credit of either queue, bytes: two full packets.
const CREDIT_MOST: f64 = 3000.0;

impl DualPi2 {
    fn new(tail: DropTail, p: DualPi2Parameters, draws: Stream) -> Self {
        Self {
            p,
            tail,
            scalable: Held::default(),
            classic: Held::default(),
            base: 0.0,
            delay_before: Time::ZERO,
            updated: Time::ZERO,
            credit: 0.0,
            draws,
        }
    }

    /// Applies the updates of the probability due by `now`.
    fn catch_up(&mut self, now: Time) {
        while self.updated + self.p.update <= now {
            self.updated += self.p.update;
            let at = self.updated;
            let delay = self.classic.head().map_or(Time::ZERO, |head| at.since(head.at));
            let (cur, before, target) = (delay.seconds(), self.delay_before.seconds(), self.p.target.seconds());
            let step = self.p.alpha * (cur - target) + self.p.beta * (cur - before);
            // At 1/k the scalable queue already marks every packet.
            self.base = (self.base + step).clamp(0.0, 1.0 / self.p.coupling.max(1.0));
            self.delay_before = delay;
        }
    }

    /// True if the classic queue is next.
    fn classic_first(&mut self) -> bool {
        match (self.scalable.head(), self.classic.head()) {
            (Some(_), Some(_)) => self.credit <= 0.0,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    fn account(&mut self, packet: &Packet, classic: bool) {
        let bytes = packet.bytes() as f64;
        let share = self.p.classic_share;
        let change = if classic { (1.0 - share) * bytes } else { -share * bytes };
        self.credit = (self.credit + change).clamp(-CREDIT_MOST, CREDIT_MOST);
        if self.backlog().packets == 0 {
            self.credit = 0.0;
        }
    }
}

impl AtDeparture for DualPi2 {
    const ENTRY: Entry =
        Entry::new("dualpi2", "Dual queue coupled AQM", "RFC 9332 Appendix A", &[DualPi2Parameters::TABLE]);

    type Parameters = DualPi2Parameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        DualPi2Parameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        Self::new(place.tail(false), p, place.draws)
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) {
        self.catch_up(packet.at);
        if !self.tail.admits(self.backlog(), packet.bytes()) {
            dropped.push(packet);
        } else if packet.flags() & flag::ECT1 != 0 {
            // A marked packet may be of either kind. Here a packet keeps ECT(1) in addition to the mark, so its kind is
            // known.
            self.scalable.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) -> Option<Packet> {
        self.catch_up(now);
        loop {
            let classic = self.classic_first();
            let packet = if classic { self.classic.take()? } else { self.scalable.take()? };
            self.account(&packet, classic);
            if !classic {
                let coupled = (self.p.coupling * self.base).min(1.0);
                // A single waiting packet does not count as a queue, not even on a slow link (Appendix A.1, Th_len).
                let stands = self.scalable.head().is_some() && now.since(packet.at) > self.p.step;
                let marks = stands || self.draws.uniform() < coupled;
                return Some(if marks { packet.marked() } else { packet });
            }
            // The square of the probability: both of two draws must be below it.
            let hit = self.draws.uniform().max(self.draws.uniform()) < self.base;
            if !hit {
                return Some(packet);
            }
            if packet.flags() & flag::ECT != 0 {
                return Some(packet.marked());
            }
            dropped.push(packet);
        }
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        [&self.scalable, &self.classic].into_iter()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.scalable.backlog() + self.classic.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    const MS: u64 = Time::MILLISECOND.0;

    fn dual() -> DualPi2 {
        let (target, update, step) = (Time(15 * MS), Time(16 * MS), Time(MS));
        let p = DualPi2Parameters { target, update, alpha: 0.16, beta: 3.2, coupling: 2.0, step, classic_share: 0.1 };
        DualPi2::new(DropTail::new(Some(100_000), None, false), p, Stream::new(1, "test"))
    }

    fn packet(at: Time, flags: u8) -> Packet {
        Packet::new(at, at, FlowId(0), 0, 1000, flags, 0)
    }

    #[test]
    fn the_classic_probability_is_the_square_of_the_scalable_one_over_k() {
        // RFC 9332 section 2.1: p_C = (p_CL / k)².
        let mut queue = dual();
        queue.base = 0.2;
        let (mut gone, mut marked) = (Vec::new(), 0);
        for _ in 0..100_000 {
            queue.enqueue(packet(Time(1), 0), &mut gone, &mut ());
            queue.dequeue(Time(1), &mut gone, &mut ());
            queue.enqueue(packet(Time(1), flag::ECT1), &mut gone, &mut ());
            marked += u32::from(queue.dequeue(Time(1), &mut gone, &mut ()).is_some_and(|p| p.is_marked()));
        }
        let (classic, scalable) = (gone.len() as f64 / 1e5, f64::from(marked) / 1e5);
        assert!((classic - 0.04).abs() < 0.003 && (scalable - 0.4).abs() < 0.008, "{classic} {scalable}");
    }

    #[test]
    fn the_scalable_queue_is_marked_beyond_its_step() {
        let mut queue = dual();
        let mut gone = Vec::new();
        queue.enqueue(packet(Time::ZERO, flag::ECT1), &mut gone, &mut ());
        queue.enqueue(packet(Time(MS), flag::ECT1), &mut gone, &mut ());
        assert!(queue.dequeue(Time(MS + 1), &mut gone, &mut ()).is_some_and(|p| p.is_marked()));
        assert!(queue.dequeue(Time(MS + 1), &mut gone, &mut ()).is_some_and(|p| !p.is_marked()));
    }

    #[test]
    fn the_classic_queue_gets_its_share_while_both_are_busy() {
        let mut queue = dual();
        let mut gone = Vec::new();
        for _ in 0..10_000 {
            queue.enqueue(packet(Time(1), 0), &mut gone, &mut ());
            queue.enqueue(packet(Time(1), flag::ECT1), &mut gone, &mut ());
        }
        let sent = (0..5000).filter_map(|_| queue.dequeue(Time(2), &mut gone, &mut ()));
        let classic = sent.filter(|p| p.flags() & flag::ECT1 == 0).count();
        assert!((495..=505).contains(&classic), "{classic}");
    }

    #[test]
    fn the_controller_moves_by_its_two_weights() {
        let mut queue = dual();
        let mut gone = Vec::new();
        queue.enqueue(packet(Time::ZERO, 0), &mut gone, &mut ());
        // At 16 ms the head has waited 16 ms: 0.16 × 1 ms + 3.2 × 16 ms.
        queue.catch_up(Time(16 * MS));
        assert!((queue.base - (0.16 * 0.001 + 3.2 * 0.016)).abs() < 1e-12, "{}", queue.base);
    }
}
