//! The window arithmetic that all loss-based algorithms share: slow start, growth in real numbers or by Linux's integer
//! counters, reduction, timeout, idle restart and undo.
//!
//! Common rules and their sources: A repeated timeout of the same segment does not change `ssthresh` (RFC 5681 §3.1;
//! ns-2's TCP/Linux reduces `ssthresh` each time). A timeout inside recovery reduces `ssthresh` again (RFC 5681, ns-2;
//! Linux keeps the first reduction). After an idle period the window is at most the initial window (RFC 5681 §4.1).

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::careful_resume::CarefulResume;
use crate::linux::Sample;
use crate::observe::{observed, states};
use crate::param::{BuildError, Settings, choice, choices, flag, num, params};
use crate::plain_window::restarted;
use crate::reports::{Signal, Start};
use crate::slow_start::{SlowStart, SlowStartKind, Step};

/// Largest window of an algorithm that multiplies the window on each ACK, segments; Linux's `snd_cwnd` has 32 bits.
/// Without a bound the product would reach infinity.
pub const MOST: f64 = 4_294_967_296.0;

/// Smallest slow-start threshold and smallest window after a loss, segments (RFC 5681 §3.1).
pub const FLOOR: f64 = 2.0;

choices! {
    /// Growth of the window:
    /// * `fluid`: the window is a real number, and every segment acknowledged counts.
    /// * `linux`: the window is a whole number of segments with a counter, and every segment acknowledged counts (Linux
    ///   since 3.18).
    /// * `linux-2.6`: the counter of Linux 2.6 counts ACKs, independently of the segments that they acknowledge. A step
    ///   takes one ACK more than the divisor. Slow start lasts while the window is at most the threshold.
    /// * `ns2`: as `linux-2.6`, but growth by one segment a round counts acknowledged segments (RFC 3465), and a step takes
    ///   as many as the window has. ns-2's TCP/Linux sets `tcp_abc`.
    pub enum Arithmetic { Fluid = "fluid", Linux = "linux", Linux26 = "linux-2.6", Ns2 = "ns2" }

    /// Quantity that a loss reduces:
    /// * `window`: the congestion window (Linux, ns-2).
    /// * `flight`: the segments outstanding (RFC 5681, RFC 9438).
    pub enum ReduceFrom { Window = "window", Flight = "flight" }
}

params! {
    /// Parameters of every loss-based algorithm.
    pub struct LossParams {
        /// Form of slow start.
        slow_start: SlowStartKind = choice("standard", SlowStartKind::WORDS), "RFC 5681 §3.1";
        /// Window up to which limited slow start doubles the window each round trip.
        limited_max_ssthresh: f64 = num(100.0, 2.0, 1e9, Unit::Segments), "RFC 3742 §2";
        /// Window of an earlier connection between the same hosts: after its first round trip a connection jumps to half
        /// of it, and falls back if segments of the jump are lost (Careful Resume); 0 without one.
        saved_window: f64 = num(0.0, 0.0, 1e9, Unit::Segments), "RFC 9959 §3.1, saved_cwnd";
        /// Smallest RTT of the earlier connection, by which the path is recognized.
        saved_rtt: f64 = num(0.0, 0.0, 100.0, Unit::Seconds), "RFC 9959 §3.1, saved_rtt";
        /// Quantity that a loss reduces: the window, or the segments outstanding.
        reduce_from: ReduceFrom = choice("window", ReduceFrom::WORDS), "Linux and ns-2; RFC 5681 §3.1 says flight";
        /// Arithmetic of the window: a real number, or Linux's integer with a counter.
        arithmetic: Arithmetic = choice("fluid", Arithmetic::WORDS), "Linux tcp_cong.c";
        /// Halve the window on the first loss and on any loss in slow start, independently of the algorithm's own
        /// decrease.
        halve_in_slow_start: bool = flag(false), "ns-2 tcp.cc, for all of its window options";
    }
}

