//! The execution of a run. Time is divided into slices. In each slice every node takes a turn, in which the node
//! handles all of its events of that slice.

use std::collections::BTreeSet;
use std::sync::Arc;

use elephan_cc::Controller;

use crate::algorithms::{controllers, source_controller};
use crate::checks::{Checks, MOST_DIFFERENCE, Progress, Stretch};
use crate::crowd::{Reducer, SAMPLES_AT_ONCE};
use crate::endpoint::{EndpointState, Host, Sender};
use crate::ends::{FlowEnd, Transport, ends_of, into_records, packets};
use crate::events::gather;
use crate::hosted::Hosted;
use crate::link::Link;
use crate::network::{self, LinkId, MailboxId, Network, Node, Sink, SourceId};
use crate::outcome::{Conservation, Outcome, RunError};
use crate::packet::{FlowId, HAS_TRAINS};
use crate::queue;
use crate::record::{ReceiverRecord, ReceiverSample, SenderRecord, sample_times};
use crate::spec::{FlowSpec, Resolution, Spec, SpecError};
use crate::time::Time;
use crate::traffic::Source;

/// Length of slices without sources. Longer slices need fewer turns, but more cache; in 4 ms a path of 622 Mbit/s
/// carries about 300 packets of 1,000 bytes.
pub const PREFERRED_SLICE: Time = Time(4 * Time::MILLISECOND.0);

/// Length of slices with sources. With thousands of senders, each sender has few ACKs in a turn, and the sender's state
/// is no longer in the cache. A longer slice has more ACKs per turn.
pub const SLICE_WITH_SOURCES: Time = Time(5 * Time::MILLISECOND.0);

/// Length of slices with trains, which are far fewer packets than their segments.
pub const SLICE_WITH_TRAINS: Time = Time(64 * Time::MILLISECOND.0);

/// Smallest mean number of segments of a flow in a turn. With fewer segments in a turn, the state of each of thousands
/// of flows would be loaded into the cache for too little work.
const SEGMENTS_PER_TURN: u128 = 4;

/// Initial number of slices between two reports (progress, cancellation).
const SLICES_PER_REPORT: u32 = 16;

/// Number of flows whose layout is computed between two checks for cancellation.
const LAID_OUT_AT_ONCE: u32 = 512;

/// Number of turns by which an endpoint's innermost data are prefetched ahead. The pointers to the innermost data are
/// prefetched twice as far ahead, and so on.
const STEP: usize = 2;

/// The turn of a node. A turn has all the times that determine whether its node has an event in a slice. With thousands
/// of flows, most turns have no event, and reading the endpoint itself would cost a cache miss each.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Turn of one end of a flow: the time of its timer, its mailbox, and its position among all ends.
    End {
        timer: Time,
        inbox: MailboxId,
        end: u32,
    },
    Link(LinkId),
    /// The timers of a receiver that is evaluated inline.
    Sink(FlowId),
    /// All senders of a source of transfers.
    Source(SourceId),
    /// All receivers of a source of transfers.
    Sinks(SourceId),
    /// The host.
    Host,
}

impl Turn {
    fn of(node: Node, ends: &mut [FlowEnd]) -> Self {
        let mut of_end = |end: u32| {
            let this = &mut ends[end as usize];
            if this.is_inline() {
                return Self::Sink(FlowId(end / 2));
            }
            Self::End { timer: this.timer(), inbox: this.inbox(), end }
        };
        match node {
            Node::Sender(flow) => of_end(flow.0 * 2),
            Node::Receiver(flow) => of_end(flow.0 * 2 + 1),
            Node::Link(link) => Self::Link(link),
            Node::Source(s) => Self::Source(s),
            Node::Sinks(s) => Self::Sinks(s),
            Node::Host => Self::Host,
        }
    }
}

/// End of a flow whose turn this is, if the turn has an event.
#[inline(always)]
fn due_end(turn: Option<&Turn>, network: &Network, horizon: Time) -> Option<(MailboxId, usize)> {
    let Some(&Turn::End { timer, inbox, end }) = turn else { return None };
    (network.head(inbox).min(timer) < horizon).then_some((inbox, end as usize))
}

