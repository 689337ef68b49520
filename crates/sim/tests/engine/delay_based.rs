//! Delay-based algorithms over the whole engine: their equilibria, their shares of a bottleneck, and the effects of the
//! hosts' clocks.

use crate::common::{at, dumbbell, link, ns2_stack, ps, run, spec};
use elephan_sim::Outcome;
use serde_json::{Value, json};

/// Packets per second of the bottleneck of Xu et al. (2011): packets of 1,000 bytes at 200 Mbit/s.
const PACKETS_PER_S: f64 = 25_000.0;
/// Rate of this bottleneck, bit/s.
const RATE_BPS: u64 = 200_000_000;

/// A stack with packets of 1,000 bytes, an ACK for every segment, RACK and PRR.
fn stack() -> Value {
    let mut stack = ns2_stack();
    for (field, value) in [
        ("payload_bytes", json!(960)),
        ("host", json!("linux")),
        ("detection", json!("rack")),
        ("recovery", json!("prr")),
        ("dup_threshold", json!(3)),
        ("any_ack_restarts_timer", json!(false)),
        ("undo", json!(true)),
        ("time_one_segment", json!(false)),
    ] {
        stack[field] = value;
    }
    stack
}

/// A dumbbell at 200 Mbit/s with 1 ms on each access link and a round-trip propagation delay of `rtt_s`.
fn path(rtt_s: f64, buffer: u64, algorithms: &[(&str, f64)], alpha: f64) -> (Value, Value) {
    path_at(RATE_BPS, rtt_s, buffer, algorithms, alpha)
}

/// A dumbbell like [`path`] with a bottleneck of `rate_bps`.
fn path_at(rate_bps: u64, rtt_s: f64, buffer: u64, algorithms: &[(&str, f64)], alpha: f64) -> (Value, Value) {
    let (links, mut flows) = dumbbell(rate_bps, rtt_s / 2.0 - 0.002, buffer, algorithms, &stack());
    for flow in flows.as_array_mut().expect("flows are a list") {
        flow["parameters"] = json!({ "alpha": alpha });
    }
    (links, flows)
}

/// Mean queue, packets, between two times, of the link with index `link` among the recorded links.
fn queue(outcome: &Outcome, link: usize, from_s: f64, to_s: f64) -> f64 {
    let rows = &outcome.links[link].1.rows;
    let (a, z) = (at(outcome, from_s), at(outcome, to_s));
    (rows[z].integral_packet_seconds - rows[a].integral_packet_seconds) / (to_s - from_s)
}

/// Segments per second that flow `flow` delivered between two times.
fn rate(outcome: &Outcome, flow: usize, from_s: f64, to_s: f64) -> f64 {
    let samples = &outcome.receivers[flow].samples;
    (samples[at(outcome, to_s)].delivered - samples[at(outcome, from_s)].delivered) as f64 / (to_s - from_s)
}

/// Asserts that `got` differs from `expected` by at most `part` × `expected`.
#[track_caller]
fn near(what: &str, got: f64, expected: f64, part: f64) {
    println!("{what}: {got:.4}, expected {expected:.4} ({:+.2} %)", 100.0 * (got / expected - 1.0));
    assert!((got / expected - 1.0).abs() <= part, "{what}: {got} is not {expected} within {part}");
}

/// HCC's window oscillates around its equilibrium if the pipe holds more than twice alpha (2.5 and 7.5 times here), so
/// means over a long time are compared.
#[test]
fn alone_on_a_path_each_holds_alpha_packets_in_the_queue() {
    for algorithm in ["fast", "fast:ns2", "eefast", "hcc", "hcc:prose", "hcc:steady"] {
        for (rtt_s, alpha) in [(0.04, 400.0), (0.12, 400.0), (0.04, 150.0)] {
            if alpha < 400.0 && (algorithm == "hcc" || algorithm == "hcc:prose") {
                continue; // The next test covers this case.
            }
            let (links, flows) = path(rtt_s, 10_000, &[(algorithm, 0.0)], alpha);
            let outcome = run(&spec(&links, &flows, 60.0, 20.0));
            near(&format!("{algorithm} at {rtt_s} s: queue"), queue(&outcome, 0, 20.0, 60.0), alpha, 0.05);
        }
    }
}

