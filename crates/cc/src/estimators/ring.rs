//! Values of the outstanding segments, by segment number.

/// Smallest number of slots of a ring.
const FEWEST_SLOTS: usize = 16;

/// Number of segments that are set one by one.
const FEW: u64 = 8;

/// A ring with a slot for each outstanding segment. The ring's length is a power of two, and a segment's slot is the
/// segment's number modulo the length. Slots are not cleared: a value remains until another segment uses the slot.
#[derive(Clone, Debug, Default)]
pub struct SegmentRing<T> {
    slots: Vec<T>,
}

impl<T: Copy + Default> SegmentRing<T> {
    /// An empty ring, which allocates no memory yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// Number of slots; 0 before the first value.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slots, and the position of a segment's slot.
    #[must_use]
    #[inline]
    pub fn place(&self, segment: u64) -> (&[T], usize) {
        (&self.slots, segment as usize & self.slots.len().wrapping_sub(1))
    }

    /// Sets the value of a segment that is sent; `base` is the lowest outstanding segment. The ring grows if it is too
    /// short for the segments from `base - 1` on, so the segment acknowledged last keeps its value too.
    #[inline]
    pub fn set(&mut self, base: u64, segment: u64, value: T) {
        let span = segment.saturating_sub(base) as usize + 2;
        if span > self.slots.len() {
            self.grow(base, span);
        }
        let mask = self.slots.len() - 1;
        self.slots[segment as usize & mask] = value;
    }

    /// Sets the value of the segments from `first` to before `past`, which are sent together; see [`SegmentRing::set`].
    #[inline]
    pub fn fill(&mut self, base: u64, first: u64, past: u64, value: T) {
        let span = past.saturating_sub(base) as usize + 1;
        if span > self.slots.len() {
            self.grow(base, span);
        }
        let mask = self.slots.len() - 1;
        if past.saturating_sub(first) > FEW {
            return self.fill_many(first as usize & mask, (past - first) as usize, value);
        }
        (first..past).for_each(|segment| self.slots[segment as usize & mask] = value);
    }

    /// Sets the values of the segments from `first` to before `past`, each by its distance from the first; see
    /// [`SegmentRing::set`].
    #[inline]
    pub fn fill_with(&mut self, base: u64, first: u64, past: u64, value: impl Fn(u32) -> T) {
        let span = past.saturating_sub(base) as usize + 1;
        if span > self.slots.len() {
            self.grow(base, span);
        }
        let from = first as usize & (self.slots.len() - 1);
        let (wrapped, straight) = self.slots.split_at_mut(from);
        let slots = straight.iter_mut().chain(wrapped);
        (0..).zip(slots).take(past.saturating_sub(first) as usize).for_each(|(place, slot)| *slot = value(place));
    }

    /// Sets the value of `count` slots from the slot `from` on.
    #[inline(never)]
    fn fill_many(&mut self, from: usize, count: usize, value: T) {
        let until_end = count.min(self.slots.len() - from);
        self.slots[from..from + until_end].fill(value);
        self.slots[..count - until_end].fill(value);
    }

    /// Value of an outstanding segment; `None` if the ring is empty.
    #[must_use]
    #[inline]
    pub fn get(&self, segment: u64) -> Option<T> {
        let mask = self.slots.len().wrapping_sub(1);
        self.slots.get(segment as usize & mask).copied()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, base: u64, span: usize) {
        let after = span.next_power_of_two().max(FEWEST_SLOTS);
        // The ring grows in place, by doubling; copying a large ring would need 50 % more memory.
        self.slots.reserve_exact(after - self.slots.len());
        while self.slots.len() < after {
            let before = self.slots.len();
            self.slots.resize((before * 2).max(FEWEST_SLOTS), T::default());
            let mask = self.slots.len() - 1;
            for segment in (base..).take(before) {
                let slot = segment as usize & mask;
                if slot >= before {
                    self.slots[slot] = self.slots[slot - before];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_segments_keep_their_values_when_the_ring_grows() {
        let mut ring = SegmentRing::new();
        assert_eq!((ring.get(7), ring.capacity()), (None, 0));
        let base = u64::from(u32::MAX) - 40;
        for segment in base..base + 1000 {
            ring.set(base, segment, segment);
        }
        assert!((base..base + 1000).all(|segment| ring.get(segment) == Some(segment)));
        assert_eq!(ring.capacity(), 1024);
    }

    #[test]
    fn segments_sent_together_have_the_values_that_they_would_have_alone() {
        let (mut together, mut alone) = (SegmentRing::new(), SegmentRing::new());
        for (base, first, past) in [(0, 0, 3), (2, 3, 20), (10, 20, 21), (15, 21, 70), (60, 70, 70), (64, 70, 300)] {
            together.fill_with(base, first, past, |place| first + u64::from(place));
            (first..past).for_each(|segment| alone.set(base, segment, segment));
            assert!((base..past).all(|segment| together.get(segment) == Some(segment)));
            assert_eq!(together.capacity(), alone.capacity());
        }
    }

    #[test]
    fn a_window_that_slides_needs_no_more_slots() {
        let mut ring = SegmentRing::new();
        for segment in 0..10_000_u64 {
            let base = segment.saturating_sub(14);
            ring.set(base, segment, segment);
            assert_eq!(ring.get(base.saturating_sub(1)), Some(base.saturating_sub(1)));
        }
        assert_eq!(ring.capacity(), 16);
    }
}
