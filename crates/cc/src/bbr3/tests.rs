//! BBR version 3 against its check points and over a path.

use super::*;
use crate::event::Event;
use crate::path::{Flow, Path, alone};
use crate::testing::{Driver, close, settings};

fn bbr3() -> Bbr3 {
    let mut b = Bbr3::new(&settings(&Bbr3::ENTRY, "", &[]).expect("it is right")).expect("it is right");
    b.on_event(&Event::Start(Start::default()));
    b
}

/// BBR version 3 in steady state on a path with a BDP of `bdp` segments and an RTT of 100 ms.
fn steady(bdp: f64) -> Bbr3 {
    let mut b = bbr3();
    let s = &mut *b.s;
    s.full.set_reached(true);
    s.min_rtt = MinRtt::new(0.0, Some(0.1));
    (s.w, s.mode) = (bdp, Mode::Cruise);
    (s.max_bw, s.bw) = ([bdp / 0.1; 2], bdp / 0.1);
    b
}

fn lost(tx_in_flight: f64, lost: f64) -> Lost {
    Lost { tx_in_flight, lost, ..Lost::default() }
}

#[test]
fn the_gains_have_the_published_values() {
    let p = bbr3().p;
    close(p.startup_gain, 2.77259, 1e-5);
    // ProbeRTT uses half of the pipe for 0.2 s of every 5 s.
    let used =
        (p.probe_rtt_time * p.probe_rtt_cwnd_gain + p.probe_rtt_interval - p.probe_rtt_time) / p.probe_rtt_interval;
    close(used, 0.98, 1e-12);
}

#[test]
fn the_bounds_have_the_published_values() {
    let mut b = steady(1000.0);
    b.s.inflight_longterm = 1000.0;
    close(b.inflight_with_headroom(), 850.0, 1e-12);
    close(b.inflight_at_loss(901.0, 6.0), 913.27, 1e-5);
    // A probe with too many losses lowers the bound to no less than 0.7 of the target.
    (b.s.probe_sample, b.s.mode) = (true, Mode::Up);
    b.on_event(&Event::Lost(lost(100.0, 3.0)));
    close(b.s.inflight_longterm, 700.0, 1e-12);
    assert_eq!(b.s.mode, Mode::Down);
    // A probe has at most one reaction to losses.
    b.on_event(&Event::Lost(lost(2000.0, 300.0)));
    close(b.s.inflight_longterm, 700.0, 1e-12);
}

#[test]
fn two_percent_of_loss_is_not_too_much() {
    let mut b = steady(1000.0);
    (b.s.probe_sample, b.s.mode) = (true, Mode::Up);
    b.on_event(&Event::Lost(lost(1000.0, 20.0)));
    assert_eq!(b.s.mode, Mode::Up);
    b.on_event(&Event::Lost(lost(1000.0, 21.0)));
    assert_eq!(b.s.mode, Mode::Down);
    // Without the last lost segment the losses were within the threshold, so the bound excludes this segment.
    close(b.s.inflight_longterm, 998.98, 1e-5);
}

#[test]
fn the_next_probe_comes_as_soon_as_renos_would() {
    for (bdp, rounds) in [(500.0, 63.0), (20.0, 20.0)] {
        let mut b = steady(bdp);
        b.start_down(0.0);
        assert!((2.0..3.0).contains(&b.s.probe_wait));
        let first = b.s.rounds_since_probe_up;
        assert!(first == 0.0 || first == 1.0);
        let mut waited = 0.0;
        while !b.time_to_probe(1.0) {
            b.s.rounds_since_probe_up += 1.0;
            waited += 1.0;
        }
        assert_eq!(waited + first, rounds);
        b.s.rounds_since_probe_up = 0.0;
        assert!(!b.time_to_probe(2.0) && b.time_to_probe(3.0));
    }
}

#[test]
fn the_long_term_bound_grows_by_1_2_4_8_segments_a_round() {
    let mut b = steady(1000.0);
    b.s.inflight_longterm = 1000.0;
    (b.s.mode, b.s.w) = (Mode::Refill, 1000.0);
    b.start_up(&Sample::default());
    b.s.window_filled = [true; 2];
    let d = Driver::new();
    let mut grown = Vec::new();
    for _ in 0..4 {
        let before = b.s.inflight_longterm;
        let acks = b.s.w as u32;
        for i in 1..=acks {
            b.s.round_start = i == acks;
            b.s.w = b.s.inflight_longterm;
            let ack = Ack { now: d.now, acked: 1.0, window_limited: true, ..Ack::default() };
            b.s.probe_longterm_upward(&ack);
        }
        grown.push(b.s.inflight_longterm - before);
    }
    assert_eq!(grown, [1.0, 2.0, 4.0, 8.0]);
}

