//! HCC TCP (Xu W, Zhou Z, Pham DT, Ji C, Yang M, Liu Q, "Hybrid congestion control for high-speed networks", Journal of
//! Network and Computer Applications 34, 2011, sections 3.1 to 3.4, equations 1 to 4 and Table 1). The forward queueing
//! delay sets the window so that `alpha` segments wait on the forward path. A loss halves the window and starts a
//! binary search for the window at which it happened (the loss reference), which ends when the window exceeds it.
//!
//! Variant: the paper's rules, with a parameter for each that it leaves open: the search's smallest step, the order of
//! clipping and halving, the time at which its lower end moves, the threshold that ends the start, the averaging of
//! delays, and the responses to losses in the start and to timeouts. By Table 1 and the prose, "passes the loss
//! reference" means that the delay controls the window again from the next update after the step beyond the reference
//! (`pass_rounds` 1). Increases are spread over the following round, so a segment sent with the increased window is
//! only acknowledged one update later (`pass_rounds` 2). The paper's "default maximum value" of the loss reference is
//! never compared with anything, so it has no parameter. There is no update in a recovery, nor in the round trip after.
//!
//! The update by delay is not stable on every path. Let b = C R / (N alpha), with C the capacity in segments/s, R the
//! RTT without a queue and N the number of flows: the anticipated window falls by b segments for each segment that the
//! window rises above the equilibrium. Without a lag, an update would turn an error e into e (1/2 - b/2), and the
//! window would be stable below b = 3. But the measurement lags by one round trip, so z² - z/2 + b/2 = 0 is the
//! characteristic equation, and the window is stable below b = 2. Above, only the clip bounds the oscillation: the
//! window swings by some hundred segments around the equilibrium, and a buffer not much above alpha loses packets. At
//! 200 Mbit/s, 40 ms and alpha 400, for example, b is 2.5 and the queue varies between 300 and 520 segments. Spreading
//! the increases lowers the mean queue below alpha, and above b = 6 or so every update is a full step, which makes it
//! alpha/16 lower. With `reference` "fast" an update multiplies the error by 1 - gamma, and the window does not
//! oscillate.
//!
//! No code of the authors is public. The `forward_delay` module states the effects of the hosts' clocks.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::forward_delay::{ForwardDelay, ForwardDelayParams};
use crate::loss_window::{FLOOR, ReduceFrom, window_getters};
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, word};
use crate::plain_window::PlainWindow;
use crate::reports::{Signal, Start};
use crate::spread::Spread;

choices! {
    /// Order of two operations on the distance to the reference:
    /// * `clip_then_part`: clip the distance to ±γα, then multiply by `part`.
    /// * `part_then_clip`: multiply the distance by `part`, then clip the product.
    pub enum ClipOrder { ClipThenPart = "clip_then_part", PartThenClip = "part_then_clip" }

    /// Time of the window's updates:
    /// * `round`: one update in each round of sequence numbers.
    /// * `timer`: one update after each averaged round-trip time.
    pub enum UpdateClock { Round = "round", Timer = "timer" }

    /// Doubling of the window in the start:
    /// * `per_ack`: the window grows by one segment for each segment acknowledged.
    /// * `per_round`: the window grows by its whole size once a round.
    pub enum StartGrowth { PerAck = "per_ack", PerRound = "per_round" }

    /// Effect of a loss in the start:
    /// * `halve`: the window is halved, as after the start.
    /// * `ignore`: the loss has no effect.
    pub enum StartLoss { Halve = "halve", Ignore = "ignore" }

    /// Time at which the lower end of the search moves:
    /// * `every_round`: at each update the lower end becomes the current window.
    /// * `on_target`: the lower end moves once the window has completed its last step; each update makes the fraction
    ///   `part` of a step.
    pub enum SearchFrom { EveryRound = "every_round", OnTarget = "on_target" }

    /// Behaviour after a timeout:
    /// * `search`: slow start up to half of the window at the loss, then the binary search.
    /// * `start`: a new start, without a loss reference.
    pub enum AfterTimeout { Search = "search", Start = "start" }

    /// Target of the window while the delay controls it:
    /// * `ratio`: alpha D/Q (the paper).
    /// * `fast`: the window plus twice FAST's step γ (alpha - w Q/D). With this target, the window does not oscillate.
    pub enum Reference { Ratio = "ratio", Fast = "fast" }
}

