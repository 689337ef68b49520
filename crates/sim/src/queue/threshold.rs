//! Step marking: drop-tail that marks what finds more than a threshold waiting, as the switches do that DCTCP was made for.

use super::{Backlog, DropTail, Entry};

pub(super) const ENTRY: Entry = Entry {
    name: "threshold",
    title: "Drop-tail with step ECN marking",
    source: "RFC 8257 section 3.1 (DCTCP's threshold K)",
    parameters: &[
        ("limit_packets", "packets", "packets that may wait; a packet that would be one more is dropped"),
        ("limit_bytes", "bytes", "bytes that may wait; a packet that would exceed them is dropped"),
        ("count_in_service", "", "whether the packet in transmission counts as waiting (ns-2 and Linux: no)"),
        ("mark_packets", "packets", "an ECN-capable packet that finds so many waiting, or more, is marked"),
        ("mark_bytes", "bytes", "an ECN-capable packet that finds so many bytes waiting, or more, is marked"),
    ],
};

/// A first-in, first-out queue with a bound, and with thresholds for marking.
#[derive(Clone, Debug)]
pub struct Threshold {
    pub(super) tail: DropTail,
    mark_packets: u64,
    mark_bytes: u64,
}

impl Threshold {
    /// `tail` with thresholds in packets, bytes or both; the lower one decides.
    #[must_use]
    pub fn new(tail: DropTail, mark_packets: Option<u64>, mark_bytes: Option<u64>) -> Self {
        Self { tail, mark_packets: mark_packets.unwrap_or(u64::MAX), mark_bytes: mark_bytes.unwrap_or(u64::MAX) }
    }

    /// Whether a packet that finds `backlog` waiting is marked.
    pub(super) fn marks(&self, backlog: Backlog) -> bool {
        backlog.packets >= self.mark_packets || backlog.bytes >= self.mark_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_threshold_decides() {
        let queue = Threshold::new(DropTail::new(Some(100), None, false), Some(10), Some(6000));
        assert!(queue.marks(Backlog { packets: 10, bytes: 0 }) && !queue.marks(Backlog { packets: 9, bytes: 5999 }));
        assert!(queue.marks(Backlog { packets: 4, bytes: 6000 }));
    }
}
