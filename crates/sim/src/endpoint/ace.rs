//! Accurate ECN (RFC 9768): the counter of marked packets that each ACK has in three bits of the TCP header (ACE).
//!
//! Both ends of a flow have one stack, so a handshake always ends with this feedback, and the counters begin as after one
//! whose packets were not ECN-capable. The AccECN option, which a host may leave out, is left out.

use crate::packet::flag;

/// Value with which the counters of a connection begin, r.cep and s.cep (section 3.2.1).
pub const FIRST: u32 = 5;
/// Number of values of the field (`DIVACE` of appendix A).
const VALUES: u32 = 8;
/// Marked packets since the last ACK at which the next is due while data wait for it (section 3.2.2.5.1).
const MOST_WAITING: u32 = 2;
/// Weight, and precision in bits, of the mean number of segments that an ACK delivers, and the mean above which ACKs count as
/// compressed on the path, so that a large one is no sign of lost ones (`tcp_count_delivered`, Linux 6.18).
const WEIGHT: u32 = 6;
const PRECISION: u32 = 6;
const COMPRESSED: u32 = 4;

/// Flags of an ACK for a count of marked packets.
#[must_use]
pub fn flags(count: u32) -> u8 {
    let bits = flag::ACE.into_iter().zip([4, 2, 1]);
    bits.filter(|&(_, value)| count & value != 0).fold(0, |flags, (bit, _)| flags | bit)
}

/// The field of an ACK with these flags.
fn field(flags: u8) -> u32 {
    let bits = flag::ACE.into_iter().zip([4, 2, 1]);
    bits.filter(|&(bit, _)| flags & bit != 0).map(|(_, value)| value).sum()
}

/// The counter of a receiver, r.cep.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    count: u32,
    /// Marked packets since the last ACK, and the mark of the last packet.
    since: u32,
    was_marked: bool,
}

impl Default for Counter {
    fn default() -> Self {
        Self { count: FIRST, since: 0, was_marked: false }
    }
}

impl Counter {
    /// True if a packet's ACK must not wait: it is marked after one that is not, or it is the second mark since the last
    /// ACK. Between two ACKs the field cannot wrap thus, and the sender sees at once when marks begin.
    #[must_use]
    pub fn is_urgent(&self, is_marked: bool) -> bool {
        is_marked && (!self.was_marked || self.since + 1 >= MOST_WAITING)
    }

    /// Takes a packet.
    pub fn note(&mut self, is_marked: bool) {
        self.was_marked = is_marked;
        self.count = self.count.wrapping_add(is_marked.into());
        self.since += u32::from(is_marked);
    }

    /// Flags of an ACK that is sent now.
    pub fn write(&mut self) -> u8 {
        self.since = 0;
        flags(self.count)
    }
}

/// The counter of a sender, s.cep.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    count: u32,
    /// Marks that exceed the segments which their ACK delivered; a packet that arrived twice may have two.
    owed: u32,
    /// Mean number of segments that an ACK delivers.
    delivered: u32,
}

impl Default for Seen {
    fn default() -> Self {
        Self { count: FIRST, owed: 0, delivered: 0 }
    }
}

impl Seen {
    /// Takes an ACK with these flags that delivers segments. Returns how many of these count as marked.
    ///
    /// If the ACK delivers so many that the field may have wrapped, the safest likely case is taken: the largest number
    /// that fits the field (section 3.2.2.5.2, appendix A.2.1), unless ACKs are usually that large.
    pub fn on_ack(&mut self, flags: u8, delivered: u32) -> u32 {
        let least = field(flags).wrapping_sub(self.count) % VALUES;
        let mean = delivered << PRECISION;
        self.delivered = if self.delivered == 0 {
            mean
        } else {
            ((u64::from(self.delivered) * ((1 << WEIGHT) - 1) + u64::from(mean)) >> WEIGHT) as u32
        };
        let may_have_wrapped = delivered >= VALUES && self.delivered <= COMPRESSED << PRECISION;
        let marked = if may_have_wrapped { delivered - (delivered - least) % VALUES } else { least };
        self.count = self.count.wrapping_add(marked);
        let known = self.owed + marked;
        let told = known.min(delivered);
        self.owed = known - told;
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_ae_cwr_and_ece() {
        // RFC 9768, figure 2: AE is the highest bit; the initial value 5 is AE and ECE.
        assert_eq!(flags(FIRST), flag::ACE[0] | flag::ACE[2]);
        for count in 0..24 {
            assert_eq!(field(flags(count)), count % 8);
            assert_eq!(field(flags(count) | flag::ACK | flag::RETRANSMIT | flag::BESIDE), count % 8);
        }
    }

    #[test]
    fn a_sender_counts_what_its_receiver_counts() {
        let (mut counter, mut seen) = (Counter::default(), Seen::default());
        let (mut sent, mut marked) = (0, 0);
        for packet in 0..10_000_u32 {
            let mark = packet.wrapping_mul(2_654_435_761) >> 16 & 3 == 0;
            sent += u32::from(mark);
            counter.note(mark);
            if packet % 2 == 1 {
                marked += seen.on_ack(counter.write(), 2);
            }
        }
        assert_eq!(sent, marked);
        assert_eq!(Counter::default().write(), flags(5), "no mark");
    }

    #[test]
    fn the_first_mark_and_every_second_one_is_acknowledged_at_once() {
        let mut counter = Counter::default();
        let urgent: Vec<bool> = [false, true, true, true, false, true]
            .into_iter()
            .map(|mark| {
                let urgent = counter.is_urgent(mark);
                counter.note(mark);
                if urgent {
                    counter.write();
                }
                urgent
            })
            .collect();
        assert_eq!(urgent, [false, true, false, true, false, true]);
    }

    #[test]
    fn an_ack_of_many_segments_counts_the_largest_number_that_fits() {
        // Appendix A.2.1: a difference of 1 or 2 in the field, and more delivered segments than it has values.
        for (delivered, difference, marked) in
            [(2, 1, 1), (7, 7, 7), (8, 0, 8), (9, 1, 9), (10, 2, 10), (11, 2, 10), (16, 7, 15)]
        {
            let mut seen = Seen { delivered: 2 << PRECISION, ..Seen::default() };
            assert_eq!(seen.on_ack(flags(FIRST + difference), delivered), marked, "{delivered} segments");
            assert_eq!(seen.on_ack(flags(FIRST + difference), 1), 0, "the counter has caught up");
        }
    }

    #[test]
    fn large_acks_are_taken_as_they_are_where_they_are_usual() {
        let mut seen = Seen::default();
        assert_eq!(seen.on_ack(flags(FIRST + 2), 20), 2);
    }

    #[test]
    fn marks_of_packets_that_arrived_twice_are_told_with_later_segments() {
        let mut seen = Seen::default();
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2), 2);
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2), 1);
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2), 0);
    }
}
