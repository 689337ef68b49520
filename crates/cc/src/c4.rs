//! C4, "Christian's Congestion Control Code" (draft-huitema-ccwg-c4-spec, working copy of 2026 after revision 04): a rate
//! and a largest RTT without a queue are the model of the path. In cycles of a few round trips a flow probes for a 16th
//! more, pushes by a quarter while the rate grows, and recovers. The higher the rate, the more sensitive a flow is to
//! delay, loss and marks, which is how flows come to share a path.
//!
//! Variant: the specification's rules in segments. Where its text and its equations disagree, or a unit does not fit,
//! the meaning is taken: a sample above the nominal rate raises the rate, the margin of 15 ms is added to the RTT, and
//! the draining gain is 7/8, of the section that introduces it. The rate "increases" in Initial if it grows by a
//! quarter, as in the authors' implementation (picoquic). A rate sample is the delivery rate, so a sample over less than
//! the smallest RTT is none, as the section on conservative measurement asks. High jitter restarts Initial once for a
//! flow, as in earlier revisions and picoquic, since a standing queue would restart it in each cycle. A loss that a timer shows changes nothing,
//! except that a retransmission timeout of TCP opens the window for one segment until the next ACK; QUIC sends a probe.
//! The size of bursts is the endpoint's.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Ecn, Needs};
use crate::event::Event;
use crate::loss_window::MOST;
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params};
use crate::reports::{Lost, Signal, Start};

params! {
    /// Parameters of C4.
    pub struct C4Params {
        /// Gain of rate and window in Initial.
        initial_gain: f64 = num(2.0, 1.0, 10.0, Unit::None), "draft-huitema-ccwg-c4-spec §4.1";
        /// Gain in Recovery.
        recovery_gain: f64 = num(0.9375, 0.1, 1.0, Unit::None), "draft-huitema-ccwg-c4-spec §4.4; 15/16";
        /// Gain in a Recovery that has a queue to drain.
        draining_gain: f64 = num(0.875, 0.1, 1.0, Unit::None), "draft-huitema-ccwg-c4-spec §5.8; 7/8";
        /// Gain in Probing.
        probing_gain: f64 = num(1.0625, 1.0, 10.0, Unit::None), "draft-huitema-ccwg-c4-spec §4.6; 17/16";
        /// Gain in Probing on a path that has marked segments.
        probing_gain_marked: f64 = num(1.03125, 1.0, 10.0, Unit::None), "draft-huitema-ccwg-c4-spec §4.6; 33/32";
        /// Gain in Pushing.
        pushing_gain: f64 = num(1.25, 1.0, 10.0, Unit::None), "draft-huitema-ccwg-c4-spec §4.7";
        /// Largest fraction of the rate that is given up on a congestion signal.
        beta: f64 = num(0.25, 0.0, 0.9, Unit::None), "draft-huitema-ccwg-c4-spec §5.7.1";
        /// Round trips in Cruising.
        cruising_eras: f64 = num(2.0, 1.0, 100.0, Unit::RoundTrips), "draft-huitema-ccwg-c4-spec §4.5";
        /// Longest addition to the RTT from which the window is computed; at most a quarter of the RTT.
        margin: f64 = num(0.015, 0.0, 1.0, Unit::Seconds), "draft-huitema-ccwg-c4-spec §4.1";
        /// Largest jitter above the smallest RTT that counts as the path's.
        max_jitter: f64 = num(0.25, 0.0, 10.0, Unit::Seconds), "draft-huitema-ccwg-c4-spec §3.2, MAX_JITTER";
        /// Window of an earlier connection between the same hosts, for a state Resuming; 0 without one.
        saved_window: f64 = num(0.0, 0.0, 1e9, Unit::Segments), "draft-huitema-ccwg-c4-spec §4.3";
        /// Smallest RTT of the earlier connection.
        saved_rtt: f64 = num(0.0, 0.0, 100.0, Unit::Seconds), "draft-huitema-ccwg-c4-spec §4.3";
    }
}

