//! One run from beginning to end.

use std::collections::BTreeMap;

use elephan_cc::param::Problem;
use elephan_cc::{Algorithm, BuildError, Controller, Router, Value};

use crate::endpoint::udt::Udt;
use crate::endpoint::{Misled, Receiver, Sender};
use crate::events::{Log, gather};
use crate::link::LinkTotals;
use crate::network::{Count, End, Network, Node, Plan};
use crate::record::{LinkSamples, sample_times};
use crate::spec::{FlowSpec, Spec, SpecError, value_of};
use crate::time::Time;
use crate::traffic::{Source, SourceTotals};

/// Longer windows save turns and cost cache; 4 ms of a 622 Mbit/s path is 300 packets.
pub const PREFERRED_WINDOW: Time = Time(4 * Time::MILLISECOND.0);

/// With thousands of senders a turn finds few ACKs for each, and none of it in cache; longer ones find more.
pub const WINDOW_WITH_SOURCES: Time = Time(5 * Time::MILLISECOND.0);

/// Turns between two looks at the outside (progress, cancellation), to begin with.
const WINDOWS_PER_REPORT: u32 = 16;

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// Sample times, in order.
    pub times: Vec<Time>,
    /// Senders, by flow.
    pub senders: Vec<Sender>,
    /// Receivers, by flow.
    pub receivers: Vec<Receiver>,
    /// Samples of the recorded links, by index.
    pub links: Vec<(usize, LinkSamples)>,
    /// Totals of all links, by index.
    pub link_totals: Vec<LinkTotals>,
    /// Sources of transfers, in the order of the spec.
    pub sources: Vec<SourceTotals>,
    /// Packets by flow and direction.
    pub conservation: Conservation,
    /// Flows of UDT, by flow; what they have in common with others stands among the senders and the receivers.
    pub udt: BTreeMap<u32, Udt>,
    /// The window used.
    pub window: Time,
    /// What happened to each packet, where the spec asks for it.
    pub events: Option<Log>,
}

/// Every packet accounted for, at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Put into the network, data and ACKs.
    pub sent: u64,
    /// Made by links that let packets arrive twice.
    pub duplicated: u64,
    /// Taken out by the other end.
    pub received: u64,
    /// Dropped or lost.
    pub dropped: u64,
    /// Still on the way.
    pub under_way: u64,
}

/// Why a run did not end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The spec is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Somebody asked it to stop.
    #[error("cancelled at {0} of the run")]
    Cancelled(f64),
    /// Packets on their way would take more memory than they may.
    #[error("memory: packets on their way need more than the {limit_mib} MiB left for them, at {at_s:.6} s of the run")]
    Memory {
        /// Memory that they may take, MiB.
        limit_mib: u64,
        /// When they needed more, s.
        at_s: f64,
    },
    /// More happened than the event log may hold.
    #[error(
        "events: more than {limit} events after {at_s:.6} s of the run; log a shorter part of it (from, to) or allow more (limit)"
    )]
    TooManyEvents {
        /// What may be kept.
        limit: u64,
        /// When there were more.
        at_s: f64,
    },
}

/// A run in progress.
#[derive(Debug)]
pub struct Engine {
    spec: Spec,
    network: Network,
    plan: Plan,
    window: Time,
    windows_per_report: u32,
    senders: Vec<Sender>,
    sources: Vec<Source>,
    udt: BTreeMap<u32, Udt>,
    times: std::sync::Arc<[Time]>,
}

/// The algorithm of a flow.
///
/// # Errors
/// An unknown algorithm, preset or parameter, or a value out of range.
pub fn controller(index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    if flow.datagrams || flow.is_udt() {
        // Datagrams ask no TCP's algorithm, nor does UDT; a sender holds one all the same.
        return elephan_cc::build("reno", &BTreeMap::new()).map_err(|e| SpecError::new("flows", e.to_string()));
    }
    elephan_cc::build(&flow.algorithm, &parameters(flow)).map_err(|e| refused(index, &e))
}

/// The rate control of a flow of UDT.
fn udt_control(index: usize, flow: &FlowSpec) -> Result<elephan_cc::udt::Udt, SpecError> {
    elephan_cc::build_udt(&flow.algorithm, &parameters(flow)).map_err(|e| refused(index, &e))
}

/// Refuses an algorithm that cannot be built.
fn check_algorithm(index: usize, flow: &FlowSpec) -> Result<(), SpecError> {
    if flow.is_udt() { udt_control(index, flow).map(|_| ()) } else { controller(index, flow).map(|_| ()) }
}

