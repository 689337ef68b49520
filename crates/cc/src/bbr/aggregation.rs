//! Room in the window for aggregated ACKs (`bbr_update_ack_aggregation`).

use super::{Bbr, larger, smaller, whole};
use crate::algorithm::Ack;

/// Length in rounds of each of the two slots of the filter of ACK aggregation.
const AGGREGATION_ROUNDS: u32 = 5;
/// Largest addition to the window for ACK aggregation, s of bandwidth.
const AGGREGATION_MOST_S: f64 = 0.1;
/// Segments after which an aggregation epoch starts afresh.
const AGGREGATION_RESET: f64 = (1_u32 << 20) as f64;
/// Data acknowledged in excess of the bandwidth estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    pub(super) epoch: f64,
    pub(super) acked: f64,
    pub(super) most: [f64; 2],
    pub(super) slot: usize,
    pub(super) rounds: u32,
}

impl Bbr {
    /// Updates the largest excess of acknowledged data over the bandwidth. The excess is counted from the time when the
    /// ACKs last fell behind the bandwidth.
    #[inline]
    pub(super) fn update_aggregation(&mut self, ack: &Ack, bandwidth: f64) {
        let (round_start, w) = (self.s.round_start, self.s.w);
        let a = &mut self.s.aggregation;
        if round_start {
            a.rounds += 1;
            if a.rounds >= AGGREGATION_ROUNDS {
                a.rounds = 0;
                a.slot = 1 - a.slot;
                a.most[a.slot] = 0.0;
            }
        }
        let mut expected = if self.p.integer {
            whole::segments_between(bandwidth, a.epoch, ack.now)
        } else {
            bandwidth * (ack.now - a.epoch)
        };
        if a.acked <= expected || a.acked + ack.acked >= AGGREGATION_RESET {
            (a.acked, a.epoch, expected) = (0.0, ack.now, 0.0);
        }
        a.acked += ack.acked;
        let extra = smaller(a.acked - expected.floor(), w);
        a.most[a.slot] = larger(a.most[a.slot], extra);
    }

    #[inline]
    pub(super) fn aggregation_room(&self, bandwidth: f64) -> f64 {
        if !self.p.ack_aggregation || !self.s.full_reached {
            return 0.0;
        }
        let [a, b] = self.s.aggregation.most;
        let most = if self.p.integer {
            whole::segments(bandwidth, AGGREGATION_MOST_S)
        } else {
            (bandwidth * AGGREGATION_MOST_S).floor()
        };
        smaller(larger(a, b), most)
    }
}
