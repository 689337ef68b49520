//! FQ-CoDel: flows hashed into queues, each with CoDel, served by deficit round robin with a short precedence for flows
//! that just became busy (RFC 8290).

use std::collections::VecDeque;

use super::codel::{CodelParameters, Controller, Held, Source};
use super::{Backlog, ECN, Entry, number, seconds};
use crate::packet::Packet;
use crate::time::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "fq_codel",
    title: "Flow queues with controlled delay; at the bound the longest loses its head",
    source: "RFC 8290",
    parameters: &[
        seconds("target", 0.005, "queueing delay that may stand in a flow's queue"),
        seconds("interval", 0.1, "how long it may, about the largest RTT"),
        ECN,
        number("queues", 1024.0, (1.0, 65_536.0), "queues that flows are hashed into"),
        number("quantum", 1514.0, (1.0, 1e6), "bytes that a queue may send in a turn"),
    ],
};

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

/// The queues of one link.
#[derive(Clone, Debug)]
pub struct FqCodel {
    buckets: Vec<Bucket>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    limit: u64,
    backlog: Backlog,
}

/// Mixes a flow's number; what RFC 8290 does with the addresses and ports.
fn hash(flow: u32) -> u64 {
    let z = (u64::from(flow) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}

impl FqCodel {
    /// Empty queues.
    #[must_use]
    pub fn new(limit: Option<u64>, p: CodelParameters, queues: u32, quantum: u32) -> Self {
        let bucket = Bucket { held: Held::default(), controller: Controller::new(p), deficit: 0, list: List::None };
        Self {
            buckets: vec![bucket; queues.max(1) as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(quantum.max(1)),
            limit: limit.unwrap_or(u64::MAX),
            backlog: Backlog::default(),
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.buckets.iter().flat_map(|bucket| bucket.held.iter())
    }

    fn forget(&mut self, packet: &Packet) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.bytes();
    }

    pub(super) fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>) {
        let at = (hash(packet.flow()) % self.buckets.len() as u64) as usize;
        let bucket = &mut self.buckets[at];
        bucket.controller.note_size(packet.bytes());
        bucket.held.push(packet);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.bytes();
        if bucket.list == List::None {
            (bucket.list, bucket.deficit) = (List::New, self.quantum);
            self.new.push_back(at as u32);
        }
        if self.backlog.packets > self.limit {
            self.drop_from_longest(dropped);
        }
    }

    fn drop_from_longest(&mut self, dropped: &mut Vec<Packet>) {
        // The first of the longest: ties do not depend on anything but the hash.
        let mut longest = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            if bucket.held.bytes() > self.buckets[longest].held.bytes() {
                longest = at;
            }
        }
        if let Some(packet) = self.buckets[longest].held.take() {
            self.forget(&packet);
            dropped.push(packet);
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
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
            let sent = bucket.controller.dequeue(now, &mut bucket.held, dropped);
            dropped[before..].iter().for_each(|packet| self.forget(packet));
            if let Some(packet) = sent {
                self.buckets[at as usize].deficit -= packet.bytes() as i64;
                self.forget(&packet);
                return Some(packet);
            }
            // Empty: a new flow has to pass through the old ones once, so that it cannot keep its precedence.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit: Option<u64>) -> FqCodel {
        let p = CodelParameters {
            target: Time(5 * Time::MILLISECOND.0),
            interval: Time(100 * Time::MILLISECOND.0),
            ecn: true,
        };
        FqCodel::new(limit, p, 1024, 1514)
    }

    fn packet(flow: u32, segment: u32) -> Packet {
        Packet::new(Time(1), Time(1), flow, segment, 1000, 0, 0)
    }

    #[test]
    fn busy_flows_share_evenly_and_a_new_one_goes_first() {
        let (mut queue, mut gone) = (queue(None), Vec::new());
        for segment in 0..100 {
            queue.enqueue(packet(1, segment), &mut gone);
            queue.enqueue(packet(2, segment), &mut gone);
        }
        let sent: Vec<u32> = (0..40).filter_map(|_| queue.dequeue(Time(2), &mut gone)).map(|p| p.flow()).collect();
        assert_eq!(sent.iter().filter(|flow| **flow == 1).count(), 20);
        queue.enqueue(packet(3, 0), &mut gone);
        let next: Vec<u32> = (0..2).filter_map(|_| queue.dequeue(Time(2), &mut gone)).map(|p| p.flow()).collect();
        assert!(next.contains(&3), "{next:?}");
        assert_eq!((queue.backlog().packets, gone.len()), (159, 0));
    }

    #[test]
    fn at_the_bound_the_longest_queue_loses_its_head() {
        let (mut queue, mut gone) = (queue(Some(10)), Vec::new());
        for segment in 0..9 {
            queue.enqueue(packet(1, segment), &mut gone);
        }
        queue.enqueue(packet(2, 0), &mut gone);
        queue.enqueue(packet(2, 1), &mut gone);
        assert_eq!(gone.iter().map(|p| (p.flow(), p.segment())).collect::<Vec<_>>(), [(1, 0)]);
        assert_eq!(queue.backlog().packets, 10);
    }

    #[test]
    fn everything_that_came_leaves_once_and_in_order_within_a_flow() {
        let (mut queue, mut gone) = (queue(None), Vec::new());
        for n in 0..3000_u32 {
            queue.enqueue(packet(n % 7, n / 7), &mut gone);
        }
        let mut next = [0_u32; 7];
        while let Some(p) = queue.dequeue(Time(2), &mut gone) {
            assert_eq!(p.segment(), next[p.flow() as usize]);
            next[p.flow() as usize] += 1;
        }
        assert_eq!(next.iter().sum::<u32>(), 3000);
        assert_eq!(queue.backlog(), Backlog::default());
    }
}
