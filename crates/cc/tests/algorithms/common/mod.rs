//! A connection with one loss in every 1/p segments, for the response functions.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use elephan_cc::{Ack, Algorithm, Cause, Controller, Event, Signal, Start, Value, build};

/// Round-trip time of most tests, s.
pub const RTT: f64 = 0.1;

/// Converts a list of names and values to parameters by name.
pub fn parameters(values: &[(&str, Value)]) -> BTreeMap<String, Value> {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Mean window over round trips, segments, with every 1/p-th segment lost and no queue. The first loss occurs at once,
/// at a window of `peak`. BIC and CUBIC are flat around the maximum. If they start from another window, they need
/// hundreds of epochs to reach the equilibrium.
pub fn mean_window(controller: &mut Controller, p: f64, rtt: f64, peak: f64, epochs: u32) -> f64 {
    mean_window_over(controller, p, (rtt, rtt), peak, epochs)
}

/// Like [`mean_window`], with a queue of constant length: only the first segment finds the queue empty and has an RTT
/// of `base` s.
pub fn mean_window_over(controller: &mut Controller, p: f64, (base, rtt): (f64, f64), peak: f64, epochs: u32) -> f64 {
    controller.on_event(&Event::Start(Start {
        now: 0.0,
        initial_window: peak,
        initial_ssthresh: peak,
        ..Start::default()
    }));
    let (mut now, mut since_loss, mut epoch) = (0.0, 1.0 / p, 0);
    if base < rtt {
        controller.on_ack(&Ack { acked: 1.0, rtt: Some(base), min_rtt: base, srtt: base, ..Ack::default() });
    }
    let (mut sum, mut rounds) = (0.0, 0.0);
    while epoch < epochs {
        let n = controller.window().floor().max(1.0);
        if epoch >= epochs / 2 {
            sum += n;
            rounds += 1.0;
        }
        for i in 0..n as u64 {
            now += rtt / n;
            since_loss += 1.0;
            if since_loss >= 1.0 / p {
                since_loss = 0.0;
                epoch += 1;
                let (cause, in_flight) = (Cause::Loss, controller.window());
                controller.on_event(&Event::Congestion(Signal {
                    now,
                    in_flight,
                    cause,
                    srtt: rtt,
                    min_rtt: base,
                    repeated: false,
                    kept: 0.0,
                }));
                controller.on_event(&Event::RecoveryExit { now });
                break;
            }
            controller.on_ack(&Ack {
                now,
                acked: 1.0,
                rtt: Some(rtt),
                owd: None,
                min_rtt: base,
                srtt: rtt,
                delivery: None,
                in_flight: n,
                window_at_send: 0.0,
                round_start: i == 0,
                in_recovery: false,
                window_limited: true,
                ..Ack::default()
            });
        }
    }
    sum / rounds
}

/// Asserts that the mean window at loss rate `p` and an RTT of `rtt` s differs from `expected` by at most `tolerance` ×
/// `expected`.
#[track_caller]
pub fn assert_response(spec: &str, values: &[(&str, Value)], p: f64, rtt: f64, expected: f64, tolerance: f64) {
    assert_from_peak(spec, values, (p, rtt), expected, expected, tolerance);
}

/// Like [`assert_response`], with a given window at the first loss.
#[track_caller]
pub fn assert_from_peak(
    spec: &str,
    values: &[(&str, Value)],
    (p, rtt): (f64, f64),
    peak: f64,
    expected: f64,
    tolerance: f64,
) {
    let mut controller = build(spec, &parameters(values)).expect("it is right");
    let got = mean_window(&mut controller, p, rtt, peak, 60);
    assert!((got / expected - 1.0).abs() <= tolerance, "{spec} at p = {p}: {got}, closed form {expected}");
}

/// Like [`assert_response`], with a queue: the first segment has an RTT of `base` s, all later segments have an RTT of
/// `rtt` s.
#[track_caller]
pub fn assert_over(
    spec: &str,
    values: &[(&str, Value)],
    p: f64,
    (base, rtt): (f64, f64),
    expected: f64,
    tolerance: f64,
) {
    let mut controller = build(spec, &parameters(values)).expect("it is right");
    let got = mean_window_over(&mut controller, p, (base, rtt), expected, 60);
    assert!((got / expected - 1.0).abs() <= tolerance, "{spec} at p = {p}: {got}, closed form {expected}");
}
