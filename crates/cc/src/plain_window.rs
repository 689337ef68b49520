//! Window of an algorithm with its own rules for growth and reduction: window, threshold, and the rules that all such
//! windows share.

use crate::reports::{Signal, Start};

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

/// Window and threshold after an idle time longer than `timeouts` retransmission timeouts, on Linux
/// (`tcp_cwnd_restart`): the window is halved for each, down to the initial window, and three quarters of it are
/// remembered as the threshold.
pub fn restarted((mut w, mut ssthresh): (f64, f64), initial: f64, timeouts: u32) -> (f64, f64) {
    if timeouts > 0 {
        ssthresh = ssthresh.max((w / 2.0).floor() + (w / 4.0).floor());
    }
    let least = initial.min(w);
    for _ in 0..timeouts {
        if w <= least {
            break;
        }
        w = (w / 2.0).floor();
    }
    (w.max(least), ssthresh)
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

    /// [`restarted`].
    pub fn restart_after(&mut self, timeouts: u32) {
        (self.w, self.ssthresh) = restarted((self.w, self.ssthresh), self.initial, timeouts);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_of_an_idle_time_halves_the_window_down_to_the_initial_window() {
        let cases = [
            ((61.0, 20.0), 0, (61.0, 20.0)),
            ((61.0, 20.0), 1, (30.0, 45.0)),
            ((61.0, 50.0), 2, (15.0, 50.0)),
            ((61.0, 20.0), 3, (10.0, 45.0)),
            ((7.0, 2.0), 5, (7.0, 4.0)),
            ((40.0, f64::INFINITY), 1, (20.0, f64::INFINITY)),
        ];
        for (before, timeouts, after) in cases {
            assert_eq!(restarted(before, 10.0, timeouts), after, "{before:?} after {timeouts} timeouts");
        }
    }
}
