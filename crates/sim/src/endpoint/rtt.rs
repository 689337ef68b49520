//! Estimates of the RTT: the smallest, the smoothed, and the retransmission timeout by RFC 6298 (with RFC 7323
//! timestamps, so that every ACK gives a sample), or by the estimator of Linux.

use elephan_cc::estimators::MinRtt;

use crate::endpoint::linux::jiffies::Interrupts;
use crate::endpoint::linux::rtt_estimator::Estimator;
use crate::endpoint::read::read;
use crate::spec::{HostRule, StackSpec};
use crate::time::Time;

/// Segments whose RTTs change the smoothed RTT.
#[derive(Clone, Copy, Debug)]
enum Timed {
    /// Those that every ACK reports.
    All,
    /// One at a time (RFC 6298 section 3): none now, or that with this number and send time.
    None,
    One(u32, Time),
}

/// Estimates of the RTT.
#[derive(Clone, Debug)]
pub struct Rtt {
    /// Smoothed RTT, s; 0 before the first sample.
    srtt: f64,
    rttvar: f64,
    linux: Option<Estimator>,
    initial: Time,
    backoff: u32,
    min: Time,
    max: Time,
    granularity: f64,
    timed: Timed,
    /// RTT of the newest segment that the latest ACK acknowledges.
    latest: Option<Time>,
    smallest: MinRtt,
    /// RTT of the handshake, if it was measured. The handshake's packets are small, so on a slow link
    /// this RTT is the smallest RTT and bounds the reordering window. The algorithm's smallest RTT is that of data
    /// segments.
    handshake: Option<Time>,
    /// Twice the smallest RTT, the handshake's RTT included.
    twice_smallest: Time,
}

impl Rtt {
    read!(srtt: f64, latest: Option<Time>, twice_smallest: Time);

    /// State before the first sample, of a host with the timer interrupts `clock`.
    pub fn new(stack: &StackSpec, clock: Interrupts) -> Self {
        let granularity = Time(stack.rto_granularity_ps);
        Self {
            srtt: 0.0,
            rttvar: 0.0,
            linux: stack.has(HostRule::Timeout).then(|| Estimator::new(clock.jiffy, granularity)),
            initial: Time(stack.initial_rto_ps),
            backoff: 0,
            min: Time(stack.min_rto_ps),
            max: Time(stack.max_rto_ps),
            granularity: granularity.seconds(),
            timed: if stack.time_one_segment { Timed::None } else { Timed::All },
            latest: None,
            smallest: MinRtt::new(),
            handshake: None,
            twice_smallest: Time::NEVER,
        }
    }

    /// The smoothed RTT as a time; Linux stores eighths of a microsecond.
    pub fn smoothed(&self) -> Time {
        self.linux.map_or_else(|| Time::from_seconds(self.srtt), |linux| linux.smoothed())
    }

    /// Twice the smoothed RTT.
    pub fn twice_smoothed(&self) -> Time {
        self.linux.map_or_else(|| Time::from_seconds(2.0 * self.srtt), |linux| linux.twice_smoothed())
    }

    /// Smallest RTT of data segments, s; infinite before the first sample.
    pub fn smallest_of_data(&self) -> f64 {
        self.smallest.get()
    }

    /// Smallest RTT of the connection, the handshake's RTT included, s; infinite before the first sample.
    pub fn smallest(&self) -> f64 {
        self.smallest.get().min(self.handshake.map_or(f64::INFINITY, Time::seconds))
    }

    /// RTT of the handshake, if it was measured.
    pub fn handshake(&self) -> Option<Time> {
        self.handshake
    }

    /// Takes the RTT of the handshake.
    pub fn on_handshake(&mut self, rtt: Time) {
        self.handshake = Some(rtt);
        self.twice_smallest = Time::from_seconds(2.0 * self.smallest());
    }

    /// Takes the RTT of the newest segment that an ACK acknowledges.
    pub fn on_latest(&mut self, rtt: Time) {
        self.latest = Some(rtt);
    }

    /// Takes a sample of the smallest RTT, s. Returns the smallest RTT of data segments so far.
    #[inline(always)]
    pub fn on_sample(&mut self, sample: f64) -> f64 {
        if sample < self.smallest.get() {
            self.smallest.update(sample);
            self.twice_smallest = Time::from_seconds(2.0 * self.smallest());
        }
        self.smallest.get()
    }

    /// Times a segment that leaves at `now`, if one is timed at a time and none is.
    #[inline(always)]
    pub fn on_sent(&mut self, segment: u32, now: Time) {
        if let Timed::None = self.timed {
            self.timed = Timed::One(segment, now);
        }
    }

    /// True if every ACK changes the smoothed RTT.
    pub fn times_all(&self) -> bool {
        matches!(self.timed, Timed::All)
    }

    /// Takes an ACK of the segments below `cumulative` that arrives at `at` and shows an RTT of `rtt`; the segments from
    /// `una` to `next` are outstanding.
    #[inline(always)]
    pub fn on_ack(&mut self, rtt: Time, (cumulative, at): (u32, Time), una: u32, next: u32) {
        match self.timed {
            Timed::All => self.smooth(rtt, una, next),
            Timed::One(segment, sent) if cumulative > segment => {
                self.sample((at - sent).seconds());
                self.timed = Timed::None;
            }
            Timed::None | Timed::One(..) => {}
        }
    }

