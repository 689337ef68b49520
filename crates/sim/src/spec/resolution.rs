//! Resolution of a run: what a packet of the engine stands for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resolution of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// A packet of the engine is one segment.
    #[default]
    Segment,
    /// A packet of the engine may be a train of consecutive segments of a flow, as long as nothing happens that one segment
    /// decides.
    Train,
}
