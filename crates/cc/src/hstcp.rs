//! HighSpeed TCP (RFC 3649): AIMD whose increase a(w) and decrease b(w) depend on the window.
//!
//! Variant: the closed form of RFC 3649 §5 with its constants, and standard TCP below `low_window`. The increase a(w)
//! is computed again when the window has changed by 0.1 % (the RFC reports an implementation that does so every 0.1 s),
//! while the decrease b(w) is exact at each loss. Outside the range that the RFC gives for its formulas, a(w) is at
//! least 1 and b(w) at least `min_decrease`.
//!
//! Differences:
//! * P_0 is 10⁻³ as in the RFC's text. ns-2 has 1.5/38² (preset `ns2`, which also halves the window on the first loss
//!   and on losses in slow start).
//! * Linux has the RFC's table but uses a and b of the upper end of each bin, so its increase exceeds that of the
//!   closed form by up to one segment a round trip. It counts ACKs, and looks up the row only in congestion avoidance,
//!   so a loss in the first slow start halves the window (preset `linux`; preset `linux-2.6` also has Linux 2.6's slow
//!   start rule).

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, num, params, switch, value, word};
use crate::reports::Signal;

choices! {
    /// Source of a(w) and b(w):
    /// * `closed`: the closed form of RFC 3649 §5.
    /// * `table`: Linux's table, from RFC 3649 appendix B.
    pub enum Form { Closed = "closed", Table = "table" }
}

params! {
    /// Parameters of HighSpeed TCP.
    pub struct HstcpParams {
        /// Closed form or Linux's table.
        form: Form = choice("closed", Form::WORDS), "RFC 3649 §5; Linux tcp_highspeed.c";
        /// Largest window at which standard TCP's rules apply (Low_Window); closed form.
        low_window: f64 = num(38.0, 1.0, 1e6, Unit::Segments), "RFC 3649 §5";
        /// Upper end of the response function (High_Window); closed form.
        high_window: f64 = num(83000.0, 2.0, 1e9, Unit::Segments), "RFC 3649 §5";
        /// Loss rate at `low_window`; closed form.
        low_p: f64 = num(1e-3, 1e-12, 1.0, Unit::None), "RFC 3649 §5; ns-2 has 1.5/38^2";
        /// Loss rate at `high_window` (High_P); closed form.
        high_p: f64 = num(1e-7, 1e-15, 1.0, Unit::None), "RFC 3649 §5";
        /// Decrease at `high_window` (High_Decrease); closed form.
        high_decrease: f64 = num(0.1, 0.0, 0.5, Unit::None), "RFC 3649 §5";
        /// Smallest decrease; the formula reaches 0 at 567,416 segments.
        min_decrease: f64 = num(0.1, 0.0, 0.5, Unit::None), "RFC 3649 §5 gives 0.1 as the smallest value in use";
    }
}

/// Rows of Linux's table: the upper end of a range of windows, and the decrease in this range in units of 1/256. Each
/// row increases a(w) by one.
const TABLE: [(f64, f64); 72] = table();

/// RFC 3649 appendix B without its last row, with Linux's rounding of the decreases.
#[rustfmt::skip]
const fn table() -> [(f64, f64); 72] {
    const W: [u32; 72] = [
        38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
        5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
        17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
        37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
        79517, 84035, 89053,
    ];
    const MD: [u32; 72] = [
        128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60, 59, 58, 57, 56, 55,
        54, 53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41, 41, 40, 39, 39, 38, 38, 37, 36, 36, 35,
        35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25, 24,
    ];
    let mut rows = [(0.0, 0.0); 72];
    let mut i = 0;
    while i < 72 {
        rows[i] = (W[i] as f64, MD[i] as f64);
        i += 1;
    }
    rows
}

/// HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct Hstcp {
    pub(crate) win: LossWindow,
    p: HstcpParams,
    /// Last computed a(w), valid while the window is within `fresh`.
    a: f64,
    fresh: (f64, f64),
    /// Row of the table in use.
    row: usize,
}

