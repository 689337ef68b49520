//! Arithmetic of Linux's H-TCP (tcp_htcp.c): jiffies, whole segments, and scales in eighths.

use crate::ack::Ack;
use crate::jiffies::Jiffies;
use crate::loss_window::{Arithmetic, LossWindow};

/// Smallest and largest value of Linux's inverse of the RTT scale, in eighths.
const SCALE_EIGHTHS: (f64, f64) = (4.0, 80.0);
const SCALE_ONE: f64 = 8.0;

/// State that only Linux's form keeps.
#[derive(Clone, Debug)]
pub(super) struct Module {
    jiffies: Jiffies,
    /// Segments that the next ACK counts (`pkts_acked`).
    pending: f64,
    /// True if the samples of the next ACK are already taken.
    is_sampled: bool,
}

impl Module {
    pub(super) fn new(jiffies: Jiffies) -> Self {
        Self { jiffies, pending: 1.0, is_sampled: false }
    }

    /// Inverse of the RTT scale, in eighths.
    pub(super) fn inverse_scale(&self, rtt_ref: f64, rtt_min: f64) -> f64 {
        let (least, most) = SCALE_EIGHTHS;
        self.jiffies.quotient(SCALE_ONE * rtt_ref / rtt_min).clamp(least, most)
    }

    /// RTT scale, whose inverse is rounded down.
    pub(super) fn scale(&self, rtt_ref: f64, rtt_min: f64) -> f64 {
        SCALE_ONE / self.inverse_scale(rtt_ref, rtt_min)
    }

    /// `alpha` by the RTT scale, with a single integer division, so that the quotient is exact.
    pub(super) fn scaled(&self, alpha: f64, rtt_ref: f64, rtt_min: f64) -> f64 {
        (alpha * SCALE_ONE / self.inverse_scale(rtt_ref, rtt_min)).floor()
    }

    /// α(Δ) before scaling, a whole number of segments, for the clock from `t_last` to `now`.
    pub(super) fn alpha(&self, (t_last, now): (f64, f64), delta_l: f64) -> f64 {
        let hz = self.jiffies.hz();
        let beyond = self.jiffies.between(t_last, now) - self.jiffies.quotient(delta_l);
        if beyond <= 0.0 {
            return 1.0;
        }
        let half = (beyond / 2.0).floor();
        1.0 + ((10.0 * beyond + (half * half / hz).floor()) / hz).floor()
    }

    /// An RTT in the unit of the arithmetic: in Linux jiffies, rounded up (in 2.6 truncated). The RTT scale, in eighths,
    /// depends on the rounding.
    pub(super) fn round_trip(&self, arithmetic: Arithmetic, rtt: f64) -> f64 {
        match arithmetic {
            Arithmetic::Fluid => rtt,
            Arithmetic::Linux => self.jiffies.from_measured(rtt).max(1.0),
            Arithmetic::Linux26 | Arithmetic::Ns2 => self.jiffies.at(rtt).max(1.0),
        }
    }

    /// Jiffies of a constant time.
    pub(super) fn constant(&self, seconds: f64) -> f64 {
        self.jiffies.from_constant(seconds)
    }

    /// Jiffies between two instants.
    pub(super) fn between(&self, from: f64, to: f64) -> f64 {
        self.jiffies.between(from, to)
    }

    /// Converts jiffies to s.
    pub(super) fn seconds(&self, jiffies: f64) -> f64 {
        self.jiffies.seconds(jiffies)
    }

    /// Jiffies a second.
    pub(super) fn hz(&self) -> f64 {
        self.jiffies.hz()
    }

    /// Notes the segments of an ACK's sample; false if the samples of the ACK are already taken.
    #[inline]
    pub(super) fn begins(&mut self, ack: &Ack) -> bool {
        if std::mem::take(&mut self.is_sampled) {
            return false;
        }
        if ack.was_open() {
            self.pending = ack.sampled();
        }
        true
    }

    /// Notes that the samples of the next ACK are already taken.
    pub(super) fn note_sampled(&mut self) {
        self.is_sampled = true;
    }

    /// Grows the window for an ACK of which `n` segments are left for congestion avoidance. Returns true if the window
    /// grew. Linux 2.6 and later compare the counter before they add this ACK.
    #[inline]
    pub(super) fn grow(&mut self, ack: &Ack, n: f64, alpha: f64, win: &mut LossWindow) -> bool {
        let counted = self.counted(ack, n, win.arithmetic);
        let grows = win.counter * alpha >= win.w;
        if grows {
            win.w += 1.0;
            win.counter = 0.0;
        } else {
            win.counter += counted;
        }
        grows
    }

    /// Segments of an ACK that count towards the growth of the window. Linux counts the segments of the last sample
    /// (`pkts_acked`) that it took without losses and SACKs, and one segment for each further ACK. The sample of the first
    /// duplicate ACK has no segment, so the ACK that ends the recovery counts none.
    fn counted(&mut self, ack: &Ack, n: f64, arithmetic: Arithmetic) -> f64 {
        match ack.sample {
            Some(_) => std::mem::replace(&mut self.pending, 1.0),
            None if arithmetic == Arithmetic::Linux26 => ack.acked,
            None => n,
        }
    }
}
