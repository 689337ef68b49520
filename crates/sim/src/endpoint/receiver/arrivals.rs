//! Arrivals at a receiver: the segments in order, those above a gap with the blocks that report them, and those
//! that arrived again.

use super::blocks::{Blocks, REPORTED};
use super::paws::Paws;
use crate::endpoint::linux::receive_window::Kept;
use crate::endpoint::read::read;
use crate::packet::Packet;
use crate::record::ReceiverSample;
use crate::ring::MOST_INHERITED;
use crate::runs::RunSet;
use crate::spec::{HostRule, StackSpec};
use crate::time::Time;

/// Place of a segment among those that arrived before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The next expected segment; nothing is missing.
    InOrder,
    /// The next expected segment, below segments that have arrived.
    Filling,
    /// A new segment above a gap.
    Above,
    /// A segment that had arrived before.
    Again,
}

/// Report of segments out of order in an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// SACK blocks, the latest first, and their number.
    pub(super) blocks: [(u32, u32); REPORTED],
    pub(super) count: u8,
    /// Segments that arrived twice (D-SACK, RFC 2883); an empty range if there are none to report.
    pub(super) repeated: (u32, u32),
}

impl Report {
    /// Number of blocks in the ACK's SACK option; those of segments that arrived twice are the first.
    #[inline(always)]
    pub(super) fn option_blocks(&self) -> u16 {
        u16::from(self.count) + u16::from(self.repeated.0 < self.repeated.1)
    }
}

/// The segments that have arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// The next expected segment.
    next: u32,
    above: RunSet,
    blocks: Blocks,
    /// Segments that arrived twice, for the next ACK's report.
    repeated: (u32, u32),
    reports_repeated: bool,
    /// Misbehavior: a gap counts as filled.
    hides_losses: bool,
    /// `Some` if segments may overtake each other.
    paws: Option<Paws>,
    /// Distinct segments and bytes on the wire, and segments that had arrived before.
    totals: ReceiverSample,
    duplicates: u64,
}

impl Arrivals {
    read!(next: u32, totals: ReceiverSample, duplicates: u64);

    pub(super) fn new(stack: &StackSpec) -> Self {
        Self {
            next: 0,
            above: RunSet::default(),
            blocks: Blocks::new(stack.has(HostRule::SackBlocks)),
            repeated: (0, 0),
            // The studies that use other stacks are reproduced without this rule.
            reports_repeated: stack.is_linux(),
            hides_losses: stack.hide_losses,
            paws: None,
            totals: ReceiverSample::default(),
            duplicates: 0,
        }
    }

    /// Protects the connection against old timestamps from now on.
    pub(super) fn protect(&mut self, phase: Time) {
        self.paws = Some(Paws::new(phase));
    }

    pub(super) fn is_protected(&self) -> bool {
        self.paws.is_some()
    }

    /// Takes over the memory of a receiver that has ended, unless that receiver had large gaps.
    pub(super) fn inherit(&mut self, old: &mut Self) {
        if old.above.bits().capacity() as usize <= MOST_INHERITED {
            self.above.inherit(&mut old.above);
        }
    }

