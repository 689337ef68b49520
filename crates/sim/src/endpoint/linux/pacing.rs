//! Pacing: the rate of a socket whose algorithm has none (`tcp_update_pacing_rate`), and the earliest time of the next
//! segment or burst (`tcp_update_skb_after_send`).

use elephan_cc::Needs;

use super::constants::{PACING_CA_RATIO, PACING_SS_RATIO, TCP_INIT_CWND};
use super::jiffies::Interrupts;
use crate::endpoint::read::read;
use crate::spec::StackSpec;
use crate::time::Time;

/// Nanoseconds in a second.
const NS: f64 = 1e9;
const PS_PER_NS: u64 = 1000;
/// Upper bound of the rounding error of a time between bursts, ns.
const ROUNDING_NS: f64 = 1e-6;

/// Pacing rate in units of window/RTT, for a window of `cwnd` segments.
#[inline(always)]
pub fn ratio(cwnd: f64, ssthresh: f64) -> f64 {
    if cwnd < ssthresh / 2.0 { PACING_SS_RATIO } else { PACING_CA_RATIO }
}

/// Earliest departure of the next segment, by pacing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    is_active: bool,
    /// True if segments leave in bursts.
    in_bursts: bool,
    clock: Interrupts,
    next: Time,
    /// Time of the pacing timer; [`Time::NEVER`] if pacing is not the limit.
    wake: Time,
    /// Time of the last transmission (`tcp_wstamp_ns`).
    last: Time,
    /// Pacing rate, segments/s, and segments that may be in flight, at the last event that could change them.
    rate: f64,
    allowance: u32,
    /// Rate of the last segment, and the time between segments at this rate. Comparing the rate costs less than a division
    /// for each segment.
    rate_of_period: f64,
    period: Time,
}

impl Pace {
    read!(is_active: bool, wake: Time, next: Time, last: Time, rate: f64, allowance: u32);

    /// Pacing of a sender whose algorithm needs it or does not.
    pub fn new(stack: &StackSpec, clock: Interrupts, needs: Needs) -> Self {
        Self {
            is_active: needs.pacing || stack.pacing,
            in_bursts: stack.tso,
            clock,
            wake: Time::NEVER,
            // A probe may leave before the first rate: its burst takes no time.
            rate: f64::NAN,
            rate_of_period: f64::NAN,
            ..Self::default()
        }
    }

    /// Stops the pacing timer.
    pub fn stop(&mut self) {
        self.wake = Time::NEVER;
    }

    /// Sets the pacing timer to the time at which the next segments leave, and returns it.
    #[inline(always)]
    pub fn wait_until(&mut self, due: Time) -> Time {
        self.wake = due;
        self.wake
    }

    /// Time between bursts of `segments`, in whole nanoseconds.
    pub fn time_of(&self, segments: u32) -> Time {
        Time(((f64::from(segments) * NS / self.rate + ROUNDING_NS) as u64).saturating_mul(PS_PER_NS))
    }

    /// Takes that pacing has allowed a burst at `now`.
    pub fn allow_at(&mut self, now: Time) {
        self.next = now;
    }

    /// Takes the rate, segments/s, and the segments that may be in flight.
    pub fn limit(&mut self, rate: f64, allowance: u32) {
        (self.rate, self.allowance) = (rate, allowance);
    }

    /// Takes the segments that may be in flight.
    pub fn allow(&mut self, allowance: u32) {
        self.allowance = allowance;
    }

    /// Records a transmission at `now`.
    pub fn on_transmission(&mut self, now: Time) {
        self.last = now;
    }

    /// Records that a segment leaves at `now`; the next segment may leave later by the inverse of the rate.
    #[inline]
    pub fn on_segment(&mut self, now: Time) {
        if self.rate_of_period != self.rate {
            (self.rate_of_period, self.period) = (self.rate, Time::from_seconds(1.0 / self.rate));
        }
        self.next = self.next.max(now).later(self.period);
    }

    /// Records a burst of `segments` that leaves at `now`, after `sent` segments. Pacing delays the next burst, except those
    /// of the first window. A late burst recovers at most half of its own duration, which is in whole nanoseconds. Returns
    /// false without pacing.
    pub fn on_burst(&mut self, now: Time, segments: u32, sent: u64) -> bool {
        self.last = now;
        if !self.in_bursts || !self.is_active {
            return false;
        }
        let segments = if sent < TCP_INIT_CWND.into() { 0 } else { segments };
        let length = self.time_of(segments);
        let credit = now.since(self.next).min(Time(length.0 / PS_PER_NS / 2 * PS_PER_NS));
        self.next = self.next.max(now).later(Time(length.0 - credit.0));
        self.last = self.next;
        true
    }

    /// Whole jiffies until pacing allows the next burst; Linux sets the timers of retransmissions and probes later by
    /// them (`tcp_pacing_delay`).
    #[inline]
    pub fn delay(&self, now: Time) -> Time {
        let waits = self.in_bursts && self.is_active && self.next > now;
        if waits { self.clock.whole(self.next.since(now)) } else { Time::ZERO }
    }
}
