//! Detection of lost segments.

use elephan_cc::{Algorithm, Event, Lost};

use super::core::Sender;
use crate::spec::Detection;
use crate::time::Time;

impl Sender {
    /// Marks lost segments and lost retransmissions. Returns true if one was lost.
    #[inline(always)]
    pub(super) fn detect(&mut self, now: Time) -> bool {
        let edge = match self.stack.detection {
            Detection::Dupthresh => self.board.nth_highest_sacked(self.stack.dup_threshold).unwrap_or(0),
            Detection::Dupack => {
                let entered = self.repair.episode().is_some() || self.board.sacked() >= self.stack.dup_threshold;
                if entered { self.board.forward_ack() } else { 0 }
            }
            Detection::Fack => {
                let forward = self.board.forward_ack();
                // A segment first sent after the retransmission has been SACKed.
                self.board.mark_lost_retransmissions(|sent| forward > sent.next_then);
                forward.saturating_sub(self.stack.dup_threshold)
            }
            Detection::Rack => self.detect_by_time(now),
        };
        let again = self.report_lost_again(now);
        if self.board.is_marked_below(edge) {
            return again;
        }
        if self.sampler.is_some() {
            self.report_lost_below(edge, now);
        }
        self.board.mark_lost_below(edge) > 0 || again
    }

    /// Marks retransmissions that RACK finds lost, and sets its timer. Returns the edge of the lost segments.
    fn detect_by_time(&mut self, now: Time) -> u32 {
        let patience = self.patience();
        let found = self.rack.detect(now, patience, &mut self.board, self.next);
        if let Some(wait) = found.wait {
            self.timers.await_reordered(now, wait);
        }
        found.edge
    }

    /// Time from its transmission after which an overtaken segment counts as lost.
    pub(super) fn patience(&self) -> Time {
        self.rack.patience(&self.rtt, self.repair.is_before_recovery().then(|| self.board.sacked()))
    }

    /// True if the last detection has found a lost retransmission. Under RFC 6675, such a loss is left to the timeout.
    pub(super) fn has_lost_again(&self) -> bool {
        !self.board.lost_again().is_empty()
    }

    /// Reports the retransmissions that the last detection has found lost. Returns true if there is one.
    fn report_lost_again(&mut self, now: Time) -> bool {
        for i in 0..self.board.lost_again().len() {
            self.report_lost(self.board.lost_again()[i], now);
        }
        self.has_lost_again()
    }

    /// Reports a lost segment to the algorithm, if the algorithm asks for losses.
    fn report_lost(&mut self, segment: u32, now: Time) {
        if let Some(sampler) = &mut self.sampler {
            let lost = sampler.on_lost(segment.into(), self.clock.clock(now).0);
            if self.needs.losses {
                self.algorithm.on_event(&Event::Lost(Lost { by_timer: self.by_timer, ..lost }));
            }
        }
    }

    /// Reports the segments below `edge` that are about to be marked lost: all that are not yet SACKed or marked.
    fn report_lost_below(&mut self, edge: u32, now: Time) {
        for segment in self.board.marked_below().max(self.board.una())..edge {
            if !self.board.is_sacked(segment) {
                self.report_lost(segment, now);
            }
        }
    }

    /// Reports all segments in flight below `edge` as lost at a timeout.
    pub(super) fn report_lost_at_timeout(&mut self, edge: u32, now: Time) {
        for segment in self.board.una()..edge {
            if self.board.is_in_flight(segment) {
                self.report_lost(segment, now);
            }
        }
    }
}
