//! PCC Vivace (Dong M, Meng T, Zarchy D, Arslan E, Gilad Y, Godfrey PB, Schapira M, "PCC Vivace: online-learning
//! congestion control", NSDI 2018). The sender tries a slightly higher and a slightly lower rate, computes the utility
//! of each from throughput, a rising RTT and losses, and moves its rate along the gradient.
//!
//! Variant: the authors' later code (PCC-Uspace, the Vivace rate controller), with three pairs of intervals, an
//! amplifier of the steps with the power 1.2, and a bound of the steps that grows by 5 % of the rate. Preset `paper`
//! has the constants that other authors report from the paper, whose text was not available, so they are unverified. A
//! Mbit/s is 10⁶ bit/s throughout, while the authors' code also uses 2²⁰. An interval lasts the smallest RTT and at
//! least five segments. The regression's error is the root mean square distance of the samples from the fitted line,
//! relative to the samples' mean. After a timeout the window is one segment until the next ACK, as with any algorithm
//! in Linux.
//!
//! Not modelled: the code's longer intervals while RTT samples arrive in bursts, and its trend of the RTT over six
//! intervals.

use std::collections::VecDeque;

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::draws::Draws;
use crate::event::Event;
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, num, params, value, word};
use crate::reports::{Lost, Sent, Start};

mod interval;
#[cfg(test)]
mod tests;

use interval::Interval;

choices! {
    /// Growth of the steps while the direction stays the same:
    /// * `power`: floor((n + 1)/2)^1.2 in the n-th round.
    /// * `paper`: n in the first three rounds, then 2n - 3.
    pub enum Amplifier { Power = "power", Paper = "paper" }

    /// Slopes of the RTT that count as noise:
    /// * `error`: slopes below their regression's error.
    /// * `threshold`: slopes below `gradient_threshold`.
    pub enum Noise { Error = "error", Threshold = "threshold" }
}

params! {
    /// Parameters of Vivace.
    pub struct VivaceParams {
        /// Exponent of the throughput in the utility.
        exponent: f64 = num(0.9, 0.01, 1.0, Unit::None), "Dong et al. 2018; PCC-Uspace";
        /// Weight of a rising RTT in the utility.
        latency_price: f64 = num(900.0, 0.0, 1e6, Unit::None), "Dong et al. 2018; PCC-Uspace";
        /// Weight of losses in the utility.
        loss_price: f64 = num(11.35, 0.0, 1e6, Unit::None), "Dong et al. 2018; PCC-Uspace";
        /// Distance of a probe from the rate, as a fraction of the rate.
        probe_step: f64 = num(0.05, 1e-3, 0.5, Unit::None), "Dong et al. 2018; PCC-Uspace";
        /// Mbit/s for each unit of the utility's gradient.
        conversion: f64 = num(1.0, 1e-3, 1e3, Unit::None), "Dong et al. 2018; PCC-Uspace (theta)";
        /// Growth of the steps while the direction stays the same.
        amplifier: Amplifier = choice("power", Amplifier::WORDS), "PCC-Uspace; Dong et al. 2018 (unverified)";
        /// Largest first step as a fraction of the rate.
        bound: f64 = num(0.05, 1e-3, 1.0, Unit::None), "PCC-Uspace; Dong et al. 2018 (unverified)";
        /// Growth of `bound` each time that it limits a step, as a fraction of the rate.
        bound_step: f64 = num(0.05, 0.0, 1.0, Unit::None), "PCC-Uspace; Dong et al. 2018: 0.1 (unverified)";
        /// Smallest step.
        min_step: f64 = num(0.5, 0.0, 1e3, Unit::MegabitsPerSecond), "PCC-Uspace";
        /// Smallest rate.
        min_rate: f64 = num(0.5, 1e-3, 1e3, Unit::MegabitsPerSecond), "PCC-Uspace";
        /// Largest rate.
        max_rate: f64 = num(1e6, 1.0, 1e9, Unit::MegabitsPerSecond), "none in the sources";
        /// Slopes of the RTT that count as noise.
        noise: Noise = choice("error", Noise::WORDS), "PCC-Uspace; Dong et al. 2018 (unverified)";
        /// Slope of the RTT below which it counts as noise, with `threshold`.
        gradient_threshold: f64 = num(0.01, 0.0, 1.0, Unit::None), "Dong et al. 2018 (unverified)";
        /// Smallest number of segments of an interval.
        interval_segments: f64 = num(5.0, 2.0, 1e3, Unit::Segments), "PCC-Uspace";
        /// Limit on the segments outstanding, in units of the rate times the smallest RTT.
        outstanding: f64 = num(2.5, 1.0, 100.0, Unit::None), "PCC-Uspace";
    }
}

