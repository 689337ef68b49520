//! A source of transfers: it begins them, gives each a sender and a receiver while it lasts, and keeps the accounts.
//!
//! A transfer occupies a *place*: a sender, a receiver and a copy of the source's path, with which it is a flow like others.
//! When all is acknowledged and nothing of it is under way any more, the next transfer takes the place over. So memory is that
//! of the transfers under way at a time. When each place next has something to do stands in one short list, so that those that
//! wait cost next to nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::sync::Arc;

use elephan_cc::Controller;

use super::schedule::{Planned, Schedule, Users};
use crate::endpoint::{Receiver, Sender, SenderTotals};
use crate::engine::source_controller;
use crate::network::{Count, Network};
use crate::record::ReceiverSample;
use crate::spec::{FlowSpec, SourceSpec, Spec, SpecError};
use crate::time::Time;

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// When it began.
    pub start: Time,
    /// Its length.
    pub segments: u32,
    /// Its propagation delay there and back.
    pub rtt: Time,
    /// When its last segment was acknowledged; [`Time::NEVER`] where the run ended before.
    pub completed: Time,
    /// Whose it was, where there are users.
    pub user: Option<u32>,
    /// What its sender counted.
    pub totals: SenderTotals,
}

/// What a source leaves behind.
#[derive(Clone, Debug, Default)]
pub struct SourceTotals {
    /// In the order in which they began.
    pub transfers: Vec<Transfer>,
    /// What arrived until each sample time.
    pub samples: Vec<ReceiverSample>,
    /// What arrived until the beginning and until the end of the measured part.
    pub measured: [ReceiverSample; 2],
    /// Distinct segments that arrived.
    pub delivered: u64,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// Transfers under way at a time, at most.
    pub most_at_once: usize,
}

/// Whoever has a place.
#[derive(Debug)]
struct Place {
    sender: Sender,
    flow: u32,
    transfer: u32,
    /// Whose, where there are users.
    user: u32,
}

/// A transfer that is to begin; ordered by time, then by user.
type Due = Reverse<(Time, u32)>;

/// A source of transfers.
#[derive(Debug)]
pub struct Source {
    index: usize,
    name: String,
    flow: FlowSpec,
    /// What the controller of each transfer is a copy of.
    controller: Controller,
    /// Where a rank among packets that compete begins.
    first_rank: u32,
    path_rtt: Time,
    planned: Vec<Planned>,
    begun: usize,
    users: Option<Box<Users>>,
    waiting: BinaryHeap<Due>,
    next_of_user: Vec<Option<Planned>>,
    /// Transfers that each user has begun.
    begun_by_user: Vec<u32>,
    places: Vec<Place>,
    /// When each place's sender next has something to do by itself, and where its ACKs arrive.
    due: Vec<(Time, u32)>,
    /// The places whose senders, or whose receivers, have something to do in this turn.
    turns: Vec<u32>,
    /// The same of the receivers.
    sinks: Vec<(Time, u32)>,
    /// Places whose transfer is over, but for packets that may be under way; and those that are free.
    ending: Vec<u32>,
    free: Vec<u32>,
    reactive: bool,
    times: Arc<[Time]>,
    /// The positions of the ends of the measured part in those times.
    edges: [usize; 2],
    never: Arc<[Time]>,
    gone: Count,
    totals: SourceTotals,
}

/// The places that have something to do before `horizon`. Which these are cannot be predicted, so each is written down, and only
/// those that count are kept.
fn list_due(places: &[(Time, u32)], horizon: Time, network: &Network, turns: &mut Vec<u32>) {
    turns.resize(places.len(), 0);
    let mut count = 0;
    for (&(timer, inbox), place) in places.iter().zip(0..) {
        turns[count] = place;
        count += usize::from(network.earlier_of(timer, inbox) < horizon);
    }
    turns.truncate(count);
}