impl Hstcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "hstcp",
        title: "HighSpeed TCP",
        kind: Kind::Loss,
        signals: &["loss"],
        source: "RFC 3649 (limited slow start: RFC 3742)",
        doc: "HighSpeed TCP is AIMD whose increase grows and whose decrease shrinks with the window. At a window of 38 \
              segments, the increase is one segment a round trip and the decrease is one half; at 83,000 segments, \
              they are 72 segments and one tenth. The default is the closed form of the RFC.",
        presets: &[
            Preset::new("", "RFC 3649, closed form", &[]),
            Preset::new(
                "ns2",
                "ns-2 windowOption_ 8: P_0 = 1.5/38^2, halves the window on the first loss and in slow start",
                &[value("low_p", 1.5 / (38.0 * 38.0)), switch("halve_in_slow_start", true)],
            ),
            Preset::new("linux", "Linux: table, whole segments", &[word("form", "table"), word("arithmetic", "linux")]),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, ns-2 TCP/Linux",
                &[word("form", "table"), word("arithmetic", "linux-2.6")],
            ),
        ],
        tables: &[HstcpParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if the two ends of the response function are not
    /// in order.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = HstcpParams::read(settings)?;
        if p.high_window <= p.low_window {
            return settings
                .conflict(format!("high_window {} must be above low_window {}", p.high_window, p.low_window));
        }
        if p.high_p >= p.low_p {
            return settings.conflict(format!("high_p {} must be below low_p {}", p.high_p, p.low_p));
        }
        Ok(Self { win: LossWindow::new(settings)?, p, a: 1.0, fresh: (f64::INFINITY, 0.0), row: 0 })
    }

    /// Position of ln w between ln `low_window` (0) and ln `high_window` (1).
    fn x(&self, w: f64) -> f64 {
        libm::log(w / self.p.low_window) / libm::log(self.p.high_window / self.p.low_window)
    }

    /// b(w) of the closed form (RFC 3649 §5).
    #[must_use]
    pub fn b(&self, w: f64) -> f64 {
        if w <= self.p.low_window {
            return 0.5;
        }
        (0.5 + (self.p.high_decrease - 0.5) * self.x(w)).max(self.p.min_decrease)
    }

    /// a(w) of the closed form (RFC 3649 §5): the increase that results in the response function p(w).
    #[must_use]
    pub fn a(&self, w: f64) -> f64 {
        if w <= self.p.low_window {
            return 1.0;
        }
        let p = self.p.low_p * libm::exp(self.x(w) * libm::log(self.p.high_p / self.p.low_p));
        let b = self.b(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// a(w) of the current window, segments a round trip.
    fn increase(&self) -> f64 {
        if self.p.form == Form::Closed { self.a(self.win.w) } else { (self.row + 1) as f64 }
    }

    /// b(w) of the current window.
    fn decrease(&self) -> f64 {
        if self.p.form == Form::Closed { self.b(self.win.w) } else { TABLE[self.row].1 / 256.0 }
    }

    #[cold]
    fn refresh(&mut self) {
        let w = self.win.w;
        self.a = self.a(w);
        self.fresh = (w, w * 1.001);
    }

    #[inline]
    fn grow_by_table(&mut self, n: f64) {
        let w = self.win.w;
        while self.row + 1 < TABLE.len() && w > TABLE[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && w <= TABLE[self.row - 1].0 {
            self.row -= 1;
        }
        let a = (self.row + 1) as f64;
        if self.win.arithmetic == Arithmetic::Fluid {
            self.win.grow_per_round(n, a);
            return;
        }
        // Unlike in Linux's other modules, each ACK adds a to the counter, independently of the segments that it
        // acknowledges.
        self.win.counter += a;
        if self.win.counter >= self.win.w {
            self.win.counter -= self.win.w;
            self.win.w += 1.0;
        }
    }
}

observed! {
    self: Hstcp, self.win;
    /// Additive increase at the current window, a(w).
    a = self.increase(), number(Unit::Segments);
    /// Decrease at a loss at the current window, b(w), as a fraction of the window.
    b = self.decrease(), plain();
}

impl LossBased for Hstcp {
    own_window!();

    #[inline]
    fn requires(&self) -> Needs {
        Needs { every_ack: self.p.form == Form::Table && self.win.integer(), ..Needs::default() }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        if self.p.form == Form::Table {
            self.grow_by_table(n);
            return;
        }
        if self.win.w < self.fresh.0 || self.win.w > self.fresh.1 {
            self.refresh();
        }
        self.win.grow_per_round(n, self.a);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        if self.win.must_halve() {
            return from / 2.0;
        }
        match self.p.form {
            Form::Closed => (1.0 - self.b(from)) * from,
            Form::Table => from - self.win.whole(from * TABLE[self.row].1 / 256.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Setting;
    use crate::testing::{Driver, close, settings};

    fn hstcp(preset: &str) -> Hstcp {
        Hstcp::new(&settings(&Hstcp::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn the_closed_form_has_the_published_values() {
        let (rfc, ns2) = (hstcp(""), hstcp("ns2"));
        for (w, a, a_ns2, b) in [
            (100.0, 1.820, 1.882, 0.4497),
            (1000.0, 7.860, 8.034, 0.3299),
            (10_000.0, 29.617, 29.928, 0.2101),
            (83_000.0, 72.516, 72.516, 0.1000),
        ] {
            close(rfc.a(w), a, 1e-3);
            close(ns2.a(w), a_ns2, 1e-3);
            close(rfc.b(w), b, 1e-3);
        }
    }

    #[test]
    fn it_is_standard_tcp_up_to_the_low_window() {
        let h = hstcp("");
        assert_eq!((h.a(38.0), h.b(38.0)), (1.0, 0.5));
        // Without the lower limit, the closed form would be below 1 here.
        assert_eq!(h.a(38.01), 1.0);
        close(h.b(38.01), 0.5, 1e-3);
        close(hstcp("ns2").a(38.0 + 1e-9), 1.0, 1e-6);
    }

    #[test]
    fn the_decrease_never_falls_below_its_floor() {
        assert_eq!(hstcp("").b(600_000.0), 0.1);
    }

    #[test]
    fn the_response_function_is_the_rfc_s() {
        let s = libm::log(83_000.0 / 38.0) / libm::log(1e-7 / 1e-3);
        close(s, -0.83482, 1e-4);
        // The p(w) that follows from a(w) and b(w) is the inverse of W(p) = 38 (p/1e-3)^S.
        let h = hstcp("");
        for (p, w) in [(1e-5, 1776.0), (1e-6, 12141.0)] {
            close(38.0 * libm::pow(p / 1e-3, s), w, 1e-3);
            let b = h.b(w);
            close(h.a(w) * (2.0 - b) / (2.0 * b * w * w), p, 2e-3);
        }
    }

    #[test]
    fn growth_by_the_rfc_s_script_is_the_published_one() {
        // The RFC's script has p(w) = 1/(12.8 w^1.2) in place of the text's exact form; b(w) is the same.
        let h = hstcp("");
        let script = |w: f64| {
            let b = h.b(w);
            (w * w * 2.0 * b / ((2.0 - b) * 12.8 * libm::pow(w, 1.2))).max(1.0)
        };
        let mut w = 1.0;
        for rtt in 1..=1000 {
            match rtt {
                100 => close(w, 131.9, 1e-3),
                500 => close(w, 3601.0, 1e-3),
                1000 => close(w, 17410.0, 1e-3),
                _ => close(h.a(w), script(w), 0.045),
            }
            w += script(w);
        }
    }

    #[test]
    fn a_loss_at_10000_leaves_what_the_closed_form_and_linux_say() {
        let (d, mut h) = (Driver::new(), hstcp(""));
        d.start_at(&mut h, 10_000.0);
        d.lose(&mut h);
        close(h.window(), 7899.0, 1e-4);

        let (mut d, mut linux) = (Driver::new(), hstcp("linux"));
        d.start_at(&mut linux, 10_000.0);
        d.ack(&mut linux, 1.0, 0.1, 0.0);
        assert_eq!(linux.row + 1, 30);
        d.lose(&mut linux);
        assert_eq!(linux.window(), 7969.0);
    }

    #[test]
    fn linux_takes_the_upper_end_of_each_bin() {
        let mut d = Driver::new();
        for (w, a, md) in [(38.0, 1, 128.0), (39.0, 2, 112.0), (118.0, 2, 112.0), (119.0, 3, 104.0), (1e6, 72, 24.0)] {
            let mut h = hstcp("linux");
            d.start_at(&mut h, w);
            d.ack(&mut h, 1.0, 0.1, 0.0);
            assert_eq!((h.row + 1, TABLE[h.row].1), (a, md), "{w}");
        }
    }

    #[test]
    fn the_cached_increase_follows_the_window() {
        let (mut d, mut h) = (Driver::new(), hstcp(""));
        d.start_at(&mut h, 1000.0);
        for _ in 0..200 {
            d.round(&mut h, 0.1);
            close(h.a, h.a(h.window()), 2e-3);
        }
        let mut per_round = 1000.0;
        for _ in 0..200 {
            per_round += h.a(per_round);
        }
        close(h.window(), per_round, 0.01);
        d.lose(&mut h);
        d.ack(&mut h, 1.0, 0.1, 0.0);
        close(h.a, h.a(h.window()), 1e-3);
    }

    #[test]
    fn ns_2_halves_on_the_first_loss_and_linux_in_the_first_slow_start() {
        for preset in ["ns2", "linux"] {
            let (d, mut h) = (Driver::new(), hstcp(preset));
            d.start(&mut h, 8000.0);
            d.lose(&mut h);
            assert_eq!(h.window(), 4000.0, "{preset}");
        }
    }

    #[test]
    fn ends_of_the_response_function_in_the_wrong_order_are_refused() {
        let s = settings(&Hstcp::ENTRY, "", &[("high_window", Setting::Num(20.0))]).expect("it is right");
        let error = Hstcp::new(&s).expect_err("it is wrong").to_string();
        assert_eq!(error, "hstcp: high_window 20 must be above low_window 38");
    }
}
