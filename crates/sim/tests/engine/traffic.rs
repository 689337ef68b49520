//! Applications and datagrams over the whole engine.
use crate::common::{at, digest, dumbbell, flow, link, linux_stack, ns2_stack, run, spec};
use elephan_sim::engine::Engine;
use elephan_sim::{Outcome, Time};
use serde_json::{Value, json};

/// Payload of the segments below, bytes; a segment has 1,000 bytes on the wire.
const PAYLOAD: u64 = 972;

/// Datagrams of 1,000 bytes on the wire over one link of 10 Mbit/s, so that one datagram takes 0.8 ms.
fn datagrams(load: f64, poisson: bool, limit: Option<u64>, (duration_s, delay_s): (f64, f64)) -> Outcome {
    let mut links = vec![link("l", 10_000_000, delay_s, limit), link("back", 10_000_000, delay_s, None)];
    links[0]["record"] = json!(true);
    let mut stack = ns2_stack();
    (stack["payload_bytes"], stack["header_bytes"]) = (json!(PAYLOAD), json!(1000 - PAYLOAD));
    let mut source = flow("source", "datagrams", 0.0, &[0], &[1], &stack);
    source["datagrams"] = json!(true);
    source["application"] = json!({"rate_bps": (load * 1e7) as u64, "poisson": poisson});
    // Long time slices cost less here; the result does not depend on their length.
    let engine = Engine::with_slice(spec(&Value::Array(links), &json!([source]), duration_s, 10.0), Time::SECOND);
    engine.expect("the scenario is right").run(|_| true).expect("nobody cancels")
}

/// Mean waiting time, and fraction of packets dropped, from `from_s` to `to_s`.
fn waiting(outcome: &Outcome, from_s: f64, to_s: f64) -> (f64, f64) {
    let rows = &outcome.links[0].1.rows;
    let (a, b) = (&rows[at(outcome, from_s)], &rows[at(outcome, to_s)]);
    let arrived = (b.arrived - a.arrived) as f64;
    let dropped = (b.dropped - a.dropped) as f64;
    let waited = b.integral_packet_seconds - a.integral_packet_seconds;
    (waited / (arrived - dropped), dropped / arrived)
}

#[test]
fn poisson_datagrams_wait_as_in_m_d_1() {
    let service_s = 0.8e-3;
    for (load, duration_s) in [(0.5, 1_000.0), (0.8, 2_000.0), (0.95, 12_000.0)] {
        let outcome = datagrams(load, true, None, (duration_s, 0.5));
        let (wait, dropped) = waiting(&outcome, 10.0, duration_s);
        let expected = load * service_s / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < 0.02, "load {load}: {wait} and not {expected}");
        // The delay of a datagram is its waiting, transmission and propagation time. Few datagrams are in flight at the
        // ends of the measurement.
        let delay = outcome.receivers[0].delays.as_ref().and_then(|delays| delays.mean()).expect("some arrived");
        assert!((delay - 0.5 - service_s - wait).abs() < 1e-3 * wait, "load {load}: {delay}");
        assert!(dropped.abs() < 1e-12);
    }
}

/// Blocking probability of M/D/1/K, with at most K customers in the system, from the Markov chain of the number of
/// customers left behind at departures (Takács 1962; Cooper, Introduction to Queueing Theory, 1981, section 5.8).
fn blocking(load: f64, k: usize) -> f64 {
    let mut arrivals = vec![(-load).exp()];
    for i in 1..=k {
        arrivals.push(arrivals[i - 1] * load / i as f64);
    }
    let mut left = vec![1.0];
    for j in 0..k - 1 {
        let sum: f64 = (1..=j).map(|i| left[i] * arrivals[j + 1 - i]).sum();
        left.push((left[j] - left[0] * arrivals[j] - sum) / arrivals[0]);
    }
    let total: f64 = left.iter().sum();
    1.0 - 1.0 / (left[0] / total + load)
}

#[test]
fn m_d_1_k_blocking_has_its_known_values() {
    // K = 1 is Erlang's loss formula with one server, for any distribution of the service time.
    assert!((blocking(0.8, 1) - 0.8 / 1.8).abs() < 1e-12);
    // K = 2: 1 − 1/(π₀ + ρ) with π₀ = e^−ρ.
    assert!((blocking(0.5, 2) - (1.0 - 1.0 / ((-0.5_f64).exp() + 0.5))).abs() < 1e-12);
}

