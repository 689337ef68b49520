//! Tests of BBR, BBR version 3, Copa, LEDBAT, LEDBAT++ and Vivace over the whole engine: on a path with one bottleneck
//! these algorithms behave as their papers and drafts state.

use crate::common::{at, dumbbell, linux_stack, ps, run, spec};
use elephan_sim::Outcome;
use serde_json::json;

/// Round-trip time without a queue, s.
const RTT_S: f64 = 0.04;
/// Bytes of a full segment on the wire.
const WIRE_BYTES: f64 = 1500.0;

/// A path and the flows over it.
struct Case<'a> {
    mbps: f64,
    buffer: u64,
    loss: f64,
    flows: &'a [(&'a str, f64)],
    sample_s: f64,
}

impl Case<'_> {
    fn segments_per_s(&self) -> f64 {
        self.mbps * 1e6 / 8.0 / WIRE_BYTES
    }

    fn run(&self, duration_s: f64, from_s: f64) -> Outcome {
        let stack = linux_stack();
        let (mut links, flows) = dumbbell((self.mbps * 1e6) as u64, 0.018, self.buffer, self.flows, &stack);
        if self.loss > 0.0 {
            links[0]["loss"] = json!({"kind": "bernoulli", "p": self.loss});
        }
        let mut spec = spec(&links, &flows, duration_s, from_s);
        spec.sample_period_ps = ps(self.sample_s);
        run(&spec)
    }
}

fn alone(algorithm: &'static str) -> Case<'static> {
    let flows: &'static [(&'static str, f64)] = match algorithm {
        "bbr" => &[("bbr", 0.0)],
        "bbr3" => &[("bbr3", 0.0)],
        "copa" => &[("copa", 0.0)],
        "ledbat" => &[("ledbat", 0.0)],
        "ledbat++" => &[("ledbat++", 0.0)],
        _ => &[("vivace", 0.0)],
    };
    Case { mbps: 100.0, buffer: 400, loss: 0.0, flows, sample_s: 0.1 }
}

/// Segments/s that arrived between two times.
fn goodput(outcome: &Outcome, flow: usize, from_s: f64, to_s: f64) -> f64 {
    let samples = &outcome.receivers[flow].samples;
    let (from, to) = (at(outcome, from_s), at(outcome, to_s));
    (samples[to].delivered - samples[from].delivered) as f64 / (to_s - from_s)
}

/// Mean number of packets in the bottleneck's queue between two times.
fn queue(outcome: &Outcome, from_s: f64, to_s: f64) -> f64 {
    let rows = &outcome.links[0].1.rows;
    let (from, to) = (at(outcome, from_s), at(outcome, to_s));
    (rows[to].integral_packet_seconds - rows[from].integral_packet_seconds) / (to_s - from_s)
}

/// Times, s, at which the window fell to `limit` or below, and the window at each of these times.
fn dips(outcome: &Outcome, limit: f64, after_s: f64) -> Vec<(f64, f64)> {
    let samples = &outcome.senders[0].samples;
    (1..samples.len())
        .filter(|&k| samples[k].cwnd <= limit && samples[k - 1].cwnd > limit)
        .map(|k| (outcome.times[k].seconds(), samples[k].cwnd))
        .filter(|dip| dip.0 > after_s)
        .collect()
}

#[test]
fn bbr_fills_the_pipe_with_a_short_queue_and_drains_it_every_ten_seconds() {
    let case = alone("bbr");
    let outcome = case.run(42.0, 5.0);
    let used = goodput(&outcome, 0, 5.0, 40.0) / case.segments_per_s();
    assert!(used > 0.96, "{used}");
    let waiting = queue(&outcome, 5.0, 40.0);
    assert!(waiting < 0.15 * 400.0, "{waiting}");
    let seen = dips(&outcome, 4.0, 1.0);
    assert!((3..=4).contains(&seen.len()), "{seen:?}");
    for pair in seen.windows(2) {
        assert!((10.0..10.6).contains(&(pair[1].0 - pair[0].0)), "{seen:?}");
    }
}

#[test]
fn bbr_bears_a_tenth_of_loss_and_not_a_quarter() {
    let used = |loss: f64| {
        let case = Case { loss, ..alone("bbr") };
        goodput(&case.run(30.0, 10.0), 0, 10.0, 30.0) / case.segments_per_s()
    };
    for loss in [0.01, 0.05, 0.1] {
        let got = used(loss);
        assert!(got > 0.95 * (1.0 - loss), "{loss}: {got}");
    }
    let got = used(0.25);
    assert!(got < 0.2, "{got}");
}

#[test]
fn bbr_version_3_bears_a_hundredth_of_loss_and_not_a_twentieth() {
    let used = |loss: f64| {
        let case = Case { loss, ..alone("bbr3") };
        goodput(&case.run(30.0, 10.0), 0, 10.0, 30.0) / case.segments_per_s()
    };
    let [none, one, five] = [0.0, 0.01, 0.05].map(used);
    assert!(none > 0.95, "{none}");
    assert!(one > 0.7, "{one}");
    assert!(five < 0.2, "{five}");
}