fn parameters(flow: &FlowSpec) -> BTreeMap<String, Value> {
    flow.parameters.iter().map(|(name, json)| (name.clone(), value_of(json))).collect()
}

/// The error of a flow whose algorithm cannot be built.
fn refused(index: usize, error: &BuildError) -> SpecError {
    let Problem { parameter, message, .. } = error.problem();
    match parameter {
        Some(name) => SpecError::new(format!("flows[{index}].parameters.{name}"), message.clone()),
        None => SpecError::new(format!("flows[{index}].algorithm"), error.to_string()),
    }
}

/// The turn of an end of a flow of UDT.
fn udt_turn(flows: &mut BTreeMap<u32, Udt>, node: Node, horizon: Time, network: &mut Network) -> bool {
    match node {
        Node::UdtSender(f) => flows.get_mut(&f).is_some_and(|udt| udt.run_sender(horizon, network)),
        Node::UdtReceiver(f) => flows.get_mut(&f).is_some_and(|udt| udt.run_receiver(horizon, network)),
        _ => false,
    }
}

/// An algorithm that needs routers of a kind of their own must have one on the way of its data.
fn check_routers(spec: &Spec, place: &str, flow: &FlowSpec, router: Option<Router>) -> Result<(), SpecError> {
    let Some(router) = router else { return Ok(()) };
    if flow.path.iter().any(|&link| spec.links[link].queue.router() == Some(router)) {
        return Ok(());
    }
    let name = router.as_str();
    let message =
        format!("'{}' needs {name} routers, and no link on its path has one; write queue = \"{name}\"", flow.algorithm);
    Err(SpecError::new(format!("{place}.algorithm"), message))
}

/// Refuses algorithms that are none, wrong parameters, and algorithms without the routers that they need. Those of the user's
/// own are not looked at.
///
/// # Errors
/// The first that is wrong.
pub fn check_algorithms(spec: &Spec) -> Result<(), SpecError> {
    for (index, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| flow.source_sha256.is_none()) {
        check_algorithm(index, flow)?;
        check_routers(spec, &format!("flows[{index}]"), flow, controller(index, flow)?.needs().router)?;
    }
    for (index, source) in spec.traffic.iter().enumerate() {
        source_controller(spec, index, &source.flow)?;
    }
    Ok(())
}

/// As [`controller`], for the transfers of a source, with the routers that it needs.
pub(crate) fn source_controller(spec: &Spec, index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    let place = format!("traffic[{index}]");
    let of_source = |e: SpecError| SpecError::new(e.path.replacen("flows", "traffic", 1), e.message);
    let controller = controller(index, flow).map_err(of_source)?;
    check_routers(spec, &place, flow, controller.needs().router)?;
    Ok(controller)
}

impl Engine {
    /// Lays out a run.
    ///
    /// # Errors
    /// A spec that cannot be run.
    pub fn new(spec: Spec) -> Result<Self, SpecError> {
        let preferred = if spec.traffic.is_empty() { PREFERRED_WINDOW } else { WINDOW_WITH_SOURCES };
        Self::with_window(spec, preferred)
    }

    /// As [`Engine::new`], with windows of at most `preferred`. The result does not depend on it.
    ///
    /// # Errors
    /// A spec that cannot be run.
    pub fn with_window(spec: Spec, preferred: Time) -> Result<Self, SpecError> {
        Self::with_controllers(spec, preferred, controller)
    }

    /// As [`Engine::with_window`], with the controllers that `make` gives each flow: [`controller`], or a user's own.
    ///
    /// # Errors
    /// A spec that cannot be run, or what `make` refuses.
    pub fn with_controllers(
        spec: Spec,
        preferred: Time,
        mut make: impl FnMut(usize, &FlowSpec) -> Result<Controller, SpecError>,
    ) -> Result<Self, SpecError> {
        spec.validate()?;
        crate::queue::check(&spec.links)?;
        let times = sample_times(
            Time(spec.sample_period_ps),
            Time(spec.measure.from_ps),
            Time(spec.measure.to_ps),
            Time(spec.duration_ps),
        );
        let (mut network, plan) = Network::new(&spec, &times);
        let mut senders = Vec::with_capacity(spec.flows.len());
        let mut udt = BTreeMap::new();
        for (index, flow) in spec.flows.iter().enumerate() {
            let mut controller = make(index, flow)?;
            check_routers(&spec, &format!("flows[{index}]"), flow, controller.needs().router)?;
            if flow.base_rtt_error_ps != 0 {
                let error = flow.base_rtt_error_ps as f64 * 1e-12;
                controller = Controller::Custom(Box::new(Misled::new(controller, error)));
            }
            senders.push(Sender::of_flow(index as u32, &spec, flow, controller, &network, &times));
            if flow.is_udt() {
                let (control, start) = (udt_control(index, flow)?, senders[index].start());
                udt.insert(index as u32, Udt::new(index as u32, &spec, flow, start, control, &times));
            }
        }
        if let Some(events) = &spec.events {
            senders.iter_mut().for_each(|sender| sender.keep_log(events));
        }
        for (sender, receiver) in senders.iter().zip(&mut network.receivers) {
            if sender.wants_repeated_echoes() {
                receiver.latch_marks();
            }
        }
        for (flow, sender) in senders.iter().enumerate() {
            network.attend(flow as u32, sender.router());
        }
        let sources = Source::all(&spec, &times)?;
        let window = plan.longest_window.min(preferred).max(Time(1));
        Ok(Self { spec, network, plan, window, windows_per_report: WINDOWS_PER_REPORT, senders, sources, udt, times })
    }

