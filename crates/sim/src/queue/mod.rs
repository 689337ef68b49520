//! Queue disciplines. A discipline decides, when a packet arrives, whether it may wait.

mod droptail;

pub use droptail::DropTail;

use crate::spec::QueueSpec;

/// What waits on a link at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A queue discipline, statically dispatched.
#[derive(Clone, Debug)]
pub enum Queue {
    /// See [`DropTail`].
    DropTail(DropTail),
}

/// A discipline that can be named in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What a scenario calls it.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Its parameters: name, unit, meaning.
    pub parameters: &'static [(&'static str, &'static str, &'static str)],
}

/// Every discipline.
pub const REGISTRY: &[Entry] = &[droptail::ENTRY];

impl Queue {
    /// The queue that a spec describes.
    #[must_use]
    pub fn new(spec: &QueueSpec) -> Self {
        match *spec {
            QueueSpec::DropTail { limit_packets, limit_bytes, count_in_service } => {
                Self::DropTail(DropTail::new(limit_packets, limit_bytes, count_in_service))
            }
        }
    }

    /// Whether a packet of `bytes` may join `backlog`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        match self {
            Self::DropTail(queue) => queue.admits(backlog, bytes),
        }
    }

    /// How many packets of `bytes` each may wait, where that is all that this discipline decides by.
    #[must_use]
    pub fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::DropTail(queue) => queue.uniform_limit(bytes),
        }
    }

    /// Whether it never refuses a packet, so that nobody need count what waits.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        match self {
            Self::DropTail(queue) => queue.is_unlimited(),
        }
    }

    /// Whether a packet counts as waiting until its last bit is sent, and not only until its first.
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        match self {
            Self::DropTail(queue) => queue.count_in_service,
        }
    }
}
