//! Impairments of a link: losses in bursts, jitter, reordering, duplicates, variable rates and changes of the route;
//! also a flow with a wrong base RTT.

use crate::common::{at, dumbbell, flow, link, linux_stack, ns2_stack, ps, rfc6675_stack, run, spec};
use elephan_sim::Outcome;
use serde_json::{Value, json};

/// A flow with a constant window over 10,000 packets of 1,040 bytes per second and a round-trip time of about 100 ms.
fn constant(window: u64, stack: &Value) -> (Value, Value) {
    let (links, mut flows) = dumbbell(83_200_000, 0.048, 5000, &[("fixed", 0.0)], stack);
    flows[0]["parameters"] = json!({"window": window});
    (links, flows)
}

fn with(impairments: &Value, window: u64, stack: &Value, duration_s: f64) -> Outcome {
    let (mut links, flows) = constant(window, stack);
    links[0]["impairments"] = impairments.clone();
    run(&spec(&links, &flows, duration_s, 1.0))
}

/// Sends `n` packets over a link with this loss, one packet at a time. Returns true for each packet that arrives.
fn fates(loss: &Value, n: usize) -> Vec<bool> {
    let mut one = link("l", 1_000_000_000, 0.001, None);
    one["loss"] = loss.clone();
    let spec = spec(
        &json!([one, link("back", 1_000_000_000, 0.001, None)]),
        &json!([flow("f", "reno", 0.0, &[0], &[1], &ns2_stack())]),
        1.0,
        0.5,
    );
    let times = elephan_sim::record::sample_times(
        elephan_sim::Time(0),
        elephan_sim::Time(1),
        elephan_sim::Time(2),
        elephan_sim::Time(3),
    );
    let links = elephan_sim::queue::check(&spec.links).expect("the queues are right");
    let mut link = elephan_sim::link::Link::new(&links[0], (1040, 1040), 3, &times);
    (0..n as u64).map(|k| link.carry(elephan_sim::Time(k * 10_000_000), 1040, false).is_some()).collect()
}

/// Two-state losses in closed form: a fraction p/(p + r) of the packets meets the bad state. If all packets are lost in
/// the bad state and none in the good state, a burst has 1/r packets on average (Gilbert 1960; Elliott 1963).
#[test]
fn bursty_losses_have_their_rate_and_their_length() {
    let n = 2_000_000;
    for (to_bad, to_good, in_good, in_bad) in [(0.001, 0.2, 0.0, 1.0), (0.01, 0.5, 0.0, 1.0), (0.002, 0.1, 0.001, 0.6)]
    {
        let loss = json!({
            "kind": "gilbert_elliott", "to_bad": to_bad, "to_good": to_good, "in_good": in_good, "in_bad": in_bad,
        });
        let fates = fates(&loss, n);
        let lost = fates.iter().filter(|&&arrives| !arrives).count() as f64;
        let bad = to_bad / (to_bad + to_good);
        let rate = bad * in_bad + (1.0 - bad) * in_good;
        // Losses are correlated. With the correlation ρ = 1 − p − r of successive states, the fraction of bad states
        // has the variance π_b π_g (1 + ρ)/(1 − ρ)/n. The variance of the losses for given states is added.
        let memory: f64 = 1.0 - to_bad - to_good;
        let states = bad * (1.0 - bad) * (1.0 + memory) / (1.0 - memory) * (in_bad - in_good).powi(2);
        let draws = bad * in_bad * (1.0 - in_bad) + (1.0 - bad) * in_good * (1.0 - in_good);
        let deviation = ((states + draws) / n as f64).sqrt();
        assert!((lost / n as f64 - rate).abs() < 5.0 * deviation, "{} lost, {rate} ± {deviation}", lost / n as f64);
        if in_bad == 1.0 && in_good == 0.0 {
            let bursts = fates.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
            let (mean, sigma) = (1.0 / to_good, (1.0 - to_good).sqrt() / to_good / bursts.sqrt());
            assert!((lost / bursts - mean).abs() < 5.0 * sigma, "bursts of {}, {mean} ± {sigma}", lost / bursts);
        }
    }
}