/// Pairs of intervals needed for a decision (PCC-Uspace).
const PAIRS: usize = 3;
/// The amplifier's power (PCC-Uspace).
const AMPLIFIER_POWER: f64 = 1.2;
/// RTT assumed for the first rate, and largest RTT that raises the first rate, s (PCC-Uspace).
const FIRST_RTT_S: f64 = 0.1;
/// Largest rise of the RTT within one interval that the first phase ignores, s (PCC-Uspace).
const FORGIVEN_AT_START_S: f64 = 0.001;
/// Time after which outstanding segments of an interval are given up: a number of round trips, plus a time in s.
const PATIENCE_RTTS: f64 = 4.0;
const PATIENCE_S: f64 = 0.2;
/// Smallest window, segments.
const FLOOR: f64 = 4.0;

states! {
    /// State of Vivace.
    enum Mode {
        Starting = "starting",
        Probing = "probing",
        Moving = "moving",
    }
}

/// Utility of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Worth {
    rate: f64,
    utility: f64,
}

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    /// Rate around which Vivace probes, Mbit/s.
    rate: f64,
    upward: bool,
    rounds: u32,
    bound_raised: f64,
    last: Worth,
    intervals: VecDeque<Interval>,
    /// True if the next probe of a pair is the probe at the higher rate.
    next_high: bool,
    limited: bool,
    min_rtt: f64,
    srtt: f64,
    segment_mbit: f64,
    draws: Draws,
}

/// PCC Vivace.
#[derive(Clone, Debug)]
pub struct Vivace {
    p: Box<VivaceParams>,
    s: Box<State>,
    w: f64,
    pacing_rate: f64,
}

impl Vivace {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "vivace",
        title: "PCC Vivace",
        kind: Kind::Model,
        signals: &["rate", "loss", "RTT"],
        source: "Dong et al., NSDI 2018; PCC-Uspace",
        doc: "Vivace sends at slightly higher and lower rates in turn, computes the utility of each rate from \
              throughput, the slope of the RTT and losses, and follows the gradient. No event has its own rule: losses \
              of up to about 5 % only lower a rate's utility. The default has the constants of the authors' code.",
        presets: &[
            Preset::new("", "PCC-Uspace", &[]),
            Preset::new(
                "paper",
                "NSDI 2018 as reported by others (unverified)",
                &[word("amplifier", "paper"), value("bound_step", 0.1), word("noise", "threshold")],
            ),
        ],
        tables: &[VivaceParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if the smallest rate is above the largest.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = VivaceParams::read(settings)?;
        if p.min_rate > p.max_rate {
            return settings.conflict(format!("min_rate {} must not be above max_rate {}", p.min_rate, p.max_rate));
        }
        let s = State {
            mode: Mode::Starting,
            rate: p.min_rate,
            upward: true,
            rounds: 1,
            bound_raised: 0.0,
            last: Worth::default(),
            intervals: VecDeque::with_capacity(4 * PAIRS),
            next_high: true,
            limited: false,
            min_rtt: f64::INFINITY,
            srtt: 0.0,
            segment_mbit: 0.0,
            draws: Draws::default(),
        };
        Ok(Self { p: Box::new(p), s: Box::new(s), w: 1.0, pacing_rate: 1.0 })
    }

    /// Utility of sending at `rate` Mbit/s.
    fn utility(&self, rate: f64, gradient: f64, loss: f64) -> f64 {
        libm::pow(rate, self.p.exponent)
            - self.p.latency_price * rate * gradient.max(0.0)
            - self.p.loss_price * rate * loss
    }

