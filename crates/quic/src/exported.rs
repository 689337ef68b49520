//! Test: on quinn's connections, the exported crate of docs/port.md gives the same tables as the built-in algorithm.

use std::sync::Arc;

use elephan_quinn::Elephan;
use elephan_sim::engine::preferred_slice;
use elephan_sim::record::sample_times;
use elephan_sim::tables::{self, Column, Table};
use elephan_sim::{Engine, Spec, Time, Transport};

use crate::algorithms::chosen;
use crate::ends::ends_of;
use crate::make_foreign;

#[allow(dead_code, reason = "a parameter that nothing here sets")]
#[path = "../../../examples/my_stcp.rs"]
mod my_stcp;

/// Tables of samples and flows after 20 s of `stcp` at 10 Mbit/s and 40 ms with a buffer of 30 packets; with `exported`
/// the flows have the controllers of the exported crate.
fn run(exported: bool) -> [Table; 2] {
    let ms = Time::MILLISECOND.0;
    let mut spec = Spec::dumbbell(10_000_000, Time(40 * ms), 30, Time(20_000 * ms), &["stcp"]);
    make_foreign(&mut spec);
    let end = Time(spec.duration_ps);
    let times = sample_times(Time(spec.sample_period_ps), Time(spec.measure.from_ps), end, end);
    let engine = Engine::with_transports(spec.clone(), preferred_slice(&spec), |index, flow| {
        let mut chosen = chosen(index, flow, spec.seed)?;
        if exported {
            let make = || my_stcp::MyStcp::new(my_stcp::Parameters::default());
            let own = Elephan::own("my-stcp", make, None).expect("quinn serves it");
            chosen.factory = Arc::new(own.initial_window(flow.stack.initial_window.into()).seed(spec.seed));
        }
        let [sender, receiver] = ends_of(index, &spec, flow, &times, chosen, None);
        Ok(Transport::Foreign(sender, receiver))
    });
    let outcome = engine.expect("it can be run").run(|_| true).expect("it ends");
    [tables::samples(&spec, &outcome), tables::flows(&spec, &outcome)]
}

#[test]
fn the_exported_crate_behaves_as_the_built_in_algorithm() {
    let [samples, flows] = run(false);
    // Compared as texts, since a missing value is NaN, which equals nothing.
    assert!(
        format!("{samples:?}{flows:?}") == run(true).map(|table| format!("{table:?}")).concat(),
        "the tables differ"
    );
    let losses = flows.iter().find(|(name, _)| *name == "loss_events").map(|(_, column)| column);
    assert!(
        matches!(losses, Some(Column::Counts(losses)) if losses.iter().any(|&losses| losses > 0)),
        "a path without losses shows little"
    );
}
