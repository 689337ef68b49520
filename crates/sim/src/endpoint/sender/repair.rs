//! The state of loss recovery.

use crate::endpoint::recovery::Episode;
use crate::time::Time;

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Nothing is being repaired.
    Open,
    /// A loss or an ECN echo is answered.
    Recovery(Episode),
    /// After a timeout, until everything outstanding then is acknowledged.
    Loss,
}

/// Loss recovery of a sender.
#[derive(Debug)]
pub(super) struct Repair {
    pub(super) state: State,
    /// Segments below were sent when the last episode or timeout began; no new episode begins before they are acknowledged.
    pub(super) point: u32,
    /// When the first retransmission of the episode was sent, for the Eifel detection.
    pub(super) first: Time,
    /// True if the episode may turn out to be spurious.
    pub(super) undo_possible: bool,
    /// Retransmissions found lost by the present ACK.
    pub(super) lost_again: Vec<u32>,
}

impl Repair {
    pub(super) fn new() -> Self {
        Self { state: State::Open, point: 0, first: Time::NEVER, undo_possible: false, lost_again: Vec::new() }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    #[inline]
    pub(super) fn is_in_episode(&self) -> bool {
        matches!(self.state, State::Recovery(_))
    }

    /// A loss, an echo or a timeout begins at `now`; the segments below `next` have been sent.
    pub(super) fn begin(&mut self, state: State, next: u32, now: Time, undo_possible: bool) {
        (self.state, self.point, self.first, self.undo_possible) = (state, next, now, undo_possible);
    }
}
