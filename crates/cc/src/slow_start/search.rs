//! SEARCH, "Slow start Exit At Right CHokepoint": slow start ends when the path delivers clearly less than was sent one
//! round trip earlier (draft-chung-ccwg-search-09 of March 2026), or less than twice what it delivered then (revision 06
//! of March 2025, and SEARCH 3.1 for Linux).
//!
//! Variant: bins of 0.35 initial RTTs hold running totals, 10 bins are a window, and 15 further bins allow for a longer
//! RTT. Between two bins the older window is interpolated backwards; the forward step in the text of revision 09 is a
//! mistake that its authors have acknowledged. Totals are real numbers, so no bin is scaled. Bins that are older than a
//! window, after a pause, are discarded, which revision 09 makes optional. At the exit revision 06 takes back what was
//! delivered in the last two initial RTTs. Revision 09 drains the queue instead, towards what was delivered in the last
//! initial RTT (section 3.2), which is below the windows of CUBIC's congestion avoidance; here the window is kept, as
//! Firefox does.

use crate::ack::Ack;

/// Length of a window, initial RTTs (WINDOW_SIZE).
const WINDOW_RTTS: f64 = 3.5;
/// Number of bins of a window (W).
const WINDOW: usize = 10;
/// Number of further bins, by which the RTT may exceed the initial RTT (EXTRA_BINS).
const EXTRA: usize = 15;
/// Number of bins that are kept: two windows that end an RTT apart, and one bin for the interpolation.
const KEPT: usize = WINDOW + EXTRA + 1;

/// Number of the newest bins that lie behind the point of congestion: two initial RTTs.
const BEHIND: usize = (2.0 * WINDOW as f64 / WINDOW_RTTS) as usize;

/// Quantity that an earlier round trip must have had less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Segments sent one round trip ago.
    Sent,
    /// Twice the segments delivered one round trip ago.
    TwiceDelivered,
}

impl Expected {
    /// Smallest normalized difference at which slow start ends (THRESH).
    const fn threshold(self) -> f64 {
        match self {
            Self::Sent => 0.26,
            Self::TwiceDelivered => 0.35,
        }
    }
}

/// Running totals at the end of a bin, segments.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    delivered: f64,
    sent: f64,
}

/// State of SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    expected: Expected,
    bins: [Totals; KEPT],
    /// Number of the newest bin; `None` before the first RTT sample and after a pause.
    newest: Option<usize>,
    bin_s: f64,
    bin_end: f64,
    delivered: f64,
    rtt: f64,
}

impl Search {
    pub const fn new(expected: Expected) -> Self {
        let bins = [Totals { delivered: 0.0, sent: 0.0 }; KEPT];
        Self { expected, bins, newest: None, bin_s: 0.0, bin_end: 0.0, delivered: 0.0, rtt: 0.0 }
    }

    /// Counts the segments of an ACK.
    pub fn count(&mut self, ack: &Ack) {
        self.delivered += ack.acked;
        self.rtt = ack.rtt.unwrap_or(self.rtt);
    }

    /// Discards the bins, after which the next ACK begins anew with its RTT as the initial RTT.
    pub fn reset(&mut self) {
        *self = Self::new(self.expected);
    }

    /// Segments by which the window is too large, if an ACK, which is counted, shows that the path is full.
    pub fn overshoot(&mut self, ack: &Ack) -> Option<f64> {
        let sent = self.delivered + ack.in_flight;
        let Some(newest) = self.newest else {
            self.begin(ack.now, sent);
            return None;
        };
        if ack.now <= self.bin_end {
            return None;
        }
        let passed = ((ack.now - self.bin_end) / self.bin_s).floor() + 1.0;
        if passed > WINDOW as f64 {
            self.reset();
            return None;
        }
        let before = self.at(newest);
        let now = newest + passed as usize;
        for bin in newest + 1..now {
            self.bins[bin % KEPT] = before;
        }
        self.bins[now % KEPT] = Totals { delivered: self.delivered, sent };
        self.bin_end += passed * self.bin_s;
        self.newest = Some(now);
        let is_full = self.shortfall(now)? >= self.expected.threshold();
        is_full.then(|| match self.expected {
            Expected::Sent => 0.0,
            Expected::TwiceDelivered => self.delivered - self.at(now - BEHIND).delivered,
        })
    }

