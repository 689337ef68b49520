//! State of loss recovery.

use crate::endpoint::recovery::Episode;
use crate::ring::Fifo;
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
    /// Lowest segment outstanding at the last timeout.
    timed_out: Option<u32>,
    /// True if the recovery may still turn out to be spurious.
    pub(super) undo_possible: bool,
    /// True if an undo restores the window: no mark was echoed since the recovery began, and it does not continue a
    /// reduction (`prior_ssthresh`).
    pub(super) restores: bool,
    /// True if the recovery had ended before it began: it continues a reduction, of which all segments are acknowledged.
    /// The next ACK, unless it advances, takes the recovery for spurious, since it echoes a segment from before the
    /// retransmission (`tcp_try_undo_recovery`).
    pub(super) is_over: bool,
    /// True if the timeout may still turn out to be spurious because originals arrive (F-RTO).
    pub(super) may_be_spurious: bool,
    /// True while an ACK is handled after which the sender sends new data instead of retransmissions: F-RTO after a
    /// timeout, or a recovery in which an original arrived while retransmissions are in flight.
    pub(super) sends_new: bool,
    /// Retransmissions that the current ACK shows to be lost.
    pub(super) lost_again: Vec<u32>,
    /// True while the timer of the reordering window is handled. It sends lost segments and no new data
    /// (`tcp_rack_reo_timeout`).
    pub(super) by_timer: bool,
    /// First segments of the bursts that left at the same time as the burst before them, the lowest first.
    joints: Fifo<u32>,
}

impl Repair {
    pub(super) fn new() -> Self {
        Self {
            state: State::Open,
            point: 0,
            first: Time::NEVER,
            timed_out: None,
            undo_possible: false,
            restores: false,
            is_over: false,
            may_be_spurious: false,
            sends_new: false,
            lost_again: Vec::new(),
            by_timer: false,
            joints: Fifo::default(),
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

    /// Records that the burst that begins with `segment` left at the same time as the burst before it; `una` is the lowest
    /// segment outstanding.
    pub(super) fn note_joint(&mut self, segment: u32, una: u32) {
        while self.joints.front().is_some_and(|&joint| joint <= una) {
            self.joints.pop();
        }
        self.joints.push(segment);
    }

    /// True if `segment` began a burst, although it left at the same time as the segment before it.
    pub(super) fn is_joint(&self, segment: u32) -> bool {
        self.joints.get(self.joints.partition_point(|joint| joint < segment)) == Some(segment)
    }

    /// True if no ACK has advanced since the last timeout; `una` is the lowest segment outstanding.
    pub(super) fn is_stuck(&self, una: u32) -> bool {
        self.timed_out == Some(una)
    }

    /// True if a timeout would belong to a loss for which the window is already reduced: in a reduction or a recovery,
    /// or after a timeout since which no ACK has advanced (`tcp_enter_loss`).
    fn is_reduced(&self, una: u32) -> bool {
        match self.state {
            State::Open => false,
            State::Reduction(_) | State::Recovery(_) => self.point > una,
            State::Loss => self.is_stuck(una) && self.point > una,
        }
    }

    /// Begins the recovery after a timeout at `now`, by Linux's rules; the segments from `una` to `next` are outstanding.
    /// Returns true if the window is already reduced; an undo is then possible only if it was possible before.
    pub(super) fn time_out(&mut self, una: u32, next: u32, now: Time, undo_possible: bool) -> bool {
        let is_reduced = self.is_reduced(una);
        let first = if self.is_before_recovery() { now } else { self.first };
        let undo_possible = if is_reduced { self.undo_possible } else { undo_possible };
        self.restores |= !is_reduced;
        self.begin(State::Loss, next, first, undo_possible);
        self.timed_out = Some(una);
        is_reduced
    }

    /// Begins a recovery at `now`, after a loss, an echo or a timeout; the segments below `next` have been sent.
    pub(super) fn begin(&mut self, state: State, next: u32, now: Time, undo_possible: bool) {
        (self.state, self.point, self.first, self.undo_possible) = (state, next, now, undo_possible);
        (self.may_be_spurious, self.is_over) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_left_together_are_known_until_they_are_acknowledged() {
        let mut repair = Repair::new();
        for segment in [2, 4, 6] {
            repair.note_joint(segment, 0);
        }
        assert!(repair.is_joint(4) && !repair.is_joint(5));
        repair.note_joint(8, 5);
        assert!(repair.joints.iter().eq(&[6, 8]));
    }
}