params! {
    /// Parameters of HCC.
    pub struct HccParams {
        /// Segments that the flow keeps in the queues of the forward path.
        alpha: f64 = num(400.0, 1.0, 1e9, Unit::Segments), "Xu et al. 2011 section 4: 400 at 200 Mbit/s, 2000 at 1 Gbit/s";
        /// Largest change, as a fraction of alpha, before `part` is applied (γ).
        gamma: f64 = num(0.5, 1e-3, 1.0, Unit::None), "Xu et al. 2011 section 4; Imax = γα, section 3.2.2";
        /// Smallest step of the search, before `part` is applied (Imin).
        i_min: f64 = num(1.0, 0.0, 1e6, Unit::Segments), "unstated in Xu et al. 2011; BIC has 0.01";
        /// Averaged forward queueing delay that ends the start.
        mi_threshold: f64 = num(0.00075, 0.0, 10.0, Unit::Seconds), "unstated in Xu et al. 2011; ns-2 tcp-fast.cc mi_threshold_";
        /// Fraction of the clipped change that is made in one update.
        part: f64 = num(0.5, 1e-3, 1.0, Unit::None), "Xu et al. 2011 section 3.2.2 and Table 1: a half";
        /// Clip the change before it is multiplied by `part`, or after.
        clip_order: ClipOrder = choice("clip_then_part", ClipOrder::WORDS), "Xu et al. 2011 Table 1";
        /// Interval of the updates "per RTT".
        update_clock: UpdateClock = choice("round", UpdateClock::WORDS), "unstated in Xu et al. 2011";
        /// Spread an increase over the round that follows.
        spread_increase: bool = flag(true), "unstated in Xu et al. 2011; otherwise a burst of γα/2";
        /// Doubling of the window in the start.
        start_growth: StartGrowth = choice("per_ack", StartGrowth::WORDS), "Xu et al. 2011 Table 1: W = 2 Wold per RTT";
        /// Double again whenever the averaged queueing delay is below the threshold, as FAST does.
        mi_reentry: bool = flag(false), "Xu et al. 2011 Table 1 doubles in Startup() only";
        /// Response to a loss in the start.
        start_loss: StartLoss = choice("halve", StartLoss::WORDS), "Xu et al. 2011 section 3.4; Table 1 has no such branch";
        /// Value of the loss reference: the window, or the segments outstanding.
        reference_from: ReduceFrom = choice("window", ReduceFrom::WORDS), "Xu et al. 2011 section 3.3: the window size";
        /// Lower the new loss reference by a quarter if it is below the last one, as BIC does.
        fast_convergence: bool = flag(false), "not in Xu et al. 2011";
        /// Time at which the lower end of the search moves.
        search_from: SearchFrom = choice("every_round", SearchFrom::WORDS), "Xu et al. 2011 Table 1; its section 3.3 \
                                                                             suggests on_target";
        /// Updates beyond the loss reference without a loss, before the delay controls the window again.
        pass_rounds: f64 = num(1.0, 1.0, 100.0, Unit::Updates), "Xu et al. 2011 Table 1: passed, and no loss detected";
        /// Behaviour after a timeout.
        after_timeout: AfterTimeout = choice("search", AfterTimeout::WORDS), "unstated in Xu et al. 2011";
        /// Averaged queueing delay below which the anticipated window counts as infinite.
        q_floor: f64 = num(1e-6, 1e-12, 1.0, Unit::Seconds), "chosen here: keeps equation 3 finite";
        /// Window below which HCC grows as standard TCP; 0: no such window.
        low_window: f64 = num(0.0, 0.0, 1e6, Unit::Segments), "not in Xu et al. 2011; BIC has 14";
        /// Target of the window while the delay controls it.
        reference: Reference = choice("ratio", Reference::WORDS), "Xu et al. 2011 equation 3";
    }
}

