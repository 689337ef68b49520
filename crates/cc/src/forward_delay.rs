//! Estimates of the forward path from one-way delays: the smallest delay so far, and averages of the forward queueing
//! delay and of the round-trip time.
//!
//! A constant offset between the two hosts' clocks is contained in every delay, so it cancels when the smallest delay
//! is subtracted. Two other errors of the clocks do not. Take an algorithm that aims at alpha segments queued on a link
//! of C segments/s.
//!
//! *Drift.* If the receiver's clock gains d seconds a second, the measured delay grows without limit: after t seconds
//! `alpha - C d t` segments are queued, and once this number is 0, the rate falls as alpha/(d t). If it loses d seconds
//! a second, `alpha + C d t` segments are queued. At 200 Mbit/s and segments of 1,000 bytes, a drift of 50 ppm is 1.25
//! segments a second, so the queue of alpha = 400 segments is gone after 320 s.
//!
//! *Resolution.* With clocks that tick every r seconds, the smallest measured delay of a path of delay D is a whole
//! number of ticks, but the average is D, so C (D mod r) fewer segments are queued: on the link above at most 25 with
//! ticks of 1 ms, and at most 250 with ticks of 10 ms.

use crate::ack::Ack;
use crate::observe::observed;
use crate::param::{choice, choices, num, params};

choices! {
    /// Average of the delays:
    /// * `fast`: each ACK weighs 3/w, at most a quarter.
    /// * `ns2`: each ACK weighs 3/flight, at most 1/256.
    /// * `mean_round`: the mean of the samples of the last round trip.
    /// * `min_round`: the smallest sample of the last round trip.
    /// * `last`: the last sample.
    pub enum Filter { Fast = "fast", Ns2 = "ns2", MeanRound = "mean_round", MinRound = "min_round", Last = "last" }
}

params! {
    /// Parameters of the measurement.
    pub struct ForwardDelayParams {
        /// Average of queueing delay and round-trip time.
        filter: Filter = choice("fast", Filter::WORDS), "unstated in Xu et al. 2011; FAST's filter is the nearest relative";
        /// One-way delay of the empty forward path, measured by the two clocks; 0: the smallest sample of the flow.
        known_owd: f64 = num(0.0, 0.0, 10.0, Unit::Seconds), "Xu et al. 2011 section 4 lets each flow know its propagation delay";
    }
}

/// Product of a sample's weight and the window, segments.
const FILTER_SEGMENTS: f64 = 3.0;

/// Sums, or smallest values, over a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    samples: f64,
    queueing: f64,
    rtt: f64,
}

/// Delays of one connection.
#[derive(Clone, Debug)]
pub struct ForwardDelay {
    filter: Filter,
    base: f64,
    queueing: f64,
    rtt: f64,
    begun: bool,
    round: Round,
}

observed! {
    self: ForwardDelay;
    /// Averaged queueing delay of the forward path; 0 before the first sample.
    queueing_s = self.queueing, number(Unit::Seconds);
    /// Averaged RTT; 0 before the first sample.
    rtt_mean_s = self.rtt, number(Unit::Seconds);
    /// Smallest one-way delay, plus the offset of the two clocks.
    base_s = self.base, number(Unit::Seconds);
}

impl ForwardDelay {
    /// An estimate without samples.
    #[must_use]
    pub fn new(p: ForwardDelayParams) -> Self {
        let base = if p.known_owd > 0.0 { p.known_owd } else { f64::INFINITY };
        Self { filter: p.filter, base, queueing: 0.0, rtt: 0.0, begun: false, round: Round::default() }
    }

    /// Averaged forward queueing delay, s; 0 before the first sample.
    #[inline]
    #[must_use]
    pub fn queueing(&self) -> f64 {
        self.queueing
    }

    /// Averaged round-trip time, s; 0 before the first sample.
    #[inline]
    #[must_use]
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// Takes the delays of an ACK that arrives with the window at `w` segments.
    #[inline]
    pub fn sample(&mut self, ack: &Ack, w: f64) {
        let (Some(owd), Some(rtt)) = (ack.owd, ack.rtt) else { return };
        if owd < self.base {
            self.lower_base(owd);
        }
        let queueing = owd - self.base;
        match self.filter {
            _ if !self.begun => (self.queueing, self.rtt) = (queueing, rtt),
            Filter::Fast => self.weigh(queueing, rtt, (FILTER_SEGMENTS / w).min(1.0 / 4.0)),
            Filter::Ns2 => self.weigh(queueing, rtt, (FILTER_SEGMENTS / ack.in_flight.max(1.0)).min(1.0 / 256.0)),
            Filter::Last => (self.queueing, self.rtt) = (queueing, rtt),
            Filter::MeanRound | Filter::MinRound => self.gather(queueing, rtt, ack.round_start),
        }
        self.begun = true;
    }

    fn weigh(&mut self, queueing: f64, rtt: f64, weight: f64) {
        self.queueing += weight * (queueing - self.queueing);
        self.rtt += weight * (rtt - self.rtt);
    }

