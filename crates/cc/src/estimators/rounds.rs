//! Round trips, counted by segment numbers.

/// Finds the first ACK of each round trip ([`Ack::round_start`](crate::Ack::round_start)): the first that acknowledges
/// a segment which was sent after the last round began. RFC 9406 §4.2 has this rule (`windowEnd`), and Linux uses the
/// rule in `tcp_vegas.c` (`beg_snd_nxt`). BBR counts delivered segments instead (draft-ietf-ccwg-bbr,
/// `BBRUpdateRound`). The BBR modules count delivered segments themselves, from
/// [`Delivery::prior_delivered`](crate::Delivery::prior_delivered).
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundCounter {
    /// Next segment to be sent when the round began.
    end: u64,
}

impl RoundCounter {
    /// Takes an ACK that acknowledges all segments below `cumulative`; `next` is the next segment to be sent. Returns
    /// true if the ACK begins a round.
    #[inline]
    pub fn on_ack(&mut self, cumulative: u64, next: u64) -> bool {
        let begins = cumulative > self.end;
        if begins {
            self.end = next;
        }
        begins
    }

    /// Begins a round without an ACK: the round ends when the segments sent so far, those below `next`, are
    /// acknowledged.
    #[inline]
    pub fn restart(&mut self, next: u64) {
        self.end = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_begins_with_the_first_ack_of_what_was_sent_in_the_last_one() {
        let mut rounds = RoundCounter::default();
        // Segments 0 to 9 are outstanding, and each ACK allows one more segment.
        let begun: Vec<u64> = (1..=30).filter(|&cumulative| rounds.on_ack(cumulative, 9 + cumulative)).collect();
        assert_eq!(begun, [1, 11, 21]);
    }

    #[test]
    fn a_restart_ends_the_round_at_what_has_been_sent_by_then() {
        let mut rounds = RoundCounter::default();
        assert!(rounds.on_ack(1, 10));
        rounds.restart(15);
        assert!(!rounds.on_ack(15, 24));
        assert!(rounds.on_ack(16, 25));
    }
}
