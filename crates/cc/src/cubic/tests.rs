//! Tests of CUBIC.

use super::*;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::linux::{Recovery, Sample};
use crate::testing::{Driver, close, settings};

fn cubic(preset: &str, values: &[(&str, Setting)]) -> Cubic {
    Cubic::new(&settings(&Cubic::ENTRY, preset, values).expect("it is right")).expect("it is right")
}

/// An epoch that begins at time 0, after a loss at a window of `w_max`.
fn epoch(preset: &str, w_max: f64) -> Cubic {
    let (d, mut c) = (Driver::new(), cubic(preset, &[]));
    d.start_at(&mut c, w_max);
    d.lose(&mut c);
    c.epoch.begin(0.0, c.win.w, c.p.c);
    c
}

#[test]
fn the_curve_has_the_published_points() {
    let paper = [(0.0, 800.0), (1.0, 866.47), (2.0, 916.29), (5.0, 989.87), (10.0, 1003.51), (15.0, 1140.94)];
    let rfc = [(0.0, 700.0), (1.0, 788.56), (2.0, 857.70), (5.0, 972.72), (15.0, 1082.75)];
    for (preset, k, points) in [("2005", 7.9370, &paper[..]), ("", 9.0856, &rfc[..])] {
        let c = epoch(preset, 1000.0);
        close(c.epoch.k, k, 1e-4);
        for (t, w) in points {
            close(c.w_cubic(*t), *w, 1e-4);
        }
    }
    for (preset, w_max, k) in
        [("", 100.0, 4.2172), ("", 10_000.0, 19.574), ("2005", 100.0, 3.6840), ("2005", 10_000.0, 17.100)]
    {
        close(epoch(preset, w_max).epoch.k, k, 1e-4);
    }
}

#[test]
fn the_reno_window_in_closed_form_has_the_published_values() {
    for (preset, srtt, w) in [("rfc8312", 0.1, 726.47), ("rfc8312", 0.01, 964.71), ("2005", 0.1, 816.67)] {
        close(epoch(preset, 1000.0).reno_window(5.0, srtt, 0.0), w, 1e-4);
    }
}

#[test]
fn fast_convergence_aims_lower_when_the_maximum_fell() {
    for (preset, w_max) in [("", 680.0), ("2005", 720.0), ("linux", 680.0), ("linux-2.6", 719.0)] {
        let mut c = epoch(preset, 1000.0);
        c.win.w = 800.0;
        Driver::new().lose(&mut c);
        assert_eq!(c.epoch.w_max, w_max, "{preset}");
    }
}

#[test]
fn an_ecn_echo_keeps_as_much_as_a_loss_or_by_rfc_8511_more() {
    for (preset, w) in [("", 700.0), ("abe", 850.0)] {
        let (d, mut c) = (Driver::new(), cubic(preset, &[]));
        d.start_at(&mut c, 1000.0);
        let signal = d.signal(&c, Cause::Ecn);
        c.on_event(&Event::Congestion(signal));
        assert_eq!((c.window(), c.epoch.w_max, c.epoch.cwnd_prior), (w, 1000.0, 1000.0));
    }
}

#[test]
fn w_est_grows_by_alpha_up_to_the_window_of_the_last_loss_and_by_one_from_there() {
    let mut c = epoch("", 1000.0);
    assert_eq!(c.epoch.w_est, 700.0);
    close(c.reno_window(0.0, 0.1, 100.0), 700.0 + 52.941, 1e-4);
    c.epoch.w_est = 1000.0;
    assert_eq!(c.reno_window(0.0, 0.1, 100.0), 1100.0);
}

#[test]
fn k_comes_from_the_window_that_the_epoch_begins_with() {
    // The recovery ends at a window other than beta times the maximum.
    let mut c = epoch("", 1000.0);
    c.on_event(&Event::Moderate { window: 600.0 });
    c.epoch.begin(0.0, c.win.w, c.p.c);
    close(c.epoch.k, libm::cbrt(400.0 / 0.4), 1e-9);
    close(c.w_cubic(0.0), 600.0, 1e-9);
    c.win.w = 1100.0;
    c.epoch.begin(0.0, c.win.w, c.p.c);
    assert_eq!((c.epoch.k, c.epoch.origin), (0.0, 1100.0));
}

