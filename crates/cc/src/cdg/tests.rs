//! Tests of CDG.

use super::*;
use crate::param::Setting;
use crate::reports::Cause;
use crate::testing::{Driver, close, settings};

fn cdg(values: &[(&str, Setting)]) -> Cdg {
    Cdg::new(&settings(&Cdg::ENTRY, "", values).expect("it is right")).expect("it is right")
}

/// The gradient after `rounds` more round trips, each with an RTT higher by `step`.
fn climb(c: &mut Cdg, from: f64, step: f64, rounds: u32) -> f64 {
    let at = |k: u32| {
        let rtt = from + step * f64::from(k);
        Extremes { min: rtt, max: rtt }
    };
    (1..=rounds).map(|k| c.gradient(at(k), at(k - 1))).last().unwrap_or(0.0)
}

#[test]
fn the_probability_of_a_back_off_has_the_computed_values() {
    for (mean_ms, p) in [(0.5, 0.1546), (1.0, 0.2854), (2.0, 0.4893), (5.0, 0.8136)] {
        let mut c = cdg(&[]);
        let gradient = climb(&mut c, 0.1, mean_ms * 1e-3, 20);
        close(gradient, 8.0 * mean_ms * 1e-3, 1e-9);
        close(c.probability(gradient), p, 5e-4);
    }
}

#[test]
fn the_round_trip_of_the_handshake_is_the_first_to_compare_with() {
    let mut c = cdg(&[]);
    c.on_event(&Event::Start(Start { rtt: Some(0.300_024), ..Start::default() }));
    let first = Driver::new().make_ack(&c, 1.0, 0.300_300, true);
    c.on_ack(&first);
    let before = c.previous.expect("a round has ended");
    close(before.min, 0.300_024, 1e-9);
    close(before.max, 0.300_300, 1e-9);
}

#[test]
fn linux_compares_with_the_syn_until_an_idle_period() {
    let mut c = Cdg::new(&settings(&Cdg::ENTRY, "linux", &[]).expect("it is right")).expect("it is right");
    c.on_start(&Start { rtt: Some(0.149_040), ..Start::default() });
    let module = c.module.as_mut().expect("Linux's arithmetic");
    assert_eq!(module.rtt, module::Extremes { min: 149_040, max: 149_040 });
    module.restart(10.0);
    assert_eq!(module.rtt, module::Extremes::default());
}

#[test]
fn missing_gradients_are_extrapolated() {
    for rounds in 1..=20 {
        close(climb(&mut cdg(&[]), 0.1, 1e-3, rounds), 8e-3, 1e-9);
    }
}

#[test]
fn it_backs_off_as_often_as_the_probability_says() {
    let mut c = cdg(&[("use_ineff", Setting::Num(0.0))]);
    c.draws = Draws::new(3);
    let n = (0..20_000).filter(|_| c.backs_off(8e-3)).count();
    close(n as f64 / 20_000.0, 0.2854, 0.03);
}

#[test]
fn after_five_back_offs_without_effect_the_gradient_is_ignored() {
    let mut c = cdg(&[]);
    assert_eq!((0..10).filter(|_| c.backs_off(10.0)).count(), 5);
    climb(&mut c, 0.2, -1e-4, 1);
    assert!(c.backs_off(10.0));
}

#[test]
fn a_back_off_keeps_the_root_of_a_half_and_a_round_trip_without_growth() {
    let (mut d, mut c) = (Driver::new(), cdg(&[("backoff_factor", Setting::Num(1e6))]));
    d.start_at(&mut c, 1000.0);
    d.round(&mut c, 0.1);
    d.round(&mut c, 0.1);
    let w = c.window();
    // The ACK that ends a round is one of the round's samples: the largest RTT rises by 10 ms.
    let ack = d.make_ack(&c, 1.0, 0.11, true);
    c.on_ack(&ack);
    assert_eq!(c.window(), w);
    assert!(c.shadow >= w);
    let reduced = 724.0 / 1024.0 * w;
    d.ack(&mut c, w / 2.0, 0.11, 0.001);
    close(c.window(), (w + reduced) / 2.0, 1e-12);
    d.ack(&mut c, w / 2.0, 0.11, 0.001);
    close(c.window(), reduced, 1e-12);
    d.ack(&mut c, 1.0, 0.11, 0.001);
    close(c.window(), reduced, 1e-12);
    let ack = d.make_ack(&c, 1.0, 0.11, true);
    c.on_ack(&ack);
    assert!(c.window() > reduced && c.window() < reduced + 1.0 && !c.backing_off);
}

#[test]
fn an_undo_ends_a_back_off() {
    let (mut d, mut c) = (Driver::new(), cdg(&[]));
    d.start(&mut c, 10.0);
    (c.previous, c.rtt) = (Some(Extremes { min: 0.1, max: 0.1 }), Some(Extremes { min: 1.0, max: 1.0 }));
    assert!((0..100).any(|_| c.end_round() || {
        c.rtt = Some(Extremes { min: 9.0, max: 9.0 });
        false
    }));
    c.on_event(&Event::Undo { now: 0.2 });
    assert!(c.ssthresh().is_infinite());
    d.round(&mut c, 0.1);
    assert!(c.window() <= 20.0, "{}", c.window());
}

