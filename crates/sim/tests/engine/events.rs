//! The event log: its events add up to the run's counts, and logging does not change the run.

use crate::common::{digest, dumbbell, linux_stack, ns2_stack, ps, run, spec};
use elephan_sim::events::{Event, Kind, Log};
use elephan_sim::packet::flag;
use elephan_sim::spec::EventsSpec;
use elephan_sim::{Engine, Outcome, RunError, Spec};
use serde_json::{Value, json};

const ALL: EventsSpec = EventsSpec { limit: 10_000_000, from_ps: 0, to_ps: None };

/// Two flows over a bottleneck that loses packets in both directions.
fn lossy(stack: &Value, queue: &Value) -> Spec {
    let (mut links, flows) = dumbbell(10_000_000, 0.02, 20, &[("cubic", 0.0), ("reno", 0.3)], stack);
    links[0]["queue"] = queue.clone();
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.003});
    links[1]["loss"] = json!({"kind": "bernoulli", "p": 0.01});
    spec(&links, &flows, 8.0, 1.0)
}

fn droptail() -> Value {
    json!({"kind": "droptail", "limit_packets": 20, "limit_bytes": null})
}

fn logged(mut spec: Spec, events: EventsSpec) -> (Outcome, Log) {
    spec.events = Some(events);
    let mut outcome = run(&spec);
    let log = outcome.events.take().expect("it was asked for");
    (outcome, log)
}

fn count(log: &Log, test: impl Fn(&Event) -> bool) -> u64 {
    log.rows.iter().filter(|event| test(event)).count() as u64
}

#[test]
fn a_log_changes_nothing_and_adds_up() {
    for queue in [
        droptail(),
        json!({"kind": "codel", "limit_packets": 40, "target_ps": ps(0.005), "interval_ps": ps(0.1), "ecn": true}),
    ] {
        for mut stack in [ns2_stack(), linux_stack()] {
            stack["ecn"] = json!(true);
            let mut spec = lossy(&stack, &queue);
            spec.send_jitter_ps = if queue["kind"] == "codel" { ps(0.0001) } else { 0 };
            let (outcome, log) = logged(spec.clone(), ALL);
            assert_eq!(digest(&outcome), digest(&run(&spec)), "looking changes the run");
            for (flow, (sender, receiver)) in outcome.senders.iter().zip(&outcome.receivers).enumerate() {
                let of = |kind| count(&log, |e| e.flow.index() == flow && e.kind == kind);
                assert_eq!(of(Kind::Sent), sender.totals.sent);
                assert_eq!(of(Kind::Received), receiver.totals.delivered + receiver.duplicates);
                assert_eq!(of(Kind::AckSent), receiver.acks_sent);
                assert_eq!(of(Kind::Acked), sender.totals.acks);
                let again = |e: &Event| e.kind == Kind::Sent && e.flags & flag::RETRANSMIT != 0;
                assert_eq!(count(&log, |e| e.flow.index() == flow && again(e)), sender.totals.retransmits);
                assert!(sender.totals.retransmits > 10);
            }
            for (link, totals) in outcome.link_totals.iter().enumerate() {
                let of = |kind| count(&log, |e| e.link == link as u32 && e.kind == kind);
                assert_eq!(
                    (of(Kind::Dropped), of(Kind::Lost), of(Kind::Marked)),
                    (totals.dropped, totals.lost, totals.marked)
                );
            }
            assert!(count(&log, |e| e.kind == Kind::Lost) > 20);
            assert!(log.rows.is_sorted_by_key(|event| event.at));
        }
    }
}

#[test]
fn an_ack_arrives_with_the_blocks_it_left_with() {
    let (_, log) = logged(lossy(&linux_stack(), &droptail()), ALL);
    let of = |kind| {
        let rows = log.rows.iter().filter(move |e| e.flow.0 == 0 && e.kind == kind);
        rows.map(|e| (e.segment, e.stamp, e.flags, log.sacks.get(e.sack as usize).copied()))
    };
    let mut left = of(Kind::AckSent);
    let mut with_blocks = 0;
    for arrived in of(Kind::Acked) {
        assert!(left.any(|ack| ack == arrived), "an ACK arrived that had not left");
        with_blocks += usize::from(arrived.3.is_some());
    }
    assert!(with_blocks > 50, "{with_blocks}");
}

