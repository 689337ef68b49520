//! Transfers that come and go, over the whole engine.
use crate::common::{at, digest, dumbbell, link, linux_stack, ns2_stack, ps, run, spec};
use elephan_sim::algorithms::controller;
use elephan_sim::engine::{Engine, PREFERRED_SLICE};
use elephan_sim::spec::RecordSpec;
use elephan_sim::traffic::{SourceTotals, Transfer};
use elephan_sim::{Outcome, RunError, Spec, Time};
use serde_json::{Value, json};

/// A source whose path has its own access links, numbered from `first` on, and the bottleneck.
fn source(name: &str, first: usize, arrivals: Value, sizes: Value, stack: &Value) -> Value {
    let path = json!({"path": [first, 0, first + 1], "reverse_path": [first + 2, 1, first + 3]});
    let mut flow = json!({"name": name, "algorithm": "cubic", "start_ps": 0, "stack": stack});
    flow.as_object_mut().expect("a table").extend(path.as_object().expect("a table").clone());
    let mut source = json!({"flow": flow, "arrivals": arrivals});
    if !sizes.is_null() {
        source["sizes"] = sizes;
    }
    source
}

/// A dumbbell with two long flows (or none), and one more set of access links for each source.
fn with_sources(rate_bps: u64, flows: &[(&str, f64)], sources: &[Value], stack: &Value, times: (f64, f64)) -> Spec {
    let (mut links, flows) = dumbbell(rate_bps, 0.018, 200, flows, stack);
    let all = links.as_array_mut().expect("a list");
    for source in sources {
        let name = source["flow"]["name"].as_str().expect("a name");
        for side in ["out", "in", "back", "home"] {
            all.push(link(&format!("{name} {side}"), 10 * rate_bps, 0.001, None));
        }
    }
    let text = json!({
        "seed": 1, "duration_ps": ps(times.0), "sample_period_ps": ps(0.1), "start_jitter_ps": 0, "send_jitter_ps": 0,
        "measure": {"from_ps": ps(times.1), "to_ps": ps(times.0)}, "links": links, "flows": flows, "traffic": sources,
    });
    Spec::from_json(&text.to_string()).expect("the scenario is right")
}

#[test]
fn a_load_is_no_longer_drawn_when_its_run_is_not_wanted_any_more() {
    for arrivals in [json!({"kind": "load", "bps": 6_000_000_000_u64}), json!({"kind": "poisson", "per_second": 5e5})] {
        let sizes = json!({"kind": "constant", "mean_bytes": 1000.0});
        let web = source("web", 10, arrivals, sizes, &linux_stack());
        let spec = with_sources(10_000_000_000, &[("reno", 0.0), ("reno", 0.0)], &[web], &linux_stack(), (1.0, 0.5));
        let asked = |most: u32| {
            let mut asked = 0;
            let engine = Engine::while_wanted(spec.clone(), PREFERRED_SLICE, controller, || {
                asked += 1;
                if asked < most { Ok(()) } else { Err(RunError::Cancelled(0.0)) }
            });
            (asked, engine.map(|_| ()))
        };
        assert!(matches!(asked(3), (3, Err(RunError::Cancelled(_)))), "{:?}", asked(3));
        let (all, made) = asked(u32::MAX);
        assert!(made.is_ok() && all > 6, "asked {all} times");
    }
}

const MS: u64 = 1_000_000_000;

fn everything(outcome: &Outcome) -> String {
    let sources: Vec<String> = outcome.sources.iter().map(about).collect();
    format!("{} {sources:?}", digest(outcome))
}

/// A source's totals as text, without the number of slots, on which no result depends.
fn about(source: &SourceTotals) -> String {
    let SourceTotals { transfers, samples, measured, delivered, duplicates, .. } = source;
    format!("{transfers:?} {samples:?} {measured:?} {delivered} {duplicates}")
}

