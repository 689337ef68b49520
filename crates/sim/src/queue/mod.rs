//! Queue disciplines. Some decide when a packet arrives, whether it may wait and whether it is marked ([`Queue`]); others when
//! it would be sent, and which one ([`Served`]). A discipline is one file, which declares its parameters and builds itself from
//! their values, and a line in `registry.rs`.

mod codel;
mod discipline;
mod droptail;
mod dualpi2;
mod entry;
mod form;
mod fq_codel;
mod held;
mod pie;
mod red;
mod registry;
mod tail;
mod threshold;
mod vcp;
mod xcp;

pub use entry::{Entry, Preset};
pub use form::{CheckedLink, check, form};
pub use registry::{Queue, Served, entries};
pub use tail::DropTail;

use crate::time::Time;

/// What waits on a link at an instant.
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

/// What a discipline that decides at arrivals sees of one.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// Of the packet.
    pub bytes: u64,
    /// How long the packet takes to send.
    pub transmission: Time,
    /// What waits before it.
    pub backlog: Backlog,
    /// When the transmitter has sent, or had sent, all that came before.
    pub free: Time,
    /// A mark would be understood.
    pub capable: bool,
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits.
    Accept,
    /// It is marked, and waits.
    Mark,
    /// It is dropped.
    Drop,
}
