//! Loss detection by time (RACK, RFC 8985) as in Linux 6.12 (`net/ipv4/tcp_recovery.c`): the latest delivered segment, the
//! send time of each outstanding segment, and the reordering window.

use elephan_cc::estimators::SegmentRing;

use super::constants::{MAX_REORDERING, TCP_RACK_RECOVERY_THRESH};
use super::jiffies::Interrupts;
use crate::endpoint::read::read;
use crate::endpoint::rtt::Rtt;
use crate::endpoint::scoreboard::{Retransmission, Scoreboard};
use crate::ring::MOST_INHERITED;
use crate::spec::{Detection, StackSpec};
use crate::time::Time;

/// State of RACK.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    is_on: bool,
    clock: Interrupts,
    /// Send time (RACK.xmit_ts), number (RACK.end_seq) and RTT of the latest delivered segment.
    stamp: Time,
    segment: u32,
    rtt: Time,
    has_reordered: bool,
    /// Number of SACKed segments from which an overtaken segment does not wait; it grows with the distance of overtaken
    /// segments (`tcp_check_sack_reordering`).
    reordering: u32,
    window: Window,
    /// True if the send time of each outstanding segment is kept, and these times.
    keeps_times: bool,
    sent_at: SegmentRing<Time>,
}

/// Width of the reordering window, which reports of duplicates widen (`tcp_rack_update_reo_wnd`).
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// Quarters of the smallest RTT.
    steps: u8,
    /// Recoveries for which the window stays wide.
    persists: u8,
    /// True if a report has arrived for which the window was not widened yet.
    is_pending: bool,
    /// Time of the last change.
    changed: Time,
}

/// Segments found lost: all below `edge`. If others may be lost after `wait`, a timer must look again.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub edge: u32,
    pub wait: Option<Time>,
}

impl Rack {
    read!(is_on: bool);

    /// RACK of a sender on a host with the clock `clock`; a stack without RACK only keeps the send times that it needs.
    pub fn new(stack: &StackSpec, clock: Interrupts) -> Self {
        Self {
            is_on: stack.detection == Detection::Rack,
            clock,
            reordering: stack.dup_threshold,
            window: Window { steps: 1, ..Window::default() },
            keeps_times: stack.keeps_times(),
            ..Self::default()
        }
    }

    /// Takes over the memory of a sender that has ended. The contents of the ring are never read before they are written.
    pub fn inherit(&mut self, old: &mut Self) {
        if self.sent_at.capacity() == 0 && old.sent_at.capacity() <= MOST_INHERITED {
            self.sent_at = std::mem::take(&mut old.sent_at);
        }
    }

    /// Place of a segment's send time, to prefetch it.
    pub fn place(&self, segment: u32) -> (&[Time], usize) {
        self.sent_at.place(segment.into())
    }

    /// Time at which an outstanding segment was last sent.
    pub fn sent(&self, segment: u32) -> Option<Time> {
        self.sent_at.get(segment.into())
    }

    /// Keeps the send time of the segments from `first` to before `past`, which leave now; `una` is the lowest segment
    /// outstanding.
    #[inline(always)]
    pub fn on_sent(&mut self, una: u32, (first, past): (u32, u32), now: Time) {
        if self.keeps_times {
            self.sent_at.fill(una.into(), first.into(), past.into(), now);
        }
    }

    /// Records the delivery of `segment`, which was sent at `stamp`.
    #[inline]
    pub fn on_delivered(&mut self, segment: u32, stamp: Time, rtt: Time) {
        if self.is_on && (stamp, segment) > (self.stamp, self.segment) {
            (self.stamp, self.segment, self.rtt) = (stamp, segment, rtt);
        }
    }

    /// Records an RTT: that of the segment that Linux processes last, of the segments that an ACK delivers
    /// (`tcp_rack_advance`). RFC 8985 keeps the RTT of the segment that was sent last. An RTT below `smallest`, s, does not
    /// count: the original of the segment arrived after its retransmission was sent.
    #[cold]
    pub fn on_processed(&mut self, rtt: Time, smallest: f64) {
        if rtt.seconds() >= smallest {
            self.rtt = rtt;
        }
    }

    /// Records that segments below `forward` have overtaken `segment`, which was never retransmitted (RFC 8985 section 6.2,
    /// step 3).
    pub fn on_overtaken(&mut self, segment: u32, forward: u32) {
        self.has_reordered = true;
        self.reordering = self.reordering.max(forward.saturating_sub(segment).min(MAX_REORDERING));
    }

    /// True if segments were overtaken by more than `threshold` others.
    pub fn expects_reordering(&self, threshold: u32) -> bool {
        self.reordering > threshold
    }

    /// Expects less reordering again after a timeout with `threshold` or more segments SACKed.
    pub fn on_timeout_with_sacks(&mut self, threshold: u32) {
        self.reordering = self.reordering.min(threshold);
    }

    /// Takes a report of a duplicate that was no tail loss probe: the reordering window becomes wider with the next ACK.
    pub fn on_report(&mut self) {
        self.window.is_pending |= self.has_reordered;
    }

