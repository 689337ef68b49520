//! The two kinds of disciplines. A discipline implements one of the two traits, which has its declaration and its rules.
//!
//! ```text
//!  spec ──► Settings ──► read ──► Parameters ──► build ──► rules
//!           (checked)    (errors end here)       (cannot fail)
//! ```

use std::fmt::Debug;

use elephan_cc::param::{BuildError, Settings};

use super::entry::Entry;
use super::held::Held;
use super::{Arrival, Backlog, DropTail, Verdict};
use crate::packet::Packet;
use crate::random::Stream;
use crate::sidecar::CongestionHeaders;
use crate::time::Time;

/// The link that a queue is built for.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Packets that may wait.
    pub limit_packets: Option<u64>,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// Bit/s.
    pub rate_bps: u64,
    /// The random numbers of the queue.
    pub draws: Stream,
}

impl Place {
    /// The bound on the waiting packets.
    pub(super) fn tail(&self, count_in_service: bool) -> DropTail {
        DropTail::new(self.limit_packets, self.limit_bytes, count_in_service)
    }
}

/// A discipline that decides when a packet arrives, and is first in, first out.
pub(super) trait AtArrival: Sized {
    /// Name, source and parameters.
    const ENTRY: Entry;

    /// Values of the parameters, checked.
    type Parameters: Clone + Debug;

    /// Reads the parameters; an error for values that contradict each other.
    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError>;

    /// Builds an empty queue.
    fn build(p: Self::Parameters, place: Place) -> Self;

    /// The bound on the waiting packets.
    fn tail(&self) -> &DropTail;

    /// Decides whether an arriving packet waits, is marked or is dropped.
    fn decide(&mut self, arrival: &Arrival) -> Verdict;
}

/// A discipline that decides when the transmitter becomes free.
pub(super) trait AtDeparture: Sized {
    /// Name, source and parameters.
    const ENTRY: Entry;

    /// Values of the parameters, checked.
    type Parameters: Clone + Debug;

    /// Reads the parameters; an error for values that contradict each other.
    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError>;

    /// Builds an empty queue.
    fn build(p: Self::Parameters, place: Place) -> Self;

    /// Takes a packet that arrives at `packet.at`; the packets that are dropped for it are put into `dropped`. `headers` has the
    /// congestion headers of each flow.
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut impl CongestionHeaders);

    /// The packet that is sent at `now`; those that are dropped instead are put into `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, headers: &mut impl CongestionHeaders)
    -> Option<Packet>;

    /// The queues of waiting packets.
    fn held(&self) -> impl Iterator<Item = &Held>;

    /// Number and bytes of the waiting packets: the sum over [`AtDeparture::held`].
    fn backlog(&self) -> Backlog;
}
