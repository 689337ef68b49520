//! Control in steps: a stretch of a flow's life is summed up in numbers, and an action scales the window and the pace.
//!
//! Variant: none; this is the interface of controllers that learn. [`Steered`] is the algorithm of a flow that is
//! controlled from outside, and [`policy`](crate::policy) lets a network control it; both see the same numbers and act
//! alike, so what is learned in an environment can be run without it. The features are ratios, as in Orca (Abbasloo et
//! al., SIGCOMM 2020 §4.1) and Aurora (Jay et al., ICML 2019 §3), so that a controller need not know the units of a path.
//!
//! A step begins where the last one ended, and lasts for the smoothed RTT at its beginning, or for a fixed time. A step
//! without any ACK is as many of these as it takes for one to arrive, since there is nothing to decide on. The first step
//! begins with the first ACK.

use std::any::Any;

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::observe::Observe;
use crate::reports::Cause;

/// Number of features.
pub const FEATURES: usize = FEATURE_NAMES.len();

/// Names of the features, in their order. See [`Step::features`].
pub const FEATURE_NAMES: [&str; 10] =
    ["delay", "gradient", "loss", "marked", "delivery", "rate", "window", "min_rtt", "calm", "action"];

/// Number of measurements.
pub const MEASURES: usize = MEASURE_NAMES.len();

/// Names of the measurements, with their units. See [`Step::measures`].
pub const MEASURE_NAMES: [&str; 12] = [
    "time_s",
    "duration_s",
    "window_segments",
    "pacing_segments_per_s",
    "acked_segments",
    "lost_segments",
    "ecn_signals",
    "timeouts",
    "rtt_s",
    "min_rtt_s",
    "srtt_s",
    "in_flight_segments",
];

/// Components of an action: the change of the window, and of the pace beside it.
pub const ACTIONS: usize = 2;

/// Largest window, segments: the most that a sender has in flight.
pub const MOST: f64 = 268_435_456.0;

/// Exponent of [`MOST`].
const MOST_DOUBLINGS: f64 = 28.0;
/// RTTs from a microsecond on are told apart, over this number of powers of ten.
const DECADES: f64 = 8.0;
/// Number of steps without loss that counts as half calm.
const HALF_CALM: f64 = 8.0;

/// A finished step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Measurements: the end and the duration of the step, s; the window and the pace at its end (0 without pacing);
    /// segments delivered and found lost in it; signals of congestion by ECN; timeouts; the mean RTT (NaN without a
    /// sample), the smallest one of the connection and the smoothed one, s; segments in flight after the last ACK.
    pub measures: [f64; MEASURES],
    /// Features, each from 0 to 1 unless stated:
    /// * `delay`: 1 − smallest RTT / mean RTT: the queue's share of the RTT.
    /// * `gradient`: change of the mean RTT since the last step that had one, over the sum of both; −1 to 1.
    /// * `loss`: lost / (lost + delivered).
    /// * `marked`: 1 if ECN signaled congestion.
    /// * `delivery`: delivered / (delivered + window): one half if a window was delivered.
    /// * `rate`: delivery rate over the largest of any step so far.
    /// * `window`: log2(window) / 28.
    /// * `min_rtt`: log10(smallest RTT / 1 µs) / 8, where 0 and 1 stand for anything beyond 1 µs and 100 s.
    /// * `calm`: n / (n + 8) after n steps without loss.
    /// * `action`: change of the window by the last action; −1 to 1.
    pub features: [f64; FEATURES],
}

/// The state of a flow that is controlled in steps.
#[derive(Clone, Debug)]
pub struct Steering {
    /// Duration of a step, s; `None` if it is the smoothed RTT.
    fixed: Option<f64>,
    paces: bool,
    window: f64,
    pacing_rate: Option<f64>,
    initial_window: f64,
    /// Beginning of the step, and the number of its lengths until its end; `None` before the first ACK.
    step: Option<(f64, f64)>,
    /// Length of a step, s.
    length: f64,
    acked: f64,
    lost: f64,
    marks: f64,
    timeouts: f64,
    rtts: (f64, f64),
    last_rtt: Option<f64>,
    largest_rate: f64,
    calm: f64,
    last_action: f64,
    srtt: f64,
    min_rtt: f64,
    in_flight: f64,
}