#[test]
fn constants_derived_from_beta_are_the_published_ones() {
    close(cubic("", &[]).alpha, 0.52941, 1e-4);
    close(cubic("2005", &[]).alpha, 0.33333, 1e-4);
    assert_eq!(cubic("linux", &[]).linux.beta_scale, 15.0);
    assert_eq!(cubic("linux-2.6", &[]).linux.beta_scale, 23.0);
}

#[test]
fn the_window_follows_the_curve() {
    for preset in ["", "rfc8312"] {
        let (mut d, mut c) = (Driver::new(), cubic(preset, &[]));
        d.start_at(&mut c, 1000.0);
        d.lose(&mut c);
        for _ in 0..150 {
            d.round(&mut c, 0.1);
            // The window lies between the cubic function's values two round trips earlier and one round trip later.
            let (low, high) = (c.w_cubic(d.now - 0.2), c.w_cubic(d.now + 0.1));
            assert!((low - 1.0..=high + 1.0).contains(&c.window()), "{} at {}", c.window(), d.now);
        }
    }
}

#[test]
fn the_reno_window_is_a_lower_bound_and_speeds_up_past_the_last_maximum() {
    let (mut d, mut c) = (Driver::new(), cubic("", &[]));
    d.start_at(&mut c, 100.0);
    d.lose(&mut c);
    let mut growth = Vec::new();
    for _ in 0..100 {
        let before = c.window();
        d.round(&mut c, 0.001);
        growth.push(c.window() - before);
    }
    close(growth[10], c.alpha, 0.03);
    close(growth[90], 1.0, 0.03);
}

// The value of S_max, 160 segments/s, was not verified in the paper.
#[test]
fn growth_in_2005_is_at_most_s_max() {
    let (mut d, mut c) = (Driver::new(), cubic("2005", &[]));
    d.start_at(&mut c, 10_000.0);
    d.lose(&mut c);
    let before = c.window();
    for _ in 0..10 {
        d.round(&mut c, 0.1);
    }
    close(c.window() - before, 160.0, 0.01);
}

#[test]
fn a_round_trip_never_grows_by_more_than_half() {
    let (mut d, mut c) = (Driver::new(), cubic("", &[]));
    d.start_at(&mut c, 100.0);
    d.lose(&mut c);
    d.round(&mut c, 0.1);
    d.now += 60.0;
    let before = c.window();
    d.burst(&mut c, 0.1, 0.05);
    assert!(c.window() <= before * libm::exp(0.5) && c.window() > 1.4 * before);
}

#[test]
fn the_clock_stands_still_while_idle_or_limited_by_the_application() {
    let (mut d, mut c) = (Driver::new(), cubic("", &[]));
    d.start_at(&mut c, 1000.0);
    d.lose(&mut c);
    d.round(&mut c, 0.1);
    d.window_limited = false;
    for _ in 0..100 {
        d.ack(&mut c, 1.0, 0.1, 0.1);
    }
    d.window_limited = true;
    d.now += 30.0;
    c.on_event(&Event::Idle { now: d.now, idle: 30.0 });
    c.win.w = 1000.0;
    d.round(&mut c, 0.1);
    // The epoch began with the first ACK.
    close(d.now - c.epoch.start, 0.2, 0.01);
}

#[test]
fn a_timeout_starts_from_the_window_that_slow_start_reaches() {
    let (mut d, mut c) = (Driver::new(), cubic("", &[("slow_start", Setting::Text("standard"))]));
    d.start_at(&mut c, 1000.0);
    d.time_out(&mut c);
    assert_eq!((c.window(), c.ssthresh()), (1.0, 700.0));
    while c.window() < 700.0 {
        d.round(&mut c, 0.1);
    }
    d.ack(&mut c, 1.0, 0.1, 0.001);
    assert_eq!(c.epoch.k, 0.0);
    assert!(c.epoch.w_max >= 700.0 && c.epoch.w_max < 702.0);
}

