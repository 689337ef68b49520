//! A dumbbell in a unit test, which checks that CUBIC leaves Reno its share. `cargo test -p elephan-sim --example
//! dumbbell` runs the test; another crate needs only `elephan-sim` as a dev-dependency for such a test.

use elephan_sim::rates::payload_rate_mbps;
use elephan_sim::{Engine, RunError, Spec, Time};

/// Goodput of each flow in the second half of a minute over 20 Mbit/s and 30 ms with 60 packets of buffer, Mbit/s.
fn goodputs_mbps(algorithms: &[&str]) -> Result<Vec<f64>, RunError> {
    let spec = Spec::dumbbell(20_000_000, Time::from_seconds(0.03), 60, Time::from_seconds(60.0), algorithms);
    let payload_bytes = spec.flows[0].stack.payload_bytes;
    let outcome = Engine::new(spec)?.run(|_| true)?;
    let measured = outcome.receivers.iter().map(|receiver| receiver.measured);
    Ok(measured
        .map(|[from, to]| payload_rate_mbps((to.delivered - from.delivered) as f64, payload_bytes, 30.0))
        .collect())
}

fn main() -> Result<(), RunError> {
    println!("CUBIC and Reno: {:.1?} Mbit/s", goodputs_mbps(&["cubic", "reno"])?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubic_leaves_reno_its_share() {
        let shares = goodputs_mbps(&["cubic", "reno"]).expect("the path can be run");
        assert!(shares.iter().sum::<f64>() > 18.0, "the link is used: {shares:?} Mbit/s");
        assert!(shares[1] > 5.0, "Reno is not starved: {shares:?} Mbit/s");
    }
}
