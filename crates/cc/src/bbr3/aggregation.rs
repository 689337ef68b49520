//! Aggregation of ACKs: the largest excess of acknowledged data over the bandwidth (§2.11).

use crate::ack::Ack;
use crate::windowed::WindowedMax;

/// Length in rounds of the filter, once the pipe has been full.
const ROUNDS: f64 = 10.0;

/// Excess of acknowledged data.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    extra: WindowedMax,
    since: f64,
    delivered: f64,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self { extra: WindowedMax::new(0.0, 0.0), since: 0.0, delivered: 0.0 }
    }

    /// Begins to count at `now`.
    pub(super) fn begin(&mut self, now: f64) {
        (self.since, self.delivered) = (now, 0.0);
    }

    /// Takes an ACK in round `round`, at a bandwidth of `bw` and a window of `w` segments.
    pub(super) fn update(&mut self, ack: &Ack, (bw, w): (f64, f64), round: f64, full_reached: bool) {
        let mut expected = bw * (ack.now - self.since);
        if self.delivered <= expected {
            (self.delivered, self.since, expected) = (0.0, ack.now, 0.0);
        }
        self.delivered += ack.acked;
        let extra = (self.delivered - expected).min(w);
        self.extra.update(extra, round, if full_reached { ROUNDS } else { 1.0 });
    }

    /// Largest excess, segments (BBR.extra_acked).
    pub(super) fn get(&self) -> f64 {
        self.extra.get()
    }
}
