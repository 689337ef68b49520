//! Bursts of a sender with segmentation offload, as in Linux 6.12 (`tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`): the size of a burst, and the deferral of a small burst until further ACKs arrive.

use elephan_cc::Algorithm;

use super::core::Sender;
use super::pace::Limit;
use super::repair::State;
use crate::endpoint::boundary::Outlet;
use crate::spec::StackSpec;
use crate::time::Time;

/// Largest buffer that Linux passes to a device at once, bytes of payload, which is 64 KiB minus the room for headers.
const LARGEST_BYTES: u32 = 65_279;
/// Largest window that a SYN-ACK can announce, bytes: the window field of a SYN-ACK is not scaled (RFC 7323 section
/// 2.2).
const UNSCALED_WINDOW_BYTES: u64 = 65_535;
/// Send buffer, bytes, which the application fills before the first ACK: that of `--on linux` on a path with a small
/// BDP. The size counts the data of each buffer and Linux's structures around the data (`SKB_TRUESIZE`).
const SEND_BUFFER_BYTES: u64 = 7_000_064;
const STRUCTURES_BYTES: u64 = 832;
/// A burst carries the data of 2^-10 s at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;
/// A fraction of [`LARGEST_BYTES`] is added to a burst. The fraction halves with each 2^9 µs of the smallest RTT
/// (`tcp_tso_rtt_log`).
const HALVED_EACH_US: f64 = 512.0;
/// Smallest burst, segments (`tcp_min_tso_segs`). Algorithms that pace send single segments below 1.2 Mbit/s
/// (`bbr_min_tso_segs`).
const SMALLEST: u32 = 2;
const SLOW_BPS: f64 = 1.2e6;
/// Divisor of the window for deferral: a burst of less than 1/3 of the window may be deferred (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// A burst is deferred only if the last burst left at most this long ago, and the next ACK is expected within this time.
const PATIENCE: Time = Time::MILLISECOND;

/// State of the bursts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// True if the stack has segmentation offload.
    pub(super) active: bool,
    /// Time of the last transmission.
    pub(super) last: Time,
    /// First segment after the buffer at the head of the queue of unsent data.
    buffer_end: u32,
    /// Segments of a full buffer.
    full: u32,
    /// Segments of a buffer that is written before the first ACK, while the sender knows no scaled window of the receiver
    /// (`tcp_bound_to_half_wnd`).
    first: u32,
    /// End of the first buffer that was still unsent after the first transmission; the other buffers follow. `None`
    /// until the first transmission is over: the application refills the head of the queue after each burst.
    grid: Option<u32>,
    /// End of the data that were written before the first ACK.
    written: u32,
}

impl Bursts {
    pub(super) fn new(stack: &StackSpec) -> Self {
        let payload = u64::from(stack.payload_bytes.max(1));
        let window = stack.receive_window.map_or(u64::MAX, |segments| u64::from(segments) * payload);
        let segments = |window: u64| (u64::from(LARGEST_BYTES).min(window / 2) / payload).max(1) as u32;
        Self {
            active: stack.tso,
            full: segments(window),
            first: segments(window.min(UNSCALED_WINDOW_BYTES)),
            ..Self::default()
        }
    }

    /// Records that the application has filled the send buffer at the start; `next` is the first segment that was not
    /// sent.
    pub(super) fn lay_out(&mut self, next: u32, payload_bytes: u32) {
        let payload = u64::from(payload_bytes);
        let left = SEND_BUFFER_BYTES.saturating_sub(u64::from(next) * payload);
        let buffers = left.div_ceil(u64::from(self.first) * payload + STRUCTURES_BYTES).max(1);
        self.buffer_end = next.saturating_add(self.first);
        self.grid = Some(self.buffer_end);
        self.written = next.saturating_add(buffers as u32 * self.first);
    }

    /// End of the buffer that contains segment `next`.
    fn end_of_buffer(&self, next: u32) -> u32 {
        let Some(grid) = self.grid else { return next.saturating_add(self.first) };
        if next < grid {
            return grid;
        }
        let (from, size) = if next < self.written { (grid, self.first) } else { (self.written, self.full) };
        next.saturating_add(size - (next - from) % size)
    }
}