    /// The same run, with at most `bytes` of memory for packets on their way.
    #[must_use]
    pub fn limit_memory(mut self, bytes: u64) -> Self {
        self.network.limit_memory(bytes);
        self
    }

    /// The same run, with `report` told after each so many windows.
    #[must_use]
    pub fn reporting_every(self, windows: u32) -> Self {
        Self { windows_per_report: windows, ..self }
    }

    /// Runs to the end. `report` is told the fraction done now and then and answers whether to go on.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] where `report` answers no.
    ///
    /// # Panics
    /// Where a packet is unaccounted for or a clock goes back: a defect of the engine, not of the input.
    pub fn run(self, mut report: impl FnMut(f64) -> bool) -> Result<Outcome, RunError> {
        let windows = self.windows_per_report;
        self.run_reporting(|fraction| report(fraction).then_some(windows))
    }

    /// As [`Engine::run`], where `report` answers how many windows may pass before it is asked again, or nothing to stop. A caller
    /// with a clock can so be asked as often as it likes, however much happens in a window.
    ///
    /// # Errors
    /// As [`Engine::run`].
    ///
    /// # Panics
    /// As [`Engine::run`].
    pub fn run_reporting(mut self, mut report: impl FnMut(f64) -> Option<u32>) -> Result<Outcome, RunError> {
        let end = Time(self.spec.duration_ps);
        let mut now = Time::ZERO;
        let mut windows = 0;
        while now < end {
            let horizon = Time(now.0.saturating_add(self.window.0)).min(end);
            let worked = match self.spec.events {
                None => self.take_turns(horizon),
                Some(events) => self.take_turns_logged(horizon, events.limit)?,
            };
            if self.network.is_overdrawn() {
                return Err(RunError::Memory { limit_mib: self.network.room_bytes() >> 20, at_s: now.seconds() });
            }
            now = if worked { horizon } else { self.next_event().clamp(horizon, end) };
            windows += 1;
            if windows >= self.windows_per_report {
                windows = 0;
                let fraction = now.0 as f64 / end.0 as f64;
                let Some(windows) = report(fraction) else { return Err(RunError::Cancelled(fraction)) };
                self.windows_per_report = windows.max(1);
            }
        }
        Ok(self.finish(end))
    }

    fn take_turns(&mut self, horizon: Time) -> bool {
        let mut worked = false;
        for &node in &self.plan.order {
            worked |= match node {
                Node::Link(link) => self.network.run_link(link, horizon),
                Node::Sender(flow) => self.senders[flow as usize].run(horizon, &mut self.network),
                Node::Receiver(flow) => self.network.run_receiver(flow, horizon),
                Node::Source(s) => self.sources[s as usize].run(&self.spec, horizon, &mut self.network),
                Node::Sinks(s) => self.sources[s as usize].run_sinks(horizon, &mut self.network),
                Node::UdtSender(_) | Node::UdtReceiver(_) => udt_turn(&mut self.udt, node, horizon, &mut self.network),
            };
        }
        worked
    }

    /// As [`Engine::take_turns`], with a log; an error once that is too long.
    fn take_turns_logged(&mut self, horizon: Time, limit: u64) -> Result<bool, RunError> {
        let mut worked = false;
        for &node in &self.plan.order {
            worked |= match node {
                Node::Link(link) => self.network.run_link(link, horizon),
                Node::Sender(flow) => self.senders[flow as usize].run_logged(horizon, &mut self.network),
                Node::Receiver(flow) => self.network.run_receiver_logged(flow, horizon),
                Node::Source(s) => self.sources[s as usize].run(&self.spec, horizon, &mut self.network),
                Node::Sinks(s) => self.sources[s as usize].run_sinks(horizon, &mut self.network),
                Node::UdtSender(_) | Node::UdtReceiver(_) => udt_turn(&mut self.udt, node, horizon, &mut self.network),
            };
        }
        let logged = self.network.logged() + self.senders.iter().map(Sender::logged).sum::<usize>();
        if logged as u64 > limit {
            return Err(RunError::TooManyEvents { limit, at_s: horizon.seconds() });
        }
        Ok(worked)
    }

