//! CDG, CAIA delay gradient (Hayes D, Armitage G, "Revisiting TCP congestion control using delay gradients", IFIP
//! Networking 2011). The delay gradient is the change, from one round trip to the next, of the smallest or the largest
//! RTT. The probability of a back-off grows with this gradient and not with the RTT itself, so no threshold is needed.
//!
//! Variant: Linux (tcp_cdg.c) in real numbers, with its own hybrid slow start, its filter for delayed ACKs, and sums of
//! gradients in place of means. The default factor of 42 per second is the paper's G of 3 ms with a window of 8,
//! rounded up. A back-off takes one round trip, in which the window falls with each segment acknowledged, by
//! proportional rate reduction (RFC 6937), and does not grow. Differences: according to the notes of Linux's module,
//! the paper and FreeBSD's module have standard slow start and do not bound the shadow window. Neither the paper nor
//! FreeBSD's module was available. Preset `linux`: the module's own arithmetic and order of events (`module.rs`).

mod module;
mod parameters;

use self::module::Module;
pub use self::parameters::CdgParams;
use self::parameters::{Queue, Report};
use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::draws::Draws;
use crate::event::Event;
use crate::linux;
use crate::loss_window::{Arithmetic, FLOOR, LossParams, LossWindow, window_getters};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, switch, value, word};
use crate::reports::{Signal, Start};

/// Noise of a gradient sum, s. A gradient sum at or below the negative of this noise shows that a back-off had an
/// effect. With `use_tolerance`, a sum below the noise counts as no rise of the RTT.
const NOISE_S: f64 = 32e-6;
/// Smallest thresholds of the slow start, s.
const HYSTART_MIN_S: f64 = 125e-6;
/// Largest gap between two ACKs of one train, s.
const TRAIN_GAP_S: f64 = 0.003;
/// Number of RTT samples in a round from which slow start uses the round's smallest RTT.
const HYSTART_SAMPLES: u32 = 8;
/// Number of delayed ACKs that the filter remembers.
const DELAYED_MAX: u32 = 5;

/// Smallest and largest value of a quantity, s.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    min: f64,
    max: f64,
}

/// State of slow start in the current round.
#[derive(Clone, Copy, Debug)]
struct Train {
    start: f64,
    last: Option<f64>,
    samples: u32,
}

const NO_TRAIN: Train = Train { start: 0.0, last: None, samples: 0 };

/// CDG.
#[derive(Clone, Debug)]
pub struct Cdg {
    p: CdgParams,
    win: LossWindow,
    draws: Draws,
    rtt: Option<Extremes>,
    previous: Option<Extremes>,
    /// The last gradients, their sums, and the position of the next gradient.
    gradients: Box<[Extremes]>,
    sum: Extremes,
    tail: usize,
    filled: bool,
    queue: Queue,
    delayed: u32,
    shadow: f64,
    ineffectual: f64,
    /// True in the round trip after a back-off.
    backing_off: bool,
    /// Window before the last back-off.
    prior: f64,
    /// True if the next ACK does not end a round.
    settling: bool,
    base: f64,
    train: Train,
    /// `Some` for the arithmetic of Linux's module, which is used on a stack that gives Linux's samples.
    module: Option<Box<Module>>,
    /// True if the stack gives Linux's samples.
    is_linux: bool,
}

