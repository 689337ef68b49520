//! Losses of a round, which lower the bounds between probes and end Startup.

/// Number of separate loss events in a round that end Startup (§5.3.1.3).
const STARTUP_LOSSES: u32 = 6;

/// Losses of the current round.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    in_round: bool,
    round_start: bool,
    round_delivered: f64,
    /// ACKs of the round that showed losses.
    events: u32,
    /// True if this ACK shows a loss.
    now: bool,
}

impl Losses {
    /// Notes a loss, at which `delivered` segments are delivered. True for the first one of a round.
    pub(super) fn note(&mut self, delivered: f64) -> bool {
        self.now = true;
        let is_first = !self.in_round;
        if is_first {
            self.round_delivered = delivered;
        }
        self.in_round = true;
        is_first
    }

    /// Begins a round if a segment sent at the end of the last one is delivered.
    pub(super) fn update_round(&mut self, prior_delivered: f64, delivered: f64) {
        self.round_start = prior_delivered >= self.round_delivered;
        if self.round_start {
            self.round_delivered = delivered;
        }
    }

    /// True if this ACK begins a round.
    pub(super) fn begins_round(&self) -> bool {
        self.round_start
    }

    /// True if a round with losses ends; the next round has none yet.
    pub(super) fn takes_round(&mut self) -> bool {
        self.round_start && std::mem::take(&mut self.in_round)
    }

    /// Forgets the losses of this round.
    pub(super) fn forget_round(&mut self) {
        self.in_round = false;
    }

    /// Counts the losses that this ACK shows. True if a round ends that had enough of them to end Startup.
    pub(super) fn count(&mut self) -> bool {
        self.events += u32::from(self.now);
        let many = self.round_start && self.events >= STARTUP_LOSSES;
        if self.round_start {
            self.events = 0;
        }
        many
    }

    /// Ends the ACK.
    pub(super) fn end_ack(&mut self) {
        self.now = false;
    }
}
