//! The path in virtual time: packets arrive at the times of the kernel's time stamps and cross the simulator's links.
//! The packets' times at the far end do not depend on the scheduling of this program.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use elephan_sim::Time;
use elephan_sim::link::{Link, LinkTotals};
use elephan_sim::queue::CheckedLink;
use elephan_sim::record::LinkSamples;
use elephan_sim::spec::Spec;

const PS_PER_NS: u64 = 1000;
const MUCH: Time = Time(500_000_000);

/// Direction of a packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the flow's sender.
    Forward = 0,
    /// From the flow's receiver.
    Backward = 1,
}

/// A packet in flight; its bytes are in `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passenger {
    /// Position of the packet's flow.
    pub flow: usize,
    /// Direction of the packet.
    pub way: Way,
    /// Size, bytes.
    pub bytes: u32,
    /// Slot of the packet's bytes.
    pub slot: usize,
}

/// A packet in front of a link or at its destination; ordered by time, then by arrival at the path.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: Time,
    number: u64,
    hop: usize,
    passenger: Passenger,
}

impl Event {
    fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Links, the paths over them, and the packets in flight.
pub struct Emulator {
    links: Vec<Link>,
    /// Links of each flow, forward and backward.
    routes: Vec<[Vec<usize>; 2]>,
    /// True for links with a single feeder, a link or a flow: their packets arrive in order and need no schedule.
    in_order: Vec<bool>,
    /// Latest arrival at each link.
    latest: Vec<Time>,
    /// Propagation delay from each link to the nearest destination, including the link's own delay.
    remaining: Vec<Time>,
    hops: BinaryHeap<Reverse<Event>>,
    deliveries: BinaryHeap<Reverse<Event>>,
    /// Instant before which all events have been processed.
    horizon: Time,
    number: u64,
    /// Packets that the kernel delivered out of order.
    pub displaced: u64,
    /// Packets delivered more than 0.5 ms out of order.
    pub displaced_much: u64,
    /// The largest time by which a packet was delivered out of order.
    pub displaced_most: Time,
    /// Slots of packets dropped or lost since this list was last emptied.
    pub lost: Vec<usize>,
}

impl Emulator {
    /// An emulator with the checked `links` of a scenario, for packets of up to `largest_bytes`.
    #[must_use]
    pub fn new(spec: &Spec, links: &[CheckedLink], largest_bytes: u64, sample_times: &Arc<[Time]>) -> Self {
        let links: Vec<Link> =
            links.iter().map(|link| Link::new(link, (1, largest_bytes), spec.seed, sample_times)).collect();
        let routes: Vec<[Vec<usize>; 2]> =
            spec.flows.iter().map(|flow| [flow.path.clone(), flow.reverse_path.clone()]).collect();
        let mut before: Vec<Vec<(usize, usize)>> = vec![Vec::new(); links.len()];
        let mut remaining = vec![Time::NEVER; links.len()];
        for (origin, route) in routes.iter().flatten().enumerate() {
            let mut previous = (origin, usize::MAX);
            for &link in route {
                before[link].push(previous);
                previous = (usize::MAX, link);
            }
            let mut behind = Time::ZERO;
            for &link in route.iter().rev() {
                behind += links[link].delay;
                remaining[link] = remaining[link].min(behind);
            }
        }
        let in_order = before.iter().map(|sources| sources.iter().all(|source| *source == sources[0])).collect();
        Self {
            in_order,
            latest: vec![Time::ZERO; links.len()],
            links,
            routes,
            remaining,
            hops: BinaryHeap::new(),
            deliveries: BinaryHeap::new(),
            horizon: Time::ZERO,
            number: 0,
            displaced: 0,
            displaced_much: 0,
            displaced_most: Time::ZERO,
            lost: Vec::new(),
        }
    }

    /// Records a packet that enters its path `ns` after the start.
    pub fn arrive(&mut self, passenger: Passenger, ns: u64) {
        self.number += 1;
        let event = Event { at: Time(ns * PS_PER_NS), number: self.number, hop: 0, passenger };
        self.enter(event);
    }

    /// Propagation delay of a flow's path in one direction, ns.
    #[must_use]
    pub fn propagation_ns(&self, flow: usize, way: Way) -> u64 {
        let route = &self.routes[flow][way as usize];
        route.iter().map(|&link| self.links[link].delay.0).sum::<u64>() / PS_PER_NS
    }

