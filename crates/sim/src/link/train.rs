//! Trains on a link: one arrival that stands for several packets of one size, spread evenly over the time since the first.
//!
//! A train arrives with its last packet. A link passes packets on as they arrive (it does not wait for the last), so the
//! last one leaves when the transmitter has sent all of them, or one transmission after its arrival. While the queue has
//! packets, the order of packets of several flows changes neither the sum of their waits nor any departure of the
//! transmitter, so a link that takes the packets of a train together keeps throughput and the mean queue exact. A train that
//! does not fit into the queue is taken packet by packet, and what passes goes on as several trains.

use super::loss::Loss;
use super::{Admission, Carried, Link, Waiting};
use crate::queue::Backlog;
use crate::time::Time;

/// A train at its arrival.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    /// Arrival of the last packet.
    pub at: Time,
    /// Time by which the first packet is ahead of it.
    pub span: Time,
    /// Number of packets.
    pub count: u32,
    /// Size of each packet, bytes.
    pub bytes: u64,
}

/// Neighboring packets of a train that a link lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedTrain {
    /// Packets before these that the link drops or loses.
    pub before: u32,
    /// Packets that it lets through.
    pub count: u32,
    /// Packets behind these that it drops or loses.
    pub behind: u32,
    /// Time at which the last bit of the last of these reaches the far end.
    pub at: Time,
    /// Time by which the first of these is ahead of it there.
    pub span: Time,
}

impl Train {
    /// The train as the queue sees it. Of other flows, whose packets make this one's arrive more slowly than the link sends,
    /// those are counted that arrived in the meantime and whose trains are complete, which are too many for the first packet,
    /// but not those whose trains are not, which are too few for the last: on average, half of the time is right.
    fn as_queued(self, transmission: Time) -> Self {
        let sent = Time(transmission.0 * u64::from(self.count));
        let span = self.span.min(sent) + Time(self.span.since(sent).0 / 2);
        Self { span, ..self }
    }

    /// Arrival of the packet behind `place` others.
    fn arrival(&self, place: u32) -> Time {
        let gaps = u64::from(self.count.max(2) - 1);
        self.at.since(self.span) + Time(self.span.0 * u64::from(place) / gaps)
    }
}

impl Link {
    /// Handles the arrival of the packets of a train from the one behind `place` others on, at a link that decides at
    /// arrivals, up to the first drop behind one that passes. See [`Link::carry`].
    ///
    /// # Panics
    /// The errors of [`Link::carry`].
    pub fn carry_train(&mut self, train: &Train, place: u32) -> CarriedTrain {
        let queued = train.as_queued(self.transmission(train.bytes));
        if self.may_take_whole() {
            self.sample_before(train.at);
            if self.fits(&queued, place) {
                self.note_arrival(train.at);
                return self.carry_whole(train, place);
            }
        }
        let mut carried = CarriedTrain::default();
        let mut first = Time::ZERO;
        for place in place..train.count {
            let passed = self.carry(queued.arrival(place).max(self.last_arrival), train.bytes, false);
            match passed {
                // The packets of one event leave behind it.
                Some(Carried { at, .. }) => {
                    let at = at.max(train.at + self.delay);
                    first = if carried.count == 0 { at } else { first };
                    carried = CarriedTrain { count: carried.count + 1, at, span: at.since(first), ..carried };
                }
                None if carried.count == 0 => carried.before += 1,
                None => return CarriedTrain { behind: 1, ..carried },
            }
        }
        carried
    }

    /// True if a train may need no decision for each packet.
    fn may_take_whole(&self) -> bool {
        match self.admission {
            Admission::Everything => true,
            Admission::Bound => matches!(self.loss, Loss::None),
            Admission::Discipline | Admission::AtDeparture => false,
        }
    }

    /// True if all packets of a train, from the one behind `place` others on, fit into the queue, which is longest at the
    /// arrival of the first or of the last.
    fn fits(&mut self, train: &Train, place: u32) -> bool {
        let others = train.count - place - 1;
        if self.admission == Admission::Everything {
            return true;
        }
        let Some(uniform) = self.uniform else {
            self.drain(train.at);
            let Backlog { packets, bytes } = self.backlog;
            let before = u64::from(others);
            let backlog = Backlog { packets: packets + before, bytes: bytes + before * train.bytes };
            return self.queue.admits(backlog, train.bytes);
        };
        let (first, sent) = (train.arrival(place), Time(uniform.transmission.0 * u64::from(others)));
        uniform.bytes == train.bytes
            && self.free.since(first) <= uniform.room
            && (self.free.max(first) + sent).since(train.at) <= uniform.room
    }

