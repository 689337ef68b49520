//! Accurate ECN (RFC 9768): the counter of marked packets that each ACK has in three bits of the TCP header (ACE).
//!
//! A handshake negotiates this feedback ([`super::negotiation`]); without a handshake it is there from the start. Bytes are
//! counted in the AccECN option ([`super::octets`]), by which a sender can tell if the counter has wrapped.
//!
//! Linux hosts have the rules of Linux 7.2 (`tcp_ecn_received_counters`, `__tcp_accecn_process`).

use super::negotiation::Codepoint;
use super::octets::Marked;
use crate::packet::flag;
use crate::sidecar::AccEcnOption;

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
/// Fraction of a full segment below which the mean size of marked segments is unlikely (`SAFETY_FACTOR` of appendix A.2.2).
const SAFETY: u32 = 2;

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
    /// Marked packets since the last ACK, and the codepoint of the last packet.
    since: u32,
    last: Codepoint,
    is_linux: bool,
}

impl Counter {
    /// The counter of a host.
    pub fn new(is_linux: bool) -> Self {
        Self { count: FIRST, since: 0, last: Codepoint::NotEct, is_linux }
    }

    /// True if a packet's ACK must not wait: it is marked after one that is not, or it is the second mark since the last
    /// ACK. Between two ACKs the field cannot wrap thus, and the sender sees at once when marks begin. Linux
    /// acknowledges each change of the codepoint at once, so the sender also sees when marks end.
    #[must_use]
    pub fn is_urgent(&self, codepoint: Codepoint) -> bool {
        if self.is_linux {
            return codepoint != self.last;
        }
        codepoint == Codepoint::Ce && (self.last != Codepoint::Ce || self.since + 1 >= MOST_WAITING)
    }

    /// True if of a packet and the last one only one is marked.
    #[must_use]
    pub fn changes_mark(&self, codepoint: Codepoint) -> bool {
        (codepoint == Codepoint::Ce) != (self.last == Codepoint::Ce)
    }

    /// Takes a packet.
    pub fn note(&mut self, codepoint: Codepoint) {
        let is_marked = codepoint == Codepoint::Ce;
        self.last = codepoint;
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
    /// Marked bytes by the option, and the payload of a full segment, bytes.
    bytes: Marked,
    segment: u32,
}

impl Seen {
    /// The counter of a sender whose full segments have `segment` bytes of payload.
    pub fn new(segment: u32, is_linux: bool) -> Self {
        Self { count: FIRST, owed: 0, delivered: 0, bytes: Marked::new(is_linux), segment }
    }

    /// Takes an ACK with these flags, and an option if it has one, that delivers segments. Returns how many of these count as
    /// marked.
    ///
    /// If the ACK delivers so many that the field may have wrapped, the safest likely case is taken: the largest number
    /// that fits the field (section 3.2.2.5.2, appendix A.2.1), unless ACKs are usually that large, or the option says
    /// otherwise.
    pub fn on_ack(&mut self, flags: u8, delivered: u32, option: Option<&AccEcnOption>) -> u32 {
        let bytes = self.bytes.read(option, delivered * self.segment);
        let least = field(flags).wrapping_sub(self.count) % VALUES;
        let mean = delivered << PRECISION;
        self.delivered = if delivered == 0 {
            self.delivered
        } else if self.delivered == 0 {
            mean
        } else {
            ((u64::from(self.delivered) * ((1 << WEIGHT) - 1) + u64::from(mean)) >> WEIGHT) as u32
        };
        let marked = match bytes {
            _ if delivered < VALUES => least,
            Some(bytes) => self.by_bytes(least, delivered, bytes),
            None if self.delivered <= COMPRESSED << PRECISION => largest(least, delivered),
            None => least,
        };
        self.count = self.count.wrapping_add(marked);
        let known = self.owed + marked;
        let told = known.min(delivered);
        self.owed = known - told;
        told
    }