/// An HCC flow can oscillate so that almost every update is a full step of γα/2, and half of the updates are increases.
/// An increase is spread over its round, so on average half a step is missing in half of the rounds: the mean queue is
/// lower by γα/8 = alpha/16.
#[test]
fn spreading_its_increases_costs_a_swinging_hcc_a_sixteenth_of_alpha() {
    let mean = |rtt_s, alpha, spread: bool| {
        let (links, mut flows) = path(rtt_s, 10_000, &[("hcc", 0.0)], alpha);
        flows[0]["parameters"]["spread_increase"] = json!(spread);
        queue(&run(&spec(&links, &flows, 60.0, 20.0)), 0, 20.0, 60.0)
    };
    for (rtt_s, alpha) in [(0.04, 150.0), (0.04, 50.0)] {
        let (spread, at_once) = (mean(rtt_s, alpha, true), mean(rtt_s, alpha, false));
        near("queue with increases at once", at_once, alpha, 0.05);
        near("queue with increases spread", spread, at_once - alpha / 16.0, 0.01);
    }
}

#[test]
fn flows_that_start_together_hold_their_alphas_and_share_alike() {
    for algorithm in ["fast", "eefast", "hcc"] {
        for n in [2, 4] {
            let names: Vec<_> = (0..n).map(|_| (algorithm, 0.0)).collect();
            let (links, flows) = path_at(RATE_BPS / 2, 0.04, 10_000, &names, 100.0);
            let outcome = run(&spec(&links, &flows, 40.0, 20.0));
            near(&format!("{n} {algorithm}: queue"), queue(&outcome, 0, 20.0, 40.0), 100.0 * n as f64, 0.05);
            for flow in 0..n {
                near("share", rate(&outcome, flow, 20.0, 40.0), PACKETS_PER_S / 2.0 / n as f64, 0.05);
            }
        }
    }
}

/// Equilibrium queue u, in units of alpha, and the flows' shares. A flow that starts while the queueing delay is b
/// alpha/C mistakes this delay for propagation delay. With b_i the queue that flow i found at its start, its share of
/// the link is 1/(u - b_i), and the shares sum to 1.
fn shares_by_order(flows: usize) -> (f64, Vec<f64>) {
    let (mut u, mut found) = (1.0_f64, vec![0.0]);
    for n in 2..=flows {
        found.push(u);
        let (mut low, mut high) = (u + 1e-9, u + n as f64);
        for _ in 0..200 {
            u = f64::midpoint(low, high);
            if found.iter().map(|b| 1.0 / (u - b)).sum::<f64>() > 1.0 { low = u } else { high = u }
        }
    }
    (u, found.iter().map(|b| 1.0 / (u - b)).collect())
}

#[test]
fn a_late_flow_takes_the_share_that_its_error_of_the_base_delay_gives() {
    let (u, shares) = shares_by_order(2);
    near("queue of two, the golden ratio squared", u, 2.618, 1e-3);
    near("late over early", shares[1] / shares[0], 1.618, 1e-3);
    for algorithm in ["fast", "eefast"] {
        let starts = [(algorithm, 0.0), (algorithm, 30.0), (algorithm, 80.0)];
        let (links, flows) = path_at(RATE_BPS / 4, 0.04, 10_000, &starts, 100.0);
        let outcome = run(&spec(&links, &flows, 140.0, 30.0));
        for (n, from_s, to_s) in [(1, 20.0, 30.0), (2, 60.0, 80.0), (3, 120.0, 140.0)] {
            let (u, shares) = shares_by_order(n);
            near(&format!("{n} {algorithm} in sequence: queue"), queue(&outcome, 0, from_s, to_s), 100.0 * u, 0.05);
            for (flow, share) in shares.iter().enumerate() {
                near("share", rate(&outcome, flow, from_s, to_s), share * PACKETS_PER_S / 4.0, 0.05);
            }
        }
    }
}

