//! BIC-TCP (Xu L, Harfoush K, Rhee I, "Binary increase congestion control for fast, long distance networks", INFOCOM
//! 2004). The window grows by a binary search for the window at which the last loss happened, and then probes beyond
//! that window.
//!
//! Variant: the paper's pseudo-code with the constants of the authors' ns-2 scripts (S_max 32, S_min 0.01, β 0.125, low
//! window 14), since the paper's text was not available. The target follows each ACK; with `search_update = round`
//! there is a new target each round trip, as in the paper's description. Fast convergence compares the window with the
//! maximum recorded at the last loss. The pseudo-code compares the window with `max_win`, which probing has set to
//! "large". By the pseudo-code, every loss after probing would therefore count as the arrival of a new flow.
//!
//! Differences:
//! * Linux (presets `linux`, `linux-2.6`) keeps 819/1024 of the window, has S_max 16, divides the distance by 4, moves
//!   by 1/5 segment a round trip near the maximum and resets its state after a timeout. Linux also divides by an
//!   estimate of segments per ACK. If each segment is acknowledged by itself, the estimate makes the window grow almost
//!   twice as fast as intended.
//! * Since Linux 5.7 the counter counts segments and not ACKs, but the divisor is still divided by this estimate. With
//!   delayed ACKs too, the window then grows twice as fast as intended (preset `linux`; preset `linux-5.6` is Linux
//!   3.18 to 5.6).
//! * Linux's first form (preset `linux-2.6.11`) kept the paper's S_max 32 and β 1/8. This form has no estimate of
//!   segments per ACK, and moves by 4/11 segment a round trip near the maximum.

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::jiffies::Jiffies;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{AckRatio, Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::reports::{Signal, Start};

choices! {
    /// Increase rule:
    /// * `paper`: the paper's pseudo-code.
    /// * `linux`: Linux's divisor for the window counter.
    pub enum Form { Paper = "paper", Linux = "linux" }

    /// Time of a new target of the binary search:
    /// * `ack`: a new target with each ACK, as in the pseudo-code.
    /// * `round`: a new target once a round trip, as in the paper's description.
    pub enum SearchUpdate { Ack = "ack", Round = "round" }

    /// Maximum with which fast convergence compares the window at a loss:
    /// * `recorded`: the maximum recorded at the last loss.
    /// * `max_win`: the variable `max_win`, as in the pseudo-code. After probing, `max_win` is "large", so every loss
    ///   counts as a shrinking share of the link.
    pub enum Against { Recorded = "recorded", MaxWin = "max_win" }
}

params! {
    /// Parameters of BIC.
    pub struct BicParams {
        /// The paper's increase rule or Linux's.
        form: Form = choice("paper", Form::WORDS), "Xu et al. 2004 §III; Linux tcp_bic.c";
        /// Largest increase for each round trip (S_max).
        s_max: f64 = num(32.0, 0.01, 1e6, Unit::Segments), "Xu et al. 2004; Linux has 16";
        /// Smallest increase for each round trip (S_min); the paper's form.
        s_min: f64 = num(0.01, 1e-6, 1e3, Unit::Segments), "Xu et al. 2004";
        /// Fraction of the window given up on a loss (β).
        beta: f64 = num(0.125, 0.0, 1.0, Unit::None), "Xu et al. 2004; Linux has 205/1024";
        /// Window below which BIC grows as standard TCP.
        low_window: f64 = num(14.0, 0.0, 1e9, Unit::Segments), "Xu et al. 2004; Linux";
        /// Set the target below the last maximum if that maximum is lower than the one before.
        fast_convergence: bool = flag(true), "Xu et al. 2004 §III.D";
        /// Reference of fast convergence, with which the window at a loss is compared; the paper's form.
        converge_against: Against = choice("recorded", Against::WORDS), "Xu et al. 2004 §III.D; max_win is the pseudo-code";
        /// Time of a new target; the paper's form.
        search_update: SearchUpdate = choice("ack", SearchUpdate::WORDS), "Xu et al. 2004 §III";
        /// Inverse of the fraction of the distance to the maximum by which the search moves each round trip; Linux's
        /// form.
        search_divisor: f64 = num(4.0, 2.0, 1e3, Unit::None), "Linux tcp_bic.c BICTCP_B";
        /// Round trips that the last `search_divisor` segments below the maximum take; Linux's form.
        smooth_part: f64 = num(20.0, 1.0, 1e4, Unit::None), "Linux tcp_bic.c; 11 up to 2.6.12";
        /// Correct for delayed ACKs by an estimate of the segments per ACK, and grow by 5 % a round trip before the
        /// first loss; Linux's form.
        per_ack_estimate: bool = flag(true), "Linux tcp_bic.c; not up to 2.6.12";
        /// Count the segments that an ACK acknowledges towards the window's growth; off: count one for each ACK.
        /// Arithmetic 'linux' only.
        count_segments: bool = flag(true), "Linux tcp_bic.c since 5.7";
    }
}

/// Time after which Linux computes its divisor again if the window has not changed, s (`HZ / 32`).
const LINUX_PERIOD_S: f64 = 1.0 / 32.0;
/// Linux's largest divisor before the first loss, which gives a growth of 5 % a round trip.
const LINUX_UNKNOWN_CNT: f64 = 20.0;

/// State of the paper's form.
#[derive(Clone, Copy, Debug)]
struct Search {
    max_win: f64,
    target_win: f64,
    /// Growth for each segment acknowledged in this round, if the target moves once a round; 0 before the first round.
    per_ack: f64,
    is_probing: bool,
    ss_cwnd: f64,
    ss_target: f64,
}

/// State of Linux's form.
#[derive(Clone, Copy, Debug)]
struct Linux {
    cnt: f64,
    at_window: f64,
    at_time: f64,
    ratio: AckRatio,
    lost: bool,
}

const NO_DIVISOR: Linux =
    Linux { cnt: 1.0, at_window: 0.0, at_time: f64::NEG_INFINITY, ratio: AckRatio::START, lost: false };

const UNKNOWN: Search = Search {
    max_win: f64::INFINITY,
    target_win: f64::INFINITY,
    per_ack: 0.0,
    is_probing: false,
    ss_cwnd: 1.0,
    ss_target: 0.0,
};

/// BIC-TCP.
#[derive(Clone, Debug)]
pub struct Bic {
    win: LossWindow,
    p: BicParams,
    /// Maximum recorded at the last loss, segments; 0 before the first loss.
    last_max: f64,
    search: Search,
    linux: Linux,
    jiffies: Jiffies,
    saved: (f64, Search),
}

impl Bic {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "bic",
        title: "BIC-TCP",
        kind: Kind::Loss,
        signals: &["loss"],
        source: "Xu, Harfoush, Rhee, INFOCOM 2004",
        doc: "After a loss the window grows back towards the window at the loss. Far from this window, it grows by \
              at most 32 segments a round trip; near this window, by half of the distance. Beyond the window at the \
              loss, BIC probes slowly first and then faster. The default is the paper's pseudo-code and constants.",
        presets: &[
            Preset::new("", "INFOCOM 2004, pseudo-code", &[]),
            Preset::new(
                "2004",
                "the pseudo-code taken literally: fast convergence at every loss after probing",
                &[word("converge_against", "max_win")],
            ),
            Preset::new("rounds", "INFOCOM 2004, one target a round trip", &[word("search_update", "round")]),
            Preset::new(
                "linux-2.6.11",
                "Linux 2.6.6 to 2.6.11: the paper's S_max and β",
                &[
                    word("form", "linux"),
                    word("arithmetic", "linux-2.6"),
                    value("smooth_part", 11.0),
                    switch("per_ack_estimate", false),
                ],
            ),
            Preset::new("linux", "Linux since 5.7", &Self::linux_preset("linux", true)),
            Preset::new("linux-5.6", "Linux 3.18 to 5.6: one for each ACK", &Self::linux_preset("linux", false)),
            Preset::new("linux-2.6", "Linux 2.6.22, ns-2 TCP/Linux", &Self::linux_preset("linux-2.6", false)),
        ],
        tables: &[BicParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    const fn linux_preset(arithmetic: &'static str, count_segments: bool) -> [(&'static str, Setting); 5] {
        [
            switch("count_segments", count_segments),
            word("form", "linux"),
            word("arithmetic", arithmetic),
            value("s_max", 16.0),
            value("beta", 205.0 / 1024.0),
        ]
    }

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] for incompatible values.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = BicParams::read(settings)?;
        let win = LossWindow::new(settings)?;
        if p.s_min > p.s_max {
            return settings.conflict(format!("s_min {} must not be above s_max {}", p.s_min, p.s_max));
        }
        if p.form == Form::Linux && win.arithmetic == Arithmetic::Fluid {
            return settings.conflict("form 'linux' needs arithmetic 'linux' or 'linux-2.6'");
        }
        if p.search_update == SearchUpdate::Round && win.arithmetic != Arithmetic::Fluid {
            return settings.conflict("search_update 'round' needs arithmetic 'fluid'");
        }
        Ok(Self {
            win,
            p,
            last_max: 0.0,
            search: UNKNOWN,
            linux: NO_DIVISOR,
            jiffies: Jiffies::default(),
            saved: (0.0, UNKNOWN),
        })
    }

    /// The paper's rules for one ACK in congestion avoidance, for `w >= low_window`.
    #[inline]
    fn search(&mut self, n: f64, round_start: bool) {
        let (p, s) = (&self.p, &mut self.search);
        if s.is_probing {
            self.win.grow_per_round(n, s.ss_cwnd);
            if self.win.w >= s.ss_target {
                s.ss_cwnd *= 2.0;
                s.ss_target = self.win.w + s.ss_cwnd;
            }
            // Above this window growth is additive, since the maximum is unknown.
            s.is_probing = s.ss_cwnd < p.s_max;
            return;
        }
        if p.search_update == SearchUpdate::Ack {
            self.win.grow_per_round(n, (s.target_win - self.win.w).clamp(p.s_min, p.s_max));
        } else {
            if round_start || s.per_ack == 0.0 {
                s.target_win = (s.max_win + self.win.w) / 2.0;
                s.per_ack = (s.target_win - self.win.w).clamp(p.s_min, p.s_max) / self.win.w;
            }
            self.win.w += n * s.per_ack;
        }
        let w = self.win.w;
        if w >= s.max_win {
            *s = Search { is_probing: true, ss_target: w + 1.0, ..UNKNOWN };
        } else if p.search_update == SearchUpdate::Ack {
            s.target_win = (s.max_win + w) / 2.0;
        }
    }

    /// Linux's divisor: number of ACKs for one segment of window.
    fn linux_cnt(&self) -> f64 {
        let (p, w) = (&self.p, self.win.w);
        if w <= p.low_window {
            return w;
        }
        let near = (w * p.smooth_part / p.search_divisor).floor();
        let mut cnt = if w < self.last_max {
            let dist = ((self.last_max - w) / p.search_divisor).floor();
            if dist > p.s_max {
                (w / p.s_max).floor()
            } else if dist <= 1.0 {
                near
            } else {
                (w / dist).floor()
            }
        } else if w < self.last_max + p.search_divisor {
            near
        } else if w < self.last_max + p.s_max * (p.search_divisor - 1.0) {
            (w * (p.search_divisor - 1.0) / (w - self.last_max)).floor()
        } else {
            (w / p.s_max).floor()
        };
        if !p.per_ack_estimate {
            return cnt.max(1.0);
        }
        if !self.linux.lost {
            cnt = cnt.min(LINUX_UNKNOWN_CNT);
        }
        self.linux.ratio.divide(cnt)
    }

    #[inline]
    fn grow_linux(&mut self, now: f64, n: f64) {
        let elapsed = self.jiffies.between(self.linux.at_time, now);
        if self.linux.at_window != self.win.w || elapsed > self.jiffies.quotient(LINUX_PERIOD_S) {
            self.linux.cnt = self.linux_cnt();
            self.linux.at_window = self.win.w;
            self.linux.at_time = now;
        }
        self.win.grow_one_in(if self.p.count_segments { n } else { 1.0 }, self.linux.cnt);
    }
}

