//! Attachment of an endpoint to the network: its mailbox, its output, and its turn.

use super::fabric::Network;
use super::hops::{Access, Delivery, Hop, Place};
use super::ports::{MailboxId, Port};
use super::sinks::Sink;
use super::start::{Egress, Gate, Start};
use crate::endpoint::{End, Endpoint, EndpointState, Outlet, Receiver};
use crate::packet::{FlowId, Packet, PassageId};
use crate::prefetch;
use crate::sidecar::Sidecar;
use crate::spec::{FlowSpec, MOST_IN_FLIGHT};
use crate::time::Time;

/// Number of the latest accesses that are compared with a new access.
const ACCESSES_COMPARED: usize = 4;

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
        let Self { network: Network { ports, accesses, .. }, attachment } = self;
        if let Some(packet) = attachment.start.put(packet, ports, accesses) {
            self.network.forward_apart(packet);
        }
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
        let start = self.start_of(passage, usual_bytes);
        Attachment { flow, end, inbox: self.inbox(flow, end), start, counts_ns }
    }

    /// Way of the packets of a passage, most of which have `usual_bytes`.
    fn start_of(&mut self, passage: PassageId, usual_bytes: Option<u16>) -> Start {
        match usual_bytes.and_then(|bytes| self.egress(passage, bytes.into())) {
            Some(egress) => Start::Link(egress),
            None => self.gate(passage).map_or(Start::Hops(self.paths.leads[passage.index()]), Start::Gate),
        }
    }

    /// Has the receiver of a flow evaluated inline, if a link before it has turns and its ACKs need not be forwarded from hop
    /// to hop.
    pub(super) fn make_sink(&mut self, flow: FlowId, spec: &FlowSpec) {
        let hops = self.paths.hops_of(flow.data(), self.hops.len());
        let waits = |hop: &Hop| matches!(hop.place, Place::Mailbox(_) | Place::Batch(_));
        let last = spec.path.iter().rev().find(|&&link| self.deliveries[link] != Delivery::None);
        let Some(&last) = last.filter(|_| self.hops[hops.start..hops.end - 1].iter().any(waits)) else { return };
        if self.start_of(flow.acks(), Some(spec.stack.ack_bytes as u16)).is_direct() {
            self.deliveries[last] = Delivery::Various;
            self.hops[hops.end - 1].place = Place::TimedSink;
        }
    }

    /// True if the receiver of a flow is evaluated inline.
    #[must_use]
    pub fn is_inline(&self, flow: FlowId) -> bool {
        let hops = self.paths.hops_of(flow.data(), self.hops.len());
        self.hops[hops].last().is_some_and(|hop| matches!(hop.place, Place::Sink(_) | Place::TimedSink))
    }

    /// Sets the receiver of a flow, most of whose ACKs have `ack_bytes`. With `counts_ns`, packets arrive for it at whole ns
    /// if it has timers.
    pub fn set_sink(&mut self, flow: FlowId, receiver: Receiver, ack_bytes: Option<u16>, counts_ns: bool) {
        let start = self.start_of(flow.acks(), ack_bytes);
        self.sinks[flow.index()] = Some(Sink { receiver, start, counts_ns });
    }

    /// Time of the next timer of a receiver that is evaluated inline.
    #[inline(always)]
    pub fn sink_timer(&self, flow: FlowId) -> Time {
        self.sinks[flow.index()].as_ref().map_or(Time::NEVER, |sink| sink.receiver.timer())
    }

    /// Handles the timers of such a receiver before `horizon`.
    pub fn run_sink(&mut self, flow: FlowId, horizon: Time) {
        let Self { sinks, sidecars, ports, accesses, .. } = self;
        if let Some(sink) = &mut sinks[flow.index()] {
            sink.run(flow, horizon, ports, accesses, &mut sidecars[flow.index()]);
        }
    }

    /// First node of a passage, if packets wait there.
    fn gate(&self, passage: PassageId) -> Option<Gate> {
        let port = match self.hops.get(self.paths.first_hop(passage))?.place {
            Place::Mailbox(id) => Port::Mailbox(id),
            Place::Batch(id) => Port::Batch(id),
            _ => return None,
        };
        Some(Gate { lead: self.paths.leads[passage.index()], port, rank: self.ranks[passage.index()] })
    }

    fn egress(&mut self, passage: PassageId, usual_bytes: u64) -> Option<Egress> {
        let [hop, next, ..] = self.hops.get(self.paths.hops_of(passage, self.hops.len()))? else { return None };
        let Place::Inline(link) = hop.place else { return None };
        let next = match next.place {
            Place::Mailbox(id) => Port::Mailbox(id),
            Place::Batch(id) => Port::Batch(id),
            _ => return None,
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