#[test]
fn poisson_datagrams_are_blocked_as_in_m_d_1_k() {
    for (load, waiting_room) in [(0.8, 4), (0.95, 9), (1.2, 9)] {
        let outcome = datagrams(load, true, Some(waiting_room), (2_000.0, 0.5));
        let (_, dropped) = waiting(&outcome, 10.0, 2_000.0);
        let expected = blocking(load, waiting_room as usize + 1);
        assert!((dropped / expected - 1.0).abs() < 0.05, "load {load}: {dropped} and not {expected}");
    }
}

#[test]
fn datagrams_at_a_constant_rate_never_wait_and_are_counted_one_by_one() {
    let outcome = datagrams(0.9, false, Some(5), (100.0, 0.010));
    let (wait, dropped) = waiting(&outcome, 10.0, 100.0);
    assert!(wait.abs() < 1e-12 && dropped.abs() < 1e-12, "{wait} {dropped}");
    assert_eq!(outcome.senders[0].totals.sent, 112_500);
    // A datagram is in flight for 10.8 ms. The datagrams sent 1 to 12 intervals of 0.889 ms before the end are still in
    // flight.
    let arrived = outcome.receivers[0].totals.delivered;
    assert_eq!(arrived + outcome.conservation.under_way, 112_500);
    assert_eq!((outcome.conservation.under_way, outcome.receivers[0].acks_sent), (12, 0));
    let delays = outcome.receivers[0].delays.as_ref().expect("datagrams have delays");
    assert_eq!((delays.min.0, delays.sum_ps), (10_800_000_000, 10_800_000_000 * u128::from(delays.count)));
    assert_eq!(delays.count, 101_250, "90 s of the 100 s are measured");
    let sample = outcome.senders[0].samples[500];
    assert!(sample.cwnd.is_nan() && sample.in_flight == 0);
}

fn with_application(algorithm: &str, application: &Value, stack: &Value, duration_s: f64) -> Outcome {
    let (links, mut flows) = dumbbell(100_000_000, 0.018, 500, &[(algorithm, 0.0)], stack);
    flows[0]["application"] = application.clone();
    run(&spec(&links, &flows, duration_s, 5.0))
}

#[test]
fn an_application_sets_the_rate_and_the_window_stands_still() {
    for algorithm in ["reno", "cubic", "bbr", "htcp", "vegas"] {
        let outcome = with_application(algorithm, &json!({"rate_bps": 8_000_000}), &linux_stack(), 25.0);
        let receiver = &outcome.receivers[0];
        let delivered = receiver.samples[at(&outcome, 25.0)].delivered - receiver.samples[at(&outcome, 5.0)].delivered;
        let goodput_bps = delivered as f64 * 1448.0 * 8.0 / 20.0;
        assert!((goodput_bps / 8e6 - 1.0).abs() < 0.001, "{algorithm}: {goodput_bps}");
        assert_eq!(outcome.senders[0].totals.retransmits, 0, "{algorithm}");
        // 8 Mbit/s × 40 ms are 28 segments; a window that is not used does not grow for ever (RFC 9293, RFC 7661). BBR
        // sends the data that waited during a probe for the RTT at the rate of the path, and its window is then two BDP of
        // the path: 100 Mbit/s × 40 ms are 333 segments.
        let most = if algorithm == "bbr" { 2.0 * 333.0 } else { 200.0 };
        let window = outcome.senders[0].samples[at(&outcome, 25.0)].cwnd;
        assert!(window < most, "{algorithm}: {window}");
    }
}

#[test]
fn bursts_give_their_share_of_the_rate() {
    let second = 1_000_000_000_000_u64;
    let half = json!({"kind": "constant", "mean_ps": second / 2});
    let outcome =
        with_application("cubic", &json!({"rate_bps": 20_000_000, "bursts": [half, half]}), &linux_stack(), 25.0);
    let receiver = &outcome.receivers[0];
    let delivered = receiver.samples[at(&outcome, 25.0)].delivered - receiver.samples[at(&outcome, 5.0)].delivered;
    let goodput_bps = delivered as f64 * 1448.0 * 8.0 / 20.0;
    assert!((goodput_bps / 1e7 - 1.0).abs() < 0.001, "{goodput_bps}");
}

#[test]
fn a_sized_transfer_of_a_slow_application_completes_with_its_last_segment() {
    let (links, mut flows) = dumbbell(100_000_000, 0.018, 500, &[("cubic", 1.0)], &ns2_stack());
    flows[0]["application"] = json!({"rate_bps": 8_000_000});
    flows[0]["size_segments"] = json!(1001);
    let outcome = run(&spec(&links, &flows, 5.0, 2.0));
    // The last segment is handed over one second after the first, and is acknowledged a round trip of 40 ms later.
    let completed = outcome.senders[0].completed.expect("it completes").seconds();
    assert!((completed - 2.0402).abs() < 0.0005, "{completed}");
}

