//! What makes flows send: applications that are slower than the network, transfers that come and go, and the draws behind
//! them.

mod application;
pub mod draw;
mod schedule;
mod source;

pub use application::Application;
pub use schedule::{Planned, Schedule};
pub use source::{Source, SourceTotals, Transfer};
