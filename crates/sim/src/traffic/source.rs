//! A source of transfers. A source starts the transfers, gives each a sender and a receiver, and adds up their results.
//!
//! ```text
//!  arrivals ──► transfer ──► slot: sender + receiver + copy of the path ──► completed, drained ──► free for the next transfer
//! ```
//!
//! Each active transfer has a *slot*, in which it is a flow like any other. Memory grows with the number of active
//! transfers. The times of the slots' next events are in one short list, so slots without events cost almost nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use elephan_cc::{Algorithm, Controller};

use super::schedule::{Open, Planned, Schedule, Users};
use super::summary::{Summary, Terms};
use super::transfer::Transfer;
use crate::endpoint::{End, EndpointState, PacketCounts, Peer, Receiver, Sender, reporting};
use crate::network::{Attachment, Count, MailboxId, Network, SourceId};
use crate::packet::FlowId;
use crate::prefetch;
use crate::record::ReceiverSample;
use crate::spec::{FlowSpec, RecordSpec, SourceSpec, Spec, SpecError};
use crate::time::Time;

/// Results of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceTotals {
    /// Transfers in the order of their starts, if each is recorded.
    pub transfers: Vec<Transfer>,
    /// Sums over the transfers, if only sums are recorded.
    pub summary: Option<Box<Summary>>,
    /// Cumulative arrivals at each sample time.
    pub samples: Vec<ReceiverSample>,
    /// Cumulative arrivals at the beginning and at the end of the measurement window.
    pub measured: [ReceiverSample; 2],
    /// Distinct segments that arrived.
    pub delivered: u64,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// Largest number of simultaneously active transfers.
    pub most_at_once: usize,
}

/// Slot of an active transfer, or of a transfer that has ended.
#[derive(Debug)]
struct Slot {
    sender: Sender,
    attachment: Attachment,
    /// The receiver, unless it is evaluated inline by the network. It has memory of its own, so that slots without it
    /// are small.
    sink: Option<Box<(Receiver, Attachment)>>,
    flow: FlowId,
    /// Position of the transfer among all transfers of the source.
    transfer: u32,
    start: Time,
    segments: u32,
    /// Extra delay of the transfer's path over the source's path.
    extra: Time,
    /// The user that the transfer belongs to, if the source has users.
    user: u32,
}

impl Slot {
    fn receiver<'a>(&'a self, network: &'a Network) -> Option<&'a Receiver> {
        let own = self.sink.as_ref().map(|sink| &sink.0);
        own.or(network.sinks[self.flow.index()].as_ref().map(|sink| &sink.receiver))
    }

    /// Packet counts of the sender and the receiver.
    fn packets(&self, network: &Network) -> [PacketCounts; 2] {
        [self.sender.packets(), self.receiver(network).map(EndpointState::packets).unwrap_or_default()]
    }
}

/// Start of a planned transfer; ordered by time, then by user.
type Due = Reverse<(Time, u32)>;

/// Number of turns by which the data of a slot are prefetched ahead. The address of the data is prefetched twice as far
/// ahead.
const STEP: usize = 2;

/// Number of turns within which each slot that waits for its last packets is checked once.
const TURNS_TO_DRAIN: usize = 16;

/// A source of transfers.
#[derive(Debug)]
pub struct Source {
    index: SourceId,
    name: String,
    flow: FlowSpec,
    /// Controller, of which each transfer gets a copy.
    controller: Controller,
    /// First rank of the source's transfers among competing packets.
    first_rank: u32,
    path_rtt: Time,
    open: Option<Box<Open>>,
    begun: u32,
    users: Option<Box<Users>>,
    waiting: BinaryHeap<Due>,
    next_of_user: Vec<Option<Planned>>,
    /// Number of transfers started by each user.
    begun_by_user: Vec<u32>,
    slots: Vec<Slot>,
    /// Time of the next own event of each slot's sender, and the mailbox of its ACKs.
    due: Vec<(Time, MailboxId)>,
    /// Slots whose senders (or receivers) have an event in this turn.
    turns: Vec<u32>,
    /// Time of the next own event of each slot's receiver, and its mailbox.
    sinks: Vec<(Time, MailboxId)>,
    /// Three lists: slots whose transfer ended in the last turn, slots of ended transfers that still have packets in
    /// flight, and free slots.
    ending: Vec<u32>,
    draining: VecDeque<u32>,
    free: Vec<u32>,
    /// True if receivers are evaluated inline.
    is_inline: bool,
    /// True if no link of the path has impairments.
    is_steady: bool,
    times: Arc<[Time]>,
    /// Positions of the beginning and the end of the measurement window in `times`.
    edges: [usize; 2],
    never: Arc<[Time]>,
    gone: Count,
    terms: Terms,
    totals: SourceTotals,
}