#[test]
fn bbr_version_3_goes_to_half_the_pipe_every_five_seconds() {
    let outcome = alone("bbr3").run(41.0, 5.0);
    let pipe = alone("bbr3").segments_per_s() * RTT_S;
    let seen = dips(&outcome, 0.6 * pipe, 1.0);
    assert!((6..=8).contains(&seen.len()), "{seen:?}");
    for pair in seen.windows(2) {
        assert!((4.9..5.7).contains(&(pair[1].0 - pair[0].0)), "{seen:?}");
    }
    let least = seen.iter().map(|dip| dip.1).fold(f64::INFINITY, f64::min);
    assert!((0.4..0.6).contains(&(least / pipe)), "{least} of {pipe}");
}

#[test]
fn two_bbr_flows_share() {
    for algorithm in ["bbr", "bbr3"] {
        let flows = [(algorithm, 0.0), (algorithm, 5.0)];
        let case = Case { flows: &flows, ..alone("bbr") };
        let outcome = case.run(100.0, 40.0);
        let [a, b] = [0, 1].map(|flow| goodput(&outcome, flow, 40.0, 100.0));
        assert!((a + b) / case.segments_per_s() > 0.93, "{algorithm}: {a} {b}");
        assert!((0.5..2.0).contains(&(a / b)), "{algorithm}: {a} {b}");
    }
}

#[test]
fn copa_keeps_two_or_three_segments_and_swings_once_in_five_round_trips_or_a_little_more() {
    let case = Case { sample_s: 0.01, ..alone("copa") };
    let outcome = case.run(30.0, 10.0);
    let used = goodput(&outcome, 0, 10.0, 30.0) / case.segments_per_s();
    assert!(used > 0.99, "{used}");
    let waiting = queue(&outcome, 10.0, 30.0);
    assert!((2.0..3.5).contains(&waiting), "{waiting}");
    let windows: Vec<f64> =
        outcome.senders[0].samples[at(&outcome, 10.0)..=at(&outcome, 30.0)].iter().map(|s| s.cwnd).collect();
    let mean = windows.iter().sum::<f64>() / windows.len() as f64;
    let upward = windows.windows(2).filter(|w| w[0] < mean && w[1] >= mean).count();
    let round_trips = 20.0 / RTT_S / upward as f64;
    assert!((4.5..8.0).contains(&round_trips), "{round_trips}");
}

#[test]
fn copa_flows_share_and_keep_a_short_queue_together() {
    let flows = [("copa", 0.0), ("copa", 2.0), ("copa", 4.0), ("copa", 6.0)];
    let case = Case { flows: &flows, ..alone("copa") };
    let outcome = case.run(80.0, 20.0);
    let got: Vec<f64> = (0..4).map(|flow| goodput(&outcome, flow, 20.0, 80.0)).collect();
    let (sum, squares): (f64, f64) = (got.iter().sum(), got.iter().map(|x| x * x).sum());
    assert!(sum / case.segments_per_s() > 0.97, "{got:?}");
    assert!(sum * sum / (4.0 * squares) > 0.95, "{got:?}");
    let waiting = queue(&outcome, 20.0, 80.0);
    assert!(waiting < 30.0, "{waiting}");
}

#[test]
fn ledbat_holds_its_target_of_100_ms() {
    let case = Case { mbps: 20.0, buffer: 1000, ..alone("ledbat") };
    let outcome = case.run(200.0, 150.0);
    let delay = queue(&outcome, 150.0, 200.0) / case.segments_per_s();
    assert!((delay / 0.1 - 1.0).abs() < 0.05, "{delay}");
    assert!(goodput(&outcome, 0, 150.0, 200.0) / case.segments_per_s() > 0.99);
}

#[test]
fn ledbat_yields_to_reno() {
    // Start times of the Reno flow. Results are averaged over these times, since LEDBAT keeps 1/30 of Reno's rate if
    // LEDBAT loses a segment at the end of Reno's slow start, and 1/4 if LEDBAT loses no segment.
    const STARTS_S: [f64; 20] = [
        59.0, 59.3, 59.6, 59.9, 60.2, 60.5, 60.8, 61.0, 61.1, 61.4, 61.7, 62.0, 62.3, 62.4, 62.8, 63.1, 63.4, 63.7,
        64.0, 60.0,
    ];
    for background in ["ledbat", "ledbat++"] {
        let mut total = [0.0, 0.0];
        for start in STARTS_S {
            let flows = [(background, 0.0), ("reno", start)];
            let case = Case { mbps: 20.0, buffer: 300, flows: &flows, ..alone("ledbat") };
            let outcome = case.run(180.0, 60.0);
            let before = goodput(&outcome, 0, 40.0, 59.0) / case.segments_per_s();
            assert!(before > 0.85, "{background}: {before}");
            let got = [0, 1].map(|flow| goodput(&outcome, flow, 80.0, 180.0));
            assert!((got[0] + got[1]) / case.segments_per_s() > 0.95, "{background}: {got:?}");
            total = [total[0] + got[0], total[1] + got[1]];
        }
        // LEDBAT keeps 16 % on average.
        assert!(total[0] < 0.2 * total[1], "{background}: {total:?}");
    }
}