#[test]
fn flows_that_know_their_base_delay_share_alike_whenever_they_start() {
    for algorithm in ["fast", "eefast", "hcc"] {
        let (links, mut flows) = path_at(RATE_BPS / 4, 0.04, 10_000, &[(algorithm, 0.0), (algorithm, 20.0)], 100.0);
        // The links' transmission times: 176 µs for segments, 7 µs for their ACKs of 40 bytes.
        let (name, base_s) = if algorithm == "fast" { ("known_rtt", 0.040183) } else { ("known_owd", 0.020176) };
        for flow in flows.as_array_mut().expect("flows are a list") {
            flow["parameters"][name] = json!(base_s);
        }
        let outcome = run(&spec(&links, &flows, 80.0, 40.0));
        near(&format!("{algorithm}: queue"), queue(&outcome, 0, 40.0, 80.0), 200.0, 0.05);
        for flow in 0..2 {
            near("share", rate(&outcome, flow, 40.0, 80.0), PACKETS_PER_S / 8.0, 0.05);
        }
    }
}

/// Two flows: one of `algorithm` from 0 s, and from 10 s a flow with a constant window on the reverse path. The second
/// flow's segments share a queue with the first flow's ACKs. The second flow's ACKs bypass the first flow's bottleneck
/// if `beside` is true, and cross this bottleneck otherwise.
fn against_traffic(algorithm: &str, beside: bool) -> Outcome {
    let (mut links, mut flows) = path(0.04, 10_000, &[(algorithm, 0.0), ("fixed", 10.0)], 400.0);
    links[1]["record"] = json!(true);
    let list = links.as_array_mut().expect("links are a list");
    list.push(link("beside", RATE_BPS, 0.018, None));
    let aside = list.len() - 1;
    flows[1]["parameters"] = json!({ "window": 1500 });
    flows[1]["path"][1] = json!(1);
    flows[1]["reverse_path"][1] = json!(if beside { aside } else { 0 });
    run(&spec(&links, &flows, 40.0, 20.0))
}

#[test]
fn reverse_traffic_slows_fast_down_but_neither_eefast_nor_hcc() {
    for algorithm in ["fast", "eefast", "hcc"] {
        let outcome = against_traffic(algorithm, true);
        let x = rate(&outcome, 0, 20.0, 40.0);
        let forward = queue(&outcome, 0, 20.0, 40.0);
        // By Little's law, an ACK's queueing delay is the mean queue divided by the rate of all packets, segments and
        // ACKs.
        let back_s = queue(&outcome, 1, 20.0, 40.0) / (x + rate(&outcome, 1, 20.0, 40.0));
        println!("{algorithm}: {x:.0}/s, {forward:.1} waiting, {:.2} ms back", back_s * 1e3);
        assert!(back_s > 0.016, "the reverse path has a queue of more than alpha/C");
        if algorithm == "fast" {
            assert!(forward < 1.0);
            near("fast: rate", x, 400.0 / back_s, 0.05);
        } else {
            near("rate", x, PACKETS_PER_S, 1e-3);
            near("queue", forward, 400.0, 0.05);
        }
    }
}

/// If the reverse flow's ACKs cross the first bottleneck too, queues compress the ACKs of both flows into bursts
/// (Zhang, Shenker and Clark 1991). A segment's queueing delay is then longer than the mean queue divided by the rate.
/// EEFAST and HCC, which use forward delays, still have higher rates than FAST, which uses round-trip times.
#[test]
fn two_way_traffic_takes_more_from_fast_than_from_hcc() {
    let used = |algorithm| rate(&against_traffic(algorithm, false), 0, 20.0, 40.0);
    let (fast, eefast, hcc) = (used("fast"), used("eefast"), used("hcc"));
    println!("fast {fast:.0}/s, eefast {eefast:.0}/s, hcc {hcc:.0}/s");
    assert!(eefast > 1.2 * fast && hcc > 1.2 * fast);
}

/// Xu et al. (2011), figure 9(b), and the text of section 4.1: with a buffer above alpha there is no loss, the flow
/// soon uses the whole link, and alpha packets wait. The paper does not state its round-trip time; the test has 40 ms
/// and 120 ms.
#[test]
fn with_a_buffer_above_alpha_hcc_converges_without_a_loss() {
    for rtt_s in [0.04, 0.12] {
        let (links, flows) = path(rtt_s, 600, &[("hcc", 0.0)], 400.0);
        let outcome = run(&spec(&links, &flows, 60.0, 30.0));
        assert_eq!(outcome.senders[0].totals.loss_events, 0, "{rtt_s} s");
        near("rate from 10 s on", rate(&outcome, 0, 10.0, 60.0), PACKETS_PER_S, 1e-3);
        near("queue", queue(&outcome, 0, 20.0, 60.0), 400.0, 0.05);
    }
}

