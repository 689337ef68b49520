//! Links that can never queue, since arrivals are at least one transmission time apart.
//!
//! If a link's transmitter is free at each arrival, the link adds a time that depends on the packet's size alone. A
//! link that can never queue needs no turn and no state. The scenario proves that a link can never queue if all of the
//! link's packets come from one *origin* with the same delay. The origin is the last link that can queue. Packets leave
//! the origin at least the smallest transmission time apart, and the links after the origin delay all packets equally,
//! except for differences of their sizes. The small packets of a flow's handshake precede its data, so that they delay
//! none of its packets, but they may follow the data of other flows, and the data of a SYN that is repeated (TCP Fast
//! Open). ACKs of a receiver that acknowledges every segment at once have the same spacing, except on Linux, whose senders
//! send small parts of segments.

use crate::link::Link;
use crate::spec::{FlowSpec, LossSpec, Spec};
use crate::time::Time;

/// Properties of a flow's packets at a point of their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    origin: usize,
    /// Shortest delay since the origin.
    delay: Time,
    /// Largest additional delay, for larger packets.
    spread: Time,
    /// Size of the flow's smallest packet at the origin, bytes.
    smallest: u64,
    /// Size of the packets of its handshake, bytes, which may follow the data of other flows.
    opening: u64,
}

/// Returns true for each link that can never queue.
#[must_use]
pub fn links_that_never_queue(spec: &Spec, links: &[Link]) -> Vec<bool> {
    let sizes = packet_sizes(spec);
    let mut quiet = vec![false; links.len()];
    loop {
        let found = next_quiet(spec, links, &sizes, &quiet);
        if found.is_empty() {
            return quiet;
        }
        found.into_iter().for_each(|link| quiet[link] = true);
    }
}

/// Links that can be added to `quiet`.
fn next_quiet(spec: &Spec, links: &[Link], sizes: &[(u64, u64)], quiet: &[bool]) -> Vec<usize> {
    // For each link, the common origin and delay of all flows that cross it, with the largest spread; `None` if two
    // flows differ.
    let mut agreed: Vec<Option<Option<Reach>>> = vec![None; links.len()];
    let single = spec.flows.iter().map(|flow| (flow, false));
    let transfers = spec.traffic.iter().map(|source| (&source.flow, true));
    for (flow, is_many) in single.chain(transfers) {
        let opening = if flow.makes_handshake() { u64::from(flow.stack.bare_header_bytes()) } else { u64::MAX };
        walk(flow, spec, links, quiet, |link, reach| {
            let reach = reach.map(|reach| Reach {
                smallest: if is_many || flow.stack.fast_open { reach.smallest.min(opening) } else { reach.smallest },
                opening,
                ..reach
            });
            agreed[link] = Some(match (agreed[link], reach) {
                (None, reach) => reach,
                (Some(Some(a)), Some(b)) if (a.origin, a.delay) == (b.origin, b.delay) => {
                    let opening = a.opening.min(b.opening);
                    let smallest = a.smallest.min(b.smallest).min(opening);
                    Some(Reach { spread: a.spread.max(b.spread), smallest, opening, ..a })
                }
                _ => None,
            });
        });
    }
    let provable = |&link: &usize| {
        let Some(Some(reach)) = agreed[link] else { return false };
        let this = &spec.links[link];
        let lossless = matches!(this.loss, LossSpec::None) && this.impairments.is_none();
        // A queue with router functions also processes packets that need not wait.
        let looks = this.record || this.queue.router().is_some();
        // Each packet left the origin at least its own transmission time after the previous packet.
        let distance = links[reach.origin].transmission(reach.smallest).since(reach.spread);
        // The transmission times of a whole path of links that never queue must add up to less than 2⁶⁴.
        let quick = links[link].ps_per_byte() < 1 << 56;
        !quiet[link] && !looks && lossless && quick && distance >= links[link].transmission(sizes[link].1)
    };
    (0..links.len()).filter(provable).collect()
}

/// Follows a flow's data along the forward path, and its ACKs along the reverse path if every segment has an ACK.
/// Passes the [`Reach`] before each link to `visit`.
fn walk(flow: &FlowSpec, spec: &Spec, links: &[Link], quiet: &[bool], mut visit: impl FnMut(usize, Option<Reach>)) {
    let mut reach = None;
    let ways = [&flow.path, &flow.reverse_path].into_iter().zip(flow.packet_sizes());
    for (path, (low, high)) in ways.take(if flow.datagrams { 1 } else { 2 }) {
        for &link in path {
            visit(link, reach);
            reach = match reach {
                Some(before) if quiet[link] => {
                    let (quickest, slowest) = (links[link].transmission(low), links[link].transmission(high));
                    let spread = before.spread + (slowest - quickest);
                    Some(Reach { delay: before.delay + links[link].delay + quickest, spread, ..before })
                }
                // A link with a variable rate or delay does not preserve the spacing of packets.
                _ if spec.links[link].impairments.is_some() => None,
                _ => Some(Reach {
                    origin: link,
                    delay: Time::ZERO,
                    spread: Time::ZERO,
                    smallest: low,
                    opening: u64::MAX,
                }),
            };
        }
        if !flow.answers_at_once() {
            reach = None;
        }
    }
}

/// Sizes of the smallest and the largest packet that cross each link, bytes.
#[must_use]
pub fn packet_sizes(spec: &Spec) -> Vec<(u64, u64)> {
    let mut sizes = vec![(u64::MAX, 0); spec.links.len()];
    for flow in spec.all_flows() {
        let ways = [&flow.path, &flow.reverse_path].into_iter().zip(flow.packet_sizes());
        // Datagrams are not acknowledged.
        for (path, (low, high)) in ways.take(if flow.datagrams { 1 } else { 2 }) {
            for &link in path {
                let held = &mut sizes[link];
                *held = (held.0.min(low), held.1.max(high));
            }
        }
    }
    sizes
}
