//! Turns of links: in its turn a link carries all packets that arrive before a horizon.
//!
//! ```text
//!  ports ──► Feed ──► Link::carry ──► mailbox or batch behind the link            (common: stays in one loop)
//!                         │
//!                         └─► refused, marked, on a wire, or something else behind: returned as an Uncommon, handled outside
//! ```
//!
//! The loop over common packets is one function for all kinds of ports. Uncommon packets leave the loop, so that a
//! common packet stays in registers.

use super::fabric::{Behind, Network};
use super::hops::{Delivery, Hop, Paths, Place};
use super::ports::{BatchId, LinkId, MailboxId, Mailboxes, Port, Ports};
use crate::link::Carried;
use crate::packet::{FlowId, Packet, flag};
use crate::prefetch;
use crate::time::Time;

/// Largest number of feeders that a link merges by comparing each; more feeders use a batch.
pub(super) const SCAN_FEEDERS: usize = 8;

/// Number of flows, transfers included, above which their state does not stay in the cache from turn to turn.
pub(super) const MANY_FLOWS: usize = 256;

/// Distance in packets between the steps of prefetching. Each step reads the address for the next step. The distance is
/// long enough for memory's latency, and short enough that the data are still in the cache.
const STEP: usize = 12;

/// Packets of a link's ports in the order of time.
trait Feed {
    /// True if neighboring packets are of different flows.
    const MIXED: bool = false;

    /// Arrival time of the next packet.
    fn head(&self, ports: &Ports) -> Time;

    /// Takes the next packet before `horizon`.
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet>;

    /// The batch, if the feed is a single batch.
    #[inline(always)]
    fn batch(&self) -> Option<BatchId> {
        None
    }

    /// The packet behind a given number of other packets, for prefetching.
    #[inline(always)]
    fn soon<'a>(&self, _: &'a Ports, _: usize) -> Option<&'a Packet> {
        None
    }

    /// Prefetches the packet behind a given number of other packets.
    #[inline(always)]
    fn fetch_soon(&self, _: &Ports, _: usize) {}
}

/// A single mailbox.
struct OneMailbox(MailboxId);

impl Feed for OneMailbox {
    #[inline(always)]
    fn head(&self, ports: &Ports) -> Time {
        ports.mailboxes.head(self.0)
    }

    #[inline(always)]
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet> {
        (ports.mailboxes.head(self.0) < horizon).then(|| ports.mailboxes.take_head(self.0))
    }

    #[inline(always)]
    fn soon<'a>(&self, ports: &'a Ports, places: usize) -> Option<&'a Packet> {
        ports.mailboxes.of(self.0).ahead(places)
    }
}

/// A single batch.
struct OneBatch(BatchId);

impl Feed for OneBatch {
    const MIXED: bool = true;

    #[inline(always)]
    fn batch(&self) -> Option<BatchId> {
        Some(self.0)
    }

    #[inline(always)]
    fn head(&self, ports: &Ports) -> Time {
        ports.batches[self.0.index()].head
    }

    #[inline(always)]
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet> {
        ports.batches[self.0.index()].pop_before(horizon)
    }

    #[inline(always)]
    fn soon<'a>(&self, ports: &'a Ports, places: usize) -> Option<&'a Packet> {
        ports.batches[self.0.index()].ahead(places)
    }

    #[inline(always)]
    fn fetch_soon(&self, ports: &Ports, places: usize) {
        ports.batches[self.0.index()].fetch_ahead(places);
    }
}

/// Two mailboxes.
struct TwoMailboxes([MailboxId; 2], usize);

impl Feed for TwoMailboxes {
    #[inline(always)]
    fn head(&self, ports: &Ports) -> Time {
        let [first, second] = self.0;
        ports.mailboxes.head(first).min(ports.mailboxes.head(second))
    }

    #[inline(always)]
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet> {
        let [first, second] = self.0;
        let (one, other) = (ports.mailboxes.head(first), ports.mailboxes.head(second));
        if one.min(other) >= horizon {
            return None;
        }
        // Branchless: the branch predictor cannot learn this selection.
        self.1 = usize::from(other < one);
        Some(ports.mailboxes.take_head(self.0[self.1]))
    }

