//! Sources of transfers.

use serde::Deserialize;

use super::distributions::{DurationSpec, RttSpec, SizeSpec};
use super::flow::FlowSpec;

/// A source of TCP transfers.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceSpec {
    /// What every transfer of the source has in common: name, algorithm, stack, paths, and the times between which transfers
    /// begin. It has no size, application or clocks.
    pub flow: FlowSpec,
    /// When transfers begin.
    pub arrivals: ArrivalsSpec,
    /// How large they are; a list brings its own.
    #[serde(default)]
    pub sizes: Option<SizeSpec>,
    /// Their propagation delays there and back; that of the path where absent. What is more than the path's is put behind the
    /// last link of the ACKs; the path's own is the least.
    #[serde(default)]
    pub rtts: Option<RttSpec>,
}

/// When transfers begin.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArrivalsSpec {
    /// A Poisson process.
    Poisson {
        /// Transfers/s.
        per_second: f64,
    },
    /// A Poisson process whose number of transfers is such that the drawn sizes add up to a load.
    Load {
        /// Bit/s on the wire, without ACKs and retransmissions.
        bps: u64,
    },
    /// Users: each thinks, fetches something, thinks again.
    Users {
        /// How many.
        users: u32,
        /// Distribution of the times from the end of a transfer to the beginning of the next.
        think: DurationSpec,
    },
    /// These.
    List {
        /// When, from the source's start on; not decreasing, ps.
        starts_ps: Vec<u64>,
        /// How large, bytes of user data.
        sizes_bytes: Vec<u64>,
        /// There and back, ps; none, or one for each.
        #[serde(default)]
        rtts_ps: Vec<u64>,
    },
}