/// Xu et al. (2011), figure 9(a), and the text of section 4.1: with a buffer below alpha, the search mostly keeps the
/// window near the window at the last loss, and the utilization is higher than FAST's.
#[test]
fn with_a_buffer_below_alpha_hcc_searches_for_the_window_of_the_loss() {
    let outcome_of = |algorithm| {
        let (links, flows) = path(0.04, 200, &[(algorithm, 0.0)], 400.0);
        let mut spec = spec(&links, &flows, 60.0, 10.0);
        spec.sample_period_ps = ps(0.01);
        run(&spec)
    };
    let (outcome, fast) = (outcome_of("hcc"), outcome_of("fast"));
    let samples = &outcome.senders[0].samples;
    let losses: Vec<usize> =
        (1..samples.len()).filter(|&k| samples[k].loss_events > samples[k - 1].loss_events).collect();
    let (mut near_reference, mut all, mut passed) = (0, 0, 0);
    for pair in losses[1..].windows(2) {
        let reference = samples[pair[0] - 1].cwnd;
        let epoch = &samples[pair[0]..pair[1]];
        near_reference += epoch.iter().filter(|s| s.cwnd > 0.9 * reference).count();
        all += epoch.len();
        passed += usize::from(epoch.iter().any(|s| s.cwnd > reference));
    }
    let (used, used_by_fast) = (rate(&outcome, 0, 10.0, 60.0), rate(&fast, 0, 10.0, 60.0));
    println!("{} losses, {passed} passed, near {near_reference} of {all}, {used} against {used_by_fast}", losses.len());
    assert!(losses.len() > 10);
    assert!(near_reference as f64 > 0.6 * all as f64);
    assert!(used > 0.93 * PACKETS_PER_S && used > used_by_fast);
}

/// Xu et al. (2011), table 2(b) and figure 12: with a buffer above the sum of all alphas, flows that know their base
/// delays have equal shares regardless of their round-trip times. Table 2(a): with a smaller buffer the flow with the
/// shorter round-trip time has the larger share.
#[test]
fn hcc_flows_of_different_round_trips_share_alike_where_the_buffer_holds_their_alphas() {
    for (buffer, shares) in [(2000, Some(0.5)), (600, None)] {
        let (mut links, mut flows) = path(0.06, buffer, &[("hcc", 0.0), ("hcc", 20.0)], 400.0);
        // The second flow's forward path is 30 ms longer: round-trip times of 60 and 90 ms.
        links[6]["delay_ps"] = json!(ps(0.031));
        flows[0]["parameters"]["known_owd"] = json!(0.030056);
        flows[1]["parameters"]["known_owd"] = json!(0.060056);
        let outcome = run(&spec(&links, &flows, 120.0, 50.0));
        let (short, long) = (rate(&outcome, 0, 50.0, 120.0), rate(&outcome, 1, 50.0, 120.0));
        println!("buffer {buffer}: {short:.0} and {long:.0} a second");
        assert!(short + long > 0.95 * PACKETS_PER_S);
        match shares {
            Some(share) => near("share of the short one", short / (short + long), share, 0.02),
            None => assert!(short > 2.0 * long),
        }
    }
}

