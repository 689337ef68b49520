//! The *sidecar* of a flow: data of its packets that are stored outside the packets, so that a packet needs only half a
//! cache line.
//!
//! ```text
//!  packet: at, stamp, flow, segment, bytes, flags, extra ──► number of an entry here, if flags say so
//!  sidecar of a flow:  SACK entries of its ACKs  |  congestion headers of its segments  |  payloads of its datagrams
//! ```
//!
//! An entry exists as long as a packet refers to it: links report lost and duplicated packets to the sidecar.

mod sacks;
mod slots;

pub use self::sacks::{AccEcnOption, SackEntry, Sacks};
pub use self::slots::Slots;

use std::collections::VecDeque;

use crate::packet::{Packet, flag};
use crate::random::Name;
#[cfg(test)]
use crate::random::Stream;
use crate::time::Time;

/// Header of an XCP segment. The form of the paper's appendix A is used, since this form avoids divisions in routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    /// Round-trip time of the packet's sender, s (`H_rtt`); 0 before the first sample.
    pub rtt: f64,
    /// Packet size × round-trip time / window, s: the spacing of the sender's packets.
    pub spacing: f64,
    /// Change of rate that the sender asks for, or the smallest change that a router has allowed so far, bytes/s
    /// (`H_feedback` / `H_rtt`).
    pub feedback: f64,
}

/// Headers that a router reads besides a packet's size and its marks. Routers access the sidecar only by this trait.
pub trait PacketHeaders {
    /// The congestion header of a data packet, if it has one.
    fn header(&mut self, packet: &Packet) -> Option<&mut Header>;

    /// Hash of the packet's addresses and ports: a random number, the same for every packet of a flow.
    fn address_hash(&self, packet: &Packet) -> u64;
}

/// Data of one flow's packets that are stored outside the packets.
#[derive(Clone, Debug, Default)]
pub struct Sidecar {
    /// Entries of the ACKs in flight.
    pub sacks: Sacks,
    address_hash: u64,
    headers: Option<Box<Slots<Header>>>,
    payloads: Option<Box<Slots<Box<[u8]>>>>,
    /// Times at which the receive window changed, and the window from then on, segments: as far as the sender does not
    /// know it.
    windows: VecDeque<(Time, u32)>,
}

impl Sidecar {
    /// An empty sidecar of the flow `name` in the run `seed`; `loose` is true if ACKs may overtake each other or arrive
    /// twice.
    #[must_use]
    pub fn new(loose: bool, seed: u64, name: &str) -> Self {
        let address_hash = Name::default().and("flow ").and(name).and(" addresses").stream(seed).bits();
        Self { sacks: Sacks::new(loose), address_hash, headers: None, payloads: None, windows: VecDeque::new() }
    }

    /// Gives the flow's segments congestion headers from now on.
    pub fn carry_headers(&mut self) {
        self.headers = Some(Box::default());
    }

    /// The flow's congestion headers, if its segments have any.
    pub fn headers(&mut self) -> Option<&mut Slots<Header>> {
        self.headers.as_deref_mut()
    }

    /// Records that ACKs from `now` on announce a receive window of `segments`.
    pub fn announce(&mut self, now: Time, segments: u32) {
        self.windows.push_back((now, segments));
    }

    /// The receive window that an ACK of the time `sent` announces, if no earlier ACK has announced it.
    pub fn announced(&mut self, sent: Time) -> Option<u32> {
        let mut latest = None;
        while self.windows.front().is_some_and(|window| window.0 <= sent) {
            latest = self.windows.pop_front().map(|window| window.1);
        }
        latest
    }

    /// Gives the flow's packets payloads in place of SACK entries from now on.
    pub fn carry_payloads(&mut self) {
        self.payloads = Some(Box::default());
    }

    /// Stores a payload. Returns the number for the packet's `extra`, which needs [`flag::BESIDE`].
    pub fn put_payload(&mut self, payload: Box<[u8]>) -> u32 {
        self.payloads.get_or_insert_default().put(payload)
    }

    /// Takes the payload of a packet that has arrived, if it has one.
    pub fn take_payload(&mut self, packet: &Packet) -> Option<Box<[u8]>> {
        let has_payload = packet.flags() & flag::BESIDE != 0;
        self.payloads.as_mut().filter(|_| has_payload)?.take(packet.extra())
    }

    /// Number of packets in flight with a congestion header; `None` if the flow's segments have none.
    #[must_use]
    pub fn headers_under_way(&self) -> Option<u64> {
        self.headers.as_ref().map(|headers| headers.held())
    }

    /// Number of packets in flight with a payload; `None` if the flow's packets have none.
    #[must_use]
    pub fn payloads_under_way(&self) -> Option<u64> {
        self.payloads.as_ref().map(|payloads| payloads.held())
    }

    /// Drops the entry of a packet that is lost.
    pub fn forget(&mut self, packet: &Packet) {
        if self.payloads.is_some() {
            self.take_payload(packet);
        } else if packet.is_ack() {
            self.sacks.forget(packet);
        } else if let Some(headers) = &mut self.headers {
            headers.take(packet.extra());
        }
    }

    /// Shares the entry of a packet that a link has duplicated.
    pub fn copy(&mut self, packet: &Packet) {
        if let Some(payloads) = &mut self.payloads {
            if packet.flags() & flag::BESIDE != 0 {
                payloads.share(packet.extra());
            }
        } else if packet.is_ack() {
            self.sacks.copy(packet);
        } else if let Some(headers) = &mut self.headers {
            headers.share(packet.extra());
        }
    }
}

impl PacketHeaders for Vec<Sidecar> {
    #[inline]
    fn header(&mut self, packet: &Packet) -> Option<&mut Header> {
        let headers = self[packet.flow().index()].headers.as_mut().filter(|_| !packet.is_ack())?;
        headers.get_mut(packet.extra())
    }

    #[inline]
    fn address_hash(&self, packet: &Packet) -> u64 {
        self[packet.flow().index()].address_hash
    }
}

/// An implementation without headers, for tests.
#[cfg(test)]
impl PacketHeaders for () {
    fn header(&mut self, _: &Packet) -> Option<&mut Header> {
        None
    }

    fn address_hash(&self, packet: &Packet) -> u64 {
        Stream::new(0, &format!("{:?}", packet.flow())).bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::time::Time;

    fn datagram(id: u32) -> Packet {
        Packet::new(Time(1), Time(1), FlowId(0), 7, 1500, flag::BESIDE, id)
    }

    #[test]
    fn a_payload_lives_as_long_as_a_packet_has_it() {
        let mut sidecar = Sidecar::new(false, 1, "a flow");
        sidecar.carry_payloads();
        let ids: Vec<u32> = (0..3_u8).map(|byte| sidecar.put_payload([byte].into())).collect();
        sidecar.copy(&datagram(ids[1]));
        sidecar.forget(&datagram(ids[0]));
        assert_eq!(sidecar.payloads_under_way(), Some(3));
        for _ in 0..2 {
            assert_eq!(sidecar.take_payload(&datagram(ids[1])).as_deref(), Some(&[1_u8][..]));
        }
        assert!(sidecar.take_payload(&Packet::new(Time(1), Time(1), FlowId(0), 7, 1500, 0, ids[2])).is_none());
        assert_eq!(sidecar.payloads_under_way(), Some(1));
    }
}