impl Cdg {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "cdg",
        title: "CAIA delay gradient",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "Hayes & Armitage, IFIP Networking 2011; Linux tcp_cdg.c",
        doc: "CDG is standard TCP that also backs off at random when the RTT rises: the faster the rise, the more \
              probable the back-off. CDG ignores the RTT after back-offs without effect, since other flows then fill \
              the queue. A shadow window protects CDG's share from these other flows. The default is Linux's module.",
        presets: &[
            Preset::new("", "Linux in real numbers", &[]),
            Preset::new("linux", "Linux: whole segments and microseconds", &[word("arithmetic", "linux")]),
            Preset::new(
                "scavenger",
                "Linux without the two rules for coexistence with loss-based flows",
                &[switch("use_shadow", false), value("use_ineff", 0.0)],
            ),
        ],
        tables: &[CdgParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if `window` is not a power of two.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = CdgParams::read(settings)?;
        let rounds = p.window as usize;
        if p.window.fract() != 0.0 || !rounds.is_power_of_two() {
            return settings.conflict(format!("window {} must be a power of two", p.window));
        }
        let win = LossWindow::new(settings)?;
        let module = (win.arithmetic == Arithmetic::Linux).then(|| Box::new(Module::new(p)));
        Ok(Self {
            p,
            win,
            module,
            is_linux: false,
            draws: Draws::default(),
            rtt: None,
            previous: None,
            gradients: vec![Extremes::default(); rounds].into_boxed_slice(),
            sum: Extremes::default(),
            tail: 0,
            filled: false,
            queue: Queue::Unknown,
            delayed: 0,
            shadow: 1.0,
            ineffectual: 0.0,
            backing_off: false,
            prior: 0.0,
            settling: false,
            base: f64::INFINITY,
            train: NO_TRAIN,
        })
    }

    /// The values to record.
    fn report(&self) -> Report {
        let module = self.module.as_deref().filter(|_| self.is_linux);
        module.map_or(
            Report {
                sums: (self.sum.min, self.sum.max),
                queue: self.queue,
                shadow: self.shadow,
                ineffectual: self.ineffectual,
                backing_off: self.backing_off,
            },
            Module::report,
        )
    }

    /// The state of Linux's module and the window, if the stack gives Linux's samples.
    fn linux(&mut self) -> Option<(&mut Module, &mut LossWindow)> {
        let module = self.module.as_deref_mut().filter(|_| self.is_linux)?;
        Some((module, &mut self.win))
    }

    /// Takes an RTT sample. An ACK of a single segment after ACKs of several segments was probably delayed, so its
    /// sample counts only if no other sample is smaller.
    #[inline]
    fn sample(&mut self, ack: &Ack, rtt: f64) {
        if !ack.in_recovery {
            if ack.acked == 1.0 && self.delayed > 0 {
                self.delayed -= 1;
                if let Some(seen) = &mut self.rtt {
                    seen.min = seen.min.min(rtt);
                }
                return;
            }
            if ack.acked > 1.0 && self.delayed < DELAYED_MAX {
                self.delayed += 1;
            }
        }
        self.rtt = Some(self.rtt.map_or(Extremes { min: rtt, max: rtt }, |seen| Extremes {
            min: seen.min.min(rtt),
            max: seen.max.max(rtt),
        }));
    }

    /// Sum of the gradients in the history, s, after a round trip whose extreme RTTs are `now`.
    fn gradient(&mut self, now: Extremes, before: Extremes) -> f64 {
        let new = Extremes { min: now.min - before.min, max: now.max - before.max };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        self.tail = (self.tail + 1) & (self.gradients.len() - 1);
        let mut gradient = if self.sum.min > 0.0 { self.sum.min } else { self.sum.max };
        self.filled |= self.tail == 0;
        if !self.filled {
            gradient *= self.p.window / self.tail as f64;
        }
        if self.sum.min <= -NOISE_S || self.sum.max <= -NOISE_S {
            self.ineffectual = 0.0;
        }
        if self.p.use_tolerance {
            if self.sum.min >= NOISE_S && self.sum.max < NOISE_S {
                self.queue = Queue::Full;
            } else if self.sum.min >= NOISE_S || self.sum.max <= -NOISE_S {
                self.queue = Queue::NotFull;
            }
        }
        gradient
    }

    /// Probability of a back-off at a summed gradient, s.
    fn probability(&self, gradient: f64) -> f64 {
        1.0 - libm::exp(-self.p.backoff_factor * gradient)
    }

    fn backs_off(&mut self, gradient: f64) -> bool {
        if self.draws.uniform() >= self.probability(gradient) {
            return false;
        }
        if self.p.use_ineff > 0.0 {
            self.ineffectual += 1.0;
            if self.ineffectual > self.p.use_ineff {
                return false;
            }
        }
        true
    }

