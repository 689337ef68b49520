//! Room in the window for aggregated ACKs (`bbr_update_ack_aggregation`).

use super::compare::{larger, smaller};
use super::whole;

/// Length in rounds of each of the two slots of the filter.
const SLOT_ROUNDS: u32 = 5;
/// Largest addition to the window, s of bandwidth.
const MOST_S: f64 = 0.1;
/// Segments after which an epoch starts afresh.
const MOST_SEGMENTS: f64 = (1_u32 << 20) as f64;

/// Data acknowledged in excess of the bandwidth estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: f64,
    acked: f64,
    most: [f64; 2],
    slot: usize,
    rounds: u32,
}

impl Aggregation {
    /// Begins an epoch.
    pub(super) fn begin(&mut self, now: f64) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    /// Notes the start of a round.
    pub(super) fn next_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= SLOT_ROUNDS {
            self.rounds = 0;
            self.slot = 1 - self.slot;
            self.most[self.slot] = 0.0;
        }
    }

    /// Takes an ACK of `acked` segments, and updates the largest excess of acknowledged data over the bandwidth. The
    /// excess is counted from the time when the ACKs last fell behind the bandwidth, and is at most `window`.
    #[inline]
    pub(super) fn update(&mut self, (now, acked): (f64, f64), bandwidth: f64, window: f64, integer: bool) {
        let mut expected =
            if integer { whole::segments_between(bandwidth, self.epoch, now) } else { bandwidth * (now - self.epoch) };
        if self.acked <= expected || self.acked + acked >= MOST_SEGMENTS {
            (self.acked, self.epoch, expected) = (0.0, now, 0.0);
        }
        self.acked += acked;
        let extra = smaller(self.acked - expected.floor(), window);
        self.most[self.slot] = larger(self.most[self.slot], extra);
    }

    /// Addition to the window, segments.
    #[inline]
    pub(super) fn room(&self, bandwidth: f64, integer: bool) -> f64 {
        let [a, b] = self.most;
        let most = if integer { whole::segments(bandwidth, MOST_S) } else { (bandwidth * MOST_S).floor() };
        smaller(larger(a, b), most)
    }
}