/// Length of slices with the lowest processing cost; no result depends on it. The length is some milliseconds, or long
/// enough for the bottlenecks to carry enough segments of each flow.
pub fn preferred_slice(spec: &Spec) -> Time {
    let least = match spec.resolution {
        Resolution::Train => SLICE_WITH_TRAINS,
        Resolution::Segment if spec.traffic.is_empty() => PREFERRED_SLICE,
        Resolution::Segment => SLICE_WITH_SOURCES,
    };
    let rate = |link: usize| spec.links.get(link).map_or(0, |link| link.rate_bps);
    let slowest = |flow: &FlowSpec| flow.path.iter().copied().min_by_key(|&link| rate(link));
    let bottlenecks: BTreeSet<usize> = spec.flows.iter().filter_map(slowest).collect();
    let copies = |link: usize| spec.links.get(link).map_or(1, |link| u128::from(link.copies));
    let bps: u128 = bottlenecks.into_iter().map(|link| u128::from(rate(link)) * copies(link)).sum();
    let bits_of = |flow: &FlowSpec| u128::from(flow.packet_sizes()[0].1) * 8 * u128::from(flow.count);
    let bits: u128 = spec.flows.iter().map(bits_of).sum();
    let ps = (bits * SEGMENTS_PER_TURN * u128::from(Time::SECOND.0)).checked_div(bps);
    ps.map_or(least, |ps| Time(u64::try_from(ps).unwrap_or(Time::FAR.0)).max(least))
}

/// Longest slice with at most [`SAMPLES_AT_ONCE`] sample times, if samples are reduced
/// to quantiles at the end of each slice.
fn until_reduced(spec: &Spec) -> Time {
    match (spec.record_flows, spec.sample_period_ps) {
        (None, _) | (_, 0) => Time::NEVER,
        (Some(_), period) => Time(period.saturating_mul(SAMPLES_AT_ONCE)),
    }
}

/// Counts of each receiver at the beginning and the end of the measurement window, from its samples.
fn edges(times: &[Time], spec: &Spec, receivers: &[ReceiverRecord]) -> Vec<[ReceiverSample; 2]> {
    let places = [spec.measure.from_ps, spec.measure.to_ps].map(|ps| times.partition_point(|time| time.0 < ps));
    let at = |receiver: &ReceiverRecord| places.map(|k| receiver.samples.get(k).copied().unwrap_or_default());
    receivers.iter().map(at).collect()
}

/// Number of turns with events between two questions within a slice.
const TURNS_PER_QUESTION: u32 = 8;

/// Questions of a run in progress to its caller. A closure that takes the fraction done and returns the number of
/// slices until its next call is asked between slices only.
pub trait Supervisor {
    /// Takes the fraction of the run that is done, between two slices. Returns the number of slices until the next call, or
    /// `None` to stop the run.
    fn after_slices(&mut self, fraction: f64) -> Option<u32>;

    /// Returns false to stop the run. This is asked after a few turns, since a slice of many flows may take seconds, and
    /// since their packets may fill the memory within a slice.
    fn within_slice(&mut self) -> bool {
        true
    }
}

impl<F: FnMut(f64) -> Option<u32>> Supervisor for F {
    fn after_slices(&mut self, fraction: f64) -> Option<u32> {
        self(fraction)
    }
}

/// A run in progress.
#[derive(Debug)]
pub struct Engine {
    spec: Spec,
    network: Network,
    turns: Vec<Turn>,
    slice: Time,
    /// Time before which all events have been handled.
    now: Time,
    slices_per_report: u32,
    turns_until_question: u32,
    /// Sender and receiver of each flow.
    flows: Vec<[FlowEnd; 2]>,
    sources: Vec<Source>,
    host: Option<Hosted>,
    times: Arc<[Time]>,
    /// Reduces the samples of flows, unless all are kept.
    reducer: Option<Reducer>,
    /// Checks of a run in trains.
    checks: Option<Box<Checks<Engine>>>,
    /// Time at which a slice ends, besides the end of the run.
    pause: Time,
}

impl Engine {
    /// Lays out a run.
    ///
    /// # Errors
    /// A spec that cannot be run.
    pub fn new(spec: Spec) -> Result<Self, SpecError> {
        let preferred = preferred_slice(&spec);
        Self::with_slice(spec, preferred)
    }

