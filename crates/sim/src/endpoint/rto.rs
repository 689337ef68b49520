//! Retransmission timeout, RFC 6298 (with RFC 7323 timestamps, so that every ACK gives a sample), or with the estimator of
//! Linux 6.12 (`tcp_rtt_estimator`).

use super::jiffies;
use crate::time::Time;

/// Estimator of the RTT, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct Rto {
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt: f64,
    rttvar: f64,
    /// `Some` if the estimator is that of Linux.
    linux: Option<Linux>,
    initial: Time,
    backoff: u32,
    min: Time,
    max: Time,
    granularity: f64,
}

/// Linux's estimator, in whole microseconds (`srtt_us`, `mdev_us`, `mdev_max_us`, `rttvar_us`): a mean deviation that grows
/// with a rising RTT at once and falls slowly with a falling RTT, and the maximum of this deviation over a round trip.
/// The smoothed RTT is stored multiplied by eight, the deviations by four, as the formula of the timeout needs them.
#[derive(Clone, Copy, Debug, Default)]
struct Linux {
    smoothed: i64,
    mean: i64,
    highest: i64,
    deviation: i64,
    /// Next segment at the start of the round trip (`rtt_seq`).
    round: u32,
    /// Unit of the timeout, into which Linux rounds it up before it doubles it (`icsk_rto`).
    jiffy: Time,
}

/// Microseconds of a time in s; rounded, since the time in s is inexact.
#[inline(always)]
fn whole_us(seconds: f64) -> i64 {
    (seconds * 1e6 + 0.5) as i64
}

impl Rto {
    /// State before the first sample.
    pub fn new(initial: Time, min: Time, max: Time, granularity: Time) -> Self {
        let granularity = granularity.seconds();
        Self { srtt: 0.0, rttvar: 0.0, linux: None, initial, backoff: 0, min, max, granularity }
    }

    /// Uses Linux's estimator, with timeouts in units of `jiffy`; zero for exact timeouts.
    pub fn of_linux(mut self, jiffy: Time) -> Self {
        self.linux = Some(Linux { jiffy, ..Linux::default() });
        self
    }

    /// The smoothed RTT as a time; Linux stores eighths of a microsecond.
    pub fn smoothed(&self) -> Time {
        self.linux.map_or_else(|| Time::from_seconds(self.srtt), |linux| Time(linux.smoothed as u64 * 125_000))
    }

    /// Twice the smoothed RTT; Linux truncates it to microseconds.
    pub fn twice_smoothed(&self) -> Time {
        let linux = self.linux.map(|linux| Time((linux.smoothed >> 2) as u64 * Time::MICROSECOND.0));
        linux.unwrap_or_else(|| Time::from_seconds(2.0 * self.srtt))
    }

    /// Takes an RTT sample, s, of a connection with the oldest outstanding segment `una` and the next segment `next`.
    #[inline]
    pub fn sample_at(&mut self, rtt: f64, una: u32, next: u32) {
        match self.linux {
            None => self.sample(rtt),
            Some(linux) => self.sample_of_linux(whole_us(rtt), una, next, linux),
        }
    }

    /// Linux's rounding is that of its shifts. The smoothed RTT is therefore a fraction of a microsecond too large.
    fn sample_of_linux(&mut self, us: i64, una: u32, next: u32, mut linux: Linux) {
        let floor = whole_us(self.granularity);
        self.backoff = 0;
        if linux.smoothed == 0 {
            let highest = (2 * us).max(floor);
            linux = Linux { smoothed: 8 * us, mean: 2 * us, highest, deviation: highest, round: next, ..linux };
        } else {
            let error = us - (linux.smoothed >> 3);
            linux.smoothed += error;
            let change = error.abs() - (linux.mean >> 2);
            linux.mean += if error < 0 && change > 0 { change >> 3 } else { change };
            if linux.mean > linux.highest {
                linux.highest = linux.mean;
                linux.deviation = linux.deviation.max(linux.mean);
            }
            if una > linux.round {
                if linux.highest < linux.deviation {
                    linux.deviation -= (linux.deviation - linux.highest) >> 2;
                }
                (linux.round, linux.highest) = (next, floor);
            }
        }
        linux.smoothed = linux.smoothed.max(1);
        self.srtt = linux.smoothed as f64 / 8e6;
        self.linux = Some(linux);
    }

    /// Takes an RTT sample, s (RFC 6298 section 2: α = 1/8, β = 1/4, K = 4).
    #[inline]
    pub fn sample(&mut self, rtt: f64) {
        if self.srtt == 0.0 {
            self.srtt = rtt;
            self.rttvar = rtt * 0.5;
        } else {
            self.rttvar += 0.25 * ((self.srtt - rtt).abs() - self.rttvar);
            self.srtt += 0.125 * (rtt - self.srtt);
        }
        self.backoff = 0;
    }