#[test]
fn a_list_is_replayed_with_its_starts_sizes_and_round_trips() {
    let list = json!({"kind": "list", "starts_ps": [0, ps(0.5), ps(0.5)], "sizes_bytes": [1000, 10_000, 10_001],
        "rtts_ps": [0, ps(0.1), ps(0.04)]});
    let outcome = run(&with_sources(
        10_000_000,
        &[],
        &[source("s", 2, list, Value::Null, &ns2_stack())],
        &ns2_stack(),
        (3.0, 1.0),
    ));
    let transfers = &outcome.sources[0].transfers;
    assert_eq!(
        transfers.iter().map(|t| (t.start, t.segments)).collect::<Vec<_>>(),
        [(Time(0), 1), (Time(ps(0.5)), 10), (Time(ps(0.5)), 11)]
    );
    assert_eq!(transfers.iter().map(|t| t.rtt).collect::<Vec<_>>(), [40 * MS, 100 * MS, 40 * MS].map(Time));
    // One segment of 1,040 bytes and its ACK of 40 bytes take 40 ms of propagation, 0.832 + 0.032 ms at 10 Mbit/s, and
    // a fifth of these 0.864 ms on the access links.
    let first = transfers[0].completed.seconds();
    assert!((first - (0.040 + 0.000_864 * 1.2)).abs() < 1e-9, "{first}");
    // Windows of 2, 4, 4: three round trips of 100 ms.
    let second = transfers[1].completed.seconds() - 0.5;
    assert!((0.300..0.316).contains(&second), "{second}");
    assert_eq!(outcome.sources[0].delivered, 22);
}

#[test]
fn windows_and_order_do_not_matter_and_other_sources_draw_the_same() {
    let web = json!({"kind": "pareto", "mean_bytes": 25_000.0, "shape": 1.2});
    let think = json!({"kind": "exponential", "mean_ps": 200 * MS});
    let rtts = json!({"shares": [0.0, 0.5, 1.0], "rtts_ps": [20 * MS, 60 * MS, 300 * MS]});
    for stack in [ns2_stack(), linux_stack()] {
        let mut a = source("a", 10, json!({"kind": "poisson", "per_second": 40.0}), web.clone(), &stack);
        a["rtts"] = rtts.clone();
        let b = source("b", 14, json!({"kind": "users", "users": 8, "think": think}), web.clone(), &stack);
        let both = with_sources(20_000_000, &[("cubic", 0.0), ("reno", 1.0)], &[a.clone(), b], &stack, (20.0, 5.0));
        let expected = run(&both);
        assert!(expected.sources.iter().all(|s| s.transfers.len() > 100), "there is something to compare");
        let short = Engine::with_slice(both.clone(), Time(70_000_000)).expect("it is right");
        assert_eq!(everything(&short.run(|_| true).expect("nobody cancels")), everything(&expected));
        let mut turned = both.clone();
        turned.traffic.reverse();
        turned.flows.reverse();
        let mut outcome = run(&turned);
        outcome.sources.reverse();
        outcome.senders.reverse();
        outcome.receivers.reverse();
        assert_eq!(everything(&outcome), everything(&expected));
        // Without source `b`, source `a` begins the same transfers.
        let alone = run(&with_sources(20_000_000, &[("cubic", 0.0), ("reno", 1.0)], &[a], &stack, (20.0, 5.0)));
        let drawn = |s: &SourceTotals| s.transfers.iter().map(|t| (t.start, t.segments, t.rtt)).collect::<Vec<_>>();
        assert_eq!(drawn(&alone.sources[0]), drawn(&expected.sources[0]));
    }
}

#[test]
fn users_begin_a_think_time_after_they_have_finished() {
    let think = json!({"kind": "constant", "mean_ps": 100 * MS});
    let users = json!({"kind": "users", "users": 3, "think": think});
    let sizes = json!({"kind": "constant", "mean_bytes": 10_000.0});
    let outcome =
        run(&with_sources(100_000_000, &[], &[source("s", 2, users, sizes, &ns2_stack())], &ns2_stack(), (10.0, 1.0)));
    for user in 0..3 {
        let mine: Vec<_> = outcome.sources[0].transfers.iter().filter(|t| t.user == Some(user)).collect();
        assert!(mine.len() > 40, "{}", mine.len());
        assert_eq!(mine[0].start, Time(100 * MS));
        for pair in mine.windows(2) {
            assert_eq!(pair[1].start, pair[0].completed + Time(100 * MS));
        }
    }
}

