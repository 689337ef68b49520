//! Parameters of CUBIC, and the epoch that both of its forms keep.

use crate::param::{choice, choices, flag, num, params};

choices! {
    /// Estimate of the window of a standard TCP flow:
    /// * `acked`: the estimate grows with each segment acknowledged (RFC 9438, equation 4).
    /// * `time`: the estimate is a function of the time since the loss (RFC 8312, equation 4; PFLDnet 2005).
    /// * `off`: there is no estimate of Reno's window.
    pub enum RenoEstimate { Acked = "acked", Time = "time", Off = "off" }

    /// Scope of the growth cap:
    /// * `always`: the cap applies on both sides of the last maximum (PFLDnet 2005).
    /// * `above-origin`: the cap applies beyond the last maximum (Linux 2.6.22).
    pub enum CapRegion { Always = "always", AboveOrigin = "above-origin" }
}

params! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// Steepness of the curve (C).
        c: f64 = num(0.4, 1e-6, 1e6, Unit::SegmentsPerSecondCubed), "RFC 9438 §5";
        /// Fraction of the window kept on a loss (β_cubic; papers write β for 1 minus this).
        beta: f64 = num(0.7, 0.1, 0.999, Unit::None), "RFC 9438 §4.6; PFLDnet 2005 has 0.8";
        /// Fraction of the window kept on an ECN echo.
        beta_ecn: f64 = num(0.7, 0.1, 0.999, Unit::None), "RFC 9438 §4.6; RFC 8511 §3 allows 0.85";
        /// Set the plateau below the last maximum if that maximum is lower than the one before.
        fast_convergence: bool = flag(true), "RFC 9438 §4.7";
        /// Estimate of the window that standard TCP would have; CUBIC's window is never smaller.
        reno_estimate: RenoEstimate = choice("acked", RenoEstimate::WORDS), "RFC 9438 §4.3";
        /// Largest target, in windows; 0: no limit.
        target_cap: f64 = num(1.5, 0.0, 1e3, Unit::Windows), "RFC 9438 eq. 2";
        /// Largest growth (S_max); 0: no limit.
        s_max: f64 = num(0.0, 0.0, 1e9, Unit::SegmentsPerSecond), "PFLDnet 2005 (value not verified); Linux 2.6.22 has 16 per 0.1 s";
        /// Side of the last maximum on which `s_max` applies.
        s_max_region: CapRegion = choice("always", CapRegion::WORDS), "PFLDnet 2005; Linux 2.6.22";
        /// Use of TCP timestamps, without which Linux 2.6 never learns the smallest RTT. Linux 2.6 form only.
        timestamps: bool = flag(true), "Linux 2.6.22 tcp_cubic.c; ns-2 ts_option_ is off";
    }
}

/// State of an epoch: the epoch in progress, or the epoch that is restored if a loss was spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    pub(super) begun: bool,
    pub(super) start: f64,
    /// Time from the start to the last ACK. An idle period moves the start, perhaps behind that ACK.
    pub(super) elapsed: f64,
    pub(super) k: f64,
    pub(super) origin: f64,
    pub(super) w_est: f64,
    pub(super) w_max: f64,
    pub(super) cwnd_prior: f64,
}

pub(super) const NO_EPOCH: Epoch =
    Epoch { begun: false, start: 0.0, elapsed: 0.0, k: 0.0, origin: 0.0, w_est: 0.0, w_max: 0.0, cwnd_prior: 0.0 };

impl Epoch {
    /// Begins the epoch at a window of `w` segments; `c` is the steepness of the curve.
    #[cold]
    pub(super) fn begin(&mut self, now: f64, w: f64, c: f64) {
        if self.w_max <= w {
            self.w_max = w;
        }
        // RFC 9438 eq. 2 of §4.2.
        self.k = libm::cbrt((self.w_max - w) / c);
        (self.begun, self.start, self.elapsed, self.origin, self.w_est) = (true, now, 0.0, self.w_max, w);
        if self.cwnd_prior == 0.0 {
            self.cwnd_prior = w;
        }
    }
}
