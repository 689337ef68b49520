//! Way of an end's packets to the first node at which they wait.

use super::hops::{Access, Tail, Times};
use super::ports::{Port, Ports};
use crate::packet::Packet;
use crate::time::Time;

/// First link of an end's path, if only this end feeds the link and the link never drops a packet. The end then
/// computes the departure times of the link's transmitter itself, and sends packets to the node behind the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Egress {
    /// Number of the end's [`Access`].
    pub(super) access: u32,
    pub(super) free: Time,
    /// Size of the usual packet, bytes, and its times on the link.
    pub(super) usual_bytes: u64,
    pub(super) usual: Times,
    pub(super) next: Port,
    /// Rank of this end among the feeders of the node behind the link.
    pub(super) rank: u32,
}

/// First node of an end's path at which packets wait: the links before this node never queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) lead: Tail,
    pub(super) port: Port,
    /// Rank of this end among the feeders of the node.
    pub(super) rank: u32,
}

/// Way of an end's packets to the first node at which they wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// Over a link that only this end feeds.
    Link(Egress),
    /// Over links that never queue. With thousands of flows, reading this way from the lists of the network would cost
    /// several cache misses.
    Gate(Gate),
    /// Any other way, behind links that never queue.
    Hops(Tail),
}

/// Times of a packet whose size is not the usual size.
#[inline(never)]
fn times_of(packet: &Packet, access: &Access) -> Times {
    access.times(packet.bytes())
}

impl Egress {
    /// Puts a train into the container behind the link. The link takes its packets as [`crate::link::Link::carry_train`] does.
    #[cold]
    #[inline(never)]
    fn put_train(&mut self, train: Packet, ports: &mut Ports, accesses: &[Access]) {
        let Times { lead, transmission, delay } = times_of(&train, &accesses[self.access as usize]);
        let begin = self.free.max(train.at.since(train.span()) + lead);
        let sent = begin + Time(transmission.0 * u64::from(train.count()));
        self.free = sent.max(train.at + lead + transmission);
        let span = self.free.since(begin + transmission);
        ports.put(self.next, train.spanning(span).next_hop(self.free + delay), self.rank);
    }
}

impl Start {
    /// Puts a packet into the container at the first node where it waits. Returns the packet if it must be
    /// forwarded from hop to hop.
    #[inline(always)]
    pub(super) fn put(&mut self, packet: Packet, ports: &mut Ports, accesses: &[Access]) -> Option<Packet> {
        let egress = match self {
            Self::Link(egress) => egress,
            Self::Gate(Gate { lead, port, rank }) => {
                ports.put(*port, lead.pass(packet), *rank);
                return None;
            }
            Self::Hops(lead) => return Some(lead.pass(packet)),
        };
        if packet.is_train() {
            egress.put_train(packet, ports, accesses);
            return None;
        }
        let Times { lead, transmission, delay } = if packet.bytes() == egress.usual_bytes {
            egress.usual
        } else {
            times_of(&packet, &accesses[egress.access as usize])
        };
        egress.free = egress.free.max(packet.at + lead) + transmission;
        ports.put(egress.next, packet.next_hop(egress.free + delay), egress.rank);
        None
    }

    /// True if no packet must be forwarded from hop to hop.
    pub(super) fn is_direct(&self) -> bool {
        !matches!(self, Self::Hops(_))
    }
}
