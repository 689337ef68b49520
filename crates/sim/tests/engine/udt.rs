//! Flows of UDT over the whole engine.

use std::sync::Arc;

use crate::common::{at, digest, flow, link, linux_stack, ps, run, spec};
use elephan_sim::engine::Engine;
use elephan_sim::{Outcome, Spec, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Wire bits of a packet: UDT's usual 1,500 bytes.
const PACKET_BITS: f64 = 12_000.0;

/// Packets of 1,500 bytes, 44 of them headers.
fn udt_stack() -> Value {
    let mut stack = linux_stack();
    (stack["payload_bytes"], stack["header_bytes"]) = (json!(1456), json!(44));
    stack
}

/// A bottleneck without delay, and access links of ten times the bottleneck's rate. The access links of a flow
/// `(algorithm, RTT in s, start in s)` have all of the flow's propagation delay.
fn parallel(rate_bps: u64, limit: u64, flows: &[(&str, f64, f64)]) -> (Value, Value) {
    let mut links =
        vec![link("bottleneck", rate_bps, 0.0, Some(limit)), link("bottleneck:reverse", rate_bps, 0.0, Some(limit))];
    links[0]["record"] = json!(true);
    let mut all = Vec::new();
    for (i, (algorithm, rtt_s, start_s)) in flows.iter().enumerate() {
        let first = links.len();
        for side in ["out", "in", "back", "home"] {
            links.push(link(&format!("{i} {side}"), rate_bps * 10, rtt_s / 4.0, None));
        }
        let stack = if algorithm.starts_with("udt") { udt_stack() } else { linux_stack() };
        let (path, back) = ([first, 0, first + 1], [first + 2, 1, first + 3]);
        all.push(flow(&format!("f{i}"), algorithm, *start_s, &path, &back, &stack));
    }
    (Value::Array(links), Value::Array(all))
}

/// Rate of flow `flow` from `from_s` to `to_s`, Mbit/s on the wire, without duplicates.
fn mbps(outcome: &Outcome, flow: usize, from_s: f64, to_s: f64) -> f64 {
    let samples = &outcome.receivers[flow].samples;
    let packets = samples[at(outcome, to_s)].delivered - samples[at(outcome, from_s)].delivered;
    packets as f64 * PACKET_BITS * 1e-6 / (to_s - from_s)
}

fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|x| x * x).sum::<f64>())
}

/// First sample time at which the sending rate was above `mbps`, s.
fn first_above(outcome: &Outcome, mbps: f64) -> f64 {
    let rates = outcome.senders[0].rates.as_deref().expect("UDT has a rate");
    // Slow start, which ends with the first loss, has no defined rate.
    let climbing = (0..rates.len()).skip_while(|&k| outcome.senders[0].samples[k].loss_events == 0);
    let mut above = climbing.skip_while(|&k| rates[k] * PACKET_BITS * 1e-6 <= mbps);
    outcome.times[above.next().expect("the rate gets there")].seconds()
}

#[test]
fn the_rate_climbs_to_nine_tenths_of_a_gigabit_in_7_5_seconds() {
    // Result of Gu and Grossman (Computer Networks 51(7), 2007): a flow reaches 90 % of a link's rate in 7.5 s,
    // regardless of its RTT. The first packet is lost, so slow start ends before any measurement and the rate starts
    // near zero.
    for rtt_s in [0.01, 0.1] {
        let (mut links, flows) = parallel(1_000_000_000, 8333, &[("udt", rtt_s, 0.0)]);
        links[0]["loss"] = json!({"kind": "list", "packets": [0]});
        let outcome = run(&spec(&links, &flows, 14.0, 1.0));
        let (tenth, most) = (first_above(&outcome, 9.0), first_above(&outcome, 900.0));
        // The climb from 9 Mbit/s to 900 Mbit/s takes 99 % of 7.5 s, within a sampling interval of 0.1 s at either end.
        assert!((most - tenth - 7.425).abs() <= 0.1 + 1e-9, "{rtt_s}: {tenth} {most}");
        assert_eq!(outcome.senders[0].totals.retransmits, 1);
    }
}

