//! The canonical form of a scenario: plain data, every quantity an integer in its smallest unit.
//!
//! These types say what is simulated and know nothing of how. [`Spec::validate`] rejects what has no physical sense; everything
//! behind it may rely on that.

mod distributions;
mod error;
mod flow;
mod impairments;
mod limits;
mod link;
mod queue;
mod stack;
mod traffic;
pub mod udt;
mod validate;

use serde::Deserialize;

pub use self::distributions::{DurationSpec, RttSpec, SizeSpec};
pub use self::error::SpecError;
pub use self::flow::{ApplicationSpec, FlowSpec, ForeignSpec, FramesSpec};
pub use self::impairments::{DelayStep, Impairments, JitterSpec, OPPORTUNITY_BYTES, RateStep, ReorderSpec};
pub use self::limits::{MOST_IN_FLIGHT, MOST_SEGMENTS, MOST_TRANSFERS, SHORTEST_TIMER_PS};
pub use self::link::{LinkSpec, LossSpec};
pub use self::queue::{QueueSpec, value_of};
pub use self::stack::{ClockSpec, Detection, RecoveryRule, StackSpec};
pub use self::traffic::{ArrivalsSpec, SourceSpec};

/// A whole run.
#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    /// Moves start times and phases, and seeds every random stream.
    #[serde(default)]
    pub seed: u64,
    /// Length, ps.
    pub duration_ps: u64,
    /// Distance of samples, ps; 0 records only the ends of the measurement window.
    pub sample_period_ps: u64,
    /// Each flow starts up to this much later than said, uniformly, ps.
    #[serde(default)]
    pub start_jitter_ps: u64,
    /// Each packet leaves its sender up to this much later, uniformly and in order, ps.
    #[serde(default)]
    pub send_jitter_ps: u64,
    /// Where rates, RTT and queue statistics are taken.
    pub measure: Measure,
    /// Directed links.
    pub links: Vec<LinkSpec>,
    /// Flows.
    pub flows: Vec<FlowSpec>,
    /// Transfers that come and go.
    #[serde(default)]
    pub traffic: Vec<SourceSpec>,
    /// Whether, and when, everything that happens to a packet of a flow is written down.
    #[serde(default)]
    pub events: Option<EventsSpec>,
}

/// What of the run goes into the event log. The packets of transfers that come and go are not in it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct EventsSpec {
    /// Events that are kept at most; a run with more is given up.
    pub limit: u64,
    /// Begin, ps.
    #[serde(default)]
    pub from_ps: u64,
    /// End, ps; that of the run where absent.
    #[serde(default)]
    pub to_ps: Option<u64>,
}

/// The measurement window.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Measure {
    /// Begin, ps.
    pub from_ps: u64,
    /// End, ps.
    pub to_ps: u64,
}

impl Spec {
    /// Reads the canonical JSON.
    ///
    /// # Errors
    /// JSON that is not a spec, or a spec that [`Spec::validate`] refuses.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text).map_err(|e| SpecError::new("spec", e.to_string()))?;
        spec.validate()?;
        Ok(spec)
    }

    /// The flows, and what the transfers of each source have in common.
    pub fn all_flows(&self) -> impl Iterator<Item = &FlowSpec> {
        self.flows.iter().chain(self.traffic.iter().map(|source| &source.flow))
    }
}
