//! Runs whose answer is known in closed form.

use crate::common::{at, dumbbell, ns2_stack, run, spec};
use serde_json::json;

/// One Reno flow on a path whose pipe holds `P` packets, with a buffer of `B` packets: the window grows from W/2 to W =
/// P + B by one segment each round trip. At a window w below P a round trip takes R, and above P it takes w/C
/// (Appenzeller, Keslassy and McKeown 2004, section 2).
struct Sawtooth {
    period_s: f64,
    mean_window: f64,
    utilization: f64,
}

fn sawtooth(pipe: f64, buffer: f64, packets_per_second: f64, round_trip_s: f64) -> Sawtooth {
    let (top, bottom) = (pipe + buffer, (pipe + buffer) / 2.0);
    let knee = pipe.max(bottom);
    let empty_s = (knee - bottom) * round_trip_s;
    let filling_s = (top.powi(2) - knee.powi(2)) / (2.0 * packets_per_second);
    let period_s = empty_s + filling_s;
    let area = (knee.powi(2) - bottom.powi(2)) / 2.0 * round_trip_s
        + (top.powi(3) - knee.powi(3)) / (3.0 * packets_per_second);
    let sent = (top.powi(2) - bottom.powi(2)) / 2.0;
    Sawtooth { period_s, mean_window: area / period_s, utilization: sent / packets_per_second / period_s }
}

#[test]
fn a_reno_sawtooth_has_its_period_mean_window_and_utilization() {
    let rate_bps = 83_200_000; // 10,000 packets of 1,040 bytes a second
    let round_trip_s = 0.1 + 2.0 * 1040.0 * 8.0 / 1e9 + 1040.0 * 8.0 / 83.2e6 + 40.0 * 8.0 * (2.0 / 1e9 + 1.0 / 83.2e6);
    let pipe = 10_000.0 * round_trip_s;
    for part in [0.1, 0.5, 1.0] {
        let buffer = (1000.0_f64 * part) as u64;
        let expected = sawtooth(pipe, buffer as f64, 10_000.0, round_trip_s);
        let (links, flows) = dumbbell(rate_bps, 0.048, buffer, &[("reno", 0.0)], &ns2_stack());
        // Averages are taken from one loss to another, so that they cover whole periods of the sawtooth.
        let duration_s = 60.0 + 6.0 * expected.period_s;
        let outcome = run(&spec(&links, &flows, duration_s, 1.0));
        let sender = &outcome.senders[0].samples;
        let losses: Vec<usize> =
            (1..sender.len()).filter(|&k| sender[k].loss_events > sender[k - 1].loss_events).collect();
        assert!(losses.len() >= 5, "buffer {buffer}: {} losses", losses.len());
        let (first, last) = (losses[1], losses[losses.len() - 1]);
        let teeth = (losses.len() - 2) as f64;
        let span_s = outcome.times[last].seconds() - outcome.times[first].seconds();
        let window = sender[first..last].iter().map(|s| s.cwnd).sum::<f64>() / (last - first) as f64;
        let link = &outcome.links[0].1.rows;
        let sent = (link[last].delivered - link[first].delivered) as f64;
        for (what, measured, expected) in [
            ("period", span_s / teeth, expected.period_s),
            ("mean window", window, expected.mean_window),
            ("utilization", sent / (10_000.0 * span_s), expected.utilization),
        ] {
            let error = measured / expected - 1.0;
            assert!(error.abs() < 0.01, "buffer {buffer}: {what} is {measured}, {expected} in closed form");
        }
    }
}

/// Reno under independent losses follows w = sqrt(1.5 / p) (Mathis and others 1997, one ACK a segment) within 10 %.
#[test]
fn reno_follows_its_response_function_under_random_loss() {
    for p in [1e-5_f64, 1e-4, 1e-3, 1e-2] {
        let expected = (1.5 / p).sqrt();
        // The bottleneck is so fast that no queue forms: the pipe holds five times the mean window.
        let rate_bps = (expected * 5.0 * 1040.0 * 8.0 / 0.1).max(10e6) as u64;
        let (mut links, flows) = dumbbell(rate_bps, 0.048, 1_000_000, &[("reno", 0.0)], &ns2_stack());
        for link in links.as_array_mut().expect("links are a list") {
            link["rate_bps"] = json!(rate_bps.max(1_000_000_000));
        }
        links[0]["rate_bps"] = json!(rate_bps);
        links[0]["loss"] = json!({"kind": "bernoulli", "p": p});
        // About 400 epochs, each of 2w/3 round trips.
        let duration_s = (400.0 * expected * 2.0 / 3.0 * 0.1).clamp(400.0, 12_000.0);
        let outcome = run(&spec(&links, &flows, duration_s, duration_s * 0.1));
        let (from, to) = (at(&outcome, duration_s * 0.1), outcome.times.len() - 1);
        let samples = &outcome.receivers[0].samples;
        let rate = (samples[to].delivered - samples[from].delivered) as f64 / (duration_s * 0.9);
        let measured = rate * 0.1;
        let error = measured / expected - 1.0;
        println!("p = {p}: w = {measured:.2}, closed form {expected:.2}, {:+.1} %", error * 100.0);
        assert!(error.abs() < 0.10, "p = {p}: w = {measured}, closed form {expected}");
    }
}

#[test]
fn a_constant_window_leaves_in_the_queue_what_the_pipe_does_not_hold() {
    let (links, mut flows) = dumbbell(83_200_000, 0.048, 2000, &[("fixed", 0.0)], &ns2_stack());
    flows[0]["parameters"] = json!({"window": 1500});
    let outcome = run(&spec(&links, &flows, 20.0, 10.0));
    let round_trip_s = 0.1 + 2.0 * 1040.0 * 8.0 / 1e9 + 1040.0 * 8.0 / 83.2e6 + 40.0 * 8.0 * (2.0 / 1e9 + 1.0 / 83.2e6);
    let expected = 1500.0 - 10_000.0 * round_trip_s;
    let rows = &outcome.links[0].1.rows;
    let mean = rows[rows.len() - 1].queue_mean;
    assert!((mean - expected).abs() < 1.0, "{mean} packets wait, {expected} in closed form");
}
