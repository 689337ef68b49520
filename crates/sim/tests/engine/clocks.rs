//! Time never goes back: at a sender whose timers move, on a link whose queue takes longer than any run to empty, and
//! at a link where flows from different paths meet again.

use std::collections::BTreeMap;

use crate::common::{digest, flow, link, linux_stack, ns2_stack, ps, rfc6675_stack, run, spec};
use elephan_cc::Algorithm;
use elephan_sim::{Engine, Outcome, Spec, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Application-limited flow of `rate_bps` on 4 Mbit/s × 2 ms without a bound on the queue.
fn application(algorithm: &str, rate_bps: u64, poisson: bool) -> Outcome {
    let mut links = json!([link("there", 4_000_000, 0.001, None), link("back", 4_000_000, 0.001, None)]);
    links[0]["record"] = json!(true);
    let mut one = flow("f", algorithm, 0.0, &[0], &[1], &linux_stack());
    one["application"] = json!({"rate_bps": rate_bps, "poisson": poisson});
    run(&spec(&links, &json!([one]), 6.0, 1.0))
}

/// With one segment outstanding, the probe timeout includes an allowance for a delayed ACK. A second outstanding
/// segment removes the allowance; the timeout must not move into the past.
#[test]
fn an_application_limited_sender_never_acts_in_the_past() {
    for entry in elephan_cc::registry() {
        let control = elephan_cc::build(entry.name, &BTreeMap::new());
        // The trained policy takes pauses of the application for those of the path, and gives its window up.
        if matches!(entry.name, "fixed" | "policy") || !control.is_ok_and(|control| control.needs().router.is_none()) {
            continue;
        }
        for (rate_bps, poisson) in [(1_000_000, false), (500_000, true)] {
            let outcome = application(entry.name, rate_bps, poisson);
            let mbps = outcome.receivers[0].totals.delivered as f64 * 1448.0 * 8.0 / 6e6;
            let offered = rate_bps as f64 * 1e-6;
            assert!((mbps / offered - 1.0).abs() < 0.2, "{}: {mbps} of {offered} Mbit/s", entry.name);
        }
    }
}

/// RFC 8985 section 7.2: sending new data restarts the probe timeout, so the timeout never expires in a steady flow of
/// segments.
#[test]
fn new_data_restarts_the_probe_timeout() {
    let outcome = application("reno", 1_000_000, false);
    assert_eq!(outcome.senders[0].totals.retransmits, 0);
}

/// A link of 8 bit/s takes 278 days for 400 segments of 60,000 bytes, more than the largest time of 213 days.
#[test]
fn a_backlog_beyond_the_end_of_time_is_counted_and_never_leaves() {
    for record in [false, true] {
        let mut links = json!([link("slow", 8, 0.0, None), link("back", 1_000_000, 0.001, None)]);
        links[0]["record"] = json!(record);
        let mut stack = ns2_stack();
        (stack["payload_bytes"], stack["initial_window"]) = (json!(60_000), json!(400));
        // The link behind the slow link is evaluated inline, and gets the packets of the far future in order.
        let mut behind = link("behind", 1_000_000, 0.001, None);
        behind["loss"] = json!({"kind": "list", "packets": [1_000_000]});
        links.as_array_mut().expect("a list").push(behind);
        let outcome = run(&spec(&links, &json!([flow("f", "reno", 0.0, &[0, 2], &[1], &stack)]), 2.0, 1.0));
        assert_eq!((outcome.conservation.sent, outcome.conservation.under_way), (400, 400));
        for (_, samples) in &outcome.links {
            let last = samples.rows.last().expect("the link is recorded");
            // One packet is being sent.
            assert_eq!((last.queue, last.queue_max), (399, 399));
            assert!((last.integral_packet_seconds - 399.0 * 2.0).abs() < 1e-9, "{}", last.integral_packet_seconds);
        }
    }
}

/// A link whose backlog would last beyond the largest time, with an outage after which the rate is restored.
#[test]
fn a_schedule_with_a_backlog_beyond_the_end_of_time_ends() {
    let mut links = json!([link("slow", 8, 0.0, None), link("back", 1_000_000, 0.001, None)]);
    links[0]["impairments"] =
        json!({"rate_steps": [{"at_ps": ps(1.0), "rate_bps": 0}, {"at_ps": ps(1.5), "rate_bps": 8}]});
    let mut stack = ns2_stack();
    (stack["payload_bytes"], stack["initial_window"]) = (json!(60_000), json!(400));
    let outcome = run(&spec(&links, &json!([flow("f", "reno", 0.0, &[0], &[1], &stack)]), 2.0, 1.0));
    assert_eq!(outcome.conservation.under_way, 400);
}

/// Stages of parallel links, from which each flow chooses one link per stage: flows part and meet again. Some of the
/// links can never queue.
fn stages(links: &[(u64, u64, bool)], per_stage: usize, choices: &[(Vec<u8>, u8)]) -> (Value, Value) {
    let mut all: Vec<Value> = Vec::new();
    for direction in ["there", "back"] {
        for (i, &(rate_bps, delay_us, bounded)) in links.iter().enumerate() {
            let limit = bounded.then_some(20);
            all.push(link(&format!("{direction} {i}"), rate_bps, delay_us as f64 * 1e-6, limit));
        }
    }
    let flows: Vec<Value> = choices
        .iter()
        .enumerate()
        .map(|(f, (choice, pick))| {
            let stage = |(s, &c): (usize, &u8)| s * per_stage + usize::from(c) % per_stage;
            let there: Vec<usize> = choice.iter().enumerate().map(stage).collect();
            let back: Vec<usize> = there.iter().map(|link| link + links.len()).collect();
            let stack = [ns2_stack(), linux_stack(), rfc6675_stack()][usize::from(*pick) % 3].clone();
            let mut stack = stack;
            stack["payload_bytes"] = json!([200, 1000, 1448][usize::from(*pick / 3) % 3]);
            flow(&format!("f{f}"), ["reno", "cubic", "bbr"][usize::from(*pick / 9) % 3], 0.0, &there, &back, &stack)
        })
        .collect();
    (Value::Array(all), Value::Array(flows))
}

fn with_window(spec: &Spec, window: Time) -> String {
    let engine = Engine::with_slice(spec.clone(), window).expect("the scenario is right");
    digest(&engine.run(|_| true).expect("nobody cancels"))
}

/// Two flows leave one queue, cross links that can never queue but have different delays, and meet at the next queue.
#[test]
fn flows_that_part_behind_a_queue_may_meet_at_the_next() {
    let links = [
        (10_000_000, 1_000, true),
        (10_000_000, 1_000, true),
        (100_000_000, 10_000, false),
        (100_000_000, 100, false),
        (10_000_000, 1_000, true),
        (10_000_000, 1_000, true),
    ];
    let (links, flows) = stages(&links, 2, &[(vec![0, 0, 0], 0), (vec![0, 1, 0], 0)]);
    let spec = spec(&links, &flows, 3.0, 1.0);
    let outcome = run(&spec);
    assert!(outcome.receivers.iter().all(|r| r.totals.delivered > 500));
    assert_eq!(digest(&outcome), with_window(&spec, Time(ps(0.0002))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For flows that part and meet in any way, every link sees arrivals in order, and slices of any length give the
    /// same run.
    #[test]
    fn flows_may_part_and_meet_anywhere(
        per_stage in 1_usize..4,
        rates in proptest::collection::vec((prop_oneof![Just(1_000_000_u64), Just(8_000_000), Just(8_100_000), Just(100_000_000)], 0_u64..20_000, any::<bool>()), 12),
        choices in proptest::collection::vec((proptest::collection::vec(0_u8..4, 3..5), 0_u8..27), 1..7),
        window_us in 50_u64..5000,
    ) {
        let depth = choices.iter().map(|(choice, _)| choice.len()).max().unwrap_or(1);
        let (links, flows) = stages(&rates[..(per_stage * depth).min(12)], per_stage, &choices);
        let spec = spec(&links, &flows, 1.5, 0.5);
        prop_assert_eq!(with_window(&spec, Time(ps(0.005))), with_window(&spec, Time(ps(window_us as f64 * 1e-6))));
    }
}
