//! Base delay and current delay of LEDBAT (RFC 6817 §2.4.2): the minimum of each of the last minutes, and the minimum
//! of the last few samples.

use std::collections::VecDeque;

use crate::observe::observed;

/// Interval of one base minimum, s (RFC 6817 §2.4.2).
const MINUTE_S: f64 = 60.0;

/// Delays of one connection: one-way delays or RTTs, with or without an unknown clock offset, since only differences
/// are used.
#[derive(Clone, Debug)]
pub struct DelayHistory {
    /// Minimum of each minute, the oldest first; infinite for a minute without samples.
    minutes: VecDeque<f64>,
    minute_began: f64,
    base: f64,
    recent: VecDeque<f64>,
    kept: usize,
}

observed! {
    self: DelayHistory;
    /// Base delay: the smallest delay of the last minutes; a one-way delay includes the offset of the two clocks.
    base_s = self.base, number(Unit::Seconds);
    /// Queueing delay: the smallest of the last samples, less the base delay.
    queueing_s = self.queueing(), number(Unit::Seconds);
}

impl DelayHistory {
    /// A history that keeps the minima of the last `minutes` minutes for the base delay, and the last `samples` samples
    /// for the current delay. Both numbers are at least one.
    #[must_use]
    pub fn new(minutes: usize, samples: usize) -> Self {
        let (minutes, kept) = (minutes.max(1), samples.max(1));
        Self {
            minutes: VecDeque::from(vec![f64::INFINITY; minutes]),
            minute_began: f64::NEG_INFINITY,
            base: f64::INFINITY,
            recent: VecDeque::with_capacity(kept + 1),
            kept,
        }
    }

    /// Takes a sample, s.
    #[inline]
    pub fn add(&mut self, now: f64, delay: f64) {
        if self.recent.len() == self.kept {
            self.recent.pop_front();
        }
        self.recent.push_back(delay);
        if now - self.minute_began >= MINUTE_S {
            self.next_minute(now);
        }
        if let Some(newest) = self.minutes.back_mut() {
            *newest = newest.min(delay);
        }
        self.base = self.base.min(delay);
    }

    #[cold]
    fn next_minute(&mut self, now: f64) {
        if self.minute_began.is_finite() {
            let passed = ((now - self.minute_began) / MINUTE_S).floor();
            self.minute_began += passed * MINUTE_S;
            for _ in 0..(passed as usize).min(self.minutes.len()) {
                self.minutes.pop_front();
                self.minutes.push_back(f64::INFINITY);
            }
        } else {
            self.minute_began = now;
        }
        self.base = self.minutes.iter().copied().fold(f64::INFINITY, f64::min);
    }

    /// The base delay, s; infinite before the first sample.
    #[must_use]
    #[inline]
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Queueing delay, s; 0 before the first sample.
    #[must_use]
    #[inline]
    pub fn queueing(&self) -> f64 {
        let current = self.recent.iter().copied().fold(f64::INFINITY, f64::min);
        if current.is_finite() { current - self.base } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn the_queueing_delay_is_the_least_of_the_last_samples_over_the_base() {
        let mut d = DelayHistory::new(10, 4);
        assert_eq!(d.queueing(), 0.0);
        for (i, delay) in [0.1, 0.15, 0.13, 0.14, 0.16].into_iter().enumerate() {
            d.add(i as f64, delay);
        }
        assert_eq!(d.base(), 0.1);
        close(d.queueing(), 0.03, 1e-9);
    }

    #[test]
    fn a_base_is_forgotten_after_ten_minutes_and_by_ten_minutes_of_silence() {
        let mut d = DelayHistory::new(10, 4);
        d.add(0.0, 0.1);
        for minute in 1..10 {
            d.add(60.0 * f64::from(minute), 0.2);
        }
        assert_eq!(d.base(), 0.1);
        d.add(600.0, 0.2);
        assert_eq!(d.base(), 0.2);
        d.add(600.0 + 660.0, 0.5);
        assert_eq!(d.base(), 0.5);
    }
}