    fn begin(&mut self, now: f64, sent: f64) {
        self.bin_s = self.rtt * WINDOW_RTTS / WINDOW as f64;
        if self.bin_s > 0.0 {
            self.bin_end = now + self.bin_s;
            self.bins[0] = Totals { delivered: self.delivered, sent };
            self.newest = Some(0);
        }
    }

    fn at(&self, bin: usize) -> Totals {
        self.bins[bin % KEPT]
    }

    /// Normalized difference between what was expected and what was delivered in the window that ends now (norm_diff);
    /// `None` if the bins do not reach back far enough.
    fn shortfall(&self, now: usize) -> Option<f64> {
        let rtt = self.rtt / self.bin_s;
        let bins = rtt.floor();
        if bins >= EXTRA as f64 {
            return None;
        }
        let then = now.checked_sub(bins as usize).filter(|&then| then > WINDOW)?;
        let delivered = self.at(now).delivered - self.at(now - WINDOW).delivered;
        let expected = self.expected_in(then, rtt - bins);
        (expected > 0.0).then(|| (expected - delivered) / expected)
    }

    /// Expected segments in the window that ended `fraction` of a bin before the end of a bin.
    fn expected_in(&self, bin: usize, fraction: f64) -> f64 {
        let total = |bin: usize| match self.expected {
            Expected::Sent => self.at(bin).sent,
            Expected::TwiceDelivered => 2.0 * self.at(bin).delivered,
        };
        let in_window = |bin: usize| total(bin) - total(bin - WINDOW);
        fraction * in_window(bin - 1) + (1.0 - fraction) * in_window(bin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Setting;
    use crate::reno::Reno;
    use crate::testing::{Driver, close, settings};

    /// Rate and RTT of the paths of the draft's evaluation (its section on the window size), and of a wired path.
    const PATHS: [(&str, f64, f64); 5] =
        [("GEO", 1e4, 0.6), ("LEO", 1.2e4, 0.03), ("4G LTE", 4e3, 0.06), ("Wi-Fi", 2e4, 0.02), ("wired", 8e3, 0.1)];
    /// Segments delivered in the first round trip.
    const FIRST: f64 = 10.0;

    /// Segments that a full path has delivered after `t` RTTs: twice as many in each, and then `bdp` in each.
    fn delivered(t: f64, bdp: f64) -> f64 {
        let (mut total, mut round, mut begins) = (0.0, FIRST, 0.0);
        while begins < t {
            total += round * (t - begins).min(1.0);
            (round, begins) = ((2.0 * round).min(bdp), begins + 1.0);
        }
        total
    }

    /// Segments that were sent after `t` RTTs: two for each one acknowledged, after the first window.
    fn sent(t: f64, bdp: f64) -> f64 {
        FIRST + 2.0 * delivered(t, bdp)
    }

    /// First multiple of `bin`, RTTs, at which the draft's normalized difference reaches its threshold.
    fn predicted(expected: Expected, bdp: f64, bin: f64) -> f64 {
        let of = |t: f64| match expected {
            Expected::Sent => sent(t, bdp),
            Expected::TwiceDelivered => 2.0 * delivered(t, bdp),
        };
        let difference = |t: f64| {
            let wanted = of(t - 1.0) - of(t - 1.0 - WINDOW_RTTS);
            1.0 - (delivered(t, bdp) - delivered(t - WINDOW_RTTS, bdp)) / wanted
        };
        let first = (4.9 / bin) as u32;
        (first..).map(|k| f64::from(k) * bin).find(|&t| difference(t) >= expected.threshold()).expect("it rises to 0.5")
    }

    /// Time, RTTs, at which slow start ends on a path of `rate` segments/s, without a queue's effect on the RTT.
    fn measured(expected: Expected, rate: f64, rtt: f64) -> f64 {
        let mut search = Search::new(expected);
        let (bdp, mut now, step) = (rate * rtt, 0.0, rtt / 2000.0);
        loop {
            now += step;
            let [before, after] = [now - step, now].map(|t| delivered(t / rtt, bdp));
            let in_flight = sent(now / rtt, bdp) - after;
            let ack = Ack { now, acked: after - before, rtt: Some(rtt), in_flight, ..Ack::default() };
            search.count(&ack);
            if search.overshoot(&ack).is_some() {
                return now / rtt;
            }
            assert!(now < 60.0 * rtt, "slow start does not end");
        }
    }

    #[test]
    fn slow_start_ends_where_the_drafts_difference_reaches_its_threshold() {
        for expected in [Expected::Sent, Expected::TwiceDelivered] {
            for (name, rate, rtt) in PATHS {
                let want = predicted(expected, rate * rtt, WINDOW_RTTS / WINDOW as f64);
                let got = measured(expected, rate, rtt);
                assert!((got - want).abs() <= 0.05 * want, "{name} {expected:?}: {got} RTTs, expected {want}");
            }
        }
    }

    #[test]
    fn slow_start_ends_about_two_round_trips_after_the_path_is_full() {
        // Revision 06: "The 0.35 threshold value chosen does this and can be detected about 2 RTTs of reaching capacity".
        for (name, rate, rtt) in PATHS {
            let full = (rate * rtt / FIRST).log2();
            let late = predicted(Expected::TwiceDelivered, rate * rtt, 0.01) - full;
            assert!((1.5..3.0).contains(&late), "{name}: {late}");
            let sooner = predicted(Expected::Sent, rate * rtt, 0.01) - full;
            close(sooner, 2.0, 0.05);
        }
    }

    #[test]
    fn the_difference_is_0_while_the_rate_doubles_and_one_half_long_after() {
        let bins = |rounds: u32, bdp: f64| {
            let mut search = Search::new(Expected::TwiceDelivered);
            let ack = Ack { rtt: Some(1.0), ..Ack::default() };
            search.count(&ack);
            search.begin(0.0, 0.0);
            let newest = rounds as usize;
            for bin in 0..=newest {
                let delivered = delivered(bin as f64 * search.bin_s, bdp);
                search.bins[bin % KEPT] = Totals { delivered, sent: 0.0 };
            }
            search.shortfall(newest).expect("there are enough bins")
        };
        close(1.0 + bins(20, f64::INFINITY), 1.0, 0.06);
        close(bins(60, 80.0), 0.5, 1e-9);
    }

    #[test]
    fn a_pause_longer_than_a_window_discards_the_bins() {
        let mut search = Search::new(Expected::Sent);
        let ack = |now: f64| Ack { now, acked: 1.0, rtt: Some(0.1), in_flight: 10.0, ..Ack::default() };
        for i in 0..30 {
            search.count(&ack(f64::from(i) * 0.02));
            search.overshoot(&ack(f64::from(i) * 0.02));
        }
        assert!(search.newest.is_some_and(|bin| bin > 10));
        assert_eq!(search.overshoot(&ack(0.58 + 0.035 * 12.0)), None);
        assert_eq!(search.newest, None);
    }

    #[test]
    fn a_path_that_is_full_ends_the_slow_start_of_an_algorithm() {
        for form in ["search", "search-delivered"] {
            let set = settings(&Reno::ENTRY, "", &[("slow_start", Setting::Text(form))]).expect("it is right");
            let (mut d, mut r) = (Driver::new(), Reno::new(&set).expect("it is right"));
            d.start(&mut r, 10.0);
            crate::testing::run_over_link(&mut d, &mut r, 8000.0, 0.1, 4.0);
            // The BDP is 800 segments; revision 06 takes back 5 bins of 280 segments.
            let least = if form == "search" { 2400.0 } else { 1600.0 };
            assert!((least..6400.0).contains(&r.ssthresh()), "{form}: {}", r.ssthresh());
        }
    }
}
