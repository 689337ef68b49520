//! BIC-TCP (Xu L, Harfoush K, Rhee I, "Binary increase congestion control for fast, long distance networks", INFOCOM
//! 2004). The window grows by a binary search for the window at which the last loss happened, and then probes beyond
//! it.
//!
//! Variant: the paper's pseudo-code with the constants of the authors' ns-2 scripts (S_max 32, S_min 0.01, β 0.125, low
//! window 14), since the paper's text was not available. The target follows each ACK; with `search_update = round`
//! there is a new one each round trip, as in the paper's description. Fast convergence compares the window with the
//! maximum recorded at the last loss. In the pseudo-code it is compared with `max_win`, which probing has set to
//! "large", so that every loss after probing would count as the arrival of a new flow.
//!
//! Differences:
//! * Linux (presets `linux`, `linux-2.6`) keeps 819/1024 of the window, has S_max 16, divides the distance by 4, moves
//!   by 1/5 segment a round trip near the maximum and resets its state after a timeout. It also divides by an estimate
//!   of segments per ACK, which makes the window grow almost twice as fast as intended if each segment is acknowledged
//!   by itself.
//! * Since Linux 5.7 the counter counts segments and not ACKs, but the divisor is still divided by this estimate, so
//!   the window grows twice as fast as intended with delayed ACKs too (preset `linux`; `linux-5.6` is Linux 3.18 to
//!   5.6).
//! * Linux's first form (preset `linux-2.6.11`) kept the paper's S_max 32 and β 1/8, has no estimate of segments per
//!   ACK, and moves by 4/11 segment a round trip near the maximum.

mod module;
mod parameters;

use self::module::Module;
pub use self::parameters::{Against, BicParams, Form, SearchUpdate};
use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::jiffies::Jiffies;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, switch, value, word};
use crate::reports::{Signal, Start};

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
    linux: Module,
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
            linux: Module::new(Jiffies::default()),
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
        let is_linux = self.p.form == Form::Linux;
        Needs { hz: is_linux, every_ack: is_linux, ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.linux = Module::new(Jiffies::new(start.hz));
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
            self.linux.grow(ack.now, n, self.last_max, (&self.p, &mut self.win));
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
            self.linux.forget();
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
mod tests;
