//! Model of the path of BBR version 3, and the rules without parameters.

use crate::ack::Ack;
use crate::draws::Draws;
use crate::observe::states;
use crate::windowed::WindowedMax;

/// Growth factor of the bandwidth in a round; after a smaller growth the pipe may be full (§5.3.1.2).
const FULL_GROWTH: f64 = 1.25;
/// Rounds with a smaller growth after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;
/// Largest number of times that the growth of the long-term bound may double.
const PROBE_UP_ROUNDS_MOST: u32 = 30;
/// Length in rounds of the filter of ACK aggregation (§2.11).
const EXTRA_ACKED_ROUNDS: f64 = 10.0;

states! {
    /// The state, under the draft's names.
    pub(super) enum Mode {
        Startup = "Startup",
        Drain = "Drain",
        Down = "ProbeBW_DOWN",
        Cruise = "ProbeBW_CRUISE",
        Refill = "ProbeBW_REFILL",
        Up = "ProbeBW_UP",
        ProbeRtt = "ProbeRTT",
    }
}

impl Mode {
    pub(super) fn probes_bandwidth(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }

    pub(super) fn in_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }
}

/// Stage of a probe to which the arriving ACKs belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State that a spurious loss restores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub mode: Option<Mode>,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
}

pub(super) const NO_UNDO: Undo =
    Undo { mode: None, bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 };

/// The sample of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub rate: f64,
    pub delivered: f64,
    pub prior_delivered: f64,
    pub tx_in_flight: f64,
    pub lost: f64,
    pub app_limited: bool,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub mode: Mode,
    pub w: f64,
    pub initial_window: f64,
    pub segment_bytes: f64,
    pub pacing_rate: f64,
    pub rtt_seen: bool,
    pub delivered: f64,
    // Rounds.
    pub next_round: f64,
    pub round_start: bool,
    pub rounds: f64,
    pub rounds_since_probe_up: f64,
    /// Two flags, for the last round and for the current round: true if the window, and not the pacing rate, limited
    /// the flow.
    pub window_filled: [bool; 2],
    // The model.
    pub max_bw: [f64; 2],
    pub bw: f64,
    pub bw_shortterm: f64,
    pub bw_latest: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    pub inflight_latest: f64,
    pub min_rtt: f64,
    pub min_rtt_at: f64,
    pub probe_rtt_delay: f64,
    pub probe_rtt_delay_at: f64,
    pub probe_rtt_expired: bool,
    pub extra_acked: WindowedMax,
    pub extra_since: f64,
    pub extra_delivered: f64,
    // Losses.
    pub loss_in_round: bool,
    pub loss_round_start: bool,
    pub loss_round_delivered: f64,
    pub losses_in_round: u32,
    pub lost_now: bool,
    pub recovering: bool,
    pub prior_window: f64,
    pub undo: Undo,
    // The full pipe.
    pub full_bw: f64,
    pub full_count: u32,
    pub full_now: bool,
    pub full_reached: bool,
    pub drain_round: f64,
    // The cycle.
    pub ack_phase: AckPhase,
    pub cycle_at: f64,
    pub probe_wait: f64,
    pub probe_sample: bool,
    pub probe_up_rounds: u32,
    pub probe_up_acked: f64,
    pub probe_up_per_step: f64,
    pub probe_too_high: bool,
    pub probe_precautionary: bool,
    // ProbeRTT.
    pub probe_rtt_until: Option<f64>,
    pub probe_rtt_round_done: bool,
    pub limited_from: f64,
    pub limited_to: f64,
    pub idle_restart: bool,
    pub draws: Draws,
}

impl State {
    pub fn new() -> Self {
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
            min_rtt: f64::INFINITY,
            min_rtt_at: 0.0,
            probe_rtt_delay: f64::INFINITY,
            probe_rtt_delay_at: 0.0,
            probe_rtt_expired: false,
            extra_acked: WindowedMax::new(0.0, 0.0),
            extra_since: 0.0,
            extra_delivered: 0.0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0.0,
            losses_in_round: 0,
            lost_now: false,
            recovering: false,
            prior_window: 0.0,
            undo: NO_UNDO,
            full_bw: 0.0,
            full_count: 0,
            full_now: false,
            full_reached: false,
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

    pub fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Discards the maximum of the cycle before the last, once the current cycle has a sample.
    pub fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    pub fn update_latest(&mut self, sample: &Sample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    pub fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = self.delivered;
            self.rounds += 1.0;
            self.rounds_since_probe_up += 1.0;
            self.window_filled = [self.window_filled[1], false];
        }
    }

    pub fn update_max_bw(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    /// Lowers the short-term bounds after a round with losses outside a probe.
    pub fn lower_bounds(&mut self, beta: f64) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.w;
        }
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
    }

    pub fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    pub fn update_aggregation(&mut self, ack: &Ack) {
        let mut expected = self.bw * (ack.now - self.extra_since);
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_since, expected) = (0.0, ack.now, 0.0);
        }
        self.extra_delivered += ack.acked;
        let extra = (self.extra_delivered - expected).min(self.w);
        let window = if self.full_reached { EXTRA_ACKED_ROUNDS } else { 1.0 };
        self.extra_acked.update(extra, self.rounds, window);
    }

    pub fn reset_full_pipe(&mut self) {
        (self.full_bw, self.full_count, self.full_now) = (0.0, 0, false);
    }

    pub fn look_for_full_pipe(&mut self, sample: &Sample) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        if sample.rate >= FULL_GROWTH * self.full_bw {
            self.reset_full_pipe();
            self.full_bw = sample.rate;
            return;
        }
        self.full_count += 1;
        self.full_now = self.full_count >= FULL_ROUNDS;
        self.full_reached |= self.full_now;
    }

    pub fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probe_up_rounds, self.probe_up_acked) = (0, 0.0);
        self.probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.next_round = self.delivered;
        self.mode = Mode::Refill;
    }

    pub fn raise_slope(&mut self) {
        let growth = (1_u64 << self.probe_up_rounds) as f64;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(PROBE_UP_ROUNDS_MOST);
        self.probe_up_per_step = (self.w / growth).max(1.0);
    }

    pub fn is_window_limited(&self) -> bool {
        self.window_filled[0] || self.window_filled[1]
    }

    /// Raises the long-term bound while this bound limits the flow, by 1, 2, 4, ... segments a round.
    pub fn probe_longterm_upward(&mut self, ack: &Ack) {
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

    pub fn save_window(&mut self) {
        let good = !self.recovering && self.mode != Mode::ProbeRtt;
        self.prior_window = if good { self.w } else { self.prior_window.max(self.w) };
    }

    pub fn restore_window(&mut self) {
        self.w = self.w.max(self.prior_window);
    }

    pub fn save_upon_loss(&mut self) {
        self.save_window();
        self.undo = Undo {
            mode: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
}
