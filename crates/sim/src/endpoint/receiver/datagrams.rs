//! Datagrams of a receiver, which are only counted. If the network delivers a datagram twice, the second arrival does not
//! count as data.

use super::arrivals::Arrival;
use crate::packet::Packet;
use crate::record::OneWayDelays;

/// Length of the sliding window of numbers below the highest in which copies are detected (RFC 6479).
const WINDOW: u32 = 1 << 16;

const WORDS: usize = (WINDOW / u64::BITS) as usize;

/// The numbers of datagrams that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    /// One above the highest number that has arrived.
    next: u32,
    /// A bit for each of the last [`WINDOW`] numbers. The list of bits is allocated at the first gap. Before the first
    /// gap, all numbers below `next` have arrived.
    window: Option<Box<[u64; WORDS]>>,
    /// One-way delays, if they are measured.
    delays: Option<Box<OneWayDelays>>,
}

impl Datagrams {
    /// Measures one-way delays from now on.
    pub(super) fn measure(&mut self, delays: OneWayDelays) {
        self.delays = Some(Box::new(delays));
    }

    /// The one-way delays.
    pub(super) fn into_delays(self) -> Option<Box<OneWayDelays>> {
        self.delays
    }

    /// Takes a datagram.
    pub(super) fn take(&mut self, packet: &Packet) -> Arrival {
        if !self.note(packet.segment()) {
            return Arrival::Again;
        }
        if let Some(delays) = &mut self.delays {
            delays.note(packet.stamp, packet.at);
        }
        Arrival::InOrder
    }

    /// Records the arrival of a datagram. Returns true if the datagram is the first with its number. A datagram whose
    /// number is at least [`WINDOW`] below the highest number counts as the first.
    fn note(&mut self, number: u32) -> bool {
        let Some(window) = &mut self.window else {
            if number > self.next {
                self.window = Some(Box::new([u64::MAX; WORDS]));
                return self.note(number);
            }
            let first = number == self.next;
            self.next += u32::from(first);
            return first;
        };
        if number >= self.next {
            let from = self.next.max(number.saturating_sub(WINDOW - 1));
            (from..=number).for_each(|missing| window[word(missing)] &= !bit(missing));
            self.next = number + 1;
        } else if self.next - number > WINDOW {
            return true;
        }
        let first = window[word(number)] & bit(number) == 0;
        window[word(number)] |= bit(number);
        first
    }
}

fn word(number: u32) -> usize {
    (number % WINDOW / u64::BITS) as usize
}

fn bit(number: u32) -> u64 {
    1 << (number % u64::BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_arrivals_are_those_of_a_set(steps in proptest::collection::vec((0_u32..400, 0_u32..600), 1..300)) {
            let (mut arrived, mut set, mut highest) = (Datagrams::default(), HashSet::new(), 0_u32);
            for (ahead, behind) in steps {
                let number = (highest + ahead).saturating_sub(behind);
                highest = highest.max(number);
                prop_assert_eq!(arrived.note(number), set.insert(number));
            }
        }
    }

    #[test]
    fn a_gap_wider_than_the_window_is_forgotten() {
        let mut arrived = Datagrams::default();
        assert!(arrived.note(0));
        assert!(!arrived.note(0));
        assert!(arrived.note(3 * WINDOW));
        assert!(arrived.note(2 * WINDOW + 1), "inside the window, and new");
        assert!(!arrived.note(2 * WINDOW + 1), "inside the window, and there before");
        assert!(arrived.note(1), "too late to be told from a copy");
    }
}
