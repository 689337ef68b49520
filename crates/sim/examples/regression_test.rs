//! A dumbbell as a unit test of another crate, which checks that the crate's own algorithm shares a link with CUBIC.
//!
//! `cargo run --release -p elephan-sim --example regression_test` prints the two goodputs; in another crate the body of
//! `shares_the_link` is a `#[test]`.

use elephan_cc::observe::{Observe, Observer};
use elephan_cc::{Ack, Algorithm, Controller, Event};
use elephan_sim::algorithms::controller;
use elephan_sim::{Engine, RunError, Spec, Time};

/// AIMD(1, 1/2) in 20 lines.
#[derive(Clone, Debug, Default)]
struct Mine {
    window: f64,
    ssthresh: f64,
}

impl Observe for Mine {
    fn observe(&self, _: &mut Observer<'_>) {}
}

impl Algorithm for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.may_grow() {
            self.window += if self.window < self.ssthresh { ack.acked } else { ack.acked / self.window };
        }
    }
    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(start) => (self.window, self.ssthresh) = (start.initial_window, start.initial_ssthresh),
            Event::Congestion(_) => {
                self.ssthresh = (self.window / 2.0).max(2.0);
                self.window = self.ssthresh;
            }
            Event::Timeout(_) => (self.window, self.ssthresh) = (1.0, (self.window / 2.0).max(2.0)),
            Event::Moderate { window } | Event::Keep { window } => self.window = self.window.min(window),
            _ => {}
        }
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
}

/// Goodput of both flows in the second half of a minute, Mbit/s.
fn shares_the_link() -> Result<[f64; 2], RunError> {
    let ms = Time::MILLISECOND.0;
    let spec = Spec::dumbbell(20_000_000, Time(30 * ms), 60, Time(60_000 * ms), &["mine", "cubic"]);
    let payload_bits = f64::from(spec.flows[0].stack.payload_bytes) * 8.0;
    let engine = Engine::with_transports(spec, Time(4 * ms), |index, flow| match index {
        0 => Ok(Controller::Custom(Box::new(Mine::default()))),
        _ => controller(index, flow),
    })?;
    let outcome = engine.run(|_| true)?;
    let goodput = |flow: usize| {
        let [before, after] = outcome.receivers[flow].measured;
        (after.delivered - before.delivered) as f64 * payload_bits / 30.0 * 1e-6
    };
    let shares = [goodput(0), goodput(1)];
    assert!(shares[0] + shares[1] > 18.0, "the link is used: {shares:?} Mbit/s");
    assert!(shares[1] > 4.0, "CUBIC is not starved: {shares:?} Mbit/s");
    Ok(shares)
}

fn main() -> Result<(), RunError> {
    let [mine, cubic] = shares_the_link()?;
    println!("mine {mine:.1} Mbit/s, cubic {cubic:.1} Mbit/s");
    Ok(())
}
