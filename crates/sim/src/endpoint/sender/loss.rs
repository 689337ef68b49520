//! Detection of lost segments, and of spurious losses.

use elephan_cc::linux::{self, Sample};
use elephan_cc::{Ack, Algorithm, Cause, Event, Lost};

use super::core::Sender;
use super::repair::State;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::{Episode, Losses};
use crate::endpoint::scoreboard::Retransmission;
use crate::packet::{Packet, flag};
use crate::spec::Detection;
use crate::time::Time;

/// Largest number of SACKed segments that reordering may explain (`tcp_max_reordering`).
const MOST_REORDERING: u32 = 300;

impl Sender {
    /// Eifel detection (RFC 3522): an ACK of the lowest segment that echoes a timestamp from before its retransmission
    /// acknowledges the original, so the segment was not lost.
    fn try_undo(&mut self, now: Time, packet: Packet, una: u32) {
        if self.repair.is_open() {
            return;
        }
        if packet.segment() <= una {
            if self.repair.is_over {
                self.undo(now);
            }
            return;
        }
        if self.rules.undo {
            return self.try_undo_as_linux(now, packet, una);
        }
        self.repair.undo_possible = false;
        if packet.stamp < self.repair.first && self.board.sacked() == 0 {
            self.board.forget_losses(self.next);
            self.undo(now);
        }
    }

    /// Linux looks at each ACK that advances until the recovery ends (`tcp_try_undo_recovery`, `tcp_try_undo_partial`,
    /// `tcp_try_undo_loss`). Timestamps count whole ms (`tcp_packet_delayed`).
    fn try_undo_as_linux(&mut self, now: Time, packet: Packet, una: u32) {
        if self.rack.host_ms(packet.stamp) >= self.rack.host_ms(self.repair.first) {
            return;
        }
        match self.repair.state {
            State::Loss => self.board.forgive_losses(self.next),
            State::Recovery(_) if packet.segment() < self.repair.point => {
                // In fast recovery, the original is evidence of reordering although the segment was retransmitted.
                self.note_reordering(una);
                if self.board.has_resent() {
                    self.repair.sends_new = true;
                    return;
                }
                self.board.forget_losses(self.next);
            }
            _ => {}
        }
        self.undo(now);
    }

    /// Ends a spurious recovery, and restores the window unless a mark has shown congestion.
    pub(super) fn undo(&mut self, now: Time) {
        self.reports.end();
        if self.repair.restores || !self.rules.undo {
            self.algorithm.on_event(&Event::Undo { now: self.host_seconds(now) });
        } else {
            if let Some(episode) = self.repair.episode().filter(|_| !self.needs.own_recovery) {
                self.algorithm.on_event(&Event::Keep { window: f64::from(episode.allowance()) });
            }
            self.algorithm.on_event(&Event::RecoveryExit { now: self.host_seconds(now) });
        }
        self.stats.totals.undone += 1;
        (self.repair.state, self.repair.undo_possible, self.repair.may_be_spurious) = (State::Open, false, false);
    }

    /// Looks in an ACK for evidence that a recovery or a timeout was spurious; `una` is the lowest segment outstanding
    /// before it. With `original`, the ACK delivers an original from before a timeout.
    #[inline(never)]
    pub(super) fn check_spurious(&mut self, now: Time, packet: Packet, una: u32, original: bool) {
        self.repair.restores &= packet.flags() & flag::ECE == 0;
        if self.repair.undo_possible {
            self.try_undo(now, packet, una);
        }
        if self.repair.may_be_spurious {
            self.judge_timeout(now, packet.segment() > una, original);
        }
    }

    /// True if an ACK of the segments below `cumulative` and in `blocks` delivers a segment that was sent before the
    /// timeout and never retransmitted.
    pub(super) fn delivers_original(&self, cumulative: u32, blocks: &[(u32, u32)]) -> bool {
        let (una, past) = (self.board.una(), self.repair.point);
        self.board.has_original(una, cumulative.min(past))
            || blocks.iter().any(|block| self.board.has_original(block.0, block.1.min(past)))
    }

