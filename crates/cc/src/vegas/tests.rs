//! Tests of Vegas: the published check points, and the differences of each variant.

use super::*;
use crate::event::Event;
use crate::linux::{Recovery, Restart, Sample};
use crate::reports::Cause;
use crate::testing::{Driver, close, run_over_link, settings};

fn vegas(preset: &str) -> Vegas {
    Vegas::new(&settings(&Vegas::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
}

/// Window after one round of congestion avoidance at `rtt`, from `w` and a base RTT of 0.1 s.
fn after_a_round(preset: &str, w: f64, rtt: f64) -> f64 {
    let (mut d, mut v) = (Driver::new(), vegas(preset));
    d.start_at(&mut v, w);
    v.base = 0.1;
    for _ in 0..w as u64 {
        d.ack(&mut v, 1.0, rtt, rtt / w);
    }
    let ack = d.make_ack(&v, 1.0, rtt, true);
    v.on_ack(&ack);
    v.window()
}

#[test]
fn the_segments_in_queues_have_the_published_values() {
    for (w, rtt, ns3) in [(40.0, 0.105, 2.0), (40.0, 0.111, 4.0), (40.0, 0.113, 5.0), (20.0, 0.2, 10.0)] {
        let mut v = vegas("ns3");
        (v.win.w, v.base) = (w, 0.1);
        assert_eq!(v.diff(rtt), ns3);
    }
    for (w, rtt, paper, linux) in
        [(40.0, 0.105, 1.905, 2.0), (40.0, 0.111, 3.964, 4.0), (40.0, 0.113, 4.602, 5.0), (20.0, 0.2, 10.0, 20.0)]
    {
        let (mut p, mut l) = (vegas(""), vegas("linux"));
        (p.win.w, p.base, l.win.w, l.base) = (w, 0.1, w, 0.1);
        close(p.diff(rtt), paper, 1e-3);
        assert_eq!(l.diff(rtt), linux);
    }
}

#[test]
fn the_window_moves_by_one_outside_the_band() {
    for (rtt, paper, linux) in [(0.105, 41.0, 40.0), (0.111, 40.0, 40.0), (0.113, 39.0, 39.0)] {
        assert_eq!(after_a_round("", 40.0, rtt), paper, "{rtt}");
        assert_eq!(after_a_round("linux", 40.0, rtt), linux, "{rtt}");
        assert_eq!(after_a_round("ns3", 40.0, rtt), linux, "{rtt}");
    }
}

#[test]
fn ns_2_spreads_its_increase_over_the_next_round() {
    let (mut d, mut v) = (Driver::new(), vegas("ns2"));
    d.start_at(&mut v, 40.0);
    v.base = 0.1;
    d.round(&mut v, 0.1);
    close(v.window(), 41.0, 1e-9);
    // The first ACK of a round determines the change, and every ACK increases the window.
    let ack = d.make_ack(&v, 1.0, 0.1, true);
    v.on_ack(&ack);
    close(v.window(), 41.0 + 1.0 / 41.0, 1e-9);
}

#[test]
fn slow_start_doubles_every_other_round_trip_and_in_linux_each() {
    for (preset, growth) in
        [("", [1.0, 2.0, 1.0, 2.0]), ("ns2", [1.0, 2.0, 1.0, 2.0]), ("linux", [2.0; 4]), ("linux-2.6", [2.0; 4])]
    {
        let (mut d, mut v) = (Driver::new(), vegas(preset));
        d.start(&mut v, 16.0);
        for factor in growth {
            let before = v.window();
            d.round(&mut v, 0.1);
            close(v.window(), factor * before, 1e-9);
        }
    }
}

#[test]
fn slow_start_ends_when_gamma_is_exceeded() {
    let (mut d, mut v) = (Driver::new(), vegas(""));
    d.start(&mut v, 64.0);
    v.base = 0.1;
    d.round(&mut v, 0.11);
    let ack = d.make_ack(&v, 1.0, 0.11, true);
    v.on_ack(&ack);
    // The first round only measures: 64 (1 - 1/1.1) = 5.8 segments.
    assert_eq!(v.window(), 56.0);
    assert!(!v.slow_starting && v.ssthresh() == 56.0);

    let (mut d, mut l) = (Driver::new(), vegas("linux"));
    d.start(&mut l, 64.0);
    l.base = 0.1;
    d.round(&mut l, 0.11);
    let ack = d.make_ack(&l, 1.0, 0.11, true);
    l.on_ack(&ack);
    assert_eq!(l.window(), (128.0_f64 * 0.1 / 0.11).floor() + 1.0);
}

#[test]
fn a_loss_takes_a_quarter_and_in_linux_a_half() {
    for (preset, w) in [("", 75.0), ("ns2", 75.0), ("linux", 50.0)] {
        let (d, mut v) = (Driver::new(), vegas(preset));
        d.start_at(&mut v, 100.0);
        d.lose(&mut v);
        assert_eq!((v.window(), v.ssthresh()), (w, w), "{preset}");
    }
}

#[test]
fn a_timeout_restarts_with_one_segment_and_in_ns_2_with_two() {
    for (preset, w) in [("", 1.0), ("ns2", 2.0), ("linux", 1.0), ("linux-2.6", 1.0)] {
        let (d, mut v) = (Driver::new(), vegas(preset));
        d.start_at(&mut v, 100.0);
        d.time_out(&mut v);
        assert_eq!((v.window(), v.ssthresh(), v.slow_starting), (w, 50.0, true), "{preset}");
    }
}

#[test]
fn a_loss_takes_ns_3_down_to_its_threshold_only() {
    for (ssthresh, w) in [(f64::INFINITY, 99.0), (80.0, 80.0)] {
        let (d, mut v) = (Driver::new(), vegas("ns3"));
        d.start(&mut v, 100.0);
        v.win.ssthresh = ssthresh;
        d.lose(&mut v);
        assert_eq!((v.window(), v.ssthresh()), (w, w));
    }
}

#[test]
fn linux_2_6_compares_halves_of_segments_with_the_window_it_had() {
    // With 40 segments sent, 1.17, 1.54, 1.98, 3.96 and 4.6 segments are in queues. In half segments, rounded up, these
    // are 3, 4, 4, 8 and 10.
    for (rtt, w) in [(0.103, 41.0), (0.104, 40.0), (0.1052, 40.0), (0.111, 40.0), (0.113, 39.0)] {
        let mut v = vegas("linux-2.6");
        (v.win.w, v.win.ssthresh, v.base, v.round.min) = (40.0, 2.0, 0.1, rtt);
        v.round_linux26(40.0, 40.0, true);
        assert_eq!(v.window(), w, "{rtt}");
        // The new window is one step from the window at the round's start, so a change during the round is undone.
        (v.win.w, v.round.min) = (41.0, 0.111);
        v.round_linux26(40.0, 40.0, true);
        assert_eq!(v.window(), 40.0);
    }
}

#[test]
fn linux_2_6_leaves_slow_start_with_a_threshold_of_two() {
    let (mut d, mut v) = (Driver::new(), vegas("linux-2.6"));
    d.start(&mut v, 64.0);
    v.base = 0.1;
    (v.linux26.begin_next, v.linux26.begin_una) = (64.0, 0.0);
    for _ in 0..65 {
        d.ack(&mut v, 1.0, 0.11, 0.001);
    }
    // With 64 segments sent, 64 × 100/110 = 58.2 would be in flight without a queue. The window becomes 58 + 1
    // segments, plus one segment of slow start on the same ACK.
    assert_eq!((v.window(), v.ssthresh()), (60.0, 2.0));
}

#[test]
fn linux_2_6_keeps_half_rounded_down_and_starts_its_rounds_anew() {
    let (d, mut v) = (Driver::new(), vegas("linux-2.6"));
    d.start_at(&mut v, 101.0);
    d.lose(&mut v);
    assert_eq!((v.window(), v.ssthresh(), v.linux26.enable), (50.0, 50.0, true));
}

#[test]
fn linux_with_too_few_samples_is_standard_tcp() {
    let (mut d, mut v) = (Driver::new(), vegas("linux"));
    d.start_at(&mut v, 2.0);
    d.ack(&mut v, 1.0, 0.1, 0.1);
    let ack = d.make_ack(&v, 1.0, 0.1, true);
    v.on_ack(&ack);
    assert_eq!(v.window(), 2.5);
    assert_eq!(v.round.samples, 0);
}

#[test]
fn a_window_below_the_threshold_after_recovery_is_in_slow_start() {
    let (mut d, mut v) = (Driver::new(), vegas("linux"));
    d.start_at(&mut v, 100.0);
    v.base = 0.1;
    d.lose(&mut v);
    v.on_event(&Event::Moderate { window: 20.0 });
    d.round(&mut v, 0.1);
    d.round(&mut v, 0.1);
    assert_eq!((v.window(), v.slow_starting), (50.0, false));
}

#[test]
fn only_linux_forgets_the_base_rtt_when_idle() {
    for preset in ["", "ns2", "linux"] {
        let (mut d, mut v) = (Driver::new(), vegas(preset));
        d.start_at(&mut v, 10.0);
        d.round(&mut v, 0.1);
        v.on_event(&Event::Idle { now: 5.0, idle: 4.0 });
        assert_eq!(v.base.is_infinite(), preset == "linux");
    }
}

#[test]
fn a_queue_between_alpha_and_beta_is_the_fixed_point() {
    for (preset, range) in
        [("", 1.9..=4.1), ("ns2", 0.5..=3.5), ("linux", 1.9..=5.0), ("ns3", 1.0..=4.1), ("linux-2.6", 1.4..=4.1)]
    {
        let (mut d, mut v) = (Driver::new(), vegas(preset));
        d.start(&mut v, 10.0);
        let queue = run_over_link(&mut d, &mut v, 1000.0, 0.1, 200.0);
        assert!(range.contains(&queue), "{preset}: {queue}");
    }
}

#[test]
fn after_an_undo_the_delay_leads_again() {
    for (preset, timeout) in [("linux-2.6", false), ("ns3", false), ("linux-2.6", true), ("ns3", true), ("linux", true)]
    {
        let (d, mut v) = (Driver::new(), vegas(preset));
        d.start_at(&mut v, 40.0);
        if timeout {
            d.time_out(&mut v);
        } else {
            v.on_event(&Event::Congestion(d.signal(&v, Cause::Loss)));
        }
        assert!(!v.enabled, "{preset}");
        v.on_event(&Event::Undo { now: d.now });
        assert!(v.enabled, "{preset}: no end of a recovery follows");
    }
}

/// An ACK of Linux from `state` to `then` that acknowledges the segments below `una` of `next`, with an RTT of `rtt` s.
fn linux_ack(d: &mut Driver, v: &mut Vegas, (state, then): (Recovery, Recovery), (una, next): (u32, u32), rtt: f64) {
    let ack = d.make_ack(v, 1.0, rtt, true);
    v.on_ack(&Ack { sample: Some(Sample { state, then, una, next, ..Sample::default() }), ..ack });
}

#[test]
fn a_round_of_linux_begins_where_a_disorder_ends() {
    use Recovery::{Disorder, Open};
    let (mut d, mut v) = (Driver::new(), vegas("linux"));
    d.start_at(&mut v, 100.0);
    v.base = 0.1;
    linux_ack(&mut d, &mut v, (Open, Open), (1, 101), 0.2);
    for una in 2..5 {
        linux_ack(&mut d, &mut v, (Open, Disorder), (una, 101), 0.2);
    }
    linux_ack(&mut d, &mut v, (Disorder, Disorder), (102, 150), 0.2);
    assert_eq!(v.window(), 100.0, "no round ends in a disorder");
    linux_ack(&mut d, &mut v, (Disorder, Open), (103, 150), 0.2);
    assert_eq!(v.round.samples, 0, "the ACK's own sample is forgotten");
    for una in [148, 149, 150, 151] {
        assert_eq!(v.window(), 100.0);
        linux_ack(&mut d, &mut v, (Open, Open), (una, 200), 0.2);
    }
    assert_eq!(v.window(), 99.0, "a hundred segments in queues");
}

#[test]
fn linux_adds_a_microsecond_to_each_rtt_and_forgets_its_base_when_nothing_is_in_flight() {
    let (mut d, mut v) = (Driver::new(), vegas("linux"));
    d.start_at(&mut v, 100.0);
    (v.base, v.round) = (0.1, RoundTrip { min: 0.103, sum: 0.309, samples: 3, acked: 3.0 });
    v.round_linux(1.0);
    assert_eq!((v.last_diff, v.window()), (2.0, 100.0), "100 · 3000 / 100,001 is just below 3");
    v.on_event(&Event::Linux(linux::Event::Restart(Restart { next: 7, ..Restart::default() })));
    linux_ack(&mut d, &mut v, (Recovery::Open, Recovery::Open), (8, 100), 0.2);
    assert_eq!(v.base, 0.2);
    assert_eq!(v.round.samples, 0, "the ACK of segment 7 ends the round trip");
}
