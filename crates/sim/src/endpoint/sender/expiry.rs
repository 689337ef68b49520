//! Response of a sender to the expiry of a timer, and its start.

use elephan_cc::{Algorithm, Event, Start};

use super::core::Sender;
use super::timer::Expiry;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::linux::tlp::Probe;
use crate::time::Time;

impl Sender {
    #[cold]
    pub(super) fn on_timer_due(&mut self, out: &mut impl Outlet) {
        let now = self.begin_timer_event();
        self.sample_until(now);
        if self.opening.due() <= now {
            self.open(now, out);
        }
        if self.timers.takes_reordering(now) {
            self.give_up_waiting(now, out);
        }
        let (timers, outstanding) = self.timers();
        match timers.take_expiry(now, outstanding) {
            Some(Expiry::Timeout) => self.on_timeout(now, out),
            Some(Expiry::Probe) => self.probe_tail(now, out),
            None => {}
        }
        if self.pace.wake() <= now {
            self.transmit(now, out);
        }
        if self.application_due() <= now {
            self.serve_application(now, out);
        }
        self.set_timer(now);
    }

    /// Handles the pacing timer while no other timer is due.
    #[inline(always)]
    pub(super) fn on_pace_due(&mut self, out: &mut impl Outlet) {
        let now = self.begin_timer_event();
        self.transmit_due(now, out);
        if !self.timers.stays_paced(self.pace.wake()) {
            self.set_timer(now);
        }
    }

    #[inline(always)]
    fn begin_timer_event(&mut self) -> Time {
        let now = self.timers.next();
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        now
    }

    /// Updates the time of the next timer.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, now: Time) {
        let others = self.stats.due().min(self.application_due()).min(self.opening.due());
        let paced = self.pace.wake();
        let (timers, outstanding) = self.timers();
        timers.set_next(now, others, paced, outstanding);
    }

    /// Restarts the retransmission timer.
    #[inline(always)]
    pub(in crate::endpoint) fn arm(&mut self, now: Time) {
        let delay = self.pace.delay(now);
        let (timers, outstanding) = self.timers();
        timers.arm(now, delay, outstanding);
    }

    /// Begins to send data with a window of `initial_window` segments.
    pub(super) fn begin(&mut self, now: Time, initial_window: u32, out: &mut impl Outlet) {
        (self.started, self.shortcut) = (true, self.find_shortcut());
        self.opening.end();
        let handshake = self.rtt.handshake();
        if let Some(rtt) = handshake {
            self.rtt.smooth(rtt, self.board.una(), self.next);
        }
        self.algorithm.on_event(&Event::Start(Start {
            now: self.host_seconds(now),
            initial_window: f64::from(initial_window),
            initial_ssthresh: self.stack.initial_ssthresh.map_or(f64::INFINITY, f64::from),
            segment_bytes: f64::from(self.stack.payload_bytes),
            hz: self.stack.hz(),
            seed: self.algorithm_seed,
            rtt: handshake.map(Time::seconds),
        }));
        self.stats.note_window(now, self.algorithm.window());
        self.transmit(now, out);
        if self.application.is_none() {
            self.buffer.lay_out(self.next);
        }
    }

    /// Sends a tail loss probe (RFC 8985 section 7), unless the last probe is not yet acknowledged.
    fn probe_tail(&mut self, now: Time, out: &mut impl Outlet) {
        self.arm(now);
        let (timers, outstanding) = self.timers();
        if !timers.takes_probe(now, outstanding) {
            return;
        }
        let probe = if self.send_new(1, now, out) > 0 { Probe::New } else { Probe::Resent };
        if probe == Probe::New {
            if let Some(episode) = self.repair.episode_mut() {
                // Linux counts a probe of new data as sent in the reduction (`tcp_write_xmit`).
                episode.on_sent(1);
            }
            self.validate_window();
        } else {
            // The segment is not marked lost; a SACK or the timeout will show its loss.
            self.stats.totals.retransmits += 1;
            self.emit_again(self.next - 1, now, out);
        }
        self.timers.on_probe(self.next, probe);
        // Linux defers a burst soon after any transmission (`tcp_wstamp_ns`).
        self.note_burst(1, now);
    }
}