    /// Schedules a packet for its next link, or passes it over the link at once if no other packet can precede it.
    fn enter(&mut self, mut event: Event) {
        loop {
            let route = &self.routes[event.passenger.flow][event.passenger.way as usize];
            let Some(&link) = route.get(event.hop) else {
                self.deliveries.push(Reverse(event));
                return;
            };
            let earliest = if self.in_order[link] { self.latest[link] } else { self.horizon };
            if event.at < earliest {
                self.displaced += 1;
                self.displaced_much += u64::from(earliest - event.at > MUCH);
                self.displaced_most = self.displaced_most.max(earliest - event.at);
                event.at = earliest;
            }
            if !self.in_order[link] {
                self.hops.push(Reverse(event));
                return;
            }
            if !self.cross(&mut event, link) {
                return;
            }
        }
    }

    /// Passes a packet over a link. Returns true if the packet was not dropped; the packet is then in front of the next
    /// link.
    fn cross(&mut self, event: &mut Event, link: usize) -> bool {
        self.latest[link] = event.at;
        let bytes = u64::from(event.passenger.bytes);
        let found = &mut self.links[link];
        // The emulator does not write marks into packets, so no packet is treated as ECN-capable.
        let Some(carried) = found.carry(event.at, bytes, false) else {
            self.lost.push(event.passenger.slot);
            return false;
        };
        event.at = carried.at;
        event.hop += 1;
        true
    }

    /// Processes all events until `ns`; all packets that entered the path before `ns` must be known.
    pub fn advance(&mut self, ns: u64) {
        let until = Time(ns * PS_PER_NS);
        while self.hops.peek().is_some_and(|Reverse(event)| event.at <= until) {
            let Some(Reverse(mut event)) = self.hops.pop() else { break };
            self.horizon = event.at;
            let link = self.routes[event.passenger.flow][event.passenger.way as usize][event.hop];
            if self.cross(&mut event, link) {
                self.enter(event);
            }
        }
        self.horizon = self.horizon.max(until);
    }

    /// The next packet due by `ns`, with its due time, ns.
    pub fn next_due(&mut self, ns: u64) -> Option<(Passenger, u64)> {
        let Reverse(event) = self.deliveries.peek()?;
        let due_ns = event.at.0.div_ceil(PS_PER_NS);
        if due_ns > ns {
            return None;
        }
        self.deliveries.pop().map(|Reverse(event)| (event.passenger, due_ns))
    }

    /// Lower bound of the due time of any packet on the path, ns.
    #[must_use]
    pub fn quiet_until_ns(&self) -> u64 {
        let delivery = self.deliveries.peek().map_or(Time::NEVER, |Reverse(event)| event.at);
        let hop = self.hops.peek().map_or(Time::NEVER, |Reverse(event)| {
            let link = self.routes[event.passenger.flow][event.passenger.way as usize][event.hop];
            event.at + self.remaining[link]
        });
        delivery.min(hop).0 / PS_PER_NS
    }

    /// Shortest propagation delay of all paths, ns.
    #[must_use]
    pub fn shortest_ns(&self) -> u64 {
        let ways = (0..self.routes.len()).flat_map(|flow| [(flow, Way::Forward), (flow, Way::Backward)]);
        ways.map(|(flow, way)| self.propagation_ns(flow, way)).min().unwrap_or(0)
    }

    /// Number of packets in flight.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.hops.len() + self.deliveries.len()
    }

    /// Totals of each link.
    pub fn totals(&self) -> impl Iterator<Item = &LinkTotals> {
        self.links.iter().map(|link| &link.totals)
    }