observed! {
    self: Bic, self.win;
    /// Window at the last loss, after fast convergence; 0 before a loss.
    last_max = self.last_max, number(Unit::Segments);
    /// Upper end of the binary search (max_win); null while it is unknown.
    max_win = self.search.max_win, number(Unit::Segments);
    /// Middle of the binary search, towards which the window grows (target_win); null while it is unknown.
    target_win = self.search.target_win, number(Unit::Segments);
    /// 1 while the window probes beyond the maximum.
    is_probing = self.search.is_probing, plain();
    /// Increase for each round trip while probing beyond the maximum (ss_cwnd).
    ss_cwnd = self.search.ss_cwnd, number(Unit::Segments);
    /// ACKs or segments needed for one segment of growth, in Linux's form; 1 otherwise.
    cnt = self.linux.cnt, number(Unit::Segments);
}

impl LossBased for Bic {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        Needs { hz: self.p.form == Form::Linux, ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.jiffies = Jiffies::new(start.hz);
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if self.p.form == Form::Linux && ack.was_open() && ack.acked > 0.0 {
            self.linux.ratio.update(ack.sampled());
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if self.p.form == Form::Linux {
            self.grow_linux(ack.now, n);
        } else if self.win.w < self.p.low_window {
            self.win.grow_per_round(n, 1.0);
        } else {
            self.search(n, ack.round_start);
        }
    }

