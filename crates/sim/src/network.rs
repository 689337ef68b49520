//! The network between the endpoints: who feeds which link, and how a packet gets from hop to hop.
//!
//! Time advances in windows. Within one, every *node* (an endpoint, or a link that several feed) handles all of its own
//! events before the next node has its turn. That is exact as long as nothing a node does in a window can reach a node that
//! had its turn earlier in the same window; [`Plan`] finds the longest window and the order for which this holds. No
//! event list exists, so a packet costs no insertion into one, and a node's state stays in cache for a whole window.
//! A link with a single feeder needs no turn of its own: its packets come in order, so it is computed on the spot.

mod lanes;
mod layout;
mod logged;
mod ports;
mod turns;

use std::cmp::Reverse;
use std::sync::Arc;

use elephan_cc::Router;

use self::layout::Builder;
use self::ports::{Batch, Crowd, Mailbox, Mailboxes};

use crate::endpoint::{Expected, Receiver, SackLog, SenderTotals};
use crate::events::NetworkLog;
use crate::link::{FRACTION_BITS, Link};
use crate::memory::BYTES_PER_PACKET;
use crate::packet::{Packet, flag};
use crate::spec::{MOST_IN_FLIGHT, Spec};
use crate::time::Time;

/// What links that can never queue add to a packet's time.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// Propagation.
    delay: Time,
    /// Transmission, 2⁻²⁴ ps per byte.
    ps_per_byte: u64,
}

impl Tail {
    #[inline(always)]
    fn of(self, bytes: u64) -> Time {
        self.delay + Time(((u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION_BITS) as u64)
    }

    /// A packet behind those links.
    #[inline(always)]
    fn pass(self, mut packet: Packet) -> Packet {
        packet.at += self.of(packet.bytes());
        packet
    }

    fn add(&mut self, link: &Link) {
        self.delay += link.delay;
        self.ps_per_byte += link.ps_per_byte();
    }
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The link, or [`END`].
    link: u32,
    /// Where the packet waits for its turn, or [`INLINE`].
    port: u32,
    /// The links behind it that can never queue.
    tail: Tail,
    /// What comes then.
    next: Next,
}

/// What a packet meets behind a hop, worked out beforehand for the common cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A mailbox: of a link, or of an endpoint that takes turns.
    Mailbox(u32),
    /// A receiver that only reacts: the mailbox that its ACKs come into next, of a link or of the sender.
    Echo(u32),
    /// A link that is computed on the spot, and whose queue only a bound decides about.
    Inline(u32),
    /// A batch of the packets of transfers.
    Batch(u32),
    /// As [`Next::Echo`], where the ACKs go into a batch.
    EchoBatch(u32),
    /// Anything else: see [`Network::forward`].
    Other,
}

/// How a sender's packets leave where their first link is the sender's own and never refuses any: a transmitter that the
/// sender itself keeps, and the port behind it.
#[derive(Clone, Copy, Debug)]
pub struct Egress {
    free: Time,
    transmission: Time,
    /// From the transmitter's last bit to the next hop.
    delay: Time,
    port: u32,
}

impl Egress {
    /// Sends a packet that leaves at `now`.
    #[inline(always)]
    pub fn send(&mut self, now: Time, packet: Packet, network: &mut Network) {
        self.free = self.free.max(now) + self.transmission;
        network.mailboxes.push(self.port as usize, packet.next_hop(self.free + self.delay));
    }
}

/// The way of a flow's data, or of its ACKs.
#[derive(Clone, Copy, Debug)]
struct Path {
    first_hop: u32,
    /// Links before the first hop that can never queue.
    lead: Tail,
}

/// Mailboxes whose memory is added up in the time of a window.
const MAILBOXES_PER_WINDOW: usize = 64;
const END: u32 = u32::MAX;
const INLINE: u32 = u32::MAX;
/// Set in the number of a port that is a heap, or a batch.
const HEAP: u32 = 1 << 31;
/// Set besides in that of a batch.
const BATCH: u32 = 1 << 30;

