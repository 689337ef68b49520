//! The stack `ns2` against ns-2 itself: one flow, 622 Mbit/s, 100 ms, a queue limit of 1,555 packets. The figures come
//! from `tests/reference/ns2`, where each file names the command that made it.

#[path = "engine/common/mod.rs"]
mod common;

use common::{at, dumbbell, ns2_stack, run, spec};
use serde_json::{Value, json};

struct Reference {
    drops: f64,
    delivered: f64,
    first_drops: f64,
    first_ends_s: f64,
}

fn reference(name: &str) -> Reference {
    let path = format!("{}/../../tests/reference/ns2/single-{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the reference file is in the repository");
    let data: Value = serde_json::from_str(&text).expect("it is JSON");
    let number = |value: &Value| value.as_f64().expect("it is a number");
    let marks = data["marks"].as_array().expect("marks are a list");
    let end = marks.iter().find(|m| number(&m["time_s"]) == 29.5).expect("29.5 s is a mark");
    Reference {
        drops: number(&end["dropped"]),
        delivered: number(&end["in_order[0]"]),
        first_drops: number(&data["first_recovery"]["drops_by_end"]),
        first_ends_s: number(&data["first_recovery"]["ended_s"]),
    }
}

/// Drops of the overshoot (until the last sample before the end of ns-2's first recovery), all drops until 29.5 s, and
/// distinct segments delivered until 29.5 s.
fn ours(algorithm: &str, expected: &Reference) -> (f64, f64, f64) {
    ours_with(algorithm, &ns2_stack(), expected)
}

fn ours_with(algorithm: &str, stack: &Value, expected: &Reference) -> (f64, f64, f64) {
    // ns-2 drops an arrival if the number of waiting packets plus one reaches the limit, so at most 1,554 packets wait.
    let (links, flows) = dumbbell(622_000_000, 0.048, 1554, &[(algorithm, 0.0)], stack);
    let outcome = run(&spec(&links, &flows, 29.5, 20.0));
    let early = at(&outcome, (expected.first_ends_s * 10.0).floor() / 10.0);
    let end = outcome.times.len() - 1;
    let link = &outcome.links[0].1.rows;
    let delivered = outcome.receivers[0].samples[end].delivered;
    (link[early].dropped as f64, link[end].dropped as f64, delivered as f64)
}

fn close(what: &str, measured: f64, expected: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: {measured} against ns-2's {expected}, {:+.3} %", error * 100.0);
    assert!(error.abs() < 0.01, "{what}: {measured}, ns-2 has {expected}");
}

#[test]
fn reno_drops_and_delivers_as_in_ns2() {
    for algorithm in ["reno", "reno:linux-2.6"] {
        let expected = reference("reno");
        let (first, drops, delivered) = ours(algorithm, &expected);
        close("drops of the overshoot", first, expected.first_drops);
        close("drops by 29.5 s", drops, expected.drops);
        close("segments delivered by 29.5 s", delivered, expected.delivered);
    }
}

/// At the end of a recovery ns-2 discards the SACK information above the recovery point and retransmits thousands of
/// segments that had arrived. BIC and CUBIC therefore agree with ns-2 only until the end of a recovery
/// (`tests/reference/ns2/README.md`).
#[test]
fn bic_and_cubic_drop_as_in_ns2_until_it_forgets_what_was_sacked() {
    for (algorithm, name) in [("bic:linux-2.6", "bic"), ("cubic:ns2", "cubic")] {
        let expected = reference(name);
        let (first, _, _) = ours(algorithm, &expected);
        close(&format!("{algorithm}: drops of the overshoot"), first, expected.first_drops);
    }
}

#[test]
fn highspeed_scalable_htcp_and_vegas_drop_and_deliver_as_in_ns2() {
    for (algorithm, name) in [
        ("hstcp:linux-2.6", "highspeed"),
        ("stcp:linux-2.6", "scalable"),
        ("htcp:linux-2.6", "htcp"),
        ("vegas:linux-2.6", "vegas"),
    ] {
        let expected = reference(name);
        let (first, drops, delivered) = ours(algorithm, &expected);
        close(&format!("{algorithm}: drops of the overshoot"), first, expected.first_drops);
        close(&format!("{algorithm}: drops by 29.5 s"), drops, expected.drops);
        close(&format!("{algorithm}: segments delivered by 29.5 s"), delivered, expected.delivered);
    }
}

