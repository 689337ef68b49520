//! FQ-CoDel: flows are hashed into queues. Each queue has its own CoDel, and the queues are served by deficit round
//! robin. Flows that just became busy have precedence for a short time (RFC 8290).

use std::collections::VecDeque;

use elephan_cc::param::{BuildError, Settings, flag, int};

use super::Backlog;
use super::codel::{CodelParameters, CodelRules, Controller};
use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use crate::packet::Packet;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of FQ-CoDel besides CoDel's.
    pub struct FqCodelParameters {
        /// Number of queues into which flows are hashed.
        queues: u32 = int(1024.0, 1.0, 65_536.0, Unit::None), "RFC 8290 section 5.2.5";
        /// Bytes that a queue may send in a turn.
        quantum: u32 = int(1514.0, 1.0, 1e6, Unit::Bytes), "RFC 8290 section 5.2.4";
        /// Largest number of packets that are dropped at once when the bound is exceeded.
        drop_batch: u32 = int(64.0, 1.0, 65_536.0, Unit::Packets), "RFC 8290 section 4.1";
    }
}

elephan_cc::params! {
    /// Rules of Linux's FQ-CoDel besides CoDel's.
    pub struct FqCodelRules {
        /// Drop and mark packets of a queue that is shorter than a packet too, while the link's queues together are longer.
        whole_backlog: bool = flag(false), "Linux 6.12, net/sched/sch_fq_codel.c";
        /// Add the packets dropped at the bound to the number from which CoDel derives the time of its next drop.
        count_bound_drops: bool = flag(false), "Linux 6.12, net/sched/sch_fq_codel.c";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct Bucket {
    held: Held,
    controller: Controller,
    deficit: i64,
    list: List,
}

/// One queue as its CoDel sees it.
struct Turn<'a> {
    held: &'a mut Held,
    /// Bytes of other queues that count as waiting.
    others: u64,
}

impl Source for Turn<'_> {
    fn take(&mut self) -> Option<Packet> {
        self.held.take()
    }

    fn bytes(&self) -> u64 {
        self.held.bytes() + self.others
    }
}

/// Queues of one link.
#[derive(Clone, Debug)]
pub struct FqCodel {
    buckets: Vec<Bucket>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    drop_batch: usize,
    rules: FqCodelRules,
    limit: Backlog,
    backlog: Backlog,
}

impl FqCodel {
    fn new(limit: Backlog, (p, own, rules, own_rules): <Self as AtDeparture>::Parameters) -> Self {
        let bucket =
            Bucket { held: Held::default(), controller: Controller::new(p, rules), deficit: 0, list: List::None };
        Self {
            buckets: vec![bucket; own.queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(own.quantum),
            drop_batch: own.drop_batch as usize,
            rules: own_rules,
            limit,
            backlog: Backlog::default(),
        }
    }

    fn forget(&mut self, packet: &Packet) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.bytes();
    }

    /// Drops packets at the head of the longest queue until half of its bytes are left or a batch is complete. One packet
    /// would make room too, but a search for the longest queue for each packet of an overload takes a router's time.
    fn drop_from_longest(&mut self, dropped: &mut Vec<Packet>) {
        // The first of the longest queues, so that ties depend only on the hash.
        let mut longest = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            if bucket.held.bytes() > self.buckets[longest].held.bytes() {
                longest = at;
            }
        }
        let (before, bytes) = (dropped.len(), self.buckets[longest].held.bytes());
        let most = bytes - (bytes / 2).max(1);
        while self.buckets[longest].held.bytes() > most && dropped.len() - before < self.drop_batch {
            let Some(packet) = self.buckets[longest].held.take() else { break };
            self.forget(&packet);
            dropped.push(packet);
        }
        if self.rules.count_bound_drops {
            self.buckets[longest].controller.count_others((dropped.len() - before) as u32);
        }
    }
}

impl AtDeparture for FqCodel {
    const ENTRY: Entry = Entry {
        additions: &[CodelRules::TABLE, FqCodelRules::TABLE],
        ..Entry::new(
            "fq_codel",
            "Flow queues with controlled delay; at the bound the longest queue drops half, from its head",
            "RFC 8290",
            &[CodelParameters::TABLE, FqCodelParameters::TABLE],
        )
    };