    /// Lays out a run with slices of at most `preferred`, on which the result does not depend.
    ///
    /// # Errors
    /// A spec that cannot be run.
    pub fn with_slice(spec: Spec, preferred: Time) -> Result<Self, SpecError> {
        Self::with_transports(spec, preferred, controllers())
    }

    /// Lays out a run like [`Engine::with_slice`]; `make` returns the transports of all flows except datagrams and UDT.
    /// A transport is TCP with a [`Controller`], such as [`controllers`] builds, or endpoints
    /// of another crate. A source whose algorithm is a user's own gets TCP from `make` too, with the number of flows plus
    /// the source's position as index; each transfer is controlled by a copy ([`elephan_cc::Algorithm::clone_boxed`]).
    ///
    /// # Errors
    /// A spec that cannot be run, or an error of `make`.
    pub fn with_transports<T: Into<Transport>>(
        spec: Spec,
        preferred: Time,
        make: impl FnMut(usize, &FlowSpec) -> Result<T, SpecError>,
    ) -> Result<Self, SpecError> {
        Self::while_wanted(spec, preferred, make, || Ok(()))
    }

    /// Lays out a run like [`Engine::with_transports`]. The layout calls `go_on` every few milliseconds; an error of
    /// `go_on` ends the layout. The layout of a million flows, or of a load with many transfers, takes seconds.
    ///
    /// # Errors
    /// The errors of [`Engine::with_transports`], or an error of `go_on`.
    pub fn while_wanted<T: Into<Transport>, E: From<SpecError>>(
        spec: Spec,
        preferred: Time,
        mut make: impl FnMut(usize, &FlowSpec) -> Result<T, SpecError>,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        spec.validate()?;
        let spec = spec.without_groups();
        let links = queue::check(&spec.links)?;
        let times = sample_times(
            Time(spec.sample_period_ps),
            Time(spec.measure.from_ps),
            Time(spec.measure.to_ps),
            Time(spec.duration_ps),
        );
        let (mut network, plan) = network::build(&spec, &links, &times);
        let mut flows = Vec::with_capacity(spec.flows.len());
        for flow in (0..spec.flows.len() as u32).map(FlowId) {
            if flow.0 % LAID_OUT_AT_ONCE == 0 {
                go_on()?;
            }
            flows.push(ends_of(flow, &spec, &mut network, &times, &mut make)?);
        }
        let mut of_source = |index: usize, flow: &FlowSpec| {
            if flow.source_sha256.is_none() {
                return source_controller(&spec, index, flow);
            }
            match make(spec.flows.len() + index, flow)?.into() {
                Transport::Tcp(controller) if controller.try_clone().is_some() => Ok(controller),
                Transport::Tcp(_) => Err(refused_source(index, "an algorithm without copies cannot control transfers")),
                _ => Err(refused_source(index, "transfers that come and go use TCP")),
            }
        };
        let sources = Source::all(&spec, &times, &mut of_source, &mut go_on)?;
        let slice = plan.longest_slice.min(preferred).min(until_reduced(&spec)).max(Time(1));
        let ends = flows.as_flattened_mut();
        let turns = plan.order.iter().map(|&node| Turn::of(node, ends)).collect();
        let reducer = spec.record_flows.map(|_| Reducer::new(&spec, &times));
        let mut engine = Self {
            spec,
            network,
            turns,
            slice,
            now: Time::ZERO,
            slices_per_report: SLICES_PER_REPORT,
            turns_until_question: TURNS_PER_QUESTION,
            flows,
            sources,
            host: None,
            times,
            reducer,
            checks: None,
            pause: Time::NEVER,
        };
        engine.allow_trains();
        Ok(engine)
    }

    /// Adds the host that has both ends of all flows with [`Transport::Hosted`].
    #[must_use]
    pub fn with_host(mut self, host: Box<dyn Host>) -> Self {
        self.host = Some(Hosted::new(host, &self.spec, &self.network));
        self
    }

    /// Limits the memory for packets in flight to `bytes`.
    #[must_use]
    pub fn limit_memory(mut self, bytes: u64) -> Self {
        self.network.limit_memory(bytes);
        self
    }

    /// Sets the number of slices between two calls of `report`.
    #[must_use]
    pub fn reporting_every(self, slices: u32) -> Self {
        Self { slices_per_report: slices, ..self }
    }

