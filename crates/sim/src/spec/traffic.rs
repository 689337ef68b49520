//! Sources of transfers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distributions::{DurationSpec, RttSpec, SizeSpec};
use super::flow::FlowSpec;

/// A source of TCP transfers that come and go.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct SourceSpec {
    /// Common properties of the transfers: name, algorithm, stack, paths, and the interval in which transfers start.
    /// Size, application and clocks are absent.
    pub flow: FlowSpec,
    /// Start times of the transfers.
    pub arrivals: ArrivalsSpec,
    /// Sizes of the transfers; absent if `arrivals` lists them.
    #[serde(default)]
    pub sizes: Option<SizeSpec>,
    /// Propagation round-trip times of the transfers; the path's if absent. If a transfer's time is longer than the
    /// path's, the difference is added as a delay behind the last link of the ACKs. If a transfer's time is shorter,
    /// the path's time is used.
    #[serde(default)]
    pub rtts: Option<RttSpec>,
    /// Form of the records of the transfers.
    #[serde(default)]
    pub record: RecordSpec,
}

impl SourceSpec {
    /// Upper bound of the mean number of segments of a transfer; the last segment need not be full.
    pub(crate) fn mean_segments(&self) -> f64 {
        let payload_bytes = f64::from(self.flow.stack.payload_bytes);
        match (&self.arrivals, &self.sizes) {
            (ArrivalsSpec::List { sizes_bytes, .. }, _) => {
                let sum: f64 = sizes_bytes.iter().map(|&bytes| (bytes as f64 / payload_bytes).ceil().max(1.0)).sum();
                sum / (sizes_bytes.len() as f64).max(1.0)
            }
            (_, sizes) => sizes.as_ref().map_or(1.0, |sizes| sizes.mean_bytes_at_most() / payload_bytes + 1.0),
        }
    }
}

/// Record of a source's transfers.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordSpec {
    /// A row for each transfer.
    #[default]
    All,
    /// Sums, and the distributions of transfers that begin in the measurement window; memory does not grow with the
    /// number of transfers.
    Summary,
}

impl SourceSpec {
    /// Lower bound of the mean number of transfers for a load of `bps` in a run of `duration_ps`.
    pub(crate) fn transfers_of_load(&self, bps: u64, duration_ps: u64) -> f64 {
        let flow = &self.flow;
        let stop_ps = flow.stop_ps.map_or(duration_ps, |stop| stop.min(duration_ps));
        let wire_bits = f64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8.0;
        let segments = bps as f64 * (stop_ps.saturating_sub(flow.start_ps) as f64 * 1e-12) / wire_bits;
        self.sizes.as_ref().map_or(1.0, |_| segments / self.mean_segments())
    }
}

/// Start times of transfers.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArrivalsSpec {
    /// Poisson process of a given rate.
    Poisson {
        /// Mean number of transfers per second.
        per_second: f64,
    },
    /// Poisson process with a stated load: transfers are drawn until the sum of their sizes gives the load.
    Load {
        /// Load on the wire, bit/s, without ACKs and retransmissions.
        bps: u64,
    },
    /// Users, each of whom alternates between a think time and a transfer.
    Users {
        /// Number of users.
        users: u32,
        /// Time from the end of a transfer to the start of the next.
        think: DurationSpec,
    },
    /// A list of transfers.
    List {
        /// Time from the start of the source to the start of each transfer, ps; not decreasing.
        starts_ps: Vec<u64>,
        /// Size of each transfer, bytes of user data.
        sizes_bytes: Vec<u64>,
        /// Propagation round-trip time of each transfer, ps; the path's if empty.
        #[serde(default)]
        rtts_ps: Vec<u64>,
    },
}
