//! The guest as the host of the engine's flows.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use elephan_sim::Time;
use elephan_sim::endpoint::{Host, Way};
use elephan_sim::packet::{FlowId, Packet, flag};
use elephan_sim::spec::{FlowSpec, Spec};
use etherparse::IpEcn;

use crate::frame::{self, Seen};
use crate::guest::{Arrival, Guest};
use crate::plan::Plan;

const PS_PER_NS: u64 = 1000;
const SENDERS: usize = 0;
const RECEIVERS: usize = 1;

/// Reason that ends a run early.
pub type Failure = Arc<Mutex<Option<String>>>;

/// The guest, and how its addresses and its clock map to the engine's flows and time.
#[derive(Debug)]
pub struct LinuxHost {
    guest: Guest,
    map: Map,
    arrivals: VecDeque<Arrival>,
    failure: Failure,
}

#[derive(Debug)]
struct Map {
    plan: Plan,
    /// Time from a frame to its arrival before the run begins, of each flow and direction: propagation, and transmission of a byte, ns.
    shortcuts: Vec<[(u64, f64); 2]>,
}

impl Map {
    fn new(plan: Plan, spec: &Spec) -> Self {
        let way = |path: &[usize]| {
            let delays: u64 = path.iter().map(|&link| spec.links[link].delay_ps / PS_PER_NS).sum();
            (delays, path.iter().map(|&link| 8e9 / spec.links[link].rate_bps as f64).sum())
        };
        let shortcuts = |flow: &FlowSpec| [way(&flow.path), way(&flow.reverse_path)];
        Self { plan, shortcuts: spec.flows.iter().map(shortcuts).collect() }
    }

    /// The flow of a frame that a device has sent.
    fn flow_of(&self, side: usize, seen: &Seen) -> Option<usize> {
        let ends = if side == SENDERS { [seen.source, seen.destination] } else { [seen.destination, seen.source] };
        self.plan.flows.iter().find(|flow| [flow.sender, flow.receiver] == ends).map(|flow| flow.position)
    }

    /// A frame before the run begins: of a connection that is being made.
    fn shorten(&self, now_ns: u64, side: usize, frame: Vec<u8>, arrivals: &mut VecDeque<Arrival>) {
        let Some((flow, seen)) = frame::seen(&frame).and_then(|seen| Some((self.flow_of(side, &seen)?, seen))) else {
            return;
        };
        let (delay_ns, byte_ns) = self.shortcuts[flow][side];
        let at_ns = now_ns + delay_ns + (byte_ns * f64::from(seen.bytes)) as u64;
        let place = arrivals.partition_point(|other| other.at_ns <= at_ns);
        arrivals.insert(place, Arrival { at_ns, side: 1 - side, frame });
    }

    /// The time in the run, of a time of the guest.
    fn time(&self, ns: u64) -> Time {
        Time(ns.saturating_sub(self.plan.zero_ns).saturating_mul(PS_PER_NS))
    }

    /// The guest's first nanosecond that is not before a time of the run.
    fn ns(&self, time: Time) -> u64 {
        self.plan.zero_ns + time.0.div_ceil(PS_PER_NS)
    }

    /// Sends a frame on the path.
    fn send(&self, now_ns: u64, side: usize, frame: Vec<u8>, way: &mut dyn Way) {
        let Some((flow, seen)) = frame::seen(&frame).and_then(|seen| Some((self.flow_of(side, &seen)?, seen))) else {
            return;
        };
        if !way.has_room_for(1) {
            return;
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
    }
}

impl LinuxHost {
    /// Boots the guest of a plan up to the beginning of the run.
    pub fn boot(plan: Plan, spec: &Spec, failure: Failure) -> io::Result<Self> {
        let (mut command, zero_ns) = (plan.command(), plan.zero_ns);
        let (map, mut arrivals) = (Map::new(plan, spec), VecDeque::new());
        let guest = Guest::boot(&mut command, zero_ns, &mut arrivals, &mut |now_ns, side, frame, arrivals| {
            map.shorten(now_ns, side, frame, arrivals);
        })?;
        Ok(Self { guest, map, arrivals, failure })
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
            self.arrivals.push_back(Arrival { at_ns: self.map.ns(packet.at), side, frame });
        }
        let Self { guest, map, arrivals, .. } = self;
        let limit_ns = map.ns(horizon);
        let done = guest.run_until(limit_ns, arrivals, &mut |now_ns, side, frame, _| {
            map.send(now_ns, side, frame, way);
        });
        match done {
            Err(error) => self.fail(error.to_string()),
            Ok(()) if self.guest.ended() => self.fail("the guest ended before the run".into()),
            Ok(()) => (),
        }
    }

    fn finish(&mut self) {
        if let Err(error) = self.guest.finish() {
            self.fail(error.to_string());
        }
    }
}
