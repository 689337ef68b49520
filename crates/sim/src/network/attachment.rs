//! Attachment of an endpoint to the network: its mailbox, its output, and its turn.

use super::fabric::Network;
use super::hops::{Access, Place, Tail, Times};
use super::ports::{MailboxId, Port};
use crate::endpoint::{End, Endpoint, Outlet};
use crate::packet::{FlowId, Packet, PassageId};
use crate::prefetch;
use crate::sidecar::Sidecar;
use crate::spec::MOST_IN_FLIGHT;
use crate::time::Time;

/// Number of the latest accesses that are compared with a new access.
const ACCESSES_COMPARED: usize = 4;

/// First link of an end's path, if only this end feeds the link and the link never drops a packet. The end then
/// computes the departure times of the link's transmitter itself, and sends packets to the node behind the link.
#[derive(Clone, Copy, Debug)]
struct Egress {
    /// Number of the end's [`Access`].
    access: u32,
    free: Time,
    /// Size of the usual packet, bytes, and its times on the link.
    usual_bytes: u64,
    usual: Times,
    next: Port,
    /// Rank of this end among the feeders of the node behind the link.
    rank: u32,
}

/// First node of an end's path at which packets wait: the links before this node never queue.
#[derive(Clone, Copy, Debug)]
struct Gate {
    lead: Tail,
    port: Port,
    /// Rank of this end among the feeders of the node.
    rank: u32,
}

/// Way of an end's packets to the first node at which they wait.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// Over a link that only this end feeds.
    Link(Egress),
    /// Over links that never queue. With thousands of flows, reading this way from the lists of the network would cost
    /// several cache misses.
    Gate(Gate),
    /// Any other way.
    Hops,
}

/// One end of a flow, as the network sees it.
#[derive(Clone, Debug)]
pub struct Attachment {
    flow: FlowId,
    end: End,
    inbox: MailboxId,
    start: Start,
    /// True if the end's host reads a clock of whole ns: a packet arrives for the end at the next whole ns.
    counts_ns: bool,
}

/// Output of an endpoint during its turn.
#[derive(Debug)]
pub struct Exit<'a> {
    network: &'a mut Network,
    attachment: &'a mut Attachment,
}

impl Outlet for Exit<'_> {
    fn address(&self) -> (FlowId, End) {
        (self.attachment.flow, self.attachment.end)
    }

    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        let egress = match &mut self.attachment.start {
            Start::Link(egress) => egress,
            Start::Gate(Gate { lead, port, rank }) => return self.network.put(*port, lead.pass(packet), *rank),
            Start::Hops => return self.network.send(packet),
        };
        let Times { lead, transmission, delay } = if packet.bytes() == egress.usual_bytes {
            egress.usual
        } else {
            self.network.times_of(&packet, egress.access)
        };
        egress.free = egress.free.max(packet.at + lead) + transmission;
        let packet = packet.next_hop(egress.free + delay);
        self.network.put(egress.next, packet, egress.rank);
    }

    #[inline(always)]
    fn beside(&mut self) -> &mut Sidecar {
        &mut self.network.sidecars[self.attachment.flow.index()]
    }

    fn has_room_for(&mut self, packets: u32) -> bool {
        self.network.has_room_for(packets)
    }
}

impl Network {
    /// Adds a packet of a feeder with this rank to a container.
    #[inline(always)]
    fn put(&mut self, port: Port, packet: Packet, rank: u32) {
        match port {
            Port::Mailbox(id) => self.ports.mailboxes.push(id, packet),
            Port::Batch(id) => self.ports.batches[id.index()].push(packet, rank),
        }
    }

    /// Arrival time of the next packet in a mailbox.
    #[must_use]
    #[inline(always)]
    pub fn head(&self, inbox: MailboxId) -> Time {
        self.ports.mailboxes.head(inbox)
    }

    /// Takes the next packet out of a mailbox, if there is one.
    pub fn take(&mut self, inbox: MailboxId) -> Option<Packet> {
        self.ports.mailboxes.pop(inbox)
    }

    /// Prefetches a mailbox and the sidecar data of its packets, for a turn that follows soon.
    #[inline(always)]
    pub fn fetch(&self, inbox: MailboxId, flow: FlowId) {
        self.fetch_mailbox(inbox);
        prefetch::element(&self.sidecars, flow.index());
    }

    /// Prefetches the state of a mailbox.
    #[inline(always)]
    pub fn fetch_mailbox(&self, inbox: MailboxId) {
        self.ports.mailboxes.fetch(inbox);
    }

    /// Prefetches the next packets in a mailbox.
    #[inline(always)]
    pub fn fetch_oldest(&self, inbox: MailboxId) {
        self.ports.mailboxes.of(inbox).fetch_oldest();
    }

    /// Prefetches the sidecar of a flow.
    #[inline(always)]
    pub fn fetch_beside(&self, flow: FlowId) {
        self.sidecars[flow.index()].sacks.fetch_oldest();
    }

