//! The optional signals of the endpoint to an algorithm, and the endpoint's own mechanisms: pacing, ECN, clocks.

use std::sync::{Arc, Mutex};

use crate::common::{dumbbell, linux_stack, ns2_stack, ps, rfc6675_stack, run, spec};
use elephan_cc::{Ack, Algorithm, Cause, Controller, Ecn, Event, Lost, Needs, Observe, Sent};
use elephan_sim::{Engine, Outcome, RunError, Spec, Time};
use serde_json::{Value, json};

/// Events that a [`Spy`] has seen.
#[derive(Default)]
struct Seen {
    acks: Vec<Ack>,
    lost: Vec<Lost>,
    sent: Vec<Sent>,
    signals: u32,
}

/// An algorithm with a constant window that asks for every signal and records it.
struct Spy {
    window: f64,
    rate: Option<f64>,
    needs: Needs,
    seen: Arc<Mutex<Seen>>,
}

impl Spy {
    fn note(&self, what: impl FnOnce(&mut Seen)) {
        what(&mut self.seen.lock().expect("nobody panics with it"));
    }
}

impl Observe for Spy {}

impl Algorithm for Spy {
    fn on_ack(&mut self, ack: &Ack) {
        self.note(|seen| seen.acks.push(*ack));
    }
    fn on_event(&mut self, event: &Event) {
        self.note(|seen| match *event {
            Event::Congestion(_) => seen.signals += 1,
            Event::Sent(sent) => seen.sent.push(sent),
            Event::Lost(lost) => seen.lost.push(lost),
            _ => {}
        });
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        self.window
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }
    fn needs(&self) -> Needs {
        self.needs
    }
}

const EVERYTHING: Needs = Needs {
    window_at_send: true,
    one_way_delay: true,
    delivery: true,
    losses: true,
    sends: true,
    pacing: false,
    own_recovery: true,
    restarts: true,
    idle_timeouts: false,
    ecn: Ecn::Accurate,
    router: None,
    hz: false,
    rounds_restart: false,
    reductions: false,
    falling_targets: false,
    shares_pacing: false,
    receiver_limits: false,
    every_rtt: false,
    every_ack: false,
    bursts_per_s: None,
    unhosted: false,
};

fn spy(spec: Spec, window: f64, rate: Option<f64>, needs: Needs) -> (Outcome, Seen) {
    let (outcome, seen) = spy_within(u64::MAX, spec, window, rate, needs);
    (outcome.expect("nobody cancels"), seen)
}

/// [`spy`] with a limit of the memory for packets, bytes.
fn spy_within(
    limit: u64,
    spec: Spec,
    window: f64,
    rate: Option<f64>,
    needs: Needs,
) -> (Result<Outcome, RunError>, Seen) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let make = |_: usize, _: &_| Ok(Controller::Custom(Box::new(Spy { window, rate, needs, seen: Arc::clone(&seen) })));
    let engine = Engine::with_transports(spec, Time(4_000_000_000), make).expect("the spec is right");
    let outcome = engine.limit_memory(limit).run(|_| true);
    let seen = std::mem::take(&mut *seen.lock().expect("nobody panicked with it"));
    (outcome, seen)
}

#[test]
fn segments_that_leave_one_by_one_within_one_slice_end_at_the_limit_of_the_memory() {
    // Most are dropped at once, so that only the sender's records need memory.
    let (links, flows) = path(10, &rfc6675_stack());
    let needs = Needs { sends: true, pacing: true, ..Needs::default() };
    let (outcome, seen) = spy_within(1 << 22, spec(&links, &flows, 2.0, 1.0), 1e6, Some(1e13), needs);
    let error = outcome.expect_err("a million segments need more than 4 MiB").to_string();
    assert!(error.starts_with("memory: packets on their way and active transfers need more than the 4 MiB"), "{error}");
    // A record has 26 bytes, and each 4096th segment asks for memory.
    assert!(seen.sent.len() < (1 << 22) / 26 + 4096, "{} segments", seen.sent.len());
}

/// A path of 10,000 packets of 1,040 bytes per second, whose pipe holds about 1,000 packets.
fn path(limit: u64, stack: &Value) -> (Value, Value) {
    dumbbell(83_200_000, 0.048, limit, &[("fixed", 0.0)], stack)
}

