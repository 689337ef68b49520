//! TCP-Illinois (Liu S, Başar T, Srikant R, "TCP-Illinois: a loss and delay-based congestion control algorithm for
//! high-speed networks", VALUETOOLS 2006; Performance Evaluation 65, 2008). Losses determine the direction in which the
//! window moves, and the mean queueing delay of the last round trip determines the speed: as the delay rises from 0 to
//! the largest delay so far, the increase α falls from 10 to 0.3 segments a round trip, and the decrease β rises from
//! 1/8 to 1/2.
//!
//! Variant: the paper's curves in real numbers with Linux's constants, because the paper's own α_min and window
//! threshold were not available; another simulator's documentation gives 0.1 and 10. The increase α returns to its
//! maximum after five round trips with almost no delay, consecutive or not, as in Linux. A timeout sets the threshold
//! to half of the window.
//!
//! Differences of Linux:
//! * Preset `linux` has α in 1/128 and β in 1/64, and a timeout's threshold uses the current β. Segments counted at a
//!   small α are multiplied by the next α, which may add up to 33 segments at once.
//! * Up to 2.6.23 a loss kept the fraction β of the window instead of the fraction 1 - β (preset `linux-2.6`, as in
//!   ns-2's TCP/Linux).
//! * The corrected module still has a problem with the largest RTT: every sample counts, so a single one that a busy
//!   host delayed makes all later queues look small (preset `linux-2.6.23`). Leith et al. (2008) tested it with RTT
//!   samples ignored for two round trips after a loss (preset `leith2008`).

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::reports::Signal;
use crate::round_trip::{AckedBeyond, RoundTrip};

choices! {
    /// Source of the largest RTT:
    /// * `sample`: the largest of all RTT samples.
    /// * `round-mean`: the largest of the mean RTTs of all round trips, which is robust to a single outlier.
    pub enum MaxSource { Sample = "sample", RoundMean = "round-mean" }
}

params! {
    /// Parameters of TCP-Illinois.
    pub struct IllinoisParams {
        /// Largest additive increase for each round trip.
        alpha_max: f64 = num(10.0, 1e-3, 1e6, Unit::Segments), "Liu, Başar & Srikant 2006; Linux tcp_illinois.c";
        /// Smallest additive increase for each round trip.
        alpha_min: f64 = num(0.3, 1e-3, 1e6, Unit::Segments), "Linux tcp_illinois.c; in the paper unverified (0.1?)";
        /// Smallest fraction of the window given up on a loss.
        beta_min: f64 = num(0.125, 0.0, 1.0, Unit::None), "Liu, Başar & Srikant 2006; Linux tcp_illinois.c";
        /// Largest fraction of the window given up on a loss.
        beta_max: f64 = num(0.5, 0.0, 1.0, Unit::None), "Liu, Başar & Srikant 2006; Linux tcp_illinois.c";
        /// Fraction of the largest queueing delay up to which α is `alpha_max` (d_1).
        d1: f64 = num(0.01, 0.0, 1.0, Unit::None), "Linux tcp_illinois.c";
        /// Fraction of the largest queueing delay up to which β is `beta_min` (d_2).
        d2: f64 = num(0.1, 0.0, 1.0, Unit::None), "Linux tcp_illinois.c";
        /// Fraction of the largest queueing delay from which β is `beta_max` (d_3).
        d3: f64 = num(0.8, 0.0, 1.0, Unit::None), "Linux tcp_illinois.c";
        /// Round trips with a delay of at most `d1` before α is `alpha_max` again (θ).
        theta: f64 = num(5.0, 1.0, 1e6, Unit::RoundTrips), "Linux tcp_illinois.c";
        /// Reset the count of round trips with little delay at a round trip with more delay.
        theta_consecutive: bool = flag(false), "the paper's intent, unverified; Linux: off";
        /// Window below which Illinois behaves as standard TCP (W_thresh).
        window_threshold: f64 = num(15.0, 0.0, 1e6, Unit::Segments), "Linux tcp_illinois.c; in the paper unverified (10?)";
        /// Keep the fraction β of the window on a loss, instead of 1 - β.
        keeps_beta: bool = flag(false), "Linux 2.6.22, corrected in November 2007; ns-2.35's TCP/Linux";
        /// Round trips after a loss in which RTT samples are ignored; the first one ends with recovery.
        ignored_rounds: f64 = num(0.0, 0.0, 100.0, Unit::RoundTrips), "Leith et al. 2008 §VIII: 2";
        /// Source of the largest RTT: single samples, or the means of round trips.
        max_source: MaxSource = choice("sample", MaxSource::WORDS), "Linux tcp_illinois.c";
        /// Halve on a timeout, independently of β.
        halve_on_timeout: bool = flag(true), "RFC 5681 §3.1; Linux: off";
    }
}

/// α and β of standard TCP, which apply below the window threshold and after a timeout.
const STANDARD: (f64, f64) = (1.0, 0.5);
/// Linux's fixed-point scales of α and of β.
const ALPHA_SCALE: f64 = 128.0;
const BETA_SCALE: f64 = 64.0;
/// Limit to which Linux truncates RTT samples, µs.
const LINUX_RTT_MAX_US: f64 = 3_355_443.0;

/// TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    win: LossWindow,
    p: IllinoisParams,
    alpha: f64,
    beta: f64,
    base: f64,
    max: f64,
    round: RoundTrip,
    /// End of the round trip in Linux (`end_seq`).
    end: AckedBeyond,
    /// True if a round trip has ended and the update of α and β waits for the end of recovery.
    due: bool,
    /// True if the delay has exceeded d_1 since α was last at its maximum.
    above: bool,
    low: f64,
    /// Remaining round trips in which samples are ignored.
    ignored: f64,
    /// Mean queueing delay of the last round trip, s; NaN before the first round trip.
    delay: f64,
}

impl Illinois {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "illinois",
        title: "TCP-Illinois",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT"],
        source: "Liu, Başar & Srikant, VALUETOOLS 2006; Performance Evaluation 65, 2008",
        doc: "Illinois is AIMD whose increase falls and whose decrease rises with the queueing delay, relative to the \
              largest delay so far. While queues are empty the window grows by ten segments a round trip, and a loss \
              reduces it by one eighth. The default has the paper's curves in real numbers with Linux's constants.",
        presets: &[
            Preset::new("", "VALUETOOLS 2006, Linux's constants", &[]),
            Preset::new(
                "linux",
                "Linux since 2.6.24",
                &[word("arithmetic", "linux"), switch("halve_on_timeout", false)],
            ),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, ns-2 TCP/Linux: a loss keeps β instead of 1 - β",
                &[word("arithmetic", "linux-2.6"), switch("halve_on_timeout", false), switch("keeps_beta", true)],
            ),
            Preset::new(
                "linux-2.6.23",
                "Linux 2.6.23, backoff corrected: a single delayed sample distorts the largest RTT",
                &[word("arithmetic", "linux-2.6"), switch("halve_on_timeout", false)],
            ),
            Preset::new(
                "leith2008",
                "Linux 2.6.23, backoff corrected, samples ignored for two round trips after a loss",
                &[word("arithmetic", "linux-2.6"), switch("halve_on_timeout", false), value("ignored_rounds", 2.0)],
            ),
        ],
        tables: &[IllinoisParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if the ends of a range are in the wrong order.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = IllinoisParams::read(settings)?;
        for (low, high, names) in [
            (p.alpha_min, p.alpha_max, ("alpha_min", "alpha_max")),
            (p.beta_min, p.beta_max, ("beta_min", "beta_max")),
            (p.d2, p.d3, ("d2", "d3")),
        ] {
            if low > high {
                return settings.conflict(format!("{} {low} must not be above {} {high}", names.0, names.1));
            }
        }
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            alpha: p.alpha_max,
            beta: p.beta_max,
            base: f64::INFINITY,
            max: 0.0,
            round: RoundTrip::NEW,
            end: AckedBeyond::NEW,
            due: false,
            above: false,
            low: 0.0,
            ignored: 0.0,
            delay: f64::NAN,
        })
    }

    /// α by the paper's curve, segments a round trip, for a delay `da` beyond d_1 times `dm`, s.
    fn alpha_curve(&self, da: f64, dm: f64) -> f64 {
        let (span, beyond) = (dm * (1.0 - self.p.d1), da - dm * self.p.d1);
        span * self.p.alpha_max / (span + beyond * (self.p.alpha_max - self.p.alpha_min) / self.p.alpha_min)
    }

    /// β by the paper's curve for a delay `da` of at most `dm`, s.
    fn beta_curve(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.p.d2 * dm, self.p.d3 * dm);
        if da <= d2 {
            self.p.beta_min
        } else if da >= d3 {
            self.p.beta_max
        } else {
            self.p.beta_min + (self.p.beta_max - self.p.beta_min) * (da - d2) / (d3 - d2)
        }
    }

    /// α by Linux's computation, in whole microseconds and in units of 1/128.
    fn alpha_linux(&self, da: f64, dm: f64, d1: f64) -> f64 {
        let (most, least) =
            ((self.p.alpha_max * ALPHA_SCALE).floor(), (self.p.alpha_min * ALPHA_SCALE).floor().max(1.0));
        let (span, beyond) = (dm - d1, da - d1);
        (span * most / (span + (beyond * (most - least) / least).floor())).floor() / ALPHA_SCALE
    }

    /// β by Linux's computation, in whole microseconds and in units of 1/64.
    fn beta_linux(&self, da: f64, dm: f64) -> f64 {
        let (least, most) = ((self.p.beta_min * BETA_SCALE).floor(), (self.p.beta_max * BETA_SCALE).floor());
        let (d2, d3) = ((dm * self.p.d2).floor(), (dm * self.p.d3).floor());
        let beta = if da <= d2 {
            least
        } else if da >= d3 || d3 <= d2 {
            most
        } else {
            ((least * d3 - most * d2 + (most - least) * da) / (d3 - d2)).floor()
        };
        beta / BETA_SCALE
    }

    /// α by the rule of θ round trips with almost no delay; `on_curve` is the curve's value for a delay above d_1.
    fn alpha_by_theta(&mut self, good: bool, on_curve: f64) -> f64 {
        if !good {
            self.above = true;
            if self.p.theta_consecutive {
                self.low = 0.0;
            }
            return on_curve;
        }
        if self.above {
            self.low += 1.0;
            if self.low < self.p.theta {
                return self.alpha;
            }
            (self.low, self.above) = (0.0, false);
        }
        self.p.alpha_max
    }

    /// Computes α and β for the next round trip.
    fn end_round(&mut self) {
        let round = std::mem::replace(&mut self.round, RoundTrip::NEW);
        self.due = false;
        if self.win.w < self.p.window_threshold {
            (self.alpha, self.beta) = STANDARD;
            return;
        }
        let Some(mean) = round.mean() else { return };
        if self.p.max_source == MaxSource::RoundMean {
            self.max = self.max.max(mean);
        }
        let dm = (self.max - self.base).max(0.0);
        // Rounding may put the mean of equal samples outside their range.
        let da = (mean - self.base).clamp(0.0, dm);
        self.delay = da;
        if self.win.integer() {
            // The mean is truncated to whole microseconds; the samples are whole microseconds already.
            let (da, dm) = (((round.sum * 1e6).round() / f64::from(round.samples)).floor(), (dm * 1e6).round());
            let da = (da - (self.base * 1e6).round()).max(0.0);
            let d1 = (dm * self.p.d1).floor();
            let good = da <= d1;
            let on_curve = if good { 0.0 } else { self.alpha_linux(da, dm, d1) };
            self.alpha = self.alpha_by_theta(good, on_curve);
            self.beta = self.beta_linux(da, dm);
        } else {
            let good = da <= dm * self.p.d1;
            let on_curve = if good { 0.0 } else { self.alpha_curve(da, dm) };
            self.alpha = self.alpha_by_theta(good, on_curve);
            self.beta = self.beta_curve(da, dm);
        }
    }

    /// Window after a loss.
    fn given_up(&self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        if self.win.must_halve() {
            return from / 2.0;
        }
        let part = self.win.whole(self.beta * from);
        if self.p.keeps_beta { part } else { from - part }
    }
}

