//! Cube root of Linux's CUBIC (`cubic_root`), whose error is part of the curve.

/// Starting values of the iteration, by the number's upper bits: about 64 times the root of these bits, minus 10.
const STARTS: [u64; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Time until the cubic function has grown by `segments` whole segments, in 1/1024 s; `c` is the steepness in 1/1024.
pub(super) fn time_to(segments: f64, c: f64) -> f64 {
    let factor = (1_u64 << 40) / (c as u64).max(1);
    root(factor.saturating_mul(segments as u64)) as f64
}

/// The root by one step of Newton's method, with a division by three as the product with 341/1024.
fn root(number: u64) -> u64 {
    let bits = u64::from(u64::BITS - number.leading_zeros());
    if bits < 7 {
        return (STARTS[number as usize & 63] + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let start = ((STARTS[(number >> (3 * third)) as usize & 63] + 10) << third) >> 6;
    let twice = 2 * start + number / (start * (start - 1)).max(1);
    (twice * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_as_inexact_as_in_linux() {
        let cases = [(0, 0), (1, 1), (63, 4), (64, 4), (1000, 10), (1_000_000, 100), (1 << 40, 10_323)];
        for (number, expected) in cases {
            assert_eq!(root(number), expected, "{number}");
        }
        for number in (1..60).map(|power| 3_u64.pow(power / 2) << (power / 2)).filter(|&number| number > 1000) {
            let exact = libm::cbrt(number as f64);
            assert!((root(number) as f64 - exact).abs() <= 0.02 * exact + 1.0, "{number}");
        }
    }

    #[test]
    fn ten_segments_take_three_seconds() {
        assert_eq!(time_to(10.0, 410.0), 2991.0, "the exact time is 2993.3");
    }
}