    /// Records the maximum; returns the window after a loss.
    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.saved = (self.last_max, self.search);
        let (w, p) = (self.win.w, &self.p);
        let from = self.win.reduced_from(signal);
        let low = if p.form == Form::Linux { w <= p.low_window } else { w < p.low_window };
        if p.form == Form::Linux || !low {
            let before = if p.converge_against == Against::MaxWin { self.search.max_win } else { self.last_max };
            let converge = p.fast_convergence && w < before;
            self.last_max = if converge { self.win.whole(w * (2.0 - p.beta) / 2.0) } else { w };
        }
        self.linux.lost = true;
        if self.win.arithmetic == Arithmetic::Linux26 {
            // Linux 5 keeps the divisor for 1/32 s if the loss leaves the window of the divisor's last update. The studies
            // with Linux 2.6 are reproduced with a new divisor.
            self.linux.at_window = 0.0;
        }
        let target = if low || self.win.must_halve() { from / 2.0 } else { (1.0 - p.beta) * from };
        if !low {
            let target_win = (self.last_max + target) / 2.0;
            self.search = Search { max_win: self.last_max, target_win, ..UNKNOWN };
        }
        target
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        if self.p.form == Form::Linux {
            self.linux = NO_DIVISOR;
            self.last_max = 0.0;
        }
    }

