use super::*;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::linux::{Recovery, Sample};
use crate::param::Setting;
use crate::reports::Cause;
use crate::testing::{Driver, close, settings};

fn htcp(preset: &str, values: &[(&str, Setting)]) -> Htcp {
    Htcp::new(&settings(&Htcp::ENTRY, preset, values).expect("it is right")).expect("it is right")
}

#[test]
fn alpha_follows_the_time_since_the_loss() {
    let mut h = htcp("", &[]);
    for (delta, alpha) in [(0.5, 1.0), (1.5, 6.0625), (2.0, 11.25), (5.0, 45.0), (10.0, 111.25), (20.0, 281.25)] {
        close(alpha_of(delta - 1.0), alpha, 1e-12);
        h.update_alpha(delta);
        close(h.alpha, alpha, 1e-12);
    }
    h.beta = 0.8;
    h.update_alpha(5.0);
    close(h.alpha, 18.0, 1e-12);
    h.update_alpha(0.5);
    close(h.alpha, 0.4, 1e-12);
    let mut freebsd = htcp("freebsd", &[]);
    freebsd.beta = 0.8;
    freebsd.update_alpha(0.5);
    assert_eq!(freebsd.alpha, 1.0);
}

#[test]
fn beta_is_the_ratio_of_the_rtts_within_its_limits() {
    for (rtt_max, beta) in [(0.15, 2.0 / 3.0), (0.3, 0.5), (0.11, 0.8)] {
        let mut h = htcp("", &[]);
        (h.rtt_min, h.rtt_max, h.adaptive_ok, h.b_old, h.b_max) = (0.1, rtt_max, true, 1000.0, 1100.0);
        h.update_beta();
        close(h.beta, beta, 1e-12);
    }
}

#[test]
fn a_change_of_throughput_by_a_fifth_halves() {
    let mut h = htcp("", &[]);
    (h.rtt_min, h.rtt_max, h.adaptive_ok, h.b_old, h.b_max) = (0.1, 0.15, true, 1000.0, 1250.0);
    h.update_beta();
    assert_eq!((h.beta, h.adaptive_ok), (0.5, false));
    // The next loss, with an unchanged throughput, still halves the window, and enables the adaptive backoff for
    // the loss after it.
    h.update_beta();
    assert_eq!((h.beta, h.adaptive_ok), (0.5, true));
    h.update_beta();
    close(h.beta, 2.0 / 3.0, 1e-12);
}

#[test]
fn the_window_gained_after_a_loss_is_the_integral_of_alpha() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[("adaptive_backoff", Setting::Bool(false))]));
    d.start_at(&mut h, 100_000.0);
    let from = h.window();
    for round in 1..=100 {
        d.round(&mut h, 0.1);
        let gained = match round {
            20 => 70.83,
            50 => 903.33,
            100 => 4757.5,
            _ => continue,
        };
        // A round has as many ACKs as the window at its start has segments, so growth lags by up to a round.
        close(h.window() - from, gained, 0.01);
    }
}

#[test]
fn the_rtt_scale_is_clamped() {
    for (rtt, scale) in [(0.2, 2.0), (0.05, 0.5), (1.0, 2.0), (0.005, 0.1)] {
        for arithmetic in ["fluid", "linux"] {
            let mut h = htcp("linux", &[("arithmetic", Setting::Text(arithmetic))]);
            h.rtt_min = h.linux.round_trip(h.win.arithmetic, rtt);
            close(h.scale(), scale, 1e-12);
        }
    }
    let mut off = htcp("", &[]);
    off.rtt_min = 0.2;
    assert_eq!(off.scale(), 1.0);
}

