//! Bursts of a sender with segmentation offload, as in Linux 6.12 (`tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`): the size of a burst, and the deferral of a small burst until further ACKs arrive.

use elephan_cc::Algorithm;

use super::bursts::{LARGEST_BYTES, Place};
use super::core::Sender;
use super::pace::Limit;
use super::pacing::{AVOIDANCE_FACTOR, SLOW_START_FACTOR};
use crate::endpoint::boundary::Outlet;
use crate::time::Time;

/// A burst carries the data of 2^-10 s at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;
/// Upper bound of the relative rounding error of a calculated rate, plus one.
const ROUNDING: f64 = 1.0 + 1e-9;
/// A fraction of [`LARGEST_BYTES`] is added to a burst. The fraction halves with each 2^9 µs of the smallest RTT
/// (`tcp_tso_rtt_log`).
const HALVED_EACH_US: f64 = 512.0;
/// Smallest RTT, s, from which the fraction is zero: more than 16 times 2^9 µs.
const LONG_RTT_S: f64 = 0.0082;
/// Corrects a number of microseconds that rounding put just below a whole number.
const WHOLE: f64 = 1e-3;
/// Corrects a number of bytes that rounding put just below a whole number; Linux's rates are whole bytes per second.
const WHOLE_BYTE: f64 = 1e-6;
/// Smallest burst, segments (`tcp_min_tso_segs`). Algorithms that pace send single segments below 1.2 Mbit/s
/// (`bbr_min_tso_segs`).
const SMALLEST: u32 = 2;
const SLOW_BPS: f64 = 1.2e6;
/// Divisor of the window for deferral: a burst of less than 1/3 of the window may be deferred (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// A burst is deferred only if the last burst left at most this long ago, and the next ACK is expected within this time.
const PATIENCE: Time = Time::MILLISECOND;

