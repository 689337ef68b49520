//! Timers of a sender: the retransmission timer (RFC 6298 section 5), in whose place Linux sets that of the tail loss probe
//! (RFC 8985 section 7) or that of the reordering window, and the time of the sender's next event.

use crate::endpoint::linux::constants::TCP_TIMEOUT_MIN;
use crate::endpoint::linux::jiffies::Interrupts;
use crate::endpoint::linux::tlp::{Outstanding, Probe, TailProbe};
use crate::endpoint::read::read;
use crate::spec::StackSpec;
use crate::time::Time;

/// Timers of a sender. That of retransmissions is stored as the time of its last restart; the time of expiry is computed
/// only when it may be reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timers {
    /// Time of the sender's next event.
    next: Time,
    /// Lower bound of the next time at which a timer other than pacing is due.
    quiet_until: Time,
    clock: Interrupts,
    /// Tail loss probe.
    pub probe: TailProbe,
    /// Margin of a timer for reordered segments.
    reordering_margin: Time,
    /// Lower bound of the timeout.
    shortest: Time,
    /// Time of the last restart; [`Time::NEVER`] while no segment is outstanding.
    armed: Time,
    /// `Some` if the timer counts from the transmission of the oldest segment: the time that was left at the restart.
    left: Option<Time>,
    /// True if a transmission restarted the timer, and not an ACK.
    by_sending: bool,
    /// Additional time until the timeout: whole jiffies until pacing allows a segment (`tcp_pacing_delay`).
    delay: Time,
    /// Time at which an overtaken segment counts as lost; [`Time::NEVER`] without this timer. As in Linux, an ACK that
    /// shows the loss itself does not stop the timer.
    reordering_due: Time,
    /// Time at which the timer of the reordering window was last set.
    reordering_set: Time,
    /// Number of the timer interrupt at which a timer of the sender last expired.
    expired: Option<u64>,
}

/// The scoreboard before an ACK: no segment was SACKed, lost or retransmitted, or some were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    #[default]
    Clean,
    Marked,
}

/// A timer that expires.
#[derive(Clone, Copy, Debug)]
pub enum Expiry {
    Timeout,
    Probe,
}

impl Timers {
    read!(next: Time, reordering_due: Time);

    /// Timers of a sender that has nothing outstanding, and whose first event is at `next`.
    pub fn new(stack: &StackSpec, clock: Interrupts, next: Time) -> Self {
        Self {
            next,
            clock,
            probe: TailProbe::new(stack),
            reordering_margin: if stack.hz.is_some() { TCP_TIMEOUT_MIN } else { Time::ZERO },
            shortest: Time(stack.min_rto_ps.min(stack.initial_rto_ps)),
            armed: Time::NEVER,
            reordering_due: Time::NEVER,
            reordering_set: Time::NEVER,
            ..Self::default()
        }
    }

    /// True if only pacing is due, whose timer is set to `paced`.
    pub fn is_only_paced(&self, paced: Time) -> bool {
        self.next == paced && self.next < self.quiet_until
    }

    /// Ensures an event at `at` or earlier other than pacing.
    #[inline(always)]
    pub fn wake_by(&mut self, at: Time) {
        self.quiet_until = self.quiet_until.min(at);
        self.next = self.next.min(at);
    }

    /// Ensures an event at `at` or earlier for pacing.
    pub fn wake_paced(&mut self, at: Time) {
        self.next = self.next.min(at);
    }

    /// Sets the next event to that of pacing, if no other is due before. Returns false otherwise.
    #[inline(always)]
    pub fn stays_paced(&mut self, paced: Time) -> bool {
        self.next = if paced < self.quiet_until { paced } else { self.next };
        paced < self.quiet_until
    }

    /// Updates the time of the next event at `now`: that of a timer, or of pacing, or the earliest of all `others`.
    #[inline(always)]
    pub fn set_next(&mut self, now: Time, others: Time, paced: Time, o: Outstanding<'_>) {
        let due = self.probe_due(o).min(self.timeout_due(o)).min(self.reordering_due);
        // A timeout that became shorter after the timer was armed may be overdue; the timer then expires now, not in
        // the past.
        self.quiet_until = others.min(due).max(now);
        self.next = self.quiet_until.min(paced);
    }

