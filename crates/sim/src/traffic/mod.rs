//! Sources of transfers: start times and sizes of the transfers, and their senders and receivers.

mod schedule;
mod source;
mod summary;
mod transfer;

pub use schedule::{Planned, Schedule};
pub use source::{Source, SourceTotals};
pub use summary::{Buckets, Finished, Summary};
pub use transfer::Transfer;