#[test]
fn a_loss_costs_a_ninth_of_the_rate() {
    let (mut links, flows) = parallel(100_000_000, 2000, &[("udt", 0.04, 0.0)]);
    // The second and the third loss are far into the climb, and far apart.
    links[0]["loss"] = json!({"kind": "list", "packets": [0, 60_000, 90_000]});
    let mut text = spec(&links, &flows, 20.0, 1.0);
    text.sample_period_ps = ps(0.01);
    let outcome = run(&text);
    let (rates, samples) = (outcome.senders[0].rates.as_deref().expect("UDT has a rate"), &outcome.senders[0].samples);
    let mut teeth = Vec::new();
    for k in 1..rates.len() {
        if samples[k].loss_events > samples[k - 1].loss_events && samples[k].loss_events > 1 {
            teeth.push(rates[k] / rates[k - 1]);
        } else if samples[k - 1].loss_events > 0 {
            assert!(rates[k] >= rates[k - 1], "between losses the rate only climbs");
        }
    }
    assert_eq!(teeth.len(), 2);
    // The rate may increase once between two samples: by at most 0.1 packet per SYN, from at least 60 packets per SYN.
    assert!(teeth.iter().all(|tooth| (8.0 / 9.0 - 1e-9..8.0 / 9.0 * 1.002).contains(tooth)), "{teeth:?}");
    assert_eq!((outcome.senders[0].totals.retransmits, outcome.senders[0].totals.timeouts), (3, 0));
}

#[test]
fn alone_on_a_gigabit_and_100_ms_it_uses_nine_tenths_and_more() {
    let (links, flows) = parallel(1_000_000_000, 8333, &[("udt", 0.1, 0.0)]);
    let outcome = run(&spec(&links, &flows, 30.0, 8.0));
    let used = mbps(&outcome, 0, 8.0, 30.0);
    assert!((900.0..1000.0).contains(&used), "{used}");
    let sender = &outcome.senders[0];
    assert_eq!(sender.totals.timeouts, 0);
    // The RTT is that of the path, 100 ms, plus the queueing delay of up to 100 ms with a full buffer, plus 10 µs for
    // the ACK2.
    assert!((0.1..0.1001).contains(&sender.measured.rtt_min), "{}", sender.measured.rtt_min);
    let mean_rtt = sender.measured.rtt_sum / sender.measured.rtt_count as f64;
    assert!((0.105..0.2).contains(&mean_rtt), "{mean_rtt}");
    // The window is A (RTT + SYN) + 16, which always exceeds the number of packets in flight at rate A.
    let late = &sender.samples[at(&outcome, 12.0)..];
    assert!(late.iter().all(|s| f64::from(s.in_flight) <= s.cwnd + 1.0));
}

#[test]
fn three_flows_share_a_gigabit_whatever_their_round_trips() {
    // Gu and Grossman's experiment with one sending host and three receivers: one near the sender, one at 16 ms and one
    // at 110 ms. Each of the three flows gets about 325 Mbit/s of 1 Gbit/s. The paper does not state the buffer; here
    // it is one BDP of the longest path.
    let (links, flows) = parallel(1_000_000_000, 8333, &[("udt", 4e-5, 0.0), ("udt", 0.016, 0.0), ("udt", 0.11, 0.0)]);
    let outcome = run(&spec(&links, &flows, 40.0, 15.0));
    let rates: Vec<f64> = (0..3).map(|flow| mbps(&outcome, flow, 15.0, 40.0)).collect();
    assert!(jain(&rates) > 0.98, "{rates:?}");
    assert!(rates.iter().all(|rate| (rate / 325.0 - 1.0).abs() < 0.2), "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 950.0, "{rates:?}");
}

#[test]
fn flows_that_come_late_get_their_share() {
    let (links, flows) = parallel(
        100_000_000,
        800,
        &[("udt", 0.05, 0.0), ("udt", 0.05, 10.0), ("udt", 0.05, 20.0), ("udt", 0.05, 30.0)],
    );
    let outcome = run(&spec(&links, &flows, 100.0, 50.0));
    let rates: Vec<f64> = (0..4).map(|flow| mbps(&outcome, flow, 50.0, 100.0)).collect();
    assert!(jain(&rates) > 0.95, "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 90.0, "{rates:?}");
}

#[test]
fn beside_tcp_it_takes_the_larger_share_and_leaves_some() {
    let (links, flows) = parallel(100_000_000, 400, &[("udt", 0.02, 0.0), ("cubic", 0.02, 0.0), ("reno", 0.02, 0.0)]);
    let outcome = run(&spec(&links, &flows, 40.0, 10.0));
    let rates: Vec<f64> = (0..3).map(|flow| mbps(&outcome, flow, 10.0, 40.0)).collect();
    assert!(rates.iter().sum::<f64>() > 90.0, "{rates:?}");
    assert!(rates[1] > 2.0 && rates[2] > 2.0, "{rates:?}");
}

#[test]
fn a_transfer_arrives_whole_through_losses_both_ways_with_every_preset() {
    for algorithm in ["udt", "udt:2008", "udt:draft"] {
        let (mut links, mut flows) = parallel(50_000_000, 60, &[(algorithm, 0.03, 0.5)]);
        links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.003});
        links[1]["loss"] = json!({"kind": "bernoulli", "p": 0.02});
        flows[0]["size_segments"] = json!(20_000);
        let outcome = run(&spec(&links, &flows, 60.0, 10.0));
        let (sender, receiver) = (&outcome.senders[0], &outcome.receivers[0]);
        assert!(sender.completed.is_some(), "{algorithm}");
        assert_eq!(receiver.totals.delivered, 20_000, "{algorithm}");
        assert_eq!(sender.totals.sent, 20_000 + sender.totals.retransmits, "{algorithm}");
        assert!(sender.totals.retransmits > 30 && sender.totals.loss_events > 3, "{algorithm}: {:?}", sender.totals);
        assert_eq!(outcome.conservation.under_way, 0, "{algorithm}: nothing goes on for ever");
    }
}

