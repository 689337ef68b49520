//! Buffers of unsent data of a sender with segmentation offload, as Linux 6.12 lays them out (`tcp_sendmsg`).

use std::collections::VecDeque;

use super::constants::{GSO_MAX_BYTES, MIN_TSO_SEGS, UNSCALED_WINDOW_BYTES};
use crate::endpoint::read::read;
use crate::ring::Fifo;
use crate::spec::StackSpec;

/// Size of Linux's structures around the data of a buffer, bytes (`SKB_TRUESIZE`). The limit of the send buffer
/// includes these structures.
const STRUCTURES_BYTES: u64 = 832;

/// A place in the data: a segment, and bytes after its first byte. The bytes are zero unless a part of a segment was
/// sent.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Place(pub u32, pub u32);

/// Buffers of unsent data, and the bursts that have left.
#[derive(Clone, Debug, Default)]
pub struct SendBuffer {
    /// True if the stack has segmentation offload.
    is_offloaded: bool,
    /// True if the last segment of a burst or of a write asks for an ACK at once (PSH).
    pushes: bool,
    /// End of the buffer at the head of the queue of unsent data.
    head: Place,
    /// Segments of a full buffer, and of the smallest burst of a sender that does not pace.
    full: u32,
    smallest_burst: u32,
    /// Largest burst, segments; 0 without segmentation offload.
    largest_burst: f64,
    /// Segments of a buffer that is written before the first ACK, while the sender knows no scaled window of the receiver
    /// (`tcp_bound_to_half_wnd`).
    first: u32,
    /// End of the first buffer that was still unsent after the first transmission; the other buffers follow. `None`
    /// until the first transmission is over: the application refills the head of the queue after each burst.
    grid: Option<u32>,
    /// Send buffer, bytes.
    filled: u64,
    /// End of the last buffer that was full before the first ACK.
    written: u32,
    /// Payload of a whole segment, bytes.
    payload: u32,
    /// Bytes by which all segments so far are shorter than as many whole segments.
    missing: u64,
    /// End of each unsent buffer, in order, if an application writes over time.
    written_over_time: Option<VecDeque<u32>>,
    /// Number of bursts of new data.
    bursts: u32,
    /// First segments of the bursts that left at the same time as the burst before them, the lowest first.
    joints: Fifo<u32>,
}

impl SendBuffer {
    read!(is_offloaded: bool, pushes: bool, full: u32, smallest_burst: u32, largest_burst: f64, head: Place);

    /// State of a sender whose application fills `filled` bytes before the first ACK.
    pub fn new(stack: &StackSpec, filled: u64) -> Self {
        let payload = u64::from(stack.payload_bytes.max(1));
        let window = stack.receive_window.map_or(u64::MAX, |segments| u64::from(segments) * payload);
        let segments = |window: u64| (u64::from(GSO_MAX_BYTES).min(window / 2) / payload).max(1) as u32;
        Self {
            is_offloaded: stack.tso,
            pushes: stack.tso && stack.reads_at_once,
            filled,
            full: segments(window),
            smallest_burst: MIN_TSO_SEGS.min(segments(window)),
            largest_burst: if stack.tso { f64::from(GSO_MAX_BYTES) / payload as f64 } else { 0.0 },
            payload: payload as u32,
            first: segments(window.min(UNSCALED_WINDOW_BYTES)),
            ..Self::default()
        }
    }

    /// Records a burst of new data.
    pub fn on_burst(&mut self) {
        self.bursts = self.bursts.saturating_add(1);
    }

    /// Records that the burst that begins with `segment` left at the same time as the burst before it; `una` is the lowest
    /// segment outstanding.
    pub fn on_joint(&mut self, segment: u32, una: u32) {
        while self.joints.front().is_some_and(|&joint| joint <= una) {
            self.joints.pop();
        }
        self.joints.push(segment);
    }

    /// True if `segment` began a burst, although it left at the same time as the segment before it.
    pub fn is_joint(&self, segment: u32) -> bool {
        self.joints.get(self.joints.partition_point(|joint| joint < segment)) == Some(segment)
    }

