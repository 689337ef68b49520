//! Size of a burst of a sender with segmentation offload, as in Linux 6.12 (`tcp_tso_autosize`).

use elephan_cc::Algorithm;

use super::constants::{GSO_MAX_BYTES, MIN_TSO_SEGS, PACING_CA_RATIO, PACING_SS_RATIO, TSO_RTT_US};
use super::pacing;
use crate::endpoint::sender::Sender;

/// A burst carries the data of 2^-10 s at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;
/// Upper bound of the relative rounding error of a calculated rate, plus one.
const ROUNDING: f64 = 1.0 + 1e-9;
/// Smallest RTT, s, from which [`GSO_MAX_BYTES`] adds nothing to a burst: more than 16 times 2^9 µs.
const LONG_RTT_S: f64 = 0.0082;
/// Corrects a number of microseconds that rounding put just below a whole number.
const WHOLE: f64 = 1e-3;
/// Corrects a number of bytes that rounding put just below a whole number; Linux's rates are whole bytes per second.
const WHOLE_BYTE: f64 = 1e-6;
/// Rate, bit/s, below which algorithms that pace send single segments (`bbr_min_tso_segs`).
const SLOW_BPS: f64 = 1.2e6;

impl Sender {
    /// Pacing rate of the socket, segments/s, if the segments below `next` have been sent when Linux sets it; `None` while it
    /// is unknown.
    pub(in crate::endpoint) fn socket_rate(&self, next: u32) -> Option<f64> {
        if self.needs.pacing {
            let own = self.algorithm.pacing_rate();
            if own.is_some() || !(self.stack.pacing && self.needs.shares_pacing) {
                return own;
            }
        }
        let srtt = self.rtt.srtt();
        let ratio = || pacing::ratio(self.stats.cwnd, self.algorithm.ssthresh());
        (srtt > 0.0).then(|| ratio() * self.rate_window(next) / srtt)
    }

    /// Segments that the rate lets leave in an RTT.
    fn rate_window(&self, next: u32) -> f64 {
        let outstanding = if self.buffer.is_offloaded() { next - self.board.una() } else { 1 };
        self.stats.cwnd.max(f64::from(outstanding))
    }

    /// The smaller of `segments` and the largest burst at the rate of [`Sender::socket_rate`].
    #[inline(always)]
    pub(in crate::endpoint) fn within_burst(&self, segments: u32, next: u32) -> u32 {
        let slowest = if self.needs.pacing { 1 } else { self.buffer.smallest_burst() };
        if segments <= slowest || self.is_within_lowest_rate(segments) {
            return segments;
        }
        if self.is_rate_of_smallest(next) {
            return segments.min(MIN_TSO_SEGS);
        }
        self.within_rate(segments, next)
    }

    /// True if a lower bound of the window's rate is sufficient for a burst of `segments`. This test needs no division,
    /// and is true for most bursts of large windows.
    #[inline(always)]
    fn is_within_lowest_rate(&self, segments: u32) -> bool {
        let srtt = self.rtt.srtt();
        let needed = f64::from(segments) * (BURSTS_PER_SECOND * ROUNDING) * srtt;
        !self.needs.pacing
            && srtt > 0.0
            && PACING_CA_RATIO * self.stats.cwnd >= needed
            && segments.saturating_mul(self.stack.payload_bytes) <= GSO_MAX_BYTES
    }

    /// True if an upper bound of the window's rate allows only the smallest bursts. This test needs no division, and is
    /// true for most bursts of small windows.
    #[inline(always)]
    fn is_rate_of_smallest(&self, next: u32) -> bool {
        let fewest = f64::from(MIN_TSO_SEGS + 1) * BURSTS_PER_SECOND * self.rtt.srtt();
        let most = PACING_SS_RATIO * ROUNDING * self.rate_window(next);
        !self.needs.pacing && most < fewest && self.rtt.smallest() >= LONG_RTT_S
    }

    /// [`Sender::within_burst`] by the rate.
    #[inline(never)]
    fn within_rate(&self, segments: u32, next: u32) -> u32 {
        let payload = self.stack.payload_bytes;
        let Some(bytes_per_s) = self.socket_rate(next).map(|segments| segments * f64::from(payload)) else {
            return segments.min(self.buffer.full());
        };
        let (bytes, smallest) = match self.needs.bursts_per_s {
            Some(bursts) => (bytes_at(bytes_per_s, bursts.into(), 0), MIN_TSO_SEGS),
            None => {
                let is_slow = self.needs.pacing && bytes_per_s * 8.0 < SLOW_BPS;
                (bytes_at(bytes_per_s, BURSTS_PER_SECOND, self.extra()), if is_slow { 1 } else { MIN_TSO_SEGS })
            }
        };
        if segments.saturating_mul(payload) <= bytes {
            return segments;
        }
        segments.min((bytes / payload).max(smallest))
    }