/// Which of a flow's two endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Sends data, receives ACKs.
    Sender,
    /// Receives data, sends ACKs.
    Receiver,
}

/// Something that takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A link that several feed, or that is recorded.
    Link(u32),
    /// The sender of a flow.
    Sender(u32),
    /// The receiver of a flow, where it has timers.
    Receiver(u32),
    /// All senders of a source of transfers.
    Source(u32),
    /// All its receivers, where they have timers.
    Sinks(u32),
    /// The sender of a flow of UDT.
    UdtSender(u32),
    /// Its receiver.
    UdtReceiver(u32),
}

/// The way there and back that the transfers of a source share.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// Of data and of ACKs; the last of each is the end, whose port is each transfer's own.
    hops: [Vec<Hop>; 2],
    leads: [Tail; 2],
    /// ACKs may come in another order or twice.
    loose: bool,
}

/// Packets of one flow in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Put into the network.
    pub sent: u64,
    /// Made by a link that duplicates.
    pub duplicated: u64,
    /// Taken out by the other end.
    pub received: u64,
    /// Dropped or lost.
    pub dropped: u64,
}

/// Links, ports and routes.
#[derive(Clone, Debug)]
pub struct Network {
    /// All links, by index.
    pub links: Vec<Link>,
    /// Receivers, by flow. Those that only react are computed on the spot, like a link with a single feeder.
    pub receivers: Vec<Receiver>,
    /// SACK blocks under way, by flow.
    pub sacks: Vec<SackLog>,
    /// Packets of flow `f` dropped or lost on the way: data at `2f`, ACKs at `2f + 1`.
    pub dropped: Vec<u64>,
    /// Those of which a second one was made, by the same numbers.
    pub duplicated: Vec<u64>,
    /// What links refuse and mark, where somebody looks.
    pub(crate) log: Option<Box<NetworkLog>>,
    hops: Vec<Hop>,
    /// The path of data (`2f`) or of ACKs (`2f + 1`).
    paths: Vec<Path>,
    /// Nothing happens from here on.
    end: Time,
    mailboxes: Mailboxes,
    crowds: Vec<Crowd>,
    batches: Vec<Batch>,
    /// Rank of a packet's feeder in a heap, by `2f` and `2f + 1`.
    ranks: Vec<u32>,
    /// Mailboxes of each link, in the order of their feeders' ranks, or its one crowd.
    link_ports: Vec<Vec<u32>>,
    /// The port of each endpoint: data at `2f`, ACKs at `2f + 1`.
    inboxes: Vec<u32>,
    /// Of each source of transfers.
    lanes: Vec<Lane>,
    /// Mailbox of what would come to a recorded link on the spot when the run is over.
    too_late: u32,
    /// Memory that packets may take, and whether a sender wanted more, bytes.
    room_bytes: u64,
    overdrawn: bool,
    windows_until_sum: usize,
    /// Whether packets may meet a link behind each link that is computed on the spot.
    chained: Vec<bool>,
}

/// The order of turns and the length of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Nodes in the order of their turns.
    pub order: Vec<Node>,
    /// The longest window for which that order is exact.
    pub longest_window: Time,
}

impl Network {
    /// Builds the network of a spec.
    #[must_use]
    pub fn new(spec: &Spec, sample_times: &Arc<[Time]>) -> (Self, Plan) {
        Builder::new(spec, sample_times).build()
    }

