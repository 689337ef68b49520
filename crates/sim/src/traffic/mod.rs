//! Transfers that come and go: when they begin, how long they are, and who sends them.

mod schedule;
mod source;
mod summary;

pub use schedule::{Planned, Schedule};
pub use source::{Source, SourceTotals, Transfer};
pub use summary::{Buckets, Finished, Summary};