/// Fraction of the window that remains after a loss (Table 1).
const BACKOFF: f64 = 0.5;

states! {
    /// Rule in use.
    enum Mode {
        /// Doubling.
        Start = "start",
        /// The forward queueing delay controls the window.
        Delay = "delay",
        /// The search for the loss reference.
        Loss = "loss",
        /// Slow start after a timeout or an idle period, then the search.
        Restart = "restart",
    }
}

/// HCC TCP.
#[derive(Clone, Debug)]
pub struct Hcc {
    p: HccParams,
    delay: ForwardDelay,
    mode: Mode,
    win: PlainWindow,
    /// Window at the last loss, segments; `None` in the start and while the delay controls the window.
    loss_ref: Option<f64>,
    /// Updates that went beyond the loss reference.
    passed: f64,
    /// Target of the search's current step, and the increase of each update towards this target (on_target only).
    search_end: f64,
    search_step: f64,
    spread: Spread,
    /// Time of the last update, s.
    updated: f64,
    /// True if the next round is the first after a recovery.
    settling: bool,
    in_recovery: bool,
    saved: Option<(Mode, Option<f64>)>,
}

impl Hcc {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "hcc",
        title: "HCC TCP",
        kind: Kind::Hybrid,
        signals: &["one-way delay", "RTT", "loss"],
        source: "Xu, Zhou, Pham, Ji, Yang, Liu, JNCA 34, 2011",
        doc: "HCC steers the window by the forward queueing delay, so that alpha segments wait on the forward path. \
              The window changes by at most half of gamma alpha a round trip. Queues on the reverse path have no \
              effect. A loss halves the window and starts a binary search for the window at the loss. The search ends \
              when the window exceeds the window at the loss. The window oscillates by some hundred segments if the \
              pipe holds more than twice alpha.",
        presets: &[
            Preset::new("", "JNCA 2011, Table 1", &[]),
            Preset::new(
                "prose",
                "JNCA 2011, section 3.3: the lower end of the search moves after its whole step",
                &[word("search_from", "on_target")],
            ),
            Preset::new(
                "steady",
                "with FAST's step in place of the anticipated window: does not oscillate",
                &[word("reference", "fast")],
            ),
        ],
        tables: &[HccParams::TABLE, ForwardDelayParams::TABLE],
        variables: &[Self::VARIABLES, ForwardDelay::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if the smallest step is above the largest.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = HccParams::read(settings)?;
        if p.i_min > p.gamma * p.alpha {
            return settings.conflict(format!("i_min {} must not be above gamma alpha {}", p.i_min, p.gamma * p.alpha));
        }
        Ok(Self {
            p,
            delay: ForwardDelay::new(ForwardDelayParams::read(settings)?),
            mode: Mode::Start,
            win: PlainWindow::NEW,
            loss_ref: None,
            passed: 0.0,
            search_end: 0.0,
            search_step: 0.0,
            spread: Spread::default(),
            updated: 0.0,
            settling: false,
            in_recovery: false,
            saved: None,
        })
    }

    /// Step of one update towards a window `distance` away (Table 1), at least `smallest`.
    fn step(&self, distance: f64, smallest: f64) -> f64 {
        let largest = self.p.gamma * self.p.alpha;
        match self.p.clip_order {
            ClipOrder::ClipThenPart => self.p.part * distance.clamp(smallest, largest),
            ClipOrder::PartThenClip => (self.p.part * distance).clamp(smallest, largest),
        }
    }

    /// Distance to the anticipated window (equation 3).
    fn distance(&self) -> f64 {
        let (p, q, d) = (&self.p, self.delay.queueing(), self.delay.rtt());
        match p.reference {
            Reference::Ratio if q < p.q_floor => f64::INFINITY,
            Reference::Ratio => p.alpha * d / q - self.win.w,
            Reference::Fast => 2.0 * p.gamma * (p.alpha - self.win.w * q / d.max(p.q_floor)),
        }
    }

    fn delay_update(&mut self) {
        let step = self.step(self.distance(), -self.p.gamma * self.p.alpha);
        self.move_by(step);
    }