/// Smallest window, segments, and smallest pacing rate in Initial, bytes/s.
const LEAST: f64 = 2.0;
const LEAST_RATE: f64 = 131_072.0;
/// Growth of the rate in an era of Initial that counts as one, and eras without one after which Initial ends.
const INITIAL_GROWTH: f64 = 1.25;
const PATIENCE: i32 = 3;
/// Eras without growth, and received segments, from which delays and marks, and losses, end Initial.
const PATIENCE_WITH_DELAY: i32 = 2;
const INITIAL_SEGMENTS: f64 = 20.0;
/// Growth of the rate in an era of Pushing after which the pushing goes on, and eras after which Initial begins anew.
const PUSHING_GROWTH: f64 = 19.0 / 16.0;
const PUSHING_ERAS: u32 = 3;
/// Eras of Resuming.
const RESUMING_ERAS: u32 = 2;
/// Smallest RTT in units of the largest below which the jitter is high.
const HIGH_JITTER: f64 = 0.4;
/// Weight of a new sample in the averages of RTTs, and in those of losses and marks.
const RTT_WEIGHT: f64 = 1.0 / 8.0;
const WEIGHT: f64 = 1.0 / 16.0;
/// Fraction of marked segments from which the average follows at once.
const MANY_MARKS: f64 = 0.5;
/// Longest delay threshold, s.
const DELAY_THRESHOLD_S: f64 = 0.025;

states! {
    /// State, under the draft's names.
    enum Mode {
        Initial = "Initial",
        Resuming = "Resuming",
        Recovery = "Recovery",
        Cruising = "Cruising",
        Probing = "Probing",
        Pushing = "Pushing",
    }
}

/// A kind of congestion signal, with the fraction of the rate that it takes.
#[derive(Clone, Copy, Debug)]
enum Congestion {
    Delay(f64),
    Loss,
    Marks(f64),
}

/// One era: the time until the first segment sent in it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// Segments delivered when the era began.
    delivered: f64,
    rate: f64,
    max_rtt: f64,
    min_rtt: f64,
    is_limited: bool,
}

/// Eras that have ended in a state, and what the cycle of the states has seen.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    eras: u32,
    /// Rate when the probing began.
    rate: f64,
    was_probing: bool,
    was_limited: bool,
    congested: bool,
}

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    w: f64,
    /// Nominal rate, segments/s; 0 before the first sample.
    rate: f64,
    /// Nominal max RTT and running min RTT, s; 0 and infinite before the first sample.
    max_rtt: f64,
    min_rtt: f64,
    initial_window: f64,
    segment_bytes: f64,
    delivered: f64,
    era: Era,
    cycle: Cycle,
    alpha: f64,
    alpha_previous: f64,
    eras_without_growth: i32,
    loss_rate: f64,
    marks: f64,
    saw_marks: bool,
    /// Largest rate sample since the end of the last Recovery, segments/s.
    recent_rate: f64,
    successive_congestions: u32,
    must_drain: bool,
    /// True once high jitter has restarted Initial.
    was_jittery: bool,
    timed_out: Option<f64>,
}

/// C4.
#[derive(Clone, Debug)]
pub struct C4 {
    p: Box<C4Params>,
    s: Box<State>,
}

impl State {
    /// True if the rate is above `rate`, segments/s, by a byte per second, the resolution of the authors' implementation.
    fn has_grown(&self, rate: f64) -> bool {
        (self.rate - rate) * self.segment_bytes >= 1.0
    }
}

/// Sensitivity of a flow to congestion signals at a rate of `bytes` per second, from 0 to 1 (§5.1).
fn sensitivity(bytes: f64) -> f64 {
    let between = |low: f64, high: f64| ((bytes - low) / (high - low)).clamp(0.0, 1.0);
    0.92 * between(5e4, 1e6) + 0.08 * between(1e6, 1e7)
}