    #[inline(always)]
    fn soon<'a>(&self, ports: &'a Ports, places: usize) -> Option<&'a Packet> {
        ports.mailboxes.of(self.0[self.1]).ahead(places)
    }
}

/// Up to [`SCAN_FEEDERS`] mailboxes, with copies of their heads, since packets added to these mailboxes during the turn
/// are for later turns.
struct SomeMailboxes {
    ids: [MailboxId; SCAN_FEEDERS],
    heads: [Time; SCAN_FEEDERS],
    latest: usize,
}

impl SomeMailboxes {
    fn new(mailboxes: &[MailboxId], ports: &Ports) -> Self {
        let mut this = Self { ids: [MailboxId(0); SCAN_FEEDERS], heads: [Time::NEVER; SCAN_FEEDERS], latest: 0 };
        for ((id, head), &mailbox) in this.ids.iter_mut().zip(&mut this.heads).zip(mailboxes) {
            (*id, *head) = (mailbox, ports.mailboxes.head(mailbox));
        }
        this
    }
}

impl Feed for SomeMailboxes {
    #[inline(always)]
    fn head(&self, _: &Ports) -> Time {
        earliest_of(&self.heads).0
    }

    #[inline(always)]
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet> {
        let (head, at) = earliest_of(&self.heads);
        if head >= horizon {
            return None;
        }
        self.latest = at;
        let packet = ports.mailboxes.take_head(self.ids[at]);
        self.heads[at] = ports.mailboxes.head(self.ids[at]);
        Some(packet)
    }

    #[inline(always)]
    fn soon<'a>(&self, ports: &'a Ports, places: usize) -> Option<&'a Packet> {
        ports.mailboxes.of(self.ids[self.latest]).ahead(places)
    }
}

/// Any ports, and the port of the latest packet.
struct AnyPorts<'a>(&'a [Port], Option<Port>);

impl Feed for AnyPorts<'_> {
    #[inline]
    fn head(&self, ports: &Ports) -> Time {
        ports.head_of(self.0)
    }

    #[inline]
    fn next(&mut self, ports: &mut Ports, horizon: Time) -> Option<Packet> {
        self.1 = ports.earliest_before(self.0, horizon);
        ports.pop(self.1?)
    }

    #[inline(always)]
    fn soon<'a>(&self, ports: &'a Ports, places: usize) -> Option<&'a Packet> {
        match self.1? {
            Port::Mailbox(id) => ports.mailboxes.of(id).ahead(places),
            Port::Batch(id) => ports.batches[id.index()].ahead(places),
        }
    }

    #[inline(always)]
    fn fetch_soon(&self, ports: &Ports, places: usize) {
        if let Some(Port::Batch(id)) = self.1 {
            ports.batches[id.index()].fetch_ahead(places);
        }
    }
}

/// Evaluates an expression with the feed for a link's ports.
macro_rules! with_feed {
    ($ports:expr, $feeders:ident, $feed:ident => $body:expr) => {{
        let mut mailboxes = [MailboxId(0); SCAN_FEEDERS];
        let mut count = 0;
        for (slot, port) in mailboxes.iter_mut().zip(&$feeders) {
            if let Port::Mailbox(id) = port {
                *slot = *id;
                count += 1;
            }
        }
        match (&*$feeders, &mailboxes[..count]) {
            ([Port::Batch(id)], _) => {
                let $feed = OneBatch(*id);
                $body
            }
            ([_], &[id]) => {
                let $feed = OneMailbox(id);
                $body
            }
            ([_, _], &[first, second]) => {
                let $feed = TwoMailboxes([first, second], 0);
                $body
            }
            (feeders, ids) if feeders.len() == ids.len() => {
                let $feed = SomeMailboxes::new(ids, $ports);
                $body
            }
            _ => {
                let $feed = AnyPorts(&$feeders, None);
                $body
            }
        }
    }};
}

