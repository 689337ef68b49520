//! Tests of Compound TCP.

use super::*;
use crate::event::Event;
use crate::testing::{Driver, close, run_over_link, settings};

const PRESETS: [&str; 6] = ["", "draft-00", "linux", "linux-1.1", "linux-jan2008", "linux-2.6"];

fn compound(preset: &str, values: &[(&str, Setting)]) -> Compound {
    Compound::new(&settings(&Compound::ENTRY, preset, values).expect("it is right")).expect("it is right")
}

/// Compound TCP in congestion avoidance with both components, at a smallest RTT of 0.1 s.
fn at(preset: &str, values: &[(&str, Setting)], reno: f64, dwnd: f64) -> (Driver, Compound) {
    let (d, mut c) = (Driver::new(), compound(preset, values));
    c.on_event(&Event::Start(Start { initial_window: reno + dwnd, initial_ssthresh: 2.0, ..Start::default() }));
    (c.dwnd, c.base, c.reno_at_start) = (dwnd, 0.1, reno);
    (d, c)
}

fn round(c: &mut Compound, rtt: f64) {
    let w = c.win.w;
    c.round = RoundTrip { min: rtt, sum: w * rtt, samples: w as u32, acked: w };
    c.end_round();
}

#[test]
fn growth_has_the_published_values() {
    let draft = compound("", &[]);
    for (w, growth) in [
        (16.0, 0.0),
        (38.0, 0.9131),
        (41.0, 1.0253),
        (100.0, 2.9528),
        (333.0, 8.7441),
        (1000.0, 21.2285),
        (10_000.0, 124.0),
    ] {
        assert!((draft.increment(w) - growth).abs() <= 1e-4 * growth + 1e-9, "{}", draft.increment(w));
    }
    let early = compound("linux-2.6", &[]);
    for (w, growth) in [(38.0, 0.0), (100.0, 2.0), (333.0, 8.0), (1000.0, 21.0)] {
        assert_eq!(early.increment(w), growth);
    }
    // Release 1.3 computes 1000^(1/4) as 5.57 by two integer square roots.
    assert_eq!((compound("linux", &[]).increment(1000.0), compound("linux", &[]).increment(0.0)), (21.0, 0.0));
}

#[test]
fn a_short_queue_lets_dwnd_grow_and_a_long_one_is_given_up() {
    for (rtt, queued, dwnd) in [(0.103, 29.126, 521.2285), (0.105, 47.619, 452.381)] {
        let (_, mut c) = at("", &[("spread", Setting::Bool(false))], 500.0, 500.0);
        close(c.queued(1000.0, rtt), queued, 1e-4);
        round(&mut c, rtt);
        close(c.dwnd, dwnd, 1e-5);
        close(c.reno(), 500.0, 1e-12);
    }
}

#[test]
fn the_modules_give_up_whole_segments() {
    for (preset, dwnd) in [("linux", 452.0), ("linux-jan2008", 452.0), ("linux-2.6", 452.0)] {
        let (_, mut c) = at(preset, &[], 500.0, 500.0);
        round(&mut c, 0.105);
        assert_eq!(c.dwnd, dwnd, "{preset}");
        round(&mut c, 0.3);
        assert_eq!((c.dwnd, c.window()), (0.0, 500.0));
    }
}

#[test]
fn a_loss_halves_both_parts() {
    for (reno, dwnd) in [(600.0, 400.0), (900.0, 100.0)] {
        for preset in ["", "draft-00", "linux", "linux-1.1"] {
            let (d, mut c) = at(preset, &[], reno, dwnd);
            d.lose(&mut c);
            assert_eq!((c.reno(), c.dwnd, c.ssthresh()), (reno / 2.0, dwnd / 2.0, 500.0), "{preset}");
        }
    }
    let (d, mut c) = at("", &[("beta", Setting::Num(0.25))], 600.0, 400.0);
    d.lose(&mut c);
    assert_eq!((c.reno(), c.dwnd), (300.0, 450.0));
}

#[test]
fn the_early_modules_lose_dwnd_where_one_part_is_more_than_what_is_left() {
    for preset in ["linux-jan2008", "linux-2.6"] {
        for (reno, dwnd) in [(600.0, 400.0), (400.0, 600.0), (500.0, 500.0)] {
            let (d, mut c) = at(preset, &[], reno, dwnd);
            d.lose(&mut c);
            assert_eq!((c.reno(), c.dwnd), (500.0, 0.0), "{preset}");
        }
        let (_, mut c) = at(preset, &[], 600.0, 400.0);
        c.on_event(&Event::Moderate { window: 900.0 });
        assert_eq!((c.reno(), c.dwnd), (500.0, 400.0));
    }
}

