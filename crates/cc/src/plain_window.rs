//! Window of an algorithm with its own rules for growth and reduction: window, threshold, and the rules that all such
//! windows share.

use crate::algorithm::{Signal, Start};

/// Congestion window and slow start threshold.
#[derive(Clone, Copy, Debug)]
pub struct PlainWindow {
    /// Congestion window, segments.
    pub w: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    initial: f64,
    saved: Option<(f64, f64)>,
}

impl PlainWindow {
    /// State before the connection begins.
    pub const NEW: Self = Self { w: 1.0, ssthresh: f64::INFINITY, initial: 1.0, saved: None };

    /// Starts the connection, with a threshold of at least `floor` segments.
    pub fn start(&mut self, start: &Start, floor: f64) {
        self.w = start.initial_window.max(1.0);
        self.initial = self.w;
        self.ssthresh = start.initial_ssthresh.max(floor);
    }

    /// Limits the window to the initial window when sending resumes after an idle period (RFC 5681 §4.1).
    pub fn idle(&mut self) {
        self.w = self.w.min(self.initial);
    }

    /// Saves window and threshold before a signal changes them; the signal may turn out to be spurious. An undo of a
    /// repeated timeout restores the state before the first one.
    pub fn save(&mut self, signal: &Signal) {
        if !signal.repeated {
            self.saved = Some((self.w, self.ssthresh));
        }
    }

    /// Restores window and threshold after a spurious signal. Returns false if nothing was saved.
    pub fn undo(&mut self) -> bool {
        let Some((w, ssthresh)) = self.saved.take() else { return false };
        self.w = self.w.max(w);
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    /// Lowers the window to `window` segments, at which the endpoint's recovery ended. Returns true if the window
    /// changed.
    pub fn moderate(&mut self, window: f64) -> bool {
        let lower = window < self.w;
        if lower {
            self.w = window.max(1.0);
        }
        lower
    }
}
