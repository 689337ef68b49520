//! Draws from distributions. Each draw inverts one uniform number, with the functions of the crate `libm`, so it is the
//! same on every machine.

use crate::random::Stream;
use crate::spec::{DurationSpec, RttSpec, SizeSpec};
use crate::time::Time;

/// Largest draw of a time, ps; longer draws are reduced to this limit. This limit is half of the longest run, so that
/// sums of two times do not overflow.
const LONGEST_PS: f64 = (1_u64 << 61) as f64;

impl DurationSpec {
    /// Draws a duration of at least 1 ps.
    pub fn draw(&self, stream: &mut Stream) -> Time {
        let ps = match *self {
            Self::Constant { mean_ps } => return Time(mean_ps),
            Self::Exponential { mean_ps } => exponential(stream) * mean_ps as f64,
            Self::Pareto { mean_ps, shape } => pareto(stream, mean_ps as f64 * (shape - 1.0) / shape, shape),
        };
        Time(ps.clamp(1.0, LONGEST_PS) as u64)
    }
}

/// A distribution of sizes, with the values that do not depend on the draw.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    spec: SizeSpec,
    /// Shares of the whole lognormal and the whole Pareto distribution that remain after truncation.
    body: f64,
    tail: f64,
}

impl Sizes {
    /// Prepares the draws from a distribution.
    #[must_use]
    pub fn new(spec: SizeSpec) -> Self {
        let (body, tail) = match spec {
            SizeSpec::LognormalPareto { mu, sigma, tail_bytes, tail_shape, most_bytes, .. } => {
                (normal_cdf((libm::log(tail_bytes) - mu) / sigma), 1.0 - libm::pow(tail_bytes / most_bytes, tail_shape))
            }
            _ => (1.0, 1.0),
        };
        Self { spec, body, tail }
    }

    /// Draws a size of at least 1 byte.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let bytes = match self.spec {
            SizeSpec::Constant { mean_bytes } => mean_bytes,
            SizeSpec::Exponential { mean_bytes } => exponential(stream) * mean_bytes,
            SizeSpec::Pareto { mean_bytes, shape } => pareto(stream, mean_bytes * (shape - 1.0) / shape, shape),
            SizeSpec::LognormalPareto { mu, sigma, body_share, tail_bytes, tail_shape, .. } => {
                let (which, u) = (stream.uniform(), stream.uniform());
                if which < body_share {
                    libm::exp(mu + sigma * normal_quantile(u * self.body)).min(tail_bytes)
                } else {
                    tail_bytes * libm::pow(1.0 - u * self.tail, -1.0 / tail_shape)
                }
            }
        };
        bytes.max(1.0)
    }
}

impl RttSpec {
    /// Draws a round-trip time.
    pub fn draw(&self, stream: &mut Stream) -> Time {
        let u = stream.uniform();
        let above = self.shares.partition_point(|&share| share <= u).clamp(1, self.shares.len() - 1);
        let (low, high) = (self.shares[above - 1], self.shares[above]);
        let (from, to) = (self.rtts_ps[above - 1] as f64, self.rtts_ps[above] as f64);
        Time((from * libm::pow(to / from, (u - low) / (high - low))) as u64)
    }
}

/// Standard normal distribution function.
fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The constant 1 / √(2π), computed as (2 / √π) / (2 √2).
const ROOT_OF_TWO_PI_INVERSE: f64 = 0.5 * std::f64::consts::FRAC_1_SQRT_2 * std::f64::consts::FRAC_2_SQRT_PI;

/// Inverse of [`normal_cdf`]. The first value is formula 26.2.23 of Abramowitz and Stegun, with an error below 4.5 ×
/// 10⁻⁴. Each step of Newton's method then squares the error.
fn normal_quantile(p: f64) -> f64 {
    let t = libm::sqrt(-2.0 * libm::log(p.min(1.0 - p).max(f64::MIN_POSITIVE)));
    let (above, below) = (0.010_328, 0.001_308);
    let tail = t - ((above * t + 0.802_853) * t + 2.515_517) / (((below * t + 0.189_269) * t + 1.432_788) * t + 1.0);
    let mut x = if p < 0.5 { -tail } else { tail };
    for _ in 0..2 {
        let density = libm::exp(-0.5 * x * x) * ROOT_OF_TWO_PI_INVERSE;
        x -= (normal_cdf(x) - p) / density;
    }
    x
}

/// Draws from the exponential distribution with mean 1.
pub fn exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-stream.uniform())
}

