//! A sender's timers: the start, samples, the retransmission timer, and the tail loss probe.

use elephan_cc::{Algorithm, Cause, Event, Signal, Start};

use super::core::Sender;
use super::repair::State;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::jiffies::Interrupts;
use crate::record::SenderSample;
use crate::spec::Detection;
use crate::time::Time;

/// Margin against early timers (Linux's `TCP_TIMEOUT_MIN_US`; also 2 ms in RFC 8985 section 7.2). The margin is added
/// to the two round trips before a tail loss probe and to the wait for a reordered segment.
const PROBE_MARGIN: Time = Time(2 * Time::MILLISECOND.0);

impl Sender {
    #[cold]
    pub(super) fn on_timer_due(&mut self, out: &mut impl Outlet) {
        let now = self.timer;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.sample_until(now);
        if self.opening.due <= now {
            self.open(now, out);
        }
        if self.rack.reorder_due <= now {
            self.rack.reorder_due = Time::NEVER;
            self.note_expiry(now);
            self.give_up_waiting(now, out);
        }
        if self.probe_due().min(self.timeout_due()) <= now {
            let is_timeout = self.timeout_due() <= now;
            self.note_expiry(now);
            if is_timeout { self.on_timeout(now, out) } else { self.probe_tail(now, out) }
        }
        if self.pace.is_due(now) {
            self.transmit(now, out);
        }
        if self.application_due() <= now {
            self.serve_application(now, out);
        }
        self.set_timer(now);
    }

    /// Records that a timer expires; timers that are set before the next interrupt depend on it.
    fn note_expiry(&mut self, now: Time) {
        let interrupts = Interrupts::of(&self.stack);
        self.timeout.expired = (interrupts.jiffy > Time::ZERO).then(|| interrupts.count(now));
    }