    fn loss_update(&mut self, loss_ref: f64) {
        // A window that was not used, or that was lowered since, does not count as beyond the loss reference.
        if self.win.w <= loss_ref {
            self.passed = 0.0;
        }
        if self.passed >= self.p.pass_rounds {
            (self.mode, self.loss_ref) = (Mode::Delay, None);
            self.delay_update();
            return;
        }
        let step = match self.p.search_from {
            SearchFrom::EveryRound => self.step((loss_ref - self.win.w) / 2.0, self.p.i_min),
            SearchFrom::OnTarget => {
                // Half a step of tolerance for rounding, since a spread increase is a sum of many terms.
                if self.win.w + self.search_step / 2.0 > self.search_end || self.search_step == 0.0 {
                    self.search_step = self.step((loss_ref - self.win.w) / 2.0, self.p.i_min);
                    self.search_end = self.win.w + self.search_step / self.p.part;
                }
                self.search_step
            }
        };
        if self.win.w + step > loss_ref {
            self.passed += 1.0;
        }
        self.move_by(step);
    }

    fn save(&mut self, signal: &Signal) {
        self.win.save(signal);
        self.saved = Some((self.mode, self.loss_ref));
    }

    /// Applies a decrease at once, and an increase over the next round.
    fn move_by(&mut self, step: f64) {
        if step <= 0.0 {
            self.win.w = (self.win.w + step).max(FLOOR.min(self.win.w));
        } else {
            self.spread.pending = step;
            self.spread.per_ack = if self.p.spread_increase { step / self.win.w } else { f64::INFINITY };
        }
    }

    #[inline]
    fn in_start(&mut self, ack: &Ack) {
        if self.delay.queueing() >= self.p.mi_threshold {
            self.mode = Mode::Delay;
            self.win.ssthresh = self.win.ssthresh.min(self.win.w.max(FLOOR));
            self.spread.pending = 0.0;
            self.updated = ack.now;
            return;
        }
        if !ack.window_limited {
            return;
        }
        match self.p.start_growth {
            StartGrowth::PerAck => self.win.w += ack.acked,
            StartGrowth::PerRound => {
                if ack.round_start {
                    self.win.w += self.spread.release(f64::INFINITY);
                    self.move_by(self.win.w);
                }
                self.win.w += self.spread.on_ack(ack.acked);
            }
        }
    }

    fn in_restart(&mut self, ack: &Ack) {
        if ack.window_limited && self.win.w < self.win.ssthresh {
            self.win.w = (self.win.w + ack.acked).min(self.win.ssthresh);
        }
        if self.win.w >= self.win.ssthresh {
            self.mode = Mode::Loss;
            self.settling = true;
        }
    }

    /// True if the window is updated on this ACK.
    #[inline]
    fn due(&mut self, ack: &Ack) -> bool {
        let due = match self.p.update_clock {
            UpdateClock::Round => ack.round_start,
            UpdateClock::Timer => ack.now >= self.updated + self.delay.rtt(),
        };
        if due {
            self.updated = ack.now;
        }
        due && !std::mem::take(&mut self.settling)
    }

    #[inline]
    fn by_rounds(&mut self, ack: &Ack) {
        if self.win.w < self.p.low_window {
            self.spread.pending = 0.0;
            if ack.window_limited {
                self.win.w += ack.acked / self.win.w;
            }
            return;
        }
        if self.p.mi_reentry && self.mode == Mode::Delay && self.delay.queueing() < self.p.mi_threshold {
            self.spread.pending = 0.0;
            if ack.window_limited {
                self.win.w += ack.acked;
            }
            return;
        }
        if self.due(ack) {
            // The remainder of the last round's increase is added now, or dropped if the window did not limit the flow.
            if ack.window_limited {
                self.win.w += self.spread.release(f64::INFINITY);
            }
            self.spread.pending = 0.0;
            match self.loss_ref {
                Some(loss_ref) if self.mode == Mode::Loss => self.loss_update(loss_ref),
                _ => self.delay_update(),
            }
        }
        if self.spread.pending > 0.0 && ack.window_limited {
            self.win.w += self.spread.on_ack(ack.acked);
        }
    }