#[test]
fn after_an_idle_time_longer_than_the_timeout_the_window_starts_again() {
    // After one segment, silence and a burst, the window is back at its initial value (RFC 5681 section 4.1).
    let bursts = |off_ms: u64| {
        let ms = 1_000_000_000_u64;
        json!({"rate_bps": 80_000_000, "bursts": [
            {"kind": "constant", "mean_ps": 400 * ms}, {"kind": "constant", "mean_ps": off_ms * ms}]})
    };
    let lowest_after = |off_ms: u64| {
        let outcome = with_application("reno", &bursts(off_ms), &ns2_stack(), 20.0);
        let windows: Vec<f64> = outcome.senders[0].samples.iter().map(|s| s.cwnd).collect();
        // Windows at the samples after the first burst: each off-time of 1 s ends with a restart.
        windows[at(&outcome, 2.0)..].iter().copied().fold(f64::INFINITY, f64::min)
    };
    assert!(lowest_after(100) > 100.0, "100 ms is less than the timeout of at least 200 ms: nothing restarts");
    let outcome = with_application("reno", &bursts(1000), &ns2_stack(), 20.0);
    assert!(outcome.senders[0].totals.timeouts == 0);
    // The burst that begins at 1.4 s starts from the initial window of 2, so 30 ms later no ACK has come and 2 segments
    // are outstanding.
    let sent = &outcome.receivers[0].samples;
    let (before, after) = (sent[at(&outcome, 1.4)].delivered, sent[at(&outcome, 1.5)].delivered);
    // Two full round trips of 40 ms from 1.4 s on: 2 segments arrive by 1.42 s, 4 more by 1.46 s, and 8 more just at
    // 1.5 s.
    assert!((6..=14).contains(&(after - before)), "{}", after - before);
}

#[test]
fn neither_windows_nor_the_order_of_flows_matter_with_applications() {
    let (links, mut flows) =
        dumbbell(20_000_000, 0.018, 40, &[("cubic", 0.0), ("reno", 1.0), ("x", 0.5)], &linux_stack());
    let mean = |ms: u64| json!({"kind": "exponential", "mean_ps": ms * 1_000_000_000});
    let heavy = json!({"kind": "pareto", "mean_ps": 300_000_000_000_u64, "shape": 1.5});
    flows[0]["application"] = json!({"rate_bps": 15_000_000, "bursts": [mean(500), heavy]});
    flows[2]["datagrams"] = json!(true);
    flows[2]["application"] = json!({"rate_bps": 8_000_000, "poisson": true, "bursts": [mean(200), mean(300)]});
    let straight = spec(&links, &flows, 20.0, 5.0);
    let expected = digest(&run(&straight));
    let short = Engine::with_slice(straight.clone(), Time(70_000_000)).expect("it is right");
    assert_eq!(digest(&short.run(|_| true).expect("nobody cancels")), expected);
    let mut turned = straight.clone();
    turned.flows.reverse();
    let mut outcome = run(&turned);
    outcome.senders.reverse();
    outcome.receivers.reverse();
    assert_eq!(digest(&outcome), expected);
}

#[test]
fn copies_of_datagrams_are_not_new_data() {
    let mut links = vec![link("l", 10_000_000, 0.010, None), link("far", 10_000_000, 0.010, None)];
    links[0]["impairments"] = json!({"duplicate": 0.5});
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.1});
    // The second link delays some datagrams, so a copy can arrive apart from its original.
    links[1]["impairments"] = json!({"reorder": {"p": 0.3, "delay_ps": 20 * Time::MILLISECOND.0}});
    links.push(link("back", 10_000_000, 0.010, None));
    let mut source = flow("source", "datagrams", 0.0, &[0, 1], &[2], &ns2_stack());
    source["datagrams"] = json!(true);
    source["application"] = json!({"rate_bps": 4_000_000, "poisson": false});
    source["stop_ps"] = json!(90 * Time::SECOND.0);
    let outcome = run(&spec(&Value::Array(links), &json!([source]), 100.0, 0.0));
    let (receiver, first) = (&outcome.receivers[0], &outcome.link_totals[0]);
    assert!(first.duplicated > 10_000 && first.lost > 2_000, "{first:?}");
    assert_eq!(receiver.totals.delivered, outcome.senders[0].totals.sent - first.lost);
    assert_eq!(receiver.duplicates, first.duplicated);
    let delays = receiver.delays.as_ref().expect("datagrams have delays");
    assert_eq!(delays.count, receiver.totals.delivered);
}
