//! Length of the trains of a flow, by its path: a train is too short for a decision about one of its segments to matter.

use elephan_cc::{Needs, Trains};

use super::Spec;
use super::flow::FlowSpec;
use super::link::{LinkSpec, LossSpec};
use super::resolution::Resolution;

/// Smallest number of trains that fill a queue, all flows together.
const TRAINS_PER_QUEUE: u64 = 100;

/// Trains that a sender may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// Each segment may matter.
    #[default]
    None,
    /// The bursts of segmentation offload, whose segments leave together in any case.
    Bursts,
    /// These bursts, and trains of at most this number of segments, which wait for each other.
    Any(u32),
}

impl Spec {
    /// Trains of a flow whose algorithm has these needs.
    pub(crate) fn allowed_trains(&self, flow: &FlowSpec, needs: Needs) -> Allowed {
        let is_steady = self.events.is_none() && self.traffic.is_empty();
        let stack = &*flow.stack;
        let is_fast = !stack.reads_at_once && !stack.accurate_ecn && stack.host_ack_ps == 0 && stack.host_scan_ps == 0;
        if self.resolution == Resolution::Segment || !is_steady || !is_fast || flow.application.is_some() {
            return Allowed::None;
        }
        let links = || flow.path.iter().chain(&flow.reverse_path).map(|&link| &self.links[link]);
        match needs.trains() {
            _ if !links().all(LinkSpec::is_steady) => Allowed::None,
            Trains::Bursts if stack.tso => Allowed::Bursts,
            Trains::None | Trains::Bursts => Allowed::None,
            Trains::Any => {
                let (flows, bytes) = (self.flows.len() as u64, flow.packet_sizes()[0].1);
                Allowed::Any(links().map(|link| link.longest_train(flows, bytes)).min().unwrap_or(1).max(1))
            }
        }
    }
}

impl LinkSpec {
    /// Largest number of segments of `bytes` that wait for each other, on a link that `flows` may share.
    fn longest_train(&self, flows: u64, bytes: u64) -> u32 {
        let by_bytes = self.queue.limit_bytes.map(|limit| limit / bytes);
        let limit = self.queue.limit_packets.into_iter().chain(by_bytes).min();
        limit.map_or(u32::MAX, |limit| u32::try_from(limit / (TRAINS_PER_QUEUE * flows)).unwrap_or(u32::MAX))
    }

    /// True if the link's only decision about a packet is whether the queue has room for it.
    fn is_steady(&self) -> bool {
        self.queue.kind == "droptail" && self.impairments.is_none() && matches!(self.loss, LossSpec::None)
    }
}