impl Steering {
    /// Control in steps of `fixed` seconds, or of an RTT. With `paces`, segments leave at a pace.
    #[must_use]
    pub fn new(fixed: Option<f64>, paces: bool) -> Self {
        Self {
            fixed,
            paces,
            window: 1.0,
            pacing_rate: None,
            initial_window: 1.0,
            step: None,
            length: 0.0,
            acked: 0.0,
            lost: 0.0,
            marks: 0.0,
            timeouts: 0.0,
            rtts: (0.0, 0.0),
            last_rtt: None,
            largest_rate: 0.0,
            calm: 0.0,
            last_action: 0.0,
            srtt: 0.0,
            min_rtt: 0.0,
            in_flight: 0.0,
        }
    }

    /// Congestion window, segments.
    #[must_use]
    #[inline]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Pacing rate, segments/s.
    #[must_use]
    #[inline]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    /// The last action's change of the window.
    #[must_use]
    pub fn last_action(&self) -> f64 {
        self.last_action
    }

    /// Reports that the endpoint must make.
    #[must_use]
    pub fn needs(&self) -> Needs {
        Needs { losses: true, own_recovery: true, pacing: self.paces, every_rtt: true, ..Needs::default() }
    }

    /// Time at which the step ends, s; `None` before the first ACK.
    #[must_use]
    pub fn ends(&self) -> Option<f64> {
        self.step.map(|(begun, lengths)| begun + lengths * self.length)
    }

    /// Smoothed RTT, s; 0 before the first ACK.
    #[must_use]
    pub fn srtt(&self) -> f64 {
        self.srtt
    }

    /// True if the step has ended by `now`. A step without an ACK is extended.
    #[must_use]
    #[inline]
    pub fn is_over(&mut self, now: f64) -> bool {
        let Some((begun, lengths)) = self.step else { return false };
        let ends = |lengths: f64| begun + lengths * self.length;
        if now < ends(lengths) {
            return false;
        }
        if self.acked > 0.0 {
            return true;
        }
        // The quotient may be rounded by one, but the end must be the first after `now`.
        let mut more = lengths.max(((now - begun) / self.length).floor() + 1.0);
        if more - 1.0 > lengths && ends(more - 1.0) > now {
            more -= 1.0;
        } else if ends(more) <= now {
            more += 1.0;
        }
        self.step = Some((begun, more));
        false
    }

    /// Ends the step at `now`, and begins the next one.
    pub fn close(&mut self, now: f64) -> Step {
        let begun = self.step.map_or(now, |(begun, _)| begun);
        let duration = now - begun;
        let rtt = (self.rtts.1 > 0.0).then(|| self.rtts.0 / self.rtts.1);
        let rate = if duration > 0.0 { self.acked / duration } else { 0.0 };
        self.largest_rate = self.largest_rate.max(rate);
        self.calm = if self.lost > 0.0 { 0.0 } else { self.calm + 1.0 };
        let step = Step {
            measures: [
                now,
                duration,
                self.window,
                self.pacing_rate.unwrap_or(0.0),
                self.acked,
                self.lost,
                self.marks,
                self.timeouts,
                rtt.unwrap_or(f64::NAN),
                self.min_rtt,
                self.srtt,
                self.in_flight,
            ],
            features: self.features(rtt, rate),
        };
        self.last_rtt = rtt.or(self.last_rtt);
        (self.acked, self.lost, self.marks, self.timeouts, self.rtts) = (0.0, 0.0, 0.0, 0.0, (0.0, 0.0));
        if self.step.is_some() {
            self.begin(now);
        }
        step
    }

