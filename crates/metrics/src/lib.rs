//! The numbers of a run, each defined once, computed from the tables of any backend.
//!
//! [`Data`] is a run: its spec, and tables that are read when a metric needs them, either straight from the engine's
//! [`Outcome`](elephan_sim::Outcome) or from a saved run. [`metric`] finds a definition by its name.

mod ask;
mod convergence;
mod data;
mod error;
mod fairness;
mod flows;
mod frame;
mod links;
mod numbers;
mod queueing;
mod registry;
mod rules;
mod throughput;
mod transfers;

pub use ask::{Ask, Setting};
pub use data::{Data, Read, Window, columns};
pub use error::{Found, MetricError};
pub use fairness::jain_index;
pub use links::{bottleneck, capacity_bits, link_counter, recorded_links};
pub use registry::{METRICS, Metric, Scope, Value, metric};
pub use rules::{Extremes, impossible_numbers, impossible_value};
pub use throughput::ByFlow;
pub use transfers::{Transfer, sized_transfers};