    type Parameters = (CodelParameters, FqCodelParameters, CodelRules, FqCodelRules);

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        Ok((
            CodelParameters::read(settings)?,
            FqCodelParameters::read(settings)?,
            CodelRules::read(settings)?,
            FqCodelRules::read(settings)?,
        ))
    }

    fn build(parameters: Self::Parameters, place: Place) -> Self {
        let (packets, bytes) = (place.limit_packets.unwrap_or(u64::MAX), place.limit_bytes.unwrap_or(u64::MAX));
        Self::new(Backlog { packets, bytes }, parameters)
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut impl PacketHeaders) {
        let at = (headers.address_hash(&packet) % self.buckets.len() as u64) as usize;
        let bucket = &mut self.buckets[at];
        bucket.controller.note_size(packet.bytes());
        bucket.held.push(packet);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.bytes();
        if bucket.list == List::None {
            (bucket.list, bucket.deficit) = (List::New, self.quantum);
            self.new.push_back(at as u32);
        }
        while self.backlog.packets > self.limit.packets || self.backlog.bytes > self.limit.bytes {
            self.drop_from_longest(dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let at = *list.front()?;
            let bucket = &mut self.buckets[at as usize];
            if bucket.deficit <= 0 {
                bucket.deficit += self.quantum;
                bucket.list = List::Old;
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            let before = dropped.len();
            let others = if self.rules.whole_backlog { self.backlog.bytes - bucket.held.bytes() } else { 0 };
            let mut source = Turn { held: &mut bucket.held, others };
            let sent = bucket.controller.dequeue(now, &mut source, dropped);
            dropped[before..].iter().for_each(|packet| self.forget(packet));
            if let Some(packet) = sent {
                self.buckets[at as usize].deficit -= packet.bytes() as i64;
                self.forget(&packet);
                return Some(packet);
            }
            // An empty queue of a new flow moves to the old flows first, so that a flow cannot keep its precedence.
            let bucket = &mut self.buckets[at as usize];
            if from_new && !self.old.is_empty() {
                bucket.list = List::Old;
                self.new.pop_front();
                self.old.push_back(at);
            } else {
                bucket.list = List::None;
                if from_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.buckets.iter().map(|bucket| &bucket.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    fn queue(packets: u64, bytes: u64) -> FqCodel {
        let p = CodelParameters {
            target: Time(5 * Time::MILLISECOND.0),
            interval: Time(100 * Time::MILLISECOND.0),
            ecn: true,
        };
        let own = FqCodelParameters { queues: 1024, quantum: 1514, drop_batch: 64 };
        let rules = (CodelRules { newton: false }, FqCodelRules { whole_backlog: false, count_bound_drops: false });
        FqCodel::new(Backlog { packets, bytes }, (p, own, rules.0, rules.1))
    }

    fn packet(flow: u32, segment: u32) -> Packet {
        Packet::new(Time(1), Time(1), FlowId(flow), segment, 1000, 0, 0)
    }

    #[test]
    fn busy_flows_share_evenly_and_a_new_one_goes_first() {
        let (mut queue, mut gone) = (queue(u64::MAX, u64::MAX), Vec::new());
        for segment in 0..100 {
            queue.enqueue(packet(1, segment), &mut gone, &mut ());
            queue.enqueue(packet(2, segment), &mut gone, &mut ());
        }
        let sent: Vec<u32> =
            (0..40).filter_map(|_| queue.dequeue(Time(2), &mut gone, &mut ())).map(|p| p.flow().0).collect();
        assert_eq!(sent.iter().filter(|flow| **flow == 1).count(), 20);
        queue.enqueue(packet(3, 0), &mut gone, &mut ());
        let next: Vec<u32> =
            (0..2).filter_map(|_| queue.dequeue(Time(2), &mut gone, &mut ())).map(|p| p.flow().0).collect();
        assert!(next.contains(&3), "{next:?}");
        assert_eq!((queue.backlog().packets, gone.len()), (159, 0));
    }

    #[test]
    fn at_the_bound_the_longest_queue_loses_half_of_its_packets_and_at_most_a_batch() {
        for (drop_batch, lost) in [(64, 5), (3, 3), (1, 1)] {
            let (mut queue, mut gone) = (queue(10, u64::MAX), Vec::new());
            queue.drop_batch = drop_batch;
            for segment in 0..9 {
                queue.enqueue(packet(1, segment), &mut gone, &mut ());
            }
            queue.enqueue(packet(2, 0), &mut gone, &mut ());
            queue.enqueue(packet(2, 1), &mut gone, &mut ());
            let heads = (0..lost).map(|segment| (1, segment)).collect::<Vec<_>>();
            assert_eq!(gone.iter().map(|p| (p.flow().0, p.segment())).collect::<Vec<_>>(), heads);
            assert_eq!(queue.backlog().packets, 11 - u64::from(lost));
        }
    }

    #[test]
    fn a_bound_in_bytes_takes_as_many_heads_as_it_needs() {
        let (mut queue, mut gone) = (queue(u64::MAX, 10_000), Vec::new());
        queue.drop_batch = 1;
        for segment in 0..10 {
            queue.enqueue(packet(1, segment), &mut gone, &mut ());
        }
        queue.enqueue(Packet::new(Time(1), Time(1), FlowId(2), 0, 1500, 0, 0), &mut gone, &mut ());
        assert_eq!(gone.iter().map(|p| (p.flow().0, p.segment())).collect::<Vec<_>>(), [(1, 0), (1, 1)]);
        assert_eq!(queue.backlog(), Backlog { packets: 9, bytes: 9500 });
    }

    #[test]
    fn a_short_queue_is_left_alone_unless_the_whole_backlog_counts() {
        for whole_backlog in [false, true] {
            let (mut queue, mut gone) = (queue(u64::MAX, u64::MAX), Vec::new());
            queue.rules.whole_backlog = whole_backlog;
            queue.quantum = 1000;
            for step in 0..100_u32 {
                let now = Time(u64::from(step + 1) * 20 * Time::MILLISECOND.0);
                for flow in 0..4 {
                    queue.enqueue(Packet::new(now, now, FlowId(flow), step, 1000, 0, 0), &mut gone, &mut ());
                }
                // One packet of each flow stays in its queue.
                while queue.backlog().packets > 4 {
                    queue.dequeue(now, &mut gone, &mut ());
                }
            }
            assert_eq!(gone.is_empty(), !whole_backlog, "{} packets were dropped", gone.len());
        }
    }

    #[test]
    fn everything_that_came_leaves_once_and_in_order_within_a_flow() {
        let (mut queue, mut gone) = (queue(u64::MAX, u64::MAX), Vec::new());
        for n in 0..3000_u32 {
            queue.enqueue(packet(n % 7, n / 7), &mut gone, &mut ());
        }
        let mut next = [0_u32; 7];
        while let Some(p) = queue.dequeue(Time(2), &mut gone, &mut ()) {
            assert_eq!(p.segment(), next[p.flow().index()]);
            next[p.flow().index()] += 1;
        }
        assert_eq!(next.iter().sum::<u32>(), 3000);
        assert_eq!(queue.backlog(), Backlog::default());
    }
}
