//! Rates of counted bytes: the engine's one definition of throughput and of goodput (`python/elephan/rates.py` has the
//! same two).

/// Megabits in a byte.
pub const MBIT_PER_BYTE: f64 = 8e-6;

/// Rate in Mbit/s: throughput where the bytes are those on the wire, with headers and duplicates.
pub fn rate_mbps(bytes: f64, seconds: f64) -> f64 {
    bytes * MBIT_PER_BYTE / seconds
}

/// Goodput in Mbit/s: payload bits of distinct segments over a time.
pub fn payload_rate_mbps(segments: f64, payload_bytes: u32, seconds: f64) -> f64 {
    rate_mbps(segments * f64::from(payload_bytes), seconds)
}
