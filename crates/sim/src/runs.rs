//! Sets of segment numbers, stored as bits with the ends of each run. Each end of a maximal run refers to the other
//! end, so that inserting, merging and skipping a run take O(1) time for any window. If all bits fit into one word, the
//! ends are computed from this word.

use crate::ring::BitRing;

/// A set of segment numbers above a sliding base.
#[derive(Clone, Debug, Default)]
pub struct RunSet {
    bits: BitRing,
    /// Other end of each run: the entry of a run's first segment is the run's last segment, and the entry of the last
    /// segment is the first segment. All other entries are undefined. The list is empty while `bits` is one word.
    other_end: Box<[u32]>,
    len: u32,
    /// One past the highest member ever inserted.
    top: u32,
}

impl RunSet {
    /// Number of members.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if the set is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One past the highest member that was ever inserted.
    #[must_use]
    #[inline]
    pub fn top(&self) -> u32 {
        self.top
    }

    /// The bits, for operations on whole words.
    #[must_use]
    pub fn bits(&self) -> &BitRing {
        &self.bits
    }

    /// Takes over another set's memory, without its members.
    pub fn inherit(&mut self, old: &mut Self) {
        self.bits.inherit(&mut old.bits, old.len == 0);
        self.other_end = std::mem::take(&mut old.other_end);
    }

    /// Makes room for `span` segments from `base` on.
    #[inline]
    pub fn reserve(&mut self, base: u32, span: u32) {
        if span > self.bits.capacity() {
            self.widen(base, span);
        }
    }

    #[cold]
    fn widen(&mut self, base: u32, span: u32) {
        let old = std::mem::take(&mut self.other_end);
        let held = self.bits.capacity();
        self.bits.reserve(base, span);
        self.other_end = vec![0; self.bits.capacity() as usize].into();
        if old.is_empty() {
            return self.find_ends(base);
        }
        // Each of the two parts of the ring moves as a whole.
        let wrap = base.next_multiple_of(held);
        for part in [base..wrap, wrap..base + held] {
            let (from, to) = (part.start as usize & (old.len() - 1), self.slot(part.start));
            self.other_end[to..to + part.len()].copy_from_slice(&old[from..from + part.len()]);
        }
    }

    /// Computes the ends of all runs at or above `base`.
    fn find_ends(&mut self, base: u32) {
        let mut first = base;
        while first < self.top {
            let mut past = first;
            while past < self.top && self.contains(past) {
                past += 1;
            }
            if past > first {
                let (at_first, at_last) = (self.slot(first), self.slot(past - 1));
                self.other_end[at_first] = past - 1;
                self.other_end[at_last] = first;
            }
            first = past + 1;
        }
    }

    #[inline]
    fn slot(&self, segment: u32) -> usize {
        segment as usize & (self.other_end.len() - 1)
    }

    /// True if `segment` is a member.
    #[must_use]
    #[inline]
    pub fn contains(&self, segment: u32) -> bool {
        self.bits.get(segment)
    }

    /// The last member of the run that begins at `first`; a run must begin there.
    #[must_use]
    #[inline]
    pub fn run_end(&self, first: u32) -> u32 {
        match self.bits.inline_word() {
            Some(word) => first + self.members_from(word, first) - 1,
            None => self.other_end[self.slot(first)],
        }
    }

    /// The first member of the run that ends at `last`, in a set above `base`; a run must end there.
    #[must_use]
    #[inline]
    pub fn run_start(&self, last: u32, base: u32) -> u32 {
        match self.bits.inline_word() {
            Some(word) => last + 1 - word.rotate_right((last & 63) + 1).leading_ones().min(last - base + 1),
            None => self.other_end[self.slot(last)],
        }
    }

    /// Number of consecutive members from the member `segment` upward, in a set of one `word`.
    #[inline]
    fn members_from(&self, word: u64, segment: u32) -> u32 {
        word.rotate_right(segment & 63).trailing_ones().min(self.top - segment)
    }

