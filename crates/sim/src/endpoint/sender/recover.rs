//! Transitions of loss recovery: reductions, recoveries, their ends, and timeouts.

use elephan_cc::linux::{self, Sample};
use elephan_cc::{Ack, Algorithm, Cause, Event, Signal};

use super::core::Sender;
use super::marks::Echo;
use super::repair::{Repair, Undo, Window};
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::{Episode, Losses, Progress};
use crate::packet::Packet;
use crate::spec::{Detection, HostRule};
use crate::time::Time;

impl Sender {
    /// Handles the echo of an ACK that reports `told` marked segments; `rtt` and `sample` are the ACK's samples. Returns the
    /// number of marked segments to report to the algorithm.
    #[inline(never)]
    pub(super) fn on_echo(&mut self, packet: &Packet, told: u32, rtt: Option<f64>, sample: Option<&Sample>) -> f64 {
        self.stats.totals.marked += u64::from(told);
        match self.marks.on_echo(packet.segment()) {
            Echo::Ignored => return 0.0,
            Echo::Reported => return f64::from(told),
            Echo::Fresh => {}
            Echo::Answered if self.answers_again() => {}
            Echo::Answered => return 0.0,
        }
        if self.repair.is_open() {
            self.stats.totals.ecn_events += 1;
            self.give_sample(packet.at, rtt, sample);
            self.begin_episode(packet.at, Cause::Ecn);
            self.marks.on_response(self.next);
        }
        0.0
    }

    /// Gives the algorithm Linux's sample of an ACK before the ACK reduces the window.
    #[inline(never)]
    fn give_sample(&mut self, now: Time, rtt: Option<f64>, sample: Option<&Sample>) {
        if let Some(&sample) = sample {
            let (min_rtt, srtt) = (self.rtt.smallest_of_data(), self.rtt.srtt());
            let ack = Ack { now: self.host_seconds(now), rtt, min_rtt, srtt, sample: Some(sample), ..Ack::default() };
            self.algorithm.on_event(&Event::Linux(linux::Event::Sample(ack)));
        }
    }