    /// Handles the packets of a train that all pass.
    fn carry_whole(&mut self, train: &Train, place: u32) -> CarriedTrain {
        let (count, transmission, free) = (train.count - place, self.transmission(train.bytes), self.free);
        let first = train.arrival(place);
        let begin = free.max(first);
        // A transmitter that is free before the last packet arrives waits for it.
        self.free = (begin + Time(transmission.0 * u64::from(count))).max(train.at + transmission);
        let (first_waits, last_waits) = (begin.since(first), self.free.since(train.at + transmission));
        let bytes = u64::from(count) * train.bytes;
        self.totals.accepted += u64::from(count);
        self.totals.accepted_bytes += bytes;
        if self.admission == Admission::Bound && self.uniform.is_none() {
            let until = if self.hold_while_sent { self.free } else { self.free.since(transmission) };
            let all = Waiting { until, bytes: train.bytes as u32, packets: count };
            let packets = all.left(train.at, transmission);
            if packets > 0 {
                self.waiting.push(Waiting { packets, ..all });
                self.backlog.packets += u64::from(packets);
                self.backlog.bytes += u64::from(packets) * train.bytes;
            }
            if let Some(probe) = self.probe.as_mut().filter(|_| packets < count) {
                probe.in_service_bytes = train.bytes;
            }
        }
        if let Some(probe) = &mut self.probe {
            probe.waits += u128::from(first_waits.0 + last_waits.0) * u128::from(count) / 2;
            probe.max = probe.max.max(self.backlog.packets);
            probe.least_busy = probe.least_busy.min(free.since(first));
            probe.most_busy = probe.most_busy.max(self.free.since(train.at));
        }
        let span = self.free.since(begin + transmission);
        CarriedTrain { count, at: self.free + self.delay, span, ..CarriedTrain::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue;
    use crate::spec::LinkSpec;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// A recorded link of 1 Gbit/s, on which a packet of 1500 bytes takes 12 µs.
    fn link(limit: Option<u64>, sizes: (u64, u64)) -> Link {
        let spec = LinkSpec { record: true, ..LinkSpec::droptail("l", 1_000_000_000, Time(0), limit) };
        let checked = queue::check(std::slice::from_ref(&spec)).expect("the link is right");
        Link::new(&checked[0], sizes, 1, &Arc::from([Time::SECOND]))
    }

    /// Packets that pass, times of the last one and of the transmitter, and the sum of waiting times, for trains of
    /// (µs since the last, µs of span, packets), taken whole or packet by packet.
    fn carried(mut link: Link, trains: &[(u64, u64, u32)], whole: bool) -> (u32, Time, u128) {
        let (mut at, mut passed, mut last) = (Time::ZERO, 0, Time::ZERO);
        for &(gap, span, count) in trains {
            // Packets of one flow do not arrive more slowly than the link before them sends.
            let span = Time(if count > 1 { span.min(12 * u64::from(count)) * Time::MICROSECOND.0 } else { 0 });
            at = at + span + Time(gap * Time::MICROSECOND.0);
            let train = Train { at, span, count, bytes: 1500 };
            let mut place = 0;
            while place < count {
                let carried = if whole {
                    link.carry_train(&train, place)
                } else {
                    let one = link.carry(train.arrival(place), 1500, false);
                    let count = u32::from(one.is_some());
                    CarriedTrain { count, behind: 1 - count, at: one.map_or(last, |one| one.at), ..Default::default() }
                };
                place += carried.before + carried.count + carried.behind;
                passed += carried.count;
                last = last.max(carried.at);
            }
        }
        (passed, last, link.probe.map_or(0, |probe| probe.waits))
    }

    #[test]
    fn samples_see_the_packets_of_a_train_leave_one_by_one() {
        let spec = LinkSpec { record: true, ..LinkSpec::droptail("l", 1_000_000_000, Time(0), Some(50)) };
        let checked = queue::check(std::slice::from_ref(&spec)).expect("the link is right");
        let ends: Arc<[Time]> = (1..40).map(|i| Time(7 * i * Time::MICROSECOND.0)).collect();
        let of = |whole: bool| {
            let mut link = Link::new(&checked[0], (60, 1500), 1, &ends);
            for at in [Time::ZERO, Time(80 * Time::MICROSECOND.0)] {
                let train = Train { at, span: Time::ZERO, count: 8, bytes: 1500 };
                if whole {
                    link.carry_train(&train, 0);
                } else {
                    (0..8).for_each(|_| assert!(link.carry(at, 1500, false).is_some()));
                }
            }
            let samples = link.finish(Time(300 * Time::MICROSECOND.0)).expect("the link is recorded");
            let rows = samples.rows.iter();
            rows.map(|row| (row.queue, row.queue_min, row.queue_max, row.queue_mean, row.delivered_bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(true), of(false));
    }

    proptest! {
        #[test]
        fn a_train_leaves_as_its_packets_do(
            trains in prop::collection::vec((1_u64..3000, 0_u64..2000, 1_u32..200), 1..30),
            limit in 1_u64..400,
            mixed in any::<bool>(),
        ) {
            let link = || link(Some(limit), if mixed { (60, 1500) } else { (1500, 1500) });
            let (whole, each) = (carried(link(), &trains, true), carried(link(), &trains, false));
            // A queue whose packets differ in size empties while a train arrives, which it learns only at its end.
            let most = if mixed { trains.iter().map(|train| train.2).max().unwrap_or(0) } else { 0 };
            prop_assert!(whole.0.abs_diff(each.0) <= most * trains.len() as u32, "{whole:?} {each:?}");
            if whole.0 == each.0 {
                prop_assert_eq!(whole.1, each.1);
                let slack: u128 = trains.iter().map(|&(_, span, count)| u128::from(u64::from(count) * span) * 1_000_000).sum();
                prop_assert!(whole.2.abs_diff(each.2) <= slack, "{whole:?} {each:?}");
            }
        }
    }
}
