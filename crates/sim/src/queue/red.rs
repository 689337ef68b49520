//! Random early detection (Floyd S, Jacobson V, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! ToN 1(4), 1993), with the options gentle (Floyd 2000) and adaptive (Floyd, Gummadi, Shenker 2001).

use std::collections::BTreeMap;

use elephan_cc::param::{BuildError, Settings, Type, Value, derived, flag, num};

use super::discipline::{AtArrival, Place};
use super::droptail::TailParameters;
use super::entry::Entry;
use super::{Arrival, DropTail, Verdict};
use crate::random::Stream;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of RED.
    pub struct RedParameters {
        /// Average queue below which no packet is dropped.
        min: f64 = derived(Type::Packets, "2.5 ms of the link's rate, at least 5 packets, at most max / 3", 0.0, 1e12, Unit::Packets),
            "Floyd, Gummadi & Shenker 2001, section 4; ns-2 red.cc (targetdelay_)";
        /// Average queue from which every packet is dropped; with `gentle` from twice this value.
        max: f64 = derived(Type::Packets, "3 min", 1.0, 1e12, Unit::Packets), "Floyd, Gummadi & Shenker 2001, section 4";
        /// Drop probability at `max`.
        max_p: f64 = num(0.1, 1e-6, 1.0, Unit::None), "ns-2 red.cc (linterm_); Floyd & Jacobson 1993 have 1/50";
        /// Weight of an arrival in the average.
        weight: f64 = derived(Type::Number, "1 - exp(-1/C), C the link's rate in packets/s", 1e-12, 1.0, Unit::None),
            "Floyd, Gummadi & Shenker 2001, section 4";
        /// Let the probability rise to 1 between `max` and twice `max`.
        gentle: bool = flag(true), "Floyd, Recommendation on using the gentle_ variant of RED, 2000";
        /// Adapt `max_p`, so that the average stays in the middle between the thresholds.
        adaptive: bool = flag(false), "Floyd, Gummadi & Shenker 2001, section 4";
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = flag(true), "RFC 3168 section 5";
    }
}

/// Half of the target delay of 5 ms, s, and the lowest lower threshold, packets (Floyd, Gummadi, Shenker 2001, section 4; ns-2 red.cc).
const HALF_TARGET_S: f64 = 0.0025;
const MIN_LEAST: f64 = 5.0;

/// Adds the defaults that follow from a rate in packets/s.
pub(super) fn derive(given: &mut BTreeMap<String, Value>, rate: f64) {
    let number = |name| match given.get(name) {
        Some(Value::Num(x)) => Some(*x),
        _ => None,
    };
    let (low, high) = (number("min"), number("max"));
    let derived = MIN_LEAST.max(HALF_TARGET_S * rate);
    let min = low.unwrap_or_else(|| high.map_or(derived, |high| derived.min(high / 3.0)));
    // The platform's exponential function, with which the hashes of saved results were computed. The function of libm
    // differs in the last bit.
    let weight = 1.0 - (-1.0 / rate.max(1.0)).exp();
    for (name, value) in [("min", min), ("max", 3.0 * min), ("weight", weight)] {
        given.entry(name.to_owned()).or_insert(Value::Num(value));
    }
}

/// Interval between two updates of `max_p`, and the steps of these updates (Floyd, Gummadi, Shenker 2001, section 4).
const ADAPT_EVERY: Time = Time(500 * Time::MILLISECOND.0);
const ADAPT_DOWN: f64 = 0.9;
const ADAPT_UP_MOST: f64 = 0.01;
const MAX_P_RANGE: (f64, f64) = (0.01, 0.5);

/// A queue with RED.
#[derive(Clone, Debug)]
pub struct Red {
    tail: DropTail,
    p: RedParameters,
    average: f64,
    /// Packets since the last drop or mark; −1 below the lower threshold.
    count: i64,
    adapted: Time,
    draws: Stream,
}

impl Red {
    fn new(tail: DropTail, p: RedParameters, draws: Stream) -> Self {
        Self { tail, p, average: 0.0, count: -1, adapted: Time::ZERO, draws }
    }

    fn update_average(&mut self, arrival: &Arrival) {
        let idle = arrival.now.since(arrival.free);
        if idle > Time::ZERO {
            // An idle period counts as a number of packets that arrived at an empty queue.
            let missed = idle.seconds() / arrival.transmission.seconds();
            self.average *= libm::pow(1.0 - self.p.weight, missed);
        }
        self.average += self.p.weight * (arrival.backlog.packets as f64 - self.average);
    }

    fn adapt(&mut self, now: Time) {
        let middle = (self.p.max - self.p.min) * 0.1;
        let (low, high) = (self.p.min + 4.0 * middle, self.p.min + 6.0 * middle);
        while self.adapted + ADAPT_EVERY <= now {
            self.adapted += ADAPT_EVERY;
            if self.average > high && self.p.max_p < MAX_P_RANGE.1 {
                self.p.max_p += ADAPT_UP_MOST.min(self.p.max_p / 4.0);
            } else if self.average < low && self.p.max_p > MAX_P_RANGE.0 {
                self.p.max_p *= ADAPT_DOWN;
            }
        }
    }

    /// Drop probability for the average queue, before drops are spread evenly.
    fn probability(&self) -> f64 {
        let RedParameters { min: low, max: high, max_p, gentle, .. } = self.p;
        if self.average < low {
            0.0
        } else if self.average < high {
            max_p * (self.average - low) / (high - low)
        } else if gentle && self.average < 2.0 * high {
            max_p + (1.0 - max_p) * (self.average - high) / high
        } else {
            1.0
        }
    }
}

