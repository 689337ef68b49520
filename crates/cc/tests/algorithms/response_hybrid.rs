//! Response functions of the algorithms that use losses and delay: the mean window under one loss in every 1/p segments,
//! with queues empty and with a constant queue.

use crate::common::{RTT, assert_from_peak, assert_over, assert_response, parameters};
use elephan_cc::Value;

/// Mean window of AIMD(a, b) with one loss in 1/p segments.
fn aimd(a: f64, b: f64, p: f64) -> f64 {
    (a * (2.0 - b) / (2.0 * b * p)).sqrt()
}

#[test]
fn compound_follows_the_law_of_its_window() {
    // No decision is made in the first round trip after a loss. This round trip is one of 16 at the highest loss rate,
    // and one of 25 and one of 39 at the other two loss rates. At the highest loss rate, half of the peak is near the
    // low window, so most losses would set dwnd to zero.
    for (p, low_window, tolerance) in [(1e-3_f64, 0.0, 0.1), (1e-4, 38.0, 0.06), (1e-5, 38.0, 0.04)] {
        let low_window = ("low_window", Value::Num(low_window));
        let at_once = [low_window.clone(), ("spread", Value::Bool(false))];
        assert_response("compound", &[low_window], p, RTT, 0.25528 / p.powf(0.8), tolerance);
        assert_response("compound", &at_once, p, RTT, 0.25528 / p.powf(0.8), tolerance);
    }
    // Release 1.3 truncates, which costs half a segment of the growth in each round trip: 11 segments at 1e-4, 45 at
    // 1e-5.
    for (p, tolerance) in [(1e-4_f64, 0.1), (1e-5, 0.06)] {
        assert_response("compound:linux", &[], p, RTT, 0.25528 / p.powf(0.8), tolerance);
    }
}

#[test]
fn compound_with_a_queue_is_reno() {
    for p in [1e-4, 1e-5] {
        assert_over("compound", &[], p, (0.5 * RTT, RTT), aimd(1.0, 0.5, p), 0.04);
    }
}

#[test]
fn illinois_lies_on_its_two_bounds() {
    for p in [1e-4, 1e-5] {
        for preset in ["illinois", "illinois:linux", "illinois:linux-2.6.23"] {
            assert_response(preset, &[], p, RTT, aimd(10.0, 0.125, p), 0.04);
            assert_over(preset, &[], p, (0.5 * RTT, RTT), aimd(0.3, 0.5, p), 0.04);
        }
    }
}

#[test]
fn illinois_that_keeps_an_eighth_has_a_fraction_of_its_window() {
    for p in [1e-4, 1e-5] {
        assert_response("illinois:linux-2.6", &[], p, RTT, aimd(10.0, 0.875, p), 0.05);
    }
}

#[test]
fn yeah_without_a_queue_is_scalable_and_with_one_reno() {
    for p in [1e-4, 1e-5] {
        assert_response("yeah", &[], p, RTT, 0.0749 / p, 0.03);
        assert_over("yeah", &[], p, (0.4 * RTT, RTT), aimd(1.0, 0.5, p), 0.05);
    }
}

#[test]
fn africa_without_a_queue_is_highspeed_tcp() {
    for (p, w) in [(1e-4, 259.8), (1e-5, 1776.0)] {
        assert_response("africa", &[], p, RTT, w, 0.03);
    }
    assert_over("africa:halving", &[], 1e-4, (0.9 * RTT, RTT), aimd(1.0, 0.5, 1e-4), 0.04);
}

#[test]
fn fusion_with_a_queue_is_reno() {
    for p in [1e-4, 1e-5] {
        assert_over("fusion", &[], p, (0.5 * RTT, RTT), aimd(1.0, 0.5, p), 0.05);
    }
}

#[test]
fn areno_with_a_queue_is_reno() {
    for p in [1e-4, 1e-5] {
        assert_over("areno", &[], p, (0.5 * RTT, RTT), aimd(1.0, 0.5, p), 0.04);
    }
}

#[test]
fn libra_follows_aimd_with_its_unverified_constants() {
    let capacity = [("capacity", Value::Num(100.0))];
    for p in [1e-4, 1e-5] {
        let w = aimd(200.0 * 0.01 / 1.1, 1.0 / 2.2, p);
        assert_from_peak("libra", &capacity, (p, RTT), w, w, 0.04);
    }
    assert_eq!(parameters(&capacity).len(), 1);
}
