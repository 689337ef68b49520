//! Tests of BIC.

use super::*;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::loss_window::AckRatio;
use crate::testing::{Driver, close, settings};

fn bic(preset: &str) -> Bic {
    Bic::new(&settings(&Bic::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
}

fn after_a_loss_at(b: &mut Bic, w: f64) -> Driver {
    let d = Driver::new();
    d.start_at(b, w);
    d.lose(b);
    d
}

#[test]
fn an_undo_restores_the_search_except_in_linux() {
    for (preset, restores) in [("rounds", true), ("linux", false)] {
        let mut b = bic(preset);
        let d = after_a_loss_at(&mut b, 1000.0);
        b.linux.at_window = 875.0;
        let before = b.last_max;
        d.lose(&mut b);
        let after = b.last_max;
        assert!(after < before && b.linux.at_window == 875.0);
        b.on_event(&Event::Undo { now: 0.0 });
        assert_eq!(b.last_max, if restores { before } else { after }, "{preset}");
    }
}

// S_max, S_min, β and the low window are those of the authors' ns-2 scripts; the trajectories below follow from them.
#[test]
fn the_search_by_rounds_has_the_published_trajectory() {
    let mut b = bic("rounds");
    let mut d = after_a_loss_at(&mut b, 1000.0);
    assert_eq!(b.window(), 875.0);
    for w in [907.0, 939.0, 969.5, 984.75, 992.375, 996.188, 998.094, 999.047] {
        d.round(&mut b, 0.1);
        close(b.window(), w, 1e-3);
    }
    // The last steps are so small that the number of rounds is 15 to 17, depending on rounding to a segment.
    let mut rounds = 8;
    while b.window() < 999.99 {
        d.round(&mut b, 0.1);
        rounds += 1;
    }
    assert!((15..=17).contains(&rounds), "{rounds}");
}

#[test]
fn growth_is_additive_until_the_distance_is_twice_s_max() {
    let mut b = bic("rounds");
    let mut d = after_a_loss_at(&mut b, 1000.0);
    for (w, inc) in [(930.0, 32.0), (936.0, 32.0), (940.0, 30.0), (999.999, 0.01)] {
        b.win.w = w;
        b.search.per_ack = 0.0;
        d.ack(&mut b, 1.0, 0.1, 0.0);
        close(b.search.per_ack * w, inc, 1e-9);
    }
}

#[test]
fn a_loss_at_10000_is_regained_in_51_round_trips() {
    let mut b = bic("rounds");
    let mut d = after_a_loss_at(&mut b, 10_000.0);
    d.round(&mut b, 0.1);
    close(b.window(), 8782.0, 1e-4);
    let mut rounds = 1;
    while b.window() < 9999.99 {
        d.round(&mut b, 0.1);
        rounds += 1;
    }
    assert!((50..=52).contains(&rounds), "{rounds}");
}

#[test]
fn by_acks_the_distance_shrinks_by_the_square_root_of_e_each_round_trip() {
    let mut b = bic("");
    let mut d = after_a_loss_at(&mut b, 10_000.0);
    b.win.w = 9960.0;
    d.ack(&mut b, 1.0, 0.1, 0.0);
    let before = 10_000.0 - b.window();
    d.round(&mut b, 0.1);
    close(10_000.0 - b.window(), before * libm::exp(-0.5), 5e-3);
}

#[test]
fn fast_convergence_aims_lower_when_the_maximum_fell() {
    let mut b = bic("");
    let d = after_a_loss_at(&mut b, 1200.0);
    b.win.w = 1000.0;
    d.lose(&mut b);
    assert_eq!((b.last_max, b.window()), (937.5, 875.0));

    let mut linux = bic("linux");
    let d = after_a_loss_at(&mut linux, 1200.0);
    linux.win.w = 1000.0;
    d.lose(&mut linux);
    assert_eq!((linux.last_max, linux.window()), (899.0, 799.0));
}

#[test]
fn a_flow_that_grew_past_its_maximum_does_not_converge() {
    let mut b = bic("");
    let d = after_a_loss_at(&mut b, 1000.0);
    b.win.w = 1100.0;
    d.lose(&mut b);
    assert_eq!(b.last_max, 1100.0);
}

#[test]
fn beyond_the_maximum_it_probes_by_doubling_steps_and_then_additively() {
    let mut b = bic("");
    let mut d = after_a_loss_at(&mut b, 10_000.0);
    b.win.w = 10_000.0;
    let mut steps = Vec::new();
    for _ in 0..9 {
        let before = b.window();
        d.round(&mut b, 0.1);
        steps.push(b.window() - before);
    }
    for (step, expected) in steps.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0]) {
        close(*step, expected, 0.1);
    }
    close(steps[8], 32.0, 0.01);
    assert!(!b.search.is_probing && b.search.max_win.is_infinite());
}

#[test]
fn below_the_low_window_it_is_standard_tcp() {
    let mut b = bic("");
    let mut d = after_a_loss_at(&mut b, 12.0);
    assert_eq!(b.window(), 6.0);
    d.round(&mut b, 0.1);
    close(b.window(), 7.0, 0.02);
}

