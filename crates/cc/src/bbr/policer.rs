//! Intervals that show a policer (`bbr_lt_bw_sampling`): two lossy intervals in a row with the same throughput.

use super::whole;

/// Shortest interval, rounds; the longest is four times as long.
const SHORTEST_ROUNDS: u32 = 4;
/// Smallest ratio of lost to delivered segments of an interval that counts as lossy.
const LOSS: f64 = 50.0 / 256.0;
/// Largest difference, as a fraction, between the rates of two intervals that count as equal.
const ALIKE: f64 = 1.0 / 8.0;
/// Largest difference between the rates of two intervals that count as equal, bytes/s (4 kbit/s).
const ALIKE_BYTES_PER_S: f64 = 500.0;
/// Rounds for which a policer's rate is used.
const USE_ROUNDS: u32 = 48;
/// Shortest interval that gives a policer's rate, s.
const SHORTEST_S: f64 = 0.001;

/// Long-term sampling for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    pub(super) sampling: bool,
    pub(super) in_use: bool,
    pub(super) rate: f64,
    rounds: u32,
    pub(super) started: f64,
    delivered: f64,
    lost: f64,
}

/// Counts of the connection at an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) now: f64,
    pub(super) delivered: f64,
    pub(super) lost: f64,
}

/// Corrects a number of milliseconds that rounding put just below a whole number: one nanosecond.
const WHOLE: f64 = 1e-6;

/// A time in whole milliseconds, s.
fn whole_ms(time: f64) -> f64 {
    (time * 1e3 + WHOLE).floor() * 1e-3
}

impl Policer {
    /// The policer's rate, segments/s, while it is used as the bandwidth.
    #[inline]
    pub(super) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// True if losses have begun an interval, or a rate is in use.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.in_use || self.sampling
    }

    fn begin(&mut self, at: Counts) {
        (self.started, self.delivered, self.lost, self.rounds) = (at.now, at.delivered, at.lost, 0);
    }

    /// Forgets all intervals.
    pub(super) fn forget(&mut self, at: Counts) {
        *self = Self::default();
        self.begin(at);
    }

    /// Counts a round in which the rate is used. True if the rate has been used long enough, and is forgotten.
    pub(super) fn expires(&mut self, at: Counts) -> bool {
        self.rounds += 1;
        let is_over = self.rounds >= USE_ROUNDS;
        if is_over {
            self.forget(at);
        }
        is_over
    }

    /// Takes an ACK: whether it showed a loss, whether the application limited the sender, and whether a round starts.
    /// The last pair is the size of a segment, bytes, and true for Linux's arithmetic.
    pub(super) fn sample(
        &mut self,
        at: Counts,
        (lossy, limited, round_start): (bool, bool, bool),
        (segment_bytes, integer): (f64, bool),
    ) {
        if !self.sampling {
            if !lossy {
                return;
            }
            self.begin(at);
            self.sampling = true;
        }
        if limited {
            self.forget(at);
            return;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < SHORTEST_ROUNDS {
            return;
        }
        if self.rounds > 4 * SHORTEST_ROUNDS {
            self.forget(at);
            return;
        }
        if lossy {
            self.end(at, segment_bytes, integer);
        }
    }

    /// Ends a lossy interval, if it is long and lossy enough.
    pub(super) fn end(&mut self, at: Counts, segment_bytes: f64, integer: bool) {
        let (lost, delivered) = (at.lost - self.lost, at.delivered - self.delivered);
        let seconds = if integer { whole_ms(at.now) - whole_ms(self.started) } else { at.now - self.started };
        if delivered <= 0.0 || lost < LOSS * delivered || seconds < SHORTEST_S {
            return;
        }
        let rate = if integer { whole::bandwidth(delivered, seconds) } else { delivered / seconds };
        let last = self.rate;
        let apart = (rate - last).abs();
        if last > 0.0 && (apart <= ALIKE * last || apart * segment_bytes <= ALIKE_BYTES_PER_S) {
            let mean = if integer { whole::mean(rate, last) } else { (rate + last) / 2.0 };
            (self.rate, self.in_use, self.rounds) = (mean, true, 0);
        } else {
            self.rate = rate;
            self.begin(at);
        }
    }
}