/// Methods of [`Algorithm`](crate::Algorithm) that return the window and the threshold, for an algorithm whose field
/// `win` is a [`LossWindow`].
macro_rules! window_getters {
    () => {
        #[inline]
        fn window(&self) -> f64 {
            self.win.w
        }

        #[inline]
        fn ssthresh(&self) -> f64 {
            self.win.ssthresh
        }
    };
}
pub(crate) use window_getters;

states! {
    /// Phase of a window's growth.
    pub enum Phase {
        /// Below the slow start threshold.
        SlowStart = "slow_start",
        /// Below the threshold, in the conservative phase of HyStart++ (RFC 9406).
        ConservativeSlowStart = "conservative_slow_start",
        /// In a jump to the window of an earlier connection (RFC 9959).
        Unvalidated = "unvalidated",
        /// At the threshold or above.
        CongestionAvoidance = "congestion_avoidance",
    }
}

/// Window, threshold and the state of their growth.
#[derive(Clone, Debug)]
pub struct LossWindow {
    /// Congestion window, segments.
    pub w: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// Segments (or ACKs) counted towards the next step; integer arithmetic only.
    pub counter: f64,
    initial_window: f64,
    saved: Option<(f64, f64)>,
    slow_start: SlowStart,
    careful: Option<Box<CarefulResume>>,
    /// True if the slow start, or the resumption of an earlier connection, follows every ACK.
    has_start_rules: bool,
    /// Growth of the window; [`Arithmetic::Linux26`] for that of ns-2 too.
    pub arithmetic: Arithmetic,
    /// True if growth by one segment a round counts acknowledged segments, with Linux 2.6 (`tcp_abc`).
    counts_bytes: bool,
    reduce_from: ReduceFrom,
    halve_in_slow_start: bool,
    decreased: bool,
}

observed! {
    self: LossWindow;
    /// Phase of the window's growth, also during a recovery.
    phase = self.phase(), state(Phase::NAMES);
}