#[test]
fn a_round_with_losses_between_probes_lowers_rate_and_window() {
    let mut b = steady(1000.0);
    b.s.lower_bounds(0.7);
    close(b.s.bw_shortterm, 7000.0, 1e-12);
    close(b.s.inflight_shortterm, 700.0, 1e-12);
    (b.s.bw_latest, b.s.inflight_latest) = (9500.0, 950.0);
    b.s.reset_short_term();
    b.s.lower_bounds(0.7);
    close(b.s.bw_shortterm, 9500.0, 1e-12);
    close(b.s.inflight_shortterm, 950.0, 1e-12);
    b.s.start_refill();
    assert!(b.s.bw_shortterm.is_infinite() && b.s.inflight_shortterm.is_infinite());
}

#[test]
fn a_spurious_loss_gives_back_what_it_took() {
    let mut b = steady(1000.0);
    (b.s.probe_sample, b.s.mode) = (true, Mode::Up);
    b.s.inflight_longterm = 1200.0;
    b.on_event(&Event::Lost(lost(1000.0, 21.0)));
    let d = Driver { min_rtt: 0.1, srtt: 0.1, ..Driver::new() };
    b.on_event(&Event::Congestion(d.signal(&b, Cause::Loss)));
    assert!(b.s.inflight_longterm < 1000.0 && b.s.mode == Mode::Down);
    b.on_event(&Event::Undo { now: 1.0 });
    assert_eq!(b.s.inflight_longterm, 1200.0);
    assert_eq!(b.s.mode, Mode::Refill);
}

#[test]
fn precaution_stops_the_probe_after_one_that_went_too_far() {
    let mut b = steady(1000.0);
    (b.s.probe_too_high, b.s.mode, b.s.inflight_longterm) = (true, Mode::Up, 900.0);
    let ack = Ack { in_flight: 900.0, ..Ack::default() };
    assert!(b.time_to_go_down(&ack, &Sample::default()));
    assert!(b.s.probe_precautionary);
    // The last probe did not cause too many losses, so the next probe begins at once.
    (b.s.mode, b.s.ack_phase, b.s.round_start, b.s.probe_too_high) = (Mode::Down, AckPhase::ProbeStopping, true, false);
    assert!(b.adapt_long_term(&ack, &Sample::default()));
    assert_eq!(b.s.mode, Mode::Refill);
}

#[test]
fn it_fills_the_pipe_with_a_short_queue_and_without_loss() {
    let (mut b, mut path) = (bbr3(), Path::new(8333.0, 0.04, 1000.0, 0.0));
    let got = alone(&mut b, &mut path, 20.0);
    assert!(got.utilization > 0.95, "{}", got.utilization);
    assert!(got.queue < 0.25 * 333.0, "{}", got.queue);
    assert_eq!(got.loss, 0.0);
}

#[test]
fn a_short_buffer_is_not_overrun() {
    // With a buffer of a tenth of the BDP, version 1 keeps the buffer full and has constant losses; version 3 stores
    // the volume in flight at which losses began.
    let run = |algorithm: &mut dyn Algorithm| alone(algorithm, &mut Path::new(8333.0, 0.04, 33.0, 0.0), 30.0);
    let got = run(&mut bbr3());
    assert!(got.utilization > 0.8, "{}", got.utilization);
    assert!(got.loss < 0.005, "{}", got.loss);
}

#[test]
fn one_percent_of_random_loss_is_tolerated_and_ten_percent_is_not() {
    // The runs are long, so that random draws matter little: at 1 % of loss, runs of 30 s give 0.74 to 0.81, runs of
    // 200 s give 0.79.
    let run = |loss: f64| alone(&mut bbr3(), &mut Path::new(8333.0, 0.04, 1000.0, loss), 200.0).utilization;
    let (one, ten) = (run(0.01), run(0.1));
    assert!(one > 0.75, "{one}");
    assert!(ten < 0.5 * one, "{ten}");
}

