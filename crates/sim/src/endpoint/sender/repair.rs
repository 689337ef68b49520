//! State of loss recovery.

use crate::endpoint::recovery::Episode;
use crate::time::Time;

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// No recovery.
    Open,
    /// Recovery after a loss, or response to an ECN echo.
    Recovery(Episode),
    /// Recovery after a timeout, until all segments outstanding at the timeout are acknowledged.
    Loss,
}

/// Loss recovery of a sender.
#[derive(Debug)]
pub(super) struct Repair {
    pub(super) state: State,
    /// Next new segment at the start of the last recovery or timeout. No new recovery begins before all segments below
    /// `point` are acknowledged.
    pub(super) point: u32,
    /// Send time of the recovery's first retransmission, for the Eifel detection.
    pub(super) first: Time,
    /// True if the recovery may still turn out to be spurious.
    pub(super) undo_possible: bool,
    /// Retransmissions that the current ACK shows to be lost.
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

    /// Begins a recovery at `now`, after a loss, an echo or a timeout; the segments below `next` have been sent.
    pub(super) fn begin(&mut self, state: State, next: u32, now: Time, undo_possible: bool) {
        (self.state, self.point, self.first, self.undo_possible) = (state, next, now, undo_possible);
    }
}
