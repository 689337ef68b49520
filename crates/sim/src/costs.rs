//! Tests of the cost of a segment, as the number of elements and bits at which the engine looks: it must not grow with the
//! window, which is a hundred thousand segments on a path of 10 Gbit/s and 100 ms.

use std::sync::Arc;

use crate::engine::Engine;
use crate::ring::looks;
use crate::spec::{Detection, Impairments, LossSpec, ReorderSpec, Spec, StackSpec};
use crate::time::Time;

/// A flow on a path of 100 ms and `rate_mbps` for two seconds.
fn long_path(algorithm: &str, rate_mbps: u64) -> Spec {
    let rtt = Time::from_seconds(0.1);
    let buffer = rate_mbps * 100_000 / 8 / 1500;
    Spec::dumbbell(rate_mbps * 1_000_000, rtt, buffer, Time::from_seconds(2.0), &[algorithm])
}

/// Looks for each segment that the sender transmits.
fn looks_per_segment(spec: Spec) -> f64 {
    let (outcome, looks) = looks::during(|| Engine::new(spec).expect("the path is valid").run(|_| true));
    let sent = outcome.expect("nothing stops the run").senders[0].totals.sent;
    assert!(sent > 1000, "{sent} segments");
    looks as f64 / sent as f64
}

/// Looks for each segment with windows that differ by a factor of 16.
fn on_small_and_large_windows(algorithm: &str, change: impl Fn(&mut Spec)) -> [f64; 2] {
    [100, 1600].map(|rate| {
        let mut spec = long_path(algorithm, rate);
        change(&mut spec);
        looks_per_segment(spec)
    })
}

fn assert_near_constant([small, large]: [f64; 2]) {
    assert!(large < 2.0 * small.max(5.0), "{small} looks for a segment, and {large} with a larger window");
}

#[test]
fn the_cost_of_a_segment_in_a_recovery_does_not_grow_with_the_window() {
    for p in [0.01, 0.15] {
        let lossy = |spec: &mut Spec| spec.links[0].loss = LossSpec::Bernoulli { p };
        assert_near_constant(on_small_and_large_windows("bbr", lossy));
    }
}

#[test]
fn the_cost_of_a_segment_that_waits_for_an_overtaken_one_does_not_grow_with_the_window() {
    for loss in [0.0, 0.02] {
        let reordered = |spec: &mut Spec| {
            spec.links[0].loss = LossSpec::Bernoulli { p: loss };
            let reorder = Some(ReorderSpec { p: 0.01, delay_ps: 20 * Time::MILLISECOND.0 });
            spec.links[0].impairments = Some(Box::new(Impairments { reorder, ..Impairments::default() }));
        };
        assert_near_constant(on_small_and_large_windows("bbr", reordered));
    }
}

#[test]
fn the_cost_of_a_segment_does_not_grow_with_a_paced_initial_window() {
    for detection in [Detection::Dupack, Detection::Rack] {
        let costs = [2000, 32_000].map(|initial_window| {
            let mut spec = long_path("bbr3", 1);
            let stack = StackSpec { detection, initial_window, ..StackSpec::linux() };
            spec.flows[0].stack = Arc::new(stack);
            looks_per_segment(spec)
        });
        assert_near_constant(costs);
    }
}
