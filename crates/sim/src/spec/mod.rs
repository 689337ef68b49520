//! The canonical form of a scenario: plain data, every quantity an integer in its smallest unit.
//!
//! The types of a spec describe the simulated system and not the engine. [`Spec::validate`] rejects values without a
//! physical meaning, and all later code relies on this check.

mod distributions;
mod dumbbell;
mod error;
mod flow;
mod group;
mod groups;
mod impairments;
mod limits;
mod link;
mod program;
mod queue;
mod receive_window;
mod resolution;
mod schema;
mod send_buffer;
mod stack;
mod traffic;
mod trains;
pub mod udt;
mod validate;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::distributions::{DurationSpec, RttSpec, SizeSpec};
pub use self::error::SpecError;
pub use self::flow::{ApplicationSpec, FlowSpec, ForeignSpec, FramesSpec, Handshake, WriteSpec};
pub use self::group::Group;
pub use self::impairments::{
    AggregationSpec, DelayStep, Impairments, JitterSpec, OPPORTUNITY_BYTES, RateStep, ReorderSpec, RetransmissionSpec,
};
pub use self::limits::{MOST_IN_FLIGHT, MOST_SEGMENTS, MOST_TRANSFERS, SHORTEST_TIMER_PS};
pub use self::link::{LinkSpec, LossInterval, LossSpec};
pub use self::program::ProgramSpec;
pub use self::queue::{QueueSpec, value_of};
pub use self::receive_window::unit_bytes;
pub use self::resolution::Resolution;
pub use self::schema::schema;
pub use self::stack::{ClockSpec, Detection, HostKind, HostRule, ReceiverEcn, RecoveryRule, StackSpec, timer_phase_ns};
pub use self::traffic::{ArrivalsSpec, RecordSpec, SourceSpec};
pub(crate) use self::trains::Allowed;

/// Version of the canonical form that this engine reads.
pub const FORMAT: u32 = 1;

/// A whole run: the canonical form of a scenario. A key that is absent has its default.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Spec {
    /// Version of the canonical form.
    #[serde(default = "format")]
    pub format: u32,
    /// Title for readers; the engine ignores it.
    #[serde(default)]
    pub title: Option<String>,
    /// Seed of start times, phases and every random stream.
    #[serde(default)]
    pub seed: u64,
    /// Resolution: segments or trains of them.
    #[serde(default)]
    pub resolution: Resolution,
    /// Simulated time, ps.
    pub duration_ps: u64,
    /// Sampling interval, ps; 0 records only the ends of the measurement window.
    pub sample_period_ps: u64,
    /// Upper end of the uniform random delay of each flow's start, ps.
    #[serde(default)]
    pub start_jitter_ps: u64,
    /// Upper end of the uniform random delay of each packet at its sender, ps; packets stay in order.
    #[serde(default)]
    pub send_jitter_ps: u64,
    /// Measurement window of rates, RTT and queue statistics.
    pub measure: Measure,
    /// Directed links.
    pub links: Vec<LinkSpec>,
    /// Flows that exist for the whole run.
    pub flows: Vec<FlowSpec>,
    /// Sources of transfers that come and go.
    #[serde(default)]
    pub traffic: Vec<SourceSpec>,
    /// Event log of every packet of a flow; none if absent.
    #[serde(default)]
    pub events: Option<EventsSpec>,
    /// Record the internal variables of each flow's algorithm at the sample times.
    #[serde(default)]
    pub internals: bool,
    /// Number of flows of each group whose samples are kept, evenly spread over the group; all if absent. If this
    /// number is present, also with the value 0, quantiles over the flows of each group are recorded.
    #[serde(default)]
    pub record_flows: Option<u32>,
    /// Groups from which the flows were listed.
    #[serde(skip)]
    #[schemars(skip)]
    pub groups: Vec<Group>,
}

/// The event log, without the packets of sources' transfers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
pub struct EventsSpec {
    /// Maximum number of events; a run with more is cancelled.
    pub limit: u64,
    /// Start, ps.
    #[serde(default)]
    pub from_ps: u64,
    /// End, ps; the end of the run if absent.
    #[serde(default)]
    pub to_ps: Option<u64>,
}

/// The measurement window.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Measure {
    /// Start, ps.
    pub from_ps: u64,
    /// End, ps.
    pub to_ps: u64,
}

fn format() -> u32 {
    FORMAT
}

fn one() -> u32 {
    1
}

impl Spec {
    /// Reads the canonical JSON, and lists the flows of groups one by one.
    ///
    /// # Errors
    /// The errors of [`Spec::read`].
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        Self::read(text).map(Self::without_groups).map(Self::with_buffers)
    }

    /// Reads the canonical JSON without listing the flows of groups.
    ///
    /// # Errors
    /// JSON that is not a spec, or a spec that [`Spec::validate`] rejects.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text).map_err(|e| SpecError::new("spec", e.to_string()))?;
        spec.validate()?;
        let seed = spec.seed;
        Ok(spec.with_seed(seed))
    }

    /// The spec with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        for flow in self.flows.iter_mut().chain(self.traffic.iter_mut().map(|source| &mut source.flow)) {
            Arc::make_mut(&mut flow.stack).set_phase(seed);
        }
        self
    }

    /// All flows, and for each source the flow with its transfers' common properties.
    pub fn all_flows(&self) -> impl Iterator<Item = &FlowSpec> {
        self.flows.iter().chain(self.traffic.iter().map(|source| &source.flow))
    }
}
