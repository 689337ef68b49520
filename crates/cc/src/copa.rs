//! Copa (Arun V, Balakrishnan H, "Copa: practical delay-based congestion control for the internet", NSDI 2018). The
//! sending rate is steered to 1/(δ dq), with dq the queueing delay, in steps that grow while the direction stays the
//! same. In equilibrium a flow has 1/δ segments in the queue, and the oscillation of the rate empties it about every
//! five round trips. If it does not empty, other flows fill it, and δ then follows losses.
//!
//! Variant: the paper's rules, as the authors' sender and other implementations state them. The paper's text was not
//! available, so its parameters are marked unverified. The velocity is bounded at every step so that a round trip at
//! most doubles the window, as in the authors' sender.
//!
//! Preset `mvfst` is Meta's: δ = 0.05, the latest RTT for the queueing delay, no competitive mode, and a slow start
//! that doubles the window at once every round trip. The unbounded velocity of mvfst and its pacing over the smoothed
//! RTT are left out.
//!
//! Not modelled: the slowdown of the authors' later senders at more than 30 % of loss. On slow links a flow has a few
//! dozen segments of its own in the pipe, so several flows in phase with each other may not see the queue empty, and
//! enter competitive mode.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::observe::{observed, states};
use crate::param::{
    BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::reports::{Signal, Start};
use crate::windowed::{WindowedMax, WindowedMin};

choices! {
    /// RTT from which the queueing delay is computed:
    /// * `standing`: the standing RTT, which is the smallest of the last half round trip.
    /// * `latest`: the latest RTT sample.
    pub enum QueueingRtt { Standing = "standing", Latest = "latest" }
}

params! {
    /// Parameters of Copa.
    pub struct CopaParams {
        /// Inverse of the number of segments that a flow keeps in the queue (δ).
        delta: f64 = num(0.5, 1e-4, 100.0, Unit::PerSegment), "Arun & Balakrishnan 2018 (unverified); mvfst has 0.05";
        /// RTT from which the queueing delay is computed.
        queueing_rtt: QueueingRtt = choice("standing", QueueingRtt::WORDS), "Arun & Balakrishnan 2018; mvfst: latest";
        /// Length of the minimum filter of the RTT, whose result is the base RTT.
        min_rtt_window: f64 = num(10.0, 0.1, 1e4, Unit::Seconds), "Arun & Balakrishnan 2018; mvfst";
        /// Length of the minimum filter of the standing RTT, in smoothed RTTs.
        standing_rtts: f64 = num(0.5, 0.01, 10.0, Unit::None), "Arun & Balakrishnan 2018; mvfst";
        /// Round trips in the same direction after which the velocity doubles.
        same_direction: f64 = num(3.0, 1.0, 100.0, Unit::None), "Arun & Balakrishnan 2018; mvfst";
        /// Switch to competitive mode against flows that fill the queue.
        competitive: bool = flag(true), "Arun & Balakrishnan 2018; mvfst: no";
        /// Fraction of the largest queueing delay of four round trips below which the queue counts as nearly empty.
        nearly_empty: f64 = num(0.1, 0.0, 1.0, Unit::None), "Arun & Balakrishnan 2018";
        /// Round trips without a nearly empty queue after which competitive mode begins.
        patience: f64 = num(5.0, 1.0, 1e3, Unit::None), "Arun & Balakrishnan 2018 (unverified)";
        /// Reset the velocity at once when the direction changes, and not at the next round trip.
        turn_at_once: bool = flag(true), "mvfst; similar in the authors' sender; Arun & Balakrishnan 2018 (unverified)";
        /// Double the window in one step every round trip of slow start, and not by one segment for each segment
        /// acknowledged.
        double_at_once: bool = flag(false), "mvfst; the authors' sender: no";
        /// Pacing rate, in windows per standing RTT.
        pacing_gain: f64 = num(2.0, 1.0, 100.0, Unit::None), "Arun & Balakrishnan 2018; mvfst";
        /// Smallest window.
        min_window: f64 = num(2.0, 1.0, 100.0, Unit::Segments), "the authors' sender; mvfst";
    }
}

/// Round trips over which the range of the queueing delay is measured.
const RANGE_RTTS: f64 = 4.0;

states! {
    /// Source of the δ in use.
    enum Mode {
        /// The value of the parameter `delta`.
        Default = "default",
        /// A δ that follows losses, against flows that fill the queue.
        Competitive = "competitive",
    }
}

#[derive(Clone, Debug)]
struct State {
    rtt_min: WindowedMin,
    rtt_standing: WindowedMin,
    rtt_max: WindowedMax,
    rtt_least: WindowedMin,
    delta: f64,
    velocity: f64,
    upward: bool,
    same_direction: f64,
    tested_at: f64,
    tested_window: f64,
    doubled_at: f64,
    emptied_at: f64,
    competing: bool,
    delta_changed_at: f64,
    delta_doubled_at: f64,
    seen_rtt: bool,
    srtt: f64,
}

impl State {
    fn mode(&self) -> Mode {
        if self.competing { Mode::Competitive } else { Mode::Default }
    }
}

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    p: Box<CopaParams>,
    w: f64,
    initial_window: f64,
    slow_starting: bool,
    standing: f64,
    s: Box<State>,
}