#[test]
fn a_load_is_met_and_carried() {
    // The size distribution of leith2008's cross traffic. The load includes headers, as the bottleneck's counts do.
    let web = json!({"kind": "pareto", "mean_bytes": 25_000.0, "shape": 1.2});
    for load in [0.1, 0.5, 0.9] {
        let bps = (load * 2e8) as u64;
        let mut one = source("s", 2, json!({"kind": "load", "bps": bps}), web.clone(), &linux_stack());
        one["rtts"] = json!({"shares": [0.0, 1.0], "rtts_ps": [40 * MS, 120 * MS]});
        let outcome = run(&with_sources(200_000_000, &[], &[one], &linux_stack(), (60.0, 10.0)));
        let transfers = &outcome.sources[0].transfers;
        let measured = transfers.iter().filter(|t| t.start >= Time(ps(10.0)));
        let offered = measured.map(|t| f64::from(t.segments)).sum::<f64>() * 1500.0 * 8.0 / 50.0 / 2e8;
        assert!((offered - load).abs() < 0.002, "offered {offered} of {load}");
        let rows = &outcome.links[0].1.rows;
        let bytes = rows[at(&outcome, 60.0)].delivered_bytes - rows[at(&outcome, 10.0)].delivered_bytes;
        let carried = bytes as f64 * 8.0 / 50.0 / 2e8;
        assert!((carried - load).abs() < 0.02, "carried {carried} of {load}");
        let samples = &outcome.sources[0].samples;
        let last = samples[samples.len() - 1];
        assert_eq!(last.delivered, outcome.sources[0].delivered, "places that were given on count too");
        for (sample, row) in samples.iter().zip(rows) {
            // The 19 ms of links behind the bottleneck hold no more than the bottleneck gives them in 20 ms.
            let under_way = row.delivered_bytes - sample.wire_bytes;
            assert!(under_way < 20 * 25_000, "{under_way}");
        }
        let sum = outcome.sources[0].measured[1].wire_bytes - outcome.sources[0].measured[0].wire_bytes;
        assert!(
            (sum as f64 - bytes as f64).abs() < 200.0 * 1500.0,
            "what arrives is what leaves, but for what is on the way"
        );
    }
}

#[test]
fn arrivals_of_a_load_are_a_poisson_process() {
    let sizes = json!({"kind": "constant", "mean_bytes": 1448.0});
    let one = source("s", 2, json!({"kind": "load", "bps": 40_000_000}), sizes, &linux_stack());
    let outcome = run(&with_sources(100_000_000, &[], &[one], &linux_stack(), (3.0, 1.0)));
    let starts: Vec<f64> = outcome.sources[0].transfers.iter().map(|t| t.start.seconds()).collect();
    // Two thirds and one third of 10,000, each rounded.
    assert!((9_998..=10_000).contains(&starts.len()), "{}", starts.len());
    let mut gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let cdf = |x: f64| 1.0 - (-x * 10_000.0 / 3.0).exp();
    let worst = gaps.iter().enumerate().map(|(i, x)| (cdf(*x) - i as f64 / n).abs()).fold(0.0, f64::max);
    assert!(worst < 2.225 / n.sqrt(), "{worst}");
}

#[test]
fn a_source_meets_the_same_network_as_a_flow() {
    // A transfer of a source has the same event times as an equal flow.
    let mut counting = linux_stack();
    counting["acks_counted"] = json!(4);
    for stack in [ns2_stack(), linux_stack(), counting] {
        let list = json!({"kind": "list", "starts_ps": [ps(1.0)], "sizes_bytes": [6_000_000]});
        let mut one = source("s", 2, list, Value::Null, &stack);
        one["flow"]["algorithm"] = json!("reno");
        let outcome = run(&with_sources(20_000_000, &[], &[one], &stack, (20.0, 5.0)));
        let (links, mut flows) = dumbbell(20_000_000, 0.018, 200, &[("reno", 1.0)], &stack);
        let mut links = links;
        for link in links.as_array_mut().expect("a list").iter_mut().skip(2) {
            link["rate_bps"] = json!(200_000_000);
        }
        let payload = stack["payload_bytes"].as_u64().expect("a number");
        flows[0]["size_segments"] = json!(6_000_000_u64.div_ceil(payload));
        let flow = run(&spec(&links, &flows, 20.0, 5.0));
        assert_eq!(Some(outcome.sources[0].transfers[0].completed), flow.senders[0].completed);
        assert_eq!(outcome.sources[0].transfers[0].totals, flow.senders[0].totals);
        assert_eq!(format!("{:?}", outcome.sources[0].samples), format!("{:?}", flow.receivers[0].samples));
        assert!(flow.senders[0].totals.retransmits > 0, "there is something to repair");
    }
}