#[test]
fn what_leaves_while_the_rate_changes_is_what_the_rates_allow() {
    // The rate is 10,000 packets a second for 5 s, 2,500 for 5 s, 0 for 1 s, and then 20,000.
    let steps = json!({"rate_steps": [
        {"at_ps": ps(5.0), "rate_bps": 20_800_000}, {"at_ps": ps(10.0), "rate_bps": 0},
        {"at_ps": ps(11.0), "rate_bps": 166_400_000},
    ]});
    let outcome = with(&steps, 4500, &ns2_stack(), 15.0);
    let rows = &outcome.links[0].1.rows;
    let sent =
        |from: f64, to: f64| (rows[at(&outcome, to)].delivered_bytes - rows[at(&outcome, from)].delivered_bytes) / 1040;
    // The window is always full, so the link is never idle: the count is exact up to the packets in transmission at
    // both ends of an interval.
    for (from, to, packets) in
        [(1.0, 5.0, 40_000), (5.0, 10.0, 12_500), (4.0, 6.0, 12_500), (10.0, 11.0, 0), (11.0, 14.0, 60_000)]
    {
        let sent = sent(from, to);
        assert!(sent.abs_diff(packets) <= 1, "{sent} packets from {from} to {to} s, {packets} expected");
    }
    assert_eq!(outcome.link_totals[0].dropped, 0);
}

#[test]
fn a_trace_delivers_what_its_opportunities_carry() {
    // A period of 100 ms: a burst of 20 opportunities, then opportunities at intervals of 1 ms, then none.
    let times: Vec<u64> = (0..20).map(|_| 10).chain(30..60).chain([100]).collect();
    let in_a_round = times.len() as u64;
    let mut stack = ns2_stack();
    stack["payload_bytes"] = json!(1460);
    let (mut links, flows) = constant(2000, &stack);
    links[0]["impairments"] = json!({"rate_trace_ms": times});
    let outcome = run(&spec(&links, &flows, 10.0, 1.0));
    let rows = &outcome.links[0].1.rows;
    for k in 20..99 {
        let sent = rows[k + 1].delivered_bytes - rows[k].delivered_bytes;
        assert_eq!(sent, in_a_round * 1500, "in the round from {} s", k as f64 / 10.0);
    }
    // With packets of 1,040 bytes the remaining bytes of an opportunity are used by the next waiting packet.
    let (mut links, flows) = constant(2000, &ns2_stack());
    links[0]["impairments"] = json!({"rate_trace_ms": times});
    let outcome = run(&spec(&links, &flows, 10.0, 1.0));
    let rows = &outcome.links[0].1.rows;
    let sent = rows[at(&outcome, 9.0)].delivered_bytes - rows[at(&outcome, 2.0)].delivered_bytes;
    assert!(sent.abs_diff(70 * in_a_round * 1500) <= 1040, "{sent} bytes");
    // The result is the same if the queue decides at departures.
    links[0]["queue"] =
        json!({"kind": "codel", "limit_packets": 5000, "target_ps": ps(10.0), "interval_ps": ps(10.0), "ecn": false});
    let outcome = run(&spec(&links, &flows, 10.0, 1.0));
    let rows = &outcome.links[0].1.rows;
    let sent = rows[at(&outcome, 9.0)].delivered_bytes - rows[at(&outcome, 2.0)].delivered_bytes;
    assert!(sent.abs_diff(70 * in_a_round * 1500) <= 1040, "{sent} bytes with CoDel");
}

#[test]
fn jitter_lengthens_round_trips_by_its_mean_and_reorders_nothing() {
    // A window of one, so that no packet waits for the previous packet.
    let plain = with(&json!({}), 1, &ns2_stack(), 400.0);
    let jittery = with(&json!({"jitter": {"kind": "exponential", "mean_ps": ps(0.004)}}), 1, &ns2_stack(), 400.0);
    let mean = |o: &Outcome| o.senders[0].measured.rtt_sum / o.senders[0].measured.rtt_count as f64;
    let sigma = 0.004 / (jittery.senders[0].measured.rtt_count as f64).sqrt();
    let added = mean(&jittery) - mean(&plain);
    assert!((added - 0.004).abs() < 5.0 * sigma, "{added} s, 0.004 ± {sigma}");
    // With a full window, packets with the same jitter stay in order, so no segment counts as lost.
    let busy = with(&json!({"jitter": {"kind": "uniform", "max_ps": ps(0.02)}}), 900, &ns2_stack(), 20.0);
    assert_eq!((busy.senders[0].totals.retransmits, busy.receivers[0].duplicates), (0, 0));
    assert!(busy.receivers[0].totals.delivered > 140_000);
}

