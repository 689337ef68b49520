//! The cycle of ProbeBW: DOWN, CRUISE, REFILL, UP (§5.3.3).

use super::Bbr3;
use super::mode::{AckPhase, Mode};
use super::sample::Sample;
use crate::ack::Ack;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: f64) {
        let s = &mut *self.s;
        s.losses.forget_round();
        (s.bw_latest, s.inflight_latest) = (0.0, 0.0);
        s.probe_up_per_step = f64::INFINITY;
        s.rounds_since_probe_up = (s.draws.bits() & 1) as f64;
        s.probe_wait = self.p.probe_wait + s.draws.uniform();
        s.cycle_at = now;
        s.ack_phase = AckPhase::ProbeStopping;
        s.next_round = s.delivered;
        s.mode = Mode::Down;
    }

    pub(super) fn start_up(&mut self, sample: &Sample) {
        let s = &mut *self.s;
        s.probe_sample = true;
        s.ack_phase = AckPhase::ProbeStarting;
        s.next_round = s.delivered;
        s.full.begin(sample.rate);
        s.mode = Mode::Up;
        s.raise_slope();
    }

    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: &Sample) {
        if !self.s.full.is_reached() || self.adapt_long_term(ack, sample) {
            return;
        }
        let mode = self.s.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.time_to_probe(ack.now) => self.s.start_refill(),
            Mode::Down if self.time_to_cruise(ack.in_flight) => self.s.mode = Mode::Cruise,
            Mode::Refill if self.s.round_start => self.start_up(sample),
            Mode::Up if self.time_to_go_down(ack, sample) => {
                self.s.probe_too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    /// Adapts the long-term model. Returns true if the adaptation caused a transition to another state.
    pub(super) fn adapt_long_term(&mut self, ack: &Ack, sample: &Sample) -> bool {
        let s = &mut *self.s;
        if s.ack_phase == AckPhase::ProbeStarting && s.round_start {
            s.ack_phase = AckPhase::ProbeFeedback;
        }
        if s.ack_phase == AckPhase::ProbeStopping && s.round_start {
            s.probe_sample = false;
            s.ack_phase = AckPhase::Init;
            if s.mode.in_probe_bw() && !sample.app_limited {
                s.advance_max_bw();
            }
            if s.mode.in_probe_bw() && s.probe_precautionary && !s.probe_too_high {
                s.start_refill();
                return true;
            }
        }
        if self.too_high(sample.lost, sample.tx_in_flight) || self.s.inflight_longterm.is_infinite() {
            return false;
        }
        let s = &mut *self.s;
        s.inflight_longterm = s.inflight_longterm.max(sample.tx_in_flight);
        if s.mode == Mode::Up {
            s.probe_longterm_upward(ack);
        }
        false
    }

    pub(super) fn time_to_probe(&self, now: f64) -> bool {
        let s = &*self.s;
        now > s.cycle_at + s.probe_wait || s.rounds_since_probe_up >= self.target_inflight().min(self.p.probe_rounds)
    }

    pub(super) fn time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.s.max_bw(), 1.0)
    }

    pub(super) fn time_to_go_down(&mut self, ack: &Ack, sample: &Sample) -> bool {
        let s = &mut *self.s;
        if s.probe_too_high && ack.in_flight >= s.inflight_longterm {
            s.probe_precautionary = true;
            return true;
        }
        if s.is_window_limited() && s.w >= s.inflight_longterm {
            s.full.begin(sample.rate);
            return false;
        }
        s.full.is_now()
    }

    pub(super) fn handle_too_high(&mut self, now: f64, in_flight: f64, app_limited: bool) {
        let bound = in_flight.max(self.target_inflight() * self.p.beta);
        let s = &mut *self.s;
        s.probe_too_high = true;
        s.probe_sample = false;
        if !app_limited {
            s.inflight_longterm = bound;
        }
        if s.mode == Mode::Up {
            s.undo.mode = Some(Mode::Up);
            self.start_down(now);
        }
    }
}
