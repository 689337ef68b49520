//! The packet-level engine: virtual time, links, queues, TCP endpoints, probes.
//!
//! [`Spec`] in, [`Outcome`] out: the same spec gives the same bits on every machine.

pub mod algorithms;
pub mod application;
pub mod crowd;
pub mod draw;
pub mod endpoint;
mod ends;
pub mod engine;
pub mod events;
mod index;
pub mod link;
pub mod memory;
pub mod network;
pub mod outcome;
pub mod packet;
mod prefetch;
pub mod queue;
pub mod quiet;
pub mod random;
pub mod rates;
pub mod record;
pub mod ring;
pub mod runs;
pub mod sidecar;
pub mod spec;
pub mod tables;
pub mod time;
pub mod traffic;

pub use ends::Transport;
pub use engine::Engine;
pub use outcome::{Conservation, Outcome, RunError};
pub use spec::{Spec, SpecError};
pub use time::Time;