#[test]
fn a_back_off_from_1000_leaves_707() {
    let (d, mut c) = (Driver::new(), cdg(&[("backoff_factor", Setting::Num(1e6))]));
    d.start_at(&mut c, 1000.0);
    (c.previous, c.rtt) = (Some(Extremes { min: 0.1, max: 0.1 }), Some(Extremes { min: 0.1, max: 0.2 }));
    assert!(c.end_round());
    c.walk_down(1000.0);
    assert_eq!(c.window().floor(), 707.0);
}

#[test]
fn a_loss_falls_back_to_half_of_the_shadow_window() {
    let d = Driver::new();
    for (shadow, w) in [(1200.0, 600.0), (500.0, 400.0), (4000.0, 800.0)] {
        let mut c = cdg(&[]);
        d.start_at(&mut c, 800.0);
        c.shadow = shadow;
        d.lose(&mut c);
        assert_eq!(c.window(), w, "shadow {shadow}");
    }
    let mut c = cdg(&[("use_shadow", Setting::Bool(false))]);
    d.start_at(&mut c, 800.0);
    c.shadow = 1200.0;
    d.lose(&mut c);
    assert_eq!(c.window(), 400.0);
}

#[test]
fn a_repeated_timeout_keeps_the_shadow_window() {
    let (d, mut c) = (Driver::new(), cdg(&[]));
    d.start_at(&mut c, 800.0);
    c.shadow = 1200.0;
    let timeout = d.signal(&c, Cause::Loss);
    c.on_event(&Event::Timeout(timeout));
    assert_eq!((c.shadow, c.ssthresh()), (600.0, 600.0));
    c.on_event(&Event::Timeout(Signal { repeated: true, ..timeout }));
    assert_eq!((c.shadow, c.ssthresh()), (600.0, 600.0));
}

#[test]
fn with_tolerance_a_loss_without_a_full_queue_changes_nothing() {
    let d = Driver::new();
    for (grow_max, w) in [(1e-3, 800.0), (0.0, 400.0)] {
        let mut c = cdg(&[("use_tolerance", Setting::Bool(true))]);
        d.start_at(&mut c, 800.0);
        // The smallest RTT rises. If the largest RTT does not rise, the queue is full.
        c.gradient(Extremes { min: 0.101, max: 0.2 + grow_max }, Extremes { min: 0.1, max: 0.2 });
        assert_eq!(c.queue, if grow_max > 0.0 { Queue::NotFull } else { Queue::Full });
        d.lose(&mut c);
        assert_eq!(c.window(), w);
    }
}

#[test]
fn delayed_acks_of_one_segment_count_for_the_minimum_only() {
    let (mut d, mut c) = (Driver::new(), cdg(&[]));
    d.start_at(&mut c, 100.0);
    d.ack(&mut c, 2.0, 0.1, 0.001);
    d.ack(&mut c, 1.0, 0.14, 0.001);
    d.ack(&mut c, 2.0, 0.1, 0.001);
    d.ack(&mut c, 1.0, 0.09, 0.001);
    let seen = c.rtt.expect("it has samples");
    assert_eq!((seen.min, seen.max), (0.09, 0.1));
    d.ack(&mut c, 1.0, 0.14, 0.001);
    assert_eq!(c.rtt.expect("it has samples").max, 0.14);
}

#[test]
fn slow_start_ends_when_the_smallest_rtt_of_a_round_rises_by_an_eighth() {
    for (rtt, ends) in [(0.112, false), (0.113, true)] {
        let (mut d, mut c) = (Driver::new(), cdg(&[("backoff_factor", Setting::Num(0.0))]));
        d.start(&mut c, 20.0);
        d.burst(&mut c, 0.1, 0.01);
        d.burst(&mut c, rtt, 0.01);
        d.burst(&mut c, rtt, 0.01);
        assert_eq!(c.ssthresh().is_finite(), ends, "{rtt}");
    }
    // Slow start also ends when an ACK train lasts half of the smallest RTT.
    let (mut d, mut c) = (Driver::new(), cdg(&[]));
    d.start(&mut c, 100.0);
    d.burst(&mut c, 0.1, 0.049);
    assert!(c.ssthresh().is_infinite());
    d.burst(&mut c, 0.1, 0.06);
    assert!(c.ssthresh().is_finite());
}

#[test]
fn the_window_of_gradients_must_be_a_power_of_two() {
    let error = settings(&Cdg::ENTRY, "", &[("window", Setting::Num(6.0))]).and_then(|s| Cdg::new(&s).map(|_| ()));
    assert_eq!(error.expect_err("it is wrong").to_string(), "cdg: window 6 must be a power of two");
}