#[test]
fn a_hundred_thousand_transfers_need_room_for_those_under_way() {
    let (mu, sigma, share) = (9.357, 1.318, 0.93);
    let sizes = json!({"kind": "lognormal_pareto", "mu": mu, "sigma": sigma, "body_share": share,
        "tail_bytes": 133e3, "tail_shape": 1.1, "most_bytes": 1e7});
    let one = source("s", 2, json!({"kind": "load", "bps": 6_000_000_000_u64}), sizes, &linux_stack());
    let mut spec = with_sources(10_000_000_000, &[], &[one], &linux_stack(), (8.0, 3.0));
    for link in &mut spec.links[..2] {
        link.queue.limit_packets = Some(6000);
    }
    let outcome = run(&spec);
    let source = &outcome.sources[0];
    assert!(source.transfers.len() > 100_000, "{}", source.transfers.len());
    let done = source.transfers.iter().filter(|t| t.completed != Time::NEVER).count();
    assert!(done > source.transfers.len() * 98 / 100, "{done}");
    assert!(source.most_at_once < 5_000, "{}", source.most_at_once);
}

#[test]
fn transfers_that_begin_within_one_slice_are_bounded_like_packets() {
    let (arrivals, sizes) =
        (json!({"kind": "poisson", "per_second": 1e8}), json!({"kind": "constant", "mean_bytes": 1e4}));
    let source = source("web", 2, arrivals, sizes, &linux_stack());
    let spec = with_sources(10_000_000, &[], &[source], &linux_stack(), (0.001, 0.0));
    let engine = Engine::new(spec).expect("the scenario is right").limit_memory(50 << 20);
    let error = engine.run(|_| true).expect_err("100,000 transfers need more").to_string();
    assert!(error.contains("active transfers need more than the 50 MiB"), "{error}");
}

#[test]
fn a_batch_does_not_outgrow_the_memory_of_packets_within_one_slice() {
    let flows = [("fixed", 0.0); 10];
    let (mut links, mut flows) = dumbbell(10_000_000_000, 0.4, 100, &flows, &linux_stack());
    links[0]["queue"] = json!({"kind": "droptail"});
    for flow in flows.as_array_mut().expect("a list") {
        // Each window is too small for its own mailbox to exceed the limit, and for its sender to check the memory.
        flow["parameters"] = json!({"window": 2_000});
    }
    let engine = Engine::new(spec(&links, &flows, 2.0, 1.0)).expect("the scenario is right").limit_memory(1 << 20);
    let error = engine.run(|_| true).expect_err("20,000 packets need 1.4 MiB").to_string();
    assert!(error.starts_with("memory: packets on their way and active transfers need more than the 1 MiB"), "{error}");
}

#[test]
fn a_mailbox_does_not_outgrow_the_memory_of_packets_within_one_slice() {
    let (mut links, mut flows) = dumbbell(10_000_000_000, 0.4, 100, &[("fixed", 0.0)], &linux_stack());
    links[0]["queue"] = json!({"kind": "droptail"});
    flows[0]["parameters"] = json!({"window": 100_000});
    let engine = Engine::new(spec(&links, &flows, 2.0, 1.0)).expect("the scenario is right").limit_memory(1 << 20);
    let error = engine.run(|_| true).expect_err("100,000 packets need 3 MiB").to_string();
    assert!(error.starts_with("memory: packets on their way and active transfers need more than the 1 MiB"), "{error}");
}

/// Runs a spec twice: with sums over its transfers, and with a row for each transfer.
fn summed_and_whole(mut spec: Spec) -> [Outcome; 2] {
    let whole = run(&spec);
    spec.traffic.iter_mut().for_each(|source| source.record = RecordSpec::Summary);
    [run(&spec), whole]
}

