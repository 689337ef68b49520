//! A sender that is led by a capture: the capture decides what is sent and when, and the sender keeps its state.

use super::core::Sender;
use super::shortcut::Shortcut;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::linux::tlp::Probe;
use crate::time::Time;

impl Sender {
    /// Begins as a sender that is led by a capture.
    pub(in crate::endpoint) fn begin_led(&mut self, now: Time, out: &mut impl Outlet) {
        self.trains.are_led = true;
        self.now = now;
        let window = self.stack.initial_window;
        self.begin(now, window, out);
        self.shortcut = Shortcut::None;
    }

    /// Looks at the limits of a sender that sends nothing by itself.
    pub(in crate::endpoint) fn look_at_limits(&mut self) {
        self.pace.stop();
        if self.pace.is_active() {
            if let Some(rate) = self.socket_rate(self.next) {
                self.pace.limit(rate, self.allowance());
            }
        }
        if self.validates_window() && self.board.in_flight(self.next) >= self.allowance() {
            self.window_use.validate(true, self.board.una(), self.next);
        }
    }

    /// Ends an ACK that released new data only.
    pub(in crate::endpoint) fn settle_new_data(&mut self) {
        if self.repair.sends_new() {
            self.repair.on_sent_new(self.next);
        }
    }

    /// Sends this number of new segments, after which the receive window has room for `receivable` others.
    pub(in crate::endpoint) fn send_led(&mut self, segments: u32, receivable: u32, now: Time, out: &mut impl Outlet) {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight);
        let una = self.board.una();
        let sent = self.send_new(segments, now, out);
        let burst = self.within_burst(u32::MAX, self.next);
        // A burst waits until the window has room for all of it.
        let by_window = sent.saturating_add(burst) > room && receivable >= burst.min(room.saturating_sub(sent).max(1));
        if self.validates_window() {
            self.window_use.validate(by_window, una, self.next);
        } else {
            self.window_use.stopped(by_window || self.pace.is_active());
            self.window_use.note_in_flight(in_flight + sent);
        }
        self.note_led_burst(sent, now);
        if self.pace.is_active() {
            self.look_at_limits();
        }
    }

    /// Takes the transmission of a burst.
    pub(in crate::endpoint) fn note_led_burst(&mut self, segments: u32, now: Time) {
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_sent(segments);
        }
        if self.pace.is_active() && self.socket_rate(self.next).is_some() {
            self.note_burst(segments, now);
        } else {
            self.pace.on_transmission(now);
        }
    }

    /// Retransmits a segment that is lost.
    pub(in crate::endpoint) fn resend_led(&mut self, segment: u32, now: Time, out: &mut impl Outlet) {
        self.board.retransmitted(segment, self.next, now);
        self.reports.on_resent();
        self.stats.totals.retransmits += 1;
        self.emit_again(segment, now, out);
        if segment == self.board.una() && !self.timers.awaits_reordered() {
            self.arm(now);
            self.timers.on_armed_by_sending();
        }
    }

    /// Retransmits a segment that is not known to be lost.
    pub(in crate::endpoint) fn probe_led(&mut self, segment: u32, now: Time, out: &mut impl Outlet) {
        self.stats.totals.retransmits += 1;
        self.emit_again(segment, now, out);
        self.timers.on_probe(self.next, Probe::Resent);
    }

    /// Marks the segments up to one lost that the capture shows to be retransmitted, below a SACKed one.
    pub(in crate::endpoint) fn lose_led(&mut self, segment: u32, now: Time, out: &mut impl Outlet) {
        self.by_timer = true;
        self.board.mark_lost_below(segment + 1);
        self.repair_after_waiting(now, out);
        self.by_timer = false;
    }
}
