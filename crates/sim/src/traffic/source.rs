//! A source of transfers: it begins them, gives each a sender and a receiver while it lasts, and keeps the accounts.
//!
//! ```text
//!  arrivals ──► transfer ──► slot: sender + receiver + copy of the path ──► completed, drained ──► free for the next transfer
//! ```
//!
//! A transfer in its *slot* is a flow like others. Memory is that of the transfers under way at a time. The next event
//! of each slot is in one short list, so waiting slots cost almost nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use elephan_cc::Controller;

use super::schedule::{Open, Planned, Schedule, Users};
use super::summary::{Summary, Terms};
use super::transfer::Transfer;
use crate::algorithms::source_controller;
use crate::endpoint::{End, EndpointState, PacketCounts, Receiver, Sender, reporting};
use crate::network::{Attachment, Count, MailboxId, Network, SourceId};
use crate::packet::FlowId;
use crate::prefetch;
use crate::record::ReceiverSample;
use crate::spec::{FlowSpec, RecordSpec, SourceSpec, Spec, SpecError};
use crate::time::Time;

/// Results of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceTotals {
    /// In the order in which they began, where each is kept.
    pub transfers: Vec<Transfer>,
    /// Their sums, where these alone are kept.
    pub summary: Option<Box<Summary>>,
    /// Sums of the arrivals until each sample time.
    pub samples: Vec<ReceiverSample>,
    /// Sums of the arrivals until the beginning and until the end of the measured part.
    pub measured: [ReceiverSample; 2],
    /// Distinct segments that arrived.
    pub delivered: u64,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// Transfers under way at a time, at most.
    pub most_at_once: usize,
}

/// An active transfer, or one that is over.
#[derive(Debug)]
struct Slot {
    sender: Sender,
    attachment: Attachment,
    /// The receiver, unless it is evaluated inline by the network.
    sink: Option<(Receiver, Attachment)>,
    flow: FlowId,
    /// Position of the transfer among all.
    transfer: u32,
    start: Time,
    segments: u32,
    /// Extra delay of its path over the source's path.
    extra: Time,
    /// The user that the transfer belongs to, if the source has users.
    user: u32,
}

impl Slot {
    fn receiver<'a>(&'a self, network: &'a Network) -> Option<&'a Receiver> {
        let own = self.sink.as_ref().map(|(receiver, _)| receiver);
        own.or(network.sinks[self.flow.index()].as_ref())
    }

    /// Packets that the sender and the receiver count.
    fn packets(&self, network: &Network) -> [PacketCounts; 2] {
        [self.sender.packets(), self.receiver(network).map(EndpointState::packets).unwrap_or_default()]
    }
}

/// A transfer that is to begin; ordered by time, then by user.
type Due = Reverse<(Time, u32)>;

/// Distance in turns at which the data of a slot is prefetched; its address is prefetched at twice that distance.
const STEP: usize = 2;

/// Number of turns within which each slot that waits for its last packets is looked at once.
const TURNS_TO_DRAIN: usize = 16;

/// A source of transfers.
#[derive(Debug)]
pub struct Source {
    index: SourceId,
    name: String,
    flow: FlowSpec,
    /// Controller that each transfer gets a copy of.
    controller: Controller,
    /// First of the ranks of its transfers among competing packets.
    first_rank: u32,
    path_rtt: Time,
    open: Option<Box<Open>>,
    begun: u32,
    users: Option<Box<Users>>,
    waiting: BinaryHeap<Due>,
    next_of_user: Vec<Option<Planned>>,
    /// Transfers that each user has begun.
    begun_by_user: Vec<u32>,
    slots: Vec<Slot>,
    /// The next event of each slot's sender by itself, and the mailbox of its ACKs.
    due: Vec<(Time, MailboxId)>,
    /// The slots whose senders, or whose receivers, have an event in this turn.
    turns: Vec<u32>,
    /// The same of the receivers.
    sinks: Vec<(Time, MailboxId)>,
    /// Slots whose transfer ended in the turn before; slots of ended transfers that still have packets under way; and
    /// free slots.
    ending: Vec<u32>,
    draining: VecDeque<u32>,
    free: Vec<u32>,
    /// Receivers are evaluated inline.
    is_inline: bool,
    times: Arc<[Time]>,
    /// The positions of the ends of the measured part in those times.
    edges: [usize; 2],
    never: Arc<[Time]>,
    gone: Count,
    terms: Terms,
    totals: SourceTotals,
}

