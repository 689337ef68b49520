//! The network: links, the packets that wait between them, and forwarding from hop to hop.

use elephan_cc::Router;

use super::hops::{Access, Delivery, Hop, Lane, Paths, Place, Tail};
use super::ports::{LinkId, MailboxId, Port, Ports};
use super::sinks::Sink;
use crate::endpoint::End;
use crate::events::{Kind, Log, NetworkLog};
use crate::link::{Carried, Link, Train};
use crate::packet::{BYTES_PER_PACKET, FlowId, Packet, PassageId, flag};
use crate::sidecar::Sidecar;
use crate::spec::EventsSpec;
use crate::time::Time;

/// Packets of one flow in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Sent into the network.
    pub sent: u64,
    /// Created by links that duplicate packets.
    pub duplicated: u64,
    /// Received by the other end.
    pub received: u64,
    /// Dropped or lost.
    pub dropped: u64,
}

/// Links, ports and paths.
#[derive(Clone, Debug)]
pub struct Network {
    /// All links, by index.
    pub links: Vec<Link>,
    /// Receivers that are evaluated inline, by flow.
    pub sinks: Vec<Option<Sink>>,
    /// Sidecar of each flow: data of the flow's packets that are stored outside the packets.
    pub sidecars: Vec<Sidecar>,
    /// Packets of flow `f` dropped or lost: data at `2f`, ACKs at `2f + 1`.
    pub dropped: Vec<u64>,
    /// Packets duplicated by links, with the indices of `dropped`.
    pub duplicated: Vec<u64>,
    /// Log of drops, losses and marks, if the run has an event log.
    pub(crate) log: Option<Box<NetworkLog>>,
    pub(super) hops: Vec<Hop>,
    pub(super) paths: Paths,
    /// The distinct first links of the flows' ends.
    pub(super) accesses: Vec<Access>,
    /// End of the run.
    pub(super) end: Time,
    pub(super) ports: Ports,
    /// Rank of a packet's feeder in a batch, with the indices of `dropped`.
    pub(super) ranks: Vec<u32>,
    /// Ports of each link, in the order of their feeders' names.
    pub(super) link_ports: Vec<Vec<Port>>,
    /// Mailbox of each endpoint: the receiver's at `2f`, the sender's at `2f + 1`.
    pub(super) inboxes: Vec<MailboxId>,
    /// Paths of each source of transfers.
    pub(super) lanes: Vec<Lane>,
    /// Mailbox of packets that reach a recorded inline link after the end of the run.
    pub(super) too_late: MailboxId,
    /// True if an inline link may follow a link.
    pub(super) chained: bool,
    /// For each link, true if its turn delivers packets to mailboxes or receivers of single flows, and not to one
    /// common container.
    pub(super) scatters: Vec<bool>,
    /// The nodes behind each link.
    pub(super) deliveries: Vec<Delivery>,
    /// Limit of the memory for packets, bytes, and true if a sender exceeded the limit.
    pub(super) room_bytes: u64,
    pub(super) overdrawn: bool,
}

/// The network without its links, for the turn of a link.
pub(super) struct Behind<'a> {
    pub(super) ports: &'a mut Ports,
    pub(super) hops: &'a [Hop],
    pub(super) paths: &'a Paths,
    pub(super) sinks: &'a mut [Option<Sink>],
    pub(super) sidecars: &'a mut Vec<Sidecar>,
    pub(super) accesses: &'a [Access],
    pub(super) ranks: &'a [u32],
    pub(super) end: Time,
    pub(super) too_late: MailboxId,
}

impl Behind<'_> {
    /// Delivers a packet that is at `place`. Returns the packet, or the ACK of a receiver there, if it must be forwarded from
    /// hop to hop.
    #[inline(always)]
    pub(super) fn deliver(&mut self, packet: Packet, place: Place) -> Option<Packet> {
        match place {
            Place::Mailbox(port) => self.ports.mailboxes.push(port, packet),
            Place::Batch(port) => {
                self.ports.batches[port.index()].push(packet, self.ranks[packet.passage().index()]);
            }
            Place::Sink(_) | Place::TimedSink if packet.at >= self.end => {
                self.ports.mailboxes.push(self.too_late, packet);
            }
            Place::TimedSink => {
                let flow = packet.flow().index();
                // A copy, so that the packet itself can stay in registers.
                self.sinks[flow].as_mut()?.take(&{ packet }, self.ports, self.accesses, &mut self.sidecars[flow]);
            }
            Place::Sink(_) => {
                let flow = packet.flow().index();
                let sink = self.sinks[flow].as_mut()?;
                let ack = match sink.receiver.on_expected(&packet) {
                    Some(ack) => ack,
                    None => sink.receiver.on_segment_apart(&{ packet }, &mut self.sidecars[flow])?,
                };
                return sink.start.put(ack, self.ports, self.accesses);
            }
            Place::Inline(_) | Place::Uncommon => return Some(packet),
        }
        None
    }
}

