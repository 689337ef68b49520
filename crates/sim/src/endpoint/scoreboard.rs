//! Scoreboard of the sender (RFC 6675 section 3): the state of each outstanding segment, SACKed, lost or retransmitted.
//!
//! Bits are in rings and counted by whole words, and runs of SACKed segments store their ends. An ACK costs O(1)
//! amortized, at any window and any number of gaps.

use crate::ring::{BitRing, Fifo, MOST_INHERITED};
use crate::runs::RunSet;
use crate::time::Time;

/// Record of a retransmission, to detect its loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retransmission {
    pub segment: u32,
    /// Next new segment at the time of the retransmission: a SACK of this or a higher segment is for a segment sent
    /// after the retransmission.
    pub next_then: u32,
    pub at: Time,
}

/// Segments that an ACK delivers, either cumulatively or by SACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// The lowest and the highest segment that was not retransmitted.
    pub originals: Option<(u32, u32)>,
    /// The highest segment.
    pub highest: Option<u32>,
    /// The lowest and the highest segment that was retransmitted.
    pub resent: Option<(u32, u32)>,
}

/// The segments that an ACK delivers cumulatively, and by SACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    pub acknowledged: Delivered,
    pub sacked: Delivered,
}

impl Delivered {
    /// Adds a segment, which was retransmitted if it is in `resent`. Returns true if it was.
    fn note(&mut self, segment: u32, resent: Option<&BitRing>) -> bool {
        let is_resent = resent.is_some_and(|resent| resent.get(segment));
        self.highest = self.highest.max(Some(segment));
        let ends = if is_resent { &mut self.resent } else { &mut self.originals };
        let (first, last) = ends.unwrap_or((segment, segment));
        *ends = Some((first.min(segment), last.max(segment)));
        is_resent
    }
}

/// A SACK block as one word, so that two blocks are compared by one comparison.
#[inline(always)]
fn word((first, past): (u32, u32)) -> u64 {
    u64::from(past) << 32 | u64::from(first)
}

/// The scoreboard.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    una: u32,
    sacked: RunSet,
    lost: BitRing,
    resent: BitRing,
    lost_count: u32,
    resent_count: u32,
    /// Retransmitted segments that are lost no longer, since their timeout was spurious. Their bits in `lost` stay set.
    forgiven: Vec<u32>,
    /// True if any segment is SACKed, lost or retransmitted.
    marked: bool,
    /// Segment below which every segment is SACKed or marked lost.
    marked_below: u32,
    /// Segment below which every lost segment is retransmitted.
    repaired_below: u32,
    /// Retransmissions in the order of their times, without those in `overtaken`. Entries of segments that have arrived
    /// since stay until they are at an end of their list.
    retransmissions: Fifo<Retransmission>,
    /// Retransmissions that a later transmission has overtaken and that are not yet lost, all of them before those in
    /// `retransmissions`. RACK asks for the latest on every ACK, so the list must not be searched.
    overtaken: Fifo<Retransmission>,
    /// Segments whose retransmissions were last found lost.
    lost_again: Vec<u32>,
    /// The SACK blocks of the last ACK that had SACK blocks.
    latest: [(u32, u32); 3],
    fresh: Delivered,
    /// The retransmitted ones of the segments in `fresh`.
    fresh_resent: Vec<u32>,
}

impl Scoreboard {
    /// Takes over the memory of another scoreboard, but not its contents. Memory for many segments is not taken over.
    pub fn inherit(&mut self, old: &mut Self) {
        if old.lost.capacity() as usize <= MOST_INHERITED {
            self.sacked.inherit(&mut old.sacked);
            self.lost.inherit(&mut old.lost, old.lost_count == 0);
            self.resent.inherit(&mut old.resent, old.resent_count == 0);
        }
    }

