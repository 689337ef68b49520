//! PIE: a proportional-integral controller sets a drop probability so that the queueing delay meets a target (RFC
//! 8033).
//!
//! Variant: the delay is that of an arriving packet, known exactly here; the RFC also allows an estimate from the
//! departure rate.

use elephan_cc::param::{BuildError, MS, NS, S, Settings, US, duration, num};

use super::discipline::{AtArrival, Place};
use super::droptail::TailParameters;
use super::entry::Entry;
use super::{Arrival, DropTail, Verdict};
use crate::random::Stream;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of PIE.
    pub struct PieParameters {
        /// Target queueing delay (QDELAY_REF).
        target: Time = duration(15.0 * MS, 1.0 * NS, 100.0 * S), "RFC 8033 section 4.2";
        /// Interval between two updates of the probability (T_UPDATE).
        update: Time = duration(15.0 * MS, 100.0 * US, 100.0 * S), "RFC 8033 section 4.2";
        /// Weight of the difference from the target.
        alpha: f64 = num(0.125, 0.0, 1e3, Unit::PerSecond), "RFC 8033 section 4.2";
        /// Weight of the trend.
        beta: f64 = num(1.25, 0.0, 1e3, Unit::PerSecond), "RFC 8033 section 4.2";
        /// Duration of bursts that pass without drops after an empty queue (MAX_BURST).
        burst: Time = duration(150.0 * MS, 1.0 * NS, 100.0 * S), "RFC 8033 section 4.4";
        /// Largest probability at which ECN-capable packets are marked and not dropped.
        mark_threshold: f64 = num(0.1, 0.0, 1.0, Unit::None), "RFC 8033 section 5.1";
    }
}

/// Divisors of the controller's steps, each for probabilities below a limit: pairs of limit and divisor (RFC 8033
/// section 4.2).
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// Largest step once the probability is above [`LARGE`].
const STEP_MOST: f64 = 0.02;
const LARGE: f64 = 0.1;
/// Delay above which the probability rises by [`STEP_MOST`] in each update.
const DELAY_HIGH: Time = Time(250 * Time::MILLISECOND.0);
/// Factor of the probability in an update without a queue.
const DECAY: f64 = 0.98;
/// Bounds of the accumulated probability (derandomization, section 5.4).
const ACCUMULATED_LEAST: f64 = 0.85;
const ACCUMULATED_MOST: f64 = 8.5;

/// A queue with PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    tail: DropTail,
    p: PieParameters,
    probability: f64,
    accumulated: f64,
    delay_before: Time,
    allowance: Time,
    updated: Time,
    draws: Stream,
}

impl Pie {
    fn new(tail: DropTail, p: PieParameters, draws: Stream) -> Self {
        let allowance = p.burst;
        Self {
            tail,
            p,
            probability: 0.0,
            accumulated: 0.0,
            delay_before: Time::ZERO,
            allowance,
            updated: Time::ZERO,
            draws,
        }
    }

    /// Updates the probability, given the delay at the time of the update.
    fn step(&mut self, delay: Time) {
        let (now, before, target) = (delay.seconds(), self.delay_before.seconds(), self.p.target.seconds());
        let mut step = self.p.alpha * (now - target) + self.p.beta * (now - before);
        if let Some((_, scale)) = SCALES.iter().find(|(below, _)| self.probability < *below) {
            step /= scale;
        }
        if self.probability >= LARGE {
            step = step.min(STEP_MOST);
        }
        if delay > DELAY_HIGH {
            step = STEP_MOST;
        }
        self.probability += step;
        if delay == Time::ZERO && self.delay_before == Time::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = delay;
        self.allowance = self.allowance.since(self.p.update);
        if self.probability == 0.0 && now < target / 2.0 && before < target / 2.0 {
            self.allowance = self.p.burst;
        }
    }

    /// Applies the updates due before this arrival. Between arrivals the delay falls by the time that passes.
    fn catch_up(&mut self, arrival: &Arrival) {
        while self.updated + self.p.update <= arrival.now {
            self.updated += self.p.update;
            self.step(arrival.free.since(self.updated));
        }
    }

    fn drops_early(&mut self, arrival: &Arrival) -> bool {
        let target = self.p.target.seconds();
        if self.allowance > Time::ZERO
            || (self.delay_before.seconds() < target / 2.0 && self.probability < 0.2)
            || arrival.backlog.bytes <= 2 * arrival.bytes
        {
            return false;
        }
        self.accumulated += self.probability;
        if self.accumulated < ACCUMULATED_LEAST {
            return false;
        }
        if self.accumulated >= ACCUMULATED_MOST || self.draws.uniform() < self.probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }
}

