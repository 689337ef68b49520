//! LEDBAT (RFC 6817, "Low extra delay background transport"): the window moves in proportion to the distance of the
//! one-way queueing delay from a target, so that the flow uses the capacity that other flows leave and adds no more
//! delay than the target.
//!
//! Variant: the RFC's pseudocode with its largest target and gain, and without slow start, which the RFC allows but the
//! pseudocode does not show. ECN counts as a loss. Without one-way delays LEDBAT uses the RTT.
//!
//! Preset `libutp` is BitTorrent's. It grows the window by at most 3,000 bytes a round trip, keeps thirteen minutes of
//! base delays and filters three samples. Its slow start adds one segment a round trip and ends at 0.9 of the target,
//! and a delay sample is never above the RTT. Two of its rules are not modelled: the penalty for clocks that drift by
//! more than 40 ms a second, and the growth for another second after the flow stops filling the window, which here
//! stops at once.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::delay_history::DelayHistory;
use crate::event::Event;
use crate::loss_window::window_getters;
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::plain_window::PlainWindow;
use crate::reports::{Signal, Start};

choices! {
    /// Growth at the start of a connection:
    /// * `none`: growth in proportion to the distance from the target, as in congestion avoidance.
    /// * `reno`: doubling every round trip, until the threshold or the first loss.
    /// * `libutp`: one segment a round trip, or more if the target allows more, until `slow_start_exit`.
    pub enum Beginning { None = "none", Reno = "reno", Libutp = "libutp" }
}

params! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams {
        /// Target queueing delay.
        target: f64 = num(0.1, 1e-4, 10.0, Unit::Seconds), "RFC 6817 §2.4.2 (at most 100 ms); libutp";
        /// Growth of the window in a round trip without a queue.
        gain: f64 = num(1.0, 1e-3, 100.0, Unit::Segments), "RFC 6817 §2.4.2 (at most 1)";
        /// Growth of the window in a round trip without a queue, in bytes; if it is 0, `gain` applies.
        gain_bytes: f64 = num(0.0, 0.0, 1e6, Unit::Bytes), "libutp has 3000";
        /// Largest excess of the window over the flight size.
        allowed_increase: f64 = num(1.0, 0.0, 1e9, Unit::Segments), "RFC 6817 §2.4.2; libutp has no such bound";
        /// Smallest window.
        min_window: f64 = num(2.0, 1.0, 100.0, Unit::Segments), "RFC 6817 §2.4.2";
        /// Length of the minimum filter of the base delay.
        base_history: f64 = num(10.0, 1.0, 1e3, Unit::Minutes), "RFC 6817 §2.4.2; libutp has 13";
        /// Number of samples in the minimum filter of the current delay.
        current_filter: f64 = num(4.0, 1.0, 1e3, Unit::None), "RFC 6817 §2.4.2 (at least 4); libutp has 3";
        /// Growth at the start of a connection.
        slow_start: Beginning = choice("none", Beginning::WORDS), "RFC 6817 §2.4.2 (none shown, one allowed); libutp";
        /// Fraction of the target at which libutp's slow start ends.
        slow_start_exit: f64 = num(0.9, 0.01, 10.0, Unit::None), "libutp";
        /// Limit a delay sample to the RTT.
        bound_by_rtt: bool = flag(false), "libutp";
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    p: Box<LedbatParams>,
    win: PlainWindow,
    gain: f64,
    slow_starting: bool,
    delays: Box<DelayHistory>,
}

impl Ledbat {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "ledbat",
        title: "LEDBAT",
        kind: Kind::Delay,
        signals: &["one-way delay", "loss"],
        source: "RFC 6817",
        doc: "LEDBAT steers the queueing delay of the forward path to a target of 100 ms. Below the target the window \
              grows by up to one segment a round trip; above the target it shrinks in proportion to the excess. LEDBAT \
              starves if another flow fills the queue further. The default is the RFC's pseudocode, without a slow \
              start.",
        presets: &[
            Preset::new("", "RFC 6817, target 100 ms, gain 1", &[]),
            Preset::new(
                "libutp",
                "BitTorrent's libutp",
                &[
                    value("gain_bytes", 3000.0),
                    value("allowed_increase", 1e9),
                    value("base_history", 13.0),
                    value("current_filter", 3.0),
                    word("slow_start", "libutp"),
                    value("min_window", 1.0),
                    switch("bound_by_rtt", true),
                ],
            ),
        ],
        tables: &[LedbatParams::TABLE],
        variables: &[Self::VARIABLES, DelayHistory::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = LedbatParams::read(settings)?;
        Ok(Self {
            delays: Box::new(DelayHistory::new(p.base_history as usize, p.current_filter as usize)),
            p: Box::new(p),
            win: PlainWindow::NEW,
            gain: p.gain,
            slow_starting: false,
        })
    }

