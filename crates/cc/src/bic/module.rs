//! Arithmetic of Linux's BIC (tcp_bic.c): a divisor for the counter of the window, and an estimate of the segments per ACK.

use super::parameters::BicParams;
use crate::jiffies::Jiffies;
use crate::loss_window::{AckRatio, LossWindow};

/// Time after which Linux computes its divisor again if the window has not changed, s (`HZ / 32`).
const LINUX_PERIOD_S: f64 = 1.0 / 32.0;
/// Linux's largest divisor before the first loss, which gives a growth of 5 % a round trip.
const LINUX_UNKNOWN_CNT: f64 = 20.0;

/// State of Linux's form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    pub(super) cnt: f64,
    pub(super) at_window: f64,
    at_time: f64,
    pub(super) ratio: AckRatio,
    /// True after the first loss.
    pub(super) lost: bool,
    jiffies: Jiffies,
}

impl Module {
    pub(super) fn new(jiffies: Jiffies) -> Self {
        Self { cnt: 1.0, at_window: 0.0, at_time: f64::NEG_INFINITY, ratio: AckRatio::START, lost: false, jiffies }
    }

    /// Forgets the whole state after a timeout.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.jiffies);
    }

    /// Divisor: number of ACKs for one segment of a window of `w` segments; `last_max` is the maximum to search for.
    pub(super) fn divisor(&self, w: f64, last_max: f64, p: &BicParams) -> f64 {
        if w <= p.low_window {
            return w;
        }
        let near = (w * p.smooth_part / p.search_divisor).floor();
        let mut cnt = if w < last_max {
            let dist = ((last_max - w) / p.search_divisor).floor();
            if dist > p.s_max {
                (w / p.s_max).floor()
            } else if dist <= 1.0 {
                near
            } else {
                (w / dist).floor()
            }
        } else if w < last_max + p.search_divisor {
            near
        } else if w < last_max + p.s_max * (p.search_divisor - 1.0) {
            (w * (p.search_divisor - 1.0) / (w - last_max)).floor()
        } else {
            (w / p.s_max).floor()
        };
        if !p.per_ack_estimate {
            return cnt.max(1.0);
        }
        if !self.lost {
            cnt = cnt.min(LINUX_UNKNOWN_CNT);
        }
        self.ratio.divide(cnt)
    }

    /// Grows the window for an ACK of `n` segments in congestion avoidance.
    #[inline]
    pub(super) fn grow(&mut self, now: f64, n: f64, last_max: f64, (p, win): (&BicParams, &mut LossWindow)) {
        let elapsed = self.jiffies.between(self.at_time, now);
        if self.at_window != win.w || elapsed > self.jiffies.quotient(LINUX_PERIOD_S) {
            self.cnt = self.divisor(win.w, last_max, p);
            self.at_window = win.w;
            self.at_time = now;
        }
        win.grow_one_in(if p.count_segments { n } else { 1.0 }, self.cnt);
    }
}
