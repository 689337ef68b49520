//! Transfers of a source as sums and distributions, if the run does not record each of them.
//!
//! All sums are of integers, so they are exact, do not depend on the order in which transfers end, and can be added
//! over runs. The width of a distribution's bucket is 2⁻⁹ of its lower edge, so the bucket's middle is within 0.1 % of
//! all values in the bucket.

use std::collections::BTreeMap;

use super::transfer::Transfer;
use crate::spec::{Measure, SourceSpec, Spec};
use crate::time::Time;

/// Inverse of the unit of a sum of quotients; the unit is 2⁻³².
const FRACTION: f64 = (1_u64 << 32) as f64;

/// Number of mantissa bits that the bucket of a number ignores; 9 of 52 bits are kept.
const LEFT_OUT_BITS: u32 = 52 - 9;

/// Counts of positive numbers in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets(BTreeMap<u32, u64>);

impl Buckets {
    fn add(&mut self, value: f64) {
        *self.0.entry((value.to_bits() >> LEFT_OUT_BITS) as u32).or_default() += 1;
    }

    /// Lower edge, upper edge and count of each bucket that is not empty.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let edge = |bucket: u32| f64::from_bits(u64::from(bucket) << LEFT_OUT_BITS);
        self.0.iter().map(move |(&bucket, &count)| (edge(bucket), edge(bucket + 1), count))
    }
}

/// Sum of quotients, in units of 2⁻³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u128);

impl Sum {
    fn add(&mut self, value: f64) {
        self.0 += (value * FRACTION) as u128;
    }

    /// The sum.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0 as f64 / FRACTION
    }
}

/// Sums over the transfers of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Transfers that began.
    pub begun: u64,
    /// Transfers that completed.
    pub completed: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Transfers that began in the measurement window.
    pub begun_measured: u64,
    /// Segments of the transfers that began in the measurement window.
    pub offered_segments: u64,
    /// Sums over the transfers that began in the measurement window and completed.
    pub finished: Finished,
}

/// Sums over transfers that began in the measurement window and completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Number of transfers.
    pub count: u64,
    /// Sum of the transfers' segments.
    pub segments: u64,
    /// Sum of the transfers' durations, ps.
    pub duration_ps: u128,
    /// Sum of the transfers' rates: segments over durations, 1/s.
    pub rates: Sum,
    /// Sum of the transfers' slowdowns: the duration divided by the lower bound of the duration.
    pub slowdowns: Sum,
    /// Distribution of the transfers' durations, s.
    pub durations: Buckets,
    /// Distribution of the transfers' slowdowns.
    pub slowdown: Buckets,
    /// Distribution of the transfers' sizes, segments.
    pub sizes: Buckets,
}

/// Properties of a source that are needed for the source's summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Start of the measurement window.
    pub(super) from: Time,
    pub(super) to: Time,
    /// Time to send a segment at the rate of the slowest link of the path, ps.
    pub(super) segment_ps: f64,
}

impl Terms {
    pub(super) fn new(spec: &Spec, source: &SourceSpec) -> Self {
        let flow = &source.flow;
        let bits = f64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8.0;
        let slowest_bps = flow.path.iter().map(|&link| spec.links[link].rate_bps).min().unwrap_or(1);
        let Measure { from_ps, to_ps } = spec.measure;
        Self { from: Time(from_ps), to: Time(to_ps), segment_ps: bits * 1e12 / slowest_bps as f64 }
    }
}

impl Summary {
    /// Records the start of a transfer.
    pub(super) fn begin(&mut self, start: Time, segments: u32, terms: &Terms) {
        self.begun += 1;
        if start >= terms.from && start < terms.to {
            self.begun_measured += 1;
            self.offered_segments += u64::from(segments);
        }
    }