    /// Bytes that are added to a burst: a fraction of [`GSO_MAX_BYTES`] that halves with each 2^9 µs of the smallest RTT.
    fn extra(&self) -> u32 {
        let halvings = ((self.rtt.smallest() * 1e6 + WHOLE) / TSO_RTT_US) as u32;
        GSO_MAX_BYTES.checked_shr(halvings).unwrap_or(0)
    }
}

/// Bytes of a burst if `bursts` in a second carry the rate, and each has `extra` more.
fn bytes_at(bytes_per_s: f64, bursts: f64, extra: u32) -> u32 {
    ((bytes_per_s / bursts + WHOLE_BYTE) as u32).saturating_add(extra).min(GSO_MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::Bench;

    fn largest_burst(bench: &Bench) -> u32 {
        bench.sender.within_burst(u32::MAX, bench.sender.next)
    }

    #[test]
    fn a_burst_carries_a_millisecond_of_the_pacing_rate_and_more_on_a_short_path() {
        // Window in segments, RTT in µs, and the burst: 1.2 windows per RTT (tcp_pacing_ca_ratio) for 1/1024 s, plus
        // 65,343 bytes halved once for each 512 µs, in segments of 1,448 bytes.
        let cases = [
            (100, 100_000, 2),   // 1.17 segments, but two at least
            (1000, 100_000, 11), // 11.7 segments
            (4000, 100_000, 45), // 46.9 segments, limited by the buffer of 45
            (10, 100, 45),       // 117 segments
            (64, 25_000, 3),     // 3 segments exactly
            (10, 1000, 34),      // 11.7 segments and half of 45.08
            (100, 4000, 29),     // 29.3 segments and 1/128 of 45.08
        ];
        for (window, rtt_us, burst) in cases {
            let bench = Bench::start(window, rtt_us, None);
            assert_eq!(bench.wire.sent.len(), window as usize, "the first window leaves at once");
            assert_eq!(largest_burst(&bench), burst, "window {window}, RTT {rtt_us} µs");
        }
    }

    #[test]
    fn prague_has_bursts_of_a_quarter_of_the_time_and_no_larger_ones_on_a_short_path() {
        // Two windows per RTT in slow start for 2^-12 s, with the segment that the first ACK adds: 0.49 segments, but two at
        // least, 4.9, 48.9, limited by the buffer of 45, and 5.4.
        for (window, rtt_us, burst) in [(100, 100_000, 2), (1000, 100_000, 4), (1000, 10_000, 45), (10, 1000, 5)] {
            let mut bench = Bench::start_prague(window, rtt_us);
            bench.acknowledge(1, rtt_us);
            assert_eq!(largest_burst(&bench), burst, "window {window}, RTT {rtt_us} µs");
        }
    }

    #[test]
    fn the_test_without_a_division_accepts_only_bursts_that_the_rate_allows() {
        let mut accepted = 0;
        for (window, rtt_us) in [(10, 1000), (100, 4000), (100, 100_000), (1000, 100_000), (4000, 100_000)] {
            let sender = Bench::start(window, rtt_us, None).sender;
            for segments in (1..50).filter(|&segments| sender.is_within_lowest_rate(segments)) {
                assert_eq!(sender.within_rate(segments, sender.next), segments, "window {window}, RTT {rtt_us} µs");
                accepted += 1;
            }
        }
        assert!(accepted > 50, "{accepted} bursts");
    }

    #[test]
    fn the_test_for_the_smallest_bursts_accepts_only_rates_that_allow_no_others() {
        let mut accepted = 0;
        for (window, rtt_us) in [(10, 8000), (10, 9000), (40, 20_000), (76, 50_000), (100, 50_000), (4000, 100_000)] {
            let sender = Bench::start(window, rtt_us, None).sender;
            if sender.is_rate_of_smallest(sender.next) {
                assert_eq!(sender.within_rate(u32::MAX, sender.next), 2, "window {window}, RTT {rtt_us} µs");
                accepted += 1;
            }
        }
        assert_eq!(accepted, 2, "10 in 9 ms, 76 in 50 ms");
    }
}