    fn queueing(&self, ack: &Ack) -> f64 {
        let queueing = self.delays.queueing();
        match ack.rtt {
            Some(rtt) if self.p.bound_by_rtt => queueing.min(rtt),
            _ => queueing,
        }
    }

    /// Distance from the target, in units of the target, at most 1.
    fn off_target(&self, queueing: f64) -> f64 {
        ((self.p.target - queueing) / self.p.target).min(1.0)
    }

    fn slow_start(&mut self, ack: &Ack, queueing: f64, allowed: f64) -> f64 {
        let step = match self.p.slow_start {
            Beginning::Reno => ack.acked,
            Beginning::Libutp => (ack.acked / self.win.w).min(1.0),
            Beginning::None => 0.0,
        };
        let full = self.p.slow_start == Beginning::Libutp && queueing > self.p.slow_start_exit * self.p.target;
        if full || self.win.w + step > self.win.ssthresh {
            self.slow_starting = false;
            if full {
                self.win.ssthresh = self.win.w;
            }
            return 0.0;
        }
        step.max(allowed)
    }

    fn reduce(&mut self, signal: &Signal) {
        self.win.save(signal);
        self.win.ssthresh = (self.win.w / 2.0).max(self.p.min_window).min(self.win.w);
        self.slow_starting = false;
    }
}

observed! {
    self: Ledbat, self.delays;
    /// Distance from the target, in units of the target.
    off_target = self.off_target(self.delays.queueing()), plain();
    /// 1 during slow start.
    slow_starting = self.slow_starting, plain();
}

impl Ledbat {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start, self.p.min_window);
        self.slow_starting = self.p.slow_start != Beginning::None && self.win.w < self.win.ssthresh;
        if self.p.gain_bytes > 0.0 {
            self.gain = self.p.gain_bytes / start.segment_bytes;
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.reduce(signal);
        self.win.w = self.win.ssthresh;
    }

    fn on_timeout(&mut self, signal: &Signal) {
        let ssthresh = self.win.ssthresh;
        self.reduce(signal);
        if signal.repeated {
            self.win.ssthresh = ssthresh;
        }
        self.win.w = 1.0;
        self.slow_starting = self.p.slow_start != Beginning::None;
    }
}