#[test]
fn duplicates_arrive_and_are_counted() {
    let outcome = with(&json!({"duplicate": 0.05}), 900, &ns2_stack(), 20.0);
    let totals = outcome.link_totals[0];
    let n = totals.accepted as f64;
    assert!((totals.duplicated as f64 - 0.05 * n).abs() < 5.0 * (0.05 * 0.95 * n).sqrt(), "{totals:?}");
    assert_eq!(outcome.conservation.duplicated, totals.duplicated);
    // The last duplicates are still in flight.
    let heard = outcome.receivers[0].duplicates;
    assert!(heard <= totals.duplicated && totals.duplicated - heard < 100, "{heard} of {}", totals.duplicated);
    assert_eq!(outcome.senders[0].totals.retransmits, 0, "no segment is lost for it");
}

/// Some segments arrive after 50 later segments. Detection by duplicate ACKs counts these late segments as lost. RACK
/// waits for a quarter of a round trip, 26 ms here, once it has detected reordering, and after each round trip with a report
/// of a segment that arrived twice for another quarter, up to a round trip (RFC 8985 section 6.2).
#[test]
fn rack_waits_for_what_was_overtaken() {
    let retransmitted = |stack: &Value, delay_s: f64| {
        let outcome = with(&json!({"reorder": {"p": 0.01, "delay_ps": ps(delay_s)}}), 800, stack, 30.0);
        assert_eq!(lost(&outcome), 0);
        let totals = outcome.link_totals[0];
        let (n, late) = (totals.accepted as f64, totals.reordered as f64);
        assert!((late - 0.01 * n).abs() < 5.0 * (0.01 * 0.99 * n).sqrt() && late > 1000.0, "{late} of {n} come late");
        outcome.senders[0].totals.retransmits as f64 / late
    };
    let counting = retransmitted(&rfc6675_stack(), 0.005);
    assert!(counting > 0.9, "{counting} of those that came late");
    let waiting = retransmitted(&linux_stack(), 0.005);
    assert!(waiting < 0.01, "{waiting} of those that came late");
    let adapted = retransmitted(&linux_stack(), 0.04);
    assert!(adapted < 0.2, "{adapted} of those that came late");
    let too_late = retransmitted(&linux_stack(), 0.2);
    assert!(too_late > 0.9, "{too_late} of those that came late");
}

/// A spurious retransmission is detected by the echoed timestamp, and the window is restored (RFC 3522).
#[test]
fn undo_restores_what_reordering_took() {
    let reno = |undo: bool| {
        let mut stack = linux_stack();
        stack["undo"] = json!(undo);
        stack["initial_ssthresh"] = json!(600);
        let (mut links, flows) = dumbbell(83_200_000, 0.048, 100_000, &[("reno", 0.0)], &stack);
        // Longer than a round trip, for which RACK would wait.
        links[0]["impairments"] = json!({"reorder": {"p": 0.0005, "delay_ps": ps(0.15)}});
        run(&spec(&links, &flows, 60.0, 10.0))
    };
    let (with_undo, without) = (reno(true), reno(false));
    for outcome in [&with_undo, &without] {
        let totals = outcome.senders[0].totals;
        assert_eq!(lost(outcome), 0);
        assert!(totals.retransmits > 10, "{totals:?}");
        let in_vain = outcome.receivers[0].duplicates;
        assert!(in_vain <= totals.retransmits && totals.retransmits - in_vain < 5, "{in_vain} of {totals:?}");
    }
    let totals = with_undo.senders[0].totals;
    assert!(totals.undone as f64 > 0.8 * totals.loss_events as f64 && totals.undone > 50, "{totals:?}");
    assert_eq!(without.senders[0].totals.undone, 0);
    let (faster, slower) = (with_undo.receivers[0].totals.delivered, without.receivers[0].totals.delivered);
    assert!(faster as f64 > 1.5 * slower as f64, "{faster} segments with undo, {slower} without");
}

