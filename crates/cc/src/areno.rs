//! TCP Adaptive Reno (Shimonishi H, Hama T, Murase T, "TCP-Adaptive Reno for improving efficiency-friendliness
//! tradeoffs of TCP congestion control algorithm", PFLDnet 2006). The window is Reno's plus a probe window, which grows
//! by up to one segment for each 10 Mbit/s of bandwidth while queues are empty, and shrinks again as the RTT approaches
//! the one at which losses happened. The decrease at a loss is smaller on a less congested path.
//!
//! Variant: windows are counted in segments, as real numbers. The paper's text was not available, so the rules are
//! those on which more than ten independent implementations agree. These count bytes, and scale the increase
//! differently: the constant 1 of the published increase is one byte there, so that the sum of both windows grows as
//! Reno's does at full congestion. Here it is `increase_constant`, 0 by default. The window grows by at most one
//! segment for each segment acknowledged.

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{FLOOR, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params};
use crate::reports::{Signal, Start};
use crate::round_trip::{AckedRate, RoundTrip};

choices! {
    /// RTT that shows congestion:
    /// * `mean`: the mean RTT of the last round trip.
    /// * `last`: the last RTT sample.
    pub enum RttSource { Mean = "mean", Last = "last" }

    /// Order of two steps on a loss:
    /// * `update-first`: update the RTT at which losses happen, then compute the congestion level.
    /// * `level-first`: compute the congestion level with the RTT of earlier losses, then update that RTT.
    pub enum LossOrder { UpdateFirst = "update-first", LevelFirst = "level-first" }
}

params! {
    /// Parameters of TCP Adaptive Reno.
    pub struct ArenoParams {
        /// Bandwidth for which the probe window grows by one segment a round trip (M).
        bandwidth_unit: f64 = num(10e6, 1.0, 1e12, Unit::BitsPerSecond), "Shimonishi et al. 2006 as later papers give it (unverified)";
        /// Steepness of the increase's fall with the congestion level (α).
        steepness: f64 = num(10.0, 0.1, 100.0, Unit::None), "implementations of Shimonishi et al. 2006 (unverified)";
        /// Weight of the past in the RTT at which losses happen.
        history: f64 = num(0.85, 0.0, 1.0, Unit::None), "implementations of Shimonishi et al. 2006 (unverified)";
        /// Increase of the probe window for each round trip at full congestion, in addition to Reno's increase.
        increase_constant: f64 = num(0.0, 0.0, 10.0, Unit::Segments), "the paper's formula has 1 of an unclear unit (unverified)";
        /// RTT that shows congestion.
        rtt_source: RttSource = choice("mean", RttSource::WORDS), "implementations: mostly the last (unverified)";
        /// Order of the two steps on a loss.
        loss_order: LossOrder = choice("update-first", LossOrder::WORDS), "most implementations (unverified)";
        /// Grow the probe window before the first loss, while no RTT of a loss is known.
        probe_at_first: bool = flag(true), "most implementations (unverified)";
        /// Weight of the past in the bandwidth estimate.
        filter_pole: f64 = num(0.9, 0.0, 0.999, Unit::None), "implementations: Westwood+ (unverified)";
    }
}

/// TCP Adaptive Reno.
#[derive(Clone, Debug)]
pub struct Areno {
    /// Sum of Reno's window and the probe window.
    win: LossWindow,
    p: ArenoParams,
    probe: f64,
    base: f64,
    /// RTT at which losses happen, s; 0 before the first loss.
    congested: f64,
    /// RTT that shows congestion, and last RTT sample outside recovery, s; both are 0 while unknown.
    rtt: f64,
    last_rtt: f64,
    round: RoundTrip,
    rate: AckedRate,
    segment_bits: f64,
    /// Increase of the probe window, segments a round trip.
    increase: f64,
    saved_probe: f64,
}