    /// Updates the time of the next timer.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, now: Time) {
        let retransmission = self.probe_due().min(self.timeout_due()).min(self.rack.reorder_due);
        let others = self.stats.due().min(retransmission).min(self.application_due()).min(self.opening.due);
        // A timeout that became shorter after the timer was armed may be overdue; the timer then expires now, not in
        // the past.
        self.quiet_until = others.max(now);
        self.timer = self.quiet_until.min(self.pace.wake());
    }

    /// True if only pacing is due.
    #[inline(always)]
    pub(super) fn is_only_paced(&self) -> bool {
        self.timer == self.pace.wake() && self.timer < self.quiet_until
    }

    /// Handles the pacing timer while no other timer is due.
    #[inline(always)]
    pub(super) fn on_pace_due(&mut self, out: &mut impl Outlet) {
        let now = self.timer;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.transmit_due(now, out);
        if self.pace.wake() < self.quiet_until {
            self.timer = self.pace.wake();
        } else {
            self.set_timer(now);
        }
    }

    /// Ensures a timer at `at` or earlier for an event other than pacing.
    #[inline(always)]
    pub(super) fn wake_by(&mut self, at: Time) {
        self.quiet_until = self.quiet_until.min(at);
        self.timer = self.timer.min(at);
    }

    /// Expiry of the retransmission timer, unless an event restarts it. A probe comes before a timeout.
    fn timeout_due(&self) -> Time {
        if self.timeout.armed == Time::NEVER || self.has_probe() {
            Time::NEVER
        } else {
            let wait = self.timeout.left.unwrap_or_else(|| self.rto.timeout());
            self.expiry(self.timeout.armed, wait.later(self.timeout.delay))
        }
    }

    /// True if the next timer of the oldest segment is a tail loss probe.
    fn has_probe(&self) -> bool {
        let would_probe = self.timeout.may_probe && (self.board.is_clean() || self.repair.is_reduction());
        self.timeout.armed < Time::NEVER && (would_probe || self.timeout.probe_at.is_some())
    }

    /// Keeps the expiry of a probe in a reduction of the window, before an ACK with SACKs changes the RTT.
    pub(super) fn keep_probe(&mut self) {
        if self.repair.is_reduction() && self.timeout.probe_at.is_none() && self.has_probe() {
            self.timeout.probe_at = Some(self.probe_due());
            self.wake_by(self.probe_due());
        }
    }

    /// Replaces a kept probe by the timeout where new data are sent and no probe may follow.
    pub(super) fn drop_probe(&mut self, now: Time) {
        if self.timeout.probe_at.take().is_some() && !self.has_probe() {
            self.count_from_transmission(now);
        }
    }

    /// Time of a tail loss probe, unless an event restarts its timer (RFC 8985 section 7.2): the earlier of two times.
    /// One is two round trips after the last ACK or transmission, the other is the expiry of the retransmission timer.
    fn probe_due(&self) -> Time {
        if !self.has_probe() {
            return Time::NEVER;
        }
        if let Some(kept) = self.timeout.probe_at {
            return kept;
        }
        let (una, from) = (self.board.una(), self.timeout.probe_from);
        let margin = if self.next - una == 1 { Time(self.stack.min_rto_ps) } else { PROBE_MARGIN };
        let two_round_trips = self.rto.twice_smoothed().later(margin);
        let timeout = self.rto.timeout();
        // After an ACK, the timer begins anew. After a transmission, the timer counts from the transmission of the
        // oldest segment (tcp_rto_delta_us).
        let oldest = if self.timeout.has_sent { self.rack.sent_at.get(una.into()) } else { None };
        let left = oldest.map_or(timeout, |sent| sent.later(timeout).since(from));
        let wait = if left > Time::ZERO { two_round_trips.min(left) } else { two_round_trips };
        self.expiry(from, wait.later(self.timeout.probe_delay))
    }

    fn expiry(&self, from: Time, wait: Time) -> Time {
        Interrupts::of(&self.stack).expiry_after(self.timeout.expired, from, wait)
    }

    /// Time at which an overtaken segment counts as lost if its reordering window ends in `wait`
    /// (`tcp_rack_mark_lost`).
    pub(super) fn reorder_expiry(&self, now: Time, wait: Time) -> Time {
        let margin = if self.stack.hz.is_some() { PROBE_MARGIN } else { Time::ZERO };
        self.expiry(now, wait.later(margin))
    }

    /// Begins to send data with a window of `initial_window` segments.
    pub(super) fn begin(&mut self, now: Time, initial_window: u32, out: &mut impl Outlet) {
        self.started = true;
        self.plain = self.may_be_plain();
        self.opening.due = Time::NEVER;
        let handshake = Some(self.rack.handshake).filter(|rtt| rtt.is_finite());
        if let Some(rtt) = handshake {
            self.rto.sample_at(rtt, self.board.una(), self.next);
        }
        self.algorithm.on_event(&Event::Start(Start {
            now: self.host_seconds(now),
            initial_window: f64::from(initial_window),
            initial_ssthresh: self.stack.initial_ssthresh.map_or(f64::INFINITY, f64::from),
            segment_bytes: f64::from(self.stack.payload_bytes),
            hz: self.stack.hz(),
            seed: self.algorithm_seed,
            rtt: handshake,
        }));
        self.stats.note_window(now, self.algorithm.window());
        self.transmit(now, out);
        if self.application.is_none() {
            self.bursts.lay_out(self.next);
        }
    }

    pub(super) fn sample_until(&mut self, now: Time) {
        let Self { stats, algorithm, rto, board, .. } = self;
        let rtt = self.latest_rtt.map_or(f64::NAN, Time::seconds);
        let (started, next) = (self.started, self.next);
        stats.sample_until(now, |stats| {
            if started {
                stats.sample_internals(algorithm);
            }
            SenderSample {
                cwnd: stats.cwnd,
                ssthresh: if started { algorithm.ssthresh() } else { f64::INFINITY },
                srtt: if rto.srtt > 0.0 { rto.srtt } else { f64::NAN },
                rtt,
                in_flight: board.in_flight(next),
                timeouts: stats.totals.timeouts as u32,
                ecn_events: stats.totals.ecn_events as u32,
                retransmits: stats.totals.retransmits,
                loss_events: stats.totals.loss_events,
            }
        });
    }

    pub(super) fn signal(&self, now: Time, cause: Cause) -> Signal {
        Signal {
            now: self.host_seconds(now),
            in_flight: f64::from(self.board.in_flight(self.next)),
            cause,
            srtt: self.rto.srtt,
            min_rtt: self.min_rtt.get(),
            repeated: self.rto.is_backed_off(),
            kept: 0.0,
        }
    }

    /// Segment from which on no segment counts as lost at a timeout. Under RACK, these segments were sent within the
    /// last RTT (`tcp_timeout_mark_lost`).
    fn first_kept(&self, now: Time) -> u32 {
        let least = self.board.marked_below().max(self.board.una() + 1);
        let mut first = self.next;
        while self.rack.enabled && first > least {
            let Some(sent) = self.rack.sent_at.get(u64::from(first - 1)) else { break };
            if self.rack.elapsed(now, sent) >= self.rack.rtt {
                break;
            }
            first -= 1;
        }
        first
    }

    /// Handles a retransmission timeout (RFC 6298 section 5): all segments are lost, except those of the last RTT under
    /// RACK. The lowest segment is retransmitted first.
    fn on_timeout(&mut self, now: Time, out: &mut impl Outlet) {
        self.stats.totals.timeouts += 1;
        let mut signal = self.signal(now, Cause::Loss);
        // RFC 5682 section 3.1, step 1: a timeout may be spurious if no recovery is under way, or if it is repeated.
        let una = self.board.una();
        let may_be_spurious = self.rules.f_rto && (self.repair.is_before_recovery() || self.repair.is_stuck(una));
        if self.rules.linux {
            if self.repair.is_open() && self.board.sacked() >= self.stack.dup_threshold {
                self.rack.reordering = self.rack.reordering.min(self.stack.dup_threshold);
            }
            signal.repeated = self.repair.time_out(una, self.next, now, self.stack.undo);
            if !signal.repeated {
                self.expect_reports(true);
            }
        } else {
            self.repair.begin(State::Loss, self.next, now, self.stack.undo);
        }
        let kept = self.first_kept(now);
        if self.stack.detection == Detection::Dupack {
            self.board.forget_sacks(self.next);
        }
        if self.needs.losses {
            self.report_lost_at_timeout(kept, now);
        }
        self.board.mark_all_lost(kept);
        signal.kept = f64::from(self.board.in_flight(self.next));
        self.algorithm.on_event(&Event::Timeout(signal));
        self.rto.back_off();
        self.timed = None;
        self.repair.may_be_spurious = may_be_spurious;
        (self.rack.reorder_due, self.timeout.probed) = (Time::NEVER, 0);
        self.stats.note_window(now, self.algorithm.window());
        // Linux signals every timeout to an ECN receiver (`tcp_enter_loss`).
        self.marks.answered |= self.rules.cwr && self.marks.signals_losses();
        self.arm(now);
        self.transmit(now, out);
        // Pacing does not delay the timer of a timeout's retransmission (`tcp_retransmit_timer`).
        (self.timeout.delay, self.timeout.probe_delay) = (Time::ZERO, Time::ZERO);
    }

    /// Sends a tail loss probe (RFC 8985 section 7), unless the last probe is not yet acknowledged.
    fn probe_tail(&mut self, now: Time, out: &mut impl Outlet) {
        self.arm(now);
        if self.timeout.probed > 0 {
            self.count_from_transmission(now);
            return;
        }
        self.timeout.may_probe = false;
        let sends_new = self.send_new(1, now, out) > 0;
        self.timeout.has_resent_probe = !sends_new;
        if sends_new {
            if let Some(episode) = self.repair.episode_mut() {
                // Linux counts a probe of new data as sent in the reduction (`tcp_write_xmit`).
                episode.on_sent(1);
            }
            self.validate_window();
        } else {
            // The segment is not marked lost; a SACK or the timeout will show its loss.
            self.stats.totals.retransmits += 1;
            self.emit(self.next - 1, self.marks.on_retransmission(), now, out);
        }
        self.timeout.by_sending = true;
        // Linux defers a burst soon after any transmission (`tcp_wstamp_ns`).
        self.note_burst(1, now);
        self.timeout.probed = self.next;
    }

    /// Restarts the retransmission timer on an ACK, or when the timer of the reordering window has expired. With
    /// `replaces`, this timer or a probe's timer was set; if no probe follows, the timeout then counts from the
    /// transmission of the oldest segment (`tcp_rearm_rto`).
    #[inline(never)]
    pub(super) fn rearm(&mut self, now: Time, replaces: bool) {
        self.arm(now);
        if replaces && !self.has_probe() {
            self.count_from_transmission(now);
        }
    }

    #[inline(never)]
    fn count_from_transmission(&mut self, now: Time) {
        let Some(sent) = self.rack.sent_at.get(self.board.una().into()).filter(|_| self.board.una() < self.next) else {
            return;
        };
        let left = sent.later(self.rto.timeout()).since(now).max(Time::MICROSECOND);
        (self.timeout.left, self.timeout.may_probe) = (Some(left), false);
        self.wake_by(self.earliest_repair());
    }

    /// Restarts the retransmission timer.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    pub(super) fn arm(&mut self, now: Time) {
        (self.timeout.armed, self.timeout.probe_from, self.timeout.has_sent) = (now, now, false);
        (self.timeout.left, self.timeout.by_sending, self.rack.reorder_due) = (None, false, Time::NEVER);
        self.timeout.probe_at = None;
        let delay = self.pacing_delay(now);
        (self.timeout.delay, self.timeout.probe_delay) = (delay, delay);
        if self.rack.enabled {
            self.timeout.may_probe = self.rto.srtt > 0.0;
        }
        self.wake_by(self.earliest_repair());
    }

    /// A lower bound of the time of a timeout or a probe, since `timer` may be early but never late. The timeout is at
    /// least `min_rto`, and two smoothed RTTs are at least twice the smallest RTT (before the first sample, the
    /// handshake's RTT). A timeout that counts from the transmission of the oldest segment is earlier than a timeout
    /// that counts from the last ACK, by at most the excess of the latest RTT over the smoothed RTT.
    #[inline]
    pub(super) fn earliest_repair(&self) -> Time {
        let timeout = self.timeout.armed.later(self.timeout.left.unwrap_or(self.timeout.shortest));
        if !self.timeout.may_probe {
            return timeout;
        }
        let excess = self.latest_rtt.unwrap_or_default().since(self.rto.smoothed());
        let timeout =
            if excess > Time::ZERO { timeout.since(excess.later(Time::MICROSECOND)).max(self.now) } else { timeout };
        timeout.min(self.timeout.probe_from.later(self.rack.smallest_twice))
    }
}

