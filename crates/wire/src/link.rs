//! `elephan-wire link`: carries real packets between two devices with the behavior of the scenario's links.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::Ipv4Addr;

use elephan_sim::Time;
use elephan_sim::queue::{CheckedLink, check};
use elephan_sim::record::RttHistogram;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::emulator::{Emulator, Passenger, Way};
use crate::frame::{self, Packet, Tcp};
use crate::lateness::Histogram;
use crate::plan::{Plan, Problem, doing};
use crate::port::{Frame, Port};
use crate::start::started;
use crate::sys;

/// Capacity of each ring, frames: more than 0.1 s at 1 Gbit/s.
const RING_FRAMES: usize = 16_384;
/// Longest time between two reads of the rings, ns; the rings can hold the packets of a much longer time.
const LONGEST_SLEEP_NS: i64 = 1_000_000;
/// Time after the end for which the program still reads, ns, so that no earlier packet is lost.
const AFTER_END_NS: i64 = 20_000_000;
/// Runtime and period of the reservation with `SCHED_DEADLINE`, ns.
pub const RESERVED_NS: (u64, u64) = (980_000, 1_000_000);

/// Measurements of a flow on the path.
#[derive(Default)]
struct Measured {
    /// Connections by their two ports: the sender's port is the first of the pair.
    connections: HashMap<(u16, u16), Connection>,
    wire_bytes: u64,
    latest_rtt_ns: Option<i64>,
    rtts: RttHistogram,
    rtt_sum_ns: i128,
    rtt_count: u64,
    rtt_min_ns: i64,
    /// Time of arrival of the ACK of a sized transfer's last byte, ns.
    completed_ns: Option<i64>,
    /// Received bytes, bytes on the wire and the latest round trip at each sample time.
    samples: Vec<(u64, u64, Option<f64>)>,
}

impl Measured {
    fn received_bytes(&self) -> u64 {
        self.connections.values().map(Connection::received_bytes).sum()
    }
}

/// Numbers of packets that did not reach the other side for reasons other than the links.
#[derive(Default)]
struct Troubles {
    /// Packets that belong to no flow.
    unknown: u64,
    /// Packets that the device refused.
    refused: u64,
}

/// State of the running emulator.
struct Bottleneck<'a> {
    plan: &'a Plan,
    ports: [Port; 2],
    emulator: Emulator,
    by_address: HashMap<(Ipv4Addr, Ipv4Addr), (usize, Way)>,
    flows: Vec<Measured>,
    slots: Vec<Vec<u8>>,
    free: Vec<usize>,
    /// Packets before the run: due time, number in the order of arrival, slot and direction.
    apart: BinaryHeap<Reverse<(i64, u64, usize, usize)>>,
    apart_count: u64,
    times: Vec<i64>,
    sampled: usize,
    started_ns: i64,
    wall_ahead_ns: i64,
    carried: u64,
    delivered: u64,
    lateness: Histogram,
    /// Delays of the receivers' ACKs.
    answers: Histogram,
    troubles: Troubles,
}

/// Runs the path: reports that it is ready, waits for the start, and returns its log.
///
/// # Errors
/// A device does not exist, or this process may not open it.
pub fn run(plan: &Plan, devices: [&str; 2]) -> Result<Value, Problem> {
    let links = check(&plan.spec.links)?;
    let open = |device: &str| {
        sys::switch_offloads_off(device).map_err(doing("offloads"))?;
        Port::open(device, plan.largest_bytes as usize + frame::ETHERNET_BYTES, RING_FRAMES).map_err(doing(device))
    };
    let ports = [open(devices[0])?, open(devices[1])?];
    let started_ns = started()?;
    sys::keep_processors_awake();
    // The reservation is requested last, since a thread with a reservation cannot start other threads.
    let scheduling = match sys::reserve_processor(RESERVED_NS.0, RESERVED_NS.1) {
        Ok(()) => format!("SCHED_DEADLINE {}/{} µs", RESERVED_NS.0 / 1000, RESERVED_NS.1 / 1000),
        Err(error) => format!("time-sharing (SCHED_DEADLINE: {error})"),
    };
    let mut bottleneck = Bottleneck::new(plan, &links, ports, started_ns);
    bottleneck.carry_all();
    let mut log = bottleneck.log();
    log["scheduling"] = scheduling.into();
    log["processor_s"] = sys::thread_seconds().into();
    Ok(log)
}

