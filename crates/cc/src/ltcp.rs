//! LTCP (Bhandarkar S, Jain S, Reddy ALN, "LTCP: improving the performance of TCP in highspeed networks", CCR 36(1),
//! 2006; draft-bhandarkar-ltcp-01). One flow behaves as K virtual flows, and K grows with the flow's window.
//!
//! Variant: layer K begins at W_K = K(K+1)(K-1)/6 · W_T segments. In layer K a round trip adds K segments, and a loss
//! reduces the window by the fraction `decrease`. Up to K = 19 this reduction is at most one layer. Below W_T the flow
//! behaves as standard TCP. Only the abstracts of the paper and the draft were available: every formula and constant
//! here is unverified, though they are consistent with each other and with the properties claimed in the abstracts. The
//! layer is always computed from the window. RTT compensation, K_R = (RTT/`rtt_ref`)^(1/3), is off by default, and its
//! normalization is a parameter.

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, flag, num, params, switch};
use crate::reports::Signal;

params! {
    /// Parameters of LTCP.
    pub struct LtcpParams {
        /// Window at which the second layer begins (W_T).
        w_t: f64 = num(50.0, 2.0, 1e6, Unit::Segments), "Bhandarkar, Jain & Reddy 2006 (unverified)";
        /// Fraction of the window given up on a loss from `w_t` on (β).
        decrease: f64 = num(0.15, 0.01, 0.9, Unit::None), "Bhandarkar, Jain & Reddy 2006 (unverified)";
        /// Multiply the increase by the cube root of the RTT over `rtt_ref`.
        rtt_compensation: bool = flag(false), "Bhandarkar, Jain & Reddy 2006 (unverified)";
        /// RTT at which the factor of the compensation is 1.
        rtt_ref: f64 = num(0.1, 1e-3, 10.0, Unit::Seconds), "chosen here";
    }
}

/// LTCP.
#[derive(Clone, Debug)]
pub struct Ltcp {
    win: LossWindow,
    p: LtcpParams,
    /// Layer, and the smallest and largest window of this layer.
    k: f64,
    layer: (f64, f64),
    /// K_R, and the RTT from which it was computed.
    k_r: f64,
    rtt: f64,
}

impl Ltcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "ltcp",
        title: "LTCP (layered TCP)",
        kind: Kind::Loss,
        signals: &["loss", "ECN"],
        source: "Bhandarkar, Jain & Reddy, CCR 36(1), 2006; draft-bhandarkar-ltcp-01",
        doc: "LTCP behaves as several standard flows. A new layer begins once the window is so large that a loss costs \
              at most one layer. Each round trip adds one segment for each layer. Formulas and constants could not be \
              verified in the paper.",
        presets: &[
            Preset::new("", "LTCP without RTT compensation (unverified)", &[]),
            Preset::new("rtt", "with RTT compensation (unverified)", &[switch("rtt_compensation", true)]),
        ],
        tables: &[LtcpParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = LtcpParams::read(settings)?;
        let layer = (0.0, p.w_t);
        Ok(Self { win: LossWindow::new(settings)?, p, k: 1.0, layer, k_r: 1.0, rtt: f64::INFINITY })
    }

    /// W_K: the window at which layer `k` begins, segments.
    fn threshold(&self, k: f64) -> f64 {
        k * (k + 1.0) * (k - 1.0) / 6.0 * self.p.w_t
    }

    /// Finds the layer of the window.
    #[cold]
    fn find_layer(&mut self) {
        // The cube root is close to the layer; one or two steps correct it.
        self.k = libm::cbrt(6.0 * self.win.w / self.p.w_t).floor().max(1.0);
        while self.threshold(self.k + 1.0) <= self.win.w {
            self.k += 1.0;
        }
        while self.k > 1.0 && self.threshold(self.k) > self.win.w {
            self.k -= 1.0;
        }
        self.layer = (self.threshold(self.k), self.threshold(self.k + 1.0));
    }

    #[cold]
    fn compensate(&mut self, rtt: f64) {
        self.rtt = rtt;
        self.k_r = libm::cbrt(rtt / self.p.rtt_ref);
    }
}

