//! Virtual time: whole picoseconds in a `u64`, exact at 100 Gbit/s. The type covers 213 days; a run may last 53 days.
//!
//! Sums are unchecked, since most of them are in the hot path. Sums cannot overflow: events are before 2⁶² ps, paths
//! are shorter than 2⁶¹ ps (checked in the spec), and a link's backlog ends at [`Time::FAR`] at the latest. Estimates
//! and settings of any value are added by [`Time::later`].

use std::ops::{Add, AddAssign, Sub};

/// An instant or a duration, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of every run.
    pub const ZERO: Self = Self(0);
    /// A time after the end of every run. A backlog that would last beyond this time ends at this time, and its later
    /// packets never leave.
    pub const FAR: Self = Self(1 << 63);
    /// Later than any time: "no such event".
    pub const NEVER: Self = Self(u64::MAX);
    /// One nanosecond.
    pub const NANOSECOND: Self = Self(1_000);
    /// One microsecond.
    pub const MICROSECOND: Self = Self(1_000_000);
    /// One millisecond.
    pub const MILLISECOND: Self = Self(1_000_000_000);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000_000);

    /// Seconds, for the algorithms and the tables; never used to schedule.
    #[must_use]
    #[inline]
    pub fn seconds(self) -> f64 {
        elephan_cc::estimators::seconds(self.0)
    }

    /// The instant nearest to `seconds`, for timers that follow from an estimate (RTO, RACK).
    #[must_use]
    #[inline]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e12) as u64)
    }

    /// `self + by`; [`Time::NEVER`] if the sum overflows.
    #[must_use]
    #[inline]
    pub fn later(self, by: Self) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// This time rounded down to whole microseconds.
    #[must_use]
    pub fn whole_us(self) -> Self {
        Self(self.0 / Self::MICROSECOND.0 * Self::MICROSECOND.0)
    }

    /// `self` rounded up to whole ns.
    #[must_use]
    #[inline]
    pub fn to_next_ns(self) -> Self {
        let over = self.0 % Self::NANOSECOND.0;
        if over == 0 { self } else { self.later(Self(Self::NANOSECOND.0 - over)) }
    }

    /// `self − other`, or zero if `other` is later.
    #[must_use]
    #[inline]
    pub fn since(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_at_100_gbit_per_second_is_ten_picoseconds() {
        assert_eq!(Time::from_seconds(1e-11), Time(10));
        assert_eq!(u64::MAX / 1_000_000_000_000 / 86_400, 213);
        assert_eq!(Time((1 << 62) - 1).seconds() as u64 / 86_400, 53);
    }

    #[test]
    fn what_is_later_than_the_end_of_time_is_never() {
        assert_eq!(Time(u64::MAX - 1).later(Time(2)), Time::NEVER);
        assert_eq!(Time::SECOND.later(Time::from_seconds(f64::INFINITY)), Time::NEVER);
    }

    #[test]
    fn whole_nanoseconds_are_rounded_up() {
        let rounded = [0, 1, 999, 1000, 1001].map(|ps| Time(ps).to_next_ns().0);
        assert_eq!(rounded, [0, 1000, 1000, 1000, 2000]);
        assert_eq!(Time::NEVER.to_next_ns(), Time::NEVER);
    }
}
