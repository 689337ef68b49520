//! Length of the trains of a flow, by its path: a train is too short for a decision about one of its segments to matter.

use elephan_cc::{Needs, Trains};

use super::Spec;
use super::flow::FlowSpec;
use super::link::{LinkSpec, LossSpec};
use super::resolution::Resolution;
use crate::packet::{LEAST_IN_TRAIN, MOST_IN_TRAIN};

/// Smallest number of trains that fill a queue, all flows together.
const TRAINS_PER_QUEUE: u64 = 100;

/// The same for the bursts of segmentation offload, which leave together in any case, so that only the order matters in which
/// those of several flows find the queue full. With 8 of them the mean queue of 15 CUBIC flows on 24 Gbit/s x 15 ms is 10 % too
/// long (20 seeds, 4.4 standard errors), with 16 it is 1.0 +- 2.5 %.
const BURSTS_PER_QUEUE: u64 = 32;

/// Trains that a sender may have: by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Allowed {
    /// Largest number of segments that wait for each other.
    pub waiting: u32,
    /// Largest train, and largest part of a burst of segmentation offload, whose segments need not wait.
    pub longest: u32,
    /// True if no other flow's segments meet these at a queue, so that it does not matter whose are dropped.
    pub alone: bool,
    /// Lowest rate of the path's links, segments/s.
    pub rate: f64,
}

impl Spec {
    /// Largest train of a flow, segments, whatever its algorithm needs: 1 in a run of single segments.
    #[must_use]
    pub fn longest_train(&self, flow: &FlowSpec) -> u32 {
        self.allowed_trains(flow, Needs::default()).longest.clamp(1, MOST_IN_TRAIN)
    }

    /// Trains of a flow whose algorithm has these needs.
    pub(crate) fn allowed_trains(&self, flow: &FlowSpec, needs: Needs) -> Allowed {
        let is_steady = self.events.is_none() && self.traffic.is_empty();
        let stack = &*flow.stack;
        let is_fast = !stack.reads_at_once && !stack.accurate_ecn && stack.host_ack_ps == 0 && stack.host_scan_ps == 0;
        let links = || flow.path.iter().chain(&flow.reverse_path).map(|&link| &self.links[link]);
        let may_wait = match needs.trains() {
            Trains::Any | Trains::Each => true,
            Trains::Bursts if stack.tso => false,
            Trains::None | Trains::Bursts => return Allowed::default(),
        };
        let is_plain = is_steady && is_fast && flow.application.is_none();
        if self.resolution == Resolution::Segment || !is_plain || !links().all(LinkSpec::is_steady) {
            return Allowed::default();
        }
        let (flows, bytes) = (self.flows.len() as u64, flow.packet_sizes()[0].1);
        let limit = links().filter_map(|link| link.most_packets(bytes)).min().unwrap_or(u64::MAX);
        let share = |trains: u64| u32::try_from(limit / (trains * flows)).unwrap_or(u32::MAX);
        let longest = share(BURSTS_PER_QUEUE);
        if longest < LEAST_IN_TRAIN {
            return Allowed::default();
        }
        let waiting = if may_wait { share(TRAINS_PER_QUEUE) } else { 1 };
        let bps = links().map(|link| link.rate_bps).min().unwrap_or(u64::MAX);
        Allowed { waiting, longest, alone: flows == 1, rate: bps as f64 / (8 * bytes) as f64 }
    }
}

impl LinkSpec {
    /// Largest number of packets of `bytes` that may wait.
    fn most_packets(&self, bytes: u64) -> Option<u64> {
        let by_bytes = self.queue.limit_bytes.map(|limit| limit / bytes);
        self.queue.limit_packets.into_iter().chain(by_bytes).min()
    }

    /// True if the link's only decision about a packet is whether the queue has room for it.
    fn is_steady(&self) -> bool {
        self.queue.kind == "droptail" && self.impairments.is_none() && matches!(self.loss, LossSpec::None)
    }
}