#[test]
fn it_visits_probe_rtt_every_five_seconds_with_half_the_pipe() {
    let (mut b, mut path) = (bbr3(), Path::new(8333.0, 0.04, 1000.0, 0.0));
    let mut flows = [Flow::new(&mut b, 0.0)];
    let mut dips = Vec::new();
    path.run(&mut flows, 31.0, |path, flows| {
        let w = flows[0].algorithm.window();
        if w < 200.0 && path.now > 1.0 && dips.last().is_none_or(|last| path.now - last > 1.0) {
            dips.push(path.now);
        }
    });
    for pair in dips.windows(2) {
        assert!((4.9..5.7).contains(&(pair[1] - pair[0])), "{dips:?}");
    }
    assert!((4..=6).contains(&dips.len()), "{dips:?}");
}

/// An ACK that ends a round, with this delivery rate and these losses since its segment was sent.
fn round(b: &mut Bbr3, d: &mut Driver, rate: f64, lost: f64, app_limited: bool) {
    d.now += 0.1;
    let prior_delivered = b.s.delivered;
    let ack = d.make_ack(b, 1.0, 0.1, true);
    let delivered = prior_delivered + 1.0;
    let (rate, tx_in_flight) = (Some(rate), 100.0);
    let delivery =
        Delivery { rate, delivered, prior_delivered, tx_in_flight, lost, app_limited, ..Delivery::default() };
    b.on_ack(&Ack { delivery: Some(delivery), in_flight: 1e6, ..ack });
}

#[test]
fn startup_ends_on_a_plateau_after_three_rounds_and_drain_after_three_more() {
    let (mut d, mut b) = (Driver::new(), bbr3());
    for rate in [10.0, 20.0, 40.0, 80.0, 85.0, 86.0] {
        round(&mut b, &mut d, rate, 0.0, false);
        assert_eq!(b.s.mode, Mode::Startup);
    }
    round(&mut b, &mut d, 87.0, 0.0, false);
    assert_eq!((b.s.mode, b.s.full.is_reached()), (Mode::Drain, true));
    // The segments in flight stay above the estimate, as after a fall of the rate.
    for _ in 0..3 {
        round(&mut b, &mut d, 80.0, 0.0, false);
        assert_eq!(b.s.mode, Mode::Drain);
    }
    round(&mut b, &mut d, 80.0, 0.0, false);
    assert_eq!(b.s.mode, Mode::Down);
}

#[test]
fn startup_ends_on_six_losses_in_a_round_of_recovery_even_where_the_application_limits() {
    let run = |losses: usize, lost_of_100: f64| {
        let (mut d, mut b) = (Driver::new(), bbr3());
        round(&mut b, &mut d, 10.0, 0.0, true);
        b.on_event(&Event::Congestion(d.signal(&b, Cause::Loss)));
        for _ in 0..losses {
            b.on_event(&Event::Lost(Lost { delivered: b.s.delivered, ..lost(100.0, 1.0) }));
            // A separate ACK within the round reports each loss.
            let ack = d.make_ack(&b, 1.0, 0.1, false);
            let delivered = b.s.delivered + 1.0;
            let delivery = Delivery { rate: Some(10.0), delivered, tx_in_flight: 100.0, ..Delivery::default() };
            b.on_ack(&Ack { delivery: Some(delivery), in_flight: 1e6, ..ack });
        }
        round(&mut b, &mut d, 10.0, lost_of_100, true);
        b.s.mode
    };
    assert_eq!(run(6, 3.0), Mode::Drain);
    assert_eq!(run(5, 3.0), Mode::Startup);
    assert_eq!(run(6, 2.0), Mode::Startup);
}

#[test]
fn application_limited_rounds_without_loss_never_end_startup_or_a_probe() {
    let (mut d, mut b) = (Driver::new(), bbr3());
    for _ in 0..30 {
        round(&mut b, &mut d, 10.0, 0.0, true);
    }
    assert_eq!(b.s.mode, Mode::Startup);
    let mut b = steady(1000.0);
    b.start_up(&Sample::default());
    let mut d = Driver { min_rtt: 0.1, srtt: 0.1, ..Driver::new() };
    b.s.inflight_longterm = 1e9;
    for _ in 0..30 {
        round(&mut b, &mut d, 10.0, 0.0, true);
    }
    assert_eq!(b.s.mode, Mode::Up);
}
