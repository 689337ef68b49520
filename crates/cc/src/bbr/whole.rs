//! Linux's arithmetic of BBR in whole numbers: bandwidths are whole multiples of 2⁻²⁴ segments/µs, gains of 1/256, and
//! times are whole microseconds.

/// Bits of the fraction of a bandwidth (`BW_SCALE`), and of a gain (`BBR_SCALE`).
const BANDWIDTH_BITS: u32 = 24;
const GAIN_BITS: u32 = 8;
const US: f64 = 1e6;
/// Corrects a number of microseconds that rounding put just below a whole number.
const WHOLE: f64 = 1e-3;

/// The unit of a bandwidth, segments/s.
const UNIT: f64 = US / (1_u32 << BANDWIDTH_BITS) as f64;

/// Whole microseconds in a time of `seconds`.
pub(super) fn microseconds(seconds: f64) -> f64 {
    (seconds * US + WHOLE).floor()
}

/// A bandwidth in its units. The kernel's numbers have 32 bits, which is 256 segments/µs.
fn units(bandwidth: f64) -> u128 {
    u128::from((bandwidth / UNIT).round() as u32)
}

/// Time between two instants by a clock that counts whole microseconds, s.
pub(super) fn between(from: f64, to: f64) -> f64 {
    (microseconds(to) - microseconds(from)) / US
}

fn count(seconds: f64) -> u128 {
    u128::from(microseconds(seconds) as u64)
}

fn scaled(gain: f64) -> u128 {
    (gain * f64::from(1_u32 << GAIN_BITS)).round() as u128
}

/// Bandwidth of `delivered` segments in `interval` s, segments/s (`bbr_update_bw`).
pub(super) fn bandwidth(delivered: f64, interval: f64) -> f64 {
    (delivered * f64::from(1_u32 << BANDWIDTH_BITS) / microseconds(interval)).floor() * UNIT
}

/// A bandwidth times a factor that is a multiple of 1/256, in whole units, segments/s.
pub(super) fn times(bandwidth: f64, gain: f64) -> f64 {
    ((units(bandwidth) * scaled(gain)) >> GAIN_BITS) as f64 * UNIT
}

/// Mean of two bandwidths, segments/s.
pub(super) fn mean(a: f64, b: f64) -> f64 {
    ((units(a) + units(b)) / 2) as f64 * UNIT
}

/// Segments that arrive in `seconds` (`bbr_packets_in_net_at_edt`).
pub(super) fn segments(bandwidth: f64, seconds: f64) -> f64 {
    ((units(bandwidth) * count(seconds)) >> BANDWIDTH_BITS) as f64
}

/// Segments that arrive between two instants by the kernel's clock.
pub(super) fn segments_between(bandwidth: f64, from: f64, to: f64) -> f64 {
    let us = count(to).saturating_sub(count(from));
    ((units(bandwidth) * us) >> BANDWIDTH_BITS) as f64
}

/// Window of `gain` bandwidth-delay products, segments, rounded up (`bbr_bdp`).
pub(super) fn window(bandwidth: f64, min_rtt: f64, gain: f64) -> f64 {
    let product = (units(bandwidth) * count(min_rtt) * scaled(gain)) >> GAIN_BITS;
    product.div_ceil(1 << BANDWIDTH_BITS) as f64
}

/// Pacing rate, segments/s, which is a whole number of bytes/s (`bbr_rate_bytes_per_sec`).
pub(super) fn pacing_rate(bandwidth: f64, gain: f64, margin: f64, segment_bytes: f64) -> f64 {
    let rate = (units(bandwidth) * segment_bytes as u128 * scaled(gain)) >> GAIN_BITS;
    let bytes = (rate * (US * (1.0 - margin)).round() as u128) >> BANDWIDTH_BITS;
    // The kernel does not pace at a rate of 0; here the smallest rate is 1 byte/s.
    bytes.max(1) as f64 / segment_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_kernels_integers() {
        // 10 segments in 104,031 µs: 10 × 2²⁴ / 104,031 = 1612.71.
        let rate = bandwidth(10.0, 0.104_031);
        assert_eq!(units(rate), 1612);
        assert_eq!(mean(rate, 1613.0 * UNIT), rate);
        assert_eq!(times(rate, 1.25), 2015.0 * UNIT);
        assert_eq!(segments(rate, 0.031_2), 2.0, "1612 × 31,200 / 2²⁴ = 2.998");
        assert_eq!(window(rate, 0.104_031, 2.0), 20.0, "1612 × 104,031 × 512 / 2³² = 19.99");
        let bytes = (((1612_u64 * 1448 * 739) >> 8) * 990_000) >> 24;
        assert_eq!(pacing_rate(rate, 739.0 / 256.0, 0.01, 1448.0) * 1448.0, bytes as f64);
    }
}