/// Lists the slots that have an event before `horizon`. Branchless, since the branch predictor cannot learn this
/// selection: each slot is written to the list, and only matching slots advance the list's length.
fn list_due(slots: &[(Time, MailboxId)], horizon: Time, network: &Network, turns: &mut Vec<u32>) {
    turns.resize(slots.len(), 0);
    let mut count = 0;
    for (&(timer, inbox), slot) in slots.iter().zip(0..) {
        turns[count] = slot;
        count += usize::from(timer.min(network.head(inbox)) < horizon);
    }
    turns.truncate(count);
}

impl Source {
    /// Builds the sources of a spec, with all draws that can be made beforehand. `make` returns the algorithm whose copies
    /// control the transfers of a source, by the source's position. `go_on` is called every few milliseconds.
    ///
    /// # Errors
    /// An unknown algorithm, a load that needs too many transfers, or an error of `go_on`.
    pub fn all<E: From<SpecError>>(
        spec: &Spec,
        times: &Arc<[Time]>,
        make: &mut impl FnMut(usize, &FlowSpec) -> Result<Controller, SpecError>,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<Self>, E> {
        let schedules: Vec<Schedule> =
            spec.traffic.iter().map(|source| Schedule::new(spec, source, go_on)).collect::<Result<_, _>>()?;
        // Ranks follow the order of names, after the ranks of the flows, so that the order of the spec has no effect.
        let mut by_name: Vec<usize> = (0..spec.traffic.len()).collect();
        by_name.sort_by(|&a, &b| spec.traffic[a].flow.name.cmp(&spec.traffic[b].flow.name));
        let mut ranks = vec![0; by_name.len()];
        let mut rank = spec.flows.len() as u64;
        for index in by_name {
            ranks[index] = rank as u32;
            rank += schedules[index].width();
        }
        if rank > 1 << 30 {
            return Err(SpecError::new("traffic", "has more than a billion transfers").into());
        }
        let parts = spec.traffic.iter().zip(schedules).zip(ranks).enumerate();
        parts
            .map(|(index, ((source, schedule), rank))| {
                let controller = make(index, &source.flow)?;
                Ok(Self::new((index, rank), spec, (source, controller), schedule, times))
            })
            .collect()
    }

    fn new(
        (index, first_rank): (usize, u32),
        spec: &Spec,
        (source, controller): (&SourceSpec, Controller),
        schedule: Schedule,
        times: &Arc<[Time]>,
    ) -> Self {
        let flow = source.flow.clone();
        let links = flow.path.iter().chain(&flow.reverse_path);
        let path_rtt = Time(links.clone().map(|&link| spec.links[link].delay_ps).sum());
        let is_steady = links.clone().all(|&link| spec.links[link].impairments.is_none());
        let mut waiting = BinaryHeap::new();
        let (open, users, next_of_user) = match schedule {
            Schedule::Open(open) => (Some(open), None, Vec::new()),
            Schedule::Closed(first, users) => {
                waiting
                    .extend(first.iter().enumerate().filter_map(|(u, p)| Some(Reverse((p.as_ref()?.start, u as u32)))));
                (None, Some(users), first)
            }
        };
        let samples = vec![ReceiverSample::default(); times.len()];
        let summary = (source.record == RecordSpec::Summary).then(Box::default);
        Self {
            index: SourceId(index as u32),
            name: flow.name.clone(),
            is_inline: flow.answers_at_once(),
            is_steady,
            flow,
            controller,
            first_rank,
            path_rtt,
            open,
            begun: 0,
            users,
            waiting,
            begun_by_user: vec![0; next_of_user.len()],
            next_of_user,
            slots: Vec::new(),
            due: Vec::new(),
            turns: Vec::new(),
            sinks: Vec::new(),
            ending: Vec::new(),
            draining: VecDeque::new(),
            free: Vec::new(),
            times: times.clone(),
            edges: [spec.measure.from_ps, spec.measure.to_ps].map(|ps| times.partition_point(|&time| time < Time(ps))),
            never: [].into(),
            gone: Count::default(),
            terms: Terms::new(spec, source),
            totals: SourceTotals { samples, summary, ..Default::default() },
        }
    }

    /// Start of the next transfer.
    fn next_start(&self) -> Time {
        let planned = self.open.as_ref().and_then(|open| open.peek()).map_or(Time::NEVER, |planned| planned.start);
        self.waiting.peek().map_or(planned, |Reverse((at, _))| *at)
    }

    /// Time of the next event of a sender, or of the next transfer's start.
    #[must_use]
    pub fn next_event(&self, network: &Network) -> Time {
        let senders = self.due.iter().map(|&(timer, inbox)| timer.min(network.head(inbox))).min();
        self.next_start().min(senders.unwrap_or(Time::NEVER))
    }

    /// Time of the next event of a receiver.
    #[must_use]
    pub fn next_sink_event(&self, network: &Network) -> Time {
        self.sinks.iter().map(|&(timer, inbox)| timer.min(network.head(inbox))).min().unwrap_or(Time::NEVER)
    }

    /// Takes the turn of all senders of the source.
    pub fn run(&mut self, spec: &Spec, horizon: Time, network: &mut Network) -> bool {
        self.free_slots(network);
        let mut worked = false;
        // A user whose think time is shorter than a slice may start the next transfer in the same slice.
        loop {
            let mut again = false;
            // Half a million transfers may begin in a slice, so memory is also checked within slices.
            while self.next_start() < horizon && network.has_room_for_transfers(self.slots.len()) {
                self.begin_next(spec, network);
                again = true;
            }
            let mut turns = std::mem::take(&mut self.turns);
            list_due(&self.due, horizon, network, &mut turns);
            again |= !turns.is_empty();
            for (at, &i) in turns.iter().enumerate() {
                self.fetch_ahead(&turns[at + 1..], network);
                let i = i as usize;
                let Slot { sender, attachment, .. } = &mut self.slots[i];
                let was_open = sender.completed().is_none();
                attachment.give_turn::<false, _>(sender, horizon, network);
                self.due[i].0 = sender.timer();
                if was_open && sender.completed().is_some() {
                    self.note_end(i);
                }
            }
            self.turns = turns;
            worked |= again;
            if !again || self.users.is_none() {
                return worked;
            }
        }
    }

    /// Prefetches the data of the next turns. Since a slot's last turn, an RTT ago, the data of thousands of other
    /// slots were used, so the slot's data are no longer in the cache.
    #[inline(always)]
    fn fetch_ahead(&self, turns: &[u32], network: &Network) {
        let at = |places: usize| turns.get(places - 1).map(|&slot| slot as usize);
        // A sender is prefetched in two parts, since the processor stalls if too many prefetches are outstanding.
        if let Some(slot) = at(2 * STEP) {
            network.fetch_mailbox(self.due[slot].1);
            self.slots[slot].sender.fetch_part(0);
        }
        if let Some(slot) = at(2 * STEP - 1) {
            self.slots[slot].sender.fetch_part(1);
        }
        if let Some(slot) = at(STEP) {
            network.fetch_oldest(self.due[slot].1);
            self.slots[slot].sender.fetch_behind();
        }
    }

    /// Takes the turn of all receivers of the source, if they have timers.
    pub fn run_sinks(&mut self, horizon: Time, network: &mut Network) -> bool {
        let mut turns = std::mem::take(&mut self.turns);
        list_due(&self.sinks, horizon, network, &mut turns);
        for (at, &i) in turns.iter().enumerate() {
            if let Some(&next) = turns.get(at + 1) {
                network.fetch_oldest(self.sinks[next as usize].1);
            }
            let Some((receiver, attachment)) = self.slots[i as usize].sink.as_deref_mut() else { continue };
            attachment.give_turn::<false, _>(receiver, horizon, network);
            self.sinks[i as usize].0 = receiver.timer();
        }
        let worked = !turns.is_empty();
        self.turns = turns;
        worked
    }

    /// The next transfer, and its user.
    fn take_planned(&mut self) -> Option<(u32, Planned)> {
        if let Some(open) = &mut self.open {
            return Some((self.begun, open.take()?));
        }
        let Reverse((_, user)) = self.waiting.pop()?;
        Some((user, self.next_of_user[user as usize].take()?))
    }

    #[inline(never)]
    fn begin_next(&mut self, spec: &Spec, network: &mut Network) {
        let transfer = self.begun;
        let Some((user, planned)) = self.take_planned() else { return };
        self.begun += 1;
        let extra = planned.rtt.since(self.path_rtt);
        self.name_transfer(transfer, user);
        self.flow.size_segments = Some(u64::from(planned.segments));
        let (flow, slot) = self.find_slot(network);
        let Some(algorithm) = self.controller.try_clone() else { return };
        let algorithm = reporting(algorithm, &self.flow);
        let handshake = self.flow.handshake(&spec.links, planned.start).map(|one| one.on_longer_path(extra));
        let peer = Peer { needs: algorithm.needs(), handshake };
        let mut sender = Sender::new(flow, spec, &self.flow, planned.start, algorithm, &self.never);
        sender.note_handshake(handshake, handshake.filter(|_| self.is_steady));
        if transfer == 0 {
            sender.forget_cookie();
        }
        let mut receiver = Receiver::starting(planned.start, flow, &self.flow, &peer, &self.times);
        let mut before = self.slots.get_mut(slot);
        if let Some(before) = &mut before {
            sender.inherit(&mut before.sender);
        }
        let rank = self.first_rank + user;
        let sidecar = network.sidecar_of(self.index, spec.seed, &self.flow.name);
        let sink = if self.is_inline {
            network.occupy(self.index, Some(receiver), flow, sidecar, rank, extra);
            None
        } else {
            let before = before.and_then(|before| before.sink.take());
            network.occupy(self.index, None, flow, sidecar, rank, extra);
            self.sinks[slot].0 = receiver.timer();
            let attachment = network.attach(flow, End::Receiver, None, self.flow.stack.counts_ns());
            Some(match before {
                Some(mut sink) => {
                    receiver.inherit(&mut sink.0);
                    *sink = (receiver, attachment);
                    sink
                }
                None => Box::new((receiver, attachment)),
            })
        };
        network.equip(flow, peer.needs.router);
        self.due[slot].0 = sender.timer();
        // The first link that can queue takes turns, since the packets of different transfers are not in order.
        let attachment = network.attach(flow, End::Sender, None, self.flow.stack.counts_ns());
        let Planned { start, segments, .. } = planned;
        if let Some(held) = self.slots.get_mut(slot) {
            // The sender is large, so it is moved only once.
            held.sender = sender;
            (held.attachment, held.sink, held.transfer, held.start) = (attachment, sink, transfer, start);
            (held.segments, held.extra, held.user) = (segments, extra, user);
        } else {
            self.slots.push(Slot { sender, attachment, sink, flow, transfer, start, segments, extra, user });
        }
        self.note_begin(slot);
        let at_once = self.slots.len() - self.free.len() - self.ending.len() - self.draining.len();
        self.totals.most_at_once = self.totals.most_at_once.max(at_once);
    }

    /// Records the start of a transfer.
    fn note_begin(&mut self, slot: usize) {
        let slot = &self.slots[slot];
        match &mut self.totals.summary {
            None => {
                let begun = self.result(slot);
                self.totals.transfers.push(begun);
            }
            Some(summary) => summary.begin(slot.start, slot.segments, &self.terms),
        }
    }

    /// State of a slot's transfer.
    fn result(&self, slot: &Slot) -> Transfer {
        Transfer {
            start: slot.start,
            segments: slot.segments,
            rtt: self.path_rtt + slot.extra,
            completed: slot.sender.completed().unwrap_or(Time::NEVER),
            user: self.users.is_some().then_some(slot.user),
            totals: slot.sender.totals(),
        }
    }

    /// Names a transfer for its random streams: by its number, or by its user and its number among this user's
    /// transfers.
    fn name_transfer(&mut self, transfer: u32, user: u32) {
        let Self { flow, name, users, begun_by_user, .. } = self;
        flow.name.clear();
        flow.name.push_str(name);
        // Writing into a string cannot fail.
        let _ = match begun_by_user.get_mut(user as usize).filter(|_| users.is_some()) {
            None => write!(flow.name, " {transfer}"),
            Some(begun) => {
                *begun += 1;
                write!(flow.name, " {begun} of user {user}")
            }
        };
    }

    /// Finds a free slot. Returns the slot's number among the flows, and the slot's position.
    fn find_slot(&mut self, network: &mut Network) -> (FlowId, usize) {
        if let Some(slot) = self.free.pop() {
            return (self.slots[slot as usize].flow, slot as usize);
        }
        let flow = network.add_slot(self.index);
        self.due.push((Time::NEVER, network.inbox(flow, End::Sender)));
        if !self.is_inline {
            self.sinks.push((Time::NEVER, network.inbox(flow, End::Receiver)));
        }
        (flow, self.slots.len())
    }

    /// Records the end of a transfer: its user's think time begins.
    #[cold]
    fn note_end(&mut self, slot: usize) {
        self.ending.push(slot as u32);
        let Slot { sender, user, .. } = &self.slots[slot];
        let (Some(users), Some(completed)) = (&mut self.users, sender.completed()) else { return };
        if let Some(next) = users.next(*user, completed) {
            self.waiting.push(Reverse((next.start, *user)));
            self.next_of_user[*user as usize] = Some(next);
        }
    }

    /// Frees the slots of transfers that have ended and have no packets in flight. Most transfers have no packets in
    /// flight at their end. Spurious retransmissions are in flight for another round trip, so only some of the slots
    /// that wait for them are checked in each turn.
    #[inline(never)]
    fn free_slots(&mut self, network: &mut Network) {
        let mut ending = std::mem::take(&mut self.ending);
        for (i, &slot) in ending.iter().enumerate() {
            if let Some(&next) = ending.get(i + STEP) {
                let next = &self.slots[next as usize];
                network.fetch_slot(next.flow);
                prefetch::element(&self.totals.transfers, next.transfer as usize);
            }
            if let Some(&next) = ending.get(i + 2 * STEP) {
                prefetch::value(&self.slots[next as usize]);
            }
            if !self.free_slot(slot as usize, network) {
                self.draining.push_back(slot);
            }
        }
        ending.clear();
        self.ending = ending;
        for _ in 0..self.draining.len().div_ceil(TURNS_TO_DRAIN) {
            let Some(slot) = self.draining.pop_front() else { return };
            if !self.free_slot(slot as usize, network) {
                self.draining.push_back(slot);
            }
        }
    }

    /// Frees a slot if none of its packets are in flight. Returns true if the slot was freed.
    fn free_slot(&mut self, slot: usize, network: &mut Network) -> bool {
        let held = &self.slots[slot];
        let counts = network.counts(held.flow, held.packets(network));
        if counts.iter().any(|count| count.sent + count.duplicated != count.received + count.dropped) {
            return false;
        }
        for count in counts {
            self.gone.sent += count.sent;
            self.gone.duplicated += count.duplicated;
            self.gone.received += count.received;
            self.gone.dropped += count.dropped;
        }
        network.trim_mailboxes(held.flow);
        self.settle(slot, network);
        self.due[slot].0 = Time::NEVER;
        if let Some(sink) = self.sinks.get_mut(slot) {
            sink.0 = Time::NEVER;
        }
        self.free.push(slot as u32);
        true
    }

    /// Adds a slot's transfer to the totals.
    fn settle(&mut self, slot: usize, network: &Network) {
        let slot = &self.slots[slot];
        let Some(receiver) = slot.receiver(network) else { return };
        let result = self.result(slot);
        match &mut self.totals.summary {
            None => self.totals.transfers[slot.transfer as usize] = result,
            Some(summary) => summary.end(&result, &self.terms),
        }
        self.totals.delivered += receiver.totals().delivered;
        self.totals.duplicates += receiver.duplicates();
        // Arrivals since the last sample; arrivals after the transfer's last sample count in the next one.
        let first = self.times.partition_point(|&time| time < slot.start);
        let mut before = ReceiverSample::default();
        let counts = receiver.samples().iter().copied().chain(std::iter::once(receiver.totals()));
        for (sum, count) in self.totals.samples[first..].iter_mut().zip(counts) {
            sum.delivered += count.delivered - before.delivered;
            sum.wire_bytes += count.wire_bytes - before.wire_bytes;
            before = count;
        }
    }

    /// Ends the run at `end`, after the network's receivers.
    pub fn finish(&mut self, end: Time, network: &Network) {
        self.slots.iter_mut().filter_map(|slot| slot.sink.as_mut()).for_each(|sink| sink.0.finish(end));
        let mut taken = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| taken[slot as usize] = false);
        for slot in (0..self.slots.len()).filter(|&slot| taken[slot]) {
            self.settle(slot, network);
        }
    }

    /// Flows whose packets may be in flight, with the packet counts of their two ends.
    pub fn active<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (FlowId, [PacketCounts; 2])> + 'a {
        let mut taken = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| taken[slot as usize] = false);
        let slots = self.slots.iter().zip(taken).filter(|(_, taken)| *taken);
        slots.map(|(slot, _)| (slot.flow, slot.packets(network)))
    }

    /// Packet counts of the transfers whose slots were freed.
    #[must_use]
    pub fn gone(&self) -> Count {
        self.gone
    }

    /// Returns the results of the source.
    #[must_use]
    pub fn into_totals(mut self) -> SourceTotals {
        // Within a turn, users start transfers in the order of the turn and not of time, so transfers are sorted.
        self.totals.transfers.sort_by_key(|transfer| (transfer.start, transfer.user));
        let mut sum = ReceiverSample::default();
        for sample in &mut self.totals.samples {
            sum.delivered += sample.delivered;
            sum.wire_bytes += sample.wire_bytes;
            *sample = sum;
        }
        self.totals.measured = self.edges.map(|edge| self.totals.samples[edge]);
        self.totals
    }
}