#[test]
fn repeated_naks_find_lost_retransmissions_and_the_library_waits_for_its_timer() {
    let timeouts = |algorithm: &str| {
        let (mut links, flows) = parallel(10_000_000, 1000, &[(algorithm, 0.04, 0.0)]);
        // One packet in three is lost, retransmissions too.
        links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.3});
        let outcome = run(&spec(&links, &flows, 20.0, 10.0));
        assert!(outcome.receivers[0].totals.delivered > 200, "{algorithm}");
        outcome.senders[0].totals.timeouts
    };
    let (library, draft) = (timeouts("udt"), timeouts("udt:draft"));
    assert!(library > 5 && draft < library / 2, "{library} {draft}");
}

/// Flows of every kind on links with impairments of every kind.
fn motley() -> Spec {
    let (mut links, mut flows) = parallel(
        20_000_000,
        60,
        &[
            ("udt", 0.03, 0.0),
            ("cubic", 0.03, 0.2),
            ("udt:draft", 0.05, 0.4),
            ("udt", 0.02, 0.1),
            ("udt:2008", 0.03, 0.0),
        ],
    );
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.001});
    links[0]["impairments"] = json!({"duplicate": 0.002, "reorder": {"p": 0.01, "delay_ps": ps(0.004)}});
    links[1]["impairments"] = json!({"jitter": {"kind": "exponential", "mean_ps": ps(0.0005)}, "duplicate": 0.01,
        "reorder": {"p": 0.02, "delay_ps": ps(0.003)}});
    // One flow sends on the reverse path, one has few data, and one has an application with on and off periods.
    let (there, back) = (flows[3]["path"].clone(), flows[3]["reverse_path"].clone());
    (flows[3]["path"], flows[3]["reverse_path"]) = (back, there);
    flows[4]["size_segments"] = json!(700);
    let half = json!({"kind": "exponential", "mean_ps": ps(0.7)});
    flows[2]["application"] = json!({"rate_bps": 6_000_000, "bursts": [half, half]});
    let mut text = spec(&links, &flows, 12.0, 2.0);
    text.send_jitter_ps = ps(20e-6);
    text.start_jitter_ps = ps(0.01);
    text
}

#[test]
fn neither_windows_nor_the_order_of_flows_matter() {
    let straight = motley();
    let outcome = run(&straight);
    assert!(outcome.senders.iter().all(|sender| sender.totals.sent > 500), "all of them do something");
    assert!(outcome.conservation.duplicated > 100);
    let expected = digest(&outcome);
    for window_ps in [70_000_000, 900_000_000, 40_000_000_000] {
        let engine = Engine::with_slice(straight.clone(), Time(window_ps)).expect("it is right");
        assert_eq!(digest(&engine.run(|_| true).expect("nobody cancels")), expected, "{window_ps}");
    }
    let mut turned = straight.clone();
    turned.flows.reverse();
    let mut outcome = run(&turned);
    outcome.senders.reverse();
    outcome.receivers.reverse();
    assert_eq!(digest(&outcome), expected);
}