impl Sender {
    /// Sends the segments that the window allows in at most `most` bursts: lost segments first, then new data. Returns
    /// the number of segments.
    #[inline(never)]
    pub(super) fn transmit_in_bursts(&mut self, most: Option<u32>, now: Time, out: &mut impl Outlet) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let window = self.allowance();
        let room = window.saturating_sub(in_flight).min(self.max_burst);
        // Without pacing, all of the small bursts leave at once.
        let held_back = (self.board.sacked() > 0 && !self.stack.limited_transmit && self.repair.is_open())
            || (most.is_none() && !self.has_memory_for(self.past_new(room), out));
        let (mut sent, mut waits, mut deferred_by) = (0, held_back, None);
        let (una, new) = (self.board.una(), self.next);
        if !held_back && room > 0 {
            let (first, mut bursts) = (self.next, 0);
            if self.board.lost() > 0 && !self.repair.sends_new {
                let segments = if most.is_some() { self.within_burst(room, first) } else { room };
                sent = self.repair(segments, most.is_some(), now, out);
                if sent > 0 {
                    (self.bursts.last, bursts) = (now, 1);
                }
            }
            waits |= self.repair.by_timer;
            while sent < room && !waits && most.is_none_or(|most| bursts < most) {
                match self.send_burst((room - sent, window), first, now, out) {
                    Burst::Sent(segments) => (sent, bursts) = (sent + segments, bursts + 1),
                    Burst::Deferred { by } => (waits, deferred_by) = (true, by),
                    Burst::Nothing => break,
                }
            }
            waits |= most == Some(bursts);
        }
        let limit = if sent == room || waits { Limit::Window } else { self.other_limit(now) };
        if self.validates_window() {
            let by_window = deferred_by == Some(Limit::Window) || sent >= room;
            if by_window || self.next > new {
                self.window_use.validate(by_window, una, self.next);
            }
        } else {
            self.window_use.stopped(limit == Limit::Window);
            self.window_use.note_in_flight(in_flight + sent);
        }
        // The receive window also limits a sender whose next burst waits until that window is larger
        // (`TCP_CHRONO_RWND_LIMITED`).
        self.stats.note_send(limit == Limit::Receiver || deferred_by == Some(Limit::Receiver));
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_sent(sent);
        }
        sent
    }

    /// Sends one burst of new segments if the window of `window` segments has room for `room` segments; `first` is the
    /// argument of [`within_burst`](Self::within_burst).
    fn send_burst(&mut self, (room, window): (u32, u32), first: u32, now: Time, out: &mut impl Outlet) -> Burst {
        let quota = self.within_burst(room.min((window / 2).max(1)), first);
        self.bursts.fill_head(self.next, quota, self.end);
        let payload = u64::from(self.stack.payload_bytes);
        let head = self.bursts.head_bytes(self.next);
        if head > payload && self.is_deferred(now, room, window, first, head) {
            let (congestion, receiver) = (u64::from(room) * payload, self.receiver_bytes());
            let (least, by) =
                if congestion < receiver { (congestion, Limit::Window) } else { (receiver, Limit::Receiver) };
            return Burst::Deferred { by: (least <= head).then_some(by) };
        }
        let begin = self.next;
        match self.send_new(quota.min(self.bursts.buffer_end.0.saturating_sub(self.next)), now, out) {
            0 => Burst::Nothing,
            mut segments => {
                if segments < quota {
                    segments += self.send_part(now, out);
                }
                if self.pace.is_active() && self.bursts.last == now {
                    self.repair.note_joint(begin, self.board.una());
                }
                (self.bursts.last, self.bursts.count) = (now, self.bursts.count.saturating_add(1));
                Burst::Sent(segments)
            }
        }
    }

    /// Sends the part of a segment that fills the receive window, or that is the last of the buffer at the head, if no
    /// other part is outstanding (`tcp_mss_split_point`). Returns the number of parts.
    #[inline]
    fn send_part(&mut self, now: Time, out: &mut impl Outlet) -> u32 {
        if !self.announced.allows_part() {
            return 0;
        }
        let left = self.receiver_bytes().min(self.bursts.head_bytes(self.next));
        if left == 0 || left >= u64::from(self.stack.payload_bytes) {
            return 0;
        }
        let part = self.next;
        self.announced.split(part, left as u32, &mut self.receive_window);
        self.bursts.note_part(self.announced.missing_in(part));
        self.send_new(1, now, out)
    }

    /// Bytes of new data that the receive window allows.
    #[inline(always)]
    fn receiver_bytes(&self) -> u64 {
        let edge = self.board.una() + self.receive_window;
        match edge.checked_sub(self.next) {
            Some(whole) => u64::from(whole) * u64::from(self.stack.payload_bytes) + u64::from(self.announced.rest()),
            None => 0,
        }
    }

    /// True if the use of the window is recorded by Linux's rule. The rule of senders that pace stops at the pacing rate.
    #[inline(always)]
    pub(super) fn validates_window(&self) -> bool {
        self.rules.window_validation && self.bursts.active && !self.pace.is_active()
    }

    /// Records a transmission of new segments that no burst has sent.
    pub(super) fn validate_window(&mut self) {
        if self.validates_window() {
            let by_window = self.board.in_flight(self.next) >= self.allowance();
            self.window_use.validate(by_window, self.board.una(), self.next);
        }
    }

    /// True if a burst is deferred while the window has room for `room` segments. The buffer at the head has `head`
    /// bytes.
    fn is_deferred(&self, now: Time, room: u32, window: u32, first: u32, head: u64) -> bool {
        if !self.repair.is_before_recovery() || now > self.bursts.last + PATIENCE {
            return false;
        }
        let una = self.board.una();
        let payload = u64::from(self.stack.payload_bytes);
        let limit = self.receiver_bytes().min(u64::from(room) * payload);
        let is_last = self.bursts.buffer_end >= Place(self.end, 0);
        let share = u64::from(window.min(self.receive_window)) * payload / WINDOW_DIVISOR;
        if (!is_last && limit >= head) || limit >= share {
            return false;
        }
        let Some(sent) = self.rack.sent_at.get(una.into()).filter(|_| una < self.next) else { return false };
        let srtt = self.rto.smoothed();
        if (sent + srtt).since(now) > PATIENCE.min(Time(srtt.0 / 2)) {
            return false;
        }
        let segments = room.min((una + self.receive_window).saturating_sub(self.next));
        if self.within_burst(segments.saturating_add(1), first) <= segments {
            return false;
        }
        // The last data of a transfer are deferred only if the window is too small for them.
        limit <= head || self.application.as_ref().is_some_and(|application| !application.is_complete())
    }

    /// The smaller of `segments` and the largest burst at the current rate. `first` is the first new segment of this
    /// transmission, since Linux sets the rate before it sends.
    #[inline(always)]
    fn within_burst(&self, segments: u32, first: u32) -> u32 {
        let slowest = if self.needs.pacing { 1 } else { SMALLEST.min(self.bursts.full) };
        if segments <= slowest || self.is_within_lowest_rate(segments) {
            return segments;
        }
        if self.is_rate_of_smallest(first) {
            return segments.min(SMALLEST);
        }
        self.within_rate(segments, first)
    }

    /// True if a lower bound of the window's rate is sufficient for a burst of `segments`. This test needs no division,
    /// and is true for most bursts of large windows.
    #[inline(always)]
    fn is_within_lowest_rate(&self, segments: u32) -> bool {
        let srtt = self.rto.srtt;
        let needed = f64::from(segments) * (BURSTS_PER_SECOND * ROUNDING) * srtt;
        !self.needs.pacing
            && srtt > 0.0
            && AVOIDANCE_FACTOR * self.stats.cwnd >= needed
            && segments.saturating_mul(self.stack.payload_bytes) <= LARGEST_BYTES
    }

    /// True if an upper bound of the window's rate allows only the smallest bursts. This test needs no division, and is
    /// true for most bursts of small windows.
    #[inline(always)]
    fn is_rate_of_smallest(&self, first: u32) -> bool {
        let fewest = f64::from(SMALLEST + 1) * BURSTS_PER_SECOND * self.rto.srtt;
        let window = self.stats.cwnd.max(f64::from(first - self.board.una()));
        !self.needs.pacing && SLOW_START_FACTOR * ROUNDING * window < fewest && self.smallest_rtt() >= LONG_RTT_S
    }

    #[inline(never)]
    fn within_rate(&self, segments: u32, first: u32) -> u32 {
        let payload = self.stack.payload_bytes;
        let rate = if self.needs.pacing { self.algorithm.pacing_rate() } else { self.window_rate(first) };
        let Some(bytes_per_s) = rate.map(|segments| segments * f64::from(payload)) else {
            return segments.min(self.bursts.full);
        };
        let halvings = ((self.smallest_rtt() * 1e6 + WHOLE) / HALVED_EACH_US) as u32;
        let extra = LARGEST_BYTES.checked_shr(halvings).unwrap_or(0);
        let bytes = ((bytes_per_s / BURSTS_PER_SECOND + WHOLE_BYTE) as u32).saturating_add(extra).min(LARGEST_BYTES);
        if segments.saturating_mul(payload) <= bytes {
            return segments;
        }
        let smallest = if self.needs.pacing && bytes_per_s * 8.0 < SLOW_BPS { 1 } else { SMALLEST };
        segments.min((bytes / payload).max(smallest))
    }

    /// Pacing rate that Linux gives a socket whose algorithm has none, segments/s (`tcp_update_pacing_rate`).
    /// `next` is the first segment that was not sent.
    pub(super) fn window_rate(&self, next: u32) -> Option<f64> {
        let outstanding = f64::from(next - self.board.una());
        (self.rto.srtt > 0.0).then(|| self.pace_factor() * self.stats.cwnd.max(outstanding) / self.rto.srtt)
    }
}