    /// Detection of a spurious timeout after an ACK (F-RTO, RFC 5682 section 3.1, with SACK): the timeout was spurious
    /// if an original from before the timeout arrives. After the first ACK that advances, the sender sends new data
    /// instead of retransmissions; the next ACK decides.
    fn judge_timeout(&mut self, now: Time, advances: bool, original: bool) {
        if !self.repair.is_after_timeout() {
            self.repair.may_be_spurious = false;
        } else if original {
            if self.rules.undo {
                self.board.forgive_losses(self.next);
            } else {
                self.board.forget_losses(self.next);
            }
            self.undo(now);
        } else if self.next > self.repair.point {
            self.repair.may_be_spurious = advances && self.board.sacked() == 0;
        } else if advances && self.board.una() < self.repair.point {
            self.repair.sends_new = true;
        }
    }

    #[inline]
    pub(super) fn leave_if_repaired(&mut self, now: Time, cumulative: u32) -> bool {
        if !self.repair.ends_at(cumulative) {
            return false;
        }
        if let Some(episode) = self.repair.episode() {
            if !self.needs.own_recovery {
                let window = f64::from(episode.final_window(self.next - cumulative));
                self.algorithm.on_event(&Event::Moderate { window });
            }
        }
        self.algorithm.on_event(&Event::RecoveryExit { now: self.host_seconds(now) });
        if !self.repair.is_reduction() {
            self.rack.window.on_recovery_exit();
        }
        self.repair.state = State::Open;
        self.repair.undo_possible = false;
        true
    }

    /// Detects losses after an ACK, and begins a recovery at a loss. The loss of a segment sent during a recovery
    /// belongs to the next recovery, even if it was detected and repaired during the first recovery.
    pub(super) fn detect_on_ack(&mut self, now: Time, rtt: Option<f64>, sample: Option<&Sample>) -> Losses {
        if self.repair.sends_new && !self.repair.is_after_timeout() {
            return Losses::default();
        }
        let again = self.lost_retransmissions(now);
        let more = self.detect(now) || again;
        let found = self.board.lost() > 0;
        // A lost retransmission after a timeout begins a recovery, as in Linux (FLAG_LOST_RETRANS).
        let anew = self.rules.linux && again && self.repair.is_after_timeout();
        let begin = found && (self.repair.is_open() || anew);
        if self.repair.is_reduction() && found {
            self.turn_into_recovery(now);
        }
        if begin {
            self.give_sample(now, rtt, sample);
            self.begin_loss_episode(now);
        }
        Losses { more, begin }
    }

    /// Gives the algorithm Linux's sample of an ACK before the ACK reduces the window.
    #[inline(never)]
    pub(super) fn give_sample(&mut self, now: Time, rtt: Option<f64>, sample: Option<&Sample>) {
        if let Some(&sample) = sample {
            let (min_rtt, srtt) = (self.min_rtt.get(), self.rto.srtt);
            let ack = Ack { now: self.host_seconds(now), rtt, min_rtt, srtt, sample: Some(sample), ..Ack::default() };
            self.algorithm.on_event(&Event::Linux(linux::Event::Sample(ack)));
        }
    }

    /// Handles the timer of RACK's reordering window: segments that were overtaken for the whole window are lost.
    pub(super) fn give_up_waiting(&mut self, now: Time, out: &mut impl Outlet) {
        self.repair.by_timer = true;
        let again = self.lost_retransmissions(now);
        if self.detect(now) || again {
            self.repair_after_waiting(now, out);
        }
        self.repair.by_timer = false;
        self.rearm(now, true);
    }

