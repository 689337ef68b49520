//! An increase that is decided once in a round trip, and released to the window over the round that follows.

/// An increase on its way to the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Segments still to be released.
    pub pending: f64,
    /// Segments that each acknowledged segment releases.
    pub per_ack: f64,
}

impl Spread {
    /// Decides an increase of `segments` for a window of `window` segments.
    pub fn decide(&mut self, segments: f64, window: f64) {
        *self = Self { pending: segments, per_ack: segments / window };
    }

    /// Releases up to `segments`; returns the part of it that was pending.
    #[inline]
    pub fn release(&mut self, segments: f64) -> f64 {
        let step = segments.min(self.pending);
        self.pending -= step;
        step
    }

    /// Releases what `acked` acknowledged segments release.
    #[inline]
    pub fn on_ack(&mut self, acked: f64) -> f64 {
        self.release(self.per_ack * acked)
    }
}