    /// Ends the run, and returns the samples of the recorded links with their positions.
    pub fn finish(&mut self, end: Time) -> Vec<(usize, LinkSamples)> {
        let ended = self.links.iter_mut().map(|link| link.finish(end)).enumerate();
        ended.filter_map(|(position, samples)| Some((position, samples?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use elephan_sim::record::sample_times;

    /// A bottleneck of 8 Mbit/s (1 µs per byte) and 10 ms, with two flows over access links of 0 and of 1 ms.
    fn spec(limit: u64) -> Spec {
        let link = |name: &str, rate: u64, delay_ms: u64, limit: serde_json::Value| {
            serde_json::json!({
                "name": name, "rate_bps": rate, "delay_ps": delay_ms * 1_000_000_000, "record": name == "bottleneck",
                "queue": {"kind": "droptail", "limit_packets": limit, "limit_bytes": null, "count_in_service": false},
            })
        };
        let none = serde_json::Value::Null;
        let links = [
            link("bottleneck", 8_000_000, 10, limit.into()),
            link("reverse", 8_000_000, 10, none.clone()),
            link("source1", 8_000_000_000, 0, none.clone()),
            link("source2", 8_000_000_000, 1, none.clone()),
            link("sink1", 8_000_000_000, 0, none.clone()),
            link("sink2", 8_000_000_000, 1, none),
        ];
        let flow = |name: &str, path: [usize; 3]| {
            serde_json::json!({
                "name": name, "algorithm": "cubic", "start_ps": 0, "path": path, "reverse_path": [1],
                "stack": {
                    "payload_bytes": 1448, "header_bytes": 52, "ack_bytes": 52, "sack_block_bytes": 8,
                    "initial_window": 10, "ack_every": 2, "delayed_ack_ps": 1_000_000, "quick_acks": 0, "min_rto_ps": 1_000_000,
                    "max_rto_ps": 10_000_000_000_u64, "initial_rto_ps": 1_000_000, "rto_granularity_ps": 1, "detection": "rack",
                    "recovery": "prr", "limited_transmit": true, "dup_threshold": 3, "any_ack_restarts_timer": false,
                    "time_one_segment": false, "undo": true,
                },
            })
        };
        let whole = serde_json::json!({
            "duration_ps": 1_000_000_000_000_u64, "sample_period_ps": 100_000_000_000_u64,
            "measure": {"from_ps": 0, "to_ps": 1_000_000_000_000_u64}, "links": links,
            "flows": [flow("one", [2, 0, 4]), flow("two", [3, 0, 5])],
        });
        Spec::from_json(&whole.to_string()).expect("a spec")
    }

    fn emulator(limit: u64) -> Emulator {
        let spec = spec(limit);
        let end = Time(spec.duration_ps);
        let links = elephan_sim::queue::check(&spec.links).expect("the queues are right");
        Emulator::new(&spec, &links, 1500, &sample_times(Time(spec.sample_period_ps), Time::ZERO, end, end))
    }

    fn passenger(flow: usize, slot: usize) -> Passenger {
        Passenger { flow, way: Way::Forward, bytes: 1000, slot }
    }

    fn due(emulator: &mut Emulator, ns: u64) -> Vec<(usize, u64)> {
        emulator.advance(ns);
        std::iter::from_fn(|| emulator.next_due(ns)).map(|(packet, at)| (packet.slot, at)).collect()
    }

    #[test]
    fn packets_of_two_flows_queue_in_the_order_in_which_they_reach_the_bottleneck() {
        let mut emulator = emulator(10);
        // The second flow's packet is sent first, but takes 1 ms longer to the bottleneck.
        emulator.arrive(passenger(1, 0), 0);
        emulator.arrive(passenger(0, 1), 500_000);
        assert_eq!(emulator.quiet_until_ns(), 501_000 + 10_000_000);
        // A byte takes 1 ns on an access link and 1 µs on the bottleneck.
        assert_eq!(due(&mut emulator, 20_000_000), [(1, 11_502_000), (0, 13_502_000)]);
        assert_eq!(emulator.under_way(), 0);
    }

    #[test]
    fn when_this_program_looks_changes_nothing() {
        let arrivals: Vec<(usize, u64)> = (0..400).map(|k| (k % 2, (k as u64 * 613_777) % 900_000_000)).collect();
        let run = |step_ns: u64| {
            let mut sorted = arrivals.clone();
            sorted.sort_by_key(|(_, at)| *at);
            let (mut emulator, mut next, mut now, mut found) = (emulator(3), 0, 0, Vec::new());
            while now < 950_000_000 {
                now += step_ns;
                while next < sorted.len() && sorted[next].1 <= now {
                    emulator.arrive(passenger(sorted[next].0, next), sorted[next].1);
                    next += 1;
                }
                found.extend(due(&mut emulator, now));
            }
            assert_eq!(emulator.displaced, 0);
            let rows = emulator.finish(Time(1_000_000_000_000));
            (found, std::mem::take(&mut emulator.lost), format!("{:?}", rows[0].1.rows))
        };
        let often = run(10_000);
        assert!(!often.1.is_empty(), "the queue should overflow");
        assert_eq!(often, run(7_300_000));
    }

    #[test]
    fn a_packet_that_is_shown_too_late_does_not_stop_the_clock() {
        let mut emulator = emulator(10);
        emulator.advance(5_000_000);
        emulator.arrive(passenger(0, 0), 4_000_000);
        assert_eq!((emulator.displaced, emulator.displaced_most), (1, Time(999_000_000)));
        assert_eq!(due(&mut emulator, 30_000_000), [(0, 16_001_000)]);
    }

    #[test]
    fn what_does_not_fit_is_reported_by_its_slot() {
        let mut emulator = emulator(1);
        (0..4).for_each(|slot| emulator.arrive(passenger(0, slot), 0));
        assert_eq!(due(&mut emulator, 100_000_000).len(), 2);
        assert_eq!(emulator.lost, [2, 3]);
        assert_eq!(emulator.totals().next().map(|totals| totals.dropped), Some(2));
    }
}