impl Copa {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "copa",
        title: "Copa",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "Arun & Balakrishnan, NSDI 2018",
        doc: "Copa moves its rate towards the inverse of the queueing delay, in steps that grow while the direction \
              stays the same. Each flow keeps about two segments in the queue, and the queue empties regularly. If the \
              queue does not empty, other flows fill it, and Copa becomes as aggressive as losses allow.",
        presets: &[
            Preset::new("", "NSDI 2018, delta 0.5", &[]),
            Preset::new(
                "mvfst",
                "Meta's mvfst, delta 0.05",
                &[
                    value("delta", 0.05),
                    word("queueing_rtt", "latest"),
                    switch("competitive", false),
                    switch("double_at_once", true),
                ],
            ),
        ],
        tables: &[CopaParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = CopaParams::read(settings)?;
        let s = State {
            rtt_min: WindowedMin::new(),
            rtt_standing: WindowedMin::new(),
            rtt_max: WindowedMax::new(0.0, 0.0),
            rtt_least: WindowedMin::new(),
            delta: p.delta,
            velocity: 1.0,
            upward: true,
            same_direction: 0.0,
            tested_at: 0.0,
            tested_window: 0.0,
            doubled_at: 0.0,
            emptied_at: 0.0,
            competing: false,
            delta_changed_at: 0.0,
            delta_doubled_at: f64::NEG_INFINITY,
            seen_rtt: false,
            srtt: 0.0,
        };
        let (w, initial_window) = (1.0, 1.0);
        Ok(Self { p: Box::new(p), w, initial_window, slow_starting: true, standing: 0.0, s: Box::new(s) })
    }

    /// Target rate, segments/s; infinite without a queue.
    fn target_rate(&self, queueing: f64) -> f64 {
        1.0 / (self.s.delta * queueing)
    }

    /// Change of the window for each segment acknowledged.
    fn step(&self) -> f64 {
        let velocity = self.s.velocity.min(self.w * self.s.delta).max(1.0);
        velocity / (self.s.delta * self.w)
    }

    /// True if the queue is nearly empty, by the smallest and the largest RTT of the last four round trips and the base
    /// RTT.
    fn is_nearly_empty(&self, least: f64, rtt_min: f64, rtt_max: f64) -> bool {
        least < rtt_min + self.p.nearly_empty * (rtt_max - rtt_min)
    }

    /// Updates direction and velocity, once a round trip.
    fn test_direction(&mut self, now: f64) {
        let s = &mut *self.s;
        if now - s.tested_at < s.srtt {
            return;
        }
        let upward = self.w > s.tested_window;
        if upward == s.upward {
            s.same_direction += 1.0;
            if s.same_direction >= self.p.same_direction {
                s.velocity *= 2.0;
            }
        } else {
            (s.velocity, s.same_direction, s.upward) = (1.0, 0.0, upward);
        }
        (s.tested_at, s.tested_window) = (now, self.w);
        s.velocity = s.velocity.min(self.w * s.delta).max(1.0);
    }

