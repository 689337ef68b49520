//! Receivers that are evaluated inline: in the turn of the link before them, a packet that reaches a receiver is answered
//! at once.
//!
//! A receiver that delays ACKs has timers. Those that are due before a packet are handled before it, and the others in a
//! turn of the receiver, after the turns of all links that may deliver packets before its horizon. Its ACKs therefore leave
//! in the order of time.

use super::hops::Access;
use super::ports::Ports;
use super::start::Start;
use crate::endpoint::{End, Endpoint, EndpointState, Expected, Outlet, Receiver};
use crate::packet::{FlowId, Packet};
use crate::sidecar::Sidecar;
use crate::time::Time;

/// A receiver that is evaluated inline.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The receiver.
    pub receiver: Receiver,
    pub(super) start: Start,
    /// True if packets arrive for the receiver at whole ns, if it has timers.
    pub(super) counts_ns: bool,
}

/// Output of a receiver that is evaluated inline.
struct SinkExit<'a> {
    flow: FlowId,
    start: &'a mut Start,
    ports: &'a mut Ports,
    accesses: &'a [Access],
    sidecar: &'a mut Sidecar,
}

impl Outlet for SinkExit<'_> {
    fn address(&self) -> (FlowId, End) {
        (self.flow, End::Receiver)
    }

    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        let is_put = self.start.put(packet, self.ports, self.accesses).is_none();
        assert!(is_put, "the ACKs of a receiver with timers are not forwarded");
    }

    fn beside(&mut self) -> &mut Sidecar {
        self.sidecar
    }

    fn has_room_for(&mut self, _: u32) -> bool {
        true
    }
}

impl Sink {
    /// Handles a segment that arrives at a receiver with timers.
    #[inline(never)]
    pub(super) fn take(&mut self, packet: &Packet, ports: &mut Ports, accesses: &[Access], sidecar: &mut Sidecar) {
        let Self { receiver, start, counts_ns } = self;
        let packet = if *counts_ns { packet.arriving(packet.at.to_next_ns()) } else { *packet };
        if receiver.timer() > packet.at {
            match receiver.on_next(&packet) {
                Expected::Answered(ack) => {
                    start.put(ack, ports, accesses);
                    return;
                }
                Expected::Noted => return,
                Expected::Not => {}
            }
        }
        self.take_slowly(&packet, ports, accesses, sidecar);
    }

    #[inline(never)]
    fn take_slowly(&mut self, packet: &Packet, ports: &mut Ports, accesses: &[Access], sidecar: &mut Sidecar) {
        let flow = packet.flow();
        self.run(flow, packet.at.later(Time(1)), ports, accesses, sidecar);
        let Self { receiver, start, .. } = self;
        receiver.on_packet(packet, &mut SinkExit { flow, start, ports, accesses, sidecar });
    }

    /// Handles the receiver's timers before `horizon`.
    pub(super) fn run(
        &mut self,
        flow: FlowId,
        horizon: Time,
        ports: &mut Ports,
        accesses: &[Access],
        sidecar: &mut Sidecar,
    ) {
        let Self { receiver, start, .. } = self;
        let mut exit = SinkExit { flow, start, ports, accesses, sidecar };
        while receiver.timer() < horizon {
            receiver.on_timer(&mut exit);
        }
    }
}
