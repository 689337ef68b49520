//! Ring buffers: a FIFO that grows by doubling, and a bit for each segment number of a sliding range.

use crate::prefetch;

/// A FIFO of small `Copy` values in a power-of-two ring.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Default for Fifo<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Fifo<T> {
    /// Number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the ring is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest element.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        self.slots.get(self.head)
    }

    /// The oldest element, to be changed.
    #[must_use]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        self.slots.get_mut(self.head)
    }

    /// The element behind `ahead` other elements.
    #[must_use]
    pub fn get(&self, ahead: usize) -> Option<T> {
        looks::count();
        (ahead < self.len).then(|| self.slots[(self.head + ahead) & (self.slots.len() - 1)])
    }

    /// Appends an element.
    #[inline]
    pub fn push(&mut self, value: T) {
        *self.append() = value;
    }

    /// Appends an element, which the caller sets. A value of several words that the caller sets in the slot is written
    /// only once.
    #[inline(always)]
    pub fn append(&mut self) -> &mut T {
        if self.len == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let at = (self.head + self.len) & mask;
        self.len += 1;
        &mut self.slots[at]
    }

    /// Prefetches the oldest element.
    #[inline(always)]
    pub fn fetch_oldest(&self) {
        prefetch::element(&self.slots, self.head);
    }

    /// Removes and returns the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head];
        self.len -= 1;
        // An empty ring restarts at its first slot, whose memory was used last.
        self.head = if self.len == 0 { 0 } else { (self.head + 1) & (self.slots.len() - 1) };
        Some(value)
    }

    /// The newest element.
    #[must_use]
    #[inline]
    pub fn newest(&self) -> Option<T> {
        self.len.checked_sub(1).and_then(|ahead| self.get(ahead))
    }

    /// Removes the newest element.
    #[inline]
    pub fn drop_newest(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Number of leading elements that fulfil `is_low`; no element behind them does.
    pub fn partition_point(&self, is_low: impl Fn(T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&is_low) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// All elements, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mask = self.slots.len().wrapping_sub(1);
        (0..self.len).map(move |i| &self.slots[(self.head + i) & mask])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // The ring grows in place; copying a large ring would need 50 % more memory.
        let before = self.slots.len();
        let after = (before * 2).max(4);
        self.slots.reserve_exact(after - before);
        self.slots.resize(after, T::default());
        // The elements that had wrapped around to the beginning follow the elements at the old end.
        self.slots.copy_within(0..self.head, before);
    }
}

/// Number of elements and bits at which a thread looks, for tests of the cost of a segment: a number of operations does not
/// depend on how busy the host is.
#[cfg(test)]
pub mod looks {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts one look.
    pub(super) fn count() {
        COUNT.set(COUNT.get() + 1);
    }

    /// The result of `f`, and the looks of this thread while it runs.
    pub fn during<T>(f: impl FnOnce() -> T) -> (T, u64) {
        let before = COUNT.get();
        (f(), COUNT.get() - before)
    }
}

/// Outside tests nothing is counted.
#[cfg(not(test))]
mod looks {
    #[inline(always)]
    pub(super) fn count() {}
}

/// Largest capacity, segments, of a ring that one transfer leaves to the next.
pub const MOST_INHERITED: usize = 256;

/// One bit for each segment number of a sliding range. The owner guarantees that all set bits lie within one capacity
/// of each other and calls [`BitRing::reserve`] first. The bits of a small window are stored in the struct itself: with
/// thousands of flows, bits in separate memory would cost a cache miss each.
#[derive(Clone, Debug, Default)]
pub struct BitRing {
    /// The bits, unless `words` has them.
    inline: u64,
    words: Box<[u64]>,
}