    /// Runs to the end. `report` is called at intervals with the fraction done, and returns false to stop the run.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `report` returns false.
    ///
    /// # Panics
    /// If a packet is unaccounted for or a clock goes back: a defect of the engine, not of the input.
    pub fn run(self, mut report: impl FnMut(f64) -> bool) -> Result<Outcome, RunError> {
        let slices = self.slices_per_report;
        self.run_reporting(|fraction| report(fraction).then_some(slices))
    }

    /// Runs to the end, or until the supervisor stops the run. By the number of slices that it returns, a supervisor with a
    /// clock is called at fixed times, independently of the number of events in a slice.
    ///
    /// # Errors
    /// The errors of [`Engine::run`].
    ///
    /// # Panics
    /// The errors of [`Engine::run`].
    pub fn run_reporting(mut self, mut supervisor: impl Supervisor) -> Result<Outcome, RunError> {
        while self.advance_asking(self.slices_per_report, &mut supervisor)? {
            let fraction = self.fraction();
            let Some(slices) = supervisor.after_slices(fraction) else { return Err(RunError::Cancelled(fraction)) };
            self.slices_per_report = slices.max(1);
        }
        Ok(self.finish())
    }

    /// Runs for at most `slices` slices. Returns true if the run is not at its end. The method is meant for callers
    /// with other work between the slices, such as a browser's worker, which receives no messages while it computes.
    ///
    /// # Errors
    /// [`RunError::Memory`] and [`RunError::TooManyEvents`]; the run cannot continue then.
    pub fn advance(&mut self, slices: u32) -> Result<bool, RunError> {
        self.advance_asking(slices, &mut |_: f64| Some(slices))
    }

    fn advance_asking(&mut self, slices: u32, supervisor: &mut dyn Supervisor) -> Result<bool, RunError> {
        let end = Time(self.spec.duration_ps);
        for _ in 0..slices {
            let now = self.now;
            if now >= end {
                return Ok(false);
            }
            let next_check = self.checks.as_ref().map_or(Time::NEVER, |checks| checks.next());
            let horizon = now.later(self.slice).min(end).min(self.pause).min(next_check);
            let worked = if let Some(events) = self.spec.events {
                let worked = self.take_turns::<true>(horizon, supervisor);
                let logged =
                    self.network.logged() + self.flows.as_flattened().iter().map(FlowEnd::logged).sum::<usize>();
                if logged as u64 > events.limit {
                    return Err(RunError::TooManyEvents { limit: events.limit, at_s: horizon.seconds() });
                }
                worked
            } else {
                self.take_turns::<false>(horizon, supervisor)
            };
            let Some(worked) = worked else { return Err(RunError::Cancelled(self.fraction())) };
            if self.network.is_overdrawn() {
                return Err(RunError::Memory { limit_mib: self.network.room_bytes() >> 20, at_s: now.seconds() });
            }
            self.now = if worked { horizon } else { self.next_event().clamp(horizon, end) };
            if let Some(reducer) = &mut self.reducer {
                reducer.reduce(self.now, &mut self.flows, &mut self.network.sinks);
            }
            if HAS_TRAINS && self.now >= next_check {
                self.check_trains(supervisor)?;
            }
        }
        Ok(true)
    }

    /// Runs until all events before `until` have been handled, or to the end of the run. Returns true if the run is not at
    /// its end. The result of a run does not depend on where it was halted.
    ///
    /// # Errors
    /// The errors of [`Engine::advance`].
    pub fn advance_to(&mut self, until: Time) -> Result<bool, RunError> {
        self.pause = until;
        let end = Time(self.spec.duration_ps);
        while self.now < until.min(end) {
            self.advance(1)?;
        }
        self.pause = Time::NEVER;
        Ok(self.now < end)
    }

    /// The algorithm of a flow, for an owner that controls it while the run is halted; `None` if the flow is not TCP.
    pub fn algorithm(&mut self, flow: usize) -> Option<&mut Controller> {
        Some(self.flows.get_mut(flow)?[0].tcp_sender()?.algorithm())
    }