#[cfg(test)]
mod tests {
    use elephan_cc::Algorithm;

    use crate::endpoint::bench::{Bench, us};
    use crate::endpoint::boundary::Endpoint;
    use crate::endpoint::sender::pace::Limit;
    use crate::packet::Packet;
    use crate::time::Time;

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
    fn a_timeout_that_replaces_another_timer_counts_from_the_transmission() {
        let mut bench = Bench::start(5, 10_000, None);
        bench.arrive(0, 2, Some((2, 3)), 10_010);
        let mut due = |replaces: bool| {
            bench.sender.rearm(us(30_000), replaces);
            bench.sender.timeout_due()
        };
        let (whole, rest) = (due(false), due(true));
        // Timers end at interrupts, every 4 ms.
        assert!((whole - rest).0.abs_diff(us(30_000).0) <= us(4_000).0, "{whole:?} {rest:?}");
    }

    #[test]
    fn the_timer_of_the_reordering_window_sends_no_new_data() {
        let mut bench = Bench::start_reno(10, 10_000);
        bench.sender.stats.cwnd = 20.0;
        bench.sender.repair.by_timer = true;
        bench.sender.transmit(us(10_100), &mut bench.wire);
        assert_eq!(bench.wire.sent.len(), 10);
        bench.sender.repair.by_timer = false;
        bench.sender.transmit(us(10_100), &mut bench.wire);
        assert!(bench.wire.sent.len() > 10);
    }

