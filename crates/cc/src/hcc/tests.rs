//! Tests of HCC: the published rules, the computed course of the search, and every interpretation of the open rules.

use super::*;
use crate::event::Event;
use crate::param::Setting;
use crate::reports::Cause;
use crate::testing::{Driver, close, settings};

fn hcc(preset: &str, values: &[(&str, Setting)]) -> Hcc {
    Hcc::new(&settings(&Hcc::ENTRY, preset, values).expect("it is right")).expect("it is right")
}

/// HCC with its averages set to queueing delay `q` and round-trip time `d`, independently of the ACKs.
fn at(mut h: Hcc, mode: Mode, w: f64, (q, d): (f64, f64)) -> Hcc {
    (h.mode, h.win.w) = (mode, w);
    h.delay.set(q, d);
    h
}

/// One update, whose increase is applied at once.
fn update(h: &mut Hcc) -> f64 {
    match h.loss_ref {
        Some(loss_ref) if h.mode == Mode::Loss => h.loss_update(loss_ref),
        _ => h.delay_update(),
    }
    h.win.w += h.spread.release(f64::INFINITY);
    h.win.w
}

fn searching(values: &[(&str, Setting)], preset: &str, from: f64, loss_ref: f64) -> Hcc {
    let mut h = at(hcc(preset, values), Mode::Loss, from, (0.016, 0.056));
    h.loss_ref = Some(loss_ref);
    h
}

/// Number of updates until the window exceeds the loss reference, and the window after these updates.
fn climb(mut h: Hcc, loss_ref: f64) -> (u32, f64) {
    let mut updates = 0;
    while h.win.w <= loss_ref {
        update(&mut h);
        updates += 1;
    }
    (updates, h.win.w)
}

#[test]
fn the_delay_s_update_has_the_computed_values() {
    for (w, d, q, next) in [
        (1000.0, 0.041, 0.0005, 1100.0),
        (1300.0, 0.056, 0.016, 1350.0),
        (1450.0, 0.058, 0.018, 1369.444),
        (2500.0, 0.080, 0.040, 2400.0),
        (1000.0, 0.04, 0.0, 1100.0),
    ] {
        close(update(&mut at(hcc("", &[]), Mode::Delay, w, (q, d))), next, 1e-6);
    }
    let anticipated = |w: f64, d, q| at(hcc("", &[]), Mode::Delay, w, (q, d)).distance() + w;
    close(anticipated(1000.0, 0.041, 0.0005), 32_800.0, 1e-9);
    close(anticipated(1300.0, 0.056, 0.016), 1400.0, 1e-9);
    close(anticipated(1450.0, 0.058, 0.018), 1288.889, 1e-6);
    close(anticipated(2500.0, 0.080, 0.040), 800.0, 1e-9);
}

#[test]
fn clipping_after_halving_doubles_the_climb() {
    let order = [("clip_order", Setting::Text("part_then_clip"))];
    assert_eq!(update(&mut at(hcc("", &order), Mode::Delay, 1000.0, (0.0005, 0.041))), 1200.0);
}

#[test]
fn the_search_has_the_computed_course() {
    for (preset, course) in [
        ("", [800.0, 900.0, 1000.0, 1100.0, 1175.0, 1231.25, 1273.4375]),
        ("prose", [800.0, 900.0, 1000.0, 1100.0, 1175.0, 1250.0, 1287.5]),
    ] {
        let mut h = searching(&[], preset, 700.0, 1400.0);
        for w in course {
            close(update(&mut h), w, 1e-9);
        }
    }
    let (updates, w) = climb(searching(&[], "", 700.0, 1400.0), 1400.0);
    assert_eq!(updates, 26);
    close(w, 1400.309, 1e-6);
    let (updates, w) = climb(searching(&[], "prose", 700.0, 1400.0), 1400.0);
    assert_eq!(updates, 23);
    close(w, 1400.328, 1e-6);
}

#[test]
fn the_search_takes_the_computed_number_of_updates() {
    for (i_min, expected) in [(0.01, 42), (0.1, 34), (1.0, 26), (2.0, 24), (10.0, 18), (32.0, 14)] {
        let h = searching(&[("i_min", Setting::Num(i_min))], "", 700.0, 1400.0);
        assert_eq!(climb(h, 1400.0).0, expected, "Imin {i_min}");
    }
    for (from, to, expected) in [(600.0, 1200.0, 25), (1500.0, 3000.0, 34), (2000.0, 4000.0, 39)] {
        assert_eq!(climb(searching(&[], "", from, to), to).0, expected, "from {from}");
    }
}

