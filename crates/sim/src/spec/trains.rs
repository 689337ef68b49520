//! Length of the trains of a flow, by its path: a train is too short for a decision about one of its segments to matter.

use elephan_cc::Needs;

use super::Spec;
use super::flow::FlowSpec;
use super::link::{LinkSpec, LossSpec};
use super::resolution::Resolution;

/// Smallest number of trains that fill a queue, all flows together.
const TRAINS_PER_QUEUE: u64 = 100;

impl Spec {
    /// Largest number of segments of a train of a flow whose algorithm has these needs: 1 if each segment may matter.
    pub(crate) fn longest_train(&self, flow: &FlowSpec, needs: Needs) -> u32 {
        let is_steady = self.events.is_none() && self.traffic.is_empty();
        let stack = &*flow.stack;
        let is_fast = !stack.reads_at_once && !stack.accurate_ecn && stack.host_ack_ps == 0 && stack.host_scan_ps == 0;
        let of_segments = needs.with_acks() || needs.losses || needs.sends || needs.pacing || needs.every_rtt;
        let is_bulk = flow.application.is_none() && !of_segments;
        if self.resolution == Resolution::Segment || !is_steady || !is_fast || !is_bulk {
            return 1;
        }
        let links = flow.path.iter().chain(&flow.reverse_path).map(|&link| &self.links[link]);
        links.map(|link| link.longest_train(self.flows.len() as u64, flow.packet_sizes()[0].1)).min().unwrap_or(1)
    }
}

impl LinkSpec {
    /// Largest number of segments of `bytes` in a train on the link, which `flows` may share.
    fn longest_train(&self, flows: u64, bytes: u64) -> u32 {
        if !self.is_steady() {
            return 1;
        }
        let by_bytes = self.queue.limit_bytes.map(|limit| limit / bytes);
        let limit = self.queue.limit_packets.into_iter().chain(by_bytes).min();
        limit.map_or(u32::MAX, |limit| u32::try_from(limit / (TRAINS_PER_QUEUE * flows)).unwrap_or(u32::MAX))
    }

    /// True if the link's only decision about a packet is whether the queue has room for it.
    fn is_steady(&self) -> bool {
        self.queue.kind == "droptail" && self.impairments.is_none() && matches!(self.loss, LossSpec::None)
    }
}