    /// Takes an RTT sample of a connection with the oldest outstanding segment `una` and the next segment `next`.
    #[inline(always)]
    pub fn smooth(&mut self, rtt: Time, una: u32, next: u32) {
        let Some(linux) = &mut self.linux else { return self.sample(rtt.seconds()) };
        self.srtt = linux.sample(rtt, una, next);
        self.backoff = 0;
    }

    /// Takes an RTT sample, s (RFC 6298 section 2: α = 1/8, β = 1/4, K = 4).
    #[inline]
    fn sample(&mut self, rtt: f64) {
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
            linux.timeout(self.min, self.max)
        } else {
            Time::from_seconds(self.srtt + (4.0 * self.rttvar).max(self.granularity)).clamp(self.min, self.max)
        };
        Time(base.0.saturating_mul(1 << self.backoff)).min(self.max)
    }

    /// Doubles the timeout after the timer expired (RFC 6298 section 5.5), and times no segment sent before.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
        if !self.times_all() {
            self.timed = Timed::None;
        }
    }

    /// True if the timer expired since the last sample.
    pub fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::spec::HostKind;

    const SECOND: Time = Time::SECOND;

    fn rtt(host: HostKind, [initial, min, max, granularity]: [u64; 4], hz: Option<u32>) -> Rtt {
        let stack = StackSpec {
            host,
            initial_rto_ps: initial,
            min_rto_ps: min,
            max_rto_ps: max,
            rto_granularity_ps: granularity,
            hz,
            time_one_segment: false,
            ..StackSpec::linux()
        };
        Rtt::new(&stack, Interrupts::of(&stack))
    }

    #[test]
    fn two_samples_give_the_published_estimate() {
        let mut rto = rtt(HostKind::Plain, [SECOND.0, 1, 60 * SECOND.0, 0], None);
        assert_eq!(rto.timeout(), SECOND);
        rto.sample(0.1);
        rto.sample(0.2);
        assert!((rto.srtt - 0.1125).abs() < 1e-12);
        assert!((rto.timeout().seconds() - 0.3625).abs() < 1e-9);
    }

    #[test]
    fn linux_raises_the_deviation_at_once_and_lowers_it_once_a_round_trip() {
        let mut rto = rtt(HostKind::Linux, [SECOND.0, 1, 60 * SECOND.0, SECOND.0 / 5], None);
        rto.smooth(Time(SECOND.0 / 10), 0, 10);
        assert!((rto.timeout().seconds() - 0.3).abs() < 1e-9, "0.1 s and 0.2 s, the floor");
        rto.smooth(Time(SECOND.0 / 2), 5, 20);
        assert!((rto.srtt - 0.15).abs() < 1e-12);
        assert!((rto.timeout().seconds() - 0.7).abs() < 1e-9, "0.15 s, and 0.2 s + 0.4 s - 0.2 s / 4");
        // A falling RTT changes the deviation by an eighth of the change: 0.55 s + (0.41 s - 0.1375 s) / 8.
        let before = rto.srtt;
        rto.smooth(Time::from_seconds(before - 0.41), 6, 25);
        let highest = 0.55 + (0.41 - 0.1375) / 8.0;
        assert!((rto.timeout().seconds() - (before - 0.41 / 8.0) - highest).abs() < 1e-5);
        // The next round trip begins with segment 11 acknowledged; a constant RTT then lowers the deviation by a quarter of
        // its excess over the floor.
        rto.smooth(Time::from_seconds(rto.srtt), 11, 30);
        rto.smooth(Time::from_seconds(rto.srtt), 31, 50);
        assert!(rto.timeout().seconds() < rto.srtt + highest);
    }

    #[test]
    fn linux_rounds_the_timeout_up_to_jiffies_before_it_doubles_it() {
        let mut rto = rtt(HostKind::Linux, [SECOND.0, 1, 60 * SECOND.0, SECOND.0 / 5], Some(250));
        rto.smooth(Time(SECOND.0 / 10_000 * 1001), 0, 10);
        assert_eq!(rto.timeout(), Time(304 * Time::MILLISECOND.0), "300.3 ms");
        rto.back_off();
        assert_eq!(rto.timeout(), Time(608 * Time::MILLISECOND.0), "not 604 ms");
    }

    #[test]
    fn the_minimum_holds_and_backoff_doubles_until_a_sample_comes() {
        let mut rto = rtt(HostKind::Plain, [SECOND.0, SECOND.0, 3 * SECOND.0, 0], None);
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
        let mut rto = rtt(HostKind::Linux, [SECOND.0, 1, 60 * SECOND.0, 0], None);
        for us in (100_000..100_040).rev().chain([100_000; 100]) {
            rto.smooth(Time(us * Time::MICROSECOND.0), 0, 10);
        }
        assert_eq!(rto.smoothed(), Time(100_000_875_000), "the seven eighths are never subtracted");
        assert_eq!(rto.twice_smoothed(), Time(200_001_000_000), "truncated from 200,001.75 µs");
    }
}
