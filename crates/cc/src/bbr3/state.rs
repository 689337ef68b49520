//! Rules of the model of the path that need no parameters.

use super::State;
use super::aggregation::Aggregation;
use super::full_pipe::FullPipe;
use super::losses::Losses;
use super::min_rtt::MinRtt;
use super::mode::{AckPhase, Mode, NO_UNDO, Undo};
use super::sample::Sample;
use crate::ack::Ack;
use crate::draws::Draws;

/// Largest number of times that the growth of the long-term bound may double.
const PROBE_UP_ROUNDS_MOST: u32 = 30;
impl State {
    pub(super) fn new() -> Self {
        Self {
            mode: Mode::Startup,
            w: 1.0,
            initial_window: 1.0,
            segment_bytes: 1448.0,
            pacing_rate: 1.0,
            rtt_seen: false,
            delivered: 0.0,
            next_round: 0.0,
            round_start: false,
            rounds: 0.0,
            rounds_since_probe_up: 0.0,
            window_filled: [false; 2],
            max_bw: [0.0; 2],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            inflight_latest: 0.0,
            min_rtt: MinRtt::new(0.0, None),
            aggregation: Aggregation::new(),
            losses: Losses::default(),
            recovering: false,
            prior_window: 0.0,
            undo: NO_UNDO,
            full: FullPipe::default(),
            drain_round: 0.0,
            ack_phase: AckPhase::Init,
            cycle_at: 0.0,
            probe_wait: 0.0,
            probe_sample: false,
            probe_up_rounds: 0,
            probe_up_acked: 0.0,
            probe_up_per_step: f64::INFINITY,
            probe_too_high: false,
            probe_precautionary: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            limited_from: f64::INFINITY,
            limited_to: f64::NEG_INFINITY,
            idle_restart: false,
            draws: Draws::default(),
        }
    }

    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Discards the maximum of the cycle before the last, once the current cycle has a sample.
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    pub(super) fn update_latest(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.losses.update_round(sample.prior_delivered, self.delivered);
    }

    pub(super) fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = self.delivered;
            self.rounds += 1.0;
            self.rounds_since_probe_up += 1.0;
            self.window_filled = [self.window_filled[1], false];
        }
    }

    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    /// Lowers the short-term bounds after a round with losses outside a probe.
    pub(super) fn lower_bounds(&mut self, beta: f64) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.w;
        }
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
    }

    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probe_up_rounds, self.probe_up_acked) = (0, 0.0);
        self.probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.next_round = self.delivered;
        self.mode = Mode::Refill;
    }

    pub(super) fn raise_slope(&mut self) {
        let growth = (1_u64 << self.probe_up_rounds) as f64;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(PROBE_UP_ROUNDS_MOST);
        self.probe_up_per_step = (self.w / growth).max(1.0);
    }

    pub(super) fn is_window_limited(&self) -> bool {
        self.window_filled[0] || self.window_filled[1]
    }

    /// Raises the long-term bound while this bound limits the flow, by 1, 2, 4, ... segments a round.
    pub(super) fn probe_longterm_upward(&mut self, ack: &Ack) {
        if !self.is_window_limited() || self.w < self.inflight_longterm {
            return;
        }
        self.probe_up_acked += ack.acked;
        let steps = (self.probe_up_acked / self.probe_up_per_step).floor();
        if steps >= 1.0 {
            self.probe_up_acked -= steps * self.probe_up_per_step;
            self.inflight_longterm += steps;
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    pub(super) fn save_window(&mut self) {
        let good = !self.recovering && self.mode != Mode::ProbeRtt;
        self.prior_window = if good { self.w } else { self.prior_window.max(self.w) };
    }

    pub(super) fn restore_window(&mut self) {
        self.w = self.w.max(self.prior_window);
    }

    pub(super) fn save_upon_loss(&mut self) {
        self.save_window();
        self.undo = Undo {
            mode: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
}