/// The earliest of the heads and its position; the first head in a tie. Branchless: the branch predictor cannot learn
/// this selection.
#[inline(always)]
fn earliest_of(heads: &[Time; SCAN_FEEDERS]) -> (Time, usize) {
    const { assert!(SCAN_FEEDERS == 8, "each head is compared once") };
    let earlier = |one: (Time, usize), other: (Time, usize)| if other.0 < one.0 { other } else { one };
    let at = |i: usize| (heads[i], i);
    let (low, high) = (earlier(at(0), at(1)), earlier(at(4), at(5)));
    earlier(earlier(low, earlier(at(2), at(3))), earlier(high, earlier(at(6), at(7))))
}

/// A packet that leaves the loop over common packets.
enum Uncommon {
    /// The next hop behind the link is neither a mailbox nor a batch.
    Forward(Packet),
    /// A link dropped or lost the packet.
    Refused(LinkId, Packet),
    /// The link sends the packet with a mark.
    Marked(Packet, Time),
    /// The link has duplicated a packet. The time is that of the packet's arrival at the far end without impairments.
    Duplicated(Packet, Time),
    /// The packet stands for several.
    Train(Packet),
}

/// An uncommon event of a queue that decides at departures; the event leaves the loop over common events.
enum Unusual {
    /// The next hop behind the link is neither a mailbox nor a batch.
    Forward(Packet),
    /// The link has sent a packet, which would reach the far end at `at`. The event is unusual because the delay line
    /// has impairments, the mark is logged, or other packets were dropped.
    Sent { packet: Packet, at: Time, now: Time },
    /// Packets were dropped or lost.
    Gone { now: Time },
}

/// State of the prefetching of a link's turn.
struct Ahead {
    /// Flows of the latest packets at the first and the second step. Packets come in bursts, so a step does nothing for a
    /// packet of the same flow as the last packet.
    done: [FlowId; 2],
    /// Mailboxes that were prefetched for the last packets.
    fetched: [Option<MailboxId>; STEP],
    turn: usize,
}

impl Ahead {
    fn new() -> Self {
        Self { done: [FlowId(u32::MAX); 2], fetched: [None; STEP], turn: 0 }
    }

    /// Prefetches the slot in a mailbox that was prefetched [`STEP`] packets ago, and records the next mailbox.
    #[inline(always)]
    fn fetch_slot(&mut self, mailboxes: &Mailboxes, next: Option<MailboxId>) {
        if let Some(inbox) = std::mem::replace(&mut self.fetched[self.turn], next) {
            mailboxes.of(inbox).fetch_free_slot();
        }
        self.turn = if self.turn + 1 < STEP { self.turn + 1 } else { 0 };
    }
}

/// Prefetches the data for packets that follow soon: the packet, then the hop, then the mailbox or the receiver behind
/// it, then the slot in the mailbox.
#[inline(always)]
fn fetch_ahead<F: Feed>(feed: &F, behind: &Behind<'_>, ahead: &mut Ahead) {
    let Behind { ports, hops, paths, sinks, .. } = behind;
    feed.fetch_soon(ports, 6 * STEP);
    if let Some(packet) = feed.soon(ports, 3 * STEP) {
        if packet.flow() != ahead.done[0] {
            ahead.done[0] = packet.flow();
            prefetch::element(hops, paths.hop_of(packet));
        }
    }
    let mut mailbox = None;
    if let Some(packet) = feed.soon(ports, 2 * STEP) {
        if packet.flow() != ahead.done[1] {
            ahead.done[1] = packet.flow();
            let next = hops[paths.hop_of(packet)].next;
            if let Place::Mailbox(id) | Place::Sink(id) = next {
                mailbox = Some(id);
            }
            if let Place::Sink(_) | Place::TimedSink = next {
                prefetch::value(&sinks[packet.flow().index()]);
            }
        }
    }
    mailbox.into_iter().for_each(|id| ports.mailboxes.fetch(id));
    ahead.fetch_slot(&ports.mailboxes, mailbox);
}

