//! The one-way delay, its extremes, and the reactions to it.

use super::timestamps::{Clock, Timestamps};
use crate::ack::Ack;
use crate::observe::observed;
use crate::param::{BuildError, Settings, choice, choices, flag, num, params};
use crate::reports::Start;

choices! {
    /// Measurement of the delays:
    /// * `exact`: signed real numbers, with the extremes of the last `memory` seconds.
    /// * `linux`: Linux's integers since 4.13.
    /// * `linux-2.6`: Linux's integers before 4.13, with jiffies as timestamps.
    /// * `ns2`: Linux 2.6's integers in 64-bit words, with timestamps rounded to the nearest tick.
    pub enum Delays { Exact = "exact", Linux = "linux", Linux26 = "linux-2.6", Ns2 = "ns2" }
}

params! {
    /// Parameters of low priority.
    pub struct LpParams {
        /// Threshold of congestion (δ), as a fraction of the range of one-way delays above the smallest.
        threshold: f64 = num(0.15, 0.0, 1.0, Unit::None), "Kuzmanovic & Knightly 2003; Linux tcp_lp.c";
        /// Resolution of timestamps: a delay that exceeds the smallest delay by less than this is not congestion.
        /// Otherwise the flow's own bursts would count as congestion on a path without queues.
        tick: f64 = num(0.001, 0.0, 1.0, Unit::Seconds), "Linux's TCP timestamps tick in ms; the paper's are coarser";
        /// Weight of a new sample of the delay (γ).
        smoothing: f64 = num(0.125, 0.001, 1.0, Unit::None), "Kuzmanovic & Knightly 2003; Linux tcp_lp.c";
        /// Time without growth after a reaction.
        inference: f64 = num(3.0, 0.0, 1e3, Unit::RoundTrips), "Linux tcp_lp.c";
        /// Lifetime of the extremes of the delay; 0: unlimited.
        memory: f64 = num(180.0, 0.0, 1e6, Unit::Seconds), "chosen here: minutes";
        /// React only after the first loss.
        from_first_loss: bool = flag(true), "Kuzmanovic & Knightly 2003 (unverified); Linux has it off";
        /// Use slow start up to the old threshold after a reaction; off: grow additively only.
        slow_start_after: bool = flag(false), "Kuzmanovic & Knightly 2003 (unverified); Linux has it on";
        /// Measurement of the delays.
        delays: Delays = choice("exact", Delays::WORDS), "Linux tcp_lp.c";
        /// Use of TCP timestamps, without which Linux has no delays.
        timestamps: bool = flag(true), "Linux tcp_lp.c; ns-2 ts_option_ is off";
    }
}

/// Largest window whose delays are corrected for delayed ACKs: with one segment every ACK is delayed, with few segments
/// some ACKs are.
const ALONE: f64 = 2.0;
const FEW: f64 = 16.0;
/// Weight of a new sample of the delay in Linux, where it is a constant.
const LINUX_SMOOTHING: f64 = 0.125;

/// Reaction to an ACK's delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Early {
    Nothing,
    Halve,
    One,
}

/// The delay, its extremes, and the reactions to it. Delays are in s.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) p: LpParams,
    /// Smoothed delay; `None` before the first sample.
    pub(super) smoothed: Option<f64>,
    /// Extremes of the current memory period and of the previous memory period.
    pub(super) now: (f64, f64),
    before: (f64, f64),
    pub(super) period_end: f64,
    /// Smallest delay of this round trip and of the previous round trip; small windows only.
    rounds: (f64, f64),
    /// Linux's own measurement; `None` if delays are real numbers, or without timestamps.
    pub(super) linux: Option<Timestamps>,
    /// Time of the last reaction, s; `None` while there is none.
    pub(super) reacted_at: Option<f64>,
    inference_s: f64,
    pub(super) armed: bool,
}

observed! {
    self: Watch;
    /// Smoothed one-way delay, plus the offset of the two clocks; null in Linux's forms, which count in ticks of
    /// timestamps.
    delay_s = self.smoothed.unwrap_or(f64::NAN), number(Unit::Seconds);
    /// Smallest one-way delay; null in Linux's forms.
    delay_min_s = self.extremes().0, number(Unit::Seconds);
    /// Largest one-way delay; null in Linux's forms.
    delay_max_s = self.extremes().1, number(Unit::Seconds);
    /// Time of the last early reaction; null before the first one and after an idle period.
    reacted_at_s = self.reacted_at.unwrap_or(f64::NAN), number(Unit::Seconds);
}

