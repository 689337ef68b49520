//! Properties of TCP-LP (Kuzmanovic & Knightly 2003): TCP-LP uses the capacity that other flows leave, yields to other
//! flows, shares fairly among TCP-LP flows, and measures the delay of the forward path only.

use crate::common::{dumbbell, linux_stack, run, spec};
use elephan_sim::Outcome;
use serde_json::json;

const RATE: u64 = 100_000_000;
/// Segments/s that the bottleneck carries.
const CAPACITY: f64 = RATE as f64 / 8.0 / 1500.0;
const SECONDS: f64 = 120.0;

/// Flows that start a second apart over 100 Mbit/s and 40 ms, with a buffer of 1.4 bandwidth-delay products. If
/// `backwards` is true, the second flow sends on the reverse path.
fn outcome(algorithms: &[&str], backwards: bool) -> Outcome {
    let starts: Vec<_> = algorithms.iter().enumerate().map(|(i, a)| (*a, i as f64)).collect();
    let (links, mut flows) = dumbbell(RATE, 0.018, 480, &starts, &linux_stack());
    if backwards {
        let (forth, back) = (flows[1]["path"].clone(), flows[1]["reverse_path"].clone());
        (flows[1]["path"], flows[1]["reverse_path"]) = (back, forth);
        flows[0]["stack"]["pacing"] = json!(true);
    }
    run(&spec(&links, &flows, SECONDS, SECONDS / 2.0))
}

/// Each flow's share of the bottleneck in the second half.
fn shares(outcome: &Outcome) -> Vec<f64> {
    let (from, last) = (outcome.times.len() / 2, outcome.times.len() - 1);
    let seconds = outcome.times[last].seconds() - outcome.times[from].seconds();
    let delivered = |r: &elephan_sim::Outcome, i: usize| {
        (r.receivers[i].samples[last].delivered - r.receivers[i].samples[from].delivered) as f64
    };
    (0..outcome.receivers.len()).map(|i| delivered(outcome, i) / seconds / CAPACITY).collect()
}

#[test]
fn alone_it_uses_most_of_the_path_with_an_almost_empty_queue() {
    for algorithm in ["lp", "hstcp-lp"] {
        let outcome = outcome(&[algorithm], false);
        let share = shares(&outcome)[0];
        println!("{algorithm}: {share}");
        // AIMD between W/2 and W, where W fills the path and 15 % of the queue.
        assert!(share > 0.75, "{algorithm}: {share}");
        let most = outcome.links[0].1.rows[600..].iter().map(|row| row.queue_max).max().expect("there are samples");
        assert!(most < 480 / 4, "{algorithm}: {most}");
    }
}

#[test]
fn it_gives_way_to_standard_tcp() {
    for algorithm in ["lp", "hstcp-lp"] {
        let shares = shares(&outcome(&[algorithm, "reno"], false));
        println!("{algorithm}: {shares:?}");
        assert!(shares[0] < 0.02 && shares[1] > 0.97, "{algorithm}: {shares:?}");
    }
}

#[test]
fn two_of_its_own_share_what_is_there() {
    let shares = shares(&outcome(&["lp", "lp"], false));
    println!("{shares:?}");
    assert!(shares[0] + shares[1] > 0.75 && (shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
}

#[test]
fn a_queue_on_the_way_back_is_none_of_its_business() {
    // The flow is paced. Otherwise ACKs that arrive in a burst would release a burst of segments, and this burst would
    // form a queue on the forward path.
    let outcome = outcome(&["lp", "reno"], true);
    let share = shares(&outcome)[0];
    println!("{share}");
    // The round-trip time is doubled, so the growth after each halving takes longer. With a queue of the same size on
    // its forward path, the flow has less than 2 % of the bottleneck's rate.
    assert!(share > 0.5, "{share}");
    let measured = &outcome.senders[0].measured;
    assert!(measured.rtt_sum / measured.rtt_count as f64 > 0.06);
}

/// On a path without queues TCP-LP never yields: losses determine its window as they determine Reno's (Mathis and
/// others 1997), and its own bursts have no effect.
#[test]
fn on_a_path_without_queues_it_is_standard_tcp() {
    for (p, expected) in [(1e-3_f64, 38.7), (1e-4, 122.5)] {
        let mut stack = linux_stack();
        stack["ack_every"] = json!(1);
        stack["initial_ssthresh"] = json!(50);
        let (mut links, flows) = dumbbell(1_000_000_000, 0.048, 10_000, &[("lp", 0.0)], &stack);
        links[0]["loss"] = json!({"kind": "bernoulli", "p": p});
        let outcome = run(&spec(&links, &flows, 1000.0, 100.0));
        let samples = &outcome.receivers[0].samples;
        let window = (samples[samples.len() - 1].delivered - samples[1000].delivered) as f64 / 900.0 * 0.1;
        println!("p = {p}: {window:.1}, {expected} in closed form");
        assert!((window / expected - 1.0).abs() < 0.12, "p = {p}: {window}, {expected} in closed form");
    }
}