#[test]
fn an_undo_restores_the_epoch() {
    let mut c = epoch("", 1000.0);
    let (before, w) = (c.epoch.k, c.window());
    Driver::new().lose(&mut c);
    assert!(!c.epoch.begun);
    c.on_event(&Event::Undo { now: 0.0 });
    assert_eq!((c.epoch.k, c.epoch.begun, c.window()), (before, true, w));
}

#[test]
fn an_undo_of_linux_restores_only_the_window() {
    let mut c = epoch("linux", 1000.0);
    let w = c.window();
    Driver::new().lose(&mut c);
    let w_max = c.epoch.w_max;
    c.on_event(&Event::Undo { now: 0.0 });
    assert_eq!((c.window(), c.epoch.begun, c.epoch.w_max), (w, false, w_max));
}

#[test]
fn linux_keeps_its_divisor_for_31_ms_if_a_loss_leaves_the_window_of_the_last_update() {
    let mut c = epoch("linux", 4.0);
    assert_eq!(c.window(), 2.0);
    (c.linux.at_window, c.linux.at_time, c.linux.cnt) = (2.0, 1.0, 50.0);
    c.linux.grow(1.02, 1.0, &mut c.epoch, (&c.p, &mut c.win));
    assert_eq!((c.linux.cnt, c.linux.at_time), (50.0, 1.0));
    c.linux.grow(1.05, 1.0, &mut c.epoch, (&c.p, &mut c.win));
    assert!(c.linux.cnt < 50.0 && c.linux.at_time == 1.05);
    Driver::new().lose(&mut c);
    assert_eq!(c.linux.at_window, 2.0, "a loss does not forget it");
}

#[test]
fn linux_s_divisor_is_the_curve_in_whole_segments() {
    let mut c = epoch("linux", 1000.0);
    assert_eq!(c.window(), 700.0);
    // Target at 1 s: 1000 - floor(.40039 (9.081 - 1)^3) = 789.
    close(c.linux.cubic_cnt(1.0, &c.epoch, (&c.p, &c.win)), (700.0_f64 / 89.0).floor(), 1e-12);
    c.win.w = 2000.0;
    assert_eq!(c.linux.cubic_cnt(1.0, &c.epoch, (&c.p, &c.win)), 200_000.0);
    let mut fresh = cubic("linux", &[("slow_start", Setting::Text("standard"))]);
    let mut d = Driver::new();
    d.start_at(&mut fresh, 1000.0);
    d.ack(&mut fresh, 1.0, 0.1, 0.1);
    assert_eq!(fresh.linux.cnt, 20.0);
}

#[test]
fn the_growth_cap_of_linux_2_6_needs_timestamps_and_the_far_side_of_the_origin() {
    let capped = |preset: &str, now: f64| {
        let mut c = epoch(preset, 10_000.0);
        let ack = Driver::new().make_ack(&c, 1.0, 0.1, false);
        c.linux.sample(&Ack { now: 2.0, ..ack }, &c.epoch, (&c.p, &mut c.win));
        c.win.w = 9000.0;
        // At this window and RTT, 16 segments per 0.1 s are one segment for each 562 segments acknowledged.
        c.linux.cubic_cnt(now, &c.epoch, (&c.p, &c.win)) == 562.0
    };
    assert!(capped("linux-2.6", 40.0));
    assert!(!capped("linux-2.6", 10.0));
    assert!(!capped("ns2", 40.0));
}

