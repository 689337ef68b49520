//! Limits of a sender: the reason for the end of its last send loop, and the earliest time of the next paced segment.

use crate::time::Time;

/// Nanoseconds in a second.
const NS: f64 = 1e9;
const PS_PER_NS: u64 = 1000;
/// Upper bound of the rounding error of a time between bursts, ns.
const ROUNDING_NS: f64 = 1e-6;

/// Earliest departure of the next segment, by pacing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    active: bool,
    pub(super) next: Time,
    /// Time of the pacing timer; [`Time::NEVER`] if pacing is not the limit.
    pub(super) wake: Time,
    /// Limits at the last event that could change them.
    pub(super) limits: Limits,
    /// Last rate, segments/s, and the time between segments at this rate. Comparing the rate costs less than a division
    /// for each segment.
    rate: f64,
    period: Time,
}

/// Limits of the transmission of a sender that paces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Pacing rate, segments/s.
    pub(super) rate: f64,
    /// Segments that may be in flight.
    pub(super) allowance: u32,
}

impl Pace {
    pub(super) fn new(active: bool) -> Self {
        Self {
            active,
            next: Time::ZERO,
            wake: Time::NEVER,
            limits: Limits { rate: f64::NAN, allowance: 0 },
            rate: f64::NAN,
            period: Time::ZERO,
        }
    }

    /// Records that a segment leaves at `now`; the next segment may leave later by the inverse of the rate.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time) {
        let rate = self.limits.rate;
        if self.rate != rate {
            (self.rate, self.period) = (rate, Time::from_seconds(1.0 / rate));
        }
        self.next = self.next.max(now).later(self.period);
    }

    /// Records a burst of `segments` that leaves at `now`. Returns the earliest time of the next burst. A late burst
    /// recovers at most half of its own duration, which is in whole nanoseconds (`tcp_update_skb_after_send`).
    pub(super) fn note_burst(&mut self, now: Time, segments: u32) -> Time {
        let length_ns = (f64::from(segments) * NS / self.limits.rate + ROUNDING_NS) as u64;
        let credit = now.since(self.next).min(Time(length_ns / 2 * PS_PER_NS));
        self.next = self.next.max(now).later(Time(length_ns.saturating_mul(PS_PER_NS) - credit.0));
        self.next
    }

    /// True if the flow is paced.
    #[inline(always)]
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    /// True if the pacing timer is due at `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.wake <= now
    }
}

/// Reason for the end of a send loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Window,
    Receiver,
    Application,
}