    /// Attaches one end of a flow, most of whose packets have `usual_bytes`. With `counts_ns`, packets arrive for the end at
    /// whole ns.
    #[must_use]
    pub fn attach(&mut self, flow: FlowId, end: End, usual_bytes: Option<u16>, counts_ns: bool) -> Attachment {
        let passage = if end == End::Sender { flow.data() } else { flow.acks() };
        let start = match usual_bytes.and_then(|bytes| self.egress(passage, bytes.into())) {
            Some(egress) => Start::Link(egress),
            None => self.gate(passage).map_or(Start::Hops, Start::Gate),
        };
        Attachment { flow, end, inbox: self.inbox(flow, end), start, counts_ns }
    }

    /// First node of a passage, if packets wait there.
    fn gate(&self, passage: PassageId) -> Option<Gate> {
        let port = match self.hops.get(self.paths.first_hop(passage))?.place {
            Place::Mailbox(id) => Port::Mailbox(id),
            Place::Batch(id) => Port::Batch(id),
            Place::Inline(_) | Place::Sink(_) => return None,
        };
        Some(Gate { lead: self.paths.leads[passage.index()], port, rank: self.ranks[passage.index()] })
    }

    fn egress(&mut self, passage: PassageId, usual_bytes: u64) -> Option<Egress> {
        let [hop, next, ..] = self.hops.get(self.paths.hops_of(passage, self.hops.len()))? else { return None };
        let Place::Inline(link) = hop.place else { return None };
        let next = match next.place {
            Place::Mailbox(id) => Port::Mailbox(id),
            Place::Batch(id) => Port::Batch(id),
            Place::Inline(_) | Place::Sink(_) => return None,
        };
        let link = &self.links[link.index()];
        let access = Access {
            lead: self.paths.leads[passage.index()],
            ps_per_byte: link.ps_per_byte(),
            delay: link.delay,
            tail: hop.tail,
        };
        // The end computes departures only if even the largest number of outstanding packets is sent before
        // [`Time::FAR`].
        let slowest = access.times(u16::MAX.into()).transmission;
        let quick = slowest.0.saturating_mul(u64::from(MOST_IN_FLIGHT)) < Time::FAR.0 / 2;
        if !link.is_plain() || !quick {
            return None;
        }
        let (usual, rank) = (access.times(usual_bytes), self.ranks[passage.index()]);
        let access = self.number_of(access);
        Some(Egress { access, free: Time::ZERO, usual_bytes, usual, next, rank })
    }

    /// Index of an access in the list of distinct accesses. Comparing the last few accesses suffices, since a group's
    /// flows alternate between two accesses.
    fn number_of(&mut self, access: Access) -> u32 {
        let known = self.accesses.len();
        let from = known.saturating_sub(ACCESSES_COMPARED);
        let place = (from..known).find(|&place| self.accesses[place] == access).unwrap_or(known);
        if place == known {
            self.accesses.push(access);
        }
        place as u32
    }

    /// Times of a packet whose size is not the usual size.
    #[inline(never)]
    fn times_of(&self, packet: &Packet, access: u32) -> Times {
        self.accesses[access as usize].times(packet.bytes())
    }
}

impl Attachment {
    /// The mailbox of packets that arrive at this end.
    #[must_use]
    pub fn inbox(&self) -> MailboxId {
        self.inbox
    }

    /// Time of an arrival on the clock of the end's host.
    #[inline(always)]
    fn seen(&self, at: Time) -> Time {
        if self.counts_ns { at.to_next_ns() } else { at }
    }

    /// Takes the turn of an endpoint: all of its events before `horizon`, in the order of time, with a timer before an
    /// arrival at the same instant. Returns the time of the endpoint's next timer, which does not change before the
    /// endpoint's next turn. `LOGGED` is true in a run with an event log.
    pub fn give_turn<const LOGGED: bool, E>(&mut self, endpoint: &mut E, horizon: Time, network: &mut Network) -> Time
    where
        E: for<'a> Endpoint<Exit<'a>>,
    {
        let inbox = self.inbox;
        let mut exit = Exit { network, attachment: self };
        // Instant of the logged arrivals for which `log_settled` has not been called yet.
        let mut unsettled = Time::NEVER;
        loop {
            let head = exit.network.ports.mailboxes.head(inbox);
            let (arrival, timer) = (exit.attachment.seen(head), endpoint.timer());
            let is_over = timer.min(head) >= horizon;
            if LOGGED && (timer.min(arrival) > unsettled || (is_over && unsettled < Time::NEVER)) {
                endpoint.log_settled();
                unsettled = Time::NEVER;
            }
            if is_over {
                return timer;
            }
            // An arrival before the horizon may take effect after it, and then so may a timer that precedes the arrival.
            if timer <= arrival {
                endpoint.on_timer(&mut exit);
            } else {
                if LOGGED && arrival != unsettled {
                    let Exit { network, attachment } = &exit;
                    let together = |packet: &&Packet| packet.at < horizon && attachment.seen(packet.at) == arrival;
                    let waiting = network.ports.mailboxes.of(inbox).iter().take_while(together);
                    let mut arrivals = waiting.map(|packet| packet.arriving(arrival));
                    endpoint.log_arrivals(&mut arrivals, &network.sidecars[attachment.flow.index()]);
                    unsettled = arrival;
                }
                let packet = exit.network.ports.mailboxes.take_head(inbox);
                endpoint.on_packet(&packet.arriving(arrival), &mut exit);
            }
        }
    }
}
