//! Size of the send buffer of flows whose stack states none.
//!
//! In Linux, the send buffer bounds the data in flight, so it must be larger than all data on the path and in its
//! queues. The simulator and the Linux backend use the same size: the data that the application writes before the first
//! ACK are divided into smaller buffers for segmentation offload.

use super::flow::FlowSpec;
use super::link::LinkSpec;
use super::stack::StackSpec;
use super::{Impairments, Spec};
use crate::time::Time;

/// Largest value of Linux's socket option for the send buffer, bytes; Linux doubles this value.
pub(super) const MOST_BYTES: u64 = 1 << 30;
/// Room beside the data of the path, bytes.
const SPARE_BYTES: u64 = 1 << 20;
/// Assumed data in an unlimited queue of the slowest link, bytes.
const UNLIMITED_BYTES: u64 = 16 << 20;
/// Margin for the receiver's reads: data of this time at the path's rate.
const READS: Time = Time(50 * Time::MILLISECOND.0);
/// Segments that Linux acknowledges one by one at the start of any connection (`TCP_MAX_QUICKACKS`).
pub(super) const LEAST_QUICK_ACKS: u64 = 16;
/// Memory of a packet in the kernel besides its payload, bytes.
pub(super) const OVERHEAD_BYTES: u64 = 856;

impl Spec {
    /// Send buffer of a flow in Linux's accounting, bytes: twice the value of the socket option. Linux expects data to
    /// fill half of it.
    #[must_use]
    pub fn send_buffer_bytes(&self, flow: &FlowSpec) -> u64 {
        self.send_buffer(flow).0
    }

    /// The send buffer, and whether the sizes of the queues that it must hold are known.
    pub(super) fn send_buffer(&self, flow: &FlowSpec) -> (u64, bool) {
        let stack = &flow.stack;
        let (fits, known) = self.path_bytes(flow);
        let needed = fits.saturating_mul(2).max(growth_bytes(stack)).saturating_add(SPARE_BYTES);
        (stack.send_buffer_bytes.unwrap_or(2 * MOST_BYTES.min(needed)), known)
    }

    /// Sets the send buffer and the receive window of each flow and each source.
    #[must_use]
    pub(super) fn with_buffers(mut self) -> Self {
        let sizes: Vec<_> = self.all_flows().map(|flow| self.buffers(flow)).collect();
        let flows = self.flows.iter_mut().chain(self.traffic.iter_mut().map(|source| &mut source.flow));
        flows.zip(sizes).for_each(|(flow, sizes)| (flow.send_buffer_bytes, flow.receive_window) = sizes);
        self
    }

    /// Bytes that fit on a flow's path and into its queues, and whether all queues of the slowest links have a known
    /// size.
    fn path_bytes(&self, flow: &FlowSpec) -> (u64, bool) {
        let wire = u64::from(flow.stack.payload_bytes) + u64::from(flow.stack.header_bytes);
        let forward = || flow.path.iter().map(|&link| &self.links[link]);
        let slowest_bps = forward().map(fastest_bps).min().unwrap_or(0);
        let mut known = true;
        let queued = forward().fold(0_u64, |sum, link| {
            let unlimited = if fastest_bps(link) == slowest_bps { UNLIMITED_BYTES } else { 0 };
            let bytes = queue_bytes(link, wire);
            known &= bytes.is_some() || unlimited == 0;
            sum.saturating_add(bytes.unwrap_or(unlimited))
        });
        let both_ways = forward().chain(flow.reverse_path.iter().map(|&link| &self.links[link]));
        let longest = both_ways.map(longest_delay).fold(READS, Time::later);
        let on_the_way = u128::from(slowest_bps) * u128::from(longest.0) / (8 * u128::from(Time::SECOND.0));
        (queued.saturating_add(u64::try_from(on_the_way).unwrap_or(u64::MAX)), known)
    }
}

/// Buffer for the growth of the receive window during the quick ACKs at the start: two segments for each received segment
/// (`tcp_grow_window`), with their memory.
fn growth_bytes(stack: &StackSpec) -> u64 {
    let segments = 2 * u64::from(stack.quick_acks).saturating_sub(LEAST_QUICK_ACKS);
    segments * (u64::from(stack.payload_bytes) + OVERHEAD_BYTES) / 2
}

/// Capacity of a link's queue, bytes, with the packet in transmission; `None` if unlimited or unknown.
fn queue_bytes(link: &LinkSpec, wire: u64) -> Option<u64> {
    let known = |impairments: &Impairments| {
        let Impairments { rate_trace_ms, jitter, reorder, duplicate, aggregation, retransmission, .. } = impairments;
        let changes = jitter.is_some() || reorder.is_some() || *duplicate > 0.0;
        rate_trace_ms.is_empty() && !changes && aggregation.is_none() && retransmission.is_none()
    };
    let limits = [link.queue.limit_packets, link.queue.limit_bytes.map(|bytes| bytes / wire.max(1))];
    let limit = limits.into_iter().flatten().min()?;
    link.impairments.as_deref().is_none_or(known).then(|| limit.saturating_add(1).saturating_mul(wire))
}

fn fastest_bps(link: &LinkSpec) -> u64 {
    let steps = link.impairments.as_deref().map_or(&[][..], |impairments| &impairments.rate_steps);
    steps.iter().map(|step| step.rate_bps).fold(link.rate_bps, u64::max)
}

fn longest_delay(link: &LinkSpec) -> Time {
    let steps = link.impairments.as_deref().map_or(&[][..], |impairments| &impairments.delay_steps);
    Time(steps.iter().map(|step| step.delay_ps).fold(link.delay_ps, u64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(rate_bps: u64, rtt_ms: u64, packets: u64) -> u64 {
        let (rtt, end) = (Time(rtt_ms * Time::MILLISECOND.0), Time::SECOND);
        let spec = Spec::dumbbell(rate_bps, rtt, packets, end, &["cubic"]);
        spec.send_buffer_bytes(&spec.flows[0])
    }

    #[test]
    fn the_buffer_holds_twice_what_fits_on_the_path_and_into_the_queue() {
        let fits = 622_000_000 / 8 * 150 / 1000 + 501 * 1500;
        assert_eq!(buffer(622_000_000, 100, 500), 2 * (2 * fits + SPARE_BYTES));
        assert_eq!(buffer(100_000_000_000, 1000, 500), 2 * MOST_BYTES);
    }

    #[test]
    fn a_stated_size_stays() {
        let mut spec = Spec::dumbbell(1_000_000, Time::SECOND, 10, Time::SECOND, &["cubic"]);
        std::sync::Arc::make_mut(&mut spec.flows[0].stack).send_buffer_bytes = Some(7);
        assert_eq!(spec.send_buffer_bytes(&spec.flows[0]), 7);
    }
}
