//! The phase of timer interrupts: a host whose clock is ahead behaves like a host whose flow starts later.

use std::sync::Arc;

use crate::common::{dumbbell, linux_stack, run, spec};
use elephan_sim::events::Event;
use elephan_sim::spec::{EventsSpec, timer_phase_ns};
use elephan_sim::{Spec, Time};
use serde_json::json;

const PHASE: Time = Time(3_141_593 * Time::NANOSECOND.0);

/// Two flows with timers of 4 ms over a short path, one of which measures delays of single milliseconds, with losses in
/// both directions.
fn lossy(algorithm: &str) -> Spec {
    let mut stack = linux_stack();
    for (field, value) in [("hz", json!(250)), ("handshake", json!(true)), ("tso", json!(true))] {
        stack[field] = value;
    }
    let (mut links, flows) = dumbbell(20_000_000, 0.002, 20, &[(algorithm, 0.0), ("cubic:linux", 0.3)], &stack);
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.003});
    links[1]["loss"] = json!({"kind": "bernoulli", "p": 0.01});
    let mut spec = spec(&links, &flows, 8.0, 1.0);
    spec.events = Some(EventsSpec { limit: 10_000_000, from_ps: 0, to_ps: None });
    spec
}

/// Events of a run with this phase, in which the flows start this much later, without the events after `until`.
fn events(mut spec: Spec, phase: Time, later: Time, until: Time) -> Vec<Event> {
    for flow in &mut spec.flows {
        Arc::make_mut(&mut flow.stack).phase = phase;
        flow.start_ps += later.0;
    }
    let mut rows = run(&spec).events.expect("it was asked for").rows;
    rows.retain(|event| event.at < until);
    rows
}

#[test]
fn a_phase_is_a_later_start() {
    let end = Time::SECOND.0 * 8;
    for algorithm in [
        "reno",
        "bic:linux",
        "cubic:linux",
        "htcp:linux",
        "westwood:linux",
        "vegas:linux",
        "lp:linux",
        "nv",
        "bbr:linux",
        "cdg:linux",
        "illinois:linux",
        "yeah:linux",
        "veno:linux",
        "hybla:linux",
        "stcp:linux",
    ] {
        let moved = events(lossy(algorithm), PHASE, Time::ZERO, Time(end - PHASE.0));
        let started_later = events(lossy(algorithm), Time::ZERO, PHASE, Time(end));
        assert!(moved.len() > 10_000, "{algorithm}: {} events", moved.len());
        assert_eq!(moved.len(), started_later.len(), "{algorithm}");
        let key =
            |event: &Event, later: Time| (event.at.later(later), event.kind, event.flow, event.segment, event.flags);
        for (one, other) in moved.iter().zip(&started_later) {
            assert_eq!(key(one, PHASE), key(other, Time::ZERO), "{algorithm}");
        }
        let unmoved = events(lossy(algorithm), Time::ZERO, Time::ZERO, Time(end - PHASE.0));
        let differs = |(one, other)| key(one, Time::ZERO) != key(other, Time::ZERO);
        assert!(moved.iter().zip(&unmoved).any(differs), "{algorithm}: the phase changes nothing");
    }
}

#[test]
fn the_phase_is_drawn_from_the_seed() {
    let phases: Vec<u64> = (0..100).map(|seed| timer_phase_ns(seed, 250)).collect();
    assert!(phases.iter().all(|&ns| ns < 4_000_000));
    let mean = phases.iter().sum::<u64>() / 100;
    assert!(mean.abs_diff(2_000_000) < 500_000, "{mean}");
    let text = |seed: u64| {
        let (links, flows) = dumbbell(1_000_000, 0.01, 10, &[("reno", 0.0)], &linux_stack());
        let mut flows = flows;
        flows[0]["stack"]["hz"] = json!(250);
        json!({
            "seed": seed, "duration_ps": 1_000_000_000_000_u64, "sample_period_ps": 0, "links": links, "flows": flows,
            "measure": {"from_ps": 0, "to_ps": 1_000_000_000_000_u64},
        })
        .to_string()
    };
    for seed in [1, 2] {
        let read = Spec::from_json(&text(seed)).expect("a form");
        assert_eq!(read.flows[0].stack.phase.0, timer_phase_ns(seed, 250) * 1000);
    }
}
