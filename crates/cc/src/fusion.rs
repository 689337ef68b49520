//! TCP-Fusion (Kaneko K, Fujikawa T, Su Z, Katto J, "TCP-Fusion: a hybrid congestion control algorithm for high-speed
//! networks", PFLDnet 2007). It combines the three rules of Vegas with thresholds on the queueing delay, Westwood's
//! decrease, and the window of a virtual Reno flow as a lower bound.
//!
//! Variant: windows are real numbers of segments, and there is one decision a round trip, which is applied over the
//! next. Only the paper's abstract was available, so the rules are those of two independent implementations and of the
//! authors' later papers. One of the implementations applies the step that is meant for each ACK only once a round
//! trip, so that it grows w times too slowly; this error is not copied. The virtual Reno window after a loss is not
//! documented; half of the window before the loss is the only choice that fits the published model (`reno_reset` has
//! the other choice). The decrease at a loss follows the newest RTT sample, because in slow start the RTT of the last
//! round trip belongs to a much shorter queue, and a decrease from it would be too small. The window grows by at most
//! one segment for each segment acknowledged.

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{FLOOR, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, num, params};
use crate::reports::{Signal, Start};
use crate::round_trip::{AckedRate, MIN_SAMPLES, RoundRtt, RoundTrip};

choices! {
    /// The virtual Reno window after a loss:
    /// * `half`: half of the window before the loss.
    /// * `reduced`: the whole window after the loss.
    pub enum RenoReset { Half = "half", Reduced = "reduced" }
}

params! {
    /// Parameters of TCP-Fusion.
    pub struct FusionParams {
        /// Queueing delay below which the window grows; the window shrinks above three times this delay.
        queue_delay: f64 = num(0.004, 1e-6, 1.0, Unit::Seconds), "implementations: 4 ms, a timer tick (unverified)";
        /// Time that gives the growth for each round trip when multiplied by the bandwidth.
        growth_delay: f64 = num(0.001, 0.0, 1.0, Unit::Seconds), "implementations: B/(12 Mbit/s) segments (unverified)";
        /// Flows that share the growth (N).
        flows: f64 = num(1.0, 1.0, 1e6, Unit::None), "named in a paper of the authors, in no implementation (unverified)";
        /// Smallest threshold, in own segments in queues.
        queue_min: f64 = num(1.0, 0.0, 1e6, Unit::Segments), "one implementation (unverified)";
        /// The virtual Reno window after a loss.
        reno_reset: RenoReset = choice("half", RenoReset::WORDS), "published model of the authors (unverified)";
        /// RTT used for a round trip.
        rtt_statistic: RoundRtt = choice("min", RoundRtt::WORDS), "as Vegas in Linux (unverified)";
        /// Smallest fraction of the window kept on a loss.
        keep_min: f64 = num(0.5, 0.1, 1.0, Unit::None), "implementations of Kaneko et al. 2007 (unverified)";
        /// Weight of the past in the bandwidth estimate.
        filter_pole: f64 = num(0.9, 0.0, 0.999, Unit::None), "implementations: Westwood+ (unverified)";
    }
}

/// Ratio of the upper to the lower threshold on the queue.
const HOLD_RATIO: f64 = 3.0;

/// TCP-Fusion.
#[derive(Clone, Debug)]
pub struct Fusion {
    win: LossWindow,
    p: FusionParams,
    /// Virtual Reno window, segments.
    reno: f64,
    base: f64,
    /// RTT of the newest sample, s; 0 while unknown.
    rtt: f64,
    round: RoundTrip,
    rate: AckedRate,
    /// Change of the window for each segment acknowledged.
    per_segment: f64,
    saved_reno: f64,
}

impl Fusion {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "fusion",
        title: "TCP-Fusion",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT", "bandwidth"],
        source: "Kaneko, Fujikawa, Su & Katto, PFLDnet 2007",
        doc: "The window grows by the bandwidth times 1 ms in each round trip with less than 4 ms of queueing delay, \
              stays constant up to 12 ms, and shrinks above 12 ms. A loss reduces the window by the flow's segments \
              in the queue, but by at most one half. The window is never smaller than that of a virtual Reno flow. The \
              default follows the implementations, in segments.",
        presets: &[Preset::new("", "PFLDnet 2007 as implemented, in segments", &[])],
        tables: &[FusionParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`LossWindow::real_valued`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = FusionParams::read(settings)?;
        Ok(Self {
            win: LossWindow::real_valued(settings)?,
            p,
            reno: 1.0,
            base: f64::INFINITY,
            rtt: 0.0,
            round: RoundTrip::NEW,
            rate: AckedRate::new(p.filter_pole),
            per_segment: 0.0,
            saved_reno: 1.0,
        })
    }

