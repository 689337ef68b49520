//! The two loss lists: runs of packet numbers, in order.

use std::collections::BTreeMap;

use crate::time::Time;

/// The sender's loss list: packets to retransmit.
#[derive(Clone, Debug, Default)]
pub(super) struct Lost {
    /// End (exclusive) of each run, by its first packet.
    runs: BTreeMap<u32, u32>,
    len: u32,
}

impl Lost {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Packets in the list.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Adds `[first, past)`, some of which may be in the list already.
    pub(super) fn insert(&mut self, mut first: u32, mut past: u32) {
        if first >= past {
            return;
        }
        // Runs that overlap or adjoin the new run are merged with it.
        while let Some((&from, &to)) = self.runs.range(..=past).next_back().filter(|(_, to)| **to >= first) {
            self.runs.remove(&from);
            self.len -= to - from;
            (first, past) = (first.min(from), past.max(to));
        }
        self.runs.insert(first, past);
        self.len += past - first;
    }

    /// Removes and returns the lowest packet.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let (first, past) = self.runs.pop_first()?;
        if first + 1 < past {
            self.runs.insert(first + 1, past);
        }
        self.len -= 1;
        Some(first)
    }

    /// Removes all packets below `edge`.
    pub(super) fn forget_below(&mut self, edge: u32) {
        while let Some((&first, &past)) = self.runs.first_key_value().filter(|(first, _)| **first < edge) {
            self.runs.pop_first();
            self.len -= past.min(edge) - first;
            if past > edge {
                self.runs.insert(edge, past);
            }
        }
    }
}

/// A run of missing packets.
#[derive(Clone, Copy, Debug)]
struct Gap {
    past: u32,
    /// Time of the run's last report, and number of its reports plus one.
    reported: Time,
    k: u32,
}

/// The receiver's loss list: packets missing below the highest packet that has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    gaps: BTreeMap<u32, Gap>,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Lowest missing packet.
    pub(super) fn first(&self) -> Option<u32> {
        self.gaps.first_key_value().map(|(&first, _)| first)
    }

    /// Adds `[first, past)`, which lies above all entries and is being reported.
    pub(super) fn insert(&mut self, first: u32, past: u32, now: Time) {
        self.gaps.insert(first, Gap { past, reported: now, k: 2 });
    }

    /// Removes a packet that arrived. Returns true if the packet was in the list.
    pub(super) fn remove(&mut self, packet: u32) -> bool {
        let Some((&first, &gap)) = self.gaps.range(..=packet).next_back() else { return false };
        if packet >= gap.past {
            return false;
        }
        self.gaps.remove(&first);
        if first < packet {
            self.gaps.insert(first, Gap { past: packet, ..gap });
        }
        if packet + 1 < gap.past {
            self.gaps.insert(packet + 1, gap);
        }
        true
    }

    /// Returns runs that were last reported at least k RTTs ago, up to `words` words of a NAK: a single packet takes
    /// one word, a run two. The returned runs count as reported at `now`.
    pub(super) fn report_again(&mut self, now: Time, rtt_s: f64, mut words: u32) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for (&first, gap) in &mut self.gaps {
            let needed = words_for(first, gap.past);
            if needed > words {
                break;
            }
            if now.since(gap.reported) >= Time::from_seconds(f64::from(gap.k) * rtt_s) {
                words -= needed;
                (gap.reported, gap.k) = (now, gap.k + 1);
                found.push((first, gap.past));
            }
        }
        found
    }
}

/// Number of words in a NAK for `[first, past)`.
pub(super) fn words_for(first: u32, past: u32) -> u32 {
    if past - first == 1 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_sender_s_list_is_a_set(operations in proptest::collection::vec((0_u8..3, 0_u32..60, 1_u32..20), 0..60)) {
            let (mut lost, mut model) = (Lost::default(), BTreeSet::new());
            for (operation, first, length) in operations {
                match operation {
                    0 => { lost.insert(first, first + length); model.extend(first..first + length); }
                    1 => prop_assert_eq!(lost.pop(), model.pop_first()),
                    _ => { lost.forget_below(first); model.retain(|&packet| packet >= first); }
                }
                prop_assert_eq!(lost.len() as usize, model.len());
                prop_assert_eq!(lost.is_empty(), model.is_empty());
            }
            let rest: Vec<u32> = std::iter::from_fn(|| lost.pop()).collect();
            prop_assert!(rest.into_iter().eq(model));
        }

        #[test]
        fn the_receiver_s_list_is_a_set(gaps in proptest::collection::vec((1_u32..5, 1_u32..9), 1..20), come in proptest::collection::vec(0_u32..200, 0..80)) {
            let (mut missing, mut model, mut at) = (Missing::default(), BTreeSet::new(), 0);
            for (received, length) in gaps {
                at += received;
                missing.insert(at, at + length, Time::ZERO);
                model.extend(at..at + length);
                at += length;
            }
            for packet in come {
                prop_assert_eq!(missing.remove(packet), model.remove(&packet));
                prop_assert_eq!(missing.first(), model.first().copied());
            }
            let reported = missing.report_again(Time::SECOND, 0.1, u32::MAX);
            let all: Vec<u32> = reported.into_iter().flat_map(|(first, past)| first..past).collect();
            prop_assert!(all.into_iter().eq(model));
        }
    }

    #[test]
    fn a_loss_is_reported_again_after_two_then_three_round_trips() {
        let ms = |n: u64| Time(n * Time::MILLISECOND.0);
        let mut missing = Missing::default();
        missing.insert(5, 8, ms(0));
        missing.insert(9, 10, ms(50));
        assert_eq!(missing.report_again(ms(199), 0.1, 100), []);
        assert_eq!(missing.report_again(ms(200), 0.1, 100), [(5, 8)]);
        assert_eq!(missing.report_again(ms(250), 0.1, 100), [(9, 10)]);
        assert_eq!(missing.report_again(ms(499), 0.1, 100), []);
        assert_eq!(missing.report_again(ms(600), 0.1, 2), [(5, 8)], "there is room for no more");
        assert_eq!(missing.report_again(ms(600), 0.1, 100), [(9, 10)]);
    }
}
