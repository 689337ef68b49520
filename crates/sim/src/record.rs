//! Recorded samples: plain columns with one row for each sample time. The binding converts the columns to tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use elephan_cc::Observe;

use crate::time::Time;

/// Sample times: multiples of the period, and the beginning and the end of the measurement window.
#[must_use]
pub fn sample_times(period: Time, from: Time, to: Time, end: Time) -> Arc<[Time]> {
    let mut times = vec![from, to];
    if period > Time::ZERO {
        times.extend((0..=end.0 / period.0).map(|k| Time(k * period.0)));
    }
    times.sort_unstable();
    times.dedup();
    times.into()
}

/// Position in the list of sample times.
#[derive(Clone, Debug)]
pub struct Clock {
    times: Arc<[Time]>,
    next: usize,
}

impl Clock {
    /// A clock before the first sample time.
    #[must_use]
    pub fn new(times: &Arc<[Time]>) -> Self {
        Self { times: times.clone(), next: 0 }
    }

    /// A clock before the first sample time at or after `start`.
    #[must_use]
    pub fn starting(times: &Arc<[Time]>, start: Time) -> Self {
        Self { times: times.clone(), next: times.partition_point(|&time| time < start) }
    }

    /// The next sample time.
    #[must_use]
    #[inline]
    pub fn due(&self) -> Time {
        self.times.get(self.next).copied().unwrap_or(Time::NEVER)
    }

    /// Moves to the next sample time.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Number of samples taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.next
    }
}

/// State of a link at a sample time. Counts are since the start of the run, queue statistics since the last sample.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// Packets waiting at the sample time.
    pub queue: u64,
    /// Time average of the waiting packets.
    pub queue_mean: f64,
    /// Smallest number of waiting packets.
    pub queue_min: u64,
    /// Largest number of waiting packets.
    pub queue_max: u64,
    /// ∫ packets dt since the start of the run.
    pub integral_packet_seconds: f64,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets dropped or lost.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets that were reordered.
    pub reordered: u64,
    /// Packets that were duplicated.
    pub duplicated: u64,
    /// Packets whose last bit has left.
    pub delivered: u64,
    /// Bytes of the packets whose last bit has left.
    pub delivered_bytes: u64,
}

/// The samples of a link, in the order of the sample times.
#[derive(Clone, Debug)]
pub struct LinkSamples {
    clock: Clock,
    last: Time,
    /// Samples, one for each sample time.
    pub rows: Vec<LinkSample>,
}

impl LinkSamples {
    /// An empty list of samples.
    #[must_use]
    pub fn new(times: &Arc<[Time]>) -> Self {
        Self { clock: Clock::new(times), last: Time::ZERO, rows: Vec::with_capacity(times.len()) }
    }

    /// The next sample time.
    #[must_use]
    #[inline]
    pub fn due(&self) -> Time {
        self.clock.due()
    }

    /// Samples of the first `times` sample times.
    pub(crate) fn first(&self, times: usize) -> Self {
        Self { clock: self.clock.clone(), last: self.last, rows: self.rows[..times].to_vec() }
    }

    pub(crate) fn since_last(&self, at: Time) -> Time {
        at - self.last
    }

    pub(crate) fn push(&mut self, sample: LinkSample) {
        self.last = self.due();
        self.rows.push(sample);
        self.clock.advance();
    }
}

/// A value of an internal variable of an algorithm at a sample time.
#[derive(Clone, Copy, Debug)]
pub struct InternalValue {
    /// Index of the sample time.
    pub time: u32,
    /// Index of the variable's name.
    pub variable: u32,
    /// Value; not finite while it is unknown.
    pub value: f64,
}

/// Internal variables of a sender's algorithm, in the order of the sample times.
#[derive(Clone, Debug, Default)]
pub struct Internals {
    /// Names of the variables.
    pub names: Vec<String>,
    /// Values.
    pub rows: Vec<InternalValue>,
}