    /// Fraction of the run that is done.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        self.now.0 as f64 / self.spec.duration_ps as f64
    }

    /// Samples at the sample times that all flows and links have passed, for a plot of a run in progress. The samples
    /// are the beginning of the output of [`Engine::finish`]. All other fields are empty. A run that records only
    /// quantiles has no such samples.
    #[must_use]
    pub fn so_far(&mut self) -> Outcome {
        self.network.sinks.iter_mut().flatten().for_each(|sink| sink.receiver.sample_before(self.now));
        let this = &*self;
        let senders =
            || this.flows.iter().map(|[sender, _]| sender.sending().map_or(&[][..], |sending| sending.samples));
        let sinks = || this.flows.iter().zip(&this.network.sinks);
        let receivers = || {
            sinks().map(|([_, receiver], inline)| {
                inline.as_ref().map_or(receiver.receiving(), |sink| sink.receiver.samples())
            })
        };
        let links = || this.network.links.iter().enumerate().filter_map(|(i, link)| Some((i, link.samples()?)));
        let taken =
            senders().map(<[_]>::len).chain(receivers().map(<[_]>::len)).chain(links().map(|(_, s)| s.rows.len()));
        let passed = taken.min().unwrap_or(0);
        Outcome {
            times: self.times[..passed].to_vec(),
            senders: senders()
                .map(|s| SenderRecord { samples: s[..passed].to_vec(), ..SenderRecord::default() })
                .collect(),
            receivers: receivers()
                .map(|s| ReceiverRecord { samples: s[..passed].to_vec(), ..ReceiverRecord::default() })
                .collect(),
            links: links().map(|(i, samples)| (i, samples.first(passed))).collect(),
            slice: self.slice,
            ..Outcome::default()
        }
    }

    /// Takes the turn of each node up to `horizon`. Returns true if there was any event, and `None` if the supervisor stops
    /// the run.
    fn take_turns<const LOGGED: bool>(&mut self, horizon: Time, supervisor: &mut dyn Supervisor) -> Option<bool> {
        let Self { spec, network, turns, flows, sources, host, turns_until_question, .. } = self;
        let ends = flows.as_flattened_mut();
        let mut worked = false;
        for i in 0..turns.len() {
            if let Some((_, end)) = due_end(turns.get(i + 3 * STEP), network, horizon) {
                ends[end].fetch();
            }
            if let Some((inbox, end)) = due_end(turns.get(i + 2 * STEP), network, horizon) {
                network.fetch(inbox, FlowId(end as u32 / 2));
                ends[end].fetch_endpoint();
            }
            if let Some((inbox, end)) = due_end(turns.get(i + STEP), network, horizon) {
                network.fetch_oldest(inbox);
                network.fetch_beside(FlowId(end as u32 / 2));
                ends[end].fetch_behind();
            }
            let has_worked = match &mut turns[i] {
                Turn::End { timer, inbox, end } => {
                    let due = network.head(*inbox).min(*timer) < horizon;
                    if due {
                        *timer = ends[*end as usize].take_turn::<LOGGED>(horizon, network);
                    }
                    due
                }
                Turn::Link(link) => network.run_link(*link, horizon),
                Turn::Sink(flow) => {
                    let due = network.sink_timer(*flow) < horizon;
                    if due {
                        network.run_sink(*flow, horizon);
                    }
                    due
                }
                Turn::Source(s) => sources[s.index()].run(spec, horizon, network),
                Turn::Sinks(s) => sources[s.index()].run_sinks(horizon, network),
                Turn::Host => host.as_mut().is_some_and(|host| host.take_turn(horizon, network)),
            };
            if has_worked {
                worked = true;
                *turns_until_question -= 1;
                if *turns_until_question == 0 {
                    *turns_until_question = TURNS_PER_QUESTION;
                    if !supervisor.within_slice() {
                        return None;
                    }
                }
            }
        }
        Some(worked)
    }

    // ---- runs in trains ----------------------------------------------------------------------------------------------

    /// Lets segments leave in trains if the spec asks for it, and if the run can be copied to check them.
    fn allow_trains(&mut self) {
        let Self { spec, flows, sources, checks, .. } = self;
        if !HAS_TRAINS || spec.resolution == Resolution::Segment || !sources.is_empty() {
            return;
        }
        if flows.as_flattened().iter().all(FlowEnd::can_be_copied) {
            for sender in flows.as_flattened_mut().iter_mut().filter_map(FlowEnd::tcp_sender) {
                if sender.allow_trains(spec) && checks.is_none() {
                    *checks = Some(Box::new(Checks::new(spec)));
                }
            }
        }
    }

    /// A copy of the run that goes on in single segments.
    fn in_single_segments(&self) -> Option<Self> {
        let copy = |[sender, receiver]: &[FlowEnd; 2]| Some([sender.try_clone()?, receiver.try_clone()?]);
        let mut flows: Vec<[FlowEnd; 2]> = self.flows.iter().map(copy).collect::<Option<_>>()?;
        flows.as_flattened_mut().iter_mut().filter_map(FlowEnd::tcp_sender).for_each(Sender::forbid_trains);
        let Self { spec, network, turns, times, reducer, .. } = self;
        let (spec, network, turns, reducer) = (spec.clone(), network.clone(), turns.clone(), reducer.clone());
        let Self { slice, now, slices_per_report, turns_until_question, pause, .. } = *self;
        let (times, sources, host, checks) = (times.clone(), Vec::new(), None, None);
        Some(Self {
            spec,
            network,
            turns,
            slice,
            now,
            slices_per_report,
            turns_until_question,
            flows,
            sources,
            host,
            times,
            reducer,
            checks,
            pause,
        })
    }

    /// Begins a stretch that is checked, or ends one. If its two versions differ too much, the one in single segments goes on.
    fn check_trains(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), RunError> {
        let Some(mut checks) = self.checks.take() else { return Ok(()) };
        if let Some(Stretch { begin, from, single, .. }) = checks.open.take() {
            let difference = Progress::difference(from, single.progress(), self.progress());
            if checks.note(begin, self.now, difference) > MOST_DIFFERENCE {
                *self = *single;
            }
        } else if let Some(end) = checks.take_due(self.now) {
            // Without trains the two versions would be the same.
            let has_trains = self.flows.iter().any(|[sender, _]| sender.sends_trains());
            if let Some(mut single) = has_trains.then(|| self.in_single_segments()).flatten() {
                single.pause = end;
                while single.now < end {
                    single.advance_asking(1, supervisor)?;
                }
                single.pause = Time::NEVER;
                checks.open = Some(Stretch { begin: self.now, end, from: self.progress(), single: Box::new(single) });
            }
        }
        self.checks = Some(checks);
        Ok(())
    }

    fn progress(&self) -> Progress {
        let receivers = self.flows.iter().zip(&self.network.sinks);
        let of_inline = |sink: &Option<Sink>| sink.as_ref().map(|sink| sink.receiver.totals());
        let totals = receivers.filter_map(|([_, end], sink)| end.receiver_totals().or_else(|| of_inline(sink)));
        Progress {
            delivered: totals.map(|totals| totals.delivered).sum(),
            windows: self.flows.iter().filter_map(|[sender, _]| sender.window()).sum(),
        }
    }

    fn next_event(&mut self) -> Time {
        let Self { network, turns, sources, host, .. } = self;
        let next = |turn: &Turn| match *turn {
            Turn::End { timer, inbox, .. } => network.head(inbox).min(timer),
            Turn::Link(link) => network.next_for_link(link),
            Turn::Sink(flow) => network.sink_timer(flow),
            Turn::Source(s) => sources[s.index()].next_event(network),
            Turn::Sinks(s) => sources[s.index()].next_sink_event(network),
            Turn::Host => host.as_ref().map_or(Time::NEVER, |host| host.next_event(network)),
        };
        turns.iter().map(next).min().unwrap_or(Time::NEVER)
    }

    /// Returns the results of a run at its end.
    ///
    /// # Panics
    /// If the run is not at its end, and in the cases of [`Engine::run`].
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let end = Time(self.spec.duration_ps);
        assert!(self.now >= end, "the run is not at its end");
        self.flows.as_flattened_mut().iter_mut().for_each(|flow_end| flow_end.finish(end));
        self.network.sinks.iter_mut().flatten().for_each(|sink| sink.receiver.finish(end));
        self.sources.iter_mut().for_each(|source| source.finish(end, &self.network));
        self.host.iter_mut().for_each(Hosted::finish);
        let mut reducer = self.reducer.take();
        if let Some(reducer) = &mut reducer {
            // The samples at the end of the run have been taken.
            reducer.reduce(end + Time(1), &mut self.flows, &mut self.network.sinks);
        }
        let samples = |(index, link): (usize, &mut Link)| link.finish(end).map(|samples| (index, samples));
        let links = self.network.links.iter_mut().enumerate().filter_map(samples).collect();
        let conservation = self.account();
        let Self { spec, mut network, slice, mut flows, sources, times, checks, .. } = self;
        let logs = flows.iter_mut().map(|ends| ends.each_mut().map(FlowEnd::take_log)).collect();
        let events = gather(&spec, network.log.take().map(|log| *log), logs);
        let sinks = network.sinks.drain(..flows.len());
        let records = flows.into_iter().zip(sinks).map(|(ends, sink)| into_records(ends, sink));
        let (senders, mut receivers): (Vec<_>, Vec<ReceiverRecord>) = records.unzip();
        let (crowd, measured) = reducer.map(Reducer::finish).unzip();
        let measured = measured.unwrap_or_else(|| edges(&times, &spec, &receivers));
        receivers.iter_mut().zip(measured).for_each(|(receiver, measured)| receiver.measured = measured);
        Outcome {
            times: times.to_vec(),
            links,
            sources: sources.into_iter().map(Source::into_totals).collect(),
            link_totals: network.links.iter().map(|link| link.totals).collect(),
            senders,
            receivers,
            crowd,
            conservation,
            slice,
            events,
            resolution: checks.map(|checks| checks.report),
        }
    }

    /// Checks the conservation of packets. Each end counts its own packets, the network counts those that links drop
    /// and duplicate, and packets in flight are counted one by one.
    fn account(&mut self) -> Conservation {
        let Self { spec, network, flows, sources, host, .. } = self;
        let mut sum = Conservation::default();
        let under_way = network.under_way();
        let ends = |(flow, ends): (FlowId, &mut [FlowEnd; 2])| match host {
            Some(host) if spec.flows[flow.index()].is_hosted() => (flow, host.packets(flow)),
            _ => (flow, packets(ends, network.sinks[flow.index()].as_ref())),
        };
        let active = sources.iter().flat_map(|source| source.active(network));
        for (flow, ends) in (0..).map(FlowId).zip(flows.iter_mut()).map(ends).chain(active) {
            let sidecar = &network.sidecars[flow.index()];
            if let Some(headers) = sidecar.headers_under_way() {
                assert_eq!(headers, under_way[flow.data().index()], "congestion headers unaccounted for");
            }
            for (count, &under_way) in network.counts(flow, ends).into_iter().zip(&under_way[flow.data().index()..]) {
                let (made, ended) = (count.sent + count.duplicated, count.received + count.dropped);
                assert_eq!(made, ended + under_way, "packets unaccounted for");
                sum.add(count, under_way);
            }
        }
        sources.iter().for_each(|source| sum.add(source.gone(), 0));
        let refused: u64 = network.links.iter().map(|link| link.totals.dropped + link.totals.lost).sum();
        assert_eq!(sum.dropped, refused, "drops by flow and drops by link differ");
        let made: u64 = network.links.iter().map(|link| link.totals.duplicated).sum();
        assert_eq!(sum.duplicated, made, "duplicates by flow and by link differ");
        sum
    }
}

fn refused_source(index: usize, message: &str) -> SpecError {
    SpecError::new(format!("traffic[{index}].algorithm"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stops a run at the third question within a slice.
    struct Impatient {
        questions: u32,
        slices: u32,
    }

    impl Supervisor for &mut Impatient {
        fn after_slices(&mut self, _: f64) -> Option<u32> {
            self.slices += 1;
            Some(1)
        }

        fn within_slice(&mut self) -> bool {
            self.questions += 1;
            self.questions < 3
        }
    }

    #[test]
    fn a_run_can_be_stopped_within_a_slice() {
        let ms = Time::MILLISECOND.0;
        let mut spec = Spec::dumbbell(50_000_000, Time(40 * ms), 100, Time(60_000 * ms), &["reno"; 40]);
        spec.flows.iter_mut().for_each(|flow| flow.start_ps = 0);
        let engine = Engine::new(spec).expect("it can be run");
        let mut supervisor = Impatient { questions: 0, slices: 0 };
        assert!(matches!(engine.reporting_every(1).run_reporting(&mut supervisor), Err(RunError::Cancelled(_))));
        assert!(supervisor.questions == 3 && supervisor.slices < 3, "{} slices", supervisor.slices);
    }
}