    /// Records the end of a transfer, or of the run during a transfer.
    pub(super) fn end(&mut self, transfer: &Transfer, terms: &Terms) {
        self.retransmits += transfer.totals.retransmits;
        if transfer.completed == Time::NEVER {
            return;
        }
        self.completed += 1;
        if transfer.start < terms.from || transfer.start >= terms.to {
            return;
        }
        let duration = transfer.completed.since(transfer.start);
        let segments = f64::from(transfer.segments);
        let least_ps = transfer.rtt.0 as f64 + segments * terms.segment_ps;
        let slowdown = duration.0 as f64 / least_ps;
        let Finished { count, segments: sum, duration_ps, rates, slowdowns, durations, slowdown: buckets, sizes } =
            &mut self.finished;
        *count += 1;
        *sum += u64::from(transfer.segments);
        *duration_ps += u128::from(duration.0);
        rates.add(segments / duration.seconds());
        slowdowns.add(slowdown);
        durations.add(duration.seconds());
        buckets.add(slowdown);
        sizes.add(segments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SenderTotals;
    use proptest::prelude::*;

    const TERMS: Terms = Terms { from: Time(1000), to: Time(2_000_000), segment_ps: 10.0 };

    fn summed(transfers: &[Transfer]) -> Summary {
        let mut summary = Summary::default();
        for transfer in transfers {
            summary.begin(transfer.start, transfer.segments, &TERMS);
            summary.end(transfer, &TERMS);
        }
        summary
    }

    fn transfers() -> impl Strategy<Value = Vec<Transfer>> {
        let one = (0_u64..3_000_000, 1_u32..100_000, 0_u64..1_000_000, 1_u64..1 << 50, any::<bool>());
        let transfer = one.prop_map(|(start, segments, rtt, duration, ends)| Transfer {
            start: Time(start),
            segments,
            rtt: Time(rtt),
            completed: if ends { Time(start + duration) } else { Time::NEVER },
            user: None,
            totals: SenderTotals { retransmits: u64::from(segments % 7), ..SenderTotals::default() },
        });
        proptest::collection::vec(transfer, 1..200)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_rows_in_any_order(rows in transfers(), turn in 0_usize..200) {
            let summary = summed(&rows);
            let mut turned = rows.clone();
            turned.rotate_left(turn % rows.len());
            prop_assert_eq!(&summed(&turned), &summary);
            let inside = |t: &&Transfer| t.start >= TERMS.from && t.start < TERMS.to;
            let done: Vec<&Transfer> = rows.iter().filter(inside).filter(|t| t.completed != Time::NEVER).collect();
            prop_assert_eq!(summary.begun_measured as usize, rows.iter().filter(inside).count());
            prop_assert_eq!(summary.completed as usize, rows.iter().filter(|t| t.completed != Time::NEVER).count());
            prop_assert_eq!(summary.retransmits, rows.iter().map(|t| t.totals.retransmits).sum::<u64>());
            let finished = &summary.finished;
            prop_assert_eq!(finished.count as usize, done.len());
            prop_assert_eq!(finished.duration_ps, done.iter().map(|t| u128::from((t.completed - t.start).0)).sum::<u128>());
            let rates: f64 = done.iter().map(|t| f64::from(t.segments) / (t.completed - t.start).seconds()).sum();
            prop_assert!((finished.rates.get() - rates).abs() <= 1e-9 * rates.max(1.0));
        }

        #[test]
        fn a_bucket_holds_its_values_within_a_tenth_of_a_percent(rows in transfers()) {
            let summary = summed(&rows);
            let inside = |t: &&Transfer| t.start >= TERMS.from && t.start < TERMS.to && t.completed != Time::NEVER;
            let mut exact: Vec<f64> = rows.iter().filter(inside).map(|t| (t.completed - t.start).seconds()).collect();
            exact.sort_by(f64::total_cmp);
            let held: Vec<(f64, f64)> = summary.finished.durations.iter().flat_map(|(low, high, count)| (0..count).map(move |_| (low, high))).collect();
            prop_assert_eq!(held.len(), exact.len());
            for ((low, high), value) in held.into_iter().zip(exact) {
                prop_assert!(low <= value && value < high);
                prop_assert!(((low + high) / 2.0 / value - 1.0).abs() < 0.001);
            }
        }
    }
}