#[test]
fn ledbat_plus_plus_keeps_60_ms_and_slows_down_a_tenth_of_the_time() {
    let case = Case { mbps: 20.0, buffer: 1000, sample_s: 0.01, ..alone("ledbat++") };
    let outcome = case.run(160.0, 60.0);
    let rows = &outcome.links[0].1.rows;
    let most = rows[at(&outcome, 60.0)..].iter().map(|r| r.queue_max).max().unwrap_or(0);
    let delay = most as f64 / case.segments_per_s();
    assert!((0.057..0.068).contains(&delay), "{delay}");
    let slowdowns = dips(&outcome, 2.0, 60.0);
    assert!(slowdowns.len() >= 4, "{slowdowns:?}");
    // The interval between two slowdowns is nine times the duration of a slowdown; both grow with the window before the
    // slowdown.
    let used = goodput(&outcome, 0, 60.0, 160.0) / case.segments_per_s();
    assert!((0.9..0.99).contains(&used), "{used}");
}

/// Latecomer advantage (RFC 6817): a late-starting LEDBAT flow measures its base delay with the first flow's queue
/// included. The late flow's queue then exceeds the target of the first flow, so the first flow yields. The slowdowns
/// of LEDBAT++ let every flow measure the path without a queue.
#[test]
fn a_late_ledbat_flow_takes_the_path_and_a_late_ledbat_plus_plus_flow_its_share() {
    let shares = |algorithm: &'static str| {
        let flows = [(algorithm, 0.0), (algorithm, 100.0)];
        let case = Case { mbps: 20.0, buffer: 1000, flows: &flows, ..alone(algorithm) };
        let outcome = case.run(500.0, 300.0);
        let [first, late] = [0, 1].map(|flow| goodput(&outcome, flow, 300.0, 500.0));
        late / first
    };
    let plain = shares("ledbat");
    assert!(plain > 3.0, "{plain}");
    let better = shares("ledbat++");
    assert!((0.5..2.0).contains(&better), "{better}");
}

#[test]
fn vivace_finds_the_rate_and_two_percent_of_loss_does_not_matter() {
    for (loss, least) in [(0.0, 0.9), (0.02, 0.8)] {
        let case = Case { loss, ..alone("vivace") };
        let outcome = case.run(60.0, 20.0);
        let used = goodput(&outcome, 0, 20.0, 60.0) / case.segments_per_s();
        assert!(used > least, "{loss}: {used}");
        assert!(queue(&outcome, 20.0, 60.0) < 0.2 * 400.0);
    }
}

#[test]
fn a_receive_window_is_what_they_get_and_the_window_does_not_run_away() {
    for algorithm in ["bbr", "bbr3", "copa", "vivace", "ledbat", "ledbat++"] {
        let mut stack = linux_stack();
        stack["receive_window"] = json!(50);
        let (links, flows) = dumbbell(100_000_000, 0.018, 400, &[(algorithm, 0.0)], &stack);
        let outcome = run(&spec(&links, &flows, 30.0, 10.0));
        let got = goodput(&outcome, 0, 10.0, 30.0) * RTT_S;
        assert!((35.0..50.5).contains(&got), "{algorithm}: {got} segments a round trip");
        let most = outcome.senders[0].samples.iter().map(|s| s.cwnd).fold(0.0, f64::max);
        // BBR allows twice the delivered data in flight; Vivace allows 2.5 times the last rate that the doubling
        // reached.
        assert!(most < 5.0 * 50.0, "{algorithm}: a window of {most}");
    }
}

#[test]
fn they_survive_a_buffer_of_a_few_packets_and_a_long_fat_path() {
    for algorithm in ["bbr", "bbr3", "copa", "vivace", "ledbat", "ledbat++"] {
        let shallow = Case { buffer: 8, ..alone(algorithm) };
        let got = goodput(&shallow.run(30.0, 10.0), 0, 10.0, 30.0) / shallow.segments_per_s();
        assert!(got > 0.05, "{algorithm} with a buffer of eight packets: {got}");
    }
    for (algorithm, least) in [("bbr", 0.9), ("bbr3", 0.85), ("copa", 0.95), ("vivace", 0.5)] {
        let flows = [(algorithm, 0.0)];
        let long = Case { mbps: 622.0, buffer: 415, flows: &flows, ..alone(algorithm) };
        let got = goodput(&long.run(40.0, 20.0), 0, 20.0, 40.0) / long.segments_per_s();
        assert!(got > least, "{algorithm} at 622 Mbit/s: {got}");
    }
}
