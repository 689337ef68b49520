//! Undo of a reduction of the window that turns out to be unnecessary: an original arrives (Eifel detection, RFC 3522, and
//! F-RTO), or all retransmissions are reported as duplicates (D-SACK).

use elephan_cc::{Algorithm, Event};

use super::frto::Shown;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::Progress;
use crate::endpoint::sender::Sender;
use crate::endpoint::sender::acks::Report;
use crate::endpoint::sender::repair::{Repair, Undo};
use crate::packet::Packet;
use crate::sidecar::SackEntry;
use crate::spec::HostRule;
use crate::time::Time;

impl Sender {
    /// Looks in an ACK for evidence that a recovery or a timeout was spurious.
    #[inline(never)]
    pub(in crate::endpoint) fn check_spurious(&mut self, packet: &Packet, report: Report) {
        let advances = packet.segment() > report.una;
        match self.repair.undo() {
            Some(_) if advances => self.try_undo(packet, report.una),
            Some(Undo::ByAny) => self.undo(packet.at),
            _ => {}
        }
        let shown = Shown { original: report.has_original, advances, has_sacks: self.board.sacked() > 0 };
        if self.repair.judge(self.board.una(), self.next, shown) {
            if self.rules.has(HostRule::Undo) {
                self.board.forgive_losses(self.next);
            } else {
                self.board.forget_losses(self.next);
            }
            self.undo(packet.at);
        }
    }

    /// Eifel detection: an ACK of the lowest segment that echoes a timestamp from before its retransmission acknowledges
    /// the original, so the segment was not lost. Linux looks at each ACK that advances until the recovery ends, and others
    /// at the first.
    fn try_undo(&mut self, packet: &Packet, una: u32) {
        if self.rules.has(HostRule::Undo) {
            return self.try_undo_as_linux(packet, una);
        }
        self.repair.exclude_undo();
        if packet.stamp < self.past.first_resent && self.board.sacked() == 0 {
            self.board.forget_losses(self.next);
            self.undo(packet.at);
        }
    }

    /// Linux's rules for each state (`tcp_try_undo_recovery`, `tcp_try_undo_partial`, `tcp_try_undo_loss`). Timestamps count
    /// whole ms (`tcp_packet_delayed`).
    fn try_undo_as_linux(&mut self, packet: &Packet, una: u32) {
        if self.clock.ms(packet.stamp) >= self.clock.ms(self.past.first_resent) {
            return;
        }
        match self.repair {
            Repair::Loss { .. } => self.board.forgive_losses(self.next),
            Repair::Recovery { point, .. } if packet.segment() < point => {
                // In fast recovery, the original is evidence of reordering although the segment was retransmitted.
                self.rack.on_overtaken(una, self.board.forward_ack());
                if self.board.has_resent() {
                    return self.repair.send_new_only();
                }
                self.board.forget_losses(self.next);
            }
            _ => {}
        }
        self.undo(packet.at);
    }

    /// Ends a spurious recovery, and restores the window unless a mark has shown congestion.
    fn undo(&mut self, now: Time) {
        self.reports.end();
        if self.past.restores || !self.rules.has(HostRule::Undo) {
            self.withdraw_signal();
            self.algorithm.on_event(&Event::Undo { now: self.host_seconds(now) });
        } else {
            if let Some(episode) = self.repair.episode().filter(|_| !self.needs.own_recovery) {
                self.algorithm.on_event(&Event::Keep { window: f64::from(episode.allowance()) });
            }
            self.algorithm.on_event(&Event::RecoveryExit { now: self.host_seconds(now) });
        }
        self.stats.totals.undone += 1;
        self.repair = Repair::Open;
    }

    /// True if an ACK of the segments below `cumulative` and in `blocks` delivers a segment that was sent before a timeout
    /// that F-RTO judges, and never retransmitted.
    #[inline(always)]
    pub(in crate::endpoint) fn delivers_original(&self, cumulative: u32, blocks: &[(u32, u32)]) -> bool {
        self.repair.judged_below().is_some_and(|past| self.delivers_original_below(past, cumulative, blocks))
    }

    #[cold]
    fn delivers_original_below(&self, past: u32, cumulative: u32, blocks: &[(u32, u32)]) -> bool {
        self.board.has_original(self.board.una(), cumulative.min(past))
            || blocks.iter().any(|block| self.board.has_original(block.0, block.1.min(past)))
    }

    /// Takes the report of an ACK of the segments below `cumulative` that segments arrived twice. Returns their number.
    #[inline]
    pub(in crate::endpoint) fn take_report(&mut self, entry: &SackEntry, cumulative: u32) -> u32 {
        if !self.rules.has(HostRule::DSack) || !entry.is_report() {
            return 0;
        }
        let resent = self.stats.totals.retransmits + self.opening.repeats();
        let segments = self.reports.on_report(entry.repeated, cumulative, &self.board, resent);
        if segments > 0 && !(segments == 1 && self.timers.probe.is_reported(entry.repeated.1)) {
            self.rack.on_report();
        }
        segments
    }

    /// Handles an ACK that at most reports `segments` segments that arrived twice.
    #[cold]
    #[inline(never)]
    pub(in crate::endpoint) fn on_report_alone(&mut self, segments: u32, now: Time, out: &mut impl Outlet) {
        if segments == 0 {
            return;
        }
        self.undo_if_reported(now, self.board.una());
        let in_flight = self.board.in_flight(self.next);
        let window = match self.repair.episode_mut() {
            Some(episode) if !self.needs.own_recovery => {
                episode.on_ack(Progress { delivered: segments, in_flight, ..Progress::default() })
            }
            _ => self.algorithm.window(),
        };
        self.stats.note_window(now, window);
        self.transmit(now, out);
    }

    /// True if [`Sender::heed_reports`] may change something.
    #[inline(always)]
    pub(in crate::endpoint) fn may_heed_reports(&self) -> bool {
        self.reports.have_arrived() && (self.reports.are_complete() || self.rack.may_adapt())
    }

    /// Adapts the reordering window at an ACK that delivers `last` last, and undoes the last reduction if all its
    /// retransmissions were unnecessary; `una` is the lowest segment outstanding before.
    #[inline(always)]
    pub(in crate::endpoint) fn heed_reports(&mut self, packet: &Packet, last: u32, una: u32) {
        if self.reports.have_arrived() {
            self.rack.adapt(packet.at, self.rack.sent(last).unwrap_or(packet.stamp));
            self.undo_if_reported(packet.at, una);
        }
    }

    /// Undoes the last reduction if all its retransmissions were unnecessary; after a timeout only if the ACK advances, before
    /// which `una` was the lowest segment outstanding (`tcp_try_undo_dsack`, `tcp_process_loss`).
    #[inline(never)]
    fn undo_if_reported(&mut self, now: Time, una: u32) {
        if !self.reports.are_complete() || self.repair.is_cwr() {
            return;
        }
        if !self.repair.is_loss() {
            self.rack.on_undo_by_reports();
        } else if self.board.una() > una {
            self.board.forgive_losses(self.next);
        } else {
            return;
        }
        self.undo(now);
    }
}
