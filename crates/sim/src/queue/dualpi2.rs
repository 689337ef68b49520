//! DualPI2: a shallow queue for scalable flows and a queue for classic flows, coupled so that flows share the rate
//! evenly (RFC 9332, Appendix A).
//!
//! Variant: the scheduler is weighted round robin (allowed by Appendix A.1), with Linux's credit. The native marking of the
//! shallow queue is the step of Linux's `sch_dualpi2` and not the ramp of Appendix A. The base controller PI2 is that
//! of Appendix A.1 with Linux's constants. Up to rounding, Linux's constants are the results of the RFC's formulas for
//! RTT_max = 100 ms (update 15 ms, alpha 0.15, beta 3). As in Linux, the probabilities apply only while the backlog is two
//! full packets. With `step_alone` the step is Linux's too, and no rule differs.

use elephan_cc::param::{BuildError, MS, NS, S, Settings, US, duration, flag as switch, int, num};

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
        /// Mark at the step a packet behind which none waits too.
        step_alone: bool = switch(false), "RFC 9332 Appendix A.1: Th_len; on in Linux sch_dualpi2.c (min_qlen_step 0)";
        /// On overload, where the coupled probability would exceed 1, drop packets of both queues with the classic
        /// probability, ECN-capable or not. Otherwise the coupled probability is at most 1, and the queue may grow to its
        /// limit.
        drop_overload: bool = switch(true), "RFC 9332 Appendix A.1; Linux sch_dualpi2.c";
        /// Backlog of both queues below which the probabilities do not apply: two full Ethernet packets.
        least_backlog: u32 = int(3028.0, 0.0, 1e9, Unit::Bytes), "Linux sch_dualpi2.c";
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
    /// Credit of the classic queue, bytes, which is next if the credit is positive (`c_protection_credit`). It changes
    /// while both queues are busy, by the other queue's share of the bytes that one of them sends.
    credit: f64,
    draws: Stream,
}

/// Full Ethernet packet, bytes.
const FULL: f64 = 1514.0;

impl DualPi2 {
    fn new(tail: DropTail, p: DualPi2Parameters, draws: Stream) -> Self {
        let credit = first_credit(&p);
        Self {
            p,
            tail,
            scalable: Held::default(),
            classic: Held::default(),
            base: 0.0,
            delay_before: Time::ZERO,
            updated: Time::ZERO,
            credit,
            draws,
        }
    }

    /// Applies the updates of the probability due by `now`.
    fn catch_up(&mut self, now: Time) {
        while self.updated + self.p.update <= now {
            self.updated += self.p.update;
            let at = self.updated;
            let waited = |queue: &Held| queue.head().map_or(Time::ZERO, |head| at.since(head.at));
            let delay = waited(&self.classic).max(waited(&self.scalable));
            let (cur, before, target) = (delay.seconds(), self.delay_before.seconds(), self.p.target.seconds());
            let step = self.p.alpha * (cur - target) + self.p.beta * (cur - before);
            // At 1/k the scalable queue already marks every packet.
            let most = if self.p.drop_overload { 1.0 } else { 1.0 / self.p.coupling.max(1.0) };
            self.base = (self.base + step).clamp(0.0, most);
            self.delay_before = delay;
        }
    }

