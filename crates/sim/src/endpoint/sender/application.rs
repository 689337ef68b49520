//! Functions of a sender whose application hands over data over time.

use elephan_cc::Algorithm;

use super::core::Sender;
use crate::endpoint::boundary::Outlet;
use crate::time::Time;

impl Sender {
    /// Time at which the application next hands over data.
    pub(super) fn application_due(&self) -> Time {
        self.application.as_ref().map_or(Time::NEVER, |application| self.stack.on_clock(application.due()))
    }

    /// Takes the data that the application hands over at `now`.
    pub(super) fn serve_application(&mut self, now: Time, out: &mut impl Outlet) {
        let Some(application) = &mut self.application else { return };
        let fresh = application.take(now);
        let idle_since = application.idle_since;
        if fresh == 0 {
            return;
        }
        self.end += fresh;
        let idle = now.since(idle_since);
        if self.next == self.board.una() && self.next > 0 && idle > self.rto.timeout() {
            let now_s = self.host_seconds(now);
            self.algorithm.on_idle(now_s, idle.seconds());
            self.stats.note_window(now, self.algorithm.window());
        }
        self.transmit(now, out);
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