    fn repair_after_waiting(&mut self, now: Time, out: &mut impl Outlet) {
        let begin = self.repair.is_before_recovery();
        if self.repair.is_open() {
            self.begin_loss_episode(now);
        } else if begin {
            self.turn_into_recovery(now);
        }
        let in_flight = self.board.in_flight(self.next);
        if let Some(episode) = self.repair.episode_mut() {
            // Linux counts one delivered segment if the timer begins the recovery (tcp_rack_reo_timeout).
            episode.on_ack(u32::from(begin), in_flight, false, Losses { more: true, begin });
        }
        self.transmit(now, out);
        // After the retransmissions: the rate that sizes their bursts changes with the next ACK only.
        if let Some(episode) = self.repair.episode().filter(|_| !self.needs.own_recovery) {
            self.stats.note_window(now, f64::from(episode.window()));
        }
    }

    /// Marks lost retransmissions. Returns true if a retransmission was lost.
    fn lost_retransmissions(&mut self, now: Time) -> bool {
        let again = match self.stack.detection {
            Detection::Rack => {
                let due = self.rack.rtt + self.reorder_window();
                let (board, rack) = (&mut self.board, &self.rack);
                let overtaken = |sent: Retransmission| {
                    rack.has_overtaken(sent.segment, sent.at) && rack.elapsed(now, sent.at) >= due
                };
                let again = board.mark_lost_retransmissions(overtaken, &mut self.repair.lost_again);
                let last = board.last_retransmission(|sent| rack.has_overtaken(sent.segment, sent.at));
                self.rack.resent_wait = last.map(|sent| due.since(self.rack.elapsed(now, sent.at)));
                again
            }
            Detection::Fack => {
                // A segment first sent after the retransmission has been SACKed.
                let forward = self.board.forward_ack();
                self.board.mark_lost_retransmissions(|sent| forward > sent.next_then, &mut self.repair.lost_again)
            }
            // RFC 6675 leaves a lost retransmission to the timeout.
            Detection::Dupthresh | Detection::Dupack => 0,
        };
        if again > 0 {
            for i in 0..self.repair.lost_again.len() {
                self.report_lost(self.repair.lost_again[i], now);
            }
            self.repair.lost_again.clear();
        }
        again > 0
    }

