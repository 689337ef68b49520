//! Quick ACKs of a receiver that delays ACKs: the number of segments that it acknowledges one by one, as in Linux 6.12.

use super::constants::TCP_MAX_QUICKACKS;

/// Segments that are acknowledged one by one from the first of several marks on (`tcp_ecn_check_ce`).
const AT_A_MARK: u32 = 2;

/// Number of quick ACKs.
#[derive(Clone, Copy, Debug)]
pub struct QuickAcks {
    left: u32,
    /// Quick ACKs that the receiver will get only with the next reason for quick ACKs.
    missed: u32,
}

impl QuickAcks {
    pub fn new(left: u32) -> Self {
        Self { left, missed: 0 }
    }

    #[inline(always)]
    pub fn are_left(self) -> bool {
        self.left > 0
    }

    pub fn are_missed(self) -> bool {
        self.missed > 0
    }

    /// Has a segment that makes the receive window grow acknowledged at once (`tcp_grow_window`). While each segment grows
    /// the window, Linux's number of quick ACKs is odd: each ACK takes one, and the next segment adds one.
    #[inline(always)]
    pub fn note_growth(&mut self) {
        self.left |= 1;
    }

    /// Takes at least `least` quick ACKs for a new reason (`tcp_incr_quickack`).
    #[inline]
    pub fn restart(&mut self, least: u32) {
        self.left = least.max(self.left + std::mem::take(&mut self.missed));
    }

    /// Takes the quick ACKs of a mark or of a retransmission (`tcp_enter_quickack_mode`). Those beyond the odd number of a
    /// growing window are taken where the growth ends.
    pub fn start_at_mark(&mut self) {
        let most = TCP_MAX_QUICKACKS + 1;
        if self.left.saturating_add(self.missed) > TCP_MAX_QUICKACKS {
            let more = (AT_A_MARK | 1).saturating_sub(most - self.missed);
            (self.left, self.missed) = (self.left + more, self.missed - more);
        }
        self.left = self.left.max(AT_A_MARK);
    }

    /// Counts a quick ACK (`tcp_dec_quickack_mode`). Returns true if it was the last.
    #[inline(always)]
    pub fn count(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.missed = 0;
        }
        self.left == 0
    }

    /// Counts a small part of a segment in order: it takes a quick ACK, but does not extend them by growing the window.
    pub fn count_small_part(&mut self) {
        self.left -= u32::from(self.left > TCP_MAX_QUICKACKS);
    }

    /// Takes a first segment that arrives out of order. In Linux, the first segment begins the quick ACKs only if it arrives
    /// in order. If not, its own ACK ends the quick ACKs of a beginning.
    pub fn miss_beginning(&mut self) {
        if self.left > TCP_MAX_QUICKACKS {
            self.missed = TCP_MAX_QUICKACKS;
            self.left -= TCP_MAX_QUICKACKS;
        }
    }
}
