//! Distributions, drawn by inversion from one uniform number each, with a libm of our own: the same on every machine.

use serde::Deserialize;

use crate::random::Stream;
use crate::time::Time;

/// A distribution of lengths of time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DurationSpec {
    /// Always the same.
    Constant {
        /// It, ps.
        mean_ps: u64,
    },
    /// Memoryless.
    Exponential {
        /// Mean, ps.
        mean_ps: u64,
    },
    /// Pareto: heavy-tailed; P(X > x) = (scale / x)^shape with scale = mean (shape − 1) / shape.
    Pareto {
        /// Mean, ps.
        mean_ps: u64,
        /// Above 1, so that there is a mean.
        shape: f64,
    },
}

/// Longer draws than this count as this, ps: half of the longest run, so that times can be added up.
const LONGEST_PS: f64 = (1_u64 << 61) as f64;

impl DurationSpec {
    /// What is wrong with it, if anything.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        match *self {
            Self::Constant { mean_ps } | Self::Exponential { mean_ps } => (mean_ps == 0).then_some("must be above 0"),
            Self::Pareto { mean_ps: 0, .. } => Some("must be above 0"),
            Self::Pareto { shape, .. } => {
                (shape <= 1.0 || shape.is_nan()).then_some("needs a shape above 1, or it has no mean")
            }
        }
    }

    /// A length of time; at least 1 ps.
    pub fn draw(&self, stream: &mut Stream) -> Time {
        let ps = match *self {
            Self::Constant { mean_ps } => return Time(mean_ps),
            Self::Exponential { mean_ps } => exponential(stream) * mean_ps as f64,
            Self::Pareto { mean_ps, shape } => pareto(stream, mean_ps as f64 * (shape - 1.0) / shape, shape),
        };
        Time(ps.clamp(1.0, LONGEST_PS) as u64)
    }
}

/// Exponential with mean 1.
pub fn exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-stream.uniform())
}

/// Pareto: above `scale`, with P(X > x) = (scale / x)^shape.
pub fn pareto(stream: &mut Stream, scale: f64, shape: f64) -> f64 {
    scale * libm::exp(exponential(stream) / shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kolmogorov-Smirnov: the largest distance between the empirical distribution of `draws` and `cdf` against the critical
    /// value for a level of 10⁻⁴, 2.225 / √n.
    pub fn passes_kolmogorov_smirnov(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let distance = |(i, x): (usize, &f64)| {
            let expected = cdf(*x);
            (expected - i as f64 / n).max((i + 1) as f64 / n - expected)
        };
        let worst = draws.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(worst < 2.225 / n.sqrt(), "{worst} with {n} draws");
    }

    fn draws(spec: DurationSpec) -> Vec<f64> {
        let mut stream = Stream::new(1, "draws");
        (0..100_000).map(|_| spec.draw(&mut stream).seconds()).collect()
    }

    #[test]
    fn exponential_times_pass_kolmogorov_smirnov() {
        let spec = DurationSpec::Exponential { mean_ps: 2_000_000_000_000 };
        passes_kolmogorov_smirnov(draws(spec), |x| 1.0 - libm::exp(-x / 2.0));
    }

    #[test]
    fn pareto_times_pass_kolmogorov_smirnov() {
        // Mean 3 s and shape 1.5: scale 1 s.
        let spec = DurationSpec::Pareto { mean_ps: 3_000_000_000_000, shape: 1.5 };
        passes_kolmogorov_smirnov(draws(spec), |x| if x < 1.0 { 0.0 } else { 1.0 - libm::pow(x, -1.5) });
    }

    #[test]
    fn what_has_no_mean_is_refused() {
        assert!(DurationSpec::Pareto { mean_ps: 1, shape: 1.0 }.problem().is_some());
        assert!(DurationSpec::Exponential { mean_ps: 0 }.problem().is_some());
        assert!(DurationSpec::Pareto { mean_ps: 1, shape: 1.01 }.problem().is_none());
    }
}
