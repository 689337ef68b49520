//! Tests of Westwood+.

use super::*;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::linux::Sample;
use crate::reports::Cause;
use crate::testing::{Driver, close, settings};

fn westwood(preset: &str) -> Westwood {
    Westwood::new(&settings(&Westwood::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
}

#[test]
fn ten_megabit_and_a_tenth_of_a_second_are_83_segments() {
    let mut w = westwood("");
    (w.bwe, w.rtt_min, w.sampled, w.win.w) = (10e6 / 8.0 / 1500.0, 0.1, true, 200.0);
    Driver::new().lose(&mut w);
    close(w.window(), 83.333, 1e-4);
    assert_eq!(w.window(), w.ssthresh());
    // Linux's estimate is 1,250 whole bytes a millisecond.
    let mut linux = westwood("linux");
    (linux.bwe, linux.rtt_min, linux.sampled, linux.segment_bytes) = (1250.0, 100.0, true, 1500.0);
    assert_eq!(linux.estimate(), 83.0);
}

// The pole is ns-3's; the paper's was not verified.
#[test]
fn the_filters_have_their_published_steps() {
    let mut w = westwood("");
    (w.bwe, w.sampled) = (8.0, true);
    w.filter(10.0);
    close(w.bwe, 8.2, 1e-12);
    let mut linux = westwood("linux");
    (linux.y1, linux.bwe, linux.sampled) = (8000.0, 8000.0, true);
    linux.filter(16000.0);
    assert_eq!((linux.y1, linux.bwe), (9000.0, 8125.0));
}

#[test]
fn linux_rounds_round_trips_up_to_jiffies() {
    // 40.12 ms are 41 jiffies of 1 ms or 11 jiffies of 4 ms; Linux 2.6 truncates.
    for (preset, hz, jiffies) in [("linux", 1000.0, 41.0), ("linux", 250.0, 11.0), ("linux-2.6", 1000.0, 40.0)] {
        let (mut d, mut w) = (Driver::new(), westwood(preset));
        w.on_event(&Event::Start(Start { hz, ..Start::default() }));
        d.ack(&mut w, 1.0, 0.040_12, 0.003);
        assert_eq!(w.rtt_min, jiffies, "{preset} at {hz}");
    }
}

#[test]
fn at_ten_milliseconds_a_sample_takes_more_than_fifty() {
    for preset in ["", "linux", "linux-2.6"] {
        let (mut d, mut w) = (Driver::new(), westwood(preset));
        d.start_at(&mut w, 10.0);
        let mut acks = 0;
        while !w.sampled {
            d.ack(&mut w, 1.0, 0.01, 0.003);
            acks += 1;
        }
        assert_eq!(acks, 17, "{preset}: 51 ms");
    }
}

#[test]
fn the_estimate_is_the_rate_of_the_acks() {
    for preset in ["", "linux", "linux-2.6"] {
        let (mut d, mut w) = (Driver::new(), westwood(preset));
        d.start_at(&mut w, 500.0);
        for _ in 0..6000 {
            d.ack(&mut w, 2.0, 0.1, 0.0005);
        }
        close(w.estimate(), 4000.0 * 0.1, 0.02);
    }
}

#[test]
fn a_loss_never_raises_the_window_but_linux_s_recovery_may() {
    let presets = [("", 200.0), ("linux", 400.0), ("linux-2.6", 400.0), ("ns2", 400.0)];
    let cases = presets.into_iter().flat_map(|case| [Cause::Loss, Cause::Ecn].map(|cause| (case, cause)));
    for ((preset, after), cause) in cases {
        let (mut d, mut w) = (Driver::new(), westwood(preset));
        d.start_at(&mut w, 500.0);
        for _ in 0..6000 {
            d.ack(&mut w, 2.0, 0.1, 0.0005);
        }
        w.win.w = 200.0;
        let signal = d.signal(&w, cause);
        w.on_event(&Event::Congestion(signal));
        assert_eq!(w.window(), if preset.is_empty() { 200.0 } else { 100.0 });
        w.on_event(&Event::RecoveryExit { now: d.now });
        close(w.window(), after, 0.02);
        assert_eq!(w.ssthresh(), if preset == "ns2" { 100.0 } else { w.window() });
    }
}

#[test]
fn a_timeout_sets_the_threshold_and_linux_learns_the_rtt_anew() {
    let (mut d, mut w) = (Driver::new(), westwood("linux"));
    d.start_at(&mut w, 500.0);
    for _ in 0..6000 {
        d.ack(&mut w, 2.0, 0.1, 0.0005);
    }
    d.time_out(&mut w);
    close(w.ssthresh(), 400.0, 0.02);
    assert_eq!(w.window(), 1.0);
    d.ack(&mut w, 1.0, 0.15, 0.15);
    assert_eq!(w.rtt_min, 150.0);
    let mut old = westwood("linux-2.6");
    d.start_at(&mut old, 500.0);
    d.time_out(&mut old);
    assert_eq!(old.ssthresh(), 250.0);
}

#[test]
fn a_pause_is_in_no_sample() {
    let (mut d, mut w) = (Driver::new(), westwood(""));
    d.start_at(&mut w, 500.0);
    for _ in 0..4000 {
        d.ack(&mut w, 2.0, 0.1, 0.0005);
    }
    let before = w.bwe;
    d.now += 10.0;
    w.on_event(&Event::Idle { now: d.now, idle: 10.0 });
    for _ in 0..400 {
        d.ack(&mut w, 2.0, 0.1, 0.0005);
    }
    close(w.bwe, before, 0.02);
}

#[test]
fn linux_counts_the_first_ack_as_a_duplicate_and_the_last_of_a_recovery_before_its_end() {
    let (mut d, mut w) = (Driver::new(), westwood("linux"));
    d.start_at(&mut w, 20.0);
    let sample = Some(Sample { acked: 2.0, ..Sample::default() });
    let mut ack = |w: &mut Westwood| {
        d.now += 0.06;
        w.on_ack(&Ack { sample, in_recovery: true, ..d.make_ack(w, 2.0, 0.1, false) });
    };
    ack(&mut w);
    assert_eq!((w.bk, w.linux.accounted, w.rtt_min), (1.0, 1.0, 100.0));
    w.repairing = Some(0.0);
    w.on_event(&Event::RecoveryExit { now: 0.0 });
    ack(&mut w);
    assert_eq!((w.bk, w.sampled), (2.0, true), "the sample ended after 120 ms");
    assert_eq!((w.window(), w.ssthresh()), (w.estimate(), w.estimate()));
}

#[test]
fn linux_s_threshold_at_a_timeout_is_the_estimate_even_above_the_window() {
    for (preset, threshold) in [("", 20.0), ("linux", 40.0)] {
        let (d, mut w) = (Driver::new(), westwood(preset));
        d.start_at(&mut w, 20.0);
        let segments = if preset.is_empty() { 1.0 } else { w.segment_bytes / 1000.0 };
        (w.bwe, w.rtt_min, w.sampled) = (400.0 * segments, 0.1, true);
        w.rtt_min *= if preset.is_empty() { 1.0 } else { 1000.0 };
        d.time_out(&mut w);
        close(w.ssthresh(), threshold, 0.05);
    }
}

#[test]
fn linux_takes_off_duplicate_acks_only_on_the_slow_path() {
    for (is_slow, counted, left) in [(true, 7.0, 0.0), (false, 10.0, 3.0)] {
        let (mut d, mut w) = (Driver::new(), westwood("linux"));
        w.linux.accounted = 3.0;
        let sample = Some(Sample { acked: 10.0, is_slow, ..Sample::default() });
        let ack = Ack { sample, ..d.make_ack(&w, 1.0, 0.1, false) };
        assert_eq!((w.linux.counted(&ack), w.linux.accounted), (counted, left));
    }
}
