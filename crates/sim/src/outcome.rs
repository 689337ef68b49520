//! Results of a run, and the errors that end one.

use crate::checks::ResolutionReport;
use crate::crowd::Crowd;
use crate::events::Log;
use crate::link::LinkTotals;
use crate::network::Count;
use crate::record::{LinkSamples, ReceiverRecord, SenderRecord};
use crate::spec::SpecError;
use crate::time::Time;
use crate::traffic::SourceTotals;

/// All results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Sample times, in order.
    pub times: Vec<Time>,
    /// Senders, by flow.
    pub senders: Vec<SenderRecord>,
    /// Receivers, by flow.
    pub receivers: Vec<ReceiverRecord>,
    /// Quantiles over the flows of each group, if the spec asks for them.
    pub crowd: Option<Crowd>,
    /// Samples of the recorded links, by index.
    pub links: Vec<(usize, LinkSamples)>,
    /// Totals of all links, by index.
    pub link_totals: Vec<LinkTotals>,
    /// Sources of transfers, in the order of the spec.
    pub sources: Vec<SourceTotals>,
    /// Packets by flow and direction.
    pub conservation: Conservation,
    /// Length of a time slice.
    pub slice: Time,
    /// Every event of a packet, if the spec asks for a log.
    pub events: Option<Log>,
    /// Checks of a run in trains.
    pub resolution: Option<ResolutionReport>,
}

/// Balance of all packets at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets sent into the network, data and ACKs.
    pub sent: u64,
    /// Created by links that duplicate packets.
    pub duplicated: u64,
    /// Received by the other end.
    pub received: u64,
    /// Dropped or lost.
    pub dropped: u64,
    /// Still in flight.
    pub under_way: u64,
}

/// Error that stopped a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The spec is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The caller cancelled the run when this fraction of the run was done.
    #[error("cancelled at {0} of the run")]
    Cancelled(f64),
    /// Packets in flight would exceed their memory limit.
    #[error(
        "memory: packets on their way and active transfers need more than the {limit_mib} MiB left for them, at {at_s:.6} s of the run"
    )]
    Memory {
        /// Memory limit of packets and transfers, MiB.
        limit_mib: u64,
        /// Simulated time at which the limit was exceeded, s.
        at_s: f64,
    },
    /// There were more events than the log may hold.
    #[error(
        "events: more than {limit} events after {at_s:.6} s of the run; log a shorter part of it (from, to) or allow more (limit)"
    )]
    TooManyEvents {
        /// Largest number of events in the log.
        limit: u64,
        /// Simulated time at which the limit was exceeded, s.
        at_s: f64,
    },
}

impl Conservation {
    /// Adds the packets of one flow in one direction.
    pub(crate) fn add(&mut self, count: Count, under_way: u64) {
        let Count { sent, duplicated, received, dropped } = count;
        self.sent += sent;
        self.duplicated += duplicated;
        self.received += received;
        self.dropped += dropped;
        self.under_way += under_way;
    }
}
