//! The state ProbeRTT, in which the smallest RTT is measured (§5.3.4).

use super::Bbr3;
use super::mode::{AckPhase, Mode};
use crate::ack::Ack;

impl Bbr3 {
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.s.bw, self.p.probe_rtt_cwnd_gain).max(self.p.min_window)
    }

    pub(super) fn probe_rtt(&mut self, ack: &Ack) {
        if self.s.mode != Mode::ProbeRtt && self.s.min_rtt.is_expired() && !self.s.idle_restart {
            self.s.save_window();
            let s = &mut *self.s;
            s.mode = Mode::ProbeRtt;
            s.probe_rtt_until = None;
            s.ack_phase = AckPhase::ProbeStopping;
            s.next_round = s.delivered;
            s.limited_from = s.delivered;
        }
        if self.s.mode == Mode::ProbeRtt {
            let enough = self.probe_rtt_window();
            let s = &mut *self.s;
            s.limited_to = s.delivered + ack.in_flight;
            if s.probe_rtt_until.is_some() {
                s.probe_rtt_round_done |= s.round_start;
                if s.probe_rtt_round_done {
                    self.leave_probe_rtt(ack.now);
                }
            } else if ack.in_flight <= enough {
                s.probe_rtt_until = Some(ack.now + self.p.probe_rtt_time);
                s.probe_rtt_round_done = false;
                s.next_round = s.delivered;
            }
        }
        self.s.idle_restart = false;
    }

    pub(super) fn leave_probe_rtt(&mut self, now: f64) {
        if self.s.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.s.min_rtt.note_probe(now);
        self.s.restore_window();
        self.s.reset_short_term();
        if self.s.full.is_reached() {
            self.start_down(now);
            self.s.mode = Mode::Cruise;
        } else {
            self.s.mode = Mode::Startup;
        }
    }
}