/// Lists the slots that have an event before `horizon`. Branchless, since the branch predictor cannot learn this selection: each is
/// written down, and only those that count are kept.
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
    /// The sources of a spec, with all that can be drawn beforehand. `go_on` is asked every few milliseconds.
    ///
    /// # Errors
    /// An algorithm that is none, a load that needs too many transfers, or an error of `go_on`.
    pub fn all<E: From<SpecError>>(
        spec: &Spec,
        times: &Arc<[Time]>,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<Self>, E> {
        let schedules: Vec<Schedule> =
            spec.traffic.iter().map(|source| Schedule::new(spec, source, go_on)).collect::<Result<_, _>>()?;
        // Ranks go by name, after those of the flows, so that the order of the spec does not matter.
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
            .map(|(index, ((source, schedule), rank))| Ok(Self::new((index, rank), spec, source, schedule, times)?))
            .collect()
    }

    fn new(
        (index, first_rank): (usize, u32),
        spec: &Spec,
        source: &SourceSpec,
        schedule: Schedule,
        times: &Arc<[Time]>,
    ) -> Result<Self, SpecError> {
        let flow = source.flow.clone();
        let controller = source_controller(spec, index, &flow)?;
        let links = flow.path.iter().chain(&flow.reverse_path);
        let path_rtt = Time(links.map(|&link| spec.links[link].delay_ps).sum());
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
        Ok(Self {
            index: SourceId(index as u32),
            name: flow.name.clone(),
            is_inline: flow.answers_at_once(),
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
        })
    }

    /// When the next transfer begins.
    fn next_start(&self) -> Time {
        let planned = self.open.as_ref().and_then(|open| open.peek()).map_or(Time::NEVER, |planned| planned.start);
        self.waiting.peek().map_or(planned, |Reverse((at, _))| *at)
    }

    /// When a sender next has something to do, or a transfer begins.
    #[must_use]
    pub fn next_event(&self, network: &Network) -> Time {
        let senders = self.due.iter().map(|&(timer, inbox)| timer.min(network.head(inbox))).min();
        self.next_start().min(senders.unwrap_or(Time::NEVER))
    }

    /// When a receiver next has something to do.
    #[must_use]
    pub fn next_sink_event(&self, network: &Network) -> Time {
        self.sinks.iter().map(|&(timer, inbox)| timer.min(network.head(inbox))).min().unwrap_or(Time::NEVER)
    }

    /// The turn of all its senders.
    pub fn run(&mut self, spec: &Spec, horizon: Time, network: &mut Network) -> bool {
        self.free_slots(network);
        let mut worked = false;
        // A user who thinks for less than a slice begins the next transfer in the same one.
        loop {
            let mut again = false;
            // A slice may see half a million begin, so memory is not only looked at between slices.
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

    /// Fetches the data of the next turns: each was last used an RTT ago, and thousands of others since.
    #[inline(always)]
    fn fetch_ahead(&self, turns: &[u32], network: &Network) {
        let at = |places: usize| turns.get(places - 1).map(|&slot| slot as usize);
        // A sender in two parts, since the processor waits where more is fetched at once than it can keep track of.
        if let Some(slot) = at(2 * STEP) {
            network.fetch_mailbox(self.due[slot].1);
            self.slots[slot].sender.fetch_part(0);
        }
        if let Some(slot) = at(2 * STEP - 1) {
            self.slots[slot].sender.fetch_part(1);
        }
        if let Some(slot) = at(STEP) {
            network.fetch_some(self.due[slot].1);
            self.slots[slot].sender.fetch_behind();
        }
    }

    /// The turn of all its receivers, where they have timers.
    pub fn run_sinks(&mut self, horizon: Time, network: &mut Network) -> bool {
        let mut turns = std::mem::take(&mut self.turns);
        list_due(&self.sinks, horizon, network, &mut turns);
        for (at, &i) in turns.iter().enumerate() {
            if let Some(&next) = turns.get(at + 1) {
                network.fetch_oldest(self.sinks[next as usize].1);
            }
            let Some((receiver, attachment)) = &mut self.slots[i as usize].sink else { continue };
            attachment.give_turn::<false, _>(receiver, horizon, network);
            self.sinks[i as usize].0 = receiver.timer();
        }
        let worked = !turns.is_empty();
        self.turns = turns;
        worked
    }

    #[inline(never)]
    fn begin_next(&mut self, spec: &Spec, network: &mut Network) {
        let transfer = self.begun;
        let (user, planned) = if let Some(open) = &mut self.open {
            (transfer, open.take())
        } else {
            let Some(Reverse((_, user))) = self.waiting.pop() else { return };
            (user, self.next_of_user[user as usize].take())
        };
        let Some(planned) = planned else { return };
        self.begun += 1;
        let extra = planned.rtt.since(self.path_rtt);
        self.name_transfer(transfer, user);
        self.flow.size_segments = Some(u64::from(planned.segments));
        let (flow, slot) = self.find_slot(network);
        let mut receiver = Receiver::starting(planned.start, flow, &self.flow, &self.times);
        let Some(algorithm) = self.controller.try_clone() else { return };
        let algorithm = reporting(algorithm, &self.flow);
        let mut sender = Sender::new(flow, spec, &self.flow, planned.start, algorithm, &self.never);
        sender.note_handshake(self.flow.handshake(&spec.links, planned.start).map(|rtt| rtt.later(extra)));
        sender.instruct(&mut receiver);
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
            if let Some((before, _)) = before.and_then(|before| before.sink.as_mut()) {
                receiver.inherit(before);
            }
            network.occupy(self.index, None, flow, sidecar, rank, extra);
            self.sinks[slot].0 = receiver.timer();
            Some((receiver, network.attach(flow, End::Receiver, None)))
        };
        network.equip(flow, sender.router());
        self.due[slot].0 = sender.timer();
        // The first link that can queue takes turns, since transfers are not in order among themselves.
        let attachment = network.attach(flow, End::Sender, None);
        let Planned { start, segments, .. } = planned;
        let new = Slot { sender, attachment, sink, flow, transfer, start, segments, extra, user };
        self.note_begin(&new);
        if slot == self.slots.len() {
            self.slots.push(new);
        } else {
            self.slots[slot] = new;
        }
        let at_once = self.slots.len() - self.free.len() - self.ending.len() - self.draining.len();
        self.totals.most_at_once = self.totals.most_at_once.max(at_once);
    }

    /// A transfer begins.
    fn note_begin(&mut self, slot: &Slot) {
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

    /// Names a transfer, for its random streams: by its number, or by its number with its user.
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

    /// A free slot: its number among the flows, and its position.
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

    /// A transfer is over: its user thinks about the next.
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

    /// Frees the slots of transfers that are over and have no packets under way any more: nearly all at once. What was sent again
    /// for nothing is under way for a round trip more, so of the slots that wait for that only some are looked at in a turn.
    #[inline(never)]
    fn free_slots(&mut self, network: &mut Network) {
        let mut ending = std::mem::take(&mut self.ending);
        for (i, &slot) in ending.iter().enumerate() {
            if let Some(&next) = ending.get(i + STEP) {
                network.fetch_slot(self.slots[next as usize].flow);
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

    /// Frees a slot if none of its packets are under way; returns true if it did.
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
        self.totals.delivered += receiver.totals.delivered;
        self.totals.duplicates += receiver.duplicates;
        // Arrivals since the sample before; arrivals after the transfer's last sample count in the next.
        let first = self.times.partition_point(|&time| time < slot.start);
        let mut before = ReceiverSample::default();
        let counts = receiver.samples.iter().chain(std::iter::once(&receiver.totals));
        for (sum, count) in self.totals.samples[first..].iter_mut().zip(counts) {
            sum.delivered += count.delivered - before.delivered;
            sum.wire_bytes += count.wire_bytes - before.wire_bytes;
            before = *count;
        }
    }

    /// Ends the run at `end`, after the network's receivers.
    pub fn finish(&mut self, end: Time, network: &Network) {
        self.slots.iter_mut().filter_map(|slot| slot.sink.as_mut()).for_each(|(receiver, _)| receiver.finish(end));
        let mut taken = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| taken[slot as usize] = false);
        for slot in (0..self.slots.len()).filter(|&slot| taken[slot]) {
            self.settle(slot, network);
        }
    }

    /// The flows whose packets may be under way, and the packets that their two ends count.
    pub fn active<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (FlowId, [PacketCounts; 2])> + 'a {
        let mut taken = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| taken[slot as usize] = false);
        let slots = self.slots.iter().zip(taken).filter(|(_, taken)| *taken);
        slots.map(|(slot, _)| (slot.flow, slot.packets(network)))
    }

    /// The packets of the transfers whose slots were freed.
    #[must_use]
    pub fn gone(&self) -> Count {
        self.gone
    }

    /// Its results.
    #[must_use]
    pub fn into_totals(mut self) -> SourceTotals {
        // Users begin within one turn in whatever order it takes them.
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
