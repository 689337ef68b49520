//! The smallest RTT of a connection.

/// Smallest RTT since the connection began ([`Ack::min_rtt`](crate::Ack::min_rtt)): a running minimum. Linux's `tcp_min_rtt`
/// is the minimum of a sliding window of 300 s (`net.ipv4.tcp_min_rtt_wlen`); this minimum never expires. Algorithms
/// that need a sliding window have their own filter ([`WindowedMin`](crate::windowed::WindowedMin)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinRtt(f64);

impl MinRtt {
    /// The state before the first sample.
    #[must_use]
    pub const fn new() -> Self {
        Self(f64::INFINITY)
    }

    /// Takes a sample, s, and returns the smallest sample so far, s.
    #[inline]
    pub fn update(&mut self, sample: f64) -> f64 {
        self.0 = self.0.min(sample);
        self.0
    }

    /// The smallest sample, s; infinite before the first sample.
    #[must_use]
    #[inline]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for MinRtt {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sample_stays() {
        let mut filter = MinRtt::new();
        assert!(filter.get().is_infinite());
        assert_eq!([0.12, 0.1, 0.11].map(|sample| filter.update(sample)), [0.12, 0.1, 0.1]);
        assert_eq!(filter.get(), 0.1);
    }
}