#[test]
fn the_delivery_rate_of_a_full_pipe_is_the_bottlenecks() {
    let (links, flows) = path(2000, &ns2_stack());
    let (_, seen) = spy(spec(&links, &flows, 5.0, 1.0), 1500.0, None, EVERYTHING);
    let late: Vec<_> = seen.acks.iter().filter(|a| a.now > 2.0).filter_map(|a| a.delivery).collect();
    assert!(late.len() > 29_000, "{} samples", late.len());
    for sample in late {
        let rate = sample.rate.expect("an interval is an RTT");
        assert!((rate / 10_000.0 - 1.0).abs() < 1e-3, "{rate} segments/s");
        assert_eq!((sample.tx_in_flight, sample.lost, sample.app_limited), (1500.0, 0.0, false));
        assert!((sample.delivered - sample.prior_delivered - 1500.0).abs() <= 1.0);
    }
}

#[test]
fn every_segment_sent_and_every_segment_lost_is_reported_once() {
    for stack in [ns2_stack(), linux_stack()] {
        let (mut links, flows) = path(2000, &stack);
        links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.01});
        let (outcome, seen) = spy(spec(&links, &flows, 5.0, 1.0), 600.0, None, EVERYTHING);
        let totals = outcome.senders[0].totals;
        assert_eq!(seen.sent.len() as u64, totals.sent);
        assert_eq!(seen.sent.iter().filter(|s| s.retransmission).count() as u64, totals.retransmits);
        // Each reported loss was repaired, except the last losses before the end of the run.
        let reported = seen.lost.len() as u64;
        assert!(reported >= totals.retransmits && reported - totals.retransmits < 10, "{reported}, {totals:?}");
        let dropped = outcome.link_totals[0].lost;
        assert!(dropped >= reported && dropped - reported < 30, "{dropped} lost, {reported} reported");
        assert!(seen.lost.iter().all(|l| l.lost >= 1.0 && l.sent_at < l.now - 0.1 && l.tx_in_flight <= 600.0));
        // A retransmitted segment gets a new record, so the losses of a sample are those of about one round trip.
        let worst = seen.acks.iter().filter_map(|a| a.delivery).map(|d| d.lost).fold(0.0, f64::max);
        assert!((1.0..40.0).contains(&worst), "{worst} losses in one sample");
    }
}

/// Time from the end of each recovery to the next ACK that begins a round, s.
fn from_recoveries_to_rounds(rounds_restart: bool) -> Vec<f64> {
    let (mut links, flows) = path(2000, &ns2_stack());
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.001});
    let needs = Needs { rounds_restart, ..Needs::default() };
    let (_, seen) = spy(spec(&links, &flows, 20.0, 1.0), 600.0, None, needs);
    let mut times = Vec::new();
    for (i, pair) in seen.acks.windows(2).enumerate() {
        let ended = pair[0].in_recovery && !pair[1].in_recovery;
        let calm = seen.acks[i + 1..].iter().take_while(|ack| !ack.in_recovery);
        if let Some(first) = calm.clone().find(|ack| ack.round_start).filter(|_| ended) {
            times.push(first.now - pair[1].now);
        }
    }
    times
}

#[test]
fn a_round_begins_with_the_end_of_a_recovery_where_it_is_asked_for() {
    let (restarted, not) = (from_recoveries_to_rounds(true), from_recoveries_to_rounds(false));
    assert!(restarted.len() > 5 && restarted.iter().all(|&time| time > 0.099), "{restarted:?}");
    assert!(not.iter().any(|&time| time < 0.09), "{not:?}");
}

#[test]
fn the_window_of_an_algorithm_that_keeps_its_own_holds_in_recovery() {
    let (mut links, flows) = path(2000, &linux_stack());
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.01});
    let (_, seen) = spy(spec(&links, &flows, 5.0, 1.0), 600.0, None, EVERYTHING);
    assert!(seen.signals > 10);
    // After the first round trip the flight is always refilled to the window, repairs included.
    let late = seen.sent.iter().filter(|s| s.now > 1.0);
    assert!(late.clone().all(|s| s.in_flight <= 600.0));
    assert!(late.filter(|s| s.in_flight == 600.0).count() > 20_000);
}

/// An algorithm with a window of 600 segments that asks at `at` for a reduction to 400.
struct Reducer {
    at: f64,
    window: f64,
    asks: bool,
    causes: Arc<Mutex<Vec<Cause>>>,
}

