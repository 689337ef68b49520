//! Tests of TCP-Illinois.

use super::*;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::linux::{Recovery, Sample};
use crate::param::Setting;
use crate::reports::Cause;
use crate::reports::Start;
use crate::testing::{Driver, close, settings};

fn illinois(preset: &str, values: &[(&str, Setting)]) -> Illinois {
    Illinois::new(&settings(&Illinois::ENTRY, preset, values).expect("it is right")).expect("it is right")
}

/// Illinois in congestion avoidance at window `w`, after RTTs from 0.1 to 0.2 s.
fn at(preset: &str, values: &[(&str, Setting)], w: f64) -> (Driver, Illinois) {
    let (d, mut i) = (Driver::new(), illinois(preset, values));
    let ssthresh = w.min(w - 1.0).max(2.0);
    i.on_event(&Event::Start(Start { initial_window: w, initial_ssthresh: ssthresh, ..Start::default() }));
    (i.base, i.max) = (0.1, 0.2);
    (d, i)
}

/// ACKs for one window at RTT `rtt`, of which the last one ends the round.
fn round(d: &mut Driver, i: &mut Illinois, rtt: f64) {
    let n = i.window().floor();
    for k in 1..=n as u64 {
        d.now += rtt / n;
        let ack = d.make_ack(i, 1.0, rtt, k == n as u64);
        i.on_ack(&ack);
    }
}

#[test]
fn alpha_and_beta_follow_the_published_curves() {
    let i = illinois("", &[]);
    for (part, alpha) in [
        (0.01, 10.0),
        (0.02, 7.5381),
        (0.05, 4.3358),
        (0.1, 2.5385),
        (0.2, 1.38785),
        (0.3, 0.95498),
        (0.5, 0.58812),
        (0.8, 0.37312),
        (1.0, 0.3),
    ] {
        close(i.alpha_curve(part * 0.1, 0.1), alpha, 1e-4);
    }
    for (part, beta) in [(0.1, 0.125), (0.2, 0.178571), (0.3, 0.232143), (0.5, 0.339286), (0.8, 0.5), (1.0, 0.5)] {
        close(i.beta_curve(part * 0.1, 0.1), beta, 1e-5);
    }
}

#[test]
fn linux_has_the_published_fixed_point_values() {
    let i = illinois("linux", &[]);
    for (da, alpha, beta) in [(20_000.0, 176.0, 11.0), (50_000.0, 74.0, 21.0), (100_000.0, 38.0, 32.0)] {
        assert_eq!(i.alpha_linux(da, 100_000.0, 1000.0), alpha / 128.0);
        assert_eq!(i.beta_linux(da, 100_000.0), beta / 64.0);
    }
}

#[test]
fn a_round_sets_both_from_its_mean_delay() {
    let (mut d, mut i) = at("", &[], 1000.0);
    round(&mut d, &mut i, 0.12);
    close(i.alpha, 1.38785, 1e-3);
    close(i.beta, 0.178571, 1e-3);
    let (mut d, mut i) = at("linux", &[], 1000.0);
    round(&mut d, &mut i, 0.12);
    assert_eq!((i.alpha, i.beta), (176.0 / 128.0, 11.0 / 64.0));
}

#[test]
fn the_window_grows_by_alpha_in_a_round() {
    for preset in ["", "linux", "linux-2.6"] {
        let (mut d, mut i) = at(preset, &[], 1000.0);
        round(&mut d, &mut i, 0.1);
        let before = i.window();
        assert_eq!(i.alpha, 10.0);
        d.round(&mut i, 0.1);
        // Linux drops the fractional part of each step.
        close(i.window() - before, 10.0, 0.1);
    }
    let (mut d, mut i) = at("linux", &[], 1000.0);
    round(&mut d, &mut i, 0.15);
    let before = i.window();
    for _ in 0..4 {
        d.round(&mut i, 0.15);
    }
    // The increase is 74/128 segments a round trip, so the second step is after 3.46 round trips.
    assert_eq!(i.window() - before, 2.0);
}

#[test]
fn linux_spends_at_a_large_alpha_what_it_counted_at_a_small_one() {
    let (mut d, mut i) = at("linux", &[], 1000.0);
    (i.alpha, i.win.counter) = (38.0 / 128.0, 3000.0);
    d.ack(&mut i, 1.0, 0.1, 0.001);
    assert_eq!(i.window(), 1000.0);
    i.alpha = 10.0;
    d.ack(&mut i, 1.0, 0.1, 0.001);
    assert_eq!(i.window(), 1030.0);
}

#[test]
fn a_loss_gives_up_beta_and_in_2_6_22_keeps_it() {
    for (preset, rtt, left) in [
        ("linux", 0.15, 672.0),
        ("linux-2.6", 0.15, 328.0),
        ("linux", 0.1, 875.0),
        ("linux-2.6", 0.1, 125.0),
        ("linux-2.6.23", 0.1, 875.0),
        ("linux", 0.2, 500.0),
        ("linux-2.6", 0.2, 500.0),
    ] {
        let (mut d, mut i) = at(preset, &[], 1000.0);
        round(&mut d, &mut i, rtt);
        i.win.w = 1000.0;
        d.lose(&mut i);
        assert_eq!(i.window(), left, "{preset} at {rtt}");
    }
}

#[test]
fn below_the_threshold_it_is_standard_tcp() {
    let (mut d, mut i) = at("", &[], 6.0);
    round(&mut d, &mut i, 0.1);
    assert_eq!((i.alpha, i.beta), (1.0, 0.5));
}

