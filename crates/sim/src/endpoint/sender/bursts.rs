//! Buffers of unsent data of a sender with segmentation offload, as Linux 6.12 lays them out (`tcp_sendmsg`).

use crate::spec::StackSpec;
use crate::time::Time;

/// Largest buffer that Linux passes to a device at once, bytes of payload: 64 KiB minus the room for headers.
pub(super) const LARGEST_BYTES: u32 = 65_343;
/// Largest window that a SYN-ACK can announce, bytes: the window field of a SYN-ACK is not scaled (RFC 7323 section
/// 2.2).
const UNSCALED_WINDOW_BYTES: u64 = 65_535;
/// Size of Linux's structures around the data of a buffer, bytes (`SKB_TRUESIZE`). The limit of the send buffer
/// includes these structures.
const STRUCTURES_BYTES: u64 = 832;

/// State of the bursts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// True if the stack has segmentation offload.
    pub(super) active: bool,
    /// Time of the last transmission.
    pub(super) last: Time,
    /// Number of bursts of new data.
    pub(super) count: u32,
    /// First segment after the buffer at the head of the queue of unsent data.
    pub(super) buffer_end: u32,
    /// Largest burst, segments; 0 without segmentation offload.
    pub(super) largest: f64,
    /// Segments of a full buffer.
    pub(super) full: u32,
    /// Segments of a buffer that is written before the first ACK, while the sender knows no scaled window of the receiver
    /// (`tcp_bound_to_half_wnd`).
    first: u32,
    /// End of the first buffer that was still unsent after the first transmission; the other buffers follow. `None`
    /// until the first transmission is over: the application refills the head of the queue after each burst.
    pub(super) grid: Option<u32>,
    /// Send buffer, bytes.
    filled: u64,
    /// End of the last buffer that was full before the first ACK.
    written: u32,
}

impl Bursts {
    /// State of a sender whose application fills `filled` bytes before the first ACK.
    pub(super) fn new(stack: &StackSpec, filled: u64) -> Self {
        let payload = u64::from(stack.payload_bytes.max(1));
        let window = stack.receive_window.map_or(u64::MAX, |segments| u64::from(segments) * payload);
        let segments = |window: u64| (u64::from(LARGEST_BYTES).min(window / 2) / payload).max(1) as u32;
        Self {
            active: stack.tso,
            filled,
            largest: if stack.tso { f64::from(LARGEST_BYTES) / payload as f64 } else { 0.0 },
            full: segments(window),
            first: segments(window.min(UNSCALED_WINDOW_BYTES)),
            ..Self::default()
        }
    }

    /// Records that the application has filled the send buffer at the start; `next` is the first segment that was not
    /// sent. The last buffer gets more data after the first ACK, when a full buffer is larger.
    pub(super) fn lay_out(&mut self, next: u32, payload_bytes: u32) {
        let payload = u64::from(payload_bytes);
        // Sent data stays in the send buffer until it is acknowledged, with its structures.
        let sent = u64::from(next) * payload + u64::from(self.count) * STRUCTURES_BYTES;
        let left = self.filled.saturating_sub(sent);
        let buffers = left.div_ceil(u64::from(self.first) * payload + STRUCTURES_BYTES).max(1);
        self.buffer_end = next.saturating_add(self.first);
        self.grid = Some(self.buffer_end);
        self.written = next.saturating_add((buffers as u32 - 1) * self.first);
    }

    /// End of the buffer that contains segment `next`.
    pub(super) fn end_of_buffer(&self, next: u32) -> u32 {
        let Some(grid) = self.grid else { return next.saturating_add(self.first) };
        if next < grid {
            return grid;
        }
        let (from, size) = if next < self.written { (grid, self.first) } else { (self.written, self.full) };
        next.saturating_add(size - (next - from) % size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_smaller_before_the_first_ack() {
        let mut bursts = Bursts::new(&StackSpec::linux(), 7_000_064);
        assert_eq!(bursts.end_of_buffer(5), 27, "the application fills the head of the queue after each burst");
        bursts.lay_out(10, 1448);
        let ends = [10, 31, 32, 53, 54].map(|next| bursts.end_of_buffer(next));
        assert_eq!(ends, [32, 32, 54, 54, 76], "half of 65,535 bytes has 22 segments");
        let written = 10 + 213 * 22;
        let ends = [written - 1, written, written + 44, written + 45].map(|next| bursts.end_of_buffer(next));
        assert_eq!(ends, [written, written + 45, written + 45, written + 90], "65,343 bytes have 45 segments");
    }

    #[test]
    fn what_was_sent_takes_room_in_the_send_buffer_with_its_structures() {
        let mut bursts = Bursts::new(&StackSpec::linux(), 7_000_064);
        bursts.count = 3;
        bursts.lay_out(3, 1448);
        // (7,000,064 - 3 x (1448 + 832)) / (22 x 1448 + 832) is 213.9; without the structures it is 214.02.
        assert_eq!(bursts.written, 3 + 213 * 22);
    }

    #[test]
    fn a_small_receive_window_makes_small_buffers() {
        let bursts = Bursts::new(&StackSpec { receive_window: Some(20), ..StackSpec::linux() }, 0);
        assert_eq!((bursts.first, bursts.full), (10, 10), "half of the window (tcp_bound_to_half_wnd)");
    }
}