    /// Adds a segment at or above `base` that is not a member. Returns the run `[first, past)` that now contains the
    /// segment.
    #[inline]
    pub fn insert(&mut self, segment: u32, base: u32) -> (u32, u32) {
        self.bits.set(segment);
        self.len += 1;
        self.top = self.top.max(segment + 1);
        if let Some(word) = self.bits.inline_word() {
            let below = word.rotate_right((segment & 63) + 1).leading_ones().min(segment - base + 1);
            return (segment + 1 - below, segment + self.members_from(word, segment));
        }
        let first =
            if segment > base && self.contains(segment - 1) { self.other_end[self.slot(segment - 1)] } else { segment };
        let last = if segment + 1 < self.top && self.contains(segment + 1) {
            self.other_end[self.slot(segment + 1)]
        } else {
            segment
        };
        let (at_first, at_last) = (self.slot(first), self.slot(last));
        self.other_end[at_first] = last;
        self.other_end[at_last] = first;
        (first, last + 1)
    }

    /// Adds the segment after the highest member ever inserted, if the run that begins at the member `first` contains
    /// that highest member. Returns true if the segment was added. An insertion after the highest member is the most
    /// common insertion by far, and needs no search for neighbors.
    #[inline]
    pub fn extend(&mut self, first: u32) -> bool {
        let segment = self.top;
        if segment <= first || !self.contains(segment - 1) {
            return false;
        }
        if !self.other_end.is_empty() {
            let (at_first, at_last, at_new) = (self.slot(first), self.slot(segment - 1), self.slot(segment));
            if self.other_end[at_last] != first {
                return false;
            }
            self.other_end[at_first] = segment;
            self.other_end[at_new] = first;
        }
        self.bits.set(segment);
        self.len += 1;
        self.top = segment + 1;
        true
    }

    /// Removes `[from, to)`, which must not divide a run. Returns the number of removed members.
    #[inline]
    pub fn remove_range(&mut self, from: u32, to: u32) -> u32 {
        if self.len == 0 {
            return 0;
        }
        let removed = self.bits.clear_range(from, to.min(self.top));
        self.len -= removed;
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn runs_are_the_maximal_runs_of_a_set(base in 0_u32..2000, order in Just((0_u32..300).collect::<Vec<_>>()).prop_shuffle(), span in prop_oneof![Just(60_u32), Just(300)], keep in 1_usize..300, cut in 0_u32..300) {
            let mut runs = RunSet::default();
            let mut model = BTreeSet::new();
            for offset in order.into_iter().filter(|offset| *offset < span).take(keep) {
                let segment = base + offset;
                runs.reserve(base, offset + 1);
                let (first, past) = runs.insert(segment, base);
                model.insert(segment);
                prop_assert!((first..past).all(|s| model.contains(&s)));
                prop_assert!(!model.contains(&past) && (first == base || !model.contains(&(first - 1))));
                prop_assert_eq!((runs.run_end(first), runs.run_start(past - 1, base)), (past - 1, first));
            }
            // The run at the top becomes longer, and no other run does.
            let top = base + model.last().map_or(0, |last| last - base + 1);
            let lowest = (base..top).rev().take_while(|s| model.contains(s)).last().unwrap_or(base);
            runs.reserve(base, top - base + 2);
            prop_assert!(!runs.extend(top));
            prop_assert!(runs.extend(lowest) && runs.contains(top) && runs.run_end(lowest) == top);
            model.insert(top);
            prop_assert_eq!((runs.len() as usize, runs.top()), (model.len(), top + 1));
            // Cut at the end of a run, as a cumulative ACK does.
            let mut to = base + cut.min(span);
            while model.contains(&to) { to += 1; }
            let below = model.range(..to).count() as u32;
            prop_assert_eq!(runs.remove_range(base, to), below);
            prop_assert_eq!(runs.len() as usize, model.len() - below as usize);
        }
    }
}
