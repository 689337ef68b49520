//! Properties of any run: packets are conserved (the engine asserts it), and the same scenario gives the same bits. The
//! result depends neither on the length of a time slice nor on the order of the flows.

use std::sync::Arc;

use crate::common::{digest, dumbbell, flow, link, linux_stack, ns2_stack, ps, rfc6675_stack, run, spec};
use elephan_sim::events::{Blocks, Event};
use elephan_sim::spec::EventsSpec;
use elephan_sim::{Engine, Spec, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

const ALGORITHMS: [&str; 8] = ["reno", "hstcp", "stcp", "htcp", "bic", "cubic", "fast", "vegas"];

fn stack(pick: u8) -> Value {
    match pick % 3 {
        0 => ns2_stack(),
        1 => linux_stack(),
        _ => rfc6675_stack(),
    }
}

/// Spec of a parking lot: `hops` links in a row, with one flow over all links, one flow over each link, and one flow on
/// the reverse path.
fn parking_lot(hops: usize, rate: u64, delay_s: f64, limit: u64, loss: f64, picks: &[(u8, u8)]) -> (Value, Value) {
    let mut links = Vec::new();
    for i in 0..hops {
        let mut forward = link(&format!("east {i}"), rate, delay_s, Some(limit));
        forward["record"] = json!(true);
        forward["loss"] = json!({"kind": "bernoulli", "p": loss});
        links.push(forward);
    }
    links.extend((0..hops).map(|i| link(&format!("west {i}"), rate, delay_s, Some(limit))));
    let east: Vec<usize> = (0..hops).collect();
    let west: Vec<usize> = (hops..2 * hops).rev().collect();
    let pick = |k: usize| {
        let (algorithm, which) = picks[k % picks.len()];
        (ALGORITHMS[algorithm as usize % 8], stack(which))
    };
    let (algorithm, endpoints) = pick(0);
    let mut flows = vec![flow("through", algorithm, 0.0, &east, &west, &endpoints)];
    for i in 0..hops {
        let (algorithm, endpoints) = pick(i + 1);
        flows.push(flow(&format!("cross {i}"), algorithm, 0.1 * i as f64, &[i], &[hops + i], &endpoints));
    }
    let (algorithm, endpoints) = pick(hops + 1);
    flows.push(flow("reverse", algorithm, 0.05, &west, &east, &endpoints));
    (Value::Array(links), Value::Array(flows))
}

/// Impairments of a link; each bit of `pick` selects one kind.
fn impairments(pick: u64) -> Value {
    let ms = |ms: u64| ms * 1_000_000_000;
    let mut some = json!({});
    if pick & 1 > 0 {
        some["reorder"] = json!({"p": 0.02, "delay_ps": ms(1 + pick % 13)});
    }
    if pick & 2 > 0 {
        some["duplicate"] = json!(0.03);
    }
    if pick & 4 > 0 {
        some["jitter"] = json!({"kind": "exponential", "mean_ps": ms(pick % 5)});
    }
    if pick & 8 > 0 {
        let delays = [(400, pick % 17), (900, 0), (901, pick % 40), (2000, 1)];
        some["delay_steps"] = json!(delays.map(|(at, delay)| json!({"at_ps": ms(at), "delay_ps": ms(delay)})));
    }
    if pick & 16 > 0 {
        let rates = [(500, 1_000_000 * (1 + pick % 90)), (1200, 0), (1300, 20_000_000)];
        some["rate_steps"] = json!(rates.map(|(at, rate)| json!({"at_ps": ms(at), "rate_bps": rate})));
    } else if pick & 32 > 0 && pick & 8 == 0 {
        some["rate_trace_ms"] = json!([1, 1, 2, 5, 5, 5, 9, 20 + pick % 30]);
    }
    some
}

/// A queue with one of three disciplines, selected by `pick`.
fn queue(pick: u8, limit: u64) -> Value {
    let second = 1_000_000_000_000_u64;
    match pick % 3 {
        0 => {
            json!({"kind": "codel", "limit_packets": limit, "target_ps": second / 200, "interval_ps": second / 10, "ecn": false})
        }
        1 => json!({
            "kind": "red", "limit_packets": limit, "min_packets": 5.0, "max_packets": 15.0, "max_p": 0.1, "weight": 0.002,
            "gentle": true, "adaptive": false, "ecn": false,
        }),
        _ => json!({"kind": "droptail", "limit_packets": limit, "limit_bytes": null, "count_in_service": false}),
    }
}

fn with_window(spec: &Spec, window: Time) -> String {
    digest(&Engine::with_slice(spec.clone(), window).expect("it is right").run(|_| true).expect("nobody cancels"))
}

type Row = ([u64; 4], [u32; 4], Option<Blocks>);

/// The run's digest and its events, with flows and links in the order of their names.
fn with_log(spec: &Spec, window: Time) -> (String, Vec<Row>) {
    let mut spec = spec.clone();
    spec.events = Some(EventsSpec { limit: 1_000_000, from_ps: 0, to_ps: None });
    let outcome = Engine::with_slice(spec.clone(), window).expect("it is right").run(|_| true).expect("nobody cancels");
    let log = outcome.events.as_ref().expect("it was asked for");
    let rank = |name: &str, names: &mut dyn Iterator<Item = &String>| {
        names.filter(|other| other.as_str() < name).count() as u64
    };
    let flows: Vec<u64> = spec.flows.iter().map(|f| rank(&f.name, &mut spec.flows.iter().map(|f| &f.name))).collect();
    let links: Vec<u64> = spec.links.iter().map(|l| rank(&l.name, &mut spec.links.iter().map(|l| &l.name))).collect();
    let row = |e: &Event| {
        let link = links.get(e.link as usize).copied().unwrap_or(u64::MAX);
        let numbers = [e.segment, e.in_flight, e.cwnd.to_bits(), u32::from(e.flags) << 8 | e.kind as u32];
        ([e.at.0, e.stamp.0, flows[e.flow.index()], link], numbers, log.sacks.get(e.sack as usize).copied())
    };
    (digest(&outcome), log.rows.iter().map(row).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn neither_windows_nor_the_order_of_flows_change_a_run(
        hops in 1_usize..4, rate in 2_000_000_u64..60_000_000, delay_ms in 0_u32..30, limit in 2_u64..120,
        loss in prop_oneof![Just(0.0), 1e-4_f64..0.02], picks in proptest::collection::vec((any::<u8>(), any::<u8>()), 1..6),
        window_us in 1_u64..3000, jitter in prop_oneof![Just(0_u64), Just(20_000_000)],
    ) {
        let (links, mut flows) = parking_lot(hops, rate, f64::from(delay_ms) * 1e-3, limit, loss, &picks);
        let mut first = spec(&links, &flows, 3.0, 1.0);
        first.start_jitter_ps = jitter;
        first.send_jitter_ps = jitter / 10;
        let expected = digest(&run(&first));
        prop_assert_eq!(&digest(&run(&first)), &expected, "the same again");
        prop_assert_eq!(&with_window(&first, Time(window_us * 1_000_000)), &expected, "another window");
        let (logged, events) = with_log(&first, Time(4_000_000_000));
        prop_assert_eq!(logged, expected, "with an event log");
        // The flows in reverse order must give the same results, in that order.
        let forward = run(&first);
        flows.as_array_mut().expect("a list").reverse();
        let mut second = spec(&links, &flows, 3.0, 1.0);
        second.start_jitter_ps = jitter;
        second.send_jitter_ps = jitter / 10;
        let backward = run(&second);
        let names = |s: &Spec| s.flows.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        for (i, name) in names(&first).iter().enumerate() {
            let j = names(&second).iter().position(|n| n == name).expect("the same names");
            prop_assert_eq!(forward.senders[i].totals, backward.senders[j].totals);
            prop_assert_eq!(format!("{:?}", forward.senders[i].samples), format!("{:?}", backward.senders[j].samples));
        }
        prop_assert!(events == with_log(&first, Time(window_us * 1_000_000)).1, "another window gives other events");
        prop_assert!(events == with_log(&second, Time(4_000_000_000)).1, "another order of flows gives other events");
        prop_assert_eq!(forward.conservation, backward.conservation);
    }

    #[test]
    fn neither_windows_nor_the_order_of_flows_change_what_unsteady_links_do(
        hops in 1_usize..4, rate in 2_000_000_u64..60_000_000, delay_ms in 1_u32..30, limit in 2_u64..120,
        picks in proptest::collection::vec((any::<u8>(), any::<u8>()), 1..6), window_us in 1_u64..3000,
        unsteady in proptest::collection::vec(0_u64..100_000, 1..7), queues in proptest::collection::vec(any::<u8>(), 1..4),
    ) {
        let (mut links, mut flows) = parking_lot(hops, rate, f64::from(delay_ms) * 1e-3, limit, 0.0, &picks);
        for (k, link) in links.as_array_mut().expect("a list").iter_mut().enumerate() {
            link["queue"] = queue(queues[k % queues.len()], limit);
            if let Some(&pick) = unsteady.get(k) {
                link["impairments"] = impairments(pick);
            }
            link["loss"] = json!({
                "kind": "gilbert_elliott", "to_bad": 0.001, "to_good": 0.3, "in_good": 0.0, "in_bad": 0.5,
            });
        }
        let east: Vec<usize> = (0..hops).collect();
        let mut datagrams = flow("datagrams", "datagrams", 0.3, &east, &east, &ns2_stack());
        datagrams["reverse_path"] = json!((hops..2 * hops).rev().collect::<Vec<_>>());
        datagrams["datagrams"] = json!(true);
        datagrams["application"] = json!({"rate_bps": rate / 10, "poisson": true});
        flows.as_array_mut().expect("a list").push(datagrams);
        let first = spec(&links, &flows, 3.0, 1.0);
        let expected = digest(&run(&first));
        prop_assert_eq!(&with_window(&first, Time(window_us * 1_000_000)), &expected, "another window");
        let forward = run(&first);
        flows.as_array_mut().expect("a list").reverse();
        let backward = run(&spec(&links, &flows, 3.0, 1.0));
        prop_assert_eq!(forward.conservation, backward.conservation);
        prop_assert_eq!(forward.link_totals, backward.link_totals);
        let n = forward.senders.len();
        for i in 0..n {
            prop_assert_eq!(forward.senders[i].totals, backward.senders[n - 1 - i].totals);
        }
    }

    #[test]
    fn every_segment_of_a_sized_transfer_arrives_once_whatever_is_lost(
        size in 1_u64..3000, loss in 0.0_f64..0.15, back in 0.0_f64..0.15, pick in any::<u8>(), algorithm in 0_usize..8, limit in 1_u64..60,
        unsteady in prop_oneof![Just((0, 0)), (0_u64..100_000, 0_u64..100_000)],
    ) {
        let (mut links, mut flows) = dumbbell(10_000_000, 0.01, limit, &[(ALGORITHMS[algorithm], 0.0)], &stack(pick));
        links[0]["loss"] = json!({"kind": "bernoulli", "p": loss});
        links[1]["loss"] = json!({"kind": "bernoulli", "p": back});
        links[0]["impairments"] = impairments(unsteady.0);
        links[1]["impairments"] = impairments(unsteady.1);
        flows[0]["size_segments"] = json!(size);
        let outcome = run(&spec(&links, &flows, 4000.0, 1.0));
        prop_assert_eq!(outcome.receivers[0].totals.delivered, size);
        prop_assert!(outcome.senders[0].completed.is_some());
    }
}

#[test]
fn a_listed_loss_loses_exactly_that_packet() {
    let (mut links, mut flows) = dumbbell(10_000_000, 0.01, 1000, &[("reno", 0.0)], &ns2_stack());
    links[0]["loss"] = json!({"kind": "list", "packets": [10, 40, 41]});
    flows[0]["size_segments"] = json!(300);
    let outcome = run(&spec(&links, &flows, 30.0, 1.0));
    assert_eq!(outcome.link_totals[0].lost, 3);
    assert_eq!((outcome.senders[0].totals.retransmits, outcome.receivers[0].duplicates), (3, 0));
}

#[test]
fn a_receive_window_limits_the_rate_to_a_window_each_round_trip() {
    let mut stack = ns2_stack();
    stack["receive_window"] = json!(50);
    let (links, flows) = dumbbell(622_000_000, 0.048, 1000, &[("cubic", 0.0)], &stack);
    let outcome = run(&spec(&links, &flows, 20.0, 10.0));
    let samples = &outcome.receivers[0].samples;
    let measured = (samples[200].delivered - samples[100].delivered) as f64 / 10.0;
    assert!((measured / (50.0 / 0.1) - 1.0).abs() < 0.005, "{measured} segments/s");
    let sender = &outcome.senders[0];
    assert!(sender.measured.receiver_limited as f64 > 0.99 * sender.measured.sends as f64);
    assert!(sender.samples[200].cwnd < 200.0, "a window that nobody uses does not grow");
}

#[test]
fn a_cancelled_run_says_how_far_it_came() {
    let (links, flows) = dumbbell(622_000_000, 0.048, 1555, &[("cubic", 0.0)], &ns2_stack());
    let engine = Engine::new(spec(&links, &flows, 100.0, 10.0)).expect("it is right");
    let mut calls = 0;
    let error = engine
        .run(|_| {
            calls += 1;
            calls < 3
        })
        .expect_err("it was cancelled");
    assert!(error.to_string().starts_with("cancelled at 0.0"), "{error}");
}

#[test]
fn a_spec_without_physical_sense_is_refused() {
    let (links, flows) = dumbbell(10_000_000, 0.01, 10, &[("reno", 0.0)], &ns2_stack());
    let refuse = |change: &dyn Fn(&mut Spec)| {
        let mut wrong = spec(&links, &flows, 10.0, 1.0);
        change(&mut wrong);
        wrong.validate().expect_err("it has no sense").path
    };
    assert_eq!(refuse(&|s| s.links[0].rate_bps = 0), "links[0].rate_bps");
    assert_eq!(refuse(&|s| s.measure.to_ps = ps(11.0)), "measure");
    assert_eq!(refuse(&|s| s.flows[0].path = vec![99]), "flows[0].path");
    assert_eq!(refuse(&|s| Arc::make_mut(&mut s.flows[0].stack).initial_window = 0), "flows[0].stack.initial_window");
    assert_eq!(refuse(&|s| s.flows[0].stop_ps = Some(0)), "flows[0].stop_ps");
    let endless = |s: &mut Spec| {
        s.links.iter_mut().for_each(|l| l.rate_bps = 1_000_000_000_000);
        s.duration_ps = ps(1000.0);
    };
    assert_eq!(refuse(&endless), "flows[0].path", "segment numbers would run out");
    let mut unknown = spec(&links, &flows, 10.0, 1.0);
    unknown.flows[0].algorithm = "cubik".into();
    assert_eq!(Engine::new(unknown).expect_err("no such algorithm").path, "flows[0].algorithm");
}

/// A recorded link with one feeder is evaluated inline. With a second feeder, from which no packet arrives before the
/// end of the run, the link takes turns. The inline link and the link with turns must give the same samples and counts,
/// also for packets in flight at the end of the run.
#[test]
fn a_link_inline_is_recorded_like_one_that_takes_turns() {
    let (mut links, mut flows) = dumbbell(100_000_000, 0.02, 100, &[("reno", 0.0), ("cubic", 0.3)], &ns2_stack());
    // Receivers behind links that are slower than the flows' shares and drop packets.
    for receiver in [3, 7] {
        links[receiver]["rate_bps"] = json!(30_000_000);
        links[receiver]["queue"]["limit_packets"] = json!(40);
        links[receiver]["record"] = json!(true);
    }
    links.as_array_mut().expect("a list").push(link("late", 1_000_000_000, 0.001, None));
    let both = |flows: &Value| run(&spec(&links, flows, 5.0, 1.0));
    let inline = both(&flows);
    for receiver in [3, 7] {
        let mut late = flow(&format!("late {receiver}"), "reno", 0.0, &[10, receiver], &[receiver + 1], &ns2_stack());
        late["start_ps"] = json!(ps(5.0) - 1);
        flows.as_array_mut().expect("a list").push(late);
    }
    let in_turns = both(&flows);
    for (one, other) in inline.links.iter().zip(&in_turns.links) {
        assert_eq!(format!("{:?}", one.1.rows), format!("{:?}", other.1.rows), "link {}", one.0);
    }
    for receiver in [3, 7] {
        let (one, other) = (inline.link_totals[receiver], in_turns.link_totals[receiver]);
        assert!(one.dropped > 20 && one.accepted > 10_000, "{one:?}");
        assert_eq!(one, other);
    }
    for flow in 0..2 {
        assert_eq!(inline.senders[flow].totals, in_turns.senders[flow].totals);
        let delivered = |outcome: &elephan_sim::Outcome| outcome.receivers[flow].totals.delivered;
        assert_eq!(delivered(&inline), delivered(&in_turns));
    }
    // The additional flows have sent two segments each.
    assert_eq!(inline.conservation.under_way + 4, in_turns.conservation.under_way);
    assert_eq!(inline.conservation.dropped, in_turns.conservation.dropped);
}
