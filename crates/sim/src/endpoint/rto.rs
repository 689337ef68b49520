//! Retransmission timeout, RFC 6298 (with RFC 7323 timestamps, so that every ACK gives a sample), or with the deviation of
//! Linux 6.12 (`tcp_rtt_estimator`).

use crate::time::Time;

/// Estimator of the RTT, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct Rto {
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt: f64,
    rttvar: f64,
    /// `Some` if the deviation is that of Linux.
    linux: Option<Deviation>,
    initial: Time,
    backoff: u32,
    min: Time,
    max: Time,
    granularity: f64,
}

/// Linux's deviation: a mean deviation that grows with a rising RTT at once and falls slowly with a falling RTT, and
/// the maximum of this deviation over a round trip, s. Both are stored multiplied by four, as the formula of the
/// timeout needs them.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    mean: f64,
    highest: f64,
    /// Next segment at the start of the round trip (`rtt_seq`).
    round: u32,
}

impl Rto {
    /// State before the first sample.
    pub fn new(initial: Time, min: Time, max: Time, granularity: Time) -> Self {
        let granularity = granularity.seconds();
        Self { srtt: 0.0, rttvar: 0.0, linux: None, initial, backoff: 0, min, max, granularity }
    }

    /// Uses Linux's deviation.
    pub fn with_deviation_of_linux(mut self) -> Self {
        self.linux = Some(Deviation::default());
        self
    }

    /// Takes an RTT sample, s, of a connection with the oldest outstanding segment `una` and the next segment `next`.
    #[inline]
    pub fn sample_at(&mut self, rtt: f64, una: u32, next: u32) {
        match self.linux {
            None => self.sample(rtt),
            Some(deviation) => self.sample_of_linux(rtt, una, next, deviation),
        }
    }

    fn sample_of_linux(&mut self, rtt: f64, una: u32, next: u32, mut deviation: Deviation) {
        let floor = self.granularity;
        self.backoff = 0;
        if self.srtt == 0.0 {
            self.srtt = rtt;
            let highest = (2.0 * rtt).max(floor);
            self.rttvar = highest / 4.0;
            self.linux = Some(Deviation { mean: 2.0 * rtt, highest, round: next });
            return;
        }
        let error = rtt - self.srtt;
        self.srtt += error / 8.0;
        let change = error.abs() - deviation.mean / 4.0;
        deviation.mean += if error < 0.0 && change > 0.0 { change / 8.0 } else { change };
        deviation.highest = deviation.highest.max(deviation.mean);
        let mut four_deviations = (4.0 * self.rttvar).max(deviation.highest);
        if una > deviation.round {
            if deviation.highest < four_deviations {
                four_deviations -= (four_deviations - deviation.highest) / 4.0;
            }
            (deviation.round, deviation.highest) = (next, floor);
        }
        self.rttvar = four_deviations / 4.0;
        self.linux = Some(deviation);
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
    fn linux_raises_the_deviation_at_once_and_lowers_it_once_a_round_trip() {
        let mut rto = Rto::new(SECOND, Time(1), Time(60 * SECOND.0), Time(SECOND.0 / 5)).with_deviation_of_linux();
        rto.sample_at(0.1, 0, 10);
        assert!((rto.timeout().seconds() - 0.3).abs() < 1e-9, "0.1 s and 0.2 s, the floor");
        rto.sample_at(0.5, 5, 20);
        assert!((rto.srtt - 0.15).abs() < 1e-12);
        assert!((rto.timeout().seconds() - 0.7).abs() < 1e-9, "0.15 s, and 0.2 s + 0.4 s - 0.2 s / 4");
        // A falling RTT changes the deviation by an eighth of the change: 0.55 s + (0.41 s - 0.1375 s) / 8.
        let before = rto.srtt;
        rto.sample_at(before - 0.41, 6, 25);
        let highest = 0.55 + (0.41 - 0.1375) / 8.0;
        assert!((rto.timeout().seconds() - (before - 0.41 / 8.0) - highest).abs() < 1e-9);
        // The next round trip begins with segment 11 acknowledged; a constant RTT then lowers the deviation by a quarter of
        // its excess over the floor.
        rto.sample_at(rto.srtt, 11, 30);
        rto.sample_at(rto.srtt, 31, 50);
        assert!(rto.timeout().seconds() < rto.srtt + highest);
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
