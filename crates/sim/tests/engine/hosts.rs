//! A host with one clock and two flows, which uses the public boundary only.

use std::sync::{Arc, Mutex};

use elephan_sim::endpoint::{Host, Way};
use elephan_sim::engine::PREFERRED_SLICE;
use elephan_sim::packet::{FlowId, Packet, flag};
use elephan_sim::spec::ForeignSpec;
use elephan_sim::{Engine, Outcome, Spec, SpecError, Time, Transport};

const MS: u64 = Time::MILLISECOND.0;
const BYTES: u16 = 1000;

/// Arrivals in the order in which the host got them: time, flow, and the packet's direction.
type Seen = Arc<Mutex<Vec<(Time, u32, bool)>>>;

/// Each sender sends three packets every 7 ms; each receiver answers at once.
#[derive(Debug)]
struct Ticker {
    next: Time,
    flows: u32,
    seen: Seen,
}

impl Host for Ticker {
    fn timer(&self) -> Time {
        self.next
    }

    fn take_turn(&mut self, arrivals: &[Packet], horizon: Time, way: &mut dyn Way) {
        let mut arrivals = arrivals.iter().peekable();
        loop {
            let arrival = arrivals.peek().map_or(Time::NEVER, |packet| packet.at);
            let now = arrival.min(self.next);
            if now >= horizon {
                return;
            }
            if let Some(packet) = arrivals.next_if(|packet| packet.at <= now) {
                self.seen.lock().expect("one thread").push((now, packet.flow().0, packet.is_ack()));
                if !packet.is_ack() {
                    way.send(Packet::new(now, now, packet.flow(), 0, 40, flag::ACK, 0));
                }
                continue;
            }
            for flow in (0..self.flows).map(FlowId) {
                (0..3).for_each(|_| way.send(Packet::new(now, now, flow, 0, BYTES, 0, 0)));
            }
            self.next = now + Time(7 * MS);
        }
    }

    fn finish(&mut self) {}
}

/// Runs a host's two flows and a flow with the engine's own endpoints over 8 Mbit/s.
fn run(slice: Time) -> (Outcome, Vec<(Time, u32, bool)>) {
    let mut spec = Spec::dumbbell(8_000_000, Time(20 * MS), 20, Time(3_000 * MS), &["reno", "reno", "cubic"]);
    for flow in &mut spec.flows[..2] {
        flow.foreign = Some(ForeignSpec { smallest_bytes: 40, largest_bytes: BYTES, hosted: true });
    }
    let seen = Seen::default();
    let host = Ticker { next: Time(MS), flows: 2, seen: seen.clone() };
    let engine = Engine::with_transports(spec, slice, |index, flow| {
        if flow.is_hosted() {
            return Ok::<_, SpecError>(Transport::Hosted);
        }
        elephan_sim::algorithms::controller(index, flow).map(Transport::from)
    });
    let outcome = engine.expect("a spec").with_host(Box::new(host)).run(|_| true).expect("a run");
    let seen = std::mem::take(&mut *seen.lock().expect("one thread"));
    (outcome, seen)
}

#[test]
fn a_host_sees_its_arrivals_in_the_order_of_time() {
    let (outcome, seen) = run(PREFERRED_SLICE);
    assert!(seen.is_sorted_by_key(|(at, ..)| *at));
    let [data, answers] = [false, true].map(|ack| seen.iter().filter(|one| one.2 == ack).count());
    assert!(data > 1000 && answers > 1000, "{data} packets and {answers} answers");
    // The engine itself checks that every packet of the host is accounted for.
    assert!(outcome.conservation.dropped > 0, "the queue should overflow");
    // The first packet: 1,000 bytes in 1 ms and half of the round trip, and the queue is empty.
    assert!(seen[0].0 >= Time(12 * MS) && seen[0].0 < Time(13 * MS), "{:?}", seen[0]);
}

#[test]
fn the_length_of_a_slice_changes_nothing_that_a_host_sees() {
    let (_, often) = run(Time(MS / 10));
    assert_eq!(often, run(PREFERRED_SLICE).1);
    assert_eq!(often, run(Time(1_000 * MS)).1);
}