#[test]
fn linux_s_divisor_has_the_published_values() {
    let mut b = bic("linux");
    b.last_max = 1000.0;
    b.linux.lost = true;
    for (w, one_to_one, delayed) in [
        (875.0, 54.0, 27.0),
        (990.0, 495.0, 247.0),
        (997.0, 4985.0, 2492.0),
        (1020.0, 153.0, 76.0),
        (1048.0, 65.0, 32.0),
    ] {
        b.win.w = w;
        b.linux.ratio = AckRatio::START;
        assert_eq!(b.linux.divisor(b.win.w, b.last_max, &b.p), delayed, "{w}");
        // The estimate never settles at one segment an ACK: see `AckRatio`.
        for _ in 0..1000 {
            b.linux.ratio.update(1.0);
        }
        assert_eq!(b.linux.divisor(b.win.w, b.last_max, &b.p), (one_to_one * 16.0 / 31.0_f64).floor(), "{w}");
    }
}

#[test]
fn since_linux_5_7_delayed_acks_grow_twice_as_fast() {
    // S_max is 16 segments a round trip; the estimate of two segments an ACK divides the divisor by two.
    for (preset, per_round) in [("linux-5.6", 16.0), ("linux", 32.0)] {
        let mut b = bic(preset);
        let mut d = after_a_loss_at(&mut b, 10_000.0);
        let before = b.window();
        for _ in 0..(before / 2.0) as usize {
            d.ack(&mut b, 2.0, 0.1, 0.1 / before);
        }
        close(b.window() - before, per_round, 0.05);
    }
}

#[test]
fn linux_s_first_form_regains_its_maximum_later_than_the_pseudo_code() {
    // include/net/tcp.h of 2.6.12-rc2: growth by at most 32 segments, by a quarter of the distance, and near the
    // maximum by one segment in 11/4 windows.
    let mut b = bic("linux-2.6.11");
    b.last_max = 1000.0;
    for (w, cnt) in [(800.0, 25.0), (875.0, 28.0), (900.0, 36.0), (990.0, 495.0), (997.0, 2741.0)] {
        b.win.w = w;
        assert_eq!(b.linux.divisor(b.win.w, b.last_max, &b.p), cnt, "{w}");
    }
    for (w, cnt) in [(1002.0, 2755.0), (1020.0, 153.0), (1096.0, 34.0)] {
        b.win.w = w;
        assert_eq!(b.linux.divisor(b.win.w, b.last_max, &b.p), cnt, "{w}");
    }
    let rounds = |preset: &str| {
        let mut b = bic(preset);
        let mut d = after_a_loss_at(&mut b, 500.0);
        let mut n = 0;
        while b.window() < 500.0 {
            d.round(&mut b, 0.1);
            n += 1;
        }
        n
    };
    let (letter, code) = (rounds(""), rounds("linux-2.6.11"));
    assert!((20..30).contains(&code) && letter < code, "{letter} and {code}");
}

#[test]
fn an_epoch_of_linux_2_6_is_the_one_that_ns_2_shows() {
    // A run of ns-2.35 TCP/Linux from 3 s to 9 s: one flow at 622 Mbit/s and 100 ms, after a third loss at 7870
    // segments.
    let mut b = bic("linux-2.6");
    let mut d = after_a_loss_at(&mut b, 8700.0);
    b.win.w = 7870.0;
    d.lose(&mut b);
    assert_eq!((b.window(), b.last_max), (6294.0, 7082.0));
    // The ratio of segments to ACKs had settled during slow start.
    for _ in 0..1000 {
        b.linux.ratio.update(1.0);
    }
    b.win.w = 6584.0;
    let mut course = vec![6584.0];
    for _ in 0..60 {
        d.round(&mut b, 0.1);
        course.push(b.window());
    }
    for (t, w) in [(4, 6892.0), (5, 7075.0), (6, 7079.0), (7, 7083.0), (8, 7102.0), (9, 7397.0)] {
        close(course[10 * (t - 3)], w, 2e-3);
    }
}

#[test]
fn linux_forgets_its_maximum_after_a_timeout() {
    let mut b = bic("linux-2.6");
    let d = after_a_loss_at(&mut b, 1000.0);
    d.time_out(&mut b);
    assert_eq!((b.window(), b.last_max, b.linux.lost), (1.0, 0.0, false));
    b.win.w = 500.0;
    assert_eq!(b.linux.divisor(b.win.w, b.last_max, &b.p), 10.0);
}

#[test]
fn linux_s_form_needs_linux_s_counter() {
    let s = settings(&Bic::ENTRY, "", &[("form", Setting::Text("linux"))]).expect("it is right");
    assert!(matches!(Bic::new(&s), Err(BuildError::Conflict { .. })));
}

#[test]
fn to_the_letter_every_loss_after_probing_converges() {
    // Above the maximum the window probes, and `max_win` is "large".
    for (preset, expected) in [("2004", 1100.0 * 0.9375), ("", 1100.0)] {
        let mut b = bic(preset);
        let d = after_a_loss_at(&mut b, 1000.0);
        b.search = Search { is_probing: true, ..UNKNOWN };
        b.win.w = 1100.0;
        d.lose(&mut b);
        assert_eq!((b.last_max, b.window()), (expected, 1100.0 * 0.875));
    }
}