    /// Lowest segment not cumulatively acknowledged.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// SACKed segments.
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked.len()
    }

    /// Segments marked lost and not SACKed since.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost_count - self.forgiven.len() as u32
    }

    /// One past the highest SACKed segment (the forward acknowledgement), or `una`.
    #[inline]
    pub fn forward_ack(&self) -> u32 {
        self.sacked.top().max(self.una)
    }

    /// True if no segment is SACKed, lost or retransmitted.
    #[inline]
    pub fn is_clean(&self) -> bool {
        !self.marked
    }

    /// Brings the derived state up to date; called after a group of changes.
    fn settle(&mut self) {
        self.marked = !self.sacked.is_empty() || self.lost_count > 0 || self.resent_count > 0;
    }

    /// The pipe (RFC 6675 section 4): outstanding segments, minus SACKed segments, minus lost segments, plus
    /// retransmitted segments.
    #[inline]
    pub fn in_flight(&self, next: u32) -> u32 {
        let outstanding = next - self.una;
        if self.marked { outstanding + self.resent_count - self.sacked.len() - self.lost() } else { outstanding }
    }

    /// Makes room for segments up to `next`.
    #[inline(always)]
    pub fn reserve(&mut self, next: u32) {
        let span = next - self.una + 1;
        if span > self.lost.capacity() {
            self.grow(span);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, span: u32) {
        self.lost.reserve(self.una, span);
        self.resent.reserve(self.una, span);
        self.sacked.reserve(self.una, span);
    }

    /// Handles a cumulative ACK while no segment is SACKed, lost or retransmitted.
    #[inline]
    pub fn advance_clean(&mut self, cumulative: u32) {
        self.una = cumulative;
        self.marked_below = cumulative;
        self.repaired_below = cumulative;
    }

    /// Handles a cumulative ACK. Returns the number of segments that the ACK delivers and that were not SACKed before.
    pub fn advance(&mut self, cumulative: u32) -> u32 {
        let from = self.una;
        let already = self.sacked.remove_range(from, cumulative);
        if self.lost_count > 0 {
            self.lost_count -= self.lost.clear_range(from, cumulative);
        }
        if self.resent_count > 0 {
            self.resent_count -= self.resent.clear_range(from, cumulative);
            self.forgiven.retain(|&segment| segment >= cumulative);
        }
        self.una = cumulative;
        self.marked_below = self.marked_below.max(cumulative);
        self.repaired_below = self.repaired_below.max(cumulative);
        for list in [&mut self.overtaken, &mut self.retransmissions] {
            while list.front().is_some_and(|r| r.segment < cumulative) {
                list.pop();
            }
        }
        self.settle();
        cumulative - from - already
    }

    /// Handles the SACK blocks `[first, past)` of an ACK. Returns the number of segments that the blocks newly deliver.
    /// Most blocks repeat from ACK to ACK. Of a block with the same start as in the last ACK, only the new segments are
    /// examined.
    #[inline]
    pub fn sack_blocks(&mut self, blocks: &[(u32, u32)], next: u32) -> u32 {
        if let Some(fresh) = self.extend_latest(blocks, next) {
            return fresh;
        }
        self.forget_fresh();
        let mut fresh = 0;
        for (place, &(first, past)) in blocks.iter().enumerate().take(self.latest.len()) {
            let (known_first, known_past) = std::mem::replace(&mut self.latest[place], (first, past));
            let from = if first == known_first { known_past } else { first };
            if past > from.max(self.una) {
                fresh += self.sack(from, past, next);
            }
        }
        fresh
    }

    /// Fast path of [`Scoreboard::sack_blocks`]: one more segment in the first block, above all segments that were ever
    /// SACKed. Returns `None` in any other case, and does nothing then.
    #[inline]
    fn extend_latest(&mut self, blocks: &[(u32, u32)], next: u32) -> Option<u32> {
        let (&(first, past), others) = blocks.split_first()?;
        let (known, known_others) = self.latest.split_first_mut()?;
        let top = self.sacked.top();
        let longer = word(*known) == word((first, top)) && past == top + 1 && past <= next && first >= self.una;
        let same = others.iter().zip(known_others).all(|(block, known)| word(*block) == word(*known));
        if !longer || !same || !self.sacked.extend(first) {
            return None;
        }
        known.1 = past;
        self.forget_fresh();
        self.note_fresh(top);
        self.unmark(top);
        self.marked = true;
        Some(1)
    }

    #[inline(always)]
    fn forget_fresh(&mut self) {
        self.fresh = Delivered::default();
        self.fresh_resent.clear();
    }

    #[inline(always)]
    fn note_fresh(&mut self, segment: u32) {
        if self.fresh.note(segment, (self.resent_count > 0).then_some(&self.resent)) {
            self.fresh_resent.push(segment);
        }
    }

    /// The retransmitted ones of the segments that the SACK blocks of the last ACK with blocks newly delivered.
    pub fn fresh_resent(&self) -> &[u32] {
        &self.fresh_resent
    }

    /// Segments that the SACK blocks of the last ACK with blocks newly delivered.
    #[inline]
    pub fn fresh(&self) -> Delivered {
        self.fresh
    }

    /// Segments that a cumulative ACK below `past` would deliver and that are not SACKed.
    pub fn missing_below(&self, past: u32) -> Delivered {
        let mut found = Delivered::default();
        for segment in (self.una..past).filter(|&segment| !self.sacked.contains(segment)) {
            found.note(segment, (self.resent_count > 0).then_some(&self.resent));
        }
        found
    }

    /// Removes the marks of a segment that has been SACKed.
    #[inline]
    fn unmark(&mut self, segment: u32) {
        if self.lost_count > 0 && self.lost.get(segment) {
            self.lost.clear(segment);
            self.lost_count -= 1;
            if self.resent_count > 0 && self.resent.get(segment) {
                self.resent.clear(segment);
                self.resent_count -= 1;
                self.forgiven.retain(|&forgiven| forgiven != segment);
            }
        }
    }

    /// Handles a SACK block `[first, past)`. Returns the number of segments that the block newly delivers.
    #[inline]
    pub fn sack(&mut self, first: u32, past: u32, next: u32) -> u32 {
        let past = past.min(next);
        let mut segment = self.skip_sacked(first.max(self.una), past);
        let mut fresh = 0;
        while segment < past {
            let (_, run_past) = self.sacked.insert(segment, self.una);
            fresh += 1;
            self.note_fresh(segment);
            self.unmark(segment);
            segment = self.skip_sacked(run_past, past);
        }
        self.marked |= fresh > 0;
        fresh
    }

    /// The lowest segment from `segment` on that is not SACKed; only those below `past` are examined.
    #[inline]
    fn skip_sacked(&self, mut segment: u32, past: u32) -> u32 {
        while segment < past && self.sacked.contains(segment) {
            // A block is a maximal run of the receiver, so it begins where a known run begins, unless ACKs were
            // reordered.
            let begins = segment == self.una || !self.sacked.contains(segment - 1);
            segment = if begins { self.sacked.run_end(segment) } else { segment } + 1;
        }
        segment
    }

    /// True if a segment from `first` to below `past` is neither SACKed nor retransmitted. Only segments that are not
    /// SACKed are examined one by one.
    pub fn has_original(&self, first: u32, past: u32) -> bool {
        let mut segment = self.skip_sacked(first.max(self.una), past);
        while segment < past && self.resent.get(segment) {
            segment = self.skip_sacked(segment + 1, past);
        }
        segment < past
    }

    /// The segments from `low` to below `top` that are not SACKed, the highest first. A run of SACKed segments costs as
    /// much as one segment.
    pub fn missing_from_top(&self, low: u32, top: u32) -> impl Iterator<Item = u32> {
        let mut past = top;
        std::iter::from_fn(move || {
            while past > low {
                past -= 1;
                if !self.sacked.contains(past) {
                    return Some(past);
                }
                if past + 1 >= self.sacked.top() || !self.sacked.contains(past + 1) {
                    past = self.sacked.run_start(past, self.una);
                }
            }
            None
        })
    }

    /// Marks the segments below `edge` lost, except segments already SACKed or marked. Returns the number of newly
    /// marked segments.
    pub fn mark_lost_below(&mut self, edge: u32) -> u32 {
        if edge <= self.marked_below {
            return 0;
        }
        let added = self.lost.set_range_except(self.marked_below, edge, self.sacked.bits());
        self.repaired_below = self.repaired_below.min(self.marked_below);
        self.marked_below = edge;
        self.lost_count += added;
        self.marked |= added > 0;
        added
    }

    /// True if no segment below `edge` remains to be marked lost. Most ACKs of a recovery move the edge past one
    /// segment that was SACKed.
    #[inline]
    pub fn is_marked_below(&mut self, edge: u32) -> bool {
        if edge == self.marked_below + 1 && self.sacked.contains(self.marked_below) {
            self.marked_below = edge;
        }
        edge <= self.marked_below
    }

    /// Handles a timeout: marks all outstanding segments below `edge` lost that are not SACKed, retransmissions
    /// included. No segment from `edge` on was retransmitted.
    pub fn mark_all_lost(&mut self, edge: u32) {
        self.forgiven.clear();
        self.resent_count -= self.resent.clear_range(self.una, edge);
        while self.oldest_retransmission().is_some() {}
        self.marked_below = self.una;
        self.mark_lost_below(edge);
        self.repaired_below = self.una;
    }

    /// Discards the SACK information, since the receiver may renege (RFC 2018 section 8).
    pub fn forget_sacks(&mut self, next: u32) {
        self.sacked.remove_range(self.una, next);
        self.latest = Default::default();
        self.settle();
    }

    /// Removes the marks of lost segments after a spurious timeout. Retransmitted segments are in flight twice from now
    /// on, as in Linux (`tcp_undo_cwnd_reduction`).
    pub fn forgive_losses(&mut self, next: u32) {
        let mut resent = Vec::new();
        while let Some(retransmission) = self.oldest_retransmission() {
            let segment = retransmission.segment;
            resent.extend(Some(retransmission).filter(|_| segment >= self.una && self.resent.get(segment)));
        }
        self.forget_losses(next);
        for retransmission in resent {
            let segment = retransmission.segment;
            self.lost.set(segment);
            self.resent.set(segment);
            (self.lost_count, self.resent_count) = (self.lost_count + 1, self.resent_count + 1);
            self.forgiven.push(segment);
            self.retransmissions.push(retransmission);
        }
        self.settle();
    }

    /// Removes the marks of lost segments after a spurious loss.
    pub fn forget_losses(&mut self, next: u32) {
        self.forgiven.clear();
        self.lost_count -= self.lost.clear_range(self.una, next);
        self.resent_count -= self.resent.clear_range(self.una, next);
        while self.oldest_retransmission().is_some() {}
        self.marked_below = self.una;
        self.repaired_below = self.una;
        self.settle();
    }

    /// Segment below which every segment is SACKed or marked lost.
    pub fn marked_below(&self) -> u32 {
        self.marked_below
    }

    /// True if a segment was retransmitted and has not been reported as delivered.
    #[must_use]
    pub fn is_resent(&self, segment: u32) -> bool {
        self.resent.get(segment)
    }

    /// Number of retransmissions in flight.
    pub fn resent(&self) -> u32 {
        self.resent_count
    }

    /// True if a retransmission is in flight.
    #[must_use]
    pub fn has_resent(&self) -> bool {
        self.resent_count > 0
    }

    /// True if a segment is SACKed.
    pub fn is_sacked(&self, segment: u32) -> bool {
        self.sacked.contains(segment)
    }

    /// The `n`-th highest SACKed segment.
    pub fn nth_highest_sacked(&self, n: u32) -> Option<u32> {
        self.sacked.bits().nth_highest(n, self.una, self.sacked.top().max(self.una))
    }

    /// Lost segments that are not retransmitted yet.
    #[must_use]
    pub fn unrepaired(&self) -> u32 {
        self.lost_count - self.resent_count
    }

    /// True if this segment is lost and not retransmitted yet.
    #[must_use]
    pub fn is_unrepaired(&self, segment: u32) -> bool {
        self.lost_count > 0 && self.lost.get(segment) && !self.resent.get(segment)
    }

    /// True if a lost segment is not retransmitted yet.
    #[must_use]
    #[inline]
    pub fn has_unrepaired(&self) -> bool {
        self.lost_count != self.resent_count
    }

    /// Lowest segment that is lost and not retransmitted yet.
    pub fn next_to_repair(&mut self) -> Option<u32> {
        if !self.has_unrepaired() {
            return None;
        }
        let found = self.lost.first_without(&self.resent, self.repaired_below, self.marked_below);
        self.repaired_below = found.unwrap_or(self.marked_below);
        found
    }

    /// Records the retransmission of a lost segment.
    pub fn retransmitted(&mut self, segment: u32, next: u32, at: Time) {
        self.resent.set(segment);
        self.resent_count += 1;
        self.repaired_below = segment + 1;
        self.retransmissions.push(Retransmission { segment, next_then: next, at });
    }

    /// True if a segment counts as in flight: it is neither SACKed nor lost, or it was retransmitted.
    pub fn is_in_flight(&self, segment: u32) -> bool {
        !self.sacked.contains(segment) && (!self.lost.get(segment) || self.resent.get(segment))
    }

    /// Removes and returns the oldest retransmission.
    fn oldest_retransmission(&mut self) -> Option<Retransmission> {
        self.overtaken.pop().or_else(|| self.retransmissions.pop())
    }

    /// True if a retransmission is in flight. Once it is not, it never is again: a later one of the same segment has an
    /// entry of its own.
    #[inline]
    fn is_pending(&self, sent: Retransmission) -> bool {
        sent.segment >= self.una && self.resent.get(sent.segment)
    }

    /// The latest of the retransmissions in flight that a later transmission has overtaken. `overtaken` decides if one
    /// was overtaken; a retransmission that was stays so. Every entry is moved once and removed once.
    pub fn last_retransmission(&mut self, mut overtaken: impl FnMut(Retransmission) -> bool) -> Option<Retransmission> {
        while let Some(&sent) = self.retransmissions.front() {
            if self.is_pending(sent) {
                if !overtaken(sent) {
                    break;
                }
                self.overtaken.push(sent);
            }
            self.retransmissions.pop();
        }
        while let Some(sent) = self.overtaken.newest() {
            if self.is_pending(sent) {
                return Some(sent);
            }
            self.overtaken.drop_newest();
        }
        None
    }

    /// Marks retransmissions lost that a later transmission has overtaken; `overtaken` decides if one was.
    pub fn mark_lost_retransmissions(&mut self, mut overtaken: impl FnMut(Retransmission) -> bool) {
        self.lost_again.clear();
        while let Some(&front) = self.overtaken.front().or_else(|| self.retransmissions.front()) {
            let pending = self.is_pending(front);
            if pending && !overtaken(front) {
                break;
            }
            self.oldest_retransmission();
            if pending {
                self.resent.clear(front.segment);
                self.resent_count -= 1;
                self.forgiven.retain(|&forgiven| forgiven != front.segment);
                self.repaired_below = self.repaired_below.min(front.segment);
                self.lost_again.push(front.segment);
            }
        }
    }

    /// The retransmissions that were last found lost.
    pub fn lost_again(&self) -> &[u32] {
        &self.lost_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Model with the same rules over sets, one segment at a time.
    #[derive(Default)]
    struct Model {
        una: u32,
        sacked: BTreeSet<u32>,
        lost: BTreeSet<u32>,
        resent: BTreeSet<u32>,
    }

    impl Model {
        fn advance(&mut self, to: u32) {
            self.una = to;
            [&mut self.sacked, &mut self.lost, &mut self.resent].into_iter().for_each(|set| set.retain(|s| *s >= to));
        }

        fn check(&self, board: &Scoreboard, next: u32) -> Result<(), TestCaseError> {
            let [sacked, lost, resent] = [&self.sacked, &self.lost, &self.resent].map(|set| set.len() as u32);
            prop_assert_eq!((board.sacked(), board.lost()), (sacked, lost));
            prop_assert_eq!(board.in_flight(next), next - self.una + resent - sacked - lost);
            prop_assert_eq!(board.nth_highest_sacked(3), self.sacked.iter().rev().nth(2).copied());
            Ok(())
        }
    }

    /// The receiver's SACK blocks after this segment, the latest first.
    fn report(received: &BTreeSet<u32>, segment: u32, una: u32, blocks: &mut Vec<(u32, u32)>) {
        let (mut first, mut past) = (segment, segment + 1);
        while received.contains(&(first - 1)) && first - 1 > una {
            first -= 1;
        }
        while received.contains(&past) {
            past += 1;
        }
        blocks.retain(|block| block.0 < first || block.1 > past);
        blocks.insert(0, (first, past));
        blocks.truncate(3);
    }

    #[test]
    fn a_retransmission_that_extends_the_first_block_is_no_original() {
        let mut board = Scoreboard::default();
        board.reserve(8);
        board.sack_blocks(&[(4, 5)], 8);
        board.mark_lost_below(6);
        board.retransmitted(5, 8, Time::ZERO);
        assert_eq!(board.sack_blocks(&[(4, 6)], 8), 1);
        assert_eq!((board.fresh().originals, board.fresh().resent), (None, Some((5, 5))));
        assert_eq!(board.sack_blocks(&[(4, 7)], 8), 1);
        assert_eq!((board.fresh().originals, board.fresh().resent), (Some((6, 6)), None));
    }

    #[test]
    fn an_ack_delivers_only_retransmissions_that_no_earlier_ack_delivered() {
        let mut board = Scoreboard::default();
        board.reserve(8);
        board.sack_blocks(&[(6, 7)], 8);
        board.mark_lost_below(5);
        (0..5).for_each(|segment| board.retransmitted(segment, 8, Time::ZERO));
        board.sack_blocks(&[(2, 3), (6, 7)], 8);
        assert_eq!(board.fresh_resent(), [2]);
        board.sack_blocks(&[(1, 4), (6, 7)], 8);
        assert_eq!(board.fresh_resent(), [1, 3]);
        board.sack_blocks(&[(1, 4), (6, 8)], 8);
        assert_eq!(board.fresh_resent(), [0_u32; 0], "segment 7 is an original");
    }

    #[test]
    fn a_retransmission_before_a_spurious_timeout_is_in_flight_twice() {
        let mut board = Scoreboard::default();
        board.reserve(5);
        board.mark_all_lost(5);
        board.retransmitted(0, 5, Time::ZERO);
        board.forgive_losses(5);
        assert_eq!((board.lost(), board.in_flight(5), board.next_to_repair()), (0, 6, None));
        board.mark_lost_below(3);
        assert_eq!((board.lost(), board.in_flight(5), board.next_to_repair()), (2, 4, Some(1)));
        assert_eq!(board.advance(1), 1);
        assert_eq!((board.lost(), board.in_flight(5), board.next_to_repair()), (2, 2, Some(1)));
    }

    proptest! {
        #[test]
        fn the_board_counts_as_sets_do(operations in proptest::collection::vec((0_u8..7, any::<u16>(), 1_u32..40), 1..200)) {
            let (mut board, mut model) = (Scoreboard::default(), Model::default());
            let mut received: BTreeSet<u32> = BTreeSet::new();
            let mut blocks: Vec<(u32, u32)> = Vec::new();
            let mut next = 0;
            for (operation, pick, size) in operations {
                match operation {
                    0 => { next += size; board.reserve(next); }
                    1 | 2 if next > model.una + 1 => {
                        // A segment above una arrives, and the receiver reports its latest runs; some reports are lost.
                        let segment = model.una + 1 + u32::from(pick) % (next - model.una - 1);
                        received.insert(segment);
                        report(&received, segment, model.una, &mut blocks);
                        if size % 5 == 0 { continue; }
                        let all = blocks.iter().flat_map(|&(first, past)| first.max(model.una)..past);
                        let fresh = all.filter(|s| model.sacked.insert(*s)).count() as u32;
                        model.lost.retain(|s| !model.sacked.contains(s));
                        model.resent.retain(|s| !model.sacked.contains(s));
                        prop_assert_eq!(board.sack_blocks(&blocks, next), fresh);
                    }
                    3 if next > model.una => {
                        let mut to = model.una + 1 + u32::from(pick) % (next - model.una);
                        while received.contains(&to) { to += 1; }
                        let fresh = (model.una..to).filter(|s| !model.sacked.contains(s)).count() as u32;
                        prop_assert_eq!(board.advance(to), fresh);
                        blocks.retain(|block| block.1 > to);
                        model.advance(to);
                    }
                    4 if next > model.una => {
                        let edge = (model.una + u32::from(pick) % (next - model.una)).max(board.marked_below());
                        board.mark_lost_below(edge);
                        model.lost.extend((model.una..edge).filter(|s| !model.sacked.contains(s)));
                    }
                    5 => {
                        let expected = model.lost.iter().copied().find(|s| !model.resent.contains(s));
                        let found = board.next_to_repair();
                        prop_assert_eq!(found, expected);
                        if let Some(segment) = found {
                            board.retransmitted(segment, next, Time(u64::from(size)));
                            model.resent.insert(segment);
                        }
                        if pick % 7 == 0 {
                            let all = model.resent.len() as u32;
                            prop_assert_eq!({ board.mark_lost_retransmissions(|_| true); board.lost_again().len() as u32 }, all);
                            model.resent.clear();
                        }
                    }
                    6 if pick % 3 == 0 => {
                        // A timeout after which the receiver may have reneged.
                        board.forget_sacks(next);
                        board.mark_all_lost(next);
                        model = Model { una: model.una, lost: (model.una..next).collect(), ..Model::default() };
                    }
                    _ => {}
                }
                model.check(&board, next)?;
            }
            board.mark_all_lost(next);
            prop_assert_eq!(board.in_flight(next), 0);
        }
    }
}