    /// Change of the window, segments a round trip, at an RTT of `rtt`.
    fn change(&self, rtt: f64) -> f64 {
        let w = self.win.w;
        let queued = w * (rtt - self.base) / rtt;
        let threshold = (w * self.p.queue_delay / rtt).max(self.p.queue_min);
        if queued < threshold {
            self.rate.rate * self.p.growth_delay / self.p.flows
        } else if queued <= HOLD_RATIO * threshold {
            0.0
        } else {
            threshold - queued
        }
    }

    fn end_round(&mut self) {
        let round = std::mem::replace(&mut self.round, RoundTrip::NEW);
        let change = if round.samples < MIN_SAMPLES { 1.0 } else { self.change(round.rtt(self.p.rtt_statistic)) };
        self.per_segment = (change / self.win.w).min(1.0);
    }

    fn forget_round(&mut self) {
        self.round = RoundTrip::NEW;
        self.per_segment = 0.0;
    }

    /// Window kept on a loss: the window without the flow's share of the queue.
    fn keep(&self) -> f64 {
        if self.rtt > 0.0 { (self.base / self.rtt).clamp(self.p.keep_min, 1.0) } else { self.p.keep_min }
    }
}

observed! {
    self: Fusion, self.win;
    /// Window of a virtual Reno flow, the lower bound of the window.
    reno = self.reno, number(Unit::Segments);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
    /// Estimated bandwidth.
    rate = self.rate.rate, number(Unit::SegmentsPerSecond);
    /// Change of the window for each segment acknowledged.
    per_segment = self.per_segment, number(Unit::Segments);
}

impl LossBased for Fusion {
    own_window!();

    fn begin(&mut self, start: &Start) {
        self.reno = self.win.w;
        self.rate.restart(start.now);
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.measure(ack);
        if self.win.in_slow_start() {
            // Segments of this ACK beyond the threshold are not counted; congestion avoidance begins with the next ACK.
            self.win.slow_start(ack);
            self.reno = self.win.w;
            return;
        }
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        self.rate.add(ack);
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.rtt = rtt;
        }
        self.round.add(ack);
        if ack.round_start && !ack.in_recovery {
            self.end_round();
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.reno += n / self.reno;
        self.win.w = (self.win.w + n * self.per_segment).max(self.reno).max(FLOOR);
        // Lower the threshold, so that slow start does not undo the decrease.
        self.win.ssthresh = self.win.ssthresh.min(self.win.w);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.saved_reno = self.reno;
        self.reno = (self.win.w / 2.0).max(FLOOR);
        let keep = if self.win.must_halve() { 0.5 } else { self.keep() };
        (keep * self.win.reduced_from(signal)).min(self.win.w)
    }

    fn after_reduction(&mut self, _signal: &Signal) {
        self.reno = match self.p.reno_reset {
            RenoReset::Half => self.reno.min(self.win.w),
            RenoReset::Reduced => self.win.w,
        };
        self.forget_round();
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        self.win.reduced_from(signal) / 2.0
    }

    fn after_timeout(&mut self, signal: &Signal) {
        if !signal.repeated {
            self.saved_reno = self.reno;
        }
        self.reno = 1.0;
        self.forget_round();
    }

    fn resume(&mut self, now: f64, _idle: f64) {
        self.reno = self.win.w;
        self.forget_round();
        self.rate.restart(now);
    }

    fn recovered(&mut self, _now: f64) {
        self.forget_round();
    }

    fn undone(&mut self, restored: bool) {
        if restored {
            self.reno = self.saved_reno.max(self.reno);
        }
    }

