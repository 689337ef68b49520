//! Retransmission timeout, RFC 6298 (with RFC 7323 timestamps, so that every ACK gives a sample).

use crate::time::Time;

/// Estimator of the RTT, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct Rto {
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt: f64,
    rttvar: f64,
    initial: Time,
    backoff: u32,
    min: Time,
    max: Time,
    granularity: f64,
}

impl Rto {
    /// State before the first sample.
    pub fn new(initial: Time, min: Time, max: Time, granularity: Time) -> Self {
        Self { srtt: 0.0, rttvar: 0.0, initial, backoff: 0, min, max, granularity: granularity.seconds() }
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
}
