//! Positions in the sender's stream: sequence numbers without their wrap, and what of them was captured before.

use std::collections::BTreeMap;

/// Largest step that moves the reference, bytes: the largest window of TCP (RFC 7323 §2.3).
const LARGEST_STEP: i64 = 1 << 30;
/// Largest reordering without timestamps, ns, if the round trip is not known: Wireshark's limit.
const REORDERED_NS: i64 = 3_000_000;

/// Sequence numbers as positions in the stream: 0 is the first byte of data.
#[derive(Default)]
pub struct Positions {
    reference: Option<(u32, i64)>,
}

impl Positions {
    /// States the sequence number of the first byte.
    pub fn begin(&mut self, first: u32) {
        self.reference = Some((first, 0));
    }

    /// The position of a sequence number: the one next to the last.
    pub fn of(&mut self, number: u32) -> i64 {
        let (last, position) = *self.reference.get_or_insert((number, 0));
        let step = i64::from(number.wrapping_sub(last) as i32);
        if step > 0 && step <= LARGEST_STEP {
            self.reference = Some((number, position + step));
        }
        position + step
    }
}

/// Findings from a segment's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its data were sent before.
    pub retransmission: bool,
    /// It arrived after data behind it, and its own data were not captured before.
    pub late: bool,
}

struct Hole {
    end: i64,
    opened_ns: i64,
    stamp: Option<u32>,
}

/// The data captured so far.
pub struct Captured {
    next: Option<i64>,
    holes: BTreeMap<i64, Hole>,
    reordered_ns: i64,
}

impl Captured {
    /// Nothing yet; `rtt_ns` is the time of the handshake.
    pub fn new(rtt_ns: Option<i64>) -> Self {
        Self { next: None, holes: BTreeMap::new(), reordered_ns: rtt_ns.map_or(REORDERED_NS, |rtt| rtt / 2) }
    }

    /// Adds a segment with the data from `first` to before `end`.
    pub fn add(&mut self, first: i64, end: i64, time_ns: i64, stamp: Option<u32>) -> Mark {
        let next = *self.next.get_or_insert(first);
        self.next = Some(next.max(end));
        if first >= next {
            if first > next {
                self.holes.insert(next, Hole { end: first, opened_ns: time_ns, stamp });
            }
            return Mark::default();
        }
        let Some((opened_ns, before)) = self.fill(first, end.min(next)) else {
            return Mark { retransmission: true, late: false };
        };
        // A segment that was only reordered was sent before the one that showed the hole.
        let again = match (stamp, before) {
            (Some(stamp), Some(before)) => (stamp.wrapping_sub(before) as i32) > 0,
            _ => time_ns - opened_ns > self.reordered_ns,
        };
        Mark { retransmission: again, late: true }
    }

    /// Fills holes; returns the time and the timestamp of the segment that showed the first of them.
    fn fill(&mut self, first: i64, end: i64) -> Option<(i64, Option<u32>)> {
        let from = self.holes.range(..=first).next_back().map_or(first, |(&start, _)| start);
        let touched: Vec<i64> =
            self.holes.range(from..end).filter(|(_, hole)| hole.end > first).map(|(&start, _)| start).collect();
        let mut shown = None;
        for start in touched {
            let Some(hole) = self.holes.remove(&start) else { continue };
            shown = shown.or(Some((hole.opened_ns, hole.stamp)));
            if start < first {
                self.holes.insert(start, Hole { end: first, ..hole });
            }
            if end < hole.end {
                self.holes.insert(end, hole);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_pass_the_wrap() {
        let mut positions = Positions::default();
        positions.begin(u32::MAX - 9);
        assert_eq!(positions.of(u32::MAX), 9);
        assert_eq!(positions.of(5), 15);
        assert_eq!(positions.of(u32::MAX - 10), -1);
    }

    #[test]
    fn positions_count_on_beyond_the_first_four_gigabytes() {
        let mut positions = Positions::default();
        positions.begin(0);
        for step in 1..=100_i64 {
            let position = step * (1 << 28);
            assert_eq!(positions.of(position as u32), position);
        }
    }

    #[test]
    fn repeated_data_are_a_retransmission() {
        let mut captured = Captured::new(None);
        captured.add(0, 1000, 0, None);
        captured.add(1000, 2000, 1, None);
        assert_eq!(captured.add(0, 1000, 2, None), Mark { retransmission: true, late: false });
    }

    #[test]
    fn a_filled_hole_is_judged_by_timestamps() {
        let mut captured = Captured::new(None);
        captured.add(0, 1000, 0, Some(10));
        captured.add(3000, 4000, 1, Some(11));
        assert_eq!(captured.add(1000, 2000, 2, Some(11)), Mark { retransmission: false, late: true });
        assert_eq!(captured.add(2000, 3000, 90_000_000, Some(50)), Mark { retransmission: true, late: true });
        assert_eq!(captured.add(1000, 3000, 91_000_000, Some(51)), Mark { retransmission: true, late: false });
    }

    #[test]
    fn without_timestamps_a_hole_that_is_filled_after_half_a_round_trip_was_a_loss() {
        let mut captured = Captured::new(Some(20_000_000));
        captured.add(0, 1000, 0, None);
        captured.add(3000, 4000, 0, None);
        assert!(!captured.add(1000, 2000, 9_000_000, None).retransmission);
        assert!(captured.add(2000, 3000, 11_000_000, None).retransmission);
    }
}