impl<'a> Bottleneck<'a> {
    fn new(plan: &'a Plan, links: &[CheckedLink], ports: [Port; 2], started_ns: i64) -> Self {
        let times = plan.sample_times();
        let mut by_address = HashMap::new();
        // Only the first of two mirrored flows is registered.
        for (flow, ends) in plan.flows.iter().enumerate().take(if plan.mirrored { 1 } else { usize::MAX }) {
            by_address.insert((ends.sender, ends.receiver), (flow, Way::Forward));
            by_address.insert((ends.receiver, ends.sender), (flow, Way::Backward));
        }
        Self {
            plan,
            ports,
            emulator: Emulator::new(&plan.spec, links, u64::from(plan.largest_bytes), &times),
            by_address,
            flows: plan.flows.iter().map(|_| Measured { rtt_min_ns: i64::MAX, ..Measured::default() }).collect(),
            slots: Vec::new(),
            free: Vec::new(),
            apart: BinaryHeap::new(),
            apart_count: 0,
            times: times.iter().map(|time| (time.0 / 1000) as i64).collect(),
            sampled: 0,
            started_ns,
            wall_ahead_ns: sys::wall_ahead_ns(),
            carried: 0,
            delivered: 0,
            lateness: Histogram::default(),
            answers: Histogram::default(),
            troubles: Troubles::default(),
        }
    }

    fn now_ns(&self) -> i64 {
        sys::monotonic_ns() - self.started_ns
    }

    fn carry_all(&mut self) {
        let end_ns = self.plan.end_ns();
        let spin_ns = i64::from(self.plan.spin_us) * 1000;
        let nap_ns = i64::from(self.plan.nap_us) * 1000;
        let tick_ns = LONGEST_SLEEP_NS.min(self.emulator.shortest_ns() as i64 / 2).max(1000);
        while !sys::stop_asked() {
            let now = self.now_ns();
            if now >= end_ns + AFTER_END_NS {
                break;
            }
            self.receive(now);
            self.deliver(now);
            let quiet = i64::try_from(self.emulator.quiet_until_ns()).unwrap_or(i64::MAX);
            let apart = self.apart.peek().map_or(i64::MAX, |Reverse((due, ..))| *due);
            self.wait(quiet.min(apart).min(now + tick_ns).max(now + nap_ns), spin_ns);
        }
    }

    fn wait(&self, until: i64, spin_ns: i64) {
        if until - spin_ns > self.now_ns() {
            sys::sleep_until(self.started_ns + until - spin_ns);
        }
        while self.now_ns() < until {
            std::hint::spin_loop();
        }
    }

    /// Reads all packets that arrived before `now`.
    fn receive(&mut self, now: i64) {
        let to_run_ns = self.wall_ahead_ns + self.started_ns;
        for side in 0..2 {
            loop {
                let mut slot = self.free.pop().unwrap_or(self.slots.len());
                if slot == self.slots.len() {
                    self.slots.push(Vec::with_capacity(2048));
                }
                let mut bytes = std::mem::take(&mut self.slots[slot]);
                let mut came = None;
                let any = self.ports[side].receive(|Frame { wall_ns, bytes: received }| {
                    bytes.clear();
                    bytes.extend_from_slice(received);
                    came = frame::read(received).map(|packet| (wall_ns - to_run_ns, packet));
                });
                self.slots[slot] = bytes;
                let at = came.map(|(at, _)| at);
                if !came.is_some_and(|(at, packet)| self.accept(at, packet, slot)) {
                    self.free.push(std::mem::replace(&mut slot, usize::MAX));
                }
                if !any || at.is_some_and(|at| at > now) {
                    break;
                }
            }
        }
    }

    /// Returns true if a packet is carried; its slot is then in use.
    fn accept(&mut self, at: i64, packet: Packet, slot: usize) -> bool {
        let Some(&(flow, way)) = self.by_address.get(&(packet.source, packet.destination)) else {
            self.troubles.unknown += 1;
            return false;
        };
        if at > self.plan.end_ns() {
            return false;
        }
        if at < 0 {
            let due = at + self.emulator.propagation_ns(flow, way) as i64;
            self.apart_count += 1;
            self.apart.push(Reverse((due, self.apart_count, slot, way as usize)));
            return true;
        }
        if let Some(tcp) = packet.tcp {
            self.note_arrival(flow, way, tcp, at);
        }
        self.carried += 1;
        self.emulator.arrive(Passenger { flow, way, bytes: packet.bytes, slot }, at as u64);
        true
    }

    /// Flow of a packet's data, and flow whose data the packet acknowledges.
    fn roles(&self, flow: usize, way: Way) -> (Option<usize>, Option<usize>) {
        let other = (self.plan.mirrored && flow == 0).then_some(1);
        if way == Way::Forward { (Some(flow), other) } else { (other, Some(flow)) }
    }

