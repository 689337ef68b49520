//! Smallest RTT, and the state ProbeRTT in which it is measured.

use super::{Bbr, Mode, whole};
use crate::ack::Ack;

impl Bbr {
    #[inline]
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.is_over(ack.now, self.s.min_rtt_at, self.p.min_rtt_window);
        if let Some(rtt) = ack.rtt {
            // Linux compares whole microseconds, and an equal RTT does not extend the window; the draft lets it extend it.
            let is_smaller = rtt < self.s.min_rtt && whole::microseconds(rtt) < whole::microseconds(self.s.min_rtt);
            if is_smaller || expired {
                (self.s.min_rtt, self.s.min_rtt_at) = (rtt, ack.now);
            }
        }
        if expired && !self.s.idle_restart && self.s.mode != Mode::ProbeRtt {
            if self.p.integer {
                // Linux enters ProbeRTT first, so the saved window never falls.
                self.s.mode = Mode::ProbeRtt;
            }
            self.save_window();
            self.s.mode = Mode::ProbeRtt;
            self.s.probe_rtt_from = None;
            self.s.limited_from = self.s.delivered;
        }
        if self.s.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        self.s.idle_restart = false;
    }

    /// True if `seconds` are over since an instant. Linux counts jiffies.
    pub(super) fn is_over(&self, now: f64, since: f64, seconds: f64) -> bool {
        let jiffies = self.s.jiffies;
        if self.p.integer {
            jiffies.at(now) > jiffies.at(since) + (seconds * jiffies.hz()).ceil()
        } else {
            now > since + seconds
        }
    }

    pub(super) fn probe_rtt(&mut self, ack: &Ack) {
        let s = &mut *self.s;
        s.limited_to = s.delivered + ack.in_flight;
        if s.probe_rtt_from.is_none() {
            if ack.in_flight <= self.p.min_window {
                s.probe_rtt_from = Some(ack.now);
                s.probe_rtt_round_done = false;
                s.next_round = s.delivered;
            }
            return;
        }
        s.probe_rtt_round_done |= s.round_start;
        if s.probe_rtt_round_done {
            self.leave_probe_rtt(ack.now);
        }
    }

    pub(super) fn leave_probe_rtt(&mut self, now: f64) {
        if self.s.probe_rtt_from.is_none_or(|from| !self.is_over(now, from, self.p.probe_rtt_time)) {
            return;
        }
        self.s.min_rtt_at = now;
        self.s.w = self.s.w.max(self.s.prior_window);
        if self.s.full_reached {
            self.enter_probe_bw(now);
        } else {
            self.s.mode = Mode::Startup;
        }
    }
}