    fn worth(&self, interval: &Interval) -> Worth {
        let mut gradient = 0.0;
        if let Some(slope) = interval.line.slope() {
            let noise = match self.p.noise {
                Noise::Error => slope.gradient.abs() <= slope.error,
                Noise::Threshold => slope.gradient.abs() < self.p.gradient_threshold,
            };
            let rise = slope.gradient * interval.duration(self.s.segment_mbit);
            let forgiven = self.s.mode == Mode::Starting && self.p.noise == Noise::Error && rise < FORGIVEN_AT_START_S;
            if !noise && !forgiven {
                gradient = slope.gradient;
            }
        }
        let rate = interval.actual_rate(self.s.segment_mbit);
        Worth { rate: interval.rate, utility: self.utility(rate, gradient, interval.lost / interval.sent) }
    }

    fn amplification(&self) -> f64 {
        let n = self.s.rounds;
        match self.p.amplifier {
            Amplifier::Power => libm::pow(f64::from(n.div_ceil(2).max(1)), AMPLIFIER_POWER),
            Amplifier::Paper if n <= 3 => f64::from(n),
            Amplifier::Paper => 2.0 * f64::from(n) - 3.0,
        }
    }

    /// Step of the rate, Mbit/s, for a utility gradient per Mbit/s, within the current bound.
    fn step(&mut self, gradient: f64, amplification: f64) -> f64 {
        let step = self.p.conversion * gradient.abs() * amplification;
        let most = self.s.rate * (self.p.bound + self.p.bound_step * self.s.bound_raised);
        let step = if step > most {
            self.s.bound_raised += 1.0;
            most
        } else {
            self.s.bound_raised = (self.s.bound_raised - 1.0).max(0.0);
            step
        };
        step.max(self.p.min_step)
    }

    fn set_rate(&mut self, rate: f64) {
        self.s.rate = rate.clamp(self.p.min_rate, self.p.max_rate);
    }

    fn enter_probing(&mut self) {
        self.s.rounds = if self.s.mode == Mode::Probing { self.s.rounds + 1 } else { 1 };
        self.s.mode = Mode::Probing;
    }

    fn move_by(&mut self, step: f64) {
        let rate = if self.s.upward { self.s.rate + step } else { self.s.rate - step };
        self.s.mode = Mode::Moving;
        if rate < self.p.min_rate {
            (self.s.mode, self.s.rounds, self.s.bound_raised) = (Mode::Probing, 1, 0.0);
        }
        self.set_rate(rate);
    }

    fn starting(&mut self, worth: Worth) {
        if worth.utility > self.s.last.utility {
            self.s.last = worth;
            self.set_rate(2.0 * self.s.rate);
        } else {
            self.set_rate(0.5 * self.s.rate);
            self.enter_probing();
        }
    }

    /// Decides after the probes. Two of three pairs are enough to raise the rate; all are needed to lower it.
    fn probing(&mut self, worths: &[Worth]) {
        let higher = |pair: &[Worth]| (pair[0].utility > pair[1].utility) == (pair[0].rate > pair[1].rate);
        let up = worths.chunks_exact(2).filter(|pair| higher(pair)).count();
        let decided = up > PAIRS / 2 || up == 0;
        let apart = (worths[0].rate - worths[1].rate).abs();
        if !decided || apart <= 0.0 {
            self.enter_probing();
            return;
        }
        self.s.upward = up > 0;
        let agreeing = worths.chunks_exact(2).filter(|pair| higher(pair) == self.s.upward);
        let mut gain = 0.0;
        for pair in agreeing {
            gain += (pair[0].utility - pair[1].utility).abs();
            self.s.last = if pair[0].utility > pair[1].utility { pair[0] } else { pair[1] };
        }
        let again = self.s.rounds > 1;
        let shift = if self.s.upward { 1.0 + self.p.probe_step } else { 1.0 - self.p.probe_step };
        self.set_rate(self.s.rate * shift);
        (self.s.rounds, self.s.bound_raised) = (1, 0.0);
        let step = self.step(gain / PAIRS as f64 / apart, 1.0);
        self.move_by(step);
        if (again || self.s.mode == Mode::Moving) && self.s.rate <= self.p.min_rate {
            (self.s.mode, self.s.rounds, self.s.bound_raised) = (Mode::Starting, 1, 0.0);
            self.s.last = Worth { rate: 0.0, utility: 0.0 };
        }
    }