    /// Ends a round. Returns true if the flow backs off.
    fn end_round(&mut self) -> bool {
        let Some(now) = self.rtt else { return false };
        let gradient = self.previous.map_or(0.0, |before| self.gradient(now, before));
        self.begin_round();
        if gradient <= 0.0 || self.win.w <= FLOOR || !self.backs_off(gradient) {
            return false;
        }
        self.shadow = self.shadow.max(self.win.w);
        self.prior = self.win.w;
        self.win.reduce_to(self.p.backoff_beta * self.prior);
        self.win.w = self.prior;
        self.backing_off = true;
        true
    }

    /// Moves the window towards the threshold after a back-off. The first segment sent after the back-off must find the
    /// queue unchanged. If this segment found a drained queue, its low RTT would hide the effect of the back-off from
    /// the sum of gradients.
    fn walk_down(&mut self, acked: f64) {
        let share = 1.0 - self.win.ssthresh / self.prior;
        self.win.w = (self.win.w - acked * share).max(self.win.ssthresh).min(self.win.w);
    }

    fn begin_round(&mut self) {
        (self.previous, self.rtt, self.train) = (self.rtt, None, NO_TRAIN);
    }

    /// Ends slow start when the ACKs of a round span half of the smallest RTT, or when the smallest RTT rises by an
    /// eighth.
    fn look_for_the_exit(&mut self, ack: &Ack) {
        if let Some(seen) = self.rtt {
            self.base = self.base.min(seen.min);
        }
        if self.base.is_infinite() {
            return;
        }
        let t = &mut self.train;
        match t.last {
            Some(last) if ack.window_limited => {
                if ack.now < last + TRAIN_GAP_S {
                    t.last = Some(ack.now);
                    if ack.now > t.start + (self.base / 2.0).max(HYSTART_MIN_S) {
                        self.win.ssthresh = self.win.w.max(FLOOR);
                        return;
                    }
                }
            }
            _ => (t.start, t.last) = (ack.now, Some(ack.now)),
        }
        if t.samples < HYSTART_SAMPLES {
            t.samples += 1;
        } else if self.rtt.is_some_and(|seen| seen.min > (1.125 * self.base).max(HYSTART_MIN_S)) {
            self.win.ssthresh = self.win.w.max(FLOOR);
        }
    }

    /// Returns the window after a loss, and updates the shadow window.
    fn reduced(&mut self, signal: &Signal) -> f64 {
        if self.backing_off {
            return self.win.ssthresh.min(self.win.w);
        }
        if self.queue == Queue::NotFull && self.p.use_tolerance {
            return self.win.w;
        }
        self.shadow = (self.shadow / 2.0).min(self.win.w);
        let half = self.win.reduced_from(signal) / 2.0;
        if self.p.use_shadow { self.shadow.max(half) } else { half }
    }

    /// Ends a reduction: the RTTs of the next round are compared with those of the reduction's round.
    fn settle(&mut self) {
        self.backing_off = false;
        self.queue = Queue::Unknown;
        self.begin_round();
    }
}

observed! {
    self: Cdg, self.win;
    /// Gradient of a round trip's smallest RTT, averaged (g_min).
    g_min_s = self.report().sums.0 / self.p.window, number(Unit::Seconds);
    /// Gradient of a round trip's largest RTT, averaged (g_max).
    g_max_s = self.report().sums.1 / self.p.window, number(Unit::Seconds);
    /// State of the queue, inferred from the gradients; unknown if losses are not tolerated.
    queue = self.report().queue, state(Queue::NAMES);
    /// Shadow window: the window without backoffs on delay.
    shadow = self.report().shadow, number(Unit::Segments);
    /// Number of successive backoffs on delay without effect.
    ineffectual = self.report().ineffectual, plain();
    /// 1 in the round trip after a backoff on delay.
    backing_off = self.report().backing_off, plain();
}

