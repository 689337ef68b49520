//! Reports of segments that arrived twice (D-SACK, RFC 2883), as Linux 6.12 uses them: to undo a reduction of the window
//! whose retransmissions were all unnecessary (RFC 3708), and to widen RACK's reordering window (RFC 8985 section 6.2).

use crate::endpoint::scoreboard::Scoreboard;

/// Retransmissions of the last recovery or timeout that may have been unnecessary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reports {
    /// Lowest segment outstanding when the recovery began; `None` if the reduction cannot be undone (`undo_marker`).
    since: Option<u32>,
    /// Retransmissions that were not reported; `None` before the first (`undo_retrans`).
    unreported: Option<u32>,
    /// Segments reported since the connection began (`dsack_dups`).
    all: u64,
}

impl Reports {
    /// True if a report has arrived: without one, the reordering window is small and each retransmission may have been
    /// necessary.
    pub fn have_arrived(&self) -> bool {
        self.all > 0
    }

    /// Begins a recovery or a timeout whose reduction may be undone; `resent` retransmissions are in flight, and `una` is
    /// the lowest segment outstanding (`tcp_init_undo`).
    pub fn begin(&mut self, una: u32, resent: u32) {
        (self.since, self.unreported) = (Some(una), Some(resent).filter(|&resent| resent > 0));
    }

    /// Forgets the last recovery.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// Counts a retransmission.
    pub fn on_resent(&mut self) {
        self.unreported = Some(self.unreported.unwrap_or(0).saturating_add(1));
    }

    /// Takes the report of the segments from `first` to `past` by an ACK of the segments below `cumulative`. Returns their
    /// number; 0 if the network duplicated them: there are more reports than the `resent` retransmissions so far
    /// (`tcp_dsack_seen`).
    #[cold]
    #[inline(never)]
    pub fn on_report(&mut self, (first, past): (u32, u32), cumulative: u32, board: &Scoreboard, resent: u64) -> u32 {
        let segments = past - first;
        self.all += u64::from(segments);
        if self.all > resent {
            return 0;
        }
        if let (Some(since), Some(unreported)) = (self.since, &mut self.unreported) {
            // The first acknowledgement of a segment may report a copy that the network made. Linux counts that only if the
            // segment was retransmitted (`tcp_check_dsack`, `tcp_sacktag_one`).
            let is_first = past > board.una() && past <= cumulative;
            if past > since && (!is_first || board.is_resent(past - 1)) {
                *unreported = unreported.saturating_sub(segments);
            }
        }
        segments
    }

    /// True if every retransmission was reported.
    pub fn are_complete(&self) -> bool {
        self.since.is_some() && self.unreported == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_reported_with_the_acknowledgement_of_its_segment_is_no_unnecessary_retransmission() {
        let (mut board, mut reports) = (Scoreboard::default(), Reports::default());
        board.advance_clean(5);
        board.reserve(20);
        reports.begin(0, 2);
        // The ACK of the reports acknowledges segment 5, and an earlier ACK has acknowledged segment 4.
        for (repeated, left) in [((5, 6), 2), ((4, 5), 1)] {
            assert_eq!(reports.on_report(repeated, 6, &board, 4), 1);
            assert_eq!(reports.unreported, Some(left), "{repeated:?}");
        }
    }
}
