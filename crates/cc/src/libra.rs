//! TCP Libra (Marfia G et al., "TCP Libra: exploring RTT-fairness for TCP", 2005). TCP Libra is an AIMD whose increase
//! and decrease depend on the RTT, so that flows of different RTTs get the same rate. The increase grows with the
//! path's capacity and falls as the queue fills.
//!
//! Variant: all rules, and in particular the constants, were written down from memory of the paper and are unverified.
//! The unit of the capacity in the increase, Mbit/s here, is also unverified. The capacity is a parameter, or the
//! largest rate of a round trip. Do not use this module for comparisons without the paper. The window grows by at most
//! one segment for each segment acknowledged.

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params};
use crate::reports::{Signal, Start};
use crate::round_trip::{AckedRate, RoundTrip};

params! {
    /// Parameters of TCP Libra.
    pub struct LibraParams {
        /// Increase for each Mbit/s of capacity (k_1).
        k1: f64 = num(2.0, 0.0, 1e6, Unit::None), "Marfia et al. 2005 (unverified)";
        /// Steepness of the increase's fall with the queue (k_2).
        k2: f64 = num(2.0, 0.0, 1e3, Unit::None), "Marfia et al. 2005 (unverified)";
        /// Scale of RTTs (T_0): for RTTs well below it, rates do not depend on the RTT.
        t0: f64 = num(1.0, 1e-3, 1e3, Unit::Seconds), "Marfia et al. 2005 (unverified)";
        /// Scale of the decrease (T_1): a loss reduces the window by the fraction T_1/(2 (T_0 + RTT)).
        t1: f64 = num(1.0, 0.0, 1e3, Unit::Seconds), "Marfia et al. 2005 (unverified)";
        /// Capacity of the path; 0: the largest rate measured in a round trip.
        capacity: f64 = num(0.0, 0.0, 1e9, Unit::MegabitsPerSecond), "Marfia et al. 2005: from packet pairs (unverified)";
    }
}

/// TCP Libra.
#[derive(Clone, Debug)]
pub struct Libra {
    win: LossWindow,
    p: LibraParams,
    base: f64,
    max: f64,
    rtt: f64,
    round: RoundTrip,
    rate: AckedRate,
    /// Largest rate of a round trip, segments/s.
    rate_max: f64,
    segment_bits: f64,
    /// Increase, segments a round trip.
    increase: f64,
}

impl Libra {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "libra",
        title: "TCP Libra",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT", "bandwidth"],
        source: "Marfia et al., TCP Libra, 2005 (from memory)",
        doc: "Libra is AIMD with fairness between flows of different RTTs: the increase is proportional to the square \
              of the RTT and to the capacity, and falls as the queue fills. Rules and constants are from memory and \
              unverified, so Libra is not for comparisons.",
        presets: &[Preset::new("", "2005, from memory (unverified)", &[])],
        tables: &[LibraParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`LossWindow::real_valued`], and [`BuildError::Conflict`] if the reduction on a loss could exceed
    /// the window.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = LibraParams::read(settings)?;
        if p.t1 > 2.0 * p.t0 {
            return settings.conflict(format!("t1 {} must not be above twice t0 {}", p.t1, p.t0));
        }
        Ok(Self {
            win: LossWindow::real_valued(settings)?,
            p,
            base: f64::INFINITY,
            max: 0.0,
            rtt: 0.0,
            round: RoundTrip::NEW,
            rate: AckedRate::new(0.0),
            rate_max: 0.0,
            segment_bits: 0.0,
            increase: 1.0,
        })
    }

    /// Increase at an RTT of `rtt`, segments a round trip.
    fn increase_at(&self, rtt: f64) -> f64 {
        let measured = self.rate_max * self.segment_bits * 1e-6;
        let capacity = if self.p.capacity > 0.0 { self.p.capacity } else { measured };
        let span = self.max - self.base;
        let penalty = if span > 0.0 { libm::exp(-self.p.k2 * (rtt - self.base) / span) } else { 1.0 };
        self.p.k1 * capacity * penalty * rtt * rtt / (rtt + self.p.t0)
    }
}

