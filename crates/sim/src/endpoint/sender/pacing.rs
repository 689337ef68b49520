//! Pacing: segments leave one by one, at the rate of the algorithm or of the endpoint.

use elephan_cc::Algorithm;

use super::core::Sender;
use super::pace::{Limit, Limits};
use crate::endpoint::boundary::Outlet;
use crate::endpoint::jiffies::Interrupts;
use crate::time::Time;

/// Linux's pacing rate in units of window/RTT: 2 in slow start and 1.2 afterwards (`tcp_pacing_ss_ratio`,
/// `tcp_pacing_ca_ratio`).
pub(super) const SLOW_START_FACTOR: f64 = 2.0;
pub(super) const AVOIDANCE_FACTOR: f64 = 1.2;
/// Number of segments at the start of a flow that Linux does not pace (`TCP_INIT_CWND`).
const UNPACED_SEGMENTS: u32 = 10;

impl Sender {
    /// Pacing rate, segments/s; `None` while it is unknown.
    fn pace_rate(&self) -> Option<f64> {
        if self.needs.pacing {
            return self.algorithm.pacing_rate();
        }
        if self.bursts.active {
            return self.window_rate(self.next);
        }
        (self.rto.srtt > 0.0).then(|| self.pace_factor() * self.stats.cwnd.max(1.0) / self.rto.srtt)
    }

    /// Pacing rate for an algorithm that has none, as a multiple of one window for each round trip.
    pub(super) fn pace_factor(&self) -> f64 {
        if self.stats.cwnd < self.algorithm.ssthresh() / 2.0 { SLOW_START_FACTOR } else { AVOIDANCE_FACTOR }
    }

    /// Sends the segments that the window and the pacing rate allow, after an event that may have changed either.
    #[inline(never)]
    pub(super) fn transmit_paced(&mut self, now: Time, out: &mut impl Outlet) {
        self.pace.wake = Time::NEVER;
        let Some(rate) = self.pace_rate() else {
            self.transmit_unpaced(now, out);
            return;
        };
        self.pace.limits = Limits { rate, allowance: self.allowance() };
        if self.bursts.active {
            self.release_bursts(now, out);
        } else {
            self.release(now, out);
        }
    }

    /// Sends the segments that the last limits allow.
    #[inline(always)]
    fn release(&mut self, now: Time, out: &mut impl Outlet) {
        if self.is_plain_sailing() {
            self.release_plainly(now, out);
        } else {
            self.release_with_care(now, out);
        }
    }

    /// Fast path of [`Sender::release`]: no segment must be repaired or counted.
    #[inline(always)]
    fn release_plainly(&mut self, now: Time, out: &mut impl Outlet) {
        loop {
            let in_flight = self.next - self.board.una();
            let room = self.pace.limits.allowance.saturating_sub(in_flight).min(1);
            if room > 0 && now < self.pace.next && self.next < self.end {
                return self.wait_for_pace();
            }
            if self.transmit_plainly(room, in_flight, now, out) == 0 {
                return;
            }
            self.pace.note_sent(now);
            if self.needs.sends {
                self.pace.limits.allowance = self.allowance();
            }
        }
    }

    /// Waits for the pacing timer: the window and the application would allow more segments, so pacing is the limit.
    #[inline(always)]
    fn wait_for_pace(&mut self) {
        self.pace.wake = self.pace.next;
        self.timer = self.timer.min(self.pace.wake);
        self.set_limit(Limit::Window);
    }

    /// Slow path of [`Sender::release`]: some segments may have to be repaired or counted.
    #[inline(never)]
    fn release_with_care(&mut self, now: Time, out: &mut impl Outlet) {
        let mut in_flight = self.board.in_flight(self.next);
        loop {
            let room = self.pace.limits.allowance.saturating_sub(in_flight);
            let has_more = self.next < self.end || self.board.lost() > 0;
            if room > 0 && has_more && now < self.pace.next {
                return self.wait_for_pace();
            }
            let sent = self.transmit_room(room.min(1), in_flight, now, out);
            if sent == 0 {
                return;
            }
            in_flight += sent;
            self.pace.note_sent(now);
            if self.needs.sends {
                self.pace.limits.allowance = self.allowance();
            }
        }
    }

    /// Sends the bursts that the last rate and the window allow.
    fn release_bursts(&mut self, now: Time, out: &mut impl Outlet) {
        loop {
            let room = self.allowance().saturating_sub(self.board.in_flight(self.next));
            let has_more = self.next < self.end || self.board.lost() > 0;
            if room > 0 && has_more && now < self.pace.next {
                return self.wait_for_pace();
            }
            let sent = self.transmit_in_bursts(Some(1), now, out);
            if sent == 0 {
                return;
            }
            self.note_burst(sent, now);
        }
    }

    /// Records a burst of `segments` that leaves at `now`. With pacing, the next burst leaves later, and so do the timers
    /// that the burst has started.
    pub(super) fn note_burst(&mut self, segments: u32, now: Time) {
        self.bursts.last = now;
        if !self.bursts.active || !self.pace.is_active() {
            return;
        }
        let free = self.stats.totals.sent < u64::from(UNPACED_SEGMENTS);
        self.bursts.last = self.pace.note_burst(now, if free { 0 } else { segments });
        let delay = self.pacing_delay(now);
        if self.timeout.by_sending && self.timeout.armed == now {
            (self.timeout.delay, self.timeout.probe_delay) = (delay, delay);
        }
        if self.timeout.has_sent && self.timeout.probe_from == now {
            self.timeout.probe_delay = delay;
        }
    }

    /// Whole jiffies until pacing allows the next burst; Linux sets the timers of retransmissions and probes later by
    /// them (`tcp_pacing_delay`).
    #[inline]
    pub(super) fn pacing_delay(&self, now: Time) -> Time {
        let paces = self.bursts.active && self.pace.is_active() && self.pace.next > now;
        if paces { Interrupts::of(&self.stack).whole(self.pace.next.since(now)) } else { Time::ZERO }
    }

    /// Sends the segments that are due by the pacing timer. The limits may have changed since the last event in two
    /// cases: the algorithm handles each sent segment, or the sender sends bursts, whose rate depends on the data in
    /// flight.
    #[inline(never)]
    pub(super) fn transmit_due(&mut self, now: Time, out: &mut impl Outlet) {
        if self.needs.sends || self.bursts.active {
            self.transmit_paced(now, out);
            return;
        }
        self.pace.wake = Time::NEVER;
        self.release(now, out);
    }

    /// True if no segment must be counted or repaired, so that the fast path applies.
    #[inline(always)]
    pub(super) fn is_plain_sailing(&self) -> bool {
        self.repair.is_open() && self.board.is_clean()
    }
}
