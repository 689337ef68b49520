//! Histogram of the delay between a packet's due time and its delivery, in buckets whose width is an eighth of the
//! delay.

const STEPS_BITS: u32 = 3;
const BUCKETS: usize = (40 << STEPS_BITS) as usize;

/// A histogram of durations in ns.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Counts a duration; 0 for a packet on time.
    pub fn add(&mut self, ns: u64) {
        self.counts[Self::bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    fn bucket(ns: u64) -> usize {
        if ns < 1 << STEPS_BITS {
            return ns as usize;
        }
        let exponent = 63 - ns.leading_zeros();
        let step = (ns >> (exponent - STEPS_BITS)) & ((1 << STEPS_BITS) - 1);
        ((((exponent - STEPS_BITS + 1) << STEPS_BITS) as u64 + step) as usize).min(BUCKETS - 1)
    }

    /// Smallest duration above a bucket, ns.
    fn end(bucket: usize) -> u64 {
        let (octave, step) = (bucket >> STEPS_BITS, (bucket & ((1 << STEPS_BITS) - 1)) as u64);
        if octave == 0 { step + 1 } else { ((1 << STEPS_BITS) + step + 1) << (octave - 1) }
    }

    /// The `q`-quantile in µs, rounded up to the end of its bucket; `None` without durations.
    #[must_use]
    pub fn quantile_us(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(Self::end(bucket).min(self.max_ns.max(1)) as f64 / 1e3);
            }
        }
        None
    }

    /// Counts, quantiles and the non-empty buckets, each with its upper end, µs, and its count.
    #[must_use]
    pub fn document(&self) -> serde_json::Value {
        let buckets = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        serde_json::json!({
            "packets": self.total,
            "p50_us": self.quantile_us(0.5), "p99_us": self.quantile_us(0.99), "p9999_us": self.quantile_us(0.9999),
            "max_us": self.max_ns as f64 / 1e3,
            "histogram": buckets.map(|(k, count)| (Self::end(k) as f64 / 1e3, *count)).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_an_eighth_too_large_at_most() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_us(0.5), None);
        (1..=100_000).for_each(|ns| histogram.add(ns * 10));
        for (q, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile_us(q).expect("durations were added");
            assert!((expected..=expected * 1.125).contains(&found), "{q}: {found}");
        }
    }

    #[test]
    fn every_duration_is_below_the_end_of_its_bucket_and_not_below_the_end_of_the_one_before() {
        for ns in (0..5000).chain([1 << 20, (1 << 33) + 12_345]) {
            let bucket = Histogram::bucket(ns);
            assert!(ns < Histogram::end(bucket), "{ns}");
            assert!(bucket == 0 || ns >= Histogram::end(bucket - 1), "{ns}");
        }
    }
}
