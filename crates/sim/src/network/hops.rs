//! Paths as lists of hops, with the common case of the next hop stored in each.

use super::ports::{BatchId, LinkId, MailboxId, Port};
use crate::link::{FRACTION_BITS, Link};
use crate::packet::{Packet, PassageId};
use crate::time::Time;

/// Time that links without queueing add to a packet's delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Propagation.
    pub(super) delay: Time,
    /// Transmission, 2⁻²⁴ ps per byte.
    ps_per_byte: u64,
}

impl Tail {
    /// Time that a packet of `bytes` takes on the links without queueing.
    #[inline(always)]
    pub(super) fn of(self, bytes: u64) -> Time {
        self.delay + Time(((u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION_BITS) as u64)
    }

    /// Moves a packet behind the links without queueing.
    #[inline(always)]
    pub(super) fn pass(self, mut packet: Packet) -> Packet {
        packet.at += self.of(packet.bytes());
        packet
    }

    /// Adds a link.
    pub(super) fn add(&mut self, link: &Link) {
        self.delay += link.delay;
        self.ps_per_byte += link.ps_per_byte();
    }
}

/// Times of a packet on the first link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Time before the packet is at the transmitter.
    pub(super) lead: Time,
    pub(super) transmission: Time,
    /// Time from the departure of the last bit at the transmitter to its arrival at the next node.
    pub(super) delay: Time,
}

/// Access of an end to its first shared node. The access determines the link times of a packet of any size. All ends of
/// a group of flows have the same access, so this access stays in the cache for any number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) lead: Tail,
    /// Transmission on the first link, 2⁻²⁴ ps per byte.
    pub(super) ps_per_byte: u64,
    /// Propagation on the first link.
    pub(super) delay: Time,
    pub(super) tail: Tail,
}

impl Access {
    pub(super) fn times(&self, bytes: u64) -> Times {
        Times {
            lead: self.lead.of(bytes),
            transmission: Time(((u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION_BITS) as u64),
            delay: self.delay + self.tail.of(bytes),
        }
    }
}

/// Place where a packet waits, or is handled at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a mailbox, for the turn of a link or of an endpoint.
    Mailbox(MailboxId),
    /// In a batch, for a link's turn.
    Batch(BatchId),
    /// Before a link that is evaluated inline.
    Inline(LinkId),
    /// At a receiver that is evaluated inline; the mailbox for its ACKs, which is prefetched, if it is known.
    Sink(MailboxId),
    /// At a receiver with timers that is evaluated inline.
    TimedSink,
    /// At a place for which a packet leaves the loop over common packets.
    Uncommon,
}

impl From<Port> for Place {
    fn from(port: Port) -> Self {
        match port {
            Port::Mailbox(id) => Self::Mailbox(id),
            Port::Batch(id) => Self::Batch(id),
        }
    }
}

/// Nodes behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// No path has the link yet.
    None,
    /// The far ends of all paths over this link, behind the same links that can never queue. A packet then needs no hop.
    /// With thousands of flows, reading a flow's hop would cost a cache miss.
    Inboxes(Tail),
    /// Different nodes.
    Various,
}

impl Delivery {
    /// Adds the delivery of a further path.
    pub(super) fn add(&mut self, other: Self) {
        *self = if *self == Self::None || *self == other { other } else { Self::Various };
    }
}

/// A hop of a path: a link that can queue, or the far end. The struct is aligned so that no hop lies in two cache
/// lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Hop {
    pub(super) place: Place,
    /// The links behind this link that can never queue.
    pub(super) tail: Tail,
    /// The place of the next hop, computed before the run, in the common case.
    pub(super) next: Place,
}

/// Paths of each flow's data (`2f`) and ACKs (`2f + 1`), in two lists. The first list stays in the cache even with
/// thousands of flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    first_hops: Vec<u32>,
    /// Links before the first hop that can never queue.
    pub(super) leads: Vec<Tail>,
}

impl Paths {
    pub(super) fn add(&mut self, first_hop: usize, lead: Tail) {
        self.first_hops.push(first_hop as u32);
        self.leads.push(lead);
    }

    /// Removes the last path. Returns the path's first hop and the link times before that hop.
    pub(super) fn remove_last(&mut self) -> Option<(usize, Tail)> {
        Some((self.first_hops.pop()? as usize, self.leads.pop()?))
    }

    pub(super) fn len(&self) -> usize {
        self.first_hops.len()
    }

    #[inline(always)]
    pub(super) fn first_hop(&self, passage: PassageId) -> usize {
        self.first_hops[passage.index()] as usize
    }

    /// Hops of a passage (a flow and a direction), among `all`.
    pub(super) fn hops_of(&self, passage: PassageId, all: usize) -> std::ops::Range<usize> {
        self.first_hop(passage)..self.first_hops.get(passage.index() + 1).map_or(all, |&hop| hop as usize)
    }

    /// Next hop of a packet.
    #[inline(always)]
    pub(super) fn hop_of(&self, packet: &Packet) -> usize {
        self.first_hop(packet.passage()) + packet.hop()
    }
}

/// Forward and reverse path that the transfers of a source share.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Hops of data and of ACKs. The last hop of each direction is the far end, whose mailbox differs for each slot.
    pub(super) hops: [Vec<Hop>; 2],
    pub(super) leads: [Tail; 2],
    /// True if ACKs may overtake each other or arrive twice.
    pub(super) loose: bool,
}
