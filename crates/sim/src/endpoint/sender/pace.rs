//! Limits of a sender: why its last send loop ended, and when the next segment may leave if it is paced.

use crate::time::Time;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    active: bool,
    pub(super) next: Time,
    /// Time at which the sender wants to be woken; [`Time::NEVER`] if pacing is not the limit.
    pub(super) wake: Time,
    /// The latest rate, segments/s, and the time that it gives a segment: a division for each would cost more than the comparison.
    rate: f64,
    period: Time,
}

impl Pace {
    pub(super) fn new(active: bool) -> Self {
        Self { active, next: Time::ZERO, wake: Time::NEVER, rate: f64::NAN, period: Time::ZERO }
    }

    /// A segment leaves at `now`, and the next as much later as `rate` says, segments/s.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time, rate: f64) {
        if self.rate != rate {
            (self.rate, self.period) = (rate, Time::from_seconds(1.0 / rate));
        }
        self.next = self.next.max(now).later(self.period);
    }

    /// True if segments are paced at all.
    #[inline(always)]
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    /// True if the sender wanted to be woken by `now`.
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