#[test]
fn a_loss_begins_the_search_and_passing_the_reference_ends_it() {
    let d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1400.0, (0.016, 0.056));
    d.lose(&mut h);
    assert_eq!((h.mode, h.loss_ref, h.win.w, h.win.ssthresh), (Mode::Loss, Some(1400.0), 700.0, 700.0));
    for _ in 0..26 {
        update(&mut h);
    }
    close(h.win.w, 1400.309, 1e-6);
    assert_eq!(h.mode, Mode::Loss);
    close(update(&mut h), 1400.155, 1e-6);
    assert_eq!((h.mode, h.loss_ref), (Mode::Delay, None));
    // With two updates beyond the loss reference, one more step of the search follows.
    let mut h = searching(&[("pass_rounds", Setting::Num(2.0))], "", 700.0, 1400.0);
    for _ in 0..27 {
        update(&mut h);
    }
    assert_eq!(h.mode, Mode::Loss);
    update(&mut h);
    assert_eq!(h.mode, Mode::Delay);
}

#[test]
fn a_loss_in_the_search_is_the_new_reference() {
    let d = Driver::new();
    for (values, reference) in [(vec![], 1231.25), (vec![("fast_convergence", Setting::Bool(true))], 1231.25 * 0.75)] {
        let mut h = searching(&values, "", 700.0, 1400.0);
        for _ in 0..6 {
            update(&mut h);
        }
        d.lose(&mut h);
        assert_eq!((h.mode, h.loss_ref, h.win.w), (Mode::Loss, Some(reference), 615.625));
    }
}

#[test]
fn a_new_loss_forgets_that_the_last_reference_was_passed() {
    let d = Driver::new();
    let mut h = searching(&[], "", 700.0, 1400.0);
    for _ in 0..26 {
        update(&mut h);
    }
    d.lose(&mut h);
    update(&mut h);
    assert_eq!(h.mode, Mode::Loss);
    close(h.win.w, 1400.309 / 2.0 + 100.0, 1e-6);
}

/// Windows over a fluid link without lag, with a BDP of `bdp` segments at 25,000 segments a second.
fn fluid(bdp: f64, from: f64, updates: u32) -> Vec<f64> {
    let mut h = at(hcc("", &[]), Mode::Delay, from, (0.0, 0.0));
    (0..updates)
        .map(|_| {
            h.delay.set((h.win.w - bdp).max(0.0) / 25_000.0, h.win.w.max(bdp) / 25_000.0);
            update(&mut h)
        })
        .collect()
}

#[test]
fn without_lag_the_loop_is_stable_below_b_3_only() {
    let course = fluid(1000.0, 1237.0, 60);
    for (w, expected) in course.iter().zip([1337.0, 1437.0, 1376.17, 1419.76, 1386.34]) {
        close(*w, expected, 1e-5);
    }
    close(course[59], 1400.0, 1e-3);
    let course = fluid(3000.0, 3037.0, 60);
    let (low, high) = (course[58].min(course[59]), course[58].max(course[59]));
    close(low, 3337.0, 1e-3);
    close(high, 3437.0, 1e-3);
}

#[test]
fn with_fast_s_step_it_settles_whatever_the_pipe_holds() {
    let mut h = at(hcc("steady", &[]), Mode::Delay, 3037.0, (0.0, 0.0));
    for _ in 0..60 {
        h.delay.set((h.win.w - 3000.0) / 25_000.0, h.win.w / 25_000.0);
        update(&mut h);
    }
    close(h.win.w, 3400.0, 1e-6);
}

#[test]
fn it_doubles_until_the_forward_queue_reaches_the_threshold() {
    for growth in ["per_ack", "per_round"] {
        let (mut d, mut h) = (Driver::new(), hcc("", &[("start_growth", Setting::Text(growth))]));
        d.start(&mut h, 10.0);
        for _ in 0..3 {
            d.round(&mut h, 0.1);
        }
        assert_eq!(h.window(), 80.0, "{growth}");
        // The RTT rises by 2 ms, half of it on the forward path: the forward queue takes 1 ms.
        d.round(&mut h, 0.102);
        d.round(&mut h, 0.102);
        assert_eq!(h.mode, Mode::Delay);
        let w = h.window();
        d.round(&mut h, 0.102);
        close(h.window(), w + 100.0, 1e-9);
    }
}

#[test]
fn only_with_mi_reentry_does_an_empty_queue_double_again() {
    for (reentry, growth) in [(false, 100.0), (true, 1000.0)] {
        let mut d = Driver::new();
        let mut h = at(hcc("", &[("mi_reentry", Setting::Bool(reentry))]), Mode::Delay, 1000.0, (0.0, 0.1));
        d.round(&mut h, 0.1);
        close(h.window(), 1000.0 + growth, 1e-9);
    }
}