    /// Segments that wait above a gap.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.totals.delivered.saturating_sub(u64::from(self.next))
    }

    /// The data in the receive buffer while the window grows by `segment`. Linux counts a segment above a gap only if it
    /// follows another one.
    pub(super) fn kept_with(&self, segment: u32) -> Kept {
        let in_order = u64::from(segment == self.next);
        let joins = in_order == 0 && self.above.contains(segment - 1);
        let runs = self.blocks.known().len() as u64 + in_order;
        Kept { segments: self.held() + in_order + u64::from(joins), runs, in_order }
    }

    /// The data in the receive buffer when the application has read all that was in order `before` the latest arrival.
    #[inline(always)]
    pub(super) fn kept_since(&self, before: u32) -> Kept {
        let in_order = u64::from(self.next - before);
        let runs = self.blocks.known().len() as u64 + u64::from(in_order > 0);
        Kept { segments: self.held() + in_order, runs, in_order }
    }

    /// True if segments wait above a gap.
    #[inline]
    pub(super) fn has_gap(&self) -> bool {
        !self.above.is_empty()
    }

    /// True if `segment` is the next expected segment and nothing is missing.
    #[inline(always)]
    pub(super) fn is_next(&self, segment: u32) -> bool {
        segment == self.next && self.above.is_empty()
    }

    /// True if `segment` has not arrived before.
    #[inline]
    pub(super) fn is_new(&self, segment: u32) -> bool {
        segment >= self.next && !self.above.contains(segment)
    }

    /// Counts the bytes of a packet.
    #[inline(always)]
    pub(super) fn note_bytes(&mut self, packet: &Packet) {
        self.totals.wire_bytes += packet.bytes();
    }

    /// Counts a new segment that misses this many bytes.
    pub(super) fn note_missing_bytes(&mut self, bytes: u64) {
        self.totals.odd_bytes -= bytes as i64;
    }

    /// Counts a datagram, which may have arrived before.
    pub(super) fn note_datagram(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Again => self.duplicates += 1,
            _ => self.totals.delivered += 1,
        }
    }

    /// Takes the next expected segment, while nothing is missing.
    #[inline(always)]
    pub(super) fn take_next(&mut self, packet: &Packet) {
        self.note_bytes(packet);
        self.totals.delivered += 1;
        self.next += 1;
    }

    /// Takes a train of the next expected segments, while nothing is missing.
    pub(super) fn take_next_train(&mut self, train: &Packet) {
        self.totals.wire_bytes += train.bytes() * u64::from(train.count());
        self.totals.delivered += u64::from(train.count());
        self.next += train.count();
    }

    /// Counts and keeps a segment.
    pub(super) fn take(&mut self, segment: u32) -> Arrival {
        if segment < self.next {
            return self.note_repeated(segment);
        }
        if segment > self.next && !self.hides_losses {
            return self.hold(segment);
        }
        self.totals.delivered += 1;
        self.next = segment + 1;
        if self.above.is_empty() {
            return Arrival::InOrder;
        }
        self.close_gap();
        Arrival::Filling
    }

    /// Counts a segment that arrived before. Linux reports it with the next ACK (`tcp_dsack_set`).
    fn note_repeated(&mut self, segment: u32) -> Arrival {
        self.duplicates += 1;
        if self.reports_repeated {
            self.repeated = (segment, segment + 1);
        }
        Arrival::Again
    }

    /// True if a segment that left at `stamp` is discarded because its timestamp is too old.
    #[inline]
    pub(super) fn discards(&mut self, segment: u32, stamp: Time) -> bool {
        self.paws.as_mut().is_some_and(|paws| paws.discards(segment, stamp))
    }

    /// Counts a segment that is discarded. A segment that was not there before is not reported as repeated.
    pub(super) fn discard(&mut self, segment: u32) {
        self.note_repeated(segment);
        if segment >= self.next {
            self.repeated = (0, 0);
        }
    }

    /// Stores a segment above a gap.
    fn hold(&mut self, segment: u32) -> Arrival {
        self.above.reserve(self.next, segment - self.next + 1);
        if self.extends_latest(segment) {
            self.blocks.extend_latest(segment + 1);
        } else if self.above.contains(segment) {
            return self.note_repeated(segment);
        } else {
            let run = self.above.insert(segment, self.next);
            self.blocks.note(segment, run);
        }
        self.totals.delivered += 1;
        Arrival::Above
    }

    /// Adds the most common segment above a gap: it directly follows the latest run, and no segment above it has arrived.
    #[inline]
    fn extends_latest(&mut self, segment: u32) -> bool {
        let latest = self.blocks.latest().filter(|&(_, past)| past == segment && segment == self.above.top());
        latest.is_some_and(|(first, _)| self.above.extend(first))
    }

    /// Closes the lowest gap, which was filled: the segments after it are in order too.
    fn close_gap(&mut self) {
        if self.above.contains(self.next) {
            let past = self.above.run_end(self.next) + 1;
            self.above.remove_range(self.next, past);
            self.next = past;
        }
        self.blocks.forget_below(self.next);
    }

    /// True if `segment` changes a block for which the next ACK may have no room. The block is extended in its place then,
    /// for an ACK that is sent at once (`tcp_sack_new_ofo_skb`).
    pub(super) fn loses_block(&mut self, segment: u32) -> bool {
        let has_arrived = segment < self.above.top() && self.above.contains(segment);
        let loses = !has_arrived && self.blocks.loses(segment);
        if loses {
            self.blocks.extend_in_place(segment);
        }
        loses
    }

    /// The report of an ACK that is sent now.
    #[inline(always)]
    pub(super) fn report(&mut self) -> Report {
        if let Some(paws) = &mut self.paws {
            paws.acknowledged = self.next;
        }
        let repeated = std::mem::take(&mut self.repeated);
        // The report of repeated segments is the first block.
        let most = if repeated.0 < repeated.1 { REPORTED as u8 - 1 } else { REPORTED as u8 };
        Report { blocks: self.blocks.report(), count: self.blocks.reported().min(most), repeated }
    }
}
