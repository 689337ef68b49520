//! Response functions of Hybla, LTCP, Veno, Westwood+, DCTCP and Prague against closed forms.

use crate::common::{RTT, assert_response, mean_window, parameters};
use elephan_cc::draws::Draws;
use elephan_cc::{Ack, Algorithm, Controller, Event, Start, build};

/// Mean window of AIMD(a, b) with one loss in 1/p segments.
fn aimd(a: f64, b: f64, p: f64) -> f64 {
    (a * (2.0 - b) / (2.0 * b * p)).sqrt()
}

/// A controller whose smallest RTT so far is `base` s.
fn with_base(spec: &str, base: f64) -> Controller {
    let mut controller = build(spec, &parameters(&[])).expect("it is right");
    controller.on_event(&Event::Start(Start::default()));
    controller.on_ack(&Ack { now: base, acked: 1.0, rtt: Some(base), min_rtt: base, srtt: base, ..Ack::default() });
    controller
}

#[track_caller]
fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got}, closed form {expected}");
}

#[test]
fn hybla_is_standard_tcp_times_rho() {
    for (rtt, rho) in [(RTT, 4.0), (0.0625, 2.5), (0.02, 1.0)] {
        for p in [1e-4_f64, 1e-5] {
            assert_response("hybla", &[], p, rtt, rho * (1.5 / p).sqrt(), 0.03);
        }
    }
}

/// LTCP's layer K at a window of `w` segments; layer K begins at K(K+1)(K-1)/6 · 50 segments.
fn layer(w: f64) -> f64 {
    (1..).map(f64::from).find(|k| (k + 2.0) * (k + 1.0) * k / 6.0 * 50.0 > w).unwrap_or(1.0)
}

/// Mean window of LTCP with one loss in 1/p segments: the window w grows from 0.85 of its largest value, by one segment
/// in 1/K(w) round trips.
fn layered(p: f64) -> f64 {
    let over_an_epoch = |peak: f64| {
        let step = 0.15 * peak / 10_000.0;
        let windows = (0..10_000).map(|i| 0.85 * peak + (f64::from(i) + 0.5) * step);
        windows.fold((0.0, 0.0), |(segments, rounds), w| (segments + w * step / layer(w), rounds + step / layer(w)))
    };
    let (mut low, mut high) = (60.0, 1e6);
    while high - low > 1e-3 {
        let peak = 0.5 * (low + high);
        if over_an_epoch(peak).0 < 1.0 / p { low = peak } else { high = peak }
    }
    let (segments, rounds) = over_an_epoch(low);
    segments / rounds
}

// Compares with two laws, both of which follow from constants that were not verified.
#[test]
fn ltcp_follows_the_law_of_its_layers() {
    for p in [1e-4_f64, 1e-5, 1e-6] {
        assert_response("ltcp", &[], p, RTT, layered(p), 0.03);
        // The published law has a real number of layers, on average half a layer more than the whole number here.
        let continuous = 1.949 * p.powf(-0.6);
        let layers = (6.0 * continuous / 50.0_f64).cbrt();
        assert!(layered(p) < continuous && layered(p) > continuous * (1.0 - 0.5 / layers), "{p}");
    }
    // Below its first threshold LTCP is standard TCP.
    let of = |spec| mean_window(&mut build(spec, &parameters(&[])).expect("it is right"), 3e-3, RTT, 29.0, 60);
    assert_eq!(of("ltcp"), of("reno"));
}

#[test]
fn veno_is_between_its_two_laws() {
    for p in [1e-3_f64, 1e-4, 1e-5] {
        // Without backlog every loss counts as random.
        assert_response("veno", &[], p, RTT, aimd(1.0, 0.2, p), 0.03);
        // Half of the RTT is queueing delay: the growth is halved, and the window is halved on each loss.
        let got = mean_window(&mut with_base("veno", RTT / 2.0), p, RTT, aimd(0.5, 0.5, p), 60);
        close("veno in congestion", got, aimd(0.5, 0.5, p), 0.04);
    }
}

