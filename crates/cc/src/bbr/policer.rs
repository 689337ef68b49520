//! Detection of a policer (`bbr_lt_bw_sampling`): BBR keeps the rate that a token bucket allows.

use super::{Bbr, Mode, whole};

/// Shortest interval of the policer's detection, rounds; the longest is four times as long.
const POLICED_ROUNDS: u32 = 4;
/// Smallest ratio of lost to delivered segments of an interval that counts as lossy.
const POLICED_LOSS: f64 = 50.0 / 256.0;
/// Largest difference, as a fraction, between the rates of two intervals that count as equal.
const POLICED_ALIKE: f64 = 1.0 / 8.0;
/// Largest difference between the rates of two intervals that count as equal, bytes/s (4 kbit/s).
const POLICED_ALIKE_BYTES_PER_S: f64 = 500.0;
/// Rounds for which a policer's rate is used.
const POLICED_USE_ROUNDS: u32 = 48;
/// Shortest interval that gives a policer's rate, s.
const POLICED_INTERVAL_MIN_S: f64 = 0.001;

/// Long-term sampling for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    pub(super) sampling: bool,
    pub(super) in_use: bool,
    pub(super) rate: f64,
    pub(super) rounds: u32,
    pub(super) started: f64,
    pub(super) delivered: f64,
    pub(super) lost: f64,
}

/// A time in whole milliseconds, s.
fn whole_ms(time: f64) -> f64 {
    (time * 1e3).floor() * 1e-3
}

impl Bbr {
    pub(super) fn new_policer_interval(&mut self, now: f64) {
        let (delivered, lost) = (self.s.delivered, self.s.lost);
        let policer = &mut self.s.policer;
        (policer.started, policer.delivered, policer.lost, policer.rounds) = (now, delivered, lost, 0);
    }

    pub(super) fn forget_policer(&mut self, now: f64) {
        self.s.policer = Policer::default();
        self.new_policer_interval(now);
    }

    /// Detects a token bucket by two lossy intervals in a row with the same throughput, and uses their mean as the
    /// bandwidth.
    pub(super) fn look_for_policer(&mut self, now: f64, limited: bool) {
        let lossy = self.s.lost_now > 0.0;
        if self.s.policer.in_use {
            if self.s.mode == Mode::ProbeBw && self.s.round_start {
                self.s.policer.rounds += 1;
                if self.s.policer.rounds >= POLICED_USE_ROUNDS {
                    self.forget_policer(now);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !self.s.policer.sampling {
            if !lossy {
                return;
            }
            self.new_policer_interval(now);
            self.s.policer.sampling = true;
        }
        if limited {
            self.forget_policer(now);
            return;
        }
        self.s.policer.rounds += u32::from(self.s.round_start);
        if self.s.policer.rounds < POLICED_ROUNDS {
            return;
        }
        if self.s.policer.rounds > 4 * POLICED_ROUNDS {
            self.forget_policer(now);
            return;
        }
        if lossy {
            self.end_policer_interval(now);
        }
    }

    pub(super) fn end_policer_interval(&mut self, now: f64) {
        let policer = &self.s.policer;
        let (lost, delivered) = (self.s.lost - policer.lost, self.s.delivered - policer.delivered);
        let seconds = if self.p.integer { whole_ms(now) - whole_ms(policer.started) } else { now - policer.started };
        if delivered <= 0.0 || lost < POLICED_LOSS * delivered || seconds < POLICED_INTERVAL_MIN_S {
            return;
        }
        let rate = if self.p.integer { whole::bandwidth(delivered, seconds) } else { delivered / seconds };
        let last = policer.rate;
        let apart = (rate - last).abs();
        let alike = apart <= POLICED_ALIKE * last || apart * self.s.segment_bytes <= POLICED_ALIKE_BYTES_PER_S;
        if last > 0.0 && alike {
            let policer = &mut self.s.policer;
            let mean = if self.p.integer { whole::mean(rate, last) } else { (rate + last) / 2.0 };
            (policer.rate, policer.in_use, policer.rounds) = (mean, true, 0);
        } else {
            self.s.policer.rate = rate;
            self.new_policer_interval(now);
        }
    }
}