    /// Puts a packet on its way; `packet.at` is when its endpoint lets it go.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet) {
        self.forward(self.paths[packet.passage()].lead.pass(packet));
    }

    /// Whatever is uncommon has a function of its own, so that a packet need not lie in memory on its way.
    #[inline(always)]
    fn forward(&mut self, mut packet: Packet) {
        loop {
            let hop = self.hop(&packet);
            if hop.port == INLINE {
                let link = &mut self.links[hop.link as usize];
                if link.is_active() {
                    return self.forward_actively(hop, packet);
                }
                if packet.at >= self.end && link.is_recorded() {
                    self.mailboxes.push(self.too_late as usize, packet);
                    return;
                }
                let bytes = packet.bytes();
                let Some(at) = link.carry(packet.at, bytes) else { return self.refuse(hop.link, packet.at, packet) };
                packet = packet.next_hop(at + hop.tail.of(bytes));
            } else if hop.link != END || packet.is_ack() || packet.at >= self.end {
                return self.post(hop.port, packet);
            } else {
                let receiver = &mut self.receivers[packet.flow() as usize];
                if !receiver.is_reactive() {
                    return self.post(hop.port, packet);
                }
                let Some(ack) = receiver.on_expected(&packet) else { return self.answer_with_care(packet) };
                packet = self.paths[ack.passage()].lead.pass(ack);
            }
        }
    }

    /// [`Network::forward`] over a link whose queue decides by more than a bound.
    #[inline(never)]
    fn forward_actively(&mut self, hop: Hop, packet: Packet) {
        if let Some(packet) = self.cross_actively(hop, packet) {
            self.forward(packet);
        }
    }

    /// A receiver answers a segment that it did not expect.
    #[inline(never)]
    fn answer_with_care(&mut self, packet: Packet) {
        let flow = packet.flow() as usize;
        if let Some(ack) = self.receivers[flow].on_segment_with_care(&packet, &mut self.sacks[flow]) {
            self.send(ack);
        }
    }

    #[inline(always)]
    fn hop(&self, packet: &Packet) -> Hop {
        self.hops[self.paths[packet.passage()].first_hop as usize + packet.hop()]
    }

    #[inline(always)]
    fn post(&mut self, port: u32, packet: Packet) {
        if port & HEAP == 0 {
            self.mailboxes.push(port as usize, packet);
        } else if port & BATCH != 0 {
            let rank = self.ranks[packet.passage()];
            self.batches[(port & !HEAP & !BATCH) as usize].push(packet, rank);
        } else {
            let rank = self.ranks[packet.passage()];
            self.crowds[(port & !HEAP) as usize].push(packet, rank);
        }
    }

    /// A packet crosses a link and those behind it that never queue.
    #[inline(always)]
    fn cross(&mut self, hop: Hop, packet: Packet) -> Option<Packet> {
        let bytes = packet.bytes();
        if let Some(at) = self.links[hop.link as usize].carry(packet.at, bytes) {
            return Some(packet.next_hop(at + hop.tail.of(bytes)));
        }
        self.refuse(hop.link, packet.at, packet);
        None
    }

    /// The same, where the link's queue decides by more than a bound.
    #[inline(never)]
    fn cross_actively(&mut self, hop: Hop, packet: Packet) -> Option<Packet> {
        let bytes = packet.bytes();
        let capable = packet.flags() & flag::ECT != 0;
        if let Some((at, marked)) = self.links[hop.link as usize].carry_actively(packet.at, bytes, capable) {
            let packet = if marked { self.note_mark(hop.link, packet.at, packet.marked()) } else { packet };
            return Some(packet.next_hop(at + hop.tail.of(bytes)));
        }
        self.refuse(hop.link, packet.at, packet);
        None
    }

    /// The first link of a flow, if the flow's sender may keep it itself.
    #[must_use]
    pub fn egress(&self, flow: u32, bytes: u16) -> Option<Egress> {
        let first = self.paths[flow as usize * 2].first_hop as usize;
        let (hop, next) = (self.hops.get(first)?, self.hops.get(first + 1)?);
        let link = self.links.get(hop.link as usize)?;
        let to_mailbox = next.port != INLINE && next.port & HEAP == 0 && next.link != END;
        let transmission = link.transmission(u64::from(bytes));
        // As many packets as may be outstanding are sent before the end of time.
        let quick = transmission.0.saturating_mul(u64::from(MOST_IN_FLIGHT)) < Time::FAR.0 / 2;
        (hop.port == INLINE && link.is_plain() && to_mailbox && quick).then(|| Egress {
            free: Time::ZERO,
            transmission,
            delay: link.delay + hop.tail.of(u64::from(bytes)),
            port: next.port,
        })
    }

    /// The turn of a receiver that delays ACKs.
    pub fn run_receiver(&mut self, flow: u32, horizon: Time) -> bool {
        let mut worked = false;
        let inbox = self.inbox(flow, End::Receiver);
        loop {
            let arrival = self.head(inbox);
            let receiver = &mut self.receivers[flow as usize];
            if receiver.timer().min(arrival) >= horizon {
                return worked;
            }
            worked = true;
            if receiver.timer() <= arrival {
                if let Some(ack) = receiver.on_timer(&mut self.sacks[flow as usize]) {
                    self.send(ack);
                }
                continue;
            }
            let packet = self.mailboxes.take_head(inbox);
            match receiver.on_expected_of_several(&packet) {
                Expected::Answered(ack) => self.send(ack),
                Expected::Noted => {}
                Expected::Not => self.answer_with_care(packet),
            }
        }
    }

    #[inline(always)]
    fn next_arrival(&mut self, ports: &[u32], horizon: Time) -> Option<Packet> {
        let from = self.earliest(ports, horizon)?;
        if from & BATCH != 0 && from & HEAP != 0 {
            return self.batches[(from & !HEAP & !BATCH) as usize].pop();
        }
        if from & HEAP != 0 {
            return self.crowds[(from & !HEAP) as usize].pop();
        }
        self.mailboxes.pop(from as usize)
    }

    /// The port with the earliest packet before `horizon`; the first of them in a tie.
    fn earliest(&self, ports: &[u32], horizon: Time) -> Option<u32> {
        let mut best = horizon;
        let mut from = None;
        for &port in ports {
            let head = self.port_head(port);
            if head < best {
                best = head;
                from = Some(port);
            }
        }
        from
    }

    #[inline]
    fn port_head(&self, port: u32) -> Time {
        if port & HEAP == 0 {
            self.mailboxes.head(port as usize)
        } else if port & BATCH != 0 {
            self.batches[(port & !HEAP & !BATCH) as usize].head
        } else {
            self.crowds[(port & !HEAP) as usize].head()
        }
    }

    /// When the next packet in a mailbox arrives.
    #[must_use]
    #[inline(always)]
    pub fn head(&self, inbox: usize) -> Time {
        self.mailboxes.head(inbox)
    }

    /// Takes the next packet out of a mailbox.
    #[inline(always)]
    pub fn take(&mut self, inbox: usize) -> Option<Packet> {
        self.mailboxes.pop(inbox)
    }

    /// The mailbox of an endpoint, for [`Network::head`] and [`Network::take`].
    #[must_use]
    #[inline(always)]
    pub fn inbox(&self, flow: u32, end: End) -> usize {
        self.inboxes[flow as usize * 2 + usize::from(end == End::Sender)] as usize
    }

    /// When a link has its next packet to carry.
    #[must_use]
    pub fn next_for_link(&self, link: u32) -> Time {
        let arrival = self.link_ports[link as usize].iter().map(|&p| self.port_head(p)).min();
        let link = &self.links[link as usize];
        arrival.unwrap_or(Time::NEVER).min(link.next_service()).min(link.next_landing())
    }

    /// Lets packets on their way take so much memory.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.room_bytes = bytes;
    }

    /// The memory that packets may take, bytes.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.room_bytes
    }

    /// True if so many packets more fit into the memory that packets may take. Where they do not, the run is over.
    #[cold]
    pub fn has_room_for(&mut self, packets: u32) -> bool {
        let needed = self.mailboxes.bytes() + u64::from(packets) * BYTES_PER_PACKET;
        self.overdrawn |= needed > self.room_bytes;
        !self.overdrawn
    }

    /// True if packets take more memory than they may, or a sender wanted them to. The engine asks after each window; where
    /// there are many mailboxes, their memory is added up once in several windows.
    #[inline]
    pub fn is_overdrawn(&mut self) -> bool {
        if self.windows_until_sum > 0 {
            self.windows_until_sum -= 1;
        } else {
            self.windows_until_sum = self.mailboxes.len() / MAILBOXES_PER_WINDOW;
            self.overdrawn |= self.mailboxes.bytes() > self.room_bytes;
        }
        self.overdrawn
    }

    /// Fills in what the packets of a passage meet behind each hop.
    fn look_ahead(&mut self, passage: usize) {
        let is_data = passage % 2 == 0;
        let last = self.paths.get(passage + 1).map_or(self.hops.len(), |p| p.first_hop as usize) - 1;
        let receiver = &self.receivers[passage / 2];
        let echo = self.paths.get(passage + 1).map(|back| self.hops[back.first_hop as usize]);
        for hop in self.paths[passage].first_hop as usize..last {
            let behind = self.hops[hop + 1];
            self.hops[hop].next = match echo {
                Some(echo) if behind.link == END && is_data && receiver.is_reactive() => {
                    if echo.port & HEAP == 0 {
                        Next::Echo(echo.port)
                    } else {
                        Self::batch(echo.port).map_or(Next::Other, Next::EchoBatch)
                    }
                }
                _ if behind.port == INLINE && !self.links[behind.link as usize].is_active() => {
                    self.chained[self.hops[hop].link as usize] = true;
                    Next::Inline(behind.link)
                }
                _ if behind.port & HEAP == 0 => Next::Mailbox(behind.port),
                _ => Self::batch(behind.port).map_or(Next::Other, Next::Batch),
            };
        }
    }

    /// The number of a batch, where a port is one.
    fn batch(port: u32) -> Option<u32> {
        (port != INLINE && port & HEAP != 0 && port & BATCH != 0).then_some(port & !HEAP & !BATCH)
    }

    /// Has a flow's packets carry what routers of that kind need, and its receiver pass on what they say.
    pub fn attend(&mut self, flow: u32, router: Option<Router>) {
        let Some(router) = router else { return };
        self.receivers[flow as usize].listen_to(router);
        if router == Router::Xcp {
            self.sacks[flow as usize].carry_headers();
        }
    }

    /// The packets of a flow, data and ACKs, where its sender counts `totals`.
    #[must_use]
    pub fn counts(&self, flow: usize, totals: &SenderTotals) -> [Count; 2] {
        let receiver = &self.receivers[flow];
        let arrived = receiver.totals.delivered + receiver.duplicates;
        let count = |sent, received, passage: usize| {
            let (duplicated, dropped) = (self.duplicated[passage], self.dropped[passage]);
            Count { sent, duplicated, received, dropped }
        };
        [count(totals.sent, arrived, flow * 2), count(receiver.acks_sent, totals.acks, flow * 2 + 1)]
    }

    /// The earliest of a node's own time and the head of its mailbox.
    #[must_use]
    #[inline(always)]
    pub fn earlier_of(&self, timer: Time, inbox: u32) -> Time {
        timer.min(self.mailboxes.head(inbox as usize))
    }

    /// Packets still under way, by flow and direction as in [`Network::dropped`].
    #[must_use]
    pub fn under_way(&self) -> Vec<u64> {
        let mut counts = vec![0; self.dropped.len()];
        self.mailboxes.iter().flat_map(Mailbox::iter).for_each(|p| counts[p.passage()] += 1);
        let crowded = self.crowds.iter().flat_map(|c| c.heap.iter());
        crowded.for_each(|Reverse(entry)| counts[entry.3.0.passage()] += 1);
        self.batches.iter().flat_map(Batch::iter).for_each(|p| counts[p.passage()] += 1);
        for link in &self.links {
            link.for_each_waiting(|p| counts[p.passage()] += 1);
            link.for_each_flying(|p| counts[p.passage()] += 1);
        }
        counts
    }
}

/// What a packet that is lost had beside it is not needed any more.
#[cold]
fn forget_sacks(sacks: &mut [SackLog], packet: Packet) {
    sacks[packet.flow() as usize].forget(&packet);
}
