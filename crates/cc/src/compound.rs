//! Compound TCP (Tan K, Song J, Zhang Q, Sridharan M, "A Compound TCP approach for high-speed and long distance
//! networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp). The window is the sum of Reno's window and a second window,
//! dwnd. In a round trip with fewer than γ segments in queues, dwnd grows by α·win^k; otherwise it shrinks by ζ times
//! the queue. γ is tuned to the buffer (TUBE, "tuning by emulation").
//!
//! Variant: INFOCOM's growth from the whole window, in real numbers, spread over the round trip that follows. dwnd is
//! used from a window of 38 segments on, and is constant in slow start. At each loss γ moves by a quarter of the way
//! towards 3/4 of the segments that Reno alone would have queued. The texts of the draft and of the paper were not
//! available, so ζ, the tuning's weight and the low window (INFOCOM's may be 41) are those of the implementations. The
//! draft does not define the RTT of a round trip; here it is the smallest sample of that round trip.
//!
//! Differences:
//! * In drafts -00 and -01 the growth is computed from dwnd and not from the whole window (preset `draft-00`).
//! * Andrew's Linux module has three presets. Preset `linux` is release 1.3 with whole segments and counted ACKs, and
//!   `linux-1.1` is the same without spreading. Preset `linux-jan2008` tunes by a half, has no low window, uses dwnd
//!   also in slow start, and subtracts the decrease at a loss from Reno's component.
//! * The module that Linux 2.6.18 had for a short time, and that ns-2's TCP/Linux has, lacks the tuning (`linux-2.6`).
//!   While timestamps are off, ns-2 gives it one RTT sample a round trip, but it updates dwnd only with more, so it
//!   behaves as Reno (`ns2`).

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::loss_window::{Arithmetic, FLOOR, LossParams, LossWindow, window_getters};
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::reports::{Signal, Start};
use crate::round_trip::{MIN_SAMPLES, RoundRtt, RoundTrip};

choices! {
    /// Source of the rules:
    /// * `draft`: the rules of the paper and the draft, in real numbers.
    /// * `2006`: the rules of the Linux module of 2006, and of Andrew's module until January 2008.
    /// * `1.3`: the rules of Andrew's Linux module since March 2008, as of release 1.3.
    pub enum Rules { Draft = "draft", Early = "2006", Release13 = "1.3" }

    /// Base of the growth of dwnd:
    /// * `window`: growth from the segments sent in the last round trip.
    /// * `dwnd`: growth from dwnd itself.
    pub enum GrowFrom { Window = "window", Dwnd = "dwnd" }
}

params! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams {
        /// Factor α of the window's growth for each round trip, α·window^k.
        alpha: f64 = num(0.125, 0.0, 1e3, Unit::None), "Tan et al. 2006";
        /// Exponent of the growth; the Linux modules have 3/4 always.
        k: f64 = num(0.75, 0.0, 1.0, Unit::None), "Tan et al. 2006";
        /// Fraction of the window given up on a loss (β).
        beta: f64 = num(0.5, 0.0, 1.0, Unit::None), "Tan et al. 2006";
        /// Factor of dwnd's decrease, ζ times the segments in queues (η in the drafts).
        zeta: f64 = num(1.0, 0.0, 1e3, Unit::None), "Linux modules; in the paper unverified";
        /// Initial threshold γ: dwnd grows while fewer segments are in queues.
        gamma: f64 = num(30.0, 0.0, 1e6, Unit::Segments), "Tan et al. 2006";
        /// Smallest γ that tuning sets.
        gamma_low: f64 = num(5.0, 0.0, 1e6, Unit::Segments), "Andrew's module; in the draft unverified";
        /// Largest γ that tuning sets.
        gamma_high: f64 = num(30.0, 0.0, 1e6, Unit::Segments), "Andrew's module; in the draft unverified";
        /// Fraction of the way to its target by which γ moves at each loss; 0: γ is fixed.
        gamma_gain: f64 = num(0.25, 0.0, 1.0, Unit::None), "Andrew's module 1.1 (January 2008: 0.5); in the draft unverified";
        /// Window below which dwnd is 0.
        low_window: f64 = num(38.0, 0.0, 1e6, Unit::Segments), "Andrew's module; INFOCOM 41? (unverified)";
        /// Base of dwnd's growth.
        grow_from: GrowFrom = choice("window", GrowFrom::WORDS), "Tan et al. 2006; drafts -00, -01: dwnd";
        /// RTT used for a round trip.
        rtt_filter: RoundRtt = choice("min", RoundRtt::WORDS), "Linux modules; the draft does not say";
        /// Spread the growth of dwnd over the next round trip.
        spread: bool = flag(true), "Andrew's module 1.3";
        /// Source of the detailed rules.
        rules: Rules = choice("draft", Rules::WORDS), "Tan et al. 2006; Linux modules";
        /// Forget the base RTT when sending resumes after an idle period.
        forget_base: bool = flag(false), "Linux module of 2006: on";
        /// Take an RTT sample from every ACK, by timestamps; off: one sample each round trip.
        timestamps: bool = flag(true), "ns-2 tcp-linux.cc";
    }
}

/// Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Sum of Reno's window and dwnd.
    win: LossWindow,
    p: CompoundParams,
    dwnd: f64,
    gamma: f64,
    base: f64,
    round: RoundTrip,
    /// Reno's window when the round began.
    reno_at_start: f64,
    /// Queue that Reno alone would cause, segments; in the modules in units of half a segment.
    diff_reno: Option<f64>,
    /// Remaining growth of dwnd in this round trip, and the growth for each segment acknowledged (in module 1.3 the
    /// number of ACKs for each segment of growth).
    left: f64,
    pace: f64,
    acks: f64,
    saved: Option<f64>,
}

/// Settings that the presets for the modules before March 2008 share.
const EARLY: [(&str, Setting); 4] =
    [word("arithmetic", "linux-2.6"), word("rules", "2006"), value("low_window", 0.0), switch("spread", false)];

/// The settings in `EARLY`, followed by those in `more`.
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
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "compound",
        title: "Compound TCP",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT"],
        source: "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp",
        doc: "Compound adds a second window, dwnd, to Reno's window. dwnd grows with the 3/4 power of the window while \
              few segments wait in queues, and shrinks to 0 as a queue builds, so that Reno's window remains. The \
              threshold is tuned to the buffer (TUBE). The default follows INFOCOM 2006 in real numbers. Points that \
              the paper's text leaves open follow the implementations where these agree.",
        presets: &[
            Preset::new("", "INFOCOM 2006 with tuning (TUBE)", &[]),
            Preset::new("draft-00", "drafts -00 and -01: grows from dwnd", &[word("grow_from", "dwnd")]),
            Preset::new(
                "linux",
                "Andrew's Linux module, release 1.3 (April 2008)",
                &[word("arithmetic", "linux-2.6"), word("rules", "1.3")],
            ),
            Preset::new(
                "linux-1.1",
                "Andrew's Linux module, release 1.1 (March 2008): not spread",
                &[word("arithmetic", "linux-2.6"), word("rules", "1.3"), switch("spread", false)],
            ),
            Preset::new(
                "linux-jan2008",
                "Andrew's Linux module, January 2008: tuned by a half",
                &early::<5>(&[value("gamma_gain", 0.5)]),
            ),
            Preset::new(
                "linux-2.6",
                "Linux module of 2006, ns-2 TCP/Linux with timestamps: not tuned",
                &early::<6>(&[value("gamma_gain", 0.0), switch("forget_base", true)]),
            ),
            Preset::new(
                "ns2",
                "ns-2 TCP/Linux without timestamps: Reno",
                &early::<7>(&[value("gamma_gain", 0.0), switch("forget_base", true), switch("timestamps", false)]),
            ),
        ],
        tables: &[CompoundParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if γ's limits are in the wrong order or the
    /// arithmetic does not fit the rules.
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

    /// Reno's component of the window.
    fn reno(&self) -> f64 {
        self.win.w - self.dwnd
    }

    /// Changes dwnd, and with it the window.
    fn add(&mut self, segments: f64) {
        self.dwnd += segments;
        self.win.w += segments;
    }

    /// Increase of dwnd in a round trip at a window of `w`, less Reno's one segment.
    fn increment(&self, w: f64) -> f64 {
        let grown = match self.p.rules {
            Rules::Draft => self.p.alpha * libm::pow(w, self.p.k),
            Rules::Early => (self.p.alpha * fourth_root(w * w * w)).floor(),
            Rules::Release13 => (self.p.alpha * three_quarter_power(w)).floor(),
        };
        (grown - 1.0).max(0.0)
    }

    /// Removes dwnd, so that the window is Reno's alone. A window already below the floor is not raised.
    fn drop_dwnd(&mut self) {
        self.win.w = self.reno().max(FLOOR.min(self.win.w));
        self.dwnd = 0.0;
    }

    /// With the draft's rules, lowers the threshold to the window, so that slow start does not undo the reduction of
    /// dwnd. The Linux modules keep the threshold, so slow start undoes this reduction.
    fn keep_out_of_slow_start(&mut self) {
        if self.p.rules == Rules::Draft {
            self.win.ssthresh = self.win.ssthresh.min(self.win.w.max(FLOOR));
        }
    }

    /// Discards the RTTs of an interrupted round. The module of 2006 keeps the count of acknowledged segments. This
    /// count therefore starts at the end of the last complete round.
    fn forget_round(&mut self) {
        let acked = if self.p.rules == Rules::Early { self.round.acked } else { 0.0 };
        self.round = RoundTrip { acked, ..RoundTrip::NEW };
    }

    fn begin_round(&mut self) -> RoundTrip {
        std::mem::replace(&mut self.round, RoundTrip::NEW)
    }

    /// Changes dwnd at the end of a round.
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
        let rtt = round.rtt(self.p.rtt_filter);
        // Segments sent in the round: the segments that the round's ACKs report, at most one window; the module of 2006
        // has no such limit.
        let sent = if early { round.acked } else { round.acked.min(self.win.w) };
        let queued = self.queued(sent, rtt);
        self.diff_reno = Some(self.queued(reno_then, rtt));
        if queued < self.gamma {
            let from = if self.p.grow_from == GrowFrom::Window { sent } else { self.dwnd.max(1.0) };
            self.grow_dwnd(self.increment(from));
        } else {
            let cut = self.p.zeta * queued;
            // The module of 2006 truncates the remaining dwnd; the later module truncates the decrease.
            let left = if early { self.win.whole(self.dwnd - cut) } else { self.dwnd - self.win.whole(cut) };
            self.add(left.max(0.0) - self.dwnd);
            self.keep_out_of_slow_start();
        }
    }

    /// Segments in queues if `sent` segments were sent in a round trip of `rtt` s. The Linux modules compute this
    /// number in half segments, rounded up, and add 1 µs to each RTT.
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
                // Growth is twice as fast, to correct for delayed ACKs.
                (self.win.w / (2.0 * segments)).floor().max(1.0)
            };
        }
    }

    /// Adds the share of dwnd's growth that belongs to an ACK of `n` segments.
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

    /// Grows Reno's component by the rules of the module of 2006. In slow start, while Reno's component alone is at
    /// most the threshold, each ACK adds one segment. Later, as many ACKs as the window has segments add one segment.
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

    /// Tunes γ to the queue that Reno alone would have caused before a loss.
    fn tune(&mut self) {
        let Some(diff) = self.diff_reno.take() else { return };
        if self.p.gamma_gain > 0.0 {
            let way = self.win.whole(0.75 * diff) - self.gamma;
            self.gamma += self.win.whole(way * self.p.gamma_gain);
            self.gamma = self.gamma.clamp(self.p.gamma_low, self.p.gamma_high);
        }
    }

    /// Divides the window after a loss between Reno's component and dwnd. Before the loss the window was `before` and
    /// Reno's component `reno`; by the draft's rules Reno's component is `reno_left` after the loss.
    fn share(&mut self, reno: f64, before: f64, reno_left: f64) {
        let w = self.win.w;
        self.dwnd = match self.p.rules {
            Rules::Draft => (w - reno_left).max(0.0),
            Rules::Release13 => (self.dwnd * w / before).floor(),
            // Reno's component is reduced by the whole decrease. If one component alone exceeds the new window, dwnd
            // becomes 0; after a halving this is always the case. (If both components are equal, the module sets Reno's
            // component to 0; this rule is not copied.)
            Rules::Early if reno > w || self.dwnd >= w => 0.0,
            Rules::Early => self.dwnd,
        };
    }

    /// Ends the round trip and its measurements at a loss or a timeout.
    fn interrupt(&mut self) {
        self.saved = Some(self.dwnd);
        self.tune();
        self.left = 0.0;
        self.forget_round();
    }
}

