//! Estimate of whether the pipe is full: the bandwidth stops growing (§5.3.1.2).

use super::sample::Sample;

/// Growth factor of the bandwidth in a round; after a smaller growth the pipe may be full.
const GROWTH: f64 = 1.25;
/// Rounds with a smaller growth after which the pipe counts as full.
const ROUNDS: u32 = 3;

/// Growth of the bandwidth.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    bw: f64,
    rounds: u32,
    now: bool,
    reached: bool,
}

impl FullPipe {
    /// Begins to look for growth, from a bandwidth of `bw`.
    pub(super) fn begin(&mut self, bw: f64) {
        (self.bw, self.rounds, self.now) = (bw, 0, false);
    }

    /// Takes the sample of an ACK.
    pub(super) fn look(&mut self, sample: &Sample, round_start: bool) {
        if self.now || !round_start || sample.app_limited {
            return;
        }
        if sample.rate >= GROWTH * self.bw {
            self.begin(sample.rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= ROUNDS;
        self.reached |= self.now;
    }

    /// True if the bandwidth has stopped growing.
    pub(super) fn is_now(&self) -> bool {
        self.now
    }

    /// True once Startup has filled the pipe.
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    /// Sets whether Startup has filled the pipe.
    pub(super) fn set_reached(&mut self, reached: bool) {
        self.reached = reached;
    }
}
