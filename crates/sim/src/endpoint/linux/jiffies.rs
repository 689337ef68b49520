//! The clock of a host, and its timers, which expire at timer interrupts, as in Linux 6.12 (`kernel/time/timer.c`).

use crate::spec::{HostRule, StackSpec};
use crate::time::Time;

/// A level of Linux's timer wheel has timers of fewer than this number of the level's units.
const UNITS_OF_LEVEL: u64 = 63;
/// Ratio of the units of two levels. The unit of the lowest level is a jiffy.
const RATIO: u64 = 8;

/// Seconds from the interrupt before the run to the interrupt with the number 0: Linux's count begins 300 s before 0
/// (`INITIAL_JIFFIES`), and a run begins when its host has been up for 32 s, as on the Linux backend.
const UNTIL_ZERO_S: u64 = 300 - 32;
/// A multiple of the units of all levels that the longest timeout may need.
const MULTIPLE: u64 = 1 << 24;

/// A duration rounded up to whole jiffies (`usecs_to_jiffies`).
pub fn round_up(jiffy: Time, wait: Time) -> Time {
    if jiffy == Time::ZERO { wait } else { Time(wait.0.div_ceil(jiffy.0).saturating_mul(jiffy.0)) }
}

/// The timer interrupts and the clock of a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupts {
    /// Interval of the interrupts, a jiffy; zero if timers are exact.
    pub jiffy: Time,
    /// Time from an interrupt to the start of the run.
    phase: Time,
    /// Number of this interrupt, plus a multiple of all units.
    first: u64,
    /// True if RTTs are measured in whole microseconds (`tcp_mstamp`).
    counts_us: bool,
}

impl Interrupts {
    /// The interrupts of a stack's host. Stacks before RACK have exact timers, since the studies that use them state no
    /// interrupt rate.
    pub fn of(stack: &StackSpec) -> Self {
        let hz = stack.hz.filter(|_| stack.has(HostRule::Timers));
        let jiffy = hz.map_or(Time::ZERO, |hz| Time(Time::SECOND.0 / u64::from(hz.max(1))));
        let first = hz.map_or(0, |hz| MULTIPLE - UNTIL_ZERO_S * u64::from(hz) % MULTIPLE);
        Self { jiffy, phase: stack.phase, first, counts_us: stack.has(HostRule::Clock) }
    }

    /// Time of the host's clock.
    pub fn clock(self, now: Time) -> Time {
        now.later(self.phase)
    }

    /// Time of the host's clock in s, which algorithms see.
    pub fn seconds(self, now: Time) -> f64 {
        self.clock(now).seconds()
    }

    /// Time of the host's clock in whole milliseconds, as in timestamps.
    pub fn ms(self, now: Time) -> u64 {
        self.clock(now).0 / Time::MILLISECOND.0
    }

    /// RTT of a segment that left at `sent` and is acknowledged at `at`.
    #[inline]
    pub fn rtt(self, at: Time, sent: Time) -> Time {
        let us = |time: Time| self.clock(time).0 / Time::MICROSECOND.0;
        if self.counts_us { Time(us(at).saturating_sub(us(sent)) * Time::MICROSECOND.0) } else { at.since(sent) }
    }

    /// RTT of a segment by its timestamps alone, which count whole milliseconds (`tcp_rtt_tsopt_us`).
    pub fn rtt_of_timestamps(self, at: Time, sent: Time) -> Time {
        Time((self.ms(at) - self.ms(sent)).max(1) * Time::MILLISECOND.0)
    }

    /// Time between two instants; the clock of a host with interrupts counts whole microseconds.
    pub fn elapsed(self, from: Time, to: Time) -> Time {
        if self.jiffy == Time::ZERO {
            return to.since(from);
        }
        self.clock(to).whole_us().since(self.clock(from).whole_us())
    }

    /// Number of interrupts up to `now`.
    pub fn count(self, now: Time) -> u64 {
        self.clock(now).0 / self.jiffy.0
    }

    /// The whole jiffies of a duration (`nsecs_to_jiffies`); nothing on a host without a timer interrupt.
    pub fn whole(self, duration: Time) -> Time {
        duration.0.checked_div(self.jiffy.0).map_or(Time::ZERO, |jiffies| Time(jiffies * self.jiffy.0))
    }

    /// Expiry of a timer of duration `wait` set at `from`. Linux rounds the duration up to whole jiffies
    /// (`usecs_to_jiffies`), and the expiry up to the next unit of the timer's level, so that no timer expires early
    /// (`calc_index`).
    pub fn expiry(self, from: Time, wait: Time) -> Time {
        self.expiry_after(None, from, wait)
    }