impl Cdg {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start);
        self.draws = Draws::new(start.seed);
        self.shadow = self.win.w;
        // Linux's module keeps the RTT of the SYN: the module's `init` does not clear this RTT. The first gradients are
        // therefore differences between the RTT of a segment and the RTT of the SYN, and not differences of the largest
        // RTT, which rises with each burst of slow start.
        self.rtt = start.rtt.map(|rtt| Extremes { min: rtt, max: rtt });
        if let Some(module) = &mut self.module {
            module.start(self.draws, self.win.w, start.rtt);
        }
    }

    fn on_sample(&mut self, ack: &Ack) {
        if let (Some(module), Some(sample)) = (&mut self.module, &ack.sample) {
            module.take(ack, sample);
            self.is_linux = true;
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        let target = match self.linux() {
            Some((module, win)) => {
                module.begin_recovery();
                module.threshold(win)
            }
            None => self.reduced(signal),
        };
        self.win.reduce_to(target);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        let kept = signal.repeated.then_some(self.win.ssthresh);
        if let Some((module, win)) = self.linux() {
            let target = kept.unwrap_or_else(|| module.threshold(win));
            module.time_out();
            win.time_out(target, signal);
            return;
        }
        let target = kept.unwrap_or_else(|| self.reduced(signal));
        self.win.time_out(target, signal);
        self.settle();
    }

    fn on_idle(&mut self) {
        self.win.idle();
        if let Some((module, win)) = self.linux() {
            module.restart(win.w);
        }
        self.gradients.fill(Extremes::default());
        (self.sum, self.tail, self.filled) = (Extremes::default(), 0, false);
        (self.ineffectual, self.delayed, self.base) = (0.0, 0, f64::INFINITY);
        (self.rtt, self.shadow) = (None, self.win.w);
        self.settle();
    }

    fn on_idle_timeouts(&mut self, timeouts: u32) {
        if let Some((module, win)) = self.linux().filter(|_| timeouts > 0) {
            module.restart(win.w);
        }
        self.win.restart_after(timeouts);
    }

    fn on_recovery_exit(&mut self) {
        if let Some((module, _)) = self.linux() {
            module.recovered();
        }
        self.settle();
        self.settling = true;
    }

    fn on_undo(&mut self) {
        self.win.undo();
        self.backing_off = false;
        if let Some((module, _)) = self.linux() {
            module.undone();
        }
    }
}

impl Algorithm for Cdg {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.win.follow(ack);
        if let (Some(module), Some(sample)) = (&mut self.module, &ack.sample) {
            module.on_ack(ack, sample, &mut self.win);
            self.is_linux = true;
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.sample(ack, rtt);
        }
        if ack.in_recovery {
            return;
        }
        if self.p.hystart && self.win.in_slow_start() {
            self.look_for_the_exit(ack);
        }
        let round_start = ack.round_start && !std::mem::take(&mut self.settling);
        if self.backing_off {
            if !round_start {
                self.walk_down(ack.acked);
                return;
            }
            // An undo restores the threshold, which may then lie above the window.
            self.win.w = self.win.w.min(self.win.ssthresh);
            self.settle();
        } else if round_start && self.end_round() {
            return;
        }
        if !ack.window_limited {
            self.shadow = self.shadow.min(self.win.w);
            return;
        }
        let before = self.win.w;
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.win.grow_per_round(n, 1.0);
        }
        self.shadow += self.win.w - before;
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.on_idle(),
            Event::Moderate { window } => self.win.moderate(window),
            Event::Keep { window } => self.win.keep(window),
            Event::Lost(_) => self.win.on_lost(),
            Event::RecoveryExit { .. } => {
                self.win.end_recovery();
                self.on_recovery_exit();
            }
            Event::Undo { .. } => self.on_undo(),
            Event::Linux(linux::Event::Sample(ref ack)) => self.on_sample(ack),
            Event::Linux(linux::Event::IdleTimeouts { timeouts }) => self.on_idle_timeouts(timeouts),
            _ => {}
        }
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        Some(self.module.as_mut().map_or(&mut self.draws, |module| module.draws()))
    }

    fn needs(&self) -> Needs {
        let is_module = self.module.is_some();
        let own = Needs { reductions: is_module, idle_timeouts: is_module, every_rtt: true, ..Needs::default() };
        self.win.needs(own)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.win.pacing_rate()
    }

    fn takes_reduction(&mut self) -> bool {
        self.linux().is_some_and(|(module, _)| module.takes_reduction())
    }

    window_getters!();
}

#[cfg(test)]
mod tests;