    /// Number of marked segments of an ACK that delivers many of them and whose option has `bytes` newly marked bytes; the field
    /// says that there are at least `least`, or eight more, and so on (appendix A.2.2).
    ///
    /// An ACK of twice as many segments as the field has values may have wrapped it more than once. The number of wraps is
    /// then that of full segments with these bytes (`__tcp_accecn_process`, Linux 7.2).
    fn by_bytes(&self, least: u32, delivered: u32, bytes: u32) -> u32 {
        let most = largest(least, delivered);
        if delivered >= 2 * VALUES {
            let full = bytes.div_ceil(self.segment);
            return most.min(least + full / VALUES * VALUES);
        }
        let is_small = bytes <= least * self.segment && bytes * SAFETY < most * self.segment;
        if is_small { least } else { most }
    }
}

/// Largest number of marked segments of `delivered` that a field fits which says `least`.
fn largest(least: u32, delivered: u32) -> u32 {
    delivered - (delivered - least) % VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;

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
        let (mut counter, mut seen) = (Counter::new(false), Seen::new(MSS, false));
        let (mut sent, mut marked) = (0, 0);
        for packet in 0..10_000_u32 {
            let mark = packet.wrapping_mul(2_654_435_761) >> 16 & 3 == 0;
            sent += u32::from(mark);
            counter.note(if mark { Codepoint::Ce } else { Codepoint::Ect0 });
            if packet % 2 == 1 {
                marked += seen.on_ack(counter.write(), 2, None);
            }
        }
        assert_eq!(sent, marked);
        assert_eq!(Counter::new(false).write(), flags(5), "no mark");
    }

    /// For each of six packets, true if its ACK must not wait.
    fn urgent(mut counter: Counter) -> Vec<bool> {
        let packets = [false, true, true, true, false, true].map(|is| if is { Codepoint::Ce } else { Codepoint::Ect0 });
        let take = |codepoint| {
            let is_urgent = counter.is_urgent(codepoint);
            counter.note(codepoint);
            if is_urgent {
                counter.write();
            }
            is_urgent
        };
        packets.into_iter().map(take).collect()
    }

    #[test]
    fn the_first_mark_and_every_second_one_is_acknowledged_at_once() {
        assert_eq!(urgent(Counter::new(false)), [false, true, false, true, false, true]);
    }

    #[test]
    fn linux_acknowledges_each_change_of_the_codepoint_at_once() {
        assert_eq!(urgent(Counter::new(true)), [true, true, false, false, true, true]);
    }

    #[test]
    fn an_ack_of_many_segments_counts_the_largest_number_that_fits() {
        // Appendix A.2.1: a difference of 1 or 2 in the field, and more delivered segments than it has values.
        for (delivered, difference, marked) in
            [(2, 1, 1), (7, 7, 7), (8, 0, 8), (9, 1, 9), (10, 2, 10), (11, 2, 10), (16, 7, 15)]
        {
            let mut seen = Seen { delivered: 2 << PRECISION, ..Seen::new(MSS, false) };
            assert_eq!(seen.on_ack(flags(FIRST + difference), delivered, None), marked, "{delivered} segments");
            assert_eq!(seen.on_ack(flags(FIRST + difference), 1, None), 0, "the counter has caught up");
        }
    }

    #[test]
    fn large_acks_are_taken_as_they_are_where_they_are_usual() {
        let mut seen = Seen::new(MSS, false);
        assert_eq!(seen.on_ack(flags(FIRST + 2), 20, None), 2);
    }

    #[test]
    fn marks_of_packets_that_arrived_twice_are_told_with_later_segments() {
        let mut seen = Seen::new(MSS, false);
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2, None), 2);
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2, None), 1);
        assert_eq!(seen.on_ack(flags(FIRST + 3), 2, None), 0);
    }

    /// Marked segments of an ACK whose field has risen by `least`, with `bytes` in the option.
    fn by_option(least: u32, delivered: u32, bytes: u32) -> u32 {
        let option = AccEcnOption { fields: [1, bytes, 1], count: 2, is_order_1: false };
        Seen::new(MSS, false).on_ack(flags(FIRST + least), delivered, Some(&option))
    }

    #[test]
    fn bytes_tell_if_the_field_has_wrapped() {
        // The three examples of appendix A.2.2, whose MSS is 1460.
        assert_eq!(by_option(0, 8, 1460), 8);
        assert_eq!(by_option(2, 10, 1460), 2);
        assert_eq!(by_option(7, 15, 10_200), 7);
        // An ACK of 40 segments may hide five wraps.
        assert_eq!([0, 3, 8, 21, 40].map(|marked| by_option(marked % VALUES, 40, marked * MSS)), [0, 3, 8, 21, 40]);
    }
}