/// Outcome of a burst.
#[derive(Clone, Copy, Debug)]
enum Burst {
    /// This number of segments left.
    Sent(u32),
    /// The burst is deferred until further ACKs arrive, because of one of the two windows or for another reason.
    Deferred { by: Option<Limit> },
    /// There is no new data, or the receive window is full.
    Nothing,
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::Bench;
    use crate::endpoint::boundary::EndpointState;
    use crate::packet::{Packet, flag};

    fn largest_burst(bench: &Bench) -> u32 {
        bench.sender.within_burst(u32::MAX, bench.sender.next)
    }

    #[test]
    fn a_burst_carries_a_millisecond_of_the_pacing_rate_and_more_on_a_short_path() {
        // Window in segments, RTT in µs, and the burst: 1.2 windows per RTT (tcp_pacing_ca_ratio) for 1/1024 s, plus
        // 65,343 bytes halved once for each 512 µs, in segments of 1,448 bytes.
        let cases = [
            (100, 100_000, 2),   // 1.17 segments, but two at least
            (1000, 100_000, 11), // 11.7 segments
            (4000, 100_000, 45), // 46.9 segments, limited by the buffer of 45
            (10, 100, 45),       // 117 segments
            (64, 25_000, 3),     // 3 segments exactly
            (10, 1000, 34),      // 11.7 segments and half of 45.08
            (100, 4000, 29),     // 29.3 segments and 1/128 of 45.08
        ];
        for (window, rtt_us, burst) in cases {
            let bench = Bench::start(window, rtt_us, None);
            assert_eq!(bench.wire.sent.len(), window as usize, "the first window leaves at once");
            assert_eq!(largest_burst(&bench), burst, "window {window}, RTT {rtt_us} µs");
        }
    }

