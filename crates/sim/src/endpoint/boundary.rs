//! The boundary between an endpoint and the network: arrivals and timers come in, packets go out.
//!
//! ```text
//!                 ┌──────────────────────────┐
//!   on_packet ──► │ endpoint                 │ ──► Outlet::send
//!   on_timer  ──► │ (TCP, UDT, QUIC, a host) │ ◄─► Outlet::beside   data beside this flow's packets
//!    timer()  ◄── └──────────────────────────┘
//! ```
//!
//! An endpoint never sees the network. The engine calls [`EndpointState::timer`] for the time of the endpoint's next
//! own action. The engine passes events in the order of time, with a timer before an arrival at the same instant.
//! Therefore an endpoint of another crate, for example a kernel in virtual time, needs no internals of the engine.

use std::ops::RangeInclusive;

use crate::packet::{FlowId, Packet, flag};
use crate::record::{ReceiverRecord, SenderRecord};
use crate::sidecar::Sidecar;
use crate::time::Time;

/// The two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Sends data, receives ACKs.
    Sender,
    /// Receives data, sends ACKs.
    Receiver,
}

/// Output of an endpoint, which is one end of one flow.
pub trait Outlet {
    /// Index of the flow, and the end of the flow that this outlet belongs to.
    fn address(&self) -> (FlowId, End);

    /// Sends a packet, which leaves at `packet.at`: now or later, and not before a packet sent earlier.
    fn send(&mut self, packet: Packet);

    /// Data that accompanies this flow's packets outside the packets themselves.
    fn beside(&mut self) -> &mut Sidecar;

    /// True if this many additional packets fit into the memory for packets. Otherwise the run ends.
    fn has_room_for(&mut self, packets: u32) -> bool;

    /// Sends a datagram of `bytes` on the wire, headers included. The datagram's payload is put into the flow's
    /// sidecar.
    fn send_datagram(&mut self, at: Time, bytes: u16, payload: Box<[u8]>) {
        let (flow, end) = self.address();
        let id = self.beside().put_payload(payload);
        let flags = flag::BESIDE | if end == End::Receiver { flag::ACK } else { 0 };
        self.send(Packet::new(at, at, flow, 0, bytes, flags, id));
    }
}

/// Numbers of packets that one end has sent into the network and received from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
}

/// Functions of an endpoint that send no packets.
pub trait EndpointState {
    /// Time of the endpoint's next own action; [`Time::NEVER`] if it only reacts to arrivals.
    fn timer(&self) -> Time;

    /// Packets sent and received so far.
    fn packets(&self) -> PacketCounts;

    /// Ends the run at `end`, and takes the remaining samples.
    fn finish(&mut self, end: Time);
}

/// One end of a flow.
pub trait Endpoint<O: Outlet + ?Sized>: EndpointState {
    /// Handles the timer, which is due at [`EndpointState::timer`].
    fn on_timer(&mut self, out: &mut O);

    /// Handles a packet that arrives at `packet.at`.
    fn on_packet(&mut self, packet: &Packet, out: &mut O);

    /// Announces packets that all arrive at one instant, before the first of them is delivered; called in runs with an
    /// event log only.
    fn log_arrivals(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        let _ = (packets, beside);
    }

    /// Announces that all events of the announced instant are over; called in runs with an event log only.
    fn log_settled(&mut self) {}
}

/// An endpoint of another crate.
pub trait ForeignEndpoint: for<'a> Endpoint<dyn Outlet + 'a> + std::fmt::Debug + Send {
    /// The flow's row and samples, if this end is the sender.
    fn sender_record(&mut self) -> SenderRecord {
        SenderRecord {
            totals: crate::record::SenderTotals { sent: self.packets().sent, ..Default::default() },
            ..Default::default()
        }
    }

    /// The flow's row and samples, if this end is the receiver.
    fn receiver_record(&mut self) -> ReceiverRecord {
        ReceiverRecord::default()
    }
}

/// An endpoint of another crate, as a variant of the engine's static dispatch.
#[derive(Debug)]
pub struct Foreign {
    /// The endpoint.
    pub endpoint: Box<dyn ForeignEndpoint>,
    /// Sizes of the endpoint's packets, bytes on the wire, for which the network is laid out.
    pub packet_bytes: RangeInclusive<u64>,
}

/// Output of an endpoint of another crate; the endpoint may only send packets of the sizes that it has declared.
struct Checked<'a, O> {
    out: &'a mut O,
    packet_bytes: &'a RangeInclusive<u64>,
}

impl<O: Outlet> Outlet for Checked<'_, O> {
    fn address(&self) -> (FlowId, End) {
        self.out.address()
    }

    fn send(&mut self, packet: Packet) {
        let (bytes, allowed) = (packet.bytes(), self.packet_bytes);
        assert!(allowed.contains(&bytes), "an endpoint sent a packet of {bytes} bytes, and declared {allowed:?}");
        self.out.send(packet);
    }

    fn beside(&mut self) -> &mut Sidecar {
        self.out.beside()
    }

    fn has_room_for(&mut self, packets: u32) -> bool {
        self.out.has_room_for(packets)
    }
}

impl EndpointState for Foreign {
    fn timer(&self) -> Time {
        self.endpoint.timer()
    }

    fn packets(&self) -> PacketCounts {
        self.endpoint.packets()
    }

    fn finish(&mut self, end: Time) {
        self.endpoint.finish(end);
    }
}

impl<O: Outlet> Endpoint<O> for Foreign {
    fn on_timer(&mut self, out: &mut O) {
        self.endpoint.on_timer(&mut Checked { out, packet_bytes: &self.packet_bytes });
    }

    fn on_packet(&mut self, packet: &Packet, out: &mut O) {
        self.endpoint.on_packet(packet, &mut Checked { out, packet_bytes: &self.packet_bytes });
    }
}
