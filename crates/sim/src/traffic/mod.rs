//! Transfers that come and go: when they begin, how long they are, and who sends them.

mod schedule;
mod source;

pub use schedule::{Planned, Schedule};
pub use source::{Source, SourceTotals, Transfer};
