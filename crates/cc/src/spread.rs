//! An increase that is decided once in a round trip, and added to the window over the next round.

/// A decided increase, which is added to the window step by step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Segments not yet added to the window.
    pub pending: f64,
    /// Segments added for each segment acknowledged.
    pub per_ack: f64,
}

impl Spread {
    /// Decides an increase of `segments` for a window of `window` segments.
    pub fn decide(&mut self, segments: f64, window: f64) {
        *self = Self { pending: segments, per_ack: segments / window };
    }

    /// Releases up to `segments` of the pending increase, and returns the amount.
    #[inline]
    pub fn release(&mut self, segments: f64) -> f64 {
        let step = segments.min(self.pending);
        self.pending -= step;
        step
    }

    /// Releases the increase for `acked` acknowledged segments, and returns it.
    #[inline]
    pub fn on_ack(&mut self, acked: f64) -> f64 {
        self.release(self.per_ack * acked)
    }
}
