//! State of a replay whose transmissions are known within bounds only.

use std::collections::VecDeque;
use std::sync::Arc;

use super::script::{Bounds, Burst, Departures};
use crate::time::Time;

/// Share of the shortest round trip, in tenths, after which a lost segment can be repeated.
const TENTHS_OF_ROUND_TRIP: u64 = 9;

/// The next transmission of the captured sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A segment that the capture lacks.
    Unseen,
    /// Segments `[first, past)` of a packet.
    Captured { first: u32, past: u32 },
}

/// Place in the transmissions of the captured sender: a packet, the segments before it that the capture lacks and that have
/// not left, and its first segment that has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    packet: usize,
    unseen: u32,
    part: u32,
}

/// Transmissions of the captured sender, as far as a replay has used them.
#[derive(Clone, Debug)]
pub(super) struct Within {
    departures: Arc<Departures>,
    pub(super) place: Place,
    /// Segment that the host did not send when the window allowed it, to send more at once later.
    pub(super) deferred: u32,
    /// Time at which the sender looks again if something may leave.
    pub(super) wake: Time,
    /// Time at which each segment from `base` on left first.
    left: VecDeque<Time>,
    base: u32,
    round_trip: Time,
}

impl Within {
    pub(super) fn new(departures: Arc<Departures>, round_trip: Time) -> Self {
        let mut this = Self {
            departures,
            place: Place::default(),
            deferred: u32::MAX,
            wake: Time::NEVER,
            left: VecDeque::new(),
            base: 0,
            round_trip: Time(round_trip.0 / 10 * TENTHS_OF_ROUND_TRIP),
        };
        this.place = this.begin_of(0);
        this
    }

    fn begin_of(&self, packet: usize) -> Place {
        let found = self.departures.captured.get(packet).copied().unwrap_or_default();
        Place { packet, unseen: found.unseen, part: found.first }
    }

    /// The transmission at a place, and when it left.
    fn at(&self, place: Place) -> Option<(Next, Bounds)> {
        let packet = self.departures.captured.get(place.packet)?;
        if place.unseen == 0 {
            return Some((Next::Captured { first: place.part, past: packet.past }, packet.left));
        }
        let before = place.packet.checked_sub(1).map_or(Time::ZERO, |before| self.departures.captured[before].left.low);
        Some((Next::Unseen, Bounds { low: before, high: packet.left.high }))
    }

    fn after(&self, place: Place, segments: u32) -> Place {
        if place.unseen > 0 {
            return Place { unseen: place.unseen.saturating_sub(segments), ..place };
        }
        let part = place.part + segments;
        let past = self.departures.captured.get(place.packet).map_or(0, |packet| packet.past);
        if part < past { Place { part, ..place } } else { self.begin_of(place.packet + 1) }
    }

    /// The next transmission, and when it left.
    pub(super) fn next(&self) -> Option<(Next, Bounds)> {
        self.at(self.place)
    }

    /// Records that some segments of the next transmission have left.
    pub(super) fn take(&mut self, segments: u32) {
        self.place = self.after(self.place, segments);
    }

    /// Number of new segments, from `next` on, that leave together when they leave, and that may leave at `now`.
    pub(super) fn together_at(&self, next: u32, now: Time) -> u32 {
        self.count_at(next, now, |place| self.is_joined(place))
    }

    /// Number of new segments, from `next` on, that may leave at `now`, as far as the capture does not show which of them
    /// left together.
    pub(super) fn open_at(&self, next: u32, now: Time) -> u32 {
        self.count_at(next, now, |place| self.is_unknown(place))
    }

    fn count_at(&self, next: u32, now: Time, continues: impl Fn(Place) -> bool) -> u32 {
        let (mut place, mut end) = (self.place, next);
        while let Some((transmission, _)) = self.at(place).filter(|(_, left)| left.low <= now) {
            let segments = match transmission {
                Next::Unseen if self.is_unseen(end, now) => 1,
                Next::Captured { first, past } if first == end => past - first,
                _ => break,
            };
            place = self.after(place, segments);
            end += segments;
            if !continues(place) {
                break;
            }
        }
        end - next
    }

    /// True if the capture does not show what leaves together with the next transmission.
    pub(super) fn is_burst_unknown(&self) -> bool {
        self.is_unknown(self.place)
    }

    fn is_unknown(&self, place: Place) -> bool {
        let packet = self.departures.captured.get(place.packet);
        packet
            .is_some_and(|packet| packet.burst == Burst::Unknown || (place.unseen > 0 && packet.burst != Burst::Joined))
    }

    /// True if the transmission at a place leaves together with the one before.
    fn is_joined(&self, place: Place) -> bool {
        let packet = self.departures.captured.get(place.packet);
        packet.is_some_and(|packet| packet.burst == Burst::Joined && place.part == packet.first)
    }

    /// Records that this number of new segments has left.
    pub(super) fn take_new(&mut self, mut segments: u32) {
        while let Some((next, _)) = self.next().filter(|_| segments > 0) {
            let some = match next {
                Next::Unseen => 1,
                Next::Captured { first, past } => segments.min(past - first),
            };
            self.take(some);
            segments -= some;
        }
    }

    /// True if the capture has no copy of a segment that leaves at `now`, but at most a repetition of it.
    pub(super) fn is_unseen(&self, segment: u32, now: Time) -> bool {
        self.departures.seen.get(segment as usize).is_some_and(|seen| seen.low >= now.later(self.round_trip))
    }

    /// True if the capture has no earlier copy of a segment than the next packet.
    pub(super) fn is_first_copy(&self, segment: u32) -> bool {
        let seen = self.departures.seen.get(segment as usize);
        seen.zip(self.next()).is_some_and(|(seen, (_, left))| seen.low == left.low)
    }

    /// Records that new segments up to `past` left at `now`, while `una` is the lowest one outstanding.
    pub(super) fn note_left(&mut self, past: u32, una: u32, now: Time) {
        let known = self.base + self.left.len() as u32;
        self.left.extend((known..past).map(|_| now));
        while self.base < una && self.left.pop_front().is_some() {
            self.base += 1;
        }
    }

    /// True if a segment has left and is not acknowledged long ago.
    pub(super) fn has_left(&self, segment: u32) -> bool {
        self.first_left(segment).is_some()
    }

    /// Time at which a segment first left, unless it was acknowledged long ago.
    pub(super) fn first_left(&self, segment: u32) -> Option<Time> {
        self.left.get(segment.checked_sub(self.base)? as usize).copied()
    }
}