observed! {
    self: Illinois, self.win;
    /// Additive increase for each round trip (α).
    alpha = self.alpha, number(Unit::Segments);
    /// Decrease at a loss, as a fraction of the window (β).
    beta = self.beta, plain();
    /// Mean queueing delay of the last round trip (d_a); null before the first.
    da_s = self.delay, number(Unit::Seconds);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
    /// Largest RTT; 0 before the first sample.
    max_s = self.max, number(Unit::Seconds);
}

impl LossBased for Illinois {
    own_window!();

    #[inline]
    fn requires(&self) -> Needs {
        Needs { every_ack: self.win.integer(), ..Needs::default() }
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.measure(ack);
        self.due |= match ack.sample.filter(|_| self.win.integer()) {
            // Linux looks for the end of a round trip only where the window may grow (`tcp_illinois_cong_avoid`).
            Some(sample) => !ack.in_recovery && self.end.passed(&sample),
            None => ack.round_start,
        };
        if self.due && !ack.in_recovery {
            self.ignored = (self.ignored - 1.0).max(0.0);
            self.end_round();
        }
        let slow_start = self.win.in_slow_start();
        let n = self.win.slow_start(ack);
        // Linux drops the segments of an ACK that slow start does not use.
        if n > 0.0 && !(slow_start && self.win.integer()) {
            self.grow(ack, n);
        }
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if self.ignored > 0.0 {
            return;
        }
        let rtt = if self.win.integer() { (rtt * 1e6).round().min(LINUX_RTT_MAX_US) * 1e-6 } else { rtt };
        self.base = self.base.min(rtt);
        if self.p.max_source == MaxSource::Sample {
            self.max = self.max.max(rtt);
        }
        self.round.add(&Ack { rtt: Some(rtt), ..*ack });
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if !self.win.integer() {
            self.win.grow_per_round(n, self.alpha);
            return;
        }
        // The ACK that ends a recovery counts all segments that it acknowledges cumulatively.
        self.win.counter += ack.sampled();
        let segments = (self.win.counter * self.alpha).floor();
        if segments >= self.win.w {
            self.win.w += (segments / self.win.w).floor();
            self.win.counter = 0.0;
        }
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.ignored = self.p.ignored_rounds;
        self.given_up(signal)
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        if self.p.halve_on_timeout { STANDARD.1 * self.win.reduced_from(signal) } else { self.given_up(signal) }
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        (self.alpha, self.beta) = STANDARD;
        (self.low, self.above) = (0.0, false);
        self.round = RoundTrip::NEW;
        self.end.restart();
    }

    fn resume(&mut self, _now: f64, _idle: f64) {
        self.round = RoundTrip::NEW;
    }
}

#[cfg(test)]
mod tests;