impl AtArrival for Pie {
    const ENTRY: Entry = Entry::new(
        "pie",
        "Proportional integral controller enhanced",
        "RFC 8033",
        &[TailParameters::TABLE, PieParameters::TABLE],
    );

    type Parameters = (TailParameters, PieParameters);

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        Ok((TailParameters::read(settings)?, PieParameters::read(settings)?))
    }

    fn build((tail, p): Self::Parameters, place: Place) -> Self {
        Self::new(place.tail(tail.count_in_service), p, place.draws)
    }

    #[inline]
    fn tail(&self) -> &DropTail {
        &self.tail
    }

    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        self.catch_up(arrival);
        if !self.tail.admits(arrival.backlog, arrival.bytes) {
            self.accumulated = 0.0;
            return Verdict::Drop;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        if !self.drops_early(arrival) {
            return Verdict::Accept;
        }
        if arrival.capable && self.probability <= self.p.mark_threshold { Verdict::Mark } else { Verdict::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backlog;
    use super::*;

    const MS: u64 = Time::MILLISECOND.0;

    fn pie() -> Pie {
        let (target, update, burst) = (Time(15 * MS), Time(15 * MS), Time(150 * MS));
        let p = PieParameters { target, update, alpha: 0.125, beta: 1.25, burst, mark_threshold: 0.1 };
        Pie::new(DropTail::new(Some(1000), None, false), p, Stream::new(1, "test"))
    }

    #[test]
    fn a_step_is_the_two_weighted_distances_scaled_by_how_small_the_probability_is() {
        // RFC 8033 section 4.2: 0.125 × (30 - 15 ms) + 1.25 × (30 - 0 ms), and 1/2048 of this sum while the probability
        // is 0.
        let mut queue = pie();
        queue.step(Time(30 * MS));
        let full: f64 = 0.125 * 0.015 + 1.25 * 0.030;
        assert!((queue.probability - full / 2048.0).abs() < 1e-15, "{}", queue.probability);
        for (probability, scale) in [(5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.5, 1.0)] {
            let mut queue = pie();
            queue.probability = probability;
            queue.step(Time(20 * MS));
            let step: f64 = 0.125 * 0.005 + 1.25 * 0.020;
            let expected = if scale == 1.0 { step.min(0.02) } else { step / scale };
            assert!((queue.probability - probability - expected).abs() < 1e-12, "{probability}");
        }
    }

    #[test]
    fn at_the_target_the_probability_stands_and_without_a_queue_it_decays() {
        let mut queue = pie();
        (queue.probability, queue.delay_before) = (0.05, Time(15 * MS));
        queue.step(Time(15 * MS));
        assert!((queue.probability - 0.05).abs() < 1e-15);
        (queue.probability, queue.delay_before) = (0.5, Time::ZERO);
        queue.step(Time::ZERO);
        assert!((queue.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12, "{}", queue.probability);
    }

    fn arrival(now: Time, delay_ms: u64, capable: bool) -> Arrival {
        let backlog = Backlog { packets: 100, bytes: 100_000 };
        Arrival { now, bytes: 1000, transmission: Time(MS), backlog, free: now + Time(delay_ms * MS), capable }
    }

    #[test]
    fn a_burst_of_150_ms_passes_and_then_the_share_of_drops_is_the_probability() {
        let mut queue = pie();
        for k in 0..150 {
            assert_eq!(queue.decide(&arrival(Time(k * MS), 40, false)), Verdict::Accept, "{k} ms");
        }
        // The accumulated probability spaces drops by (0.85/p, 0.85/p + 1/p) packets. This spacing lowers the fraction
        // of dropped packets.
        (queue.probability, queue.allowance, queue.delay_before) = (0.2, Time::ZERO, Time(15 * MS));
        let now = queue.updated + Time(1);
        let drops = (0..100_000).filter(|_| queue.decide(&arrival(now, 15, false)) == Verdict::Drop).count();
        // On average 0.85/p - 1 packets pass before a draw with probability p, so one of about 4.25 + 5 - 1 packets is
        // dropped.
        let spacing = 1e5 / drops as f64;
        assert!((spacing - 9.0).abs() < 0.3, "{spacing}");
    }

    #[test]
    fn marks_replace_drops_up_to_a_probability_of_a_tenth() {
        let verdicts = |probability: f64| -> Vec<Verdict> {
            let mut queue = pie();
            (queue.probability, queue.allowance, queue.delay_before) = (probability, Time::ZERO, Time(15 * MS));
            (0..1000).map(|_| queue.decide(&arrival(Time(1), 15, true))).collect()
        };
        assert!(verdicts(0.09).contains(&Verdict::Mark) && !verdicts(0.09).contains(&Verdict::Drop));
        assert!(verdicts(0.2).contains(&Verdict::Drop) && !verdicts(0.2).contains(&Verdict::Mark));
    }
}