/// Fourth root as in the Linux module of 2006, by Newton's method in integers; the result differs from the root by less
/// than one.
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

/// w^(3/4) by the later Linux module's method: two integer square roots.
fn three_quarter_power(w: f64) -> f64 {
    let root = libm::sqrt(libm::floor(libm::sqrt(w)) * 65_536.0).floor();
    if root > 0.0 { (w * 256.0 / root).floor() } else { 0.0 }
}

observed! {
    self: Compound, self.win;
    /// Loss-based window (cwnd in the paper); the window in use is its sum with dwnd.
    cwnd = self.reno(), number(Unit::Segments);
    /// Delay-based window.
    dwnd = self.dwnd, number(Unit::Segments);
    /// Segments in queues below which dwnd grows (γ).
    gamma = self.gamma, number(Unit::Segments);
    /// Segments that the loss-based window alone would have in queues; null before the first round trip.
    diff_reno = self.diff_reno.unwrap_or(f64::NAN), number(Unit::Segments);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
}

impl Compound {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start);
        self.reno_at_start = self.win.w;
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
        self.win.time_out(0.5 * self.win.reduced_from(signal), signal);
        self.dwnd = 0.0;
        if self.p.rules == Rules::Draft {
            // Implementations of the draft reset γ; the Linux modules keep γ.
            self.gamma = self.p.gamma;
        }
    }

    fn on_idle(&mut self) {
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

    fn on_recovery_exit(&mut self) {
        self.forget_round();
        self.diff_reno = None;
        self.reno_at_start = self.reno();
    }

    fn on_undo(&mut self) {
        if let (Some(w), Some(dwnd)) = (self.win.undo(), self.saved.take()) {
            // If the window has since grown beyond the old one, the excess belongs to Reno's component.
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
}

impl Algorithm for Compound {
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
            // A round trip in which something other than the window limited the flow is not used.
            self.forget_round();
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.on_idle(),
            Event::Moderate { window } | Event::Keep { window } => self.moderate(window),
            Event::RecoveryExit { .. } => self.on_recovery_exit(),
            Event::Undo { .. } => self.on_undo(),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { rounds_restart: self.p.rules != Rules::Draft, every_ack: true, ..Needs::default() }
    }

    window_getters!();

    fn recovery_floor(&self) -> f64 {
        self.win.ssthresh * 0.5
    }
}

#[cfg(test)]
mod tests;
