//! Linux's coarse clock, which counts timer interrupts (jiffies), and the kernel's conversions to jiffies.

/// Timer interrupts a second by default: a jiffy is 1 ms, as in ns-2's TCP/Linux and the kernels of the high-speed TCP
/// studies.
pub const DEFAULT_HZ: f64 = 1000.0;

/// Microseconds in a second.
const US: f64 = 1e6;

/// A clock with `HZ` jiffies a second.
#[derive(Clone, Copy, Debug)]
pub struct Jiffies {
    hz: f64,
}

impl Default for Jiffies {
    fn default() -> Self {
        Self { hz: DEFAULT_HZ }
    }
}

impl Jiffies {
    /// A clock with `hz` jiffies a second.
    #[must_use]
    pub fn new(hz: f64) -> Self {
        Self { hz }
    }

    /// Converts a number of jiffies to seconds.
    #[must_use]
    pub fn seconds(self, jiffies: f64) -> f64 {
        jiffies / self.hz
    }

    /// Jiffies in a second (`HZ`).
    #[inline]
    #[must_use]
    pub fn hz(self) -> f64 {
        self.hz
    }

    /// The jiffy in which an instant of `seconds` falls.
    #[inline]
    #[must_use]
    pub fn at(self, seconds: f64) -> f64 {
        (seconds * self.hz).floor()
    }

    /// Number of jiffies that began between two instants; the instants are in seconds.
    #[inline]
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> f64 {
        self.at(to) - self.at(from)
    }

    /// A measured time of `seconds` in jiffies: truncated to microseconds, then rounded up (`usecs_to_jiffies`).
    #[inline]
    #[must_use]
    pub fn from_measured(self, seconds: f64) -> f64 {
        // The thousandth of a microsecond corrects a product that rounding put just below a whole number.
        let us = (seconds * US + 1e-3).floor();
        (us * self.hz / US).ceil()
    }

    /// A constant of `seconds` in jiffies, rounded up (`msecs_to_jiffies`).
    #[inline]
    #[must_use]
    pub fn from_constant(self, seconds: f64) -> f64 {
        (seconds * self.hz - 1e-9).ceil()
    }

    /// A constant of `seconds` in jiffies, truncated like the quotient `HZ / 20`.
    #[inline]
    #[must_use]
    pub fn quotient(self, seconds: f64) -> f64 {
        (seconds * self.hz + 1e-9).floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_are_rounded_up_to_jiffies() {
        for (hz, seconds, jiffies) in [
            (1000.0, 0.1, 100.0),
            (1000.0, 0.100_03, 101.0),
            (250.0, 0.04, 10.0),
            (250.0, 0.040_12, 11.0),
            (100.0, 1e-6, 1.0),
        ] {
            assert_eq!(Jiffies::new(hz).from_measured(seconds), jiffies, "{seconds} s at {hz}");
        }
    }

    #[test]
    fn constants_have_the_kernel_s_values() {
        // msecs_to_jiffies(10) and (20), HZ / 20, HZ / 32.
        for (hz, ten_ms, twenty_ms, twentieth, thirty_second) in
            [(1000.0, 10.0, 20.0, 50.0, 31.0), (250.0, 3.0, 5.0, 12.0, 7.0), (100.0, 1.0, 2.0, 5.0, 3.0)]
        {
            let j = Jiffies::new(hz);
            assert_eq!((j.from_constant(0.01), j.from_constant(0.02)), (ten_ms, twenty_ms));
            assert_eq!((j.quotient(0.05), j.quotient(1.0 / 32.0)), (twentieth, thirty_second));
        }
    }

    #[test]
    fn an_interval_counts_the_jiffies_that_begin_in_it() {
        let j = Jiffies::new(250.0);
        assert_eq!((j.between(0.0041, 0.0079), j.between(0.0079, 0.0081)), (0.0, 1.0));
    }
}