impl LossWindow {
    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = LossParams::read(settings)?;
        let counts_bytes = p.arithmetic == Arithmetic::Ns2;
        if (p.saved_window > 0.0) != (p.saved_rtt > 0.0) {
            return settings.conflict("saved_window and saved_rtt go together: both are of an earlier connection");
        }
        let resumes = p.saved_window > 0.0;
        let is_own = [SlowStartKind::Search, SlowStartKind::SearchDelivered, SlowStartKind::Rapid];
        Ok(Self {
            w: 1.0,
            ssthresh: f64::INFINITY,
            counter: 0.0,
            initial_window: 1.0,
            saved: None,
            slow_start: SlowStart::new(p.slow_start, p.limited_max_ssthresh),
            careful: resumes.then(|| Box::new(CarefulResume::new(p.saved_window, p.saved_rtt))),
            has_start_rules: resumes || is_own.contains(&p.slow_start),
            arithmetic: if counts_bytes { Arithmetic::Linux26 } else { p.arithmetic },
            counts_bytes,
            reduce_from: p.reduce_from,
            halve_in_slow_start: p.halve_in_slow_start,
            decreased: false,
        })
    }

    /// Builds the window as [`LossWindow::new`] does, for algorithms that have no form in whole segments.
    ///
    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if the arithmetic counts whole segments.
    pub fn real_valued(settings: &Settings) -> Result<Self, BuildError> {
        let window = Self::new(settings)?;
        if window.integer() {
            return settings.conflict("arithmetic must be 'fluid': the algorithm has no form in whole segments");
        }
        Ok(window)
    }

    /// The connection begins.
    pub fn start(&mut self, start: &Start) {
        self.w = self.whole(start.initial_window).max(1.0);
        self.initial_window = self.w;
        self.ssthresh = start.initial_ssthresh.max(FLOOR);
        if let Some(careful) = &mut self.careful {
            careful.start(self.w);
        }
    }

    /// Needs of an algorithm with this window.
    #[must_use]
    #[inline]
    pub fn needs(&self, algorithm: Needs) -> Needs {
        let counts_losses = self.has_start_rules && self.slow_start.counts_losses();
        Needs {
            losses: algorithm.losses || counts_losses,
            every_ack: algorithm.every_ack || self.arithmetic == Arithmetic::Linux26,
            falling_targets: algorithm.falling_targets || counts_losses,
            pacing: algorithm.pacing || self.careful.is_some(),
            shares_pacing: !algorithm.pacing && self.careful.is_some(),
            ..algorithm
        }
    }

    /// Pacing rate of a jump, segments/s; `None` outside it.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.careful.as_ref()?.pacing_rate()
    }

    /// Follows an ACK for the rules of a start, in a recovery too, before the algorithm handles the ACK.
    #[inline]
    pub fn follow(&mut self, ack: &Ack) {
        if self.has_start_rules {
            self.follow_start(ack);
        }
    }

    fn follow_start(&mut self, ack: &Ack) {
        if let Some(window) = self.slow_start.follow(ack) {
            self.ssthresh = self.whole(window).max(FLOOR);
            self.w = self.ssthresh;
        }
        let w = self.w;
        if let Some(window) = self.careful.as_mut().and_then(|careful| careful.on_ack(ack, w)) {
            self.w = self.whole(window).max(1.0);
        }
    }

    /// Counts a lost segment.
    #[inline]
    pub fn on_lost(&mut self) {
        if self.has_start_rules {
            self.slow_start.on_lost();
        }
    }

    /// Handles the end of a recovery.
    pub fn end_recovery(&mut self) {
        if !self.has_start_rules {
            return;
        }
        self.slow_start.end_recovery();
        if let Some(threshold) = self.careful.as_mut().and_then(|careful| careful.on_recovery_exit()) {
            self.ssthresh = self.whole(threshold).max(FLOOR);
        }
    }

    /// Window of the recovery that begins, which the algorithm would reduce to `target` segments.
    fn retreat(&mut self, target: f64) -> f64 {
        if !self.has_start_rules {
            return target;
        }
        if let Some(window) = self.careful.as_mut().and_then(|careful| careful.on_congestion()) {
            return window;
        }
        let first = self.in_slow_start().then(|| self.slow_start.retreat(self.w, target, self.initial_window));
        first.flatten().unwrap_or(target)
    }

    /// Initial window, segments.
    #[must_use]
    pub fn initial(&self) -> f64 {
        self.initial_window
    }

    /// True if the window is a whole number of segments.
    #[inline]
    #[must_use]
    pub fn integer(&self) -> bool {
        self.arithmetic != Arithmetic::Fluid
    }

    /// `x` in the arithmetic's precision: a whole number of segments in integer arithmetic.
    #[inline]
    #[must_use]
    pub fn whole(&self, x: f64) -> f64 {
        if self.integer() { x.floor() } else { x }
    }

    /// True if the window is below the slow start threshold.
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.w < self.ssthresh || (self.arithmetic == Arithmetic::Linux26 && self.w <= self.ssthresh)
    }

    /// True while the window is that of a jump, which must not grow.
    fn is_unvalidated(&self) -> bool {
        self.has_start_rules && self.careful.as_ref().is_some_and(|careful| careful.is_unvalidated())
    }

    /// Phase of the window's growth.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.is_unvalidated() {
            return Phase::Unvalidated;
        }
        match (self.in_slow_start(), self.slow_start.is_conservative()) {
            (false, _) => Phase::CongestionAvoidance,
            (true, false) => Phase::SlowStart,
            (true, true) => Phase::ConservativeSlowStart,
        }
    }

    /// Applies slow start to an ACK. Returns the segments (ACKs, for Linux 2.6) that remain for congestion avoidance; 0
    /// if the window must not grow.
    #[inline]
    pub fn slow_start(&mut self, ack: &Ack) -> f64 {
        if ack.in_recovery || ack.acked <= 0.0 || self.is_unvalidated() {
            return 0.0;
        }
        if self.in_slow_start() {
            return self.slow_start_step(ack);
        }
        if !ack.window_limited {
            0.0
        } else if self.arithmetic == Arithmetic::Linux26 && !self.counts_bytes {
            1.0
        } else {
            ack.acked
        }
    }

    /// Takes Linux's sample for HyStart (`pkts_acked`), before the ACK may grow the window. `delay_min` is the module's
    /// smallest RTT, s. HyStart may end slow start in a recovery too: the threshold is then the recovery's window.
    pub fn sample_hystart(&mut self, ack: &Ack, sample: &Sample, delay_min: f64) {
        if sample.window < self.ssthresh && self.slow_start.sample(ack, sample, sample.window, delay_min) {
            self.ssthresh = sample.window;
            self.w = self.w.min(sample.window);
        }
    }

    fn slow_start_step(&mut self, ack: &Ack) -> f64 {
        let grow = match self.slow_start.on_ack(ack, self.w) {
            Step::Leave { overshoot } => {
                if overshoot > 0.0 {
                    self.lower((self.w - overshoot).max(self.initial_window));
                }
                self.ssthresh = self.w;
                // Linux sets the threshold before the ACK is counted (tcp_cong_avoid), so the ACK belongs to congestion
                // avoidance.
                let counts = self.arithmetic == Arithmetic::Linux && ack.window_limited;
                return if counts { ack.acked } else { 0.0 };
            }
            Step::Grow(grow) if ack.window_limited => grow,
            Step::Grow(_) => return 0.0,
        };
        if self.arithmetic == Arithmetic::Linux26 {
            if grow >= 1.0 {
                // The counter of congestion avoidance is kept, since it was counted before the threshold was raised to
                // the window. Counted bytes are forgotten (`tcp_slow_start`).
                self.w += grow.floor();
                self.counter = if self.counts_bytes { 0.0 } else { self.counter };
            } else {
                self.counted(grow);
            }
            return 0.0;
        }
        let wanted = self.w + ack.acked * grow;
        let beyond = (wanted - self.ssthresh).max(0.0);
        // Most forms of slow start need no division.
        let left = if grow == 1.0 { beyond } else { beyond / grow };
        if self.integer() && grow < 1.0 {
            self.counted((ack.acked - left) * grow);
        } else {
            self.w = wanted.min(self.ssthresh);
        }
        left
    }

    /// Adds `segments` to the counter, and the counter's whole part to the window. A count left from congestion
    /// avoidance adds at most one segment.
    fn counted(&mut self, segments: f64) {
        self.counter = self.counter.min(1.0) + segments;
        let step = self.counter.floor();
        self.w += step;
        self.counter -= step;
    }

    /// Grows the window by one segment for each `divisor` segments acknowledged; `n` segments are acknowledged now.
    #[inline]
    pub fn grow_one_in(&mut self, n: f64, divisor: f64) {
        match self.arithmetic {
            Arithmetic::Fluid => self.w += n / divisor,
            Arithmetic::Linux => {
                let divisor = divisor.floor().max(1.0);
                // A count collected under a larger divisor adds one segment, not a burst.
                if self.counter >= divisor {
                    self.counter = 0.0;
                    self.w += 1.0;
                }
                self.counter += n;
                if self.counter >= divisor {
                    let steps = (self.counter / divisor).floor();
                    self.counter -= steps * divisor;
                    self.w += steps;
                }
            }
            Arithmetic::Linux26 | Arithmetic::Ns2 => {
                if self.counter >= divisor.floor().max(1.0) {
                    self.counter = 0.0;
                    self.w += 1.0;
                } else {
                    self.counter += 1.0;
                }
            }
        }
    }

    /// Grows the window by `a` segments for each window of segments acknowledged; `n` segments are acknowledged now.
    #[inline]
    pub fn grow_per_round(&mut self, n: f64, a: f64) {
        if self.arithmetic == Arithmetic::Fluid {
            self.w += n * a / self.w;
        } else if self.counts_bytes && a == 1.0 {
            self.counter += n;
            if self.counter >= self.w {
                self.counter -= self.w;
                self.w += 1.0;
            }
        } else if a > 0.0 {
            self.grow_one_in(n, self.w / a);
        }
    }

    /// Quantity that a loss reduces, segments.
    #[must_use]
    pub fn reduced_from(&self, signal: &Signal) -> f64 {
        match self.reduce_from {
            ReduceFrom::Window => self.w,
            ReduceFrom::Flight => signal.in_flight,
        }
    }

    /// True if this loss halves the window, independently of the algorithm's decrease (`halve_in_slow_start`).
    #[must_use]
    pub fn must_halve(&self) -> bool {
        self.halve_in_slow_start && (!self.decreased || self.in_slow_start())
    }

    /// Applies a congestion signal: sets the window and the threshold to `target` segments.
    pub fn reduce_to(&mut self, target: f64) {
        self.saved = Some((self.w, self.ssthresh));
        let target = self.retreat(target);
        self.ssthresh = self.whole(target).max(FLOOR);
        self.w = self.ssthresh;
        self.counter = 0.0;
        self.decreased = true;
        self.slow_start.on_congestion();
    }

    /// Applies a congestion signal like [`LossWindow::reduce_to`], but never raises a window that is below the floor of
    /// the threshold.
    pub fn lower_to(&mut self, target: f64) {
        let before = self.w;
        self.reduce_to(target);
        self.w = self.w.min(before);
    }

    /// Applies a timeout: sets the window to one segment more than the segments in flight, and the threshold to `target`.
    /// A repeated timeout keeps the threshold, and the state that an undo restores.
    pub fn time_out(&mut self, target: f64, signal: &Signal) {
        if !signal.repeated {
            self.saved = Some((self.w, self.ssthresh));
            self.ssthresh = self.whole(target).max(FLOOR);
        }
        self.w = 1.0 + signal.kept;
        self.counter = 0.0;
        self.decreased = true;
        self.slow_start.on_timeout();
        self.stop_resuming();
    }

    fn stop_resuming(&mut self) {
        if let Some(careful) = &mut self.careful {
            careful.stop();
        }
    }

    /// Limits the window to the initial window when sending resumes after an idle period.
    pub fn idle(&mut self) {
        self.w = self.w.min(self.initial_window);
        self.counter = 0.0;
    }

    /// [`restarted`].
    pub fn restart_after(&mut self, timeouts: u32) {
        (self.w, self.ssthresh) = restarted((self.w, self.ssthresh), self.initial_window, timeouts);
    }

    /// Restores the state before the last signal, which was spurious. Returns the earlier window if there is one to
    /// restore.
    pub fn undo(&mut self) -> Option<f64> {
        let (w, ssthresh) = self.saved.take()?;
        self.w = self.w.max(w);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.counter = 0.0;
        self.slow_start.end_recovery();
        self.stop_resuming();
        Some(w)
    }

    /// Lowers the window to `window` segments, at which the endpoint's recovery ended.
    pub fn moderate(&mut self, window: f64) {
        if window < self.w {
            self.lower(window);
            self.counter = 0.0;
        }
    }

    /// Sets the window to `window` segments, and keeps the threshold.
    pub fn keep(&mut self, window: f64) {
        self.w = self.whole(window).max(1.0);
        self.saved = None;
    }

    /// Lowers the window to `window` and keeps the counter.
    pub fn lower(&mut self, window: f64) {
        if window < self.w {
            self.w = self.whole(window).max(1.0);
        }
    }
}

/// Estimate of the segments per ACK in Linux's BIC and early CUBIC: an EWMA with gain 1/16, truncated to sixteenths.
/// The estimate starts at 2. If every segment is acknowledged by itself, the truncation stops the estimate at 31/16.
/// The divisor of the window's growth is divided by the estimated ratio, so growth is then almost twice as fast as
/// intended.
#[derive(Clone, Copy, Debug)]
pub struct AckRatio(i32);

impl AckRatio {
    /// Value at the start of a connection: two segments per ACK.
    pub const START: Self = Self(32);

    /// Takes an ACK of `n` segments outside recovery.
    #[inline]
    pub fn update(&mut self, n: f64) {
        // Linux's 32 bits would overflow at an ACK of 2³¹ sixteenths of a segment or more; here the value saturates.
        self.0 = self.0.saturating_add(n as i32 - (self.0 >> 4));
    }

    /// Divides `cnt` segments by the ratio: the number of ACKs, at least one.
    #[inline]
    #[must_use]
    pub fn divide(self, cnt: f64) -> f64 {
        (cnt * 16.0 / f64::from(self.0.max(1))).floor().max(1.0)
    }
}
