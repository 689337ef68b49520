//! TCP-Africa (King R, Baraniuk R, Riedi R, "TCP-Africa: an adaptive and fair rapid increase rule for scalable TCP",
//! INFOCOM 2005). The window grows as in HighSpeed TCP while the flow has at most a segment or two in queues, and as in
//! standard TCP otherwise.
//!
//! Variant: increase and decrease follow RFC 3649's closed form, the decrease is HighSpeed TCP's in either mode, and
//! the RTT is smoothed over eight samples. The paper's text was not available: the threshold 1.641 and the decrease in
//! slow mode are unverified. The smoothing follows the code of a Linux derivative. That derivative has no slow mode.
//! Some descriptions halve the window on a loss in slow mode (preset `halving`).

use crate::ack::Ack;
use crate::hstcp::{Form, Hstcp, HstcpParams};
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, flag, num, params, switch};
use crate::reports::Signal;

params! {
    /// Parameters of TCP-Africa.
    pub struct AfricaParams {
        /// Threshold of the segments in queues (α): the flow is in fast mode below it.
        alpha: f64 = num(1.641, 0.0, 1e6, Unit::Segments), "King et al. 2005 (unverified)";
        /// Weight of a new sample in the smoothed RTT.
        rtt_gain: f64 = num(0.125, 1e-3, 1.0, Unit::None), "a Linux derivative of it";
        /// Halve the window on a loss in slow mode.
        slow_halves: bool = flag(false), "some descriptions (unverified)";
    }
}

states! {
    /// Increase rule in use.
    enum Mode {
        /// Increase of standard TCP.
        Slow = "slow",
        /// Increase of HighSpeed TCP.
        Fast = "fast",
    }
}

/// TCP-Africa.
#[derive(Clone, Debug)]
pub struct Africa {
    win: LossWindow,
    p: AfricaParams,
    /// HighSpeed TCP's a(w) and b(w).
    law: Box<Hstcp>,
    /// Last computed a(w), valid while the window is within `fresh`.
    a: f64,
    fresh: (f64, f64),
    base: f64,
    /// Smoothed RTT, s; 0 before the first sample.
    rtt: f64,
}

impl Africa {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "africa",
        title: "TCP-Africa",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT"],
        source: "King, Baraniuk & Riedi, INFOCOM 2005",
        doc: "TCP-Africa grows as HighSpeed TCP does while the RTT shows that hardly any of its segments are in \
              queues. Otherwise TCP-Africa grows by one segment a round trip. A loss reduces the window by HighSpeed \
              TCP's fraction. The threshold is unverified.",
        presets: &[
            Preset::new("", "INFOCOM 2005, HighSpeed TCP's decrease in both modes", &[]),
            Preset::new("halving", "halves the window on a loss in slow mode", &[switch("slow_halves", true)]),
        ],
        tables: &[AfricaParams::TABLE, HstcpParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Hstcp::new`], and [`BuildError::Conflict`] if the parameter `form` selects Linux's table, which
    /// TCP-Africa does not use.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        if HstcpParams::read(settings)?.form == Form::Table {
            return settings.conflict("form must be 'closed'");
        }
        Ok(Self {
            win: LossWindow::new(settings)?,
            p: AfricaParams::read(settings)?,
            law: Box::new(Hstcp::new(settings)?),
            a: 1.0,
            fresh: (f64::INFINITY, 0.0),
            base: f64::INFINITY,
            rtt: 0.0,
        })
    }

    /// True in fast mode, in which fewer than α of the flow's segments are in queues.
    #[inline]
    fn fast(&self) -> bool {
        self.win.w * (self.rtt - self.base) < self.p.alpha * self.rtt
    }

    #[cold]
    fn refresh(&mut self) {
        let w = self.win.w;
        self.a = self.law.a(w);
        self.fresh = (w, w * 1.001);
    }
}

observed! {
    self: Africa, self.win;
    /// Mode: increase of HighSpeed TCP, or of standard TCP.
    mode = if self.fast() { Mode::Fast } else { Mode::Slow }, state(Mode::NAMES);
    /// Last computed additive increase of the fast mode.
    a = self.a, number(Unit::Segments);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
    /// Smoothed RTT; 0 before the first sample.
    rtt_mean_s = self.rtt, number(Unit::Seconds);
}

impl LossBased for Africa {
    own_window!();

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.rtt = if self.rtt == 0.0 { rtt } else { self.rtt + self.p.rtt_gain * (rtt - self.rtt) };
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        let a = if self.fast() {
            if self.win.w < self.fresh.0 || self.win.w > self.fresh.1 {
                self.refresh();
            }
            self.a
        } else {
            1.0
        };
        self.win.grow_per_round(n, a);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        let halve = self.win.must_halve() || (self.p.slow_halves && !self.fast());
        if halve { from / 2.0 } else { (1.0 - self.law.b(from)) * from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Setting;
    use crate::testing::{Driver, close, settings};

    fn at(preset: &str, w: f64, rtt: f64) -> (Driver, Africa) {
        let settings = settings(&Africa::ENTRY, preset, &[]).expect("it is right");
        let (d, mut a) = (Driver::new(), Africa::new(&settings).expect("it is right"));
        d.start_at(&mut a, w);
        (a.base, a.rtt) = (0.1, rtt);
        (d, a)
    }

    // The paper's text was not available; the threshold was written down from memory.
    #[test]
    fn the_unverified_threshold_lies_at_a_delay_of_164_us_for_1000_segments() {
        for (rtt, fast) in [(0.1, true), (0.100_164, true), (0.100_165, false), (0.1016, false)] {
            assert_eq!(at("", 1000.0, rtt).1.fast(), fast, "{rtt}");
        }
    }

    #[test]
    fn fast_mode_grows_as_highspeed_tcp_and_slow_mode_by_one() {
        let (mut d, mut a) = at("", 1058.0, 0.1);
        d.round(&mut a, 0.1);
        // RFC 3649's rounded p(w) = 0.078/w^1.2 gives 8.01; the exact line between the two end points of the response
        // function gives 8.14.
        close(a.window() - 1058.0, 8.01, 0.02);
        let (mut d, mut a) = at("", 1058.0, 0.11);
        d.round(&mut a, 0.11);
        close(a.window() - 1058.0, 1.0, 0.01);
    }

    #[test]
    fn a_loss_gives_up_what_highspeed_tcp_would() {
        for (preset, rtt, left) in
            [("", 0.1, 0.673), ("", 0.11, 0.673), ("halving", 0.1, 0.673), ("halving", 0.11, 0.5)]
        {
            let (d, mut a) = at(preset, 1058.0, rtt);
            d.lose(&mut a);
            close(a.window(), left * 1058.0, 1e-3);
        }
    }

    #[test]
    fn up_to_38_segments_it_is_reno() {
        let (mut d, mut a) = at("", 30.0, 0.1);
        d.round(&mut a, 0.1);
        close(a.window(), 31.0, 1e-3);
        a.win.w = 36.0;
        d.lose(&mut a);
        assert_eq!(a.window(), 18.0);
    }

    #[test]
    fn the_rtt_is_smoothed_over_eight_samples() {
        let (mut d, mut a) = at("", 1000.0, 0.1);
        d.ack(&mut a, 1.0, 0.108, 0.1);
        close(a.rtt, 0.101, 1e-12);
        assert!(!a.fast());
    }

    #[test]
    fn the_table_of_linux_is_refused() {
        let table = settings(&Africa::ENTRY, "", &[("form", Setting::Text("table"))]).expect("it is a choice");
        assert!(matches!(Africa::new(&table), Err(BuildError::Conflict { .. })));
    }
}