    /// Changes direction, and resets the velocity gained in the opposite direction.
    fn turn(&mut self, upward: bool, now: f64) {
        let s = &mut *self.s;
        if s.upward != upward && s.velocity > 1.0 {
            (s.velocity, s.same_direction, s.upward) = (1.0, 0.0, upward);
            (s.tested_at, s.tested_window) = (now, self.w);
        }
    }

    /// Chooses the mode and the mode's δ. The mode is competitive if other flows keep the queue from emptying.
    fn choose_mode(&mut self, now: f64, rtt: f64, rtt_min: f64) {
        let srtt = self.s.srtt;
        let rtt_max = self.s.rtt_max.update(rtt, now, RANGE_RTTS * srtt);
        let least = self.s.rtt_least.update(rtt, now, RANGE_RTTS * srtt);
        // If all RTTs are equal, there is no queue.
        if rtt_max <= rtt_min || self.is_nearly_empty(least, rtt_min, rtt_max) {
            self.s.emptied_at = now;
        }
        let s = &mut *self.s;
        let competing = now - s.emptied_at > self.p.patience * srtt;
        if competing != s.competing {
            (s.competing, s.delta, s.delta_changed_at) = (competing, self.p.delta, now);
        } else if competing && now - s.delta_changed_at >= srtt {
            s.delta = 1.0 / (1.0 / s.delta + 1.0);
            s.delta_changed_at = now;
        }
    }

    fn lose_while_competing(&mut self, now: f64) {
        let s = &mut *self.s;
        if s.competing && now - s.delta_doubled_at >= s.srtt {
            s.delta = (2.0 * s.delta).min(self.p.delta);
            (s.delta_doubled_at, s.delta_changed_at) = (now, now);
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        if !self.p.double_at_once {
            self.w += ack.acked;
        } else if ack.now - self.s.doubled_at > self.s.srtt {
            self.w *= 2.0;
            self.s.doubled_at = ack.now;
        }
    }

    fn steer(&mut self, ack: &Ack, queueing: f64) {
        let upward = self.w / self.standing <= self.target_rate(queueing);
        if upward && self.slow_starting {
            if ack.window_limited {
                self.slow_start(ack);
            }
            (self.s.tested_at, self.s.tested_window) = (ack.now, self.w);
            return;
        }
        self.slow_starting = false;
        self.test_direction(ack.now);
        if self.p.turn_at_once {
            self.turn(upward, ack.now);
        }
        let change = self.step() * ack.acked;
        if !upward {
            self.w = (self.w - change).max(self.p.min_window.min(self.w));
        } else if ack.window_limited {
            self.w += change;
        }
    }
}

observed! {
    self: Copa;
    /// Mode: the configured δ, or one that follows losses.
    mode = self.s.mode(), state(Mode::NAMES);
    /// Inverse of the segments kept in the queue (δ).
    delta = self.s.delta, number(Unit::PerSegment);
    /// Velocity.
    velocity = self.s.velocity, plain();
    /// 1 while the direction of the window is upward.
    upward = self.s.upward, plain();
    /// Standing RTT; 0 before the first sample.
    standing_s = self.standing, number(Unit::Seconds);
    /// Smallest RTT of `min_rtt_window`.
    rtt_min_s = self.s.rtt_min.get(), number(Unit::Seconds);
    /// 1 during slow start.
    slow_starting = self.slow_starting, plain();
}

impl Copa {
    fn on_start(&mut self, start: &Start) {
        self.w = start.initial_window.max(1.0);
        self.initial_window = self.w;
        self.s.tested_window = self.w;
        (self.s.tested_at, self.s.doubled_at, self.s.emptied_at) = (start.now, start.now, start.now);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.lose_while_competing(signal.now);
        self.w = self.w.min(self.p.min_window);
        (self.s.velocity, self.s.same_direction) = (1.0, 0.0);
    }

