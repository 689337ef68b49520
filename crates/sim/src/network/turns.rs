//! The turns of links: each carries everything that arrives before a horizon.

use super::layout::SCAN_FEEDERS;
use super::{HEAP, Hop, Network, Next, Tail, forget_sacks, lanes};
use crate::endpoint::{Receiver, SackLog};
use crate::packet::{Packet, flag};
use crate::time::Time;

/// What a receiver that only reacts answers to a segment that it did not expect. Apart from the common case, so that an
/// ACK of that need not be put together in memory.
#[inline(never)]
pub(super) fn answer_with_care(
    receiver: &mut Receiver,
    packet: &Packet,
    sacks: &mut SackLog,
    lead: Tail,
) -> Option<Packet> {
    receiver.on_segment_with_care(packet, sacks).map(|ack| lead.pass(ack))
}

/// The earliest of the heads of a link's ports and which it is; the first of them in a tie. Which it is cannot be predicted,
/// so it is computed and not branched on.
#[inline(always)]
fn earliest_of(heads: &[Time; SCAN_FEEDERS]) -> (Time, usize) {
    const { assert!(SCAN_FEEDERS == 8, "each head is compared once") };
    let earlier = |one: (Time, usize), other: (Time, usize)| if other.0 < one.0 { other } else { one };
    let at = |i: usize| (heads[i], i);
    let (low, high) = (earlier(at(0), at(1)), earlier(at(4), at(5)));
    earlier(earlier(low, earlier(at(2), at(3))), earlier(high, earlier(at(6), at(7))))
}

impl Network {
    /// A link's turn: it carries everything that arrives before `horizon`. Answers whether there was anything.
    pub fn run_link(&mut self, link: u32, horizon: Time) -> bool {
        if self.links[link as usize].is_unsteady() {
            self.serve_unsteady(link, horizon)
        } else if self.links[link as usize].is_served() {
            self.serve_queue(link, horizon)
        } else if self.links[link as usize].is_active() {
            self.serve_actively(link, horizon)
        } else {
            self.serve_link(link, horizon)
        }
    }

    /// A link's turn where its queue decides at departures.
    #[inline(never)]
    fn serve_queue(&mut self, link: u32, horizon: Time) -> bool {
        let ports = std::mem::take(&mut self.link_ports[link as usize]);
        let mut gone = Vec::new();
        let mut worked = false;
        loop {
            let service = self.links[link as usize].next_service();
            let arrival = ports.iter().map(|&port| self.port_head(port)).min().unwrap_or(Time::NEVER);
            if service.min(arrival) >= horizon {
                break;
            }
            worked = true;
            // At the same instant the one in transmission has left before the new one comes.
            if service <= arrival {
                if let Some((packet, at)) = self.links[link as usize].send_next(service, &mut gone, &mut self.sacks) {
                    if packet.is_marked() {
                        self.note_mark(link, service, packet);
                    }
                    self.leave(link, packet, at);
                }
            } else if let Some(packet) = self.next_arrival(&ports, horizon) {
                self.links[link as usize].receive(packet, &mut gone, &mut self.sacks);
            }
            gone.drain(..).for_each(|packet| self.refuse(link, service.min(arrival), packet));
        }
        self.link_ports[link as usize] = ports;
        worked
    }

    /// A link's turn where its delay line does more than delay.
    #[inline(never)]
    fn serve_unsteady(&mut self, link: u32, horizon: Time) -> bool {
        let mut worked = false;
        if self.links[link as usize].is_served() {
            worked = self.serve_queue(link, horizon);
        } else {
            let ports = std::mem::take(&mut self.link_ports[link as usize]);
            while let Some(packet) = self.next_arrival(&ports, horizon) {
                worked = true;
                let hop = Hop { tail: Tail::default(), ..self.hop(&packet) };
                let active = self.links[link as usize].is_active();
                let sent = if active { self.cross_actively(hop, packet) } else { self.cross(hop, packet) };
                let Some(sent) = sent else { continue };
                // It stands before the next hop already; on the wire it is kept as it came here, marked or not.
                let marked = sent.flags() & flag::CE != packet.flags() & flag::CE;
                self.leave(link, if marked { packet.marked() } else { packet }, sent.at);
            }
            self.link_ports[link as usize] = ports;
        }
        while let Some((packet, at)) = self.links[link as usize].land(horizon) {
            worked = true;
            let tail = self.hop(&packet).tail;
            self.forward(packet.next_hop(at + tail.of(packet.bytes())));
        }
        worked
    }

    /// A packet that `link` has sent, and that reaches its far end at `at` if nothing happens on the wire.
    #[inline(never)]
    fn leave(&mut self, link: u32, packet: Packet, at: Time) {
        if !self.links[link as usize].is_unsteady() {
            let tail = self.hop(&packet).tail;
            self.forward(packet.next_hop(at + tail.of(packet.bytes())));
        } else if self.links[link as usize].launch(packet, at) {
            self.duplicated[packet.passage()] += 1;
            self.note_duplicate(link, at, packet);
            self.sacks[packet.flow() as usize].copy(&packet);
        }
    }

