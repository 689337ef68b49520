//! A policy that was learned: once a step, a network turns the features of the step into an action.
//!
//! Variant: the features, the action and the steps are those of [`steering`](crate::steering), which are also those of the
//! environments in Python, so that a network acts here as it did where it learned. The default network was trained by
//! `examples/learning/train.py`.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::network::Network;
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Parameter, Preset, S, Settings, Unit, duration, text};
use crate::steering::{FEATURES, Steering, time_of};

/// Name of the network that was trained for this crate.
const TRAINED: &str = "trained";

/// Longest text of a network, characters.
const MOST_TEXT: f64 = 4e6;

const NETWORK: Parameter = Parameter {
    name: "network",
    domain: text(TRAINED, MOST_TEXT, Unit::None),
    source: "the user's; examples/learning/train.py",
    doc: "The network: 'trained' is that of the example, and any other text has the words 'network 1', the number of \
          layers, the sizes from the 10 inputs to one output (window) or two (window and pace), and the weights of each \
          value followed by its bias.",
};

const STEP: Parameter = Parameter {
    name: "step",
    domain: duration(0.0, 0.0, 10.0 * S),
    source: "the user's",
    doc: "Duration of a step; 0 for the smoothed RTT.",
};

/// A network that controls a flow.
#[derive(Clone, Debug)]
pub struct Policy {
    network: Network,
    steering: Steering,
}

impl Policy {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "policy",
        title: "Learned policy",
        kind: Kind::Hybrid,
        signals: &["delay", "loss", "ECN"],
        source: "the user's network; the default is trained by CMA-ES",
        doc: "Once a round trip, a small network looks at ratios of the last one, such as the queue's share of the RTT and \
              the share of lost segments, and multiplies the window by a factor from 1/2 to 2. The default network was \
              trained on paths of 5 to 100 Mbit/s and 10 to 80 ms, alone on each; it knows nothing of other flows.",
        presets: &[Preset::new("", "a network of the user; by default the trained example", &[])],
        tables: &[&[NETWORK, STEP]],
        variables: &[Policy::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] for a text that is no network.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let (text, step): (String, f64) = (settings.read(&NETWORK)?, settings.read(&STEP)?);
        let stated = if text == TRAINED { include_str!("policy/trained.txt") } else { &text };
        let network = Network::read(stated, FEATURES, &[1, 2]);
        let network = network.or_else(|why| settings.conflict_of(NETWORK.name, why))?;
        let fixed = (step > 0.0).then_some(step / S);
        Ok(Self { steering: Steering::new(fixed, network.outputs() == 2), network })
    }

    /// Ends the step if it is over by `now`, and acts.
    #[inline]
    fn decide(&mut self, now: f64) {
        if self.steering.is_over(now) {
            let step = self.steering.close(self.steering.ends().unwrap_or(now));
            let outputs = self.network.evaluate(&step.features);
            self.steering.act([outputs[0], outputs.get(1).copied().unwrap_or(0.0)]);
        }
    }
}

observed! {
    self: Policy;
    /// Last action: the logarithm of the factor of the window, to the base 2.
    action = self.steering.last_action(), plain();
}

impl Algorithm for Policy {
    fn on_ack(&mut self, ack: &Ack) {
        self.decide(ack.now);
        self.steering.on_ack(ack);
    }

    fn on_event(&mut self, event: &Event) {
        if let Some(now) = time_of(event) {
            self.decide(now);
        }
        self.steering.on_event(event);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.steering.window()
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        self.steering.pacing_rate()
    }

    fn needs(&self) -> Needs {
        Needs { unhosted: true, ..self.steering.needs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Value;
    use crate::reports::Start;
    use crate::{Controller, build};

    fn made(network: &str) -> Result<Controller, BuildError> {
        build("policy", &[("network".to_owned(), Value::Text(network.to_owned()))].into())
    }

    /// A network of one layer whose only weight is that of the bias.
    fn constant(bias: f64) -> String {
        format!("network 1 1 10 1 {} {bias}", "0 ".repeat(10))
    }

    fn ack(now: f64) -> Ack {
        Ack { now, acked: 1.0, rtt: Some(0.1), min_rtt: 0.1, srtt: 0.1, in_flight: 1.0, ..Ack::default() }
    }

    #[test]
    fn the_network_acts_once_a_step() {
        let mut policy = made(&constant(100.0)).expect("it is a network");
        policy.on_event(&Event::Start(Start::default()));
        let windows = [0.0, 0.05, 0.1, 0.15, 0.2].map(|now| {
            policy.on_ack(&ack(now));
            policy.window()
        });
        assert_eq!(windows, [10.0, 10.0, 20.0, 20.0, 40.0], "tanh(100) is 1");
    }

    #[test]
    fn the_trained_network_is_one() {
        assert!(build("policy", &[].into()).is_ok());
    }

    #[test]
    fn a_text_that_is_no_network_is_refused() {
        let error = made("network 1 1 9 1").expect_err("it has nine inputs").to_string();
        assert!(error.starts_with("policy: network: has 9 inputs and 1 outputs"), "{error}");
    }
}
