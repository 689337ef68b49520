//! Proportional rate reduction (RFC 9937), as Linux has it since 5.11 (`tcp_cwnd_reduction`), on any host with
//! `recovery = "prr"`.

/// Segments that a recovery has released.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// Linux's `prior_cwnd`: the window at the start of the recovery, used as `RecoverFS` on the assumption that the window
    /// was full.
    window_at_start: u32,
    delivered: u64,
    sent: u64,
}

impl Prr {
    /// Begins a recovery at a window of `window` segments.
    pub fn begin(window: u32) -> Self {
        Self { window_at_start: window.max(1), delivered: 0, sent: 0 }
    }

    /// Takes an ACK that delivers `delivered` segments and leaves `in_flight`. Returns the number of segments that may leave;
    /// `None` if it changes nothing. With good progress (the lowest segment arrived and no further loss was detected), the
    /// sent segments may exceed those delivered by the `extra` one; RFC 6937 allowed this on every ACK.
    pub fn release(&mut self, delivered: u32, in_flight: u32, target: u32, extra: u32) -> Option<u32> {
        if delivered == 0 && self.sent > 0 {
            return None;
        }
        self.delivered += u64::from(delivered);
        let quota = if in_flight > target {
            let share = (self.delivered * u64::from(target)).div_ceil(u64::from(self.window_at_start));
            share.saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(u64::from(delivered)) + u64::from(extra);
            u64::from(target - in_flight).min(limit)
        };
        // The first retransmission of the recovery is sent in any case.
        Some((quota as u32).max(u32::from(self.sent == 0)))
    }

    /// Records that segments were sent.
    pub fn on_sent(&mut self, segments: u32) {
        self.sent += u64::from(segments);
    }
}
