//! What transfers that come and go add to the network: their places on a source's lane, and the turns of links that they cross.

use super::turns::answer_with_care;
use super::{BATCH, HEAP, Network, Next, Path, forget_sacks};
use crate::endpoint::{Receiver, SackLog};
use crate::packet::Packet;
use crate::time::Time;

/// How many packets before its turn what one needs is fetched: far enough for memory, near enough to be there still.
pub(super) const LOOK_AHEAD: usize = 4;

impl Network {
    /// A link's common turn where transfers come and go, and a single port feeds it.
    pub(super) fn serve_transfers(&mut self, port: u32, link: usize, horizon: Time, worked: &mut bool) {
        if port & HEAP == 0 {
            while let Some(packet) = self.serve_port_until_uncommon::<false>(port, link, horizon, worked) {
                self.forward(packet);
            }
        } else if port & BATCH != 0 {
            let port = port & !HEAP & !BATCH;
            while let Some(packet) = self.serve_port_until_uncommon::<true>(port, link, horizon, worked) {
                self.forward(packet);
            }
        } else {
            while let Some(packet) = self.next_arrival(&[port], horizon) {
                *worked = true;
                let hop = self.hop(&packet);
                if let Some(packet) = self.cross(hop, packet) {
                    self.forward(packet);
                }
            }
        }
    }

    /// As [`Network::serve_until_uncommon`] for a single mailbox or batch, from which packets may go on into a batch.
    #[inline(never)]
    fn serve_port_until_uncommon<const FROM_BATCH: bool>(
        &mut self,
        port: u32,
        link: usize,
        horizon: Time,
        worked: &mut bool,
    ) -> Option<Packet> {
        let Self { links, mailboxes, batches, hops, paths, ranks, receivers, sacks, dropped, end, .. } = self;
        let link = &mut links[link];
        loop {
            let packet = if FROM_BATCH {
                batches[port as usize].pop_before(horizon)?
            } else {
                if mailboxes.head(port as usize) >= horizon {
                    return None;
                }
                mailboxes.take_head(port as usize)
            };
            *worked = true;
            let hop = &hops[paths[packet.passage()].first_hop as usize + packet.hop()];
            let bytes = packet.bytes();
            let Some(at) = link.carry(packet.at, bytes) else {
                dropped[packet.passage()] += 1;
                forget_sacks(sacks, packet);
                continue;
            };
            let packet = packet.next_hop(at + hop.tail.of(bytes));
            match hop.next {
                Next::Mailbox(port) => mailboxes.push(port as usize, packet),
                Next::Batch(port) => batches[port as usize].push(packet, ranks[packet.passage()]),
                Next::EchoBatch(port) if packet.at < *end => {
                    let flow = packet.flow() as usize;
                    let back = flow * 2 + 1;
                    let (receiver, lead) = (&mut receivers[flow], paths[back].lead);
                    match receiver.on_expected(&packet) {
                        Some(ack) => batches[port as usize].push(lead.pass(ack), ranks[back]),
                        None => {
                            // A copy, so that the packet itself need not lie in memory.
                            if let Some(ack) = answer_with_care(receiver, &{ packet }, &mut sacks[flow], lead) {
                                batches[port as usize].push(ack, ranks[back]);
                            }
                        }
                    }
                }
                Next::Echo(_) | Next::EchoBatch(_) | Next::Inline(_) | Next::Other => return Some(packet),
            }
        }
    }

    /// Reads the next packet in a mailbox, so that it is in the cache when it is taken out.
    #[inline(always)]
    pub fn touch_inbox(&self, inbox: u32) {
        std::hint::black_box(self.mailboxes.of(inbox as usize).ahead(0).map(|packet| packet.at));
    }

    /// Makes room for one more transfer of a source at a time; the answer is its number among the flows.
    pub fn widen_lane(&mut self, source: usize, receiver: Receiver) -> u32 {
        let flow = self.receivers.len() as u32;
        self.receivers.push(receiver);
        self.sacks.push(SackLog::new(self.lanes[source].loose));
        for direction in 0..2 {
            let lane = &self.lanes[source];
            let (first_hop, inbox) = (self.hops.len() as u32, self.mailboxes.add());
            self.hops.extend_from_slice(&lane.hops[direction]);
            if let Some(end) = self.hops.last_mut() {
                end.port = inbox;
            }
            self.paths.push(Path { first_hop, lead: lane.leads[direction] });
            self.inboxes.push(inbox);
            self.dropped.push(0);
            self.duplicated.push(0);
            self.ranks.push(0);
        }
        self.look_ahead(flow as usize * 2);
        self.look_ahead(flow as usize * 2 + 1);
        flow
    }

    /// Gives the place of a transfer that is through to the next: its receiver, its rank where packets compete, and how much
    /// longer than the source's path its own is. That is put behind the last link of the ACKs that can queue, where each
    /// transfer's packets are by themselves.
    pub fn occupy(&mut self, source: usize, mut receiver: Receiver, flow: u32, rank: u32, extra: Time) {
        let back = flow as usize * 2 + 1;
        receiver.inherit(&mut self.receivers[flow as usize]);
        self.receivers[flow as usize] = receiver;
        self.sacks[flow as usize] = SackLog::new(self.lanes[source].loose);
        (self.dropped[back - 1], self.dropped[back]) = (0, 0);
        (self.duplicated[back - 1], self.duplicated[back]) = (0, 0);
        (self.ranks[back - 1], self.ranks[back]) = (rank * 2, rank * 2 + 1);
        let lane = &self.lanes[source];
        let links = lane.hops[1].len() - 1;
        if links == 0 {
            self.paths[back].lead.delay = lane.leads[1].delay + extra;
        } else {
            let hop = self.paths[back].first_hop as usize + links - 1;
            self.hops[hop].tail.delay = lane.hops[1][links - 1].tail.delay + extra;
        }
    }
}
