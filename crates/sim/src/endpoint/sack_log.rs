//! SACK blocks travel beside the packets, so that a packet stays small.

use crate::ring::Fifo;

/// The blocks of one ACK and what else did not fit into the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackEntry {
    /// `[first, past)`, newest first (RFC 2018 section 4).
    pub blocks: [(u32, u32); 3],
    /// How many of them there are.
    pub count: u8,
    /// See [`crate::packet::Packet::extra`].
    pub owd: u32,
    /// The segment whose arrival made the receiver send this ACK. A sender knows it too, by the time stamp that comes back.
    pub trigger: u32,
}

/// SACK blocks of the ACKs under way, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct SackLog {
    entries: Fifo<SackEntry>,
    first: u32,
}

impl SackLog {
    /// Keeps an entry; the answer goes into the ACK.
    #[inline]
    pub fn put(&mut self, entry: SackEntry) -> u32 {
        let id = self.first.wrapping_add(self.entries.len() as u32);
        self.entries.push(entry);
        id
    }

    /// Takes an entry out, and forgets those of ACKs that were lost before it.
    #[inline]
    pub fn take(&mut self, id: u32) -> Option<SackEntry> {
        loop {
            let entry = self.entries.pop()?;
            let found = self.first == id;
            self.first = self.first.wrapping_add(1);
            if found {
                return Some(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sack_log_forgets_the_entries_of_lost_acks() {
        let mut log = SackLog::default();
        let ids: Vec<u32> = (0..5).map(|i| log.put(SackEntry { owd: i, ..SackEntry::default() })).collect();
        assert_eq!(log.take(ids[2]).map(|e| e.owd), Some(2));
        assert_eq!(log.take(ids[3]).map(|e| e.owd), Some(3));
        assert_eq!(log.take(ids[4]).map(|e| e.owd), Some(4));
        assert!(log.take(5).is_none());
    }
}