    fn moving(&mut self, worth: Worth) {
        let apart = worth.rate - self.s.last.rate;
        let gain = worth.utility - self.s.last.utility;
        if apart == 0.0 {
            self.enter_probing();
            return;
        }
        let onward = (gain * apart > 0.0) == self.s.upward && gain != 0.0;
        self.s.rounds = if onward { self.s.rounds + 1 } else { 1 };
        let amplification = self.amplification();
        let step = self.step(gain / apart, amplification);
        if onward {
            self.move_by(step);
            self.s.last = worth;
            return;
        }
        let back = if self.s.upward { self.s.rate - step } else { self.s.rate + step };
        self.enter_probing();
        if back < self.p.min_rate {
            self.s.bound_raised = 0.0;
        }
        self.set_rate(back);
    }

    fn useful(&self) -> usize {
        self.s.intervals.iter().filter(|i| i.useful).count()
    }

    fn wanted(&self) -> usize {
        if self.s.mode == Mode::Probing { 2 * PAIRS } else { 1 }
    }

    /// True if the segment that is now sent begins an interval.
    fn is_time_for_next(&self, now: f64) -> bool {
        let Some(current) = self.s.intervals.back() else { return true };
        if self.s.min_rtt.is_infinite() {
            return false;
        }
        if !current.useful {
            return self.useful() == 0;
        }
        let segments = self.p.interval_segments;
        let lasting = self.s.min_rtt.max((segments - 1.0) * self.s.segment_mbit / current.rate);
        current.sent >= segments && now - current.began >= lasting
    }

    fn begin_interval(&mut self, now: f64) {
        if let Some(current) = self.s.intervals.back_mut() {
            current.closed = true;
        }
        let useful = self.useful();
        let counts = self.s.min_rtt.is_finite() && useful < self.wanted();
        let mut rate = self.s.rate;
        if counts && self.s.mode == Mode::Probing {
            let high = if useful % 2 == 0 { self.s.draws.bits() & 1 == 1 } else { self.s.next_high };
            self.s.next_high = !high;
            rate *= if high { 1.0 + self.p.probe_step } else { 1.0 - self.p.probe_step };
        }
        self.s.intervals.push_back(Interval::new(now, rate, counts));
        self.pacing_rate = rate / self.s.segment_mbit;
    }

    /// Index of the interval of a segment sent at `sent_at`, with 1 ns of tolerance for rounding.
    fn index_of(&self, sent_at: f64) -> Option<usize> {
        self.s.intervals.iter().rposition(|i| i.began <= sent_at + 1e-9)
    }

    fn is_over(&self, interval: &Interval, now: f64) -> bool {
        let given_up = now > interval.last_sent + PATIENCE_RTTS * self.s.srtt + PATIENCE_S;
        interval.closed && (interval.outstanding() <= 0.0 || given_up)
    }

    /// Decides once all intervals that the mode needs are over.
    fn decide(&mut self, now: f64) {
        let wanted = self.wanted();
        let intervals = &self.s.intervals;
        let over = intervals.iter().filter(|i| i.useful).take_while(|i| self.is_over(i, now)).count();
        if over < wanted {
            // An interval that is over and does not count is removed.
            while self.s.intervals.len() > 1 && self.s.intervals.front().is_some_and(|i| !i.useful && i.closed) {
                self.s.intervals.pop_front();
            }
            return;
        }
        let mut worths = [Worth::default(); 2 * PAIRS];
        let (mut count, mut limited) = (0, false);
        while count < wanted {
            let Some(interval) = self.s.intervals.pop_front() else { break };
            if interval.useful {
                worths[count] = self.worth(&interval);
                limited |= interval.limited;
                count += 1;
            }
        }
        if limited {
            // An application-limited interval shows nothing about the path.
            return;
        }
        match self.s.mode {
            Mode::Starting => self.starting(worths[0]),
            Mode::Probing => self.probing(&worths),
            Mode::Moving => self.moving(worths[0]),
        }
    }
}

