//! Queue disciplines in whole runs, compared with the delays and rates that their documents state.

use crate::common;

use crate::common::{digest, dumbbell, linux_stack, ns2_stack, ps, spec};
use elephan_sim::record::ReceiverRecord;
use elephan_sim::{Engine, Outcome, Time};
use serde_json::{Value, json};

const LIMIT: u64 = 1000;

fn codel() -> Value {
    json!({"kind": "codel", "limit_packets": LIMIT, "target_ps": ps(0.005), "interval_ps": ps(0.1), "ecn": false})
}

fn fq_codel() -> Value {
    json!({
        "kind": "fq_codel", "limit_packets": LIMIT, "target_ps": ps(0.005), "interval_ps": ps(0.1), "ecn": false,
        "queues": 1024, "quantum": 1514,
    })
}

fn pie() -> Value {
    json!({
        "kind": "pie", "limit_packets": LIMIT, "target_ps": ps(0.015), "update_ps": ps(0.015), "alpha": 0.125,
        "beta": 1.25, "burst_ps": ps(0.15), "mark_threshold": 0.1,
    })
}

fn red() -> Value {
    json!({
        "kind": "red", "limit_packets": LIMIT, "min_packets": 30.0, "max_packets": 90.0, "max_p": 0.1, "weight": 0.002,
        "gentle": true, "adaptive": false, "ecn": false,
    })
}

fn dualpi2() -> Value {
    json!({
        "kind": "dualpi2", "limit_packets": LIMIT, "target_ps": ps(0.015), "update_ps": ps(0.016), "alpha": 0.16,
        "beta": 3.2, "coupling": 2.0, "step_ps": ps(0.001), "classic_share": 0.1,
    })
}

fn at_bottleneck(queue: &Value, rate_bps: u64, algorithms: &[(&str, f64)], stack: &Value) -> (Value, Value) {
    let (mut links, flows) = dumbbell(rate_bps, 0.023, LIMIT, algorithms, stack);
    links[0]["queue"] = queue.clone();
    (links, flows)
}

fn run(queue: &Value, rate_bps: u64, algorithms: &[(&str, f64)], stack: &Value, window: Time) -> Outcome {
    let (links, flows) = at_bottleneck(queue, rate_bps, algorithms, stack);
    let spec = spec(&links, &flows, 60.0, 20.0);
    Engine::with_slice(spec, window).expect("the spec is right").run(|_| true).expect("nobody cancels")
}

const WINDOW: Time = Time(4_000_000_000);

#[test]
fn no_discipline_depends_on_the_length_of_a_turn() {
    for queue in [codel(), fq_codel(), pie(), red(), dualpi2()] {
        let flows = [("reno", 0.0), ("cubic", 0.1), ("reno", 0.2)];
        let one = run(&queue, 20_000_000, &flows, &linux_stack(), WINDOW);
        let other = run(&queue, 20_000_000, &flows, &linux_stack(), Time(700_000_000));
        assert_eq!(digest(&one), digest(&other), "{queue}");
    }
}

/// Mean delay in the queue, s, and utilization, over the last 40 s.
fn at_work(outcome: &Outcome, rate_bps: u64) -> (f64, f64) {
    let rows = &outcome.links[0].1.rows;
    let (from, to) = (rows[200], rows[rows.len() - 1]);
    let packets = (to.delivered - from.delivered) as f64;
    let delay = (to.integral_packet_seconds - from.integral_packet_seconds) / packets;
    (delay, (to.delivered_bytes - from.delivered_bytes) as f64 * 8.0 / 40.0 / rate_bps as f64)
}

/// Segments delivered over the last 40 s.
fn late(receiver: &ReceiverRecord) -> u64 {
    receiver.totals.delivered - receiver.samples[200].delivered
}

fn five(algorithm: &str) -> Vec<(&str, f64)> {
    (0..5).map(|i| (algorithm, 0.1 * f64::from(i))).collect()
}