    #[test]
    fn new_data_end_the_wait_for_reordered_segments_unless_some_are_sacked() {
        let mut bench = Bench::start_reno(10, 10_000);
        let waits = |bench: &mut Bench| {
            bench.sender.rack.reorder_due = us(20_000);
            bench.sender.send_new(1, us(10_200), &mut bench.wire);
            bench.sender.rack.reorder_due < Time::NEVER
        };
        assert!(!waits(&mut bench), "the timer of the probe replaces the other timer");
        bench.arrive(0, 1, Some((1, 2)), 10_100);
        assert!(waits(&mut bench), "in disorder no probe is set");
    }

    #[test]
    fn pacing_delays_the_timers_by_whole_jiffies() {
        let mut bench = Bench::start_bbr(10, 10_000);
        let mut delays = |next_us: u64| {
            bench.sender.pace.next = us(next_us);
            bench.sender.arm(us(20_000));
            (bench.sender.timeout.delay, bench.sender.timeout.probe_delay)
        };
        assert_eq!(delays(19_000), (Time::ZERO, Time::ZERO));
        assert_eq!(delays(31_000), (us(8000), us(8000)), "two of 2.75 jiffies");
        let mut reno = Bench::start_reno(10, 10_000);
        reno.sender.pace.next = us(31_000);
        reno.sender.arm(us(20_000));
        assert_eq!(reno.sender.timeout.delay, Time::ZERO, "a sender without pacing");
    }

    #[test]
    fn a_sender_that_waits_for_the_receiver_is_not_limited_by_its_application() {
        for (limit, has_data) in [(Limit::Receiver, true), (Limit::Application, false)] {
            let mut bench = Bench::start_bbr(10, 10_000);
            let sent = bench.sender.next;
            bench.sender.end = if has_data { sent + 5 } else { sent };
            assert_eq!(bench.sender.other_limit(us(10_000)), limit);
            bench.sender.end = sent + 5;
            assert_eq!(bench.sender.send_new(1, us(10_000), &mut bench.wire), 1);
            bench.acknowledge(sent + 1, 20_000);
            let sample = bench.sender.sampler.as_ref().and_then(|sampler| sampler.sample()).expect("one is delivered");
            assert_eq!(sample.app_limited, limit == Limit::Application);
        }
    }

    #[test]
    fn a_timeout_is_reported_to_an_ecn_receiver() {
        let mut bench = Bench::start_ecn(4, 10_000);
        bench.acknowledge(1, 10_000);
        bench.acknowledge(2, 400_000);
        bench.acknowledge(6, 500_000);
        assert_eq!(bench.sender.totals().timeouts, 1);
        let reports = bench.wire.sent.iter().filter(|sent| sent.flags() & crate::packet::flag::CWR != 0);
        assert_eq!(reports.count(), 1);
    }
}