    #[test]
    fn the_test_without_a_division_accepts_only_bursts_that_the_rate_allows() {
        let mut accepted = 0;
        for (window, rtt_us) in [(10, 1000), (100, 4000), (100, 100_000), (1000, 100_000), (4000, 100_000)] {
            let sender = Bench::start(window, rtt_us, None).sender;
            for segments in (1..50).filter(|&segments| sender.is_within_lowest_rate(segments)) {
                assert_eq!(sender.within_rate(segments, sender.next), segments, "window {window}, RTT {rtt_us} µs");
                accepted += 1;
            }
        }
        assert!(accepted > 50, "{accepted} bursts");
    }

    #[test]
    fn the_test_for_the_smallest_bursts_accepts_only_rates_that_allow_no_others() {
        let mut accepted = 0;
        for (window, rtt_us) in [(10, 8000), (10, 9000), (40, 20_000), (76, 50_000), (100, 50_000), (4000, 100_000)] {
            let sender = Bench::start(window, rtt_us, None).sender;
            if sender.is_rate_of_smallest(sender.next) {
                assert_eq!(sender.within_rate(u32::MAX, sender.next), 2, "window {window}, RTT {rtt_us} µs");
                accepted += 1;
            }
        }
        assert_eq!(accepted, 2, "10 in 9 ms, 76 in 50 ms");
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
    fn a_tail_loss_probe_counts_as_the_last_transmission() {
        for (after_us, sent) in [(900, 0), (1100, 1)] {
            let mut bench = Bench::start(10, 4000, None);
            let probe_us = bench.sender.timer().0 / 1_000_000;
            assert!((8000..20_000).contains(&probe_us), "{probe_us} µs");
            assert_eq!(bench.acknowledge(2, probe_us + after_us), sent, "{after_us} µs after the probe");
            assert_eq!(bench.wire.sent.len(), 11 + sent, "with the probe");
        }
    }

    #[test]
    fn a_burst_of_a_third_of_the_window_is_not_deferred() {
        let mut bench = Bench::start(30, 1000, None);
        assert_eq!(largest_burst(&bench), 45);
        assert_eq!(bench.acknowledge(9, 1000), 0);
        assert_eq!(bench.acknowledge(10, 1010), 10);
    }

    #[test]
    fn no_burst_is_deferred_for_an_ack_that_is_expected_later() {
        let mut bench = Bench::start(30, 4000, None);
        assert_eq!(largest_burst(&bench), 9);
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
    fn the_last_segment_of_a_burst_and_of_a_transfer_are_pushed_if_the_application_reads_at_once() {
        for pushes in [true, false] {
            let mut bench = Bench::start(30, 10_000, Some(37));
            bench.sender.bursts.pushes = pushes;
            assert_eq!(bench.acknowledge(9, 10_000), 7, "two bursts of three segments, and the last segment");
            let pushed = bench.wire.sent.iter().filter(|packet| packet.flags() & flag::PUSH != 0);
            let segments: Vec<u32> = pushed.map(Packet::segment).collect();
            assert_eq!(segments, if pushes { vec![32, 35, 36] } else { vec![] });
        }
    }

    #[test]
    fn a_stack_without_offload_sends_each_segment_at_once() {
        let mut bench = Bench::start(30, 10_000, None);
        bench.sender.bursts.active = false;
        assert_eq!(bench.acknowledge(9, 10_000), 9);
        assert_eq!(bench.acknowledge(10, 10_500), 1);
    }
}
