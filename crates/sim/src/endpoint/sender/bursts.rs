//! Bursts of a sender with segmentation offload, as Linux 6.12 makes them (`tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`): their size, and the wait of a small one for more ACKs.

use elephan_cc::Algorithm;

use super::core::Sender;
use super::pace::Limit;
use super::repair::State;
use crate::endpoint::boundary::Outlet;
use crate::time::Time;

/// Largest buffer that Linux hands to a device at once, bytes of payload: 64 KiB without room for headers.
const LARGEST_BYTES: u32 = 65_279;
/// A burst has the data of 2^-10 s at the pacing rate (`sk_pacing_shift`).
const BURSTS_A_SECOND: f64 = 1024.0;
/// The share of [`LARGEST_BYTES`] that comes on top halves with each 2^9 µs of the smallest RTT (`tcp_tso_rtt_log`).
const HALVED_EACH_US: f64 = 512.0;
/// Smallest burst, segments (`tcp_min_tso_segs`); of an algorithm that paces, below a rate of 1.2 Mbit/s, one.
const SMALLEST: u32 = 2;
const SLOW_BPS: f64 = 1.2e6;
/// A burst that would be smaller than this share of the window may wait (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// No burst waits longer than this after the last one, or for an ACK that is farther away.
const PATIENCE: Time = Time::MILLISECOND;

/// Burst under construction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// True if the stack has segmentation offload.
    pub(super) active: bool,
    /// When something was last sent.
    pub(super) last: Time,
    /// First segment behind the buffer at the head of the queue of unsent data.
    buffer_end: u32,
}

impl Bursts {
    pub(super) fn new(active: bool) -> Self {
        Self { active, ..Self::default() }
    }
}

impl Sender {
    /// Sends what the window allows, in bursts and at most `most` of them: lost segments first, then new data. Returns the number of
    /// segments.
    #[inline(never)]
    pub(super) fn transmit_in_bursts(&mut self, most: Option<u32>, now: Time, out: &mut impl Outlet) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        let held_back = !self.stack.limited_transmit && self.board.sacked() > 0 && self.repair.is_open();
        let (mut sent, mut waits) = (0, held_back);
        if !held_back && room > 0 {
            let mut bursts = 0;
            if self.board.lost() > 0 {
                sent = self.repair(if most.is_some() { room.min(self.largest_burst()) } else { room }, now, out);
                if sent > 0 {
                    (self.bursts.last, bursts) = (now, 1);
                }
            }
            while sent < room && !waits && most.is_none_or(|most| bursts < most) {
                match self.send_burst(room - sent, now, out) {
                    Burst::Sent(segments) => (sent, bursts) = (sent + segments, bursts + 1),
                    Burst::Waits => waits = true,
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

    /// Sends one burst of new data in a window with room for `room` segments.
    pub(super) fn send_burst(&mut self, room: u32, now: Time, out: &mut impl Outlet) -> Burst {
        let (window, largest) = (self.allowance(), self.largest_burst());
        let quota = room.min((window / 2).max(1)).min(largest);
        // The buffer at the head takes data of the next one until it is as large as the burst may be.
        if self.bursts.buffer_end <= self.next {
            self.bursts.buffer_end = self.next - self.next % self.buffer_segments() + self.buffer_segments();
        }
        self.bursts.buffer_end = self.bursts.buffer_end.max(self.next.saturating_add(quota)).min(self.end);
        let buffered = self.bursts.buffer_end.saturating_sub(self.next);
        if buffered > 1 && self.may_wait(now, room, window, largest, buffered) {
            return Burst::Waits;
        }
        match self.send_new(quota.min(buffered), now, out) {
            0 => Burst::Nothing,
            segments => {
                self.bursts.last = now;
                Burst::Sent(segments)
            }
        }
    }

    /// True if a burst in a window with room for `room` segments waits for more.
    fn may_wait(&self, now: Time, room: u32, window: u32, largest: u32, buffered: u32) -> bool {
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
        // The end of a transfer waits for nothing but room.
        limit <= buffered || self.application.as_ref().is_some_and(|application| !application.is_complete())
    }

    /// Segments of a full buffer.
    fn buffer_segments(&self) -> u32 {
        (LARGEST_BYTES / self.stack.payload_bytes).max(1)
    }

    /// Largest burst at the present rate, segments.
    pub(super) fn largest_burst(&self) -> u32 {
        let payload = f64::from(self.stack.payload_bytes);
        let rate = if self.needs.pacing { self.algorithm.pacing_rate() } else { self.window_rate() };
        let Some(bytes_per_s) = rate.map(|segments| segments * payload) else { return self.buffer_segments() };
        let smallest = if self.needs.pacing && bytes_per_s * 8.0 < SLOW_BPS { 1 } else { SMALLEST };
        let halvings = (self.min_rtt.get().min(self.rack.handshake) * 1e6 / HALVED_EACH_US) as u32;
        let extra = LARGEST_BYTES.checked_shr(halvings).unwrap_or(0);
        let bytes = (bytes_per_s / BURSTS_A_SECOND).floor() + f64::from(extra);
        ((bytes.min(f64::from(LARGEST_BYTES)) / payload) as u32).max(smallest)
    }

    /// Rate that Linux gives a socket whose algorithm has none, segments/s (`tcp_update_pacing_rate`).
    pub(super) fn window_rate(&self) -> Option<f64> {
        let outstanding = f64::from(self.next - self.board.una());
        (self.rto.srtt > 0.0).then(|| self.pace_factor() * self.stats.cwnd.max(outstanding) / self.rto.srtt)
    }
}

/// Outcome of a burst.
#[derive(Clone, Copy, Debug)]
pub(super) enum Burst {
    /// So many segments left.
    Sent(u32),
    /// It waits for more ACKs.
    Waits,
    /// There is no data, or the receiver lets none be outstanding.
    Nothing,
}
