//! The packet-level engine: virtual time, links, queues, TCP endpoints and samples.
//!
//! The engine turns a [`Spec`] into an [`Outcome`]. The same spec gives the same bits on every machine.
//!
//! ```
//! use elephan_sim::{Engine, Spec, Time};
//!
//! let ms = Time::MILLISECOND.0;
//! let spec = Spec::dumbbell(50_000_000, Time(40 * ms), 100, Time(20_000 * ms), &["cubic", "reno"]);
//! let outcome = Engine::new(spec)?.run(|_| true)?;
//! let bytes: u64 = outcome.receivers.iter().map(|receiver| receiver.measured[1].wire_bytes - receiver.measured[0].wire_bytes).sum();
//! assert!(bytes as f64 * 8.0 / 10.0 > 0.95 * 50e6, "two flows use the link");
//! # Ok::<(), elephan_sim::RunError>(())
//! ```
//!
//! `examples/dumbbell.rs` is a run in the unit test of another crate; `examples/regression_test.rs` runs a user-defined
//! algorithm.

pub mod algorithms;
pub mod application;
pub mod checks;
#[cfg(test)]
mod costs;
pub mod crowd;
pub mod draw;
pub mod endpoint;
mod ends;
pub mod engine;
pub mod events;
mod hosted;
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

pub use ends::{Transport, start_of};
pub use engine::Engine;
pub use outcome::{Conservation, Outcome, RunError};
pub use spec::{Spec, SpecError};
pub use time::Time;