    fn on_idle(&mut self, now: f64) {
        self.w = self.w.min(self.initial_window);
        self.s.rtt_standing = WindowedMin::new();
        (self.s.velocity, self.s.same_direction) = (1.0, 0.0);
        (self.s.tested_at, self.s.tested_window, self.s.emptied_at) = (now, self.w, now);
    }
}

impl Algorithm for Copa {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if !self.s.seen_rtt {
            self.s.seen_rtt = true;
            self.s.rtt_max = WindowedMax::new(rtt, ack.now);
        }
        self.s.srtt = ack.srtt;
        let rtt_min = self.s.rtt_min.update(rtt, ack.now, self.p.min_rtt_window);
        self.standing = self.s.rtt_standing.update(rtt, ack.now, self.p.standing_rtts * ack.srtt);
        if self.p.competitive {
            self.choose_mode(ack.now, rtt, rtt_min);
        }
        let queueing = match self.p.queueing_rtt {
            QueueingRtt::Standing => self.standing - rtt_min,
            QueueingRtt::Latest => rtt - rtt_min,
        };
        self.steer(ack, queueing.max(0.0));
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.lose_while_competing(signal.now),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { now, .. } => self.on_idle(now),
            Event::Lost(ref lost) => self.lose_while_competing(lost.now),
            Event::Moderate { window } | Event::Keep { window } => self.w = self.w.min(window).max(1.0),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { losses: self.p.competitive, pacing: true, own_recovery: true, ..Needs::default() }
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
        (self.standing > 0.0).then(|| self.p.pacing_gain * self.w / self.standing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Flow, Path, alone};
    use crate::reno::Reno;
    use crate::reports::Lost;
    use crate::testing::{Driver, close, settings};

