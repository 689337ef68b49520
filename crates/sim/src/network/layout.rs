//! Layout of a network from a spec: the links that need turns, and the hops of each path.

use std::sync::Arc;

use super::fabric::Network;
use super::hops::{Delivery, Hop, Lane, Paths, Place, Tail};
use super::plan::{Node, Plan, plan};
use super::ports::{Batch, BatchId, LinkId, MailboxId, Port, Ports, SourceId};
use super::turns::{MANY_FLOWS, SCAN_FEEDERS};
use crate::link::Link;
use crate::packet::{FlowId, PassageId};
use crate::queue::CheckedLink;
use crate::quiet;
use crate::sidecar::Sidecar;
use crate::spec::{FlowSpec, Spec};
use crate::time::Time;

/// Source of a link's packets: a flow's end, or another link. Packets of one feeder arrive in order; packets of several
/// feeders must be merged. The order of feeders breaks ties, so feeders are ordered by name and not by position in the
/// scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder<'a> {
    Flow(&'a str, bool),
    /// A link that feeds another link, with the links without queueing between the two. The links without queueing are
    /// part of the feeder, since another path from the same link may have another delay.
    Link(&'a str, Vec<&'a str>),
    /// All transfers of a source, whose packets are not in a common order.
    Source(&'a str, bool),
}

impl<'a> Feeder<'a> {
    /// The same feeder for the link behind `link`; the feeder feeds `link`, and `link` can never queue.
    fn through(mut self, link: &'a str) -> Self {
        if let Self::Link(_, between) = &mut self {
            between.push(link);
        }
        self
    }
}

/// Builds the network of a spec and its checked `links`, and plans its turns.
#[must_use]
pub fn build(spec: &Spec, links: &[CheckedLink], sample_times: &Arc<[Time]>) -> (Network, Plan) {
    Builder::new(spec, links, sample_times).build()
}

/// Feeders of a link, with their ports; `None` before a link that is evaluated inline. The feeders are in a list and
/// not in a map, because nearly all links of thousands of flows have one feeder.
#[derive(Clone, Debug, Default)]
struct Feeders<'a> {
    list: Vec<(Feeder<'a>, Option<Port>)>,
    /// Port of all feeders, if they share a port.
    common: Option<Port>,
}

impl<'a> Feeders<'a> {
    /// Adds a feeder, which may already be in the list. All feeders are added before [`Feeders::sort`], which removes
    /// duplicates.
    fn add(&mut self, feeder: Feeder<'a>) {
        if self.list.last().is_some_and(|(last, _)| *last == feeder) {
            return;
        }
        if self.list.is_empty() {
            self.list.reserve_exact(1);
        }
        self.list.push((feeder, None));
    }

    /// Sorts the feeders by name, and removes duplicates. The order of the feeders breaks ties among packets. Feeders that
    /// will share a port need no order; with thousands of flows, sorting their names would take long.
    fn sort(&mut self) {
        if self.are_many() {
            return;
        }
        self.list.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.list.dedup_by(|(one, _), (other, _)| one == other);
    }

    /// True if there are more feeders than a link compares one by one.
    fn are_many(&self) -> bool {
        let mut some: Vec<&Feeder<'a>> = Vec::new();
        self.list.iter().any(|(feeder, _)| {
            if !some.contains(&feeder) {
                some.push(feeder);
            }
            some.len() > SCAN_FEEDERS
        })
    }

    /// The feeder of a link that has only one feeder.
    fn only(&self) -> Option<&Feeder<'a>> {
        let [(feeder, _)] = &*self.list else { return None };
        Some(feeder)
    }

    /// Port of a feeder.
    fn port(&self, feeder: &Feeder<'a>) -> Option<Port> {
        if self.common.is_some() {
            return self.common;
        }
        let place = self.list.binary_search_by(|(other, _)| other.cmp(feeder)).ok()?;
        self.list[place].1
    }
}

