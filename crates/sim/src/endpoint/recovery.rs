//! How much may be sent while losses are repaired.

use crate::spec::RecoveryRule;

/// A recovery episode: from the window at the loss to the window that the algorithm asked for.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    rule: RecoveryRule,
    /// The window that the episode ends with, segments.
    target: u32,
    /// What may be in flight now, segments.
    allowance: u32,
    /// RFC 6937's `RecoverFS`: outstanding at the beginning.
    outstanding_at_start: u32,
    delivered: u64,
    sent: u64,
    acks: u32,
}

impl Episode {
    /// Begins at a window of `window` segments with `outstanding` of them unacknowledged; `target` is the algorithm's new
    /// window.
    pub fn begin(rule: RecoveryRule, window: u32, outstanding: u32, target: u32) -> Self {
        let allowance = if rule == RecoveryRule::Pipe { target } else { window };
        Self { rule, target, allowance, outstanding_at_start: outstanding.max(1), delivered: 0, sent: 0, acks: 0 }
    }

    /// What may be in flight now.
    #[inline]
    pub fn allowance(&self) -> u32 {
        self.allowance
    }

    /// An ACK that delivers `delivered` segments while `in_flight` are outstanding; `first` on the ACK that found the loss,
    /// whose retransmission goes out whatever the rule.
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, first: bool) {
        match self.rule {
            RecoveryRule::Pipe => {}
            RecoveryRule::Prr => self.proportional(delivered, in_flight, first),
            RecoveryRule::RateHalving => self.halve_rate(in_flight),
        }
    }

    /// RFC 6937 section 3.1 with the slow-start reduction bound.
    fn proportional(&mut self, delivered: u32, in_flight: u32, first: bool) {
        self.delivered += u64::from(delivered);
        let quota = if in_flight > self.target {
            let share = (self.delivered * u64::from(self.target)).div_ceil(u64::from(self.outstanding_at_start));
            share.saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(u64::from(delivered)) + 1;
            u64::from(self.target - in_flight).min(limit)
        };
        self.allowance = in_flight + (quota as u32).max(u32::from(first));
    }

    /// One segment less for every second ACK, down to half of the target, and never a burst.
    fn halve_rate(&mut self, in_flight: u32) {
        self.acks += 1;
        if self.acks == 2 {
            self.acks = 0;
            if self.allowance > (self.target / 2).max(1) {
                self.allowance -= 1;
            }
        }
        self.allowance = self.allowance.min(in_flight + 1);
    }

    /// Something was sent during the episode.
    #[inline]
    pub fn on_sent(&mut self, segments: u32) {
        self.sent += u64::from(segments);
    }

    /// The window after the episode.
    pub fn final_window(&self) -> u32 {
        match self.rule {
            RecoveryRule::RateHalving => self.allowance.min(self.target),
            RecoveryRule::Prr | RecoveryRule::Pipe => self.target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prr_ends_a_single_loss_at_ssthresh() {
        // Window and flight of 20, the first of them lost, target 10 (RFC 6937 section 5).
        let mut episode = Episode::begin(RecoveryRule::Prr, 20, 20, 10);
        let mut in_flight = 19_u32;
        for ack in 0..19 {
            in_flight -= 1;
            episode.on_ack(1, in_flight, ack == 0);
            let sent = episode.allowance() - in_flight;
            episode.on_sent(sent);
            in_flight += sent;
        }
        assert_eq!(in_flight, 10);
        assert_eq!(episode.final_window(), 10);
    }

    #[test]
    fn rate_halving_takes_one_segment_for_every_two_acks() {
        let mut episode = Episode::begin(RecoveryRule::RateHalving, 100, 100, 50);
        for _ in 0..40 {
            let held = episode.allowance();
            episode.on_ack(1, held - 1, false);
        }
        assert_eq!(episode.allowance(), 80);
    }
}
