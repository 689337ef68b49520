//! Interface of a Linux host to an algorithm: its sample of an ACK, and the events of its own hooks.

pub(crate) mod event;
pub(crate) mod reports;

pub use event::Event;
pub use reports::{Recovery, Restart, Sample};
