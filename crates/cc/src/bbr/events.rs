//! Responses to events besides ACKs.

use super::{Bbr, FIRST_RTT_S, Mode, whole};
use crate::draws::Draws;
use crate::jiffies::Jiffies;
use crate::linux::Restart;
use crate::reports::{Cause, Lost, Signal, Start};

impl Bbr {
    pub(super) fn on_start(&mut self, start: &Start) {
        let s = &mut *self.s;
        s.w = start.initial_window.max(1.0);
        s.initial_window = s.w;
        s.segment_bytes = start.segment_bytes;
        (s.min_rtt_at, s.delivered_at) = (start.now, start.now);
        s.aggregation.begin(start.now);
        s.draws = Draws::new(start.seed);
        s.jiffies = Jiffies::new(start.hz);
        // The RTT of the handshake by a clock of whole microseconds.
        let integer = self.p.integer;
        let rtt = start.rtt.map(|rtt| if integer { whole::between(start.now, start.now + rtt) } else { rtt });
        s.rtt_seen = rtt.is_some();
        s.min_rtt = rtt.unwrap_or(f64::INFINITY);
        self.first_pace(rtt.unwrap_or(FIRST_RTT_S));
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        self.s.lost += 1.0;
        // Linux's rate sample of an ACK does not count the losses that a timer has shown before (`rs->losses`).
        self.s.lost_now += f64::from(u8::from(!lost.by_timer));
    }

    pub(super) fn on_congestion(&mut self, signal: &Signal) {
        if signal.cause == Cause::Ecn {
            if self.p.integer {
                // Linux also saves its window at a mark, to which it does not respond otherwise.
                self.save_window();
            }
            return;
        }
        self.save_window();
        self.begin_recovery();
    }

    pub(super) fn on_timeout(&mut self, signal: &Signal) {
        if !signal.repeated {
            self.save_window();
        }
        (self.s.recovering, self.s.recovery_begins, self.s.recovery_ends) = (true, false, false);
        // Linux's stack sets the window to the segments in flight plus one (tcp_enter_loss).
        self.s.w = 1.0 + signal.kept;
        self.s.full_bandwidth = 0.0;
        // The end of a round with a loss.
        self.s.round_start = true;
        self.s.lost_now = self.s.lost_now.max(1.0);
        if self.p.policer {
            self.look_for_policer(self.s.delivered_at, false);
        }
        self.s.lost_now = 0.0;
    }

    pub(super) fn on_idle(&mut self, now: f64) {
        (self.s.idle_restart, self.s.delivered_at) = (true, now);
        self.s.aggregation.begin(now);
        match self.s.mode {
            Mode::ProbeBw => self.pace(1.0, self.bandwidth()),
            Mode::ProbeRtt => self.leave_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_cwnd_event`.
    pub(super) fn on_restart(&mut self, restart: &Restart) {
        if restart.application_limited {
            self.on_idle(restart.now);
        }
    }

    pub(super) fn on_recovery_exit(&mut self) {
        if self.s.recovering {
            self.s.recovering = false;
            self.s.recovery_ends = true;
        }
    }

    pub(super) fn on_undo(&mut self) {
        (self.s.full_bandwidth, self.s.full_count) = (0.0, 0.0);
        self.s.policer.forget(self.counts(self.s.delivered_at));
        self.on_recovery_exit();
    }
}