    /// True at the expiry of the timer of the reordering window.
    pub fn takes_reordering(&mut self, now: Time) -> bool {
        let is_due = self.reordering_due <= now;
        if is_due {
            self.reordering_due = Time::NEVER;
            self.on_expiry(now);
        }
        is_due
    }

    /// The timer of the oldest segment, at its expiry.
    pub fn take_expiry(&mut self, now: Time, o: Outstanding<'_>) -> Option<Expiry> {
        let (timeout, probe) = (self.timeout_due(o), self.probe_due(o));
        if timeout.min(probe) > now {
            return None;
        }
        self.on_expiry(now);
        Some(if timeout <= now { Expiry::Timeout } else { Expiry::Probe })
    }

    /// Records that a timer expires; timers that are set before the next interrupt depend on it.
    fn on_expiry(&mut self, now: Time) {
        self.expired = (self.clock.jiffy > Time::ZERO).then(|| self.clock.count(now));
    }

    /// Restarts the retransmission timer; pacing delays the next segment by `delay`.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    pub fn arm(&mut self, now: Time, delay: Time, o: Outstanding<'_>) {
        (self.armed, self.left, self.delay) = (now, None, delay);
        (self.by_sending, self.reordering_due) = (false, Time::NEVER);
        self.probe.restart(now, delay, o.rtt);
        self.wake_by(self.earliest_repair(now, o));
    }

    /// Restarts the timer where it replaces that of the reordering window or of a probe: if no probe follows, the timeout
    /// then counts from the transmission of the oldest segment (`tcp_rearm_rto`).
    #[inline(always)]
    pub fn replace(&mut self, now: Time, delay: Time, o: Outstanding<'_>) {
        self.arm(now, delay, o);
        if !self.has_probe(o) {
            self.count_from_transmission(now, o);
        }
    }

    /// Restarts the timer after an ACK that moves the left edge of the window, where the scoreboard was as `before`. An ACK
    /// that has set the timer of the reordering window keeps it.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, delay: Time, before: Before, o: Outstanding<'_>) {
        let waits = self.reordering_due < Time::NEVER;
        if waits && self.reordering_set == now {
            return;
        }
        if waits || (before == Before::Clean && self.probe.may_follow()) || self.probe.kept().is_some() {
            self.replace(now, delay, o);
        } else {
            self.arm(now, delay, o);
        }
    }

    /// Takes an ACK that restarts nothing: the RTT estimate may have shrunk, and with it the time until a probe.
    pub fn on_other_ack(&mut self, now: Time, o: Outstanding<'_>) {
        self.quiet_until = self.quiet_until.min(self.earliest_repair(now, o));
    }

    /// Restarts the retransmission timer of a sender that has no timers of Linux.
    #[inline(always)]
    pub fn arm_plainly(&mut self, now: Time, o: Outstanding<'_>) {
        (self.armed, self.by_sending) = (now, false);
        self.wake_by(self.earliest_repair(now, o));
    }

    /// Stops the timers when no segment is outstanding any more.
    pub fn stop(&mut self) {
        (self.armed, self.reordering_due) = (Time::NEVER, Time::NEVER);
    }

    /// Records that a transmission has restarted the timer.
    pub fn on_armed_by_sending(&mut self) {
        self.by_sending = true;
    }

    /// Replaces a kept probe by the timeout where new data are sent and no probe may follow.
    #[cold]
    pub fn drop_probe(&mut self, now: Time, o: Outstanding<'_>) {
        self.probe.forget_kept();
        if !self.has_probe(o) {
            self.count_from_transmission(now, o);
        }
    }

    /// Takes a burst at `now`, after which pacing delays the next segment by `delay`, and with it the timers that the burst
    /// has started.
    pub fn on_burst(&mut self, now: Time, delay: Time) {
        let has_armed = self.by_sending && self.armed == now;
        if has_armed {
            self.delay = delay;
        }
        if has_armed || self.probe.is_from_sending(now) {
            self.probe.put_off(delay);
        }
    }

    /// Takes a timeout: neither a probe nor the timer of the reordering window is left.
    pub fn on_timeout(&mut self) {
        self.reordering_due = Time::NEVER;
        self.probe.forget();
    }

    /// Takes the retransmission after a timeout, whose timer pacing does not delay (`tcp_retransmit_timer`).
    pub fn on_resent_after_timeout(&mut self) {
        self.delay = Time::ZERO;
        self.probe.put_off(Time::ZERO);
    }

    /// Sets the timer of the reordering window, which ends in `wait` (`tcp_rack_mark_lost`), in place of a probe.
    pub fn await_reordered(&mut self, now: Time, wait: Time) {
        (self.reordering_due, self.reordering_set) = (self.expiry(now, wait.later(self.reordering_margin)), now);
        self.probe.forget_kept();
        self.wake_by(self.reordering_due);
    }

    /// Stops the timer of the reordering window.
    pub fn stop_reordering(&mut self) {
        self.reordering_due = Time::NEVER;
    }

    /// True if the timer of the reordering window is set.
    pub fn awaits_reordered(&self) -> bool {
        self.reordering_due < Time::NEVER
    }

    /// True if a tail loss probe may be sent at its expiry; if the last one is not acknowledged, the timer becomes that of the
    /// timeout.
    pub fn takes_probe(&mut self, now: Time, o: Outstanding<'_>) -> bool {
        let takes = self.probe.is_acknowledged();
        if takes {
            self.probe.exclude();
        } else {
            self.count_from_transmission(now, o);
        }
        takes
    }

    /// Takes a tail loss probe, of the segments below `next`.
    pub fn on_probe(&mut self, next: u32, probe: Probe) {
        self.by_sending = true;
        self.probe.on_sent(next, probe);
    }

    /// Keeps the expiry of a probe in a reduction of the window, before an ACK with SACKs changes the RTT.
    /// It may be overdue, if the RTT has shrunk since the probe's timer was set.
    pub fn keep_probe(&mut self, now: Time, o: Outstanding<'_>) {
        if self.probe.kept().is_none() && self.has_probe(o) {
            let due = self.probe_due(o);
            self.probe.keep(due);
            self.wake_by(due.max(now));
        }
    }

    /// Expiry of the retransmission timer, unless an event restarts it. A probe comes before a timeout.
    fn timeout_due(&self, o: Outstanding<'_>) -> Time {
        if self.armed == Time::NEVER || self.has_probe(o) {
            return Time::NEVER;
        }
        let wait = self.left.unwrap_or_else(|| o.rtt.timeout());
        self.expiry(self.armed, wait.later(self.delay))
    }

    /// True if the next timer of the oldest segment is a tail loss probe.
    fn has_probe(&self, o: Outstanding<'_>) -> bool {
        self.armed < Time::NEVER && self.probe.is_next(o)
    }

    /// Time of a tail loss probe, unless an event restarts its timer.
    fn probe_due(&self, o: Outstanding<'_>) -> Time {
        if !self.has_probe(o) {
            return Time::NEVER;
        }
        self.probe.kept().unwrap_or_else(|| self.expiry(self.probe.from(), self.probe.wait(o)))
    }

    fn expiry(&self, from: Time, wait: Time) -> Time {
        self.clock.expiry_after(self.expired, from, wait)
    }

    /// Lets the timeout count from the transmission of the oldest segment.
    #[inline(never)]
    fn count_from_transmission(&mut self, now: Time, o: Outstanding<'_>) {
        let Some(sent) = o.rack.sent(o.una).filter(|_| o.una < o.next) else { return };
        let left = sent.later(o.rtt.timeout()).since(now).max(Time::MICROSECOND);
        self.left = Some(left);
        self.probe.exclude();
        self.wake_by(self.earliest_repair(now, o));
    }

    /// A lower bound of the time of a timeout or a probe, since the next event may be early but never late. The timeout is
    /// at least `min_rto`, and two smoothed RTTs are at least twice the smallest RTT (before the first sample, the
    /// handshake's RTT). A timeout that counts from the transmission of the oldest segment is earlier than a timeout
    /// that counts from the last ACK, by at most the excess of the latest RTT over the smoothed RTT.
    #[inline]
    fn earliest_repair(&self, now: Time, o: Outstanding<'_>) -> Time {
        let timeout = self.armed.later(self.left.unwrap_or(self.shortest));
        if !self.probe.may_follow() {
            return timeout;
        }
        let excess = o.rtt.latest().unwrap_or_default().since(o.rtt.smoothed());
        let timeout =
            if excess > Time::ZERO { timeout.since(excess.later(Time::MICROSECOND)).max(now) } else { timeout };
        timeout.min(self.probe.from().later(o.rtt.twice_smallest()))
    }
}

