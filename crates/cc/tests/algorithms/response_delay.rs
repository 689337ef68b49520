//! Response functions of delay-based algorithms at a constant delay: the mean window under one loss in every 1/p
//! segments.

use crate::common::{RTT, assert_response};

#[test]
fn cdg_without_a_gradient_is_standard_tcp() {
    for (p, w) in [(1e-4, 122.5), (1e-5, 387.3)] {
        assert_response("cdg", &[], p, RTT, w, 0.03);
    }
}

/// The window grows by one segment each round trip and falls by b = 1/5 on a loss: w = sqrt((2 - b)/(2 b p)). The mean
/// is slightly lower, since the window does not grow in the round trips after a loss in which samples for a decision
/// are collected.
#[test]
fn nv_gives_up_a_fifth() {
    for p in [1e-4_f64, 1e-5] {
        let b = 1.0 - 819.0 / 1024.0;
        assert_response("nv", &[], p, RTT, ((2.0 - b) / (2.0 * b * p)).sqrt(), 0.05);
    }
}