    /// Current timeout, with its backoff. The timeout is computed on demand, since most timers are restarted and never
    /// expire.
    pub fn timeout(&self) -> Time {
        let base = if self.srtt == 0.0 {
            self.initial
        } else if let Some(linux) = self.linux {
            let us = (linux.smoothed >> 3) + linux.deviation;
            jiffies::round_up(linux.jiffy, Time(us as u64 * Time::MICROSECOND.0).clamp(self.min, self.max))
        } else {
            Time::from_seconds(self.srtt + (4.0 * self.rttvar).max(self.granularity)).clamp(self.min, self.max)
        };
        Time(base.0.saturating_mul(1 << self.backoff)).min(self.max)
    }

    /// Doubles the timeout after the timer expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// True if the timer expired since the last sample.
    pub fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = Time(1_000_000_000_000);

    #[test]
    fn two_samples_give_the_published_estimate() {
        let mut rto = Rto::new(SECOND, Time(1), Time(60 * SECOND.0), Time::ZERO);
        assert_eq!(rto.timeout(), SECOND);
        rto.sample(0.1);
        rto.sample(0.2);
        assert!((rto.srtt - 0.1125).abs() < 1e-12);
        assert!((rto.timeout().seconds() - 0.3625).abs() < 1e-9);
    }

    #[test]
    fn linux_raises_the_deviation_at_once_and_lowers_it_once_a_round_trip() {
        let mut rto = Rto::new(SECOND, Time(1), Time(60 * SECOND.0), Time(SECOND.0 / 5)).of_linux(Time::ZERO);
        rto.sample_at(0.1, 0, 10);
        assert!((rto.timeout().seconds() - 0.3).abs() < 1e-9, "0.1 s and 0.2 s, the floor");
        rto.sample_at(0.5, 5, 20);
        assert!((rto.srtt - 0.15).abs() < 1e-12);
        assert!((rto.timeout().seconds() - 0.7).abs() < 1e-9, "0.15 s, and 0.2 s + 0.4 s - 0.2 s / 4");
        // A falling RTT changes the deviation by an eighth of the change: 0.55 s + (0.41 s - 0.1375 s) / 8.
        let before = rto.srtt;
        rto.sample_at(before - 0.41, 6, 25);
        let highest = 0.55 + (0.41 - 0.1375) / 8.0;
        assert!((rto.timeout().seconds() - (before - 0.41 / 8.0) - highest).abs() < 1e-5);
        // The next round trip begins with segment 11 acknowledged; a constant RTT then lowers the deviation by a quarter of
        // its excess over the floor.
        rto.sample_at(rto.srtt, 11, 30);
        rto.sample_at(rto.srtt, 31, 50);
        assert!(rto.timeout().seconds() < rto.srtt + highest);
    }

    #[test]
    fn linux_rounds_the_timeout_up_to_jiffies_before_it_doubles_it() {
        let jiffy = Time(4 * Time::MILLISECOND.0);
        let mut rto = Rto::new(SECOND, Time(1), Time(60 * SECOND.0), Time(SECOND.0 / 5)).of_linux(jiffy);
        rto.sample_at(0.1001, 0, 10);
        assert_eq!(rto.timeout(), Time(304 * Time::MILLISECOND.0), "300.3 ms");
        rto.back_off();
        assert_eq!(rto.timeout(), Time(608 * Time::MILLISECOND.0), "not 604 ms");
    }

    #[test]
    fn the_minimum_holds_and_backoff_doubles_until_a_sample_comes() {
        let mut rto = Rto::new(SECOND, SECOND, Time(3 * SECOND.0), Time::ZERO);
        rto.sample(0.1);
        assert_eq!(rto.timeout(), SECOND);
        rto.back_off();
        assert_eq!(rto.timeout(), Time(2 * SECOND.0));
        rto.back_off();
        assert_eq!(rto.timeout(), Time(3 * SECOND.0));
        assert!(rto.is_backed_off());
        rto.sample(0.1);
        assert_eq!(rto.timeout(), SECOND);
    }

    #[test]
    fn linux_s_smoothed_rtt_is_up_to_a_microsecond_too_large() {
        let mut rto = Rto::new(SECOND, Time(1), Time(60 * SECOND.0), Time::ZERO).of_linux(Time::ZERO);
        for us in (100_000..100_040).rev().chain([100_000; 100]) {
            rto.sample_at(f64::from(us) * 1e-6, 0, 10);
        }
        assert_eq!(rto.smoothed(), Time(100_000_875_000), "the seven eighths are never subtracted");
        assert_eq!(rto.twice_smoothed(), Time(200_001_000_000), "truncated from 200,001.75 µs");
    }
}