    /// Records that the application has filled the send buffer at the start; `next` is the first segment that was not
    /// sent. The last buffer gets more data after the first ACK, when a full buffer is larger.
    pub fn lay_out(&mut self, next: u32) {
        let payload = u64::from(self.payload);
        // Sent data stays in the send buffer until it is acknowledged, with its structures.
        let sent = u64::from(next) * payload + u64::from(self.bursts) * STRUCTURES_BYTES;
        let left = self.filled.saturating_sub(sent);
        let buffers = left.div_ceil(u64::from(self.first) * payload + STRUCTURES_BYTES).max(1);
        self.head = Place(next.saturating_add(self.first), 0);
        self.grid = Some(self.head.0);
        self.written = next.saturating_add((buffers as u32 - 1) * self.first);
    }

    /// Records that the application writes `fresh` segments after segment `end`, while segments from `una` on are
    /// outstanding and those from `next` on are unsent. The last unsent buffer takes more data until it is full; a full
    /// buffer is larger after the first ACK.
    pub fn write(&mut self, una: u32, next: u32, end: u32, fresh: u32) {
        let full = if una > 0 { self.full } else { self.first };
        let ends = self.written_over_time.get_or_insert_default();
        while ends.front().is_some_and(|&front| front <= next) {
            ends.pop_front();
        }
        let mut left = fresh;
        if let Some(last) = ends.len().checked_sub(1) {
            let begin = if last == 0 { next } else { ends[last - 1] };
            let added = full.saturating_sub(end - begin).min(left);
            ends[last] += added;
            left -= added;
        }
        let mut written = end + fresh - left;
        while left > 0 {
            written += left.min(full);
            left -= left.min(full);
            ends.push_back(written);
        }
    }

    /// Lets the buffer at the head take data of the next buffer, but of no further one, until it can fill a burst of
    /// `quota` segments from `next` on (`tcp_grow_skb`). `end` is the end of all data.
    #[inline(always)]
    pub fn fill_head(&mut self, next: u32, quota: u32, end: u32) {
        if self.written_over_time.is_some() {
            self.fill_written_head(next, quota);
            return;
        }
        if self.head <= Place(next, 0) || self.grid.is_none() {
            self.head = self.end_after(Place(next, 0));
        }
        let burst_end = Place(next.saturating_add(quota), 0);
        if burst_end > self.head {
            self.head = burst_end.min(self.end_after(self.head));
        }
        self.head = self.head.min(Place(end, 0));
    }

    /// [`Self::fill_head`] of a sender whose application writes over time.
    #[inline(never)]
    fn fill_written_head(&mut self, next: u32, quota: u32) {
        let Some(ends) = self.written_over_time.as_mut() else { return };
        while ends.front().is_some_and(|&front| front <= next) {
            ends.pop_front();
        }
        let burst_end = next.saturating_add(quota);
        if let (Some(&head), Some(&second)) = (ends.front(), ends.get(1)) {
            if burst_end >= second {
                ends.pop_front();
            } else {
                ends[0] = head.max(burst_end);
            }
        }
        self.head = Place(ends.front().copied().unwrap_or(next), 0);
    }

    /// Data in the buffer at the head from segment `next` on, bytes.
    #[inline(always)]
    pub fn head_bytes(&self, next: u32) -> u64 {
        let Place(segment, bytes) = self.head;
        u64::from(segment.saturating_sub(next)) * u64::from(self.payload) + u64::from(bytes)
    }

    /// Records that a part of a segment was sent, `missing` bytes shorter than a whole segment. All places after it move.
    pub fn note_part(&mut self, missing: u32) {
        self.missing += u64::from(missing);
        let Place(segment, bytes) = self.head;
        let moved = bytes + missing;
        self.head = Place(segment + moved / self.payload, moved % self.payload);
    }

    /// End of the buffer that contains the byte at `place`.
    fn end_after(&self, place: Place) -> Place {
        if self.missing == 0 { Place(self.end_of_buffer(place.0), 0) } else { self.end_after_parts(place) }
    }

    /// [`Self::end_after`] after parts: the ends of buffers are no ends of segments.
    #[inline(never)]
    fn end_after_parts(&self, Place(segment, bytes): Place) -> Place {
        let payload = u64::from(self.payload);
        let written = u64::from(segment) * payload + u64::from(bytes) - self.missing;
        let end = u64::from(self.end_of_buffer((written / payload) as u32)) * payload + self.missing;
        Place((end / payload) as u32, (end % payload) as u32)
    }

