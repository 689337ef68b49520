//! FAST TCP (Jin C, Wei D, Low S, "FAST TCP: motivation, architecture, algorithms, performance", INFOCOM 2004; Wei et
//! al., ToN 14(6), 2006). The window follows the queueing delay, so that `alpha` of the flow's own segments wait in
//! queues.
//!
//! Variant: an update every other round trip, as in the papers. Increases are spread over the round that follows, and the
//! filter is min(3/w, 1/4). While the averaged queueing delay is below `mi_threshold`, each acknowledged segment adds
//! one segment to the window (multiplicative increase). The papers leave open when the delay is compared with the
//! threshold; here, as in ns-2, it is on every ACK, also after a loss. The base RTT is the smallest RTT of this flow, so a
//! flow that starts while there is a standing queue counts that queue as propagation delay unless `known_rtt` is set.
//!
//! Differences:
//! * ns-2's module (preset `ns2`, version 1.1.3) moves the window every 10 ms, several times within an update round,
//!   and each change starts from the window in force when the acknowledged segment was sent. It does not limit an
//!   update to a doubling of the window, filters with min(3/flight, 1/256), applies increases one segment at a time and
//!   takes no samples from ACKs in recovery.
//! * Version 1.1 (preset `ns2-1.1`) updates every round. Its retransmission of holes older than two RTTs belongs to the
//!   endpoint and is not modelled.
//! * Two rules here differ from ns-2's module. Its earlier window is the flight size at the last ACK outside recovery,
//!   which for segments sent in a recovery is the flight size before the loss, so its window grows back faster and has
//!   more losses while it overshoots. And its first RTT is that of a 40-byte SYN, a little less than the RTT of data.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::loss_window::window_getters;
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, num, params, value, word};
use crate::plain_window::PlainWindow;
use crate::reports::{Signal, Start};
use crate::spread::Spread;

choices! {
    /// Time and form of the window's update:
    /// * `paper`: one update in an update round, spread over the next round.
    /// * `ns2`: one update every `update_period` within an update round, as in ns-2's module.
    pub enum Timing { Paper = "paper", Ns2 = "ns2" }
}

params! {
    /// Parameters of FAST.
    pub struct FastParams {
        /// Segments that the flow keeps in queues.
        alpha: f64 = num(200.0, 1.0, 1e9, Unit::Segments), "no paper gives a value, nor do Weigle et al. 2006; between \
                                                            ns-2's 100 and the 400 of later papers";
        /// Width of the band above `alpha` in which the window stays (β - α); ns-2 timing only.
        dead_band: f64 = num(0.0, 0.0, 1e9, Unit::Segments), "ns-2 tcp-fast.cc: alpha_ = beta_ = 100";
        /// Fraction of the way to the target covered by one update (γ).
        gamma: f64 = num(0.5, 1e-3, 1.0, Unit::None), "Jin et al. 2004 eq. 7";
        /// Averaged queueing delay below which the window doubles each round trip.
        mi_threshold: f64 = num(0.00075, 0.0, 10.0, Unit::Seconds), "ns-2 tcp-fast.cc mi_threshold_";
        /// Round trips between two updates, 1 or 2.
        update_every: f64 = num(2.0, 1.0, 2.0, Unit::RoundTrips), "Wei et al. 2006; ns-2 before 1.1.3 has 1";
        /// Time and form of the update: the papers' or ns-2's.
        timing: Timing = choice("paper", Timing::WORDS), "Jin et al. 2004; ns-2 tcp-fast.cc 1.1.3";
        /// Smallest time between updates; ns-2 timing only.
        update_period: f64 = num(0.01, 0.0, 10.0, Unit::Seconds), "ns-2 fast_update_cwnd_interval_";
        /// Largest weight of a new RTT sample in the average.
        filter_max: f64 = num(0.25, 1e-6, 1.0, Unit::None), "Jin et al. 2004 (not verified in its text); ns-2 has 1/256";
        /// Round-trip time of the empty path, if known; 0: the smallest RTT of this flow.
        known_rtt: f64 = num(0.0, 0.0, 100.0, Unit::Seconds), "Xu et al. 2011 section 4 lets each flow know its propagation delay";
        /// Fraction of the window given up on a loss.
        decrease: f64 = num(0.5, 0.0, 1.0, Unit::None), "ns-2 tcp-fast.cc; Jin et al. 2004";
    }
}