impl Source {
    /// The sources of a spec, with all that can be drawn beforehand.
    ///
    /// # Errors
    /// An algorithm that is none, or a load that needs too many transfers.
    pub fn all(spec: &Spec, times: &Arc<[Time]>) -> Result<Vec<Self>, SpecError> {
        let schedules: Vec<Schedule> =
            spec.traffic.iter().map(|source| Schedule::new(spec, source)).collect::<Result<_, _>>()?;
        // Ranks go by name, after those of the flows, so that the order of the spec does not matter.
        let mut by_name: Vec<usize> = (0..spec.traffic.len()).collect();
        by_name.sort_by(|&a, &b| spec.traffic[a].flow.name.cmp(&spec.traffic[b].flow.name));
        let mut ranks = vec![0; by_name.len()];
        let mut rank = spec.flows.len();
        for index in by_name {
            ranks[index] = rank as u32;
            rank += schedules[index].width();
        }
        if rank > 1 << 30 {
            return Err(SpecError::new("traffic", "has more than a billion transfers"));
        }
        let parts = spec.traffic.iter().zip(schedules).zip(ranks).enumerate();
        parts
            .map(|(index, ((source, schedule), rank))| Self::new((index, rank), spec, source, schedule, times))
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
        let (planned, users, next_of_user) = match schedule {
            Schedule::Open(planned) => (planned, None, Vec::new()),
            Schedule::Closed(first, users) => {
                waiting
                    .extend(first.iter().enumerate().filter_map(|(u, p)| Some(Reverse((p.as_ref()?.start, u as u32)))));
                (Vec::new(), Some(users), first)
            }
        };
        Ok(Self {
            index,
            name: flow.name.clone(),
            reactive: flow.stack.ack_every == 1,
            flow,
            controller,
            first_rank,
            path_rtt,
            planned,
            begun: 0,
            users,
            waiting,
            begun_by_user: vec![0; next_of_user.len()],
            next_of_user,
            places: Vec::new(),
            due: Vec::new(),
            turns: Vec::new(),
            sinks: Vec::new(),
            ending: Vec::new(),
            free: Vec::new(),
            times: times.clone(),
            edges: [spec.measure.from_ps, spec.measure.to_ps].map(|ps| times.partition_point(|&time| time < Time(ps))),
            never: [].into(),
            gone: Count::default(),
            totals: SourceTotals { samples: vec![ReceiverSample::default(); times.len()], ..Default::default() },
        })
    }

    /// When the next transfer begins.
    fn next_start(&self) -> Time {
        let planned = self.planned.get(self.begun).map_or(Time::NEVER, |planned| planned.start);
        self.waiting.peek().map_or(planned, |Reverse((at, _))| *at)
    }

    /// When a sender next has something to do, or a transfer begins.
    #[must_use]
    pub fn next_event(&self, network: &Network) -> Time {
        let senders = self.due.iter().map(|&(timer, inbox)| network.earlier_of(timer, inbox)).min();
        self.next_start().min(senders.unwrap_or(Time::NEVER))
    }

    /// When a receiver next has something to do.
    #[must_use]
    pub fn next_sink_event(&self, network: &Network) -> Time {
        self.sinks.iter().map(|&(timer, inbox)| network.earlier_of(timer, inbox)).min().unwrap_or(Time::NEVER)
    }

    /// The turn of all its senders.
    pub fn run(&mut self, spec: &Spec, horizon: Time, network: &mut Network) -> bool {
        self.clear_places(network);
        let mut worked = false;
        // A user who thinks for less than a window begins the next transfer in the same one.
        loop {
            let mut again = false;
            while self.next_start() < horizon {
                self.begin_next(spec, network);
                again = true;
            }
            let mut turns = std::mem::take(&mut self.turns);
            list_due(&self.due, horizon, network, &mut turns);
            again |= !turns.is_empty();
            for (at, &i) in turns.iter().enumerate() {
                if let Some(&next) = turns.get(at + 1) {
                    // It was last looked at an RTT ago, and thousands of others since.
                    network.touch_inbox(self.due[next as usize].1);
                    self.places[next as usize].sender.touch();
                }
                let i = i as usize;
                let place = &mut self.places[i];
                let was_open = place.sender.completed.is_none();
                place.sender.run(horizon, network);
                self.due[i].0 = place.sender.timer();
                if was_open && place.sender.completed.is_some() {
                    self.note_end(i);
                }
            }
            self.turns = turns;
            if !again {
                return worked;
            }
            worked = true;
        }
    }

    /// The turn of all its receivers, where they have timers.
    pub fn run_sinks(&mut self, horizon: Time, network: &mut Network) -> bool {
        let mut turns = std::mem::take(&mut self.turns);
        list_due(&self.sinks, horizon, network, &mut turns);
        for (at, &i) in turns.iter().enumerate() {
            if let Some(&next) = turns.get(at + 1) {
                network.touch_inbox(self.sinks[next as usize].1);
            }
            let flow = self.places[i as usize].flow;
            network.run_receiver(flow, horizon);
            self.sinks[i as usize].0 = network.receivers[flow as usize].timer();
        }
        let worked = !turns.is_empty();
        self.turns = turns;
        worked
    }