    fn undone(&mut self, restored: bool) {
        // Linux restores only the window; the studies with Linux 2.6 are reproduced with the search of before.
        if restored && self.win.arithmetic != Arithmetic::Linux {
            (self.last_max, self.search) = self.saved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::testing::{Driver, close, settings};

    fn bic(preset: &str) -> Bic {
        Bic::new(&settings(&Bic::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    fn after_a_loss_at(b: &mut Bic, w: f64) -> Driver {
        let d = Driver::new();
        d.start_at(b, w);
        d.lose(b);
        d
    }

    #[test]
    fn an_undo_restores_the_search_except_in_linux() {
        for (preset, restores) in [("rounds", true), ("linux", false)] {
            let mut b = bic(preset);
            let d = after_a_loss_at(&mut b, 1000.0);
            b.linux.at_window = 875.0;
            let before = b.last_max;
            d.lose(&mut b);
            let after = b.last_max;
            assert!(after < before && b.linux.at_window == 875.0);
            b.on_event(&Event::Undo { now: 0.0 });
            assert_eq!(b.last_max, if restores { before } else { after }, "{preset}");
        }
    }

    // S_max, S_min, β and the low window are those of the authors' ns-2 scripts; the trajectories below follow from them.
    #[test]
    fn the_search_by_rounds_has_the_published_trajectory() {
        let mut b = bic("rounds");
        let mut d = after_a_loss_at(&mut b, 1000.0);
        assert_eq!(b.window(), 875.0);
        for w in [907.0, 939.0, 969.5, 984.75, 992.375, 996.188, 998.094, 999.047] {
            d.round(&mut b, 0.1);
            close(b.window(), w, 1e-3);
        }
        // The last steps are so small that the number of rounds is 15 to 17, depending on rounding to a segment.
        let mut rounds = 8;
        while b.window() < 999.99 {
            d.round(&mut b, 0.1);
            rounds += 1;
        }
        assert!((15..=17).contains(&rounds), "{rounds}");
    }

    #[test]
    fn growth_is_additive_until_the_distance_is_twice_s_max() {
        let mut b = bic("rounds");
        let mut d = after_a_loss_at(&mut b, 1000.0);
        for (w, inc) in [(930.0, 32.0), (936.0, 32.0), (940.0, 30.0), (999.999, 0.01)] {
            b.win.w = w;
            b.search.per_ack = 0.0;
            d.ack(&mut b, 1.0, 0.1, 0.0);
            close(b.search.per_ack * w, inc, 1e-9);
        }
    }

    #[test]
    fn a_loss_at_10000_is_regained_in_51_round_trips() {
        let mut b = bic("rounds");
        let mut d = after_a_loss_at(&mut b, 10_000.0);
        d.round(&mut b, 0.1);
        close(b.window(), 8782.0, 1e-4);
        let mut rounds = 1;
        while b.window() < 9999.99 {
            d.round(&mut b, 0.1);
            rounds += 1;
        }
        assert!((50..=52).contains(&rounds), "{rounds}");
    }

    #[test]
    fn by_acks_the_distance_shrinks_by_the_square_root_of_e_each_round_trip() {
        let mut b = bic("");
        let mut d = after_a_loss_at(&mut b, 10_000.0);
        b.win.w = 9960.0;
        d.ack(&mut b, 1.0, 0.1, 0.0);
        let before = 10_000.0 - b.window();
        d.round(&mut b, 0.1);
        close(10_000.0 - b.window(), before * libm::exp(-0.5), 5e-3);
    }

    #[test]
    fn fast_convergence_aims_lower_when_the_maximum_fell() {
        let mut b = bic("");
        let d = after_a_loss_at(&mut b, 1200.0);
        b.win.w = 1000.0;
        d.lose(&mut b);
        assert_eq!((b.last_max, b.window()), (937.5, 875.0));

        let mut linux = bic("linux");
        let d = after_a_loss_at(&mut linux, 1200.0);
        linux.win.w = 1000.0;
        d.lose(&mut linux);
        assert_eq!((linux.last_max, linux.window()), (899.0, 799.0));
    }

    #[test]
    fn a_flow_that_grew_past_its_maximum_does_not_converge() {
        let mut b = bic("");
        let d = after_a_loss_at(&mut b, 1000.0);
        b.win.w = 1100.0;
        d.lose(&mut b);
        assert_eq!(b.last_max, 1100.0);
    }

    #[test]
    fn beyond_the_maximum_it_probes_by_doubling_steps_and_then_additively() {
        let mut b = bic("");
        let mut d = after_a_loss_at(&mut b, 10_000.0);
        b.win.w = 10_000.0;
        let mut steps = Vec::new();
        for _ in 0..9 {
            let before = b.window();
            d.round(&mut b, 0.1);
            steps.push(b.window() - before);
        }
        for (step, expected) in steps.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0]) {
            close(*step, expected, 0.1);
        }
        close(steps[8], 32.0, 0.01);
        assert!(!b.search.is_probing && b.search.max_win.is_infinite());
    }

    #[test]
    fn below_the_low_window_it_is_standard_tcp() {
        let mut b = bic("");
        let mut d = after_a_loss_at(&mut b, 12.0);
        assert_eq!(b.window(), 6.0);
        d.round(&mut b, 0.1);
        close(b.window(), 7.0, 0.02);
    }

    #[test]
    fn linux_s_divisor_has_the_published_values() {
        let mut b = bic("linux");
        b.last_max = 1000.0;
        b.linux.lost = true;
        for (w, one_to_one, delayed) in [
            (875.0, 54.0, 27.0),
            (990.0, 495.0, 247.0),
            (997.0, 4985.0, 2492.0),
            (1020.0, 153.0, 76.0),
            (1048.0, 65.0, 32.0),
        ] {
            b.win.w = w;
            b.linux.ratio = AckRatio::START;
            assert_eq!(b.linux_cnt(), delayed, "{w}");
            // The estimate never settles at one segment an ACK: see `AckRatio`.
            for _ in 0..1000 {
                b.linux.ratio.update(1.0);
            }
            assert_eq!(b.linux_cnt(), (one_to_one * 16.0 / 31.0_f64).floor(), "{w}");
        }
    }

    #[test]
    fn since_linux_5_7_delayed_acks_grow_twice_as_fast() {
        // S_max is 16 segments a round trip; the estimate of two segments an ACK divides the divisor by two.
        for (preset, per_round) in [("linux-5.6", 16.0), ("linux", 32.0)] {
            let mut b = bic(preset);
            let mut d = after_a_loss_at(&mut b, 10_000.0);
            let before = b.window();
            for _ in 0..(before / 2.0) as usize {
                d.ack(&mut b, 2.0, 0.1, 0.1 / before);
            }
            close(b.window() - before, per_round, 0.05);
        }
    }

    #[test]
    fn linux_s_first_form_regains_its_maximum_later_than_the_pseudo_code() {
        // include/net/tcp.h of 2.6.12-rc2: growth by at most 32 segments, by a quarter of the distance, and near the
        // maximum by one segment in 11/4 windows.
        let mut b = bic("linux-2.6.11");
        b.last_max = 1000.0;
        for (w, cnt) in [(800.0, 25.0), (875.0, 28.0), (900.0, 36.0), (990.0, 495.0), (997.0, 2741.0)] {
            b.win.w = w;
            assert_eq!(b.linux_cnt(), cnt, "{w}");
        }
        for (w, cnt) in [(1002.0, 2755.0), (1020.0, 153.0), (1096.0, 34.0)] {
            b.win.w = w;
            assert_eq!(b.linux_cnt(), cnt, "{w}");
        }
        let rounds = |preset: &str| {
            let mut b = bic(preset);
            let mut d = after_a_loss_at(&mut b, 500.0);
            let mut n = 0;
            while b.window() < 500.0 {
                d.round(&mut b, 0.1);
                n += 1;
            }
            n
        };
        let (letter, code) = (rounds(""), rounds("linux-2.6.11"));
        assert!((20..30).contains(&code) && letter < code, "{letter} and {code}");
    }

    #[test]
    fn an_epoch_of_linux_2_6_is_the_one_that_ns_2_shows() {
        // A run of ns-2.35 TCP/Linux from 3 s to 9 s: one flow at 622 Mbit/s and 100 ms, after a third loss at 7870
        // segments.
        let mut b = bic("linux-2.6");
        let mut d = after_a_loss_at(&mut b, 8700.0);
        b.win.w = 7870.0;
        d.lose(&mut b);
        assert_eq!((b.window(), b.last_max), (6294.0, 7082.0));
        // The ratio of segments to ACKs had settled during slow start.
        for _ in 0..1000 {
            b.linux.ratio.update(1.0);
        }
        b.win.w = 6584.0;
        let mut course = vec![6584.0];
        for _ in 0..60 {
            d.round(&mut b, 0.1);
            course.push(b.window());
        }
        for (t, w) in [(4, 6892.0), (5, 7075.0), (6, 7079.0), (7, 7083.0), (8, 7102.0), (9, 7397.0)] {
            close(course[10 * (t - 3)], w, 2e-3);
        }
    }

    #[test]
    fn linux_forgets_its_maximum_after_a_timeout() {
        let mut b = bic("linux-2.6");
        let d = after_a_loss_at(&mut b, 1000.0);
        d.time_out(&mut b);
        assert_eq!((b.window(), b.last_max, b.linux.lost), (1.0, 0.0, false));
        b.win.w = 500.0;
        assert_eq!(b.linux_cnt(), 10.0);
    }

    #[test]
    fn linux_s_form_needs_linux_s_counter() {
        let s = settings(&Bic::ENTRY, "", &[("form", Setting::Text("linux"))]).expect("it is right");
        assert!(matches!(Bic::new(&s), Err(BuildError::Conflict { .. })));
    }

    #[test]
    fn to_the_letter_every_loss_after_probing_converges() {
        // Above the maximum the window probes, and `max_win` is "large".
        for (preset, expected) in [("2004", 1100.0 * 0.9375), ("", 1100.0)] {
            let mut b = bic(preset);
            let d = after_a_loss_at(&mut b, 1000.0);
            b.search = Search { is_probing: true, ..UNKNOWN };
            b.win.w = 1100.0;
            d.lose(&mut b);
            assert_eq!((b.last_max, b.window()), (expected, 1100.0 * 0.875));
        }
    }
}