/// Smallest window, segments (ns-2).
const FLOOR: f64 = 2.0;
/// Weight of a sample, times the window; the weight is 3/w (Jin and others 2004).
const FILTER_SEGMENTS: f64 = 3.0;
/// Base RTT below which ns-2 applies increases at once, s.
const NS2_SPREAD_RTT_S: f64 = 0.004;

/// State of ns-2's update.
#[derive(Clone, Copy, Debug)]
struct Ns2 {
    flag: bool,
    toggled: f64,
    updated: f64,
    acks: f64,
    acks_last_round: f64,
    pending: f64,
    spacing: f64,
    since_step: f64,
}

const NS2_START: Ns2 = Ns2 {
    flag: true,
    toggled: 0.0,
    updated: 0.0,
    acks: 0.0,
    acks_last_round: 0.0,
    pending: 0.0,
    spacing: 0.0,
    since_step: 0.0,
};

/// FAST TCP.
#[derive(Clone, Debug)]
pub struct Fast {
    p: FastParams,
    win: PlainWindow,
    /// Smallest RTT seen, s.
    base: f64,
    /// Averaged RTT, s; 0 before the first sample.
    avg: f64,
    spread: Spread,
    update_round: bool,
    ns2: Ns2,
}

impl Fast {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "fast",
        title: "FAST TCP",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "Jin, Wei, Low, INFOCOM 2004; Wei et al., ToN 2006; ns-2 tcp-fast 1.1.3",
        doc: "FAST keeps alpha of its own segments in queues on any path: the window w moves towards \
              w · (base RTT / averaged RTT) + alpha. FAST needs a buffer larger than the sum of all alphas. A \
              late-starting flow gets more than its share, since it counts the queue of the other flows as propagation \
              delay. The default updates the window every other round trip.",
        presets: &[
            Preset::new("", "INFOCOM 2004, every other round trip", &[]),
            Preset::new("ns2", "ns-2 module 1.1.3", &Self::ns2_preset(2.0)),
            Preset::new("ns2-1.1", "ns-2 module 1.1: every round trip", &Self::ns2_preset(1.0)),
        ],
        tables: &[FastParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    const fn ns2_preset(update_every: f64) -> [(&'static str, Setting); 3] {
        [word("timing", "ns2"), value("filter_max", 1.0 / 256.0), value("update_every", update_every)]
    }

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if `update_every` is neither 1 nor 2.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = FastParams::read(settings)?;
        if p.update_every != 1.0 && p.update_every != 2.0 {
            return settings.conflict(format!("update_every {} must be 1 or 2", p.update_every));
        }
        Ok(Self {
            p,
            win: PlainWindow::NEW,
            base: if p.known_rtt > 0.0 { p.known_rtt } else { f64::INFINITY },
            avg: 0.0,
            spread: Spread::default(),
            update_round: false,
            ns2: NS2_START,
        })
    }

    #[inline]
    fn measure(&mut self, ack: &Ack, rtt: f64) {
        self.base = self.base.min(rtt);
        if self.avg == 0.0 {
            self.avg = rtt;
            return;
        }
        let segments = if self.p.timing == Timing::Ns2 { ack.in_flight.max(1.0) } else { self.win.w };
        let gain = (FILTER_SEGMENTS / segments).min(self.p.filter_max);
        self.avg += gain * (rtt - self.avg);
    }

    /// Averaged RTT, s; NaN before the first sample.
    fn averaged(&self) -> f64 {
        if self.avg > 0.0 { self.avg } else { f64::NAN }
    }

    /// Window after one update, from the current window and the window at the time of the delay's measurement.
    fn target(&self, w_old: f64) -> f64 {
        let p = &self.p;
        (1.0 - p.gamma) * self.win.w + p.gamma * (w_old * self.base / self.avg + p.alpha)
    }

    /// The papers' update, at the start of a round.
    fn update(&mut self) {
        self.update_round = self.p.update_every == 1.0 || !self.update_round;
        if !self.update_round {
            return;
        }
        let target = self.target(self.win.w).min(2.0 * self.win.w).max(FLOOR);
        if target > self.win.w {
            self.spread.decide(target - self.win.w, self.win.w);
        } else {
            self.win.w = target;
        }
    }

    #[inline]
    fn ack_paper(&mut self, ack: &Ack) {
        if self.avg - self.base < self.p.mi_threshold {
            self.spread.pending = 0.0;
            if ack.window_limited {
                self.win.w += ack.acked;
            }
            return;
        }
        if ack.round_start {
            // The remainder of the last round's increase is added now, or dropped if the window did not limit the flow.
            if ack.window_limited {
                self.win.w += self.spread.release(f64::INFINITY);
            }
            self.spread.pending = 0.0;
            self.update();
        }
        if ack.window_limited {
            self.win.w += self.spread.on_ack(ack.acked);
        }
    }

    fn ack_ns2(&mut self, ack: &Ack, rtt: f64) {
        if ack.now > self.ns2.toggled + rtt {
            self.ns2.toggled = ack.now;
            self.ns2.acks_last_round = self.ns2.acks;
            self.ns2.acks = 0.0;
            self.ns2.flag = !self.ns2.flag || self.p.update_every == 1.0;
        }
        self.ns2.acks += 1.0;
        if self.avg - self.base < self.p.mi_threshold {
            if ack.window_limited {
                self.win.w += 1.0;
            }
            self.ns2.updated = ack.now;
            return;
        }
        let spread = self.base >= NS2_SPREAD_RTT_S;
        if !self.ns2.flag || ack.now < self.ns2.updated + self.p.update_period {
            if spread {
                self.pace_ns2(0.0, ack.window_limited);
            }
            return;
        }
        self.ns2.pending = 0.0;
        self.ns2.updated = ack.now;
        let w_old = if ack.window_at_send > 0.0 { ack.window_at_send } else { self.win.w };
        let queued = w_old * (self.avg - self.base) / self.avg;
        if (self.p.alpha..self.p.alpha + self.p.dead_band).contains(&queued) {
            self.pace_ns2(0.0, ack.window_limited);
            return;
        }
        let target = self.target(w_old).max(FLOOR);
        if target >= self.win.w && spread {
            self.pace_ns2((target - self.win.w).floor(), ack.window_limited);
        } else if target < self.win.w || ack.window_limited {
            self.win.w = target;
        }
    }

    /// Applies an increase by ns-2's rule: one segment at a time, every `spacing` ACKs.
    fn pace_ns2(&mut self, increase: f64, window_limited: bool) {
        let n = &mut self.ns2;
        if increase >= 1.0 {
            n.pending += increase;
            n.spacing = (n.acks_last_round * self.p.update_period / self.avg / n.pending).floor();
            n.since_step = 1.0;
        } else {
            n.since_step += 1.0;
        }
        if n.pending == 0.0 || !window_limited {
            return;
        }
        if self.win.w <= 4.0 {
            let step = if self.win.w < n.pending { self.win.w.floor() } else { n.pending };
            self.win.w += step;
            n.pending -= step;
            n.since_step = 0.0;
        } else if n.since_step >= n.spacing {
            self.win.w += 1.0;
            n.pending -= 1.0;
            n.since_step = 0.0;
        }
    }

    fn forget_round(&mut self, now: f64) {
        self.spread.pending = 0.0;
        self.update_round = false;
        self.ns2.pending = 0.0;
        self.ns2.updated = now;
    }

    fn reduce(&mut self, signal: &Signal, w: f64) {
        self.win.save(signal);
        if !signal.repeated {
            self.win.ssthresh = ((1.0 - self.p.decrease) * self.win.w).max(FLOOR);
        }
        self.win.w = w.max(FLOOR);
        self.forget_round(signal.now);
    }
}

observed! {
    self: Fast;
    /// Smallest RTT (baseRTT).
    base_s = self.base, number(Unit::Seconds);
    /// Averaged RTT.
    avg_s = self.averaged(), number(Unit::Seconds);
    /// Averaged queueing delay: the averaged RTT less baseRTT.
    queueing_s = self.averaged() - self.base, number(Unit::Seconds);
    /// Window after an update now.
    target = self.target(self.win.w), number(Unit::Segments);
    /// Decided increase that is not yet added to the window.
    pending = if self.p.timing == Timing::Ns2 { self.ns2.pending } else { self.spread.pending }, number(Unit::Segments);
}

impl Fast {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start, FLOOR);
        self.ns2.toggled = start.now;
        self.ns2.updated = start.now;
    }

    fn on_idle(&mut self, now: f64) {
        self.win.idle();
        self.forget_round(now);
    }

    fn moderate(&mut self, window: f64) {
        if self.win.moderate(window) {
            // An increase that was decided at a larger window does not apply to the reduced window.
            (self.spread.pending, self.ns2.pending) = (0.0, 0.0);
        }
    }
}

