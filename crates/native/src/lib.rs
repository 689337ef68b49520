//! Algorithms in libraries of their own, which the engine loads while it runs.
//!
//! A library is a crate of the type `cdylib` with an [`Algorithm`](elephan_cc::Algorithm) and one line:
//!
//! ```
//! # use elephan_cc::reno::Reno;
//! #[derive(Clone)]
//! pub struct Mine(Reno);
//! # impl Default for Mine {
//! #     fn default() -> Self {
//! #         let none = std::collections::BTreeMap::new();
//! #         let settings = elephan_cc::param::Settings::resolve(&Reno::ENTRY, "", &none).expect("defaults");
//! #         Self(Reno::new(&settings).expect("defaults"))
//! #     }
//! # }
//! # impl elephan_cc::Observe for Mine {}
//! # impl elephan_cc::Algorithm for Mine {
//! #     fn on_ack(&mut self, ack: &elephan_cc::Ack) { self.0.on_ack(ack) }
//! #     fn on_event(&mut self, event: &elephan_cc::Event) { self.0.on_event(event) }
//! #     fn window(&self) -> f64 { self.0.window() }
//! #     fn ssthresh(&self) -> f64 { self.0.ssthresh() }
//! # }
//!
//! elephan_native::export!(Mine);
//! # fn main() {}
//! ```
//!
//! Types of Rust cross the border between library and engine, so both have to be built by the same compiler from the same
//! sources of `elephan-cc`; [`BUILT_FROM`] says what these are, and a library of others is refused. Memory does not cross
//! it: what a library allocates, it frees. A panic does not either, since it would end the process: the call reports it.

mod exported;
#[cfg(feature = "load")]
mod loaded;

pub use exported::{Answers, Exported, Hosted, Refused};
#[cfg(feature = "load")]
pub use loaded::{LoadError, Loaded, MOST_WINDOW, Report, load, parameters};

/// Compiler and sources of this build.
pub const BUILT_FROM: &str = env!("ELEPHAN_BUILT_FROM");
