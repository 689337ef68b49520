//! Pacing: segments leave one by one, at the rate of the algorithm or of the endpoint.

use elephan_cc::Algorithm;

use super::core::Sender;
use super::pace::{Limit, Limits};
use crate::endpoint::boundary::Outlet;
use crate::time::Time;

/// Linux's pacing rate in units of window over RTT: 2 in slow start, 1.2 afterwards (`tcp_pacing_ss_ratio`,
/// `tcp_pacing_ca_ratio`).
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;

impl Sender {
    /// Pacing rate, segments/s; `None` while it is unknown.
    fn pace_rate(&self) -> Option<f64> {
        if self.needs.pacing {
            return self.algorithm.pacing_rate();
        }
        let factor =
            if self.stats.cwnd < self.algorithm.ssthresh() / 2.0 { SLOW_START_FACTOR } else { AVOIDANCE_FACTOR };
        (self.rto.srtt > 0.0).then(|| factor * self.stats.cwnd.max(1.0) / self.rto.srtt)
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
        self.release(now, out);
    }

    /// Sends the segments that the last limits allow.
    #[inline(always)]
    fn release(&mut self, now: Time, out: &mut impl Outlet) {
        let mut in_flight = self.board.in_flight(self.next);
        loop {
            let room = self.pace.limits.allowance.saturating_sub(in_flight);
            let has_more = self.next < self.end || self.board.lost() > 0;
            if room > 0 && has_more && now < self.pace.next {
                // The window and the application would allow more segments, so pacing is the limit.
                self.pace.wake = self.pace.next;
                self.timer = self.timer.min(self.pace.wake);
                self.set_limit(Limit::Window);
                return;
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

    /// Sends the segments that are due by the pacing timer. Only an algorithm that is told of each segment may have
    /// changed the limits since the last event.
    #[inline(never)]
    pub(super) fn transmit_due(&mut self, now: Time, out: &mut impl Outlet) {
        if self.needs.sends {
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
