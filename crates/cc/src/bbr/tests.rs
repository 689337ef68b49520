//! BBR version 1 against its check points and over a path.

use super::*;
use crate::event::Event;
use crate::path::{Flow, Path, alone};
use crate::reports::{Cause, Lost, Start};
use crate::testing::{Driver, close, settings};

fn bbr(preset: &str) -> Bbr {
    Bbr::new(&settings(&Bbr::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
}

fn started(preset: &str) -> Bbr {
    let mut b = bbr(preset);
    b.on_event(&Event::Start(Start::default()));
    b
}

/// An ACK with a delivery-rate sample that ends a round.
fn sample(b: &mut Bbr, d: &mut Driver, rate: f64, rtt: f64) {
    d.now += rtt;
    let prior_delivered = b.s.delivered;
    let ack = d.make_ack(b, 1.0, rtt, true);
    let delivered = prior_delivered + 1.0;
    let delivery = Some(Delivery { rate: Some(rate), delivered, prior_delivered, ..Delivery::default() });
    b.on_ack(&Ack { delivery, ..ack });
}

#[test]
fn the_gains_have_the_published_values() {
    let (exact, linux) = (bbr(""), bbr("linux"));
    close(exact.p.startup_gain, 2.88539, 1e-6);
    close(linux.p.startup_gain, 2.88672, 1e-6);
    assert_eq!(linux.p.drain_gain, 0.34375);
    close(exact.p.drain_gain * exact.p.startup_gain, 1.0, 1e-12);
    close(exact.p.probe_gain + exact.p.yield_gain + f64::from(PHASES - 2), f64::from(PHASES), 1e-12);
}

#[test]
fn windows_are_multiples_of_the_bandwidth_delay_product() {
    // 100 Mbit/s, 40 ms, 1500 bytes: 333.33 segments.
    let mut b = started("2016");
    (b.s.min_rtt, b.s.mode) = (0.04, Mode::ProbeBw);
    let bandwidth = 100e6 / 8.0 / 1500.0;
    close(bandwidth * 0.04, 333.33, 1e-4);
    assert_eq!(b.bdp(bandwidth, 2.0), 667.0);
    close(1.25 * bandwidth * 0.04, 416.7, 1e-3);
    assert_eq!(b.bdp(bandwidth, 1.25), 417.0);
    close(b.p.probe_rtt_time / b.p.min_rtt_window, 0.02, 1e-12);
    // Linux adds three bursts of 8 segments (1 ms at 97.7 % of the rate), rounds up to an even number, and adds two
    // segments in the probing phase.
    let mut l = started("");
    (l.s.mode, l.s.phase, l.s.segment_bytes) = (Mode::ProbeBw, 2, 1500.0);
    l.s.set_pacing_rate(bandwidth);
    assert_eq!(l.s.burst, 8.0);
    assert_eq!(l.quantized(667.0), 692.0);
    l.s.phase = 0;
    assert_eq!(l.quantized(667.0), 694.0);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth_by_a_quarter() {
    let (mut d, mut b) = (Driver::new(), started(""));
    for (round, rate) in [10.0, 20.0, 40.0, 80.0, 85.0, 86.0, 87.0].into_iter().enumerate() {
        assert!(!b.s.full_reached, "{round}");
        sample(&mut b, &mut d, rate, 0.1);
    }
    assert!(b.s.full_reached);
    assert_eq!(b.s.full_bandwidth, 80.0);
    assert!(b.ssthresh().is_finite());
}

#[test]
fn two_lossy_intervals_with_the_same_throughput_are_a_policer() {
    // Each interval delivers 1500-byte segments at one of the rates, in Mbit/s, for 1 s, and loses a quarter as many
    // segments.
    let estimate = |rates: [f64; 2]| {
        let mut b = started("");
        b.s.policer.sampling = true;
        let mut now = 0.0;
        for mbps in rates {
            now += 1.0;
            let delivered = mbps * 1e6 / 8.0 / 1500.0;
            b.s.delivered += delivered;
            b.s.lost += 0.25 * delivered;
            b.s.policer.end(b.counts(now), 1500.0, false);
        }
        b.s.policer.in_use.then(|| b.bandwidth() * 1500.0 * 8.0 / 1e6)
    };
    close(estimate([10.0, 10.9]).expect("alike"), 10.45, 1e-9);
    assert_eq!(estimate([10.0, 12.0]), None);
}

#[test]
fn a_timeout_begins_an_interval_at_the_last_delivery() {
    let (mut d, mut b) = (Driver::new(), started(""));
    sample(&mut b, &mut d, 100.0, 0.1);
    let delivered = d.now;
    d.now += 1.0;
    d.time_out(&mut b);
    assert!(b.s.policer.sampling);
    assert_eq!(b.s.policer.started, delivered);
}

#[test]
fn a_policers_rate_is_forgotten_after_48_rounds() {
    let (mut d, mut b) = (Driver::new(), started(""));
    (b.s.mode, b.s.full_reached) = (Mode::ProbeBw, true);
    (b.s.policer.in_use, b.s.policer.rate) = (true, 50.0);
    for _ in 0..47 {
        sample(&mut b, &mut d, 100.0, 0.1);
        assert!(b.s.policer.in_use && b.s.pacing_gain == 1.0);
    }
    sample(&mut b, &mut d, 100.0, 0.1);
    assert!(!b.s.policer.in_use);
}

#[test]
fn the_gain_cycle_never_begins_with_the_phase_that_yields() {
    let mut b = started("");
    let mut seen = [false; PHASES as usize];
    for _ in 0..200 {
        b.enter_probe_bw(0.0);
        seen[usize::from(b.s.phase)] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

#[test]
fn limited_samples_only_raise_the_bandwidth() {
    let (mut d, mut b) = (Driver::new(), started(""));
    sample(&mut b, &mut d, 100.0, 0.1);
    for (rate, expected) in [(50.0, 100.0), (120.0, 120.0)] {
        let ack = d.make_ack(&b, 1.0, 0.1, false);
        let (delivered, app_limited) = (b.s.delivered + 1.0, true);
        let delivery = Some(Delivery { rate: Some(rate), delivered, app_limited, ..Delivery::default() });
        b.on_ack(&Ack { delivery, ..ack });
        assert_eq!(b.s.bandwidth.get(), expected);
    }
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let (mut d, mut b) = (Driver::new(), started(""));
    (b.s.w, b.s.full_reached, b.s.mode, b.s.phase) = (100.0, true, Mode::ProbeBw, 2);
    b.s.bandwidth = WindowedMax::new(500.0, 0.0);
    (b.s.min_rtt, b.s.next_round) = (0.1, 1e9);
    d.min_rtt = 0.1;
    b.on_event(&Event::Lost(Lost::default()));
    b.on_event(&Event::Congestion(d.signal(&b, Cause::Loss)));
    let ack = Ack { in_flight: 60.0, acked: 2.0, in_recovery: true, ..d.make_ack(&b, 2.0, 0.1, false) };
    b.on_ack(&ack);
    assert_eq!(b.window(), 62.0);
    b.on_event(&Event::RecoveryExit { now: d.now });
    b.on_ack(&Ack { in_recovery: false, ..ack });
    // The window returns to the target: 2 x 50 segments, plus three bursts of two segments.
    assert!((100.0..=108.0).contains(&b.window()), "{}", b.window());
}

#[test]
fn only_the_losses_that_an_ack_shows_lower_its_window() {
    let (mut d, mut b) = (Driver::new(), started("linux"));
    (b.s.w, b.s.full_reached, b.s.prior_window) = (50.0, true, 50.0);
    b.on_event(&Event::Lost(Lost { by_timer: true, ..Lost::default() }));
    assert_eq!((b.s.lost, b.s.lost_now), (1.0, 0.0));
    b.on_event(&Event::Lost(Lost::default()));
    assert_eq!((b.s.lost, b.s.lost_now), (2.0, 1.0));
    let ack = d.make_ack(&b, 1.0, 0.1, false);
    b.on_ack(&ack);
    assert_eq!(b.s.lost_now, 0.0);
}

#[test]
fn it_fills_the_pipe_with_a_short_queue() {
    let (mut b, mut path) = (bbr(""), Path::new(8333.0, 0.04, 1000.0, 0.0));
    let got = alone(&mut b, &mut path, 20.0);
    assert!(got.utilization > 0.95, "{}", got.utilization);
    assert!(got.queue < 0.2 * 333.0, "{}", got.queue);
    assert_eq!(got.loss, 0.0);
}

#[test]
fn random_loss_of_a_tenth_costs_little_more_than_itself() {
    let (mut b, mut path) = (bbr(""), Path::new(8333.0, 0.04, 1000.0, 0.1));
    let got = alone(&mut b, &mut path, 20.0);
    assert!(got.utilization > 0.85, "{}", got.utilization);
}

#[test]
fn it_drains_the_path_every_ten_seconds() {
    let (mut b, mut path) = (bbr(""), Path::new(8333.0, 0.04, 1000.0, 0.0));
    let mut flows = [Flow::new(&mut b, 0.0)];
    let mut dips = Vec::new();
    path.run(&mut flows, 45.0, |path, flows| {
        let down = flows[0].algorithm.window() <= 4.0 && path.now > 1.0;
        if down && dips.last().is_none_or(|last| path.now - last > 1.0) {
            dips.push(path.now);
        }
    });
    assert_eq!(dips.len(), 4, "{dips:?}");
    for pair in dips.windows(2) {
        assert!((10.0..10.6).contains(&(pair[1] - pair[0])), "{dips:?}");
    }
}

#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_and_does_not_probe_the_rtt() {
    let (mut d, mut b) = (Driver::new(), started(""));
    for _ in 0..10 {
        sample(&mut b, &mut d, 500.0, 0.1);
    }
    (b.s.mode, b.s.phase, b.s.full_reached) = (Mode::ProbeBw, 0, true);
    let w = b.window();
    d.now += 30.0;
    b.on_event(&Event::Idle { now: d.now, idle: 30.0 });
    close(b.pacing_rate().expect("it paces"), 0.99 * 500.0, 1e-12);
    assert_eq!(b.window(), w);
    sample(&mut b, &mut d, 400.0, 0.2);
    assert_eq!(b.s.mode, Mode::ProbeBw);
    // Without the pause, the minimum RTT would have expired with the same ACK.
    assert_eq!(b.s.min_rtt, 0.2);
    sample(&mut b, &mut d, 400.0, 10.1);
    assert_eq!(b.s.mode, Mode::ProbeRtt);
}

#[test]
fn a_timeout_leaves_one_segment_and_keeps_the_model() {
    let (mut d, mut b) = (Driver::new(), started(""));
    for _ in 0..10 {
        sample(&mut b, &mut d, 500.0, 0.1);
    }
    d.time_out(&mut b);
    assert_eq!(b.window(), 1.0);
    assert_eq!(b.s.bandwidth.get(), 500.0);
    assert_eq!(b.s.full_bandwidth, 0.0);
    sample(&mut b, &mut d, 500.0, 0.1);
    assert_eq!(b.window(), 4.0);
}

#[test]
fn a_mark_saves_linux_s_window_and_a_loss_after_it_begins_a_recovery() {
    for (preset, saved) in [("", 0.0), ("linux", 10.0)] {
        let (mut d, mut b) = (Driver::new(), started(preset));
        b.on_event(&Event::Congestion(d.signal(&b, Cause::Ecn)));
        assert_eq!((b.s.prior_window, b.s.recovering), (saved, false), "{preset}");
        b.on_event(&Event::Linux(linux::Event::LossInReduction { now: d.now, window: 10.0 }));
        sample(&mut b, &mut d, 500.0, 0.1);
        assert!(b.s.recovering && b.s.conserve, "{preset}");
    }
}