/// Increase of the probe window at congestion level `c`, segments a round trip (W_inc). `most` is the largest increase.
/// The curve's value at 1 and its integral from 0 to 1 are `constant`.
#[must_use]
pub fn probe_increase(c: f64, most: f64, steepness: f64, constant: f64) -> f64 {
    let a = steepness;
    let beta = 2.0 * most * (1.0 / a - (1.0 / a + 1.0) * libm::exp(-a));
    let gamma = constant - 2.0 * most * (1.0 / a - (1.0 / a + 0.5) * libm::exp(-a));
    most * libm::exp(-a * c) + beta * c + gamma
}

impl Areno {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "areno",
        title: "TCP Adaptive Reno",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT", "bandwidth"],
        source: "Shimonishi, Hama & Murase, PFLDnet 2006",
        doc: "Reno plus a probe window. The probe window grows fast while queues are empty and shrinks again as the \
              RTT approaches the RTT at which losses happened. A loss reduces the window by a fraction between 0 and \
              one half, which grows as the RTT approaches the RTT at which losses happened. The default uses the \
              rules on which the implementations agree, counted in segments.",
        presets: &[Preset::new("", "PFLDnet 2006 as implemented, in segments", &[])],
        tables: &[ArenoParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`LossWindow::real_valued`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = ArenoParams::read(settings)?;
        Ok(Self {
            win: LossWindow::real_valued(settings)?,
            p,
            probe: 0.0,
            base: f64::INFINITY,
            congested: 0.0,
            rtt: 0.0,
            last_rtt: 0.0,
            round: RoundTrip::NEW,
            rate: AckedRate::new(p.filter_pole),
            segment_bits: 0.0,
            increase: 0.0,
            saved_probe: 0.0,
        })
    }

    /// Congestion level, 0 to 1, that corresponds to an RTT.
    fn level(&self, rtt: f64) -> f64 {
        if self.congested == 0.0 {
            if self.p.probe_at_first { 0.0 } else { 1.0 }
        } else if self.congested <= self.base {
            if rtt > self.base { 1.0 } else { 0.0 }
        } else {
            ((rtt - self.base) / (self.congested - self.base)).clamp(0.0, 1.0)
        }
    }

    fn update_increase(&mut self, rtt: f64) {
        self.rtt = rtt;
        let most = self.rate.rate * self.segment_bits / self.p.bandwidth_unit;
        self.increase = probe_increase(self.level(rtt), most, self.p.steepness, self.p.increase_constant);
    }

    /// Congestion level at a loss; also updates the RTT at which losses happen.
    fn level_at_loss(&mut self) -> f64 {
        let rtt = self.last_rtt;
        let before = self.level(rtt);
        if rtt > 0.0 {
            let history = self.p.history;
            self.congested = if self.congested == 0.0 { rtt } else { history * self.congested + (1.0 - history) * rtt };
        }
        if self.p.loss_order == LossOrder::LevelFirst { before } else { self.level(rtt) }
    }
}

observed! {
    self: Areno, self.win;
    /// Probe component of the window.
    probe = self.probe, number(Unit::Segments);
    /// Increase of the probe window for each round trip.
    increase = self.increase, number(Unit::Segments);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
    /// RTT at which losses happen; 0 before the first loss.
    congested_s = self.congested, number(Unit::Seconds);
    /// RTT that shows congestion; 0 before the first sample.
    rtt_mean_s = self.rtt, number(Unit::Seconds);
    /// Estimated bandwidth.
    rate = self.rate.rate, number(Unit::SegmentsPerSecond);
}

impl LossBased for Areno {
    own_window!();

