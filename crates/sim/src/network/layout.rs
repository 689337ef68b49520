//! How a network is laid out: which links need turns, the hops of each path, the length of a window and the order of turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ports::{Batch, Crowd, Mailboxes};
use super::{BATCH, END, HEAP, Hop, INLINE, Lane, Network, Next, Node, Path, Plan, Tail};
use crate::endpoint::{Receiver, SackLog};
use crate::link::Link;
use crate::quiet;
use crate::spec::{FlowSpec, Spec};
use crate::time::Time;

/// A link with more feeders than this merges them in a heap and not by looking at each.
pub(super) const SCAN_FEEDERS: usize = 8;

/// What hands packets to a link: a flow's end, or another link. Packets of one feeder arrive in order, those of several have to
/// be merged. The order of feeders breaks ties, so it goes by name and not by position in the scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder<'a> {
    Flow(&'a str, bool),
    /// A link, and the links between that can never queue: they delay packets that take other ways differently.
    Link(&'a str, Vec<&'a str>),
    /// All transfers of a source; they are not in order among themselves.
    Source(&'a str, bool),
}

impl<'a> Feeder<'a> {
    /// What feeds the next link behind `link`, which this one feeds and which can never queue.
    fn through(mut self, link: &'a str) -> Self {
        if let Self::Link(_, between) = &mut self {
            between.push(link);
        }
        self
    }
}

pub(super) struct Builder<'a> {
    spec: &'a Spec,
    feeders: Vec<BTreeMap<Feeder<'a>, u32>>,
    never_queues: Vec<bool>,
    network: Network,
    edges: Vec<(Node, Node, Time)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(spec: &'a Spec, sample_times: &Arc<[Time]>) -> Self {
        let ends = spec.flows.len() * 2;
        let sizes = quiet::packet_sizes(spec);
        let new_link = |(link, sizes)| Link::new(link, sizes, spec.seed, sample_times);
        let links: Vec<Link> = spec.links.iter().zip(sizes).map(new_link).collect();
        let receiver = |(f, flow)| {
            let mut receiver = Receiver::new(f as u32, flow, sample_times);
            receiver.keep_delays(spec.measure);
            if let Some(events) = &spec.events {
                receiver.keep_log(events);
            }
            receiver
        };
        let disorders = |&l: &usize| spec.links[l].impairments.as_ref().is_some_and(|i| i.disorders());
        let sack_log = |flow: &FlowSpec| SackLog::new(flow.reverse_path.iter().any(disorders));
        let never_queues = quiet::links_that_never_queue(spec, &links);
        let mut network = Network {
            links,
            receivers: spec.flows.iter().enumerate().map(receiver).collect(),
            sacks: spec.flows.iter().map(sack_log).collect(),
            dropped: vec![0; ends],
            duplicated: vec![0; ends],
            log: None,
            hops: Vec::new(),
            paths: Vec::with_capacity(ends),
            end: Time(spec.duration_ps),
            mailboxes: Mailboxes::default(),
            crowds: Vec::new(),
            batches: Vec::new(),
            ranks: vec![0; ends],
            link_ports: vec![Vec::new(); spec.links.len()],
            inboxes: Vec::with_capacity(ends),
            lanes: Vec::new(),
            too_late: 0,
            room_bytes: u64::MAX,
            overdrawn: false,
            windows_until_sum: 0,
            chained: vec![false; spec.links.len()],
        };
        if let Some(events) = &spec.events {
            network.keep_log(events, spec.flows.len() as u32);
        }
        Self { spec, feeders: vec![BTreeMap::new(); spec.links.len()], never_queues, network, edges: Vec::new() }
    }

    pub(super) fn build(mut self) -> (Network, Plan) {
        let spec = self.spec;
        for flow in &spec.flows {
            self.note_feeders(flow, |is_ack| Feeder::Flow(&flow.name, is_ack));
        }
        for source in &spec.traffic {
            self.note_feeders(&source.flow, |is_ack| Feeder::Source(&source.flow.name, is_ack));
        }
        self.make_ports();
        for (f, flow) in spec.flows.iter().enumerate() {
            let (f, reactive) = (f as u32, self.network.receivers[f].is_reactive());
            let feeders = [Feeder::Flow(&flow.name, false), Feeder::Flow(&flow.name, true)];
            let nodes = if flow.is_udt() {
                [Node::UdtSender(f), Node::UdtReceiver(f)]
            } else {
                [Node::Sender(f), Node::Receiver(f)]
            };
            self.lay_flow(flow, feeders, nodes, reactive);
        }
        for passage in 0..self.network.paths.len() {
            self.network.look_ahead(passage);
        }
        for (s, source) in spec.traffic.iter().enumerate() {
            self.lay_lane(s as u32, &source.flow);
        }
        self.network.too_late = self.network.mailboxes.add();
        let plan = plan(&self.edges);
        (self.network, plan)
    }

    /// Notes what feeds each link on a flow's way there and back; `first` is what feeds the first link of each.
    fn note_feeders(&mut self, flow: &'a FlowSpec, first: impl Fn(bool) -> Feeder<'a>) {
        for (is_ack, path) in [(false, &flow.path), (true, &flow.reverse_path)] {
            let mut feeder = first(is_ack);
            for &link in path {
                let name = &self.spec.links[link].name;
                if self.never_queues[link] {
                    feeder = feeder.through(name);
                } else {
                    self.feeders[link].insert(feeder, INLINE);
                    feeder = Feeder::Link(name, Vec::new());
                }
            }
        }
    }

    /// Lays a flow's way there and back; `nodes` are its sender and its receiver.
    fn lay_flow(&mut self, flow: &'a FlowSpec, feeders: [Feeder<'a>; 2], nodes: [Node; 2], reactive: bool) {
        let [there, back] = feeders;
        let (mut node, mut delay) = self.lay_path(flow, there, false, nodes[0], Time::ZERO);
        if !reactive {
            self.edges.push((node, nodes[1], delay));
            (node, delay) = (nodes[1], Time::ZERO);
        }
        let (node, delay) = self.lay_path(flow, back, true, node, delay);
        self.edges.push((node, nodes[0], delay));
    }

    /// Lays the way of a source's transfers, as that of a flow which is then taken out again: each transfer has a copy.
    fn lay_lane(&mut self, s: u32, flow: &'a FlowSpec) {
        let reactive = flow.stack.ack_every == 1;
        let feeders = [Feeder::Source(&flow.name, false), Feeder::Source(&flow.name, true)];
        self.lay_flow(flow, feeders, [Node::Source(s), Node::Sinks(s)], reactive);
        let network = &mut self.network;
        let laid = network.paths.split_off(network.paths.len() - 2);
        let back = network.hops.split_off(laid[1].first_hop as usize);
        let there = network.hops.split_off(laid[0].first_hop as usize);
        network.mailboxes.remove_last(2);
        network.inboxes.truncate(network.inboxes.len() - 2);
        let disorders = |&l: &usize| self.spec.links[l].impairments.as_ref().is_some_and(|i| i.disorders());
        let loose = flow.reverse_path.iter().any(disorders);
        network.lanes.push(Lane { hops: [there, back], leads: [laid[0].lead, laid[1].lead], loose });
    }

    /// Whether a link is computed on the spot: one that others feed, or whose queue or wire has events, takes turns. A recorded
    /// one is on the spot only behind a link that takes turns, so that its sender's turn does not become that of all its path.
    fn is_on_the_spot(&self, link: usize) -> bool {
        let this = &self.network.links[link];
        let mut feeders = self.feeders[link].keys();
        let (Some(feeder), None) = (feeders.next(), feeders.next()) else { return false };
        if this.is_served() || this.is_unsteady() || matches!(feeder, Feeder::Source(..)) {
            return false;
        }
        if !self.spec.links[link].record {
            return true;
        }
        let Feeder::Link(name, _) = feeder else { return false };
        if this.is_active() {
            return false;
        }
        let before = self.spec.links.iter().position(|link| link.name == *name);
        before.is_some_and(|before| !self.is_on_the_spot(before) || self.spec.links[before].record)
    }

    fn make_ports(&mut self) {
        let on_the_spot: Vec<bool> = (0..self.feeders.len()).map(|link| self.is_on_the_spot(link)).collect();
        let Self { spec, feeders, network, .. } = self;
        for (link, feeders) in feeders.iter_mut().enumerate() {
            if feeders.is_empty() || on_the_spot[link] {
                continue;
            }
            let crowded = feeders.len() > SCAN_FEEDERS;
            if crowded {
                network.crowds.push(Crowd::default());
                network.link_ports[link].push((network.crowds.len() as u32 - 1) | HEAP);
            }
            for (feeder, port) in feeders.iter_mut() {
                if !crowded && matches!(feeder, Feeder::Source(..)) {
                    network.batches.push(Batch::default());
                    network.link_ports[link].push((network.batches.len() as u32 - 1) | HEAP | BATCH);
                } else if !crowded {
                    network.link_ports[link].push(network.mailboxes.add());
                }
                *port = network.link_ports[link].last().copied().unwrap_or(INLINE);
            }
        }
        // In a heap only flows' ends compete in numbers; their rank is the order of their names.
        let mut by_name: Vec<usize> = (0..spec.flows.len()).collect();
        by_name.sort_by(|&a, &b| spec.flows[a].name.cmp(&spec.flows[b].name));
        for (rank, flow) in by_name.into_iter().enumerate() {
            network.ranks[flow * 2] = rank as u32 * 2;
            network.ranks[flow * 2 + 1] = rank as u32 * 2 + 1;
        }
    }

    /// Lays the hops of one direction of a flow. `source` is the last node that had a turn, `delay` the least time since;
    /// answers the same for the far end.
    fn lay_path(
        &mut self,
        flow: &'a FlowSpec,
        mut feeder: Feeder<'a>,
        is_ack: bool,
        mut source: Node,
        mut delay: Time,
    ) -> (Node, Time) {
        let path = if is_ack { &flow.reverse_path } else { &flow.path };
        let smallest = flow.smallest_bytes();
        let first_hop = self.network.hops.len();
        let mut lead = Tail::default();
        for &link in path {
            let this = &self.network.links[link];
            if self.never_queues[link] {
                let before = self.network.hops[first_hop..].last_mut();
                before.map_or(&mut lead, |hop| &mut hop.tail).add(this);
                feeder = feeder.through(&self.spec.links[link].name);
            } else {
                let port = self.feeders[link].get(&feeder).copied().unwrap_or(INLINE);
                if port != INLINE {
                    self.edges.push((source, Node::Link(link as u32), delay));
                    source = Node::Link(link as u32);
                    delay = Time::ZERO;
                }
                self.network.hops.push(Hop { link: link as u32, port, tail: Tail::default(), next: Next::Other });
                feeder = Feeder::Link(&self.spec.links[link].name, Vec::new());
            }
            delay += this.least_crossing(smallest);
        }
        let inbox = self.network.mailboxes.add();
        self.network.inboxes.push(inbox);
        self.network.hops.push(Hop { link: END, port: inbox, tail: Tail::default(), next: Next::Other });
        self.network.paths.push(Path { first_hop: first_hop as u32, lead });
        (source, delay)
    }
}