    fn forget_round(&mut self) {
        (self.spread.pending, self.passed, self.search_step) = (0.0, 0.0, 0.0);
        self.delay.forget_round();
    }
}

observed! {
    self: Hcc, self.delay;
    /// Rule in use: doubling, control by delay, the search for the loss reference, or slow start before that search.
    mode = self.mode, state(Mode::NAMES);
    /// Loss reference: the window at the last loss; null while the delay controls the window.
    loss_ref = self.loss_ref.unwrap_or(f64::NAN), number(Unit::Segments);
    /// Anticipated window (equation 3); null without a queue.
    reference = self.win.w + self.distance(), number(Unit::Segments);
    /// Decided increase that is not yet added to the window.
    pending = self.spread.pending, number(Unit::Segments);
}

impl Hcc {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start, FLOOR);
        self.updated = start.now;
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.save(signal);
        self.in_recovery = true;
        self.forget_round();
        if self.mode == Mode::Start && self.p.start_loss == StartLoss::Ignore {
            self.win.ssthresh = self.win.w.max(FLOOR);
            return;
        }
        let lost_at = if self.p.reference_from == ReduceFrom::Window { self.win.w } else { signal.in_flight };
        let again = self.p.fast_convergence && self.loss_ref.is_some_and(|last| lost_at < last);
        self.loss_ref = Some(if again { lost_at * (1.0 + BACKOFF) / 2.0 } else { lost_at });
        self.mode = Mode::Loss;
        self.win.w = (BACKOFF * self.win.w).max(FLOOR);
        self.win.ssthresh = self.win.w;
    }

    fn on_timeout(&mut self, signal: &Signal) {
        if !signal.repeated {
            self.save(signal);
            self.win.ssthresh = (self.win.w / 2.0).max(FLOOR);
            if self.p.after_timeout == AfterTimeout::Start {
                self.loss_ref = None;
            } else if !self.in_recovery || self.loss_ref.is_none() {
                // A timeout within a recovery belongs to the loss that began the recovery.
                self.loss_ref = Some(self.win.w);
            }
        }
        self.win.w = 1.0;
        self.mode = if self.p.after_timeout == AfterTimeout::Start { Mode::Start } else { Mode::Restart };
        self.in_recovery = true;
        self.forget_round();
        self.delay.forget();
    }

    fn on_idle(&mut self, now: f64) {
        self.win.idle();
        self.updated = now;
        self.forget_round();
        self.delay.forget();
        match self.loss_ref {
            Some(loss_ref) => {
                self.mode = Mode::Restart;
                self.win.ssthresh = (loss_ref / 2.0).max(FLOOR);
            }
            None => self.mode = Mode::Start,
        }
    }

    fn on_recovery_exit(&mut self, now: f64) {
        self.in_recovery = false;
        self.settling = true;
        self.updated = now;
        self.forget_round();
    }

    fn on_undo(&mut self) {
        self.win.undo();
        if let Some((mode, loss_ref)) = self.saved.take() {
            (self.mode, self.loss_ref, self.in_recovery) = (mode, loss_ref, false);
            self.forget_round();
        }
    }

    fn moderate(&mut self, window: f64) {
        if self.win.moderate(window) {
            // An increase that was decided at a larger window does not apply to the reduced window.
            self.spread.pending = 0.0;
        }
    }
}

impl Algorithm for Hcc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delay.sample(ack, self.win.w);
        if ack.in_recovery {
            return;
        }
        match self.mode {
            Mode::Start => self.in_start(ack),
            Mode::Restart => self.in_restart(ack),
            Mode::Delay | Mode::Loss => self.by_rounds(ack),
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { now, .. } => self.on_idle(now),
            Event::Moderate { window } | Event::Keep { window } => self.moderate(window),
            Event::RecoveryExit { now } => self.on_recovery_exit(now),
            Event::Undo { .. } => self.on_undo(),
            _ => {}
        }
    }

    window_getters!();

    #[inline]
    fn needs(&self) -> Needs {
        Needs { one_way_delay: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests;
