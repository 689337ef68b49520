//! Attachment of an endpoint to the network: its mailbox, its way out, and its turn.

use super::fabric::Network;
use super::hops::Place;
use super::ports::{LinkId, MailboxId};
use crate::endpoint::{End, Endpoint, Outlet};
use crate::packet::{FlowId, Packet};
use crate::sidecar::Sidecar;
use crate::spec::MOST_IN_FLIGHT;
use crate::time::Time;

/// First link of a sender's path if only this sender feeds it and it never drops a packet: a transmitter that goes with the
/// sender, and the mailbox behind it.
#[derive(Clone, Copy, Debug)]
struct Egress {
    free: Time,
    transmission: Time,
    /// From the transmitter's last bit to the next hop.
    delay: Time,
    next: MailboxId,
}

/// One end of a flow, as the network sees it.
#[derive(Clone, Debug)]
pub struct Attachment {
    flow: FlowId,
    end: End,
    inbox: MailboxId,
    egress: Option<Egress>,
}

/// Way out of an endpoint during its turn.
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
        if let Some(egress) = &mut self.attachment.egress {
            egress.free = egress.free.max(packet.at) + egress.transmission;
            self.network.ports.mailboxes.push(egress.next, packet.next_hop(egress.free + egress.delay));
        } else {
            self.network.send(packet);
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
    /// When the next packet in a mailbox arrives.
    #[must_use]
    #[inline(always)]
    pub fn head(&self, inbox: MailboxId) -> Time {
        self.ports.mailboxes.head(inbox)
    }

    /// Reads the next packet in a mailbox, so that it is in the cache when it is taken out.
    #[inline(always)]
    pub fn touch(&self, inbox: MailboxId) {
        std::hint::black_box(self.ports.mailboxes.of(inbox).ahead(0).map(|packet| packet.at));
    }

    /// Attaches one end of a flow. `packet_bytes` is the size of all packets that this end sends, if they have one size.
    #[must_use]
    pub fn attach(&self, flow: FlowId, end: End, packet_bytes: Option<u16>) -> Attachment {
        let egress = packet_bytes.filter(|_| end == End::Sender).and_then(|bytes| self.egress(flow, bytes));
        Attachment { flow, end, inbox: self.inbox(flow, end), egress }
    }

    fn egress(&self, flow: FlowId, bytes: u16) -> Option<Egress> {
        let [first, past] = [flow.data(), flow.acks()].map(|passage| self.paths[passage.index()].first_hop as usize);
        if first + 2 >= past {
            // Only the far end is behind the first link.
            return None;
        }
        let (hop, next) = (self.hops.get(first)?, self.hops.get(first + 1)?);
        let (Place::Inline(LinkId(link)), Place::Mailbox(next)) = (hop.place, next.place) else { return None };
        let link = &self.links[link as usize];
        let transmission = link.transmission(u64::from(bytes));
        // As many packets as may be outstanding are sent before the end of time.
        let quick = transmission.0.saturating_mul(u64::from(MOST_IN_FLIGHT)) < Time::FAR.0 / 2;
        let delay = link.delay + hop.tail.of(u64::from(bytes));
        (link.is_plain() && quick).then_some(Egress { free: Time::ZERO, transmission, delay, next })
    }
}

impl Attachment {
    /// The mailbox of packets that arrive here.
    #[must_use]
    pub fn inbox(&self) -> MailboxId {
        self.inbox
    }

    /// The turn of an endpoint: all of its events before `horizon`, in the order of time, a timer before an arrival of the same
    /// instant. Returns whether there was any. A run with an event log is `LOGGED`.
    pub fn give_turn<const LOGGED: bool, E>(&mut self, endpoint: &mut E, horizon: Time, network: &mut Network) -> bool
    where
        E: for<'a> Endpoint<Exit<'a>>,
    {
        let inbox = self.inbox;
        let mut exit = Exit { network, attachment: self };
        let mut worked = false;
        // The instant of the arrivals that are logged and not settled.
        let mut unsettled = Time::NEVER;
        loop {
            let arrival = exit.network.ports.mailboxes.head(inbox);
            let timer = endpoint.timer();
            if LOGGED && timer.min(arrival) > unsettled {
                endpoint.log_settled();
                unsettled = Time::NEVER;
            }
            if timer <= arrival {
                if timer >= horizon {
                    return worked;
                }
                endpoint.on_timer(&mut exit);
            } else {
                if arrival >= horizon {
                    return worked;
                }
                if LOGGED && arrival != unsettled {
                    let flow = exit.attachment.flow.index();
                    let waiting = exit.network.ports.mailboxes.of(inbox).iter().copied();
                    let mut arrivals = waiting.take_while(|packet| packet.at == arrival);
                    endpoint.log_arrivals(&mut arrivals, &exit.network.sidecars[flow]);
                    unsettled = arrival;
                }
                let packet = exit.network.ports.mailboxes.take_head(inbox);
                endpoint.on_packet(&packet, &mut exit);
            }
            worked = true;
        }
    }
}
