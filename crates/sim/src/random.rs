//! Counter-based random streams, one for each source of randomness; a stream is named after its source.
//!
//! The `n`-th draw of a stream depends on the seed, the stream's name and `n` alone, so an additional flow does not
//! change the draws of other flows. The mixing function is `SplitMix64`'s finalizer (Steele, Lea and Flood, OOPSLA
//! 2014), implemented here. A library may change its stream in a major version, but a run must not change.

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// One source of randomness.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    counter: u64,
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Name of a stream, composed of parts without a string: the FNV-1a hash of the parts so far.
#[derive(Clone, Copy, Debug)]
pub struct Name(u64);

impl Default for Name {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Name {
    /// The name extended by `part`.
    #[must_use]
    pub fn and(self, part: &str) -> Self {
        Self(part.bytes().fold(self.0, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// The stream of that name in the run `seed`.
    #[must_use]
    pub fn stream(self, seed: u64) -> Stream {
        Stream { key: mix(mix(seed.wrapping_add(GOLDEN_GAMMA)) ^ self.0), counter: 0 }
    }
}

impl Stream {
    /// The stream `name` of the run `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        Name::default().and(name).stream(seed)
    }

    /// Key of the stream, from which another program can draw the same numbers.
    #[must_use]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(1);
        mix(self.key.wrapping_add(self.counter.wrapping_mul(GOLDEN_GAMMA)))
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform integer in [0, bound); 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_repeat() {
        let draw = |seed, name: &str| Stream::new(seed, name).bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn uniform_has_the_mean_and_variance_of_a_uniform() {
        let mut stream = Stream::new(7, "moments");
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = stream.uniform();
            assert!((0.0..1.0).contains(&x));
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // Five standard errors: 5 × sqrt(1/12/n) for the mean, 5 × sqrt(1/180/n) for the variance.
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / f64::from(n)).sqrt(), "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 5.0 * (1.0 / 180.0 / f64::from(n)).sqrt(), "{variance}");
    }
}