#[cfg(test)]
mod tests {
    use super::Expiry;
    use crate::endpoint::bench::{Bench, us};
    use crate::packet::Packet;
    use crate::time::Time;

    #[test]
    fn a_timeout_that_replaces_another_timer_counts_from_the_transmission() {
        let mut bench = Bench::start(5, 10_000, None);
        bench.arrive(0, 2, Some((2, 3)), 10_010);
        let (timers, outstanding) = bench.sender.timers();
        timers.arm(us(30_000), Time::ZERO, outstanding);
        let whole = timers.timeout_due(outstanding);
        timers.replace(us(30_000), Time::ZERO, outstanding);
        let rest = timers.timeout_due(outstanding);
        // Timers end at interrupts, every 4 ms.
        assert!((whole - rest).0.abs_diff(us(30_000).0) <= us(4_000).0, "{whole:?} {rest:?}");
    }

    #[test]
    fn a_kept_probe_that_is_overdue_expires_at_once() {
        let mut bench = Bench::start(5, 10_000, None);
        let (timers, outstanding) = bench.sender.timers();
        let now = timers.probe_due(outstanding).later(us(5_000));
        timers.next = Time::NEVER;
        timers.keep_probe(now, outstanding);
        assert_eq!(timers.next(), now, "not in the past");
        assert!(matches!(timers.take_expiry(now, outstanding), Some(Expiry::Probe)));
    }

