//! The SACK blocks of a receiver, the latest first (RFC 2018 section 4).

/// Largest number of SACK blocks in an ACK with the timestamps option.
pub(super) const REPORTED: usize = 3;
/// Largest number of blocks that a receiver knows: Linux reports three and remembers four (`TCP_NUM_SACKS`).
const KNOWN: usize = 4;
/// Blocks that each ACK has room for even with further options (`TCP_SACK_BLOCKS_EXPECTED`).
const KEPT: usize = 2;

/// SACK blocks: the first segment, and the segment after the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    known: [(u32, u32); KNOWN],
    count: u8,
    /// True if the blocks are those of Linux (`tcp_sack_new_ofo_skb`): a segment extends a known block or begins a new
    /// block, even if the segment is adjacent to segments of a forgotten block.
    of_linux: bool,
}

impl Blocks {
    pub(super) fn new(of_linux: bool) -> Self {
        Self { of_linux, ..Self::default() }
    }

    /// All known blocks.
    pub(super) fn known(&self) -> &[(u32, u32)] {
        &self.known[..usize::from(self.count)]
    }

    /// Number of blocks of the next ACK.
    pub(super) fn reported(&self) -> u8 {
        self.count.min(REPORTED as u8)
    }

    /// The blocks of the next ACK, in an array with [`Blocks::reported`] entries.
    pub(super) fn report(&self) -> [(u32, u32); REPORTED] {
        let [one, two, three, _] = self.known;
        [one, two, three]
    }

    /// The latest block, if there is one.
    #[inline]
    pub(super) fn latest(&self) -> Option<(u32, u32)> {
        (self.count > 0).then_some(self.known[0])
    }

    /// Sets the end of the latest block.
    #[inline]
    pub(super) fn extend_latest(&mut self, past: u32) {
        self.known[0].1 = past;
    }

    /// True if the next ACK may have no room for a block that `segment` changes: `segment` extends none of the latest blocks,
    /// and an ACK has no room for more.
    pub(super) fn loses(&self, segment: u32) -> bool {
        let latest = &self.known()[..usize::from(self.count).min(KEPT)];
        latest.len() == KEPT && !latest.iter().any(|block| touches(block, segment))
    }

    /// Extends the known block that `segment` is adjacent to, without a change of the order.
    pub(super) fn extend_in_place(&mut self, segment: u32) {
        let known = &mut self.known[..usize::from(self.count)];
        if let Some(block) = known.iter_mut().find(|block| touches(block, segment)) {
            *block = (block.0.min(segment), block.1.max(segment + 1));
        }
    }

    /// Records a new segment. `run` is the range of consecutive arrived segments that contains the new segment.
    pub(super) fn note(&mut self, segment: u32, run: (u32, u32)) {
        if self.count > 0 && self.known[0].1 == segment && run == (self.known[0].0, segment + 1) {
            // The latest run has become longer, and is not adjacent to another run.
            self.known[0] = run;
            return;
        }
        let block = if self.of_linux {
            let known = self.known().iter().find(|block| touches(block, segment));
            known.map_or((segment, segment + 1), |&(first, past)| (first.min(segment), past.max(segment + 1)))
        } else {
            run
        };
        self.put_first(block, if self.of_linux { KNOWN } else { REPORTED });
    }

    /// Makes a block the latest block, and merges it with the blocks that it overlaps or touches. Forgets the oldest of
    /// more than `most` blocks.
    fn put_first(&mut self, mut block: (u32, u32), most: usize) {
        let (older, mut count) = (*self, 1);
        for &other in older.known() {
            if other.0 <= block.1 && block.0 <= other.1 {
                block = (block.0.min(other.0), block.1.max(other.1));
            } else if count < most {
                self.known[count] = other;
                count += 1;
            }
        }
        self.known[0] = block;
        self.count = count as u8;
    }

    /// Forgets the blocks below `next`, the first segment that has not arrived.
    pub(super) fn forget_below(&mut self, next: u32) {
        let (older, mut count) = (*self, 0);
        for &block in older.known() {
            if block.1 > next {
                self.known[count] = block;
                count += 1;
            }
        }
        self.count = count as u8;
    }
}

/// True if a block contains `segment`, or is adjacent to it.
fn touches(&(first, past): &(u32, u32), segment: u32) -> bool {
    first <= segment + 1 && segment <= past
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks after the arrival of `segments`, the latest first; the runs are formed by `segments`.
    fn blocks(of_linux: bool, segments: &[u32]) -> Vec<(u32, u32)> {
        let (mut blocks, mut held) = (Blocks::new(of_linux), std::collections::BTreeSet::new());
        for &segment in segments {
            held.insert(segment);
            let first = (0..=segment).rev().take_while(|one| held.contains(one)).last().unwrap_or(segment);
            let past = (segment..).find(|one| !held.contains(one)).unwrap_or(segment + 1);
            blocks.note(segment, (first, past));
        }
        blocks.known().to_vec()
    }

    #[test]
    fn the_latest_block_is_first_and_three_or_four_are_known() {
        let segments = [10, 20, 30, 40, 50];
        assert_eq!(blocks(false, &segments), [(50, 51), (40, 41), (30, 31)]);
        assert_eq!(blocks(true, &segments), [(50, 51), (40, 41), (30, 31), (20, 21)]);
        assert_eq!(blocks(true, &[10, 20, 30, 40, 21]), [(20, 22), (40, 41), (30, 31), (10, 11)]);
        for of_linux in [false, true] {
            assert_eq!(blocks(of_linux, &[10, 12, 11, 20]), [(20, 21), (10, 13)], "a segment joins two blocks");
        }
    }

    #[test]
    fn linux_does_not_know_the_segments_of_a_forgotten_block() {
        let segments = [10, 20, 30, 40, 50, 11];
        assert_eq!(blocks(true, &segments)[0], (11, 12));
        assert_eq!(blocks(false, &segments)[0], (10, 12));
        let segments = [12, 20, 30, 40, 50, 11, 13];
        assert_eq!(blocks(true, &segments)[..2], [(13, 14), (11, 12)], "12 is forgotten");
    }

    #[test]
    fn blocks_below_the_next_segment_are_forgotten() {
        let mut blocks = Blocks::new(true);
        for segment in [10, 20, 30, 40] {
            blocks.note(segment, (segment, segment + 1));
        }
        blocks.forget_below(21);
        assert_eq!(blocks.known(), [(40, 41), (30, 31)]);
        assert_eq!(blocks.reported(), 2);
    }
}
