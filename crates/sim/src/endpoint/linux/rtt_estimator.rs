//! Linux's estimator of the RTT (`tcp_rtt_estimator`), in whole microseconds: a mean deviation that grows with a rising
//! RTT at once and falls slowly with a falling RTT, and the maximum of this deviation over a round trip.

use super::jiffies;
use crate::time::Time;

/// State of the estimator. The smoothed RTT is stored multiplied by eight, the deviations by four, as the formula of the
/// timeout needs them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimator {
    /// Linux's `srtt_us`, `mdev_us`, `mdev_max_us` and `rttvar_us`.
    smoothed: i64,
    mean: i64,
    highest: i64,
    deviation: i64,
    /// Next segment at the start of the round trip (`rtt_seq`).
    round: u32,
    /// Unit of the timeout, into which Linux rounds it up before it doubles it (`icsk_rto`); zero for exact timeouts.
    jiffy: Time,
    /// Least deviation.
    floor: i64,
}

/// Microseconds of a time, rounded to the nearest.
#[inline(always)]
fn whole_us(time: Time) -> i64 {
    ((time.0 + Time::MICROSECOND.0 / 2) / Time::MICROSECOND.0) as i64
}

impl Estimator {
    /// An estimator before the first sample, whose deviation is at least `floor`.
    pub fn new(jiffy: Time, floor: Time) -> Self {
        Self { jiffy, floor: whole_us(floor), ..Self::default() }
    }

    /// Takes a sample of a connection with the oldest outstanding segment `una` and the next segment `next`; returns the
    /// smoothed RTT, s. Linux's rounding is that of its shifts, so it is a fraction of a microsecond too large.
    pub fn sample(&mut self, rtt: Time, una: u32, next: u32) -> f64 {
        let us = whole_us(rtt);
        if self.smoothed == 0 {
            let highest = (2 * us).max(self.floor);
            *self = Self { smoothed: 8 * us, mean: 2 * us, highest, deviation: highest, round: next, ..*self };
        } else {
            let error = us - (self.smoothed >> 3);
            self.smoothed += error;
            let change = error.abs() - (self.mean >> 2);
            self.mean += if error < 0 && change > 0 { change >> 3 } else { change };
            if self.mean > self.highest {
                self.highest = self.mean;
                self.deviation = self.deviation.max(self.mean);
            }
            if una > self.round {
                if self.highest < self.deviation {
                    self.deviation -= (self.deviation - self.highest) >> 2;
                }
                (self.round, self.highest) = (next, self.floor);
            }
        }
        self.smoothed = self.smoothed.max(1);
        self.smoothed as f64 / 8e6
    }

    /// The smoothed RTT.
    pub fn smoothed(&self) -> Time {
        Time(self.smoothed as u64 * (Time::MICROSECOND.0 / 8))
    }

    /// Twice the smoothed RTT, which Linux truncates to microseconds.
    pub fn twice_smoothed(&self) -> Time {
        Time((self.smoothed >> 2) as u64 * Time::MICROSECOND.0)
    }

    /// The timeout between two bounds.
    pub fn timeout(&self, min: Time, max: Time) -> Time {
        let us = (self.smoothed >> 3) + self.deviation;
        jiffies::round_up(self.jiffy, Time(us as u64 * Time::MICROSECOND.0).clamp(min, max))
    }
}