impl Sender {
    /// Sends the segments that the window allows in at most `most` bursts: lost segments first, then new data. Returns
    /// the number of segments.
    #[inline(never)]
    pub(super) fn transmit_in_bursts(&mut self, most: Option<u32>, now: Time, out: &mut impl Outlet) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        let held_back = !self.stack.limited_transmit && self.board.sacked() > 0 && self.repair.is_open();
        let (mut sent, mut waits) = (0, held_back);
        if !held_back && room > 0 {
            let largest = self.largest_burst();
            let mut bursts = 0;
            if self.board.lost() > 0 {
                sent = self.repair(if most.is_some() { room.min(largest) } else { room }, now, out);
                if sent > 0 {
                    (self.bursts.last, bursts) = (now, 1);
                }
            }
            while sent < room && !waits && most.is_none_or(|most| bursts < most) {
                match self.send_burst(room - sent, largest, now, out) {
                    Burst::Sent(segments) => (sent, bursts) = (sent + segments, bursts + 1),
                    Burst::Deferred => waits = true,
                    Burst::Nothing => break,
                }
            }
            waits |= most == Some(bursts);
        }
        let limit = if sent == room || waits { Limit::Window } else { self.other_limit(now) };
        self.set_limit(limit);
        self.window_use.note_in_flight(in_flight + sent);
        if let State::Recovery(episode) = &mut self.repair.state {
            episode.on_sent(sent);
        }
        sent
    }

    /// Sends one burst of at most `largest` new segments if the window has room for `room` segments.
    fn send_burst(&mut self, room: u32, largest: u32, now: Time, out: &mut impl Outlet) -> Burst {
        let window = self.allowance();
        let quota = room.min((window / 2).max(1)).min(largest);
        // The buffer at the head takes data of the next buffer until it can fill the burst (`tcp_grow_skb`).
        if self.bursts.buffer_end <= self.next || self.bursts.grid.is_none() {
            self.bursts.buffer_end = self.bursts.end_of_buffer(self.next);
        }
        self.bursts.buffer_end = self.bursts.buffer_end.max(self.next.saturating_add(quota)).min(self.end);
        let buffered = self.bursts.buffer_end.saturating_sub(self.next);
        if buffered > 1 && self.is_deferred(now, room, window, largest, buffered) {
            return Burst::Deferred;
        }
        match self.send_new(quota.min(buffered), now, out) {
            0 => Burst::Nothing,
            segments => {
                self.bursts.last = now;
                Burst::Sent(segments)
            }
        }
    }

    /// True if a burst is deferred while the window has room for `room` segments.
    fn is_deferred(&self, now: Time, room: u32, window: u32, largest: u32, buffered: u32) -> bool {
        if !self.repair.is_open() || now > self.bursts.last + PATIENCE {
            return false;
        }
        let una = self.board.una();
        let receiver = (una + self.receive_window).saturating_sub(self.next);
        let limit = room.min(receiver);
        let is_last = self.bursts.buffer_end >= self.end;
        let payload = u64::from(self.stack.payload_bytes);
        let share = u64::from(window.min(self.receive_window)) * payload / WINDOW_DIVISOR;
        if limit >= largest || (!is_last && limit >= buffered) || u64::from(limit) * payload >= share {
            return false;
        }
        let Some(sent) = self.rack.sent_at.get(una.into()).filter(|_| una < self.next) else { return false };
        let srtt = Time::from_seconds(self.rto.srtt);
        if (sent + srtt).since(now) > PATIENCE.min(Time(srtt.0 / 2)) {
            return false;
        }
        // The end of a transfer is deferred only if the window is too small for it.
        limit <= buffered || self.application.as_ref().is_some_and(|application| !application.is_complete())
    }

    /// Largest burst at the current rate, segments.
    fn largest_burst(&self) -> u32 {
        let payload = f64::from(self.stack.payload_bytes);
        let rate = if self.needs.pacing { self.algorithm.pacing_rate() } else { self.window_rate() };
        let Some(bytes_per_s) = rate.map(|segments| segments * payload) else { return self.bursts.full };
        let smallest = if self.needs.pacing && bytes_per_s * 8.0 < SLOW_BPS { 1 } else { SMALLEST };
        let halvings = (self.smallest_rtt() * 1e6 / HALVED_EACH_US) as u32;
        let extra = LARGEST_BYTES.checked_shr(halvings).unwrap_or(0);
        let bytes = (bytes_per_s / BURSTS_PER_SECOND).floor() + f64::from(extra);
        ((bytes.min(f64::from(LARGEST_BYTES)) / payload) as u32).max(smallest)
    }

    /// Pacing rate that Linux gives a socket whose algorithm has none, segments/s (`tcp_update_pacing_rate`).
    pub(super) fn window_rate(&self) -> Option<f64> {
        let outstanding = f64::from(self.next - self.board.una());
        (self.rto.srtt > 0.0).then(|| self.pace_factor() * self.stats.cwnd.max(outstanding) / self.rto.srtt)
    }
}

/// Outcome of a burst.
#[derive(Clone, Copy, Debug)]
enum Burst {
    /// This number of segments left.
    Sent(u32),
    /// The burst is deferred until further ACKs arrive.
    Deferred,
    /// There is no new data, or the receive window is full.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::bench::Bench;