#[test]
fn five_good_rounds_bring_the_largest_increase_back() {
    for (consecutive, good_before) in [(false, 4), (true, 5)] {
        let (mut d, mut i) = at("", &[("theta_consecutive", Setting::Bool(consecutive))], 200.0);
        round(&mut d, &mut i, 0.15);
        round(&mut d, &mut i, 0.1);
        round(&mut d, &mut i, 0.15);
        for _ in 1..good_before {
            round(&mut d, &mut i, 0.1);
            close(i.alpha, 0.588, 0.01);
        }
        round(&mut d, &mut i, 0.1);
        assert_eq!(i.alpha, 10.0, "{consecutive}");
        round(&mut d, &mut i, 0.1);
        assert_eq!(i.alpha, 10.0);
    }
}

#[test]
fn without_any_delay_known_it_grows_fastest() {
    let (mut d, mut i) = (Driver::new(), illinois("", &[]));
    d.start_at(&mut i, 100.0);
    d.round(&mut i, 0.1);
    d.round(&mut i, 0.1);
    assert_eq!((i.alpha, i.beta), (10.0, 0.125));
}

#[test]
fn one_late_sample_spoils_the_largest_rtt_unless_it_follows_a_loss_and_those_are_ignored() {
    // Queueing delays of up to 100 ms, and after a loss one sample that the host delayed by a second.
    let beta_after = |preset: &str, values: &[(&str, Setting)]| {
        let (mut d, mut i) = at(preset, values, 1000.0);
        round(&mut d, &mut i, 0.2);
        assert_eq!(i.beta, 0.5);
        d.lose(&mut i);
        d.ack(&mut i, 1.0, 1.2, 0.01);
        round(&mut d, &mut i, 0.2);
        round(&mut d, &mut i, 0.2);
        round(&mut d, &mut i, 0.2);
        (i.alpha, i.beta)
    };
    let (alpha, beta) = beta_after("linux-2.6.23", &[]);
    assert!(alpha > 2.0 && beta == 0.125, "{alpha} {beta}");
    assert_eq!(beta_after("leith2008", &[]), (38.0 / 128.0, 0.5));
    // The mean of a round of 500 samples hardly changes.
    let (_, beta) = beta_after("", &[("max_source", Setting::Text("round-mean"))]);
    close(beta, 0.5, 1e-9);
}

#[test]
fn a_timeout_halves_and_starts_afresh_but_linux_takes_the_beta_of_the_moment() {
    for (preset, ssthresh) in [("", 500.0), ("linux", 875.0)] {
        let (mut d, mut i) = at(preset, &[], 1000.0);
        round(&mut d, &mut i, 0.1);
        i.win.w = 1000.0;
        d.time_out(&mut i);
        assert_eq!((i.window(), i.ssthresh()), (1.0, ssthresh));
        assert_eq!((i.alpha, i.beta), STANDARD);
    }
}

#[test]
fn a_round_that_ends_in_recovery_is_decided_when_recovery_is_over() {
    let (mut d, mut i) = at("", &[], 1000.0);
    i.on_event(&Event::Congestion(d.signal(&i, Cause::Loss)));
    let ack = d.make_ack(&i, 1.0, 0.15, true);
    i.on_ack(&Ack { in_recovery: true, ..ack });
    assert_eq!(i.alpha, 10.0);
    i.on_ack(&Ack { round_start: false, ..ack });
    close(i.alpha, 0.588, 1e-2);
}

#[test]
fn a_round_of_linux_begins_where_the_window_may_grow_again() {
    let (mut d, mut i) = at("linux", &[], 1000.0);
    let mut decides = |una, next, in_recovery| {
        let ack = d.make_ack(&i, 1.0, 0.15, true);
        let sample = Some(Sample { una, next, ..Sample::default() });
        i.alpha = 0.0;
        i.on_ack(&Ack { sample, in_recovery, ..ack });
        i.alpha > 0.0
    };
    assert!(decides(1, 1001, false));
    assert!(!decides(1002, 1500, true), "no round ends in a recovery");
    assert!(decides(1500, 1600, false), "the end of the round is behind, although this ACK begins no round");
    assert!(!decides(1600, 2000, false) && decides(1601, 2000, false));
}

#[test]
fn the_ack_that_ends_a_recovery_of_linux_counts_all_segments_that_it_acknowledges() {
    let (mut d, mut i) = at("linux", &[], 100.0);
    let before = i.window();
    let ack = d.make_ack(&i, 1.0, 0.1, false);
    i.on_ack(&Ack { sample: Some(Sample { state: Recovery::Repair, acked: before, ..Sample::default() }), ..ack });
    assert_eq!(i.window(), before + i.alpha.floor(), "one segment is newly delivered, a window acknowledged");
}

#[test]
fn a_buffer_takes_1_7_times_as_many_rounds_to_fill_as_with_reno() {
    // One flow over a path of 0.1 s and 1000 segments, with a queue of 1000 segments.
    let (mut d, mut i) = at("", &[], 1001.0);
    let mut rounds = 0.0;
    while i.window() < 2000.0 {
        let rtt = 0.1 * (i.window() / 1000.0).max(1.0);
        round(&mut d, &mut i, rtt);
        rounds += 1.0;
    }
    close(rounds, 1700.5, 0.01);
}

#[test]
fn ranges_in_the_wrong_order_are_refused() {
    for wrong in [("alpha_min", 11.0), ("beta_min", 0.6), ("d2", 0.9)] {
        let settings = settings(&Illinois::ENTRY, "", &[(wrong.0, Setting::Num(wrong.1))]).expect("it is allowed");
        assert!(matches!(Illinois::new(&settings), Err(BuildError::Conflict { .. })));
    }
}