impl BitRing {
    /// Capacity, bits.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> u32 {
        (self.words().len() * 64) as u32
    }

    /// All bits, if they fit into one word.
    #[must_use]
    #[inline]
    pub fn inline_word(&self) -> Option<u64> {
        self.words.is_empty().then_some(self.inline)
    }

    #[inline]
    fn words(&self) -> &[u64] {
        if self.words.is_empty() { std::slice::from_ref(&self.inline) } else { &self.words }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        if self.words.is_empty() { std::slice::from_mut(&mut self.inline) } else { &mut self.words }
    }

    /// Takes over another ring's memory, without its bits; `clear` states that none of the other ring's bits is set.
    pub fn inherit(&mut self, old: &mut Self, clear: bool) {
        (self.inline, self.words) = (0, std::mem::take(&mut old.words));
        if !clear {
            self.words.fill(0);
        }
        debug_assert!(self.words.iter().all(|&word| word == 0), "bits of an ended transfer were left");
    }

    /// Makes room for `span` consecutive segment numbers that begin at or after `base`, keeping the bits in `[base,
    /// base + old capacity)`.
    pub fn reserve(&mut self, base: u32, span: u32) {
        if span <= self.capacity() {
            return;
        }
        let wider = (span.next_power_of_two().max(256) / 64) as usize;
        let mut words = vec![0_u64; wider];
        let old = self.words();
        for_each_word(base, base + self.capacity(), |segment, mask| {
            let at = segment as usize >> 6;
            words[at & (wider - 1)] |= old[at & (old.len() - 1)] & mask;
        });
        self.words = words.into();
    }

    #[inline]
    fn place(words: usize, segment: u32) -> (usize, u64) {
        ((segment as usize >> 6) & (words - 1), 1 << (segment & 63))
    }

    /// True if the bit is set.
    #[must_use]
    #[inline]
    pub fn get(&self, segment: u32) -> bool {
        looks::count();
        let words = self.words();
        let (word, bit) = Self::place(words.len(), segment);
        words[word] & bit != 0
    }

    /// Sets a bit.
    #[inline]
    pub fn set(&mut self, segment: u32) {
        let words = self.words_mut();
        let (word, bit) = Self::place(words.len(), segment);
        words[word] |= bit;
    }

    /// Clears a bit.
    #[inline]
    pub fn clear(&mut self, segment: u32) {
        let words = self.words_mut();
        let (word, bit) = Self::place(words.len(), segment);
        words[word] &= !bit;
    }

    /// Clears `[from, to)`. Returns the number of bits that were set.
    pub fn clear_range(&mut self, from: u32, to: u32) -> u32 {
        let mut cleared = 0;
        let words = self.words_mut();
        let count = words.len();
        for_each_word(from, to, |segment, mask| {
            let word = &mut words[(segment as usize >> 6) & (count - 1)];
            cleared += (*word & mask).count_ones();
            *word &= !mask;
        });
        cleared
    }

    /// Sets every bit of `[from, to)` that is clear in `except`. Returns the number of newly set bits.
    pub fn set_range_except(&mut self, from: u32, to: u32, except: &Self) -> u32 {
        let mut added = 0;
        let (words, except) = (self.words_mut(), except.words());
        let count = words.len();
        for_each_word(from, to, |segment, mask| {
            let at = segment as usize >> 6;
            let word = &mut words[at & (count - 1)];
            let new = mask & !except[at & (except.len() - 1)] & !*word;
            added += new.count_ones();
            *word |= new;
        });
        added
    }

    /// The lowest segment of `[from, to)` that is set here and clear in `without`, a ring of the same capacity.
    #[must_use]
    pub fn first_without(&self, without: &Self, from: u32, to: u32) -> Option<u32> {
        let (words, without) = (self.words(), without.words());
        let mut segment = from;
        let mut mask = u64::MAX << (from & 63);
        while segment < to {
            let at = (segment as usize >> 6) & (words.len() - 1);
            let word = words[at] & !without[at] & mask;
            if word != 0 {
                let found = (segment & !63) + word.trailing_zeros();
                return (found < to).then_some(found);
            }
            mask = u64::MAX;
            segment = (segment & !63) + 64;
            // A large window has many words without such a segment.
            let left = to.saturating_sub(segment).div_ceil(64) as usize;
            let behind = words[at + 1..].iter().zip(&without[at + 1..]).take(left);
            segment += 64 * behind.take_while(|&(&word, &hidden)| word & !hidden == 0).count() as u32;
        }
        None
    }

    /// The `n`-th highest segment set in `[from, to)`, with 1 for the highest.
    #[must_use]
    pub fn nth_highest(&self, n: u32, from: u32, to: u32) -> Option<u32> {
        if from >= to {
            return None;
        }
        let words = self.words();
        let mut left = n;
        let mut top = to - 1;
        loop {
            let base = top & !63;
            let mut word = words[(top as usize >> 6) & (words.len() - 1)];
            word &= u64::MAX >> (63 - (top & 63));
            if base < from {
                word &= u64::MAX << (from & 63);
            }
            let ones = word.count_ones();
            if ones >= left {
                for _ in 1..left {
                    word &= !(1 << (63 - word.leading_zeros()));
                }
                return Some(base + 63 - word.leading_zeros());
            }
            left -= ones;
            if base <= from {
                return None;
            }
            top = base - 1;
        }
    }
}

