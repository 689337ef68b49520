//! The order of turns and the longest exact time slice; see the proof in [`super`].

use std::collections::{BTreeMap, VecDeque};

use super::ports::{LinkId, SourceId};
use crate::packet::FlowId;
use crate::time::Time;

/// Something that takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A link that several feed, or that is recorded.
    Link(LinkId),
    /// The sender of a flow.
    Sender(FlowId),
    /// The receiver of a flow that is not evaluated inline.
    Receiver(FlowId),
    /// All senders of a source of transfers.
    Source(SourceId),
    /// All receivers of a source that are not evaluated inline.
    Sinks(SourceId),
}

/// The order of turns and the length of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Nodes in the order of their turns.
    pub order: Vec<Node>,
    /// The longest slice for which that order is exact.
    pub longest_slice: Time,
}

/// The longest slice, and an order of turns that is exact for it: the edges shorter than the slice must form no circle, and the
/// order must follow them.
pub(super) fn plan(edges: &[(Node, Node, Time)]) -> Plan {
    let mut shortest = BTreeMap::new();
    for &(from, to, delay) in edges {
        let held = shortest.entry((from, to)).or_insert(delay);
        *held = delay.min(*held);
    }
    let mut slices: Vec<Time> = shortest.values().copied().collect();
    slices.sort_unstable();
    slices.dedup();
    // Every cycle crosses a link, whose transmission takes time, so the shortest edge above zero always works.
    let workable = slices.partition_point(|&slice| topological(&shortest, slice).is_some());
    let slice = slices[..workable].last().copied().unwrap_or(Time(1)).max(Time(1));
    Plan { order: topological(&shortest, slice).unwrap_or_default(), longest_slice: slice }
}

fn topological(edges: &BTreeMap<(Node, Node), Time>, slice: Time) -> Option<Vec<Node>> {
    let mut waiting_for: BTreeMap<Node, u32> = BTreeMap::new();
    let mut next: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    for (&(from, to), &delay) in edges {
        waiting_for.entry(from).or_default();
        *waiting_for.entry(to).or_default() += u32::from(delay < slice);
        if delay < slice {
            next.entry(from).or_default().push(to);
        }
    }
    let mut ready: VecDeque<Node> = waiting_for.iter().filter(|(_, n)| **n == 0).map(|(node, _)| *node).collect();
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
}