impl Observe for Reducer {}

impl Algorithm for Reducer {
    fn on_ack(&mut self, ack: &Ack) {
        self.asks |= ack.now >= self.at;
        self.at = if self.asks { f64::INFINITY } else { self.at };
    }
    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Congestion(signal) => {
                self.causes.lock().expect("nobody panics with it").push(signal.cause);
                self.window = 400.0;
            }
            Event::Moderate { window } | Event::Keep { window } => self.window = self.window.min(window),
            _ => {}
        }
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        self.window
    }
    fn takes_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }
    fn needs(&self) -> Needs {
        Needs { reductions: true, ..Needs::default() }
    }
}

/// Outcome and causes of the congestion signals of a [`Reducer`], with the random losses of a seed.
fn reduced(loss: f64, seed: u64) -> (Outcome, Vec<Cause>) {
    let (mut links, flows) = path(2000, &linux_stack());
    links[0]["loss"] = json!({"kind": "bernoulli", "p": loss});
    let spec = Spec { seed, ..spec(&links, &flows, 4.0, 0.1) };
    let causes = Arc::new(Mutex::new(Vec::new()));
    let make = |_: usize, _: &_| {
        let reducer = Reducer { at: 2.0, window: 600.0, asks: false, causes: Arc::clone(&causes) };
        Ok(Controller::Custom(Box::new(reducer)))
    };
    let engine = Engine::with_transports(spec, Time(4_000_000_000), make);
    let outcome = engine.expect("the spec is right").run(|_| true).expect("nobody cancels");
    let causes = std::mem::take(&mut *causes.lock().expect("nobody panicked with it"));
    (outcome, causes)
}

#[test]
fn an_algorithms_own_reduction_takes_a_round_trip_and_a_loss_in_it_is_not_signalled_again() {
    let (outcome, causes) = reduced(0.0, 1);
    assert_eq!((causes, outcome.senders[0].totals.loss_events), (vec![Cause::Ecn], 0));
    let in_flight: Vec<u32> = outcome.senders[0].samples.iter().map(|sample| sample.in_flight).collect();
    assert!((598..=600).contains(&in_flight[19]) && (398..=400).contains(&in_flight[25]), "{in_flight:?}");
    // A single loss is in flight when the reduction begins with a few of the seeds.
    let single = (1..=100).map(|seed| reduced(3e-5, seed)).filter(|(outcome, _)| {
        let totals = outcome.senders[0].totals;
        (totals.loss_events, totals.retransmits) == (1, 1)
    });
    let mut numbers = [0; 2];
    single.for_each(|(_, causes)| numbers[causes.len() - 1] += 1);
    assert!(numbers[0] > 0 && numbers[1] > numbers[0], "{numbers:?} runs with one signal, and with two");
}

#[test]
fn paced_segments_leave_at_the_rate_and_not_in_bursts() {
    let (links, flows) = path(2000, &ns2_stack());
    let needs = Needs { pacing: true, ..EVERYTHING };
    let (outcome, seen) = spy(spec(&links, &flows, 5.0, 1.0), 5000.0, Some(8000.0), needs);
    let gaps: Vec<f64> = seen.sent.windows(2).map(|pair| pair[1].now - pair[0].now).collect();
    assert!(gaps.len() > 39_000, "{} segments", gaps.len());
    assert!(gaps.iter().all(|gap| (gap - 1.0 / 8000.0).abs() < 1e-9));
    assert_eq!(outcome.links[0].1.rows.last().map(|row| row.queue_max), Some(0));
    // The window also limits a paced flow: at a window of 400 segments and an RTT of 104 ms, fewer segments leave than
    // the rate would allow.
    let (_, seen) = spy(spec(&links, &flows, 5.0, 1.0), 400.0, Some(8000.0), needs);
    let rtt = seen.acks.last().and_then(|ack| ack.rtt).expect("every ACK has a sample");
    let late = seen.sent.iter().filter(|s| s.now > 1.0).count() as f64;
    assert!((late / (4.0 * 400.0 / rtt) - 1.0).abs() < 0.01, "{late} in 4 s with an RTT of {rtt}");
}