    fn next_event(&self) -> Time {
        let next = |node: &Node| match *node {
            Node::Link(link) => self.network.next_for_link(link),
            Node::Sender(f) => {
                self.senders[f as usize].timer().min(self.network.head(self.network.inbox(f, End::Sender)))
            }
            Node::Receiver(f) => {
                self.network.receivers[f as usize].timer().min(self.network.head(self.network.inbox(f, End::Receiver)))
            }
            Node::Source(s) => self.sources[s as usize].next_event(&self.network),
            Node::Sinks(s) => self.sources[s as usize].next_sink_event(&self.network),
            Node::UdtSender(f) => {
                self.udt[&f].sender_timer().min(self.network.head(self.network.inbox(f, End::Sender)))
            }
            Node::UdtReceiver(f) => {
                self.udt[&f].receiver_timer().min(self.network.head(self.network.inbox(f, End::Receiver)))
            }
        };
        self.plan.order.iter().map(next).min().unwrap_or(Time::NEVER)
    }

    fn finish(mut self, end: Time) -> Outcome {
        self.senders.iter_mut().for_each(|s| s.finish(end));
        self.network.receivers.iter_mut().for_each(|r| r.finish(end));
        for (&f, udt) in &mut self.udt {
            udt.finish(end, &mut self.senders[f as usize], &mut self.network.receivers[f as usize]);
        }
        for source in &mut self.sources {
            source.finish(&self.network);
        }
        let mut links = Vec::new();
        for (index, link) in self.network.links.iter_mut().enumerate() {
            if let Some(samples) = link.finish(end) {
                links.push((index, samples));
            }
        }
        let conservation = self.account();
        let (log, receivers) = (self.network.log.take(), &mut self.network.receivers);
        let events = gather(&self.spec, log.map(|log| *log), &mut self.senders, receivers);
        self.network.receivers.truncate(self.senders.len());
        let sources = self.sources.into_iter().map(Source::into_totals).collect();
        Outcome {
            times: self.times.to_vec(),
            links,
            sources,
            link_totals: self.network.links.iter().map(|l| l.totals).collect(),
            senders: self.senders,
            receivers: self.network.receivers,
            conservation,
            udt: self.udt,
            window: self.window,
            events,
        }
    }

    /// No packet is created, lost or duplicated unaccounted for: each end counts for itself, the network counts what it
    /// refused and what it made, and what is under way is counted one by one.
    fn account(&self) -> Conservation {
        let mut sum = Conservation::default();
        let under_way = self.network.under_way();
        let flows = self.senders.iter().enumerate().map(|(flow, sender)| (flow, sender.totals));
        let open = self.sources.iter().flat_map(Source::places);
        for (flow, totals) in flows.chain(open) {
            let mut counts = self.network.counts(flow, &totals);
            if let Some(udt) = self.udt.get(&(flow as u32)) {
                udt.count_ack2s(&mut counts[0]);
            }
            if let Some(headers) = self.network.sacks[flow].headers_under_way() {
                assert_eq!(headers, under_way[flow * 2], "congestion headers unaccounted for");
            }
            for (count, under_way) in counts.into_iter().zip(&under_way[flow * 2..]) {
                let Count { sent, duplicated, received, dropped } = count;
                assert_eq!(sent + duplicated, received + dropped + under_way, "packets unaccounted for");
                sum.sent += sent;
                sum.duplicated += duplicated;
                sum.received += received;
                sum.dropped += dropped;
                sum.under_way += under_way;
            }
        }
        for gone in self.sources.iter().map(Source::gone) {
            sum.sent += gone.sent;
            sum.duplicated += gone.duplicated;
            sum.received += gone.received;
            sum.dropped += gone.dropped;
        }
        let refused: u64 = self.network.links.iter().map(|l| l.totals.dropped + l.totals.lost).sum();
        assert_eq!(sum.dropped, refused, "drops by flow and drops by link differ");
        let made: u64 = self.network.links.iter().map(|l| l.totals.duplicated).sum();
        assert_eq!(sum.duplicated, made, "duplicates by flow and by link differ");
        sum
    }
}
