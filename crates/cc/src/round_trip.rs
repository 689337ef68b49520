//! Measurements of a round trip for algorithms that use delay: its RTTs, and the rate at which segments are
//! acknowledged.

use crate::ack::Ack;
use crate::linux::Sample;
use crate::param::choices;

choices! {
    /// RTT used for a round trip:
    /// * `min`: the smallest of the round trip's samples.
    /// * `mean`: the mean of the round trip's samples.
    pub enum RoundRtt { Min = "min", Mean = "mean" }
}

/// Smallest number of samples of a valid round: fewer samples may all be of delayed ACKs (Linux tcp_vegas.c).
pub const MIN_SAMPLES: u32 = 3;

/// Shortest round trip, as a fraction of the smallest RTT. The fraction is below 1 because of rounding.
const SHORT: f64 = 0.999;

/// RTTs and acknowledged segments of one round trip.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// Smallest sample, s; infinite without one.
    pub min: f64,
    /// Sum of the samples, s.
    pub sum: f64,
    /// Number of samples.
    pub samples: u32,
    /// Number of acknowledged segments, which were sent in the previous round.
    pub acked: f64,
}

impl RoundTrip {
    /// A round without samples.
    pub const NEW: Self = Self { min: f64::INFINITY, sum: 0.0, samples: 0, acked: 0.0 };

    /// Counts an ACK.
    #[inline]
    pub fn add(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        if let Some(rtt) = ack.rtt {
            self.min = self.min.min(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
    }

    /// RTT of the round by the statistic `which`, s; the round must have a sample.
    #[must_use]
    pub fn rtt(&self, which: RoundRtt) -> f64 {
        match which {
            RoundRtt::Min => self.min,
            RoundRtt::Mean => self.sum / f64::from(self.samples),
        }
    }

    /// Mean RTT, s.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum / f64::from(self.samples))
    }
}

/// End of a round trip of Linux's modules: the next new segment at the end of the last round trip. Modules look for the
/// end of a round trip at different places, so each module has its own.
#[derive(Clone, Copy, Debug)]
pub struct AckedBeyond {
    end: u32,
    /// True if the end is the next new segment at the next ACK.
    restarts: bool,
}

impl AckedBeyond {
    /// The round trip that ends with the first ACK.
    pub const NEW: Self = Self { end: 0, restarts: false };

    /// True if an ACK acknowledges a segment beyond the end, where the next round trip begins.
    #[inline]
    pub fn passed(&mut self, sample: &Sample) -> bool {
        if std::mem::take(&mut self.restarts) {
            self.end = sample.next;
        }
        let passed = sample.una > self.end;
        if passed {
            self.end = sample.next;
        }
        passed
    }

    /// Begins a round trip when the segments below `next` have been sent.
    #[inline]
    pub fn begin(&mut self, next: u32) {
        *self = Self { end: next, restarts: false };
    }

    /// Begins a round trip at a time other than an ACK, or before the next ACK is handled.
    #[inline]
    pub fn restart(&mut self) {
        self.restarts = true;
    }
}

/// Bandwidth estimate of TCP Westwood+: the rate of acknowledged segments, sampled once a round trip and low-pass
/// filtered by a bilinear (Tustin) filter.
#[derive(Clone, Copy, Debug)]
pub struct AckedRate {
    /// Estimate, segments/s; 0 before the first round trip is over.
    pub rate: f64,
    pole: f64,
    sample: f64,
    acked: f64,
    since: f64,
}

impl AckedRate {
    /// An estimator whose filter gives the weight `pole` to the past; with a `pole` of 0, only the last two samples
    /// count.
    #[must_use]
    pub fn new(pole: f64) -> Self {
        Self { rate: 0.0, pole, sample: 0.0, acked: 0.0, since: 0.0 }
    }

    /// Discards the counts when the connection begins, or resumes sending after an idle period.
    pub fn restart(&mut self, now: f64) {
        self.acked = 0.0;
        self.since = now;
    }

    /// Counts an ACK, and takes a sample at the end of a round trip. Compressed ACKs can make a round shorter than the
    /// smallest RTT; such a round continues.
    #[inline]
    pub fn add(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        if ack.round_start {
            self.end_round(ack);
        }
    }

    fn end_round(&mut self, ack: &Ack) {
        let elapsed = ack.now - self.since;
        if elapsed <= 0.0 || elapsed < SHORT * ack.min_rtt {
            return;
        }
        let sample = self.acked / elapsed;
        self.rate = if self.rate > 0.0 {
            self.pole * self.rate + (1.0 - self.pole) * (sample + self.sample) / 2.0
        } else {
            sample
        };
        self.sample = sample;
        self.restart(ack.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn ack(now: f64, acked: f64, rtt: Option<f64>, round_start: bool) -> Ack {
        Ack { now, acked, rtt, min_rtt: 0.1, round_start, ..Ack::default() }
    }

    #[test]
    fn a_round_has_its_smallest_and_its_mean_rtt() {
        let mut round = RoundTrip::NEW;
        assert_eq!(round.mean(), None);
        for rtt in [Some(0.12), None, Some(0.1), Some(0.11)] {
            round.add(&ack(0.0, 2.0, rtt, false));
        }
        assert_eq!((round.min, round.samples, round.acked), (0.1, 3, 8.0));
        close(round.mean().expect("it has samples"), 0.11, 1e-12);
    }

    #[test]
    fn the_rate_follows_in_tenths_of_the_mean_of_two_samples() {
        let mut rate = AckedRate::new(0.9);
        rate.restart(0.0);
        rate.add(&ack(0.1, 100.0, None, true));
        assert_eq!(rate.rate, 1000.0);
        rate.add(&ack(0.2, 200.0, None, true));
        close(rate.rate, 0.9 * 1000.0 + 0.1 * 1500.0, 1e-12);
        rate.add(&ack(0.3, 200.0, None, true));
        close(rate.rate, 0.9 * 1050.0 + 0.1 * 2000.0, 1e-12);
    }

    #[test]
    fn compressed_acks_and_an_idle_time_make_no_sample() {
        let mut rate = AckedRate::new(0.9);
        rate.restart(0.0);
        rate.add(&ack(0.01, 100.0, None, true));
        assert_eq!(rate.rate, 0.0);
        rate.add(&ack(0.1, 100.0, None, true));
        assert_eq!(rate.rate, 2000.0);
        rate.add(&ack(0.15, 50.0, None, false));
        rate.restart(10.0);
        rate.add(&ack(10.1, 200.0, None, true));
        close(rate.rate, 2000.0, 1e-12);
    }
}
