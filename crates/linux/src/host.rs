//! The guest as the host of the engine's flows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use elephan_sim::Time;
use elephan_sim::endpoint::{Host, Way};
use elephan_sim::packet::{FlowId, Packet, flag};
use etherparse::IpEcn;

use crate::capture::Captures;
use crate::connections::{Connections, Passing};
use crate::frame::{self, Seen};
use crate::guest::{Arrival, Event, Guest};
use crate::plan::Plan;

const PS_PER_NS: u64 = 1000;
const SENDERS: usize = 0;
const RECEIVERS: usize = 1;

/// Reason that ends a run early.
pub type Failure = Arc<Mutex<Option<String>>>;

/// The guest, with the mapping of its addresses and its clock to the engine's flows and time.
#[derive(Debug)]
pub struct LinuxHost {
    guest: Guest,
    map: Map,
    arrivals: VecDeque<Arrival>,
    connections: Option<Connections>,
    failure: Failure,
}

/// File with the connections of programs.
const CONNECTIONS: &str = "connections.json";

#[derive(Debug)]
struct Map {
    zero_ns: u64,
    /// Positions of the flows by source and destination of the packets of their senders.
    flows: BTreeMap<(Ipv4Addr, Ipv4Addr), usize>,
    /// Positions of the flows that are programs.
    programs: BTreeSet<usize>,
}

impl Map {
    fn new(plan: &Plan) -> Self {
        let flows = plan.flows.iter().map(|flow| ((flow.sender, flow.receiver), flow.position)).collect();
        let programs = plan.flows.iter().filter(|flow| flow.program).map(|flow| flow.position).collect();
        Self { zero_ns: plan.zero_ns, flows, programs }
    }

    /// Flow and headers of a frame that a device has sent.
    fn flow_of(&self, side: usize, frame: &[u8]) -> Result<(usize, Seen), String> {
        let seen = frame::seen(frame).ok_or_else(|| format!("a frame of {} B that is not of IPv4", frame.len()))?;
        let ends = if side == SENDERS { (seen.source, seen.destination) } else { (seen.destination, seen.source) };
        let flow = self.flows.get(&ends);
        flow.map(|&flow| (flow, seen)).ok_or_else(|| {
            format!(
                "a packet of {} B from {} to {}, which belongs to no flow",
                seen.bytes, seen.source, seen.destination
            )
        })
    }

    /// Converts the guest's time to the run's time.
    fn time(&self, ns: u64) -> Time {
        Time(ns.saturating_sub(self.zero_ns).saturating_mul(PS_PER_NS))
    }

    /// Converts the run's time to the guest's time, rounded up to ns.
    fn ns(&self, time: Time) -> u64 {
        self.zero_ns + time.0.div_ceil(PS_PER_NS)
    }

    /// Sends a frame into the path.
    fn send(
        &self,
        now_ns: u64,
        side: usize,
        frame: Vec<u8>,
        connections: &mut Option<Connections>,
        way: &mut dyn Way,
    ) -> Result<(), String> {
        let (flow, seen) = self.flow_of(side, &frame)?;
        if let Some(connections) = connections.as_mut().filter(|_| self.programs.contains(&flow)) {
            connections.see(flow, now_ns, side, &frame, Passing::Sent);
        }
        if !way.has_room_for(1) {
            // The engine ends the run with an error.
            return Ok(());
        }
        let (id, now) = (FlowId(flow as u32), self.time(now_ns));
        let kind = match seen.ecn {
            IpEcn::Ect0 => flag::ECT0,
            IpEcn::Ect1 => flag::ECT1,
            _ => 0,
        };
        let flags = flag::BESIDE | kind | if side == RECEIVERS { flag::ACK } else { 0 };
        let payload = way.beside(id).put_payload(frame.into_boxed_slice());
        way.send(Packet::new(now, now, id, 0, seen.bytes, flags, payload));
        Ok(())
    }
}

/// Adds an arrival after the other arrivals of the same time.
fn insert(arrivals: &mut VecDeque<Arrival>, arrival: Arrival) {
    let place = arrivals.partition_point(|other| other.at_ns <= arrival.at_ns);
    arrivals.insert(place, arrival);
}

fn unless_failed(why: Option<String>) -> io::Result<()> {
    why.map_or(Ok(()), |why| Err(io::Error::other(format!("the guest sent {why}"))))
}

impl LinuxHost {
    /// Boots the guest of a plan until the start of the run.
    pub fn boot(plan: Plan, failure: Failure) -> io::Result<Self> {
        let (mut command, map) = (plan.command(), Map::new(&plan));
        let (mut arrivals, mut wrong) = (VecDeque::new(), None);
        let captures = plan.capture.then(|| Captures::create(map.zero_ns)).transpose()?;
        let guest = Guest::boot(&mut command, captures, map.zero_ns, &mut arrivals, &mut |_, event| {
            if let Event::Sent(_, frame) = event {
                wrong.get_or_insert_with(|| format!("a packet of {} B before the run", frame.len()));
            }
        })?;
        unless_failed(wrong)?;
        let (times_ns, measured_ns) = (plan.sample_times_ns, plan.measured_ns);
        let watched = !map.programs.is_empty();
        let connections = watched.then(|| Connections::new(map.zero_ns, times_ns, measured_ns));
        Ok(Self { guest, map, arrivals, connections, failure })
    }

    fn fail(&self, why: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

impl Host for LinuxHost {
    fn timer(&self) -> Time {
        let arrival = self.arrivals.front().map_or(u64::MAX, |arrival| arrival.at_ns);
        match arrival.min(self.guest.wanted_ns()) {
            u64::MAX => Time::NEVER,
            ns => self.map.time(ns),
        }
    }

    fn take_turn(&mut self, arrivals: &[Packet], horizon: Time, way: &mut dyn Way) {
        for packet in arrivals {
            let Some(payload) = way.beside(packet.flow()).take_payload(packet) else { continue };
            let mut frame = payload.into_vec();
            if packet.flags() & flag::CE != 0 {
                frame::mark(&mut frame);
            }
            let side = if packet.is_ack() { SENDERS } else { RECEIVERS };
            let (flow, sent_ns) = (packet.flow().index(), self.map.ns(packet.stamp));
            insert(&mut self.arrivals, Arrival { at_ns: self.map.ns(packet.at), side, frame, flow, sent_ns });
        }
        let Self { guest, map, arrivals, connections, .. } = self;
        let (limit_ns, mut wrong) = (map.ns(horizon), None);
        let done = guest.run_until(limit_ns, arrivals, &mut |now_ns, event| match event {
            Event::Sent(side, frame) => {
                wrong = wrong.take().or(map.send(now_ns, side, frame, connections, way).err());
            }
            Event::Arrived(arrival) => {
                let is_programs = map.programs.contains(&arrival.flow);
                if let Some(connections) = connections.as_mut().filter(|_| is_programs) {
                    let passing = Passing::Arrived(arrival.sent_ns);
                    connections.see(arrival.flow, now_ns, arrival.side, &arrival.frame, passing);
                }
            }
        });
        match done.and_then(|()| unless_failed(wrong)) {
            Err(error) => self.fail(error.to_string()),
            Ok(()) if self.guest.ended() => self.fail("the guest ended before the run".into()),
            Ok(()) => (),
        }
    }

    fn finish(&mut self) {
        let written = self.connections.take().map_or(Ok(()), |found| found.write(CONNECTIONS));
        if let Err(error) = written.and_then(|()| self.guest.finish()) {
            self.fail(error.to_string());
        }
    }
}
