//! Reports of segments that arrived twice (D-SACK, RFC 2883), as Linux 6.12 uses them: to undo a reduction of the window
//! whose retransmissions were all unnecessary (RFC 3708), and to widen RACK's reordering window (RFC 8985 section 6.2).

use crate::time::Time;

/// Recoveries without a report after which the reordering window is small again (`TCP_RACK_RECOVERY_THRESH`).
pub(super) const PERSISTENCE: u8 = 16;

/// Retransmissions of the last recovery or timeout that may have been unnecessary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reports {
    /// Lowest segment outstanding when the recovery began; `None` if the reduction cannot be undone (`undo_marker`).
    pub(super) since: Option<u32>,
    /// Retransmissions that were not reported; `None` before the first (`undo_retrans`).
    pub(super) unreported: Option<u32>,
    /// Segments reported since the connection began (`dsack_dups`).
    pub(super) all: u64,
}

/// Linux's adaptation of RACK's reordering window (`tcp_rack_update_reo_wnd`).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReorderingWindow {
    /// Quarters of the smallest RTT.
    pub(super) steps: u8,
    /// Recoveries for which the window stays wide.
    pub(super) persists: u8,
    /// True if a report has arrived for which the window was not widened yet.
    pub(super) is_pending: bool,
    /// Time of the last change.
    changed: Time,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        Self { steps: 1, persists: 0, is_pending: false, changed: Time::ZERO }
    }
}

impl ReorderingWindow {
    /// Takes an ACK whose latest segment left at `sent`. The window becomes wider by one step a round trip at most.
    pub(super) fn on_ack(&mut self, now: Time, sent: Time) {
        self.is_pending &= sent >= self.changed;
        if self.is_pending {
            *self =
                Self { steps: self.steps.saturating_add(1), persists: PERSISTENCE, is_pending: false, changed: now };
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// True if an ACK may change the window.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.is_pending || self.steps > 1
    }

    /// Takes the end of a recovery that was not undone.
    pub(super) fn on_recovery_exit(&mut self) {
        self.persists = self.persists.saturating_sub(1);
    }
}

impl Reports {
    /// Begins a recovery or a timeout whose reduction may be undone; `resent` retransmissions are in flight, and `una` is
    /// the lowest segment outstanding (`tcp_init_undo`).
    pub(super) fn begin(&mut self, una: u32, resent: u32) {
        (self.since, self.unreported) = (Some(una), Some(resent).filter(|&resent| resent > 0));
    }

    /// Forgets the last recovery.
    pub(super) fn end(&mut self) {
        self.since = None;
    }

    /// Counts a retransmission.
    pub(super) fn on_resent(&mut self) {
        self.unreported = Some(self.unreported.unwrap_or(0).saturating_add(1));
    }

    /// True if every retransmission was reported.
    #[inline]
    pub(super) fn are_complete(&self) -> bool {
        self.since.is_some() && self.unreported == Some(0)
    }
}