    fn note_arrival(&mut self, flow: usize, way: Way, tcp: Tcp, at: i64) {
        let (data, answers) = self.roles(flow, way);
        if let Some(flow) = data.filter(|_| tcp.payload > 0) {
            let ports = (tcp.source_port, tcp.destination_port);
            self.flows[flow].connections.entry(ports).or_default().on_sent(tcp.sequence, tcp.payload, at);
        }
        if let Some(flow) = answers.filter(|_| tcp.ack) {
            let connection = self.flows[flow].connections.get_mut(&(tcp.destination_port, tcp.source_port));
            if let Some(held_ns) = connection.and_then(|c| c.on_answered(tcp.acknowledged, at)) {
                self.answers.add(held_ns.max(0) as u64);
            }
        }
    }

    /// Delivers the due packets.
    fn deliver(&mut self, now: i64) {
        while let Some(&Reverse((_, _, slot, way))) = self.apart.peek().filter(|Reverse((due, ..))| *due <= now) {
            self.apart.pop();
            self.hand_on(slot, way);
        }
        if now < 0 {
            return;
        }
        let until = now.min(self.plan.end_ns()) as u64;
        self.emulator.advance(until);
        self.free.append(&mut self.emulator.lost);
        while let Some((passenger, due)) = self.emulator.next_due(until) {
            self.sample_before(due as i64);
            self.hand_on(passenger.slot, passenger.way as usize);
            self.delivered += 1;
            let at = self.now_ns();
            self.lateness.add((at - due as i64).max(0) as u64);
            self.measure(passenger, at);
        }
        self.sample_before(until as i64);
    }

    fn hand_on(&mut self, slot: usize, way: usize) {
        let other_side = 1 - way;
        if self.ports[other_side].send(&self.slots[slot]).is_err() {
            self.troubles.refused += 1;
        }
        self.free.push(slot);
    }

    /// Updates a flow's measurements with a delivered packet.
    fn measure(&mut self, passenger: Passenger, at: i64) {
        let Some(Packet { tcp: Some(tcp), .. }) = frame::read(&self.slots[passenger.slot]) else { return };
        let (data, answers) = self.roles(passenger.flow, passenger.way);
        if let Some(flow) = data.filter(|_| tcp.payload > 0) {
            let flow = &mut self.flows[flow];
            flow.wire_bytes += u64::from(passenger.bytes);
            if let Some(connection) = flow.connections.get_mut(&(tcp.source_port, tcp.destination_port)) {
                connection.on_received(tcp.sequence, tcp.payload, at);
            }
        }
        if let Some(flow) = answers.filter(|_| tcp.ack) {
            self.measure_round_trip(flow, tcp, at);
        }
    }

    fn measure_round_trip(&mut self, position: usize, tcp: Tcp, at: i64) {
        let flow = &mut self.flows[position];
        let Some(connection) = flow.connections.get_mut(&(tcp.destination_port, tcp.source_port)) else { return };
        if let Some(rtt) = connection.on_acknowledged(tcp.acknowledged, tcp.highest_sack, at) {
            flow.latest_rtt_ns = Some(rtt);
            let measure = &self.plan.spec.measure;
            if (measure.from_ps..measure.to_ps).contains(&(at as u64 * 1000)) {
                flow.rtts.add(Time(rtt as u64 * 1000));
                flow.rtt_sum_ns += i128::from(rtt);
                flow.rtt_count += 1;
                flow.rtt_min_ns = flow.rtt_min_ns.min(rtt);
            }
        }
        let this = &self.plan.spec.flows[position];
        if let Some(size) = this.size_segments {
            if connection.acknowledged_bytes() >= size * u64::from(this.stack.payload_bytes) {
                flow.completed_ns.get_or_insert(at);
            }
        }
    }

    /// Takes the samples due before `at`.
    fn sample_before(&mut self, at: i64) {
        while self.times.get(self.sampled).is_some_and(|time| *time <= at) {
            for flow in &mut self.flows {
                let rtt = flow.latest_rtt_ns.map(|ns| ns as f64 * 1e-9);
                flow.samples.push((flow.received_bytes(), flow.wire_bytes, rtt));
            }
            self.sampled += 1;
        }
    }

