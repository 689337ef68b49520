//! Plan that the programs of one run share: a file that the Python package writes.

use std::fs::File;
use std::io::BufReader;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use elephan_sim::random::Stream;
use elephan_sim::record::sample_times;
use elephan_sim::{Spec, SpecError, Time};
use serde::Deserialize;

/// Port of every receiver; a flow has addresses of its own.
pub const RECEIVER_PORT: u16 = 5001;
/// Port of every sender.
pub const SENDER_PORT: u16 = 40_001;

/// Error that keeps a run from being made.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The system refuses something.
    #[error("{what}: {source}")]
    System {
        /// Field that is wrong, and why.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// The plan is not one.
    #[error("the plan {path} cannot be used: {why}")]
    Plan {
        /// Path of the file.
        path: String,
        /// Why.
        why: String,
    },
    /// The scenario in the plan is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A flow could not go on.
    #[error("{flow}: {why}")]
    Flow {
        /// Its name.
        flow: String,
        /// Why.
        why: String,
    },
    /// How it was called.
    #[error("{0}")]
    Usage(String),
}

/// Says what was being done when the system refused.
pub(crate) fn doing(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Problem {
    move |source| Problem::System { what: what.into(), source }
}

/// A run.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// The scenario.
    pub spec: Spec,
    /// The ends of each of its flows.
    pub flows: Vec<Ends>,
    /// The largest packet, bytes.
    pub largest_bytes: u32,
    /// True if packets without data before a flow's first data only take the propagation delay: the simulator's flows have no
    /// handshake, and this one is to leave no trace in the queue.
    pub handshakes_apart: bool,
    /// True if the second flow is the first in the opposite direction: their packets have the same two addresses, and what is data of one
    /// may acknowledge data of the other.
    #[serde(default)]
    pub mirrored: bool,
    /// For so long before a packet is due the emulator does not sleep, µs.
    pub spin_us: u32,
    /// For at least so long it sleeps when it sleeps, µs: at high rates, where a packet is due every few µs, several are handed on
    /// at a time.
    #[serde(default)]
    pub nap_us: u32,
}

/// A flow's addresses, and its sockets.
#[derive(Debug, Deserialize)]
pub struct Ends {
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
    /// The kernel's name of its congestion control.
    pub congestion: String,
    /// Room for what is not acknowledged, bytes.
    pub send_buffer_bytes: u32,
    /// Room for what is out of order, bytes.
    pub receive_buffer_bytes: u32,
    /// The largest window that the receiver offers, bytes.
    #[serde(default)]
    pub receive_window_bytes: Option<u32>,
    /// Initial congestion window, segments.
    pub initial_window: u32,
    /// True if time stamps should be in µs, where the kernel can; its own algorithms have them in ms.
    #[serde(default)]
    pub microseconds: bool,
    /// True if segments are paced although the congestion control does not ask for it.
    #[serde(default)]
    pub pacing: bool,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The file is not there, or not a plan.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let wrong = |why: String| Problem::Plan { path: path.display().to_string(), why };
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let plan: Self = serde_json::from_reader(BufReader::new(file)).map_err(|e| wrong(e.to_string()))?;
        plan.spec.validate().map_err(|e| wrong(e.to_string()))?;
        elephan_sim::queue::check(&plan.spec.links).map_err(|e| wrong(e.to_string()))?;
        if plan.flows.len() != plan.spec.flows.len() {
            return Err(wrong("it has other ends than flows".into()));
        }
        Ok(plan)
    }

    /// When everything is sampled.
    #[must_use]
    pub fn sample_times(&self) -> Arc<[Time]> {
        let spec = &self.spec;
        let (from, to) = (Time(spec.measure.from_ps), Time(spec.measure.to_ps));
        sample_times(Time(spec.sample_period_ps), from, to, Time(spec.duration_ps))
    }

    /// When a flow starts, ns: as in a simulation with the same seed.
    #[must_use]
    pub fn start_ns(&self, flow: usize) -> i64 {
        let this = &self.spec.flows[flow];
        let mut jitter = Stream::new(self.spec.seed, &format!("flow {} start", this.name));
        ((this.start_ps + jitter.below(self.spec.start_jitter_ps + 1)) / 1000) as i64
    }

    /// A flow's propagation delay there and back, ns.
    #[must_use]
    pub fn round_trip_ns(&self, flow: usize) -> i64 {
        let this = &self.spec.flows[flow];
        let links = this.path.iter().chain(&this.reverse_path);
        (links.map(|&link| self.spec.links[link].delay_ps).sum::<u64>() / 1000) as i64
    }

    /// The end, ns.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        (self.spec.duration_ps / 1000) as i64
    }
}