    /// The same, if a timer has expired at the interrupt `expired`. Until the next interrupt, Linux chooses the level as
    /// if this one had come (`base->clk`).
    pub fn expiry_after(self, expired: Option<u64>, from: Time, wait: Time) -> Time {
        if self.jiffy == Time::ZERO {
            return from.later(wait);
        }
        let (ticks, now) = (wait.0.div_ceil(self.jiffy.0), self.count(from));
        let ahead = ticks.saturating_sub(u64::from(expired == Some(now)));
        let mut unit = 1;
        while ahead >= UNITS_OF_LEVEL.saturating_mul(unit) {
            unit *= RATIO;
        }
        let expires = now.saturating_add(ticks).saturating_add(self.first);
        let rounded = (expires / unit).saturating_add(1).saturating_mul(unit);
        Time(rounded.saturating_sub(self.first).saturating_mul(self.jiffy.0)).since(self.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::HostKind;

    const MS: Time = Time::MILLISECOND;
    const INTERRUPTS: Interrupts = Interrupts { jiffy: Time(4 * MS.0), phase: Time::ZERO, first: 0, counts_us: false };
    const EXACT: Interrupts = Interrupts { jiffy: Time::ZERO, phase: Time::ZERO, first: 0, counts_us: false };

    fn expiry_ms(from_ms: u64, wait_ms: u64) -> u64 {
        INTERRUPTS.expiry(Time(from_ms * MS.0), Time(wait_ms * MS.0)).0 / MS.0
    }

    #[test]
    fn a_short_timer_expires_one_or_two_interrupts_late() {
        assert_eq!([0, 1, 3, 4].map(|from| expiry_ms(from, 40)), [44, 44, 44, 48]);
        assert_eq!(expiry_ms(0, 37), 44, "37 ms are 10 jiffies");
        assert_eq!(expiry_ms(0, 248), 252);
    }

    #[test]
    fn a_long_timer_expires_at_a_multiple_of_its_level() {
        assert_eq!([0, 4, 20, 28].map(|from| expiry_ms(from, 252)), [256, 288, 288, 288], "multiples of 8 jiffies");
        assert_eq!(expiry_ms(0, 2016), 2048, "a multiple of 64 jiffies");
    }

    #[test]
    fn a_host_has_been_up_for_32_s() {
        let host = Interrupts::of(&StackSpec { hz: Some(250), ..StackSpec::linux() });
        let expiry_ms = |wait_ms: u64| host.expiry(Time::ZERO, Time(wait_ms * MS.0)).0 / MS.0;
        assert_eq!(host.first % 64, 8, "-268 s · 250 / s");
        assert_eq!([252, 2012, 2016].map(expiry_ms), [256, 2016, 2272], "with -67,000, multiples of 8 and 64 jiffies");
    }

    #[test]
    fn a_timer_set_when_another_has_expired_may_be_of_the_finer_level() {
        let expiry_ms =
            |expired, from_ms: u64| INTERRUPTS.expiry_after(expired, Time(from_ms * MS.0), Time(252 * MS.0)).0 / MS.0;
        assert_eq!([0, 3, 4].map(|from_ms| expiry_ms(Some(0), from_ms)), [256, 256, 288]);
        assert_eq!([None, Some(1)].map(|expired| expiry_ms(expired, 4)), [288, 260]);
    }

    #[test]
    fn a_part_of_a_jiffy_delays_no_timer() {
        let whole_ms = |ms: u64| INTERRUPTS.whole(Time(ms * MS.0)).0 / MS.0;
        assert_eq!([3, 4, 7, 8].map(whole_ms), [0, 4, 4, 8]);
        assert_eq!(EXACT.whole(Time(7 * MS.0)), Time::ZERO);
    }

    #[test]
    fn the_run_may_begin_between_two_interrupts() {
        let later = Interrupts { phase: MS, ..INTERRUPTS };
        let expiry_ms = |from_ms: u64, wait_ms: u64| later.expiry(Time(from_ms * MS.0), Time(wait_ms * MS.0)).0 / MS.0;
        assert_eq!([0, 2, 3, 4].map(|from| expiry_ms(from, 40)), [43, 43, 47, 47]);
        assert_eq!(expiry_ms(0, 252), 255, "a multiple of 8 jiffies since the interrupt");
        assert_eq!([2, 3].map(|ms| later.count(Time(ms * MS.0))), [0, 1]);
    }

    #[test]
    fn the_timers_of_other_stacks_are_exact() {
        let other = StackSpec { host: HostKind::Plain, ..StackSpec::linux() };
        assert_eq!(Interrupts::of(&other).jiffy, Time::ZERO);
        assert_eq!(EXACT.expiry(Time(5), Time(7)), Time(12));
        assert_eq!(INTERRUPTS.expiry(Time::NEVER, Time::NEVER), Time::NEVER);
    }

    #[test]
    fn linux_measures_between_whole_microseconds() {
        let (sent, at) = (Time(999_999), Time(2_000_000));
        let stack = |host, phase| StackSpec { host, phase: Time(phase), ..StackSpec::linux() };
        for (stack, rtt) in [
            (stack(HostKind::Linux, 0), 2_000_000),
            (stack(HostKind::Linux, 1), 1_000_000),
            (stack(HostKind::Plain, 0), 1_000_001),
        ] {
            assert_eq!(Interrupts::of(&stack).rtt(at, sent), Time(rtt));
        }
    }
}
