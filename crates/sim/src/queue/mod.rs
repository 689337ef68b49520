//! Queue disciplines. A discipline decides, when a packet arrives, whether it may wait, and whether it is marked.

mod droptail;
mod threshold;

pub use droptail::DropTail;
pub use threshold::Threshold;

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
    /// See [`Threshold`].
    Threshold(Threshold),
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
pub const REGISTRY: &[Entry] = &[droptail::ENTRY, threshold::ENTRY];

impl Queue {
    /// The queue that a spec describes.
    #[must_use]
    pub fn new(spec: &QueueSpec) -> Self {
        match *spec {
            QueueSpec::DropTail { limit_packets, limit_bytes, count_in_service } => {
                Self::DropTail(DropTail::new(limit_packets, limit_bytes, count_in_service))
            }
            QueueSpec::Threshold { limit_packets, limit_bytes, count_in_service, mark_packets, mark_bytes } => {
                let tail = DropTail::new(limit_packets, limit_bytes, count_in_service);
                Self::Threshold(Threshold::new(tail, mark_packets, mark_bytes))
            }
        }
    }

    /// The bound on what waits.
    #[inline]
    fn tail(&self) -> &DropTail {
        match self {
            Self::DropTail(queue) => queue,
            Self::Threshold(queue) => &queue.tail,
        }
    }

    /// Whether a packet of `bytes` may join `backlog`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        self.tail().admits(backlog, bytes)
    }

    /// Whether it ever marks a packet.
    #[must_use]
    #[inline(always)]
    pub fn can_mark(&self) -> bool {
        matches!(self, Self::Threshold(_))
    }

    /// Whether an ECN-capable packet that finds `backlog` is marked.
    #[must_use]
    pub fn marks(&self, backlog: Backlog) -> bool {
        match self {
            Self::DropTail(_) => false,
            Self::Threshold(queue) => queue.marks(backlog),
        }
    }

    /// How many packets of `bytes` each may wait, where that is all that this discipline decides by.
    #[must_use]
    pub fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        self.tail().uniform_limit(bytes)
    }

    /// Whether it never refuses a packet, so that nobody need count what waits.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.tail().is_unlimited()
    }

    /// Whether a packet counts as waiting until its last bit is sent, and not only until its first.
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        self.tail().count_in_service
    }
}
