//! Endpoints of another crate: a simple transport with payloads of any size, which uses the public boundary only.
use std::sync::{Arc, Mutex};

use crate::common::*;
use elephan_sim::algorithms::controller;
use elephan_sim::endpoint::{Endpoint, EndpointState, ForeignEndpoint, Outlet, PacketCounts};
use elephan_sim::packet::Packet;
use elephan_sim::record::{ReceiverRecord, ReceiverSample, SenderRecord};
use elephan_sim::{Engine, Outcome, Spec, SpecError, Time, Transport};
use serde_json::json;

const HEADER_BYTES: usize = 28;
const ACK_BYTES: u16 = 40;
const TIMEOUT: Time = Time(500 * Time::MILLISECOND.0);

/// Sender of a stop-and-wait protocol: one message at a time, retransmitted until its number is acknowledged.
#[derive(Debug)]
struct StopAndWait {
    messages: Vec<Vec<u8>>,
    next: usize,
    timer: Time,
    counts: PacketCounts,
}

impl StopAndWait {
    fn send(&mut self, now: Time, out: &mut dyn Outlet) {
        let Some(message) = self.messages.get(self.next) else {
            self.timer = Time::NEVER;
            return;
        };
        let payload: Box<[u8]> = [&(self.next as u32).to_le_bytes()[..], message].concat().into();
        self.counts.sent += 1;
        self.timer = now + TIMEOUT;
        out.send_datagram(now, (HEADER_BYTES + payload.len()) as u16, payload);
    }
}

impl EndpointState for StopAndWait {
    fn timer(&self) -> Time {
        self.timer
    }
    fn packets(&self) -> PacketCounts {
        self.counts
    }
    fn finish(&mut self, _: Time) {}
}