// Compares with the published form, w = sqrt(RTT/Tq (1-p)/p), which was not verified.
#[test]
fn westwood_gives_up_the_part_of_the_rtt_that_is_queue() {
    let queueing = 0.02;
    for p in [1e-4_f64, 1e-5] {
        let published = (RTT / queueing).sqrt() * ((1.0 - p) / p).sqrt();
        let got = mean_window(&mut with_base("westwood", RTT - queueing), p, RTT, published, 60);
        // The estimate lags by some ten round trips, in an epoch of 2 b w/(2 - b) round trips, so the decrease is
        // slightly larger.
        assert!(got < published);
        close("westwood", got, aimd(1.0, queueing / RTT, p), 0.12);
    }
}

/// Times of the marks.
#[derive(Clone, Copy)]
enum Marks {
    /// Every 1/p-th segment has a mark.
    Regular,
    /// Each segment has a mark with probability p.
    Random,
}

/// Marks per round trip: the mean window with marks at rate `p`, times `p`.
fn marks_per_round(spec: &str, p: f64, marks: Marks) -> f64 {
    let mut controller = build(spec, &parameters(&[])).expect("it is right");
    let peak = 2.5 / p;
    controller.on_event(&Event::Start(Start { initial_window: peak, initial_ssthresh: peak, ..Start::default() }));
    let (mut now, mut since, mut draws) = (0.0, 0.0, Draws::new(1));
    let (mut sum, rounds) = (0.0, 6000);
    for round in 0..rounds {
        let n = controller.window().floor().max(1.0);
        if round >= rounds / 3 {
            sum += controller.window();
        }
        for i in 0..n as u64 {
            now += RTT / n;
            since += p;
            let marked = match marks {
                Marks::Regular => since >= 1.0,
                Marks::Random => draws.uniform() < p,
            };
            if marked {
                since -= 1.0;
            }
            controller.on_ack(&Ack {
                now,
                acked: 1.0,
                rtt: Some(RTT),
                min_rtt: RTT,
                srtt: RTT,
                in_flight: n,
                round_start: i == 0,
                window_limited: true,
                marked: f64::from(u8::from(marked)),
                ..Ack::default()
            });
        }
    }
    p * sum / f64::from(rounds - rounds / 3)
}

#[test]
fn dctcp_and_prague_have_two_marks_a_round_trip() {
    // Published: w = 2/p if each round trip has a mark, which evenly spaced marks ensure.
    for p in [0.02, 0.005] {
        close("dctcp by the RFC's letter", marks_per_round("dctcp:rfc-letter", p, Marks::Regular), 2.0, 0.03);
    }
    // With x = w p marks a round trip, the window is reduced once for k marks, after k/x round trips of growth: x²/2 =
    // k. Between two whole k the window stays at the value at which k changes.
    for spec in ["dctcp", "prague"] {
        let x = marks_per_round(spec, 0.005, Marks::Regular);
        assert!((1.95..=6.0_f64.sqrt() * 1.02).contains(&x), "{spec}: {x}");
    }
}

#[test]
fn with_random_marks_the_wait_for_the_next_one_is_part_of_the_law() {
    // With x marks a round trip on average, a round trip has at least one with probability 1 - exp(-x), and the window
    // then falls by x/2: x (1 - exp(-x)) = 2.
    let letter = (0..100).fold(2.0, |x: f64, _| 2.0 / (1.0 - (-x).exp()));
    // The reduction comes at the first mark after a round trip, on average 1/x of a round trip later: x²/2 = x + 1.
    let first_mark = 1.0 + 3.0_f64.sqrt();
    for p in [0.02, 0.005] {
        for (spec, x) in [("dctcp:rfc-letter", letter), ("dctcp", first_mark), ("prague", first_mark)] {
            close(spec, marks_per_round(spec, p, Marks::Random), x, 0.03);
        }
    }
}
