//! Distributions of times and sizes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::SHORTEST_TIMER_PS;
use crate::time::Time;

/// Distribution of durations.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DurationSpec {
    /// Constant.
    Constant {
        /// Value, ps.
        mean_ps: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean, ps.
        mean_ps: u64,
    },
    /// Pareto: heavy-tailed; P(X > x) = (scale / x)^shape with scale = mean (shape − 1) / shape.
    Pareto {
        /// Mean, ps.
        mean_ps: u64,
        /// Shape, above 1, so that the mean is finite.
        shape: f64,
    },
}

impl DurationSpec {
    /// Error in the distribution, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        match *self {
            Self::Constant { mean_ps } | Self::Exponential { mean_ps } => {
                (mean_ps < SHORTEST_TIMER_PS).then_some("must be at least 1 us")
            }
            Self::Pareto { shape, .. } if shape <= 1.0 || shape.is_nan() => {
                Some("needs a shape above 1, so that the mean is finite")
            }
            // Most draws are close to the smallest one.
            Self::Pareto { mean_ps, shape } => (mean_ps as f64 * (shape - 1.0) / shape < SHORTEST_TIMER_PS as f64)
                .then_some("is too small: the shortest draw, mean x (shape - 1) / shape, must be at least 1 us"),
        }
    }
}

/// Distribution of the sizes of transfers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SizeSpec {
    /// Constant.
    Constant {
        /// Value, bytes.
        mean_bytes: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean, bytes.
        mean_bytes: f64,
    },
    /// Pareto: heavy-tailed.
    Pareto {
        /// Mean, bytes.
        mean_bytes: f64,
        /// Shape, above 1.
        shape: f64,
    },
    /// A lognormal body, truncated at the start of the tail, and a Pareto tail, truncated at the largest size (Barford
    /// and Crovella 1998).
    LognormalPareto {
        /// Mean of the body's logarithm (of bytes).
        mu: f64,
        /// Standard deviation of the body's logarithm.
        sigma: f64,
        /// Fraction of the transfers in the body, from 0 to 1.
        body_share: f64,
        /// Start of the tail, bytes.
        tail_bytes: f64,
        /// Shape of the Pareto tail.
        tail_shape: f64,
        /// Largest size, bytes.
        most_bytes: f64,
    },
}

impl SizeSpec {
    /// Upper bound of the mean size, bytes: the mean itself if it has a simple form.
    #[must_use]
    pub fn mean_bytes_at_most(&self) -> f64 {
        match *self {
            Self::Constant { mean_bytes } | Self::Exponential { mean_bytes } | Self::Pareto { mean_bytes, .. } => {
                mean_bytes
            }
            Self::LognormalPareto { mu, sigma, body_share, tail_bytes, tail_shape, most_bytes } => {
                // The body without its truncated tail, and a Pareto distribution between two bounds.
                let body = libm::exp(mu + sigma * sigma / 2.0).min(tail_bytes);
                let ratio = most_bytes / tail_bytes;
                let excess = 1.0 - tail_shape;
                let growth =
                    if excess.abs() < 1e-9 { libm::log(ratio) } else { (libm::pow(ratio, excess) - 1.0) / excess };
                let tail = tail_bytes * tail_shape * growth / (1.0 - libm::pow(ratio, -tail_shape));
                body_share * body + (1.0 - body_share) * tail.min(most_bytes)
            }
        }
    }

    /// Error in the distribution, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        match *self {
            Self::Constant { mean_bytes } | Self::Exponential { mean_bytes } => {
                (!positive(mean_bytes)).then_some("need a mean above 0")
            }
            Self::Pareto { mean_bytes, shape } => (!positive(mean_bytes) || shape <= 1.0 || shape.is_nan())
                .then_some("need a mean above 0, a shape above 1"),
            Self::LognormalPareto { mu, sigma, body_share, tail_bytes, tail_shape, most_bytes } => {
                let numbers = mu.is_finite() && positive(sigma) && positive(tail_shape) && positive(tail_bytes);
                let shares = (0.0..=1.0).contains(&body_share) && most_bytes.is_finite() && most_bytes > tail_bytes;
                (!numbers || !shares)
                    .then_some("need a body, a share of it from 0 to 1, and a tail below the largest size")
            }
        }
    }
}

/// Distribution of round-trip times, given by quantiles. The logarithm is interpolated between two quantiles.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RttSpec {
    /// Cumulative probabilities, rising from 0 to 1.
    pub shares: Vec<f64>,
    /// Quantile at each probability, ps; not decreasing.
    pub rtts_ps: Vec<u64>,
}

impl RttSpec {
    /// Mean, s; values below `least_s` count as `least_s`.
    pub(crate) fn mean_s_above(&self, least_s: f64) -> f64 {
        const STEPS: usize = 16;
        let between = |pair: (&[f64], &[u64])| {
            let (low, high) = (pair.1[0] as f64 * 1e-12, pair.1[1] as f64 * 1e-12);
            let at = |step: usize| low * libm::pow(high / low, (step as f64 + 0.5) / STEPS as f64);
            (pair.0[1] - pair.0[0]) * (0..STEPS).map(|step| at(step).max(least_s)).sum::<f64>() / STEPS as f64
        };
        self.shares.windows(2).zip(self.rtts_ps.windows(2)).map(between).sum()
    }

    /// Error in the distribution, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        let (shares, rtts) = (&self.shares, &self.rtts_ps);
        if shares.len() != rtts.len() || shares.first() != Some(&0.0) || shares.last() != Some(&1.0) {
            return Some("RTTs need a quantile for each share, and shares from 0 to 1");
        }
        let rises = shares.windows(2).all(|pair| pair[0] < pair[1]) && rtts.is_sorted();
        let sensible = rtts.iter().all(|&rtt| rtt > 0 && rtt <= 3600 * Time::SECOND.0);
        (!rises || !sensible)
            .then_some("RTTs need shares that rise, and quantiles from 1 ps to an hour that do not fall")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_mean_or_is_too_short_is_refused() {
        const US: u64 = SHORTEST_TIMER_PS;
        assert!(DurationSpec::Pareto { mean_ps: 1, shape: 1.0 }.problem().is_some());
        assert!(DurationSpec::Exponential { mean_ps: 0 }.problem().is_some());
        assert!(DurationSpec::Pareto { mean_ps: 200 * US, shape: 1.01 }.problem().is_none());
        assert!(DurationSpec::Pareto { mean_ps: 50 * US, shape: 1.01 }.problem().is_some());
        assert!(DurationSpec::Constant { mean_ps: 1 }.problem().is_some());
    }
}
