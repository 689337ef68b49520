//! The interval of the checks during a run.

use std::time::{Duration, Instant};

/// Interval of the checks for cancellation and memory, wall time.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Largest number of slices between two checks.
const MOST_WINDOWS: u32 = 4096;

/// Adapts the number of slices between two checks to the work in a slice.
pub struct Pace {
    looked: Instant,
    windows: u32,
}

impl Pace {
    /// Begins with a check after each slice.
    pub fn new() -> Self {
        Self { looked: Instant::now(), windows: 1 }
    }

    /// Number of slices until the next check, if this check is at `now`.
    pub fn slices(&mut self, now: Instant) -> u32 {
        let since = now.duration_since(self.looked);
        self.looked = now;
        if since < LOOK_EVERY / 2 {
            self.windows = (self.windows * 2).min(MOST_WINDOWS);
        } else if since > LOOK_EVERY {
            self.windows = (self.windows / 2).max(1);
        }
        self.windows
    }
}