    /// End of the buffer that contains segment `next`, as long as all segments are whole.
    fn end_of_buffer(&self, next: u32) -> u32 {
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
        let mut buffer = SendBuffer::new(&StackSpec::linux(), 7_000_064);
        assert_eq!(buffer.end_of_buffer(5), 27, "the application fills the head of the queue after each burst");
        buffer.lay_out(10);
        let ends = [10, 31, 32, 53, 54].map(|next| buffer.end_of_buffer(next));
        assert_eq!(ends, [32, 32, 54, 54, 76], "half of 65,535 bytes has 22 segments");
        let written = 10 + 213 * 22;
        let ends = [written - 1, written, written + 44, written + 45].map(|next| buffer.end_of_buffer(next));
        assert_eq!(ends, [written, written + 45, written + 45, written + 90], "65,343 bytes have 45 segments");
    }

    #[test]
    fn what_was_sent_takes_room_in_the_send_buffer_with_its_structures() {
        let mut buffer = SendBuffer::new(&StackSpec::linux(), 7_000_064);
        buffer.bursts = 3;
        buffer.lay_out(3);
        // (7,000,064 - 3 x (1448 + 832)) / (22 x 1448 + 832) is 213.9; without the structures it is 214.02.
        assert_eq!(buffer.written, 3 + 213 * 22);
    }

    #[test]
    fn a_part_moves_the_ends_of_the_buffers_until_another_part_completes_it() {
        let mut buffer = SendBuffer::new(&StackSpec::linux(), 7_000_064);
        buffer.lay_out(10);
        buffer.fill_head(10, 5, u32::MAX);
        buffer.note_part(1400); // segment 15 has 48 bytes
        assert_eq!((buffer.head, buffer.head_bytes(16)), (Place(32, 1400), 22 * 1448 - 6 * 1448 + 1400));
        buffer.fill_head(16, 20, u32::MAX);
        assert_eq!(buffer.head, Place(36, 0), "the burst takes data of the next buffer");
        buffer.fill_head(36, 40, u32::MAX);
        assert_eq!(buffer.head, Place(76, 0));
        buffer.fill_head(54, 60, u32::MAX);
        assert_eq!(buffer.head, Place(76, 1400), "what is left of the next buffer is too small for the burst");
        buffer.note_part(48); // segment 76 has 1,400 bytes
        assert_eq!((buffer.head, buffer.end_after(Place(77, 0))), (Place(77, 0), Place(99, 0)));
    }

    #[test]
    fn an_application_fills_the_last_unsent_buffer_and_begins_another_when_all_is_sent() {
        let mut buffer = SendBuffer::new(&StackSpec::linux(), 0);
        let ends = |buffer: &SendBuffer| Vec::from(buffer.written_over_time.clone().unwrap_or_default());
        buffer.write(0, 0, 0, 1);
        assert_eq!(ends(&buffer), [1]);
        buffer.write(0, 1, 1, 30);
        assert_eq!(ends(&buffer), [23, 31], "22 segments before the first ACK");
        buffer.write(1, 1, 31, 40);
        assert_eq!(ends(&buffer), [23, 68, 71], "45 segments after it");
        buffer.fill_head(20, 6, u32::MAX);
        assert_eq!((buffer.head, ends(&buffer)), (Place(26, 0), vec![26, 68, 71]), "a burst takes from the next");
        buffer.write(1, 60, 71, 9);
        assert_eq!(ends(&buffer), [68, 80], "the rest of a sent buffer and the last one");
        buffer.fill_head(66, 20, u32::MAX);
        assert_eq!(ends(&buffer), [80], "a burst takes all of the last buffer");
        buffer.write(1, 66, 80, 40);
        assert_eq!(ends(&buffer), [111, 120], "the rest has room again for what was sent");
        buffer.write(1, 120, 120, 2);
        assert_eq!(ends(&buffer), [122]);
    }

    #[test]
    fn a_small_receive_window_makes_small_buffers() {
        let buffer = SendBuffer::new(&StackSpec { receive_window: Some(20), ..StackSpec::linux() }, 0);
        assert_eq!((buffer.first, buffer.full), (10, 10), "half of the window (tcp_bound_to_half_wnd)");
    }

    #[test]
    fn bursts_that_left_together_are_known_until_they_are_acknowledged() {
        let mut buffer = SendBuffer::default();
        for segment in [2, 4, 6] {
            buffer.on_joint(segment, 0);
        }
        assert!(buffer.is_joint(4) && !buffer.is_joint(5));
        buffer.on_joint(8, 5);
        assert!(buffer.joints.iter().eq(&[6, 8]));
    }
}