    fn features(&self, rtt: Option<f64>, rate: f64) -> [f64; FEATURES] {
        let share = |part: f64, rest: f64| if part > 0.0 { part / (part + rest) } else { 0.0 };
        let gradient = rtt.zip(self.last_rtt).map_or(0.0, |(now, last)| (now - last) / (now + last));
        let decades = if self.min_rtt > 0.0 { libm::log10(self.min_rtt * 1e6) / DECADES } else { 0.0 };
        [
            rtt.map_or(0.0, |rtt| (1.0 - self.min_rtt / rtt).max(0.0)),
            gradient,
            share(self.lost, self.acked),
            f64::from(self.marks > 0.0),
            share(self.acked, self.window),
            if self.largest_rate > 0.0 { rate / self.largest_rate } else { 0.0 },
            libm::log2(self.window) / MOST_DOUBLINGS,
            decades.clamp(0.0, 1.0),
            self.calm / (self.calm + HALF_CALM),
            self.last_action,
        ]
    }

    fn begin(&mut self, now: f64) {
        self.length = self.fixed.unwrap_or(self.srtt);
        self.step = Some((now, 1.0));
    }

    /// Applies an action. Its components are from −1 to 1: the window is multiplied by 2 to the power of the first, within 1
    /// and [`MOST`] segments, and the pace is a window in an RTT multiplied by 2 to the power of the second. A component that
    /// is not a number counts as 0.
    pub fn act(&mut self, action: [f64; ACTIONS]) {
        let action = action.map(|x| if x.is_nan() { 0.0 } else { x });
        self.window = (self.window * libm::exp2(action[0])).clamp(1.0, MOST);
        self.last_action = action[0];
        if self.paces && self.srtt > 0.0 {
            self.pacing_rate = Some(self.window / self.srtt * libm::exp2(action[1]));
        }
    }

    /// Counts an ACK.
    pub fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.in_flight = ack.in_flight;
        if ack.srtt > 0.0 {
            self.srtt = ack.srtt;
        }
        if let Some(rtt) = ack.rtt {
            self.rtts = (self.rtts.0 + rtt, self.rtts.1 + 1.0);
            self.min_rtt = ack.min_rtt;
        }
        if self.step.is_none() && self.srtt > 0.0 {
            self.begin(ack.now);
        }
    }

    /// Counts an event. A timeout restarts the window as RFC 5681 does, and so does an idle period.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.initial_window = start.initial_window.max(1.0);
                self.window = self.initial_window;
            }
            Event::Congestion(signal) if signal.cause == Cause::Ecn => self.marks += 1.0,
            Event::Timeout(signal) => {
                self.timeouts += 1.0;
                self.window = 1.0 + signal.kept;
            }
            Event::Idle { .. } => self.window = self.window.min(self.initial_window),
            Event::Moderate { window } => self.window = self.window.min(*window).max(1.0),
            Event::Lost(_) => self.lost += 1.0,
            _ => {}
        }
    }
}

/// Time of an event, s, if the event has one.
#[must_use]
pub fn time_of(event: &Event) -> Option<f64> {
    match event {
        Event::Congestion(signal) | Event::Timeout(signal) => Some(signal.now),
        Event::Idle { now, .. } | Event::RecoveryExit { now } | Event::Undo { now } => Some(*now),
        Event::Lost(lost) => Some(lost.now),
        _ => None,
    }
}

/// The algorithm of a flow that is controlled from outside. Between two calls of the endpoint, its owner ends the step
/// ([`Steering::close`] of [`Steered::steering`]) and chooses an action, which the next call applies.
#[derive(Clone, Debug)]
pub struct Steered {
    /// State of the control.
    pub steering: Steering,
    chosen: Option<[f64; ACTIONS]>,
}

impl Steered {
    /// See [`Steering::new`].
    #[must_use]
    pub fn new(fixed: Option<f64>, paces: bool) -> Self {
        Self { steering: Steering::new(fixed, paces), chosen: None }
    }

    /// Chooses an action. It is applied when the endpoint next reports an ACK or an event, because an algorithm can act
    /// only then; one that has not been applied yet is applied first.
    pub fn choose(&mut self, action: [f64; ACTIONS]) {
        self.apply();
        self.chosen = Some(action);
    }

    #[inline]
    fn apply(&mut self) {
        if let Some(action) = self.chosen.take() {
            self.steering.act(action);
        }
    }
}

impl Observe for Steered {}

impl Algorithm for Steered {
    fn on_ack(&mut self, ack: &Ack) {
        self.apply();
        self.steering.on_ack(ack);
    }