#[test]
fn a_sender_says_what_its_window_is_after_an_ack() {
    let (outcome, log) = logged(lossy(&ns2_stack(), &droptail()), ALL);
    let last = log.rows.iter().rfind(|e| e.flow.0 == 0 && e.kind == Kind::Acked).expect("ACKs came");
    let sample = outcome.senders[0].samples.last().expect("it was sampled");
    assert_eq!(f64::from(last.cwnd), f64::from(sample.cwnd as f32));
    assert_eq!(last.in_flight, sample.in_flight);
    // Every outstanding segment was sent and is not yet acknowledged.
    let sent = log.rows.iter().filter(|e| e.flow.0 == 0 && e.kind == Kind::Sent);
    assert!(sent.clone().all(|e| e.in_flight > 0 && e.cwnd >= 1.0));
}

#[test]
fn a_part_of_a_run_can_be_logged() {
    let (_, all) = logged(lossy(&ns2_stack(), &droptail()), ALL);
    let part = EventsSpec { from_ps: ps(2.0), to_ps: Some(ps(2.5)), ..ALL };
    let (_, some) = logged(lossy(&ns2_stack(), &droptail()), part);
    let plain =
        |log: &Log, e: &Event| (e.at, e.kind, e.flow, e.segment, e.flags, log.sacks.get(e.sack as usize).copied());
    let inside = all.rows.iter().filter(|e| (ps(2.0)..ps(2.5)).contains(&e.at.0)).map(|e| plain(&all, e));
    assert!(some.rows.len() > 500);
    assert!(some.rows.iter().map(|e| plain(&some, e)).eq(inside));
}

#[test]
fn a_run_with_too_many_events_is_given_up() {
    let mut spec = lossy(&ns2_stack(), &droptail());
    spec.events = Some(EventsSpec { limit: 1000, ..ALL });
    let error = Engine::new(spec).expect("it is right").run(|_| true).expect_err("there are more");
    assert!(matches!(error, RunError::TooManyEvents { limit: 1000, at_s } if at_s < 2.0), "{error}");
    assert!(error.to_string().starts_with("events: more than 1000 events after "), "{error}");
}

#[test]
fn packets_that_come_late_or_twice_are_accounted_for() {
    let (mut links, mut flows) = dumbbell(10_000_000, 0.02, 60, &[("cubic", 0.0), ("reno", 0.3)], &linux_stack());
    for link in 0..2 {
        links[link]["impairments"] = json!({"duplicate": 0.01, "reorder": {"p": 0.01, "delay_ps": ps(0.004)}});
        links[link]["loss"] = json!({"kind": "bernoulli", "p": 0.002});
    }
    let mut chatter = flows[1].clone();
    (chatter["name"], chatter["datagrams"]) = (json!("chatter"), json!(true));
    chatter["application"] = json!({"rate_bps": 1_000_000, "poisson": true});
    flows.as_array_mut().expect("a list").push(chatter);
    let spec = spec(&links, &flows, 8.0, 1.0);
    let (outcome, log) = logged(spec.clone(), ALL);
    assert_eq!(digest(&outcome), digest(&run(&spec)), "looking changes the run");
    for (link, totals) in outcome.link_totals.iter().enumerate() {
        assert_eq!(count(&log, |e| e.link == link as u32 && e.kind == Kind::Duplicated), totals.duplicated);
    }
    assert!(outcome.link_totals[0].duplicated > 20 && outcome.link_totals[1].duplicated > 10);
    let of = |kind| count(&log, |e| e.flow.0 == 2 && e.kind == kind);
    assert_eq!(of(Kind::Sent), outcome.senders[2].totals.sent);
    let receiver = &outcome.receivers[2];
    assert!(receiver.duplicates > 0);
    assert_eq!(of(Kind::Received), receiver.totals.delivered + receiver.duplicates);
    assert_eq!((of(Kind::AckSent), of(Kind::Acked)), (0, 0));
    let acked = |e: &&Event| e.kind == Kind::Acked && log.sacks.get(e.sack as usize).is_some();
    assert!(log.rows.iter().filter(acked).count() > 50);
}