impl Internals {
    /// Adds the variables of `algorithm` at sample time number `time`.
    pub(crate) fn sample(&mut self, time: usize, algorithm: &dyn Observe) {
        let Self { names, rows } = self;
        let mut next = 0;
        algorithm.observe(&mut |name, value| {
            // An algorithm reports its variables in the same order each time.
            let expected = names.get(next).is_some_and(|known| known == name);
            let place = if expected { Some(next) } else { names.iter().position(|known| known == name) };
            let variable = place.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            next = variable + 1;
            rows.push(InternalValue { time: time as u32, variable: variable as u32, value });
        });
    }
}

/// A sender's samples, and the interval in which it is active.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// Start of the flow, jitter included.
    pub start: Time,
    /// Time at which the last segment of a sized transfer was acknowledged.
    pub completed: Option<Time>,
    /// Recorded samples, in the order of the sample times.
    pub samples: &'a [SenderSample],
}

/// A sender whose samples can be reduced and dropped during the run.
pub(crate) trait Sampled {
    /// The sender's samples so far.
    fn sampled(&self) -> Sending<'_>;

    /// Drops the `count` oldest samples.
    fn forget(&mut self, count: usize);
}

/// State of a sender at a sample time. Counts are since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct SenderSample {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments; infinite before the first loss.
    pub ssthresh: f64,
    /// Smoothed RTT, s; NaN before the first sample.
    pub srtt: f64,
    /// Latest RTT sample, s; NaN before the first sample.
    pub rtt: f64,
    /// Segments outstanding.
    pub in_flight: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Responses to ECN echoes.
    pub ecn_events: u32,
    /// Retransmissions.
    pub retransmits: u64,
    /// Recovery episodes.
    pub loss_events: u64,
}

/// Totals of a sender since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTotals {
    /// Segments put on the wire, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Recovery episodes that began with a loss.
    pub loss_events: u64,
    /// Responses to ECN echoes, as to a loss (RFC 3168).
    pub ecn_events: u64,
    /// Segments acknowledged with an ECN echo.
    pub marked: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries and timeouts that were spurious and undone.
    pub undone: u64,
    /// ACKs processed.
    pub acks: u64,
}

/// Statistics inside the measurement window.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Smallest RTT, s.
    pub rtt_min: f64,
    /// Σ RTT, s.
    pub rtt_sum: f64,
    /// Samples of RTT.
    pub rtt_count: u64,
    /// ∫ cwnd dt, segments × s.
    pub cwnd_integral: f64,
    /// Largest cwnd.
    pub cwnd_max: f64,
    /// Number of send loops, from the start of the measurement window to the end of the run.
    pub sends: u64,
    /// Number of send loops that the receive window ended.
    pub receiver_limited: u64,
    /// Distribution of RTT.
    pub rtt: RttHistogram,
}

/// State of a receiver at a sample time. Counts are since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverSample {
    /// Distinct segments that arrived.
    pub delivered: u64,
    /// Bytes on the wire that arrived, headers and duplicates included.
    pub wire_bytes: u64,
    /// Payload bytes of these segments beyond the payload of as many whole segments: below zero if some were parts, and
    /// above zero if a transport without segments has also delivered a part of the next one.
    pub odd_bytes: i64,
}

impl ReceiverSample {
    /// Payload of the distinct segments that arrived, if a whole segment has `payload_bytes`.
    #[must_use]
    pub fn delivered_bytes(&self, payload_bytes: u32) -> u64 {
        (self.delivered * u64::from(payload_bytes)).saturating_add_signed(self.odd_bytes)
    }
}

/// A write of an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Time of the write, or of the flow's start if that is later.
    pub at: Time,
    /// User data, bytes.
    pub bytes: u64,
    /// Time at which the write's last segment was acknowledged.
    pub completed: Option<Time>,
}

