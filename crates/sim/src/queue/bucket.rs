//! A token bucket: it fills at a rate up to a size, and a packet takes tokens for all of its bytes.

use elephan_cc::param::{required_rate, required_size};

use crate::time::Time;

elephan_cc::params! {
    /// Parameters of a token bucket.
    pub struct BucketParameters {
        /// Rate at which the bucket fills, with the unit of a link's rate.
        rate: f64 = required_rate(8.0, 1e14), "RFC 3290 appendix A (strict conformance)";
        /// Size of the bucket, which is full at the start: the bytes that may pass at once after a pause.
        burst: f64 = required_size(1.0, 1e12), "RFC 3290 appendix A (strict conformance)";
    }
}

/// A token bucket. Tokens are counted in bits x ps/s, in which the rate of whole bit/s fills without rounding.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate_bps: u128,
    size: u128,
    tokens: u128,
    /// Time for which `tokens` is counted.
    at: Time,
}

/// Tokens of `bytes`.
fn tokens_of(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(Time::SECOND.0)
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(p: &BucketParameters) -> Self {
        let size = tokens_of(p.burst as u64);
        Self { rate_bps: p.rate as u128, size, tokens: size, at: Time::ZERO }
    }

    /// Takes the tokens of a packet at `now`. Returns false, and takes none, if there are too few.
    pub(super) fn take(&mut self, now: Time, bytes: u64) -> bool {
        let added = u128::from(now.since(self.at).0) * self.rate_bps;
        self.tokens = self.size.min(self.tokens + added);
        self.at = self.at.max(now);
        let needed = tokens_of(bytes);
        let enough = needed <= self.tokens;
        if enough {
            self.tokens -= needed;
        }
        enough
    }

    /// Earliest time at which the bucket has the tokens of a packet of `bytes`; never for one larger than the bucket.
    pub(super) fn ready(&self, bytes: u64) -> Time {
        let needed = tokens_of(bytes);
        if needed > self.size {
            return Time::FAR;
        }
        let wait = needed.saturating_sub(self.tokens).div_ceil(self.rate_bps);
        self.at.later(Time(u64::try_from(wait).unwrap_or(u64::MAX))).min(Time::FAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(rate: f64, burst: f64) -> Bucket {
        Bucket::new(&BucketParameters { rate, burst })
    }

    #[test]
    fn the_first_burst_is_the_bucket_and_the_rest_comes_at_the_rate() {
        // 8 Mbit/s are a byte each microsecond.
        let us = |us: u64| Time(us * 1_000_000);
        let mut bucket = bucket(8e6, 3000.0);
        assert!(bucket.take(us(0), 1500) && bucket.take(us(0), 1500) && !bucket.take(us(0), 1));
        assert_eq!(bucket.ready(1000), us(1000));
        assert!(!bucket.take(Time(us(1000).0 - 1), 1000) && bucket.take(us(1000), 1000));
        // After a pause the bucket is full and no more.
        assert!(bucket.take(us(1_000_000), 3000) && !bucket.take(us(1_000_000), 1));
        assert_eq!(bucket.ready(3001), Time::FAR);
    }

    proptest! {
        /// Over any interval, the bytes that pass are at most burst + rate x interval; and a packet that is refused would
        /// exceed this bound.
        #[test]
        fn what_passes_conforms(
            rate in 1000_u64..1_000_000_000, burst in 1500_u64..100_000,
            packets in proptest::collection::vec((0_u64..5_000_000_000, 40_u64..1500), 1..200),
        ) {
            let mut bucket = bucket(rate as f64, burst as f64);
            let (mut now, mut passed) = (Time::ZERO, Vec::<(Time, u64)>::new());
            for (gap, bytes) in packets {
                now += Time(gap);
                let passes = bucket.take(now, bytes);
                let mut sum = u128::from(bytes);
                let mut within = tokens_of(bytes) <= tokens_of(burst);
                for &(at, earlier) in passed.iter().rev() {
                    sum += u128::from(earlier);
                    let bound = tokens_of(burst) + u128::from((now - at).0) * u128::from(rate);
                    within &= sum * 8 * u128::from(Time::SECOND.0) <= bound;
                }
                prop_assert_eq!(passes, within);
                if passes { passed.push((now, bytes)); }
            }
        }
    }
}