    /// True if the classic queue is next.
    fn classic_first(&mut self) -> bool {
        match (self.scalable.head(), self.classic.head()) {
            (Some(_), Some(_)) => self.credit > 0.0,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    /// Counts a packet that leaves one queue while the other one is busy or not.
    fn account(&mut self, packet: &Packet, classic: bool) {
        let share = self.p.classic_share;
        let other = if classic { &self.scalable } else { &self.classic };
        if other.head().is_some() {
            self.credit += packet.bytes() as f64 * if classic { share - 1.0 } else { share };
        } else if self.backlog().packets == 0 {
            self.credit = first_credit(&self.p);
        }
    }

    /// Decides by the probabilities about a packet that leaves a queue; `None` drops it.
    fn pass(&mut self, packet: Packet, classic: bool) -> Option<Packet> {
        if self.backlog().bytes < self.p.least_backlog.into() {
            return Some(packet);
        }
        let coupled = self.p.coupling * self.base;
        let is_overload = coupled > 1.0;
        // The square of the probability: both of two draws must be below it.
        let mut is_hit = || self.draws.uniform().max(self.draws.uniform()) < self.base;
        if classic {
            let is_capable = packet.flags() & flag::ECT != 0 && !is_overload;
            return if !is_hit() { Some(packet) } else { is_capable.then(|| packet.marked()) };
        }
        if is_overload {
            return (!is_hit()).then(|| packet.marked());
        }
        Some(if self.draws.uniform() < coupled { packet.marked() } else { packet })
    }
}

/// Credit with which a busy time begins: the scalable queue is ahead by its larger share of a full packet, so that it
/// sends some packets before the classic queue has its turn (`dualpi2_calculate_c_protection`, whose shares are in per cent).
fn first_credit(p: &DualPi2Parameters) -> f64 {
    FULL * (2.0 * p.classic_share - 1.0)
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
            let taken = if classic { self.classic.take()? } else { self.scalable.take()? };
            let Some(packet) = self.pass(taken, classic) else {
                dropped.push(taken);
                continue;
            };
            self.account(&packet, classic);
            // A single waiting packet does not count as a queue, not even on a slow link (Appendix A.1, Th_len).
            let stands = !classic && (self.p.step_alone || self.scalable.head().is_some());
            let is_late = stands && now.since(packet.at) > self.p.step;
            return Some(if is_late { packet.marked() } else { packet });
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
        let p = DualPi2Parameters {
            target,
            update,
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step,
            step_alone: false,
            drop_overload: true,
            least_backlog: 0,
            classic_share: 0.1,
        };
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

    #[test]
    fn the_controller_follows_the_longer_wait_of_both_queues() {
        // RFC 9332, Appendix A.1: curq = max(cq.time(), lq.time()).
        let mut queue = dual();
        let mut gone = Vec::new();
        queue.enqueue(packet(Time(8 * MS), 0), &mut gone, &mut ());
        queue.enqueue(packet(Time::ZERO, flag::ECT1), &mut gone, &mut ());
        queue.catch_up(Time(16 * MS));
        assert!((queue.base - (0.16 * 0.001 + 3.2 * 0.016)).abs() < 1e-12, "{}", queue.base);
    }

    #[test]
    fn on_overload_both_queues_drop_with_the_classic_probability() {
        let mut queue = dual();
        (queue.base, queue.updated) = (0.8, Time(MS));
        let (mut gone, mut marked) = (Vec::new(), 0);
        for kind in [flag::ECT0, flag::ECT1] {
            gone.clear();
            for _ in 0..10_000 {
                queue.enqueue(packet(Time(MS), kind), &mut gone, &mut ());
                let left = queue.dequeue(Time(MS), &mut gone, &mut ());
                marked += u32::from(left.is_some_and(|p| p.is_marked()));
            }
            assert!((gone.len() as f64 / 1e4 - 0.64).abs() < 0.02, "{kind}: {}", gone.len());
        }
        // Every packet of the scalable queue that is left is marked, and none of the other.
        assert!((f64::from(marked) / 1e4 - 0.36).abs() < 0.02, "{marked}");
        queue.p.drop_overload = false;
        queue.catch_up(Time(17 * MS));
        assert!(queue.base <= 0.5);
    }

    #[test]
    fn a_short_backlog_is_neither_marked_nor_dropped_by_chance() {
        let mut queue = dual();
        (queue.base, queue.p.least_backlog) = (0.5, 3028);
        let mut gone = Vec::new();
        for flags in [0, flag::ECT0, flag::ECT1] {
            (0..4).for_each(|_| queue.enqueue(packet(Time(1), flags), &mut gone, &mut ()));
            let mut left: Vec<bool> =
                std::iter::from_fn(|| queue.dequeue(Time(1), &mut gone, &mut ())).map(|p| p.is_marked()).collect();
            // The last three leave at most 2000 bytes behind them.
            left.reverse();
            assert_eq!(left[..3], [false; 3]);
        }
    }

    #[test]
    fn a_packet_that_waits_alone_is_marked_at_the_step_where_linux_marks_it() {
        let mut queue = dual();
        let mut gone = Vec::new();
        for (step_alone, marked) in [(false, false), (true, true)] {
            queue.p.step_alone = step_alone;
            queue.enqueue(packet(Time::ZERO, flag::ECT1), &mut gone, &mut ());
            let left = queue.dequeue(Time(MS + 1), &mut gone, &mut ());
            assert_eq!(left.map(|p| p.is_marked()), Some(marked));
        }
    }

    #[test]
    fn a_busy_time_begins_with_packets_of_the_scalable_queue() {
        // Linux: 80 % of a full packet of 1514 bytes, in steps of 10 % of 1000 bytes, and then one of ten packets is classic.
        let mut queue = dual();
        let mut gone = Vec::new();
        for _ in 0..100 {
            queue.enqueue(packet(Time(1), 0), &mut gone, &mut ());
            queue.enqueue(packet(Time(1), flag::ECT1), &mut gone, &mut ());
        }
        let sent: Vec<bool> = (0..50)
            .filter_map(|_| queue.dequeue(Time(2), &mut gone, &mut ()))
            .map(|p| p.flags() & flag::ECT1 == 0)
            .collect();
        assert_eq!(sent.iter().position(|&classic| classic), Some(13));
        assert_eq!(sent.iter().filter(|&&classic| classic).count(), 4);
    }
}