/// Records of a sender.
#[derive(Clone, Debug)]
pub struct SenderRecord {
    /// Start of the flow, jitter included.
    pub start: Time,
    /// Totals since the beginning.
    pub totals: SenderTotals,
    /// Statistics inside the measurement window.
    pub measured: Measured,
    /// Samples, one for each sample time; empty if the flow is not recorded.
    pub samples: Vec<SenderSample>,
    /// Sending rate at each sample time, packets/s, for transports that have one.
    pub rates: Option<Vec<f64>>,
    /// Time at which the last segment of a sized transfer was acknowledged.
    pub completed: Option<Time>,
    /// Internal variables of the sender's algorithm, if the scenario asks for them.
    pub internals: Option<Box<Internals>>,
    /// Writes of the flow's application, if it has any.
    pub writes: Vec<Written>,
}

impl Default for SenderRecord {
    fn default() -> Self {
        let measured = Measured { rtt_min: f64::INFINITY, ..Measured::default() };
        let (totals, samples) = (SenderTotals::default(), Vec::new());
        Self {
            start: Time::ZERO,
            totals,
            measured,
            samples,
            rates: None,
            completed: None,
            internals: None,
            writes: Vec::new(),
        }
    }
}

/// Records of a receiver.
#[derive(Clone, Debug, Default)]
pub struct ReceiverRecord {
    /// Numbers of distinct segments and of bytes on the wire.
    pub totals: ReceiverSample,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// Samples, one for each sample time; empty if the flow is not recorded.
    pub samples: Vec<ReceiverSample>,
    /// Counts at the beginning and the end of the measurement window.
    pub measured: [ReceiverSample; 2],
    /// One-way delays of datagrams.
    pub delays: Option<Box<OneWayDelays>>,
}

/// One-way delays of the datagrams that arrive in the measurement window, from the application's hand-over to the last
/// bit's arrival.
#[derive(Clone, Debug)]
pub struct OneWayDelays {
    from: Time,
    to: Time,
    /// Shortest delay.
    pub min: Time,
    /// Sum of the delays, ps.
    pub sum_ps: u128,
    /// Number of delays.
    pub count: u64,
    /// Distribution of the delays.
    pub histogram: RttHistogram,
}

impl OneWayDelays {
    /// An empty record of delays, for datagrams that arrive from `from` to before `to`.
    #[must_use]
    pub fn new(from: Time, to: Time) -> Self {
        Self { from, to, min: Time::NEVER, sum_ps: 0, count: 0, histogram: RttHistogram::default() }
    }

    /// Records a datagram that was sent at `sent` and arrives at `now`.
    pub fn note(&mut self, sent: Time, now: Time) {
        if now < self.from || now >= self.to {
            return;
        }
        let delay = now - sent;
        self.min = self.min.min(delay);
        self.sum_ps += u128::from(delay.0);
        self.count += 1;
        self.histogram.add(delay);
    }

    /// Mean delay, s; `None` if no delay was recorded.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ps as f64 / self.count as f64 * 1e-12)
    }
}

/// Histogram of delays with buckets of 0.2 % width. Usual delays are counted in an array from the smallest to the
/// largest that occurred; an unusual delay has an entry in a map.
#[derive(Clone, Debug, Default)]
pub struct RttHistogram {
    counts: Vec<u32>,
    /// Bucket of the first count.
    first: usize,
    /// Counts by the lower edge of the bucket, ps.
    unusual: BTreeMap<u64, u64>,
    total: u64,
}

/// Number of mantissa bits of a bucket, whose relative width is 2⁻⁹ = 0.2 %.
const MANTISSA_BITS: u32 = 9;
/// Exponent of the array's lowest bucket: 2²⁰ ps ≈ 1 µs.
const LOWEST_EXPONENT: u32 = 20;
/// Exponent of the array's end: 2⁴⁸ ps ≈ 281 s.
const HIGHEST_EXPONENT: u32 = 48;
/// Number of buckets by which the array grows.
const BUCKETS_AT_ONCE: usize = 64;

impl RttHistogram {
    /// Counts a sample.
    #[inline]
    pub fn add(&mut self, rtt: Time) {
        self.add_times(rtt, 1);
    }

