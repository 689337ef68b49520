//! Traits of the two kinds of disciplines. A discipline implements one of these traits, with its declaration and its
//! rules.
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
use crate::sidecar::PacketHeaders;
use crate::time::Time;

/// Properties of the link for which a queue is built.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Largest number of waiting packets.
    pub limit_packets: Option<u64>,
    /// Largest number of waiting bytes.
    pub limit_bytes: Option<u64>,
    /// Rate, bit/s.
    pub rate_bps: u64,
    /// Random numbers of the queue.
    pub draws: Stream,
}

impl Place {
    /// The bound on the waiting packets.
    pub(super) fn tail(&self, count_in_service: bool) -> DropTail {
        DropTail::new(self.limit_packets, self.limit_bytes, count_in_service)
    }
}

/// A first-in, first-out discipline that decides at a packet's arrival.
pub(super) trait AtArrival: Sized {
    /// Name, source and parameters.
    const ENTRY: Entry;

    /// Values of the parameters, checked.
    type Parameters: Clone + Debug;

    /// Reads the parameters. Returns an error for contradictory values.
    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError>;

    /// Builds an empty queue.
    fn build(p: Self::Parameters, place: Place) -> Self;

    /// The bound on the waiting packets.
    fn tail(&self) -> &DropTail;

    /// Decides whether an arriving packet waits, is marked or is dropped.
    fn decide(&mut self, arrival: &Arrival) -> Verdict;
}

/// A discipline that decides at the time when the transmitter becomes free.
pub(super) trait AtDeparture: Sized {
    /// Name, source and parameters.
    const ENTRY: Entry;

    /// Values of the parameters, checked.
    type Parameters: Clone + Debug;

    /// Reads the parameters. Returns an error for contradictory values.
    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError>;

    /// Builds an empty queue.
    fn build(p: Self::Parameters, place: Place) -> Self;

    /// Takes a packet that arrives at `packet.at`. Packets dropped because of this arrival are added to `dropped`.
    /// `headers` has the congestion headers of each flow.
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut impl PacketHeaders);

    /// Takes the packet that is sent at `now`. Packets dropped instead are added to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, headers: &mut impl PacketHeaders) -> Option<Packet>;

    /// Earliest time at which the next packet may be sent, if the discipline does more than choose that packet.
    #[inline(always)]
    fn release(&self) -> Time {
        Time::ZERO
    }

    /// Iterates over the queues of waiting packets.
    fn held(&self) -> impl Iterator<Item = &Held>;

    /// Number and bytes of the waiting packets: the sum over [`AtDeparture::held`].
    fn backlog(&self) -> Backlog;
}