impl AtArrival for Red {
    const ENTRY: Entry = Entry {
        derive,
        ..Entry::new(
            "red",
            "Random early detection, optionally gentle and adaptive",
            "Floyd & Jacobson, ToN 1(4), 1993; Floyd, Gummadi & Shenker, 2001",
            &[TailParameters::TABLE, RedParameters::TABLE],
        )
    };

    type Parameters = (TailParameters, RedParameters);

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        let p = RedParameters::read(settings)?;
        if p.min >= p.max {
            return settings.conflict_of("max", format!("{} packets must be more than min, {}", p.max, p.min));
        }
        Ok((TailParameters::read(settings)?, p))
    }

    fn build((tail, p): Self::Parameters, place: Place) -> Self {
        Self::new(place.tail(tail.count_in_service), p, place.draws)
    }

    #[inline]
    fn tail(&self) -> &DropTail {
        &self.tail
    }

    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        if self.p.adaptive {
            self.adapt(arrival.now);
        }
        self.update_average(arrival);
        if !self.tail.admits(arrival.backlog, arrival.bytes) {
            self.count = 0;
            return Verdict::Drop;
        }
        let p = self.probability();
        if p <= 0.0 {
            self.count = -1;
            return Verdict::Accept;
        }
        self.count += 1;
        // Drops are spread evenly: the number of packets between two drops is uniform up to 1/p, and not geometric.
        let spread = 1.0 - self.count as f64 * p;
        let hit = p >= 1.0 || spread <= 0.0 || self.draws.uniform() < p / spread;
        if !hit {
            return Verdict::Accept;
        }
        self.count = 0;
        if self.p.ecn && arrival.capable && p < 1.0 { Verdict::Mark } else { Verdict::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backlog;
    use super::*;

    fn red(p: RedParameters) -> Red {
        Red::new(DropTail::new(Some(1000), None, false), p, Stream::new(1, "test"))
    }

    fn parameters() -> RedParameters {
        let (min, max, max_p, weight) = (20.0, 60.0, 0.1, 1.0);
        RedParameters { min, max, max_p, weight, gentle: true, adaptive: false, ecn: true }
    }

    fn arrival(now: Time, packets: u64, capable: bool) -> Arrival {
        let backlog = Backlog { packets, bytes: packets * 1000 };
        Arrival {
            now,
            bytes: 1000,
            transmission: Time(1_000_000),
            backlog,
            free: now + Time(packets * 1_000_000),
            capable,
        }
    }

    #[test]
    fn drops_are_spread_evenly_and_not_geometrically() {
        // Floyd and Jacobson 1993, section VII: with a constant average the gaps are uniform from 1 to 1/p, with mean
        // 1/(2p) + 1/2. The algorithm in their Figure 2 already counts the first packet after a drop as one, so the
        // gaps are 1 to 1/p - 1.
        let mut queue = red(parameters());
        let (mut gaps, mut gap) = (Vec::new(), 0_u32);
        for _ in 0..200_000 {
            gap += 1;
            // In the middle between the thresholds: p = 0.05.
            if queue.decide(&arrival(Time(1), 40, false)) == Verdict::Drop {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 0.15, "{mean}");
        assert_eq!(gaps.iter().max(), Some(&19));
    }

    #[test]
    fn the_probability_rises_in_two_straight_lines() {
        for (average, p) in [(19.0, 0.0), (20.0, 0.0), (40.0, 0.05), (60.0, 0.1), (90.0, 0.55), (120.0, 1.0)] {
            let mut queue = red(parameters());
            queue.average = average;
            assert!((queue.probability() - p).abs() < 1e-12, "{average}");
        }
        let mut abrupt = red(RedParameters { gentle: false, ..parameters() });
        abrupt.average = 60.0;
        assert!((abrupt.probability() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_idle_time_counts_as_small_packets_that_found_nothing() {
        let mut queue = red(RedParameters { weight: 0.1, ..parameters() });
        queue.average = 50.0;
        let idle = Arrival { free: Time::ZERO, ..arrival(Time(10_000_000), 0, false) };
        queue.update_average(&idle);
        // The idle time of ten transmission times reduces the average to 50 × 0.9¹⁰, and the arrival itself multiplies
        // it by 0.9.
        assert!((queue.average - 50.0 * libm::pow(0.9, 11.0)).abs() < 1e-9, "{}", queue.average);
    }

    #[test]
    fn adaptive_red_moves_its_largest_probability_by_halves_of_a_second() {
        let mut queue = red(RedParameters { adaptive: true, ..parameters() });
        queue.average = 55.0;
        queue.adapt(Time::SECOND);
        assert!((queue.p.max_p - 0.12).abs() < 1e-12, "{}", queue.p.max_p);
        queue.average = 22.0;
        queue.adapt(Time(2 * Time::SECOND.0));
        assert!((queue.p.max_p - 0.12 * 0.81).abs() < 1e-12, "{}", queue.p.max_p);
    }

    #[test]
    fn marks_replace_drops_but_for_what_the_buffer_cannot_hold() {
        let mut queue = red(RedParameters { max_p: 1.0, ..parameters() });
        let verdicts: Vec<Verdict> = (0..50).map(|_| queue.decide(&arrival(Time(1), 50, true))).collect();
        assert!(verdicts.contains(&Verdict::Mark) && !verdicts.contains(&Verdict::Drop));
        assert_eq!(queue.decide(&arrival(Time(1), 1000, true)), Verdict::Drop);
    }
}
