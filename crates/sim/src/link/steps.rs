//! A rate that changes at given times.

use crate::spec::Impairments;
use crate::time::Time;

/// A rate that changes at given times.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Time of each change, and the rate from this time on, bit/s.
    rates: Vec<(Time, u64)>,
    current: usize,
    fastest_bps: u64,
}

/// The bits of `bytes`, in units of bit/s × ps.
pub(super) fn bit_ps(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(Time::SECOND.0)
}

impl Steps {
    pub(super) fn new(rate_bps: u64, impairments: &Impairments) -> Self {
        let mut rates = vec![(Time::ZERO, rate_bps)];
        rates.extend(impairments.rate_steps.iter().map(|step| (Time(step.at_ps), step.rate_bps)));
        Self { rates, current: 0, fastest_bps: impairments.fastest_bps(rate_bps) }
    }

    pub(super) fn least(&self, bytes: u64) -> Time {
        Time((bit_ps(bytes) / u128::from(self.fastest_bps)) as u64)
    }

    pub(super) fn send(&mut self, start: Time, bytes: u64) -> Time {
        let mut now = start;
        let mut left = bit_ps(bytes);
        // A packet that cannot be sent before the end of time is never sent.
        while now < Time::FAR {
            let until = self.rates.get(self.current + 1).map_or(Time::NEVER, |step| step.0);
            if until <= now {
                self.current += 1;
                continue;
            }
            let rate = u128::from(self.rates[self.current].1);
            let possible = u128::from((until - now).0) * rate;
            if rate > 0 && possible >= left {
                return now + Time((left / rate) as u64);
            }
            left -= possible;
            now = until;
            self.current += 1;
        }
        Time::NEVER
    }
}