    fn gather(&mut self, queueing: f64, rtt: f64, round_start: bool) {
        let r = &mut self.round;
        r.samples += 1.0;
        if self.filter == Filter::MeanRound {
            r.queueing += queueing;
            r.rtt += rtt;
        } else if r.samples == 1.0 {
            (r.queueing, r.rtt) = (queueing, rtt);
        } else {
            (r.queueing, r.rtt) = (r.queueing.min(queueing), r.rtt.min(rtt));
        }
        if round_start {
            let n = if self.filter == Filter::MeanRound { r.samples } else { 1.0 };
            (self.queueing, self.rtt) = (r.queueing / n, r.rtt / n);
            self.round = Round::default();
        }
    }

    /// Lowers the base delay, and raises the averaged queueing delay by the same amount.
    fn lower_base(&mut self, base: f64) {
        if self.begun && self.base.is_finite() {
            let more = self.base - base;
            self.queueing += more;
            self.round.queueing += more * if self.filter == Filter::MeanRound { self.round.samples } else { 1.0 };
        }
        self.base = base;
    }

    /// Discards the samples of the round: samples from a recovery are not representative.
    pub fn forget_round(&mut self) {
        self.round = Round::default();
    }

    /// Resets the averages after an idle period; the base delay stays.
    pub fn forget(&mut self) {
        (self.queueing, self.rtt, self.begun, self.round) = (0.0, 0.0, false, Round::default());
    }
}

#[cfg(test)]
impl ForwardDelay {
    /// Sets the averages to given values, instead of measured values.
    pub fn set(&mut self, queueing: f64, rtt: f64) {
        (self.queueing, self.rtt, self.begun) = (queueing, rtt, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn delays(filter: Filter, known_owd: f64) -> ForwardDelay {
        ForwardDelay::new(ForwardDelayParams { filter, known_owd })
    }

    fn ack(owd: f64, rtt: f64, round_start: bool) -> Ack {
        Ack { owd: Some(owd), rtt: Some(rtt), in_flight: 100.0, round_start, ..Ack::default() }
    }

    #[test]
    fn any_constant_offset_of_the_clocks_cancels() {
        for offset in [0.0, -0.3, 1e6] {
            let mut d = delays(Filter::Last, 0.0);
            d.sample(&ack(0.02 + offset, 0.04, false), 100.0);
            assert_eq!(d.queueing(), 0.0);
            d.sample(&ack(0.036 + offset, 0.056, false), 100.0);
            close(d.queueing(), 0.016, 1e-7);
            close(d.rtt(), 0.056, 1e-12);
        }
    }

    #[test]
    fn a_known_delay_is_the_base_from_the_first_sample_on() {
        let mut d = delays(Filter::Last, 0.02);
        d.sample(&ack(0.036, 0.056, false), 100.0);
        close(d.queueing(), 0.016, 1e-12);
        // A sample below the known delay is also used.
        d.sample(&ack(0.019, 0.04, false), 100.0);
        d.sample(&ack(0.02, 0.04, false), 100.0);
        close(d.queueing(), 0.001, 1e-12);
    }

    #[test]
    fn each_filter_weighs_as_it_says() {
        for (filter, w, weight) in [
            (Filter::Fast, 6.0, 0.25),
            (Filter::Fast, 300.0, 0.01),
            (Filter::Ns2, 6.0, 1.0 / 256.0),
            (Filter::Last, 300.0, 1.0),
        ] {
            let mut d = delays(filter, 0.0);
            d.sample(&ack(0.02, 0.04, false), w);
            d.sample(&ack(0.03, 0.05, false), w);
            close(d.queueing(), weight * 0.01, 1e-9);
            close(d.rtt(), 0.04 + weight * 0.01, 1e-9);
        }
    }

    #[test]
    fn a_round_s_mean_and_smallest_count_from_its_end_on() {
        for (filter, queueing, rtt) in [(Filter::MeanRound, 0.006, 0.046), (Filter::MinRound, 0.002, 0.042)] {
            let mut d = delays(filter, 0.0);
            d.sample(&ack(0.02, 0.04, false), 10.0);
            d.sample(&ack(0.022, 0.042, false), 10.0);
            assert_eq!(d.queueing(), 0.0);
            d.sample(&ack(0.03, 0.05, true), 10.0);
            close(d.queueing(), queueing, 1e-9);
            close(d.rtt(), rtt, 1e-9);
        }
    }

    #[test]
    fn a_lower_base_raises_what_was_averaged_above_the_old_one() {
        for filter in [Filter::Fast, Filter::MeanRound, Filter::MinRound] {
            let mut d = delays(filter, 0.0);
            d.sample(&ack(0.03, 0.05, false), 100.0);
            d.sample(&ack(0.03, 0.05, true), 100.0);
            assert_eq!(d.queueing(), 0.0);
            d.lower_base(0.02);
            close(d.queueing(), 0.01, 1e-9);
        }
    }
}
