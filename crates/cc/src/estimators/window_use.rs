//! A sender's use of its window.

/// Detects if a sender is limited by its window, and not by the application or the receiver
/// ([`Ack::window_limited`](crate::Ack::window_limited)). The rule is Linux's `tcp_is_cwnd_limited`. The window limits
/// the sender if the last transmission ended because of the window. In slow start the window also counts as the limit
/// while it is below twice the largest number of segments outstanding in this round trip, since slow start may double
/// the used window.
#[derive(Clone, Copy, Debug)]
pub struct WindowUse {
    held_back: bool,
    peak: u32,
    /// Next new segment at the last change by [`WindowUse::validate`].
    until: u32,
}

impl WindowUse {
    /// The state before the first transmission, in which the window counts as the limit.
    #[must_use]
    pub const fn new() -> Self {
        Self { held_back: true, peak: 0, until: 0 }
    }

    /// Records that a transmission ended because of the window or the pacing rate, or for another reason.
    #[inline]
    pub fn stopped(&mut self, by_window: bool) {
        self.held_back = by_window;
    }

    /// Records that `in_flight` segments are outstanding after a transmission.
    #[inline]
    pub fn note_in_flight(&mut self, in_flight: u32) {
        self.peak = self.peak.max(in_flight);
    }

    /// Begins a round trip: resets the largest number of segments outstanding.
    #[inline]
    pub fn begin_round(&mut self) {
        self.peak = 0;
    }

    /// Records a transmission as Linux does (`tcp_cwnd_validate`), in place of the other methods: `by_window` is true if
    /// the window ended it, and the segments from `una` to `next` are outstanding. The window stays the limit until all
    /// segments are acknowledged that were outstanding when it was last the limit.
    #[inline]
    pub fn validate(&mut self, by_window: bool, una: u32, next: u32) {
        let outstanding = next - una;
        if by_window || una >= self.until || (!self.held_back && outstanding > self.peak) {
            (self.held_back, self.peak, self.until) = (by_window, outstanding, next);
        }
    }

    /// True if the window ended the last transmission.
    #[must_use]
    #[inline]
    pub fn was_held_back(&self) -> bool {
        self.held_back
    }

    /// True if a window of `cwnd` segments limits the sender. `ssthresh`, segments, is only evaluated if the answer
    /// depends on it.
    #[must_use]
    #[inline]
    pub fn is_limited(&self, cwnd: f64, ssthresh: impl FnOnce() -> f64) -> bool {
        self.held_back || (cwnd < ssthresh() && cwnd < 2.0 * f64::from(self.peak))
    }
}

impl Default for WindowUse {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_ended_the_last_transmission_limits_the_sender() {
        let mut used = WindowUse::new();
        assert!(used.is_limited(10.0, || 5.0));
        used.stopped(false);
        assert!(!used.is_limited(10.0, || 5.0) && !used.was_held_back());
        used.stopped(true);
        assert!(used.is_limited(10.0, || 5.0) && used.was_held_back());
    }

    #[test]
    fn in_linux_the_window_stays_the_limit_for_the_segments_that_were_outstanding() {
        let mut used = WindowUse::new();
        let limited = |used: &WindowUse| used.is_limited(10.0, || 5.0);
        used.validate(true, 0, 10);
        used.validate(false, 9, 12);
        assert!(limited(&used));
        used.validate(false, 10, 13);
        assert!(!limited(&used) && used.is_limited(5.0, || f64::INFINITY) && !used.is_limited(6.0, || f64::INFINITY));
        used.validate(false, 12, 14);
        assert!(used.is_limited(5.0, || f64::INFINITY), "the largest number of the round");
        used.validate(false, 13, 15);
        assert!(!used.is_limited(5.0, || f64::INFINITY));
    }

    #[test]
    fn slow_start_may_grow_up_to_twice_what_was_outstanding_in_the_round() {
        let mut used = WindowUse::new();
        used.stopped(false);
        for in_flight in [6, 7, 3] {
            used.note_in_flight(in_flight);
        }
        assert!(used.is_limited(13.0, || f64::INFINITY) && !used.is_limited(14.0, || f64::INFINITY));
        // Congestion avoidance has no factor of two.
        assert!(!used.is_limited(13.0, || 13.0));
        used.begin_round();
        assert!(!used.is_limited(13.0, || f64::INFINITY));
    }
}