/// Calls `f(first segment within the word, mask)` for each 64-bit word that overlaps `[from, to)`.
#[inline]
fn for_each_word(from: u32, to: u32, mut f: impl FnMut(u32, u64)) {
    let mut segment = from;
    while segment < to {
        let low = segment & 63;
        let in_word = (64 - low).min(to - segment);
        let mask = if in_word == 64 { u64::MAX } else { ((1_u64 << in_word) - 1) << low };
        f(segment, mask);
        segment += in_word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, VecDeque};

    /// Number of segments whose bits are stored in the struct itself.
    const INLINE_SEGMENTS: u32 = u64::BITS;

    proptest! {
        #[test]
        fn a_fifo_is_a_vec_deque(operations in proptest::collection::vec(proptest::option::weighted(0.6, any::<u32>()), 0..400)) {
            let mut fifo = Fifo::<u32>::default();
            let mut model = VecDeque::new();
            for operation in operations {
                match operation {
                    Some(value) if value % 8 == 0 => {
                        fifo.drop_newest();
                        model.pop_back();
                    }
                    Some(value) => {
                        fifo.push(value);
                        model.push_back(value);
                    }
                    None => prop_assert_eq!(fifo.pop(), model.pop_front()),
                }
                prop_assert_eq!(fifo.front(), model.front());
                prop_assert_eq!(fifo.newest(), model.back().copied());
                prop_assert!(fifo.iter().eq(model.iter()));
            }
        }

        #[test]
        fn bits_behave_as_a_set(base in 0_u32..5000, set in proptest::collection::btree_set(0_u32..700, 0..200),
                                holes in proptest::collection::btree_set(0_u32..700, 0..200), a in 0_u32..700, b in 0_u32..700, n in 1_u32..5,
                                span in prop_oneof![Just(INLINE_SEGMENTS), Just(700)]) {
            let [set, holes] = [set, holes].map(|offsets| offsets.into_iter().filter(|s| *s < span).collect::<BTreeSet<_>>());
            let (a, b) = (a.min(span), b.min(span));
            let (from, to) = (base + a.min(b), base + a.max(b));
            let mut ring = BitRing::default();
            let mut without = BitRing::default();
            without.reserve(base, span);
            holes.iter().for_each(|s| without.set(base + s));
            for (index, s) in set.iter().enumerate() {
                if index == set.len() / 2 { ring.reserve(base, span); }
                if index >= set.len() / 2 || *s < INLINE_SEGMENTS { ring.set(base + s); }
            }
            ring.reserve(base, span);
            let kept: BTreeSet<u32> = set.iter().enumerate().filter(|(i, s)| *i >= set.len() / 2 || **s < INLINE_SEGMENTS).map(|(_, s)| base + s).collect();
            let inside: Vec<u32> = kept.iter().copied().filter(|s| (from..to).contains(s)).collect();
            prop_assert_eq!(ring.nth_highest(n, from, to), inside.iter().rev().nth(n as usize - 1).copied());
            prop_assert_eq!(ring.first_without(&without, from, to), inside.iter().copied().find(|s| !holes.contains(&(s - base))));
            let mut filled = ring.clone();
            let fresh = (from..to).filter(|s| !kept.contains(s) && !holes.contains(&(s - base))).count();
            prop_assert_eq!(filled.set_range_except(from, to, &without) as usize, fresh);
            prop_assert_eq!(ring.clear_range(from, to) as usize, inside.len());
            prop_assert_eq!(ring.nth_highest(1, from, to), None);
        }
    }
}