    fn log(&mut self) -> Value {
        let end = self.plan.end_ns().min(self.now_ns().max(0));
        self.sample_before(end);
        let under_way = self.emulator.under_way() as u64;
        let samples = self.emulator.finish(Time(end as u64 * 1000));
        let totals: Vec<_> = self.emulator.totals().copied().collect();
        let dropped: u64 = totals.iter().map(|t| t.dropped).sum();
        let lost: u64 = totals.iter().map(|t| t.lost).sum();
        assert_eq!(self.carried, self.delivered + dropped + lost + under_way, "packets unaccounted for");
        let overflowed = self.ports.iter_mut().map(|port| port.count_overflow().map(|()| port.overflowed));
        let overflowed: Result<Vec<u64>, _> = overflowed.collect();
        json!({
            "times_s": self.times[..self.sampled].iter().map(|ns| *ns as f64 * 1e-9).collect::<Vec<_>>(),
            "flows": (0..self.flows.len()).map(|flow| self.flow_log(flow)).collect::<Vec<_>>(),
            "links": samples.iter().map(|(link, samples)| {
                let named = &self.plan.spec.links[*link].name;
                json!({
                    "name": named, "accepted": totals[*link].accepted, "accepted_bytes": totals[*link].accepted_bytes,
                    "dropped": totals[*link].dropped, "lost": totals[*link].lost,
                    "dropped_bytes": totals[*link].dropped_bytes, "samples": link_samples(samples),
                })
            }).collect::<Vec<_>>(),
            "lateness": self.lateness.document(),
            "receivers": self.answers.document(),
            "drops": {
                "queue": dropped, "random_loss": lost, "ring_overflow": overflowed.map(|each| each.iter().sum::<u64>()).ok(),
                "device_refused": self.troubles.refused, "of_no_flow": self.troubles.unknown,
            },
            "displaced": {
                "packets": self.emulator.displaced, "beyond_500_us": self.emulator.displaced_much, "most_us": self.emulator.displaced_most.0 as f64 * 1e-6,
            },
            "clock_step_us": (sys::wall_ahead_ns() - self.wall_ahead_ns) as f64 / 1e3,
            "stopped_early": self.now_ns() < self.plan.end_ns(),
            "conservation": {
                "sent": self.carried, "received": self.delivered, "dropped": dropped + lost, "under_way": under_way,
                "duplicated": 0,
            },
        })
    }

    fn flow_log(&self, position: usize) -> Value {
        let flow = &self.flows[position];
        let of_connections = |what: fn(&Connection) -> u64| flow.connections.values().map(what).sum::<u64>();
        let quantile = |q: f64| flow.rtts.quantile(q).map(|s| s * 1e3);
        let any = flow.rtt_count > 0;
        json!({
            "received_bytes": flow.received_bytes(), "wire_bytes": flow.wire_bytes,
            "segments_sent": of_connections(|c| c.segments_sent), "duplicates": of_connections(|c| c.duplicates),
            "answers": of_connections(|c| c.answers), "connections": flow.connections.len(),
            "completed_s": flow.completed_ns.map(|ns| ns as f64 * 1e-9),
            "rtt_min_ms": any.then_some(flow.rtt_min_ns as f64 * 1e-6),
            "rtt_mean_ms": any.then(|| flow.rtt_sum_ns as f64 / flow.rtt_count as f64 * 1e-6),
            "rtt_p50_ms": quantile(0.5), "rtt_p95_ms": quantile(0.95), "rtt_p99_ms": quantile(0.99),
            "samples": {
                "received_bytes": flow.samples.iter().map(|s| s.0).collect::<Vec<_>>(),
                "wire_bytes": flow.samples.iter().map(|s| s.1).collect::<Vec<_>>(),
                "rtt_s": flow.samples.iter().map(|s| s.2).collect::<Vec<_>>(),
            },
        })
    }
}

fn link_samples(samples: &elephan_sim::record::LinkSamples) -> Value {
    let count = |what: fn(&elephan_sim::record::LinkSample) -> u64| samples.rows.iter().map(what).collect::<Vec<_>>();
    let float = |what: fn(&elephan_sim::record::LinkSample) -> f64| samples.rows.iter().map(what).collect::<Vec<_>>();
    json!({
        "queue_packets": count(|s| s.queue), "queue_mean": float(|s| s.queue_mean),
        "queue_min": count(|s| s.queue_min), "queue_max": count(|s| s.queue_max),
        "queue_integral_packet_s": float(|s| s.integral_packet_seconds),
        "arrived_packets": count(|s| s.arrived), "dropped_packets": count(|s| s.dropped),
        "marked_packets": count(|s| s.marked), "reordered_packets": count(|s| s.reordered),
        "duplicated_packets": count(|s| s.duplicated), "delivered_packets": count(|s| s.delivered),
        "delivered_bytes": count(|s| s.delivered_bytes),
    })
}
