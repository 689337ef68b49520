//! The window of an algorithm with rules of its own for growth and reduction: its two numbers, and the rules that all
//! such windows share.

use crate::algorithm::Start;

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
    /// Before the connection begins.
    pub const NEW: Self = Self { w: 1.0, ssthresh: f64::INFINITY, initial: 1.0, saved: None };

    /// The connection begins, with a threshold of at least `floor` segments.
    pub fn start(&mut self, start: &Start, floor: f64) {
        self.w = start.initial_window.max(1.0);
        self.initial = self.w;
        self.ssthresh = start.initial_ssthresh.max(floor);
    }

    /// Sending resumes after an idle time: the window is at most the initial one (RFC 5681 §4.1).
    pub fn idle(&mut self) {
        self.w = self.w.min(self.initial);
    }

    /// Remembers both numbers, before a signal that may turn out to be spurious changes them.
    pub fn save(&mut self) {
        self.saved = Some((self.w, self.ssthresh));
    }

    /// The last signal was spurious. Whether there was anything to restore.
    pub fn undo(&mut self) -> bool {
        let Some((w, ssthresh)) = self.saved.take() else { return false };
        self.w = self.w.max(w);
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    /// The endpoint's recovery ended at `window` segments. Whether that is below the window.
    pub fn moderate(&mut self, window: f64) -> bool {
        let lower = window < self.w;
        if lower {
            self.w = window.max(1.0);
        }
        lower
    }
}