/// Section 3.4: once the window exceeds the window at the last loss and no other loss has occurred, the window follows
/// the delay again.
#[test]
fn after_one_loss_hcc_searches_for_26_updates_and_returns_to_alpha() {
    let (mut links, flows) = path(0.04, 10_000, &[("hcc:steady", 0.0)], 400.0);
    links[0]["loss"] = json!({"kind": "list", "packets": [500_000]});
    let outcome = run(&spec(&links, &flows, 60.0, 30.0));
    let samples = &outcome.senders[0].samples;
    assert_eq!(samples[samples.len() - 1].loss_events, 1);
    let lost = (1..samples.len()).find(|&k| samples[k].loss_events == 1).expect("it is lost");
    let reference = samples[lost - 1].cwnd;
    let passed = (lost..samples.len()).find(|&k| samples[k].cwnd > reference).expect("it is passed") - lost;
    println!("reference {reference}, passed after {passed} tenths of a second");
    near("window of the loss", reference, 1400.0, 0.01);
    // 26 updates from 700 to 1400.3, each in a round trip of 40 to 56 ms, and two or three round trips for the
    // recovery.
    assert!((11..=17).contains(&passed));
    near("queue", queue(&outcome, 0, 40.0, 60.0), 400.0, 0.05);
}

/// A run of one flow of `algorithm` with the given clocks, at 50 Mbit/s with alpha 100: a quarter of the paper's rate
/// and alpha, with the same delays.
fn with_clocks(algorithm: &str, rtt_s: f64, sender: &Value, receiver: &Value, duration_s: f64) -> Outcome {
    let (links, mut flows) = path_at(RATE_BPS / 4, rtt_s, 10_000, &[(algorithm, 0.0)], 100.0);
    flows[0]["sender_clock"] = sender.clone();
    flows[0]["receiver_clock"] = receiver.clone();
    run(&spec(&links, &flows, duration_s, 10.0))
}

#[test]
fn the_offset_of_the_clocks_does_not_matter() {
    let (none, hour) = (json!({}), json!({"offset_ps": ps(3600.0)}));
    for algorithm in ["eefast", "hcc", "hcc:steady"] {
        let expected = queue(&with_clocks(algorithm, 0.04, &none, &none, 60.0), 0, 20.0, 60.0);
        for (sender, receiver) in [(&none, &hour), (&hour, &none)] {
            let outcome = with_clocks(algorithm, 0.04, sender, receiver, 60.0);
            near(&format!("{algorithm}: queue"), queue(&outcome, 0, 20.0, 60.0), expected, 0.01);
        }
    }
}

/// If a receiver's clock gains d seconds per second, the measured delay grows by d per second, so the flow keeps only
/// alpha - C d t packets in the queue. If the clock loses d seconds per second, the flow keeps alpha + C d t packets.
#[test]
fn a_drift_of_the_clocks_moves_the_queue_by_the_rate_times_the_drift() {
    for algorithm in ["eefast", "hcc", "hcc:steady"] {
        for drift in [-50e-6, 50e-6] {
            let clock = json!({"drift_ppb": (drift * 1e9) as i64});
            let outcome = with_clocks(algorithm, 0.04, &json!({}), &clock, 200.0);
            for to_s in [60.0, 130.0, 200.0] {
                let expected = 100.0 - PACKETS_PER_S / 4.0 * drift * (to_s - 10.0);
                let got = queue(&outcome, 0, to_s - 20.0, to_s);
                near(&format!("{algorithm}, drift {drift} at {to_s} s: queue"), got, expected, 0.05);
            }
        }
    }
}

/// With clocks of resolution r, the smallest measured delay is the empty path's delay rounded down to a multiple of r,
/// and the mean of the measured delays is right. The flow therefore keeps fewer packets in the queue, by C times the
/// error of the smallest delay.
#[test]
fn coarse_clocks_hide_a_part_of_a_tick_of_the_queue() {
    for algorithm in ["eefast", "hcc", "hcc:steady"] {
        for (rtt_s, tick_s) in [(0.041, 0.001), (0.05, 0.01), (0.058, 0.01)] {
            let clock = json!({"resolution_ps": ps(tick_s)});
            let outcome = with_clocks(algorithm, rtt_s, &clock, &clock, 90.0);
            // Transmission times of the three links: 8 µs, 160 µs, 8 µs.
            let empty_s = rtt_s / 2.0 + 176e-6;
            let hidden = PACKETS_PER_S / 4.0 * (empty_s - (empty_s / tick_s).floor() * tick_s);
            let what = format!("{algorithm}, {tick_s} s ticks, {hidden:.1} hidden: queue");
            near(&what, queue(&outcome, 0, 30.0, 90.0), 100.0 - hidden, 0.05);
        }
    }
}