    /// Reports a lost segment to the algorithm, if the algorithm asks for losses.
    fn report_lost(&mut self, segment: u32, now: Time) {
        if let Some(sampler) = &mut self.sampler {
            let lost = sampler.on_lost(segment.into(), now.later(self.stack.phase).0);
            if self.needs.losses {
                let lost = Lost { by_timer: self.repair.by_timer, ..lost };
                self.algorithm.on_event(&Event::Lost(lost));
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

    /// Marks lost segments. Returns true if a segment was lost.
    #[inline(always)]
    pub(super) fn detect(&mut self, now: Time) -> bool {
        let edge = match self.stack.detection {
            Detection::Dupthresh => self.board.nth_highest_sacked(self.stack.dup_threshold).unwrap_or(0),
            Detection::Fack => {
                let forward = self.board.forward_ack();
                forward.saturating_sub(self.stack.dup_threshold)
            }
            Detection::Dupack => {
                let entered = self.repair.is_in_episode() || self.board.sacked() >= self.stack.dup_threshold;
                if entered { self.board.forward_ack() } else { 0 }
            }
            Detection::Rack => self.rack_edge(now),
        };
        if self.board.is_marked_below(edge) {
            return false;
        }
        if self.sampler.is_some() {
            self.report_lost_below(edge, now);
        }
        self.board.mark_lost_below(edge) > 0
    }

    /// Records reordering: a segment that was never retransmitted arrived after one that was sent later (RFC 8985
    /// section 6.2, step 3).
    pub(super) fn note_overtaken(&mut self, segment: u32) {
        let board = &self.board;
        let below = segment >= board.una() && segment < board.forward_ack();
        if below && !board.is_sacked(segment) && !board.is_resent(segment) {
            self.note_reordering(segment);
        }
    }

    /// Records that segments above `segment` have overtaken it.
    fn note_reordering(&mut self, segment: u32) {
        self.rack.reordering_seen = true;
        let distance = self.board.forward_ack().saturating_sub(segment);
        self.rack.reordering = self.rack.reordering.max(distance.min(MOST_REORDERING));
    }

    /// Smallest RTT of the connection, the handshake's RTT included, s; infinite before the first sample.
    #[inline]
    pub(super) fn smallest_rtt(&self) -> f64 {
        self.min_rtt.get().min(self.rack.handshake)
    }

    /// Records twice the smallest RTT, which has become smaller.
    pub(super) fn note_smallest_twice(&mut self) {
        self.rack.smallest_twice = Time::from_seconds(2.0 * self.smallest_rtt());
    }

    /// Reordering window: time for which a segment may be overtaken before it counts as lost (RFC 8985 section 6.2).
    pub(super) fn reorder_window(&self) -> Time {
        let certain = !self.repair.is_before_recovery() || self.board.sacked() >= self.rack.reordering;
        if !self.rack.reordering_seen && certain {
            return Time::ZERO;
        }
        // Linux truncates a quarter of the smallest RTT and the smoothed RTT to microseconds.
        let quarter = (self.smallest_rtt() * 1e6).round() as u64 / 4;
        let wanted = quarter.saturating_mul(self.rack.window.steps.into());
        Time(wanted.min(self.rto.smoothed().0 / Time::MICROSECOND.0) * Time::MICROSECOND.0)
    }

    /// Edge of RACK's losses: the segments below the edge were sent so long before a delivered segment that they are
    /// lost.
    pub(super) fn rack_edge(&mut self, now: Time) -> u32 {
        let patience = self.rack.rtt + self.reorder_window();
        let mut segment = self.board.marked_below().max(self.board.una());
        let top = self.overtaken_below();
        while segment < top {
            // Only after a spurious timeout, segments that are not marked lost may have been retransmitted.
            if !self.board.is_sacked(segment) && !self.board.is_resent(segment) {
                let sent = self.rack.sent_at.get(segment.into()).unwrap_or_default();
                if !self.rack.has_overtaken(segment, sent) {
                    break;
                }
                if self.rack.elapsed(now, sent) < patience {
                    let last = self.last_overtaken(segment, top).unwrap_or(sent);
                    let wait = patience.since(self.rack.elapsed(now, last));
                    self.rack.resent_wait = self.rack.resent_wait.max(Some(wait));
                    break;
                }
            }
            segment += 1;
        }
        if let Some(wait) = self.rack.resent_wait.take() {
            (self.rack.reorder_due, self.rack.reorder_set) = (self.reorder_expiry(now, wait), now);
            self.timeout.probe_at = None;
            self.wake_by(self.rack.reorder_due);
        }
        segment
    }

    /// End of the segments that a delivered segment may have overtaken. A delivered retransmission overtakes all
    /// segments that were sent before it, above the highest SACKed segment too.
    fn overtaken_below(&self) -> u32 {
        let (mut low, mut high) = (self.board.forward_ack().max(self.board.marked_below()), self.next);
        let is_overtaken = |segment: u32| {
            self.rack.sent_at.get(segment.into()).is_some_and(|sent| self.rack.has_overtaken(segment, sent))
        };
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
    fn last_overtaken(&self, low: u32, top: u32) -> Option<Time> {
        let missing = self.board.missing_from_top(low, top);
        let mut times = missing.filter_map(|segment| Some((segment, self.rack.sent_at.get(segment.into())?)));
        times.find(|&(segment, sent)| self.rack.has_overtaken(segment, sent)).map(|(_, sent)| sent)
    }

    fn begin_loss_episode(&mut self, now: Time) {
        self.stats.totals.loss_events += 1;
        self.begin_episode(now, Cause::Loss);
        self.settle_marks();
    }

    /// Continues a reduction of the window as a recovery, with the same target and the same end (`tcp_enter_recovery`).
    /// The reduction has been signalled to the receiver (CWR), and is not signalled again.
    fn turn_into_recovery(&mut self, now: Time) {
        let State::Reduction(episode) = self.repair.state else { return };
        self.stats.totals.loss_events += 1;
        let first = self.first_resent(now);
        self.repair.begin(State::Recovery(episode), self.repair.point, first, self.stack.undo);
        self.expect_reports(true);
        self.repair.restores = false;
        self.repair.is_over = first == now && self.repair.point <= self.board.una();
        let (now, window) = (self.host_seconds(now), f64::from(episode.allowance()));
        self.algorithm.on_event(&Event::Linux(linux::Event::LossInReduction { now, window }));
    }

    /// Send time of the first retransmission of a recovery that begins now. Linux keeps `retrans_stamp` while a
    /// retransmission is in flight: a segment that the last recovery retransmitted does not count as an original. In
    /// stacks before RACK each recovery sets the time anew; the studies that use these stacks are reproduced with this
    /// rule.
    fn first_resent(&self, now: Time) -> Time {
        if self.rules.undo && self.board.has_resent() { self.repair.first } else { now }
    }

    /// Begins a recovery after a loss, or a reduction of the window, with the algorithm's window as the target.
    pub(super) fn begin_episode(&mut self, now: Time, cause: Cause) {
        let window = self.algorithm.window() as u32;
        let outstanding = self.next - self.board.una();
        let signal = self.signal(now, cause);
        self.algorithm.on_event(&Event::Congestion(signal));
        let target = (self.algorithm.window() as u32).max(1);
        let floor = self.algorithm.recovery_floor() as u32;
        let episode = Episode::begin(self.stack.recovery, window, outstanding, target, floor);
        let episode = if self.rules.linux { episode.following(self.algorithm.ssthresh()) } else { episode };
        let only_reduces = self.rules.cwr && cause == Cause::Ecn;
        self.repair.state = if only_reduces { State::Reduction(episode) } else { State::Recovery(episode) };
        (self.repair.point, self.timeout.probed) = (self.next, 0);
        self.repair.first = self.first_resent(now);
        self.repair.undo_possible = self.stack.undo && cause == Cause::Loss;
        self.expect_reports(cause == Cause::Loss);
        (self.repair.restores, self.repair.is_over) = (true, false);
        // Linux signals every reduction of the window to an ECN receiver (tcp_init_cwnd_reduction).
        self.marks.answered |= self.rules.cwr && self.marks.signals_losses();
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::{Bench, us};
    use crate::endpoint::sender::repair::State;
    use crate::packet::{Packet, flag};
    use crate::time::Time;

    #[test]
    fn the_window_falls_when_the_timer_of_the_reordering_window_shows_a_loss() {
        let mut bench = Bench::start_reno(10, 10_000);
        bench.arrive(0, 1, Some((1, 2)), 10_000);
        bench.arrive(0, 2, Some((1, 3)), 10_010);
        let before = bench.sender.stats.cwnd;
        assert!(bench.retransmitted().is_empty());
        bench.sender.give_up_waiting(us(20_000), &mut bench.wire);
        assert_eq!(bench.retransmitted(), [0]);
        let window = bench.sender.repair.episode().expect("a recovery has begun").window();
        assert!(f64::from(window) < before, "{window}");
        assert_eq!(bench.sender.stats.cwnd, f64::from(window));
    }

    #[test]
    fn after_a_timeout_the_reordering_window_is_zero_if_no_reordering_was_seen() {
        let mut bench = Bench::start_reno(10, 10_000);
        bench.acknowledge(2, 10_000);
        assert!(bench.sender.reorder_window() > Time::ZERO);
        bench.sender.repair.state = State::Loss;
        assert_eq!(bench.sender.reorder_window(), Time::ZERO);
        bench.sender.rack.reordering_seen = true;
        assert!(bench.sender.reorder_window() > Time::ZERO);
    }

    #[test]
    fn segments_sent_before_a_sacked_segment_are_lost_after_a_spurious_timeout_too() {
        let mut bench = Bench::start_reno(10, 10_000);
        bench.acknowledge(1, 10_000);
        bench.arrive(1, 11, Some((11, 12)), 400_000);
        assert_eq!((bench.sender.totals().timeouts, bench.sender.totals().undone), (1, 1));
        assert_eq!(bench.retransmitted()[..2], [1, 2], "segment 2 left before segment 11, and segment 1 after it");
    }

    #[test]
    fn a_delivered_retransmission_shows_the_loss_of_the_last_segment() {
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 1..29 {
            bench.arrive(0, segment, Some((1, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0]);
        bench.arrive(29, 0, None, 20_500);
        assert_eq!(bench.retransmitted(), [0, 29], "nothing above segment 29 has arrived");
    }

    #[test]
    fn the_ack_that_ends_a_recovery_shows_the_loss_of_a_segment_sent_during_the_recovery() {
        let mut bench = Bench::start(30, 10_000, None);
        for segment in (1..6).chain(7..30) {
            let (first, from_us) = if segment < 6 { (1, 10_000) } else { (7, 14_000) };
            bench.arrive(0, segment, Some((first, segment + 1)), from_us + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0, 6]);
        // Segments 30, 31 and 32 left 4 ms before the retransmission of segment 6; segment 32 is lost.
        bench.arrive(0, 30, Some((7, 31)), 20_010);
        bench.arrive(6, 0, Some((7, 31)), 20_020);
        bench.arrive(6, 31, Some((7, 32)), 20_030);
        assert_eq!(bench.retransmitted(), [0, 6]);
        bench.arrive(32, 6, None, 24_070);
        assert_eq!(bench.retransmitted(), [0, 6, 32], "nothing above segment 32 has arrived");
    }

    #[test]
    fn a_reduction_is_reported_once_although_a_loss_follows() {
        let mut bench = Bench::start_ecn(10, 10_000);
        bench.echo(1, 10_000);
        for (i, segment) in [2, 3, 4, 5, 6, 7].into_iter().enumerate() {
            bench.arrive(1, segment, Some((2, segment + 1)), 10_010 + 10 * i as u64);
        }
        assert_eq!(bench.retransmitted(), [1]);
        bench.arrive(10, 1, None, 20_100);
        let reports = bench.wire.sent.iter().filter(|sent| sent.flags() & flag::CWR != 0);
        assert_eq!(reports.map(Packet::segment).collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn the_timer_of_the_reordering_window_waits_for_retransmissions_too() {
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 1..30 {
            bench.arrive(0, segment, Some((1, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0]);
        bench.sender.rack.reordering_seen = true;
        // The last segment left after the retransmission of segment 0.
        let last = bench.wire.sent.last().map_or(0, Packet::segment);
        bench.arrive(0, last, Some((1, last + 1)), 20_290);
        assert_eq!(bench.retransmitted(), [0]);
        let due = bench.sender.rack.reorder_due;
        assert!(due < Time::NEVER);
        bench.sender.give_up_waiting(due, &mut bench.wire);
        assert_eq!(bench.retransmitted()[..2], [0, 0]);
    }

    #[test]
    fn a_recovery_that_was_over_when_it_began_is_undone_and_keeps_the_window() {
        let mut bench = Bench::start_ecn(8, 10_000);
        bench.echo(1, 10_000);
        bench.acknowledge(8, 20_000);
        assert!(bench.sender.repair.is_reduction(), "no segment beyond the reduction is acknowledged");
        let last = bench.wire.sent.last().map_or(0, Packet::segment);
        assert!(last > 9);
        bench.arrive(8, 9, Some((9, 10)), 30_000);
        bench.arrive(8, 10, Some((9, 11)), 36_000);
        assert_eq!(bench.sender.totals().undone, 1);
    }
}