impl C4 {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "c4",
        title: "C4",
        kind: Kind::Model,
        signals: &["delivery rate", "RTT", "loss", "ECN"],
        source: "draft-huitema-ccwg-c4-spec, draft-huitema-ccwg-c4-design",
        doc: "C4 is for media over QUIC: a small delay, and a rate that an application which pauses keeps. It measures a \
              nominal rate and the largest RTT without a queue, probes for a sixteenth more every few round trips, and \
              pushes by a quarter while the rate grows. A flow with a high rate reacts to less delay and loss than one \
              with a low rate, so that flows come to share a path.",
        presets: &[Preset::new("", "draft-huitema-ccwg-c4-spec, 2026", &[])],
        tables: &[C4Params::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] for a saved window without its RTT.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = C4Params::read(settings)?;
        if (p.saved_window > 0.0) != (p.saved_rtt > 0.0) {
            return settings.conflict("saved_window and saved_rtt go together: both are of an earlier connection");
        }
        let era = Era { delivered: 0.0, rate: 0.0, max_rtt: 0.0, min_rtt: f64::INFINITY, is_limited: false };
        let s = State {
            mode: Mode::Initial,
            w: 1.0,
            rate: 0.0,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            initial_window: 1.0,
            segment_bytes: 1.0,
            delivered: 0.0,
            era,
            cycle: Cycle::default(),
            alpha: p.initial_gain,
            alpha_previous: p.initial_gain,
            eras_without_growth: 0,
            loss_rate: 0.0,
            marks: 0.0,
            saw_marks: false,
            recent_rate: 0.0,
            successive_congestions: 0,
            must_drain: false,
            was_jittery: false,
            timed_out: None,
        };
        Ok(Self { p: Box::new(p), s: Box::new(s) })
    }

    fn sensitivity(&self) -> f64 {
        sensitivity(self.s.rate * self.s.segment_bytes)
    }

    /// Excess of the RTT over the nominal max RTT that is congestion, s (§5.2).
    fn delay_threshold(&self) -> f64 {
        let fraction = (1.0 + 3.0 * (1.0 - self.sensitivity())) / 16.0;
        (fraction * self.s.max_rtt).min(DELAY_THRESHOLD_S)
    }

    fn loss_threshold(&self) -> f64 {
        0.02 + 0.5 * (1.0 - self.sensitivity())
    }

    fn mark_threshold(&self) -> f64 {
        (2.0 - self.sensitivity()) * 3.0 / 32.0
    }

    fn on_start(&mut self, start: &Start) {
        let s = &mut *self.s;
        s.w = start.initial_window.max(1.0);
        s.initial_window = s.w;
        s.segment_bytes = start.segment_bytes;
        if self.p.saved_window > 0.0 {
            (s.mode, s.cycle.eras) = (Mode::Resuming, 0);
            s.w = self.p.saved_window.max(s.w);
        }
    }

    /// Takes the samples of an ACK (§3).
    fn measure(&mut self, ack: &Ack) {
        let s = &mut *self.s;
        let sample = ack.delivery.and_then(|delivery| delivery.rate).unwrap_or(0.0);
        s.delivered = ack.delivery.map_or(s.delivered + ack.acked, |delivery| delivery.delivered);
        s.recent_rate = s.recent_rate.max(sample);
        if !(s.mode == Mode::Recovery && s.cycle.congested) {
            s.rate = s.rate.max(sample);
        }
        if let Some(rtt) = ack.rtt {
            if s.max_rtt == 0.0 {
                (s.max_rtt, s.min_rtt) = (rtt, rtt);
            }
            s.era.max_rtt = s.era.max_rtt.max(rtt);
            s.era.min_rtt = s.era.min_rtt.min(rtt);
        }
        s.era.is_limited |= ack.delivery.map_or(ack.window_limited, |delivery| !delivery.app_limited);
        s.loss_rate *= (1.0 - WEIGHT).powf(ack.acked);
        if ack.acked > 0.0 {
            let fraction = (ack.marked / ack.acked).min(1.0);
            s.saw_marks |= fraction > 0.0;
            s.marks = if fraction >= MANY_MARKS { fraction } else { s.marks + WEIGHT * (fraction - s.marks) };
        }
    }

    /// Congestion that an ACK shows, by delay or marks (§5.2, §5.4).
    fn congestion(&self, ack: &Ack) -> Option<Congestion> {
        let s = &*self.s;
        let threshold = self.delay_threshold();
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > s.max_rtt + threshold) {
            return Some(Congestion::Delay((rtt - s.max_rtt - threshold) / threshold));
        }
        let threshold = self.mark_threshold();
        (s.saw_marks && s.marks > threshold).then(|| Congestion::Marks((s.marks - threshold) / threshold))
    }

    fn on_lost(&mut self, lost: &Lost) {
        if lost.by_timer {
            return;
        }
        let s = &mut *self.s;
        s.loss_rate += WEIGHT * (1.0 - s.loss_rate);
        if s.loss_rate > self.loss_threshold() {
            self.on_congestion(Congestion::Loss);
        }
    }

    /// Responds to congestion (§5.7): a Recovery, and less rate if the flow was cruising.
    fn on_congestion(&mut self, congestion: Congestion) {
        let s = &mut *self.s;
        match s.mode {
            Mode::Recovery => {
                s.cycle.congested = true;
                return;
            }
            Mode::Initial => {
                let is_early = match congestion {
                    Congestion::Loss => s.delivered <= INITIAL_SEGMENTS,
                    Congestion::Delay(_) | Congestion::Marks(_) => s.eras_without_growth < PATIENCE_WITH_DELAY,
                };
                if is_early {
                    return;
                }
                self.end_initial();
            }
            Mode::Cruising => {
                let beta = match congestion {
                    Congestion::Delay(excess) | Congestion::Marks(excess) => excess.clamp(0.0, self.p.beta),
                    Congestion::Loss => self.p.beta,
                };
                s.rate *= 1.0 - beta;
            }
            Mode::Resuming | Mode::Probing | Mode::Pushing => {}
        }
        self.enter_recovery(true);
    }

    /// Takes the RTT that half of the last window takes at the rate (§4.2).
    fn end_initial(&mut self) {
        let s = &mut *self.s;
        s.must_drain = true;
        if s.rate > 0.0 {
            s.max_rtt = (s.w / 2.0 / s.rate).max(s.min_rtt);
        }
    }

    fn enter(&mut self, mode: Mode, gain: f64) {
        let s = &mut *self.s;
        (s.mode, s.alpha_previous, s.alpha) = (mode, s.alpha, gain);
        s.cycle.eras = 0;
        self.begin_era();
    }

    fn begin_era(&mut self) {
        let s = &mut *self.s;
        let (delivered, rate) = (s.delivered, s.rate);
        s.era = Era { delivered, rate, max_rtt: 0.0, min_rtt: f64::INFINITY, is_limited: false };
    }

    fn enter_recovery(&mut self, congested: bool) {
        let s = &mut *self.s;
        s.cycle.was_probing = s.mode == Mode::Probing;
        s.cycle.was_limited = s.era.is_limited;
        s.cycle.congested = congested;
        s.must_drain |= s.mode == Mode::Pushing;
        let gain = if std::mem::take(&mut s.must_drain) { self.p.draining_gain } else { self.p.recovery_gain };
        self.enter(Mode::Recovery, gain);
    }

    fn enter_initial(&mut self) {
        self.s.eras_without_growth = 0;
        self.s.initial_window = self.s.rate * self.s.max_rtt;
        self.enter(Mode::Initial, self.p.initial_gain);
    }

    /// Updates the RTTs at the end of an era whose segments were sent at no more than the rate (§3.2).
    fn update_rtts(&mut self) {
        let s = &mut *self.s;
        if s.alpha_previous > 1.0 || s.era.max_rtt == 0.0 {
            return;
        }
        let least = s.era.min_rtt;
        s.min_rtt = if least < s.min_rtt { least } else { s.min_rtt + RTT_WEIGHT * (least - s.min_rtt) };
        let most = s.era.max_rtt.min(s.min_rtt + self.p.max_jitter);
        s.must_drain |= most < s.max_rtt * (1.0 - RTT_WEIGHT);
        s.max_rtt = if most > s.max_rtt { most } else { s.max_rtt + RTT_WEIGHT * (most - s.max_rtt) };
    }

    /// Ends an era, and moves to the next state where one is due (§4).
    fn end_era(&mut self) {
        if self.s.mode != Mode::Initial {
            self.update_rtts();
        }
        let s = &mut *self.s;
        s.cycle.eras += 1;
        s.alpha_previous = s.alpha;
        let (eras, grew, limited) = (s.cycle.eras, s.has_grown(s.era.rate), s.era.is_limited);
        match s.mode {
            Mode::Initial => {
                if s.rate >= INITIAL_GROWTH * s.era.rate {
                    s.eras_without_growth = 0;
                } else if limited && s.rate > 0.0 {
                    s.eras_without_growth += 1;
                }
                if s.eras_without_growth >= PATIENCE {
                    self.end_initial();
                    return self.enter_recovery(false);
                }
            }
            Mode::Resuming if eras >= RESUMING_ERAS && (limited || grew) => return self.enter_recovery(false),
            Mode::Recovery => return self.end_recovery(),
            Mode::Cruising if f64::from(eras) >= self.p.cruising_eras => {
                s.cycle.rate = s.rate;
                let gain = if s.saw_marks { self.p.probing_gain_marked } else { self.p.probing_gain };
                return self.enter(Mode::Probing, gain);
            }
            Mode::Probing => return self.enter_recovery(false),
            Mode::Pushing if eras > 1 && s.rate < PUSHING_GROWTH * s.era.rate => return self.enter_recovery(false),
            Mode::Pushing if eras > PUSHING_ERAS => return self.enter_initial(),
            Mode::Resuming | Mode::Cruising | Mode::Pushing => {}
        }
        self.begin_era();
    }

    /// Leaves Recovery for the state that the last cycle suggests (§4.4, §5.7.2, §5.8).
    fn end_recovery(&mut self) {
        let s = &mut *self.s;
        let Cycle { rate, was_probing, was_limited, congested, .. } = s.cycle;
        s.successive_congestions = if congested { s.successive_congestions + 1 } else { 0 };
        let recent = std::mem::take(&mut s.recent_rate);
        if s.successive_congestions > 1 && recent > 0.0 {
            s.rate = recent;
        }
        s.marks = 0.0;
        let grew = s.has_grown(rate);
        if was_probing && !congested && grew {
            return self.enter(Mode::Pushing, self.p.pushing_gain);
        }
        if s.min_rtt < HIGH_JITTER * s.max_rtt && !std::mem::replace(&mut s.was_jittery, true) {
            return self.enter_initial();
        }
        if was_probing && !congested && !grew && was_limited && recent > 0.0 {
            s.rate = (s.rate + recent) / 2.0;
        }
        self.enter(Mode::Cruising, 1.0);
    }

    /// Sets the window (§4.1).
    fn set_window(&mut self, acked: f64) {
        let s = &mut *self.s;
        if s.mode == Mode::Initial {
            s.initial_window = (s.initial_window + acked / 8_f64.powi(s.eras_without_growth)).min(MOST);
        }
        if s.mode == Mode::Resuming {
            s.w = self.p.saved_window.max(LEAST);
            return;
        }
        if s.rate == 0.0 || s.max_rtt == 0.0 {
            s.w = s.initial_window.max(LEAST);
            return;
        }
        let margin = if s.mode == Mode::Initial { 0.0 } else { self.p.margin.min(s.max_rtt / 4.0) };
        let window = s.alpha * s.rate * (s.max_rtt + margin);
        let floor = if s.mode == Mode::Initial { s.initial_window } else { LEAST };
        s.w = window.max(floor).clamp(LEAST, MOST);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.s.timed_out = Some(1.0 + signal.kept);
    }
}