    fn copa(preset: &str) -> Copa {
        Copa::new(&settings(&Copa::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn target_and_step_have_the_published_values() {
        let mut c = copa("");
        close(c.target_rate(0.005), 400.0, 1e-12);
        close(c.target_rate(0.005) * 0.055, 22.0, 1e-12);
        assert!(c.target_rate(0.0).is_infinite());
        c.w = 22.0;
        close(c.step(), 0.0909, 1e-3);
        assert_eq!(copa("mvfst").s.delta, 0.05);
    }

    #[test]
    fn competing_it_grows_by_one_a_round_trip_and_halves_on_a_loss() {
        let mut c = copa("");
        (c.s.srtt, c.s.emptied_at) = (0.1, 0.0);
        c.s.rtt_max = WindowedMax::new(0.2, 1.0);
        c.s.rtt_least.update(0.15, 1.0, 1.0);
        c.choose_mode(1.0, 0.2, 0.1);
        assert!(c.s.competing);
        assert_eq!(c.s.delta, 0.5);
        for (now, inverse) in [(1.11, 3.0), (1.22, 4.0)] {
            c.choose_mode(now, 0.2, 0.1);
            close(c.s.delta, 1.0 / inverse, 1e-12);
        }
        c.on_event(&Event::Lost(Lost { now: 1.25, ..Lost::default() }));
        close(c.s.delta, 0.5, 1e-12);
        // δ never exceeds the default, and changes once a round trip.
        c.s.delta = 0.1;
        c.on_event(&Event::Lost(Lost { now: 1.3, ..Lost::default() }));
        assert_eq!(c.s.delta, 0.1);
        for (now, delta) in [(1.36, 0.2), (1.5, 0.4), (1.7, 0.5)] {
            c.on_event(&Event::Lost(Lost { now, ..Lost::default() }));
            close(c.s.delta, delta, 1e-12);
        }
    }

    #[test]
    fn the_queue_is_nearly_empty_below_a_tenth_of_its_range() {
        let c = copa("");
        assert!(c.is_nearly_empty(0.052, 0.05, 0.08));
        assert!(!c.is_nearly_empty(0.0531, 0.05, 0.08));
    }

    #[test]
    fn the_velocity_doubles_from_the_third_round_trip_in_one_direction() {
        let mut c = copa("");
        (c.w, c.s.srtt, c.s.tested_window, c.s.upward) = (1000.0, 0.1, 1000.0, false);
        let mut seen = Vec::new();
        for round in 1..=6 {
            c.w += 10.0;
            c.test_direction(f64::from(round) * 0.1 + 1e-9 * f64::from(round));
            seen.push(c.s.velocity);
        }
        assert_eq!(seen, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
        c.turn(false, 0.7);
        assert_eq!((c.s.velocity, c.s.upward), (1.0, false));
        // A round trip at most doubles the window.
        (c.w, c.s.velocity, c.s.same_direction, c.s.tested_window) = (10.0, 64.0, 9.0, 11.0);
        c.test_direction(10.0);
        assert_eq!(c.s.velocity, 5.0);
    }

    #[test]
    fn slow_start_doubles_until_the_rate_is_above_the_target() {
        for preset in ["", "mvfst"] {
            let (mut d, mut c) = (Driver::new(), copa(preset));
            d.start(&mut c, 10.0);
            for _ in 0..4 {
                d.round(&mut c, 0.1);
            }
            assert!(c.slow_starting && (80.0..=160.0).contains(&c.window()), "{}", c.window());
            d.now += 1.0;
            let w = c.window();
            for _ in 0..3 {
                d.ack(&mut c, 1.0, 0.4, 0.001);
            }
            assert!(!c.slow_starting && c.window() < w);
        }
    }

    #[test]
    fn alone_it_keeps_two_or_three_segments_in_the_queue() {
        let (mut c, mut path) = (copa(""), Path::new(2000.0, 0.05, 1000.0, 0.0));
        let got = alone(&mut c, &mut path, 40.0);
        assert!(got.utilization > 0.95, "{}", got.utilization);
        assert!((1.0..4.0).contains(&got.queue), "{}", got.queue);
    }

    #[test]
    fn flows_share_and_together_keep_a_short_queue() {
        let mut path = Path::new(8333.0, 0.05, 1000.0, 0.0);
        let mut all: Vec<Copa> = (0..4).map(|_| copa("")).collect();
        let mut flows: Vec<Flow<'_>> = all.iter_mut().enumerate().map(|(i, c)| Flow::new(c, 2.0 * i as f64)).collect();
        path.run(&mut flows, 40.0, |_, _| {});
        let before: Vec<f64> = flows.iter().map(|f| f.delivered).collect();
        let (mut queue, mut acks) = (0.0, 0.0);
        path.run(&mut flows, 100.0, |path, _| {
            queue += path.queue();
            acks += 1.0;
        });
        let got: Vec<f64> = flows.iter().zip(before).map(|(f, b)| f.delivered - b).collect();
        let (sum, squares): (f64, f64) = (got.iter().sum(), got.iter().map(|x| x * x).sum());
        assert!(sum * sum / (4.0 * squares) > 0.95, "{got:?}");
        assert!(sum / 60.0 > 0.95 * 8333.0, "{sum}");
        assert!(queue / acks < 20.0, "{}", queue / acks);
    }

    #[test]
    fn beside_reno_it_competes() {
        let mut path = Path::new(2000.0, 0.05, 100.0, 0.0);
        let mut c = copa("");
        let mut r = Reno::new(&settings(&Reno::ENTRY, "", &[]).expect("it is right")).expect("it is right");
        let mut flows = [Flow::new(&mut c, 0.0), Flow::new(&mut r, 1.0)];
        path.run(&mut flows, 20.0, |_, _| {});
        let before = [flows[0].delivered, flows[1].delivered];
        path.run(&mut flows, 120.0, |_, _| {});
        let [copa, reno] = [flows[0].delivered - before[0], flows[1].delivered - before[1]];
        assert!((0.25..0.8).contains(&(copa / (copa + reno))), "{copa} {reno}");
    }
}