#[cfg(test)]
mod tests {
    use elephan_cc::Algorithm;

    use crate::endpoint::bench::Bench;
    use crate::endpoint::boundary::Endpoint;
    use crate::packet::Packet;

    #[test]
    fn a_probe_is_not_repeated_before_it_is_acknowledged() {
        let mut bench = Bench::start(10, 10_000, None);
        bench.acknowledge(5, 10_000);
        let before = bench.wire.sent.len();
        let at_once = bench.acknowledge(6, 60_000);
        let probed = bench.wire.sent.len();
        assert_eq!(probed - before - at_once, 1, "a probe between the two ACKs");
        let at_once = bench.acknowledge(7, 110_000);
        assert_eq!(bench.wire.sent.len() - probed, at_once, "no probe: the last one is not acknowledged");
    }

    #[test]
    fn a_timeout_sends_new_data_after_the_first_ack_and_is_undone_by_an_original() {
        let real = |originals: bool| {
            let mut bench = Bench::start_reno(10, 10_000);
            bench.acknowledge(1, 10_000);
            bench.acknowledge(1, 400_000);
            bench.acknowledge(2, 500_000);
            let new = bench.wire.sent.last().map_or(0, Packet::segment);
            if originals {
                bench.acknowledge(4, 510_000);
            } else {
                bench.arrive(2, new, Some((new, new + 1)), 510_000);
            }
            assert!(new > 11, "new data instead of retransmissions: {new}");
            (bench.retransmitted(), bench.sender.totals().undone)
        };
        assert_eq!(real(true).1, 1, "segments 2 and 3 were not lost");
        assert_eq!(real(true).0, [1], "and are not retransmitted");
        let (again, undone) = real(false);
        assert_eq!((again.first(), undone), (Some(&1), 0));
        assert!(again.len() > 1, "a segment above a gap shows that the timeout was right: {again:?}");
    }

    #[test]
    fn a_timeout_in_a_recovery_keeps_the_recovery_s_threshold() {
        let mut bench = Bench::start_reno(20, 10_000);
        for segment in 1..=4 {
            bench.arrive(0, segment, Some((1, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted()[0], 0);
        let threshold = bench.sender.algorithm.ssthresh();
        while bench.sender.stats.totals.timeouts == 0 {
            bench.sender.on_timer(&mut bench.wire);
        }
        assert_eq!((threshold, bench.sender.algorithm.ssthresh()), (10.0, 10.0));
    }

    #[test]
    fn a_timeout_is_reported_to_an_ecn_receiver() {
        let mut bench = Bench::start_ecn(4, 10_000);
        bench.acknowledge(1, 10_000);
        while bench.sender.totals().timeouts == 0 {
            bench.sender.on_timer(&mut bench.wire);
        }
        bench.acknowledge(2, 400_000);
        bench.acknowledge(6, 500_000);
        let reports = bench.wire.sent.iter().filter(|sent| sent.flags() & crate::packet::flag::CWR != 0);
        assert_eq!(reports.count(), 1);
    }

    #[test]
    fn a_reduction_that_is_undone_before_its_report_is_not_reported() {
        let mut bench = Bench::start_ecn(4, 10_000);
        bench.acknowledge(1, 10_000);
        while bench.sender.totals().timeouts == 0 {
            bench.sender.on_timer(&mut bench.wire);
        }
        bench.acknowledge(5, 500_000);
        assert_eq!(bench.sender.totals().undone, 1, "the ACK is of originals");
        let reports = bench.wire.sent.iter().filter(|sent| sent.flags() & crate::packet::flag::CWR != 0);
        assert_eq!((bench.wire.sent.last().map(Packet::segment) > Some(4), reports.count()), (true, 0));
    }
}
