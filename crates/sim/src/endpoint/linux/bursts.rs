//! Transmission in bursts, as a sender of Linux 6.12 with segmentation offload sends (`tcp_write_xmit`), and its record of the
//! use of the window (`tcp_cwnd_validate`).

use super::constants::TSO_WIN_DIVISOR;
use super::send_buffer::Place;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::sender::Sender;
use crate::endpoint::sender::transmit::{Batch, Limit};
use crate::spec::HostRule;
use crate::time::Time;

/// A burst is deferred only if the last burst left at most this long ago, and the next ACK is expected within this time.
const PATIENCE: Time = Time::MILLISECOND;

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

/// Segments of a transmission, and the reason for its end.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    segments: u32,
    /// True if it waits for something other than the receiver or the application.
    waits: bool,
    deferred_by: Option<Limit>,
}

impl Sender {
    /// Sends the segments that the window allows in at most `most` bursts: lost segments first, then new data. Returns
    /// the number of segments.
    #[inline(never)]
    pub(in crate::endpoint) fn transmit_in_bursts(
        &mut self,
        most: Option<u32>,
        now: Time,
        out: &mut impl Outlet,
    ) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let window = self.allowance();
        let room = window.saturating_sub(in_flight).min(self.max_burst);
        let (una, new) = (self.board.una(), self.next);
        // Without pacing, all of the small bursts leave at once.
        let held_back = self.holds_back() || (most.is_none() && !self.has_memory_for(self.past_new(room), out));
        let sent = if held_back || room == 0 {
            Sent { waits: held_back, ..Sent::default() }
        } else {
            self.send_bursts(most, (room, window), now, out)
        };
        let by_window = sent.segments == room || sent.waits;
        let limit = if by_window { Limit::Window } else { self.other_limit(now) };
        if self.validates_window() {
            let by_window = sent.deferred_by == Some(Limit::Window) || sent.segments >= room;
            if by_window || self.next > new {
                self.window_use.validate(by_window, una, self.next);
            }
        } else {
            self.window_use.stopped(limit == Limit::Window);
            self.window_use.note_in_flight(in_flight + sent.segments);
        }
        // The receive window also limits a sender whose next burst waits until that window is larger
        // (`TCP_CHRONO_RWND_LIMITED`).
        self.stats.note_send();
        if limit == Limit::Receiver || sent.deferred_by == Some(Limit::Receiver) {
            self.stats.note_receiver_limited();
        }
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_sent(sent.segments);
        }
        sent.segments
    }

    /// Sends at most `most` bursts of `room` segments in all, in a window of `window` segments.
    #[inline(always)]
    fn send_bursts(&mut self, most: Option<u32>, (room, window): (u32, u32), now: Time, out: &mut impl Outlet) -> Sent {
        let (first, mut bursts, mut sent) = (self.next, 0, Sent::default());
        if self.board.lost() > 0 && !self.repair.sends_new() {
            let paced = most.is_some();
            let segments = if paced { self.within_burst(room, first) } else { room };
            sent.segments = self.repair(segments, if paced { Batch::OneBuffer } else { Batch::Any }, now, out);
            if sent.segments > 0 {
                self.pace.on_transmission(now);
                bursts = 1;
            }
        }
        sent.waits = self.by_timer;
        while sent.segments < room && !sent.waits && most.is_none_or(|most| bursts < most) {
            match self.send_burst((room - sent.segments, window), first, now, out) {
                Burst::Sent(segments) => (sent.segments, bursts) = (sent.segments + segments, bursts + 1),
                Burst::Deferred { by } => (sent.waits, sent.deferred_by) = (true, by),
                Burst::Nothing => break,
            }
        }
        sent.waits |= most == Some(bursts);
        sent
    }

    /// Sends one burst of new segments if the window of `window` segments has room for `room` segments; `first` was the next
    /// segment at the start of this transmission, before which Linux sets the rate.
    #[inline(always)]
    fn send_burst(&mut self, (room, window): (u32, u32), first: u32, now: Time, out: &mut impl Outlet) -> Burst {
        let quota = self.within_burst(room.min((window / 2).max(1)), first);
        self.buffer.fill_head(self.next, quota, self.end);
        let payload = u64::from(self.stack.payload_bytes);
        let head = self.buffer.head_bytes(self.next);
        if head > payload && self.repair.is_before_recovery() && now <= self.pace.last() + PATIENCE {
            let (congestion, receiver) = (u64::from(room) * payload, self.receiver_bytes());
            let (least, by) =
                if congestion < receiver { (congestion, Limit::Window) } else { (receiver, Limit::Receiver) };
            if self.is_deferred(now, (room, window), first, (head, least)) {
                return Burst::Deferred { by: (least <= head).then_some(by) };
            }
        }
        let begin = self.next;
        let mut segments = self.send_new(quota.min(self.buffer.head().0.saturating_sub(begin)), now, out);
        if segments == 0 {
            return Burst::Nothing;
        }
        if segments < quota {
            segments += self.send_part(now, out);
        }
        if self.pace.is_active() && self.pace.last() == now {
            self.buffer.on_joint(begin, self.board.una());
        }
        self.pace.on_transmission(now);
        self.buffer.on_burst();
        Burst::Sent(segments)
    }

    /// Segments of the next burst while the window of `window` segments has room for `room` segments; 0 if it is deferred.
    pub(in crate::endpoint) fn next_burst(&mut self, (room, window): (u32, u32), now: Time) -> u32 {
        let first = self.next;
        let quota = self.within_burst(room.min((window / 2).max(1)), first);
        self.buffer.fill_head(first, quota, self.end);
        let payload = u64::from(self.stack.payload_bytes);
        let head = self.buffer.head_bytes(first);
        if head > payload && self.repair.is_before_recovery() && now <= self.pace.last() + PATIENCE {
            let limit = self.receiver_bytes().min(u64::from(room) * payload);
            if self.is_deferred(now, (room, window), first, (head, limit)) {
                return 0;
            }
        }
        quota.min(self.buffer.head().0.saturating_sub(first))
    }

    /// Sends the part of a segment that fills the receive window, or that is the last of the buffer at the head, if no
    /// other part is outstanding (`tcp_mss_split_point`). Returns the number of parts.
    #[inline]
    fn send_part(&mut self, now: Time, out: &mut impl Outlet) -> u32 {
        if !self.announced.allows_part() {
            return 0;
        }
        let left = self.receiver_bytes().min(self.buffer.head_bytes(self.next));
        if left == 0 || left >= u64::from(self.stack.payload_bytes) {
            return 0;
        }
        self.announced.split(self.next, left as u32);
        self.buffer.note_part(self.announced.missing_in(self.next));
        self.send_new(1, now, out)
    }

    /// Bytes of new data that the receive window allows.
    fn receiver_bytes(&self) -> u64 {
        self.announced.bytes_from(self.board.una(), self.next)
    }

    /// True if a burst is deferred soon after the last one, while the window has room for `room` segments
    /// (`tcp_tso_should_defer`). The buffer at the head has `head` bytes, and the windows allow `limit` bytes.
    #[inline(always)]
    fn is_deferred(&self, now: Time, (room, window): (u32, u32), first: u32, (head, limit): (u64, u64)) -> bool {
        let (una, receive_window) = (self.board.una(), self.announced.window());
        let payload = u64::from(self.stack.payload_bytes);
        let is_last = self.buffer.head() >= Place(self.end, 0);
        let share = u64::from(window.min(receive_window)) * payload / TSO_WIN_DIVISOR;
        if (!is_last && limit >= head) || limit >= share {
            return false;
        }
        let Some(sent) = self.rack.sent(una).filter(|_| una < self.next) else { return false };
        let srtt = self.rtt.smoothed();
        if (sent + srtt).since(now) > PATIENCE.min(Time(srtt.0 / 2)) {
            return false;
        }
        let segments = room.min((una + receive_window).saturating_sub(self.next));
        if self.within_burst(segments.saturating_add(1), first) <= segments {
            return false;
        }
        // The last data of a transfer are deferred only if the window is too small for them.
        limit <= head || self.application.as_ref().is_some_and(|application| !application.is_complete())
    }

    /// True if the use of the window is recorded by Linux's rule. The rule of senders that pace stops at the pacing rate.
    pub(in crate::endpoint) fn validates_window(&self) -> bool {
        self.rules.has(HostRule::WindowValidation) && self.buffer.is_offloaded() && !self.pace.is_active()
    }

    /// Records a transmission of new segments that no burst has sent.
    pub(in crate::endpoint) fn validate_window(&mut self) {
        if self.validates_window() {
            let by_window = self.board.in_flight(self.next) >= self.allowance();
            self.window_use.validate(by_window, self.board.una(), self.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::Bench;
    use crate::endpoint::boundary::EndpointState;
    use crate::packet::{Packet, flag};
    use crate::spec::StackSpec;

    fn largest_burst(bench: &Bench) -> u32 {
        bench.sender.within_burst(u32::MAX, bench.sender.next)
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
            let stack = StackSpec { reads_at_once: pushes, ..StackSpec::linux() };
            let mut bench = Bench::start_stack(30, 10_000, Some(37), stack);
            assert_eq!(bench.acknowledge(9, 10_000), 7, "two bursts of three segments, and the last segment");
            let burst = bench.wire.sent.iter().filter(|packet| packet.segment() >= 30);
            let pushed = burst.filter(|packet| packet.flags() & flag::PUSH != 0);
            let segments: Vec<u32> = pushed.map(Packet::segment).collect();
            assert_eq!(segments, if pushes { vec![32, 35, 36] } else { vec![] });
        }
    }

    #[test]
    fn a_stack_without_offload_sends_each_segment_at_once() {
        let mut bench = Bench::start_stack(30, 10_000, None, StackSpec { tso: false, ..StackSpec::linux() });
        assert_eq!(bench.acknowledge(9, 10_000), 9);
        assert_eq!(bench.acknowledge(10, 10_500), 1);
    }
}