observed! {
    self: Ltcp, self.win;
    /// Layer (K): the flow behaves as K standard flows.
    k = self.k, plain();
    /// Factor for the RTT (K_R).
    k_r = self.k_r, plain();
}

impl LossBased for Ltcp {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if self.win.w < self.layer.0 || self.win.w >= self.layer.1 {
            self.find_layer();
        }
        if self.p.rtt_compensation && ack.min_rtt < self.rtt {
            self.compensate(ack.min_rtt);
        }
        let a = if self.k < 2.0 { 1.0 } else { self.k * self.k_r };
        self.win.grow_per_round(n, a.min(self.win.w));
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        let b = if from < self.p.w_t || self.win.must_halve() { 0.5 } else { self.p.decrease };
        (1.0 - b) * from
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        0.5 * self.win.reduced_from(signal)
    }
}

#[cfg(test)]
mod tests {
    // All expected values are unverified, since they follow from the formulas in the module's header.
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::testing::{Driver, close, settings};

    fn ltcp(preset: &str) -> Ltcp {
        Ltcp::new(&settings(&Ltcp::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    fn layer_at(w: f64) -> f64 {
        let mut l = ltcp("");
        l.win.w = w;
        l.find_layer();
        l.k
    }

    #[test]
    fn the_layers_begin_at_the_unverified_thresholds() {
        let l = ltcp("");
        let expected =
            [(2, 50), (3, 200), (4, 500), (5, 1000), (6, 1750), (7, 2800), (8, 4200), (11, 11_000), (12, 14_300)];
        for (k, w) in expected {
            assert_eq!(l.threshold(f64::from(k)), f64::from(w));
        }
        let layers = [(49.0, 1.0), (50.0, 2.0), (199.0, 2.0), (200.0, 3.0), (12_500.0, 11.0), (83_000.0, 21.0)];
        for (w, k) in layers {
            assert_eq!(layer_at(w), k, "{w}");
        }
    }

    #[test]
    fn a_round_trip_adds_a_segment_for_each_layer() {
        for (w, a) in [(40.0, 1.0), (150.0, 2.0), (12_500.0, 11.0)] {
            let (mut d, mut l) = (Driver::new(), ltcp(""));
            d.start_at(&mut l, w);
            d.round(&mut l, 0.1);
            close(l.window() - w, a, 0.03);
        }
    }

    #[test]
    fn a_loss_costs_one_layer_at_most_up_to_the_nineteenth() {
        let (d, mut l) = (Driver::new(), ltcp(""));
        d.start_at(&mut l, 12_500.0);
        d.lose(&mut l);
        assert_eq!((l.window(), layer_at(l.window())), (10_625.0, 10.0));
        for k in 3..=19 {
            let w = l.threshold(f64::from(k));
            assert!(layer_at(0.85 * w) >= f64::from(k) - 1.0, "{k}");
        }
    }

    #[test]
    fn below_the_first_threshold_it_is_standard_tcp() {
        let (mut d, mut l) = (Driver::new(), ltcp(""));
        d.start_at(&mut l, 40.0);
        d.lose(&mut l);
        assert_eq!(l.window(), 20.0);
        d.time_out(&mut l);
        assert_eq!((l.window(), l.ssthresh()), (1.0, 10.0));
        d.round(&mut l, 0.1);
        assert_eq!(l.window(), 2.0);
    }

    #[test]
    fn compensation_multiplies_by_the_cube_root_of_the_rtt() {
        for (rtt, k_r) in [(0.1, 1.0), (0.8, 2.0), (0.0125, 0.5)] {
            let (mut d, mut l) = (Driver::new(), ltcp("rtt"));
            d.start_at(&mut l, 12_000.0);
            d.round(&mut l, rtt);
            close(l.window() - 12_000.0, 11.0 * k_r, 0.01);
        }
    }
}
