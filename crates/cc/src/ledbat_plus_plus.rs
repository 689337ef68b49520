//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT with changes suggested by experience with LEDBAT. LEDBAT++
//! measures the RTT, and its target is 60 ms. On paths with a short RTT the window grows more slowly than Reno's. Above
//! the target LEDBAT++ reduces the window by a fraction, not by a number of segments. At intervals LEDBAT++ reduces the
//! window to two segments, so that every flow measures the path without a queue.
//!
//! Variant: the draft's rules as they appear in implementations. The draft's text was not available, and rules that
//! only implementations show are marked unverified. The ramp after a slowdown is a slow start with the same gain as the
//! first slow start, but without the exit on delay. A loss halves the window. Neither a loss nor a timeout changes the
//! schedule of the slowdowns. ECN counts as a loss.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::delay_history::DelayHistory;
use crate::event::Event;
use crate::loss_window::window_getters;
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params};
use crate::plain_window::PlainWindow;
use crate::reports::Signal;

params! {
    /// Parameters of LEDBAT++.
    pub struct LedbatPlusPlusParams {
        /// Target queueing delay.
        target: f64 = num(0.06, 1e-4, 10.0, Unit::Seconds), "draft-irtf-iccrg-ledbat-plus-plus §4.5";
        /// Inverse of the smallest gain.
        gain_divisor_max: f64 = num(16.0, 1.0, 1e3, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.2";
        /// Gain C of the decrease above the target, which is w · C · (queueing delay / target − 1) a round trip.
        decrease: f64 = num(1.0, 0.0, 100.0, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.3 (Constant)";
        /// Largest fraction of the window given up in a round trip.
        decrease_max: f64 = num(0.5, 0.0, 1.0, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.3";
        /// Fraction of the target at which the first slow start ends.
        slow_start_exit: f64 = num(0.75, 0.01, 10.0, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.1";
        /// Window in a slowdown, and smallest window. In the draft a connection also starts with this window; here the
        /// endpoint's initial window applies.
        min_window: f64 = num(2.0, 1.0, 100.0, Unit::Segments), "draft-irtf-iccrg-ledbat-plus-plus §4.4";
        /// Round trips from the end of the first slow start to the first slowdown, and duration of a slowdown.
        slowdown_rtts: f64 = num(2.0, 0.0, 100.0, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.4";
        /// Time between two slowdowns, in units of the last slowdown's duration.
        slowdown_interval: f64 = num(9.0, 0.0, 1e3, Unit::None), "draft-irtf-iccrg-ledbat-plus-plus §4.4";
        /// Length of the minimum filter of the base delay.
        base_history: f64 = num(10.0, 1.0, 1e3, Unit::Minutes), "RFC 6817 §2.4.2";
        /// Number of samples in the minimum filter of the current delay.
        current_filter: f64 = num(4.0, 1.0, 1e3, Unit::None), "RFC 6817 §2.4.2 (unverified for LEDBAT++)";
    }
}

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first slow start.
    Start,
    Avoidance,
    /// A slowdown, with its start and its end, s.
    Hold {
        began: f64,
        until: f64,
    },
    /// Slow start up to the threshold, after a slowdown (with its start, s) or a timeout.
    Ramp {
        began: Option<f64>,
    },
}

impl Phase {
    const NAMES: &[&str] = &["initial_slow_start", "congestion_avoidance", "slowdown", "ramp_up"];

    /// Index of the phase's name.
    fn place(self) -> u8 {
        match self {
            Phase::Start => 0,
            Phase::Avoidance => 1,
            Phase::Hold { .. } => 2,
            Phase::Ramp { .. } => 3,
        }
    }
}

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    p: Box<LedbatPlusPlusParams>,
    win: PlainWindow,
    phase: Phase,
    next_slowdown: f64,
    delays: Box<DelayHistory>,
}

impl LedbatPlusPlus {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "ledbat++",
        title: "LEDBAT++",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "draft-irtf-iccrg-ledbat-plus-plus",
        doc: "LEDBAT++ is a background transport with a target queueing delay of 60 ms. Its increase is additive with \
              a gain that depends on the base RTT, and its decrease above the target is multiplicative. For about a \
              tenth of the time, LEDBAT++ slows down to two segments for two round trips, so that every flow measures \
              the true base RTT.",
        presets: &[Preset::new("", "draft-irtf-iccrg-ledbat-plus-plus", &[])],
        tables: &[LedbatPlusPlusParams::TABLE],
        variables: &[Self::VARIABLES, DelayHistory::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = LedbatPlusPlusParams::read(settings)?;
        Ok(Self {
            delays: Box::new(DelayHistory::new(p.base_history as usize, p.current_filter as usize)),
            p: Box::new(p),
            win: PlainWindow::NEW,
            phase: Phase::Start,
            next_slowdown: f64::INFINITY,
        })
    }

    /// Additive increase, segments a round trip: one on paths with a long base RTT, and one divided by
    /// `gain_divisor_max` on paths with the shortest base RTTs.
    fn gain(&self, base: f64) -> f64 {
        let divisor = (2.0 * self.p.target / base).ceil();
        1.0 / divisor.clamp(1.0, self.p.gain_divisor_max)
    }

    /// Change of the window in a round trip of congestion avoidance.
    fn per_round_trip(&self, gain: f64, queueing: f64) -> f64 {
        if queueing <= self.p.target {
            return gain;
        }
        let excess = queueing / self.p.target - 1.0;
        (gain - self.p.decrease * self.win.w * excess).max(-self.p.decrease_max * self.win.w)
    }

    fn advance(&mut self, ack: &Ack) {
        match self.phase {
            Phase::Avoidance if ack.now >= self.next_slowdown => {
                self.win.ssthresh = self.win.w.max(self.p.min_window);
                let until = ack.now + self.p.slowdown_rtts * ack.srtt;
                self.phase = Phase::Hold { began: ack.now, until };
                self.next_slowdown = f64::INFINITY;
            }
            Phase::Hold { began, until } if ack.now >= until => self.phase = Phase::Ramp { began: Some(began) },
            _ => {}
        }
    }

    /// Slow start with its growth multiplied by the gain; only the connection's first slow start ends by delay.
    fn slow_start(&mut self, ack: &Ack, gain: f64, queueing: f64) {
        let first = self.phase == Phase::Start;
        if first && queueing > self.p.slow_start_exit * self.p.target {
            self.win.ssthresh = self.win.w;
        } else if ack.window_limited {
            self.win.w = (self.win.w + gain * ack.acked).min(self.win.ssthresh.max(self.win.w));
        }
        if self.win.w < self.win.ssthresh {
            return;
        }
        if first {
            self.next_slowdown = ack.now + self.p.slowdown_rtts * ack.srtt;
        } else if let Phase::Ramp { began: Some(began) } = self.phase {
            self.next_slowdown = ack.now + self.p.slowdown_interval * (ack.now - began);
        }
        self.phase = Phase::Avoidance;
    }

    fn reduce(&mut self, signal: &Signal) {
        self.win.save(signal);
        self.win.ssthresh = (self.win.w / 2.0).max(self.p.min_window);
    }
}

observed! {
    self: LedbatPlusPlus, self.delays;
    /// Phase; only the first slow start ends by delay.
    phase = self.phase.place(), state(Phase::NAMES);
    /// Additive increase for each round trip (GAIN).
    gain = self.gain(self.delays.base()), number(Unit::Segments);
    /// Time of the next periodic slowdown; null while none is planned.
    next_slowdown_s = self.next_slowdown, number(Unit::Seconds);
}

impl LedbatPlusPlus {
    fn on_congestion(&mut self, signal: &Signal) {
        // In a slowdown the threshold is the window to which the ramp returns, so the loss halves the threshold.
        if let Phase::Hold { .. } | Phase::Ramp { began: Some(_) } = self.phase {
            self.win.save(signal);
            self.win.ssthresh = (self.win.ssthresh / 2.0).max(self.p.min_window);
            self.win.w = self.win.w.min(self.win.ssthresh);
            return;
        }
        self.reduce(signal);
        if self.phase == Phase::Start {
            self.next_slowdown = signal.now + self.p.slowdown_rtts * signal.srtt;
        }
        self.win.w = self.win.ssthresh.min(self.win.w);
        self.phase = Phase::Avoidance;
    }

    fn on_timeout(&mut self, signal: &Signal) {
        let ssthresh = self.win.ssthresh;
        self.reduce(signal);
        if signal.repeated {
            self.win.ssthresh = ssthresh;
        }
        if self.next_slowdown.is_infinite() {
            self.next_slowdown = signal.now + self.p.slowdown_rtts * signal.srtt;
        }
        self.win.w = 1.0;
        self.phase = Phase::Ramp { began: None };
    }
}

impl Algorithm for LedbatPlusPlus {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.delays.add(ack.now, rtt);
        if ack.in_recovery {
            return;
        }
        self.advance(ack);
        let (gain, queueing) = (self.gain(self.delays.base()), self.delays.queueing());
        match self.phase {
            Phase::Hold { .. } => self.win.w = self.win.w.min(self.p.min_window),
            Phase::Start | Phase::Ramp { .. } => self.slow_start(ack, gain, queueing),
            Phase::Avoidance => {
                let change = self.per_round_trip(gain, queueing) * (ack.acked / self.win.w).min(1.0);
                if change <= 0.0 || ack.window_limited {
                    self.win.w = (self.win.w + change).max(self.p.min_window.min(self.win.w));
                }
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.win.start(start, self.p.min_window),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.win.idle(),
            Event::Moderate { window } | Event::Keep { window } => {
                self.win.moderate(window);
            }
            Event::Undo { .. } => {
                self.win.undo();
            }
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    window_getters!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Flow, Path};
    use crate::testing::{Driver, close, settings};

    fn ledbat() -> LedbatPlusPlus {
        LedbatPlusPlus::new(&settings(&LedbatPlusPlus::ENTRY, "", &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn the_gain_has_the_published_values() {
        let l = ledbat();
        for (base_ms, divisor) in [(1.0, 16.0), (8.0, 15.0), (20.0, 6.0), (60.0, 2.0), (120.0, 1.0), (200.0, 1.0)] {
            close(l.gain(base_ms / 1000.0), 1.0 / divisor, 1e-12);
        }
    }

    #[test]
    fn the_change_in_a_round_trip_has_the_published_values() {
        let mut l = ledbat();
        l.win.w = 100.0;
        close(l.per_round_trip(1.0 / 6.0, 0.066), -9.833, 1e-3);
        close(l.per_round_trip(1.0 / 6.0, 0.6), -50.0, 1e-12);
        close(l.per_round_trip(1.0 / 6.0, 0.06), 1.0 / 6.0, 1e-12);
    }

    #[test]
    fn a_slowdown_holds_two_round_trips_and_the_next_comes_after_nine_times_its_length() {
        let (mut d, mut l) = (Driver::new(), ledbat());
        d.start_at(&mut l, 8.0);
        // At the threshold the first slow start ends with the first ACK; the first slowdown follows two round trips
        // later.
        d.ack(&mut l, 1.0, 0.2, 0.2);
        assert_eq!(l.phase, Phase::Avoidance);
        close(l.next_slowdown - d.now, 0.4, 1e-9);
        d.ack(&mut l, 1.0, 0.2, 0.4);
        let (began, threshold) = (d.now, l.ssthresh());
        assert_eq!(l.window(), 2.0);
        assert_eq!(threshold, 8.0);
        while l.phase != Phase::Avoidance {
            let gap = 0.2 / l.window();
            d.ack(&mut l, 1.0, 0.2, gap);
        }
        // Two round trips at two segments, then windows of 2, 3, ... 7 segments, each acknowledged in one round trip.
        let took = d.now - began;
        assert!((0.6..0.8).contains(&took), "{took}");
        close(l.next_slowdown - began, 10.0 * took, 1e-9);
        // The published example: five round trips, then forty-five.
        l.phase = Phase::Ramp { began: Some(0.0) };
        (l.win.w, l.win.ssthresh) = (8.0, 8.0);
        let ack = Ack { now: 5.0, ..d.make_ack(&l, 1.0, 1.0, false) };
        l.slow_start(&ack, 1.0, 0.0);
        close(l.next_slowdown, 50.0, 1e-12);
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let (mut d, mut l) = (Driver::new(), ledbat());
        d.start(&mut l, 2.0);
        d.ack(&mut l, 1.0, 0.12, 0.1);
        assert_eq!(l.window(), 3.0);
        for _ in 0..4 {
            d.ack(&mut l, 1.0, 0.164, 0.001);
        }
        assert_eq!(l.phase, Phase::Start);
        for _ in 0..4 {
            d.ack(&mut l, 1.0, 0.166, 0.001);
        }
        assert_eq!(l.phase, Phase::Avoidance);
    }

    #[test]
    fn a_loss_halves_and_two_segments_remain() {
        let (d, mut l) = (Driver::new(), ledbat());
        d.start_at(&mut l, 10.0);
        for expected in [5.0, 2.5, 2.0, 2.0] {
            d.lose(&mut l);
            assert_eq!((l.window(), l.ssthresh()), (expected, expected));
        }
    }

    #[test]
    fn it_keeps_the_queue_at_the_target_and_slows_down_a_tenth_of_the_time() {
        let mut path = Path::new(1000.0, 0.04, 1000.0, 0.0);
        let mut l = ledbat();
        let mut flows = [Flow::new(&mut l, 0.0)];
        path.run(&mut flows, 60.0, |_, _| {});
        let delivered = flows[0].delivered;
        let (mut most, mut least) = (0.0_f64, f64::INFINITY);
        path.run(&mut flows, 160.0, |path, _| {
            let delay = path.queue() / path.rate;
            most = most.max(delay);
            least = least.min(delay);
        });
        assert!((0.055..0.07).contains(&most), "{most}");
        assert!(least < 0.003, "{least}");
        let used = (flows[0].delivered - delivered) / 1e5;
        assert!(used > 0.9, "{used}");
    }

    #[test]
    fn a_late_starting_flow_takes_no_more_than_its_share() {
        let mut path = Path::new(1000.0, 0.04, 1000.0, 0.0);
        let (mut a, mut b) = (ledbat(), ledbat());
        let mut flows = [Flow::new(&mut a, 0.0), Flow::new(&mut b, 30.0)];
        path.run(&mut flows, 200.0, |_, _| {});
        let before = [flows[0].delivered, flows[1].delivered];
        path.run(&mut flows, 500.0, |_, _| {});
        let ratio = (flows[1].delivered - before[1]) / (flows[0].delivered - before[0]);
        assert!((0.6..1.7).contains(&ratio), "{ratio}");
    }
}
