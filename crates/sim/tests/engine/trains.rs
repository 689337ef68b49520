//! Runs in trains of segments beside the same runs in single segments.

use std::sync::Arc;

use elephan_sim::spec::{EventsSpec, LossSpec, Resolution};
use elephan_sim::{Engine, Outcome, Spec, Time};

use crate::common::{digest, run};

/// Two flows with these algorithms over 10 Gbit/s and 50 ms.
fn long_fat(algorithms: &[&str], buffer: u64, seconds: f64) -> Spec {
    let rtt = Time(50 * Time::MILLISECOND.0);
    let mut spec = Spec::dumbbell(10_000_000_000, rtt, buffer, Time::from_seconds(seconds), algorithms);
    spec.flows.iter_mut().for_each(|flow| flow.start_ps = 0);
    spec
}

fn in_trains(spec: &Spec) -> Spec {
    Spec { resolution: Resolution::Train, ..spec.clone() }
}

/// Segments delivered to each flow in the measurement window, mean RTT of the first, s, and ∫ packets dt of the bottleneck.
fn measured(outcome: &Outcome) -> (Vec<f64>, f64, f64) {
    let delivered =
        |r: &elephan_sim::record::ReceiverRecord| (r.measured[1].delivered - r.measured[0].delivered) as f64;
    let sender = &outcome.senders[0].measured;
    let waiting = outcome.links[0].1.rows.last().map_or(0.0, |row| row.integral_packet_seconds);
    (outcome.receivers.iter().map(delivered).collect(), sender.rtt_sum / sender.rtt_count as f64, waiting)
}

#[test]
fn a_flow_without_losses_has_the_goodput_rtt_and_queue_of_single_segments() {
    for algorithm in ["cubic", "htcp", "stcp", "reno"] {
        let mut spec = long_fat(&[algorithm], 1_000_000, 4.0);
        Arc::make_mut(&mut spec.flows[0].stack).initial_ssthresh = Some(60_000);
        let (single, trains) = (run(&spec), run(&in_trains(&spec)));
        let ((goodput, rtt, queue), (goodput_in_trains, rtt_in_trains, queue_in_trains)) =
            (measured(&single), measured(&trains));
        assert!((goodput_in_trains[0] / goodput[0] - 1.0).abs() < 0.002, "{algorithm}");
        assert!((rtt_in_trains / rtt - 1.0).abs() < 0.01, "{algorithm}: {rtt} s, {rtt_in_trains} s");
        assert!(
            (queue_in_trains - queue).abs() < 0.01 * queue.max(10_000.0),
            "{algorithm}: {queue}, {queue_in_trains}"
        );
    }
}

#[test]
fn late_departures_of_a_train_leave_its_queue_and_rtt_as_they_are() {
    let mut spec = Spec { send_jitter_ps: 200_000_000, ..long_fat(&["reno"], 1_000_000, 4.0) };
    let stack = Arc::make_mut(&mut spec.flows[0].stack);
    (stack.initial_ssthresh, stack.tso) = (Some(60_000), true);
    let [(_, rtt, queue), (_, rtt_in_trains, queue_in_trains)] =
        [&spec, &in_trains(&spec)].map(|spec| measured(&run(spec)));
    assert!((queue_in_trains / queue - 1.0).abs() < 0.0005, "{queue}, {queue_in_trains}");
    assert!((rtt_in_trains / rtt - 1.0).abs() < 0.0001, "{rtt} s, {rtt_in_trains} s");
}

#[test]
fn a_flow_that_paces_by_its_window_has_single_segments() {
    for algorithm in ["copa", "prague"] {
        let spec = Spec { send_jitter_ps: 200_000_000, ..long_fat(&[algorithm], 41_666, 1.0) };
        let [single, trains] = [&spec, &in_trains(&spec)].map(|spec| digest(&run(spec)));
        assert!(single == trains, "{algorithm}");
    }
}

