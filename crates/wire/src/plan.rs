//! Plan of a run: a file that the Python package writes and all programs of the run read.

use std::fs::File;
use std::io::BufReader;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use elephan_sim::random::Stream;
use elephan_sim::record::sample_times;
use elephan_sim::{Spec, SpecError, Time};
use serde::Deserialize;

/// Port of every receiver, since each flow has its own addresses.
pub const RECEIVER_PORT: u16 = 5001;
/// Port of every sender.
pub const SENDER_PORT: u16 = 40_001;

/// Error that prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The operating system rejected a request.
    #[error("{what}: {source}")]
    System {
        /// The rejected request.
        what: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The plan is invalid.
    #[error("the plan {path} cannot be used: {why}")]
    Plan {
        /// Path of the file.
        path: String,
        /// Reason.
        why: String,
    },
    /// The scenario in the plan is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A flow failed.
    #[error("{flow}: {why}")]
    Flow {
        /// Name of the flow.
        flow: String,
        /// Reason.
        why: String,
    },
    /// The program's arguments are wrong.
    #[error("{0}")]
    Usage(String),
}

/// Adds the request to an error of the system.
pub(crate) fn doing(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Problem {
    move |source| Problem::System { what: what.into(), source }
}

/// A run.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// The scenario.
    pub spec: Spec,
    /// The ends of each flow of the run.
    pub flows: Vec<Ends>,
    /// The largest packet, bytes.
    pub largest_bytes: u32,
    /// True if the second flow is the reverse direction of the first. The packets of both flows have the same two
    /// addresses, and data packets of one may acknowledge data of the other.
    #[serde(default)]
    pub mirrored: bool,
    /// Time before a packet's due time in which the emulator polls instead of sleeping, µs.
    pub spin_us: u32,
    /// Shortest sleep, µs. At high rates, with a packet every few µs, several packets are then delivered at a time.
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
    /// The kernel's name of the flow's congestion control.
    pub congestion: String,
    /// Size of the send buffer, bytes.
    pub send_buffer_bytes: u32,
    /// Size of the receive buffer, bytes.
    pub receive_buffer_bytes: u32,
    /// Largest window that the receiver advertises, bytes.
    #[serde(default)]
    pub receive_window_bytes: Option<u32>,
    /// Initial congestion window, segments.
    pub initial_window: u32,
    /// True to request time stamps in µs, if the kernel supports them; flows with the kernel's own algorithms have time
    /// stamps in ms.
    #[serde(default)]
    pub microseconds: bool,
    /// True if segments are paced although the congestion control does not require pacing.
    #[serde(default)]
    pub pacing: bool,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The file does not exist or is not a plan.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let wrong = |why: String| Problem::Plan { path: path.display().to_string(), why };
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let plan: Self = serde_json::from_reader(BufReader::new(file)).map_err(|e| wrong(e.to_string()))?;
        plan.spec.validate().map_err(|e| wrong(e.to_string()))?;
        elephan_sim::queue::check(&plan.spec.links).map_err(|e| wrong(e.to_string()))?;
        if plan.flows.len() != plan.spec.flows.len() {
            return Err(wrong("it has different numbers of ends and flows".into()));
        }
        Ok(plan)
    }

    /// Sample times.
    #[must_use]
    pub fn sample_times(&self) -> Arc<[Time]> {
        let spec = &self.spec;
        let (from, to) = (Time(spec.measure.from_ps), Time(spec.measure.to_ps));
        sample_times(Time(spec.sample_period_ps), from, to, Time(spec.duration_ps))
    }

    /// Start of a flow, ns; the same as in a simulation with the same seed.
    #[must_use]
    pub fn start_ns(&self, flow: usize) -> i64 {
        let this = &self.spec.flows[flow];
        let mut jitter = Stream::new(self.spec.seed, &format!("flow {} start", this.name));
        ((this.start_ps + jitter.below(self.spec.start_jitter_ps + 1)) / 1000) as i64
    }

    /// The end, ns.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        (self.spec.duration_ps / 1000) as i64
    }
}