    fn begin(&mut self, start: &Start) {
        self.segment_bits = 8.0 * start.segment_bytes;
        self.rate.restart(start.now);
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        self.rate.add(ack);
        self.round.add(ack);
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            if !ack.in_recovery {
                self.last_rtt = rtt;
            }
        }
        if ack.round_start {
            let round = std::mem::replace(&mut self.round, RoundTrip::NEW);
            if let Some(mean) = round.mean() {
                self.update_increase(if self.p.rtt_source == RttSource::Mean { mean } else { self.last_rtt });
            }
        } else if let (RttSource::Last, Some(rtt)) = (self.p.rtt_source, ack.rtt) {
            self.update_increase(rtt);
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        let w = self.win.w;
        let probe = (self.probe + n * self.increase.min(w - 1.0) / w).max(0.0);
        // The probe window does not fall below 0, so it never takes away from Reno's window.
        self.win.w += n / w + (probe - self.probe);
        self.probe = probe;
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        let target = if self.win.must_halve() { from / 2.0 } else { from / (1.0 + self.level_at_loss()) };
        target.min(self.win.w)
    }

    fn after_reduction(&mut self, _signal: &Signal) {
        self.saved_probe = std::mem::take(&mut self.probe);
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        self.win.reduced_from(signal) / 2.0
    }

    fn after_timeout(&mut self, signal: &Signal) {
        let probe = std::mem::take(&mut self.probe);
        if !signal.repeated {
            self.saved_probe = probe;
        }
    }

    fn resume(&mut self, now: f64, _idle: f64) {
        self.probe = 0.0;
        self.round = RoundTrip::NEW;
        self.rate.restart(now);
    }

    fn recovered(&mut self, _now: f64) {
        self.round = RoundTrip::NEW;
    }

    fn undone(&mut self, restored: bool) {
        if restored {
            self.probe = self.saved_probe;
        }
    }

