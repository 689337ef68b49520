//! The AccECN option (RFC 9768 section 3.2.3): how many bytes of payload arrived with each codepoint of the ECN field.
//!
//! A receiver follows the recommended simple scheme of section 3.2.3.3: an ACK has the option if one of the counters has
//! grown since the last option, with a field for each counter that has ever grown. If the header has no room for all of
//! them, the option ends behind the last one that has grown, and of three SACK blocks the third gives way.
//!
//! Data segments have no option: they acknowledge no data, so none of its counters would ever grow.

use super::negotiation::Codepoint;
use crate::sidecar::AccEcnOption;

/// Counters of a connection that begins: r.e0b, r.ceb and r.e1b, in the order of the fields (section 3.2.1).
const FIRST: [u32; 3] = [1, 0, 1];
/// Place of ECEB.
const CE: usize = 1;
/// Values of a field (`DIVOPT` of appendix A.1).
const VALUES: u32 = 1 << 24;
/// Bytes for the options of a TCP header, without those for timestamps.
const ROOM: u16 = 40;
/// Header without options of IP and TCP, bytes, and the timestamps option with its padding.
const HEADERS: u32 = 40;
const STAMPS: u16 = 12;
/// SACK option without blocks, with its padding, and a block, bytes.
const SACK: u16 = 4;
const BLOCK: u16 = 8;
/// SACK blocks that have precedence over the option.
const KEPT_BLOCKS: u16 = 2;

/// Counters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Octets {
    counts: [u32; 3],
    /// Counters that have ever grown, and those that have grown since the last option.
    used: [bool; 3],
    grown: [bool; 3],
    /// Bytes of a segment that are not payload, and bytes of an ACK's header for this option and for SACK.
    header: u16,
    room: u16,
}

impl Octets {
    /// The counters of a connection whose segments have `header_bytes` of headers.
    pub fn new(header_bytes: u32) -> Self {
        let stamps = if header_bytes >= HEADERS + u32::from(STAMPS) { STAMPS } else { 0 };
        Self { counts: FIRST, used: [false; 3], grown: [false; 3], header: header_bytes as u16, room: ROOM - stamps }
    }

    /// Takes a segment of `bytes` that arrived with a codepoint.
    pub fn note(&mut self, codepoint: Codepoint, bytes: u64) {
        let place = match codepoint {
            Codepoint::NotEct => return,
            Codepoint::Ect0 => 0,
            Codepoint::Ce => CE,
            Codepoint::Ect1 => 2,
        };
        let payload = bytes.saturating_sub(self.header.into()) as u32;
        self.counts[place] = self.counts[place].wrapping_add(payload);
        self.used[place] = true;
        self.grown[place] = true;
    }

    /// The option of an ACK with `blocks` SACK blocks, and the number of blocks that it leaves room for.
    pub fn write(&mut self, blocks: u16) -> (AccEcnOption, u16) {
        let is_order_1 = self.used[2];
        let past = |which: [bool; 3]| {
            let last = (0..which.len()).rfind(|&i| which[if is_order_1 { 2 - i } else { i }]);
            last.map_or(0, |last| last as u8 + 1)
        };
        let (needed, wanted) = (past(self.grown), past(self.used));
        let fits = |count: u8, blocks: u16| {
            let sack = if blocks > 0 { SACK + BLOCK * blocks } else { 0 };
            AccEcnOption::bytes(count) + sack <= self.room
        };
        let counts = || (needed..=wanted).rev();
        let fitting = |blocks: u16| counts().find(|&count| fits(count, blocks)).map(|count| (count, blocks));
        let found = fitting(blocks).or_else(|| fitting(blocks.min(KEPT_BLOCKS))).filter(|_| needed > 0);
        let Some((count, blocks)) = found else { return (AccEcnOption::default(), blocks) };
        self.grown = [false; 3];
        (AccEcnOption { fields: self.counts.map(|count| count % VALUES), count, is_order_1 }, blocks)
    }
}

/// Counter of a sender, s.ceb: the other two are of no use to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marked {
    count: u32,
}

impl Marked {
    /// Takes an option. Returns the number of bytes that arrived marked since the last (d.ceb, appendix A.1).
    pub fn read(&mut self, option: &AccEcnOption) -> u32 {
        if option.present().all(|place| place != CE) {
            return 0;
        }
        let more = option.fields[CE].wrapping_sub(self.count) % VALUES;
        self.count = self.count.wrapping_add(more);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Codepoint::{Ce, Ect0, Ect1, NotEct};

    const FULL: u64 = 1500;

    fn octets() -> Octets {
        Octets::new(52)
    }

    /// Places of the fields of the option after segments with these codepoints.
    fn fields(octets: &mut Octets, codepoints: &[Codepoint]) -> (Vec<usize>, bool) {
        codepoints.iter().for_each(|&codepoint| octets.note(codepoint, FULL));
        let option = octets.write(0).0;
        (option.present().collect(), option.is_order_1)
    }

    #[test]
    fn the_examples_of_section_3_2_3_3() {
        let mut octets = octets();
        assert_eq!(fields(&mut octets, &[NotEct]), (vec![], false), "no counter has grown");
        assert_eq!(fields(&mut octets, &[Ect0, Ect0]), (vec![0], false), "EE0B alone");
        assert_eq!(fields(&mut octets, &[]), (vec![], false), "nothing is new");
        assert_eq!(fields(&mut octets, &[Ect0, Ce]), (vec![0, 1], false));
        assert_eq!(fields(&mut octets, &[Ect0]), (vec![0, 1], false), "ECEB has grown at some time");
        // A second connection begins with a mark, and then its packets are ECT(1).
        let mut octets = self::octets();
        assert_eq!(fields(&mut octets, &[Ce]), (vec![0, 1], false));
        assert_eq!(fields(&mut octets, &[Ect1]), (vec![2, 1], true));
        assert_eq!(fields(&mut octets, &[Ect0]), (vec![2, 1, 0], true));
    }

    #[test]
    fn counters_begin_as_in_section_3_2_1_and_count_payload() {
        let mut octets = octets();
        octets.note(Ect1, FULL);
        octets.note(Ce, FULL);
        assert_eq!(octets.write(0).0.fields, [1, 1448, 1449]);
    }

    #[test]
    fn lengths_are_those_of_table_5_in_whole_words() {
        // 2, 5, 8 and 11 bytes.
        assert_eq!([0, 1, 2, 3].map(AccEcnOption::bytes), [4, 8, 8, 12]);
    }

    #[test]
    fn two_sack_blocks_have_precedence_and_a_third_has_not() {
        let mut octets = octets();
        octets.note(Ect0, FULL);
        octets.note(Ect1, FULL);
        // Timestamps leave 28 bytes: two blocks take 20 of them, and EE1B to EE0B would need 12.
        let (option, blocks) = octets.write(2);
        assert_eq!((option.count, blocks), (0, 2), "the first and the last field have grown");
        let (option, blocks) = octets.write(1);
        assert_eq!((option.count, blocks), (3, 1), "they are told with the next");
        octets.note(Ce, FULL);
        let (option, blocks) = octets.write(3);
        assert_eq!((option.count, blocks), (2, 2), "the third block gives way, and EE0B, which has not grown");
    }

    #[test]
    fn the_example_of_appendix_a_1() {
        let mut marked = Marked { count: 33_554_433 };
        let option = AccEcnOption { fields: [0, 1461, 0], count: 2, is_order_1: false };
        assert_eq!((marked.read(&option), marked.count), (1460, 33_555_893));
        assert_eq!(marked.read(&AccEcnOption { count: 1, ..option }), 0, "without the field");
    }
}