struct Builder<'a> {
    spec: &'a Spec,
    /// The feeders of each link.
    feeders: Vec<Feeders<'a>>,
    never_queues: Vec<bool>,
    network: Network,
    edges: Vec<(Node, Node, Time)>,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a Spec, links: &[CheckedLink], sample_times: &Arc<[Time]>) -> Self {
        let ends = spec.flows.len() * 2;
        let sizes = quiet::packet_sizes(spec);
        let new_link = |(link, sizes)| Link::new(link, sizes, spec.seed, sample_times);
        let mut links: Vec<Link> = links.iter().zip(sizes).map(new_link).collect();
        for flow in spec.all_flows().filter(|flow| flow.sends_parts() || flow.makes_handshake()) {
            flow.path.iter().for_each(|&link| links[link].expect_parts(flow.smallest_bytes()));
        }
        let disorders = |&l: &usize| spec.links[l].impairments.as_ref().is_some_and(|i| i.disorders());
        let sidecar = |flow: &FlowSpec| {
            let mut sidecar = Sidecar::new(flow.reverse_path.iter().any(disorders), spec.seed, &flow.name);
            if flow.has_own_transport() {
                sidecar.carry_payloads();
            }
            sidecar
        };
        let never_queues = quiet::links_that_never_queue(spec, &links);
        let mut network = Network {
            links,
            sinks: spec.flows.iter().map(|_| None).collect(),
            sidecars: spec.flows.iter().map(sidecar).collect(),
            dropped: vec![0; ends],
            duplicated: vec![0; ends],
            log: None,
            hops: Vec::new(),
            paths: Paths::default(),
            accesses: Vec::new(),
            end: Time(spec.duration_ps),
            ports: Ports::default(),
            ranks: vec![0; ends],
            link_ports: vec![Vec::new(); spec.links.len()],
            inboxes: Vec::with_capacity(ends),
            lanes: Vec::new(),
            too_late: MailboxId(0),
            room_bytes: u64::MAX,
            overdrawn: false,
            chained: false,
            scatters: vec![false; spec.links.len()],
            deliveries: vec![Delivery::None; spec.links.len()],
        };
        if let Some(events) = &spec.events {
            network.keep_log(events, spec.flows.len() as u32);
        }
        Self { spec, feeders: vec![Feeders::default(); spec.links.len()], never_queues, network, edges: Vec::new() }
    }

    fn build(mut self) -> (Network, Plan) {
        let spec = self.spec;
        for flow in &spec.flows {
            self.note_feeders(flow, |is_ack| Feeder::Flow(&flow.name, is_ack));
        }
        for source in &spec.traffic {
            self.note_feeders(&source.flow, |is_ack| Feeder::Source(&source.flow.name, is_ack));
        }
        self.feeders.iter_mut().for_each(Feeders::sort);
        self.make_ports();
        for (f, flow) in spec.flows.iter().enumerate() {
            let (f, is_inline) = (FlowId(f as u32), flow.answers_at_once() && spec.events.is_none());
            let feeders = [Feeder::Flow(&flow.name, false), Feeder::Flow(&flow.name, true)];
            let nodes = if flow.is_hosted() { [Node::Host; 2] } else { [Node::Sender(f), Node::Receiver(f)] };
            self.lay_flow(flow, feeders, nodes, is_inline);
            if self.sinks_with_timers(flow) {
                self.network.make_sink(f, flow);
            }
        }
        for passage in 0..self.network.paths.len() {
            self.network.look_ahead(PassageId(passage));
        }
        for (s, source) in spec.traffic.iter().enumerate() {
            self.lay_lane(SourceId(s as u32), &source.flow);
        }
        self.network.too_late = self.network.ports.mailboxes.add();
        let plan = plan(&self.edges);
        (self.network, plan)
    }

    /// Records the feeder of each link on a flow's forward and reverse path; `first` is the feeder of each path's first
    /// link.
    fn note_feeders(&mut self, flow: &'a FlowSpec, first: impl Fn(bool) -> Feeder<'a>) {
        for (is_ack, path) in [(false, &flow.path), (true, &flow.reverse_path)] {
            let mut feeder = first(is_ack);
            for &link in path {
                let name = &self.spec.links[link].name;
                if self.never_queues[link] {
                    feeder = feeder.through(name);
                } else {
                    self.feeders[link].add(feeder);
                    feeder = Feeder::Link(name, Vec::new());
                }
            }
        }
    }

    /// Lays out a flow's forward and reverse path. `nodes` are the flow's sender and receiver, which may be evaluated
    /// inline.
    fn lay_flow(&mut self, flow: &'a FlowSpec, feeders: [Feeder<'a>; 2], nodes: [Node; 2], is_inline: bool) {
        let [there, back] = feeders;
        let (mut node, mut delay) = self.lay_path(flow, there, false, nodes[0], Time::ZERO, is_inline);
        if !is_inline {
            self.edges.push((node, nodes[1], delay));
            (node, delay) = (nodes[1], Time::ZERO);
        }
        let (node, delay) = self.lay_path(flow, back, true, node, delay, false);
        self.edges.push((node, nodes[0], delay));
    }

    /// True if the receiver of a flow is evaluated inline although it has timers, for which it has turns. With many flows it
    /// is not: in a turn of its own, a receiver handles several segments while its state is in the cache.
    fn sinks_with_timers(&self, flow: &FlowSpec) -> bool {
        let is_tcp = !flow.has_own_transport() && !flow.datagrams;
        let has_path = !flow.answers_at_once() && !flow.stack.reads_at_once;
        is_tcp && has_path && self.spec.events.is_none() && self.spec.flows.len() <= MANY_FLOWS
    }

    /// Lays out the path of a source's transfers as for a flow. The path is then taken out of the network as a
    /// template, and each transfer gets a copy.
    fn lay_lane(&mut self, s: SourceId, flow: &'a FlowSpec) {
        let feeders = [Feeder::Source(&flow.name, false), Feeder::Source(&flow.name, true)];
        self.lay_flow(flow, feeders, [Node::Source(s), Node::Sinks(s)], flow.answers_at_once());
        let network = &mut self.network;
        let [back, there] = [(); 2].map(|()| {
            let (first_hop, lead) = network.paths.remove_last().unwrap_or_default();
            (network.hops.split_off(first_hop), lead)
        });
        network.ports.mailboxes.remove_last(2);
        network.inboxes.truncate(network.inboxes.len() - 2);
        let disorders = |&l: &usize| self.spec.links[l].impairments.as_ref().is_some_and(|i| i.disorders());
        let loose = flow.reverse_path.iter().any(disorders);
        for &link in flow.path.iter().chain(&flow.reverse_path) {
            network.deliveries[link] = Delivery::Various;
        }
        network.lanes.push(Lane { hops: [there.0, back.0], leads: [there.1, back.1], loose });
    }

    /// True if a link is evaluated inline. A link with several feeders, or whose queue or delay line has events, takes
    /// turns instead. A recorded link is inline only behind a link that takes turns; otherwise the turn of the sender
    /// would include the whole path.
    fn is_inline(&self, link: usize) -> bool {
        let this = &self.network.links[link];
        let Some(feeder) = self.feeders[link].only() else { return false };
        if this.is_served() || this.is_unsteady() || matches!(feeder, Feeder::Source(..)) {
            return false;
        }
        if !self.spec.links[link].record {
            return true;
        }
        let Feeder::Link(name, _) = feeder else { return false };
        if this.decides_by_discipline() {
            return false;
        }
        let before = self.spec.links.iter().position(|link| link.name == *name);
        before.is_some_and(|before| !self.is_inline(before) || self.spec.links[before].record)
    }

    fn make_ports(&mut self) {
        let inline: Vec<bool> = (0..self.feeders.len()).map(|link| self.is_inline(link)).collect();
        let Self { spec, feeders, network, .. } = self;
        for (link, feeders) in feeders.iter_mut().enumerate() {
            if feeders.list.is_empty() || inline[link] {
                continue;
            }
            let Network { ports, link_ports, .. } = network;
            let mut batch = || {
                ports.batches.push(Batch::default());
                Port::Batch(BatchId(ports.batches.len() as u32 - 1))
            };
            if feeders.list.len() > SCAN_FEEDERS {
                feeders.common = Some(batch());
                link_ports[link].extend(feeders.common);
                continue;
            }
            for (feeder, port) in &mut feeders.list {
                let own =
                    if matches!(feeder, Feeder::Source(..)) { batch() } else { Port::Mailbox(ports.mailboxes.add()) };
                link_ports[link].push(own);
                *port = Some(own);
            }
        }
        // In a batch the ends of many flows compete; their ranks follow the order of their names.
        let mut by_name: Vec<FlowId> = (0..spec.flows.len() as u32).map(FlowId).collect();
        by_name.sort_by_key(|flow| &spec.flows[flow.index()].name);
        for (rank, flow) in by_name.into_iter().enumerate() {
            network.ranks[flow.data().index()] = rank as u32 * 2;
            network.ranks[flow.acks().index()] = rank as u32 * 2 + 1;
        }
    }

    /// Lays out the hops of one direction of a flow. `source` is the last node with a turn, and `delay` the shortest
    /// time since that node. Returns the last node with a turn and the shortest time since that node, both for the far
    /// end.
    fn lay_path(
        &mut self,
        flow: &'a FlowSpec,
        mut feeder: Feeder<'a>,
        is_ack: bool,
        mut source: Node,
        mut delay: Time,
        into_sink: bool,
    ) -> (Node, Time) {
        let path = if is_ack { &flow.reverse_path } else { &flow.path };
        let smallest = flow.smallest_bytes();
        let first_hop = self.network.hops.len();
        let (mut lead, mut last) = (Tail::default(), None);
        for &link in path {
            let this = &self.network.links[link];
            if self.never_queues[link] {
                let before = self.network.hops[first_hop..].last_mut();
                before.map_or(&mut lead, |hop| &mut hop.tail).add(this);
                feeder = feeder.through(&self.spec.links[link].name);
            } else {
                let (id, port) = (LinkId(link as u32), self.feeders[link].port(&feeder));
                if port.is_some() {
                    self.edges.push((source, Node::Link(id), delay));
                    source = Node::Link(id);
                    delay = Time::ZERO;
                }
                let place = port.map_or(Place::Inline(id), Place::from);
                last.replace(link).into_iter().for_each(|before| self.network.deliveries[before] = Delivery::Various);
                self.network.hops.push(Hop { place, tail: Tail::default(), next: Place::Uncommon });
                feeder = Feeder::Link(&self.spec.links[link].name, Vec::new());
            }
            delay += this.least_crossing(smallest);
        }
        if let (Some(last), Some(hop)) = (last, self.network.hops[first_hop..].last()) {
            let delivery = if into_sink { Delivery::Various } else { Delivery::Inboxes(hop.tail) };
            self.network.deliveries[last].add(delivery);
        }
        let inbox = self.network.ports.mailboxes.add();
        self.network.inboxes.push(inbox);
        let place = if into_sink { Place::Sink(inbox) } else { Place::Mailbox(inbox) };
        self.network.hops.push(Hop { place, tail: Tail::default(), next: Place::Uncommon });
        self.network.paths.add(first_hop, lead);
        if let Node::Link(last) = source {
            self.network.scatters[last.index()] = true;
        }
        (source, delay)
    }
}

impl Network {
    /// Fills in the common case behind each hop of a passage (a flow and a direction).
    pub(super) fn look_ahead(&mut self, passage: PassageId) {
        let hops = self.paths.hops_of(passage, self.hops.len());
        let back = self.hops.get(hops.end).map(|back| back.place);
        for hop in hops.start..hops.end - 1 {
            let next = match (self.hops[hop + 1].place, back) {
                (Place::Inline(link), _) if self.links[link.index()].decides_by_discipline() => Place::Uncommon,
                (Place::Sink(_), Some(Place::Mailbox(acks))) => Place::Sink(acks),
                (place, _) => place,
            };
            self.chained |= matches!(next, Place::Inline(_));
            self.hops[hop].next = next;
        }
    }
}
