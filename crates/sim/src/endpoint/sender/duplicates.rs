//! Response of a sender to reports of segments that arrived twice.

use elephan_cc::Algorithm;

use super::core::Sender;
use super::repair::State;
use super::reports::PERSISTENCE;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::Losses;
use crate::packet::Packet;
use crate::sidecar::SackEntry;
use crate::time::Time;

impl Sender {
    /// Takes the report of an ACK of the segments below `cumulative` that segments arrived twice. Returns their number; 0
    /// without a report, and if the network duplicated them: there are more reports than retransmissions
    /// (`tcp_dsack_seen`).
    #[inline]
    pub(super) fn take_report(&mut self, entry: &SackEntry, cumulative: u32) -> u32 {
        if self.rules.d_sack && entry.is_report() { self.on_report(entry.repeated, cumulative) } else { 0 }
    }

    #[cold]
    #[inline(never)]
    fn on_report(&mut self, (first, past): (u32, u32), cumulative: u32) -> u32 {
        let segments = past - first;
        self.reports.all += u64::from(segments);
        if self.reports.all > self.stats.totals.retransmits + self.opening.repeats() {
            return 0;
        }
        let is_probe = segments == 1 && self.timeout.probed > 0 && self.timeout.probed == past;
        self.rack.window.is_pending |= self.rack.reordering_seen && !is_probe;
        if let (Some(since), Some(unreported)) = (self.reports.since, &mut self.reports.unreported) {
            // The first acknowledgement of a segment may report a copy that the network made. Linux counts that only if the
            // segment was retransmitted (`tcp_check_dsack`, `tcp_sacktag_one`).
            let is_first = past > self.board.una() && past <= cumulative;
            if past > since && (!is_first || self.board.is_resent(past - 1)) {
                *unreported = unreported.saturating_sub(segments);
            }
        }
        segments
    }

    /// Handles an ACK that at most reports `segments` segments that arrived twice.
    #[cold]
    #[inline(never)]
    pub(super) fn on_report_alone(&mut self, segments: u32, now: Time, out: &mut impl Outlet) {
        if segments == 0 {
            return;
        }
        self.undo_if_reported(now, false);
        let in_flight = self.board.in_flight(self.next);
        match self.repair.episode_mut() {
            Some(episode) if !self.needs.own_recovery => {
                episode.on_ack(segments, in_flight, false, Losses::default());
                let window = episode.window();
                self.stats.note_window(now, f64::from(window));
            }
            _ => self.stats.note_window(now, self.algorithm.window()),
        }
        self.transmit(now, out);
    }

    /// Adapts the reordering window at an ACK that delivers `last` last, which left at `stamp`, and undoes the last reduction
    /// if all its retransmissions were unnecessary.
    #[inline(always)]
    pub(super) fn heed_reports(&mut self, packet: &Packet, last: u32, advances: bool) {
        if self.reports.all == 0 {
            return; // no report has arrived: the reordering window is small, and each retransmission may have been necessary
        }
        if self.rack.window.is_active() {
            let sent = self.rack.sent_at.get(last.into()).unwrap_or(packet.stamp);
            self.rack.window.on_ack(packet.at, sent);
        }
        if self.reports.are_complete() {
            self.undo_if_reported(packet.at, advances);
        }
    }

    /// True if segments were overtaken so far that Linux lets the window grow with SACKs too (`tcp_may_raise_cwnd`).
    #[inline]
    pub(super) fn expects_reordering(&self) -> bool {
        self.rules.linux && self.rack.reordering > self.stack.dup_threshold
    }

    /// Undoes the last reduction if all its retransmissions were unnecessary; after a timeout only if the ACK `advances`
    /// (`tcp_try_undo_dsack`, `tcp_process_loss`).
    #[inline(never)]
    fn undo_if_reported(&mut self, now: Time, advances: bool) {
        if !self.reports.are_complete() || self.repair.is_reduction() {
            return;
        }
        if matches!(self.repair.state, State::Loss) {
            if !advances {
                return;
            }
            self.board.forgive_losses(self.next);
        } else {
            self.rack.window.persists = PERSISTENCE.min(self.rack.window.persists + 1);
        }
        self.undo(now);
    }

    /// Expects reports of the retransmissions of a recovery that begins, if they can undo its reduction.
    pub(super) fn expect_reports(&mut self, may_undo: bool) {
        if may_undo && self.rules.d_sack && self.stack.undo {
            let probes = u32::from(self.timeout.has_resent_probe && self.timeout.probed > 0);
            self.reports.begin(self.board.una(), self.board.resent() + probes);
        } else {
            self.reports.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::Bench;
    use crate::sidecar::SackEntry;

    #[test]
    fn a_copy_that_is_reported_with_the_acknowledgement_of_its_segment_is_no_unnecessary_retransmission() {
        let mut bench = Bench::start_reno(20, 10_000);
        bench.acknowledge(5, 10_000);
        bench.sender.stats.totals.retransmits = 4;
        bench.sender.reports.begin(0, 2);
        // The ACK of the reports acknowledges segment 5, and an earlier ACK has acknowledged segment 4.
        for (repeated, left) in [((5, 6), 2), ((4, 5), 1)] {
            assert_eq!(bench.sender.take_report(&SackEntry { repeated, ..SackEntry::default() }, 6), 1);
            assert_eq!(bench.sender.reports.unreported, Some(left), "{repeated:?}");
        }
    }
}