/// Prefetches the hop of a packet that follows soon.
#[inline(always)]
fn fetch_hop<F: Feed>(feed: &F, ports: &Ports, hops: &[Hop], paths: &Paths) {
    feed.fetch_soon(ports, 4 * STEP);
    if let Some(packet) = feed.soon(ports, 2 * STEP) {
        prefetch::element(hops, paths.hop_of(packet));
    }
}

impl Network {
    /// Takes a link's turn: carries all packets that arrive before `horizon`. Returns true if there was a packet before
    /// `horizon`.
    pub fn run_link(&mut self, link: LinkId, horizon: Time) -> bool {
        let worked = if self.links[link.index()].is_served() {
            self.serve_departures(link, horizon)
        } else {
            self.serve_arrivals(link, horizon)
        };
        self.links[link.index()].is_unsteady() && self.serve_landings(link, horizon) || worked
    }

    /// Forwards the packets on a link's delay line that no later packet can overtake, if all that arrive at the link before
    /// `horizon` are on it. Returns true if there was one.
    fn serve_landings(&mut self, link: LinkId, horizon: Time) -> bool {
        let mut worked = false;
        let horizon = self.links[link.index()].landing_horizon(horizon);
        while let Some(packet) = self.land_common(link, horizon, &mut worked) {
            self.forward(packet);
        }
        worked
    }

    /// Delivers the packets that arrive at a link's far end before `horizon`, up to one that must be forwarded.
    #[inline(never)]
    fn land_common(&mut self, link: LinkId, horizon: Time, worked: &mut bool) -> Option<Packet> {
        let (links, mut behind) = self.split();
        let link = &mut links[link.index()];
        loop {
            let (packet, at) = link.land(horizon)?;
            *worked = true;
            let hop = &behind.hops[behind.paths.hop_of(&packet)];
            let packet = packet.next_hop(at + hop.tail.of(packet.bytes()));
            if let Some(packet) = behind.deliver(packet, hop.next) {
                return Some(packet);
            }
        }
    }

    /// Takes the turn of a link whose queue decides at departures.
    fn serve_departures(&mut self, link: LinkId, horizon: Time) -> bool {
        let feeders = std::mem::take(&mut self.link_ports[link.index()]);
        let worked = with_feed!(&self.ports, feeders, feed => self.serve_queue(feed, link, horizon));
        self.link_ports[link.index()] = feeders;
        worked
    }

    /// Passes the packets of a feed before `horizon` to a link whose queue decides at departures, and sends the packets
    /// that leave the link. Returns true if there was a packet before `horizon`.
    #[inline(always)]
    fn serve_queue<F: Feed>(&mut self, mut feed: F, link: LinkId, horizon: Time) -> bool {
        let mut gone = Vec::new();
        let mut worked = false;
        while let Some(unusual) = self.serve_common(&mut feed, link, horizon, &mut gone, &mut worked) {
            match unusual {
                Unusual::Forward(packet) => self.forward(packet),
                Unusual::Sent { packet, at, now } => {
                    let packet = if packet.is_marked() { self.note_mark(link, now, packet) } else { packet };
                    self.leave(link, packet, at);
                    gone.drain(..).for_each(|packet| self.refuse(link, now, packet));
                }
                Unusual::Gone { now } => gone.drain(..).for_each(|packet| self.refuse(link, now, packet)),
            }
        }
        worked
    }

    /// Handles the common events of a link whose queue decides at departures, up to an unusual event. Packets that the
    /// link drops or loses are added to `gone`.
    #[inline(never)]
    fn serve_common<F: Feed>(
        &mut self,
        feed: &mut F,
        link: LinkId,
        horizon: Time,
        gone: &mut Vec<Packet>,
        worked: &mut bool,
    ) -> Option<Unusual> {
        let logged = self.log.is_some();
        let (links, mut behind) = self.split();
        let link = &mut links[link.index()];
        let unsteady = link.is_unsteady();
        // Packets added to these ports during the turn are for later turns.
        let mut arrival = feed.head(behind.ports);
        loop {
            let service = link.next_service();
            let now = service.min(arrival);
            if now >= horizon {
                return None;
            }
            *worked = true;
            // At equal times the packet in transmission leaves before the new packet arrives.
            let sent = if service > arrival {
                if let Some(packet) = feed.next(behind.ports, horizon) {
                    link.receive(packet, gone, behind.sidecars);
                    arrival = feed.head(behind.ports);
                }
                None
            } else {
                link.send_next(service, gone, behind.sidecars)
            };
            let Some((packet, at)) = sent else {
                if gone.is_empty() {
                    continue;
                }
                return Some(Unusual::Gone { now });
            };
            if unsteady || !gone.is_empty() || (logged && packet.is_marked()) {
                return Some(Unusual::Sent { packet, at, now });
            }
            let hop = &behind.hops[behind.paths.hop_of(&packet)];
            let packet = packet.next_hop(at + hop.tail.of(packet.bytes()));
            if let Some(packet) = behind.deliver(packet, hop.next) {
                return Some(Unusual::Forward(packet));
            }
        }
    }

