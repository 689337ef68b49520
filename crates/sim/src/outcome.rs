//! Results of a run, and the errors that end one.

use crate::crowd::Crowd;
use crate::events::Log;
use crate::link::LinkTotals;
use crate::network::Count;
use crate::record::{LinkSamples, ReceiverRecord, SenderRecord};
use crate::spec::SpecError;
use crate::time::Time;
use crate::traffic::SourceTotals;

/// Everything that a run keeps.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Sample times, in order.
    pub times: Vec<Time>,
    /// Senders, by flow.
    pub senders: Vec<SenderRecord>,
    /// Receivers, by flow.
    pub receivers: Vec<ReceiverRecord>,
    /// Quantiles over the flows of each group, where the spec asks for them.
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
}

/// Every packet accounted for, at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Put into the network, data and ACKs.
    pub sent: u64,
    /// Made by links that let packets arrive twice.
    pub duplicated: u64,
    /// Taken out by the other end.
    pub received: u64,
    /// Dropped or lost.
    pub dropped: u64,
    /// Still on the way.
    pub under_way: u64,
}

/// Why a run did not end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The spec is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Somebody asked it to stop.
    #[error("cancelled at {0} of the run")]
    Cancelled(f64),
    /// Packets on their way would take more memory than they may.
    #[error(
        "memory: packets on their way and active transfers need more than the {limit_mib} MiB left for them, at {at_s:.6} s of the run"
    )]
    Memory {
        /// Memory that they may take, MiB.
        limit_mib: u64,
        /// When they needed more, s.
        at_s: f64,
    },
    /// More happened than the event log may hold.
    #[error(
        "events: more than {limit} events after {at_s:.6} s of the run; log a shorter part of it (from, to) or allow more (limit)"
    )]
    TooManyEvents {
        /// Events that may be kept.
        limit: u64,
        /// When there were more.
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