#[test]
fn gamma_moves_towards_three_quarters_of_reno_s_queue() {
    for (gain, gamma) in [(0.25, 26.25), (0.8, 18.0), (0.2, 27.0)] {
        let mut c = compound("", &[("gamma_gain", Setting::Num(gain))]);
        c.diff_reno = Some(20.0);
        c.tune();
        close(c.gamma, gamma, 1e-12);
        // One measurement tunes γ only once.
        c.tune();
        close(c.gamma, gamma, 1e-12);
    }
    for (preset, after_one) in [("", 23.25), ("linux", 23.0), ("linux-jan2008", 16.0), ("linux-2.6", 30.0)] {
        let mut c = compound(preset, &[]);
        c.diff_reno = Some(4.0);
        c.tune();
        assert_eq!(c.gamma, after_one, "{preset}");
        for _ in 0..50 {
            c.diff_reno = Some(4.0);
            c.tune();
        }
        assert_eq!(c.gamma, if preset == "linux-2.6" { 30.0 } else { 5.0 });
    }
}

#[test]
fn a_loss_tunes_gamma_by_the_round_before_it() {
    let (d, mut c) = at("", &[], 500.0, 500.0);
    round(&mut c, 0.105);
    // Reno's 500 segments are half of the window, so half of the 47.6 queued segments count as Reno's.
    d.lose(&mut c);
    close(c.gamma, 30.0 + 0.25 * (0.75 * 23.8095 - 30.0), 1e-5);
    assert_eq!(c.diff_reno, None);
}

#[test]
fn below_the_low_window_it_is_reno() {
    let (_, mut c) = at("", &[], 20.0, 15.0);
    round(&mut c, 0.1);
    assert_eq!((c.window(), c.dwnd), (20.0, 0.0));
    let (mut d, mut c) = at("", &[], 30.0, 0.0);
    d.round(&mut c, 0.1);
    d.round(&mut c, 0.1);
    close(c.window(), 32.0, 5e-3);
    // The first Linux modules have no low window.
    let (_, mut c) = at("linux-2.6", &[], 20.0, 15.0);
    round(&mut c, 0.1);
    assert_eq!((c.window(), c.dwnd), (35.0, 15.0));
}

#[test]
fn growth_is_spread_over_the_round_that_follows() {
    for (preset, half_way) in [("", 10.6), ("linux", 20.0)] {
        let (mut d, mut c) = at(preset, &[], 1000.0, 0.0);
        round(&mut c, 0.1);
        assert_eq!(c.dwnd, 0.0);
        for _ in 0..500 {
            d.ack(&mut c, 1.0, 0.1, 1e-4);
        }
        close(c.dwnd, half_way, 0.02);
        for _ in 0..500 {
            d.ack(&mut c, 1.0, 0.1, 1e-4);
        }
        round(&mut c, 0.1);
        assert!((21.0..21.3).contains(&c.dwnd), "{preset}: {}", c.dwnd);
    }
    let (_, mut c) = at("linux-1.1", &[], 1000.0, 0.0);
    round(&mut c, 0.1);
    assert_eq!(c.dwnd, 21.0);
}

#[test]
fn dwnd_rests_in_slow_start_but_in_the_early_modules() {
    for (preset, dwnd) in [("", 0.0), ("linux", 0.0), ("linux-jan2008", 21.0), ("linux-2.6", 21.0)] {
        let (d, mut c) = (Driver::new(), compound(preset, &[]));
        d.start(&mut c, 1000.0);
        c.base = 0.1;
        round(&mut c, 0.1);
        assert_eq!(c.dwnd, dwnd, "{preset}");
    }
}

#[test]
fn slow_start_goes_on_through_the_low_window() {
    for preset in PRESETS {
        let (mut d, mut c) = (Driver::new(), compound(preset, &[]));
        d.start(&mut c, 10.0);
        for _ in 0..4 {
            d.round(&mut c, 0.1);
        }
        assert!(c.window() >= 160.0 && c.ssthresh().is_infinite(), "{preset}: {}", c.window());
    }
}

#[test]
fn what_dwnd_gives_up_is_not_won_back_by_slow_start() {
    let (mut d, mut c) = at("", &[], 500.0, 500.0);
    d.lose(&mut c);
    round(&mut c, 0.2);
    assert_eq!((c.window(), c.dwnd), (250.0, 0.0));
    d.round(&mut c, 0.2);
    close(c.window(), 251.0, 1e-3);
}

