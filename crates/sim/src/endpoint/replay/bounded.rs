//! Replay of a capture away from the sender, which shows the order of transmissions, and between which times each left.
//!
//! A sender sends the next one as soon as its algorithm lets it within these bounds: repetitions of what is lost first,
//! then new data in the bursts of the capture, at the pacing rate. Where the capture lacks some, it sends what it would
//! send. What has not left by its latest time leaves then.

use super::follower::Follower;
use super::script::{Acked, Departed};
use super::within::Next;
use crate::packet::OWD_UNIT_PS;
use crate::time::Time;

impl Follower {
    /// Lets leave what leaves before an ACK at `end`.
    pub(super) fn run_until(&mut self, end: Time) {
        loop {
            let Some(within) = &self.within else { return };
            let deadline = within.next().map_or(Time::NEVER, |(_, left)| left.high);
            let (wake, timer) = (within.wake, self.sender.timers.reordering_due());
            let due = deadline.min(wake).min(timer);
            if due == Time::NEVER || due > end || (due == end && deadline > end) {
                return;
            }
            let now = due.max(self.sender.now);
            if timer == due {
                self.run_timer(now);
                self.repair(now);
            } else if deadline == due {
                self.leave_late(now);
                self.release(now);
            } else {
                self.release(now);
            }
        }
    }

    /// Lets leave what the algorithm allows at `now`.
    pub(super) fn release(&mut self, now: Time) {
        self.sender.now = now;
        if let Some(within) = &mut self.within {
            within.wake = Time::NEVER;
        }
        loop {
            let Some(before) = self.within.as_ref().map(|within| within.place) else { return };
            let sends_new = self.sender.repair.sends_new();
            if !sends_new && !self.repair(now) {
                break;
            }
            self.send_allowed(now);
            if sends_new && self.sender.repair.on_sent_new(self.sender.next) {
                self.repair(now);
            }
            if self.within.as_ref().is_none_or(|within| within.place == before) {
                break;
            }
        }
        self.wait(now);
    }

    /// Repeats the lost segments that the algorithm allows. Returns true if new data may follow.
    fn repair(&mut self, now: Time) -> bool {
        let (mut burst, mut most) = (0, u32::MAX);
        let done = loop {
            let sender = &mut self.sender;
            let Some(segment) = sender.board.next_to_repair() else { break true };
            let room = sender.allowance().saturating_sub(sender.board.in_flight(sender.next));
            let Some(within) = self.within.as_mut().filter(|_| room > 0 && burst < most) else { break false };
            if burst == 0 && sender.pace.is_active() && sender.socket_rate(sender.next).is_some() {
                if now < sender.pace.next() {
                    within.wake = sender.pace.next();
                    break false;
                }
                most = sender.within_burst(room, sender.next);
            }
            match within.next() {
                Some((_, left)) if left.low > now => {
                    within.wake = left.low;
                    break false;
                }
                Some((Next::Unseen, _)) => {}
                Some((Next::Captured { first, .. }, _)) if first == segment => {
                    if within.is_first_copy(segment) {
                        self.followed.repeated.push((segment, now));
                    }
                }
                _ => break false,
            }
            within.take(1);
            sender.resend_led(segment, now, &mut self.out);
            burst += 1;
        };
        if burst > 0 {
            self.sender.note_led_burst(burst, now);
        }
        done
    }

    /// Sends the next new segments that leave together, if the algorithm and the capture allow all of them.
    fn send_allowed(&mut self, now: Time) {
        let Some(within) = &mut self.within else { return };
        let sender = &mut self.sender;
        let first = sender.next;
        let mut segments = within.together_at(first, now);
        let window = sender.allowance();
        let room = window.saturating_sub(sender.board.in_flight(first)).min(self.receivable.saturating_sub(first));
        if room > 0 && within.is_burst_unknown() {
            // The host chooses what leaves together.
            let burst = sender.next_burst((room, window), now);
            if burst == 0 {
                within.deferred = first;
            } else if segments == 0 {
                within.deferred = u32::MAX;
            }
            segments = within.open_at(first, now).min(burst);
        } else if segments > 2 && sender.next_burst((room, window), now) == 1 {
            // The first one has no sign that it left alone: only the last one of several has one.
            segments = 1;
        }
        if segments == 0 || segments > room {
            return;
        }
        if sender.pace.is_active() && sender.socket_rate(first).is_some() && now < sender.pace.next() {
            within.wake = within.wake.min(sender.pace.next());
            return;
        }
        if within.deferred == first {
            let place = (first - self.first) as usize;
            self.followed.allowed.iter_mut().skip(place).take(segments as usize).for_each(|allowed| *allowed = now);
        }
        within.take_new(segments);
        self.send(Departed { at: now, first, past: first + segments });
    }

    /// Sets the time at which the sender looks again if something may leave.
    fn wait(&mut self, now: Time) {
        let Some(within) = &mut self.within else { return };
        if self.sender.allowance() > self.sender.board.in_flight(self.sender.next) {
            if let Some((_, left)) = within.next().filter(|(_, left)| left.low > now) {
                within.wake = within.wake.min(left.low);
            }
        }
    }

    /// Sends what has left by `now` for certain, although the algorithm does not allow it.
    fn leave_late(&mut self, now: Time) {
        while let Some(within) = &mut self.within {
            let Some((next, _)) = within.next().filter(|(_, left)| left.high <= now) else { return };
            let sender = &mut self.sender;
            match next {
                Next::Captured { first, .. } if first < sender.next => {
                    if within.is_first_copy(first) {
                        self.followed.repeated.push((first, Time::NEVER));
                    }
                    within.take(1);
                    self.send(Departed { at: now, first, past: first + 1 });
                }
                Next::Captured { first, past } => {
                    within.take(past - first);
                    let first = sender.next;
                    self.send(Departed { at: now, first, past });
                }
                Next::Unseen => {
                    let (first, is_new) = (sender.next, within.is_unseen(sender.next, now));
                    within.take(1);
                    if let Some(segment) = sender.board.next_to_repair() {
                        sender.resend_led(segment, now, &mut self.out);
                        sender.note_led_burst(1, now);
                    } else if is_new {
                        self.send(Departed { at: now, first, past: first + 1 });
                    }
                }
            }
        }
    }

    /// Time at which the segment that caused an ACK left, its one-way delay, and true if that was a repetition.
    pub(super) fn stamp(&self, ack: &Acked) -> (Time, u32, bool) {
        let Some(within) = &self.within else { return (ack.stamp, ack.owd, ack.is_of_resent) };
        let original = within.first_left(ack.trigger).unwrap_or(ack.stamp);
        let latest = self.sender.rack.sent(ack.trigger).filter(|_| within.has_left(ack.trigger)).unwrap_or(original);
        let is_of_resent = latest > original && (ack.echo == Time::ZERO || latest <= ack.echo);
        let stamp = if is_of_resent { latest } else { original };
        let earlier = i128::from(ack.stamp.0) - i128::from(stamp.0);
        let owd = i128::from(ack.owd) + earlier / i128::from(OWD_UNIT_PS);
        (stamp, owd.clamp(0, u32::MAX.into()) as u32, is_of_resent)
    }
}