    fn begin_next(&mut self, spec: &Spec, network: &mut Network) {
        let mut user = self.begun as u32;
        let planned = if self.users.is_some() {
            let Some(Reverse((_, next))) = self.waiting.pop() else { return };
            user = next;
            self.next_of_user[user as usize].take()
        } else {
            self.planned.get(self.begun).copied()
        };
        self.begun += 1;
        let Some(planned) = planned else { return };
        let extra = planned.rtt.since(self.path_rtt);
        let transfer = self.totals.transfers.len() as u32;
        self.name_transfer(transfer, user);
        self.flow.size_segments = Some(u64::from(planned.segments));
        let (flow, place) = self.find_place(network);
        let receiver = Receiver::starting(planned.start, flow, &self.flow, &self.times);
        let Some(algorithm) = self.controller.another() else { return };
        network.occupy(self.index, receiver, flow, self.first_rank + user, extra);
        let mut sender = Sender::new(flow, spec, &self.flow, planned.start, algorithm, network, &self.never);
        if let Some(before) = self.places.get_mut(place) {
            sender.inherit(&mut before.sender);
        }
        if sender.wants_repeated_echoes() {
            network.receivers[flow as usize].latch_marks();
        }
        network.attend(flow, sender.router());
        self.due[place].0 = sender.timer();
        if !self.reactive {
            self.sinks[place].0 = network.receivers[flow as usize].timer();
        }
        let new = Place { sender, flow, transfer, user };
        if place == self.places.len() {
            self.places.push(new)
        } else {
            self.places[place] = new
        }
        let at_once = self.places.len() - self.free.len() - self.ending.len();
        self.totals.most_at_once = self.totals.most_at_once.max(at_once);
        self.totals.transfers.push(Transfer {
            start: planned.start,
            segments: planned.segments,
            rtt: self.path_rtt + extra,
            completed: Time::NEVER,
            user: self.users.is_some().then_some(user),
            totals: SenderTotals::default(),
        });
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

    fn find_place(&mut self, network: &mut Network) -> (u32, usize) {
        if let Some(place) = self.free.pop() {
            return (self.places[place as usize].flow, place as usize);
        }
        let flow =
            network.widen_lane(self.index, Receiver::new(network.receivers.len() as u32, &self.flow, &self.never));
        self.due.push((Time::NEVER, network.inbox(flow, crate::network::End::Sender) as u32));
        if !self.reactive {
            self.sinks.push((Time::NEVER, network.inbox(flow, crate::network::End::Receiver) as u32));
        }
        (flow, self.places.len())
    }

    /// A transfer is over: its user thinks about the next.
    fn note_end(&mut self, place: usize) {
        self.ending.push(place as u32);
        let Place { sender, user, .. } = &self.places[place];
        let (Some(users), Some(completed)) = (&mut self.users, sender.completed) else { return };
        if let Some(next) = users.next(*user, completed) {
            self.waiting.push(Reverse((next.start, *user)));
            self.next_of_user[*user as usize] = Some(next);
        }
    }

    /// Frees the places of which nothing is under way any more.
    fn clear_places(&mut self, network: &Network) {
        let mut i = 0;
        while i < self.ending.len() {
            let place = self.ending[i] as usize;
            let Place { sender, flow, .. } = &self.places[place];
            let counts = network.counts(*flow as usize, &sender.totals);
            let drained = counts.iter().all(|count| count.sent + count.duplicated == count.received + count.dropped);
            if !drained {
                i += 1;
                continue;
            }
            for count in counts {
                self.gone.sent += count.sent;
                self.gone.duplicated += count.duplicated;
                self.gone.received += count.received;
                self.gone.dropped += count.dropped;
            }
            self.settle(place, network);
            self.due[place].0 = Time::NEVER;
            if let Some(sink) = self.sinks.get_mut(place) {
                sink.0 = Time::NEVER;
            }
            self.ending.swap_remove(i);
            self.free.push(place as u32);
        }
    }

    /// Puts what a place's transfer has come to into the totals.
    fn settle(&mut self, place: usize, network: &Network) {
        let Place { sender, flow, transfer, .. } = &self.places[place];
        let receiver = &network.receivers[*flow as usize];
        let row = &mut self.totals.transfers[*transfer as usize];
        row.completed = sender.completed.unwrap_or(Time::NEVER);
        row.totals = sender.totals;
        self.totals.delivered += receiver.totals.delivered;
        self.totals.duplicates += receiver.duplicates;
        // What arrived since the sample before; what came after the last that it took came before the next.
        let first = self.times.partition_point(|&time| time < row.start);
        let mut before = ReceiverSample::default();
        let counts = receiver.samples.iter().chain(std::iter::once(&receiver.totals));
        for (sum, count) in self.totals.samples[first..].iter_mut().zip(counts) {
            sum.delivered += count.delivered - before.delivered;
            sum.wire_bytes += count.wire_bytes - before.wire_bytes;
            before = *count;
        }
    }

    /// Ends the run, once its receivers have ended it.
    pub fn finish(&mut self, network: &Network) {
        let mut taken = vec![true; self.places.len()];
        self.free.iter().for_each(|&place| taken[place as usize] = false);
        for place in (0..self.places.len()).filter(|&place| taken[place]) {
            self.settle(place, network);
        }
    }

    /// The flows whose packets may be under way, and what their senders count.
    pub fn places(&self) -> impl Iterator<Item = (usize, SenderTotals)> {
        let mut taken = vec![true; self.places.len()];
        self.free.iter().for_each(|&place| taken[place as usize] = false);
        self.places
            .iter()
            .zip(taken)
            .filter(|(_, taken)| *taken)
            .map(|(place, _)| (place.flow as usize, place.sender.totals))
    }

    /// The packets of the transfers whose places were given on.
    #[must_use]
    pub fn gone(&self) -> Count {
        self.gone
    }

    /// What it leaves behind.
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
