//! Comparisons of numbers that are never NaN.

/// The smaller of two numbers. This comparison is one instruction. `f64::min` takes several instructions, since it also
/// handles NaN, and none of BBR's variables is NaN.
#[inline]
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers: see [`smaller`].
#[inline]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
