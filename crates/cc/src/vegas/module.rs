//! Arithmetic of Linux's Vegas (tcp_vegas.c), today's and that of Linux 2.6.22: whole segments and microseconds, and rounds
//! that end where all segments sent at their beginning are acknowledged.

use super::Vegas;
use super::parameters::{FLOOR, Linux26};
use crate::ack::Ack;
use crate::linux::{Recovery, Sample};

impl Vegas {
    /// Standard TCP's growth in Linux 2.6: slow start up to and including the threshold, then one segment a window.
    fn grow_linux26(&mut self, window_limited: bool) {
        if self.win.w <= self.win.ssthresh {
            if window_limited {
                self.win.w += 1.0;
            }
            self.linux26.counted = 0.0;
        } else if self.linux26.counted >= self.win.w && window_limited {
            self.linux26.counted -= self.win.w;
            self.win.w += 1.0;
        }
    }

    /// Number of half-segments that would be in flight without queues, at a window of `window` segments. Times are
    /// whole microseconds plus one microsecond, as in Linux.
    pub(super) fn target_linux26(&self, window: f64, rtt: f64) -> f64 {
        let us = |seconds: f64| (seconds * 1e6).floor() + 1.0;
        (2.0 * window * us(self.base) / us(rtt)).floor()
    }

    pub(super) fn ack_linux26(&mut self, ack: &Ack) {
        self.linux26.una += ack.acked;
        self.linux26.counted += ack.acked;
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
        }
        self.round.add(ack);
        if ack.in_recovery {
            return;
        }
        let round = self.linux26;
        let next = round.una + ack.in_flight;
        if round.enable {
            (self.linux26.enable, self.linux26.begin_next) = (false, next);
            self.forget_round();
        } else if self.enabled && round.una > round.begin_next {
            self.linux26 = Linux26 { begin_una: round.begin_next, begin_next: next, begin_w: self.win.w, ..round };
            if f64::from(self.round.samples) < self.p.samples_min {
                self.grow_linux26(ack.window_limited);
            } else {
                self.round_linux26(round.begin_next - round.begin_una, round.begin_w, ack.window_limited);
            }
            self.forget_round();
        } else if !self.enabled || self.win.w <= self.win.ssthresh {
            self.grow_linux26(ack.window_limited);
        }
        self.slow_starting = self.win.w <= self.win.ssthresh;
    }

    /// Changes the window after a round in which `window` segments were sent; the window was `old_w` at the round's
    /// start.
    pub(super) fn round_linux26(&mut self, window: f64, old_w: f64, window_limited: bool) {
        let target = self.target_linux26(window, self.round.min);
        let diff = 2.0 * window - target;
        self.last_diff = diff / 2.0;
        if self.win.w <= self.win.ssthresh {
            if diff > 2.0 * self.p.gamma {
                self.win.ssthresh = FLOOR;
                self.lower_to(self.win.w.min((target / 2.0).floor() + 1.0));
            }
            // The step of slow start is then added, independently of the new threshold.
            if window_limited {
                self.win.w += 1.0;
            }
            self.linux26.counted = 0.0;
            return;
        }
        let wanted = if diff > 2.0 * self.p.beta {
            old_w - 1.0
        } else if diff < 2.0 * self.p.alpha {
            old_w + 1.0
        } else {
            old_w
        };
        if wanted > self.win.w && window_limited {
            self.win.w += 1.0;
        } else if wanted < self.win.w {
            self.lower_to(self.win.w - 1.0);
        }
    }

    /// Linux's rules for one ACK (`tcp_vegas_pkts_acked`, `tcp_vegas_state`, `tcp_vegas_cong_avoid`).
    pub(super) fn ack_linux(&mut self, ack: &Ack, sample: &Sample) {
        self.round.add(ack);
        // A round begins where a recovery or a disorder ends, after the ACK's sample.
        if sample.opens() {
            self.end.restart();
            self.forget_round();
        }
        if ack.in_recovery {
            return;
        }
        let measures = sample.then != Recovery::Disorder;
        if measures && self.end.passed(sample) {
            if f64::from(self.round.samples) < self.p.samples_min {
                self.grow_as_reno(ack);
            } else {
                self.round_linux(ack.acked);
            }
            self.forget_round();
        } else if !measures {
            self.grow_as_reno(ack);
        } else {
            let _ = self.slow_start(ack.acked);
        }
        self.slow_starting = self.win.w < self.win.ssthresh;
    }

    /// Grows the window up to the threshold; returns the segments left for congestion avoidance.
    fn slow_start(&mut self, acked: f64) -> f64 {
        let grown = (self.win.ssthresh - self.win.w).clamp(0.0, acked);
        self.win.w += grown;
        acked - grown
    }

    /// Standard TCP's growth in Linux (`tcp_reno_cong_avoid`).
    fn grow_as_reno(&mut self, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let left = self.slow_start(ack.acked);
        if left <= 0.0 {
            return;
        }
        let counted = &mut self.linux26.counted;
        if *counted >= self.win.w {
            (*counted, self.win.w) = (0.0, self.win.w + 1.0);
        }
        *counted += left;
        let steps = (*counted / self.win.w).floor();
        *counted -= steps * self.win.w;
        self.win.w += steps;
    }

    /// Changes the window after a round in Linux. Linux adds a microsecond to each RTT, so that none is 0.
    pub(super) fn round_linux(&mut self, acked: f64) {
        let us = |seconds: f64| (seconds * 1e6).round() + 1.0;
        let (rtt, base, w) = (us(self.round.min), us(self.base), self.win.w);
        let diff = (w * (rtt - base) / base).floor();
        self.last_diff = diff;
        if w < self.win.ssthresh {
            if diff > self.p.gamma {
                self.win.w = w.min((w * base / rtt).floor() + 1.0);
                self.lower_threshold();
            } else {
                let _ = self.slow_start(acked);
            }
        } else if diff > self.p.beta {
            self.win.w -= 1.0;
            self.lower_threshold();
        } else if diff < self.p.alpha {
            self.win.w += 1.0;
        }
        self.win.w = self.win.w.max(FLOOR);
        // `tcp_current_ssthresh`
        self.win.ssthresh = self.win.ssthresh.max((self.win.w / 2.0).floor() + (self.win.w / 4.0).floor());
    }
}
