//! Random numbers for the few algorithms that need them. The numbers are the same on every machine, and the endpoint
//! gives the seed.

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers (`SplitMix64`; Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug, Default)]
pub struct Draws(u64);

impl Draws {
    /// The stream of a seed ([`Start::seed`](crate::Start::seed)).
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next 32 random bits.
    pub fn word(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_the_published_ones() {
        // SplitMix64's reference output for seed 1234567.
        let mut draws = Draws::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([draws.bits(), draws.bits(), draws.bits()], expected);
    }

    #[test]
    fn draws_fill_the_unit_interval() {
        let mut draws = Draws::new(7);
        let mean = (0..10_000).map(|_| draws.uniform()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
