//! The bound on the waiting packets, which every discipline has.

use super::Backlog;

/// A first-in, first-out queue with a bound on the waiting packets.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit_packets: u64,
    limit_bytes: u64,
    pub(super) count_in_service: bool,
}

impl DropTail {
    /// A queue bounded in packets, bytes, both or neither.
    #[must_use]
    pub fn new(limit_packets: Option<u64>, limit_bytes: Option<u64>, count_in_service: bool) -> Self {
        Self {
            limit_packets: limit_packets.unwrap_or(u64::MAX),
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
            count_in_service,
        }
    }

    #[inline]
    pub(super) fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        backlog.packets < self.limit_packets && backlog.bytes.saturating_add(bytes) <= self.limit_bytes
    }

    pub(super) fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        (!self.count_in_service).then(|| self.limit_packets.min(self.limit_bytes / bytes.max(1)))
    }

    pub(super) fn is_unlimited(&self) -> bool {
        self.limit_packets == u64::MAX && self.limit_bytes == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_limit_counts_the_waiting() {
        let queue = DropTail::new(Some(2), None, false);
        assert!(queue.admits(Backlog { packets: 1, bytes: 9_999 }, 1500));
        assert!(!queue.admits(Backlog { packets: 2, bytes: 0 }, 1));
    }

    #[test]
    fn a_byte_limit_may_be_reached_but_not_exceeded() {
        let queue = DropTail::new(None, Some(3000), false);
        assert!(queue.admits(Backlog { packets: 1, bytes: 1500 }, 1500));
        assert!(!queue.admits(Backlog { packets: 1, bytes: 1501 }, 1500));
        assert!(DropTail::new(None, None, false).is_unlimited());
    }
}