    /// Adapts the reordering window at an ACK at `now` of a segment that left at `sent`. The window becomes wider by one
    /// step a round trip at most.
    pub fn adapt(&mut self, now: Time, sent: Time) {
        let window = &mut self.window;
        window.is_pending &= sent >= window.changed;
        if window.is_pending {
            let steps = window.steps.saturating_add(1);
            *window = Window { steps, persists: TCP_RACK_RECOVERY_THRESH, is_pending: false, changed: now };
        } else if window.persists == 0 {
            window.steps = 1;
        }
    }

    /// True if the reordering window may have another width after [`Rack::adapt`].
    pub fn may_adapt(&self) -> bool {
        let Window { steps, persists, is_pending, .. } = self.window;
        is_pending || (persists == 0 && steps != 1)
    }

    /// Keeps the reordering window wide for one more recovery after a recovery that reports of duplicates undo.
    pub fn on_undo_by_reports(&mut self) {
        self.window.persists = TCP_RACK_RECOVERY_THRESH.min(self.window.persists + 1);
    }

    /// Takes the end of a recovery that was not undone.
    pub fn on_recovery_exit(&mut self) {
        self.window.persists = self.window.persists.saturating_sub(1);
    }

    /// Time from its transmission after which an overtaken segment counts as lost: the RTT and the reordering window (RFC
    /// 8985 section 6.2). `sacked` is the number of SACKed segments before a recovery, and `None` in a recovery.
    pub fn patience(&self, rtt: &Rtt, sacked: Option<u32>) -> Time {
        if !self.has_reordered && sacked.is_none_or(|sacked| sacked >= self.reordering) {
            return self.rtt;
        }
        // Linux truncates a quarter of the smallest RTT and the smoothed RTT to microseconds.
        let quarter = (rtt.smallest() * 1e6).round() as u64 / 4;
        let wanted = quarter.saturating_mul(self.window.steps.into());
        self.rtt + Time(wanted.min(rtt.smoothed().0 / Time::MICROSECOND.0) * Time::MICROSECOND.0)
    }

    /// Marks lost retransmissions after an event at `now`, and finds the edge of the lost segments; the segments below
    /// `next` have been sent.
    pub fn detect(&self, now: Time, patience: Time, board: &mut Scoreboard, next: u32) -> Found {
        let is_overtaken = |sent: Retransmission| self.has_overtaken(sent.segment, sent.at);
        board.mark_lost_retransmissions(|sent| is_overtaken(sent) && self.clock.rtt(now, sent.at) >= patience);
        let last = board.last_retransmission(is_overtaken);
        let mut wait = last.map(|sent| patience.since(self.clock.rtt(now, sent.at)));
        let (mut edge, top) = (board.marked_below().max(board.una()), self.overtaken_below(board, next));
        while edge < top {
            // Only after a spurious timeout, segments that are not marked lost may have been retransmitted.
            if !board.is_sacked(edge) && !board.is_resent(edge) {
                let sent = self.sent(edge).unwrap_or_default();
                if !self.has_overtaken(edge, sent) {
                    break;
                }
                if self.clock.rtt(now, sent) < patience {
                    let last = self.last_overtaken(board, edge, top).unwrap_or(sent);
                    wait = wait.max(Some(patience.since(self.clock.rtt(now, last))));
                    break;
                }
            }
            edge += 1;
        }
        Found { edge, wait }
    }

    /// Send time and number of the latest delivered segment.
    #[cfg(test)]
    pub fn latest(&self) -> (Time, u32) {
        (self.stamp, self.segment)
    }

    /// True if a segment sent after `segment`, which was last sent at `sent`, has arrived. Segments of one burst have the
    /// same send time, so their numbers decide (RACK_sent_after in RFC 8985 section 6.2).
    fn has_overtaken(&self, segment: u32, sent: Time) -> bool {
        (sent, segment) < (self.stamp, self.segment)
    }

    /// End of the segments that a delivered segment may have overtaken. A delivered retransmission overtakes all
    /// segments that were sent before it, above the highest SACKed segment too.
    fn overtaken_below(&self, board: &Scoreboard, next: u32) -> u32 {
        let (mut low, mut high) = (board.forward_ack().max(board.marked_below()), next);
        let is_overtaken = |segment: u32| self.sent(segment).is_some_and(|sent| self.has_overtaken(segment, sent));
        if low >= high || !is_overtaken(low) {
            return low;
        }
        // Segments that are not marked lost were sent in the order of their numbers.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_overtaken(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// Latest send time of an overtaken segment from `low` to `top`. Linux's timer waits for the latest overtaken
    /// segment, so that one expiry marks all overtaken segments lost (`tcp_rack_detect_loss` uses the longest wait), as
    /// in RFC 8985.
    fn last_overtaken(&self, board: &Scoreboard, low: u32, top: u32) -> Option<Time> {
        let mut times = board.missing_from_top(low, top).filter_map(|segment| Some((segment, self.sent(segment)?)));
        times.find(|&(segment, sent)| self.has_overtaken(segment, sent)).map(|(_, sent)| sent)
    }

    /// Segment from which on no segment counts as lost at a timeout: these segments were sent within the last RTT
    /// (`tcp_timeout_mark_lost`).
    pub fn first_kept(&self, now: Time, board: &Scoreboard, next: u32) -> u32 {
        let least = board.marked_below().max(board.una() + 1);
        let is_young = |segment| self.sent(segment).is_some_and(|sent| self.clock.rtt(now, sent) < self.rtt);
        let mut first = next;
        while self.is_on && first > least && is_young(first - 1) {
            first -= 1;
        }
        first
    }
}