#[test]
fn a_summary_is_that_of_the_rows_and_changes_nothing_else() {
    let web = json!({"kind": "pareto", "mean_bytes": 25_000.0, "shape": 1.2});
    let think = json!({"kind": "exponential", "mean_ps": 50 * MS});
    let load = source("a", 10, json!({"kind": "load", "bps": 12_000_000}), web.clone(), &linux_stack());
    let users = source("b", 14, json!({"kind": "users", "users": 4, "think": think}), web, &linux_stack());
    let spec = with_sources(20_000_000, &[("cubic", 0.0), ("reno", 1.0)], &[load, users], &linux_stack(), (20.0, 5.0));
    let short = Engine::with_slice(
        {
            let mut spec = spec.clone();
            spec.traffic.iter_mut().for_each(|source| source.record = RecordSpec::Summary);
            spec
        },
        Time(70_000_000),
    );
    let short = short.expect("it is right").run(|_| true).expect("nobody cancels");
    let [summed, whole] = summed_and_whole(spec);
    assert_eq!(summed.conservation, whole.conservation);
    assert_eq!(digest(&summed), digest(&whole));
    for ((summed, whole), short) in summed.sources.iter().zip(&whole.sources).zip(&short.sources) {
        assert!(summed.transfers.is_empty() && whole.summary.is_none());
        let summary = summed.summary.as_deref().expect("it is kept");
        assert_eq!(short.summary.as_deref(), Some(summary), "whatever the slices");
        assert_eq!(format!("{:?}", summed.samples), format!("{:?}", whole.samples));
        let measured = |t: &&Transfer| (Time(ps(5.0))..Time(ps(20.0))).contains(&t.start);
        let rows: Vec<&Transfer> = whole.transfers.iter().filter(measured).collect();
        let done: Vec<&&Transfer> = rows.iter().filter(|t| t.completed != Time::NEVER).collect();
        assert!(done.len() > 50 && done.len() < rows.len(), "{} of {}", done.len(), rows.len());
        assert_eq!(summary.begun as usize, whole.transfers.len());
        assert_eq!(summary.retransmits, whole.transfers.iter().map(|t| t.totals.retransmits).sum::<u64>());
        assert_eq!(summary.begun_measured as usize, rows.len());
        assert_eq!(summary.offered_segments, rows.iter().map(|t| u64::from(t.segments)).sum::<u64>());
        assert_eq!(summary.finished.count as usize, done.len());
        let durations: u128 = done.iter().map(|t| u128::from((t.completed - t.start).0)).sum();
        assert_eq!(summary.finished.duration_ps, durations);
        assert!(done.iter().all(|t| t.completed - t.start >= t.rtt));
        assert!(summary.finished.slowdowns.get() >= done.len() as f64, "nobody is faster than the path");
    }
}

#[test]
fn the_memory_of_a_summary_does_not_grow_with_the_transfers() {
    let sizes = json!({"kind": "constant", "mean_bytes": 5e3});
    let bytes = |seconds: f64, record| {
        let one = source("s", 2, json!({"kind": "poisson", "per_second": 1e4}), sizes.clone(), &linux_stack());
        let mut spec = with_sources(1_000_000_000, &[], &[one], &linux_stack(), (seconds, 0.5));
        spec.sample_period_ps = ps(1.0) * seconds as u64;
        spec.traffic[0].record = record;
        spec.memory_bytes()
    };
    assert_eq!(bytes(10.0, RecordSpec::Summary), bytes(1000.0, RecordSpec::Summary));
    assert!(bytes(1000.0, RecordSpec::All) > bytes(10.0, RecordSpec::All) + 990 * 10_000 * 150);
}

#[test]
fn the_estimate_foresees_the_transfers_under_way() {
    let constant = |mean_bytes: f64| json!({"kind": "constant", "mean_bytes": mean_bytes});
    let wide = json!({"shares": [0.0, 1.0], "rtts_ps": [100 * MS, 400 * MS]});
    // Short transfers over a long path; longer transfers; and a load above the bottleneck's rate, so that transfers
    // accumulate.
    for (rate_bps, per_second, mean_bytes, rtts) in [
        (10_000_000_000_u64, 2e4, 5e3, Some(wide.clone())),
        (10_000_000_000, 4e3, 1e5, Some(wide)),
        (100_000_000, 1e4, 2e4, None),
    ] {
        let arrivals = json!({"kind": "poisson", "per_second": per_second});
        let mut one = source("s", 2, arrivals, constant(mean_bytes), &linux_stack());
        one["rtts"] = json!(rtts);
        let mut spec = with_sources(rate_bps, &[], &[one], &linux_stack(), (2.0, 1.0));
        spec.links[0].queue.limit_packets = Some(100_000);
        spec.traffic[0].record = RecordSpec::Summary;
        let most = run(&spec).sources[0].most_at_once as f64;
        let foreseen = (spec.memory_bytes() - spec.bytes_besides_transfers()) as f64;
        let each = foreseen / most;
        assert!((2_500.0..25_000.0).contains(&each), "{each} bytes for each of {most}");
    }
}
