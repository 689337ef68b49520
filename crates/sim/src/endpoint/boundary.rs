//! The boundary between an endpoint and the network: arrivals and timers come in, packets go out.
//!
//! ```text
//!                 ┌──────────────────────────┐
//!   on_packet ──► │ endpoint                 │ ──► Outlet::send
//!   on_timer  ──► │ (TCP, UDT, QUIC, a host) │ ◄─► Outlet::beside   data beside this flow's packets
//!    timer()  ◄── └──────────────────────────┘
//! ```
//!
//! An endpoint never sees the network. The engine asks [`EndpointState::timer`] when the endpoint next acts by itself, and hands it
//! its events in the order of time, a timer before an arrival of the same instant. So an endpoint of another crate, a kernel in
//! virtual time for example, needs nothing of the engine's inside.

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

/// Way out of an endpoint: one end of one flow.
pub trait Outlet {
    /// Index of the flow, and which end of it this is.
    fn address(&self) -> (FlowId, End);

    /// Sends a packet, which leaves at `packet.at`: now or later, and never before one that was sent earlier.
    fn send(&mut self, packet: Packet);

    /// Data that travels beside this flow's packets.
    fn beside(&mut self) -> &mut Sidecar;

    /// True if so many packets more fit into the memory that packets may take. If not, the run ends.
    fn has_room_for(&mut self, packets: u32) -> bool;

    /// Sends a datagram of `bytes` on the wire, headers included, with any payload beside it.
    fn send_datagram(&mut self, at: Time, bytes: u16, payload: Box<[u8]>) {
        let (flow, end) = self.address();
        let id = self.beside().put_payload(payload);
        let flags = flag::BESIDE | if end == End::Receiver { flag::ACK } else { 0 };
        self.send(Packet::new(at, at, flow, 0, bytes, flags, id));
    }
}

/// Packets that one end has put into the network and taken out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
}

/// The part of an endpoint that needs no way out.
pub trait EndpointState {
    /// When it next acts by itself; [`Time::NEVER`] if only an arrival makes it.
    fn timer(&self) -> Time;

    /// Packets sent and received so far.
    fn packets(&self) -> PacketCounts;

    /// Ends the run at `end`: takes the samples due until then.
    fn finish(&mut self, end: Time);
}

/// One end of a flow.
pub trait Endpoint<O: Outlet + ?Sized>: EndpointState {
    /// Its timer is due; the time is [`EndpointState::timer`].
    fn on_timer(&mut self, out: &mut O);

    /// A packet arrives at `packet.at`.
    fn on_packet(&mut self, packet: &Packet, out: &mut O);

    /// The next packets all arrive at one instant; called in runs with an event log, before the first of them is delivered.
    fn log_arrivals(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        let _ = (packets, beside);
    }

    /// Everything that happens at that instant has happened; called in runs with an event log.
    fn log_settled(&mut self) {}
}

/// An endpoint of another crate.
pub trait ForeignEndpoint: for<'a> Endpoint<dyn Outlet + 'a> + std::fmt::Debug + Send {
    /// The flow's row and samples, if it is the sender.
    fn sender_record(&mut self) -> SenderRecord {
        SenderRecord {
            totals: crate::record::SenderTotals { sent: self.packets().sent, ..Default::default() },
            ..Default::default()
        }
    }

    /// The flow's row and samples, if it is the receiver.
    fn receiver_record(&mut self) -> ReceiverRecord {
        ReceiverRecord::default()
    }
}

/// An endpoint of another crate, behind the engine's static dispatch.
#[derive(Debug)]
pub struct Foreign {
    /// The endpoint.
    pub endpoint: Box<dyn ForeignEndpoint>,
    /// Sizes of its packets, bytes on the wire: the network is laid out for these.
    pub packet_bytes: RangeInclusive<u64>,
}

/// Way out of an endpoint of another crate, which may not send packets of other sizes than it has declared.
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
