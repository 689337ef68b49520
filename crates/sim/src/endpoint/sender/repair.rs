//! State of loss recovery.

use crate::endpoint::recovery::Episode;
use crate::time::Time;

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// No recovery.
    Open,
    /// Reduction of the window without a loss: after an ECN echo, or by the algorithm's own decision (Linux's state
    /// `CWR`). A loss makes it a recovery. Stacks before RACK have no such state.
    Reduction(Episode),
    /// Recovery after a loss; in stacks before RACK also the response to an ECN echo.
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
    /// True if the timeout may still turn out to be spurious because originals arrive (F-RTO).
    pub(super) may_be_spurious: bool,
    /// True while an ACK is handled after which F-RTO sends new data instead of retransmissions.
    pub(super) sends_new: bool,
    /// Retransmissions that the current ACK shows to be lost.
    pub(super) lost_again: Vec<u32>,
}

impl Repair {
    pub(super) fn new() -> Self {
        Self {
            state: State::Open,
            point: 0,
            first: Time::NEVER,
            undo_possible: false,
            may_be_spurious: false,
            sends_new: false,
            lost_again: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    #[inline]
    pub(super) fn is_in_episode(&self) -> bool {
        self.episode().is_some()
    }

    #[inline]
    pub(super) fn is_after_timeout(&self) -> bool {
        matches!(self.state, State::Loss)
    }

    #[inline]
    pub(super) fn is_reduction(&self) -> bool {
        matches!(self.state, State::Reduction(_))
    }

    /// True if a loss would begin a recovery.
    #[inline]
    pub(super) fn is_before_recovery(&self) -> bool {
        matches!(self.state, State::Open | State::Reduction(_))
    }

    #[inline]
    pub(super) fn episode(&self) -> Option<&Episode> {
        match &self.state {
            State::Reduction(episode) | State::Recovery(episode) => Some(episode),
            State::Open | State::Loss => None,
        }
    }

    #[inline]
    pub(super) fn episode_mut(&mut self) -> Option<&mut Episode> {
        match &mut self.state {
            State::Reduction(episode) | State::Recovery(episode) => Some(episode),
            State::Open | State::Loss => None,
        }
    }

    /// True if an ACK of all segments below `cumulative` ends the state. A reduction ends beyond its last segment, so
    /// that the receiver sees its report (CWR).
    pub(super) fn ends_at(&self, cumulative: u32) -> bool {
        !self.is_open() && if self.is_reduction() { cumulative > self.point } else { cumulative >= self.point }
    }

    /// Begins a recovery at `now`, after a loss, an echo or a timeout; the segments below `next` have been sent.
    pub(super) fn begin(&mut self, state: State, next: u32, now: Time, undo_possible: bool) {
        (self.state, self.point, self.first, self.undo_possible) = (state, next, now, undo_possible);
        self.may_be_spurious = false;
    }
}
