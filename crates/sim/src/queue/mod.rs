//! Queue disciplines. Some disciplines decide at a packet's arrival if it may wait and if it is marked ([`Queue`]).
//! Others decide, each time the transmitter becomes free, which packet is sent next ([`Served`]). A discipline is one
//! file with its parameters and its rules, and a line in `registry.rs`.

mod bucket;
mod codel;
mod discipline;
mod droptail;
mod dualpi2;
mod entry;
mod form;
mod fq_codel;
mod held;
pub mod linux;
mod pie;
mod policer;
mod red;
mod registry;
mod tail;
mod tbf;
mod threshold;
mod vcp;
mod xcp;

pub use entry::{Entry, Preset};
pub use form::{CheckedLink, check, check_form, form};
pub use registry::{Queue, Served, entries};
pub use tail::DropTail;

use crate::time::Time;

/// Packets that wait on a link at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl std::ops::Add for Backlog {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// An arriving packet, for a discipline that decides at arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of the arrival.
    pub now: Time,
    /// Size of the packet.
    pub bytes: u64,
    /// Transmission time of the packet.
    pub transmission: Time,
    /// Packets that wait before the arriving packet.
    pub backlog: Backlog,
    /// Time at which the transmitter has sent all packets before this packet, perhaps in the past.
    pub free: Time,
    /// True if the packet is ECN-capable.
    pub capable: bool,
}

/// Fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet waits.
    Accept,
    /// The packet is marked, and waits.
    Mark,
    /// The packet is dropped.
    Drop,
}