    fn moderated(&mut self) {
        self.probe = self.probe.min((self.win.w - FLOOR).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::param::Setting;
    use crate::testing::{Driver, close, run_over_link, settings};

    fn areno(values: &[(&str, Setting)]) -> Areno {
        Areno::new(&settings(&Areno::ENTRY, "", values).expect("it is right")).expect("it is right")
    }

    /// Adaptive Reno in congestion avoidance at window `w`, with a smallest RTT of 0.1 s and losses at an RTT of 0.2 s.
    fn at(values: &[(&str, Setting)], w: f64) -> (Driver, Areno) {
        let (d, mut a) = (Driver::new(), areno(values));
        d.start_at(&mut a, w);
        (a.base, a.congested) = (0.1, 0.2);
        (d, a)
    }

    const LEVELS: [f64; 8] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

    // The paper's text was not available: formula and constants are those of many implementations.
    #[test]
    fn the_probe_increase_has_the_published_values() {
        let with_one = [9.0005, 5.1658, 2.8792, 0.7537, 0.0981, 0.0674, 0.4090, 1.0];
        for (c, expected) in LEVELS.into_iter().zip(with_one) {
            assert!((probe_increase(c, 10.0, 10.0, 1.0) - expected).abs() < 6e-5);
            assert!((probe_increase(c, 10.0, 10.0, 0.0) - (expected - 1.0)).abs() < 6e-5);
        }
        let at_1_gbit_s = [80.0054, 41.6580, 18.7924, -2.4630, -9.0188, -9.3258, -5.9104, 0.0];
        for (c, expected) in LEVELS.into_iter().zip(at_1_gbit_s) {
            assert!((probe_increase(c, 100.0, 10.0, 0.0) - expected).abs() < 6e-5);
        }
    }

    #[test]
    fn the_probe_increase_is_0_at_full_congestion_and_on_average() {
        for most in [1.0, 10.0, 1000.0] {
            assert!(probe_increase(1.0, most, 10.0, 0.0).abs() < 1e-9 * most);
            let mean =
                (0..100_000).map(|i| probe_increase((f64::from(i) + 0.5) / 1e5, most, 10.0, 0.0)).sum::<f64>() / 1e5;
            assert!(mean.abs() < 1e-6 * most);
            assert!(probe_increase(0.1808, most, 10.0, 0.0) > 0.0 && probe_increase(0.1810, most, 10.0, 0.0) < 0.0);
            close(probe_increase(0.391, most, 10.0, 0.0), -0.101744 * most, 1e-4);
        }
    }

    #[test]
    fn a_loss_gives_up_by_the_level_of_congestion() {
        for (c, left) in [(0.0, 1000.0), (0.25, 800.0), (0.5, 666.667), (1.0, 500.0)] {
            let (d, mut a) = at(&[("history", Setting::Num(1.0))], 1000.0);
            a.last_rtt = 0.1 + 0.1 * c;
            d.lose(&mut a);
            close(a.window(), left, 1e-6);
        }
    }

    #[test]
    fn the_rtt_of_losses_moves_by_15_percent() {
        let (d, mut a) = at(&[], 1000.0);
        (a.congested, a.last_rtt) = (0.120, 0.200);
        d.lose(&mut a);
        close(a.congested, 0.132, 1e-12);
    }

    #[test]
    fn the_first_loss_halves_if_there_is_any_queue_unless_the_level_comes_first() {
        for (order, rtt, left) in
            [("update-first", 0.101, 500.0), ("update-first", 0.1, 1000.0), ("level-first", 0.101, 1000.0)]
        {
            let (d, mut a) = at(&[("loss_order", Setting::Text(order))], 1000.0);
            (a.congested, a.last_rtt) = (0.0, rtt);
            d.lose(&mut a);
            assert_eq!(a.window(), left, "{order} {rtt}");
        }
    }

    #[test]
    fn the_probe_part_is_given_back_before_congestion() {
        let (mut d, mut a) = at(&[("filter_pole", Setting::Num(0.0))], 1000.0);
        for _ in 0..20 {
            d.round(&mut a, 0.1);
        }
        // At 10,000 segments a second, each of 11,584 bits, the probe window grows by 11.6 - 2.3 segments a round trip,
        // and Reno's window by one.
        let grown = a.window() - 1000.0;
        close(grown, 20.0 * 11.0, 0.1);
        close(a.probe, grown - 20.0, 0.01);
        // At a congestion level of 0.4 the probe window shrinks by a tenth of 11.6 segments each round trip.
        for _ in 0..250 {
            d.round(&mut a, 0.14);
        }
        assert_eq!(a.probe, 0.0);
        close(a.window(), 1270.0, 0.005);
    }

    #[test]
    fn at_full_congestion_it_is_reno() {
        let (mut d, mut a) = at(&[], 100.0);
        d.round(&mut a, 0.2);
        d.round(&mut a, 0.2);
        let before = a.window();
        d.round(&mut a, 0.2);
        close(a.window() - before, 1.0, 0.02);
    }

    #[test]
    fn a_timeout_and_an_idle_time_end_the_probe() {
        let (d, mut a) = at(&[], 1000.0);
        (a.probe, a.increase) = (300.0, 5.0);
        d.time_out(&mut a);
        assert_eq!((a.window(), a.ssthresh(), a.probe), (1.0, 500.0, 0.0));
        a.on_event(&Event::Undo { now: 0.0 });
        assert_eq!((a.window(), a.probe), (1000.0, 300.0));
        a.on_event(&Event::Idle { now: 9.0, idle: 5.0 });
        assert_eq!(a.probe, 0.0);
    }

    #[test]
    fn it_may_be_told_not_to_probe_before_the_first_loss() {
        for (probing, level) in [(true, 0.0), (false, 1.0)] {
            let mut a = areno(&[("probe_at_first", Setting::Bool(probing))]);
            a.base = 0.1;
            assert_eq!(a.level(0.15), level);
        }
    }

    #[test]
    fn alone_it_fills_the_link() {
        let (mut d, mut a) = at(&[], 500.0);
        let queue = run_over_link(&mut d, &mut a, 10_000.0, 0.1, 20.0);
        assert!(queue > 10.0, "{queue}");
    }
}
