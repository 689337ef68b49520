//! Internal variables of algorithms, recorded at the sample times.

use crate::common;

use crate::common::{digest, dumbbell, link, linux_stack, ps, run, spec};
use elephan_sim::record::InternalValue;
use elephan_sim::{Outcome, Spec};
use serde_json::{Value, json};

/// Two flows on 40 Mbit/s, which start a second apart, with a sample every `period_s`.
fn asked(algorithms: &[&str], duration_s: f64, period_s: f64) -> Spec {
    let flows: Vec<(&str, f64)> = algorithms.iter().enumerate().map(|(i, &name)| (name, i as f64)).collect();
    let (links, flows) = dumbbell(40_000_000, 0.018, 100, &flows, &linux_stack());
    let mut spec = spec(&links, &flows, duration_s, duration_s / 2.0);
    spec.sample_period_ps = ps(period_s);
    spec.internals = true;
    spec
}

/// The values of a variable, each with the index of its sample time.
fn values(outcome: &Outcome, flow: usize, name: &str) -> Vec<(usize, f64)> {
    let internals = outcome.senders[flow].internals.as_deref().expect("they are recorded");
    let place = internals.names.iter().position(|known| known == name).expect("it has this variable") as u32;
    let of_variable = |row: &&InternalValue| row.variable == place;
    internals.rows.iter().filter(of_variable).map(|row| (row.time as usize, row.value)).collect()
}

#[test]
fn the_time_to_cubic_s_plateau_is_that_of_its_formula() {
    let outcome = run(&asked(&["cubic"], 40.0, 0.1));
    let (k, origin) = (values(&outcome, 0, "k_s"), values(&outcome, 0, "origin"));
    // The sample at the start is taken before the flow starts.
    assert_eq!(k.len(), outcome.times.len() - 1);
    let mut epochs = 0;
    for ((time, k), (_, origin)) in k.into_iter().zip(origin) {
        let sample = &outcome.senders[0].samples[time];
        if k.is_nan() || sample.loss_events == 0 {
            continue;
        }
        // RFC 9438 eq. 2: K = ∛((W_max - cwnd_epoch)/C), with cwnd_epoch the window after the loss.
        let expected = ((origin - sample.ssthresh) / 0.4).cbrt();
        assert!((k - expected).abs() < 1e-9, "{k} and {expected} at sample {time}");
        epochs += 1;
    }
    assert!(epochs > 200, "{epochs} samples lie in an epoch");
}

#[test]
fn bbr_goes_through_its_states_in_order() {
    let outcome = run(&asked(&["bbr"], 14.0, 0.005));
    let mut states: Vec<f64> = values(&outcome, 0, "mode").into_iter().map(|(_, state)| state).collect();
    states.dedup();
    // Startup, Drain, ProbeBW, after ten seconds ProbeRTT, ProbeBW.
    assert_eq!(states, [0.0, 1.0, 2.0, 3.0, 2.0]);
    let bandwidth = values(&outcome, 0, "bw").last().expect("there is a sample").1;
    assert!((0.95..1.05).contains(&(bandwidth * 1500.0 * 8.0 / 40e6)), "{bandwidth} segments/s");
}

#[test]
fn recording_changes_nothing_and_repeats_itself() {
    let spec = asked(&["cubic", "bbr3", "hcc", "vivace"], 6.0, 0.1);
    let plain = Spec { internals: false, ..spec.clone() };
    let (first, second, without) = (run(&spec), run(&spec), run(&plain));
    assert_eq!(digest(&first), digest(&without));
    assert!(without.senders.iter().all(|sender| sender.internals.is_none()));
    for flow in 0..4 {
        // Compared as text, since an unknown value is NaN and not equal to itself.
        let text = |outcome: &Outcome| format!("{:?}", outcome.senders[flow].internals);
        assert_eq!(text(&first), text(&second));
    }
}

#[test]
fn a_flow_has_rows_after_its_start_and_none_without_variables() {
    let outcome = run(&asked(&["fixed", "vegas"], 4.0, 0.1));
    let of = |flow: usize| outcome.senders[flow].internals.as_deref().expect("they are recorded");
    assert!(of(0).rows.is_empty());
    let base = values(&outcome, 1, "base_s");
    // The sample at the start, 1 s, is taken before the flow starts.
    assert_eq!(outcome.times[base[0].0].0, ps(1.1));
    assert_eq!(base.len(), outcome.times.len() - base[0].0);
    let last = base.last().expect("there is a sample").1;
    assert!((0.039..0.042).contains(&last), "{last} s");
}

/// A flow of UDT alone on 40 Mbit/s.
fn udt() -> Spec {
    let links = Value::Array(vec![link("out", 40_000_000, 0.01, Some(100)), link("back", 40_000_000, 0.01, None)]);
    let mut stack = linux_stack();
    (stack["payload_bytes"], stack["header_bytes"]) = (json!(1456), json!(44));
    let flows = json!([common::flow("f", "udt", 0.0, &[0], &[1], &stack)]);
    let mut spec = spec(&links, &flows, 5.0, 1.0);
    spec.internals = true;
    spec
}

#[test]
fn the_period_of_udt_is_the_inverse_of_its_rate() {
    let outcome = run(&udt());
    let rates = outcome.senders[0].rates.as_deref().expect("UDT has a rate");
    let periods = values(&outcome, 0, "period_s");
    assert!(periods.len() > 40);
    for (time, period) in periods {
        assert_eq!(1.0 / period, rates[time]);
    }
    assert!(values(&outcome, 0, "capacity").last().expect("there is a sample").1 > 0.0);
}

#[test]
fn the_estimate_of_memory_counts_every_value() {
    for spec in [asked(&["cubic", "bbr"], 20.0, 0.1), udt()] {
        let plain = Spec { internals: false, ..spec.clone() };
        let more = spec.memory_bytes() - plain.memory_bytes();
        let rows: usize = run(&spec).senders.iter().filter_map(|s| s.internals.as_ref()).map(|i| i.rows.len()).sum();
        // A value takes one row of the engine's records and one row of a table with five columns.
        let each = (size_of::<InternalValue>() + 5 * 8) as u64;
        let counted = more as f64 / (rows as u64 * each) as f64;
        assert!((0.97..1.03).contains(&counted), "{counted} of what {rows} rows take");
    }
}