    /// Counts this number of samples of one value.
    #[inline(always)]
    pub fn add_times(&mut self, rtt: Time, times: u32) {
        self.total += u64::from(times);
        if (1 << LOWEST_EXPONENT..1 << HIGHEST_EXPONENT).contains(&rtt.0) {
            let exponent = 63 - rtt.0.leading_zeros();
            let mantissa = (rtt.0 >> (exponent - MANTISSA_BITS)) & ((1 << MANTISSA_BITS) - 1);
            let bucket = (((exponent - LOWEST_EXPONENT) as usize) << MANTISSA_BITS) + mantissa as usize;
            match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
                Some(count) => *count += times,
                None => self.widen(bucket, times),
            }
        } else {
            self.add_unusual(rtt, times);
        }
    }

    /// Counts a sample outside the array's buckets.
    #[cold]
    fn widen(&mut self, bucket: usize, times: u32) {
        let from = bucket / BUCKETS_AT_ONCE * BUCKETS_AT_ONCE;
        let (held, first) = (self.counts.len(), if self.counts.is_empty() { from } else { self.first.min(from) });
        let past = (self.first + held).max(from + BUCKETS_AT_ONCE);
        let mut counts = vec![0; past - first];
        let shift = self.first.saturating_sub(first);
        counts[shift..shift + held].copy_from_slice(&self.counts);
        counts[bucket - first] += times;
        (self.counts, self.first) = (counts, first);
    }

    #[cold]
    fn add_unusual(&mut self, rtt: Time, times: u32) {
        *self.unusual.entry(rtt.0 & !(width(rtt.0) - 1)).or_default() += u64::from(times);
    }

    /// The `q`-quantile, s: the middle of its bucket; `None` without samples.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let edge = |bucket: usize| {
            let mantissa = (bucket & ((1 << MANTISSA_BITS) - 1)) as u64 | (1 << MANTISSA_BITS);
            mantissa << (LOWEST_EXPONENT - MANTISSA_BITS + (bucket >> MANTISSA_BITS) as u32)
        };
        let usual = self.counts.iter().zip(self.first..).map(|(count, bucket)| (edge(bucket), u64::from(*count)));
        let of = |(edge, count): (&u64, &u64)| (*edge, *count);
        let below = self.unusual.range(..1 << LOWEST_EXPONENT).map(of);
        let above = self.unusual.range(1 << HIGHEST_EXPONENT..).map(of);
        let mut seen = 0;
        below.chain(usual).chain(above).find_map(|(edge, count)| {
            seen += count;
            // A bucket with a width of one ps has a single value, which is its middle.
            let middle = if width(edge) > 1 { 0.5 * width(edge) as f64 } else { 0.0 };
            (seen >= rank).then_some((edge as f64 + middle) * 1e-12)
        })
    }
}

/// Width of the bucket of a delay, ps.
fn width(delay_ps: u64) -> u64 {
    1 << (63 - (delay_ps | 1).leading_zeros()).saturating_sub(MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_times_are_the_grid_and_the_window() {
        let times = sample_times(Time(10), Time(15), Time(30), Time(35));
        assert_eq!(&*times, [Time(0), Time(10), Time(15), Time(20), Time(30)]);
        assert_eq!(&*sample_times(Time::ZERO, Time(1), Time(2), Time(9)), [Time(1), Time(2)]);
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut histogram = RttHistogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for i in 1..=1000_u64 {
            histogram.add(Time(i * Time::MILLISECOND.0));
        }
        for (q, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
            let measured = histogram.quantile(q).expect("samples were added");
            assert!((measured / expected - 1.0).abs() < 0.002, "{q}: {measured}");
        }
    }

    #[test]
    fn quantiles_of_a_picosecond_and_of_days_are_within_a_bucket() {
        let day = 86_400 * Time::SECOND.0;
        let mut histogram = RttHistogram::default();
        let delays = [1, 700, 90_000, Time::MILLISECOND.0, 300 * Time::SECOND.0, day, 50 * day];
        for delay in delays {
            histogram.add(Time(delay));
        }
        for (i, delay) in delays.into_iter().enumerate() {
            let measured = histogram.quantile((i as f64 + 0.5) / delays.len() as f64).expect("samples were added");
            assert!((measured * 1e12 / delay as f64 - 1.0).abs() < 0.002, "{delay} ps: {measured} s");
        }
    }
}