#[test]
fn a_flow_that_overshoots_has_the_goodput_of_single_segments() {
    for (algorithm, jitter_ps) in [("reno", 0), ("cubic", 0), ("reno", 200_000_000), ("cubic", 200_000_000)] {
        let spec = Spec { send_jitter_ps: jitter_ps, ..long_fat(&[algorithm], 41_666, 4.0) };
        let [single, trains] = [&spec, &in_trains(&spec)].map(|spec| measured(&run(spec)).0[0]);
        assert!((trains / single - 1.0).abs() < 0.005, "{algorithm}: {single} and {trains} segments");
    }
}

#[test]
fn a_slow_start_has_single_segments() {
    let spec = Spec { send_jitter_ps: 200_000_000, ..long_fat(&["reno"], 41_666, 0.6) };
    let [single, trains] = [&spec, &in_trains(&spec)].map(|spec| digest(&run(spec)));
    assert!(single == trains);
}

#[test]
fn trains_depend_neither_on_slices_nor_on_the_order_of_flows() {
    let spec = in_trains(&long_fat(&["cubic", "htcp", "bbr"], 20_000, 2.0));
    let whole = digest(&run(&spec));
    for slice in [Time(70_000_000), Time(3_000_000_000)] {
        let engine = Engine::with_slice(spec.clone(), slice).expect("it is right");
        assert!(whole == digest(&engine.run(|_| true).expect("nobody cancels")), "{slice:?}");
    }
}

#[test]
fn a_path_where_each_segment_may_matter_has_no_trains() {
    let mut logged = long_fat(&["reno"], 20_000, 0.5);
    logged.events = Some(EventsSpec { limit: 10_000_000, from_ps: 0, to_ps: None });
    let mut lossy = long_fat(&["reno"], 20_000, 0.5);
    lossy.links[0].loss = LossSpec::Bernoulli { p: 1e-6 };
    let mut small = long_fat(&["reno"], 100, 0.5);
    small.seed = 2;
    for spec in [logged, lossy, small] {
        assert!(digest(&run(&spec)) == digest(&run(&in_trains(&spec))));
    }
}

#[test]
fn a_run_in_trains_is_checked_and_says_what_was_found() {
    let mut spec = in_trains(&long_fat(&["cubic", "cubic"], 1_000_000, 6.0));
    spec.seed = 2;
    for flow in &mut spec.flows {
        Arc::make_mut(&mut flow.stack).initial_ssthresh = Some(20_000);
    }
    let report = run(&spec).resolution.expect("it may have trains");
    // One of each third; with some seeds the first is due in slow start, which has no trains to check.
    let thirds: Vec<_> = report.stretches.iter().map(|&(from, ..)| (from / 2.0) as u32).collect();
    assert!(thirds == [0, 1, 2] && report.single_from_s.is_none(), "{report:?}");
    assert!(
        report.stretches.iter().all(|&(from, to, difference)| to - from > 0.049 && difference < 0.01),
        "{report:?}"
    );
    let short = run(&in_trains(&long_fat(&["cubic", "cubic"], 1_000_000, 1.6))).resolution.expect("it may have trains");
    assert_eq!(short.stretches, [], "32 round trips");
    assert_eq!(run(&long_fat(&["cubic"], 20_000, 0.1)).resolution, None);
}

#[test]
fn bbr_beside_cubic_has_the_goodput_of_single_segments() {
    for algorithm in ["bbr", "bbr3"] {
        let spec = long_fat(&[algorithm, "cubic"], 125_000, 8.0);
        let [(single, _, queue), (trains, _, queue_in_trains)] =
            [&spec, &in_trains(&spec)].map(|spec| measured(&run(spec)));
        for (single, trains) in single.iter().zip(&trains) {
            assert!((trains / single - 1.0).abs() < 0.01, "{algorithm}: {single} and {trains} segments");
        }
        assert!((queue_in_trains / queue - 1.0).abs() < 0.01, "{algorithm}: {queue}, {queue_in_trains}");
    }
}
