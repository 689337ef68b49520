//! Compound TCP (K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP approach for high-speed and long distance
//! networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp): the window is the sum of Reno's and of a second one, dwnd, which
//! grows by α·win^k in each round trip with less than γ segments in queues and gives up ζ times the queue in others. γ is
//! tuned to the buffer (TUBE, "tuning by emulation").
//!
//! Variant: INFOCOM's growth from the whole window in real numbers, spread over the round trip that follows; dwnd is used
//! from 38 segments on and rests in slow start; γ moves by a quarter towards 3/4 of what Reno alone would have queued. The
//! draft's and the paper's own text were not available: ζ, the tuning's weight and the low window (INFOCOM's may be 41) are
//! those of the implementations, and the RTT of a round trip, which the draft leaves open, is its smallest.
//! Differences: drafts -00 and -01 grow from dwnd instead (preset `draft-00`). L. Andrew's Linux module is `linux` (release
//! 1.3, whole segments, ACKs counted), `linux-1.1` (the same without spreading) and `linux-jan2008` (tuning by a half, no
//! low window, dwnd also in slow start, a loss taken from Reno's part). The module that Linux 2.6.18 had for a short time
//! has no tuning (`linux-2.6`); ns-2's TCP/Linux has that one, and as long as timestamps are off gives it one RTT sample a
//! round trip, too few for dwnd, which makes it Reno (`ns2`).

use crate::algorithm::{Ack, Algorithm, Signal, Start};
use crate::loss_window::{Arithmetic, FLOOR, LossParams, LossWindow};
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, flag, num, params};
use crate::round_trip::{MIN_SAMPLES, RoundTrip};

choices! {
    /// Whose rules.
    pub enum Rules {
        /// The paper's and the draft's, in real numbers.
        Draft = "draft",
        /// The Linux module of 2006, and Andrew's until January 2008.
        Early = "2006",
        /// Andrew's Linux module since March 2008, as of release 1.3.
        Release13 = "1.3",
    }
}

choices! {
    /// What dwnd grows from.
    pub enum GrowFrom {
        /// The segments sent in the last round trip.
        Window = "window",
        /// dwnd itself.
        Dwnd = "dwnd",
    }
}

choices! {
    /// Which RTT stands for a round trip.
    pub enum RttFilter {
        /// The smallest of its samples.
        Min = "min",
        /// Their mean.
        Mean = "mean",
    }
}

params! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams {
        /// Growth of the window for each round trip is this times window^k (α).
        alpha: f64 = num(0.125, 0.0, 1e3, ""), "Tan et al. 2006";
        /// Exponent of the growth; the Linux modules have 3/4 always.
        k: f64 = num(0.75, 0.0, 1.0, ""), "Tan et al. 2006";
        /// Part of the window given up on a loss (β).
        beta: f64 = num(0.5, 0.0, 1.0, ""), "Tan et al. 2006";
        /// dwnd shrinks by this times the segments in queues (ζ; η in the drafts).
        zeta: f64 = num(1.0, 0.0, 1e3, ""), "Linux modules; in the paper unverified";
        /// Segments in queues below which dwnd grows (γ), at first.
        gamma: f64 = num(30.0, 0.0, 1e6, "segments"), "Tan et al. 2006";
        /// Smallest γ that tuning sets.
        gamma_low: f64 = num(5.0, 0.0, 1e6, "segments"), "Andrew's module; in the draft unverified";
        /// Largest γ that tuning sets.
        gamma_high: f64 = num(30.0, 0.0, 1e6, "segments"), "Andrew's module; in the draft unverified";
        /// Part of the way that γ moves at each loss; 0: fixed.
        gamma_gain: f64 = num(0.25, 0.0, 1.0, ""), "Andrew's module 1.1 (January 2008: 0.5); in the draft unverified";
        /// Window below which dwnd is 0.
        low_window: f64 = num(38.0, 0.0, 1e6, "segments"), "Andrew's module; INFOCOM 41? (unverified)";
        /// What dwnd grows from.
        grow_from: GrowFrom = choice("window", GrowFrom::WORDS), "Tan et al. 2006; drafts -00, -01: dwnd";
        /// Which RTT stands for a round trip.
        rtt_filter: RttFilter = choice("min", RttFilter::WORDS), "Linux modules; the draft does not say";
        /// Spread the growth of dwnd over the next round trip.
        spread: bool = flag(true), "Andrew's module 1.3";
        /// Whose rules in detail.
        rules: Rules = choice("draft", Rules::WORDS), "Tan et al. 2006; Linux modules";
        /// Forget the base RTT when sending resumes after an idle time.
        forget_base: bool = flag(false), "Linux module of 2006: on";
        /// Timestamps give an RTT sample for every ACK; off: one each round trip.
        timestamps: bool = flag(true), "ns-2 tcp-linux.cc";
    }
}

/// Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Its window is the sum of both.
    win: LossWindow,
    p: CompoundParams,
    dwnd: f64,
    gamma: f64,
    base: f64,
    round: RoundTrip,
    /// Reno's window when the round began.
    reno_at_start: f64,
    /// What Reno alone would have in queues; in the modules in halves of a segment.
    diff_reno: Option<f64>,
    /// Growth of dwnd that is not spread yet, and for each segment acknowledged (module 1.3: ACKs for each segment).
    left: f64,
    pace: f64,
    acks: f64,
    saved: Option<f64>,
}

/// What the presets for the modules before March 2008 share.
const EARLY: [(&str, Setting); 4] = [
    ("arithmetic", Setting::Text("linux-2.6")),
    ("rules", Setting::Text("2006")),
    ("low_window", Setting::Num(0.0)),
    ("spread", Setting::Bool(false)),
];

/// `EARLY` and what one of them has besides.
const fn early<const N: usize>(more: &[(&'static str, Setting)]) -> [(&'static str, Setting); N] {
    let mut all = [EARLY[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < EARLY.len() { EARLY[i] } else { more[i - EARLY.len()] };
        i += 1;
    }
    all
}

impl Compound {
    /// What the registry says about it.
    pub const ENTRY: Entry = Entry {
        name: "compound",
        title: "Compound TCP",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT"],
        source: "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp",
        doc: "Reno's window plus a second one that grows with the 3/4 power of the window while few segments wait in queues, \
              and gives way to a queue so that Reno remains. The threshold is tuned to the buffer (TUBE). The default \
              follows INFOCOM 2006 in real numbers, with what the implementations agree on where its text is open.",
        presets: &[
            Preset { name: "", title: "INFOCOM 2006 with tuning (TUBE)", overrides: &[] },
            Preset {
                name: "draft-00",
                title: "drafts -00 and -01: grows from dwnd",
                overrides: &[("grow_from", Setting::Text("dwnd"))],
            },
            Preset {
                name: "linux",
                title: "Andrew's Linux module, release 1.3 (April 2008)",
                overrides: &[("arithmetic", Setting::Text("linux-2.6")), ("rules", Setting::Text("1.3"))],
            },
            Preset {
                name: "linux-1.1",
                title: "Andrew's Linux module, release 1.1 (March 2008): not spread",
                overrides: &[
                    ("arithmetic", Setting::Text("linux-2.6")),
                    ("rules", Setting::Text("1.3")),
                    ("spread", Setting::Bool(false)),
                ],
            },
            Preset {
                name: "linux-jan2008",
                title: "Andrew's Linux module, January 2008: tuned by a half",
                overrides: &early::<5>(&[("gamma_gain", Setting::Num(0.5))]),
            },
            Preset {
                name: "linux-2.6",
                title: "Linux module of 2006, ns-2 TCP/Linux with timestamps: not tuned",
                overrides: &early::<6>(&[("gamma_gain", Setting::Num(0.0)), ("forget_base", Setting::Bool(true))]),
            },
            Preset {
                name: "ns2",
                title: "ns-2 TCP/Linux without timestamps: Reno",
                overrides: &early::<7>(&[
                    ("gamma_gain", Setting::Num(0.0)),
                    ("forget_base", Setting::Bool(true)),
                    ("timestamps", Setting::Bool(false)),
                ]),
            },
        ],
        tables: &[CompoundParams::TABLE, LossParams::TABLE],
    };

    /// # Errors
    /// As [`Settings::read`], and [`BuildError::Conflict`] where γ's limits are in the wrong order or the arithmetic is not
    /// that of the rules.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = CompoundParams::read(settings)?;
        if p.gamma_low > p.gamma_high {
            return settings
                .conflict(format!("gamma_low {} must not be above gamma_high {}", p.gamma_low, p.gamma_high));
        }
        let win = LossWindow::new(settings)?;
        let arithmetic = if p.rules == Rules::Draft { Arithmetic::Fluid } else { Arithmetic::Linux26 };
        if win.arithmetic != arithmetic {
            return settings.conflict("rules 'draft' need arithmetic 'fluid', the others 'linux-2.6'");
        }
        Ok(Self {
            win,
            p,
            dwnd: 0.0,
            gamma: p.gamma,
            base: f64::INFINITY,
            round: RoundTrip::NEW,
            reno_at_start: 0.0,
            diff_reno: None,
            left: 0.0,
            pace: 0.0,
            acks: 0.0,
            saved: None,
        })
    }

    /// Reno's part of the window.
    fn reno(&self) -> f64 {
        self.win.w - self.dwnd
    }

    /// Changes dwnd, and with it the window.
    fn add(&mut self, segments: f64) {
        self.dwnd += segments;
        self.win.w += segments;
    }

    /// What a window of `w` adds to dwnd in a round trip; Reno's one segment is taken off.
    fn increment(&self, w: f64) -> f64 {
        let grown = match self.p.rules {
            Rules::Draft => self.p.alpha * libm::pow(w, self.p.k),
            Rules::Early => (self.p.alpha * fourth_root(w * w * w)).floor(),
            Rules::Release13 => (self.p.alpha * three_quarter_power(w)).floor(),
        };
        (grown - 1.0).max(0.0)
    }

    /// The window left for Reno where dwnd is not used. A window that is below the floor already is not raised.
    fn drop_dwnd(&mut self) {
        self.win.w = self.reno().max(FLOOR.min(self.win.w));
        self.dwnd = 0.0;
    }

    /// What dwnd gives up is not to be won back by Reno's slow start, as it is in the modules.
    fn keep_out_of_slow_start(&mut self) {
        if self.p.rules == Rules::Draft {
            self.win.ssthresh = self.win.ssthresh.min(self.win.w.max(FLOOR));
        }
    }

    fn begin_round(&mut self) -> RoundTrip {
        std::mem::replace(&mut self.round, RoundTrip::NEW)
    }

    /// The decision of a round that ends.
    fn end_round(&mut self) {
        let (round, reno_then) = (self.begin_round(), self.reno_at_start);
        self.reno_at_start = self.reno();
        let rest = std::mem::take(&mut self.left);
        self.add(rest);
        let early = self.p.rules == Rules::Early;
        let slow_starting = self.win.w < self.win.ssthresh;
        if slow_starting && self.p.rules == Rules::Draft {
            return;
        }
        if self.win.w < self.p.low_window || (slow_starting && self.p.rules == Rules::Release13) {
            self.drop_dwnd();
            self.keep_out_of_slow_start();
            return;
        }
        if round.samples < MIN_SAMPLES {
            return;
        }
        let rtt = match self.p.rtt_filter {
            RttFilter::Min => round.min,
            RttFilter::Mean => round.sum / f64::from(round.samples),
        };
        // What was sent in the round is what its ACKs report, and at most a window.
        let sent = round.acked.min(self.win.w);
        let queued = self.queued(sent, rtt);
        self.diff_reno = Some(self.queued(reno_then, rtt));
        if queued < self.gamma {
            let from = if self.p.grow_from == GrowFrom::Window { sent } else { self.dwnd.max(1.0) };
            self.grow_dwnd(self.increment(from));
        } else {
            let cut = self.p.zeta * queued;
            // The first module truncates what is left, the later one what is given up.
            let left = if early { self.win.whole(self.dwnd - cut) } else { self.dwnd - self.win.whole(cut) };
            self.add(left.max(0.0) - self.dwnd);
            self.keep_out_of_slow_start();
        }
    }

    /// Segments in queues when `sent` were sent in a round trip of `rtt` s. The modules have it in halves, rounded up, and
    /// add a microsecond to each RTT.
    fn queued(&self, sent: f64, rtt: f64) -> f64 {
        if self.p.rules == Rules::Draft {
            return sent * (1.0 - self.base / rtt);
        }
        let (base, rtt) = ((self.base * 1e6).round() + 1.0, (rtt * 1e6).round() + 1.0);
        (2.0 * sent - (2.0 * sent * base / rtt).floor()) / 2.0
    }

    fn grow_dwnd(&mut self, segments: f64) {
        if !self.p.spread {
            self.add(segments);
        } else if segments > 0.0 {
            self.left = segments;
            self.acks = 0.0;
            self.pace = if self.p.rules == Rules::Draft {
                segments / self.win.w
            } else {
                // Twice as fast, for the sake of delayed ACKs.
                (self.win.w / (2.0 * segments)).floor().max(1.0)
            };
        }
    }

    /// This ACK's share of the growth of dwnd.
    #[inline]
    fn spread(&mut self, n: f64) {
        if self.left <= 0.0 {
            return;
        }
        if self.p.rules == Rules::Draft {
            let share = (n * self.pace).min(self.left);
            self.left -= share;
            self.add(share);
            return;
        }
        self.acks += 1.0;
        if self.acks > self.pace {
            self.acks = 0.0;
            self.left -= 1.0;
            self.add(1.0);
        }
    }

    /// Growth of Reno's part as the module of 2006 has it: by itself in slow start, then one segment for as many ACKs as
    /// the window has segments.
    #[inline]
    fn grow_early(&mut self) {
        if self.reno() <= self.win.ssthresh {
            self.win.w += 1.0;
        } else {
            self.win.counter += 1.0;
            if self.win.counter >= self.win.w {
                self.win.counter = 0.0;
                self.win.w += 1.0;
            }
        }
    }

    /// Tunes γ to what Reno alone had queued before a loss.
    fn tune(&mut self) {
        let Some(diff) = self.diff_reno.take() else { return };
        if self.p.gamma_gain > 0.0 {
            let way = self.win.whole(0.75 * diff) - self.gamma;
            self.gamma += self.win.whole(way * self.p.gamma_gain);
            self.gamma = self.gamma.clamp(self.p.gamma_low, self.p.gamma_high);
        }
    }

    /// Shares what is left of a window of `before` segments among both parts; Reno's was `reno`, and its share by the
    /// draft is `reno_left`.
    fn share(&mut self, reno: f64, before: f64, reno_left: f64) {
        let w = self.win.w;
        self.dwnd = match self.p.rules {
            Rules::Draft => (w - reno_left).max(0.0),
            Rules::Release13 => (self.dwnd * w / before).floor(),
            // Reno's part bears it, unless one of them is too large by itself, as one is after any halving. (At exact
            // halves the module leaves nothing to Reno, which is not copied.)
            Rules::Early if reno > w || self.dwnd >= w => 0.0,
            Rules::Early => self.dwnd,
        };
    }

    /// A loss or a timeout ends the round trip and what it measured.
    fn interrupt(&mut self) {
        self.saved = Some(self.dwnd);
        self.tune();
        self.left = 0.0;
        self.round = RoundTrip::NEW;
    }
}

/// The fourth root as the first Linux module finds it: by Newton's method in whole numbers, which ends within one of it.
fn fourth_root(a: f64) -> f64 {
    let a = a as u64;
    let mut x = 1_u64 << ((64 - a.leading_zeros()) >> 2);
    loop {
        let before = x;
        x = (3 * x + a / (x * x * x)) / 4;
        if before.abs_diff(x) <= 1 {
            return x as f64;
        }
    }
}

/// w^(3/4) as the later Linux module computes it: by two square roots in whole numbers.
fn three_quarter_power(w: f64) -> f64 {
    let root = libm::sqrt(libm::floor(libm::sqrt(w)) * 65_536.0).floor();
    if root > 0.0 { (w * 256.0 / root).floor() } else { 0.0 }
}

impl Algorithm for Compound {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start);
        self.reno_at_start = self.win.w;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.p.timestamps || self.round.samples == 0 {
            self.base = self.base.min(ack.rtt.unwrap_or(f64::INFINITY));
            self.round.add(ack);
        } else {
            self.round.acked += ack.acked;
        }
        if ack.may_grow() && ack.acked > 0.0 {
            if self.p.rules == Rules::Early {
                self.grow_early();
            } else {
                let n = self.win.slow_start(ack);
                if n > 0.0 {
                    self.win.grow_per_round(n, 1.0);
                    self.spread(n);
                }
            }
            if ack.round_start {
                self.end_round();
            }
        } else if ack.round_start {
            // A round trip in which the window was not what limited the flow says nothing.
            self.begin_round();
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.interrupt();
        let (reno, before) = (self.reno(), self.win.w);
        let keep = if self.win.must_halve() { 0.5 } else { 1.0 - self.p.beta };
        self.win.reduce_to(keep * self.win.reduced_from(signal));
        self.share(reno, before, reno / 2.0);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.interrupt();
        self.win.time_out(0.5 * self.win.reduced_from(signal), signal.repeated);
        self.dwnd = 0.0;
        if self.p.rules == Rules::Draft {
            // As implementations of the draft have it; in the modules γ stays.
            self.gamma = self.p.gamma;
        }
    }

    fn on_idle(&mut self, _now: f64, _idle: f64) {
        self.win.idle();
        self.dwnd = 0.0;
        self.left = 0.0;
        self.gamma = self.p.gamma;
        self.diff_reno = None;
        self.round = RoundTrip::NEW;
        if self.p.forget_base {
            self.base = f64::INFINITY;
        }
    }

    fn on_recovery_exit(&mut self, _now: f64) {
        self.round = RoundTrip::NEW;
        self.diff_reno = None;
        self.reno_at_start = self.reno();
    }

    fn on_undo(&mut self, _now: f64) {
        if let (Some(w), Some(dwnd)) = (self.win.undo(), self.saved.take()) {
            // A window that has grown beyond the old one meanwhile stays Reno's.
            self.dwnd = if self.win.w > w { self.dwnd } else { dwnd };
        }
    }

    fn moderate(&mut self, window: f64) {
        let (reno, before) = (self.reno(), self.win.w);
        self.win.moderate(window);
        if self.win.w < before {
            self.left = 0.0;
            self.share(reno, before, reno * self.win.w / before);
        }
    }

    #[inline]
    fn window(&self) -> f64 {
        self.win.w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.win.ssthresh
    }

    fn recovery_floor(&self) -> f64 {
        self.win.ssthresh * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, close, run_over_link, settings};

    const PRESETS: [&str; 6] = ["", "draft-00", "linux", "linux-1.1", "linux-jan2008", "linux-2.6"];

    fn compound(preset: &str, values: &[(&str, Setting)]) -> Compound {
        Compound::new(&settings(&Compound::ENTRY, preset, values).expect("it is right")).expect("it is right")
    }

    /// In congestion avoidance with both parts, over a base of 0.1 s.
    fn at(preset: &str, values: &[(&str, Setting)], reno: f64, dwnd: f64) -> (Driver, Compound) {
        let (d, mut c) = (Driver::new(), compound(preset, values));
        c.on_start(&Start { initial_window: reno + dwnd, initial_ssthresh: 2.0, ..Start::default() });
        (c.dwnd, c.base, c.reno_at_start) = (dwnd, 0.1, reno);
        (d, c)
    }

    fn round(c: &mut Compound, rtt: f64) {
        let w = c.win.w;
        c.round = RoundTrip { min: rtt, sum: w * rtt, samples: w as u32, acked: w };
        c.end_round();
    }

    #[test]
    fn growth_has_the_published_values() {
        let draft = compound("", &[]);
        for (w, growth) in [
            (16.0, 0.0),
            (38.0, 0.9131),
            (41.0, 1.0253),
            (100.0, 2.9528),
            (333.0, 8.7441),
            (1000.0, 21.2285),
            (10_000.0, 124.0),
        ] {
            assert!((draft.increment(w) - growth).abs() <= 1e-4 * growth + 1e-9, "{}", draft.increment(w));
        }
        let early = compound("linux-2.6", &[]);
        for (w, growth) in [(38.0, 0.0), (100.0, 2.0), (333.0, 8.0), (1000.0, 21.0)] {
            assert_eq!(early.increment(w), growth);
        }
        // Release 1.3 takes the two roots of 1000 for 5.57.
        assert_eq!((compound("linux", &[]).increment(1000.0), compound("linux", &[]).increment(0.0)), (21.0, 0.0));
    }

    #[test]
    fn a_short_queue_lets_dwnd_grow_and_a_long_one_is_given_up() {
        for (rtt, queued, dwnd) in [(0.103, 29.126, 521.2285), (0.105, 47.619, 452.381)] {
            let (_, mut c) = at("", &[("spread", Setting::Bool(false))], 500.0, 500.0);
            close(c.queued(1000.0, rtt), queued, 1e-4);
            round(&mut c, rtt);
            close(c.dwnd, dwnd, 1e-5);
            close(c.reno(), 500.0, 1e-12);
        }
    }

    #[test]
    fn the_modules_give_up_whole_segments() {
        for (preset, dwnd) in [("linux", 452.0), ("linux-jan2008", 452.0), ("linux-2.6", 452.0)] {
            let (_, mut c) = at(preset, &[], 500.0, 500.0);
            round(&mut c, 0.105);
            assert_eq!(c.dwnd, dwnd, "{preset}");
            round(&mut c, 0.3);
            assert_eq!((c.dwnd, c.window()), (0.0, 500.0));
        }
    }

    #[test]
    fn a_loss_halves_both_parts() {
        for (reno, dwnd) in [(600.0, 400.0), (900.0, 100.0)] {
            for preset in ["", "draft-00", "linux", "linux-1.1"] {
                let (d, mut c) = at(preset, &[], reno, dwnd);
                d.lose(&mut c);
                assert_eq!((c.reno(), c.dwnd, c.ssthresh()), (reno / 2.0, dwnd / 2.0, 500.0), "{preset}");
            }
        }
        let (d, mut c) = at("", &[("beta", Setting::Num(0.25))], 600.0, 400.0);
        d.lose(&mut c);
        assert_eq!((c.reno(), c.dwnd), (300.0, 450.0));
    }

    #[test]
    fn the_early_modules_lose_dwnd_where_one_part_is_more_than_what_is_left() {
        for preset in ["linux-jan2008", "linux-2.6"] {
            for (reno, dwnd) in [(600.0, 400.0), (400.0, 600.0), (500.0, 500.0)] {
                let (d, mut c) = at(preset, &[], reno, dwnd);
                d.lose(&mut c);
                assert_eq!((c.reno(), c.dwnd), (500.0, 0.0), "{preset}");
            }
            let (_, mut c) = at(preset, &[], 600.0, 400.0);
            c.moderate(900.0);
            assert_eq!((c.reno(), c.dwnd), (500.0, 400.0));
        }
    }

    #[test]
    fn gamma_moves_towards_three_quarters_of_reno_s_queue() {
        for (gain, gamma) in [(0.25, 26.25), (0.8, 18.0), (0.2, 27.0)] {
            let mut c = compound("", &[("gamma_gain", Setting::Num(gain))]);
            c.diff_reno = Some(20.0);
            c.tune();
            close(c.gamma, gamma, 1e-12);
            // Not twice with one measurement.
            c.tune();
            close(c.gamma, gamma, 1e-12);
        }
        for (preset, after_one) in [("", 23.25), ("linux", 23.0), ("linux-jan2008", 16.0), ("linux-2.6", 30.0)] {
            let mut c = compound(preset, &[]);
            c.diff_reno = Some(4.0);
            c.tune();
            assert_eq!(c.gamma, after_one, "{preset}");
            for _ in 0..50 {
                c.diff_reno = Some(4.0);
                c.tune();
            }
            assert_eq!(c.gamma, if preset == "linux-2.6" { 30.0 } else { 5.0 });
        }
    }

    #[test]
    fn a_loss_tunes_gamma_by_the_round_before_it() {
        let (d, mut c) = at("", &[], 500.0, 500.0);
        round(&mut c, 0.105);
        // Reno's 500 have half of 47.6 in the queue.
        d.lose(&mut c);
        close(c.gamma, 30.0 + 0.25 * (0.75 * 23.8095 - 30.0), 1e-5);
        assert_eq!(c.diff_reno, None);
    }

    #[test]
    fn below_the_low_window_it_is_reno() {
        let (_, mut c) = at("", &[], 20.0, 15.0);
        round(&mut c, 0.1);
        assert_eq!((c.window(), c.dwnd), (20.0, 0.0));
        let (mut d, mut c) = at("", &[], 30.0, 0.0);
        d.round(&mut c, 0.1);
        d.round(&mut c, 0.1);
        close(c.window(), 32.0, 5e-3);
        // The first modules have no such limit.
        let (_, mut c) = at("linux-2.6", &[], 20.0, 15.0);
        round(&mut c, 0.1);
        assert_eq!((c.window(), c.dwnd), (35.0, 15.0));
    }

    #[test]
    fn growth_is_spread_over_the_round_that_follows() {
        for (preset, half_way) in [("", 10.6), ("linux", 20.0)] {
            let (mut d, mut c) = at(preset, &[], 1000.0, 0.0);
            round(&mut c, 0.1);
            assert_eq!(c.dwnd, 0.0);
            for _ in 0..500 {
                d.ack(&mut c, 1.0, 0.1, 1e-4);
            }
            close(c.dwnd, half_way, 0.02);
            for _ in 0..500 {
                d.ack(&mut c, 1.0, 0.1, 1e-4);
            }
            round(&mut c, 0.1);
            assert!((21.0..21.3).contains(&c.dwnd), "{preset}: {}", c.dwnd);
        }
        let (_, mut c) = at("linux-1.1", &[], 1000.0, 0.0);
        round(&mut c, 0.1);
        assert_eq!(c.dwnd, 21.0);
    }

    #[test]
    fn dwnd_rests_in_slow_start_but_in_the_early_modules() {
        for (preset, dwnd) in [("", 0.0), ("linux", 0.0), ("linux-jan2008", 21.0), ("linux-2.6", 21.0)] {
            let (d, mut c) = (Driver::new(), compound(preset, &[]));
            d.start(&mut c, 1000.0);
            c.base = 0.1;
            round(&mut c, 0.1);
            assert_eq!(c.dwnd, dwnd, "{preset}");
        }
    }

    #[test]
    fn slow_start_goes_on_through_the_low_window() {
        for preset in PRESETS {
            let (mut d, mut c) = (Driver::new(), compound(preset, &[]));
            d.start(&mut c, 10.0);
            for _ in 0..4 {
                d.round(&mut c, 0.1);
            }
            assert!(c.window() >= 160.0 && c.ssthresh().is_infinite(), "{preset}: {}", c.window());
        }
    }

    #[test]
    fn what_dwnd_gives_up_is_not_won_back_by_slow_start() {
        let (mut d, mut c) = at("", &[], 500.0, 500.0);
        d.lose(&mut c);
        round(&mut c, 0.2);
        assert_eq!((c.window(), c.dwnd), (250.0, 0.0));
        d.round(&mut c, 0.2);
        close(c.window(), 251.0, 1e-3);
    }

    #[test]
    fn the_early_drafts_grow_from_dwnd_and_so_start_slowly() {
        let (_, mut c) = at("draft-00", &[("spread", Setting::Bool(false))], 1000.0, 0.0);
        round(&mut c, 0.1);
        assert_eq!(c.dwnd, 0.0);
        (c.dwnd, c.win.w) = (100.0, 1100.0);
        round(&mut c, 0.1);
        close(c.dwnd, 102.9528, 1e-6);
    }

    #[test]
    fn without_timestamps_it_is_reno() {
        let (mut d, mut c) = at("ns2", &[], 1000.0, 0.0);
        for _ in 0..10 {
            d.round(&mut c, 0.1);
        }
        assert_eq!(c.dwnd, 0.0);
        assert!((1009.0..=1011.0).contains(&c.window()));
    }

    #[test]
    fn a_timeout_ends_dwnd_and_the_tuning() {
        for (preset, gamma) in [("", 30.0), ("linux", 10.0)] {
            let (d, mut c) = at(preset, &[], 500.0, 500.0);
            c.gamma = 10.0;
            d.time_out(&mut c);
            assert_eq!((c.window(), c.dwnd, c.ssthresh(), c.gamma), (1.0, 0.0, 500.0, gamma));
        }
    }

    #[test]
    fn an_idle_time_ends_dwnd_and_only_the_first_module_forgets_the_base() {
        for preset in PRESETS {
            let (_, mut c) = at(preset, &[], 500.0, 500.0);
            c.gamma = 10.0;
            c.on_idle(10.0, 5.0);
            assert_eq!((c.dwnd, c.gamma), (0.0, 30.0));
            assert_eq!(c.base.is_infinite(), preset == "linux-2.6", "{preset}");
        }
    }

    #[test]
    fn an_undo_restores_dwnd_and_moderation_shares_alike() {
        let (d, mut c) = at("", &[], 600.0, 400.0);
        d.lose(&mut c);
        c.on_undo(1.0);
        assert_eq!((c.window(), c.dwnd), (1000.0, 400.0));
        c.moderate(800.0);
        close(c.dwnd, 320.0, 1e-12);
        close(c.reno(), 480.0, 1e-12);
    }

    #[test]
    fn a_pipe_of_6667_fills_in_as_many_rounds_as_the_law_says() {
        // dw/dn = w^0.75/8 gives 32 (6667^0.25 - 1000^0.25) rounds.
        for preset in ["", "linux", "linux-2.6"] {
            let (mut d, mut c) = at(preset, &[], 1000.0, 0.0);
            let mut rounds = 0.0;
            while c.window() < 6667.0 {
                d.round(&mut c, 0.1);
                rounds += 1.0;
            }
            close(rounds, 109.2, 0.05);
        }
    }

    #[test]
    fn alone_it_keeps_the_link_busy_with_less_than_gamma_until_reno_fills_the_queue() {
        let (mut d, mut c) = (Driver::new(), compound("", &[]));
        d.start_at(&mut c, 500.0);
        run_over_link(&mut d, &mut c, 10_000.0, 0.1, 10.0);
        assert!(c.dwnd > 300.0 && (1000.0..1130.0).contains(&c.window()), "{} {}", c.dwnd, c.window());
    }

    #[test]
    fn rules_with_another_arithmetic_are_refused() {
        for (preset, arithmetic) in [("", "linux"), ("linux", "fluid")] {
            let wrong = settings(&Compound::ENTRY, preset, &[("arithmetic", Setting::Text(arithmetic))]);
            assert!(matches!(Compound::new(&wrong.expect("each is allowed")), Err(BuildError::Conflict { .. })));
        }
    }
}