/// The longest window, and an order of turns that is exact for it: with only the edges shorter than the window, the
/// graph must have no cycle, and the order must follow them.
fn plan(edges: &[(Node, Node, Time)]) -> Plan {
    let mut shortest = BTreeMap::new();
    for &(from, to, delay) in edges {
        let held = shortest.entry((from, to)).or_insert(delay);
        *held = delay.min(*held);
    }
    let mut windows: Vec<Time> = shortest.values().copied().collect();
    windows.sort_unstable();
    windows.dedup();
    // Every cycle crosses a link, whose transmission takes time, so the shortest edge above zero always works.
    let workable = windows.partition_point(|&window| topological(&shortest, window).is_some());
    let window = windows[..workable].last().copied().unwrap_or(Time(1)).max(Time(1));
    Plan { order: topological(&shortest, window).unwrap_or_default(), longest_window: window }
}

fn topological(edges: &BTreeMap<(Node, Node), Time>, window: Time) -> Option<Vec<Node>> {
    let mut waiting_for: BTreeMap<Node, u32> = BTreeMap::new();
    let mut next: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    for (&(from, to), &delay) in edges {
        waiting_for.entry(from).or_default();
        *waiting_for.entry(to).or_default() += u32::from(delay < window);
        if delay < window {
            next.entry(from).or_default().push(to);
        }
    }
    let mut ready: std::collections::VecDeque<Node> =
        waiting_for.iter().filter(|(_, n)| **n == 0).map(|(node, _)| *node).collect();
    let mut order = Vec::with_capacity(waiting_for.len());
    while let Some(node) = ready.pop_front() {
        order.push(node);
        for to in next.get(&node).into_iter().flatten() {
            let left = waiting_for.get_mut(to)?;
            *left -= 1;
            if *left == 0 {
                ready.push_back(*to);
            }
        }
    }
    (order.len() == waiting_for.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_as_long_as_the_longest_delay_that_cuts_every_cycle() {
        let (s, l, r) = (Node::Sender(0), Node::Link(0), Node::Receiver(0));
        let plan = plan(&[(s, l, Time(10)), (l, r, Time(480)), (r, s, Time(490))]);
        assert_eq!(plan.longest_window, Time(490));
        assert_eq!(plan.order, [s, l, r]);
    }

    #[test]
    fn a_cycle_without_propagation_delay_still_advances() {
        let (s, l, r) = (Node::Sender(0), Node::Link(0), Node::Receiver(0));
        let plan = plan(&[(s, l, Time(0)), (l, r, Time(3)), (r, s, Time(2))]);
        assert_eq!(plan.longest_window, Time(3));
        assert_eq!(plan.order.len(), 3);
    }
}