#[test]
fn a_paced_slow_start_leaves_the_queue_empty() {
    let largest = |pacing: bool| {
        let mut stack = ns2_stack();
        stack["initial_ssthresh"] = json!(480);
        stack["pacing"] = json!(pacing);
        let (links, mut flows) = path(2000, &stack);
        flows[0]["algorithm"] = json!("reno");
        let outcome = run(&spec(&links, &flows, 2.0, 1.0));
        outcome.links[0].1.rows.iter().map(|row| row.queue_max).max()
    };
    assert!(largest(false) > Some(200), "{:?}", largest(false));
    assert!(largest(true) < Some(4), "{:?}", largest(true));
}

fn marking(links: &mut Value, limit: u64, threshold: u64) {
    links[0]["queue"] = json!({"kind": "threshold", "limit_packets": limit, "mark_packets": threshold});
}

#[test]
fn classic_ecn_halves_the_window_once_a_round_trip_and_loses_nothing() {
    // The window is reduced at once, as RFC 3168 requires. If the window were reduced ACK by ACK, the segment that
    // signals the response would still find the queue at the threshold and be marked, and the window would be halved
    // again.
    let mut each_acknowledged = ns2_stack();
    each_acknowledged["recovery"] = json!("pipe");
    for mut stack in [each_acknowledged, rfc6675_stack()] {
        stack["ecn"] = json!(true);
        stack["initial_ssthresh"] = json!(600);
        let (mut links, mut flows) = path(1000, &stack);
        marking(&mut links, 1000, 200);
        flows[0]["algorithm"] = json!("reno");
        let outcome = run(&spec(&links, &flows, 400.0, 100.0));
        let totals = outcome.senders[0].totals;
        assert_eq!(
            (totals.retransmits, totals.loss_events, totals.timeouts, outcome.link_totals[0].dropped),
            (0, 0, 0, 0)
        );
        assert!(totals.ecn_events >= 3, "{totals:?}");
        let largest = outcome.links[0].1.rows.iter().skip(1000).map(|row| row.queue_max).max().expect("sampled");
        // The echo arrives a round trip later; in this round trip the window grows by one more segment (half as fast
        // with delayed ACKs).
        assert!((200..=204).contains(&largest), "{largest} packets");
        // The window is between W/2 and W = pipe + threshold, as with losses.
        let cwnd: Vec<f64> = outcome.senders[0].samples.iter().skip(1000).map(|s| s.cwnd).collect();
        let (low, high) = (cwnd.iter().copied().fold(f64::MAX, f64::min), cwnd.iter().copied().fold(0.0, f64::max));
        assert!((high / low - 2.0).abs() < 0.02, "from {low} to {high}");
    }
}

#[test]
fn an_accurate_echo_reports_every_mark() {
    for stack in [ns2_stack(), linux_stack()] {
        let (mut links, flows) = path(2000, &stack);
        // With a window that keeps the queue above the threshold, every segment is marked; with a window that keeps the
        // queue below the threshold, no segment is marked.
        marking(&mut links, 2000, 200);
        for (window, share) in [(1500.0, 1.0), (600.0, 0.0)] {
            let (outcome, seen) = spy(spec(&links, &flows, 6.0, 3.0), window, None, EVERYTHING);
            let late = || seen.acks.iter().filter(|ack| ack.now > 3.0);
            let (acked, marked) = (late().map(|a| a.acked).sum::<f64>(), late().map(|a| a.marked).sum::<f64>());
            assert!((marked / acked - share).abs() < 1e-9, "window {window}: {marked} of {acked}");
            assert_eq!(seen.signals, 0, "marks are no congestion signal here");
            let at_link = outcome.link_totals[0].marked;
            let heard = outcome.senders[0].totals.marked;
            assert!(at_link >= heard && at_link - heard <= window as u64 + 2, "{at_link} marked, {heard} heard of");
        }
    }
}

#[test]
fn one_mark_is_echoed_for_the_segments_it_was_on_although_acks_are_delayed() {
    let (mut links, flows) = path(2000, &linux_stack());
    marking(&mut links, 2000, 480);
    // The window keeps the queue near the threshold, so marked and unmarked segments alternate often.
    let (outcome, seen) = spy(spec(&links, &flows, 6.0, 3.0), 1200.0, None, EVERYTHING);
    let heard: f64 = seen.acks.iter().map(|a| a.marked).sum();
    let at_link = outcome.link_totals[0].marked as f64;
    assert!(at_link > 100.0 && at_link - heard <= 1202.0 && heard <= at_link, "{at_link} marked, {heard} heard of");
}