fn lost(outcome: &Outcome) -> u64 {
    outcome.link_totals.iter().map(|t| t.dropped + t.lost).sum()
}

#[test]
fn a_change_of_route_moves_the_round_trip_time() {
    let steps = json!({"delay_steps": [
        {"at_ps": ps(5.0), "delay_ps": ps(0.028)}, {"at_ps": ps(10.0), "delay_ps": ps(0.098)},
    ]});
    let (mut links, flows) = constant(100, &linux_stack());
    links[0]["impairments"] = steps;
    let outcome = run(&spec(&links, &flows, 15.0, 1.0));
    let rtt = |seconds: f64| outcome.senders[0].samples[at(&outcome, seconds)].rtt;
    for (seconds, expected) in [(6.0, -0.02), (9.0, -0.02), (11.0, 0.05), (14.0, 0.05)] {
        let change = rtt(seconds) - rtt(4.0);
        // A delayed ACK waits for the second segment, up to the transmission time of that segment.
        assert!((change - expected).abs() < 0.001, "{change} s at {seconds} s");
    }
    assert_eq!(lost(&outcome), 0);
}

/// FAST keeps α segments more in flight than the path would hold at the assumed base RTT, so the queue is α + C ×
/// error.
#[test]
fn a_wrong_base_rtt_shows_in_the_queue_of_fast() {
    let queue = |error_s: f64| {
        let (links, mut flows) = dumbbell(83_200_000, 0.048, 5000, &[("fast", 0.0)], &ns2_stack());
        flows[0]["parameters"] = json!({"alpha": 200});
        flows[0]["base_rtt_error_ps"] = json!((error_s * 1e12) as i64);
        let outcome = run(&spec(&links, &flows, 60.0, 40.0));
        let rows = &outcome.links[0].1.rows;
        rows[400..600].iter().map(|row| row.queue_mean).sum::<f64>() / 200.0
    };
    let right = queue(0.0);
    assert!((right - 200.0).abs() < 4.0, "{right}");
    for error_s in [0.02, 0.005, -0.01] {
        let moved = queue(error_s) - right;
        assert!((moved - 10_000.0 * error_s).abs() < 0.05 * (10_000.0 * error_s).abs(), "{moved} packets, {error_s} s");
    }
}

#[test]
fn a_mark_is_kept_on_an_unsteady_link() {
    let mut stack = rfc6675_stack();
    stack["ecn"] = json!(true);
    stack["initial_ssthresh"] = json!(600);
    let (mut links, mut flows) = dumbbell(83_200_000, 0.048, 2000, &[("reno", 0.0)], &stack);
    links[0]["queue"] = json!({"kind": "threshold", "limit_packets": 2000, "mark_packets": 200});
    links[0]["impairments"] = json!({"jitter": {"kind": "uniform", "max_ps": ps(0.0001)}});
    flows[0]["algorithm"] = json!("reno");
    let outcome = run(&spec(&links, &flows, 200.0, 1.0));
    let totals = outcome.senders[0].totals;
    assert!(outcome.link_totals[0].marked > 0 && totals.ecn_events > 0, "{totals:?}");
    assert_eq!((totals.retransmits, lost(&outcome)), (0, 0));
}

#[test]
fn a_handshake_behind_the_data_of_another_flow_waits_at_each_link_whichever_is_first() {
    let links = json!([
        link("slow", 176_072, 0.004, None),
        link("fast", 325_794, 0.0, None),
        link("faster", 326_000, 0.0, None),
        link("back", 1_000_000, 0.004, None),
    ]);
    let mut opening = linux_stack();
    opening["handshake"] = json!(true);
    let opens = flow("a", "reno", 0.05, &[0, 1, 2], &[3], &opening);
    let sends = flow("b", "reno", 0.0, &[0, 1, 2], &[3], &ns2_stack());
    let [first, second] = [[&opens, &sends], [&sends, &opens]].map(|flows| run(&spec(&links, &json!(flows), 2.0, 1.0)));
    for (this, other) in [(0, 1), (1, 0)] {
        let [one, two] = [&first.senders[this], &second.senders[other]];
        assert_eq!(format!("{:?} {:?}", one.totals, one.samples), format!("{:?} {:?}", two.totals, two.samples));
    }
}