    /// The common turn: a queue that only a bound decides about. What is uncommon behind the link is done here.
    fn serve_link(&mut self, link: u32, horizon: Time) -> bool {
        let ports = std::mem::take(&mut self.link_ports[link as usize]);
        let mut worked = false;
        if let [port] = *ports
            && !self.lanes.is_empty()
            && self.log.is_none()
        {
            self.serve_transfers(port, link as usize, horizon, &mut worked);
        } else if self.log.is_some() || ports.iter().any(|port| port & HEAP != 0) {
            while let Some(packet) = self.next_arrival(&ports, horizon) {
                worked = true;
                let hop = self.hop(&packet);
                if let Some(packet) = self.cross(hop, packet) {
                    self.forward(packet);
                }
            }
        } else {
            let serve = match (self.lanes.is_empty(), self.chained[link as usize]) {
                (true, false) => Self::serve_until_uncommon::<false, false>,
                (true, true) => Self::serve_until_uncommon::<false, true>,
                (false, _) => Self::serve_until_uncommon::<true, true>,
            };
            while let Some(packet) = serve(self, &ports, link as usize, horizon, &mut worked) {
                self.forward(packet);
            }
        }
        self.link_ports[link as usize] = ports;
        worked
    }

    /// Carries what waits in `ports` before `horizon`, up to a packet that meets something uncommon behind the link. With
    /// `MANY` flows, what a packet will need is fetched into the cache a few packets before. What comes behind is `CHAINED` where
    /// that may be a link that is computed on the spot.
    #[inline(never)]
    fn serve_until_uncommon<const MANY: bool, const CHAINED: bool>(
        &mut self,
        ports: &[u32],
        link: usize,
        horizon: Time,
        worked: &mut bool,
    ) -> Option<Packet> {
        let Self { links, mailboxes, hops, paths, receivers, sacks, dropped, end, .. } = self;
        let (before, link_and_after) = links.split_at_mut(link);
        let (link, after) = link_and_after.split_first_mut()?;
        let mut heads = [Time::NEVER; SCAN_FEEDERS];
        if ports.len() > 2 {
            heads.iter_mut().zip(ports).for_each(|(head, &port)| *head = mailboxes.head(port as usize));
        }
        'packets: loop {
            let (packet, from) = match *ports {
                [only] => {
                    if mailboxes.head(only as usize) >= horizon {
                        return None;
                    }
                    (mailboxes.take_head(only as usize), only)
                }
                [first, second] => {
                    // Whose turn it is cannot be predicted, so it is computed and not branched on.
                    let (one, other) = (mailboxes.head(first as usize), mailboxes.head(second as usize));
                    if one.min(other) >= horizon {
                        return None;
                    }
                    let from = [first, second][usize::from(other < one)];
                    (mailboxes.take_head(from as usize), from)
                }
                _ => {
                    let (head, at) = earliest_of(&heads);
                    if head >= horizon {
                        return None;
                    }
                    let packet = mailboxes.take_head(ports[at] as usize);
                    // Nothing that comes into these ports during the turn is for this turn, so copies do.
                    heads[at] = mailboxes.head(ports[at] as usize);
                    (packet, ports[at])
                }
            };
            *worked = true;
            if MANY && let Some(soon) = mailboxes.of(from as usize).ahead(lanes::LOOK_AHEAD) {
                let hop = &hops[paths[soon.passage()].first_hop as usize + soon.hop()];
                let inbox = if let Next::Echo(port) = hop.next { mailboxes.of(port as usize).touch() } else { None };
                let flow = soon.flow() as usize;
                std::hint::black_box((inbox, receivers[flow].touch(), paths[flow * 2 + 1].lead.delay));
            }
            let hop = &hops[paths[packet.passage()].first_hop as usize + packet.hop()];
            let bytes = packet.bytes();
            let Some(at) = link.carry(packet.at, bytes) else {
                dropped[packet.passage()] += 1;
                forget_sacks(sacks, packet);
                continue;
            };
            let mut packet = packet.next_hop(at + hop.tail.of(bytes));
            let mut next = hop.next;
            while CHAINED && let Next::Inline(inner) = next {
                let inner = inner as usize;
                let behind = inner.checked_sub(before.len() + 1);
                let link = behind.map_or_else(|| &mut before[inner], |behind| &mut after[behind]);
                if packet.at >= *end && link.is_recorded() {
                    return Some(packet);
                }
                let Some(at) = link.carry(packet.at, bytes) else {
                    dropped[packet.passage()] += 1;
                    forget_sacks(sacks, packet);
                    continue 'packets;
                };
                let hop = &hops[paths[packet.passage()].first_hop as usize + packet.hop()];
                packet = packet.next_hop(at + hop.tail.of(bytes));
                next = hop.next;
            }
            match next {
                Next::Mailbox(port) => mailboxes.push(port as usize, packet),
                Next::Echo(port) if packet.at < *end => {
                    let flow = packet.flow() as usize;
                    let (receiver, lead) = (&mut receivers[flow], paths[flow * 2 + 1].lead);
                    match receiver.on_expected(&packet) {
                        Some(ack) => mailboxes.push(port as usize, lead.pass(ack)),
                        None => {
                            // A copy, so that the packet itself need not lie in memory.
                            if let Some(ack) = answer_with_care(receiver, &{ packet }, &mut sacks[flow], lead) {
                                mailboxes.push(port as usize, ack);
                            }
                        }
                    }
                }
                Next::Batch(_) | Next::Echo(_) | Next::EchoBatch(_) | Next::Inline(_) | Next::Other => {
                    return Some(packet);
                }
            }
        }
    }

    /// A link's turn where its queue decides by more than a bound.
    #[inline(never)]
    fn serve_actively(&mut self, link: u32, horizon: Time) -> bool {
        let ports = std::mem::take(&mut self.link_ports[link as usize]);
        let mut worked = false;
        while let Some(packet) = self.next_arrival(&ports, horizon) {
            worked = true;
            let hop = self.hop(&packet);
            if let Some(packet) = self.cross_actively(hop, packet) {
                self.forward(packet);
            }
        }
        self.link_ports[link as usize] = ports;
        worked
    }
}