impl<'a> Endpoint<dyn Outlet + 'a> for StopAndWait {
    fn on_timer(&mut self, out: &mut (dyn Outlet + 'a)) {
        self.send(self.timer, out);
    }
    fn on_packet(&mut self, packet: &Packet, out: &mut (dyn Outlet + 'a)) {
        self.counts.received += 1;
        let number = out.beside().take_payload(packet).expect("an acknowledgement has a payload");
        if number[..] == (self.next as u32).to_le_bytes() {
            self.next += 1;
            self.send(packet.at, out);
        }
    }
}

impl ForeignEndpoint for StopAndWait {
    fn sender_record(&mut self) -> SenderRecord {
        let mut record = SenderRecord::default();
        record.totals.sent = self.counts.sent;
        record.totals.retransmits = self.counts.sent - self.next as u64;
        record
    }
}

/// Receiver of the stop-and-wait protocol: stores new messages, and acknowledges the number of each.
#[derive(Debug)]
struct Collector {
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    totals: ReceiverSample,
    counts: PacketCounts,
}

impl EndpointState for Collector {
    fn timer(&self) -> Time {
        Time::NEVER
    }
    fn packets(&self) -> PacketCounts {
        self.counts
    }
    fn finish(&mut self, _: Time) {}
}

impl<'a> Endpoint<dyn Outlet + 'a> for Collector {
    fn on_timer(&mut self, _: &mut (dyn Outlet + 'a)) {}
    fn on_packet(&mut self, packet: &Packet, out: &mut (dyn Outlet + 'a)) {
        self.counts.received += 1;
        self.totals.wire_bytes += packet.bytes();
        let payload = out.beside().take_payload(packet).expect("a message has a payload");
        let (number, message) = payload.split_first_chunk::<4>().expect("it begins with its number");
        let mut kept = self.kept.lock().expect("nobody else has it");
        if u32::from_le_bytes(*number) as usize == kept.len() {
            kept.push(message.into());
            self.totals.delivered += 1;
        }
        self.counts.sent += 1;
        out.send_datagram(packet.at, ACK_BYTES, (*number).into());
    }
}

impl ForeignEndpoint for Collector {
    fn receiver_record(&mut self) -> ReceiverRecord {
        ReceiverRecord { totals: self.totals, acks_sent: self.counts.sent, ..ReceiverRecord::default() }
    }
}

/// Messages of 0 to 1,400 bytes.
fn messages() -> Vec<Vec<u8>> {
    (0..200_usize).map(|i| (0..i * 7).map(|byte| (byte * 31 + i) as u8).collect()).collect()
}

/// A CUBIC flow, and a flow of the simple transport over links that lose and duplicate packets.
fn with_a_toy_flow() -> Spec {
    let algorithms = [("cubic", 0.0), ("reno", 0.1)];
    let (mut links, mut flows) = dumbbell(20_000_000, 0.01, 20, &algorithms, &linux_stack());
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.02});
    links[1]["impairments"] = json!({"duplicate": 0.05, "jitter": {"kind": "uniform", "max_ps": ps(0.001)}});
    flows[1]["foreign"] = json!({"smallest_bytes": ACK_BYTES - 8, "largest_bytes": 1500});
    spec(&links, &flows, 60.0, 5.0)
}

fn run(spec: &Spec, slice: Time) -> (Outcome, Vec<Vec<u8>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let make = |index: usize, flow: &elephan_sim::spec::FlowSpec| -> Result<Transport, SpecError> {
        if flow.foreign.is_none() {
            return controller(index, flow).map(Into::into);
        }
        let (counts, timer) = (PacketCounts::default(), Time(flow.start_ps));
        let sender = StopAndWait { messages: messages(), next: 0, timer, counts };
        let receiver = Collector { kept: kept.clone(), totals: ReceiverSample::default(), counts };
        Ok(Transport::Foreign(Box::new(sender), Box::new(receiver)))
    };
    let engine = Engine::with_transports(spec.clone(), slice, make).expect("the scenario is right");
    let outcome = engine.run(|_| true).expect("nobody cancels");
    let kept = kept.lock().expect("the run is over").clone();
    (outcome, kept)
}

#[test]
fn payloads_of_any_size_arrive_whole_and_in_order() {
    let (outcome, kept) = run(&with_a_toy_flow(), Time(4_000_000_000));
    assert_eq!(kept, messages());
    let (sender, receiver) = (&outcome.senders[1], &outcome.receivers[1]);
    assert_eq!(receiver.totals.delivered, 200);
    assert!(sender.totals.retransmits > 0, "the path loses 2 % of the packets");
    assert!(outcome.conservation.duplicated > 0 && outcome.conservation.dropped > 0);
    assert!(outcome.receivers[0].totals.delivered > 1000, "TCP is there too");
}

#[test]
fn a_foreign_flow_does_not_depend_on_the_length_of_a_slice() {
    let spec = with_a_toy_flow();
    let of = |slice| {
        let (outcome, kept) = run(&spec, slice);
        let cubic = outcome.senders[0].samples.iter().map(|sample| sample.cwnd.to_bits()).collect::<Vec<_>>();
        (outcome.senders[1].totals, outcome.receivers[1].totals, outcome.conservation, cubic, kept)
    };
    assert_eq!(of(Time(4_000_000_000)), of(Time(70_000_000)));
}

#[test]
#[should_panic(expected = "an endpoint sent a packet of 32 bytes, and declared 36..=1500")]
fn a_packet_of_a_size_that_was_not_declared_ends_the_run() {
    let mut spec = with_a_toy_flow();
    if let Some(foreign) = &mut spec.flows[1].foreign {
        foreign.smallest_bytes = 36;
    }
    run(&spec, Time(4_000_000_000));
}

#[test]
fn a_transport_that_does_not_fit_the_flow_is_rejected() {
    let message = Engine::new(with_a_toy_flow()).expect_err("nobody brings the endpoints").to_string();
    assert_eq!(message, "flows[1].foreign: must be given with, and only with, endpoints of another crate");
    let crowd = Spec { record_flows: Some(1), ..with_a_toy_flow() };
    let message = crowd.validate().expect_err("its samples are its own").to_string();
    assert_eq!(message, "flows[1].foreign: endpoints keep their own samples; leave record_flows out");
}