impl Algorithm for Fast {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if ack.in_recovery {
            if self.p.timing == Timing::Ns2 {
                self.ns2.updated = ack.now;
            } else if let Some(rtt) = ack.rtt {
                self.measure(ack, rtt);
            }
            return;
        }
        let Some(rtt) = ack.rtt else { return };
        self.measure(ack, rtt);
        if self.p.timing == Timing::Paper {
            self.ack_paper(ack);
        } else {
            self.ack_ns2(ack, rtt);
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.reduce(signal, (1.0 - self.p.decrease) * self.win.w),
            Event::Timeout(ref signal) => self.reduce(signal, FLOOR),
            Event::Idle { now, .. } => self.on_idle(now),
            Event::Moderate { window } | Event::Keep { window } => self.moderate(window),
            Event::RecoveryExit { now } => self.forget_round(now),
            Event::Undo { .. } => {
                self.win.undo();
            }
            _ => {}
        }
    }

    window_getters!();

    #[inline]
    fn needs(&self) -> Needs {
        Needs { window_at_send: self.p.timing == Timing::Ns2, every_rtt: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, close, run_over_link, settings};

    fn fast(preset: &str, values: &[(&str, Setting)]) -> Fast {
        Fast::new(&settings(&Fast::ENTRY, preset, values).expect("it is right")).expect("it is right")
    }

    fn at(w: f64, base: f64, avg: f64, alpha: f64) -> Fast {
        let mut f = fast("", &[("alpha", Setting::Num(alpha)), ("update_every", Setting::Num(1.0))]);
        (f.win.w, f.base, f.avg) = (w, base, avg);
        f
    }

    #[test]
    fn one_update_has_the_published_values() {
        for (w, avg, target) in [(100.0, 0.1, 200.0), (1000.0, 0.11, 1054.545), (3000.0, 0.12, 2850.0)] {
            let f = at(w, 0.1, avg, 200.0);
            close(f.target(w), target, 1e-6);
        }
        let f = at(1000.0, 0.1, 0.11, 100.0);
        close(f.target(900.0), 959.09, 1e-4);
    }

    #[test]
    fn an_update_never_more_than_doubles() {
        let mut f = at(50.0, 0.1, 0.102, 200.0);
        f.update();
        close(f.win.w + f.spread.pending, 100.0, 1e-9);
    }

    #[test]
    fn on_a_fluid_link_the_error_halves_with_each_update() {
        let mut f = at(3500.0, 0.1, 0.0, 400.0);
        let mut course = Vec::new();
        for _ in 0..20 {
            f.avg = f.win.w / 25_000.0;
            f.update();
            f.win.w += f.spread.release(f64::INFINITY);
            course.push(f.win.w);
        }
        for (w, expected) in course.iter().zip([3200.0, 3050.0, 2975.0, 2937.5, 2918.75]) {
            close(*w, expected, 1e-6);
        }
        close(course[19], 2900.0, 1e-3);
    }

    #[test]
    fn a_reverse_queue_bounds_the_rate_at_alpha_over_its_delay() {
        let mut f = at(3000.0, 0.1, 0.0, 400.0);
        for _ in 0..200 {
            f.avg = (f.win.w / 25_000.0).max(0.12);
            f.update();
            f.win.w += f.spread.release(f64::INFINITY);
        }
        close(f.win.w / f.avg, 20_000.0, 1e-3);
    }

    #[test]
    fn it_doubles_each_round_trip_while_the_queue_is_empty_and_again_after_a_loss() {
        for preset in ["", "ns2"] {
            let (mut d, mut f) = (Driver::new(), fast(preset, &[]));
            d.start(&mut f, 10.0);
            for _ in 0..3 {
                d.round(&mut f, 0.1);
            }
            assert_eq!(f.window(), 80.0, "{preset}");
            d.lose(&mut f);
            assert_eq!((f.window(), f.ssthresh()), (40.0, 40.0));
            d.round(&mut f, 0.1);
            assert_eq!(f.window(), 80.0);
        }
    }

    #[test]
    fn it_updates_every_other_round_trip_and_spreads_the_increase() {
        let (mut d, mut f) = (Driver::new(), fast("", &[]));
        d.start(&mut f, 1000.0);
        (f.base, f.avg) = (0.1, 0.11);
        let mut course = Vec::new();
        for _ in 0..4 {
            d.round(&mut f, 0.11);
            course.push(f.window());
        }
        // The window grows by 0.5 (200 - 1000 / 11) in the first round trip and not at all in the second.
        close(course[0], 1054.545, 1e-4);
        close(course[1], course[0], 1e-4);
        assert!(course[2] > course[1] + 40.0);
        close(course[3], course[2], 1e-4);
    }

    #[test]
    fn a_known_round_trip_is_the_base_from_the_first_ack_on() {
        let mut f = fast("", &[("known_rtt", Setting::Num(0.1))]);
        let mut d = Driver::new();
        d.start(&mut f, 100.0);
        let ack = d.make_ack(&f, 1.0, 0.12, false);
        f.measure(&ack, 0.12);
        assert_eq!((f.base, f.avg), (0.1, 0.12));
        f.measure(&ack, 0.09);
        assert_eq!(f.base, 0.09);
    }

    #[test]
    fn the_window_settles_with_alpha_segments_in_the_queue() {
        for preset in ["", "ns2", "ns2-1.1"] {
            let (mut d, mut f) = (Driver::new(), fast(preset, &[("alpha", Setting::Num(100.0))]));
            d.start(&mut f, 10.0);
            let queue = run_over_link(&mut d, &mut f, 10_000.0, 0.1, 60.0);
            close(f.window(), 1100.0, 0.01);
            close(queue, 100.0, 0.05);
        }
    }

    #[test]
    fn the_filter_gives_a_sample_three_over_the_window_but_at_most_a_quarter() {
        let mut f = at(4.0, 0.1, 0.1, 200.0);
        let mut d = Driver::new();
        let ack = d.make_ack(&f, 1.0, 0.2, false);
        f.measure(&ack, 0.2);
        close(f.avg, 0.125, 1e-12);
        (f.win.w, f.avg) = (300.0, 0.1);
        f.measure(&ack, 0.2);
        close(f.avg, 0.101, 1e-12);
        let mut ns2 = fast("ns2", &[]);
        (ns2.base, ns2.avg) = (0.1, 0.1);
        ns2.measure(&Ack { in_flight: 300.0, ..ack }, 0.2);
        close(ns2.avg, 0.1 + 0.1 / 256.0, 1e-12);
    }

    #[test]
    fn ns_2_moves_most_of_the_way_within_one_round_trip() {
        // About ten updates, 10 ms apart, on a path of 100 ms. Each update moves the window half of the way to the
        // target that follows from the old window.
        let (mut d, mut f) = (Driver::new(), fast("ns2", &[("alpha", Setting::Num(100.0))]));
        d.start(&mut f, 2000.0);
        (f.base, f.avg) = (0.1, 0.12);
        let goal = 2000.0 * 0.1 / 0.12 + 100.0;
        for _ in 0..1000 {
            d.now += 1e-4;
            let ack = d.make_ack(&f, 1.0, 0.12, false);
            f.on_ack(&Ack { window_at_send: 2000.0, in_flight: 2000.0, ..ack });
        }
        close(f.window(), goal, 2e-3);
    }

    #[test]
    fn in_the_dead_band_ns_2_leaves_the_window_alone() {
        let (mut d, mut f) =
            (Driver::new(), fast("ns2", &[("alpha", Setting::Num(100.0)), ("dead_band", Setting::Num(50.0))]));
        d.start(&mut f, 1000.0);
        (f.base, f.avg) = (0.1, 0.1125);
        for _ in 0..50 {
            d.now += 1e-3;
            let ack = d.make_ack(&f, 1.0, 0.1125, false);
            f.on_ack(&Ack { window_at_send: 1000.0, ..ack });
        }
        assert_eq!(f.window(), 1000.0);
    }

    #[test]
    fn a_timeout_leaves_two_segments() {
        let (d, mut f) = (Driver::new(), fast("", &[]));
        d.start(&mut f, 100.0);
        d.time_out(&mut f);
        assert_eq!((f.window(), f.ssthresh()), (2.0, 50.0));
    }

    #[test]
    fn only_ns_2_s_timing_needs_the_window_at_send() {
        assert!(fast("ns2", &[]).needs().window_at_send && !fast("", &[]).needs().window_at_send);
    }
}
