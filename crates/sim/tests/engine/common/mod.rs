//! Builders of scenarios for the tests.
#![allow(dead_code, reason = "each test file uses a part")]

use elephan_sim::{Engine, Outcome, Spec, Time};
use serde_json::{Value, json};

/// Seconds in ps.
pub fn ps(seconds: f64) -> u64 {
    (seconds * 1e12) as u64
}

/// The endpoints of ns-2's TCP/Linux: packets have 1,040 bytes, and every segment is acknowledged.
pub fn ns2_stack() -> Value {
    json!({
        "payload_bytes": 1000, "header_bytes": 40, "ack_bytes": 40, "sack_block_bytes": 8, "initial_window": 2,
        "initial_ssthresh": null, "receive_window": 67000, "ack_every": 1, "delayed_ack_ps": 0, "quick_acks": 0,
        "min_rto_ps": ps(0.2), "max_rto_ps": ps(120.0), "initial_rto_ps": ps(3.0), "rto_granularity_ps": ps(0.001),
        "detection": "fack", "recovery": "rate_halving_ns2", "limited_transmit": true, "max_burst": null,
        "dup_threshold": 4, "any_ack_restarts_timer": true, "undo": false, "time_one_segment": true,
    })
}

/// Today's Linux: RACK, PRR, delayed ACKs.
pub fn linux_stack() -> Value {
    json!({
        "payload_bytes": 1448, "header_bytes": 52, "ack_bytes": 52, "sack_block_bytes": 8, "initial_window": 10,
        "initial_ssthresh": null, "receive_window": null, "ack_every": 2, "delayed_ack_ps": ps(0.04), "quick_acks": 16,
        "min_rto_ps": ps(0.2), "max_rto_ps": ps(120.0), "initial_rto_ps": ps(1.0), "rto_granularity_ps": ps(0.001),
        "host": "linux", "detection": "rack", "recovery": "prr", "limited_transmit": true, "max_burst": null,
        "dup_threshold": 3, "any_ack_restarts_timer": false, "undo": true, "time_one_segment": false,
    })
}

/// A stack by the standards alone, with RFC 6675.
pub fn rfc6675_stack() -> Value {
    let mut stack = linux_stack();
    stack["host"] = json!("plain");
    stack["detection"] = json!("dupthresh");
    stack["recovery"] = json!("pipe");
    stack["undo"] = json!(false);
    stack
}

/// A link.
pub fn link(name: &str, rate_bps: u64, delay_s: f64, limit: Option<u64>) -> Value {
    json!({
        "name": name, "rate_bps": rate_bps, "delay_ps": ps(delay_s), "loss": {"kind": "none"}, "record": false,
        "queue": {"kind": "droptail", "limit_packets": limit, "limit_bytes": null, "count_in_service": false},
    })
}

/// A flow.
pub fn flow(name: &str, algorithm: &str, start_s: f64, path: &[usize], reverse: &[usize], stack: &Value) -> Value {
    json!({
        "name": name, "algorithm": algorithm, "parameters": {}, "start_ps": ps(start_s), "stop_ps": null,
        "size_segments": null, "path": path, "reverse_path": reverse, "stack": stack,
    })
}

/// A dumbbell. Link 0 is the bottleneck of the forward path, and link 1 is the bottleneck of the reverse path. The
/// other links are four access links for each flow, with 1 ms and 1 Gbit/s each.
pub fn dumbbell(rate_bps: u64, delay_s: f64, limit: u64, algorithms: &[(&str, f64)], stack: &Value) -> (Value, Value) {
    let mut links = vec![
        link("bottleneck", rate_bps, delay_s, Some(limit)),
        link("bottleneck:reverse", rate_bps, delay_s, Some(limit)),
    ];
    links[0]["record"] = json!(true);
    let mut flows = Vec::new();
    for (i, (algorithm, start)) in algorithms.iter().enumerate() {
        let at = links.len();
        for side in ["out", "in", "back", "home"] {
            links.push(link(&format!("{i} {side}"), 1_000_000_000, 0.001, None));
        }
        flows.push(flow(&format!("f{i}"), algorithm, *start, &[at, 0, at + 1], &[at + 2, 1, at + 3], stack));
    }
    (Value::Array(links), Value::Array(flows))
}

/// A spec with the given links, flows, duration and start of the measurement window.
pub fn spec(links: &Value, flows: &Value, duration_s: f64, from_s: f64) -> Spec {
    let text = json!({
        "seed": 1, "duration_ps": ps(duration_s), "sample_period_ps": ps(0.1), "start_jitter_ps": 0, "send_jitter_ps": 0,
        "measure": {"from_ps": ps(from_s), "to_ps": ps(duration_s)}, "links": links, "flows": flows,
    });
    Spec::from_json(&text.to_string()).expect("the scenario is right")
}

/// Runs to the end.
pub fn run(spec: &Spec) -> Outcome {
    Engine::new(spec.clone()).expect("the scenario is right").run(|_| true).expect("nobody cancels")
}

/// The results of a run as text, without fields that depend on the order of computation.
pub fn digest(outcome: &Outcome) -> String {
    let ends: Vec<String> = outcome
        .senders
        .iter()
        .zip(&outcome.receivers)
        .map(|(s, r)| format!("{:?} {:?} {:?} {:?} {}", s.totals, s.samples, r.totals, r.samples, r.duplicates))
        .collect();
    format!("{ends:?} {:?} {:?}", outcome.links, outcome.conservation)
}

/// The sample index of a time.
pub fn at(outcome: &Outcome, seconds: f64) -> usize {
    outcome.times.binary_search(&Time(ps(seconds))).expect("the time is sampled")
}