#[test]
fn an_epoch_of_linux_2_6_is_the_one_that_ns_2_shows() {
    // A run of ns-2.35 TCP/Linux with timestamps: one flow at 622 Mbit/s and 100 ms, after a third loss at 7870
    // segments.
    let mut c = cubic("linux-2.6", &[]);
    let mut d = Driver::new();
    d.start_at(&mut c, 8700.0);
    d.lose(&mut c);
    c.win.w = 7870.0;
    d.lose(&mut c);
    assert_eq!((c.window(), c.epoch.w_max), (6294.0, 7082.0));
    // The window was reduced at 1.94 s, and recovery took a round trip; the RTT was 0.1 s, without a queue until 20 s.
    d.now = 2.06;
    let mut course = Vec::new();
    while d.now < 20.05 {
        d.round(&mut c, 0.1);
        course.push((d.now, c.window()));
    }
    for (t, w) in
        [(3.0, 6466.0), (4.0, 6613.0), (5.0, 6734.0), (7.0, 6910.0), (9.0, 7014.0), (14.0, 7082.0), (20.0, 7146.0)]
    {
        let got = course.iter().find(|(now, _)| (now - t).abs() < 0.05).expect("it is on the way").1;
        close(got, w, 2e-3);
    }
}

#[test]
fn linux_and_the_rfc_agree_on_the_course_of_an_epoch() {
    let (mut d, mut rfc, mut linux) = (Driver::new(), cubic("", &[]), cubic("linux", &[]));
    d.start_at(&mut rfc, 1000.0);
    d.start_at(&mut linux, 1000.0);
    d.lose(&mut rfc);
    d.lose(&mut linux);
    let mut other = Driver::new();
    for _ in 0..150 {
        d.round(&mut rfc, 0.1);
        other.round(&mut linux, 0.1);
        close(linux.window(), rfc.window(), 0.015);
    }
}

#[test]
fn hystart_lowers_the_threshold_in_a_recovery_below_it() {
    let (d, mut c) = (Driver::new(), cubic("linux", &[]));
    d.start_at(&mut c, 83.0);
    c.win.ssthresh = f64::INFINITY;
    d.lose(&mut c);
    assert_eq!(c.ssthresh(), 58.0);
    // Eight samples are counted, and the ninth shows an RTT of 5 ms above the smallest, which is 14 ms.
    let mut arrive = |i: u32, window: f64| {
        let state = Recovery::Repair;
        let sample = Sample { state, then: state, una: 73, next: 156, window, ..Sample::default() };
        let rtt = if i == 0 { 0.014 } else { 0.019 };
        // The gaps of 3 ms form no ACK train.
        let now = 1.0 + 0.003 * f64::from(i);
        let ack = Ack { now, acked: 1.0, rtt: Some(rtt), in_recovery: true, sample: Some(sample), ..Ack::default() };
        c.on_ack(&ack);
        (c.window(), c.ssthresh())
    };
    assert_eq!(arrive(0, 60.0), (58.0, 58.0), "no sample is taken above the threshold");
    for i in 0..10 {
        assert_eq!(arrive(i, 55.0), (58.0, 58.0), "the round's smallest RTT is 14 ms");
    }
}

#[test]
fn hystart_ends_slow_start_of_a_recovery_at_the_recovery_s_window() {
    let (d, mut c) = (Driver::new(), cubic("linux", &[]));
    d.start_at(&mut c, 83.0);
    c.win.ssthresh = f64::INFINITY;
    c.linux.delay_min = 0.014;
    d.lose(&mut c);
    let mut arrive = |i: u32, window: f64| {
        let state = Recovery::Repair;
        let sample = Sample { state, then: state, una: 73, next: 156, window, ..Sample::default() };
        let now = 1.0 + 0.003 * f64::from(i);
        let ack = Ack { now, acked: 1.0, rtt: Some(0.019), in_recovery: true, sample: Some(sample), ..Ack::default() };
        c.on_ack(&ack);
        (c.window(), c.ssthresh())
    };
    for i in 0..8 {
        assert_eq!(arrive(i, 56.0), (58.0, 58.0), "eight samples are only counted");
    }
    assert_eq!(arrive(8, 55.0), (55.0, 55.0), "19 ms are more than 14 + 4 ms");
    assert_eq!(arrive(9, 50.0), (55.0, 55.0), "slow start has ended");
}