impl Network {
    /// Sends a packet into the network; `packet.at` is its departure from the endpoint.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet) {
        self.forward(self.paths.leads[packet.passage().index()].pass(packet));
    }

    /// [`Network::forward`], as a function of its own for callers that seldom need it.
    #[inline(never)]
    pub(super) fn forward_apart(&mut self, packet: Packet) {
        self.forward(packet);
    }

    /// Forwards a packet to the next node at which packets wait. Uncommon cases have separate functions, so that a
    /// packet can stay in registers.
    #[inline(always)]
    pub(super) fn forward(&mut self, mut packet: Packet) {
        loop {
            let hop = self.hop(&packet);
            let Place::Inline(link) = hop.place else {
                let Some(ack) = self.split().1.deliver(packet, hop.place) else { return };
                packet = ack;
                continue;
            };
            let (this, bytes) = (&mut self.links[link.index()], packet.bytes());
            if packet.at >= self.end && this.is_recorded() {
                return self.ports.mailboxes.push(self.too_late, packet);
            }
            if packet.is_train() {
                let Some(train) = self.carry_train(link, packet) else { return };
                packet = train;
                continue;
            }
            let capable = packet.flags() & flag::ECT != 0;
            let Some(Carried { at, marked }) = this.carry(packet.at, bytes, capable) else {
                return self.refuse(link, packet.at, packet);
            };
            if marked {
                packet = self.note_mark(link, packet.at, packet.marked());
            }
            packet = packet.next_hop(at + hop.tail.of(bytes));
        }
    }

    /// Carries a train over a link and forwards what passes, which may be several trains. Returns the last of them, before
    /// its next hop.
    #[cold]
    #[inline(never)]
    pub(super) fn carry_train(&mut self, link: LinkId, packet: Packet) -> Option<Packet> {
        let train = Train { at: packet.at, span: packet.span(), count: packet.count(), bytes: packet.bytes() };
        let tail = self.tail(&packet).of(train.bytes);
        let (mut place, mut last) = (0, None);
        while place < train.count {
            let carried = self.links[link.index()].carry_train(&train, place);
            place += carried.before + carried.count + carried.behind;
            self.dropped[packet.passage().index()] += u64::from(carried.before + carried.behind);
            if carried.count == 0 {
                continue;
            }
            let passed = packet.part(train.count - place + carried.behind, carried.count);
            let passed = passed.spanning(carried.span).next_hop(carried.at + tail);
            if let Some(passed) = last.replace(passed) {
                self.forward_apart(passed);
            }
        }
        if last.is_none() {
            self.sidecars[packet.flow().index()].forget(&packet);
        }
        last
    }

    /// The links, and what is behind them.
    #[inline(always)]
    pub(super) fn split(&mut self) -> (&mut [Link], Behind<'_>) {
        let Self { links, ports, hops, paths, sinks, sidecars, accesses, ranks, end, too_late, .. } = self;
        (links, Behind { ports, hops, paths, sinks, sidecars, accesses, ranks, end: *end, too_late: *too_late })
    }

    #[inline(always)]
    pub(super) fn hop(&self, packet: &Packet) -> Hop {
        self.hops[self.paths.hop_of(packet)]
    }

    /// Time added by the links without queues that follow the packet's next link.
    #[inline]
    pub(super) fn tail(&self, packet: &Packet) -> Tail {
        self.hop(packet).tail
    }

    /// Enables the congestion headers of a flow whose algorithm needs XCP routers.
    pub fn equip(&mut self, flow: FlowId, router: Option<Router>) {
        if router == Some(Router::Xcp) {
            self.sidecars[flow.index()].carry_headers();
        }
    }

    /// Time of a link's next event.
    #[must_use]
    pub fn next_for_link(&self, link: LinkId) -> Time {
        let arrival = self.ports.head_of(&self.link_ports[link.index()]);
        let link = &self.links[link.index()];
        arrival.min(link.next_service()).min(link.next_landing())
    }

    /// The mailbox of an endpoint.
    #[must_use]
    pub fn inbox(&self, flow: FlowId, end: End) -> MailboxId {
        let passage = if end == End::Sender { flow.acks() } else { flow.data() };
        self.inboxes[passage.index()]
    }

    // ---- memory ------------------------------------------------------------------------------------------------------

    /// Limits the memory for packets in flight to `bytes`.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.room_bytes = bytes;
        self.ports.limit_memory(bytes);
    }

    /// Limit of the memory for packets, bytes.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.room_bytes
    }

    /// True if this many additional packets fit into the memory for packets. Otherwise the run ends.
    #[cold]
    pub fn has_room_for(&mut self, packets: u32) -> bool {
        let needed = self.ports.bytes() + u64::from(packets) * BYTES_PER_PACKET;
        self.overdrawn |= needed > self.room_bytes;
        !self.overdrawn
    }

    /// True if packets exceed their memory limit, or if a sender would have exceeded this limit. The engine checks this
    /// condition after each slice.
    #[inline]
    pub fn is_overdrawn(&mut self) -> bool {
        self.overdrawn |= self.ports.is_overflown() || self.ports.bytes() > self.room_bytes;
        self.overdrawn
    }

    // ---- drops, marks and the event log ------------------------------------------------------------------------------

    /// Starts a log of the packets that links drop and mark.
    pub(crate) fn keep_log(&mut self, spec: &EventsSpec, flows: u32) {
        let lost = self.links.iter().map(|link| link.totals.lost).collect();
        self.log = Some(Box::new(NetworkLog { log: Log::new(spec), lost, flows }));
    }

    /// Events logged so far, by links and by inline receivers.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.log.rows.len())
    }

    /// Records that a link drops or loses a packet at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, link: LinkId, at: Time, packet: Packet) {
        self.dropped[packet.passage().index()] += 1;
        let sidecar = &mut self.sidecars[packet.flow().index()];
        if let Some(log) = &mut self.log {
            let (known, lost) = (&mut log.lost[link.index()], self.links[link.index()].totals.lost);
            let kind = if lost > *known { Kind::Lost } else { Kind::Dropped };
            *known = lost;
            log.push(kind, at, &packet, link.0, sidecar.sacks.of(&packet).map(Into::into));
        }
        sidecar.forget(&packet);
    }

    /// Records that a link forwards a marked packet at `at`. Returns the packet.
    #[inline(never)]
    pub(super) fn note_mark(&mut self, link: LinkId, at: Time, packet: Packet) -> Packet {
        if let Some(log) = &mut self.log {
            log.push(Kind::Marked, at, &packet, link.0, None);
        }
        packet
    }

    /// Records the duplication of a packet that would reach the link's far end at `at` without impairments.
    pub(super) fn note_duplicate(&mut self, link: LinkId, at: Time, packet: &Packet) {
        self.duplicated[packet.passage().index()] += 1;
        if let Some(log) = &mut self.log {
            let left = at - self.links[link.index()].delay;
            log.push(Kind::Duplicated, left, packet, link.0, None);
        }
        self.sidecars[packet.flow().index()].copy(packet);
    }

    // ---- accounts ----------------------------------------------------------------------------------------------------

    /// Counts of a flow's packets, data and ACKs, from the counts of its two ends.
    #[must_use]
    pub fn counts(&self, flow: FlowId, ends: [crate::endpoint::PacketCounts; 2]) -> [Count; 2] {
        let [sender, receiver] = ends;
        let count = |sent, received, passage: PassageId| {
            let (duplicated, dropped) = (self.duplicated[passage.index()], self.dropped[passage.index()]);
            Count { sent, duplicated, received, dropped }
        };
        [count(sender.sent, receiver.received, flow.data()), count(receiver.sent, sender.received, flow.acks())]
    }

    /// Packets still in flight, by flow and direction as in [`Network::dropped`].
    #[must_use]
    pub fn under_way(&self) -> Vec<u64> {
        let mut counts = vec![0; self.dropped.len()];
        self.ports.iter().for_each(|packet| counts[packet.passage().index()] += u64::from(packet.count()));
        for link in &self.links {
            link.for_each_waiting(|packet| counts[packet.passage().index()] += 1);
            link.for_each_flying(|packet| counts[packet.passage().index()] += 1);
        }
        counts
    }
}
