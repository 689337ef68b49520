//! Timer of an ACK that waits.

use crate::endpoint::linux::jiffies::Interrupts;
use crate::time::Time;

/// Meaning of a timer's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The timer expires then, or later. The expiry is computed only in the rare case that no segment arrives before.
    Earliest,
    /// The timer of a delayed ACK expires then.
    Expiry,
    /// An ACK has waited long enough for further segments then.
    Kick,
    /// The application reads then, and sends the ACK.
    Read,
}

/// The timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTimer {
    due: Time,
    kind: Due,
    /// Time at which the timer of delayed ACKs was last set, and the timeout that was set.
    from: Time,
    by: Time,
    interrupts: Interrupts,
}

impl AckTimer {
    pub(super) fn new(interrupts: Interrupts) -> Self {
        Self { due: Time::NEVER, kind: Due::Expiry, from: Time::NEVER, by: Time::ZERO, interrupts }
    }

    /// Lower bound of the time at which the timer expires; [`Time::NEVER`] if no ACK waits.
    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Delays an ACK by the timeout `by`, unless an ACK is delayed already.
    #[inline(always)]
    pub(super) fn delay(&mut self, now: Time, by: Time) {
        if self.due == Time::NEVER {
            (self.due, self.kind) = (now + by, Due::Earliest);
            (self.from, self.by) = (now, by);
        }
    }

    /// Lets an ACK wait for further segments for the time `wait`.
    pub(super) fn wait(&mut self, now: Time, wait: Time) {
        self.settle();
        // Linux does not cancel the timer of a delayed ACK when it sends the ACK. A later expiry sends an ACK that waits
        // for further segments (`tcp_delack_timer_handler`).
        let earlier = self.interrupts.expiry(self.from, self.by);
        let due = now.later(wait);
        let (due, kind) = if earlier <= now || due <= earlier { (due, Due::Kick) } else { (earlier, Due::Expiry) };
        if due < self.due {
            (self.due, self.kind) = (due, kind);
        }
    }

    /// Lets the application send the ACK, after all packets of this instant.
    pub(super) fn wait_for_reader(&mut self, now: Time) {
        (self.due, self.kind) = (now.later(Time(1)), Due::Read);
    }

    /// Replaces the earliest time of the expiry by the expiry.
    fn settle(&mut self) {
        if self.kind == Due::Earliest && self.due < Time::NEVER {
            (self.due, self.kind) = (self.interrupts.expiry(self.from, self.by), Due::Expiry);
        }
    }

    /// True if the timer expires at `now`.
    pub(super) fn expires(&mut self, now: Time) -> bool {
        if self.due <= now {
            self.settle();
        }
        self.due <= now
    }

    /// True if the timer is that of an ACK that waits for further segments.
    pub(super) fn is_kick(&self) -> bool {
        self.kind == Due::Kick
    }

    /// True if the application sends the ACK.
    pub(super) fn is_read(&self) -> bool {
        self.kind == Due::Read
    }

    /// Stops the timer, as an ACK was sent.
    #[inline(always)]
    pub(super) fn stop(&mut self) {
        self.due = Time::NEVER;
    }
}