const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl Watch {
    pub(super) fn read(settings: &Settings) -> Result<Box<Self>, BuildError> {
        let p = LpParams::read(settings)?;
        if p.delays != Delays::Exact && p.smoothing != LINUX_SMOOTHING {
            return settings.conflict(format!("smoothing must be {LINUX_SMOOTHING} unless delays is 'exact'"));
        }
        Ok(Box::new(Self::new(p)))
    }

    fn new(p: LpParams) -> Self {
        Self {
            smoothed: None,
            now: NO_EXTREMES,
            before: NO_EXTREMES,
            period_end: f64::NEG_INFINITY,
            rounds: (f64::INFINITY, f64::INFINITY),
            linux: None,
            reacted_at: None,
            inference_s: 0.0,
            armed: !p.from_first_loss,
            p,
        }
    }

    pub(super) fn extremes(&self) -> (f64, f64) {
        (self.now.0.min(self.before.0), self.now.1.max(self.before.1))
    }

    fn smooth(&mut self, delay: f64) {
        let smoothed = self.smoothed.map_or(delay, |s| s + self.p.smoothing * (delay - s));
        self.smoothed = Some(smoothed);
    }

    #[inline]
    fn sample(&mut self, now: f64, delay: f64) {
        if self.p.memory > 0.0 && now >= self.period_end {
            self.before = std::mem::replace(&mut self.now, NO_EXTREMES);
            self.period_end = now + self.p.memory;
        }
        self.now = (self.now.0.min(delay), self.now.1.max(delay));
        self.smooth(delay);
    }

    /// The connection begins.
    pub(super) fn start(&mut self, start: &Start) {
        let clock = match self.p.delays {
            Delays::Exact => return,
            Delays::Linux => Clock::Random,
            Delays::Linux26 => Clock::Jiffies,
            Delays::Ns2 => Clock::Ns2,
        };
        let (percent, round_trips) = ((self.p.threshold * 100.0).round(), self.p.inference.round());
        self.linux = self
            .p
            .timestamps
            .then(|| Timestamps::new(clock, (percent as u64, round_trips as u64), start.hz, start.seed));
    }

    /// True while the smoothed delay is above the threshold.
    pub(super) fn is_early(&self) -> bool {
        let Some(smoothed) = self.smoothed else { return false };
        let (low, high) = self.extremes();
        smoothed > low + (self.p.threshold * (high - low)).max(self.p.tick)
    }

    /// True during the inference time, in which the window must not grow.
    #[inline]
    pub(super) fn infers(&self, now: f64) -> bool {
        match &self.linux {
            Some(linux) => linux.within_inference(),
            None => self.reacted_at.is_some_and(|at| now - at < self.inference_s),
        }
    }

    /// The delay sample without the time for which the receiver delayed the ACK. For a small window the sample is the
    /// smallest delay of a round trip. For a window of one segment there is no sample.
    #[inline]
    fn without_waiting(&mut self, ack: &Ack, delay: f64, window: f64) -> Option<f64> {
        if window >= FEW {
            return Some(delay);
        }
        if ack.round_start {
            self.rounds = (f64::INFINITY, self.rounds.0);
        }
        if window < ALONE {
            self.smoothed = None;
            return None;
        }
        self.rounds.0 = self.rounds.0.min(delay);
        Some(self.rounds.0.min(self.rounds.1))
    }

    #[inline]
    pub(super) fn measure(&mut self, ack: &Ack, window: f64) {
        let (Some(delay), Some(rtt)) = (ack.owd, ack.rtt) else { return };
        if let Some(linux) = &mut self.linux {
            linux.sample(ack, delay);
        } else if self.p.delays == Delays::Exact {
            if let Some(delay) = self.without_waiting(ack, delay, window) {
                self.sample(ack.now, delay);
            }
            self.inference_s = self.p.inference * rtt;
        }
    }

    /// Reaction to this ACK; there is no reaction in recovery, but Linux resets the extremes in recovery too.
    #[inline]
    pub(super) fn judge(&mut self, ack: &Ack) -> Early {
        let again = self.infers(ack.now);
        let early = if let Some(linux) = &mut self.linux {
            self.armed && linux.is_early()
        } else {
            // The delay of data sent before the reaction does not indicate new congestion.
            let known = again && self.reacted_at.is_some_and(|at| ack.sent_at() < at);
            self.armed && !ack.in_recovery && self.is_early() && !known
        };
        if !early {
            return Early::Nothing;
        }
        self.reacted_at = Some(ack.now);
        match (ack.in_recovery, again) {
            (true, _) => Early::Nothing,
            (false, true) => Early::One,
            (false, false) => Early::Halve,
        }
    }
}
