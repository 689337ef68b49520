//! The order of turns and the longest exact time slice; see the proof in [`super`].

use super::ports::{LinkId, SourceId};
use crate::packet::FlowId;
use crate::time::Time;

/// A part of the simulation that takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A link that several nodes feed, or that is recorded.
    Link(LinkId),
    /// The sender of a flow.
    Sender(FlowId),
    /// The receiver of a flow that is not evaluated inline.
    Receiver(FlowId),
    /// All senders of a source of transfers.
    Source(SourceId),
    /// All receivers of a source that are not evaluated inline.
    Sinks(SourceId),
    /// The host, with both ends of all flows on it.
    Host,
}

/// The order of turns and the length of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Nodes in the order of their turns.
    pub order: Vec<Node>,
    /// Longest slice for which this order is exact.
    pub longest_slice: Time,
}

/// Finds the longest slice, and an order of turns that is exact for this slice. The edges shorter than the slice must
/// form no cycle, and the order must follow these edges.
pub(super) fn plan(edges: &[(Node, Node, Time)]) -> Plan {
    let graph = Graph::new(edges);
    let mut slices: Vec<Time> = graph.delays.clone();
    slices.sort_unstable();
    slices.dedup();
    // Every cycle crosses a link, whose transmission takes time, so the shortest edge above zero always works.
    let workable = slices.partition_point(|&slice| graph.topological(slice).is_some());
    let slice = slices[..workable].last().copied().unwrap_or(Time(1)).max(Time(1));
    let order = graph.topological(slice).unwrap_or_default();
    Plan { order: order.into_iter().map(|node| graph.nodes[node as usize]).collect(), longest_slice: slice }
}

/// Nodes by number, in their order, and the shortest edge between any two. Numbers avoid lookups of nodes, which would
/// take most of the time with thousands of flows.
struct Graph {
    nodes: Vec<Node>,
    /// Start of each node's edges, and after the last node the end of all edges.
    first: Vec<u32>,
    targets: Vec<u32>,
    delays: Vec<Time>,
}

impl Graph {
    fn new(edges: &[(Node, Node, Time)]) -> Self {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        edges.dedup_by_key(|&mut (from, to, _)| (from, to));
        let mut nodes: Vec<Node> = edges.iter().flat_map(|&(from, to, _)| [from, to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |node: Node| nodes.partition_point(|&other| other < node);
        let mut first = vec![0; nodes.len() + 1];
        for &(from, ..) in &edges {
            first[number(from) + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let targets = edges.iter().map(|&(_, to, _)| number(to) as u32).collect();
        let delays = edges.iter().map(|&(.., delay)| delay).collect();
        Self { nodes, first, targets, delays }
    }

    /// An order that follows the edges shorter than `slice`; `None` if these form a cycle.
    fn topological(&self, slice: Time) -> Option<Vec<u32>> {
        let mut waiting_for = vec![0_u32; self.nodes.len()];
        for (&to, &delay) in self.targets.iter().zip(&self.delays) {
            waiting_for[to as usize] += u32::from(delay < slice);
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        order.extend((0..self.nodes.len() as u32).filter(|&node| waiting_for[node as usize] == 0));
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            let edges = self.first[node as usize] as usize..self.first[node as usize + 1] as usize;
            for (&to, &delay) in self.targets[edges.clone()].iter().zip(&self.delays[edges]) {
                if delay < slice {
                    waiting_for[to as usize] -= 1;
                    if waiting_for[to as usize] == 0 {
                        order.push(to);
                    }
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_slice_is_as_long_as_the_longest_delay_that_cuts_every_cycle() {
        let (s, l, r) = (Node::Sender(FlowId(0)), Node::Link(LinkId(0)), Node::Receiver(FlowId(0)));
        let plan = plan(&[(s, l, Time(10)), (l, r, Time(480)), (r, s, Time(490))]);
        assert_eq!(plan.longest_slice, Time(490));
        assert_eq!(plan.order, [s, l, r]);
    }

    #[test]
    fn a_cycle_without_propagation_delay_still_advances() {
        let (s, l, r) = (Node::Sender(FlowId(0)), Node::Link(LinkId(0)), Node::Receiver(FlowId(0)));
        let plan = plan(&[(s, l, Time(0)), (l, r, Time(3)), (r, s, Time(2))]);
        assert_eq!(plan.longest_slice, Time(3));
        assert_eq!(plan.order.len(), 3);
    }

    /// A second implementation of the order for the test. It repeatedly searches for the first node that may follow.
    fn slowly(edges: &[(Node, Node, Time)], slice: Time) -> Option<Vec<Node>> {
        let mut shortest = BTreeMap::new();
        for &(from, to, delay) in edges {
            let held = shortest.entry((from, to)).or_insert(delay);
            *held = delay.min(*held);
        }
        let mut waiting_for: BTreeMap<Node, u32> = BTreeMap::new();
        for (&(from, to), &delay) in &shortest {
            waiting_for.entry(from).or_default();
            *waiting_for.entry(to).or_default() += u32::from(delay < slice);
        }
        let mut order: Vec<Node> = waiting_for.iter().filter(|(_, n)| **n == 0).map(|(node, _)| *node).collect();
        for i in 0.. {
            let Some(&node) = order.get(i) else { break };
            for (&(_, to), _) in shortest.iter().filter(|((from, _), delay)| *from == node && **delay < slice) {
                let left = waiting_for.get_mut(&to)?;
                *left -= 1;
                if *left == 0 {
                    order.push(to);
                }
            }
        }
        (order.len() == waiting_for.len()).then_some(order)
    }

    proptest! {
        #[test]
        fn numbered_nodes_have_the_order_of_nodes_by_name(edges in prop::collection::vec((0_u32..12, 0_u32..12, 1_u64..6), 1..60)) {
            let node = |i: u32| match i % 3 {
                0 => Node::Link(LinkId(i / 3)),
                1 => Node::Sender(FlowId(i / 3)),
                _ => Node::Sinks(SourceId(i / 3)),
            };
            let edges: Vec<_> = edges.into_iter().map(|(from, to, delay)| (node(from), node(to), Time(delay))).collect();
            let made = plan(&edges);
            let longest = (1..6).map(Time).rev().find(|&slice| slowly(&edges, slice).is_some()).expect("no edge is shorter than the first");
            prop_assert!(made.longest_slice <= longest && slowly(&edges, made.longest_slice) == Some(made.order));
        }
    }
}