    /// Takes the turn of a link that decides at arrivals.
    fn serve_arrivals(&mut self, link: LinkId, horizon: Time) -> bool {
        let feeders = std::mem::take(&mut self.link_ports[link.index()]);
        let worked = with_feed!(&self.ports, feeders, feed => self.serve(feed, link, horizon));
        self.link_ports[link.index()] = feeders;
        worked
    }

    /// Carries the packets of a feed before `horizon`. Returns true if there was a packet before `horizon`.
    #[inline(always)]
    fn serve<F: Feed>(&mut self, mut feed: F, link: LinkId, horizon: Time) -> bool {
        let mut worked = false;
        let many = self.paths.len() > 2 * MANY_FLOWS && self.scatters[link.index()];
        let unsteady = self.links[link.index()].is_unsteady();
        let to_inboxes = !unsteady && matches!(self.deliveries[link.index()], Delivery::Inboxes(_));
        let batch = feed.batch().filter(|_| to_inboxes);
        let mut carry = |this: &mut Self| match (batch, many, this.chained) {
            (Some(batch), true, _) => this.carry_to_inboxes::<true>(batch, link, horizon, &mut worked),
            (Some(batch), false, _) => this.carry_to_inboxes::<false>(batch, link, horizon, &mut worked),
            (None, false, false) => this.carry_common::<F, false, false>(&mut feed, link, horizon, &mut worked),
            (None, false, true) => this.carry_common::<F, false, true>(&mut feed, link, horizon, &mut worked),
            (None, true, _) => this.carry_common::<F, true, true>(&mut feed, link, horizon, &mut worked),
        };
        while let Some(uncommon) = carry(self) {
            match uncommon {
                Uncommon::Forward(packet) => self.forward(packet),
                Uncommon::Refused(link, packet) => self.refuse(link, packet.at, packet),
                Uncommon::Marked(packet, at) => {
                    let packet = self.note_mark(link, packet.at, packet);
                    self.leave(link, packet, at);
                }
                Uncommon::Duplicated(packet, at) => self.note_duplicate(link, at, &packet),
                Uncommon::Train(train) => {
                    if let Some(train) = self.carry_train(link, train) {
                        self.forward(train);
                    }
                }
            }
        }
        worked
    }