#[test]
fn linux_scales_with_whole_jiffies() {
    // In Linux today, 100.03 ms are 101 jiffies of 1 ms or 26 jiffies of 4 ms, and 40.12 ms are 41 jiffies of 1 ms
    // or 11 of 4 ms. In Linux 2.6, 100.03 ms are 100 jiffies of 1 ms.
    for (preset, hz, rtt, eighths) in [
        ("linux", 1000.0, 0.100_03, 7.0),
        ("linux-2.6", 1000.0, 0.100_03, 8.0),
        ("linux", 250.0, 0.100_03, 7.0),
        ("linux", 1000.0, 0.040_12, 19.0),
        ("linux", 250.0, 0.040_12, 18.0),
    ] {
        let mut h = htcp(preset, &[]);
        h.on_event(&Event::Start(Start { hz, ..Start::default() }));
        h.rtt_min = h.linux.round_trip(h.win.arithmetic, rtt);
        close(8.0 / h.scale(), eighths, 1e-12);
    }
}

#[test]
fn linux_ages_the_largest_rtt_in_whole_jiffies() {
    // 40.12 ms and 80 ms are 11 and 20 jiffies of 4 ms: 95 % of their difference of 9 jiffies are 8 jiffies.
    let mut h = htcp("linux", &[]);
    h.on_event(&Event::Start(Start { hz: 250.0, ..Start::default() }));
    (h.rtt_min, h.rtt_max) =
        (h.linux.round_trip(h.win.arithmetic, 0.040_12), h.linux.round_trip(h.win.arithmetic, 0.08));
    Driver::new().lose(&mut h);
    assert_eq!((h.rtt_min, h.rtt_max), (11.0, 19.0));
}

#[test]
fn the_largest_rtt_ages_and_rejects_jumps() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 100.0);
    for rtt in [0.1, 0.115, 0.13, 0.16] {
        d.ack(&mut h, 1.0, rtt, 0.01);
    }
    close(h.rtt_max, 0.13, 1e-12);
    d.lose(&mut h);
    close(h.rtt_max, 0.1 + 0.95 * 0.03, 1e-12);
}

#[test]
fn linux_takes_no_largest_rtt_from_the_ack_that_ends_a_recovery() {
    for (state, rtt_max) in [(Recovery::Open, 0.115), (Recovery::Disorder, 0.1), (Recovery::Repair, 0.1)] {
        let (mut d, mut h) = (Driver::new(), htcp("", &[]));
        d.start_at(&mut h, 100.0);
        d.ack(&mut h, 1.0, 0.1, 0.01);
        let ack = d.make_ack(&h, 1.0, 0.115, false);
        h.on_ack(&Ack { sample: Some(Sample { state, acked: 1.0, ..Sample::default() }), ..ack });
        close(h.rtt_max, rtt_max, 1e-12);
    }
}

#[test]
fn the_clock_counts_from_the_end_of_recovery() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 100.0);
    d.now = 10.0;
    h.on_event(&Event::Congestion(d.signal(&h, crate::Cause::Loss)));
    h.on_event(&Event::RecoveryExit { now: 10.5 });
    d.now = 12.5;
    d.ack(&mut h, 1.0, 0.1, 0.0);
    close(h.alpha, 2.0 * (1.0 - h.beta) * 11.25, 1e-12);
}

#[test]
fn the_clock_stands_still_while_idle_or_limited_by_the_application() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 100.0);
    d.ack(&mut h, 1.0, 0.1, 0.5);
    d.window_limited = false;
    for _ in 0..100 {
        d.ack(&mut h, 1.0, 0.1, 0.1);
    }
    d.window_limited = true;
    d.now += 30.0;
    h.on_event(&Event::Idle { now: d.now, idle: 30.0 });
    d.ack(&mut h, 1.0, 0.1, 0.1);
    close(d.now - h.t_last, 0.6, 1e-9);
    assert_eq!(h.alpha, 1.0);
}

#[test]
fn an_undo_restores_the_clock_and_the_measurements() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 100.0);
    d.now = 7.0;
    d.ack(&mut h, 1.0, 0.1, 0.0);
    (h.rtt_max, h.b_max) = (0.12, 900.0);
    let w = h.window();
    d.lose(&mut h);
    assert_eq!(h.b_old, 900.0);
    h.on_event(&Event::Undo { now: 7.1 });
    assert_eq!((h.window(), h.t_last, h.rtt_max, h.b_old), (w, 0.0, 0.12, 0.0));
}