    #[test]
    fn a_burst_carries_a_millisecond_of_the_pacing_rate_and_more_on_a_short_path() {
        // Window in segments, RTT in µs, and the burst: 1.2 windows per RTT (tcp_pacing_ca_ratio) for 1/1024 s, plus
        // 65,279 bytes halved once for each 512 µs, in segments of 1,448 bytes.
        let cases = [
            (100, 100_000, 2),   // 1.17 segments, but two at least
            (1000, 100_000, 11), // 11.7 segments
            (4000, 100_000, 45), // 46.9 segments, limited by the buffer of 45
            (10, 100, 45),       // 117 segments
            (10, 1000, 34),      // 11.7 segments and half of 45.08
            (100, 4000, 29),     // 29.3 segments and 1/128 of 45.08
        ];
        for (window, rtt_us, burst) in cases {
            let bench = Bench::start(window, rtt_us, None);
            assert_eq!(bench.wire.sent.len(), window as usize, "the first window leaves at once");
            assert_eq!(bench.sender.largest_burst(), burst, "window {window}, RTT {rtt_us} µs");
        }
    }

    #[test]
    fn a_small_burst_is_deferred_until_further_acks_arrive() {
        let mut bench = Bench::start(30, 10_000, None);
        assert_eq!(bench.acknowledge(9, 10_000), 9, "three bursts of three segments");
        assert_eq!(bench.acknowledge(10, 10_500), 0);
        assert_eq!(bench.acknowledge(11, 10_600), 0, "two segments are less than a burst of three");
        assert_eq!(bench.acknowledge(12, 10_700), 3, "the burst is complete");
    }

    #[test]
    fn no_burst_is_deferred_more_than_a_millisecond_after_the_last() {
        for (at_us, sent) in [(11_000, 0), (11_001, 1)] {
            let mut bench = Bench::start(30, 10_000, None);
            assert_eq!(bench.acknowledge(9, 10_000), 9);
            assert_eq!(bench.acknowledge(10, at_us), sent, "at {at_us} µs");
        }
    }

    #[test]
    fn a_burst_of_a_third_of_the_window_is_not_deferred() {
        let mut bench = Bench::start(30, 1000, None);
        assert_eq!(bench.sender.largest_burst(), 45);
        assert_eq!(bench.acknowledge(9, 1000), 0);
        assert_eq!(bench.acknowledge(10, 1010), 10);
    }

    #[test]
    fn no_burst_is_deferred_for_an_ack_that_is_expected_later() {
        let mut bench = Bench::start(30, 4000, None);
        assert_eq!(bench.sender.largest_burst(), 9);
        assert_eq!(bench.acknowledge(29, 4000), 27, "two more segments wait for the ACK of segment 29, which is due");
        assert_eq!(bench.acknowledge(30, 4500), 3, "segment 30 left at 4 ms, so its ACK is due at 8 ms");
    }

    #[test]
    fn the_last_data_of_a_transfer_are_not_deferred_if_the_window_has_room_for_them() {
        for (size, sent) in [(Some(41), 2), (None, 0)] {
            let mut bench = Bench::start(30, 4000, size);
            assert_eq!(bench.acknowledge(9, 4000), 9);
            assert_eq!(bench.acknowledge(10, 4100), 0, "the window has room for one segment");
            assert_eq!(bench.acknowledge(12, 4200), sent, "{size:?}");
        }
    }

    #[test]
    fn buffers_are_smaller_before_the_first_ack() {
        let mut bursts = Bursts::new(&StackSpec::linux());
        assert_eq!(bursts.end_of_buffer(5), 27, "the application fills the head of the queue after each burst");
        bursts.lay_out(10, 1448);
        let ends = [10, 31, 32, 53, 54].map(|next| bursts.end_of_buffer(next));
        assert_eq!(ends, [32, 32, 54, 54, 76], "half of 65,535 bytes has 22 segments");
        let written = 10 + 214 * 22;
        let ends = [written - 1, written, written + 44, written + 45].map(|next| bursts.end_of_buffer(next));
        assert_eq!(ends, [written, written + 45, written + 45, written + 90], "65,279 bytes have 45 segments");
    }

    #[test]
    fn a_small_receive_window_makes_small_buffers() {
        let bursts = Bursts::new(&StackSpec { receive_window: Some(20), ..StackSpec::linux() });
        assert_eq!((bursts.first, bursts.full), (10, 10), "half of the window (tcp_bound_to_half_wnd)");
    }

    #[test]
    fn a_stack_without_offload_sends_each_segment_at_once() {
        let mut bench = Bench::start(30, 10_000, None);
        bench.sender.bursts.active = false;
        assert_eq!(bench.acknowledge(9, 10_000), 9);
        assert_eq!(bench.acknowledge(10, 10_500), 1);
    }
}