/// Impairments of a link; each bit of `pick` selects one kind.
fn impairments(pick: u64) -> Value {
    let mut some = json!({});
    if pick & 1 > 0 {
        some["reorder"] = json!({"p": 0.02, "delay_ps": ps(0.001) * (1 + pick % 13)});
    }
    if pick & 2 > 0 {
        some["duplicate"] = json!(0.03);
    }
    if pick & 4 > 0 {
        some["jitter"] = json!({"kind": "exponential", "mean_ps": ps(0.0005)});
    }
    if pick & 8 > 0 {
        // The link is down for a second, so that timers expire.
        some["rate_steps"] = json!([{"at_ps": ps(1.0), "rate_bps": 0}, {"at_ps": ps(2.0), "rate_bps": 5_000_000}]);
    }
    some
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Asserts only that results are equal; the engine itself asserts that packets are conserved and that no clock goes
    // back.
    #[test]
    fn on_any_path_windows_and_order_do_not_matter(
        presets in proptest::collection::vec(0_usize..4, 1..4), mbps in 1_u64..40, limit in 1_u64..200,
        rtt_s in 0.001..0.2, loss in 0.0..0.2, picks in (0_u64..16, 0_u64..16), window_ps in 1_000_000_u64..10_000_000_000,
    ) {
        let flows: Vec<_> = presets.iter().enumerate().map(|(i, &preset)| {
            (["udt", "udt:draft", "udt:2008", "cubic"][preset], rtt_s * (i + 1) as f64, 0.1 * i as f64)
        }).collect();
        let (mut links, flows) = parallel(mbps * 1_000_000, limit, &flows);
        links[0]["loss"] = json!({"kind": "bernoulli", "p": loss});
        links[0]["impairments"] = impairments(picks.0);
        links[1]["impairments"] = impairments(picks.1);
        let straight = spec(&links, &flows, 4.0, 1.0);
        let expected = run(&straight);
        for (sender, receiver) in expected.senders.iter().zip(&expected.receivers) {
            prop_assert!(receiver.totals.delivered <= sender.totals.sent - sender.totals.retransmits);
        }
        let other = Engine::with_slice(straight.clone(), Time(window_ps)).expect("it is right");
        prop_assert_eq!(digest(&other.run(|_| true).expect("nobody cancels")), digest(&expected));
        let mut turned = straight.clone();
        turned.flows.reverse();
        let mut outcome = run(&turned);
        outcome.senders.reverse();
        outcome.receivers.reverse();
        prop_assert_eq!(digest(&outcome), digest(&expected));
    }
}

#[test]
fn an_application_sets_the_rate_and_idle_times_are_no_timeouts() {
    let (links, mut flows) = parallel(100_000_000, 500, &[("udt", 0.04, 0.0)]);
    let second = json!({"kind": "constant", "mean_ps": ps(1.0)});
    flows[0]["application"] = json!({"rate_bps": 8_000_000, "bursts": [second, second]});
    let outcome = run(&spec(&links, &flows, 25.0, 5.0));
    let payload_mbps = mbps(&outcome, 0, 5.0, 25.0) * 1456.0 / 1500.0;
    assert!((payload_mbps / 4.0 - 1.0).abs() < 0.01, "{payload_mbps}");
    assert_eq!((outcome.senders[0].totals.timeouts, outcome.senders[0].totals.retransmits), (0, 0));
}

#[test]
fn control_packets_are_few_and_queue_like_others() {
    let (links, flows) = parallel(100_000_000, 500, &[("udt", 0.04, 0.0)]);
    let outcome = run(&spec(&links, &flows, 20.0, 5.0));
    let (sender, receiver) = (&outcome.senders[0], &outcome.receivers[0]);
    // A hundred ACKs a second, one light ACK for 64 packets, and NAKs.
    let (delivered, answers) = (receiver.totals.delivered, receiver.acks_sent);
    assert!(answers > 1900 && answers < 2000 + delivered / 64 + 1000, "{answers} for {delivered}");
    assert!(sender.totals.acks <= answers);
    // ACK2s go with the data: the bottleneck carried more packets than there was data.
    let accepted = outcome.link_totals[0].accepted;
    assert!(accepted > sender.totals.sent - outcome.link_totals[0].dropped, "{accepted}");
}

#[test]
fn what_only_tcp_has_is_refused() {
    let (links, flows) = parallel(10_000_000, 10, &[("udt", 0.01, 0.0)]);
    let refuse = |change: &dyn Fn(&mut Spec)| {
        let mut wrong = spec(&links, &flows, 10.0, 1.0);
        change(&mut wrong);
        wrong.validate().expect_err("it has no meaning").to_string()
    };
    assert!(
        refuse(&|s| s.flows[0].base_rtt_error_ps = 1).starts_with("flows[0].base_rtt_error_ps: has no meaning for UDT")
    );
    assert!(
        refuse(&|s| Arc::make_mut(&mut s.flows[0].stack).ecn = true)
            .starts_with("flows[0].stack: has no meaning for UDT")
    );
    assert!(
        refuse(&|s| Arc::make_mut(&mut s.flows[0].stack).header_bytes = 52)
            .starts_with("flows[0].stack.header_bytes: must be 44")
    );
    let events = elephan_sim::spec::EventsSpec { limit: 10, from_ps: 0, to_ps: None };
    assert!(refuse(&|s| s.events = Some(events)).contains("no event log"));
    let mut unknown = spec(&links, &flows, 10.0, 1.0);
    unknown.flows[0].algorithm = "udt:2009".into();
    assert!(Engine::new(unknown).expect_err("no such preset").message.contains("did you mean '2008'?"));
}
