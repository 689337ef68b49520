//! Transfers that come and go: when they begin, how long they are, and who sends them.

mod schedule;
mod source;
mod summary;
mod transfer;

pub use schedule::{Planned, Schedule};
pub use source::{Source, SourceTotals};
pub use summary::{Buckets, Finished, Summary};
pub use transfer::Transfer;