observed! {
    self: Libra, self.win;
    /// Additive increase for each round trip.
    increase = self.increase, number(Unit::Segments);
    /// Largest rate of a round trip.
    rate_max = self.rate_max, number(Unit::SegmentsPerSecond);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
    /// Largest RTT.
    max_s = self.max, number(Unit::Seconds);
    /// Mean RTT of the last round trip; 0 before the first.
    rtt_mean_s = self.rtt, number(Unit::Seconds);
}

impl LossBased for Libra {
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
            self.max = self.max.max(rtt);
        }
        if ack.round_start {
            self.rate_max = self.rate_max.max(self.rate.rate);
            if let Some(mean) = std::mem::replace(&mut self.round, RoundTrip::NEW).mean() {
                self.rtt = mean;
                self.increase = self.increase_at(mean);
            }
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, self.increase.min(self.win.w));
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let given_up = if self.win.must_halve() { 0.5 } else { self.p.t1 / (2.0 * (self.p.t0 + self.rtt)) };
        (1.0 - given_up) * self.win.reduced_from(signal)
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        self.win.reduced_from(signal) / 2.0
    }

    fn resume(&mut self, now: f64, _idle: f64) {
        self.round = RoundTrip::NEW;
        self.rate.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Setting;
    use crate::testing::{Driver, close, settings};

    fn libra(values: &[(&str, Setting)]) -> Libra {
        Libra::new(&settings(&Libra::ENTRY, "", values).expect("it is right")).expect("it is right")
    }

    // All of these values follow from unverified rules and constants.
    #[test]
    fn the_unverified_increase_goes_with_capacity_rtt_and_queue() {
        let mut l = libra(&[("capacity", Setting::Num(100.0))]);
        (l.base, l.max) = (0.1, 0.2);
        close(l.increase_at(0.1), 200.0 * 0.01 / 1.1, 1e-12);
        close(l.increase_at(0.2), 200.0 * 0.04 / 1.2 * libm::exp(-2.0), 1e-12);
    }

    #[test]
    fn the_unverified_decrease_is_a_half_at_small_rtts_and_less_at_large_ones() {
        for (rtt, left) in [(0.0, 500.0), (0.1, 545.4545), (1.0, 750.0)] {
            let (d, mut l) = (Driver::new(), libra(&[]));
            d.start_at(&mut l, 1000.0);
            l.rtt = rtt;
            d.lose(&mut l);
            close(l.window(), left, 1e-6);
        }
    }

    #[test]
    fn the_capacity_is_the_largest_rate_of_a_round_trip() {
        let (mut d, mut l) = (Driver::new(), libra(&[]));
        d.start_at(&mut l, 1000.0);
        for _ in 0..4 {
            d.round(&mut l, 0.1);
        }
        close(l.rate_max, 10_000.0, 0.1);
        // 10,000 segments of 11,584 bits a second are 116 Mbit/s.
        close(l.increase, 2.0 * 116.0 * 0.01 / 1.1, 0.1);
    }

    #[test]
    fn flows_of_different_rtts_get_the_same_rate() {
        // AIMD(a, b) at small p has w = sqrt(a (2 - b)/(2 b p)): w/RTT depends on the RTT only through the term 2 - b.
        let rate = |rtt: f64| {
            let mut l = libra(&[("capacity", Setting::Num(100.0))]);
            (l.base, l.max) = (rtt, rtt);
            let (a, b) = (l.increase_at(rtt), 1.0 / (2.0 * (1.0 + rtt)));
            libm::sqrt(a * (2.0 - b) / (2.0 * b)) / rtt
        };
        close(rate(0.02), rate(0.2), 0.03);
    }

    #[test]
    fn a_loss_cannot_take_more_than_the_window() {
        let wrong = settings(&Libra::ENTRY, "", &[("t1", Setting::Num(3.0))]).expect("each is allowed");
        assert!(matches!(Libra::new(&wrong), Err(BuildError::Conflict { .. })));
    }
}