#[test]
fn increases_are_spread_over_a_round_and_decreases_are_not() {
    let mut d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1000.0, (0.0005, 0.041));
    let ack = d.make_ack(&h, 1.0, 0.041, true);
    h.by_rounds(&ack);
    close(h.window(), 1000.1, 1e-9);
    let mut h = at(hcc("", &[("spread_increase", Setting::Bool(false))]), Mode::Delay, 1000.0, (0.0005, 0.041));
    h.by_rounds(&ack);
    assert_eq!(h.window(), 1100.0);
    let mut h = at(hcc("", &[]), Mode::Delay, 2500.0, (0.04, 0.08));
    h.by_rounds(&ack);
    assert_eq!(h.window(), 2400.0);
}

#[test]
fn there_is_no_update_in_the_round_after_a_recovery() {
    let mut d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1400.0, (0.016, 0.056));
    d.lose(&mut h);
    d.round(&mut h, 0.056);
    assert_eq!(h.window(), 700.0);
    d.round(&mut h, 0.056);
    close(h.window(), 800.0, 1e-9);
}

#[test]
fn the_timer_updates_once_an_averaged_round_trip() {
    let mut d = Driver::new();
    let mut h = at(hcc("", &[("update_clock", Setting::Text("timer"))]), Mode::Delay, 1000.0, (0.0, 0.1));
    // The first update is due after 100 ms; none of these ACKs starts a round.
    for (acks, w) in [(950, 1000.0), (1100, 1100.0), (1000, 1200.0)] {
        for _ in 0..acks {
            d.ack(&mut h, 1.0, 0.1, 1e-4);
        }
        close(h.window(), w, 5e-3);
    }
}

#[test]
fn a_timeout_restarts_and_then_searches_or_starts_anew() {
    let mut d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1400.0, (0.016, 0.056));
    d.time_out(&mut h);
    assert_eq!((h.win.w, h.win.ssthresh, h.mode, h.loss_ref), (1.0, 700.0, Mode::Restart, Some(1400.0)));
    h.on_event(&Event::RecoveryExit { now: d.now });
    for _ in 0..10 {
        d.round(&mut h, 0.056);
    }
    assert_eq!((h.win.w, h.mode), (700.0, Mode::Loss));
    let mut h = at(hcc("", &[("after_timeout", Setting::Text("start"))]), Mode::Delay, 1400.0, (0.016, 0.056));
    d.time_out(&mut h);
    assert_eq!((h.win.w, h.mode, h.loss_ref), (1.0, Mode::Start, None));
}

#[test]
fn a_timeout_in_recovery_keeps_the_reference_of_its_loss() {
    let d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1400.0, (0.016, 0.056));
    h.on_event(&Event::Congestion(d.signal(&h, crate::Cause::Loss)));
    d.time_out(&mut h);
    assert_eq!((h.win.ssthresh, h.loss_ref), (350.0, Some(1400.0)));
}

#[test]
fn an_idle_time_leads_back_to_the_start_or_to_the_search() {
    let d = Driver::new();
    let mut h = hcc("", &[]);
    d.start(&mut h, 10.0);
    h = at(h, Mode::Delay, 1400.0, (0.016, 0.056));
    h.on_event(&Event::Idle { now: 10.0, idle: 5.0 });
    assert_eq!((h.win.w, h.mode, h.delay.queueing()), (10.0, Mode::Start, 0.0));
    (h.mode, h.win.w, h.loss_ref) = (Mode::Loss, 900.0, Some(1400.0));
    h.on_event(&Event::Idle { now: 10.0, idle: 5.0 });
    assert_eq!((h.win.w, h.mode, h.win.ssthresh), (10.0, Mode::Restart, 700.0));
}

#[test]
fn the_start_may_ignore_losses_and_small_windows_may_be_standard_tcp() {
    let mut d = Driver::new();
    let mut h = hcc("", &[("start_loss", Setting::Text("ignore"))]);
    d.start(&mut h, 64.0);
    d.lose(&mut h);
    assert_eq!((h.win.w, h.mode), (64.0, Mode::Start));
    let mut h = searching(&[("low_window", Setting::Num(38.0))], "", 20.0, 100.0);
    d.round(&mut h, 0.1);
    close(h.win.w, 21.0, 5e-3);
}

#[test]
fn an_undo_restores_the_mode() {
    let d = Driver::new();
    let mut h = at(hcc("", &[]), Mode::Delay, 1400.0, (0.016, 0.056));
    d.lose(&mut h);
    h.on_event(&Event::Undo { now: d.now });
    assert_eq!((h.win.w, h.mode, h.loss_ref), (1400.0, Mode::Delay, None));
}

#[test]
fn a_timeout_after_an_undo_is_a_loss_of_its_own() {
    let d = Driver::new();
    let mut h = searching(&[], "", 1400.0, 1600.0);
    h.on_event(&Event::Congestion(d.signal(&h, Cause::Loss)));
    h.on_event(&Event::Undo { now: d.now });
    d.time_out(&mut h);
    assert_eq!(h.loss_ref, Some(1400.0), "not the one of a recovery that never was");
}
