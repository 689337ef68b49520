//! Receive window of Linux hosts whose stack states none.
//!
//! Linux has no unlimited receive window. The simulator and the Linux backend use the same window: what the send buffer
//! holds. A slow start that overshoots the path and its queues several times over reaches it, and a sender that keeps its
//! rate while losses are repaired: the window counts from the first missing segment.

use super::flow::FlowSpec;
use super::send_buffer::{LEAST_QUICK_ACKS, MOST_BYTES, OVERHEAD_BYTES};
use super::stack::{HostRule, StackSpec};
use super::{MOST_IN_FLIGHT, Spec};

/// Smallest window beside its growth, segments.
const LEAST_SEGMENTS: u64 = 20;
/// Bits of a window without a scale factor (RFC 7323 section 2.2), less one.
const UNSCALED_BITS: u32 = 15;

impl Spec {
    /// Send buffer of a flow, bytes, and its receive window at the end of the window's growth, segments: the stack's, or
    /// that of a Linux host. `None` is unlimited: other hosts, paths whose queue has no known size, and paths that exceed
    /// Linux's largest buffer.
    pub(super) fn buffers(&self, flow: &FlowSpec) -> (u64, Option<u32>) {
        let stack = &flow.stack;
        let (buffer, known) = self.send_buffer(flow);
        let is_bounded = stack.has(HostRule::ReceiveWindow)
            && stack.hz.is_some()
            && !flow.has_own_transport()
            && known
            && buffer < 2 * MOST_BYTES;
        let mut window = stack.receive_window;
        if window.is_none() && is_bounded {
            window = Some(linux_window(stack, buffer).min(MOST_IN_FLIGHT.into()) as u32);
        }
        (buffer, window)
    }

    /// Receive windows of a flow on a Linux host whose stack states none, at the start and at the end of the growth,
    /// segments.
    #[must_use]
    pub fn linux_windows(&self, flow: &FlowSpec) -> (u64, u64) {
        let last = linux_window(&flow.stack, self.send_buffer_bytes(flow));
        (last - growth_segments(&flow.stack), last)
    }
}

impl FlowSpec {
    /// Segments at the start that the receiver acknowledges one by one. On Linux, the stack's number contains a quick ACK for
    /// each segment that grows the receive window. A window below this growth has its size from the start; the kernel then
    /// gives half as many quick ACKs as the window has segments, sixteen at most (`tcp_incr_quickack`). The first segment
    /// makes their number odd (`tcp_grow_window`), since the window is bounded only once the kernel has seen a segment.
    #[must_use]
    pub fn quick_acks(&self) -> u32 {
        let stack = &*self.stack;
        let is_linux = stack.has(HostRule::ReceiveWindow);
        let is_constant = |&window: &u32| u64::from(window) <= growth_segments(stack);
        match self.receive_window.or(stack.receive_window).filter(is_constant).filter(|_| is_linux) {
            Some(window) => ((window / 2).clamp(2, LEAST_QUICK_ACKS as u32) & !1) + 1,
            None => stack.quick_acks,
        }
    }
}

/// Receive window of a Linux host at the end of its growth, segments; the send buffer of its peer has `buffer` bytes.
///
/// The receiver announces a multiple of the window's unit. A window that is also a whole number of segments is announced
/// exactly. After the window's growth, the sender then never fills the rest of the window with a part of a segment.
fn linux_window(stack: &StackSpec, buffer: u64) -> u64 {
    let payload = u64::from(stack.payload_bytes);
    let fits = buffer.min(2 * MOST_BYTES).next_multiple_of(2) / (payload + OVERHEAD_BYTES);
    let mut last = fits.max(LEAST_SEGMENTS + growth_segments(stack));
    loop {
        let unit = unit_bytes(last * payload);
        if (last * payload) & (unit - 1) == 0 {
            return last;
        }
        let step = unit >> payload.trailing_zeros();
        last = (last | (step - 1)) + 1;
    }
}

/// Growth of the receive window during the quick ACKs at the start, segments: two for each received segment
/// (`tcp_grow_window`).
fn growth_segments(stack: &StackSpec) -> u64 {
    2 * u64::from(stack.quick_acks).saturating_sub(LEAST_QUICK_ACKS)
}

/// Unit in which a receiver announces windows of up to `window` bytes (`tcp_select_initial_window`).
#[must_use]
pub fn unit_bytes(window: u64) -> u64 {
    1 << (u64::BITS - window.leading_zeros()).saturating_sub(1 + UNSCALED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn window(rate_bps: u64, stack: impl FnOnce(&mut StackSpec)) -> Option<u32> {
        let mut spec = Spec::dumbbell(rate_bps, Time(100 * Time::MILLISECOND.0), 100, Time::SECOND, &["hybla"]);
        stack(std::sync::Arc::make_mut(&mut spec.flows[0].stack));
        spec.buffers(&spec.flows[0]).1
    }

    #[test]
    fn the_window_holds_the_path_and_its_queue_and_is_announced_exactly() {
        let segments = u64::from(window(100_000_000, |_| ()).expect("a Linux host"));
        assert!(segments > 100_000_000 / 8 / 10 / 1500 + 100);
        assert_eq!((segments * 1448) % unit_bytes(segments * 1448), 0, "{segments}");
    }

    #[test]
    fn a_window_that_does_not_grow_has_few_quick_acks() {
        for (window, quick_acks) in [(None, 1080), (Some(3733), 1080), (Some(45), 17), (Some(20), 11), (Some(1), 3)] {
            let mut spec = Spec::dumbbell(1_000_000_000, Time::SECOND, 100, Time::SECOND, &["hybla"]);
            std::sync::Arc::make_mut(&mut spec.flows[0].stack).receive_window = window;
            assert_eq!(spec.flows[0].quick_acks(), quick_acks, "{window:?}");
        }
    }

    #[test]
    fn a_stated_window_and_the_windows_of_other_hosts_stay() {
        assert_eq!(window(100_000_000, |stack| stack.receive_window = Some(7)), Some(7));
        assert_eq!(window(100_000_000, |stack| stack.hz = None), None);
    }

    #[test]
    fn a_path_beyond_the_largest_buffer_or_of_unknown_size_has_no_bound() {
        assert_eq!(window(1_000_000_000_000, |_| ()), None);
        let mut spec = Spec::dumbbell(1_000_000, Time::SECOND, 100, Time::SECOND, &["hybla"]);
        assert!(spec.buffers(&spec.flows[0]).1.is_some());
        spec.links[0].queue.limit_packets = None;
        assert_eq!(spec.buffers(&spec.flows[0]).1, None);
    }
}