    fn on_event(&mut self, event: &Event) {
        if time_of(event).is_some() {
            self.apply();
        }
        self.steering.on_event(event);
    }

    fn window(&self) -> f64 {
        self.steering.window
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.steering.pacing_rate
    }

    fn needs(&self) -> Needs {
        self.steering.needs()
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::{Lost, Signal, Start};

    fn ack(now: f64, acked: f64, rtt: f64) -> Ack {
        Ack { now, acked, rtt: Some(rtt), min_rtt: 0.1, srtt: rtt, in_flight: 7.0, ..Ack::default() }
    }

    fn begun() -> Steering {
        let mut steering = Steering::new(None, true);
        steering.on_event(&Event::Start(Start::default()));
        steering.on_ack(&ack(1.0, 1.0, 0.1));
        steering
    }

    fn value(step: &Step, name: &str) -> f64 {
        let of = |names: &[&str], values: &[f64]| names.iter().position(|n| *n == name).map(|at| values[at]);
        of(&FEATURE_NAMES, &step.features).or(of(&MEASURE_NAMES, &step.measures)).expect("there is such a number")
    }

    #[test]
    fn a_step_lasts_for_an_rtt_from_the_first_ack_on() {
        let mut steering = begun();
        assert_eq!(steering.ends(), Some(1.1));
        assert!(!steering.is_over(1.09) && steering.is_over(1.1));
        let step = steering.close(1.1);
        assert_eq!((value(&step, "acked_segments"), value(&step, "window_segments")), (1.0, 10.0));
        assert_eq!(steering.ends(), Some(1.1 + 0.1));
    }

    #[test]
    fn a_step_without_an_ack_is_extended_by_whole_steps() {
        let mut steering = begun();
        steering.close(1.1);
        assert!(!steering.is_over(1.45), "no ACK has arrived");
        steering.on_ack(&ack(1.45, 2.0, 0.1));
        assert!(!steering.is_over(1.45) && steering.is_over(1.51));
    }

    #[test]
    fn features_are_ratios() {
        let mut steering = begun();
        steering.close(1.1);
        steering.on_ack(&ack(1.15, 10.0, 0.2));
        for _ in 0..10 {
            steering.on_event(&Event::Lost(Lost::default()));
        }
        let step = steering.close(1.2);
        let shown = ["delay", "loss", "delivery", "rate", "calm"].map(|name| value(&step, name));
        assert_eq!(shown, [0.5, 0.5, 0.5, 1.0, 0.0]);
        assert!((value(&step, "gradient") - 0.1 / 0.3).abs() < 1e-12);
        assert_eq!(value(&step, "min_rtt"), 5.0 / 8.0, "10^5 µs");
    }

    #[test]
    fn an_action_scales_the_window_and_the_pace() {
        let mut steering = begun();
        steering.act([1.0, -1.0]);
        assert_eq!((steering.window(), steering.pacing_rate()), (20.0, Some(100.0)));
        (0..40).for_each(|_| steering.act([1.0, 0.0]));
        assert_eq!(steering.window(), MOST);
        (0..40).for_each(|_| steering.act([-1.0, 0.0]));
        assert_eq!(steering.window(), 1.0);
    }

    #[test]
    fn a_chosen_action_waits_for_the_endpoint() {
        let mut steered = Steered::new(None, false);
        steered.on_event(&Event::Start(Start::default()));
        steered.choose([1.0, 0.0]);
        assert_eq!(steered.window(), 10.0);
        steered.on_ack(&ack(1.0, 1.0, 0.1));
        assert_eq!((steered.window(), steered.pacing_rate()), (20.0, None));
    }

    #[test]
    fn a_timeout_restarts_the_window() {
        let mut steering = begun();
        let signal = Signal {
            now: 2.0,
            in_flight: 5.0,
            cause: Cause::Loss,
            srtt: 0.1,
            min_rtt: 0.1,
            repeated: false,
            kept: 2.0,
        };
        steering.on_event(&Event::Timeout(signal));
        assert_eq!((steering.window(), value(&steering.close(2.1), "timeouts")), (3.0, 1.0));
    }
}
