//! Rates of counted bytes: the engine's only definitions of throughput and of goodput (`python/elephan/rates.py` has
//! the same two definitions).

/// Megabits in a byte.
pub const MBIT_PER_BYTE: f64 = 8e-6;

/// Rate in Mbit/s. The rate is the throughput if the bytes are those on the wire, with headers and duplicates.
pub fn rate_mbps(bytes: f64, seconds: f64) -> f64 {
    bytes * MBIT_PER_BYTE / seconds
}

/// Goodput in Mbit/s: payload bits of distinct segments over a time.
pub fn payload_rate_mbps(segments: f64, payload_bytes: u32, seconds: f64) -> f64 {
    rate_mbps(segments * f64::from(payload_bytes), seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bits_over_a_time() {
        assert!((rate_mbps(1_000_000.0, 2.0) - 4.0).abs() < 1e-12);
        assert!((payload_rate_mbps(1000.0, 1000, 2.0) - 4.0).abs() < 1e-12);
    }
}