impl Algorithm for Ledbat {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.owd.or(ack.rtt) {
            self.delays.add(ack.now, delay);
        }
        if ack.in_recovery {
            return;
        }
        let queueing = self.queueing(ack);
        // libutp counts at most one window for each ACK: an ACK for more segments includes segments that were sent
        // before the window shrank.
        let mut step = self.gain * self.off_target(queueing) * (ack.acked / self.win.w).min(1.0);
        if self.slow_starting {
            step = self.slow_start(ack, queueing, step);
        }
        let mut floor = self.p.min_window;
        if !ack.window_limited {
            step = step.min(0.0);
            floor = floor.min(self.win.w);
        }
        let most = ack.in_flight + ack.acked + self.p.allowed_increase;
        self.win.w = (self.win.w + step).min(most).max(floor);
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
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
        Needs { one_way_delay: true, ..Needs::default() }
    }

    window_getters!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Setting;
    use crate::path::{Flow, Path};
    use crate::reno::Reno;
    use crate::testing::{Driver, close, settings};

    fn ledbat(preset: &str, values: &[(&str, Setting)]) -> Ledbat {
        Ledbat::new(&settings(&Ledbat::ENTRY, preset, values).expect("it is right")).expect("it is right")
    }

    /// Change of a window of ten segments by one ACK at this queueing delay, s.
    fn step(l: &mut Ledbat, queueing: f64) -> f64 {
        let mut d = Driver::new();
        d.start_at(l, 10.0);
        for _ in 0..4 {
            l.delays.add(0.0, 0.2);
        }
        for _ in 0..4 {
            l.delays.add(1.0, 0.2 + queueing);
        }
        let ack = d.make_ack(l, 1.0, 0.3, false);
        l.on_ack(&Ack { owd: Some(0.2 + queueing), ..ack });
        l.window() - 10.0
    }

    #[test]
    fn the_steps_have_the_published_values() {
        for (queueing, expected) in [(0.05, 0.05), (0.15, -0.05), (0.0, 0.1)] {
            let got = step(&mut ledbat("", &[]), queueing);
            assert!((got - expected).abs() < 1e-9, "{queueing}: {got}");
        }
    }

    #[test]
    fn the_window_stays_within_one_segment_of_what_is_in_flight() {
        let (mut d, mut l) = (Driver::new(), ledbat("", &[]));
        d.start_at(&mut l, 100.0);
        let ack = d.make_ack(&l, 1.0, 0.1, false);
        l.on_ack(&Ack { in_flight: 49.0, ..ack });
        assert_eq!(l.window(), 51.0);
    }

    #[test]
    fn a_loss_halves_and_two_segments_remain() {
        let (d, mut l) = (Driver::new(), ledbat("", &[]));
        d.start_at(&mut l, 10.0);
        for expected in [5.0, 2.5, 2.0, 2.0] {
            d.lose(&mut l);
            assert_eq!(l.window(), expected);
        }
        d.time_out(&mut l);
        assert_eq!(l.window(), 1.0);
    }

    #[test]
    fn libutp_grows_by_3000_bytes_a_round_trip_and_leaves_slow_start_at_nine_tenths() {
        let mut l = ledbat("libutp", &[("slow_start", Setting::Text("none"))]);
        let mut d = Driver::new();
        d.start(&mut l, 10.0);
        d.round(&mut l, 0.1);
        close(l.window(), 12.0, 0.02);
        let mut l = ledbat("libutp", &[]);
        d.start(&mut l, 10.0);
        for queueing in [0.0, 0.0, 0.0, 0.089] {
            d.ack(&mut l, 1.0, 0.2 + 2.0 * queueing, 0.01);
            assert!(l.slow_starting);
        }
        for _ in 0..3 {
            d.ack(&mut l, 1.0, 0.2 + 2.0 * 0.091, 0.01);
        }
        assert!(!l.slow_starting && l.ssthresh().is_finite());
    }

    #[test]
    fn reno_slow_start_is_there_for_who_wants_it() {
        let (mut d, mut l) = (Driver::new(), ledbat("", &[("slow_start", Setting::Text("reno"))]));
        d.start(&mut l, 10.0);
        d.round(&mut l, 0.1);
        assert_eq!(l.window(), 20.0);
    }

    #[test]
    fn it_holds_its_target() {
        let mut path = Path::new(1000.0, 0.04, 1000.0, 0.0);
        let mut l = ledbat("", &[]);
        let mut flows = [Flow::new(&mut l, 0.0)];
        path.run(&mut flows, 60.0, |_, _| {});
        let (mut sum, mut n) = (0.0, 0.0);
        path.run(&mut flows, 80.0, |path, _| {
            sum += path.queue() / path.rate;
            n += 1.0;
        });
        close(sum / n, 0.1, 0.05);
    }

    #[test]
    fn it_yields_to_reno() {
        let mut path = Path::new(1000.0, 0.04, 250.0, 0.0);
        let mut l = ledbat("", &[]);
        let mut r = Reno::new(&settings(&Reno::ENTRY, "", &[]).expect("it is right")).expect("it is right");
        let mut flows = [Flow::new(&mut l, 0.0), Flow::new(&mut r, 20.0)];
        path.run(&mut flows, 40.0, |_, _| {});
        let before = [flows[0].delivered, flows[1].delivered];
        path.run(&mut flows, 100.0, |_, _| {});
        let [ledbat, reno] = [flows[0].delivered - before[0], flows[1].delivered - before[1]];
        assert!(ledbat < 0.1 * reno, "{ledbat} {reno}");
    }
}