    /// Carries common packets of a batch whose next nodes are all far ends, up to an uncommon packet. With `MANY` flows,
    /// the mailbox of a packet that follows soon is prefetched, and then the slot in the mailbox.
    #[inline(never)]
    fn carry_to_inboxes<const MANY: bool>(
        &mut self,
        batch: BatchId,
        id: LinkId,
        horizon: Time,
        worked: &mut bool,
    ) -> Option<Uncommon> {
        let Self { links, ports: Ports { mailboxes, batches }, inboxes, deliveries, .. } = self;
        let Delivery::Inboxes(tail) = deliveries[id.index()] else { return None };
        let (link, due) = (&mut links[id.index()], batches[batch.index()].due(horizon));
        let (mut taken, mut uncommon) = (due.start, None);
        let mut ahead = Ahead::new();
        if due.is_empty() {
            return None;
        }
        *worked = true;
        let packets = &batches[batch.index()];
        while taken < due.end && uncommon.is_none() {
            let packet = *packets.get(taken)?;
            if MANY {
                packets.fetch(taken + 4 * STEP);
                let soon = packets.get(taken + 2 * STEP).map(|packet| inboxes[packet.passage().index()]);
                soon.into_iter().for_each(|inbox| mailboxes.fetch(inbox));
                ahead.fetch_slot(mailboxes, soon);
            }
            taken += 1;
            if packet.is_train() {
                uncommon = Some(Uncommon::Train(packet));
                continue;
            }
            let (bytes, capable) = (packet.bytes(), packet.flags() & flag::ECT != 0);
            match link.carry(packet.at, bytes, capable) {
                Some(Carried { at, marked: false }) => {
                    let packet = packet.next_hop(at + tail.of(bytes));
                    mailboxes.push(inboxes[packet.passage().index()], packet);
                }
                Some(Carried { at, marked: true }) => uncommon = Some(Uncommon::Marked(packet.marked(), at)),
                None => uncommon = Some(Uncommon::Refused(id, packet)),
            }
        }
        batches[batch.index()].note_taken(taken);
        uncommon
    }

    /// Carries common packets of a feed, up to an uncommon packet. With `MANY` flows, the data for a packet are
    /// prefetched a few packets ahead. `CHAINED` is set if an inline link may follow.
    #[inline(never)]
    fn carry_common<F: Feed, const MANY: bool, const CHAINED: bool>(
        &mut self,
        feed: &mut F,
        link: LinkId,
        horizon: Time,
        worked: &mut bool,
    ) -> Option<Uncommon> {
        let id = link;
        let (links, mut behind) = self.split();
        let (before, link_and_after) = links.split_at_mut(link.index());
        let (link, after) = link_and_after.split_first_mut()?;
        let unsteady = link.is_unsteady();
        let mut ahead = Ahead::new();
        loop {
            let packet = feed.next(behind.ports, horizon)?;
            *worked = true;
            if MANY {
                fetch_ahead(feed, &behind, &mut ahead);
            } else if F::MIXED {
                fetch_hop(feed, behind.ports, behind.hops, behind.paths);
            }
            if packet.is_train() {
                return Some(Uncommon::Train(packet));
            }
            let bytes = packet.bytes();
            let capable = packet.flags() & flag::ECT != 0;
            let Some(Carried { at, marked }) = link.carry(packet.at, bytes, capable) else {
                return Some(Uncommon::Refused(id, packet));
            };
            if marked {
                return Some(Uncommon::Marked(packet.marked(), at));
            }
            if unsteady {
                if link.launch(packet, at) {
                    return Some(Uncommon::Duplicated(packet, at));
                }
                continue;
            }
            let hop = &behind.hops[behind.paths.hop_of(&packet)];
            let mut packet = packet.next_hop(at + hop.tail.of(bytes));
            let mut next = hop.next;
            while let (true, Place::Inline(inner)) = (CHAINED, next) {
                let later = inner.index().checked_sub(before.len() + 1);
                let link = later.map_or_else(|| &mut before[inner.index()], |later| &mut after[later]);
                if packet.at >= behind.end && link.is_recorded() {
                    return Some(Uncommon::Forward(packet));
                }
                let Some(Carried { at, marked: false }) = link.carry(packet.at, bytes, false) else {
                    return Some(Uncommon::Refused(inner, packet));
                };
                let hop = &behind.hops[behind.paths.hop_of(&packet)];
                packet = packet.next_hop(at + hop.tail.of(bytes));
                next = hop.next;
            }
            if let Some(packet) = behind.deliver(packet, next) {
                return Some(Uncommon::Forward(packet));
            }
        }
    }

    /// Handles a packet that `link` has sent, and that reaches the far end at `at` without impairments.
    #[inline(never)]
    fn leave(&mut self, link: LinkId, packet: Packet, at: Time) {
        if self.links[link.index()].is_unsteady() {
            if self.links[link.index()].launch(packet, at) {
                self.note_duplicate(link, at, &packet);
            }
            return;
        }
        let tail = self.tail(&packet);
        self.forward(packet.next_hop(at + tail.of(packet.bytes())));
    }
}
