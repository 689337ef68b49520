//! Largest or smallest of the recent samples, in constant space.
//!
//! Kathleen Nichols' filter keeps three samples: the best sample of the window, the best sample after the first, and
//! the best sample after the second. When the first sample expires, the second sample replaces the first. The result is
//! never older than the window. If each sample is worse than the previous sample, the result may differ from the true
//! extreme by the samples' change over a fraction of the window.

#[derive(Clone, Copy, Debug)]
struct Sample {
    value: f64,
    at: f64,
}

/// A windowed maximum. Time is in any unit that never decreases (seconds, rounds).
#[derive(Clone, Copy, Debug)]
pub struct WindowedMax([Sample; 3]);

impl WindowedMax {
    /// A filter with one sample, `value` at time `at`.
    #[must_use]
    pub fn new(value: f64, at: f64) -> Self {
        Self([Sample { value, at }; 3])
    }

    /// The largest recent sample.
    #[must_use]
    #[inline]
    pub fn get(&self) -> f64 {
        self.0[0].value
    }

    /// Takes a sample, drops samples older than `window`, and returns the largest.
    #[inline]
    pub fn update(&mut self, value: f64, at: f64, window: f64) -> f64 {
        let new = Sample { value, at };
        let s = &mut self.0;
        if value >= s[0].value || at - s[2].at > window {
            *s = [new; 3];
            return value;
        }
        if value >= s[1].value {
            (s[1], s[2]) = (new, new);
        } else if value >= s[2].value {
            s[2] = new;
        }
        let age = at - s[0].at;
        if age > window {
            *s = [s[1], s[2], new];
            if at - s[0].at > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].at == s[0].at && age > window / 4.0 {
            // If no second sample was found for a quarter of the window, the newest sample becomes the second and the
            // third. If no third sample was found for half of the window, the newest sample becomes the third.
            (s[1], s[2]) = (new, new);
        } else if s[2].at == s[1].at && age > window / 2.0 {
            s[2] = new;
        }
        s[0].value
    }
}

/// A windowed minimum.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// A filter without samples.
    #[must_use]
    pub fn new() -> Self {
        Self(WindowedMax::new(f64::NEG_INFINITY, 0.0))
    }

    /// The smallest recent sample; infinite before the first sample.
    #[must_use]
    #[inline]
    pub fn get(&self) -> f64 {
        -self.0.get()
    }

    /// Takes a sample, drops samples older than `window`, and returns the smallest.
    #[inline]
    pub fn update(&mut self, value: f64, at: f64, window: f64) -> f64 {
        -self.0.update(-value, at, window)
    }
}

impl Default for WindowedMin {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Draws;

    #[test]
    fn the_maximum_is_forgotten_after_its_window_and_a_successor_is_at_hand() {
        let mut filter = WindowedMax::new(0.0, 0.0);
        assert_eq!(filter.update(100.0, 1.0, 10.0), 100.0);
        for round in 2..=11 {
            assert_eq!(filter.update(90.0 - f64::from(round), f64::from(round), 10.0), 100.0);
        }
        let next = filter.update(70.0, 12.0, 10.0);
        assert!((78.0..=88.0).contains(&next), "{next}");
    }

    #[test]
    fn the_minimum_is_never_below_what_the_window_holds() {
        let (mut filter, mut draws, mut seen) = (WindowedMin::new(), Draws::new(3), Vec::new());
        assert!(filter.get().is_infinite());
        let mut exact = 0;
        for i in 0..2000 {
            let (at, value) = (f64::from(i) * 0.1, 1.0 + draws.uniform());
            seen.push((at, value));
            let truth = seen.iter().filter(|(t, _)| at - t <= 5.0).map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
            let got = filter.update(value, at, 5.0);
            assert!(got >= truth && seen.iter().any(|(t, v)| *v == got && at - t <= 5.0 + 1e-9));
            exact += u32::from(got == truth);
        }
        assert!(exact > 1600, "{exact} of 2000 are the true minimum");
    }
}