#[test]
fn a_one_way_delay_is_what_the_two_clocks_show() {
    let forward_s = 0.05 + 1040.0 * 8.0 * (2.0 / 1e9 + 1.0 / 83.2e6);
    let delays = |sender: Value, receiver: Value| {
        let (links, mut flows) = path(2000, &ns2_stack());
        flows[0]["sender_clock"] = sender;
        flows[0]["receiver_clock"] = receiver;
        let (_, seen) = spy(spec(&links, &flows, 20.0, 1.0), 1.0, None, EVERYTHING);
        seen.acks.iter().map(|ack| (ack.now, ack.owd.expect("it was asked for"))).collect::<Vec<_>>()
    };
    for (_, owd) in delays(json!({}), json!({})) {
        assert!((owd - forward_s).abs() < 20e-9, "{owd}");
    }
    for (_, owd) in delays(json!({"offset_ps": ps(3.0)}), json!({"offset_ps": -(ps(2.0) as i64)})) {
        assert!((owd - (forward_s - 5.0)).abs() < 20e-9, "{owd}");
    }
    // A drift of 100 ppm adds 100 µs each second.
    for (now, owd) in delays(json!({}), json!({"drift_ppb": 100_000})) {
        let arrived = now - 0.05;
        assert!((owd - forward_s - 1e-4 * arrived).abs() < 1e-7, "{owd} at {now}");
    }
    // With ticks of 10 ms, measured delays are whole ticks, and the mean of the measured delays is the true delay.
    let coarse = delays(json!({"resolution_ps": ps(0.01)}), json!({"resolution_ps": ps(0.01)}));
    let ticks = |owd: f64| (owd / 0.01 - (owd / 0.01).round()).abs() < 1e-6;
    assert!(coarse.iter().all(|(_, owd)| ticks(*owd) && (*owd - forward_s).abs() <= 0.01 + 1e-9), "{coarse:?}");
}

#[test]
fn a_slow_host_sees_longer_round_trips_while_sacks_come() {
    let worst = |scan_ns: u64| {
        let mut stack = ns2_stack();
        stack["host_scan_ps"] = json!(scan_ns * 1000);
        let (mut links, flows) = path(2000, &stack);
        links[0]["loss"] = json!({"kind": "list", "packets": [5000]});
        let (outcome, seen) = spy(spec(&links, &flows, 3.0, 1.0), 900.0, None, EVERYTHING);
        let sacked = outcome.senders[0].totals.acks;
        let repairing = seen.acks.iter().filter(|ack| ack.in_recovery);
        (repairing.filter_map(|a| a.rtt).fold(0.0, f64::max), sacked)
    };
    let (plain, acks) = worst(0);
    // During the repair up to two windows are outstanding. A walk over 1,800 segments of 50 ns each takes 90 µs, less
    // than the 100 µs between ACKs, so each ACK is delayed by its own walk only.
    let (quick, same) = worst(50);
    assert_eq!(acks, same, "what is sent does not depend on the samples");
    assert!((quick - plain - 90e-6).abs() < 1e-6, "{quick} {plain}");
    // With 200 ns for each segment the walk takes at least 180 µs, so ACKs queue in the host during the round trip of
    // the repair.
    let (slow, _) = worst(200);
    assert!(slow - plain > 0.05, "{slow} {plain}");
}

#[test]
fn what_slow_start_lost_is_not_lost_again_and_again_in_repair() {
    // 100 Mbit/s × 50 ms and a buffer of the same size: slow start loses about as many segments as the path and the
    // buffer hold. The decrease of these algorithms is so small that their window after the loss exceeds the number of
    // segments in flight during the repair.
    for algorithm in ["hstcp", "illinois"] {
        let (links, flows) = dumbbell(100_000_000, 0.023, 417, &[(algorithm, 0.0)], &linux_stack());
        let outcome = run(&spec(&links, &flows, 8.0, 0.0));
        let totals = outcome.senders[0].totals;
        assert!(totals.retransmits < 2 * 834, "{algorithm}: {} retransmissions", totals.retransmits);
        assert!(totals.loss_events > 1, "{algorithm}: the first recovery never ends");
    }
}
