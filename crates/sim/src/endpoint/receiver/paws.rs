//! Protection against segments with old timestamps (PAWS, RFC 7323 section 5), as in Linux 6.12.

use crate::time::Time;

/// Ticks by which a timestamp may be older than the latest (`TCP_PAWS_WINDOW`).
const WINDOW: u64 = 1;

/// The latest timestamp of a connection whose segments may overtake each other. On other paths no timestamp is older than
/// one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paws {
    /// Time of the senders' clock at the start of the run.
    phase: Time,
    /// Whole ms of the timestamp (`ts_recent`).
    latest: u64,
    /// First segment that the last ACK expects (`rcv_wup`).
    pub(super) acknowledged: u32,
}

impl Paws {
    pub(super) fn new(phase: Time) -> Self {
        Self { phase, latest: 0, acknowledged: 0 }
    }

    /// Takes a segment that left at `stamp`. Returns true if the segment is discarded.
    pub(super) fn discards(&mut self, segment: u32, stamp: Time) -> bool {
        let shown = stamp.later(self.phase).0 / Time::MILLISECOND.0;
        if shown + WINDOW < self.latest {
            return true;
        }
        // A segment below the last ACK is answered before its timestamp is taken (`tcp_sequence`).
        if segment <= self.acknowledged && segment + 1 >= self.acknowledged {
            self.latest = self.latest.max(shown);
        }
        false
    }
}
