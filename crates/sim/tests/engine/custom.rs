//! Algorithms that are not built into the engine: the caller supplies them as boxed objects, and they get the same
//! calls as built-in algorithms.
use std::cell::Cell;

use crate::common::*;
use elephan_cc::{Ack, Algorithm, Controller, Event, Needs, Observe};
use elephan_sim::algorithms::controller;
use elephan_sim::engine::PREFERRED_SLICE;
use elephan_sim::{Engine, RunError, Spec, SpecError};

/// Another algorithm behind a pointer.
struct Boxed(Controller);

impl Observe for Boxed {}

impl Algorithm for Boxed {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }
    fn on_event(&mut self, event: &Event) {
        self.0.on_event(event);
    }
    fn window(&self) -> f64 {
        self.0.window()
    }
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }
    fn recovery_floor(&self) -> f64 {
        self.0.recovery_floor()
    }
    fn needs(&self) -> Needs {
        self.0.needs()
    }
}

fn lossy(algorithms: &[(&str, f64)]) -> Spec {
    let (mut links, flows) = dumbbell(20_000_000, 0.02, 8, algorithms, &linux_stack());
    links[0]["loss"] = serde_json::json!({"kind": "bernoulli", "p": 0.01});
    spec(&links, &flows, 20.0, 5.0)
}

#[test]
fn a_boxed_algorithm_gives_the_same_run_as_the_one_in_the_box() {
    let spec = lossy(&[("reno", 0.0), ("cubic", 1.0)]);
    let boxed = Engine::with_transports(spec.clone(), PREFERRED_SLICE, |index, flow| {
        let inner = controller(index, flow)?;
        Ok(if index == 0 { Controller::Custom(Box::new(Boxed(inner))) } else { inner })
    });
    let outcome = boxed.expect("the scenario is right").reporting_every(1).run(|_| true).expect("nobody cancels");
    assert!(outcome.senders[0].totals.loss_events > 10);
    assert_eq!(digest(&outcome), digest(&run(&spec)));
}

#[test]
fn an_algorithm_that_nobody_brings_is_unknown() {
    let mut spec = lossy(&[("reno", 0.0)]);
    spec.flows[0].algorithm = "mine.py:Mine".into();
    spec.flows[0].source_sha256 = Some("0".repeat(64));
    let error: SpecError = Engine::new(spec).expect_err("nobody brought it");
    assert!(error.to_string().starts_with("flows[0].algorithm: 'mine.py' is not an algorithm"), "{error}");
}

#[test]
fn a_run_that_reports_every_window_ends_at_the_first_one_that_says_no() {
    let spec = lossy(&[("reno", 0.0)]);
    let reports = |every: u32, stop_at: f64| {
        let count = Cell::new(0u32);
        let engine = Engine::new(spec.clone()).expect("the scenario is right").reporting_every(every);
        let ended = engine.run(|fraction| {
            count.set(count.get() + 1);
            fraction < stop_at
        });
        (count.get(), ended.map(|outcome| outcome.slice.seconds()))
    };
    let ((each, whole), (coarse, _)) = (reports(1, 2.0), reports(64, 2.0));
    let window_s = whole.expect("nobody cancels");
    assert_eq!(each / 64, coarse);
    assert!(each > 2000, "{each} windows");
    match reports(1, 0.5).1 {
        Err(RunError::Cancelled(fraction)) => assert!((fraction - 0.5) * 20.0 < 10.0 * window_s, "{fraction}"),
        other => panic!("it was cancelled, and not {other:?}"),
    }
}