    /// Begins a reduction of the window if the algorithm asks for it and no other reduction or recovery is under way.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn reduce_if_asked(&mut self, now: Time) {
        if self.needs.reductions && self.algorithm.takes_reduction() && self.repair.is_open() {
            self.begin_episode(now, Cause::Ecn);
        }
    }

    /// Detects losses after an ACK, and begins a recovery at a loss. The loss of a segment sent during a recovery
    /// belongs to the next recovery, even if it was detected and repaired during the first recovery.
    pub(super) fn detect_on_ack(&mut self, now: Time, rtt: Option<f64>, sample: Option<&Sample>) -> Losses {
        if self.repair.sends_new() && !self.repair.is_loss() {
            return Losses::default();
        }
        let more = self.detect(now);
        let found = self.board.lost() > 0;
        // A lost retransmission after a timeout begins a recovery, as in Linux (FLAG_LOST_RETRANS).
        let anew = self.rules.linux && self.repair.is_loss() && self.has_lost_again();
        let begin = found && (self.repair.is_open() || anew);
        if self.repair.is_cwr() && found {
            self.turn_into_recovery(now);
        }
        if begin {
            self.give_sample(now, rtt, sample);
            self.begin_loss_episode(now);
        }
        Losses { more, begin }
    }

    /// Handles the timer of RACK's reordering window: segments that were overtaken for the whole window are lost.
    pub(in crate::endpoint) fn give_up_waiting(&mut self, now: Time, out: &mut impl Outlet) {
        self.by_timer = true;
        if self.detect(now) {
            self.repair_after_waiting(now, out);
        }
        self.by_timer = false;
        let delay = self.pace.delay(now);
        let (timers, outstanding) = self.timers();
        timers.replace(now, delay, outstanding);
    }

    pub(super) fn repair_after_waiting(&mut self, now: Time, out: &mut impl Outlet) {
        let begin = self.repair.is_before_recovery();
        if self.repair.is_open() {
            self.begin_loss_episode(now);
        } else if begin {
            self.turn_into_recovery(now);
        }
        // Linux counts one delivered segment if the timer begins the recovery (tcp_rack_reo_timeout).
        let (delivered, in_flight) = (u32::from(begin), self.board.in_flight(self.next));
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_ack(Progress { delivered, in_flight, in_order: false, losses: Losses { more: true, begin } });
        }
        self.transmit(now, out);
        // After the retransmissions: the rate that sizes their bursts changes with the next ACK only.
        if let Some(episode) = self.repair.episode().filter(|_| !self.needs.own_recovery) {
            self.stats.note_window(now, f64::from(episode.window()));
        }
    }

    fn begin_loss_episode(&mut self, now: Time) {
        self.stats.totals.loss_events += 1;
        self.begin_episode(now, Cause::Loss);
        self.marks.on_response(self.next);
    }

    /// Begins a recovery after a loss, or a reduction of the window, with the algorithm's window as the target.
    fn begin_episode(&mut self, now: Time, cause: Cause) {
        let window = self.algorithm.window() as u32;
        let outstanding = self.next - self.board.una();
        let signal = self.signal(now, cause);
        self.algorithm.on_event(&Event::Congestion(signal));
        let target = (self.algorithm.window() as u32).max(1);
        let floor = self.algorithm.recovery_floor() as u32;
        let mut episode = Episode::begin(self.stack.recovery, window, outstanding, target, floor);
        if self.rules.linux || self.needs.falling_targets {
            episode = episode.following(self.algorithm.ssthresh());
        }
        self.timers.probe.forget();
        self.begin_resending(now);
        let undo = self.stack.undo && cause == Cause::Loss;
        self.repair.recover(episode, self.next, undo.then_some(Undo::ByOriginal));
        if cause == Cause::Ecn {
            self.reduce_without_recovery();
        }
        self.past.restores = true;
        match cause {
            Cause::Loss => self.expect_reports(),
            _ => self.reports.end(),
        }
        self.signal_reduction();
    }

    /// Sets the time of the first retransmission of a recovery that begins now. Linux keeps `retrans_stamp` while a
    /// retransmission is in flight: a segment that the last recovery retransmitted does not count as an original. In
    /// stacks before RACK each recovery sets the time anew; the studies that use these stacks are reproduced with this
    /// rule.
    pub(in crate::endpoint) fn begin_resending(&mut self, now: Time) {
        if !(self.rules.has(HostRule::Undo) && self.board.has_resent()) {
            self.past.first_resent = now;
        }
    }

    /// Expects reports of the retransmissions of a recovery that begins, if they can undo its reduction.
    pub(in crate::endpoint) fn expect_reports(&mut self) {
        if self.rules.has(HostRule::DSack) && self.stack.undo {
            self.reports.begin(self.board.una(), self.board.resent() + self.timers.probe.resent());
        } else {
            self.reports.end();
        }
    }

    /// Ends the recovery if an ACK of all segments below `cumulative` repairs it.
    #[inline]
    pub(super) fn leave_if_repaired(&mut self, now: Time, cumulative: u32) -> bool {
        if !self.repair.ends_at(cumulative) {
            return false;
        }
        if let Some(episode) = self.repair.episode().filter(|_| !self.needs.own_recovery) {
            let window = f64::from(episode.final_window(self.next - cumulative));
            self.algorithm.on_event(&Event::Moderate { window });
        }
        self.algorithm.on_event(&Event::RecoveryExit { now: self.host_seconds(now) });
        if !self.repair.is_cwr() {
            self.rack.on_recovery_exit();
        }
        self.repair = Repair::Open;
        true
    }

    /// Signal of congestion at `now`.
    fn signal(&self, now: Time, cause: Cause) -> Signal {
        Signal {
            now: self.host_seconds(now),
            in_flight: f64::from(self.board.in_flight(self.next)),
            cause,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.smallest_of_data(),
            repeated: self.rtt.is_backed_off(),
            kept: 0.0,
        }
    }

    /// Handles a retransmission timeout (RFC 6298 section 5): all segments are lost, except those of the last RTT under
    /// RACK. The lowest segment is retransmitted first.
    pub(in crate::endpoint) fn on_timeout(&mut self, now: Time, out: &mut impl Outlet) {
        self.stats.totals.timeouts += 1;
        let mut signal = self.signal(now, Cause::Loss);
        if self.rules.linux && self.repair.is_open() && self.board.sacked() >= self.stack.dup_threshold {
            self.rack.on_timeout_with_sacks(self.stack.dup_threshold);
        }
        let undo = self.stack.undo.then_some(Undo::ByOriginal);
        let outstanding = (self.board.una(), self.next);
        let window = self.repair.time_out(now, outstanding, undo, &mut self.past, self.rules);
        if self.rules.linux {
            signal.repeated = window == Window::AlreadyReduced;
            if window == Window::Reduced {
                self.expect_reports();
            }
        }
        self.lose_all(now);
        signal.kept = f64::from(self.board.in_flight(self.next));
        self.algorithm.on_event(&Event::Timeout(signal));
        self.rtt.back_off();
        self.timers.on_timeout();
        self.stats.note_window(now, self.algorithm.window());
        self.signal_reduction();
        self.arm(now);
        self.transmit(now, out);
        self.timers.on_resent_after_timeout();
    }

    /// Marks all segments lost at a timeout that were not sent within the last RTT.
    fn lose_all(&mut self, now: Time) {
        let kept = self.rack.first_kept(now, &self.board, self.next);
        if self.stack.detection == Detection::Dupack {
            self.board.forget_sacks(self.next);
        }
        if self.needs.losses {
            self.report_lost_at_timeout(kept, now);
        }
        self.board.mark_all_lost(kept);
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::{Bench, us};
    use crate::endpoint::linux::frto::FRto;
    use crate::endpoint::sender::repair::Repair;
    use crate::packet::{Packet, flag};

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
        let before = bench.sender.patience();
        bench.sender.repair = Repair::Loss { point: 0, undo: None, frto: FRto::Off };
        assert!(bench.sender.patience() < before);
        bench.sender.rack.on_overtaken(0, 1);
        assert_eq!(bench.sender.patience(), before);
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
    fn a_recovery_that_was_over_when_it_began_is_undone_and_keeps_the_window() {
        let mut bench = Bench::start_ecn(8, 10_000);
        bench.echo(1, 10_000);
        bench.acknowledge(8, 20_000);
        assert!(bench.sender.repair.is_cwr(), "no segment beyond the reduction is acknowledged");
        let last = bench.wire.sent.last().map_or(0, Packet::segment);
        assert!(last > 9);
        bench.arrive(8, 9, Some((9, 10)), 30_000);
        bench.arrive(8, 10, Some((9, 11)), 36_000);
        assert_eq!(bench.sender.totals().undone, 1);
    }
}