#[test]
fn westwood_veno_and_lp_drop_and_deliver_as_in_ns2() {
    for (algorithm, name) in [("westwood:ns2", "westwood"), ("veno:linux-2.6", "veno"), ("lp:ns2", "lp")] {
        let expected = reference(name);
        let (first, drops, delivered) = ours(algorithm, &expected);
        close(&format!("{algorithm}: drops of the overshoot"), first, expected.first_drops);
        close(&format!("{algorithm}: drops by 29.5 s"), drops, expected.drops);
        close(&format!("{algorithm}: segments delivered by 29.5 s"), delivered, expected.delivered);
    }
}

/// Hybla's first slow start sends a whole window of 65,535 segments at the rate of the access link. Lost
/// retransmissions then make ns-2 discard the SACK information, as for BIC and CUBIC, and retransmit 2 million
/// segments. The engine and ns-2 have the same window at the first loss, the same halved window, and the same window
/// above 128ρ² segments at which growth stops.
#[test]
fn hybla_loses_as_in_ns2_until_it_forgets_what_was_sacked() {
    let text =
        std::fs::read_to_string(format!("{}/../../tests/reference/ns2/single-hybla.json", env!("CARGO_MANIFEST_DIR")))
            .expect("the reference file is in the repository");
    let data: Value = serde_json::from_str(&text).expect("it is JSON");
    let first = &data["first_recovery"];
    let (links, flows) = dumbbell(622_000_000, 0.048, 1554, &[("hybla:linux-2.6", 0.0)], &ns2_stack());
    let outcome = run(&spec(&links, &flows, 29.5, 20.0));
    let sender = &outcome.senders[0];
    for (time, expected) in [(0.2, 19.0), (0.3, 304.0), (0.4, 4864.0)] {
        assert_eq!(sender.samples[at(&outcome, time)].cwnd, expected, "{time} s");
    }
    assert_eq!(sender.samples[at(&outcome, 0.5)].ssthresh, first["ssthresh"].as_f64().expect("it is a number"));
    let windows = |from: f64, to: f64| &sender.samples[at(&outcome, from)..=at(&outcome, to)];
    let still = windows(20.0, 29.5);
    assert!(still.iter().all(|s| s.cwnd == still[0].cwnd && s.cwnd > 2048.0), "{}", still[0].cwnd);
    let theirs = data["windows"]["cwnd[0]"].as_array().expect("it is a list");
    assert!(theirs[220..].iter().all(|w| w.as_f64() == Some(2049.0)));
}

#[test]
fn illinois_yeah_and_compound_drop_and_deliver_as_in_ns2() {
    for (algorithm, name) in
        [("illinois:linux-2.6", "illinois"), ("yeah:linux-2.6", "yeah"), ("compound:ns2", "compound")]
    {
        let expected = reference(name);
        let (first, drops, delivered) = ours(algorithm, &expected);
        close(&format!("{algorithm}: drops of the overshoot"), first, expected.first_drops);
        close(&format!("{algorithm}: drops by 29.5 s"), drops, expected.drops);
        close(&format!("{algorithm}: segments delivered by 29.5 s"), delivered, expected.delivered);
    }
}

/// Without timestamps, ns-2's Compound has too few RTT samples and behaves like Reno. With timestamps, segments and
/// ACKs are ten bytes longer.
#[test]
fn compound_with_timestamps_drops_and_delivers_as_in_ns2() {
    let mut stack = ns2_stack();
    for (field, value) in [("header_bytes", json!(50)), ("ack_bytes", json!(50)), ("time_one_segment", json!(false))] {
        stack[field] = value;
    }
    let expected = reference("compound-timestamps");
    let (first, drops, delivered) = ours_with("compound:linux-2.6", &stack, &expected);
    close("drops of the overshoot", first, expected.first_drops);
    close("drops by 29.5 s", drops, expected.drops);
    close("segments delivered by 29.5 s", delivered, expected.delivered);
}
