//! SACK blocks of the ACKs in flight.

use std::collections::BTreeMap;

use crate::packet::{Packet, flag};
use crate::ring::Fifo;

/// AccECN option of an ACK (RFC 9768 section 3.2.3): the 24 lowest bits of the numbers of bytes that arrived with each
/// codepoint of the ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    /// EE0B, ECEB and EE1B.
    pub fields: [u32; 3],
    /// Number of fields in the option, from the first; 0 if the ACK has no option.
    pub count: u8,
    /// True for order 1, in which EE1B is the first field and EE0B the last.
    pub is_order_1: bool,
}

impl AccEcnOption {
    /// Largest number of fields.
    pub const MOST: u8 = 3;

    /// Size of an option with a number of fields, bytes, padded to whole words.
    #[must_use]
    pub fn bytes(count: u8) -> u16 {
        (2 + 3 * u16::from(count)).next_multiple_of(4)
    }

    /// The places in [`AccEcnOption::fields`] of the fields that the option has.
    pub fn present(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { count, is_order_1, .. } = *self;
        (0..usize::from(count)).map(move |i| if is_order_1 { 2 - i } else { i })
    }
}

/// SACK blocks of one ACK, and further data that does not fit into the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackEntry {
    /// SACK blocks `[first, past)`, newest first (RFC 2018 section 4).
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub count: u8,
    /// See [`crate::packet::Packet::extra`].
    pub owd: u32,
    /// Segment whose arrival caused this ACK. A real sender knows this segment by the echoed timestamp.
    pub trigger: u32,
    /// Segments `[first, past)` that arrived twice (D-SACK, RFC 2883); empty if there are none to report.
    pub repeated: (u32, u32),
    /// Feedback of XCP routers, bytes/s: the sum over the segments that the ACK acknowledges.
    pub feedback: f32,
    /// AccECN option.
    pub option: AccEcnOption,
}

impl SackEntry {
    /// True if the entry has nothing but an option, and the segment that caused the ACK is the last below `cumulative`.
    #[must_use]
    #[inline]
    pub fn is_option_alone(&self, cumulative: u32) -> bool {
        self.option.count > 0 && self.count == 0 && !self.is_report() && self.trigger + 1 == cumulative
    }

    /// True if the ACK reports segments that arrived twice.
    #[must_use]
    #[inline]
    pub fn is_report(&self) -> bool {
        self.repeated.0 < self.repeated.1
    }
}

/// SACK blocks of the ACKs in flight, in the order of their transmission.
#[derive(Clone, Debug, Default)]
pub struct Sacks {
    entries: Fifo<SackEntry>,
    first: u32,
    /// `Some` if ACKs may be reordered or duplicated: entries by number, with the count of packets that share each.
    #[allow(clippy::box_collection, reason = "a log without it must stay small")]
    loose: Option<Box<BTreeMap<u32, (SackEntry, u32)>>>,
}

impl Sacks {
    /// An empty list; `loose` is true if ACKs may be reordered or duplicated.
    #[must_use]
    pub fn new(loose: bool) -> Self {
        Self { loose: loose.then(Box::default), ..Self::default() }
    }

    /// Stores an entry. Returns the entry's number, which the ACK carries.
    #[inline(always)]
    pub fn put(&mut self, entry: SackEntry) -> u32 {
        let (id, slot) = self.add();
        *slot = entry;
        id
    }

    /// Adds an entry, which the caller sets. Returns the entry with its number.
    #[inline(always)]
    fn add(&mut self) -> (u32, &mut SackEntry) {
        if self.loose.is_some() {
            return self.add_loose();
        }
        let id = self.first.wrapping_add(self.entries.len() as u32);
        (id, self.entries.append())
    }

    #[cold]
    #[inline(never)]
    fn add_loose(&mut self) -> (u32, &mut SackEntry) {
        let id = self.first;
        self.first = self.first.wrapping_add(1);
        let (entry, packets) = self.loose.get_or_insert_default().entry(id).or_default();
        *packets = 1;
        (id, entry)
    }

    /// Prefetches the oldest entry.
    #[inline(always)]
    pub fn fetch_oldest(&self) {
        self.entries.fetch_oldest();
    }

    /// The entry of an ACK in flight, without removing it.
    #[must_use]
    pub fn of(&self, ack: &Packet) -> Option<SackEntry> {
        let has_entry = ack.is_ack() && ack.flags() & flag::BESIDE != 0;
        if !has_entry {
            return None;
        }
        match &self.loose {
            Some(loose) => loose.get(&ack.extra()).map(|held| held.0),
            None => self.entries.get(ack.extra().wrapping_sub(self.first) as usize),
        }
    }

    /// Removes and returns an entry, and drops the entries of ACKs that were lost before it.
    #[inline]
    pub fn take(&mut self, id: u32) -> Option<SackEntry> {
        if self.loose.is_some() {
            return self.take_loose(id);
        }
        loop {
            let entry = self.entries.pop()?;
            let found = self.first == id;
            self.first = self.first.wrapping_add(1);
            if found {
                return Some(entry);
            }
        }
    }

    #[cold]
    fn take_loose(&mut self, id: u32) -> Option<SackEntry> {
        let loose = self.loose.as_mut()?;
        let (entry, packets) = loose.get_mut(&id)?;
        let entry = *entry;
        *packets -= 1;
        if *packets == 0 {
            loose.remove(&id);
        }
        Some(entry)
    }

    /// Drops the entry of an ACK that is lost.
    pub fn forget(&mut self, ack: &Packet) {
        if self.loose.is_some() && ack.flags() & flag::BESIDE != 0 {
            self.take_loose(ack.extra());
        }
    }

    /// Shares the entry of a duplicated ACK.
    pub fn copy(&mut self, ack: &Packet) {
        if ack.flags() & flag::BESIDE == 0 {
            return;
        }
        if let Some((_, packets)) = self.loose.as_mut().and_then(|loose| loose.get_mut(&ack.extra())) {
            *packets += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::time::Time;

    #[test]
    fn a_sack_log_forgets_the_entries_of_lost_acks() {
        let mut log = Sacks::default();
        let ids: Vec<u32> = (0..5).map(|i| log.put(SackEntry { owd: i, ..SackEntry::default() })).collect();
        assert_eq!(log.take(ids[2]).map(|e| e.owd), Some(2));
        assert_eq!(log.take(ids[3]).map(|e| e.owd), Some(3));
        assert_eq!(log.take(ids[4]).map(|e| e.owd), Some(4));
        assert!(log.take(5).is_none());
    }

    #[test]
    fn a_loose_log_finds_entries_in_any_order_and_keeps_none_too_long() {
        let mut log = Sacks::new(true);
        let ids: Vec<u32> = (0..4).map(|i| log.put(SackEntry { owd: i, ..SackEntry::default() })).collect();
        let ack = |id| Packet::new(Time(1), Time(1), FlowId(0), 0, 40, flag::ACK | flag::BESIDE, id);
        log.copy(&ack(ids[1]));
        log.forget(&ack(ids[0]));
        for (id, owd) in [(3, Some(3)), (1, Some(1)), (2, Some(2)), (1, Some(1)), (1, None), (0, None)] {
            assert_eq!(log.take(ids[id]).map(|e| e.owd), owd);
        }
        assert!(log.loose.is_some_and(|loose| loose.is_empty()));
    }
}