/// Draws from the Weibull distribution with the given mean, where P(X > x) = exp(−(x / scale)^shape), scale = mean /
/// Γ(1 + 1 / shape).
pub fn weibull(stream: &mut Stream, mean: f64, shape: f64) -> f64 {
    mean / libm::tgamma(1.0 + 1.0 / shape) * libm::pow(exponential(stream), 1.0 / shape)
}

/// Draws from the Pareto distribution: values above `scale`, with P(X > x) = (scale / x)^shape.
pub fn pareto(stream: &mut Stream, scale: f64, shape: f64) -> f64 {
    scale * libm::exp(exponential(stream) / shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kolmogorov-Smirnov test: compares the largest distance between the empirical distribution of `draws` and `cdf`
    /// with the critical value for a level of 10⁻⁴, which is 2.225 / √n.
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
        // A mean of 3 s and a shape of 1.5 give a scale of 1 s.
        let spec = DurationSpec::Pareto { mean_ps: 3_000_000_000_000, shape: 1.5 };
        passes_kolmogorov_smirnov(draws(spec), |x| if x < 1.0 { 0.0 } else { 1.0 - libm::pow(x, -1.5) });
    }

    fn sizes(spec: SizeSpec) -> Vec<f64> {
        let mut stream = Stream::new(1, "sizes");
        let sizes = Sizes::new(spec);
        (0..100_000).map(|_| sizes.draw(&mut stream)).collect()
    }

    #[test]
    fn pareto_sizes_pass_kolmogorov_smirnov() {
        // A mean of 25,000 bytes and a shape of 1.2 give a scale of 4,166.7 bytes and a median of 7,424 bytes.
        let draws = sizes(SizeSpec::Pareto { mean_bytes: 25_000.0, shape: 1.2 });
        let scale = 25_000.0 / 6.0;
        passes_kolmogorov_smirnov(draws, |x| if x < scale { 0.0 } else { 1.0 - libm::pow(scale / x, 1.2) });
    }

    #[test]
    fn sizes_with_a_body_and_a_tail_pass_kolmogorov_smirnov_and_have_their_mean() {
        // The server files of SURGE: the mean of the mixture is 68.3 kB.
        let (mu, sigma, body_share, tail_bytes, tail_shape, most_bytes) = (9.357, 1.318, 0.93, 133e3, 1.1, 1e8);
        let draws = sizes(SizeSpec::LognormalPareto { mu, sigma, body_share, tail_bytes, tail_shape, most_bytes });
        let body = |x: f64| normal_cdf((libm::log(x) - mu) / sigma);
        let tail = |x: f64| 1.0 - libm::pow(tail_bytes / x, tail_shape);
        passes_kolmogorov_smirnov(draws.clone(), |x| {
            if x < tail_bytes {
                body_share * body(x) / body(tail_bytes)
            } else {
                body_share + (1.0 - body_share) * tail(x) / tail(most_bytes)
            }
        });
        let mean = draws.iter().sum::<f64>() / 1e5;
        let spec = SizeSpec::LognormalPareto { mu, sigma, body_share, tail_bytes, tail_shape, most_bytes };
        // The bound ignores that the tail of the body is truncated.
        assert!((68_300.0..78_000.0).contains(&spec.mean_bytes_at_most()), "{}", spec.mean_bytes_at_most());
        // The standard deviation of a size is 0.77 MB, so the standard deviation of the mean of 100,000 sizes is 2.4
        // kB.
        assert!((mean - 68_300.0).abs() < 5.0 * 2_400.0, "{mean}");
    }

    #[test]
    fn round_trips_pass_kolmogorov_smirnov_against_their_quantiles() {
        let ms = Time::MILLISECOND.0;
        let spec = RttSpec { shares: vec![0.0, 0.5, 1.0], rtts_ps: vec![10 * ms, 100 * ms, 1000 * ms] };
        assert_eq!(spec.problem(), None);
        let mut stream = Stream::new(1, "rtts");
        let draws = (0..100_000).map(|_| spec.draw(&mut stream).seconds()).collect();
        passes_kolmogorov_smirnov(draws, |x| 0.5 * libm::log10(x / 0.01));
    }

    #[test]
    fn the_normal_quantile_inverts_the_distribution_function() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!(normal_quantile(0.5).abs() < 1e-12);
        for p in [1e-12, 0.001, 0.3, 0.7, 0.999] {
            assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-10, "{p}");
        }
    }
}