#[test]
fn growth_is_never_faster_than_slow_start() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 10.0);
    d.now = 100.0;
    d.ack(&mut h, 1.0, 0.1, 0.0);
    assert!(h.alpha > 1000.0);
    close(h.window(), 11.0, 1e-12);
}

#[test]
fn throughput_is_sampled_once_a_window() {
    let (mut d, mut h) = (Driver::new(), htcp("", &[]));
    d.start_at(&mut h, 1000.0);
    for _ in 0..8 {
        d.round(&mut h, 0.1);
    }
    close(h.b_max, 10_000.0, 0.02);
}

/// An ACK of Linux that delivers `acked` new segments, and acknowledges `sampled` segments.
fn ack_of_linux(d: &mut Driver, h: &mut Htcp, acked: f64, sampled: f64) {
    let sample = Sample { acked: sampled, ..Sample::default() };
    h.on_ack(&Ack { acked, sample: Some(sample), ..d.make_ack(h, 1.0, 0.1, false) });
}

#[test]
fn the_first_measurement_of_linux_has_no_beginning() {
    for (preset, throughput) in [("linux", 0.0), ("linux-2.6", 25.0)] {
        let (mut d, mut h) = (Driver::new(), htcp(preset, &[]));
        d.start_at(&mut h, 10.0);
        (d.now, h.rtt_min, h.packets) = (0.1, 0.0, 9.0);
        ack_of_linux(&mut d, &mut h, 1.0, 1.0);
        assert_eq!((h.b_max, h.packets), (throughput, 0.0), "{preset}");
    }
}

#[test]
fn linux_counts_the_sample_of_an_ack_but_not_what_slow_start_leaves() {
    let (mut d, mut h) = (Driver::new(), htcp("linux", &[]));
    d.start_at(&mut h, 10.0);
    ack_of_linux(&mut d, &mut h, 0.0, 3.0);
    assert_eq!(h.win.counter, 3.0, "no segment is newly delivered");
    (h.win.w, h.win.ssthresh, h.win.counter) = (9.0, 10.0, 0.0);
    ack_of_linux(&mut d, &mut h, 3.0, 3.0);
    assert_eq!((h.win.w, h.win.counter), (10.0, 0.0));
}

#[test]
fn linux_measures_the_ack_that_begins_a_recovery_before_the_reduction() {
    let (mut d, mut h) = (Driver::new(), htcp("linux", &[]));
    d.start_at(&mut h, 100.0);
    (h.rtt_min, h.rtt_max, h.adaptive_ok, h.packets_since) = (100.0, 140.0, true, d.now);
    let sample = Some(Sample { acked: 1.0, ..Sample::default() });
    let ack = Ack { sample, in_recovery: true, ..d.make_ack(&h, 1.0, 0.16, false) };
    h.on_event(&Event::Linux(linux::Event::Sample(ack)));
    let signal = d.signal(&h, Cause::Loss);
    h.on_event(&Event::Congestion(signal));
    assert_eq!(h.beta * 128.0, 80.0, "the largest RTT is 160 ms");
    let packets = h.packets;
    h.on_ack(&ack);
    assert_eq!((packets, h.packets), (1.0, 1.0), "the sample is taken once");
}

#[test]
fn a_loss_in_linux_s_reduction_restarts_the_clock() {
    let (mut d, mut h) = (Driver::new(), htcp("linux", &[]));
    d.start_at(&mut h, 100.0);
    h.on_event(&Event::Congestion(d.signal(&h, Cause::Ecn)));
    let window = h.window();
    d.now += 0.1;
    h.on_event(&Event::Linux(linux::Event::LossInReduction { now: d.now, window: 90.0 }));
    assert_eq!((h.t_last, h.window()), (d.now, window));
}