    fn moderated(&mut self) {
        self.reno = self.reno.min(self.win.w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Setting;
    use crate::testing::{Driver, close, run_over_link, settings};

    fn fusion(values: &[(&str, Setting)]) -> Fusion {
        Fusion::new(&settings(&Fusion::ENTRY, "", values).expect("it is right")).expect("it is right")
    }

    /// TCP-Fusion with a window of 333 segments, a base RTT of 40 ms, and a bandwidth of 100 Mbit/s in segments of
    /// 12,000 bits.
    fn at(values: &[(&str, Setting)]) -> (Driver, Fusion) {
        let (d, mut f) = (Driver::new(), fusion(values));
        d.start_at(&mut f, 333.0);
        (f.base, f.rate.rate, f.reno) = (0.04, 100e6 / 12_000.0, 100.0);
        (d, f)
    }

    // Only the paper's abstract was available: rules and constants are those of two implementations.
    #[test]
    fn it_grows_rests_and_shrinks_by_the_published_amounts() {
        let (_, f) = at(&[]);
        close(f.change(0.042), 8.3333, 1e-4);
        assert_eq!(f.change(0.046), 0.0);
        close(f.change(0.056), -71.357, 1e-4);
    }

    #[test]
    fn a_round_carries_the_change_out() {
        for (rtt, after) in [(0.042, 341.333), (0.046, 333.0), (0.056, 261.643)] {
            let (mut d, mut f) = at(&[("filter_pole", Setting::Num(0.999))]);
            f.round = RoundTrip { min: rtt, sum: rtt * 333.0, samples: 333, acked: 333.0 };
            f.end_round();
            for _ in 0..333 {
                d.ack(&mut f, 1.0, rtt, rtt / 333.0);
            }
            close(f.window(), after, 1e-5);
        }
    }

    #[test]
    fn a_loss_gives_up_the_queue_and_at_most_one_half() {
        for (rtt, kept) in [(0.04, 1.0), (0.05, 0.8), (0.06, 0.6667), (0.08, 0.5), (0.1, 0.5)] {
            let (d, mut f) = at(&[]);
            f.rtt = rtt;
            d.lose(&mut f);
            close(f.window(), kept * 333.0, 1e-4);
            assert_eq!(f.reno, 166.5);
        }
        let (d, mut f) = at(&[("reno_reset", Setting::Text("reduced"))]);
        f.rtt = 0.05;
        d.lose(&mut f);
        assert_eq!(f.reno, f.window());
    }

    #[test]
    fn a_loss_before_any_rtt_is_known_halves() {
        let (d, mut f) = at(&[]);
        d.lose(&mut f);
        assert_eq!(f.window(), 166.5);
    }

    #[test]
    fn a_loss_in_slow_start_gives_up_the_queue_that_slow_start_made() {
        let (mut d, mut f) = (Driver::new(), fusion(&[]));
        d.start(&mut f, 500.0);
        d.round(&mut f, 0.1);
        for i in 0..500 {
            d.ack(&mut f, 1.0, 0.1 + f64::from(i) * 2e-4, 1e-4);
        }
        let w = f.window();
        d.lose(&mut f);
        close(f.window(), 0.5 * w, 2e-3);
    }

    #[test]
    fn it_never_falls_below_a_reno_flow() {
        let (mut d, mut f) = at(&[]);
        f.rtt = 0.1;
        d.lose(&mut f);
        for _ in 0..100 {
            d.round(&mut f, 0.1);
        }
        close(f.window(), 266.5, 0.01);
        assert_eq!(f.window(), f.reno);
    }

    #[test]
    fn small_windows_have_a_threshold_of_one_segment() {
        let (_, mut f) = at(&[]);
        f.win.w = 4.0;
        // At an RTT of 46 ms half a segment is in the queue, so the window grows. A window of 333 segments would stay
        // constant at this RTT.
        assert!(f.change(0.046) > 0.0);
    }

    #[test]
    fn slow_start_takes_the_reno_window_along_and_a_timeout_starts_it_afresh() {
        let (mut d, mut f) = (Driver::new(), fusion(&[]));
        d.start(&mut f, 10.0);
        d.round(&mut f, 0.1);
        assert_eq!((f.window(), f.reno), (20.0, 20.0));
        d.time_out(&mut f);
        assert_eq!((f.window(), f.ssthresh(), f.reno), (1.0, 10.0, 1.0));
    }

    #[test]
    fn alone_it_keeps_a_queue_of_4_to_12_ms() {
        let (mut d, mut f) = (Driver::new(), fusion(&[]));
        // The virtual Reno flow would need 500 round trips to reach this window.
        d.start_at(&mut f, 500.0);
        let queue = run_over_link(&mut d, &mut f, 10_000.0, 0.1, 40.0);
        assert!((35.0..125.0).contains(&queue), "{queue}");
    }
}