/// Tests every discipline with five flows at 10 and 100 Mbit/s and an RTT of 50 ms. The mean delay agrees with the delay
/// in the discipline's document within a tolerance, and the utilization is high. The target of CoDel and FQ-CoDel
/// bounds the standing queue, so their mean delay may be smaller.
#[test]
fn the_delay_is_what_the_documents_promise() {
    let promises = [
        ("RFC 8289 section 5.3", codel(), 0.005, 0.6, false),
        ("RFC 8290 section 5.2", fq_codel(), 0.005, 0.6, false),
        ("RFC 8033 section 4.2", pie(), 0.015, 0.1, true),
        ("RFC 9332 Appendix A.1", dualpi2(), 0.015, 0.25, true),
    ];
    for (source, queue, target, within, also_least) in promises {
        for algorithm in ["reno", "cubic"] {
            for rate_bps in [10_000_000, 100_000_000] {
                let outcome = run(&queue, rate_bps, &five(algorithm), &ns2_stack(), WINDOW);
                let (delay, utilization) = at_work(&outcome, rate_bps);
                let case = format!("{source}: {algorithm} at {rate_bps} bit/s: {delay} s, utilization {utilization}");
                println!("{case}");
                assert!(delay < target * (1.0 + within), "{case}");
                assert!(!also_least || delay > target * (1.0 - within), "{case}");
                assert!(utilization > 0.95, "{case}");
            }
        }
    }
}

#[test]
fn flow_queues_share_evenly_between_unequal_algorithms() {
    let flows = [("reno", 0.0), ("cubic", 0.1), ("stcp", 0.2), ("hstcp", 0.3)];
    let outcome = run(&fq_codel(), 10_000_000, &flows, &linux_stack(), WINDOW);
    let delivered: Vec<f64> = outcome.receivers.iter().map(|r| late(r) as f64).collect();
    let (sum, squares) = (delivered.iter().sum::<f64>(), delivered.iter().map(|x| x * x).sum::<f64>());
    assert!(sum * sum / (4.0 * squares) > 0.995, "{delivered:?}");
}

/// RFC 9332 section 2.1: scalable flows have about the same rates as an equal number of classic flows, within a factor
/// of two here. The queueing delay of the scalable flows is at most 1 ms and one packet.
#[test]
fn a_dual_queue_lets_prague_and_classic_flows_share() {
    for rate_bps in [40_000_000, 120_000_000] {
        for classic in ["reno", "cubic"] {
            let mut flows = five("prague");
            flows.extend(five(classic));
            let mut stack = linux_stack();
            stack["ecn"] = json!(true);
            let outcome = run(&dualpi2(), rate_bps, &flows, &stack, WINDOW);
            let rates: Vec<f64> = outcome.receivers.iter().map(|r| late(r) as f64).collect();
            let ratio = rates[..5].iter().sum::<f64>() / rates[5..].iter().sum::<f64>();
            let measured = &outcome.senders[0].measured;
            let queueing = measured.rtt_sum / measured.rtt_count as f64 - 0.05;
            println!("{classic} at {rate_bps}: {ratio:.2}, {:.2} ms", queueing * 1e3);
            assert!((0.5..2.0).contains(&ratio), "{classic} at {rate_bps}: {ratio}");
            assert!(queueing < 0.001 + 2.0 * 12_000.0 / rate_bps as f64, "{classic} at {rate_bps}: {queueing} s");
        }
    }
}

#[test]
fn fq_codel_serves_flows_alike_in_whatever_order_they_are_listed() {
    let outcome = |order: [usize; 3]| {
        let (mut links, flows) =
            dumbbell(5_000_000, 0.01, 40, &[("cubic", 0.0), ("reno", 0.1), ("bic", 0.2)], &linux_stack());
        // With so few queues, some flows share a queue.
        links[0]["queue"] = json!({"kind": "fq_codel", "limit_packets": 40, "queues": 2});
        let listed: Vec<_> = order.iter().map(|&flow| flows[flow].clone()).collect();
        let outcome = common::run(&spec(&links, &json!(listed), 20.0, 1.0));
        let mut sent: Vec<_> =
            order.iter().zip(&outcome.senders).map(|(flow, sender)| (*flow, sender.totals)).collect();
        sent.sort_by_key(|(flow, _)| *flow);
        sent
    };
    let listed = outcome([0, 1, 2]);
    assert!(listed.iter().all(|(_, totals)| totals.sent > 1000));
    assert_eq!(listed, outcome([2, 0, 1]));
    assert_eq!(listed, outcome([1, 2, 0]));
}