#[test]
fn the_early_drafts_grow_from_dwnd_and_so_start_slowly() {
    let (_, mut c) = at("draft-00", &[("spread", Setting::Bool(false))], 1000.0, 0.0);
    round(&mut c, 0.1);
    assert_eq!(c.dwnd, 0.0);
    (c.dwnd, c.win.w) = (100.0, 1100.0);
    round(&mut c, 0.1);
    close(c.dwnd, 102.9528, 1e-6);
}

#[test]
fn without_timestamps_it_is_reno() {
    let (mut d, mut c) = at("ns2", &[], 1000.0, 0.0);
    for _ in 0..10 {
        d.round(&mut c, 0.1);
    }
    assert_eq!(c.dwnd, 0.0);
    assert!((1009.0..=1011.0).contains(&c.window()));
}

#[test]
fn a_timeout_ends_dwnd_and_the_tuning() {
    for (preset, gamma) in [("", 30.0), ("linux", 10.0)] {
        let (d, mut c) = at(preset, &[], 500.0, 500.0);
        c.gamma = 10.0;
        d.time_out(&mut c);
        assert_eq!((c.window(), c.dwnd, c.ssthresh(), c.gamma), (1.0, 0.0, 500.0, gamma));
    }
}

#[test]
fn an_idle_time_ends_dwnd_and_only_the_first_module_forgets_the_base() {
    for preset in PRESETS {
        let (_, mut c) = at(preset, &[], 500.0, 500.0);
        c.gamma = 10.0;
        c.on_event(&Event::Idle { now: 10.0, idle: 5.0 });
        assert_eq!((c.dwnd, c.gamma), (0.0, 30.0));
        assert_eq!(c.base.is_infinite(), preset == "linux-2.6", "{preset}");
    }
}

#[test]
fn an_undo_restores_dwnd_and_moderation_shares_alike() {
    let (d, mut c) = at("", &[], 600.0, 400.0);
    d.lose(&mut c);
    c.on_event(&Event::Undo { now: 1.0 });
    assert_eq!((c.window(), c.dwnd), (1000.0, 400.0));
    c.on_event(&Event::Moderate { window: 800.0 });
    close(c.dwnd, 320.0, 1e-12);
    close(c.reno(), 480.0, 1e-12);
}

#[test]
fn a_pipe_of_6667_fills_in_as_many_rounds_as_the_law_says() {
    // dw/dn = w^0.75/8 gives 32 (6667^0.25 - 1000^0.25) rounds.
    for preset in ["", "linux", "linux-2.6"] {
        let (mut d, mut c) = at(preset, &[], 1000.0, 0.0);
        let mut rounds = 0.0;
        while c.window() < 6667.0 {
            d.round(&mut c, 0.1);
            rounds += 1.0;
        }
        close(rounds, 109.2, 0.05);
    }
}

#[test]
fn alone_it_keeps_the_link_busy_with_less_than_gamma_until_reno_fills_the_queue() {
    let (mut d, mut c) = (Driver::new(), compound("", &[]));
    d.start_at(&mut c, 500.0);
    run_over_link(&mut d, &mut c, 10_000.0, 0.1, 10.0);
    assert!(c.dwnd > 300.0 && (1000.0..1130.0).contains(&c.window()), "{} {}", c.dwnd, c.window());
}

#[test]
fn rules_with_another_arithmetic_are_refused() {
    for (preset, arithmetic) in [("", "linux"), ("linux", "fluid")] {
        let wrong = settings(&Compound::ENTRY, preset, &[("arithmetic", Setting::Text(arithmetic))]);
        assert!(matches!(Compound::new(&wrong.expect("each is allowed")), Err(BuildError::Conflict { .. })));
    }
}

#[test]
fn the_module_of_2006_counts_what_was_sent_from_before_a_recovery_on() {
    // 600 segments of a round before the loss and 500 after it: dwnd grows by 1100^0.75 / 8 − 1.
    for (preset, sent) in [("linux-2.6", 1100.0), ("linux-1.1", 500.0)] {
        let (mut d, mut c) = at(preset, &[], 1000.0, 0.0);
        for _ in 0..600 {
            d.ack(&mut c, 1.0, 0.1, 0.0001);
        }
        d.lose(&mut c);
        for _ in 0..499 {
            d.ack(&mut c, 1.0, 0.1, 0.0001);
        }
        d.now += 0.0001;
        let last = d.make_ack(&c, 1.0, 0.1, true);
        c.on_ack(&last);
        assert_eq!(c.dwnd, c.increment(sent), "{preset}");
    }
}
