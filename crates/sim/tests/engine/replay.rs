//! Replays: a sender follows a capture of itself, and senders of other algorithms depart from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use elephan_sim::endpoint::replay::{
    Acked, Bounds, Burst, Captured, Departed, Departures, Event, Followed, Guesses, Script, follow,
};
use elephan_sim::events::{Kind, Log};
use elephan_sim::packet::flag;
use elephan_sim::spec::{EventsSpec, FlowSpec, StackSpec};
use elephan_sim::{Engine, Spec, Time};

const MS: u64 = Time::MILLISECOND.0;

/// A capture at the sender of a flow over 10 Mbit/s and 40 ms, with a buffer of 30 packets.
fn captured(algorithm: &str) -> Script {
    let mut spec = Spec::dumbbell(10_000_000, Time(40 * MS), 30, Time(15_000 * MS), &[algorithm]);
    spec.events = Some(EventsSpec { limit: 1_000_000, from_ps: 0, to_ps: None });
    let handshake = spec.flows[0].handshake(&spec.links, Time::ZERO).expect("the stack makes one").rtt;
    let stack = StackSpec::clone(&spec.flows[0].stack);
    let outcome = Engine::new(spec).expect("the spec is right").run(|_| true).expect("it runs");
    let log = outcome.events.expect("the spec asks for it");
    script(&log, handshake, stack)
}

fn script(log: &Log, handshake: Time, stack: StackSpec) -> Script {
    let (mut events, mut next, mut start) = (Vec::new(), 0, None);
    let mut resent = BTreeMap::new();
    for row in &log.rows {
        match row.kind {
            Kind::Sent => {
                start.get_or_insert(row.at);
                if row.segment < next {
                    resent.insert(row.at, row.segment);
                }
                next = next.max(row.segment + 1);
                let again = row.segment + 1 < next;
                match events.last_mut() {
                    Some(Event::Departed(last)) if last.at == row.at && last.past == row.segment && !again => {
                        last.past += 1;
                    }
                    _ => {
                        events.push(Event::Departed(Departed { at: row.at, first: row.segment, past: row.segment + 1 }))
                    }
                }
            }
            Kind::Acked => {
                let sack = log.sacks.get(row.sack as usize).copied().unwrap_or_default();
                let is_of_resent = row.flags & flag::RETRANSMIT != 0;
                let newest = if sack.count > 0 { sack.blocks[0].1 } else { row.segment };
                let trigger = resent.get(&row.stamp).copied().filter(|_| is_of_resent);
                events.push(Event::Acked(Acked {
                    at: row.at,
                    cumulative: row.segment,
                    blocks: sack.blocks,
                    count: sack.count,
                    trigger: trigger.unwrap_or(newest.saturating_sub(1)),
                    stamp: row.stamp,
                    is_of_resent,
                    window: u32::MAX,
                    ..Acked::default()
                }));
            }
            _ => {}
        }
    }
    Script { stack, handshake, start: start.expect("something was sent"), events, segments: next, departures: None }
}

fn controller(algorithm: &str) -> elephan_cc::Controller {
    elephan_cc::build(algorithm, &BTreeMap::new()).expect("it is in the registry")
}

/// Fraction of the segments that leave when the algorithm lets them, within `tolerance`.
fn agreement(script: &Script, algorithm: &str, tolerance: Time) -> f64 {
    let Followed { allowed, .. } = follow(script, controller(algorithm), Guesses::Few);
    let mut sent = vec![Time::NEVER; script.segments as usize];
    for event in &script.events {
        if let Event::Departed(departed) = event {
            for segment in departed.first..departed.past {
                let first = &mut sent[segment as usize];
                *first = (*first).min(departed.at);
            }
        }
    }
    let within = |(allowed, sent): (&Time, &Time)| allowed.0.abs_diff(sent.0) <= tolerance.0;
    allowed.iter().zip(&sent).filter(|&pair| within(pair)).count() as f64 / sent.len() as f64
}

