//! Functions of a sender whose application hands over data over time.

use elephan_cc::{Algorithm, Event};

use super::core::Sender;
use crate::endpoint::boundary::Outlet;
use crate::time::Time;

impl Sender {
    /// Time at which the application next hands over data.
    pub(super) fn application_due(&self) -> Time {
        // Data of the application wait for the end of the handshake.
        let application = self.application.as_ref().filter(|_| self.started);
        application.map_or(Time::NEVER, |application| self.stack.on_clock(application.due()))
    }

    /// Takes the data that the application hands over at `now`.
    pub(super) fn serve_application(&mut self, now: Time, out: &mut impl Outlet) {
        let Some(application) = &mut self.application else { return };
        let fresh = application.take(now);
        let idle_since = application.idle_since;
        if fresh == 0 {
            return;
        }
        self.note_write();
        if self.buffer.is_offloaded() {
            self.buffer.write(self.board.una(), self.next, self.end, fresh);
        }
        self.end += fresh;
        if self.next == self.board.una() && self.next > 0 {
            self.resume(idle_since, now);
        }
        self.transmit(now, out);
    }

    /// Records that the application writes. On Linux, the application limits the sender if all earlier data were sent, the
    /// window has room for more, and no lost segment waits for its retransmission (`tcp_rate_check_app_limited`).
    pub(super) fn note_write(&mut self) {
        let in_flight = self.board.in_flight(self.next);
        let has_room = self.next == self.end && in_flight < self.allowance() && !self.board.has_unrepaired();
        if let Some(sampler) = self.sampler.as_mut().filter(|_| self.rules.linux && has_room) {
            sampler.on_application_limited(in_flight);
        }
    }

    /// Informs the algorithm that sending resumes after everything was acknowledged at `idle_since`.
    fn resume(&mut self, idle_since: Time, now: Time) {
        let idle = now.since(idle_since);
        let event = match self.idle_timeouts(now) {
            Some(event) => Event::Linux(event),
            None if idle > self.rtt.timeout() => Event::Idle { now: self.host_seconds(now), idle: idle.seconds() },
            None => return,
        };
        self.algorithm.on_event(&event);
        self.stats.note_window(now, self.algorithm.window());
    }

    /// Records that no segment is outstanding any more.
    #[inline(never)]
    pub(super) fn all_acknowledged(&mut self, now: Time) {
        if let Some(application) = &mut self.application {
            application.idle_since = now;
            if !application.is_complete() {
                return;
            }
        }
        if self.board.una() >= self.end && self.stats.completed.is_none() {
            self.stats.completed = Some(now);
        }
    }
}