observed! {
    self: C4;
    /// State.
    mode = self.s.mode, state(Mode::NAMES);
    /// Estimate of the bandwidth that is available (nominal rate).
    nominal_rate = self.s.rate, number(Unit::SegmentsPerSecond);
    /// Largest RTT without a queue (nominal max RTT).
    nominal_max_rtt_s = self.s.max_rtt, number(Unit::Seconds);
    /// Running estimate of the smallest RTT.
    running_min_rtt_s = self.s.min_rtt, number(Unit::Seconds);
    /// Gain of rate and window (α).
    alpha = self.s.alpha, plain();
    /// Sensitivity to congestion signals.
    sensitivity = self.sensitivity(), plain();
}

impl Algorithm for C4 {
    fn on_ack(&mut self, ack: &Ack) {
        self.s.timed_out = None;
        self.measure(ack);
        if let Some(congestion) = self.congestion(ack) {
            self.on_congestion(congestion);
        }
        let era_ends = ack.delivery.map_or(ack.round_start, |d| d.prior_delivered >= self.s.era.delivered);
        if era_ends && self.s.delivered > self.s.era.delivered {
            self.end_era();
        }
        self.set_window(ack.acked);
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Lost(ref lost) => self.on_lost(lost),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Moderate { window } | Event::Keep { window } => self.s.w = self.s.w.min(window).max(1.0),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            losses: true,
            pacing: true,
            own_recovery: true,
            ecn: Ecn::L4s,
            unhosted: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn window(&self) -> f64 {
        self.s.timed_out.unwrap_or(self.s.w)
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        let s = &*self.s;
        if s.mode == Mode::Resuming {
            return Some(self.p.saved_window / self.p.saved_rtt);
        }
        let least = if s.mode == Mode::Initial { LEAST_RATE / s.segment_bytes } else { 0.0 };
        (s.rate > 0.0).then(|| (s.alpha * s.rate).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Flow, Path, alone};
    use crate::testing::{close, settings};

    fn c4() -> C4 {
        let mut c = C4::new(&settings(&C4::ENTRY, "", &[]).expect("it is right")).expect("it is right");
        c.on_event(&Event::Start(Start::default()));
        c
    }

    /// C4 in Cruising at a rate of `bytes` per second and an RTT of 100 ms.
    fn cruising(bytes: f64) -> C4 {
        let mut c = c4();
        let s = &mut *c.s;
        (s.mode, s.alpha, s.alpha_previous) = (Mode::Cruising, 1.0, 1.0);
        (s.rate, s.max_rtt, s.min_rtt) = (bytes / s.segment_bytes, 0.1, 0.1);
        c
    }

    #[test]
    fn the_sensitivity_has_the_published_corners() {
        for (bytes, value) in
            [(0.0, 0.0), (5e4, 0.0), (525e3, 0.46), (1e6, 0.92), (5.5e6, 0.96), (1e7, 1.0), (1e9, 1.0)]
        {
            close(1.0 + sensitivity(bytes), 1.0 + value, 1e-12);
        }
    }

    #[test]
    fn the_thresholds_follow_the_sensitivity() {
        let (slow, fast) = (cruising(1e4), cruising(1e8));
        // A quarter of the RTT and 25 ms are the bounds of a slow flow, a sixteenth is that of a fast one.
        close(slow.delay_threshold(), 0.025, 1e-12);
        close(fast.delay_threshold(), 0.1 / 16.0, 1e-12);
        close(slow.loss_threshold(), 0.52, 1e-12);
        close(fast.loss_threshold(), 0.02, 1e-12);
        close(slow.mark_threshold(), 6.0 / 32.0, 1e-12);
        close(fast.mark_threshold(), 3.0 / 32.0, 1e-12);
    }

    #[test]
    fn a_delay_takes_as_much_as_it_exceeds_and_at_most_a_quarter() {
        for (rtt, beta) in [(0.1 + 1.1 * 0.00625, 0.1), (0.2, 0.25)] {
            let mut c = cruising(1e8);
            let before = c.s.rate;
            c.on_ack(&Ack { now: 1.0, acked: 1.0, rtt: Some(rtt), ..Ack::default() });
            close(c.s.rate, (1.0 - beta) * before, 1e-9);
            assert_eq!(c.s.mode, Mode::Recovery);
        }
    }

    #[test]
    fn losses_count_above_a_rate_and_those_of_a_timer_do_not() {
        let mut c = cruising(1e8);
        let before = c.s.rate;
        c.on_event(&Event::Lost(Lost { by_timer: true, ..Lost::default() }));
        assert_eq!((c.s.rate, c.s.mode), (before, Mode::Cruising));
        c.on_event(&Event::Lost(Lost::default()));
        close(c.s.rate, 0.75 * before, 1e-12);
        // One loss in sixteen segments is no congestion for a slow flow.
        let mut c = cruising(1e4);
        c.on_event(&Event::Lost(Lost::default()));
        assert_eq!(c.s.mode, Mode::Cruising);
    }

    #[test]
    fn a_probe_or_a_push_that_is_too_much_costs_no_rate() {
        for mode in [Mode::Probing, Mode::Pushing] {
            let mut c = cruising(1e8);
            (c.s.mode, c.s.era.is_limited) = (mode, true);
            let before = c.s.rate;
            c.on_congestion(Congestion::Loss);
            assert_eq!((c.s.rate, c.s.mode), (before, Mode::Recovery));
            let gain = if mode == Mode::Pushing { 0.875 } else { 0.9375 };
            assert_eq!(c.s.alpha, gain, "only a push leaves a queue to drain");
        }
    }

    #[test]
    fn jitter_is_remembered_and_forgotten_by_an_eighth_each_era() {
        let mut c = cruising(1e8);
        (c.s.era.max_rtt, c.s.era.min_rtt) = (0.15, 0.1);
        c.update_rtts();
        assert_eq!((c.s.max_rtt, c.s.min_rtt), (0.15, 0.1));
        c.s.era.max_rtt = 0.1;
        c.update_rtts();
        close(c.s.max_rtt, (7.0 * 0.15 + 0.1) / 8.0, 1e-12);
        // At most 250 ms of jitter are the path's.
        c.s.era.max_rtt = 2.0;
        c.update_rtts();
        close(c.s.max_rtt, 0.35, 1e-12);
    }

    #[test]
    fn it_fills_a_path_with_a_short_queue_and_without_loss() {
        for (rate, base) in [(8333.0, 0.04), (833.0, 0.1), (40_000.0, 0.01)] {
            let got = alone(&mut c4(), &mut Path::new(rate, base, 4.0 * rate * base, 0.0), 30.0);
            assert!(got.utilization > 0.93, "{rate} {base}: {}", got.utilization);
            assert!(got.queue < 0.6 * rate * base, "{rate} {base}: {}", got.queue);
            assert!(got.loss < 1e-3, "{}", got.loss);
        }
    }

    #[test]
    fn one_percent_of_random_loss_is_no_congestion() {
        let got = alone(&mut c4(), &mut Path::new(833.0, 0.04, 100.0, 0.01), 60.0);
        assert!(got.utilization > 0.8, "{}", got.utilization);
    }

    #[test]
    fn two_flows_come_to_share_a_path() {
        let (mut a, mut b, mut path) = (c4(), c4(), Path::new(1666.0, 0.05, 400.0, 0.0));
        let mut flows = [Flow::new(&mut a, 0.0), Flow::new(&mut b, 5.0)];
        let mut early = [0.0; 2];
        path.run(&mut flows, 90.0, |path, flows| {
            if path.now < 50.0 {
                early = [flows[0].delivered, flows[1].delivered];
            }
        });
        let [first, second] = [flows[0].delivered - early[0], flows[1].delivered - early[1]];
        let share = second / (first + second);
        assert!((0.25..0.75).contains(&share), "{share}");
    }

    #[test]
    fn a_pause_of_the_application_keeps_the_rate() {
        let (mut c, mut path) = (c4(), Path::new(8333.0, 0.04, 1000.0, 0.0));
        alone(&mut c, &mut path, 10.0);
        let before = c.s.rate;
        for i in 0..50 {
            let ack = Ack { now: 10.0 + f64::from(i) * 0.04, acked: 1.0, rtt: Some(0.04), ..Ack::default() };
            c.on_ack(&Ack { round_start: true, ..ack });
        }
        assert!(c.s.rate >= 0.95 * before, "{} {before}", c.s.rate);
    }

    #[test]
    fn a_saved_window_is_used_for_two_eras() {
        let saved =
            [("saved_window", crate::param::Setting::Num(400.0)), ("saved_rtt", crate::param::Setting::Num(0.04))];
        let mut c = C4::new(&settings(&C4::ENTRY, "", &saved).expect("it is right")).expect("it is right");
        c.on_event(&Event::Start(Start::default()));
        assert_eq!((c.window(), c.pacing_rate()), (400.0, Some(10_000.0)));
        let got = alone(&mut c, &mut Path::new(8333.0, 0.04, 1000.0, 0.0), 1.0);
        assert!(got.utilization > 0.6, "{}", got.utilization);
        assert_ne!(c.s.mode, Mode::Resuming);
    }
}