#[test]
fn a_sender_follows_its_own_capture() {
    for algorithm in ["reno:linux", "cubic:linux", "htcp:linux", "bic:linux", "vegas:linux", "westwood:linux", "copa"] {
        let share = agreement(&captured(algorithm), algorithm, Time(MS));
        assert!(share > 0.98, "{algorithm}: {share}");
    }
}

/// The capture at the receiver: it knows departures to half a millisecond, and lacks the segments that were repeated.
fn elsewhere(script: &Script) -> Script {
    let (mut captured, mut unseen, mut next) = (Vec::new(), 0, 0);
    let mut departed: Vec<Departed> = Vec::new();
    let mut repeated = std::collections::BTreeSet::new();
    for event in &script.events {
        if let Event::Departed(sent) = event {
            if sent.first < next {
                repeated.insert(sent.first);
            }
            next = next.max(sent.past);
            departed.push(*sent);
        }
    }
    next = 0;
    for sent in departed {
        for segment in sent.first..sent.past {
            let is_new = segment >= next;
            next = next.max(segment + 1);
            if is_new && repeated.contains(&segment) {
                unseen += 1;
                continue;
            }
            let left = Bounds { low: Time(sent.at.0.saturating_sub(MS / 2)), high: Time(sent.at.0 + MS / 2) };
            let burst = if segment > sent.first { Burst::Joined } else { Burst::Begins };
            captured.push(Captured {
                first: segment,
                past: segment + 1,
                unseen: std::mem::take(&mut unseen),
                burst,
                left,
            });
        }
    }
    let events = script.events.iter().filter(|event| matches!(event, Event::Acked(_))).copied().collect();
    Script { events, departures: Some(Arc::new(Departures::new(captured, script.segments))), ..script.clone() }
}

#[test]
fn a_sender_follows_its_own_capture_at_the_receiver() {
    for algorithm in ["reno:linux", "cubic:linux", "htcp:linux", "bbr:linux", "vegas:linux"] {
        let script = captured(algorithm);
        let there = elsewhere(&script);
        let departures = there.departures.clone().expect("it has some");
        for (follower, least) in [(algorithm, 0.97), ("westwood:linux", 0.0)] {
            let Followed { allowed, .. } = follow(&there, controller(follower), Guesses::Few);
            let within = |(allowed, seen): (&Time, &Bounds)| {
                allowed.0.saturating_add(MS / 2) >= seen.low.0 && allowed.0.saturating_sub(MS / 2) <= seen.high.0
            };
            let alike = allowed.iter().zip(&departures.seen).filter(|&pair| within(pair)).count();
            let share = alike as f64 / f64::from(there.segments);
            assert!(share > least, "{follower} in a capture of {algorithm}: {share}");
            assert!(least > 0.0 || share < 0.9, "{follower} in a capture of {algorithm}: {share}");
        }
    }
}

#[test]
fn another_algorithm_departs_from_the_capture() {
    let script = captured("cubic:linux");
    for algorithm in ["reno:linux", "htcp:linux", "bic:linux", "vegas:linux", "bbr:linux", "copa"] {
        let share = agreement(&script, algorithm, Time(MS));
        assert!(share < 0.9, "{algorithm}: {share}");
    }
}

#[test]
fn a_capture_that_lacks_packets_is_followed() {
    let mut script = captured("cubic:linux");
    let mut number = 0;
    script.events.retain(|_| {
        number += 1;
        number % 7 != 0
    });
    let followed = follow(&script, controller("cubic:linux"), Guesses::Few);
    assert_eq!(followed.allowed.len(), script.segments as usize);
}

#[test]
fn an_empty_capture_has_the_first_window() {
    let flow = FlowSpec::bulk("f", "reno", Time::ZERO, &[0], &[1]);
    let stack = StackSpec::clone(&Arc::clone(&flow.stack));
    let script =
        Script { stack, handshake: Time(MS), start: Time(MS), events: Vec::new(), segments: 12, departures: None };
    let followed = follow(&script, controller("reno"), Guesses::Few);
    assert_eq!(followed.allowed.iter().filter(|&&at| at == Time(MS)).count(), 10);
    assert_eq!((followed.window, followed.in_flight), (vec![10], vec![0]));
}