observed! {
    self: Vivace;
    /// Mode.
    mode = self.s.mode, state(Mode::NAMES);
    /// Rate around which Vivace probes.
    rate_mbps = self.s.rate, number(Unit::MegabitsPerSecond);
    /// Utility of the last rate used for a decision.
    utility = self.s.last.utility, plain();
    /// 1 while the rate moves upward.
    upward = self.s.upward, plain();
    /// Decisions in the same mode and direction, in a row.
    rounds = self.s.rounds, number(Unit::Decisions);
    /// Number of increases of a step's bound.
    bound_raised = self.s.bound_raised, plain();
}

impl Vivace {
    fn on_start(&mut self, start: &Start) {
        self.w = start.initial_window.max(1.0);
        self.s.segment_mbit = start.segment_bytes * 8.0 / 1e6;
        self.s.draws = Draws::new(start.seed);
        self.set_rate(self.w * self.s.segment_mbit / FIRST_RTT_S);
        self.pacing_rate = self.s.rate / self.s.segment_mbit;
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        if self.is_time_for_next(sent.now) {
            self.begin_interval(sent.now);
        }
        let limited = self.s.limited;
        if let Some(current) = self.s.intervals.back_mut() {
            current.sent += 1.0;
            current.last_sent = sent.now;
            current.limited |= limited;
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        if let Some(at) = self.index_of(lost.sent_at) {
            let interval = &mut self.s.intervals[at];
            interval.lost += interval.outstanding().clamp(0.0, 1.0);
        }
        self.decide(lost.now);
    }

    fn on_timeout(&mut self) {
        // Vivace has no rule for timeouts. Transports send one or two probes for each timeout, and double the timeout
        // (RFC 9002, 6.2; Linux's tcp_enter_loss), until an ACK arrives and the rate sets the window again.
        self.w = 1.0;
    }

    fn on_idle(&mut self) {
        self.s.intervals.clear();
        if self.s.mode != Mode::Starting {
            (self.s.mode, self.s.rounds) = (Mode::Probing, 1);
        }
    }
}

impl Algorithm for Vivace {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if self.s.min_rtt.is_infinite() && rtt < FIRST_RTT_S {
            self.set_rate(self.s.rate * FIRST_RTT_S / rtt);
        }
        (self.s.min_rtt, self.s.srtt) = (ack.min_rtt.min(rtt), ack.srtt);
        self.s.limited = ack.delivery.is_some_and(|d| d.app_limited);
        if let Some(newest) = self.index_of(ack.sent_at()) {
            let interval = &mut self.s.intervals[newest];
            interval.line.add(ack.sent_at() - interval.began, rtt);
            interval.limited |= self.s.limited;
            // An ACK for several segments may acknowledge segments of earlier intervals.
            let mut left = ack.acked;
            for interval in self.s.intervals.iter_mut().take(newest + 1).rev() {
                let taken = left.min(interval.outstanding().max(0.0));
                interval.acked += taken;
                left -= taken;
            }
        }
        self.decide(ack.now);
        let rate = self.s.rate.max(self.s.intervals.back().map_or(0.0, |i| i.rate));
        self.w = (self.p.outstanding * rate / self.s.segment_mbit * self.s.min_rtt).max(FLOOR);
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Timeout(_) => self.on_timeout(),
            Event::Idle { .. } => self.on_idle(),
            Event::Sent(ref sent) => self.on_sent(sent),
            Event::Lost(ref lost) => self.on_lost(lost),
            Event::Moderate { window } | Event::Keep { window } => self.w = self.w.min(window).max(1.0),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            losses: true,
            sends: true,
            pacing: true,
            own_recovery: true,
            receiver_limits: true,
            ..Needs::default()
        }
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.s.draws)
    }

    #[inline]
    fn window(&self) -> f64 {
        self.w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }
}
