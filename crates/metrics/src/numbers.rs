//! Sums, means and quantiles of plain numbers.

/// Sum with Neumaier's compensation (Neumaier 1974), so that it does not depend on the order of the values by more than
/// its last bit. Python's `sum` is the same.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() { (total - next) + value } else { (value - next) + total };
        total = next;
    }
    if lost.is_finite() { total + lost } else { total }
}

/// Arithmetic mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    sum(values.iter().copied()) / values.len() as f64
}

/// Standard deviation of a population (divisor n).
pub fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    (sum(values.iter().map(|value| (value - middle).powi(2))) / values.len() as f64).sqrt()
}

/// Largest value; NaN if a value is NaN, or without values.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::max).filter(|_| !values.iter().any(|value| value.is_nan())).unwrap_or(f64::NAN)
}

/// Smallest value; NaN if a value is NaN, or without values.
pub fn smallest(values: &[f64]) -> f64 {
    -largest(&values.iter().map(|value| -value).collect::<Vec<_>>())
}

/// The smallest value at or below which at least the fraction `part` of the values lies; NaN without values.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part - 1.0).ceil().max(0.0) as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// Increases from each value to the next.
pub fn increases(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// A number with six significant digits, as `%g` of C prints it.
pub fn shown(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (5 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_what_rounding_would_lose() {
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([f64::INFINITY, 1.0]), f64::INFINITY);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!([0.0, 0.25, 0.26, 0.5, 1.0].map(|part| quantile(&values, part)), [1.0, 1.0, 2.0, 2.0, 4.0]);
    }

    #[test]
    fn moments_are_those_of_a_population() {
        assert_eq!((mean(&[1.0, 3.0]), deviation(&[1.0, 3.0])), (2.0, 1.0));
        assert_eq!((smallest(&[2.0, 1.0]), largest(&[2.0, 1.0])), (1.0, 2.0));
        assert!(largest(&[]).is_nan() && largest(&[1.0, f64::NAN]).is_nan());
    }

    #[test]
    fn a_number_is_shown_as_by_c() {
        let cases = [
            (0.1, "0.1"),
            (250.0, "250"),
            (1e6, "1e+06"),
            (123_456.7, "123457"),
            (1e-5, "1e-05"),
            (0.000_123, "0.000123"),
            (999_999.9, "1e+06"),
            (0.0, "0"),
            (-2.5, "-2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(shown(value), text);
        }
    }
}