    #[test]
    fn new_data_end_the_wait_for_reordered_segments_unless_some_are_sacked() {
        let mut bench = Bench::start_reno(10, 10_000);
        let waits = |bench: &mut Bench| {
            bench.sender.timers.reordering_due = us(20_000);
            bench.sender.send_new(1, us(10_200), &mut bench.wire);
            bench.sender.timers.awaits_reordered()
        };
        assert!(!waits(&mut bench), "the timer of the probe replaces the other timer");
        bench.arrive(0, 1, Some((1, 2)), 10_100);
        assert!(waits(&mut bench), "in disorder no probe is set");
    }

    #[test]
    fn pacing_delays_the_timers_by_whole_jiffies() {
        let mut bench = Bench::start_bbr(10, 10_000);
        let delays = |bench: &mut Bench| {
            bench.sender.arm(us(20_000));
            (bench.sender.timers.delay, bench.sender.timers.probe.delay())
        };
        assert_eq!(delays(&mut bench), (Time::ZERO, Time::ZERO));
        let mut reno = Bench::start_reno(10, 10_000);
        for bench in [&mut bench, &mut reno] {
            // The next segment may leave after 11 ms.
            bench.sender.pace.limit(1.0 / 0.011, 1);
            bench.sender.pace.on_segment(us(20_000));
        }
        assert_eq!(delays(&mut bench), (us(8000), us(8000)), "two of 2.75 jiffies");
        assert_eq!(delays(&mut reno).0, Time::ZERO, "a sender without pacing");
    }

    #[test]
    fn the_timer_of_the_reordering_window_waits_for_retransmissions_too() {
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 1..30 {
            bench.arrive(0, segment, Some((1, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0]);
        bench.sender.rack.on_overtaken(0, 1);
        // The last segment left after the retransmission of segment 0.
        let last = bench.wire.sent.last().map_or(0, Packet::segment);
        bench.arrive(0, last, Some((1, last + 1)), 20_290);
        assert_eq!(bench.retransmitted(), [0]);
        let due = bench.sender.timers.reordering_due;
        assert!(due < Time::NEVER);
        bench.sender.give_up_waiting(due, &mut bench.wire);
        assert_eq!(bench.retransmitted()[..2], [0, 0]);
    }
}
